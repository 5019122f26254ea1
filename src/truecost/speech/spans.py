"""Spans: who speaks when, in whole microseconds; a speaker never overlaps or touches himself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

MICRO = 1_000_000  # microseconds of a second


@dataclass(frozen=True, eq=False)
class Spans:
    """Stretches of time of items, sorted by item.

    Attributes
    ----------
    items : ndarray of int64, shape (M,)
        The place of the item.
    starts, ends : ndarray of int64, shape (M,)
        Microseconds.
    """

    items: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.items)

    def of(self, item: int) -> slice:
        """Where the stretches of an item are."""
        first, last = np.searchsorted(self.items, [item, item + 1])
        return slice(int(first), int(last))

    def plus(self, other: "Spans") -> "Spans":
        """These stretches and others; they may overlap."""
        items = np.concatenate([self.items, other.items])
        order = np.argsort(items, kind="stable")
        starts = np.concatenate([self.starts, other.starts])[order]
        ends = np.concatenate([self.ends, other.ends])[order]
        return Spans(items[order], starts, ends)

    def merged(self, gap: int = 0) -> "Spans":
        """One stretch for those of an item that overlap, touch or lie less than `gap` apart."""
        return Spans(*merge(self.items, self.starts, self.ends, gap))


@dataclass(frozen=True, eq=False)
class Speech:
    """Who speaks when; no speaker overlaps or touches himself.

    Attributes
    ----------
    spans : Spans
        Sorted by item and speaker.
    who : ndarray of int64, shape (M,)
        The number of the speaker in the item.
    first : ndarray of int64, shape (items + 1,)
        Where the speakers of each item begin.
    names : ndarray of str, shape (speakers,)
        Sorted by item, then name.
    """

    spans: Spans
    who: Ints
    first: Ints
    names: npt.NDArray[Any]

    @staticmethod
    def of(rows: pl.DataFrame, items: Ints, size: int) -> "Speech":
        """Speech of the rows of a table.

        Parameters
        ----------
        rows : polars.DataFrame
            With `speaker`, `start` and `end`, as `rows_of` gives them.
        items : ndarray of int64, shape (rows,)
            The item of each row.
        size : int
            How many items there are.
        """
        labels = rows["speaker"].unique().sort()
        codes = rows["speaker"].cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)
        pairs, groups = np.unique(items * max(len(labels), 1) + codes, return_inverse=True)
        owner, label = np.divmod(pairs, max(len(labels), 1))
        first = np.searchsorted(owner, np.arange(size + 1))
        found, starts, ends = merge(
            groups.astype(np.int64), rows["start"].to_numpy(), rows["end"].to_numpy()
        )
        spans = Spans(owner[found], starts, ends)
        return Speech(spans, found - first[spans.items], first, labels.to_numpy()[label])

    @property
    def speakers(self) -> Ints:
        """How many speakers each item has; int64 (items,)."""
        return np.diff(self.first)

    def joined(self, gap: int) -> "Speech":
        """All speakers as one, gaps shorter than `gap` filled."""
        spans, size = self.spans.merged(gap), len(self.first) - 1
        return Speech(
            spans, np.zeros(len(spans), np.int64), np.arange(size + 1), np.full(size, "speech")
        )

    def collars(self, width: int) -> Spans:
        """Zones of `width` on each side of every boundary; none for no width."""
        if width == 0:
            return Spans(*(np.zeros(0, np.int64) for _ in range(3)))
        items = np.tile(self.spans.items, 2)
        edges = np.concatenate([self.spans.starts, self.spans.ends])
        order = np.argsort(items, kind="stable")
        return Spans(items[order], edges[order] - width, edges[order] + width)


def merge(groups: Ints, starts: Ints, ends: Ints, gap: int = 0) -> tuple[Ints, Ints, Ints]:
    """Group, start and end of what is left when near segments of a group become one.

    Parameters
    ----------
    groups, starts, ends : ndarray of int64, shape (N,)
    gap : int
        Segments of a group that overlap, touch, or lie less than this apart are merged.

    Returns
    -------
    groups, starts, ends : ndarray of int64, shape (M,)
        Sorted by group, then start.
    """
    from truecost.kernels.diarization import merge as kernel

    order = np.lexsort((starts, groups))
    into = tuple(np.empty(len(groups), np.int64) for _ in range(3))
    found = kernel(groups[order], starts[order], ends[order], gap, *into)
    return into[0][:found], into[1][:found], into[2][:found]
