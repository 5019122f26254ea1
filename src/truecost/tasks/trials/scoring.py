"""Scoring trials: from checked records and a choice of measures to rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence
from truecost.core.factors import Factor
from truecost.core.measure import Measure
from truecost.core.scoring import Batch, Scoring
from truecost.errors import InputError, UsageError, first_five
from truecost.names import POSTERIORS, SCORE_TYPES
from truecost.task import Dims
from truecost.tasks.measures import find, registry
from truecost.tasks.trials.annotators import refuse_priors
from truecost.tasks.trials.context import at_threshold, context_of, point_of, thresholds_of
from truecost.tasks.trials.counting import (
    PARTS_OF,
    class_shares,
    evidence_of,
    llrs,
    parts_of,
    ranking_of,
    sides_of,
)
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
TASK = "trials"

DEFAULT_MEASURES: dict[str, tuple[str, ...]] = {
    "llr": ("act_dcf", "min_dcf", "cllr", "min_cllr", "eer", "p_miss", "p_fa"),
    "score": ("min_dcf", "eer", "auc"),
    "accept": ("act_dcf", "detection_cost", "p_miss", "p_fa", "total_error"),
    "decision": ("nec", "expected_cost", "nte", "total_error"),
    "number": ("nmae", "mae", "nmse", "mse"),
    "posterior": ("nec", "nce", "nbs", "expected_cost", "nte", "total_error"),
}


@dataclass(frozen=True)
class Frozen:
    """What the whole decides for its subsets: class shares, and thresholds by measure."""

    shares: tuple[float, ...] | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)


def measures_for(trials: Trials, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit the score type.

    Raises
    ------
    UsageError
        When a measure is not known, or the score type or the classes do not allow it.
    """
    kind: str = trials.kind
    if trials.kind in POSTERIORS:
        kind = "llr" if trials.detection else "posterior"
    elif trials.kind == "decision" and trials.detection:
        kind = "accept"
    defaults = _of_accepted() if trials.several_right else _told_apart(kind, scoring.application)
    available = parts_of(trials, scoring)
    return [
        _allowed(find(name, TASK), trials, available)
        for name in dict.fromkeys(scoring.measures or defaults)
    ]


def _told_apart(kind: str, application: Application) -> list[str]:
    """The default measures of a kind, without those that others repeat under 0/1 costs."""
    same = set() if application.costs is not None or kind == "accept" else {"nte"}
    if same and application.priors is None:
        same.add("expected_cost")  # that is the total error then
    return [name for name in DEFAULT_MEASURES[kind] if name not in same]


def _of_accepted() -> tuple[str, ...]:
    """The measures for trials of which several labels may be right."""
    return tuple(m.name for m in registry(TASK).values() if "accepted" in m.parts)


def _allowed(measure: Measure, trials: Trials, available: set[str]) -> Measure:
    if trials.several_right and "accepted" not in measure.parts:
        raise UsageError(
            f"measure {measure.label!r} needs one true class a trial, and with --annotators any "
            f"several labels may be right: take {', '.join(_of_accepted())}, or count the votes "
            f"with --annotators votes"
        )
    if "accepted" in measure.parts and not trials.several_right:
        raise UsageError(
            f"measure {measure.label!r} is for several annotators of whom any may be right: "
            f"--annotators any with --map annotators=a+b+c"
        )
    if "accepted" in measure.parts and not available:
        raise UsageError(
            f"measure {measure.label!r} needs decisions, which type {trials.kind} does not give: "
            f"say --threshold"
        )
    if measure.detection and not trials.detection:
        raise UsageError(
            f"measure {measure.label!r} needs a target class: say which label it is "
            f"with --target ({first_five(trials.classes)})"
            if trials.classes
            else f"measure {measure.label!r} needs classes; type number has none"
        )
    lacking = [part for part in measure.parts if part not in available]
    if lacking:
        if measure.parts[0] not in {part for parts in PARTS_OF.values() for part in parts}:
            raise UsageError(
                f"measure {measure.label!r} is not for trials: truecost list measures says for "
                f"which task it is"
            )
        wanted = [k for k, parts in PARTS_OF.items() if set(measure.parts) <= set(parts)]
        raise UsageError(
            f"measure {measure.label!r} cannot be computed from type {trials.kind} "
            f"({SCORE_TYPES[trials.kind]}): it needs type {' or '.join(wanted)}"
            + ("; truecost calibrate makes likelihood ratios" if trials.kind == "score" else "")
        )
    return measure


def batches(trials: Trials, scoring: Scoring, dims: Dims, whole: Frozen | None) -> Iterator[Batch]:
    """All measures of trials share the evidence; of a subset those at thresholds of the whole
    have their own.
    """
    measures = measures_for(trials, scoring)
    if whole is None:
        _refuse_unsuited(trials, scoring)
    else:
        how = scoring.chosen(TrialsScoring)
        how = replace(how, whole_shares=whole.shares, whole_thresholds=whole.thresholds)
        scoring = replace(scoring, choices=how)
    chosen = scoring.chosen(TrialsScoring).whole_thresholds
    own = [k for k, m in enumerate(measures) if m.label not in chosen]
    if own:
        asked = [measures[k] for k in own]
        evidence = evidence_of(trials, scoring, asked)
        context = context_of(trials, scoring, evidence, dims)
        yield _batch(trials, scoring, evidence, asked, context, own)
    for place, measure in enumerate(measures):
        if place not in own:
            evidence, rate, context = at_threshold(trials, scoring, measure, dims)
            yield _batch(trials, scoring, evidence, [rate], context, [place])


def _batch(
    trials: Trials,
    scoring: Scoring,
    evidence: Evidence,
    measures: Sequence[Measure],
    context: Context,
    places: Sequence[int],
) -> Batch:
    """Measures that read the same evidence; UsageError where it cannot be resampled as asked."""
    if trials.weights is not None and trials.origin is None:
        scoring.refuse_bca_of_samples()
    if scoring.plan.scheme == "blocks" and len(evidence.factors) > 1:
        raise UsageError(
            f"moving blocks need one factor in time order; mapped are {', '.join(evidence.factors)}"
        )
    return Batch(
        evidence=evidence,
        measures=measures,
        application=scoring.application,
        plan=scoring.plan,
        context=context,
        places=places,
    )


def frozen(trials: Trials, scoring: Scoring) -> Frozen:
    """The class shares and the thresholds of the whole, which its subsets are decided with."""
    if not trials.classes:
        return Frozen()
    shares = tuple(class_shares(trials).tolist())
    return Frozen(shares, thresholds_of(trials, scoring, measures_for(trials, scoring)))


def _refuse_unsuited(trials: Trials, scoring: Scoring) -> None:
    """Refuse costs for another number of classes, and reversed scores, before counting."""
    if trials.several_right:
        refuse_priors(scoring.application)
    if trials.classes:
        scoring.application.matrix(len(trials.classes))
        scoring.application.class_priors(class_shares(trials)[None, :])
    refuse_reversed(trials, scoring)


def refuse_reversed(trials: Trials, scoring: Scoring) -> None:
    """Refuse scores that rank nontargets above targets beyond chance, unless they are allowed:
    InputError.

    They are more often a mistake than a system. Half of the systems that know nothing have an AUC
    below 0.5: its interval must lie there (see `reversal`).
    """
    if (
        scoring.chosen(TrialsScoring).allow_reversed
        or not trials.detection
        or "ranking" not in PARTS_OF[trials.kind]
    ):
        return
    whole = [(Factor("all", np.zeros(1)), np.zeros(len(trials.labels), np.int32))]
    area = (
        point_of(Evidence({"ranking": ranking_of(trials, scoring, whole)}))
        .sweep("ranking")
        .auc()[0]
    )
    if area >= 0.5:
        return
    from truecost.tasks.trials.problems import LEVEL, beyond_chance

    if beyond_chance(
        llrs(trials, scoring), trials.labels == 1, sides_of(trials, scoring), trials.weights
    ):
        raise InputError(
            f"{trials.name}: the scores look reversed: a target outscores a nontarget "
            f"in {area:.1%} of the pairs (AUC below 0.5, and its {LEVEL:.1%} interval too); higher "
            f"must mean target. Turn the sign or the labels, or say --allow-reversed if it is so"
        )
