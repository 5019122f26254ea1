"""Speech segments in whole microseconds, and the sweep over two sides of speech."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]
Steps = npt.NDArray[np.int8]
Marks = npt.NDArray[np.bool_]
Pairs = tuple[Ints, Ints]
MICRO = 1_000_000  # microseconds of a second


@dataclass(frozen=True, eq=False)
class Spans:
    """M stretches of time of items, sorted by the place of the item; times in microseconds."""

    items: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.items)

    def slice_of(self, item: int) -> slice:
        """The slice of the stretches of an item."""
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


NOWHERE = Spans(*(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, eq=False)
class Speech:
    """Speech segments; those of one speaker neither overlap nor touch."""

    spans: Spans  # sorted by item and speaker
    who: Ints  # the number of the speaker in the item, (M,)
    first: Ints  # where the speakers of each item begin, (items + 1,)
    names: npt.NDArray[Any]  # of the speakers, sorted by item, then name

    @staticmethod
    def from_rows(rows: pl.DataFrame, items: Ints, size: int) -> "Speech":
        """Speech of rows with `speaker`, `start` and `end`, which are those of `size` items."""
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
        """Number of speakers of each item; int64 (items,)."""
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
            return NOWHERE
        of = self.spans
        starts, ends = (Spans(of.items, t - width, t + width) for t in (of.starts, of.ends))
        return starts.plus(ends)


def merge(groups: Ints, starts: Ints, ends: Ints, gap: int = 0) -> tuple[Ints, Ints, Ints]:
    """Group, start and end of what is left when near segments of a group become one.

    Those that overlap, touch, or lie less than `gap` apart are merged. Sorted by group, then start.
    """
    from truecost.kernels.diarization import merge as kernel

    order = np.lexsort((starts, groups))
    into = tuple(np.empty(len(groups), np.int64) for _ in range(3))
    found = kernel(groups[order], starts[order], ends[order], gap, *into)
    return into[0][:found], into[1][:found], into[2][:found]


@dataclass(frozen=True, eq=False)
class Swept:
    """Scored time of every item in microseconds."""

    tables: Ints  # of each item (reference speakers + 1) x (system speakers + 1); see `table`
    cells: Ints  # where the table of each item begins, (items + 1,)
    columns: Ints  # system speakers + 1, (items,)
    common: Ints  # sum of T min(Nref, Nsys), (items,)

    def table(self, item: int) -> Ints:
        """The time that each pair of speakers shares: reference speakers x system speakers.

        The last column is the time of each reference speaker, the last row that of each system
        speaker, and the corner all scored time.
        """
        flat = self.tables[self.cells[item] : self.cells[item + 1]]
        return flat.reshape(-1, self.columns[item])


@dataclass(frozen=True, eq=False)
class Scene:
    """Two sides of speech, and where they are scored."""

    reference: Speech
    output: Speech
    regions: Spans  # what is scored; those of an item do not overlap
    barred: Spans  # what is excluded from it; these may overlap
    skip_overlap: bool = False  # leave out where several reference speakers speak

    def swept(self) -> Swept:
        """The time that speakers share, item by item."""
        from truecost.kernels.diarization import sweep

        speakers = np.stack([self.reference.speakers, self.output.speakers], axis=1)
        cells = np.append(0, np.cumsum((speakers + 1).prod(axis=1)))
        tables, common = np.zeros(cells[-1], np.int64), np.zeros(len(speakers), np.int64)
        first, times, kinds, steps, who = self._events()
        sweep(first, times, kinds, steps, who, speakers, cells, self.skip_overlap, tables, common)
        return Swept(tables, cells, speakers[:, 1] + 1, common)

    def states(self, item: int) -> tuple[Ints, Marks, Marks, Marks]:
        """Edges of time of an item, and between one and the next who speaks and what is scored.

        Returns
        -------
        edges : ndarray of int64, shape (stretches + 1,)
            Ascending; empty where there is nothing.
        reference, output : ndarray of bool, shape (speakers, stretches)
        scored : ndarray of bool, shape (stretches,)
        """
        sides = (self.reference, self.output)
        spans = (*(side.spans for side in sides), self.regions, self.barred)
        times = [t[s.slice_of(item)] for s in spans for t in (s.starts, s.ends)]
        edges = np.unique(np.concatenate(times))
        reference, output = (
            covered(side.spans, item, edges, side.who, int(side.speakers[item])) for side in sides
        )
        inside, barred = (
            covered(s, item, edges, np.zeros(len(s), np.int64), 1)[0] for s in spans[2:]
        )
        scored = inside & ~barred
        if self.skip_overlap:
            scored &= reference.sum(axis=0) < 2
        return edges, reference, output, scored

    def _events(self) -> tuple[Ints, Ints, Codes, Steps, Ints]:
        """Begins and ends, sorted by item and time, and the first event of each item."""
        spans = (self.reference.spans, self.output.spans, self.regions, self.barred)
        none = [np.zeros(len(side), np.int64) for side in spans[2:]]
        items = np.concatenate([side.items for side in spans] * 2)
        times = np.concatenate([s.starts for s in spans] + [s.ends for s in spans])
        who = np.concatenate([self.reference.who, self.output.who, *none] * 2)
        kinds = np.repeat(np.arange(4, dtype=np.uint8), [len(side) for side in spans])
        steps = np.repeat(np.array([1, -1], np.int8), len(kinds))
        order = np.lexsort((times, items))
        first = np.searchsorted(items[order], np.arange(len(self.reference.first)))
        return first, times[order], np.tile(kinds, 2)[order], steps[order], who[order]


def covered(spans: Spans, item: int, edges: Ints, who: Ints, size: int) -> Marks:
    """Whether a span of each of `size` covers what lies between edges; bool (size, stretches)."""
    here = spans.slice_of(item)
    steps = np.zeros((size, max(len(edges), 1)), np.int64)
    for times, step in ((spans.starts, 1), (spans.ends, -1)):
        np.add.at(steps, (who[here], np.searchsorted(edges, times[here])), step)
    return np.asarray(steps.cumsum(axis=1)[:, :-1] > 0)


def mapped(times: Ints) -> tuple[Ints, Ints]:
    """The one-to-one mapping of reference and system speakers that have the most time in common.

    Times are microseconds in common, (reference speakers, system speakers); sums below 2^53 are
    exact. Only pairs that have time in common are given.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(times, maximize=True)
    kept = times[rows, columns] > 0
    return rows[kept], columns[kept]
