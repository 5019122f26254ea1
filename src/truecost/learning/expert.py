"""Experts, who answer questions: from the labels, or as a log of a stream or life cycle says.

Both are the same to whoever asks: `expert.answer(question, batch)` gives the same answer whenever
it is asked again, in whatever order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.learning.log import LIFELONG_SETS
from truecost.learning.options import SIMULATED, ExpertTable
from truecost.learning.system import Answer, Batch, Outputs, Question, generator, number_of
from truecost.options import check

if TYPE_CHECKING:
    import polars as pl

    from truecost.formats.events import EventLog


NEVER = 1 << 31  # batches after which an answer arrives that does not
Key = tuple[Any, ...]


@dataclass(eq=False)
class RecordedExpert:
    """Says what the log of a stream or life cycle says: every answer that was given before.

    A recorded delay is the number of batches between a question and its answer. `run`: which run of
    the log, where it holds several (UsageError otherwise). InputError when an item of a stream has
    two answers.
    """

    log: "EventLog"
    run: str | None = None

    def __post_init__(self) -> None:
        self._answers: dict[Key, Answer] = {}
        self._asked: dict[Key, dict[Key, int]] = {}  # of a visit, in order: their batches
        self._learnt: set[Key] = set()  # visits after whose help the system adapted
        self._open: set[Key] = set()  # questions after which the help went on
        self._volunteered: dict[Key, list[Answer]] = {}
        self._silent: dict[Key, int] = {}  # what was volunteered -> rounds without help before it
        self._rounds: dict[Key, list[int]] = {}  # of a visit: help since it adapted, silent rounds
        self._where: tuple[int | None, str | None] = (None, None)
        rows = recorded_rows(self.log, self.run)
        self._lives = rows["version"].null_count() < len(rows)  # through a life cycle
        for row in rows.iter_rows(named=True):
            if row["batch"] is not None or not self._lives:  # none from before the life cycle
                self._read(row)

    def visit(self, version: int, where: str | None) -> None:
        """The version that gets help, and its set."""
        if not self._lives:
            raise InputError(
                f"{self.log.source}: questions and answers have no version: this is the log of a "
                "stream; only the log of a lifelong run can be replayed here"
            )
        self._where = (version, where)

    def answer(self, question: Question, batch: Batch) -> Answer | None:
        """The recorded answer; as `correct`."""
        return self.correct(question, batch, None)

    def correct(self, question: Question, batch: Batch, output: str | None) -> Answer | None:
        """The recorded answer; None if the person had stopped.

        A question that has no answer although the help went on stays open: its answer was late, and
        never arrived. InputError when the log does not have the question.
        """
        del output
        visit = self._visit(batch)
        key = (*visit, question.id, question.part)
        if key in self._answers:
            return self._answers[key]
        if key in self._open:
            return Answer(question.id, None, delay=NEVER, part=question.part)
        if self._lives and key in self._asked.get(visit, ()):
            return None
        part = f" (part {question.part!r})" if question.part else ""
        (version, where), stream = self._where, f" of stream {batch.stream!r}"
        at = "" if version is None else f" to version {version} on the {where or 'lifelong'} set"
        raise InputError(
            f"{self.log.source}: no answer is recorded for item {question.id!r}{part}"
            f"{stream if batch.stream else ''}{at}: it has "
            f"{counted(len(self._answers), 'answer')} to questions; replay it with the system and "
            "the strategy that asked, or let an expert with the reference answer"
        )

    def volunteer(self, batch: Batch, outputs: Outputs, given: Sequence[Answer]) -> Answer | None:
        """The next volunteered correction of this batch; None after the last one."""
        del outputs
        before = {(answer.id, answer.part) for answer in given}
        visit = self._visit(batch)
        for one in self._volunteered.get(visit, []):
            key = (*visit, one.id, one.part)
            if (one.id, one.part) not in before:
                self._silent[key] -= 1
                return None if self._silent[key] >= 0 else one
        return None

    def _visit(self, batch: Batch) -> Key:
        return _visit(*self._where, batch.index, batch.stream)

    def _read(self, row: Mapping[str, Any]) -> None:
        """One question or answer of the log, or that the system learnt from some."""
        where = row["set"] if row["set"] in LIFELONG_SETS else None
        event, version, batch, stream = (row[k] for k in ("event", "version", "batch", "stream"))
        if event == "adapt" and self._lives:
            # on the lifelong set it names the version that comes out
            visit = _visit(version - (where is None), where, batch, stream or "")
            self._learnt.add(visit)
            helped, silent = self._rounds.get(visit, (0, 0))
            self._rounds[visit] = [0, silent + (not helped)]
            return
        visit = _visit(version, where, batch, stream or "")
        _, silent = self._rounds.get(visit, (0, 0))
        self._rounds[visit] = [1, 0]
        key, asked = (*visit, row["id"] or "", row["part"] or ""), self._asked.setdefault(visit, {})
        if event == "adapt":  # in a stream no more answers to this batch come at once
            self._open.update(asked)
        elif event == "query":
            if visit in self._learnt:  # another round
                self._open.update(asked)
            asked[key] = batch
        elif key in asked or not self._lives:
            if (row["count"] or 1) > 1:  # one for many items names none of them
                return
            if key in self._answers and not self._lives:
                raise InputError(
                    f"{self.log.source}: item {row['id']!r} has two answers, so the replay is "
                    f"ambiguous: keep one"
                )
            self._open.update(takewhile(lambda other: other != key, asked))
            late = where is None and key in asked and batch is not None
            self._answers[key] = recorded_answer(row, max(0, batch - asked[key]) if late else 0)
        else:
            self._open.update(asked)
            self._volunteered.setdefault(visit, []).append(recorded_answer(row, 0))
            self._silent[key] = silent


def _visit(version: int | None, where: str | None, batch: int | None, stream: str) -> Key:
    """What tells the visits of a person apart: late answers stand in later batches."""
    return version, where, batch if where == "test" else None, stream


def recorded_rows(log: "EventLog", run: str | None) -> "pl.DataFrame":
    """Questions, answers and what was learnt in one run, in order."""
    import polars as pl

    names = log.frame["run"].cast(pl.String).fill_null("")
    known = sorted(names.unique())
    if run is None and len(known) > 1:
        raise UsageError(
            f"{log.source} holds {len(known)} runs ({first_five(known)}): choose one to replay"
        )
    if run is not None and run not in known:
        raise UsageError(f"{log.source} has no run {run!r}; there are {first_five(known)}")
    frame = log.frame if run is None else log.frame.filter(names == run)
    return frame.filter(frame["event"].cast(pl.String).is_in(["query", "answer", "adapt"]))


def recorded_answer(row: Mapping[str, Any], late: int, unnamed: str = "recorded") -> Answer:
    """One row of a log as an answer; `unnamed` is the person if the log has no name."""
    return Answer(
        id=row["id"] or "",
        label=row["label"],
        seconds=row["active_seconds"] or 0.0,
        expert=row["expert"] or unnamed,
        delay=late,
        part=row["part"] or "",
        words=row["words"],
        actions=row["actions"],
        verdict=row["verdict"] or "",
        timing=row["timing"] or "",
        asked=row["asked"] or "",
        wall=row["wall_seconds"],
        heard=row["heard_seconds"],
        waited=row["waited_seconds"],
        guess=row["guess"] or "",
    )


Spread = float | tuple[float, float]  # seconds: always the same, or (mean, standard deviation)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedPerson:
    """The time, the mistakes and the delays of a person, as `ReferenceExpert` says."""

    seconds: Spread = 1.0
    error_rate: float = 0.0
    delay: int | tuple[int, int] = 0
    refusal: float = 0.0
    cost: Mapping[str, Spread] = field(default_factory=dict)
    seed: int = 0
    name: str = "reference"

    def check(self, classes: tuple[str, ...], one_time: str) -> None:
        """Refuse settings out of range, and costs of what is no class."""
        check(ExpertTable(**{key: getattr(self, key) for key in SIMULATED}), "key")
        check_spread("seconds", self.seconds)
        for name, seconds in self.cost.items():
            if name not in classes:
                known = first_five(classes) or f"none: {one_time}"
                raise UsageError(f"cost names the class {name!r}; the classes are {known}")
            check_spread(f"cost of {name!r}", seconds)
        range_of(self.delay)

    def draft(
        self, question: Question, batch: Batch, right: str
    ) -> tuple[Answer, float, float, float]:
        """The answer of one who refuses; draws in [0, 1): of refusing, of erring, of what is said.

        Every draw is keyed by the seed, the stream, the item and its part.
        """
        draws = generator(self.seed, "expert", batch.stream, question.id, question.part)
        refuses, errs, which, late = draws.random(4)  # always all, so that none moves another
        low, high = range_of(self.delay)
        refusal = Answer(
            id=question.id,
            label=None,
            seconds=answer_seconds(self.cost.get(right, self.seconds), draws),
            expert=self.name,
            delay=low + int(late * (high - low + 1)),
            part=question.part,
        )
        return refusal, refuses, errs, float(which)


def right_of(known: Mapping[str, str], item: str, noun: str) -> str:
    """The reference of an item; InputError if there is none."""
    try:
        return known[item]
    except KeyError:
        raise InputError(
            f"item {item!r} has no {noun}, so it cannot be answered: {noun}s are known of "
            f"{len(known)} items; give one of each item that may be asked"
        ) from None


@dataclass(frozen=True, eq=False)
class ReferenceExpert(SimulatedPerson):
    """Answers from the labels, with the time, the mistakes and the delays of a person.

    Every draw is keyed by the seed, the stream and the item: an answer depends on nothing else.

    Parameters
    ----------
    labels : mapping of str to str
        The right label of every item by id.
    classes : tuple of str
        Possible labels; empty for numbers.
    seconds : float or (float, float)
        Time that the person is active for an answer: always the same, or the mean and standard
        deviation of a lognormal distribution. A refusal takes as long.
    error_rate : float
        Probability [0, 1] of a wrong answer: another class, each as likely; for numbers the label
        of another item, each other value as likely (values are mixed up).
    delay : int or (int, int)
        Number of batches between an answer and its arrival at the system, or the lowest and highest
        number, drawn uniformly.
    refusal : float
        Probability [0, 1] that the person gives no label.
    cost : mapping of str to float or (float, float)
        `seconds` of items whose right label is this class, where they differ.
    seed : int
        Experts with the same seed make the same mistakes.
    name : str
        Stands in the log.

    UsageError when a setting is out of range, InputError for a label that is no class or number.
    """

    labels: Mapping[str, str]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        self.check(self.classes, "numbers have one time, `seconds`")
        choices, _ = self._choices
        if self.error_rate and len(choices) < 2:
            raise UsageError(
                f"error_rate is {self.error_rate:g}, but no wrong answer is possible: "
                f"there is {counted(len(choices), 'different label')}"
            )

    @cached_property
    def _choices(self) -> tuple[tuple[str, ...], dict[str, int]]:
        """All different answers, in order, and the place of each label among them."""
        return _answers_of(set(self.labels.values()), self.classes)

    def answer(self, question: Question, batch: Batch) -> Answer:
        """The person's answer about an item; the same whenever it is asked again."""
        label = self.label_of(question)
        refusal, refuses, errs, which = self.draft(question, batch, label)
        said = self._mistaken(label, which) if errs < self.error_rate else label
        return refusal if refuses < self.refusal else replace(refusal, label=said)

    def label_of(self, question: Question) -> str:
        """The right answer; subclasses with questions about parts of items override this.

        InputError when no label is known, or the question is about a part of an item.
        """
        if question.part:
            raise InputError(
                f"the question is about part {question.part!r} of item {question.id!r}: this "
                f"expert has labels of whole items only"
            )
        return right_of(self.labels, question.id, "label")

    def _mistaken(self, label: str, draw: float) -> str:
        """A wrong answer: where the draw in [0, 1) falls among the others."""
        choices, place = self._choices
        other = int(draw * (len(choices) - 1))
        return choices[other + (other >= place[label])]


def _answers_of(
    labels: set[str], classes: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, int]]:
    """All different answers, in order, and the place of each label among them."""
    if not classes:
        numbers = {label: _number(label) for label in sorted(labels)}
        texts = {number: label for label, number in reversed(numbers.items())}
        order = {number: place for place, number in enumerate(sorted(texts))}
        return tuple(texts[n] for n in order), {x: order[n] for x, n in numbers.items()}
    strange = sorted(labels - set(classes))
    if strange:
        raise InputError(
            f"{named('label', strange, 'are')} none of the classes {first_five(classes)}: "
            "name all classes, or mend the labels"
        )
    return classes, {name: place for place, name in enumerate(classes)}


def _number(label: str) -> float:
    """A label that is a number."""
    number = number_of(label)
    if math.isnan(number):
        raise InputError(
            f"the label {label!r} is no finite number: give numbers, or name the classes"
        )
    return number


def answer_seconds(spread: Spread, draws: np.random.Generator) -> float:
    """Seconds of one answer.

    A lognormal distribution with mean m and standard deviation s has the parameters
    sigma^2 = log(1 + s^2 / m^2) and mu = log(m) - sigma^2 / 2.
    """
    if not isinstance(spread, tuple):
        return float(spread)
    mean, deviation = spread
    variance = math.log1p((deviation / mean) ** 2)
    normal = float(draws.standard_normal())
    return math.exp(math.log(mean) - variance / 2 + math.sqrt(variance) * normal)


def range_of(delay: int | tuple[int, int]) -> tuple[int, int]:
    """The least and the most batches until an answer arrives."""
    low, high = delay if isinstance(delay, tuple) else (delay, delay)
    if not (isinstance(low, int) and isinstance(high, int) and 0 <= low <= high):
        raise UsageError(
            f"delay is {delay}: it must be a number of batches (0 or more), or the least and the "
            "most of them, such as (0, 3)"
        )
    return low, high


def check_spread(name: str, spread: Spread) -> None:
    """Refuse times that cannot be."""
    if not isinstance(spread, tuple):
        if not (math.isfinite(spread) and spread >= 0):
            raise UsageError(f"{name} is {spread:g}: it must be a number of seconds, 0 or more")
    elif len(spread) != 2 or not all(map(math.isfinite, spread)) or spread[0] <= 0 or spread[1] < 0:
        raise UsageError(
            f"{name} is {spread}: it must be a mean above 0 and a standard deviation of 0 or more"
        )
