"""What a row of trials says besides its value, and thresholds that are chosen once and kept by
subsets.

A subset is decided as the whole is: the rates at an operating point are those of each subset at the
one threshold, in every replicate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.factors import Factor
from truecost.core.flags import raised
from truecost.core.measure import Measure, Result
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Weights
from truecost.names import POSTERIORS
from truecost.tasks.measures import find, registry
from truecost.tasks.trials.counting import bayes_threshold, llrs, ranking_of, risks, sides_of
from truecost.tasks.trials.measures.thresholds import OWN
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]


def context_of(
    trials: Trials, scoring: Scoring, evidence: Evidence, dims: Mapping[str, str]
) -> Context:
    """Counts, thresholds, flags and signature of a row.

    Parameters
    ----------
    evidence : Evidence
        Counted from these trials.
    dims : mapping of str to str
        System and subset.
    """
    counts = _class_counts(trials)
    errors: dict[str, float] = {}
    seen = point_of(evidence)
    if "decisions" in evidence.parts:
        table = seen.sums("decisions", "n")[0]
        wrong = table.sum() - np.trace(table)
        errors = {"": float(wrong)}
        if trials.detection:
            misses, false_alarms = _number(table[1, 0]), _number(table[0, 1])
            counts |= {"misses": misses, "false_alarms": false_alarms}
            errors |= {"misses": misses, "false_alarms": false_alarms}
            errors |= _costly(trials, scoring, table)
        else:
            counts["errors"] = _number(wrong)
            if table.shape[1] > table.shape[0]:
                counts["abstentions"] = _number(table[:, -1].sum())
    for part in ("losses", "llr"):
        hopeless = seen.sums(part, "impossible").sum() if part in evidence.parts else 0
        if hopeless:
            counts["impossible"] = _number(hopeless)
    if "accepted" in evidence.parts:
        errors[""] = counts["errors"] = _number(seen.sums("accepted", "error").sum())
    flags = raised(
        trials_as_units=not trials.units,
        crossed=sum(len(sides) for sides in trials.units.values()) > 1,
    )
    return Context(
        dict(dims),
        len(trials),
        counts,
        _signature(trials, scoring),
        flags,
        _thresholds(trials, scoring, seen),
        errors,
    )


def _costly(trials: Trials, scoring: Scoring, table: Floats) -> dict[str, float]:
    """How many errors there are of the kind that makes up most of the cost.

    A cost that is mostly that of three false alarms rests on three events, however many misses.
    """
    if not scoring.application.plain_detection or not table.sum(axis=1).all():
        return {}
    miss, fa = risks(trials, scoring)
    misses, false_alarms = float(table[1, 0]), float(table[0, 1])
    of_misses = miss * misses / table[1].sum() >= fa * false_alarms / table[0].sum()
    return {"costs": misses if of_misses else false_alarms}


def _class_counts(trials: Trials) -> dict[str, float]:
    """Trials of each class, and how far their annotators agree.

    Where several labels may be right, a trial counts for each of them.
    """
    if not trials.classes:
        return {}
    own = trials.weights if trials.origin is not None else None  # shares of soft labels
    sizes = np.bincount(trials.labels, own, minlength=len(trials.classes))
    said = trials.annotation
    if said is not None and trials.several_right:
        sizes = said.accepted.sum(axis=0)
    names = (
        ["nontargets", "targets"] if trials.detection else [f"class {c}" for c in trials.classes]
    )
    counts = {n: _number(c) for n, c in zip(names, sizes, strict=True)}
    return counts if said is None else counts | said.agreement(trials.origin)


def _number(value: Any) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _signature(trials: Trials, scoring: Scoring) -> str:
    said = [trials.signature]
    how = scoring.chosen(TrialsScoring)
    if trials.kind in POSTERIORS:
        given = how.training_prior
        priors = "empirical" if given is None else ",".join(f"{p:.6g}" for p in given)
        said.append(f"training-prior:{priors}")
    if how.threshold is not None:
        said.append(f"threshold:{how.threshold:g}")
    if how.clip is not None:
        said.append(f"clip:{how.clip:g}")
    if trials.weights is not None and trials.origin is None:  # else they are shares of labels
        said.append("weighted")
    return "|".join(said)


def _thresholds(trials: Trials, scoring: Scoring, seen: Totals) -> dict[str, float]:
    """Thresholds that a reader may want to set, on the scale of `counting.llrs`: that of the
    decisions, and the best one for the minimum of a cost of decisions.
    """
    known = registry("trials")
    found: dict[str, float] = {}
    if trials.detection and trials.kind != "decision":
        threshold = bayes_threshold(trials, scoring)
        if threshold is not None:
            found |= {name: threshold for name, measure in known.items() if measure.decides}
    if "ranking" in seen.evidence.parts and scoring.application.plain_detection:
        best = float(seen.sweep("ranking").minimum_at(*risks(trials, scoring), ties=True)[1][0])
        if np.isfinite(best):
            minima = (m for m in known.values() if m.minimum_of and known[m.minimum_of].decides)
            found |= {measure.name: best for measure in minima}
    return found


def point_of(evidence: Evidence) -> Totals:
    """The evidence with weights of one."""
    return totals(evidence, Weights.ones(evidence.factors).block())


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
