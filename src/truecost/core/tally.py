"""A tally: sums by unit, cell and statistic (see `truecost.core.evidence`).

Stored as *entries*, one for each distinct (units, cell) that occurs. Cells are labelled axes that
are not resampled by the tally's factors. Plain counts stay int64, weighted ones are float64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Array
from truecost.core.unit_index import (
    Computed,
    UnitColumns,
    UnitIndex,
    count_entries,
    digest_of,
    group,
    join,
    refuse_outside,
)
from truecost.core.weights import Block, Columns, Weights, Without
from truecost.errors import InputError, counted

CELLS = ((np.uint8, 2**8), (np.int32, 2**31), (np.int64, 2**63))  # the least that holds them


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over rows of a table, for each combination of units, cell and statistic.

    A cell is a combination of labels, such as a class and a decision. An entry is a combination of
    units and cell that occurs in the data.

    Attributes
    ----------
    slots : UnitIndex
        Units of each entry.
    cells : ndarray of int64, shape (entries,)
        Cell of each entry, as a flat index into the product of `axes`.
    values : ndarray, shape (entries, statistics), int64 or float64
        Sums of each entry.
    axes : mapping of str to tuple of str
        Labels of each axis of the cells, such as the classes.
    statistics : tuple of str
        Names of the sums.
    fixed : ndarray, shape (*cells, statistics)
        Sums that belong to no unit, so that resampling does not change them. Example: annotations
        before the start of a stream.
    squares : ndarray of float64, shape (cells,), optional
        Sum of the squared weights of the rows in each cell; only for rows with weights.
    """

    slots: UnitIndex
    cells: npt.NDArray[np.int64]
    values: Array
    axes: Mapping[str, tuple[str, ...]]
    statistics: tuple[str, ...]
    fixed: Array
    squares: Array | None = None
    _strata: dict[str, npt.NDArray[np.float64]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def digest(self) -> str:
        """Hash of the sums."""
        return digest_of(self.slots.codes, self.cells, self.values, self.fixed)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis of the cells."""
        return tuple(len(labels) for labels in self.axes.values())

    @staticmethod
    def count(
        sides: UnitColumns,
        statistics: Mapping[str, npt.ArrayLike | Computed],
        axes: Mapping[str, tuple[Sequence[str], npt.ArrayLike]] | None = None,
        weights: npt.ArrayLike | None = None,
        fixed: npt.ArrayLike | None = None,
    ) -> "Tally":
        """Tally of a table: sums over its rows.

        Parameters
        ----------
        sides : sequence of (Factor, codes)
            Factor, and the code of the unit of each row. Rows with two units, such as two speakers,
            need two pairs.
        statistics : mapping of str to array_like, shape (rows,)
            Numbers to sum. Integers stay integers.
        axes : mapping of str to (labels, codes), optional
            Axes of the cells: the labels, and the code of the label of each row.
        weights : array_like, shape (rows,), optional
            Weight of each row, such as an inverse inclusion probability or the share of a soft
            label. With weights, every sum is float64.
        fixed : array_like, shape (*cells, statistics), optional
            Sums that belong to no unit.

        Raises
        ------
        InputError
            If the length of a column is not the number of rows, or a code has no unit or label.

        Examples
        --------
        >>> import truecost as tc
        >>> speakers, codes = tc.Factor.encode("speaker", ["ann", "ann", "bob"])
        >>> axes = {"class": (("nontarget", "target"), [0, 1, 1])}
        >>> tally = tc.Tally.count([(speakers, codes)], {"n": [1, 1, 1]}, axes)
        >>> without_one = tc.Weights.leave_out(speakers).block()
        >>> tc.totals(tc.Evidence({"trials": tally}), without_one).sums("trials", "n").tolist()
        [[0, 1], [1, 1]]
        """
        from truecost.kernels.exact import exact_sums

        axes = axes or {}
        shape = tuple(len(labels) for labels, _ in axes.values())
        slots = UnitIndex.join(sides)
        rows = len(slots.codes)
        columns = [v if isinstance(v, Computed) else np.asarray(v) for v in statistics.values()]
        codes = [np.asarray(c) for _, c in axes.values()]
        names = [*(f"statistic {s!r}" for s in statistics), *(f"axis {a!r}" for a in axes)]
        own = None if weights is None else np.asarray(weights, np.float64)
        given = [*columns, *codes, *([] if own is None else [own])]
        for name, column in zip([*names, "weights"], given, strict=False):
            if column.shape != (rows,):
                raise InputError(
                    f"{name} has shape {column.shape}: {counted(rows, 'row', 'were')} expected, "
                    f"one for each unit code"
                )
        size = np.prod(shape, dtype=float)
        cells: Array = np.zeros(rows, next(t for t, most in CELLS if size <= most))
        for (name, (labels, _)), code in zip(axes.items(), codes, strict=True):
            refuse_outside(code, len(labels), f"codes of axis {name!r}")
            cells *= len(labels)
            cells += code.astype(cells.dtype, copy=False)
        whole = own is None and all(np.dtype(c.dtype).kind in "iub" for c in columns)
        kind: Any = np.int64 if whole else np.float64
        base = np.zeros((*shape, len(columns)), kind) if fixed is None else np.asarray(fixed)
        squares = None
        if own is not None:
            squares = exact_sums(cells, own**2, int(np.prod(shape)))
        slots, cells, values = count_entries(slots, cells, int(np.prod(shape)), columns, own)
        return Tally(
            slots,
            cells,
            values.astype(kind),
            {name: tuple(str(x) for x in labels) for name, (labels, _) in axes.items()},
            tuple(statistics),
            np.broadcast_to(base, (*shape, len(columns))),
            squares,
        )

    @staticmethod
    def constant(
        values: npt.ArrayLike, names: Sequence[str], axes: Mapping[str, tuple[str, ...]]
    ) -> "Tally":
        """Tally of sums that belong to no unit, so that resampling does not change them."""
        found = np.asarray(values)
        none, empty = (
            UnitIndex((), np.zeros((0, 1), np.int32)),
            np.zeros((0, len(names)), found.dtype),
        )
        return Tally(none, np.zeros(0, np.int64), empty, axes, tuple(names), found)

    def __add__(self, other: "Tally") -> "Tally":
        """The tally of both sets of records together (units are joined by label)."""
        if dict(self.axes) != dict(other.axes) or self.statistics != other.statistics:
            raise InputError(
                f"tallies do not match: axes {dict(self.axes)} and statistics "
                f"{self.statistics} against {dict(other.axes)} and {other.statistics}"
            )
        slots = join(self.slots, other.slots)
        cells = np.concatenate([self.cells, other.cells])
        values = np.concatenate([self.values, other.values])
        slots, cells, summed = group(slots, cells, values)
        return Tally(
            slots,
            cells,
            summed,
            self.axes,
            self.statistics,
            self.fixed + other.fixed,
            None if self.squares is None or other.squares is None else self.squares + other.squares,
        )

    @cached_property
    def _whole(self) -> bool:
        """Whether all values are whole numbers, so that what is taken from a sum leaves no rest."""
        return self.values.dtype.kind in "iu" or bool((self.values == np.rint(self.values)).all())

    @cached_property
    def _every(self) -> npt.NDArray[np.float64]:
        """Sums over all units, shape (cells, statistics)."""
        names = {factor.name: factor for factor in self.slots.factors}
        out = np.zeros((int(np.prod(self.shape, dtype=np.int64)), len(self.statistics), 1))
        ones = self.slots.columns(Weights.ones(names).block())
        self._add(ones, out)
        return out[:, :, 0]

    def _add(self, columns: Columns, out: npt.NDArray[np.float64]) -> None:
        """Weighted sums, into zeros of shape (cells, statistics, replicates)."""
        from truecost.kernels import FEW
        from truecost.kernels.sums import entry_sums, sums_of_few

        few = self.values.size * columns.shape[1] <= FEW << 4  # 1 ms each of 50,000
        add = sums_of_few if few else entry_sums
        add(columns, self.slots.codes, self.cells, self.values.astype(np.float64), out)

    @cached_property
    def stood(self) -> npt.NDArray[np.float64]:
        """Number of units of each entry; a label can represent several units."""
        ones = Weights.ones({factor.name: factor for factor in self.slots.factors}).block()
        of_slots = self.slots.columns(ones)[:, 0].astype(np.float64)
        return np.asarray(of_slots[self.slots.codes].prod(axis=1))

    @cached_property
    def _filled(self) -> npt.NDArray[np.float64]:
        """Number of units with an entry other than 0, shape (cells, statistics)."""
        cells = int(np.prod(self.shape, dtype=np.int64))
        columns = (self.values != 0).T * self.stood
        return np.stack([np.bincount(self.cells, own, cells) for own in columns], axis=1)

    def _less(self, without: Without, out: npt.NDArray[np.float64]) -> None:
        """Sums without what each replicate leaves out: in one pass over the entries.

        Without a unit of the sums S_h of its stratum the rest weighs c: all + gone + (c - 1) (S_h +
        gone), with gone below 0.
        """
        gone = self._gone(without, self.values.astype(np.float64), out.shape)
        out += self._every[:, :, None] + gone
        if without.scale is not None and without.of is not None:
            if without.factor not in self._strata:
                self._strata[without.factor] = self._strata_sums(without)
            held = self._strata[without.factor][without.of].transpose(1, 2, 0)
            out += (without.scale - 1) * (held + gone)
        if not self._whole:  # what is left of nothing is 0, and no rest of rounding
            there = (self.values != 0).astype(np.float64)
            out[self._gone(without, there, out.shape) + self._filled[:, :, None] == 0] = 0.0

    def _gone(
        self, without: Without, values: npt.NDArray[np.float64], shape: tuple[int, ...]
    ) -> npt.NDArray[np.float64]:
        """Sums that each replicate leaves out, below 0."""
        from truecost.kernels import FEW
        from truecost.kernels.sums import take_away, take_few

        groups = self._on_slots(without, without.groups)
        gone = np.zeros(shape)
        few = values.size <= FEW and self.slots.codes.shape[1] == 1
        take = take_few if few else take_away
        take(groups, self.slots.codes, self.cells, values, gone)
        return gone

    def _strata_sums(self, without: Without) -> npt.NDArray[np.float64]:
        """Sums over all units by stratum, shape (strata, cells, statistics)."""
        assert without.strata is not None
        stratum = self._on_slots(without, without.strata)[self.slots.codes].max(axis=1)
        cells, strata = int(np.prod(self.shape, dtype=np.int64)), int(without.strata.max()) + 1
        own = stratum >= 0
        keys = stratum[own] * cells + self.cells[own]
        sums = np.zeros((strata * cells, len(self.statistics)))
        for s, column in enumerate(self.values.T):
            sums[:, s] = np.bincount(keys, column[own] * self.stood[own], strata * cells)
        return sums.reshape(strata, cells, len(self.statistics))

    def _on_slots(
        self, without: Without, of_labels: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Values of the labels of the factor, on all slots; the least number on slots of other
        factors.
        """
        outside = np.iinfo(np.int64).min
        columns = [
            of_labels if f.name == without.factor else np.full(len(f), outside)
            for f in self.slots.factors
        ]
        return np.concatenate([*columns, [outside]]).astype(np.int64)

    def sums(self, block: Block) -> dict[str, Array]:
        """Weighted sums of each statistic, shape (replicates, cells...).

        Each sum is the total of weight times value over the entries, plus the fixed sums. The type
        is int64 if all values are whole, otherwise float64.
        """
        size = int(np.prod(self.shape, dtype=np.int64))
        out = np.zeros((size, len(self.statistics), block.count))
        once = self.slots.codes.shape[1] == len(self.slots.factors)  # no factor on two sides
        if block.without is not None and (once or block.whole):
            self._less(block.without, out)
        else:
            self._add(self.slots.columns(block), out)
        out += self.fixed.reshape(size, len(self.statistics))[:, :, None]
        sums = {}
        for s, name in enumerate(self.statistics):
            values = np.ascontiguousarray(out[:, s, :].T).reshape(block.count, *self.shape)
            whole = self.values.dtype == np.int64 and self.fixed.dtype == np.int64 and block.whole
            sums[name] = values.astype(np.int64) if whole else values
        return sums
