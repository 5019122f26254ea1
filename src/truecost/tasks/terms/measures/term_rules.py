"""Intervals of measures of term searches: their scales, and their errors at the end of a scale.

A term-weighted value is 1 less a cost, so that its scale is log(1 - v). Queries weigh the same,
whatever they hold; documents weigh by their trials. Where a cost is 0, or would be without one
query, its misses are counted as a rate in which each query weighs the same, and its false alarms
query by query: there are so many nontargets that only their number tells anything.
"""

from typing import Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats
from truecost.core.rules import Rate, Rates, Rule
from truecost.tasks.terms.measures.term_shares import Shares

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
