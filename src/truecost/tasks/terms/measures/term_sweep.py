"""Threshold sweeps of search terms: what MTWV, OTWV and average precision are made of.

Where queries alone are resampled, a trial moves its rates by an amount that only the query's weight
changes. Where documents are, Nact and N change with every replicate, and so does what a trial
moves: derived weights of the queries, then one sweep of products (`kernels.terms`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Totals
from truecost.core.ranking import Ranking

Floats = npt.NDArray[np.float64]
AT_ONCE = 32  # replicates: the shares of 2,000 queries stay in the second-level cache


@dataclass(frozen=True, eq=False)
class TermSweep:
    """The trials of all queries under a block of weights.

    Attributes
    ----------
    ranking : Ranking
        With the queries on its first side, and the documents on its second where these are
        resampled; code 1 is a target.
    documents : ndarray of float64, shape (documents, replicates)
        Weights; no rows where documents are not resampled.
    codes : ndarray of int32, shape (trials,)
        Document of each trial, in the order of the ranking.
    """

    ranking: Ranking
    documents: Floats
    codes: npt.NDArray[np.int32]

    @staticmethod
    def of(totals: Totals) -> "TermSweep":
        """The sweep of the part `term_trials`."""
        ranking = totals.evidence.parts["term_trials"]
        assert isinstance(ranking, Ranking)
        slots = ranking.slots
        if slots.codes.shape[1] == 1:
            return TermSweep(ranking, np.zeros((0, totals.block.count)), np.zeros(1, np.int32))
        queries, documents = slots.factors
        weights = totals.weights(documents.name)
        codes = np.ascontiguousarray(slots.codes[:, 1]) - np.int32(len(queries))
        return TermSweep(ranking, np.ascontiguousarray(weights.T), codes)

    @staticmethod
    def alone(ranking: Ranking) -> "TermSweep":
        """The sweep of the data themselves: one replicate in which every document weighs one."""
        return TermSweep(ranking, np.zeros((0, 1)), np.zeros(1, np.int32))

    def best_of_all(
        self, gain: Floats, loss: Floats, whole: Floats, reject_all: bool
    ) -> tuple[Floats, Floats, Floats]:
        """Largest sum of gains less losses over one threshold for all queries.

        Parameters
        ----------
        gain, loss : ndarray of float64, shape (replicates, queries)
            What a target found is worth and what a false alarm costs.
        whole : ndarray of float64, shape (replicates,)
            What all targets found are worth.
        reject_all : bool
            Whether rejecting everything, worth 0, is a threshold.

        Returns
        -------
        best, gained : ndarray of float64, shape (replicates,)
            The sum, and the gains in it; NaN where a gain is.
        thresholds : ndarray of float64, shape (replicates,)
            The lowest that is best; infinite where everything is rejected.
        """
        from truecost.kernels.terms import best_of_all

        ranking, count = self.ranking, len(gain)
        best = np.full(count, 0.0 if reject_all or not len(ranking.scores) else -np.inf)
        gained, position = np.zeros(count), np.full(count, len(ranking.scores), np.int64)
        query = np.ascontiguousarray(ranking.slots.codes[:, 0])
        for part, gains, losses, weights in self._chunks(gain, loss):
            of_part = whole[part], best[part], gained[part], position[part]
            trials = query, self.codes, ranking.codes, ranking.cut
            best_of_all(*trials, gains, losses, weights, *of_part)
        unknown = np.isnan(gain).any(axis=1) | np.isnan(loss).any(axis=1)
        best[unknown], gained[unknown] = np.nan, np.nan
        thresholds = np.append(ranking.scores, np.inf)[position]
        thresholds[unknown] = np.nan
        return best, gained, thresholds

    def each(self, gain: Floats, loss: Floats, reject_all: bool) -> tuple[Floats, Floats, Floats]:
        """Best sum, gains in it and threshold of each query: shape (queries, replicates).

        The threshold is infinite where everything is rejected.
        """
        from truecost.kernels.terms import best_of_each

        ranking = self.ranking
        starts, order = ranking.by_unit
        shape = gain.shape[1], gain.shape[0]
        best, gained, position = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
        documents, codes, cuts = (
            self._codes_at(order),
            ranking.codes[order],
            self._cuts(starts, order),
        )
        for part, gains, losses, weights in self._chunks(gain, loss):
            size = gains.shape
            here = np.empty(size), np.empty(size), np.empty(size, np.int64)
            arrays = gains, losses, weights
            best_of_each(starts, documents, codes, cuts, reject_all, *arrays, *here)
            best[:, part], gained[:, part], position[:, part] = here
        scores = np.append(ranking.scores[order], np.inf)
        return best, gained, scores[position]

    def at(
        self, positions: npt.NDArray[np.int64], gain: Floats, loss: Floats
    ) -> tuple[Floats, Floats]:
        """Gains and losses when the trials from each position of the ranking on are accepted.

        Parameters
        ----------
        positions : ndarray of int64, shape (points,)
            Ascending.
        gain, loss : ndarray of float64, shape (replicates, queries)

        Returns
        -------
        gained, lost : ndarray of float64, shape (replicates, points)
        """
        from truecost.kernels.terms import sums_at

        ranking = self.ranking
        query = np.ascontiguousarray(ranking.slots.codes[:, 0])
        gained, lost = np.empty((len(gain), len(positions))), np.empty((len(gain), len(positions)))
        for part, gains, losses, weights in self._chunks(gain, loss):
            size = len(positions), gains.shape[1]
            here = np.empty(size), np.empty(size)
            sums_at(positions, query, self.codes, ranking.codes, gains, losses, weights, *here)
            gained[part], lost[part] = here[0].T, here[1].T
        return gained, lost

    def precisions(
        self, count: int, shares: Floats | None = None, *, false_first: bool = False
    ) -> Floats:
        """Sum over the targets found of the precision at their score.

        Parameters
        ----------
        count : int
            Number of replicates.
        shares : ndarray of float64, shape (replicates, queries), optional
            Weights of the queries, where all trials are those of one query.
        false_first : bool
            Tied trials count one by one, false alarms before targets; together otherwise.

        Returns
        -------
        ndarray of float64, shape (replicates, queries or 1)
            Not weighed by query.
        """
        from truecost.kernels.terms import precisions

        ranking = self.ranking
        starts, order = ranking.by_unit
        if shares is not None:
            order = np.arange(len(ranking.scores))
            starts = np.array([0, len(order)])
        query = np.ascontiguousarray(ranking.slots.codes[order, 0])
        trials = query, self._codes_at(order), ranking.codes[order], self._cuts(starts, order)
        of_queries = np.zeros((0, count)) if shares is None else np.ascontiguousarray(shares.T)
        columns = count if len(self.documents) or shares is not None else 1
        out = np.empty((len(starts) - 1, columns))
        for first in range(0, columns, AT_ONCE):
            part = slice(first, min(columns, first + AT_ONCE))
            found = np.empty((len(out), part.stop - first))
            shares_here = np.ascontiguousarray(of_queries[:, part])
            weights = np.ascontiguousarray(self.documents[:, part])
            precisions(starts, *trials, shares_here, weights, false_first, found)
            out[:, part] = found
        return np.broadcast_to(out.T, (count, len(out)))

    def _codes_at(self, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        return self.codes[order] if len(self.documents) else self.codes

    def _cuts(
        self, starts: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether a trial starts a group of tied scores of its query."""
        scores = self.ranking.scores[order]
        cut = np.ones(len(scores), np.bool_)
        np.not_equal(scores[1:], scores[:-1], out=cut[1:])
        cut[starts[:-1][starts[:-1] < len(scores)]] = True
        return cut

    def _chunks(self, gain: Floats, loss: Floats) -> Iterator[tuple[Any, ...]]:
        """Some replicates at a time: their range, gains, losses and weights of documents."""
        for first in range(0, len(gain), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            yield (
                part,
                np.ascontiguousarray(gain[part].T),
                np.ascontiguousarray(loss[part].T),
                np.ascontiguousarray(self.documents[:, part]),
            )
