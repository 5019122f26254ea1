"""How queries are joined in every replicate, and which intervals suit measures of searches.

Queries are the outer factor of the evidence: their weights multiply means over queries, never the
inside of a ratio. A query that has no targets (in a replicate) is left out of the means.

A term-weighted value is 1 less a cost, so that its scale is log(1 - v). Queries weigh the same,
whatever they hold; documents weigh by their trials. Where a cost is 0, or would be without one
query, its misses are counted as a rate in which each query weighs the same, and its false alarms
query by query: there are so many nontargets that only their number tells anything.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, Rate, Rates, Rule, share
from truecost.core.tally import Tally

Array = npt.NDArray[Any]


ROUNDING = 1e-12  # of a rate: far below what one trial among millions moves


@dataclass(frozen=True)
class Averaging:
    """How queries are joined, and which thresholds there are.

    Attributes
    ----------
    every : bool
        False alarms of queries without targets enter the mean of Pfa too (and these queries the
        cross entropy).
    pooled : bool
        All queries are one: errors are added up before dividing.
    one_query : bool
        Pooled queries have together the trials of a single one (as F4DE has it).
    reject_all : bool
        Rejecting everything is a threshold.
    false_first : bool
        Of tied detections false alarms rank first in average precision; tied ones count together
        otherwise.
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
    """What one trial of each query moves, in every replicate: shape (replicates, queries).

    Attributes
    ----------
    gain : ndarray of float64
        How much a target found lowers Pmiss.
    loss : ndarray of float64
        How much a false alarm raises Pfa.
    weights : ndarray of float64
        Of the queries.
    targets : ndarray of float64
        Nact.
    trials : ndarray of float64, shape (replicates, 1)
        N.
    vanished : ndarray of float64, shape (replicates,)
        Share of the queries with targets that have none in a replicate.
    """

    gain: Floats
    loss: Floats
    weights: Floats
    targets: Floats
    trials: Floats
    vanished: Floats

    @staticmethod
    def of(totals: Totals, how: Averaging = MEAN, *, both: bool = False) -> "Shares":
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

        Paper 002, Eq. 7, and Eq. 17-18 where costs are equal; NaN where P would not be below 1.
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


def _has_targets(totals: Totals) -> npt.NDArray[np.bool_]:
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
    scale: Literal["log", "log1m", "identity"],
    rates: Rates | None = None,
    *,
    optimistic: bool = False,
    excess: bool = False,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Rule:
    """The rule of a measure of searches, whose rates serve at the end of its range only."""
    return Rule(
        scale,
        rates,
        edge=rates is not None,
        optimistic=optimistic,
        excess=excess,
        size=SIZE,
        bounds=bounds,
    )


def missing(statistic: str, weight: float = 1.0) -> Rates:
    """The mean over queries of the share of targets that are missed, or not found."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        del application
        return [_missed(totals, statistic, weight)]

    return rates


def alarmed(totals: Totals, application: Application) -> list[Rate]:
    """The mean false-alarm rate of queries."""
    del application
    shares = Shares.of(totals)
    return _alarms(totals, "false_alarms", shares.loss[0])


def weighed(kind: str = "") -> Rates:
    """What a term-weighted value loses: misses, and beta times false alarms."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        shares = Shares.of(totals)
        worth = -float(shares.beta(application)[0])
        false = _alarms(totals, f"false_alarms{kind}", worth * shares.loss[0])
        return [_missed(totals, f"missed{kind}", -1.0), *false]

    return rates


def number_of(statistic: str) -> Rates:
    """Misses, or targets found, as a number, where there are any."""

    def rates(totals: Totals, application: Application) -> list[Rate]:
        del application
        if not totals.sums("term_targets", statistic).any():
            return []
        targets = _targets(totals)
        ones, weight = np.ones(targets.shape), float(targets.sum())
        names, what = (statistic, "targets"), "miss" if statistic == "missed" else "found target"
        return [Rate("term_targets", ones, ones, weight, names, what, "target")]

    return rates


def number_alarmed(totals: Totals, application: Application) -> list[Rate]:
    """False alarms as a number, where there are any."""
    del application
    if not totals.sums("term_nontargets", "false_alarms").any():
        return []
    return _alarms(totals, "false_alarms", np.ones(_targets(totals).shape))


def _targets(totals: Totals) -> Floats:
    return np.asarray(totals.sums("term_targets", "targets")[0], np.float64)


def _alike(totals: Totals) -> Floats:
    """Weight of a target with which queries count alike; their sum is Kish's number of targets."""
    targets = _targets(totals)
    there = targets > 0
    each = np.where(there, 1 / np.where(there, targets, 1.0), 0.0)
    return np.asarray(each * there.sum() / max(each.sum(), 1e-300))


def _missed(totals: Totals, statistic: str, weight: float) -> Rate:
    alike = _alike(totals)
    names = (statistic, "targets")
    return Rate("term_targets", alike, alike, weight, names, "miss", "target")


def _alarms(totals: Totals, statistic: str, worth: Floats) -> list[Rate]:
    """Queries with false alarms, among the queries; `worth` is what a false alarm of each moves."""
    targets = _targets(totals)
    there = targets > 0
    once = np.where(there, 1 / np.where(there, targets, 1.0), 0.0)
    false = np.asarray(totals.sums("term_nontargets", statistic)[0], np.float64)
    hit = there & (false > 0)
    weight = float(worth[there].sum())
    if hit.any():  # each as much as those that there are
        weight = float((worth * false)[hit].sum()) * int(there.sum()) / int(hit.sum())
    names = ("targets", "targets")
    what, of = "query with false alarms", "query"
    return [Rate("term_targets", once * hit, once, weight, names, what, of)]
