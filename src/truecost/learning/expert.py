"""Experts: who answers questions. One that answers from the labels, one that replays a log.

Both are the same to whoever asks: `expert.answer(question, batch)` gives the same answer whenever
it is asked again, in whatever order.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.learning.options import ExpertTable
from truecost.learning.system import Answer, Batch, Question, generator
from truecost.options import check_fields

if TYPE_CHECKING:
    from truecost.formats.events import EventLog

Spread = float | tuple[float, float]  # seconds: always the same, or (mean, standard deviation)
Item = tuple[str, str, str]  # stream, id, part


@dataclass(frozen=True, eq=False)
class ReferenceExpert:
    """Answers from the labels, with the time, the mistakes and the delays of a person.

    Every draw is keyed by the seed, the stream and the item, so that an answer depends neither on
    what was asked before nor on the other settings: with another `error_rate`, say, the times and
    the delays stay as they are.

    Parameters
    ----------
    labels : mapping of str to str
        The right label of every item by id.
    classes : tuple of str
        What labels there are; empty for numbers.
    seconds : float or (float, float)
        Time that the person is active for an answer: always the same, or the mean and standard
        deviation of a lognormal distribution. A refusal takes as long.
    error_rate : float
        Probability [0, 1] of a wrong answer: another class, each as likely; for numbers the label
        of another item, each other value as likely (values are mixed up).
    delay : int or (int, int)
        Batches until the system gets to know; or the least and the most of them, each as likely.
    refusal : float
        Probability [0, 1] that the person gives no label.
    cost : mapping of str to float or (float, float)
        `seconds` of items whose right label is this class, where they differ.
    seed : int
        Experts with the same seed make the same mistakes.
    name : str
        Stands in the log.

    Raises
    ------
    UsageError
        When a setting is out of its range.
    InputError
        When a label is none of the classes, or no number.
    """

    labels: Mapping[str, str]
    classes: tuple[str, ...]
    seconds: Spread = 1.0
    error_rate: float = 0.0
    delay: int | tuple[int, int] = 0
    refusal: float = 0.0
    cost: Mapping[str, Spread] = field(default_factory=dict)
    seed: int = 0
    name: str = "reference"
    _choices: tuple[str, ...] = field(init=False, repr=False)  # different answers, in order
    _place: Mapping[str, int] = field(init=False, repr=False)  # where a label stands in them

    def __post_init__(self) -> None:
        check_fields(self, ExpertTable, "key")
        check_spread("seconds", self.seconds)
        for name, seconds in self.cost.items():
            self._check_class(name)
            check_spread(f"cost of {name!r}", seconds)
        range_of(self.delay)
        choices, place = _answers_of(set(self.labels.values()), self.classes)
        if self.error_rate and len(choices) < 2:
            raise UsageError(
                f"error_rate is {self.error_rate:g}, but no wrong answer is possible: "
                f"there is {counted(len(choices), 'different label')}"
            )
        object.__setattr__(self, "_choices", choices)
        object.__setattr__(self, "_place", place)

    def answer(self, question: Question, batch: Batch) -> Answer:
        """What this person says of an item; the same whenever it is asked again."""
        label = self.label_of(question)
        draws = generator(self.seed, "expert", batch.stream, question.id, question.part)
        refuses, errs, which, late = draws.random(4)  # always all, so that none moves another
        seconds = drawn(self.cost.get(label, self.seconds), draws)
        low, high = range_of(self.delay)
        said = self._mistaken(label, which) if errs < self.error_rate else label
        return Answer(
            id=question.id,
            label=None if refuses < self.refusal else said,
            seconds=seconds,
            expert=self.name,
            delay=low + int(late * (high - low + 1)),
            part=question.part,
        )

    def label_of(self, question: Question) -> str:
        """The right answer; who asks about parts of items overrides this.

        Raises
        ------
        InputError
            When no label is known, or the question is about a part of an item.
        """
        if question.part:
            raise InputError(
                f"the question is about part {question.part!r} of item {question.id!r}: this "
                "expert knows the labels of whole items only"
            )
        try:
            return self.labels[question.id]
        except KeyError:
            raise InputError(
                f"item {question.id!r} has no label, so that nobody can answer for it: labels "
                f"are known of {len(self.labels)} items; give one of each item that may be asked"
            ) from None

    def _mistaken(self, label: str, draw: float) -> str:
        """A wrong answer: where the draw in [0, 1) falls among the others."""
        other = int(draw * (len(self._choices) - 1))
        return self._choices[other + (other >= self._place[label])]

    def _check_class(self, name: str) -> None:
        """Refuse a cost for what is no class."""
        if name not in self.classes:
            known = first_five(self.classes) or "none: numbers have one time, `seconds`"
            raise UsageError(f"cost names the class {name!r}; the classes are {known}")


@dataclass(frozen=True, eq=False)
class RecordedExpert:
    """Says what a log says: label, time and delay of each answer that was given before.

    Parameters
    ----------
    log : EventLog
        Its answers are replayed; a recorded delay is the number of batches between a question and
        its answer. A question that had none although the system went on to the next batch stays
        open.
    run : str, optional
        Which run of the log, where it holds several.

    Raises
    ------
    UsageError
        When the log holds several runs and none is named, or the one named is not there.
    InputError
        When the log has two answers for an item.
    """

    log: "EventLog"
    run: str | None = None
    _answers: Mapping[Item, Answer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_answers", _recorded(self.log, self.run))

    def answer(self, question: Question, batch: Batch) -> Answer:
        """The recorded answer.

        Raises
        ------
        InputError
            When the log has no answer to this question.
        """
        found = self._answers.get((batch.stream, question.id, question.part))
        if found is None:
            where = f" of stream {batch.stream!r}" if batch.stream else ""
            part = f" (part {question.part!r})" if question.part else ""
            raise InputError(
                f"{self.log.source}: no answer is recorded for item {question.id!r}{part}{where}: "
                f"it has answers for {len(self._answers)} items; replay it with the system and "
                "the strategy that asked, or let an expert answer who knows the labels"
            )
        return found


def _recorded(log: "EventLog", run: str | None) -> dict[Item, Answer]:
    """The answers of a log by stream and item."""
    asked: dict[Item, int] = {}
    answers: dict[Item, Answer] = {}
    done: dict[str, int] = {}  # the last batch that was learnt, by stream
    for row in _rows(log, run):
        key = (row["stream"] or "", row["id"] or "", row["part"] or "")
        if row["event"] == "query":
            asked[key] = row["batch"]
        elif row["event"] == "adapt":
            done[key[0]] = -1 if row["batch"] is None else row["batch"]
        elif (row["count"] or 1) == 1:  # one for many items names none of them
            if key in answers:
                raise InputError(
                    f"{log.source}: item {row['id']!r} has two answers, so that it is not known "
                    "which to replay: keep one"
                )
            answers[key] = _answer(row, asked.get(key))
    for key in asked.keys() - answers.keys():
        if (end := done.get(key[0], -1)) >= asked[key]:
            answers[key] = Answer(key[1], None, delay=end - asked[key] + 1, part=key[2])
    return answers


def _rows(log: "EventLog", run: str | None) -> Any:
    """Questions, answers and what was learnt in one run, in order."""
    import polars as pl

    names = log.frame["run"].cast(pl.String).fill_null("")
    known = sorted(names.unique())
    if run is None and len(known) > 1:
        raise UsageError(
            f"{log.source} holds {len(known)} runs ({first_five(known)}): say which to replay"
        )
    if run is not None and run not in known:
        raise UsageError(f"{log.source} has no run {run!r}; there are {first_five(known)}")
    frame = log.frame if run is None else log.frame.filter(names == run)
    kinds = frame["event"].cast(pl.String)
    return frame.filter(kinds.is_in(["query", "answer", "adapt"])).iter_rows(named=True)


def _answer(row: Mapping[str, Any], asked: int | None) -> Answer:
    """One row of a log as an answer."""
    late = 0 if asked is None or row["batch"] is None else max(0, row["batch"] - asked)
    return Answer(
        id=row["id"],
        label=row["label"],
        seconds=row["active_seconds"] or 0.0,
        expert=row["expert"] or "recorded",
        delay=late,
        part=row["part"] or "",
    )


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
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"the label {label!r} is no finite number: give numbers, or name the classes"
        )
    return number


def drawn(spread: Spread, draws: np.random.Generator) -> float:
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
