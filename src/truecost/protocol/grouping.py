"""Units, which a split keeps whole (`Units`), and axes, which it spreads evenly (`Axis`); columns
of samples as numbers for a predictor (`Levels`, `Numbers`).

Samples that share a level of any group column, that are copies (`content`) or that were made of one
another (`source`) are connected, directly or over others: a unit is a connected component of them.
A column that is spread evenly is an *axis*; its levels are *cells*. A condition with more than 10
different numbers is cut at its quartiles over the samples; an empty cell of a condition is a level
of its own.

For a predictor a column of text is one number a level, 1 where the sample has it. A column of
numbers is the number itself, standardised, and one number for each fifth of the training samples,
so that a predictor that only weighs and adds can follow a bend. A missing value is a level of its
own. Means, deviations, fifths and levels are those of the training samples: a level that did not
occur there tells nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, near
from truecost.names import NO_NUMBER
from truecost.protocol.samples import Floats, Ints, Marks, Samples, Texts

MOST_NUMBERS = 10  # different ones that are levels of their own: a session of 1, 2 or 3
PADDED = r"^0[0-9]+$"  # 007 is a name: what counts or measures has no zeros in front
EMPTY = "(empty)"
ALL = "samples"  # the axis of the sizes themselves
BINS = 5  # parts of equal size of a column of numbers
MOST = 200  # levels of a column that are told apart, the most frequent ones
FARTHEST = 4.0  # deviations from the mean beyond which a number is no farther away


@dataclass(frozen=True, eq=False)
class Units:
    """Units of a set of samples (statisticians: clusters): groups of related samples that a split
    keeps together.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Number of the unit of each sample, from 0. Units are numbered by their smallest sample id,
        so the numbers do not depend on the order of the rows.
    columns : tuple of str
        Columns that connect samples: group columns, content and source.
    levels : tuple of int
        Number of different values of each of these columns.
    first : ndarray of int64, shape (units,)
        For each unit, the row of its sample with the smallest id.
    titles : ndarray of str, shape (N,)
        Name of the unit of each sample in messages: its value in the first group column, or its id
        if there are no groups.
    """

    codes: Ints
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    first: Ints
    titles: Texts

    def __len__(self) -> int:
        return len(self.first)

    @property
    def noun(self) -> str:
        """The name of a unit: its column, `sample` where there is none, `unit` for several."""
        if not self.columns:
            return "sample"
        return self.columns[0] if len(self.columns) == 1 else "unit"

    @property
    def chained(self) -> bool:
        """Whether units are fewer than the levels of any column: some are connected over others."""
        return len(self.columns) > 1 and len(self) < min(self.levels)

    def title(self, unit: int) -> str:
        """The name of a unit in messages."""
        return str(self.titles[self.first[unit]])

    @property
    def joined(self) -> str:
        """The way in which several columns form units; empty without several."""
        if len(self.columns) < 2:
            return ""
        each = (f"{counted(n, c)}" for c, n in zip(self.columns, self.levels, strict=True))
        return f"{' and '.join(each)} form {counted(len(self), 'unit')} that a split keeps whole"


def units_of(samples: Samples) -> Units:
    """The units of samples: samples are in the same unit if they are connected by equal groups,
    contents or sources, directly or through other samples.
    """
    from truecost.kernels.points import unite

    columns, nodes, levels, base = [], [], [], 0
    shared = [*samples.groups.items()]
    if samples.contents is not None:
        shared.append((samples.columns.get("content", "content"), samples.contents))
    for name, texts in shared:
        labels, codes = encode(texts)
        columns.append(name)
        levels.append(len(labels))
        nodes.append(codes + base)
        base += len(labels)
    if samples.origins is not None:  # a sample may itself be what others were made of
        labels, codes = encode(np.concatenate([samples.origins, samples.ids]))
        columns.append(samples.columns.get("source", "source"))
        levels.append(len(np.unique(codes[: len(samples)])))
        nodes += [codes[: len(samples)] + base, codes[len(samples) :] + base]
        base += len(labels)
    roots = np.arange(len(samples), dtype=np.int64)
    if nodes:
        unite(np.stack(nodes).astype(np.int64), roots, np.arange(base, dtype=np.int64))
    ids = pl.Series(samples.ids, dtype=pl.String)
    ranked = ids.arg_sort().to_numpy().astype(np.int64)  # rows by id
    _, first = np.unique(roots[ranked], return_index=True)  # by root: place of its smallest id
    places = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    of_row = places[np.unique(roots, return_inverse=True)[1]].astype(np.int64)
    titles = next(iter(samples.groups.values()), samples.ids)
    return Units(of_row, tuple(columns), tuple(levels), ranked[np.sort(first)], titles)


def odd_groups(samples: Samples) -> list[str]:
    """The entries of group columns that look like missing values, one sentence each."""
    return [
        f"{counted(int(size), 'sample')} with {column} {str(label)!r}, which are kept together: if "
        f"it means a missing value, give each sample a name of its own"
        for column, texts in samples.groups.items()
        for label, size in zip(*np.unique(texts, return_counts=True), strict=True)
        if str(label).lower() in NO_NUMBER
    ]


def people(units: Units, number: int) -> str:
    """A number of units with their noun: `5 units (spk)`, `1 sample`."""
    if units.noun in ("sample", "unit"):
        return counted(number, units.noun)
    return f"{counted(number, 'unit')} ({units.noun})"


@dataclass(frozen=True, eq=False)
class Axis:
    """The column that is spread evenly: `label`, a condition, or the samples themselves; the level
    of each sample.
    """

    name: str
    levels: tuple[str, ...]
    codes: Ints


def axes_of(samples: Samples, strata: Sequence[str] | None = None) -> tuple[Axis, ...]:
    """The axes of samples: their number, their classes where there are some, and conditions
    (`strata`, or all of them).
    """
    found = [Axis(ALL, ("all",), np.zeros(len(samples), np.int64))]
    if samples.labels is not None:
        found.append(_classes(samples))
    names = [*samples.conditions] if strata is None else [*dict.fromkeys(strata)]
    for name in names:
        if name not in samples.conditions:
            known = ", ".join(samples.conditions) or "none were read"
            raise UsageError(
                f"condition {name!r} is not known{near(name, samples.conditions)}: the "
                f"conditions are {known}"
            )
        found.append(condition_axis(name, samples.conditions[name], samples.table.source))
    return tuple(found)


def condition_axis(name: str, texts: Texts, source: str = "samples") -> Axis:
    """The levels of a condition; quartiles where it has more than 10 different numbers."""
    column, numbers = _read(texts)
    if numbers is not None:
        return _quartiles(name, numbers.to_numpy())
    if len(column) > MOST_NUMBERS and column.null_count() == 0 and column.is_unique().all():
        raise InputError(
            f"{source}: condition {name!r} has a different text in each of {len(column)} samples, "
            f"so it cannot be spread evenly: leave it out"
        )
    labels, codes = encode(column.fill_null(EMPTY).to_numpy())
    return Axis(name, tuple(map(str, labels)), codes.astype(np.int64))


def _classes(samples: Samples) -> Axis:
    """The classes; refused where each sample has its own."""
    labels, codes = encode(samples.labels if samples.labels is not None else ())
    if len(labels) == len(codes) > MOST_NUMBERS:
        column = samples.columns.get("label", "label")
        raise InputError(
            f"{samples.table.source}: the label (column {column!r}) is different in each of "
            f"{len(codes)} samples, so it is not a class. If it is a number to predict, leave "
            f"label out of the map and use --conditions {column}, which spreads numbers by their "
            "quartiles"
        )
    return Axis("label", tuple(map(str, labels)), codes.astype(np.int64))


def _read(texts: Sequence[Any] | Texts) -> tuple[pl.Series, pl.Series | None]:
    """Texts, null where empty; as numbers, NaN where there is none, where more than ten differ and
    none is a name, such as 007.
    """
    column = pl.Series(texts, dtype=pl.String).str.strip_chars()
    column = column.set(column == "", None)
    parsed = column.cast(pl.Float64, strict=False)
    others = column.filter(parsed.is_null() & column.is_not_null()).str.to_lowercase()
    named = not others.is_in([*NO_NUMBER]).all() or column.str.contains(PADDED).any()
    if named or parsed.is_infinite().any():
        return column, None
    numbers = parsed.fill_null(float("nan"))
    return column, numbers if numbers.drop_nans().n_unique() > MOST_NUMBERS else None


def _quartiles(name: str, values: Floats) -> Axis:
    """Numbers cut at their quartiles; a cut belongs to the part below it."""
    given = values[~np.isnan(values)]
    cuts = np.unique(np.quantile(given, (0.25, 0.5, 0.75), method="inverted_cdf"))
    cuts = cuts[cuts < given.max()]
    codes = np.searchsorted(cuts, values, side="left")
    ends = [f"{cut:.4g}" for cut in cuts]
    levels = [f"up to {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends))]
    levels.append(f"above {ends[-1]}")
    missing = np.isnan(values)
    if missing.any():
        codes = np.where(missing, len(levels), codes)
        levels.append(EMPTY)
    return Axis(name, tuple(levels), codes.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Levels(Axis):
    """A column of text: the level of each sample, (N,), and the levels, "" where missing."""

    @property
    def reading(self) -> str:
        """A note on how the column was read."""
        return f"{self.name} ({counted(len(self.levels), 'level')})"

    def encoded(self, train: Marks) -> Floats:
        """One number a level of the training samples, shape (N, levels)."""
        sizes = np.bincount(self.codes[train], minlength=len(self.levels))
        ranked = np.argsort(-sizes, kind="stable")[:MOST]
        kept = np.sort(ranked[sizes[ranked] > 0])
        return np.asarray(self.codes[:, None] == kept, np.float64)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers, shape (N, columns), NaN where missing; of a clip's non-speech part, all
    of one kind. `bins` are parts of equal size, each with a number of its own; none below 2.
    """

    name: str
    values: Floats
    bins: int = BINS

    @property
    def reading(self) -> str:
        """A note on how the column was read."""
        return f"{self.name} (numbers)"

    def encoded(self, train: Marks) -> Floats:
        """Standardised numbers, parts, and what is missing, shape (N, numbers)."""
        return np.concatenate([self._column(v, train) for v in self.values.T], axis=1)

    def _column(self, values: Floats, train: Marks) -> Floats:
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


def column_of(name: str, texts: Sequence[Any] | Texts) -> Column:
    """A column of characteristics for :func:`truecost.protocol.predict`, from its texts.

    The result is a ``Numbers`` if all values are numbers and more than ten values are different,
    and a ``Levels`` (categories) otherwise. Texts such as 007 are categories.

    Parameters
    ----------
    name : str
        Name of the column.
    texts : sequence of str
        Value of each sample. "" is a missing value; in a column of numbers, also NA, NaN, null and
        none.
    """
    column, numbers = _read([str(text) for text in texts])
    if numbers is not None:
        return Numbers(name, numbers.to_numpy()[:, None])
    levels, codes = encode(column.fill_null("").to_numpy())
    return Levels(name, tuple(map(str, levels)), codes.astype(np.int64))


def by_text(ids: Texts) -> Ints:
    """The order of ids as texts; no array of their full width is made, as one may be very long."""
    texts = np.array([str(one) for one in ids.tolist()], dtype=object)
    return np.argsort(encode(texts)[1], kind="stable")


def alike(columns: Sequence[Column]) -> Ints | None:
    """Groups of samples that are equal in all columns: a number for each group, in the order of
    values; shape (N,).

    None when there are more groups than half the samples, or a column has several numbers, so that
    the comparison takes too long.
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


def encoded(columns: Iterable[Column], train: Marks) -> Floats:
    """All columns side by side, as the marked training samples say; float64 (N, numbers)."""
    parts = [column.encoded(train) for column in columns]
    if not parts:
        raise UsageError("there are no characteristics to predict from: name at least one column")
    return np.ascontiguousarray(np.concatenate(parts, axis=1))
