"""Experts, who answer questions: from the labels, or as a log of a stream or life cycle says.

Both are the same to whoever asks: `expert.answer(question, batch)` gives the same answer whenever
it is asked again, in whatever order.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.learning.options import SIMULATED, ExpertTable
from truecost.learning.system import Answer, Batch, Question, generator, number_of
from truecost.options import check

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
            f"item {item!r} has no {noun}, so no question about it can be answered: "
            f"{counted(len(known), 'item', 'have')} a {noun}; give the {noun} of every item that "
            "may be asked about"
        ) from None


@dataclass(frozen=True, eq=False)
class ReferenceExpert(SimulatedPerson):
    """Simulated person who answers from the correct labels, with delays, mistakes and refusals.

    All random numbers depend only on the seed, the stream and the item, so a repeated question has
    an identical answer.

    Parameters
    ----------
    labels : mapping of str to str
        Correct label of each item, by id.
    classes : tuple of str
        Names of the classes; empty for numbers.
    seconds : float or (float, float)
        Active time for an answer or a refusal, in seconds: a constant, or mean and standard
        deviation of a lognormal distribution.
    error_rate : float
        Probability of a wrong answer, in [0, 1]. A wrong answer is a random other class; for
        numbers, the label of a random other item with another value.
    delay : int or (int, int)
        Number of batches from the question to the arrival of the answer: a constant, or minimum and
        maximum of a uniform distribution.
    refusal : float
        Probability of a refusal, in [0, 1].
    cost : mapping of str to float or (float, float)
        Active time for items of certain classes, by class, if it differs from `seconds`.
    seed : int
        Seed of the random numbers. Experts with the same seed make the same mistakes.
    name : str
        Name of the person in the log.

    Raises
    ------
    UsageError
        If a setting is out of range.
    InputError
        If a label is none of `classes`, or, for empty `classes`, is not a number.
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
        """Simulated answer to a question about an item. A repeated question has an identical
        answer.
        """
        label = self.label_of(question)
        refusal, refuses, errs, which = self.draft(question, batch, label)
        said = self._mistaken(label, which) if errs < self.error_rate else label
        return refusal if refuses < self.refusal else replace(refusal, label=said)

    def label_of(self, question: Question) -> str:
        """Correct label of the item of a question. Subclasses override this method to answer
        about parts of items.

        Raises
        ------
        InputError
            If the item has no label, or the question is about a part of the item.
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
            f"{named('label', strange, 'are')} not among the classes {first_five(classes)}: name "
            "all classes, or correct the labels"
        )
    return classes, {name: place for place, name in enumerate(classes)}


def _number(label: str) -> float:
    """A label that is a number."""
    number = number_of(label)
    if math.isnan(number):
        raise InputError(
            f"the label {label!r} is not a finite number: give numbers, or name the classes"
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
            f"delay is {delay}: it must be a number of batches (0 or more), or the smallest "
            "and the largest number, such as (0, 3)"
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
