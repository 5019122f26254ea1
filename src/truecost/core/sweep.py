"""Weighted threshold sweeps of a ranking: what threshold measures are made of.

Every method answers for all replicates of a block at once and equals a full scan of the trials
(bucket and refine, see `kernels.sweeps`). Accept when score >= threshold; tied trials move
together; rejecting everything is a threshold too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.ranking import Ranking
from truecost.core.tally import Tally
from truecost.core.weights import Block, Rows
from truecost.errors import UsageError

Floats = npt.NDArray[np.float64]
EER_KINDS = ("rocch", "nearest", "nearest-pfa", "nearest-pmiss", "interpolated")


@dataclass(frozen=True, eq=False)
class Near:
    """Thresholds of a sweep: their places in the ranking, Pmiss and Pfa, in ascending order."""

    positions: npt.NDArray[np.int64]
    miss: Floats
    fa: Floats


@dataclass(frozen=True, eq=False)
class Sweep:
    """Miss and false-alarm rates of a ranking at every threshold, in every replicate.

    Pmiss(t) = weight of targets with score < t / weight of targets, Pfa(t) = weight of nontargets
    with score >= t / weight of nontargets (Rodriguez-Fuentes & Penagarikano 2013, Eq. 1 and 3). A
    rate is undefined (NaN) in replicates in which its class has no weight.

    Examples
    --------
    >>> import truecost as tc
    >>> trials, codes = tc.Factor.trials(4)
    >>> ranking = tc.Ranking.from_scores([-1.0, 0.5, 0.5, 2.0], [0, 0, 1, 1], [(trials, codes)])
    >>> evidence = tc.Evidence({"ranking": ranking})
    >>> sweep = tc.totals(evidence, tc.Weights.ones(evidence.factors).block()).sweep("ranking")
    >>> sweep.auc().tolist()
    [0.875]
    >>> costs, thresholds = sweep.minimum_at(2.0, 1.0)  # least 2 Pmiss + Pfa
    >>> costs.tolist(), thresholds.tolist()
    ([0.5], [0.5])
    """

    ranking: Ranking
    block: Block

    @cached_property
    def _rows(self) -> Rows:
        return self.ranking.slots.rows(self.block)

    @cached_property
    def _trials(self) -> tuple[Any, ...]:
        """Arguments of every sweep kernel: rows, slots, codes, extra, cut."""
        ranking = self.ranking
        return self._rows, ranking.slots.codes, ranking.codes, ranking.extra, ranking.cut

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        """Exact miss and false-alarm weights at the bucket edges, (replicates x edges)."""
        return self._at_edges(self.ranking.histogram)

    def _at_edges(self, histogram: Tally) -> tuple[Floats, Floats]:
        """Exact weights at the bucket edges, of any histogram of the ranking."""
        counts = histogram.sums(self.block)["n"]
        start = np.zeros((self.block.count, 1))
        miss = np.concatenate([start, np.cumsum(counts[:, :, 1], axis=1)], axis=1)
        rejected = np.concatenate([start, np.cumsum(counts[:, :, 0], axis=1)], axis=1)
        return miss, rejected[:, -1:] - rejected

    @property
    def targets(self) -> Floats:
        """Weight of the targets, shape (replicates,)."""
        return self._edges[0][:, -1]

    @property
    def nontargets(self) -> Floats:
        """Weight of the nontargets, shape (replicates,)."""
        return self._edges[1][:, 0]

    def minimum(self, miss_cost: npt.ArrayLike, fa_cost: npt.ArrayLike) -> Floats:
        """Minimum of miss_cost * Pmiss(t) + fa_cost * Pfa(t) over all thresholds t; float64
        (replicates,), NaN without targets or nontargets. miss_cost is the cost of a miss times the
        prior P, fa_cost that of a false alarm times 1 - P: numbers, or arrays (replicates,).
        """
        return self.minimum_at(miss_cost, fa_cost)[0]

    def minimum_at(
        self, miss_cost: npt.ArrayLike, fa_cost: npt.ArrayLike, ties: bool = False
    ) -> tuple[Floats, Floats]:
        """Minimum as in `minimum`, and the threshold of the minimum; both float64 (replicates,).

        The threshold is infinite if it is best to reject all trials; it has no meaning if the
        minimum is NaN. With `ties`, the threshold is the lowest one with the minimum (slower);
        otherwise it is any threshold with the minimum.
        """
        from truecost.kernels.sweeps import lowest_costs

        count = self.block.count
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.ones(count) * (np.asarray(miss_cost, np.float64) / self.targets)
            b = np.ones(count) * (np.asarray(fa_cost, np.float64) / self.nontargets)
        costs, positions = np.empty(count), np.zeros(count, np.int64)
        lowest_costs(costs, positions, ties, a, b, *self._edges, self.ranking.edges, *self._trials)
        empty = (self.targets <= 0) | (self.nontargets <= 0)
        costs[empty] = np.nan
        return costs, self.thresholds(positions)

    def thresholds(self, positions: npt.NDArray[np.int64]) -> Floats:
        """Score at each position of the ranking; infinity (reject all trials) after the last."""
        trials = len(self.ranking.scores)
        if trials == 0:
            return np.full(positions.shape, np.inf)
        scores = self.ranking.scores[np.minimum(positions, trials - 1)]
        return np.where(positions < trials, scores, np.inf).astype(np.float64)

    def eer(self, kind: str = "rocch") -> Floats:
        """Equal error rate; float64 (replicates,), NaN without targets or nontargets.

        `kind` is the definition: the parameter of the measure `eer`, such as `nearest`.

        Raises
        ------
        UsageError
            If the definition does not exist.
        """
        return self.ranking.once(("eer", kind), self.block, lambda: self._eer(kind))

    def _eer(self, kind: str) -> Floats:
        from truecost.kernels.sweeps import crossings, eer_of, hull_crossings

        if kind == "rocch":
            out = np.empty(self.block.count)
            hull_crossings(out, *self._edges, self.ranking.edges, *self._trials)
            return out
        if kind not in EER_KINDS:
            raise UsageError(
                f"EER definition {kind!r} is not known: choose one of {', '.join(EER_KINDS)}"
            )
        around = np.empty((self.block.count, 4))
        crossings(around, *self._edges, self.ranking.edges, *self._trials)
        return eer_of(around, kind)

    def auc(self) -> Floats:
        """Area under the ROC curve: probability that a target has a higher score than a nontarget.

        Equal scores count half. Float64 (replicates,) in [0, 1]; NaN without targets or nontargets.
        """
        return self.ranking.once(("auc",), self.block, self._auc)

    def _auc(self) -> Floats:
        from truecost.kernels import FEW
        from truecost.kernels.pairs import areas, pairs_of_few, quadratic_forms

        ranking, pairs = self.ranking, np.zeros(self.block.count)
        columns = ranking.slots.columns(self.block)
        if self._by_units:
            quadratic_forms(ranking.wins, columns, pairs)
            pairs /= 2
        elif self.whole and self.block.count == 1 and 0 < len(ranking.codes) <= FEW:
            pairs += pairs_of_few(columns[:, 0], ranking.slots.codes, ranking.codes, ranking.cut)
        else:
            trials = ranking.slots.codes, ranking.codes, ranking.extra, ranking.cut
            areas(columns, *trials, pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(pairs / (self.targets * self.nontargets))

    @property
    def _by_units(self) -> bool:
        """Whether pairs of trials are counted by pairs of units, which are then weighed: the same
        result, but only where both ways add whole numbers without rounding.
        """
        if not self.whole or 2 * np.max(self.targets * self.nontargets, initial=0) >= 2**53:
            return False
        return self.ranking.wins_pay(self.block.count)

    @property
    def whole(self) -> bool:
        """Whether the weights of all trials are whole numbers in all replicates."""
        return self.block.whole and not len(self.ranking.extra)

    def miss_at(self, fa_rates: npt.ArrayLike) -> tuple[Floats, Floats]:
        """For each rate: lowest Pmiss of all thresholds at which Pfa is at most this rate, and its
        threshold; both float64 (replicates, rates).

        Without targets or nontargets, Pmiss is NaN and the threshold has no meaning. The threshold
        is infinite if only rejecting all trials keeps Pfa within the rate.
        """
        from truecost.kernels.sweeps import misses_at

        return self._rates(misses_at, fa_rates)

    def fa_at(self, miss_rates: npt.ArrayLike) -> tuple[Floats, Floats]:
        """For each rate: lowest Pfa of all thresholds at which Pmiss is at most this rate, and its
        threshold; both float64 (replicates, rates).

        Without targets or nontargets, Pfa is NaN and the threshold has no meaning. The threshold is
        infinite if Pmiss is within the rate even when all trials are rejected.
        """
        from truecost.kernels.sweeps import false_alarms_at

        return self._rates(false_alarms_at, miss_rates)

    def _rates(self, kernel: Any, limits: npt.ArrayLike) -> tuple[Floats, Floats]:
        rates = np.atleast_1d(np.asarray(limits, np.float64))
        what = kernel.__name__, rates.tobytes()
        found = self.ranking.once(
            what, self.block, lambda: np.stack(self._swept_rates(kernel, rates))
        )
        return found[0], found[1]

    def _swept_rates(self, kernel: Any, rates: Floats) -> tuple[Floats, Floats]:
        out = np.empty((self.block.count, len(rates)))
        positions = np.zeros(out.shape, np.int64)
        kernel(out, positions, rates, *self._edges, self.ranking.edges, *self._trials)
        return out, self.thresholds(positions)

    def pav_entropy(self, priors: npt.ArrayLike) -> Floats:
        """Cross entropy in bits after the best monotone calibration of each replicate, at given
        priors of a target; float64 (replicates,), NaN without targets or nontargets.

        The calibration is by pool adjacent violators: equal scores get equal posteriors (Brümmer
        and du Preez 2006).
        """
        at = np.empty(self.block.count)  # filled: a broadcast may be read-only: compiled anew
        at[:] = priors
        what = "entropy", at.tobytes()
        return self.ranking.once(what, self.block, lambda: self._pav_entropy(at))

    def _pav_entropy(self, at: Floats) -> Floats:
        from truecost.kernels import FEW
        from truecost.kernels.pooling import LARGEST, SIDE_BY_SIDE, pooled_counts, pooled_entropies

        ranking, out = self.ranking, np.empty_like(at)
        columns = ranking.slots.columns(self.block)
        trials = ranking.slots.codes, ranking.codes
        unit = float(columns.max())
        heaviest = unit ** ranking.slots.codes.shape[1]
        few = len(ranking.codes) <= FEW  # a fourth of the compilation
        if few or not self.whole or unit > 255 or heaviest > LARGEST:
            pooled_entropies(at, columns, *trials, ranking.extra, ranking.knots, out)
            return out
        for start in range(0, self.block.count, SIDE_BY_SIDE):
            part = slice(start, start + SIDE_BY_SIDE)
            weights = columns[:, part].astype(np.uint8, order="C")
            most = int(LARGEST // heaviest)
            pooled_counts(at[part], weights, most, *trials, ranking.knots, out[part])
        return out

    def median(self) -> tuple[Floats, Floats]:
        """Weighted median of the scores, and the weighted sum of their distances to it.

        If all values between two scores are medians, the median is their midpoint. Both arrays are
        float64 (replicates,), NaN if no trial has weight.
        """
        from truecost.kernels.scans import weighted_medians

        medians, deviations = np.empty(self.block.count), np.empty(self.block.count)
        weighted_medians(
            self.ranking.scores.astype(np.float64, copy=False),
            self._rows,
            self.ranking.slots.codes,
            self.ranking.extra,
            medians,
            deviations,
        )
        return medians, deviations

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Corners of the ROC or DET curve of the first replicate: thresholds (ascending), Pmiss,
        Pfa.

        Points on a straight line between their neighbours are omitted. The first threshold accepts
        all trials, the last one rejects all. A rate is NaN if its class is empty.
        """
        thresholds, miss, fa = map(np.concatenate, zip(*self.curve_parts(), strict=True))
        return thresholds, miss, fa

    def curve_parts(self, trials: int = 1 << 22) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Parts of `curve`, for data that are too large for memory.

        Each part has at least `trials` trials. Its first point can be on a straight line between
        its neighbours.
        """
        from truecost.kernels.scans import corners

        (miss, fa), edges = self._edges, self.ranking.edges
        whole = self.targets[0], self.nontargets[0]
        last = len(edges) - 1
        cuts = np.searchsorted(edges, np.arange(0, edges[-1] + 1, trials)).tolist()
        for first, stop in pairwise([*sorted({k for k in cuts if k < last} or {0}), last]):
            part = slice(edges[first], edges[stop])
            room = part.stop - part.start + 1  # memory that is never written to is never taken
            positions, missed, rejected = np.empty(room, np.int64), np.empty(room), np.empty(room)
            _, slots, codes, extra, cut = self._trials
            given = slots[part], codes[part], extra[part] if len(extra) else extra, cut[part]
            count = corners(positions, missed, rejected, self._rows[0], *given)
            if first > 0 and count == 1:  # nothing has weight here
                continue
            found = slice(int(first > 0), count)  # the first ends the piece before
            missed = missed[found] + miss[0, first]
            accepted = fa[0, first] - rejected[found]
            if stop == last:  # to the digit, whatever the order of sums
                missed[-1], accepted[-1] = whole[0], 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                rates = missed / whole[0], accepted / whole[1]
            yield self.thresholds(positions[found] + part.start), *rates

    def pools(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats, Floats]:
        """Best monotone calibration of the first replicate, by pool adjacent violators.

        A pool is a run of trials with equal posterior. Arrays with an entry for each pool,
        ascending: position of the first trial, position after the last trial, weight of the
        targets, weight of the nontargets (Barlow and others 1972; Brümmer and du Preez 2006).
        """
        from truecost.kernels.scans import pools

        knots = self.ranking.knots  # room for each: memory that is not written to is never taken
        starts, stops = np.empty(len(knots), np.int64), np.empty(len(knots), np.int64)
        targets, nontargets = np.empty(len(knots)), np.empty(len(knots))
        _, slots, codes, extra, _ = self._trials
        found = pools(starts, stops, targets, nontargets, self._rows[0], slots, codes, extra, knots)
        return starts[:found], stops[:found], targets[:found], nontargets[:found]

    def near(self, distance: Callable[[Floats, Floats], Floats], most: float) -> "Near":
        """Thresholds of the first replicate at which a distance is small, ascending.

        `distance` is a signed function of Pmiss and Pfa: it increases with Pmiss and decreases with
        Pfa. Thresholds with an absolute distance above `most` are omitted, except the nearest
        one on each side of 0.
        """
        ranking, (miss, fa) = self.ranking, self._edges
        whole = self.targets[0], self.nontargets[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            at_edges = distance(miss[0] / whole[0], fa[0] / whole[1])
        last = len(at_edges) - 1
        below = at_edges[max(int(np.searchsorted(at_edges, -most)) - 1, 0)]
        above = at_edges[min(int(np.searchsorted(at_edges, most, side="right")), last)]
        first = max(int(np.searchsorted(at_edges, below)) - 1, 0)  # all that are as near
        stop = min(int(np.searchsorted(at_edges, above, side="right")), last)
        span = slice(ranking.edges[first], ranking.edges[stop])
        weights = np.ones(span.stop - span.start)
        for codes in ranking.slots.codes[span].T:
            weights *= self._rows[0][codes]
        if len(ranking.extra):
            weights *= ranking.extra[span]
        at = np.append(np.flatnonzero(ranking.cut[span]), len(weights))
        of_targets = np.where(ranking.codes[span] == 1, weights, 0.0)
        missed = np.append(0.0, np.cumsum(of_targets))[at] + miss[0, first]
        rejected = np.append(0.0, np.cumsum(weights - of_targets))[at]
        with np.errstate(divide="ignore", invalid="ignore"):
            return Near(at + span.start, missed / whole[0], (fa[0, first] - rejected) / whole[1])

    def nearest(self) -> int:
        """Position of the threshold at which Pmiss and Pfa of the first replicate differ least."""
        near = self.near(np.subtract, 0.0)
        return int(near.positions[np.argmin(np.abs(near.miss - near.fa))])

    def rates_at(self, thresholds: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Pmiss and Pfa of each threshold (accept if score >= threshold); both float64 (replicates,
        thresholds), NaN if the class is empty.
        """
        from truecost.kernels.sweeps import rates_at

        wanted = np.atleast_1d(np.asarray(thresholds, np.float64))
        positions = self.ranking.positions(wanted)
        if self.ranking.counting_pays(len(positions), self.block.count):
            edges = np.unique(np.concatenate([positions, self.ranking.edges[[0, -1]]]))
            miss, fa = self._at_edges(self.ranking.histogram_of(edges))
            at = np.searchsorted(edges, positions)
            with np.errstate(invalid="ignore"):
                return miss[:, at] / self.targets[:, None], fa[:, at] / self.nontargets[:, None]
        out = np.empty((self.block.count, len(positions), 2))
        rates_at(out, positions, *self._edges, self.ranking.edges, *self._trials[:-1])
        return out[..., 0], out[..., 1]

    def trial_weights(self) -> Floats:
        """Weight of each trial in each replicate, float64 (replicates, trials), in ascending order
        of score.

        The array is large: use it only for measures that no other method supports.
        """
        from truecost.kernels.scans import trial_weights

        out = np.empty((self.block.count, len(self.ranking.scores)))
        for r in range(self.block.count):
            trial_weights(self._rows[r], self.ranking.slots.codes, self.ranking.extra, out[r])
        return out
