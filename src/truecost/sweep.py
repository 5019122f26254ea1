"""Weighted threshold sweeps of a ranking: what threshold measures are made of.

Every method answers for all replicates of a block at once and equals a full scan of the trials
(bucket and refine, see `kernels.sweeps`). Accept when score >= threshold; tied trials move
together; rejecting everything is a threshold too.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError
from truecost.evidence import Ranking
from truecost.weights import Block

Floats = npt.NDArray[np.float64]
EER_KINDS = ("rocch", "nearest", "nearest-pfa", "nearest-pmiss", "interpolated")


@dataclass(frozen=True, eq=False)
class Sweep:
    """A ranking under a block of weights."""

    ranking: Ranking
    block: Block

    @cached_property
    def _rows(self) -> npt.NDArray[np.uint16]:
        return self.ranking.slots.rows(self.block)

    @cached_property
    def _trials(self) -> tuple[Any, ...]:
        """What every sweep kernel takes: rows, slots, codes, extra, cut."""
        ranking = self.ranking
        return self._rows, ranking.slots.codes, ranking.codes, ranking.extra, ranking.cut

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        """Exact miss and false-alarm weights at the bucket edges, (replicates x edges)."""
        counts = self.ranking.histogram.sums(self.block)["n"]
        start = np.zeros((self.block.count, 1))
        miss = np.concatenate([start, np.cumsum(counts[:, :, 1], axis=1)], axis=1)
        rejected = np.concatenate([start, np.cumsum(counts[:, :, 0], axis=1)], axis=1)
        return miss, rejected[:, -1:] - rejected

    @property
    def targets(self) -> Floats:
        """Weight of the targets in each replicate."""
        return self._edges[0][:, -1]

    @property
    def nontargets(self) -> Floats:
        """Weight of the nontargets in each replicate."""
        return self._edges[1][:, 0]

    def minimum(self, miss_cost: npt.ArrayLike, fa_cost: npt.ArrayLike) -> Floats:
        """Least miss_cost * Pmiss + fa_cost * Pfa over all thresholds."""
        return self.minimum_at(miss_cost, fa_cost)[0]

    def minimum_at(
        self, miss_cost: npt.ArrayLike, fa_cost: npt.ArrayLike, ties: bool = False
    ) -> tuple[Floats, Floats]:
        """`minimum` and its threshold (the lowest of equal ones when `ties`)."""
        from truecost.kernels.sweeps import lowest_costs

        count = self.block.count
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.ones(count) * (np.asarray(miss_cost, np.float64) / self.targets)
            b = np.ones(count) * (np.asarray(fa_cost, np.float64) / self.nontargets)
        costs, positions = np.empty(count), np.zeros(count, np.int64)
        lowest_costs(costs, positions, ties, a, b, *self._edges, self.ranking.edges, *self._trials)
        empty = (self.targets <= 0) | (self.nontargets <= 0)
        costs[empty] = np.nan
        return costs, self._thresholds(positions)

    def _thresholds(self, positions: npt.NDArray[np.int64]) -> Floats:
        """The score at each position; infinity rejects all."""
        return np.append(self.ranking.scores, np.inf)[positions]

    def eer(self, kind: str = "rocch") -> Floats:
        """Equal error rate by one of its definitions (see `measures.thresholds.eer`)."""
        from truecost.kernels.sweeps import crossings, hull_crossings

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
        return _eer_of(around, kind)

    def auc(self) -> Floats:
        """Probability that a target outscores a nontarget, ties counted half."""
        from truecost.kernels.scans import areas

        pairs = np.zeros(self.block.count)
        slots = self.ranking.slots
        areas(
            slots.columns(self.block),
            slots.codes,
            self.ranking.codes,
            self.ranking.extra,
            self.ranking.cut,
            pairs,
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(pairs / (self.targets * self.nontargets))

    def miss_at(self, fa_rates: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Least Pmiss with Pfa within each given rate, and its threshold; (replicates x rates)."""
        from truecost.kernels.sweeps import misses_at

        return self._rates(misses_at, fa_rates)

    def fa_at(self, miss_rates: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Least Pfa with Pmiss within each given rate, and its threshold; (replicates x rates)."""
        from truecost.kernels.sweeps import false_alarms_at

        return self._rates(false_alarms_at, miss_rates)

    def _rates(self, kernel: Any, limits: npt.ArrayLike) -> tuple[Floats, Floats]:
        rates = np.atleast_1d(np.asarray(limits, np.float64))
        out = np.empty((self.block.count, len(rates)))
        positions = np.zeros(out.shape, np.int64)
        kernel(out, positions, rates, *self._edges, self.ranking.edges, *self._trials)
        return out, self._thresholds(positions)

    def pav_entropy(self, priors: npt.ArrayLike) -> Floats:
        """Cross entropy in bits at a prior after each replicate's best monotone calibration."""
        from truecost.kernels.scans import pooled_entropies

        out = np.empty(self.block.count)
        at = np.ascontiguousarray(np.broadcast_to(np.asarray(priors, np.float64), out.shape))
        ranking = self.ranking
        pooled_entropies(
            at,
            ranking.slots.columns(self.block),
            ranking.slots.codes,
            ranking.codes,
            ranking.extra,
            ranking.knots,
            out,
        )
        return out

    def median(self) -> tuple[Floats, Floats]:
        """Weighted median of the scores and the weighted sum of distances to it."""
        from truecost.kernels.scans import weighted_medians

        medians, deviations = np.empty(self.block.count), np.empty(self.block.count)
        weighted_medians(
            self.ranking.scores,
            self._rows,
            self.ranking.slots.codes,
            self.ranking.extra,
            medians,
            deviations,
        )
        return medians, deviations

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Thresholds, Pmiss and Pfa of the first replicate at every score; the last rejects all."""
        weights = self.trial_weights()[0]
        targets = np.where(self.ranking.codes == 1, weights, 0.0)
        starts = np.append(np.flatnonzero(self.ranking.cut), len(weights))
        miss = np.concatenate([[0.0], np.cumsum(targets)])[starts]
        below = np.concatenate([[0.0], np.cumsum(weights - targets)])[starts]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self._thresholds(starts), miss / miss[-1], (below[-1] - below) / below[-1])

    def trial_weights(self) -> Floats:
        """Weight of every trial in ascending order of score, (replicates x trials): the way out
        for measures that no method here serves; memory grows with the block.
        """
        from truecost.kernels.scans import trial_weights

        out = np.empty((self.block.count, len(self.ranking.scores)))
        for r in range(self.block.count):
            trial_weights(self._rows[r], self.ranking.slots.codes, self.ranking.extra, out[r])
        return out


def _eer_of(around: Floats, kind: str) -> Floats:
    """EER from the two thresholds around the crossing: columns (Pmiss, Pfa, Pmiss, Pfa)."""
    gap_last, gap_next = around[:, 1] - around[:, 0], around[:, 2] - around[:, 3]
    if kind == "interpolated":
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(gap_last + gap_next > 0, gap_last / (gap_last + gap_next), 0.0)
        return np.asarray(around[:, 0] + share * (around[:, 2] - around[:, 0]))
    nearest = np.where((gap_next < gap_last)[:, None], around[:, 2:], around[:, :2])
    if kind == "nearest-pfa":
        return np.asarray(nearest[:, 1])
    if kind == "nearest-pmiss":
        return np.asarray(nearest[:, 0])
    return np.asarray(nearest.mean(axis=1))
