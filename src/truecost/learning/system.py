"""Systems that learn with a person's help, the data between the two, and streams.

One protocol serves streams and lifelong learning::

    outputs = system.predict(batch)            # before it has learnt anything from this batch
    questions = system.ask(batch, budget)      # at most `budget` of them
    system.adapt(batch, answered)              # may learn from the answers and from the batch
    outputs = system.predict(batch)            # afterwards

A `Learner` is a system that cannot ask; `Asking` (in `loop`) joins one with a strategy.
`snapshot` and `restore` are optional: with them a long run resumes faster.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Items that arrive at a system together.

    Attributes
    ----------
    index : int
        Number of the batch in its stream, from 0; -1 for a batch of items before the stream.
    ids : tuple of str
        Names of the items; unique within a stream.
    features : ndarray, shape (items, ...)
        Input of the system, one entry for each item: numbers, or objects of any type that the
        system can read.
    stream : str
        Name of the stream; empty for a single stream.
    times : ndarray of float64, shape (items,), optional
        Arrival times of the items in seconds.
    """

    index: int
    ids: tuple[str, ...]
    features: Array
    stream: str = ""
    times: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int]) -> "Batch":
        """Batch with the selected items.

        Parameters
        ----------
        rows : sequence of int
            Positions of the items in this batch, in the wanted order.
        """
        places = list(rows)
        times = None if self.times is None else self.times[places]
        ids = tuple(self.ids[row] for row in places)
        return Batch(self.index, ids, self.features[places], self.stream, times)


NO_SCORES: Floats = np.zeros(0)  # of texts, where nobody says how sure the system is


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a system for the items of a batch, in the order of the items.

    Attributes
    ----------
    decisions : tuple of str
        Decision of the system for each item. Classification: name of a class. Detection: "1" for
        the target, otherwise "0". Regression: a number as text. Lifelong learning: a text.
    scores : ndarray of float64, shape (items,)
        Score of each item. Detection: higher for the target. Classification: probability of the
        decision. Regression: the predicted number. Texts need no scores; the log then contains 0.
    probabilities : ndarray of float64, shape (items, classes), optional
        Probability of each class. Most query strategies need these probabilities.
    logits : ndarray of float64, shape (items, classes), optional
        Unnormalised log-probabilities, for the strategy `energy`. Without logits, the strategy uses
        the logarithms of the probabilities; its temperature must then be below 1.
    embedding : ndarray of float64, shape (items, dimensions), optional
        Vector of each item, for strategies that use distances. Default: the features.
    members : ndarray of float64, shape (members, items, classes), optional
        Class probabilities of each member of a committee of models.
    """

    decisions: tuple[str, ...]
    scores: Floats = field(default_factory=lambda: NO_SCORES)
    probabilities: Floats | None = None
    logits: Floats | None = None
    embedding: Floats | None = None
    members: Floats | None = None


@dataclass(frozen=True)
class Question:
    """A question to a person: what is the label of an item, or of a part of the item?

    Attributes
    ----------
    id : str
        Name of the item.
    part : str
        Part of the item (lifelong learning); empty for the whole item.
    """

    id: str
    part: str = ""


@dataclass(frozen=True)
class Answer:
    """A person's answer to a question, or a correction that the person volunteered.

    Attributes
    ----------
    id : str
        Name of the item.
    label : str or None
        Label that the person gave; None if the person refused or gave only a `verdict`.
    seconds : float
        Active time of the person, in seconds.
    expert : str
        Name of the person.
    delay : int
        Number of batches from the question to the arrival of the answer; 0 for an answer in the
        batch of the question.
    part : str
        Part of the item; empty for the whole item.
    words, actions : int, optional
        Numbers of words that the person entered and of simple actions, such as edits (lifelong
        learning).
    verdict : {"", "right", "wrong"}
        The person's judgement of the output, if the person gave no label.
    timing : str
        Settings with which an annotation page measured `seconds`; empty for other sources.
    asked : str
        Questions whose time is part of the field `seconds`: their numbers in answers.sqlite, joined
        by `+` (annotation page).
    wall : float, optional
        Time from the first display of the question to the answer, in seconds (annotation page).
    heard : float, optional
        Time during which audio played, in seconds (annotation page).
    waited : float, optional
        Elapsed time from the question to the answer, in seconds; includes pauses of the person.
    guess : {"", "hidden", "shown"}
        Whether the annotation page showed the output of the system; empty if there was no output.
    """

    id: str
    label: str | None
    seconds: float = 0.0
    expert: str = "expert"
    delay: int = 0
    part: str = ""
    words: int | None = None
    actions: int | None = None
    verdict: str = ""
    timing: str = ""
    asked: str = ""
    wall: float | None = None
    heard: float | None = None
    waited: float | None = None
    guess: str = ""


@dataclass(frozen=True, eq=False)
class Answered:
    """Answers that a system receives, with the items that they are about.

    Attributes
    ----------
    items : Batch
        Items of the answers, one entry for each answer, in the order of `answers`. Late answers are
        about items of earlier batches.
    answers : tuple of Answer
        Answers without refusals: each has a label or (lifelong learning) a verdict.
    """

    items: Batch
    answers: tuple[Answer, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the answers as text, in the order of `answers`."""
        return tuple(str(answer.label) for answer in self.answers)


@runtime_checkable
class Learner(Protocol):
    """Protocol of a learner: an object with the methods `predict` and `adapt`."""

    def predict(self, batch: Batch) -> Outputs:
        """Outputs for the items of a batch. The method must not change the state of the learner."""

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Learn from the answers; a learner may also use the unlabelled items of the batch."""


@runtime_checkable
class System(Learner, Protocol):
    """Protocol of a system: a learner that also chooses questions."""

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """Questions about different items of the batch; at most `budget` questions."""


@runtime_checkable
class Restorable(Protocol):
    """Protocol of a learner or system whose state can be saved and restored, for checkpoints."""

    def snapshot(self) -> bytes:
        """The complete state as bytes."""

    def restore(self, state: bytes) -> None:
        """Return to a saved state.

        Parameters
        ----------
        state : bytes
            Result of `snapshot`.
        """


class Expert(Protocol):
    """Protocol of an expert: a person, or a simulated person, who answers questions."""

    def answer(self, question: Question, batch: Batch) -> Answer:
        """Answer to a question. A repeated question must give an identical answer."""


@dataclass(frozen=True)
class Task:
    """The task for which a learner is built: kind of labels, classes, seed and options.

    Attributes
    ----------
    kind : {"detection", "classes", "numbers", "transcripts", "translation", "diarization"}
        Kind of the outputs. `transcripts`, `translation` and `diarization` (lifelong learning) have
        texts as outputs; `truecost.corrections.texts` defines the text of a diarization.
    classes : tuple of str
        Names of the classes. For detection, ("0", "1"), and "1" is the target. Empty for numbers
        and texts.
    seed : int
        Seed of the run.
    options : mapping of str to object
        Settings of the learner: the keys of `[learner]` in a study file.
    """

    kind: str
    classes: tuple[str, ...] = ()
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


def number_of(text: object) -> float:
    """The finite number that a text says; NaN where it says none."""
    try:
        number = float(text) if isinstance(text, str) else math.nan
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """Random number generator that depends only on the seed and the purpose.

    A resumed run and a run in another process therefore have identical random numbers.

    Parameters
    ----------
    seed : int
        Seed of the run.
    *purpose : str or int
        Keys of the random numbers, such as the name of a strategy and the number of a batch.

    Returns
    -------
    numpy.random.Generator
    """
    from truecost.core.factors import generator as drawn

    return drawn("truecost learning", str(seed), *map(str, purpose))


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream: batches of items in the order in which they arrive, with their labels.

    Attributes
    ----------
    name : str
        Name of the stream; empty for a single stream.
    kind : {"detection", "classes", "numbers"}
        Kind of the labels. `detection`: target or not. `classes`: name of a class. `numbers`: a
        number.
    classes : tuple of str
        Names of the classes. For detection, ("0", "1"), and "1" is the target. Empty for numbers.
    batches : tuple of Batch
        Batches of the stream, numbered from 0. No batch is empty, and each item occurs once.
    labels : mapping of str to str
        Correct label of each item by id, including `bootstrap` and `pool`. Empty if only the people
        who answer know the labels.
    bootstrap : Batch, optional
        Items whose labels the system receives before the stream starts.
    pool : Batch, optional
        Items for training before the stream, used by the passive baseline.
    digest : str
        Short hash of the items, features and labels. A run can be resumed only with a stream that
        has the same hash.
    signature : str
        Origin of the stream, such as `digits|order:dirichlet|seed:0`.
    target : str, optional
        Label of the target in the source (detection); None if the labels of the source are 0 and 1.
    """

    name: str
    kind: str
    classes: tuple[str, ...]
    batches: tuple[Batch, ...]
    labels: Mapping[str, str]
    bootstrap: Batch | None = None
    pool: Batch | None = None
    digest: str = ""
    signature: str = ""
    target: str | None = None


class Waiting(msgspec.Struct, frozen=True):
    """An answer on its way: the batch of its question, and the batch in which it arrives."""

    asked: int
    due: int
    answer: Answer


class State(msgspec.Struct):
    """The position of a run in its stream.

    `batch`: the one that comes next; -1 before anything; `clock`: simulated seconds; `items`: that
    have arrived; `asked`: questions so far; `waiting`: in the order in which they were asked.
    """

    batch: int = -1
    clock: float = 0.0
    items: int = 0
    asked: int = 0
    waiting: list[Waiting] = []


def name_of(part: object) -> str:
    """The name of a learner, system or strategy in messages: its `name`, or its class."""
    name = getattr(part, "name", None)
    return name if isinstance(name, str) and name else type(part).__name__


def described(batch: Batch) -> str:
    """A batch in messages: `batch 3 of stream 'de'`."""
    which = f"batch {batch.index}" if batch.index >= 0 else "the items before the stream"
    return f"{which} of stream {batch.stream!r}" if batch.stream else which


class Strategy(Protocol):
    """Protocol of a query strategy, which chooses the items that a person is asked about.

    A strategy may have further methods and attributes:

    - `learn(batch, outputs, answered)` is called after each adaptation. `outputs` are the outputs
      from which the strategy chose, or None before the stream starts.
    - `snapshot()` and `restore(state)` save and restore the state between two batches, as in
      `Restorable`.
    - `stateless = True` declares that the strategy has no state between two batches.

    A run with checkpoints needs a strategy with `snapshot` and `restore` or with `stateless =
    True`. With any other strategy, a killed run resumes by repeating its log, which takes longer.
    """

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> Sequence[int]:
        """Positions of the chosen items in the batch: exactly min(count, len(batch)) different
        ones.
        """
