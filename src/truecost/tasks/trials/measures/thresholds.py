"""Measures that choose a threshold on the evaluation data, or sweep all of them.

All read the ranking of the trials, `ranking` (code 1 target, 0 nontarget). The threshold is chosen
anew in each replicate; subsets keep that of the whole where a measure says so. They describe the
scores; they do not measure decisions (paper 003, 3.1). All are undefined (NaN) in a replicate in
which a class has no trials. Accept when score >= t.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import (
    FALSE_ALARM,
    MISS,
    NONTARGETS,
    TARGETS,
    Rate,
    Result,
    Rule,
    at_threshold,
    one_of,
    share,
)
from truecost.core.sweep import EER_KINDS, Sweep
from truecost.tasks.trials.measures.decisions import measure

OWN = ":own"  # behind a rate: a subset chooses its own threshold, not that of the whole


def _priors(sweep: Sweep, application: Application) -> tuple[np.ndarray, np.ndarray]:
    """Cm P and Cf (1-P) for each replicate."""
    priors = application.class_priors(np.stack([sweep.nontargets, sweep.targets], axis=-1))
    return application.cost_miss * priors[:, 1], application.cost_fa * priors[:, 0]


def min_dcf(totals: Totals, application: Application) -> Result:
    """Minimum detection cost over all thresholds, normalised.

    min_t (Cm P Pmiss(t) + Cf (1-P) Pfa(t)) / min(Cm P, Cf (1-P)). Range [0, 1], lower is better;
    1.0 is the naive baseline. 1 - MTWV when rejecting is the cheaper naive choice. Paper 002,
    section 2.3 and Eq. 8-11.
    """
    cost, naive = min_detection_cost(totals, application)
    return share(cost, naive), 1.0


def min_detection_cost(totals: Totals, application: Application) -> Result:
    """Minimum of Cm P Pmiss(t) + Cf (1-P) Pfa(t) over all thresholds t, not normalised.

    Range [0, naive cost] in the unit of the costs, lower is better; the reference always rejects or
    always accepts, min(Cm P, Cf (1-P)). Paper 002, Eq. 8-9.
    """
    sweep: Sweep = totals.sweep("ranking")
    miss, fa = _priors(sweep, application)
    return sweep.minimum(miss, fa), np.minimum(miss, fa)


def eer(totals: Totals, _: Application, kind: str) -> Result:
    """Equal error rate: the error rate where Pmiss = Pfa.

    Definitions: `rocch` where the convex hull of the ROC meets the diagonal (default); `nearest`
    the mean of Pmiss and Pfa at the threshold where they are closest, `nearest-pfa` and
    `nearest-pmiss` one of them there; `interpolated` where the straight line between the two
    thresholds around the crossing meets the diagonal. Range [0, 0.5] on the hull, [0, 1] otherwise,
    lower is better; 0.5 is chance. Paper 003, section 3.1, on what it does not tell.
    """
    return totals.sweep("ranking").eer(kind), 0.5


def auc(totals: Totals, _: Application) -> Result:
    """Area under the ROC curve: probability that a target outscores a nontarget, ties half.

    Range [0, 1], higher is better; 0.5 is chance. Paper 003, section 3.1, on what it does not tell.
    """
    return totals.sweep("ranking").auc(), 0.5


def miss_at_fa(totals: Totals, _: Application, rate: float) -> Result:
    """Least miss rate among the thresholds whose false-alarm rate is at most the given one.

    min Pmiss(t) over t with Pfa(t) <= rate. A subset has its miss rate at the threshold that is
    chosen on all trials, held in every replicate; with `:own` behind the rate at its own. Range [0,
    1], lower is better; the reference, chance, gets 1 - rate. Paper 003, section 3.1, on what it
    does not tell.
    """
    return totals.sweep("ranking").miss_at([rate])[0][:, 0], 1 - rate


def fa_at_miss(totals: Totals, _: Application, rate: float) -> Result:
    """Least false-alarm rate among the thresholds whose miss rate is at most the given one.

    min Pfa(t) over t with Pmiss(t) <= rate. A subset has its false-alarm rate at the threshold that
    is chosen on all trials, held in every replicate; with `:own` behind the rate at its own. Range
    [0, 1], lower is better; the reference, chance, gets 1 - rate. Paper 003, section 3.1, on what
    it does not tell.
    """
    return totals.sweep("ranking").fa_at([rate])[0][:, 0], 1 - rate


def _rate(text: str) -> float:
    rate = float(text.removesuffix(OWN))
    if not 0 <= rate <= 1:
        raise ValueError("a rate lies between 0 and 1")
    return rate


def _position(totals: Totals, threshold: float) -> int:
    """Place of a threshold in the ranking: what stands from there on is accepted."""
    return int(totals.sweep("ranking").ranking.positions(np.array([threshold]))[0])


def _both(position: int) -> list[Rate]:
    return [at_threshold(1, position), at_threshold(0, position)]


def _at_equal_errors(totals: Totals, *_: object) -> list[Rate]:
    """Misses and false alarms at the threshold where their rates are nearest."""
    return _both(totals.sweep("ranking").nearest())


def _at_rate_of_fa(totals: Totals, _: Application, rate: float) -> list[Rate]:
    return _both(_position(totals, float(totals.sweep("ranking").miss_at([rate])[1][0, 0])))


def _at_rate_of_misses(totals: Totals, _: Application, rate: float) -> list[Rate]:
    chosen = float(totals.sweep("ranking").fa_at([rate])[1][0, 0])
    return _both(_position(totals, chosen))[::-1]


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


_CHOSEN = "it chooses its threshold on the evaluation data: it says nothing about decisions in use"
_SWEPT = "it sweeps all thresholds: it says nothing about decisions in use; prefer act_dcf or cllr"
_of = partial(measure, ("ranking",), detection=True)
_chosen = partial(_of, advice=_CHOSEN, rule="threshold-on-evaluation-data")
_at_rate = partial(_of, advice=_CHOSEN, rule="fpr-at-fnr", parse=_rate, uses=())

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
)
