"""The sweep over two sides of speech: where it is scored, and what comes out of it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.speech.spans import Ints, Spans, Speech

Codes = npt.NDArray[np.uint8]
Steps = npt.NDArray[np.int8]
Marks = npt.NDArray[np.bool_]
Pairs = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False)
class Swept:
    """Scored time of every item.

    Attributes
    ----------
    tables : ndarray of int64, shape (cells,)
        For each item (reference speakers + 1) x (system speakers + 1) microseconds; see `table`.
    cells : ndarray of int64, shape (items + 1,)
        Where the table of each item begins.
    columns : ndarray of int64, shape (items,)
        System speakers + 1.
    common : ndarray of int64, shape (items,)
        Sum of T min(Nref, Nsys).
    """

    tables: Ints
    cells: Ints
    columns: Ints
    common: Ints

    def table(self, item: int) -> Ints:
        """The time that each pair of speakers shares: reference speakers x system speakers.

        The last column is the time of each reference speaker, the last row that of each system
        speaker, and the corner all scored time.
        """
        flat = self.tables[self.cells[item] : self.cells[item + 1]]
        return flat.reshape(-1, self.columns[item])


@dataclass(frozen=True, eq=False)
class Scene:
    """Two sides of speech, and where they are scored.

    Attributes
    ----------
    regions : Spans
        What is scored; those of an item do not overlap.
    barred : Spans
        What is excluded from it; these may overlap.
    skip_overlap : bool
        Leave out where several reference speakers speak.
    """

    reference: Speech
    output: Speech
    regions: Spans
    barred: Spans
    skip_overlap: bool = False

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
        """Edges of time, and between one and the next who speaks and what is scored.

        Parameters
        ----------
        item : int
            The place of the item.

        Returns
        -------
        edges : ndarray of int64, shape (stretches + 1,)
            Ascending; empty where there is nothing.
        reference, output : ndarray of bool, shape (speakers, stretches)
        scored : ndarray of bool, shape (stretches,)
        """
        sides = (self.reference, self.output)
        spans = (*(side.spans for side in sides), self.regions, self.barred)
        times = [t[s.of(item)] for s in spans for t in (s.starts, s.ends)]
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
        """What begins or ends, sorted by item and time, and where the events of items begin."""
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
    here = spans.of(item)
    steps = np.zeros((size, max(len(edges), 1)), np.int64)
    for times, step in ((spans.starts, 1), (spans.ends, -1)):
        np.add.at(steps, (who[here], np.searchsorted(edges, times[here])), step)
    return np.asarray(steps.cumsum(axis=1)[:, :-1] > 0)


def mapped(times: Ints) -> tuple[Ints, Ints]:
    """The one-to-one mapping of speakers that have the most time in common.

    Parameters
    ----------
    times : ndarray of int64, shape (reference speakers, system speakers)
        Microseconds in common; sums below 2^53 are exact.

    Returns
    -------
    reference, system : ndarray of int64, shape (pairs,)
        Only pairs that have time in common.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(times, maximize=True)
    kept = times[rows, columns] > 0
    return rows[kept], columns[kept]
