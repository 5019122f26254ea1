"""What strategies are given: their options, read strictly, and outputs of a learner, checked
first.

Everything has one row an item, in the order of the batch. What is missing is a `UsageError` that
names the strategy and what the learner lacks; what is no number is an `InputError` that names the
items, so that no item is chosen, or left out, for being undefined.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.learning.asking import Strategy
from truecost.learning.checking import described, softmax
from truecost.learning.system import Array, Batch, Floats, Outputs


@dataclass(frozen=True)
class Settings:
    """What a strategy is built from.

    Attributes
    ----------
    strategy : str
        Its name, for messages and for its random numbers; in a mixture with its place in it:
        `split.second.random`.
    options : mapping of str to object
        As the study gives them.
    seed : int
        Of the run.
    classes : tuple of str
        Of the learner, in their order; empty when they are not known.
    """

    strategy: str
    options: Mapping[str, Any]
    seed: int
    classes: tuple[str, ...] = ()

    def refuse_others(self, known: Sequence[str]) -> None:
        """An error that names an option which is not one of these."""
        for key in self.options:
            if key not in known:
                raise UsageError(
                    f"strategy {self.strategy} has no option {key!r}: {near(key, known)}"
                )

    def number(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number from `low` to `high`."""
        value = self.options.get(key, default)
        if not _is_number(value) or not low <= value <= high:
            raise self.wrong(key, _range("a number", low, high))
        return float(value)

    def between(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number above `low` and below `high`."""
        value = self.options.get(key, default)
        if not _is_number(value) or not low < value < high:
            limit = "" if high == math.inf else f" and below {high:g}"
            raise self.wrong(key, f"a number above {low:g}{limit}")
        return float(value)

    def whole(self, key: str, default: int, low: int) -> int:
        """A whole number of at least `low`."""
        value = self.options.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(key, _range("a whole number", low, math.inf))
        return value

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of these words."""
        value = self.options.get(key, default)
        if value not in choices:
            raise self.wrong(key, near(str(value), choices))
        return str(value)

    def wrong(self, key: str, expected: str) -> UsageError:
        """The error for a value that an option cannot have."""
        given = f"{key} = {self.options[key]!r}" if key in self.options else f"{key} is missing"
        return UsageError(f"strategy {self.strategy}: {given}; expected {expected}")


def near(word: str, known: Sequence[str]) -> str:
    """The nearest of some words, or all of them: `did you mean 'margin'? known are ...`."""
    if not known:
        return "it has none"
    close = get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known are {', '.join(known)}"


def _is_number(value: Any) -> bool:
    """Whether an option is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _range(kind: str, low: float, high: float) -> str:
    """The numbers that are allowed, in words."""
    return f"{kind} of at least {low:g}" if high == math.inf else f"{kind} from {low:g} to {high:g}"


@dataclass(frozen=True)
class Kind:
    """One strategy.

    Attributes
    ----------
    text : str
        What it does, in a line.
    make : callable
        Builds it from its settings.
    options : mapping of str to str
        Its options, with what they mean and their defaults.
    """

    text: str
    make: Callable[[Settings], Strategy]
    options: Mapping[str, str] = field(default_factory=dict)


PROBABILITIES, LOGITS = "the learner's probabilities", "the learner's logits"


MEMBERS = "the members of the committee"


def most(utilities: Floats, count: int) -> list[int]:
    """Rows of the greatest utilities, the greatest first; of equal ones the lowest row first.

    Parameters
    ----------
    utilities : ndarray of float64, shape (items,)
    count : int
        All rows when there are fewer.
    """
    order = np.argsort(-utilities, kind="stable")[: max(count, 0)]
    return [int(row) for row in order]


def probabilities(strategy: str, batch: Batch, outputs: Outputs) -> Floats:
    """Probabilities of the classes, shape (items, classes): the learner's, or its logits' softmax.

    Raises
    ------
    UsageError
        When the learner gives neither.
    InputError
        When the shape is wrong, a value is not finite or is negative.
    """
    if outputs.probabilities is None and outputs.logits is not None:
        return softmax(logits(strategy, batch, outputs))
    if outputs.probabilities is None:
        raise lacking(strategy, "probabilities of the classes", "random, periodic and k-centre")
    values = _rows(strategy, batch, outputs.probabilities, PROBABILITIES)
    usable = np.isfinite(values) & (values >= 0)
    _refuse(strategy, batch, ~usable, PROBABILITIES, "finite numbers of 0 or more")
    return values


def logits(strategy: str, batch: Batch, outputs: Outputs) -> Floats:
    """Unnormalised log-probabilities, shape (items, classes); -inf for what cannot be.

    Raises
    ------
    UsageError
        When the learner gives none.
    InputError
        When the shape is wrong, a value is NaN or +inf, or all of an item are -inf.
    """
    if outputs.logits is None:
        raise lacking(strategy, "logits", "least-confidence, margin and entropy")
    values = _rows(strategy, batch, outputs.logits, LOGITS)
    usable = np.isfinite(values) | (values == -np.inf)
    usable[(values == -np.inf).all(axis=1)] = False
    _refuse(strategy, batch, ~usable, LOGITS, "finite numbers (or -inf, not for every class)")
    return values


def members(strategy: str, batch: Batch, outputs: Outputs, lowest: float = 0.0) -> Floats:
    """Probabilities of each member of a committee, shape (members, items, classes).

    Parameters
    ----------
    lowest : float
        Least value: 0 for probabilities, -inf for predicted numbers.

    Raises
    ------
    UsageError
        When the learner gives none.
    InputError
        When the shape is wrong, a value is not finite or is below the lowest.
    """
    if outputs.members is None:
        raise lacking(strategy, "committee (members)", "least-confidence, margin and entropy")
    values = np.ascontiguousarray(outputs.members, np.float64)
    if values.ndim != 3 or values.shape[1] != len(batch) or 0 in values.shape[::2]:
        raise _shape(strategy, batch, values, MEMBERS, f"(members, {len(batch)}, classes)")
    usable = np.asarray((np.isfinite(values) & (values >= lowest)).all(axis=0))
    least = "" if lowest == -np.inf else f" of {lowest:g} or more"
    _refuse(strategy, batch, ~usable, MEMBERS, f"finite numbers{least}")
    return values


def places(strategy: str, batch: Batch, outputs: Outputs) -> tuple[str, Floats]:
    """Where items lie, shape (items, dimensions): the learner's embedding, else the features.

    Returns
    -------
    kind : {"embedding", "features"}
        Distances are taken between places of one kind only.
    places : ndarray of float64

    Raises
    ------
    UsageError
        When there is no embedding and the features are not numbers.
    InputError
        When the shape is wrong or a value is not finite.
    """
    kind = "features" if outputs.embedding is None else "embedding"
    what = f"the coordinates of the items ({kind})"
    if outputs.embedding is not None:
        values = _rows(strategy, batch, outputs.embedding, what)
    elif numeric(batch.features):
        flat = np.asarray(batch.features).reshape(len(batch.features), -1)
        values = _rows(strategy, batch, flat, what)
    else:
        raise lacking(strategy, "embedding, and features are no numbers", "random and margin")
    _refuse(strategy, batch, ~np.isfinite(values), what, "finite numbers")
    return kind, values


def numeric(features: Array) -> bool:
    """Whether features are numbers, one or more for each item."""
    values = np.asarray(features)
    return bool(values.size) and (values.dtype.kind in "biuf")


def part_of(outputs: Outputs, rows: Sequence[int]) -> Outputs:
    """What the learner said of some of the items, in this order."""
    at = list(rows)

    def take(values: Floats | None) -> Floats | None:
        return None if values is None else np.asarray(values)[at]

    return Outputs(
        tuple(outputs.decisions[row] for row in at),
        np.asarray(outputs.scores)[at],
        take(outputs.probabilities),
        take(outputs.logits),
        take(outputs.embedding),
        None if outputs.members is None else np.asarray(outputs.members)[:, at],
    )


def lacking(strategy: str, what: str, others: str) -> UsageError:
    """The error for a learner that does not give what a strategy reads."""
    return UsageError(
        f"strategy {strategy} cannot choose: the learner gives no {what}; take another learner, or "
        f"a strategy that needs none, such as {others}"
    )


def _rows(strategy: str, batch: Batch, values: Array, what: str) -> Floats:
    """An array with one row an item, contiguous so that sums along a row have one order."""
    array = np.ascontiguousarray(values, np.float64)
    if array.ndim != 2 or len(array) != len(batch) or array.size == 0:
        raise _shape(strategy, batch, array, what, f"({len(batch)}, 1 or more)")
    return array


def _shape(strategy: str, batch: Batch, values: Floats, what: str, expected: str) -> InputError:
    """The error for an array that does not fit the batch."""
    return InputError(
        f"strategy {strategy}, {described(batch)}: {what} have the shape {values.shape}, expected "
        f"{expected}; mend the learner"
    )


def _refuse(strategy: str, batch: Batch, bad: Array, what: str, expected: str) -> None:
    """An error that names the items of which a value cannot be used."""
    rows = np.flatnonzero(bad.any(axis=1))
    if len(rows):
        items = f"{counted(len(rows), 'item')} ({first_five(batch.ids[row] for row in rows)})"
        raise InputError(
            f"strategy {strategy}, {described(batch)}: {what} are not {expected} for {items}; mend "
            "the learner, or the features that it read"
        )
