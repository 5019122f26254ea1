"""Thresholds that are chosen on all trials, and that subsets keep.

A subset is decided as the whole is: the rates at an operating point are those of each subset at the
one threshold, in every replicate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from truecost.core.application import Application
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.measure import Measure, Result
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.tasks.measures import find
from truecost.tasks.trials.context import context_of, point_of
from truecost.tasks.trials.counting import llrs, ranking_of, sides_of
from truecost.tasks.trials.measures.thresholds import OWN
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

RATES = {"miss_at_fa": "p_miss", "fa_at_miss": "p_fa"}  # what each is at a given threshold


def thresholds_of(
    trials: Trials, scoring: Scoring, measures: Sequence[Measure]
) -> dict[str, float]:
    """The thresholds that measures choose on these trials.

    Parameters
    ----------
    trials : Trials
        The whole.

    Returns
    -------
    dict of str to float
        By label, on the scale of `counting.llrs`, infinite where everything is rejected; without
        measures that choose anew (`:own`), and those of which the whole has no value.
    """
    wanted = [m for m in measures if m.name in RATES and not (m.parameter or "").endswith(OWN)]
    if not wanted:
        return {}
    whole = [(Factor("all", np.zeros(1)), np.zeros(len(trials.labels), np.int32))]
    sweep = point_of(Evidence({"ranking": ranking_of(trials, scoring, whole)})).sweep("ranking")
    found = {}
    for measure in wanted:
        at = sweep.miss_at if measure.name == "miss_at_fa" else sweep.fa_at
        value, threshold = at([measure.argument()])
        if not np.isnan(value[0, 0]):
            found[measure.label] = float(threshold[0, 0])
    return found


def at_threshold(
    trials: Trials, scoring: Scoring, measure: Measure, dims: Mapping[str, str]
) -> tuple[Evidence, Measure, Context]:
    """What `estimate` takes for a measure of a subset at the threshold of the whole.

    Parameters
    ----------
    trials : Trials
        The subset.
    scoring : Scoring
        With the threshold in `whole_thresholds`.

    Returns
    -------
    evidence : Evidence
        The decisions at the threshold.
    measure : Measure
        The error rate, under the name that was asked for.
    context : Context
        With the threshold, and a word on it in the signature.
    """
    threshold = scoring.chosen(TrialsScoring).whole_thresholds[measure.label]
    accepted = (llrs(trials, scoring) >= threshold) & np.isfinite(threshold)
    tally = Tally.count(
        sides_of(trials, scoring),
        {"n": np.ones(len(trials.labels), np.int64)},
        {
            "class": (trials.classes, trials.labels),
            "decision": (("reject", "accept"), accepted.astype(np.int64)),
        },
        trials.weights,
    )
    evidence = Evidence({"decisions": tally})
    rate = find(RATES[measure.name], "trials")

    def value(totals: Totals, application: Application, limit: float) -> Result:
        return rate.function(totals, application)[0], 1 - limit

    named = {k: getattr(measure, k) for k in ("name", "title", "source", "parameter", "parse")}
    named |= {k: getattr(measure, k) for k in ("advice", "rule")}
    context = context_of(trials, scoring, evidence, dims)
    return (
        evidence,
        replace(rate, function=value, **named),
        replace(
            context,
            thresholds={measure.name: threshold} if np.isfinite(threshold) else {},
            signature=f"{context.signature}|threshold-of:whole",
        ),
    )
