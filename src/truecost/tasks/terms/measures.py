"""Spoken term detection: term-weighted values, and cross entropy of the scores.

All read the tallies `term_targets` and `term_nontargets` with the axis query: `targets` (Nact),
`correct` (found and accepted), `found` (whatever the decision), and `submitted`, `false_alarms` of
the nontargets. `term_audio` has the `trials` of one query and the `seconds`. Thresholds are swept
on the ranking `term_trials`. The queries are an outer factor: their weights multiply the means over
queries, never the inside of a ratio.

Pmiss(q) = misses / Nact(q) and Pfa(q) = false alarms / (N - Nact(q)), N the trials of one query
(Rodriguez-Fuentes & Penagarikano 2013, Eq. 1-3); a query that has no targets (in a replicate) is
left out of both means. Then TWV = 1 - mean Pmiss - beta mean Pfa, beta = Cf (1-P) / (Cm P) (Eq.
4-7).
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import Spent, cost_measures, took
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Result, Rule, Told, share
from truecost.tasks.terms.pooling import (
    MEAN,
    SHARE,
    Averaging,
    Shares,
    TermSweep,
    alarmed,
    missed,
    missing,
    number_alarmed,
    number_of,
    query_weights,
    rule,
    settled,
    weighed,
)

COUNTS = ("term_targets", "term_nontargets", "term_audio")
SWEPT = (*COUNTS, "term_trials")


def _rates(totals: Totals, how: Averaging, kind: str = "") -> tuple[Shares, Floats, Floats]:
    """The shares, 1 - Pmiss and Pfa at the decisions (or those of another kind)."""
    shares = Shares.from_totals(totals, how)
    correct = (shares.gain * totals.sums("term_targets", f"correct{kind}")).sum(axis=1)
    false = (shares.loss * totals.sums("term_nontargets", f"false_alarms{kind}")).sum(axis=1)
    return shares, correct, false


def atwv(totals: Totals, application: Application, how: Averaging = MEAN) -> Told:
    """Actual term-weighted value, with the decisions of the system: `1 - mean_q Pmiss(q) - beta
    mean_q Pfa(q)`.

    Range [-beta, 1]; higher is better. Naive baseline: 0 (everything is rejected).
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 6.
    """
    shares, correct, false = _rates(totals, how)
    return correct - shares.beta(application) * false, 0.0, {"vanished": shares.vanished}


def twv_bayes(totals: Totals, application: Application, how: Averaging = MEAN) -> Told:
    """Term-weighted value at the Bayes threshold, -logit(Ptar):
    `1 - mean_q Pmiss(q) - beta mean_q Pfa(q)`.

    Range [-beta, 1]; higher is better. Naive baseline: 0 (everything is rejected).
    Rodriguez-Fuentes & Penagarikano 2013, Eq. 30-31.
    """
    shares, correct, false = _rates(totals, how, "_bayes")
    return correct - shares.beta(application) * false, 0.0, {"vanished": shares.vanished}


def p_miss(totals: Totals, _: Application, how: Averaging = MEAN) -> Told:
    """Mean over the queries with targets of the share of targets that the decisions of the system
    miss.

    Range [0, 1]; lower is better. Naive baseline: 1 (everything is rejected). Rodriguez-Fuentes &
    Penagarikano 2013, Eq. 1 and 4.
    """
    shares, correct = _rates(totals, how)[:2]
    return missed(correct), 1.0, {"vanished": shares.vanished}


def p_fa(totals: Totals, _: Application, how: Averaging = MEAN) -> Told:
    """Mean over the queries with targets of the share of nontargets that the system accepts (with
    `--count-all-queries`, over all queries).

    Range [0, 1]; lower is better. Naive baseline: 0 (everything is rejected). Rodriguez-Fuentes &
    Penagarikano 2013, Eq. 2, 3 and 5.
    """
    shares, false = _rates(totals, how)[::2]
    return false, 0.0, {"vanished": shares.vanished}


def stwv(totals: Totals, _: Application, how: Averaging = MEAN) -> Told:
    """Supremum term-weighted value: mean over the queries with targets of the share of targets that
    have a detection.

    A detection of any score counts, and false alarms cost nothing. Range [0, 1]; higher is better.
    Naive baseline: 0 (an empty list). NIST, KWSEval.
    """
    shares = Shares.from_totals(totals, how)
    found = (shares.gain * totals.sums("term_targets", "found")).sum(axis=1)
    return found, 0.0, {"vanished": shares.vanished}


def mtwv(totals: Totals, application: Application, how: Averaging = MEAN) -> Told:
    """Maximum term-weighted value: the largest TWV with one threshold for all queries, `max_t
    TWV(t)`.

    The thresholds t are all submitted scores, and infinity, which rejects everything. If several
    thresholds are best, the lowest one is used. A system with one threshold for all queries never
    has a higher `atwv`. Each replicate uses its own best threshold, so both ends of the interval
    are somewhat too high. Range [0, 1]; higher is better. Naive baseline: 0 (everything is
    rejected). Rodriguez-Fuentes & Penagarikano 2013, section 2.3.
    """
    shares = Shares.from_totals(totals, how)
    beta = shares.beta(application)
    whole = (shares.gain * totals.sums("term_targets", "found")).sum(axis=1)
    best, gained, thresholds = TermSweep.from_totals(totals).best_of_all(
        shares.gain, beta[:, None] * shares.loss, whole, how.reject_all
    )
    told = {
        "threshold": thresholds,
        "p_miss": missed(gained),
        "p_fa": settled(gained - best) / beta,
        "vanished": shares.vanished,
    }
    return best, 0.0, told


def otwv(totals: Totals, application: Application, how: Averaging = MEAN) -> Told:
    """Optimum term-weighted value, with the best threshold t for each query: `mean_q max_t (1 -
    Pmiss(q, t) - beta Pfa(q, t))`.

    The thresholds are chosen again in each replicate. Range [0, 1]; higher is better. Naive
    baseline: 0 (everything is rejected). NIST, KWSEval.
    """
    if how.pooled:
        value, reference, told = mtwv(totals, application, how)
        return value, reference, {"vanished": told["vanished"]}
    shares, swept = Shares.from_totals(totals, how), TermSweep.from_totals(totals)
    beta = shares.beta(application)[:, None]
    if len(swept.documents) or how.every or application.priors is None:
        best = swept.each(shares.gain, beta * shares.loss, how.reject_all)[0].sum(axis=0)
    else:  # the best threshold of a query is the same in every replicate
        targets, others = shares.targets[:1], (shares.trials - shares.targets)[:1]
        alone = swept.each(share(1.0, targets), beta[:1] * share(1.0, others), how.reject_all)[0]
        worth = np.where(targets[0] > 0, alone[:, 0], 0.0)
        best = (shares.gain * targets * worth).sum(axis=1)
    value = np.where(np.isnan(shares.gain[:, 0] + beta[:, 0]), np.nan, best)
    return value, 0.0, {"vanished": shares.vanished}


def mean_average_precision(totals: Totals, _: Application, how: Averaging = MEAN) -> Told:
    """Mean over the queries with targets of the average precision of their detections, ranked by
    score.

    The average precision of a query is the sum, over the targets that are found, of the precision
    at their scores, divided by the number of all targets of the query. The precision at a score is
    the share of targets among the detections of the query with at least this score. Range [0, 1];
    higher is better. Naive baseline: 0 (an empty list). NIST, KWSEval (which, unlike truecost,
    sorts scores as text).
    """
    shares = Shares.from_totals(totals, how)
    weights = shares.weights if how.pooled else None
    found = TermSweep.from_totals(totals).precisions(
        len(shares.gain), weights, false_first=how.false_first
    )
    if how.pooled:
        value = share(found[:, 0], (shares.weights * shares.targets).sum(axis=1))
    else:
        value = (shares.gain * found).sum(axis=1)
    return value, 0.0, {"vanished": shares.vanished}


def n_targets(totals: Totals, _: Application, how: Averaging = MEAN) -> Result:
    """Number of targets, over all queries. No naive baseline. Rodriguez-Fuentes & Penagarikano
    2013, section 2.2.
    """
    return _number(totals, "term_targets", "targets", how), NONE


def n_correct(totals: Totals, _: Application, how: Averaging = MEAN) -> Result:
    """Number of targets that are found and accepted. Higher is better. Naive baseline: 0
    (everything is rejected). Rodriguez-Fuentes & Penagarikano 2013, section 2.1.
    """
    return _number(totals, "term_targets", "correct", how), 0.0


def n_missed(totals: Totals, application: Application, how: Averaging = MEAN) -> Result:
    """Number of targets that are not found, or found and rejected. Lower is better. Naive baseline:
    the number of targets (everything is rejected). Rodriguez-Fuentes & Penagarikano 2013, section
    2.1.
    """
    targets = n_targets(totals, application, how)[0]
    return targets - n_correct(totals, application, how)[0], targets


def n_false_alarms(totals: Totals, _: Application, how: Averaging = MEAN) -> Result:
    """Number of accepted detections that match no target, of the queries with targets (with
    `--count-all-queries`, of all queries). Lower is better. Naive baseline: 0 (everything is
    rejected). Rodriguez-Fuentes & Penagarikano 2013, section 2.1.
    """
    return _number(totals, "term_nontargets", "false_alarms", how), 0.0


def _number(totals: Totals, part: str, statistic: str, how: Averaging) -> Floats:
    weights = query_weights(totals)
    if not how.every:
        weights = weights * (totals.sums("term_targets", "targets") > 0)
    return np.asarray((weights * totals.sums(part, statistic)).sum(axis=1))


def spending(totals: Totals, application: Application, how: Averaging = MEAN) -> Spent:
    """Errors of the queries that count by number, computing by its records.

    The naive baseline rejects everything, and takes nothing.
    """
    about = totals, application, how
    made = {"miss": n_missed(*about)[0], "false_alarm": n_false_alarms(*about)[0]}
    return Spent({**took(totals), **made}, {"miss": n_targets(*about)[0]})


PRICES = ("miss", "false_alarm", "cpu", "gpu", "memory", "waiting")
_NO_TARGETS = "no query has a target, or the prior from the data is not below 1"
_COSTS: dict[str, Any] = {"uses": ("costs", "prior")}
_SWEEP: dict[str, Any] = {"parts": SWEPT, "rule": "threshold-on-evaluation-data", **_COSTS}
HIGHER = ("n_targets", "n_correct")
RATES = ("p_miss", "p_fa")


def _measure(
    name: str,
    function: Callable[..., Any],
    title: str,
    source: str,
    *,
    interval: Rule,
    higher: bool = True,
    parts: tuple[str, ...] = COUNTS,
    uses: tuple[str, ...] = (),
    **more: Any,
) -> Measure:
    direction: Literal["higher", "lower"] = "higher" if higher else "lower"
    more |= {"uses": uses, "interval": interval, "cites": ("002",), "undefined": _NO_TARGETS}
    more["total"] = name.startswith("n_")
    return Measure(name, function, parts, title, direction, source, **more)


def _found_rule(*, optimistic: bool = False) -> Rule:
    """The rule of a measure that at best finds all targets that any detection is aligned with."""
    return rule("log1m", missing("unfound", -1.0), optimistic=optimistic, bounds=SHARE)


MEASURES = (
    _measure(
        *("atwv", atwv, "Actual term-weighted value", "paper 002, Eq. 6"),
        **_COSTS,
        interval=rule("log1m", weighed()),
    ),
    _measure(
        *("mtwv", mtwv, "Maximum term-weighted value", "paper 002, 2.3"),
        **_SWEEP,
        advice="its threshold is chosen on the evaluation data, so it does not show the quality of "
        "decisions in use",
        minimum_of="atwv",
        interval=_found_rule(optimistic=True),
    ),
    _measure(
        *("otwv", otwv, "Optimum term-weighted value", "NIST KWSEval"),
        **_SWEEP,
        advice="the threshold of each query is chosen on the evaluation data, so it does not show "
        "the quality of decisions in use",
        interval=_found_rule(optimistic=True),
    ),
    _measure(
        *("stwv", stwv, "Supremum term-weighted value", "NIST KWSEval"), interval=_found_rule()
    ),
    _measure(
        *("twv_bayes", twv_bayes),
        *("Term-weighted value at the Bayes threshold", "paper 002, Eq. 30-31"),
        **_COSTS,
        advice="it treats scores as natural-log likelihood ratios",
        interval=rule("log1m", weighed("_bayes")),
    ),
    *(
        _measure(
            *(name, function, title, source),
            higher=name in HIGHER,
            task="terms" if name in RATES else "",  # trials have rates of these names
            shown_in="percent" if name in RATES else "",
            interval=rule("log", rates, bounds=(0.0, np.inf) if name.startswith("n_") else SHARE),
        )
        for name, function, title, source, rates in (
            ("p_miss", p_miss, "Mean miss rate of queries", "paper 002, Eq. 4", missing("missed")),
            ("p_fa", p_fa, "Mean false-alarm rate of queries", "paper 002, Eq. 5", alarmed),
            ("n_targets", n_targets, "Targets", "paper 002, 2.2", None),
            ("n_correct", n_correct, "Targets found", "paper 002, 2.1", number_of("correct")),
            ("n_false_alarms", n_false_alarms, "False alarms", "paper 002, 2.1", number_alarmed),
            ("n_missed", n_missed, "Targets missed", "paper 002, 2.1", number_of("missed")),
        )
    ),
    _measure(
        *("map", mean_average_precision, "Mean average precision", "NIST KWSEval"),
        parts=SWEPT,
        advice="it ranks detections within a query, and does not show the quality of decisions",
        rule="threshold-swept",
        interval=_found_rule(),
    ),
    *cost_measures("terms", spending, COUNTS, PRICES, source="paper 002, 2.1 and 4.3"),
)
