r"""A program that learns: any language, JSON lines on its standard input and output.

truecost starts the program once for each stream of a run, tells it one JSON object a line, and
waits for one JSON object a line after each, at most `timeout` seconds. What it writes to standard
error is shown when something goes wrong, and otherwise ignored. It must flush its output after each
line (a Python program does so by itself here). It runs in `folder`. When its input ends, or after
`bye`, it ends; whatever it started is killed then.

First the two agree on the version of what follows::

    {"truecost": 1, "kind": "detection", "classes": ["0", "1"], "seed": 0, "options": {}}
    {"ready": 1, "name": "nearest centroid", "asks": false, "snapshots": true}

`kind` is `detection` (the second class is the target), `classes` or `numbers` (`classes` is empty);
in lifelong learning also `transcripts`, `translation` or `diarization` (texts: see below).
`seed` is that of the run: with the same seed and messages a program must say the same. `options`
are those of `[learner.options]`. `name`, `asks` and `snapshots` may be left out. Every message
after that has a number `n`, and so has the answer to it::

    {"message": "predict", "n": 1, "batch": 0, "stream": "", "ids": ["a", "b"],
     "features": [[0.1, 2.0], [0.3, 1.0]]}
    {"n": 1, "ids": ["a", "b"], "decisions": ["0", "1"], "scores": [0.2, 0.7],
     "probabilities": [[0.8, 0.2], [0.3, 0.7]]}

`batch` counts from 0; what comes before the stream is -1. `stream` is its name, empty where there
is one. `times` (seconds) stands beside `ids` where the stream has them. `features` holds what the
stream has for each item. Said are the same `ids` in the same order, a decision on each item (a
class; a number as text, which may be left out for `numbers`) and a score (higher for the target;
probability of the decision; the number). Strategies read more, if it is said: `probabilities` and
`logits` (items x classes), `embedding` (items x dimensions), `members` (members x items x classes:
probabilities of each member of a committee). A prediction must not change what the program
knows. ::

    {"message": "ask", "n": 2, "batch": 0, "stream": "", "ids": ["a", "b"], "budget": 1}
    {"n": 2, "ids": ["b"]}

is told to programs that said `"asks": true`, where no other strategy is chosen: at most `budget`
different items of the batch. ::

    {"message": "adapt", "n": 3, "batch": 0, "stream": "", "ids": ["a", "b"], "answers": [
      {"id": "b", "label": "1", "seconds": 1.0, "expert": "reference", "delay": 0,
       "features": [0.3, 1.0]}]}
    {"n": 3}

comes after each batch, and before the stream with the first labels. Answers that are late are
about items of earlier batches. There may be none. Programs that said `"snapshots": true` are
told ::

    {"message": "snapshot", "n": 4}
    {"n": 4, "state": "whatever text brings it back"}
    {"message": "restore", "n": 5, "state": "whatever text brings it back"}
    {"n": 5}

Lifelong learning
-----------------
A program may also say `"unsupervised": true` (it learns from a batch without answers too),
`"offline": true`, and `"verdicts": true` (it can learn from answers that say only right or wrong:
their `label` is null). Answers have `words` and `actions` (what they took), and `verdict` and
`part` where they are not empty. A person's corrections come as answers too, asked for or not.
Batches of the test set look like all others; when help with them is over, the program is told to
go back, so that it needs `snapshots`. Where texts are put out, `decisions` are texts, and `scores`
may be left out. Questions about parts of items name a part for each item ::

    {"n": 2, "ids": ["m1", "m1"], "parts": ["0-12.5", "30-31"]}

Offline, a program may ask about anything that it was told before, but for the test set ::

    {"message": "ask_offline", "n": 6, "budget": 2}
    {"n": 6, "ids": ["b"]}
    {"message": "adapt_offline", "n": 7, "answers": [{"id": "b", "label": "1", "seconds": 1.0,
      "expert": "reference", "delay": 0, "words": 1, "actions": 1, "features": [0.3, 1.0]}]}
    {"n": 7}

At the end all are told, and need not answer ::

    {"message": "bye", "n": 8}

A program that cannot go on says why, in place of any answer: `{"error": "needs two classes"}`.
Keys that are not described here are refused in what it says; it must not mind new ones in what it
is told.

Needs Linux or macOS.
"""

import shlex
from typing import Annotated

import msgspec

from truecost.errors import InputError, UsageError, first_five
from truecost.learning.checking import TEXTS, described
from truecost.learning.learners.messages import (
    VERSION,
    Asked,
    Done,
    Predicted,
    Ready,
    Stored,
    Written,
    answers_of,
    features_of,
    head,
    outputs_of,
    questions_of,
    texts_of,
)
from truecost.learning.learners.options import split
from truecost.learning.learners.process import Channel
from truecost.learning.system import Answered, Batch, Outputs, Question, Task


class ProgramSettings(msgspec.Struct, frozen=True):
    """Options of `program`; all others are told to the program.

    Attributes
    ----------
    command : tuple of str or str
        The program and its arguments.
    timeout : float
        Seconds that it may take for an answer.
    folder : str
        Where it runs; the current folder unless given.
    """

    command: tuple[str, ...] | str
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    folder: str = ""


def program(task: Task) -> "Program":
    """A program that was started and is ready.

    Parameters
    ----------
    task : Task
        Options as `ProgramSettings`; all others are told to the program.

    Returns
    -------
    Program
        Also a `System` when it asks, and `Restorable` when it makes snapshots.

    Raises
    ------
    UsageError
        When an option is wrong, or the program cannot be run.
    InputError
        When it does not say that it is ready for this version.
    """
    settings, options = split(ProgramSettings, "program", task)
    command = settings.command
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise UsageError("learner program: command is empty: give the program and its arguments")
    channel = Channel(words, settings.timeout, settings.folder)
    told = {"truecost": VERSION, "kind": task.kind, "classes": task.classes, "seed": task.seed}
    ready = channel.exchange("hello", "", {**told, "options": options}, Ready)
    if ready.ready != VERSION:
        raise channel.fault(
            "hello", "", f"it is ready for version {ready.ready}, and this is version {VERSION}"
        )
    if ready.name:
        channel.name = f"program {ready.name}"
    learner = KINDS[ready.asks, ready.snapshots](channel, task)
    learner.unsupervised, learner.offline = ready.unsupervised, ready.offline
    learner.verdicts = ready.verdicts
    return learner


class Program:
    """A learner that is a program.

    Attributes
    ----------
    unsupervised, offline, verdicts : bool
        What it said that it can do.
    """

    unsupervised = offline = verdicts = False

    def __init__(self, channel: Channel, task: Task) -> None:
        self._channel, self.task, self.name = channel, task, channel.name

    def predict(self, batch: Batch) -> Outputs:
        """What the program says of each item."""
        content = {**head(batch), "features": features_of(batch)}
        said: Predicted | Written
        if self.task.kind in TEXTS:
            said = self._channel.send("predict", batch, content, Written)
        else:
            said = self._channel.send("predict", batch, content, Predicted)
        try:
            if isinstance(said, Written):
                return texts_of(said, batch)
            return outputs_of(said, batch, self.task)
        except InputError as error:
            raise self._fault("predict", batch, str(error), said) from error

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Tell the program the answers."""
        content = {**head(batch), "answers": answers_of(answered)}
        self._channel.send("adapt", batch, content, Done)

    def ask_offline(self, budget: int) -> tuple[Question, ...]:
        """What the program asks about anything that it holds."""
        said = self._channel.send("ask_offline", None, {"budget": budget}, Asked)
        try:
            return questions_of(said, budget)
        except InputError as error:
            raise self._fault("ask_offline", None, str(error), said) from error

    def adapt_offline(self, answered: Answered) -> None:
        """Tell the program the answers to its offline questions."""
        content = {"answers": answers_of(answered)}
        self._channel.send("adapt_offline", None, content, Done)

    def close(self) -> None:
        """End the program. It also ends with this object, and with this process."""
        self._channel.close()

    def _fault(
        self, message: str, batch: Batch | None, reason: str, said: msgspec.Struct
    ) -> InputError:
        line = msgspec.json.encode(said)
        return self._channel.fault(message, described(batch) if batch else "", reason, line)


class Asks(Program):
    """A program that chooses its questions."""

    def ask(self, batch: Batch, budget: int) -> tuple[Question, ...]:
        """The items that the program asks about."""
        said = self._channel.send("ask", batch, {**head(batch), "budget": budget}, Asked)
        strange = sorted(set(said.ids) - set(batch.ids))
        if strange:
            raise self._fault("ask", batch, f"{first_five(strange)}: no item of the batch", said)
        try:
            return questions_of(said, budget)
        except InputError as error:
            raise self._fault("ask", batch, str(error), said) from error


class Restores(Program):
    """A program that can be put back to where it was."""

    def snapshot(self) -> bytes:
        """The text that the program gives."""
        return self._channel.send("snapshot", None, {}, Stored).state.encode()

    def restore(self, state: bytes) -> None:
        """Tell the program such a text."""
        self._channel.send("restore", None, {"state": state.decode()}, Done)


class AsksAndRestores(Asks, Restores):
    """A program that does both."""


KINDS: dict[tuple[bool, bool], type[Program]] = {
    (False, False): Program,
    (True, False): Asks,
    (False, True): Restores,
    (True, True): AsksAndRestores,
}
