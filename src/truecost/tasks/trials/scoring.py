"""Scoring trials: from checked records and a choice of measures to rows, and the facts of a row
besides its value. The measures are those asked for, or those that suit the type of the trials.

A subset is decided as the whole is: the rates at an operating point are those of each subset at the
one threshold, in every replicate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import (
    ERRORS,
    ONCE,
    asked_costs,
    no_record,
    refuse_unmeasured,
    refuse_unpriced,
    without_shared,
)
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import sizes_of
from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.errors import InputError, UsageError, first_five
from truecost.names import MEAN, POSTERIORS, SCORE_TYPES
from truecost.task import Dims
from truecost.tasks.measures import find, registry, tasks_of
from truecost.tasks.trials import counting
from truecost.tasks.trials.labels import refuse_priors
from truecost.tasks.trials.measures.thresholds import AT_RATES
from truecost.tasks.trials.options import PARTS_OF, TrialsScoring
from truecost.tasks.trials.records import Floats, Trials

TASK = "trials"
THRESHOLD = "--threshold 0.5"
DEFAULT_MEASURES: dict[str, tuple[str, ...]] = {
    "llr": ("act_dcf", "min_dcf", "cllr", "min_cllr", "eer", "p_miss", "p_fa"),
    "score": ("min_dcf", "eer", "auc"),
    "accept": ("act_dcf", "detection_cost", "p_miss", "p_fa", "total_error"),
    "decision": ("nec", "expected_cost", "nte", "total_error"),
    "number": ("nmae", "mae", "nmse", "mse"),
    "values": ("mean",),
    "posterior": ("nec", "nce", "nbs", "expected_cost", "nte", "total_error"),
}
AT_THRESHOLD = ("p_miss", "p_fa", "fa_per_hour")  # beside those of a ranking; the last with hours


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures of a type of scores, when none is asked for."""
    return DEFAULT_MEASURES.get("posterior" if kind in POSTERIORS else kind or "", ())


def measures_for(trials: Trials, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit the score type."""
    kind: str = trials.kind
    if trials.kind in POSTERIORS:
        kind = "llr" if trials.detection else "posterior"
    elif trials.kind == "decision" and trials.detection:
        kind = "accept"
    usual = (
        _accepted_measures()
        if trials.several_right
        else _distinct_measures(kind, scoring.application)
    )
    available, prices = counting.parts_of(trials, scoring), scoring.application.prices
    if trials.detection and "decisions" in available:
        usual = (*usual, *AT_THRESHOLD[: None if "audio" in available else -1])
    if trials.machine is not None:
        usual = tuple(n for n in usual if find(n, TASK).parts in (("decisions",), ("columns",)))
    found = [
        _finished(_allowed(find(name, TASK), trials, available), trials, scoring)
        for name in dict.fromkeys(
            (*(scoring.measures or (*usual, *asked_costs(prices))), *scoring.also)
        )
    ]
    plain = trials.detection and scoring.application.plain_detection
    refuse_unpriced(found, prices, trials.name, ERRORS[:2] if plain else ERRORS[2:])
    lost = {key: no_record(key, "--resources FILE") for key in ONCE if key not in trials.took}
    refuse_unmeasured(found, prices, trials.name, lost)
    return found


def _finished(measure: Measure, trials: Trials, scoring: Scoring) -> Measure:
    """A measure as it suits the trials: means of columns, and counts that humans correct."""
    if measure.name == MEAN:
        from truecost.tasks.trials.further import finished

        return finished(measure, trials, scoring)
    if trials.machine is None:
        return measure
    from truecost.tasks.trials.machine import corrected

    return corrected(measure)


def _distinct_measures(kind: str, application: Application) -> list[str]:
    """The default measures of a kind, without those that others repeat under 0/1 costs."""
    same = set() if application.costs is not None or kind == "accept" else {"nte"}
    if same and application.priors is None:
        same.add("expected_cost")  # that is the total error then
    return [name for name in DEFAULT_MEASURES[kind] if name not in same]


def _accepted_measures() -> tuple[str, ...]:
    """The measures of trials with several right labels."""
    return tuple(m.name for m in registry(TASK).values() if "accepted" in m.parts)


def _allowed(measure: Measure, trials: Trials, available: set[str]) -> Measure:
    if trials.several_right and "accepted" not in measure.parts:
        raise UsageError(
            f"measure {measure.label!r} needs one true class a trial, but with --annotators any "
            f"several labels may be right: use {', '.join(_accepted_measures())}, or count the "
            f"votes with --annotators votes"
        )
    if "accepted" in measure.parts and not trials.several_right:
        raise UsageError(
            f"measure {measure.label!r} is for several annotators of whom any may be right: use "
            "--annotators any with --map annotators=a+b+c"
        )
    if "accepted" in measure.parts and not available:
        raise UsageError(
            f"measure {measure.label!r} needs decisions, which type {trials.kind} does not give: "
            f"use --threshold"
        )
    if measure.detection and not trials.detection:
        if not trials.classes:
            raise UsageError(f"measure {measure.label!r} needs classes; type number has none")
        raise UsageError(
            f"measure {measure.label!r} needs a target class: name it with --target "
            f"({first_five(trials.classes)})"
        )
    if trials.machine is not None and measure.parts not in (("decisions",), ("columns",)):
        own = [m.name for m in registry(TASK).values() if m.parts == ("decisions",)]
        raise UsageError(
            f"measure {measure.label!r} needs a human label of every trial: with --machine use "
            f"a rate or a cost of decisions ({first_five(own)}) or mean:COLUMN"
        )
    lacking = [part for part in measure.parts if part not in available]
    undecided = trials.kind == "score" and "decisions" in lacking
    if "audio" in lacking:
        from truecost.tasks.trials.audio import NO_HOURS

        decide = f"; and a threshold, {THRESHOLD}" * undecided
        raise UsageError(f"measure {measure.label!r}: {NO_HOURS}{decide}")
    if not {*lacking}.isdisjoint(counting.SPOOFING) and trials.detection:
        from truecost.tasks.trials.further import NEEDED, NOT_SPOOFED

        raise UsageError(NOT_SPOOFED if trials.spoofing is None else NEEDED)
    if lacking:
        if measure.parts[0] not in {part for parts in PARTS_OF.values() for part in parts}:
            own = tasks_of(measure)
            raise UsageError(
                f"measure {measure.label!r} is not for trials, but for {' and '.join(own)}: "
                f"use truecost {own[0]} score with --measure {measure.label}"
            )
        needed = {*measure.parts} - {"audio"}  # hours go with every type
        wanted = [k for k, parts in PARTS_OF.items() if needed <= {*parts}]
        if trials.kind in wanted:
            raise UsageError(
                f"measure {measure.label!r} needs a score for each of several classes; here each "
                f"trial has one score"
            )
        raise UsageError(
            f"measure {measure.label!r} cannot be computed from type {trials.kind} "
            f"({SCORE_TYPES[trials.kind]}): "
            + (f"give the threshold in use, {THRESHOLD}, or " * undecided)
            + f"use scores of type {first_five([*wanted[:-1], f'or {wanted[-1]}'], 9)}"
            + ("; truecost calibrate makes likelihood ratios" if trials.kind == "score" else "")
        )
    return measure


def context_of(
    trials: Trials,
    scoring: Scoring,
    measures: Sequence[Measure],
    evidence: Evidence,
    dims: Mapping[str, str],
) -> Context:
    """Counts, thresholds, flags and signature of rows; `dims` are system and subset."""
    counts = _class_counts(trials)
    if trials.audio is not None:
        hours = trials.audio.sum_of(trials, subset="subset" in dims)
        counts |= {} if hours is None else {"hours": _number(hours)}
    errors: dict[str, float] = {}
    seen = counting.point_of(evidence)
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
        _thresholds(trials, scoring, measures, seen),
        errors,
        part_signatures={} if trials.audio is None else {"audio": trials.audio.said},
    )


def _costly(trials: Trials, scoring: Scoring, table: Floats) -> dict[str, float]:
    """Number of errors of the kind that makes up most of the cost."""
    if not scoring.application.plain_detection or not table.sum(axis=1).all():
        return {}
    miss, fa = counting.risks(trials, scoring)
    misses, false_alarms = float(table[1, 0]), float(table[0, 1])
    of_misses = miss * misses / table[1].sum() >= fa * false_alarms / table[0].sum()
    return {"costs": misses if of_misses else false_alarms}


def _class_counts(trials: Trials) -> dict[str, float]:
    """Trials of each class, and how far their annotators agree.

    Where several labels may be right, a trial counts for each of them.
    """
    if not trials.classes or trials.machine is not None:
        return {}
    own = trials.weights if trials.origin is not None else None  # shares of soft labels
    sizes = trials.class_sizes if own is not None else sizes_of(trials.labels, len(trials.classes))
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
    said, how = [trials.signature], scoring.chosen(TrialsScoring)
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


def _thresholds(
    trials: Trials, scoring: Scoring, measures: Sequence[Measure], seen: Totals
) -> dict[str, float]:
    """Thresholds that a reader may want to set, on the scale of `counting.llrs`: that of the
    decisions, and the best one for the minimum of a cost of decisions.
    """
    found: dict[str, float] = {}
    if trials.detection and trials.kind != "decision":
        threshold = counting.bayes_threshold(trials, scoring)
        if threshold is not None:
            found |= {m.name: threshold for m in measures if m.decides}
    if "ranking" in seen.evidence.parts and scoring.application.plain_detection:
        best = float(
            seen.sweep("ranking").minimum_at(*counting.risks(trials, scoring), ties=True)[1][0]
        )
        if np.isfinite(best):
            minima = (m for m in measures if m.minimum_of and find(m.minimum_of, TASK).decides)
            found |= {measure.name: best for measure in minima}
    return found


def batches(trials: Trials, scoring: Scoring, dims: Dims, whole: Scoring | None) -> Iterator[Batch]:
    """All measures of trials share the evidence; of a subset those that choose a threshold have
    their own. UsageError where the evidence cannot be resampled as asked.
    """
    measures = measures_for(trials, scoring)
    if whole is None:
        _refuse_unsuited(trials, scoring)
    if "subset" in dims:
        measures = without_shared(measures, scoring.application.prices)
    scoring = whole or scoring
    for chosen in (False, True) if "subset" in dims else (None,):
        places = [k for k, m in enumerate(measures) if chosen in (None, m.name in AT_RATES)]
        if not places:
            continue
        asked = [measures[k] for k in places]
        if trials.audio is not None and (why := trials.audio.lost(subset="subset" in dims)):
            from truecost.tasks.trials.audio import without_hours

            asked = [without_hours(measure, why) for measure in asked]
        if chosen:
            from truecost.tasks.trials.chosen import chosen_batch, chosen_evidence

            evidence = chosen_evidence(trials, scoring, asked)
            context = context_of(trials, scoring, asked, evidence, dims)
            batch = chosen_batch(trials, scoring, asked, evidence, context)
        else:
            evidence = counting.evidence_of(trials, scoring, asked)
            context = context_of(trials, scoring, asked, evidence, dims)
            batch = Batch(evidence=evidence, measures=asked, context=context)
        if trials.weights is not None and trials.origin is None:
            scoring.refuse_bca_of_samples()
        if scoring.plan.scheme == "blocks" and len(batch.evidence.factors) > 1:
            raise UsageError(
                f"moving blocks need one unit column in time order, but there are "
                f"{', '.join(batch.evidence.factors)}"
            )
        finish = _with_labels(trials, scoring, evidence, asked)
        batch = replace(batch, application=scoring.application, plan=scoring.plan)
        yield replace(batch, places=places, finish=finish or batch.finish)


def _with_labels(
    trials: Trials, scoring: Scoring, evidence: Evidence, asked: Sequence[Measure]
) -> Callable[[list[Estimate]], list[Estimate]] | None:
    """A function that adds remarks on further human labels, where a machine labelled the others."""
    if trials.machine is None:
        return None
    from truecost.tasks.trials.machine import with_labels

    application = scoring.application
    return partial(with_labels, evidence=evidence, measures=asked, application=application)


def frozen(trials: Trials, scoring: Scoring) -> Scoring:
    """The scoring of subsets, with the class shares of the whole, and the whole, whose threshold
    they keep.
    """
    if not trials.classes:
        return scoring
    how = scoring.chosen(TrialsScoring)
    shares = tuple(counting.class_shares(trials).tolist())
    whole = trials if how.threshold_by == "whole" else None
    return replace(scoring, choices=replace(how, whole_shares=shares, whole=whole))


def _refuse_unsuited(trials: Trials, scoring: Scoring) -> None:
    """Refuse costs for another number of classes, and reversed scores, before counting."""
    if trials.several_right:
        refuse_priors(scoring.application)
    if trials.classes:
        scoring.application.matrix(len(trials.classes))
        scoring.application.class_priors(counting.class_shares(trials)[None, :])
    refuse_reversed(trials, scoring)


def refuse_reversed(trials: Trials, scoring: Scoring) -> None:
    """Refuse scores that rank nontargets above targets beyond chance, unless they are allowed:
    InputError.

    They are more often a mistake than a system. Half of the systems that know nothing have an AUC
    below 0.5: its interval must lie there (see `beyond_chance`).
    """
    ranked = trials.detection and trials.machine is None and "ranking" in PARTS_OF[trials.kind]
    if scoring.chosen(TrialsScoring).allow_reversed or not ranked:
        return
    area = counting.sweep_of(trials, scoring).auc()[0]
    if area >= 0.5:
        return
    from truecost.tasks.trials.validation import LEVEL, beyond_chance

    scores, sides = counting.llrs(trials, scoring), counting.sides_of(trials, scoring)
    if beyond_chance(scores, trials.labels == 1, sides, trials.weights):
        raise InputError(
            f"{trials.place}: the scores look reversed: a target outscores a nontarget "
            f"in {area:.1%} of the pairs (AUC below 0.5, and its {LEVEL:.1%} interval too); higher "
            f"must mean target. Change the sign or the labels, or use --allow-reversed if the "
            f"order is intended"
        )
