"""A ranking: trials sorted by score, each with a class code, an own weight and its units.

The data that threshold sweeps need. Equal scores stay together; buckets of trials, never cut inside
a tie, let a sweep look at few trials and still be exact.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import PIECE
from truecost.core.tally import Tally
from truecost.core.unit_index import (
    UnitColumns,
    UnitIndex,
    count_entries,
    digest_of,
    group,
    join,
    refuse_outside,
)
from truecost.core.weights import Block
from truecost.errors import InputError, counted

Floats = npt.NDArray[np.float64]
BUCKETS = 1024  # threshold sweeps cut the trials into about this many buckets,
MANY = 1_000_000  # of more trials than these into more, by the square root: sums at the edges cost
# more as scans inside cost less. EER and least cost of 1,000 replicates and units, all included:
# 3e7 trials 2.4 s of CPU time with 4,096 buckets (1,024: 3.5 s; 8,192: 2.7 s); at 1e7 it is a tie,
# 1e6 are soonest with 1,024.
# What the two ways to an AUC take, in nanoseconds, measured at 1e6 and 1e7 trials of 100 to 3,000
# units: for a trial and replicate, for a pair of units and replicate; to count pairs, for a trial
# of the rarer class and a unit, and for a trial in each pass. What saves less in a block is not
# worth two more kernels to compile on a new machine.
WALK, WEIGH, COUNT, PASS, LITTLE = 0.25, 0.1, 0.2, 5.0, 2e7
LOOK = 16  # entries, weighed for all replicates at once, that take as long as a look at one trial
TRIALS_OF_A_UNIT = 64  # from which on values are kept for the next application
NEAR_CROSSING = 0.6  # share of them where Pmiss = Pfa
_MAKING = RLock()  # what threads ask for at the same time is made by the first of them


@dataclass(frozen=True, eq=False)
class Ranking:
    """Trials in ascending order of score.

    Attributes
    ----------
    scores : ndarray of float64 or float32, shape (trials,)
        Scores, ascending.
    slots : UnitIndex
        Units of each trial.
    codes : ndarray of uint8, shape (trials,)
        Class of each trial. For detection: 1 for a target, 0 for a nontarget.
    extra : ndarray of float64, shape (trials,) or (0,)
        Weight of each trial; empty if all weights are 1.
    swept : dict
        Results of sweeps, kept for further use.
    """

    scores: npt.NDArray[np.floating[Any]]
    slots: UnitIndex
    codes: npt.NDArray[np.uint8]
    extra: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    swept: dict[tuple[object, ...], npt.NDArray[np.float64]] = field(
        default_factory=dict, init=False, repr=False
    )

    @staticmethod
    def from_scores(
        scores: npt.ArrayLike,
        codes: npt.ArrayLike,
        sides: UnitColumns,
        weights: npt.ArrayLike | None = None,
    ) -> "Ranking":
        """Ranking of trials in any order.

        Parameters
        ----------
        scores : array_like, shape (trials,)
            Score of each trial, higher for targets. Infinite scores are allowed, NaN is not.
        codes : array_like, shape (trials,)
            1 for a target, 0 for a nontarget.
        sides : sequence of (Factor, codes)
            Factor, and the code of the unit of each trial. Trials with two units, such as two
            speakers, need two pairs.
        weights : array_like, shape (trials,), optional
            Weight of each trial. Default: 1.

        Raises
        ------
        InputError
            If lengths differ, a score is NaN, or a code has no class or unit.
        """
        slots = UnitIndex.join(sides)
        extra = np.zeros(0) if weights is None else np.asarray(weights, np.float64)
        found = np.asarray(scores)
        if found.dtype != np.float32:  # 32-bit scores stay so: half the memory
            found = found.astype(np.float64, copy=False)
        return Ranking._sorted(found, slots, _two_classes(codes), extra)

    @staticmethod
    def ascending(
        scores: npt.NDArray[np.floating[Any]],
        codes: npt.NDArray[np.uint8],
        sides: UnitColumns,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> "Ranking":
        """Ranking of trials that are in ascending order of score; arrays are not copied."""
        extra = np.zeros(0) if weights is None else weights
        return Ranking(scores, UnitIndex.join(sides), codes, extra)

    def over(
        self, scores: npt.NDArray[np.floating[Any]], sides: UnitColumns | None = None
    ) -> "Ranking":
        """Ranking of the same trials in the same order, with other scores.

        The new scores must not decrease from trial to trial. `sides` can give other units.
        """
        slots = self.slots if sides is None else UnitIndex.join(sides)
        return Ranking(scores, slots, self.codes, self.extra)

    def take(self, places: npt.NDArray[np.int64], sides: UnitColumns | None = None) -> "Ranking":
        """Ranking of the trials at `places` (ascending positions). `sides` can give other units."""
        units = UnitIndex(self.slots.factors, self.slots.codes[places]) if sides is None else None
        extra = self.extra[places] if len(self.extra) else self.extra
        units = units or UnitIndex.join(sides or ())
        return Ranking(self.scores[places], units, self.codes[places], extra)

    @staticmethod
    def _sorted(
        scores: npt.NDArray[np.floating[Any]],
        slots: UnitIndex,
        codes: npt.NDArray[np.uint8],
        extra: npt.NDArray[np.float64],
    ) -> "Ranking":
        from truecost.kernels.order import sort_trials

        if len(extra) not in (0, len(scores)):
            raise InputError(
                f"{counted(len(extra), 'weight')} for {counted(len(scores), 'trial')}: give one "
                "for each trial"
            )
        if not len(scores) == len(codes) == len(slots.codes):
            raise InputError(
                f"{counted(len(scores), 'score')}, {counted(len(codes), 'class code')} and "
                f"{counted(len(slots.codes), 'unit code')}: one of each for each trial is needed"
            )
        if np.isnan(scores).any():
            raise InputError(
                f"{counted(int(np.isnan(scores).sum()), 'score', 'are')} NaN, which has no rank"
            )
        ordered, places, classes, own = sort_trials(scores, slots.codes, codes, extra)
        return Ranking(ordered, UnitIndex(slots.factors, places), classes, own)

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
    def digest(self) -> str:
        """Hash of the trials."""
        return digest_of(self.scores, self.slots.codes, self.codes, self.extra)

    @cached_property
    def cut(self) -> npt.NDArray[np.bool_]:
        """Whether a threshold can be below each trial: True for the first of equal scores."""
        cut = np.ones(len(self.scores), np.bool_)
        np.not_equal(self.scores[1:], self.scores[:-1], out=cut[1:])
        return cut

    def positions(self, thresholds: Floats) -> npt.NDArray[np.int64]:
        """Position of the first trial that each threshold accepts; the number of trials if there is
        none.
        """
        with np.errstate(over="ignore"):
            wanted = thresholds.astype(self.scores.dtype)
        if self.scores.dtype != np.float64:  # else numpy would copy all scores to 64 bits
            wanted = np.where(wanted < thresholds, np.nextafter(wanted, np.inf), wanted)
        return np.searchsorted(self.scores, wanted).astype(np.int64)

    @property
    def finite(self) -> slice:
        """Slice of the trials with finite scores."""
        low, high = np.array([-np.inf, np.inf], self.scores.dtype)
        first = np.searchsorted(self.scores, low, side="right")
        return slice(int(first), int(np.searchsorted(self.scores, high)))

    @cached_property
    def edges(self) -> npt.NDArray[np.int64]:
        """Positions that divide the trials into buckets, from 0 to the number of trials.

        Equal scores are never divided. Most edges are near the equal error rate of the data,
        because the search for the equal error rates of the replicates takes most of the time (2.4
        times faster than with equal buckets). Edges affect the speed only, not the results.
        """
        trials = len(self.scores)
        buckets = int(BUCKETS * max(1.0, trials / MANY) ** 0.5)
        few = max(1, int(buckets * (1 - NEAR_CROSSING)))
        coarse = self._snapped(np.arange(1, few) * trials // few)
        if trials < 4 * buckets:  # small data: the whole of it is near
            return self._snapped(np.arange(1, buckets) * trials // buckets)
        targets = np.cumsum(np.add.reduceat(self.codes, coarse[:-1], dtype=np.uint32))
        targets = targets.astype(np.int64)
        others = coarse[1:] - targets
        crossing = np.argmax(targets * others[-1] >= (others[-1] - others) * targets[-1])
        middle, reach = int(coarse[1:][crossing]), trials // 20
        near = np.linspace(middle - reach, middle + reach, buckets - few).astype(np.int64)
        return np.union1d(coarse, self._snapped(near.clip(0, trials)))

    def _snapped(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Wanted edges moved down to the start of their tie group, with both ends."""
        whole = wanted[wanted < len(self.scores)]
        starts = np.searchsorted(self.scores, self.scores[whole])
        return np.unique(np.concatenate([[0], starts, [len(self.scores)]])).astype(np.int64)

    @cached_property
    def histogram(self) -> Tally:
        """Weight of each class (nontarget, target) in each bucket, by the units of the trials."""
        return self.histogram_of(self.edges)

    def histogram_of(self, edges: npt.NDArray[np.int64]) -> Tally:
        """`histogram` for other edges, ascending from 0 to the number of trials."""
        buckets = len(edges) - 1
        axes = {"bucket": tuple(str(b) for b in range(buckets)), "class": ("0", "1")}
        return Tally(*self._entries(edges), axes, ("n",), np.zeros((buckets, 2, 1)))

    def counting_pays(self, places: int, replicates: int) -> bool:
        """Whether one pass over all trials is faster than a search in the buckets at some positions
        of each replicate.
        """
        trials, buckets = len(self.codes), len(self.edges) - 1
        if self.slots.codes.shape[1] > 1 or replicates * places < 2 * buckets:
            return False
        entries = min(trials, 2 * (places + 1) * sum(map(len, self.slots.factors)))
        return entries * 2 * buckets < LOOK * places * trials

    def _entries(
        self, edges: npt.NDArray[np.int64]
    ) -> tuple[UnitIndex, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Units, (bucket, class) cell and weight of each entry of a histogram."""
        from truecost.kernels import FEW
        from truecost.kernels.sums import bucket_entries

        trials = len(self.codes)
        if self.slots.codes.shape[1] > 1 or (trials <= FEW and not len(self.extra)):
            flat = np.repeat(np.arange(len(edges) - 1), np.diff(edges)) * 2 + self.codes
            values = self.extra if len(self.extra) else np.ones(trials)
            return group(self.slots, flat, values.reshape(-1, 1))
        width = sum(len(f) for f in self.slots.factors)
        most = min(trials, 2 * width * (len(edges) - 1))
        slots, cells, values = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most)
        n = bucket_entries(
            edges, self.slots.codes[:, 0], self.codes, self.extra, width, slots, cells, values
        )
        for column in (slots, cells, values):
            column.resize(n, refcheck=False)  # in place: a copy would need the memory twice
        return UnitIndex(self.slots.factors, slots.reshape(-1, 1)), cells, values.reshape(-1, 1)

    def decided(self, position: int) -> Tally:
        """Weight of trials by class (nontarget, target) and decision (reject, accept), if the
        trials from a position on are accepted.
        """
        from truecost.kernels.exact import exact_sums

        cells = 2 * self.codes
        cells[position:] += 1
        whole = np.zeros((2, 2, 1))
        squares = exact_sums(cells, self.extra**2, 4) if len(self.extra) else None
        own = [self.extra if len(self.extra) else np.broadcast_to(np.int64(1), len(cells))]
        slots, found, values = count_entries(self.slots, cells, 4, own, None)
        axes = {"class": ("nontarget", "target"), "decision": ("reject", "accept")}
        return Tally(slots, found, values, axes, ("n",), whole, squares)

    @cached_property
    def by_unit(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Trials grouped by unit of the first side, in ascending order of score: (starts, order).

        `order[starts[u] : starts[u + 1]]` are the positions of the trials of unit u.
        """
        codes = self.slots.codes[:, 0]
        starts = np.zeros(len(self.slots.factors[0]) + 1, np.int64)
        np.cumsum(np.bincount(codes, minlength=len(starts) - 1), out=starts[1:])
        return starts, np.argsort(codes, kind="stable")

    @property
    def knots(self) -> npt.NDArray[np.int64]:
        """Positions at which pooled adjacent violators can start a new block for some weights.

        A block can end only where a group of equal scores with nontargets is followed by one with
        targets. All other neighbours are in the same block for all weights.
        """
        with _MAKING:
            return self._knots

    @cached_property
    def _knots(self) -> npt.NDArray[np.int64]:
        from truecost.kernels import FEW
        from truecost.kernels.pooling import knots_of_few, pooling_knots

        if len(self.codes) <= FEW:
            return knots_of_few(self.codes, self.cut)
        knots = np.empty(len(self.codes) + 1, np.int64)
        return knots[: pooling_knots(self.codes, self.cut, knots)].copy()

    def once(self, what: tuple[object, ...], block: Block, make: Callable[[], Floats]) -> Floats:
        """Result of `make()`, computed once for all applications under the same weights.

        `what` must state everything on which the result depends besides ranking and weights. If
        units have few trials, the result is not kept: the hash of the weights would take too long.
        """
        factors = self.slots.factors
        if TRIALS_OF_A_UNIT * sum(map(len, factors)) > len(self.codes):
            return make()
        key = *what, digest_of(*(block[factor.name] for factor in factors))
        found = self.swept.get(key)
        if found is None:
            found = self.swept[key] = make()
        return found.copy()

    def wins_pay(self, replicates: int) -> bool:
        """Whether computing with `wins` is faster than a pass over all trials. True if there are
        many trials for each pair of units; then `wins` needs no more memory than the scores.
        """
        trials, units = len(self.codes), sum(map(len, self.slots.factors))
        if self.slots.codes.shape[1] > 1 or units * units > trials:
            return False
        if self.has_wins:
            return True
        from truecost.kernels.pairs import tile_of

        targets, passes = int(np.count_nonzero(self.codes)), units / tile_of(units)
        saved = replicates * (trials * WALK - units * units * WEIGH)
        made = min(targets, trials - targets) * units * COUNT + trials * passes * PASS
        return saved > max(made, LITTLE)

    @property
    def has_wins(self) -> bool:
        """Whether `wins` has been computed."""
        return "_wins" in self.__dict__

    @property
    def wins(self) -> npt.NDArray[np.int64]:
        """Number of comparisons that targets of a unit win against nontargets of another, shape
        (units, units): 2 for each win, 1 for each tie. Only for trials with one side.
        """
        with _MAKING:
            return self._wins

    @cached_property
    def _wins(self) -> npt.NDArray[np.int64]:
        from truecost.kernels.pairs import pair_wins, tile_of

        units = len(self.slots.factors[0])
        sizes = self._sizes(units)
        rarer = int(sizes[1].sum() <= sizes[0].sum())
        wins = np.zeros((units, units), np.int64)
        pair_wins(self.slots.codes, self.codes, self.cut, rarer, tile_of(units), wins)
        # Where nontargets are rarer their wins are counted: what they do not win, targets do.
        return wins if rarer else np.subtract(2 * np.outer(sizes[1], sizes[0]), wins.T)

    def _sizes(self, units: int) -> npt.NDArray[np.int64]:
        """Number of trials of each class in each unit of the first side, (2, units)."""
        found = np.zeros((2, units), np.int64)
        for start in range(0, len(self.codes), PIECE):  # fancy indices are 64-bit copies
            part = slice(start, start + PIECE)
            keys = self.slots.codes[part, 0] + units * self.codes[part].astype(np.int64)
            found += np.bincount(keys, minlength=2 * units).reshape(2, units)
        return found


def _two_classes(codes: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Class codes, refused unless each is 0 (nontarget) or 1 (target)."""
    found = np.asarray(codes)
    refuse_outside(found, 2, "class codes of a ranking")
    return found.astype(np.uint8)
