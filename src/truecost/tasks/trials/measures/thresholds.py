"""Measures over all thresholds, and false alarms per hour.

All read the ranking of the trials, `ranking` (code 1 target, 0 nontarget). The threshold is chosen
again in each replicate; of a subset on all trials, `whole`, where a measure says so. Those of false
alarms by the hour read the hours of the trials too, `audio`. They describe the scores; they do not
measure decisions (Ferrer et al. 2024, 3.1), but `fa_per_hour`, which is of the decisions of a
system. All are undefined (NaN) in a replicate in which a class has no trials. Accept when score >=
t.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals
from truecost.core.evidence import totals as weighed
from truecost.core.flags import HOUR
from truecost.core.measure import (
    FALSE_ALARM,
    MISS,
    NONE,
    NONTARGETS,
    TARGETS,
    Measure,
    Rate,
    Result,
    Rule,
    at_threshold,
    one_of,
    share,
)
from truecost.core.sweep import EER_KINDS, Floats, Sweep
from truecost.core.weights import Weights
from truecost.tasks.trials.measures.decisions import measure

WHOLE = "whole"  # part that has all trials, where `ranking` has those of a subset


def _priors(sweep: Sweep, application: Application) -> tuple[np.ndarray, np.ndarray]:
    """Cm P and Cf (1-P) for each replicate."""
    priors = application.class_priors(np.stack([sweep.nontargets, sweep.targets], axis=-1))
    return application.cost_miss * priors[:, 1], application.cost_fa * priors[:, 0]


def min_dcf(totals: Totals, application: Application) -> Result:
    """Lowest detection cost over all thresholds t, divided by the cost of the naive baseline:
    `min_t (Cm P Pmiss(t) + Cf (1-P) Pfa(t)) / min(Cm P, Cf (1-P))`.

    Range [0, 1]; lower is better. Naive baseline: 1.0 (always reject or always accept). Equal to 1
    - MTWV of a single query if always rejecting costs less than always accepting. Rodriguez-Fuentes
    & Penagarikano 2013, section 2.3 and Eq. 8-11.
    """
    cost, naive = min_detection_cost(totals, application)
    return share(cost, naive), 1.0


def min_detection_cost(totals: Totals, application: Application) -> Result:
    """Lowest detection cost over all thresholds t, not normalised: `min_t (Cm P Pmiss(t) + Cf (1-P)
    Pfa(t))`.

    Range [0, naive cost] in the unit of the costs; lower is better. Naive baseline: `min(Cm P, Cf
    (1-P))` (always reject or always accept). Rodriguez-Fuentes & Penagarikano 2013, Eq. 8-9.
    """
    sweep: Sweep = totals.sweep("ranking")
    miss, fa = _priors(sweep, application)
    return sweep.minimum(miss, fa), np.minimum(miss, fa)


def eer(totals: Totals, _: Application, kind: str) -> Result:
    """Equal error rate: the error rate at the point of the ROC curve at which Pmiss = Pfa.

    Usually no threshold has exactly equal rates, so there are several definitions, and the
    parameter chooses one. `rocch` (default): the point at which the convex hull of the ROC curve
    has equal rates. `nearest`: the mean of Pmiss and Pfa at the threshold at which they differ
    least; `nearest-pfa`, `nearest-pmiss`: Pfa or Pmiss at this threshold instead of their mean.
    `interpolated`: the point with equal rates on the straight line between two neighbouring points
    of the ROC curve. Range [0, 0.5] for `rocch`, otherwise [0, 1]; lower is better. Naive baseline:
    0.5 (random scores). Ferrer et al. 2024, section 3.1 (limits of this measure).
    """
    return totals.sweep("ranking").eer(kind), 0.5


def auc(totals: Totals, _: Application) -> Result:
    """Probability that a target has a higher score than a nontarget; equal scores count half.

    Range [0, 1]; higher is better. Naive baseline: 0.5 (random scores). Ferrer et al. 2024, section
    3.1 (limits of this measure).
    """
    return totals.sweep("ranking").auc(), 0.5


def miss_at_fa(totals: Totals, _: Application, rate: float) -> Result:
    """Lowest miss rate over all thresholds t whose false-alarm rate is at most a given rate: `min_t
    Pmiss(t) with Pfa(t) <= rate`.

    The parameter is the rate. In a subset, the value is the miss rate of the subset at the
    threshold chosen on all trials (with `--threshold-by subset`: on the subset). Range [0, 1];
    lower is better. Naive baseline: 1 - rate (random scores). Ferrer et al. 2024, section 3.1
    (limits of this measure).
    """
    return _least_misses(totals, rate), 1 - rate


def _least_misses(totals: Totals, rate: float) -> Floats:
    least, thresholds = (of[:, 0] for of in totals.sweep(_chosen_in(totals)).miss_at([rate]))
    return least if _chosen_in(totals) != WHOLE else at_each(totals, least, thresholds)[0]


def _chosen_in(totals: Totals) -> str:
    """The part whose trials choose the threshold."""
    return WHOLE if WHOLE in totals.evidence.parts else "ranking"


def at_each(totals: Totals, least: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """Pmiss and Pfa of the trials of a subset at the threshold of each replicate; an infinite one
    rejects everything, and where the whole has no value (`least` is NaN) there is none.
    """
    known, places = np.unique(np.where(np.isinf(thresholds), 0.0, thresholds), return_inverse=True)
    found = totals.sweep("ranking").rates_at(known)
    chosen = (np.take_along_axis(of, places.reshape(-1, 1), axis=1)[:, 0] for of in found)
    miss, fa = (np.where(np.isnan(least), np.nan, of) for of in chosen)
    rejected = np.isinf(thresholds)
    return np.where(rejected, 0 * miss + 1, miss), np.where(rejected, 0 * fa, fa)


def fa_at_miss(totals: Totals, _: Application, rate: float) -> Result:
    """Lowest false-alarm rate over all thresholds t whose miss rate is at most a given rate: `min_t
    Pfa(t) with Pmiss(t) <= rate`.

    The parameter is the rate. In a subset, the value is the false-alarm rate of the subset at the
    threshold chosen on all trials (with `--threshold-by subset`: on the subset). Range [0, 1];
    lower is better. Naive baseline: 1 - rate (random scores). Ferrer et al. 2024, section 3.1
    (limits of this measure).
    """
    least, thresholds = (of[:, 0] for of in totals.sweep(_chosen_in(totals)).fa_at([rate]))
    if _chosen_in(totals) == WHOLE:
        least = at_each(totals, least, thresholds)[1]
    return least, 1 - rate


def miss_at_fa_per_hour(totals: Totals, _: Application, rate: float) -> Result:
    """Lowest miss rate over all thresholds t with at most a given number of false alarms per hour:
    `min_t Pmiss(t)` with `Pfa(t) N / H <= rate`.

    N is the number of nontargets, H the number of hours of audio, and the rate is the parameter. In
    a subset, the value is the miss rate of the subset at the threshold chosen on all trials (with
    `--threshold-by subset`: on the subset). Range [0, 1]; lower is better. Naive baseline: `max(0,
    1 - rate H / N)` (random scores). Ferrer et al. 2024, section 3.1 (limits of this measure).
    """
    limit = share_per_hour(totals, rate)
    return _least_misses(totals, limit), 1 - limit


def share_per_hour(totals: Totals, rate: float) -> float:
    """The false-alarm rate of so many false alarms an hour: rate H / N, 1 at the most."""
    alone = Evidence({"audio": totals.evidence.parts["audio"]})
    seen = weighed(alone, Weights.ones(alone.factors).block())
    nontargets = float(seen.sums("audio", "n")[0, 0].sum())
    return min(1.0, rate * float(seen.sums("audio", "hours")[0].sum()) / nontargets)


def _per_hour(text: str) -> float:
    rate = float(text)
    if not (np.isfinite(rate) and rate >= 0):
        raise ValueError("give the number of false alarms per hour, at least 0")
    return rate


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 <= rate <= 1:
        raise ValueError("a rate lies between 0 and 1")
    return rate


def chosen_threshold(totals: Totals, measure: Measure) -> float:
    """The threshold that a measure of `AT_RATES` chooses, with weights of one; infinite where it
    rejects everything, NaN where there is none.
    """
    rate = measure.argument()
    if measure.name == "miss_at_fa_per_hour":
        rate = share_per_hour(totals, rate)
    sweep = totals.sweep(_chosen_in(totals))
    least, found = (sweep.fa_at if measure.name == "fa_at_miss" else sweep.miss_at)([rate])
    return float("nan") if np.isnan(least[0, 0]) else float(found[0, 0])


def _position(totals: Totals, threshold: float, part: str = "ranking") -> int:
    """Place of a threshold in a ranking: what stands from there on is accepted."""
    return int(totals.sweep(part).ranking.positions(np.array([threshold]))[0])


def _both(position: int) -> list[Rate]:
    return [at_threshold(1, position), at_threshold(0, position)]


def _at_equal_errors(totals: Totals, *_: object) -> list[Rate]:
    """Misses and false alarms at the threshold where their rates are nearest."""
    return _both(totals.sweep("ranking").nearest())


def _at_rate_of_fa(totals: Totals, _: Application, rate: float) -> list[Rate]:
    part = _chosen_in(totals)
    return _given(totals, float(totals.sweep(part).miss_at([rate])[1][0, 0]), 1, rate)


def _at_rate_of_misses(totals: Totals, _: Application, rate: float) -> list[Rate]:
    part = _chosen_in(totals)
    return _given(totals, float(totals.sweep(part).fa_at([rate])[1][0, 0]), 0, rate)


def _given(totals: Totals, threshold: float, code: int, held: float) -> list[Rate]:
    """The rate of a class at a threshold, and that of the other one, which is held where the
    threshold was chosen.
    """
    part = _chosen_in(totals)
    other = at_threshold(1 - code, _position(totals, threshold, part), part=part)
    return [at_threshold(code, _position(totals, threshold)), replace(other, held=held)]


def _at_rate_per_hour(totals: Totals, application: Application, rate: float) -> list[Rate]:
    return _at_rate_of_fa(totals, application, share_per_hour(totals, rate))


def _at_least_cost(totals: Totals, application: Application) -> list[Rate]:
    """The rates that the least cost adds up, at its threshold."""
    sweep = totals.sweep("ranking")
    miss, fa = _priors(sweep, application)
    position = _position(totals, float(sweep.minimum_at(miss, fa, ties=True)[1][0]))
    costs = application.cost_fa, application.cost_miss
    if application.priors is None:
        most = max(costs)
        errors = (costs[0] * FALSE_ALARM + costs[1] * MISS) / most
        return [Rate("ranking", errors, NONTARGETS + TARGETS, most, position=position)]
    return [at_threshold(1, position, float(miss[0])), at_threshold(0, position, float(fa[0]))]


def _at_least_normalised(totals: Totals, application: Application) -> list[Rate]:
    naive = float(np.minimum(*_priors(totals.sweep("ranking"), application))[0])
    return [
        replace(rate, weight=rate.weight / naive) for rate in _at_least_cost(totals, application)
    ]


_CHOSEN = (
    "its threshold is chosen on the evaluation data, so it does not show the quality of decisions "
    "in use"
)
_SWEPT = (
    "it sweeps all thresholds, so it does not show the quality of decisions in use; prefer "
    "act_dcf or cllr"
)
_of = partial(measure, ("ranking",), detection=True)
_chosen = partial(_of, advice=_CHOSEN, rule="threshold-on-evaluation-data")
_at_rate = partial(_of, advice=_CHOSEN, rule="fpr-at-fnr", parse=_rate, uses=(), shown_in="percent")


def fa_per_hour(totals: Totals, _: Application) -> Result:
    """False alarms per hour of audio: `accepted nontargets / hours of audio`.

    Range [0, inf); lower is better. No naive baseline. If only the total number of hours H is
    known, each of the N nontargets counts as H / N hours, also in the replicates. Undefined without
    hours.
    """
    hours = totals.sums("audio", "hours").sum(axis=(1, 2))
    return share(totals.sums("audio", "n")[:, 0, 1], hours), NONE


def _heard(*_: Any) -> list[Rate]:
    """False alarms as events in hours of audio, of nontargets."""
    every = np.ones(4)
    return [
        Rate(
            "audio",
            FALSE_ALARM,
            every,
            statistics=("n", "hours"),
            what="false alarm",
            of=HOUR,
            chances=NONTARGETS,
        )
    ]


MEASURES = (
    _chosen(
        min_dcf,
        "Minimum detection cost (normalised)",
        "paper 002, 2.3",
        Rule(rates=_at_least_normalised, optimistic=True),
        minimum_of="act_dcf",
    ),
    _chosen(
        min_detection_cost,
        "Minimum detection cost",
        "paper 002, Eq. 8-9",
        Rule(rates=_at_least_cost, optimistic=True),
        minimum_of="detection_cost",
    ),
    _chosen(
        eer,
        "Equal error rate",
        "paper 003, 3.1",
        Rule(rates=_at_equal_errors, joined="equal"),
        parameter="rocch",
        parse=partial(one_of, EER_KINDS),
        uses=(),
        shown_in="percent",
    ),
    _of(
        auc,
        "Area under the ROC curve",
        "paper 003, 3.1",
        Rule("logit"),
        direction="higher",
        advice=_SWEPT,
        rule="threshold-swept",
        uses=(),
    ),
    _at_rate(
        miss_at_fa,
        "Miss rate at a false-alarm rate",
        "paper 003, 3.1",
        Rule(rates=_at_rate_of_fa, joined="at"),
        parameter="0.01",
    ),
    _at_rate(
        fa_at_miss,
        "False-alarm rate at a miss rate",
        "paper 003, 3.1",
        Rule(rates=_at_rate_of_misses, joined="at"),
        parameter="0.1",
    ),
    measure(
        ("ranking", "audio"),
        miss_at_fa_per_hour,
        "Miss rate at a number of false alarms per hour",
        "paper 003, 3.1",
        Rule(rates=_at_rate_per_hour, joined="at"),
        detection=True,
        advice=_CHOSEN,
        rule="fpr-at-fnr",
        parameter="1",
        parse=_per_hour,
        uses=(),
        shown_in="percent",
    ),
    measure(
        ("decisions", "audio"),
        fa_per_hour,
        "False alarms per hour",
        "definition: false alarms / hours of audio",
        Rule(rates=_heard),
        detection=True,
        errors="false_alarms",
        uses=(),
    ),
)
AT_RATES = ("miss_at_fa", "miss_at_fa_per_hour", "fa_at_miss")  # at the threshold of the whole
