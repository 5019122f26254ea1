"""Evidence: what is counted once and weighed many times.

- A `Tally` holds sums by unit, cell and statistic. It is stored as *entries*: one row for each
  distinct (units, cell) that occurs, so memory follows the data, not the product of the axes.
  Cells are labelled axes that are not resampled (class, decision, query, stream, version, ...).
- A `Ranking` holds trials sorted by score with a class code, an own weight and their units: what
  threshold sweeps need.
- `Evidence` names the parts of one system; parts share factors.
- `totals(evidence, block)` is the one place where data and weights meet.

A part has one or more *sides*: (factor, unit code of each row). A row weighs the product of the
weights of its units; a unit that stands on two sides of a row (the same speaker enrolled and
tested) counts once. Plain counts come out as int64, weighted ones as float64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError
from truecost.slots import Sides, Slots, group, join, refuse_outside
from truecost.weights import Array, Block, Factor

if TYPE_CHECKING:
    from truecost.sweep import Sweep

BUCKETS = 1024  # threshold sweeps cut the trials into about this many buckets
NEAR_CROSSING = 0.6  # share of them where Pmiss = Pfa


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums by unit, cell and statistic.

    Attributes
    ----------
    slots : Slots
        Units of each entry.
    cells : ndarray of int64, shape (entries,)
        Flat index into the product of `axes`.
    values : ndarray, shape (entries, statistics), int64 or float64
        Sums of the entry.
    axes : mapping of str to tuple of str
        Labels of each cell axis, in order.
    statistics : tuple of str
        Names of the summed quantities.
    fixed : ndarray, shape (*cells, statistics)
        What belongs to no unit (the annotations made before a stream starts, say).
    """

    slots: Slots
    cells: npt.NDArray[np.int64]
    values: Array
    axes: Mapping[str, tuple[str, ...]]
    statistics: tuple[str, ...]
    fixed: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the cell axes."""
        return tuple(len(labels) for labels in self.axes.values())

    @staticmethod
    def count(
        sides: Sides,
        statistics: Mapping[str, npt.ArrayLike],
        axes: Mapping[str, tuple[Sequence[str], npt.ArrayLike]] | None = None,
        weights: npt.ArrayLike | None = None,
        fixed: npt.ArrayLike | None = None,
    ) -> "Tally":
        """Add up rows of records.

        Parameters
        ----------
        sides : sequence of (Factor, codes)
            Unit code of each row, for each side.
        statistics : mapping of str to array_like, shape (rows,)
            Numbers to add; integers stay integers.
        axes : mapping of str to (labels, codes), optional
            Cell axes: the labels and the code of each row.
        weights : array_like, shape (rows,), optional
            Weight of each row (inverse inclusion probability, share of a soft label); makes every
            sum float64.
        fixed : array_like, shape (*cells, statistics), optional
            What belongs to no unit.

        Raises
        ------
        InputError
            When a column has not one entry for each row, or a code names no unit or label.

        Examples
        --------
        >>> import truecost as tc
        >>> speakers, codes = tc.Factor.of("speaker", ["ann", "ann", "bob"])
        >>> axes = {"class": (("nontarget", "target"), [0, 1, 1])}
        >>> tally = tc.Tally.count([(speakers, codes)], {"n": [1, 1, 1]}, axes)
        >>> without_one = tc.Weights.leave_out(speakers).block()
        >>> tc.totals(tc.Evidence({"trials": tally}), without_one).sums("trials", "n").tolist()
        [[0, 1], [1, 1]]
        """
        axes = axes or {}
        shape = tuple(len(labels) for labels, _ in axes.values())
        slots = Slots.of(sides)
        rows = len(slots.codes)
        columns = [np.asarray(v) for v in statistics.values()]
        names = [*(f"statistic {s!r}" for s in statistics), *(f"axis {a!r}" for a in axes)]
        for name, column in zip(
            names, [*columns, *(np.asarray(c) for _, c in axes.values())], strict=True
        ):
            if column.shape != (rows,):
                raise InputError(
                    f"{name} has shape {column.shape}: {rows} rows were expected, "
                    f"one for each unit code"
                )
        whole = all(np.issubdtype(c.dtype, np.integer) or c.dtype == bool for c in columns)
        values = np.stack([c.astype(np.float64) for c in columns], axis=1)
        if weights is not None and np.shape(weights) != (rows,):
            raise InputError(f"weights have shape {np.shape(weights)}: {rows} were expected")
        if weights is not None:
            values *= np.asarray(weights, np.float64)[:, None]
            whole = False
        flat = np.zeros(rows, np.int64)
        for name, (labels, codes) in axes.items():
            refuse_outside(codes, len(labels), f"codes of axis {name!r}")
            flat = flat * len(labels) + np.asarray(codes, np.int64)
        kind: Any = np.int64 if whole else np.float64
        base = np.zeros((*shape, len(columns)), kind) if fixed is None else np.asarray(fixed)
        slots, flat, values = group(slots, flat, values)
        return Tally(
            slots,
            flat,
            values.astype(kind),
            {name: tuple(str(x) for x in labels) for name, (labels, _) in axes.items()},
            tuple(statistics),
            np.broadcast_to(base, (*shape, len(columns))),
        )

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
        slots, cells, summed = group(slots, cells, values.astype(np.float64))
        return Tally(
            slots,
            cells,
            summed.astype(values.dtype),
            self.axes,
            self.statistics,
            self.fixed + other.fixed,
        )

    def sums(self, block: Block) -> dict[str, Array]:
        """Sums under a `Block` of weights: over entries e of weight_e value_e, plus what is fixed.

        Returns
        -------
        dict of str to ndarray, shape (replicates, *cells)
            By statistic; int64 when all values are whole, float64 otherwise.
        """
        from truecost.kernels.sums import entry_sums

        size = int(np.prod(self.shape, dtype=np.int64))
        out = np.zeros((size, len(self.statistics), block.count))
        entry_sums(
            self.slots.columns(block),
            self.slots.codes,
            self.cells,
            self.values.astype(np.float64),
            out,
        )
        out += self.fixed.reshape(size, len(self.statistics))[:, :, None]
        sums = {}
        for s, name in enumerate(self.statistics):
            values = np.ascontiguousarray(out[:, s, :].T).reshape(block.count, *self.shape)
            whole = self.values.dtype == np.int64 and self.fixed.dtype == np.int64
            sums[name] = values.astype(np.int64) if whole else values
        return sums


@dataclass(frozen=True, eq=False)
class Ranking:
    """Trials in ascending order of score.

    Attributes
    ----------
    scores : ndarray of float64, shape (trials,)
    slots : Slots
        Units of each trial.
    codes : ndarray of uint8, shape (trials,)
        Class code: 1 is a target, 0 a nontarget in detection measures.
    extra : ndarray of float64, shape (trials,) or (0,)
        Own weight of each trial; empty when all weigh one.
    """

    scores: npt.NDArray[np.float64]
    slots: Slots
    codes: npt.NDArray[np.uint8]
    extra: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(
        scores: npt.ArrayLike,
        codes: npt.ArrayLike,
        sides: Sides,
        weights: npt.ArrayLike | None = None,
    ) -> "Ranking":
        """Sort trials by score.

        Parameters
        ----------
        scores : array_like, shape (trials,)
            Higher means target. Infinite scores are allowed, NaN is not.
        codes : array_like, shape (trials,)
            1 for a target, 0 for a nontarget.
        sides : sequence of (Factor, codes)
            Unit code of each trial, for each side.
        weights : array_like, shape (trials,), optional
            Own weight of each trial; one when left out.

        Raises
        ------
        InputError
            When lengths differ, a score is NaN, or a code names no class or unit.
        """
        slots = Slots.of(sides)
        extra = np.zeros(0) if weights is None else np.asarray(weights, np.float64)
        return Ranking._sorted(
            np.asarray(scores, np.float64), slots, np.asarray(codes).astype(np.uint8), extra
        )

    @staticmethod
    def _sorted(
        scores: npt.NDArray[np.float64],
        slots: Slots,
        codes: npt.NDArray[np.uint8],
        extra: npt.NDArray[np.float64],
    ) -> "Ranking":
        from truecost.kernels.order import sort_trials

        if len(codes) and int(codes.max()) > 1:
            raise InputError(
                f"class codes run up to {codes.max()}; a ranking has the codes 0 (nontarget) and 1"
            )
        if len(extra) not in (0, len(scores)):
            raise InputError(f"{len(extra)} weights for {len(scores)} trials: give one a trial")
        if not len(scores) == len(codes) == len(slots.codes):
            raise InputError(
                f"{len(scores)} scores, {len(codes)} class codes and "
                f"{len(slots.codes)} unit codes: one of each for each trial is needed"
            )
        if np.isnan(scores).any():
            raise InputError(f"{np.isnan(scores).sum()} scores are NaN: they cannot be ranked")
        ordered, places, classes, own = sort_trials(scores + 0.0, slots.codes, codes, extra)
        return Ranking(ordered, Slots(slots.factors, places), classes, own)

    def __add__(self, other: "Ranking") -> "Ranking":
        """The ranking of both sets of trials together (units are joined by label)."""
        extra = self.extra
        if len(self.extra) or len(other.extra):
            extra = np.concatenate(
                [r.extra if len(r.extra) else np.ones(len(r.scores)) for r in (self, other)]
            )
        return Ranking._sorted(
            np.concatenate([self.scores, other.scores]),
            join(self.slots, other.slots),
            np.concatenate([self.codes, other.codes]),
            extra,
        )

    @cached_property
    def cut(self) -> npt.NDArray[np.bool_]:
        """Whether a trial starts a group of tied scores: where a threshold may lie."""
        return np.concatenate([[True], self.scores[1:] != self.scores[:-1]])[: len(self.scores)]

    @cached_property
    def edges(self) -> npt.NDArray[np.int64]:
        """Bucket edges, never inside a tie, from 0 to the number of trials.

        Most lie where Pmiss and Pfa are equal for weights of one: there the equal error rates of
        replicates are searched, the costliest of the sweeps (2.4 times faster than even buckets).
        Where they lie decides speed only, never a result.
        """
        trials = len(self.scores)
        starts = np.flatnonzero(self.cut)
        few = max(1, int(BUCKETS * (1 - NEAR_CROSSING)))
        coarse = self._snapped(starts, np.arange(1, few) * trials // few)
        if trials < 4 * BUCKETS:  # small data: the whole of it is near
            return self._snapped(starts, np.arange(1, BUCKETS) * trials // BUCKETS)
        targets = np.cumsum(np.add.reduceat(self.codes, coarse[:-1], dtype=np.int64))
        others = coarse[1:] - targets
        crossing = np.argmax(targets * others[-1] >= (others[-1] - others) * targets[-1])
        middle, reach = int(coarse[1:][crossing]), trials // 20
        near = np.linspace(middle - reach, middle + reach, BUCKETS - few).astype(np.int64)
        return np.union1d(coarse, self._snapped(starts, near.clip(0, trials)))

    def _snapped(
        self, starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Wanted edges moved to the next tie group, with both ends."""
        ends = np.append(starts, len(self.scores))
        found = ends[np.searchsorted(ends, wanted)]
        return np.unique(np.concatenate([[0], found, [len(self.scores)]]))

    @cached_property
    def histogram(self) -> Tally:
        """Weight `n` by bucket and class (nontarget, target), with the units of the trials."""
        buckets = len(self.edges) - 1
        axes = {"bucket": tuple(str(b) for b in range(buckets)), "class": ("0", "1")}
        return Tally(*self._entries(), axes, ("n",), np.zeros((buckets, 2, 1)))

    def _entries(self) -> tuple[Slots, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Units, (bucket, class) cell and weight of each entry of the histogram."""
        from truecost.kernels.sums import bucket_entries

        trials = len(self.codes)
        if self.slots.codes.shape[1] > 1:
            flat = np.repeat(np.arange(len(self.edges) - 1), np.diff(self.edges)) * 2 + self.codes
            values = self.extra if len(self.extra) else np.ones(trials)
            return group(self.slots, flat, values.reshape(-1, 1))
        slots, cells, values = (
            np.empty(trials, np.int32),
            np.empty(trials, np.int64),
            np.empty(trials),
        )
        width = sum(len(f) for f in self.slots.factors)
        n = bucket_entries(
            self.edges, self.slots.codes[:, 0], self.codes, self.extra, width, slots, cells, values
        )
        return (
            Slots(self.slots.factors, slots[:n].reshape(-1, 1).copy()),
            cells[:n].copy(),
            values[:n].reshape(-1, 1).copy(),
        )

    @cached_property
    def knots(self) -> npt.NDArray[np.int64]:
        """Positions where pooled adjacent violators may separate blocks, whatever the weights.

        Between two tie groups only a step from a group with nontargets to one with targets can
        separate; everything else is pooled once and for all.
        """
        starts = np.flatnonzero(self.cut)
        if len(starts) == 0:
            return np.zeros(1, np.int64)
        targets = np.add.reduceat(self.codes == 1, starts, dtype=np.int64)
        sizes = np.diff(np.append(starts, len(self.codes)))
        step = (targets[:-1] < sizes[:-1]) & (targets[1:] > 0)
        return np.concatenate([[0], starts[1:][step], [len(self.codes)]]).astype(np.int64)


Part = Tally | Ranking


@dataclass(frozen=True, eq=False)
class Evidence:
    """The named parts of one system on one set of trials.

    Parameters
    ----------
    parts : mapping of str to Tally or Ranking
    outer : tuple of Factor
        Factors whose units are cells of a tally; a measure weighs them itself
        (`Totals.weights`): the mean over queries, for example.
    """

    parts: Mapping[str, Part]
    outer: tuple[Factor, ...] = ()

    @cached_property
    def factors(self) -> dict[str, Factor]:
        """Every factor by name: those of the parts, then the outer ones; InputError when parts
        that share a name do not share the units, or an outer factor and its axis the labels.
        """
        found: dict[str, Factor] = {}
        for factor in [*(f for p in self.parts.values() for f in p.slots.factors), *self.outer]:
            known = found.setdefault(factor.name, factor)
            if known is not factor and not known.same_units(factor):
                raise InputError(
                    f"factor {factor.name!r} has different units in two parts of the "
                    f"evidence ({len(known)} and {len(factor)}): they must share them"
                )
        for factor in self.outer:
            for name, part in self.parts.items():
                labels = part.axes.get(factor.name) if isinstance(part, Tally) else None
                if labels is not None and labels != tuple(str(x) for x in factor.labels):
                    raise InputError(
                        f"axis {factor.name!r} of part {name!r} and the outer factor of that name "
                        f"have other labels or another order: they must be the same"
                    )
        return found

    def prepare(self) -> None:
        """Compute what sweeps share before threads do it all at once."""
        for part in self.parts.values():
            if isinstance(part, Ranking):
                _ = part.cut, part.histogram, part.knots


@dataclass(frozen=True, eq=False)
class Totals:
    """Evidence under a block of weights: what a measure sees; the first axis is the replicates."""

    evidence: Evidence
    block: Block
    _sums: dict[str, dict[str, Array]] = field(default_factory=dict, init=False, repr=False)
    _sweeps: dict[str, "Sweep"] = field(default_factory=dict, init=False, repr=False)

    def sums(self, part: str, statistic: str) -> Array:
        """Weighted sums of one statistic of a tally.

        Parameters
        ----------
        part : str
            Name of a tally; InputError when it is that of a ranking.
        statistic : str

        Returns
        -------
        ndarray, shape (replicates, *cells)
            int64 when all values of the tally are whole, float64 otherwise.
        """
        if part not in self._sums:
            tally = self.evidence.parts[part]
            if not isinstance(tally, Tally):
                raise InputError(f"part {part!r} is a ranking: use sweep({part!r})")
            self._sums[part] = tally.sums(self.block)
        return self._sums[part][statistic]

    def sweep(self, part: str) -> "Sweep":
        """Weighted threshold sweeps of a ranking.

        Parameters
        ----------
        part : str
            Name of a ranking; InputError when it is that of a tally.

        Returns
        -------
        Sweep
        """
        if part not in self._sweeps:
            from truecost.sweep import Sweep

            ranking = self.evidence.parts[part]
            if not isinstance(ranking, Ranking):
                raise InputError(f"part {part!r} is a tally: use sums({part!r}, statistic)")
            self._sweeps[part] = Sweep(ranking, self.block)
        return self._sweeps[part]

    def weights(self, factor: str) -> npt.NDArray[np.float64]:
        """Weights of a factor, for measures that weigh its units themselves (`Evidence.outer`).

        Parameters
        ----------
        factor : str
            InputError when there is none of that name.

        Returns
        -------
        ndarray of float64, shape (replicates, units)
            Units in the order of the factor's labels.
        """
        if factor not in self.block.rows:
            raise InputError(
                f"there is no factor {factor!r} to weigh; the factors are "
                f"{', '.join(self.block.rows)}: name it in Evidence(..., outer=(factor,))"
            )
        return self.block[factor].astype(np.float64)


def totals(evidence: Evidence, block: Block) -> Totals:
    """Weigh evidence: sums per replicate, cell and statistic, and sweeps, made on demand.

    Parameters
    ----------
    evidence : Evidence
    block : Block
        Weights of every factor of the evidence.

    Returns
    -------
    Totals
    """
    return Totals(evidence, block)
