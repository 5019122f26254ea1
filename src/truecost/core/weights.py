"""How data are resampled: factors, plans, and the weights they give.

A *factor* is a way in which trials are dependent (speaker, session, document, batch); a *unit* is
one of its levels. A `Plan` says how each factor is resampled, `Weights` are the resulting
(replicates x units) matrices, drawn in blocks and never held whole. Weights of one give the point
estimate, leave-one-out rows the jackknife, equal weights for two systems a paired comparison.

A weight depends on (seed, factor name, replicate, place of the unit among the sorted units), on the
strata and sizes of the units, and on nothing else: not on threads, blocks, machines, file order or
what else is resampled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Counts, Factor, draw_rows
from truecost.core.subsets import Groups
from truecost.errors import UsageError, near, refuse_text
from truecost.names import Scheme

Columns = npt.NDArray[np.floating[Any]]
Rows = npt.NDArray[Any]  # whole numbers, but for strata that lose a unit

MOST_REPLICATES = 10_000_000  # a thousand times more than any interval needs
_BLOCK_BYTES = 1 << 26  # weights held at once by one thread


@dataclass(frozen=True)
class Plan:
    """Plan of the resampling: how units are drawn, and how often.

    Parameters
    ----------
    replicates : int
        Number of bootstrap replicates.
    seed : int
        Random seed.
    scheme : {"multinomial", "poisson", "blocks"}
        Resampling scheme of the factors.

        - `multinomial`: from each stratum with n units, n units are drawn with replacement.
        - `poisson`: the weight of each unit is an independent Poisson(1) number.
        - `blocks`: moving blocks of successive units within each stratum. The weight of a unit is
          the number of drawn blocks that contain it, so units near the ends have less weight
          (Künsch 1989).
    schemes : mapping of str to scheme
        Schemes of single factors, by name of the factor. Default: `scheme`.
    block_length : int, optional
        Length of moving blocks, in units. Default: the cube root of the number of units of the
        stratum, rounded up.
    hold : tuple of str
        Names of factors that are not resampled: the weight of their units is always 1.

    Raises
    ------
    UsageError
        If a number is out of range or a scheme does not exist.

    Examples
    --------
    Each row is a replicate: the number of times that each of three speakers is drawn.

    >>> import truecost as tc
    >>> speakers, _ = tc.Factor.encode("speaker", ["ann", "bob", "cho"])
    >>> weights = tc.Plan(replicates=3, seed=11).weights({"speaker": speakers})
    >>> weights.block()["speaker"].tolist()
    [[1, 0, 2], [2, 0, 1], [2, 0, 1]]
    """

    replicates: int = 2000
    seed: int = 0
    scheme: Scheme = "multinomial"
    schemes: Mapping[str, Scheme] = field(default_factory=dict)
    block_length: int | None = None
    hold: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text(hold=self.hold)
        if not 1 <= self.replicates <= MOST_REPLICATES:
            raise UsageError(
                f"replicates is {self.replicates}: it must lie between 1 and {MOST_REPLICATES}"
            )
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}: it must be a whole number from 0 up")
        for name, scheme in {**self.schemes, "any": self.scheme}.items():
            if scheme not in get_args(Scheme):
                raise UsageError(
                    f"scheme of factor {name!r} is {scheme!r}: "
                    f"choose one of {', '.join(get_args(Scheme))}"
                )
        if self.block_length is not None and self.block_length < 1:
            raise UsageError(f"block length is {self.block_length}: at least 1 is needed")

    def weights(self, factors: Mapping[str, Factor]) -> "Weights":
        """Bootstrap weights of the given factors (`Evidence.factors`). The weights of a block are
        drawn when the block is used.

        Raises
        ------
        UsageError
            If the plan names a factor that the data do not have.
        """
        unknown = [name for name in (*self.schemes, *self.hold) if name not in factors]
        if unknown:
            option = "--hold" if {*unknown} <= {*self.hold} else "schemes"
            raise UsageError(
                f"{option} names {', '.join(unknown)}, which is not resampled"
                f"{near(unknown[0], factors)}: choose from {', '.join(factors)}"
            )
        return Weights(dict(factors), self.replicates, self)

    def scheme_of(self, factor: str) -> Scheme:
        """Resampling scheme of a factor that is not held fixed."""
        return self.schemes.get(factor, self.scheme)

    def describe(self, factors: Mapping[str, Factor]) -> str:
        """Text for signatures: resampling scheme of each factor, block length, number of replicates
        and seed.
        """
        words = [
            f"{name}:{'held' if name in self.hold else self.scheme_of(name)}"
            + (":strata" if factor.strata is not None else "")
            for name, factor in factors.items()
        ]
        blocks = any(self.scheme_of(name) == "blocks" for name in factors if name not in self.hold)
        length = f"|block:{self.block_length or 'cube-root'}" if blocks else ""
        return f"resample:{'+'.join(words)}{length}|replicates:{self.replicates}|seed:{self.seed}"


@dataclass(frozen=True, eq=False)
class Without:
    """The units that the replicates of a block leave out; all others weigh one.

    `groups`, (labels,), is the replicate of the block that leaves out (a unit of) each label, below
    0 or from the number of replicates up for those of other blocks; `strata`, (labels,), and `of`,
    (replicates,), the stratum of each label, and of what each replicate leaves out; `scale`,
    (replicates,), what the rest of that stratum weighs: n / (n - 1).
    """

    factor: str
    groups: npt.NDArray[np.int64]
    strata: npt.NDArray[np.int64] | None = None
    of: npt.NDArray[np.int64] | None = None
    scale: npt.NDArray[np.float64] | None = None

    def weigh(self, rows: Rows) -> Rows:
        """The weights of the factor, those of a stratum that lost a unit scaled."""
        if self.strata is None or self.of is None or self.scale is None:
            return rows
        mine = self.strata[None, :] == self.of[:, None]
        return np.asarray(rows * np.where(mine, self.scale[:, None], 1.0))


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of the units in a block of replicates. `block[name]`: the weights of one factor.

    Attributes
    ----------
    rows : mapping of str to ndarray of uint16 or uint32, shape (replicates, units)
        Number of times that each unit of a factor occurs in each replicate; uint32 for a factor
        with sizes.
    count : int
        Number of replicates.
    without : Without, optional
        For a jackknife: units that each replicate leaves out, and the weights of the others.
    """

    rows: Mapping[str, Rows]
    count: int
    without: Without | None = None
    _columns: dict[tuple[str, ...], Columns] = field(default_factory=dict, init=False, repr=False)
    _weighed: dict[str, Rows] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, factor: str) -> Rows:
        if self.without is None or self.without.factor != factor:
            return self.rows[factor]
        if factor not in self._weighed:
            self._weighed[factor] = self.without.weigh(self.rows[factor])
        return self._weighed[factor]

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers."""
        scaled = self.without is not None and self.without.strata is not None
        return not scaled and all(row.dtype.kind == "u" for row in self.rows.values())

    def columns(self, factors: tuple[str, ...]) -> Columns:
        """Weights of the units of several factors in one array of shape (units + 1, replicates);
        the last row is 1.

        The type is float32, or float64 for factors with sizes, so that counts stay exact. The array
        is shared: do not change it.
        """
        from truecost.kernels import FEW
        from truecost.kernels.sums import transpose_block

        if factors not in self._columns:
            size = 1 + sum(self.rows[name].shape[1] for name in factors)
            kind = np.result_type(np.float32, *(self[name].dtype for name in factors))
            columns, offset = np.empty((size, self.count), kind), 0
            columns[-1] = 1
            for name in factors:
                rows = self[name]
                if rows.size <= FEW:
                    columns[offset : offset + rows.shape[1]] = rows.T
                else:
                    transpose_block(rows, columns, offset)
                offset += rows.shape[1]
            self._columns[factors] = columns
        return self._columns[factors]


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the units in each replicate, computed in blocks of replicates, in any order.

    `Weights` come from `Plan.weights` (bootstrap), `Weights.ones` (point estimate) or
    `Weights.leave_out` (jackknife).

    Attributes
    ----------
    factors : mapping of str to Factor
        Factors by name.
    count : int
        Number of replicates.
    plan : Plan, optional
        Plan of a bootstrap. None: all units have weight 1, except those that are left out.
    groups, left : Groups and str
        For a jackknife: groups of units, and the name of their factor. Replicate g leaves out
        group g.

    Examples
    --------
    >>> import truecost as tc
    >>> speakers, _ = tc.Factor.encode("speaker", ["ann", "bob", "cho"])
    >>> tc.Weights.ones({"speaker": speakers}).block()["speaker"].tolist()
    [[1, 1, 1]]
    >>> tc.Weights.leave_out(speakers).block()["speaker"].tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """

    factors: Mapping[str, Factor]
    count: int
    plan: Plan | None = None
    groups: Groups | None = None
    left: str = ""

    @staticmethod
    def ones(factors: Mapping[str, Factor]) -> "Weights":
        """Weights of a single replicate in which each unit has weight 1, for the point estimate.

        If labels represent several units, the weight of a label is the number of its units.
        """
        return Weights(dict(factors), 1)

    @staticmethod
    def leave_out(
        factor: Factor, groups: Groups | None = None, factors: Mapping[str, Factor] | None = None
    ) -> "Weights":
        """Jackknife of one factor: each replicate leaves out one group of units.

        If the factor has strata, the other units of a stratum with n units, of which r are left
        out, get the weight n / (n - r), so that the total weight of the stratum stays n.

        Parameters
        ----------
        factor : Factor
            Factor whose units are left out.
        groups : Groups, optional
            Groups of units. Default: each unit is a group; more than 1,000 units are divided into
            about 1,000 groups.
        factors : mapping of str to Factor, optional
            Other factors of the evidence; their units have weight 1.
        """
        groups = Groups.deal(factor) if groups is None else groups
        known = dict(factors or {factor.name: factor})
        return Weights(known, groups.count, groups=groups, left=factor.name)

    def blocks(self, cells: int = 0) -> Iterator[tuple[int, int]]:
        """Ranges (start, stop) of replicates, in order, whose weights take at most about 64 MB.

        A range has 8 to 256 replicates; the last one can have fewer. `cells` is the number
        of cells of the evidence: the sums of the cells need memory, too.
        """
        # Weights of a factor with sizes are twice as wide.
        slots = 1 + sum(len(f) * (1 if f.sizes is None else 2) for f in self.factors.values())
        size = int(np.clip(_BLOCK_BYTES // (6 * slots + 16 * cells), 8, 256))
        for start in range(0, self.count, size):
            yield start, min(self.count, start + size)

    def block(self, start: int = 0, stop: int | None = None) -> Block:
        """Weights of the replicates from `start` to `stop` - 1. Default: all.

        Raises
        ------
        UsageError, InputError
            If the plan has Poisson weights for a factor with strata, or moving blocks for labels
            that represent several units, or the number of stratum codes is not the number of units.
        """
        stop = self.count if stop is None else stop
        return Block(
            {name: self._rows(factor, start, stop) for name, factor in self.factors.items()},
            stop - start,
            self._left_out(start, stop),
        )

    def _left_out(self, start: int, stop: int) -> Without | None:
        groups = self.groups
        if groups is None:
            return None
        factor = self.factors[self.left]
        if groups.strata is None or factor.strata is None:
            return Without(self.left, groups.codes - start)
        of = groups.strata[start:stop]
        held = np.bincount(factor.strata, factor.sizes)[of]
        rest = held - groups.removed[start:stop]
        with np.errstate(divide="ignore"):
            scale = np.where(rest > 0, held / rest, 0.0)
        return Without(self.left, groups.codes - start, np.asarray(factor.strata), of, scale)

    def _rows(self, factor: Factor, start: int, stop: int) -> Rows:
        rows: Counts
        if factor.tied is not None and self.groups is None:
            alone = Factor(factor.name, np.arange(factor.count))
            return self._rows(alone, start, stop)[:, factor.tied]
        if factor.sizes is None:
            rows = np.ones((stop - start, len(factor)), np.uint16)
        else:
            rows = np.tile(factor.sizes.astype(np.uint32), (stop - start, 1))
        if self.groups is not None:
            if factor.name == self.left:
                codes = self.groups.codes
                gone = np.flatnonzero((codes >= start) & (codes < stop))
                rows[codes[gone] - start, gone] -= 1
            return rows
        if self.plan is not None and factor.name not in self.plan.hold:
            draw_rows(rows, start, factor, self.plan)
        return rows
