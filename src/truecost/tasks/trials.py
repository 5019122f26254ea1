"""Trials: from checked records to evidence, and from evidence to rows.

Conventions: log posteriors are natural; class 1 is the target of a detection task. The conversion
of posteriors to likelihood ratios and Bayes decisions are part of the system: they use the priors
of the whole data and stay fixed in replicates (DESIGN, "The one idea", 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.application import Application, bayes_decisions, log_normalise, move_posteriors
from truecost.errors import InputError, UsageError, first_five
from truecost.estimates import Comparison, Context, Estimate, compare, estimate
from truecost.evidence import Evidence, Part, Ranking, Tally
from truecost.measures import Measure, find
from truecost.names import SCORE_TYPES, Method
from truecost.tasks.records import Trials
from truecost.weights import Factor, Plan, Weights

Floats = npt.NDArray[np.float64]
Sides = list[tuple[Factor, npt.NDArray[np.int32]]]

PARTS_OF: dict[str, tuple[str, ...]] = {
    "score": ("ranking",), "decision": ("decisions",), "number": ("errors", "truths"),
    **{kind: ("decisions", "losses", "llr", "ranking")
       for kind in ("llr", "posterior", "log-posterior", "log-score")}}
DEFAULT_MEASURES: dict[str, tuple[str, ...]] = {
    "llr": ("act_dcf", "min_dcf", "cllr", "min_cllr", "eer", "p_miss", "p_fa"),
    "score": ("min_dcf", "eer", "auc"),
    "decision": ("nec", "expected_cost", "nte", "total_error"),
    "number": ("nmae", "mae", "nmse", "mse"),
    "posterior": ("nec", "nce", "nbs", "expected_cost", "nte", "total_error")}


@dataclass(frozen=True)
class Scoring:
    """What to compute and how.

    Parameters
    ----------
    application : Application
    measures : tuple of str
        `NAME` or `NAME:PARAMETER`; those that suit the score type when left out.
    plan : Plan
    level : float
    method : {"percentile", "bca"}
    training_prior : tuple of float, optional
        Priors that the posteriors contain; the shares in the data when left out.
    threshold : float, optional
        The deployed threshold on the score, in place of the Bayes threshold.
    clip : float, optional
        Least probability that a class is given.
    subsets : tuple of str
        Columns or conditions.
    jobs : int, optional
    """

    application: Application = field(default_factory=Application)
    measures: tuple[str, ...] = ()
    plan: Plan = field(default_factory=Plan)
    level: float = 0.95
    method: Method = "percentile"
    training_prior: tuple[float, ...] | None = None
    threshold: float | None = None
    clip: float | None = None
    subsets: tuple[str, ...] = ()
    jobs: int | None = None
    allow_reversed: bool = False

    def __post_init__(self) -> None:
        if self.clip is not None and not 0 < self.clip < 0.5:
            raise UsageError(f"clip is {self.clip:g}: a least probability between 0 and 0.5 is needed")
        if self.training_prior is not None and abs(sum(self.training_prior) - 1) > 1e-6:
            raise UsageError(f"training priors {self.training_prior} do not sum to 1")


def measures_for(trials: Trials, scoring: Scoring) -> list[Measure]:
    """The measures asked for, refused where the score type or the classes do not allow them."""
    kind: str = trials.kind
    if trials.kind in ("posterior", "log-posterior", "log-score"):
        kind = "llr" if trials.detection else "posterior"
    names = scoring.measures or DEFAULT_MEASURES[kind]
    available = set(PARTS_OF[trials.kind])
    if not trials.detection:
        available -= {"llr", "ranking"}
    if trials.kind == "score" and scoring.threshold is not None:
        available.add("decisions")
    return [_allowed(find(name), trials, available) for name in names]


def _allowed(measure: Measure, trials: Trials, available: set[str]) -> Measure:
    if measure.detection and not trials.detection:
        raise UsageError(f"measure {measure.label!r} needs a target class: say which label it is "
                         f"with --target ({first_five(trials.classes)})" if trials.classes else
                         f"measure {measure.label!r} needs classes; type number has none")
    lacking = [part for part in measure.parts if part not in available]
    if lacking:
        wanted = [k for k, parts in PARTS_OF.items() if set(measure.parts) <= set(parts)]
        raise UsageError(f"measure {measure.label!r} cannot be computed from type {trials.kind} "
                         f"({SCORE_TYPES[trials.kind]}): it needs type {' or '.join(wanted)}")
    return measure


def sides_of(trials: Trials) -> Sides:
    """The factors of the trials with the unit code of each trial on each side."""
    if not trials.units:
        factor, codes = Factor.trials(len(trials))
        return [(factor, codes)]
    sides: Sides = []
    for name, columns in trials.units.items():
        strata = None
        if trials.strata is not None and name == next(iter(trials.units)):
            strata = np.concatenate([trials.strata] * len(columns))
        factor, codes = Factor.of(name, np.concatenate(columns), strata)
        _check_strata(factor, columns, strata)
        sides += [(factor, part) for part in np.split(codes, len(columns))]
    return sides


def _check_strata(factor: Factor, columns: Sequence[Any], strata: Any) -> None:
    if strata is not None and len(columns) > 1:
        raise UsageError(f"strata and two sides ({factor.name}) cannot be combined")


def class_shares(trials: Trials) -> Floats:
    """Share of each class in the data, trial weights included."""
    counts = np.bincount(trials.labels, trials.weights, minlength=len(trials.classes))
    return np.asarray(counts / counts.sum())


def log_posteriors(trials: Trials, scoring: Scoring) -> tuple[Floats, Floats]:
    """Log posteriors (N x K) at the application's priors, and those priors."""
    shares = class_shares(trials)
    application = scoring.application
    priors = shares if application.priors is None else np.array(application.priors)
    if trials.detection:
        odds = llrs(trials, scoring) + np.log(priors[1]) - np.log(priors[0])
        logs = np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(trials.scores) if trials.kind == "posterior" else trials.scores
        if trials.kind == "log-score":
            logs = log_normalise(logs)
        training = _training(scoring, shares)
        if not np.allclose(training, priors, rtol=0, atol=1e-12):
            logs = move_posteriors(logs, training, priors)
    if scoring.clip is not None:
        logs = np.maximum(logs, np.log(scoring.clip))
    return logs, priors


def _training(scoring: Scoring, shares: Floats) -> Floats:
    if scoring.training_prior is None:
        return shares
    if len(scoring.training_prior) != len(shares):
        raise UsageError(f"{len(scoring.training_prior)} training priors for {len(shares)} classes: "
                         f"give one a class")
    return np.array(scoring.training_prior)


def llrs(trials: Trials, scoring: Scoring) -> Floats:
    """Natural-log likelihood ratios of target against nontarget.

    Posteriors become likelihood ratios by taking away the logit of their training prior.
    """
    if trials.kind in ("llr", "score", "decision"):
        return trials.scores
    odds = trials.scores  # log posterior odds: `records.load` made them so
    training = _training(scoring, class_shares(trials))
    return np.asarray(odds - (np.log(training[1]) - np.log(training[0])))


def decided(trials: Trials, scoring: Scoring) -> npt.NDArray[np.int64]:
    """Index of the decision taken for each trial: given, by threshold, or Bayes."""
    if trials.kind == "decision":
        return trials.scores.astype(np.int64)
    if trials.detection:
        threshold = bayes_threshold(trials, scoring)
        if threshold is not None:
            scores = trials.scores if scoring.threshold is not None else llrs(trials, scoring)
            return np.asarray(scores >= threshold).astype(np.int64)
    logs, _ = log_posteriors(trials, scoring)
    return bayes_decisions(logs, scoring.application.matrix(len(trials.classes)))


def bayes_threshold(trials: Trials, scoring: Scoring) -> float | None:
    """The decision threshold of a detection task; None where one does not tell all decisions."""
    if scoring.threshold is not None:
        return scoring.threshold
    application = scoring.application.with_priors(class_shares(trials))
    return application.threshold if trials.detection and application.plain_detection else None


def evidence_of(trials: Trials, scoring: Scoring, measures: Sequence[Measure]) -> Evidence:
    """Count the parts that the measures need."""
    sides = sides_of(trials)
    makers = {"decisions": _decision_tally, "losses": _loss_tally, "llr": _llr_tally,
              "ranking": _ranking, "errors": _error_tally, "truths": _truth_ranking}
    wanted = dict.fromkeys(part for m in measures for part in m.parts)
    return Evidence({part: makers[part](trials, scoring, sides) for part in wanted})


def _class_axis(trials: Trials) -> dict[str, tuple[Sequence[str], Any]]:
    return {"class": (trials.classes, trials.labels)}


def _decision_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    names = ("reject", "accept") if trials.detection else trials.classes
    choices = decided(trials, scoring)
    width = scoring.application.matrix(len(trials.classes)).shape[1]
    if choices.max(initial=0) >= width:
        raise UsageError("some decisions abstain, but the cost matrix has no column for it: give "
                         "one more column with --cost-matrix")
    labels = (*names, "abstain")[:width]
    return Tally.count(sides, {"n": np.ones(len(trials), np.int64)},
                       {**_class_axis(trials), "decision": (labels, choices)}, trials.weights)


def _loss_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    logs, _ = log_posteriors(trials, scoring)
    truth = logs[np.arange(len(trials)), trials.labels]
    impossible = np.isneginf(truth)
    posteriors = np.exp(logs)
    brier = (posteriors**2).sum(axis=1) - 2 * np.exp(truth) + 1
    return Tally.count(sides, {"n": np.ones(len(trials)), "log": np.where(impossible, 0.0, -truth),
                               "brier": brier, "impossible": impossible},
                       _class_axis(trials), trials.weights)


def _llr_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    application = scoring.application.with_priors(class_shares(trials))
    signed = np.where(trials.labels == 1, -1.0, 1.0) * llrs(trials, scoring)
    shift = -application.threshold if application.plain_detection else 0.0
    moved = signed + np.where(trials.labels == 1, -shift, shift)
    impossible = np.isposinf(signed)
    bits = {name: np.where(impossible, 0.0, np.logaddexp(0.0, value) / np.log(2.0))
            for name, value in (("cllr", signed), ("cnxe", moved))}
    return Tally.count(sides, {"n": np.ones(len(trials)), **bits, "impossible": impossible},
                       _class_axis(trials), trials.weights)


def _ranking(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    return Ranking.of(llrs(trials, scoring), trials.labels, sides, trials.weights)


def _error_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    del scoring
    errors = trials.scores - trials.labels
    centred = trials.labels - trials.labels.mean()  # a fixed origin keeps the variance precise
    return Tally.count(sides, {"n": np.ones(len(trials)), "absolute": np.abs(errors),
                               "squared": errors**2, "truth": centred, "truth2": centred**2},
                       weights=trials.weights)


def _truth_ranking(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    del scoring
    return Ranking.of(trials.labels, np.zeros(len(trials), np.uint8), sides, trials.weights)


def score(trials: Trials, scoring: Scoring) -> list[Estimate]:
    """Rows of one system: the whole, then each subset."""
    measures = measures_for(trials, scoring)
    if trials.detection and "ranking" in PARTS_OF[trials.kind] and not scoring.allow_reversed:
        _refuse_reversed(trials, scoring)
    rows = _score_part(trials, scoring, measures, {"system": trials.name})
    for expression in scoring.subsets:
        for name, part in trials.subset(expression):
            rows += _score_part(part, _fixed(scoring, trials), measures,
                                {"system": trials.name, "subset": name})
    return rows


def _fixed(scoring: Scoring, whole: Trials) -> Scoring:
    """In a subset posteriors keep the training prior of the whole: it is part of the system."""
    if whole.kind == "number" or scoring.training_prior is not None:
        return scoring
    return replace(scoring, training_prior=tuple(class_shares(whole)))


def _score_part(trials: Trials, scoring: Scoring, measures: Sequence[Measure],
                dims: Mapping[str, str]) -> list[Estimate]:
    evidence = evidence_of(trials, scoring, measures)
    return estimate(evidence, measures, scoring.application, scoring.plan, level=scoring.level,
                    method=scoring.method, context=context_of(trials, scoring, evidence, dims),
                    jobs=scoring.jobs)


def context_of(trials: Trials, scoring: Scoring, evidence: Evidence, dims: Mapping[str, str]
               ) -> Context:
    """Counts, thresholds, flags and signature of a row."""
    counts: dict[str, float] = {}
    errors = None
    if trials.classes:
        sizes = np.bincount(trials.labels, minlength=len(trials.classes))
        names = ["nontargets", "targets"] if trials.detection else [f"class {c}" for c in trials.classes]
        counts = {n: int(c) for n, c in zip(names, sizes, strict=True)}
    if "decisions" in evidence.parts:
        table = evidence.parts["decisions"].sums(Weights.ones(evidence.factors).block())["n"][0]  # type: ignore[union-attr]
        wrong = table.sum() - np.trace(table)
        errors = float(wrong)
        counts |= ({"misses": _number(table[1, 0]), "false_alarms": _number(table[0, 1])}
                   if trials.detection else {"errors": _number(wrong)})
    for part in ("losses", "llr"):
        if part in evidence.parts:
            hopeless = evidence.parts[part].sums(Weights.ones(evidence.factors).block())["impossible"].sum()  # type: ignore[union-attr]
            if hopeless:
                counts["impossible"] = _number(hopeless)
    flags = ([] if trials.units else ["trials_as_units"]) + (
        ["crossed"] if len(sides_of(trials)) > 1 else [])
    return Context(dict(dims), len(trials), counts, _signature(trials, scoring), tuple(flags),
                   _thresholds(trials, scoring, evidence), errors)


def _number(value: Any) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _signature(trials: Trials, scoring: Scoring) -> str:
    said = [trials.signature]
    if scoring.training_prior is not None and trials.kind not in ("llr", "score", "decision"):
        said.append("training-prior:" + ",".join(f"{p:.6g}" for p in scoring.training_prior))
    if scoring.threshold is not None:
        said.append(f"threshold:{scoring.threshold:g}")
    if scoring.clip is not None:
        said.append(f"clip:{scoring.clip:g}")
    if trials.weights is not None and "labels:soft" not in trials.signature:
        said.append("weighted")
    return "|".join(said)


def _thresholds(trials: Trials, scoring: Scoring, evidence: Evidence) -> dict[str, float]:
    """Thresholds on the scale of the likelihood ratio (or score) that a reader may want to set."""
    found: dict[str, float] = {}
    if trials.detection and trials.kind != "decision" and (
            trials.kind != "score" or scoring.threshold is not None):
        threshold = bayes_threshold(trials, scoring)
        if threshold is not None:
            names = ("act_dcf", "detection_cost", "nec", "expected_cost", "p_miss", "p_fa", "recall",
                     "precision", "fpr", "fdr")
            found |= dict.fromkeys(names, threshold)
    if "ranking" in evidence.parts and scoring.application.plain_detection:
        application = scoring.application.with_priors(class_shares(trials))
        sweep = _point_sweep(evidence)
        miss = application.cost_miss * application.prior
        fa = application.cost_fa * (1 - application.prior)
        best = float(sweep.minimum_at(miss, fa, ties=True)[1][0])
        if np.isfinite(best):
            found |= {"min_dcf": best, "min_detection_cost": best}
    return found


def _point_sweep(evidence: Evidence) -> Any:
    from truecost.evidence import totals

    return totals(evidence, Weights.ones(evidence.factors).block()).sweep("ranking")


def _refuse_reversed(trials: Trials, scoring: Scoring) -> None:
    """Scores that rank nontargets above targets are more often a mistake than a system."""
    area = _point_sweep(Evidence({"ranking": _ranking(trials, scoring, sides_of(trials))})).auc()[0]
    if area < 0.5:
        raise InputError(f"{trials.name}: the scores look reversed: a target outscores a nontarget "
                         f"in {area:.1%} of the pairs (AUC below 0.5); higher must mean target. Turn "
                         f"the sign or the labels, or say --allow-reversed if it is so")


def check_classes(trials: Trials) -> None:
    """Refuse data in which only one class occurs."""
    if trials.classes and len(np.unique(trials.labels)) < 2:
        only = trials.classes[int(trials.labels[0])]
        raise InputError(f"{trials.name}: all {len(trials)} trials are {only}; errors of one kind "
                         f"cannot be measured: add trials of another class")


def pair(trials: Sequence[Trials]) -> list[Trials]:
    """The systems with their trials in one order; refused unless ids, labels and units agree."""
    first = trials[0]
    for other in trials:
        if other.ids is None:
            raise UsageError(f"{other.name}: systems are compared trial by trial, which needs an id: "
                             f"--map id=COLUMN")
    order = np.argsort(first.ids, kind="stable")  # type: ignore[arg-type]
    paired = [first.take(order)]
    for other in trials[1:]:
        _same_ids(first, other)
        sorted_other = other.take(np.argsort(other.ids, kind="stable"))  # type: ignore[arg-type]
        _same_trials(paired[0], sorted_other)
        paired.append(sorted_other)
    return paired


def _same_ids(a: Trials, b: Trials) -> None:
    missing = sorted(set(a.ids.tolist()) - set(b.ids.tolist()))  # type: ignore[union-attr]
    extra = sorted(set(b.ids.tolist()) - set(a.ids.tolist()))  # type: ignore[union-attr]
    if missing or extra:
        raise InputError(
            f"{a.name} and {b.name} are not scored on the same trials: "
            f"{len(missing)} trials only in {a.name} ({first_five(missing) or 'none'}), "
            f"{len(extra)} only in {b.name} ({first_five(extra) or 'none'})")


def _same_trials(a: Trials, b: Trials) -> None:
    for what, left, right in (
            ("label", a.labels, b.labels),
            *((f"unit {n}", s, t) for n in a.units if n in b.units
              for s, t in zip(a.units[n], b.units[n], strict=True))):
        different = np.flatnonzero(np.asarray(left) != np.asarray(right))
        if len(different):
            raise InputError(f"{a.name} and {b.name} give {len(different)} trials another {what}: "
                             f"{first_five(np.asarray(a.ids)[different[:6]])}")


def compare_systems(systems: Sequence[Trials], scoring: Scoring
                    ) -> tuple[list[list[Estimate]], list[list[Comparison]]]:
    """Rows of each system, and of each later system against the first."""
    if len(systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    paired = pair(systems)
    rows = [score(trials, scoring) for trials in paired]
    return rows, [[compare(a, b) for a, b in zip(other, rows[0], strict=True)] for other in rows[1:]]
