"""How queries are joined in every replicate, and which intervals suit measures of searches.

Queries are the outer factor of the evidence: their weights multiply means over queries, never the
inside of a ratio. A query that has no targets (in a replicate) is left out of the means.
A term-weighted value is 1 less a cost, so that its scale is log(1 - v). Queries weigh the same,
whatever they hold; documents weigh by their trials. Where a cost is 0, or would be without one
query, its misses are counted as a rate in which each query weighs the same, and its false alarms
query by query: there are so many nontargets that only their number tells anything.

Thresholds (`TermSweep`): where queries alone are resampled, only a query's weight changes what a
trial moves; where documents are, Nact and N change too, and one sweep takes products of weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, Rate, Rates, Rule, share
from truecost.core.ranking import Ranking
from truecost.core.tally import Tally
from truecost.tasks.terms.records import Codes, Ints, Mask

ROUNDING = 1e-12  # of a rate: far below what one trial among millions moves


@dataclass(frozen=True)
class Averaging:
    """The averaging of queries, and the thresholds.

    With `every` false alarms of queries without targets enter the mean of Pfa too (and these
    queries the cross entropy); when pooled, errors are added up before dividing, and with
    `one_query` all queries have together the trials of a single one (as F4DE has it). `reject_all`:
    rejecting everything is a threshold. `false_first`: of tied detections false alarms rank first
    in average precision; tied ones count together otherwise.
    """

    every: bool = False
    pooled: bool = False
    one_query: bool = False
    reject_all: bool = True
    false_first: bool = False

    def __str__(self) -> str:
        words = {
            "every-query": self.every,
            "pooled": self.pooled,
            "trials-of-one-query": self.pooled and self.one_query,
            "no-reject-all": not self.reject_all,
            "false-alarms-first": self.false_first,
        }
        return "+".join(word for word, holds in words.items() if holds)


MEAN = Averaging()


@dataclass(frozen=True, eq=False)
class Shares:
    """The effect of one trial of each query, in every replicate: shape (replicates, queries)."""

    gain: Floats  # how much a target found lowers Pmiss
    loss: Floats  # how much a false alarm raises Pfa
    weights: Floats
    targets: Floats  # Nact
    trials: Floats  # N, shape (replicates, 1)
    vanished: Floats  # share of the queries with targets that have none, shape (replicates,)

    @staticmethod
    def from_totals(totals: Totals, how: Averaging = MEAN, *, both: bool = False) -> "Shares":
        """The shares in a block of replicates.

        A query all of whose trials are targets (segments, documents) has no false alarms to raise;
        with `both` it has no mean over nontargets, and does not count. One with more targets than
        trials, as replicates may have, never counts.
        """
        weights = query_weights(totals)
        targets = totals.sums("term_targets", "targets").astype(np.float64)
        trials = np.round(totals.sums("term_audio", "trials")).astype(np.float64)[:, None]
        others = trials - targets
        there = (targets > 0) & (others > 0 if both and not how.pooled else others >= 0)
        counted = weights * there
        heard = weights if how.every else counted
        if how.pooled:
            whole = (counted * targets).sum(axis=1, keepdims=True)
            rest = trials - whole if how.one_query else (heard * others).sum(axis=1, keepdims=True)
            gain, loss = share(counted, whole), share(heard, rest)
        else:
            gain = share(counted, counted.sum(axis=1, keepdims=True) * targets)
            loss = share(heard, heard.sum(axis=1, keepdims=True) * others)
        gain, loss = np.where(there, gain, 0.0), np.where((heard > 0) & (others != 0), loss, 0.0)
        empty = ~(there & (weights > 0)).any(axis=1)
        if both:  # a mean over no nontargets is none
            empty |= ~(loss > 0).any(axis=1)
        gain[empty], loss[empty] = np.nan, np.nan
        known = _has_targets(totals)
        gone = 1 - (there & known).sum(axis=1) / max(1, int(known.sum()))
        return Shares(gain, loss, weights, targets, trials, np.where(gone > 0, gone, 0.0))

    def beta(self, application: Application) -> Floats:
        """Cf (1-P) / (Cm P) in each replicate, P = Ntrue / N where it is left to the data.

        Rodriguez-Fuentes & Penagarikano 2013, Eq. 7, and Eq. 17-18 where costs are equal; NaN where
        P would not be below 1.
        """
        if application.priors is not None:
            return np.full(len(self.trials), application.beta)
        true = (self.weights * self.targets).sum(axis=1)
        odds = share(self.trials[:, 0] - true, true)
        ratio = application.cost_fa / application.cost_miss
        return np.asarray(np.where(odds > 0, ratio * odds, np.nan))


def query_weights(totals: Totals) -> Floats:
    """Weight of each query in each replicate: that of the one outer factor."""
    [queries] = totals.evidence.outer
    return totals.weights(queries.name)


def _has_targets(totals: Totals) -> Mask:
    """Queries that have targets in the data."""
    tally = totals.evidence.parts["term_targets"]
    assert isinstance(tally, Tally)
    column = tally.statistics.index("targets")
    found = np.bincount(tally.cells, tally.values[:, column], minlength=tally.shape[0])
    return np.asarray(found + tally.fixed[:, column] > 0)


def settled(values: Floats) -> Floats:
    """Rates of at least 0: what is left of sums that cancel is 0."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


def missed(found: Floats) -> Floats:
    """1 - the share that was found."""
    return settled(1 - found)


SHARE = (0.0, 1.0)
SIZE = ("term_audio", "trials")  # of a document; queries have none, and count one each


def rule(
    scale: Literal["log", "log1m", "identity"], rates: Rates | None = None, **more: Any
) -> Rule:
    """The rule of a measure of searches, whose rates serve at the end of its range only."""
    return Rule(scale, rates, edge=rates is not None, size=SIZE, **more)


def missing(statistic: str, weight: float = 1.0) -> Rates:
    """The mean over queries of the share of targets that are missed, or not found."""

    def rates(totals: Totals, _: Application) -> list[Rate]:
        return [_missed(totals, statistic, weight)]

    return rates


def alarmed(totals: Totals, _: Application) -> list[Rate]:
    """The mean false-alarm rate of queries."""
    shares = Shares.from_totals(totals)
    return _alarms(totals, "false_alarms", shares.loss[0])


def weighed(kind: str = "") -> Rates:
    """The loss of a term-weighted value: misses, and beta times false alarms."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        shares = Shares.from_totals(totals)
        worth = -float(shares.beta(application)[0])
        false = _alarms(totals, f"false_alarms{kind}", worth * shares.loss[0])
        return [_missed(totals, f"missed{kind}", -1.0), *false]

    return rates


def number_of(statistic: str) -> Rates:
    """Misses, or targets found, as a number, where there are any."""

    def rates(totals: Totals, _: Application) -> list[Rate]:
        if not totals.sums("term_targets", statistic).any():
            return []
        targets = _targets(totals)
        ones, weight = np.ones(targets.shape), float(targets.sum())
        names, what = (statistic, "targets"), "miss" if statistic == "missed" else "found target"
        return [Rate("term_targets", ones, ones, weight, names, what, "target")]

    return rates


def number_alarmed(totals: Totals, _: Application) -> list[Rate]:
    """False alarms as a number, where there are any."""
    if not totals.sums("term_nontargets", "false_alarms").any():
        return []
    return _alarms(totals, "false_alarms", np.ones(_targets(totals).shape))


def _targets(totals: Totals) -> Floats:
    return np.asarray(totals.sums("term_targets", "targets")[0], np.float64)


def _each(totals: Totals) -> tuple[Mask, Floats]:
    """Whether each query has targets, and 1 over their number."""
    targets = _targets(totals)
    there = targets > 0
    return there, np.where(there, 1 / np.where(there, targets, 1.0), 0.0)


def _missed(totals: Totals, statistic: str, weight: float) -> Rate:
    """Queries count alike: the weights of their targets add up to Kish's number of targets."""
    there, each = _each(totals)
    alike = np.asarray(each * there.sum() / max(each.sum(), 1e-300))
    names = (statistic, "targets")
    return Rate("term_targets", alike, alike, weight, names, "miss", "target")


def _alarms(totals: Totals, statistic: str, worth: Floats) -> list[Rate]:
    """Queries with false alarms, among the queries; `worth` is what a false alarm of each moves."""
    there, once = _each(totals)
    false = np.asarray(totals.sums("term_nontargets", statistic)[0], np.float64)
    hit = there & (false > 0)
    weight = float(worth[there].sum())
    if hit.any():  # each as much as those that there are
        weight = float((worth * false)[hit].sum()) * int(there.sum()) / int(hit.sum())
    names = ("targets", "targets")
    what, of = "query with false alarms", "query"
    return [Rate("term_targets", once * hit, once, weight, names, what, of)]


AT_ONCE = 32  # replicates: the shares of 2,000 queries stay in the second-level cache


@dataclass(frozen=True, eq=False)
class TermSweep:
    """The trials of all queries under a block of weights.

    Attributes
    ----------
    ranking : Ranking
        Ranking with the queries on its first side, and the documents on its second where these are
        resampled; targets have the code 1.
    documents : ndarray of float64, shape (documents, replicates)
        Weights of documents; no rows where documents are not resampled.
    codes : ndarray of int32, shape (trials,)
        Document of each trial, in the order of the ranking.
    """

    ranking: Ranking
    documents: Floats
    codes: Codes

    @staticmethod
    def from_totals(totals: Totals) -> "TermSweep":
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
        """The largest sum of gains less losses over one threshold for all queries.

        Parameters
        ----------
        gain, loss : ndarray of float64, shape (replicates, queries)
            Value of a found target; cost of a false alarm.
        whole : ndarray of float64, shape (replicates,)
            Sum of the gains of all targets.
        reject_all : bool
            Whether rejecting everything, worth 0, is a threshold.

        Returns
        -------
        best, gained : ndarray of float64, shape (replicates,)
            Largest sum; sum of the gains in it; NaN where a gain or loss is NaN.
        thresholds : ndarray of float64, shape (replicates,)
            Lowest of the best thresholds; infinite where everything is rejected.
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
        trials = self._codes_at(order), ranking.codes[order], self._cuts(starts, order)
        for part, gains, losses, weights in self._chunks(gain, loss):
            size = gains.shape
            here = np.empty(size), np.empty(size), np.empty(size, np.int64)
            best_of_each(starts, *trials, reject_all, gains, losses, weights, *here)
            best[:, part], gained[:, part], position[:, part] = here
        scores = np.append(ranking.scores[order], np.inf)
        return best, gained, scores[position]

    def at(self, positions: Ints, gain: Floats, loss: Floats) -> tuple[Floats, Floats]:
        """Gains and losses when the trials from each position of the ranking on are accepted.

        Positions ascend; from (replicates, queries) to (replicates, points).
        """
        from truecost.kernels.terms import sums_at

        ranking = self.ranking
        query = np.ascontiguousarray(ranking.slots.codes[:, 0])
        gained, lost = np.empty((2, len(gain), len(positions)))
        for part, gains, losses, weights in self._chunks(gain, loss):
            size = len(positions), gains.shape[1]
            here = np.empty(size), np.empty(size)
            sums_at(positions, query, self.codes, ranking.codes, gains, losses, weights, *here)
            gained[part], lost[part] = here[0].T, here[1].T
        return gained, lost

    def precisions(
        self, count: int, shares: Floats | None = None, *, false_first: bool = False
    ) -> Floats:
        """Sum over the targets found of the precision at their score, by replicate and query.

        `shares` of shape (replicates, queries) are weights of the queries where all trials are
        those of one query. With `false_first` tied trials count one by one, false alarms before
        targets; together otherwise.
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

    def _codes_at(self, order: Ints) -> Codes:
        return self.codes[order] if len(self.documents) else self.codes

    def _cuts(self, starts: Ints, order: Ints) -> Mask:
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
