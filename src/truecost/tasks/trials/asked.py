"""Which measures are computed of trials: those asked for, or those that suit their type."""

from truecost.core.application import Application
from truecost.core.columns import MEAN
from truecost.core.costs import (
    ERRORS,
    ONCE,
    asked_costs,
    no_record,
    refuse_unmeasured,
    refuse_unpriced,
)
from truecost.core.measure import Measure
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, first_five
from truecost.names import POSTERIORS, SCORE_TYPES
from truecost.tasks.measures import find, registry
from truecost.tasks.trials import counting
from truecost.tasks.trials.options import PARTS_OF
from truecost.tasks.trials.records import Trials

TASK = "trials"
DEFAULT_MEASURES: dict[str, tuple[str, ...]] = {
    "llr": ("act_dcf", "min_dcf", "cllr", "min_cllr", "eer", "p_miss", "p_fa"),
    "score": ("min_dcf", "eer", "auc"),
    "accept": ("act_dcf", "detection_cost", "p_miss", "p_fa", "total_error"),
    "decision": ("nec", "expected_cost", "nte", "total_error"),
    "number": ("nmae", "mae", "nmse", "mse"),
    "values": ("mean",),
    "posterior": ("nec", "nce", "nbs", "expected_cost", "nte", "total_error"),
}


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
    if trials.machine is not None:
        usual = tuple(n for n in usual if find(n, TASK).parts in (("decisions",), ("columns",)))
    available, prices = counting.parts_of(trials, scoring), scoring.application.prices
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
        from truecost.tasks.trials.means import finished

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
            f"measure {measure.label!r} needs one true class a trial, and with --annotators any "
            f"several labels may be right: take {', '.join(_accepted_measures())}, or count the "
            f"votes with --annotators votes"
        )
    if "accepted" in measure.parts and not trials.several_right:
        raise UsageError(
            f"measure {measure.label!r} is for several annotators of whom any may be right: "
            f"--annotators any with --map annotators=a+b+c"
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
            f"measure {measure.label!r} needs a target class: say which label it is "
            f"with --target ({first_five(trials.classes)})"
        )
    if trials.machine is not None and measure.parts not in (("decisions",), ("columns",)):
        own = [m.name for m in registry(TASK).values() if m.parts == ("decisions",)]
        raise UsageError(
            f"measure {measure.label!r} needs a human label of every trial: with --machine take a "
            f"rate or a cost of decisions ({first_five(own)}) or mean:COLUMN"
        )
    lacking = [part for part in measure.parts if part not in available]
    if lacking == ["audio"]:
        from truecost.tasks.trials.audio import NO_HOURS

        raise UsageError(f"measure {measure.label!r}: {NO_HOURS}")
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
