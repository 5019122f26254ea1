"""Characteristics of samples as numbers that a predictor takes.

A column of text is one number a level, 1 where the sample has it. A column of numbers is the number
itself, standardised, and one number for each fifth of the training samples, so that a predictor
that only weighs and adds can follow a bend. What is missing is a level of its own. Means,
deviations, fifths and levels are those of the training samples: a level that did not occur there
tells nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import UsageError, counted
from truecost.names import NO_NUMBER
from truecost.protocol.grouping import PADDED

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FEW = 10  # different numbers up to which they are levels: a session of 1, 2 or 3
BINS = 5  # parts of equal size of a column of numbers
MOST = 200  # levels of a column that are told apart, the most frequent ones
FARTHEST = 4.0  # deviations from the mean beyond which a number is no farther away


@dataclass(frozen=True, eq=False)
class Levels:
    """A column of text.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Level of each sample.
    levels : tuple of str
        "" for a missing one.
    """

    name: str
    codes: Ints
    levels: tuple[str, ...]

    @property
    def said(self) -> str:
        """How it was read."""
        return f"{self.name} ({counted(len(self.levels), 'level')})"

    def encoded(self, train: Bools) -> Floats:
        """One number a level of the training samples, shape (N, levels)."""
        sizes = np.bincount(self.codes[train], minlength=len(self.levels))
        ranked = np.argsort(-sizes, kind="stable")[:MOST]
        kept = np.sort(ranked[sizes[ranked] > 0])
        return np.asarray(self.codes[:, None] == kept, np.float64)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers; of a clip's non-speech part, all of one kind.

    Attributes
    ----------
    values : ndarray of float64, shape (N, columns)
        NaN where it is missing.
    bins : int
        Parts of equal size, each with a number of its own; none below 2.
    """

    name: str
    values: Floats
    bins: int = BINS

    @property
    def said(self) -> str:
        """How it was read."""
        return f"{self.name} (numbers)"

    def encoded(self, train: Bools) -> Floats:
        """Standardised numbers, parts, and what is missing, shape (N, numbers)."""
        return np.concatenate([self._column(v, train) for v in self.values.T], axis=1)

    def _column(self, values: Floats, train: Bools) -> Floats:
        known = ~np.isnan(values)
        seen = np.sort(values[known & train])  # sorted: sums in one order for any order of rows
        missing = (~known).astype(np.float64)[:, None]
        if not len(seen):
            return missing
        # By a power of two, which rounds nothing: squares and sums of huge numbers stay finite.
        power = -np.frexp(np.abs(seen).max())[1]
        with np.errstate(over="ignore"):
            values, seen = np.ldexp(values, power), np.ldexp(seen, power)
        spread = seen.std() or 1.0
        standard = np.clip((values - seen.mean()) / spread, -FARTHEST, FARTHEST)
        parts = [np.where(known, standard, 0.0)[:, None]]
        if not known[train].all():
            parts.append(missing)
        if self.bins >= 2:
            edges = np.unique(np.quantile(seen, np.arange(1, self.bins) / self.bins))
            place = np.searchsorted(edges, values, side="right")
            of_bins = place[:, None] == np.arange(len(edges) + 1)
            parts.append((of_bins & known[:, None]).astype(np.float64))
        return np.concatenate(parts, axis=1)


Column = Levels | Numbers


def column_of(name: str, texts: Sequence[Any] | npt.NDArray[Any]) -> Column:
    """A column of characteristics: numbers where all are and more than ten differ, else levels.

    Parameters
    ----------
    texts : sequence of str, length N
        "" where it is missing; where all others are numbers, so are NA, NaN, null and none.
    """
    stripped = np.array([str(text).strip() for text in texts], dtype=object)
    values = _numbers(stripped)
    if values is not None and len(np.unique(values[~np.isnan(values)])) > FEW:
        return Numbers(name, values[:, None])
    levels, codes = encode(stripped)  # no array of fixed width: one cell may be very long
    return Levels(name, codes.astype(np.int64), tuple(str(level) for level in levels))


def _numbers(texts: npt.NDArray[Any]) -> Floats | None:
    """Texts as numbers, NaN where they say so; None when any is no finite number, or is 007."""
    found = np.full(len(texts), np.nan)
    for k, text in enumerate(texts):
        if text == "" or text.lower() in NO_NUMBER:
            continue
        if re.match(PADDED, text):
            return None
        try:
            found[k] = float(text)
        except ValueError:
            return None
        if not np.isfinite(found[k]):
            return None
    return found


def by_text(ids: npt.NDArray[Any]) -> Ints:
    """The order of ids as texts; no array of their full width is made, as one may be very long."""
    texts = np.array([str(one) for one in ids.tolist()], dtype=object)
    return np.argsort(encode(texts)[1], kind="stable")


def alike(columns: Sequence[Column]) -> Ints | None:
    """Which samples are the same in all columns.

    Returns
    -------
    ndarray of int64, shape (N,), or None
        A number for each kind of sample, in the order of their values; None when there are more
        kinds than half the samples, or a column of several numbers, so that telling them apart
        does not pay.
    """
    kinds = np.zeros(1, np.int64)
    for column in columns:
        if isinstance(column, Numbers):
            if column.values.shape[1] > 1:
                return None
            levels, codes = np.unique(column.values[:, 0], return_inverse=True)
            count = len(levels)
        else:
            codes, count = column.codes, len(column.levels)
        kinds = np.unique(kinds * count + codes, return_inverse=True)[1].astype(np.int64)
        if 2 * (kinds.max(initial=0) + 1) > len(kinds):
            return None
    return kinds


def encoded(columns: Iterable[Column], train: Bools) -> Floats:
    """All columns side by side, as their training samples say.

    Parameters
    ----------
    train : ndarray of bool, shape (N,)
        Which samples are trained on.

    Returns
    -------
    ndarray of float64, shape (N, numbers)

    Raises
    ------
    UsageError
        When there are no columns.
    """
    parts = [column.encoded(train) for column in columns]
    if not parts:
        raise UsageError("there are no characteristics to predict from: name at least one column")
    return np.ascontiguousarray(np.concatenate(parts, axis=1))
