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
from typing import Any, Protocol, TypeGuard, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.errors import InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Items that arrive together.

    Attributes
    ----------
    index : int
        Number of the batch in its stream, from 0; -1 for what comes before the stream.
    ids : tuple of str
        Names of the items, each once in a stream.
    features : ndarray, shape (items, ...)
        Input of the system: numbers, or objects if the system reads them itself.
    stream : str
        Name of the stream; empty where there is one.
    times : ndarray of float64, shape (items,), optional
        Seconds at which the items arrived.
    """

    index: int
    ids: tuple[str, ...]
    features: Array
    stream: str = ""
    times: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int]) -> "Batch":
        """The items at these places, in their order."""
        places = list(rows)
        times = None if self.times is None else self.times[places]
        ids = tuple(self.ids[row] for row in places)
        return Batch(self.index, ids, self.features[places], self.stream, times)


NO_SCORES: Floats = np.zeros(0)  # of texts, where nobody says how sure the system is


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a system for the items of a batch, in their order.

    Attributes
    ----------
    decisions : tuple of str
        Its own decision on each item: a class (for detection the target or the other), a number as
        text (regression), or a text (lifelong learning).
    scores : ndarray of float64, shape (items,)
        Higher for the target (detection), probability of the decision (several classes), or the
        predicted number (regression). Texts need no score: the log then has 0.
    probabilities : ndarray of float64, shape (items, classes), optional
        Of the classes in their order; what most strategies read.
    logits : ndarray of float64, shape (items, classes), optional
        Unnormalised log-probabilities, for the energy strategy. Default: the logarithms of the
        probabilities.
    embedding : ndarray of float64, shape (items, dimensions), optional
        Positions of the items for strategies that use distances. Default: the features.
    members : ndarray of float64, shape (members, items, classes), optional
        Probabilities of each member of a committee.
    """

    decisions: tuple[str, ...]
    scores: Floats = field(default_factory=lambda: NO_SCORES)
    probabilities: Floats | None = None
    logits: Floats | None = None
    embedding: Floats | None = None
    members: Floats | None = None


@dataclass(frozen=True)
class Question:
    """A question to a person: the label of an item, or of a part of it (lifelong learning)."""

    id: str
    part: str = ""


@dataclass(frozen=True)
class Answer:
    """An answer of a person.

    Attributes
    ----------
    id : str
        Of the item.
    label : str or None
        None when the person refused.
    seconds : float
        Time that the person was active.
    expert : str
        Who answered.
    delay : int
        Number of batches between an answer and its arrival at the system; 0 means at once.
    part : str
        Part of the item that was asked about.
    words, actions : int, optional
        Words that the person entered, and simple actions of the person (lifelong learning).
    verdict : {"", "right", "wrong"}
        Whether the output is right, if the person answered only that; then there is no label.
    timing : str
        Settings of the active time, if a page measured seconds.
    asked : str
        Numbers of the questions on that page whose time `seconds` holds, joined by `+`.
    wall, heard : float, optional
        Seconds on that page from the first sight of the question on, and while a sound played.
    waited : float, optional
        Seconds from the question to the answer, on the clock of the wall.
    guess : {"", "hidden", "shown"}
        Whether the output was in view on that page; empty where there was none.
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
    """Answers that reach a system, with the items that they are about.

    Attributes
    ----------
    items : Batch
        One entry for each answer, in order: answers about this batch and, if answers are late,
        about earlier ones.
    answers : tuple of Answer
        Without refusals: every answer has a label, or (lifelong learning) a verdict.
    """

    items: Batch
    answers: tuple[Answer, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in order."""
        return tuple(str(answer.label) for answer in self.answers)


@runtime_checkable
class Learner(Protocol):
    """Anything with `predict` and `adapt`."""

    def predict(self, batch: Batch) -> Outputs:
        """Its outputs for the items; must not change its state."""

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Learn from the answers and, if it likes, from the batch without labels."""


@runtime_checkable
class System(Learner, Protocol):
    """A learner that asks."""

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """At most `budget` questions on different items of the batch."""


@runtime_checkable
class Restorable(Protocol):
    """A learner or system that can be put back to where it was."""

    def snapshot(self) -> bytes:
        """Everything that it has learnt."""

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot."""


class Expert(Protocol):
    """The person who answers questions."""

    def answer(self, question: Question, batch: Batch) -> Answer:
        """The answer to one question; the same whenever it is asked again."""


@dataclass(frozen=True)
class Task:
    """The task that a learner is built for.

    Attributes
    ----------
    kind : {"detection", "classes", "numbers", "transcripts", "translation", "diarization"}
        The last three output texts (lifelong learning); a diarization is one as
        `truecost.corrections.texts` writes it.
    classes : tuple of str
        For detection (other, target); empty for numbers and texts.
    seed : int
        Of this run.
    options : mapping of str to object
        Further settings, as the study gives them.
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
    """Random numbers that depend on the seed and on what they are for, and on nothing else.

    So a resumed run, or a run in another process, has the same draws.
    """
    from truecost.core.factors import generator as drawn

    return drawn("truecost learning", str(seed), *map(str, purpose))


@dataclass(frozen=True, eq=False)
class Stream:
    """Items in the order in which they arrive.

    Attributes
    ----------
    name : str
        Empty where there is one stream.
    kind : {"detection", "classes", "numbers"}
        Label of an item: whether it is a target, its class, or a number.
    classes : tuple of str
        For detection ("0", "1"), of which "1" is the target; empty for numbers.
    batches : tuple of Batch
        Numbered from 0, none empty; ids occur once.
    labels : mapping of str to str
        The right label of every item by id, those of the bootstrap set and of the pool included;
        empty where nobody knows them but the people who are asked.
    bootstrap : Batch, optional
        Items whose labels are given before the stream starts.
    pool : Batch, optional
        Items for offline training (the passive baseline).
    digest : str
        Short hash of everything above: a run resumes on the same stream only.
    signature : str
        How the stream was made, in a few words: `digits|order:dirichlet|chunks:10|seed:0`.
    target : str, optional
        Label of the target in the source (detection); None if the labels are 0 and 1.
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
    """Where a run is in its stream.

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
    """Decides which items of a batch a person is asked about.

    A strategy that follows what was answered has a second method
    `learn(batch, outputs, answered)`, called after each adaptation with the outputs that the
    strategy chose from (None before the stream, where nothing was chosen).

    One that keeps anything from batch to batch, be it only a count of its calls, may have
    `snapshot` and `restore` as learners have. One that keeps nothing may say `stateless = True`.
    Checkpoints are made of these two kinds alone; with any other strategy a run resumes by
    replaying its log, which takes longer and needs nothing of the strategy.
    """

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> Sequence[int]:
        """Places of exactly min(count, len(batch)) different items of the batch."""


def stored(part: Restorable) -> bytes:
    """The snapshot of a learner, a strategy or both."""
    return checked_state(part.snapshot(), part)


def checked_state(state: object, part: object) -> bytes:
    """The result of a snapshot, if it is bytes; InputError as for `stored`."""
    if not isinstance(state, bytes):
        kind = "nothing" if state is None else f"a value of type {type(state).__name__}"
        raise InputError(
            f"{name_of(part)}: snapshot must give bytes, it gave {kind}: write down what it has "
            f"learnt, as json.dumps(...).encode() does; restore gets these bytes back"
        )
    return state


def unusable(who: str, error: Exception) -> InputError:
    """The error of a snapshot that is of no use."""
    return InputError(
        f"{who}: this snapshot cannot be used ({error}); delete the checkpoint, and the run "
        "resumes from its log"
    )


def restored(state: bytes, kind: Any, who: str) -> Any:
    """The content of a snapshot, as MessagePack of this type; InputError if it cannot be used."""
    try:
        return msgspec.msgpack.decode(state, type=kind)
    except msgspec.MsgspecError as error:
        raise unusable(who, error) from error


def can_keep(strategy: Strategy) -> bool:
    """Whether a strategy can be put back: it has snapshots, or says that it keeps nothing."""
    return restorable(strategy) or getattr(strategy, "stateless", False) is True


def restorable(part: object) -> TypeGuard[Restorable]:
    """Whether it can be put back to a snapshot: it has both methods, and does not deny it."""
    return isinstance(part, Restorable) and bool(getattr(part, "restorable", True))
