r"""A program that learns: any language, JSON lines on its standard input and output.

truecost starts the program once for each stream of a run, tells it one JSON object a line, and
waits for one JSON object a line after each, at most `timeout` seconds. Its standard error is shown
after a failure, and else ignored. It must flush its output after each line (a Python program does
so by itself here). It runs in `folder`. When its input ends, or after `bye`, it ends; whatever it
started is killed then.

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

is sent to programs with `"asks": true`, where no other strategy is chosen: at most `budget`
different items of the batch. ::

    {"message": "adapt", "n": 3, "batch": 0, "stream": "", "ids": ["a", "b"], "answers": [
      {"id": "b", "label": "1", "seconds": 1.0, "expert": "reference", "delay": 0,
       "features": [0.3, 1.0]}]}
    {"n": 3}

comes after each batch, and before the stream with the first labels. Answers that are late are
about items of earlier batches. There may be none. Programs with `"snapshots": true` get ::

    {"message": "snapshot", "n": 4}
    {"n": 4, "state": "any text that restores the state"}
    {"message": "restore", "n": 5, "state": "any text that restores the state"}
    {"n": 5}

Lifelong learning
-----------------
A program may also say `"unsupervised": true` (it learns from a batch without answers too),
`"offline": true`, and `"verdicts": true` (it can learn from answers that say only right or wrong:
their `label` is null). Answers have `words` and `actions` (what they took), and `verdict` and
`part` where they are not empty. A person's corrections come as answers too, asked for or not.
Batches of the test set look like all others; when help with them is over, the program is sent back
to its snapshot, so it needs `snapshots`. Where texts are put out, `decisions` are texts, and
`scores` may be left out. Questions about parts of items name a part for each item ::

    {"n": 2, "ids": ["m1", "m1"], "parts": ["0-12.5", "30-31"]}

Offline, a program may ask about any item that it got before, but for the test set ::

    {"message": "ask_offline", "n": 6, "budget": 2}
    {"n": 6, "ids": ["b"]}
    {"message": "adapt_offline", "n": 7, "answers": [{"id": "b", "label": "1", "seconds": 1.0,
      "expert": "reference", "delay": 0, "words": 1, "actions": 1, "features": [0.3, 1.0]}]}
    {"n": 7}

At the end all programs get, without need of an answer ::

    {"message": "bye", "n": 8}

A program that cannot go on says why, in place of any answer: `{"error": "needs two classes"}`.
Keys that are not described here are refused in what it says; it must accept new ones in the
messages that it gets.

Needs Linux or macOS.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.learning.checking import check_asked, check_outputs
from truecost.learning.learners.building import split
from truecost.learning.learners.process import Channel, Ready, Reply
from truecost.learning.system import (
    Answered,
    Array,
    Batch,
    Floats,
    Outputs,
    Question,
    Task,
    described,
)

Matrix = list[list[float]]
ARRAYS = ("scores", "probabilities", "logits", "embedding", "members")
ALWAYS = ("id", "label", "seconds", "expert", "delay")  # what every answer has
SAID = "its answer"  # stands before what is wrong with it


class Predicted(Reply, frozen=True):
    """To `predict`; texts need no scores, numbers no decisions."""

    ids: list[str]
    decisions: list[str] | None = None
    scores: list[float] | None = None
    probabilities: Matrix | None = None
    logits: Matrix | None = None
    embedding: Matrix | None = None
    members: list[Matrix] | None = None


class AskReply(Reply, frozen=True):
    """To `ask` and `ask_offline`."""

    ids: list[str]
    parts: list[str] | None = None


class SnapshotReply(Reply, frozen=True):
    """To `snapshot`."""

    state: str


VERSION = 1


def head(batch: Batch) -> dict[str, Any]:
    """The fields of a message that describe its batch."""
    said: dict[str, Any] = {"batch": batch.index, "stream": batch.stream, "ids": batch.ids}
    if batch.times is not None:
        said["times"] = batch.times.tolist()
    return said


def features_of(batch: Batch) -> list[Any]:
    """Features as JSON holds them."""
    features: Array = np.asarray(batch.features)
    if features.dtype.kind == "f" and not np.isfinite(features).all():
        row = int(np.argwhere(~np.isfinite(features))[0, 0])
        raise InputError(
            f"{described(batch)}, item {batch.ids[row]!r}: a feature is not finite and cannot be "
            f"sent to a program: fill in missing values first"
        )
    listed: list[Any] = features.tolist()
    return listed


def answers_of(answered: Answered) -> list[dict[str, Any]]:
    """Answers with the features of their items."""
    features = features_of(answered.items)
    return [
        {
            **{k: v for k, v in asdict(one).items() if k in ALWAYS or v not in ("", None)},
            "features": row,
        }
        for one, row in zip(answered.answers, features, strict=True)
    ]


def questions_of(said: AskReply, budget: int, known: Sequence[str]) -> tuple[Question, ...]:
    """The questions of a program, checked."""
    parts = said.parts or [""] * len(said.ids)
    if len(parts) != len(said.ids):
        raise InputError(
            f"it asked about {counted(len(said.ids), 'item')} and {counted(len(parts), 'part')}; "
            "name one part for each item, or none at all"
        )
    asked = tuple(Question(name, part) for name, part in zip(said.ids, parts, strict=True))
    return check_asked(asked, budget, known, SAID, "which is not in the batch")


def outputs_of(said: Predicted, batch: Batch, task: Task) -> Outputs:
    """The predictions of a program, checked."""
    check_ids(said.ids, batch)
    decisions = said.decisions
    if decisions is None:
        if task.kind != "numbers":
            raise InputError("it gave no decisions; they are optional only for numbers")
        decisions = [repr(score) for score in said.scores or ()]
    given = {name: getattr(said, name) for name in ARRAYS}
    arrays = {name: _array(v, name) for name, v in given.items() if v is not None}
    return check_outputs(Outputs(tuple(decisions), **arrays), task, batch, SAID)


def _array(values: Sequence[Any], what: str) -> Floats:
    try:
        return np.array(values, np.float64)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{SAID}: the values of its {what} are not numbers ({error})") from error


def check_ids(ids: Sequence[str], batch: Batch) -> None:
    """Refuse other items than those of the batch, in their order."""
    if len(ids) != len(batch):
        raise InputError(
            f"it answered about {counted(len(ids), 'item')}, but {len(batch)} were sent"
        )
    wrong = [
        f"{said!r} in place of {told!r}"
        for said, told in zip(ids, batch.ids, strict=True)
        if said != told
    ]
    if wrong:
        raise InputError(
            f"its ids are not the ids that were sent, in their order: {first_five(wrong)}"
        )


class ProgramSettings(msgspec.Struct, frozen=True):
    """Options of `program`; all others are sent to the program.

    `command`: the program and its arguments; `timeout`: seconds that it may take for an answer;
    `folder`: where it runs; by default the current folder.
    """

    command: tuple[str, ...] | str
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    folder: str = ""


def program(task: Task) -> "Program":
    """A program that was started and is ready.

    Options of the task are as `ProgramSettings`; all others are sent to the program. It is also a
    `System` when it asks, and `restorable` when it makes snapshots.
    """
    settings, options = split(ProgramSettings, "learner program", task.options)
    command = settings.command
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise UsageError("learner program: command is empty: give the program and its arguments")
    channel = Channel(words, settings.timeout, settings.folder)
    told = {"truecost": VERSION, "kind": task.kind, "classes": task.classes, "seed": task.seed}
    ready = channel.exchange("hello", "", {**told, "options": options}, Ready)
    if ready.ready != VERSION:
        raise channel.fault(
            "hello",
            "",
            f"it uses version {ready.ready} of the protocol, expected version {VERSION}",
        )
    if ready.name:
        channel.name = f"program {ready.name}"
    return (Asks if ready.asks else Program)(channel, task, ready)


class Program:
    """A learner that is a program.

    `restorable`, `unsupervised`, `offline`, `verdicts`: what it said that it can do.
    """

    def __init__(self, channel: Channel, task: Task, ready: Ready) -> None:
        self._channel, self.task, self.name = channel, task, channel.name
        self.restorable, self.unsupervised = ready.snapshots, ready.unsupervised
        self.offline, self.verdicts = ready.offline, ready.verdicts

    def predict(self, batch: Batch) -> Outputs:
        """The program's output for each item."""
        content = {**head(batch), "features": features_of(batch)}
        said = self._channel.send("predict", batch, content, Predicted)
        try:
            return outputs_of(said, batch, self.task)
        except InputError as error:
            raise self._fault("predict", batch, str(error), said) from error

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Tell the program the answers."""
        content = {**head(batch), "answers": answers_of(answered)}
        self._channel.send("adapt", batch, content, Reply)

    def ask_offline(self, budget: int) -> tuple[Question, ...]:
        """The program's questions about items that it holds."""
        said = self._channel.send("ask_offline", None, {"budget": budget}, AskReply)
        return self._questions("ask_offline", None, said, budget)

    def adapt_offline(self, answered: Answered) -> None:
        """Tell the program the answers to its offline questions."""
        content = {"answers": answers_of(answered)}
        self._channel.send("adapt_offline", None, content, Reply)

    def snapshot(self) -> bytes:
        """The text that the program gives."""
        return self._channel.send("snapshot", None, {}, SnapshotReply).state.encode()

    def restore(self, state: bytes) -> None:
        """Tell the program such a text."""
        self._channel.send("restore", None, {"state": state.decode()}, Reply)

    def close(self) -> None:
        """End the program. It also ends with this object, and with this process."""
        self._channel.close()

    def _questions(
        self, message: str, batch: Batch | None, said: AskReply, budget: int
    ) -> tuple[Question, ...]:
        try:
            return questions_of(said, budget, said.ids if batch is None else batch.ids)
        except InputError as error:
            raise self._fault(message, batch, str(error), said) from error

    def _fault(
        self, message: str, batch: Batch | None, reason: str, said: msgspec.Struct
    ) -> InputError:
        line = msgspec.json.encode(said)
        return self._channel.fault(message, described(batch) if batch else "", reason, line)


class Asks(Program):
    """A program that chooses its questions."""

    def ask(self, batch: Batch, budget: int) -> tuple[Question, ...]:
        """The items that the program asks about."""
        said = self._channel.send("ask", batch, {**head(batch), "budget": budget}, AskReply)
        return self._questions("ask", batch, said, budget)
