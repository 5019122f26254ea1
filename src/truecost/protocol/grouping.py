"""`Units`: what a split keeps whole; and what it spreads evenly.

Samples that share a level of any group column, that are copies (`content`) or that were made of one
another (`source`) hang together, directly or over others: a unit is a connected component of them.

Each of these is an *axis*; its levels are *cells*. A condition with more than 10 different numbers
is cut at its quartiles over the samples; an empty cell of a condition is a level of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, near, plural
from truecost.names import NO_NUMBER
from truecost.protocol.samples import Samples

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of samples.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Unit of each sample: from 0, in the order of the smallest id of each, so that the order of
        the rows means nothing.
    columns : tuple of str
        Columns whose levels stay whole.
    levels : tuple of int
        Number of levels of each of them.
    first : ndarray of int64, shape (units,)
        Row of the smallest id of each unit.
    titles : ndarray of str, shape (N,)
        What names a sample's unit in messages: its level of the first column, or its id.
    """

    codes: Ints
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    first: Ints
    titles: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def noun(self) -> str:
        """What a unit is called: its column, `sample` where there is none, `unit` for several."""
        if not self.columns:
            return "sample"
        return self.columns[0] if len(self.columns) == 1 else "unit"

    @property
    def chained(self) -> bool:
        """Whether units are fewer than the levels of any column: some hang together over others."""
        return len(self.columns) > 1 and len(self) < min(self.levels)

    def title(self, unit: int) -> str:
        """What a unit is called in messages."""
        return str(self.titles[self.first[unit]])

    @property
    def joined(self) -> str:
        """How several columns hang together; empty where there are not several."""
        if len(self.columns) < 2:
            return ""
        each = (f"{n} of {c}" for c, n in zip(self.columns, self.levels, strict=True))
        return f"{' and '.join(each)} hang together in {counted(len(self), 'unit')}"


def units_of(samples: Samples) -> Units:
    """The units of samples: components of all group columns, and of `source` and `content`.

    Returns
    -------
    Units
    """
    from truecost.kernels.points import unite

    columns, nodes, levels, base = [], [], [], 0
    for name, texts in _shared(samples):
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
    """What looks like a missing value in group columns, one sentence each."""
    found = []
    for column, texts in samples.groups.items():
        labels, codes = encode(texts)
        sizes = np.bincount(codes)
        for k, label in enumerate(labels):
            if str(label).lower() in NO_NUMBER:
                found.append(
                    f"{counted(int(sizes[k]), 'sample')} with {column} {str(label)!r}, which are "
                    f"kept together: if it says that nothing is known, give each a name of its own"
                )
    return found


def _shared(samples: Samples) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    """The columns whose equal values hang together."""
    found = [*samples.groups.items()]
    if samples.contents is not None:
        found.append((samples.columns.get("content", "content"), samples.contents))
    return found


def people(units: Units, number: int) -> str:
    """A number of units with their noun: `5 spk`, `1 sample`."""
    noun = units.noun
    return f"{number} {noun if number == 1 or noun not in ('sample', 'unit') else plural(noun)}"


MOST_NUMBERS = 10  # different ones that are levels of their own


PADDED = r"^0[0-9]+$"  # 007 is a name: what counts or measures has no zeros in front


EMPTY = "(empty)"


ALL = "samples"  # the axis of the sizes themselves


@dataclass(frozen=True, eq=False)
class Axis:
    """What is spread evenly: `label`, a condition, or the samples themselves.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Level of each sample.
    """

    name: str
    levels: tuple[str, ...]
    codes: Ints


def axes_of(samples: Samples, strata: Sequence[str] | None = None) -> tuple[Axis, ...]:
    """The axes of samples: their number, their classes where there are some, and conditions.

    Parameters
    ----------
    strata : sequence of str, optional
        Conditions; all of them when left out.

    Raises
    ------
    UsageError
        When a condition is not known.
    InputError
        When every sample has another class, or another text of a condition.
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


def condition_axis(name: str, texts: npt.NDArray[Any], source: str = "samples") -> Axis:
    """The levels of a condition; quartiles where it has more than 10 different numbers."""
    column = pl.Series(texts, dtype=pl.String).str.strip_chars()
    column = column.set(column == "", None)
    numbers = _numbers(column)
    if numbers is not None and numbers.drop_nans().n_unique() > MOST_NUMBERS:
        return _quartiles(name, numbers.to_numpy())
    if len(column) > MOST_NUMBERS and column.null_count() == 0 and column.is_unique().all():
        raise InputError(
            f"{source}: condition {name!r} is another text in each of {len(column)} samples: there "
            f"is nothing to spread evenly; leave it out"
        )
    labels, codes = encode(column.fill_null(EMPTY).to_numpy())
    return Axis(name, tuple(map(str, labels)), codes.astype(np.int64))


def _classes(samples: Samples) -> Axis:
    """The classes; refused where each sample has its own."""
    labels, codes = encode(samples.labels if samples.labels is not None else ())
    if len(labels) == len(codes) > MOST_NUMBERS:
        column = samples.columns.get("label", "label")
        raise InputError(
            f"{samples.table.source}: the label (column {column!r}) is another one in each of "
            f"{len(codes)} samples: classes repeat; numbers that are to be predicted are spread by "
            f"their quartiles: leave label out of the map, and give --conditions {column}"
        )
    return Axis("label", tuple(map(str, labels)), codes.astype(np.int64))


def _numbers(column: pl.Series) -> pl.Series | None:
    """A column as numbers, NaN where there is none; None where any is a name, such as 007."""
    parsed = column.cast(pl.Float64, strict=False)
    others = column.filter(parsed.is_null() & column.is_not_null()).str.to_lowercase()
    if not others.is_in([*NO_NUMBER]).all() or parsed.is_infinite().any():
        return None
    if column.str.contains(PADDED).any():
        return None
    return parsed.fill_null(float("nan"))


def _quartiles(name: str, values: npt.NDArray[np.float64]) -> Axis:
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
