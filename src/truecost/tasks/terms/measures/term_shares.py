"""How queries are joined: what one trial of each query moves the rates by, in every replicate.

Queries are the outer factor of the evidence: their weights multiply means over queries, never the
inside of a ratio. A query that has no targets (in a replicate) is left out of the means.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, share
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
