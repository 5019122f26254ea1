"""Counting: from checked trials to evidence.

Conventions: log posteriors are natural; class 1 is the target of a detection task. The conversion
of posteriors to likelihood ratios and Bayes decisions are part of the system: they use the priors
of the whole data and stay fixed in replicates (DESIGN, "The one idea", 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.application import Application, bayes_decisions, log_normalise, move_posteriors
from truecost.errors import UsageError
from truecost.evidence import Evidence, Part
from truecost.factors import Factor
from truecost.measures import Measure
from truecost.names import Method
from truecost.ranking import Ranking
from truecost.tally import Tally
from truecost.tasks.columns import POSTERIORS
from truecost.tasks.records import Trials
from truecost.weights import Plan

Floats = npt.NDArray[np.float64]
Sides = list[tuple[Factor, npt.NDArray[np.int32]]]


PARTS_OF: dict[str, tuple[str, ...]] = {
    "score": ("ranking",),
    "decision": ("decisions",),
    "number": ("errors", "truths"),
    **dict.fromkeys(("llr", *POSTERIORS), ("decisions", "losses", "llr", "ranking")),
}


@dataclass(frozen=True)
class Scoring:
    """What to compute and how.

    Parameters
    ----------
    application : Application
        Costs and priors; 0/1 costs and the shares in the data when left out.
    measures : tuple of str
        `NAME` or `NAME:PARAMETER`; those that suit the score type when left out.
    plan : Plan
        How units are resampled.
    level : float
        Level of the intervals, between 0 and 1.
    method : {"percentile", "bca"}
        How the ends of an interval are made (see `truecost.estimate`).
    training_prior : tuple of float, optional
        Priors of the classes that the posteriors contain, summing to 1; the shares in the data
        when left out. Likelihood ratios contain none.
    threshold : float, optional
        The deployed threshold on the scores of a detection task (accept from it on), in place of
        the Bayes threshold; natural-log posterior odds when the scores are posteriors.
    clip : float, optional
        Least probability that a class is given, between 0 and 0.5; nothing is clipped when left
        out.
    subsets : tuple of str
        Columns, each level of which is a subset, or conditions such as `snr < 10`.
    jobs : int, optional
        Threads; all cores by default. The result does not depend on their number.
    allow_reversed : bool
        Accept the scores of a detection task that rank nontargets above targets (area under the
        ROC curve below 0.5), which are refused otherwise.

    Raises
    ------
    UsageError
        When `clip` is out of range, or the training priors do not sum to 1.
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
            raise UsageError(
                f"clip is {self.clip:g}: a least probability between 0 and 0.5 is needed"
            )
        if self.training_prior is not None and abs(sum(self.training_prior) - 1) > 1e-6:
            raise UsageError(f"training priors {self.training_prior} do not sum to 1")


def sides_of(trials: Trials) -> Sides:
    """The factors of the trials with the unit code of each trial on each side.

    Parameters
    ----------
    trials : Trials

    Returns
    -------
    list of (Factor, ndarray of int32, shape (N,))
        One for each side; each trial its own unit when none is named.

    Raises
    ------
    UsageError
        When a factor with strata stands on two sides.
    """
    if not trials.units:
        if trials.origin is not None:
            return [Factor.of("trial", trials.origin)]
        return [Factor.trials(len(trials))]
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
    """Share of each class in the data, trial weights included, shape (K,)."""
    counts = np.bincount(trials.labels, trials.weights, minlength=len(trials.classes))
    return np.asarray(counts / counts.sum())


def log_posteriors(trials: Trials, scoring: Scoring) -> tuple[Floats, Floats]:
    """Log posteriors at the application's priors.

    Parameters
    ----------
    trials : Trials
    scoring : Scoring

    Returns
    -------
    logs : ndarray of float64, shape (N, K)
        Natural logarithms, moved from the training priors, clipped when asked.
    priors : ndarray of float64, shape (K,)
    """
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
        raise UsageError(
            f"{len(scoring.training_prior)} training priors for {len(shares)} classes: "
            f"give one a class"
        )
    return np.array(scoring.training_prior)


def llrs(trials: Trials, scoring: Scoring) -> Floats:
    """Natural-log likelihood ratios of target against nontarget.

    Posteriors become likelihood ratios by taking away the logit of their training prior.

    Parameters
    ----------
    trials : Trials
        Of a detection task.
    scoring : Scoring

    Returns
    -------
    ndarray of float64, shape (N,)
        The scores themselves for types llr, score and decision.
    """
    if trials.kind in ("llr", "score", "decision"):
        return trials.scores
    odds = trials.scores  # log posterior odds: `records.load` made them so
    training = _training(scoring, class_shares(trials))
    return np.asarray(odds - (np.log(training[1]) - np.log(training[0])))


def decided(trials: Trials, scoring: Scoring) -> npt.NDArray[np.int64]:
    """Index of the decision taken for each trial: given, by threshold, or Bayes; int64 (N,)."""
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
    """Count the parts that the measures need.

    Parameters
    ----------
    trials : Trials
    scoring : Scoring
    measures : sequence of Measure

    Returns
    -------
    Evidence
        With the parts `decisions`, `losses`, `llr`, `ranking`, `errors`, `truths` that they read.

    Raises
    ------
    UsageError
        When a decision abstains and the cost matrix has no column for it.
    """
    sides = sides_of(trials)
    makers = {
        "decisions": _decision_tally,
        "losses": _loss_tally,
        "llr": _llr_tally,
        "ranking": ranking_of,
        "errors": _error_tally,
        "truths": _truth_ranking,
    }
    wanted = dict.fromkeys(part for m in measures for part in m.parts)
    return Evidence({part: makers[part](trials, scoring, sides) for part in wanted})


def _class_axis(trials: Trials) -> dict[str, tuple[Sequence[str], Any]]:
    return {"class": (trials.classes, trials.labels)}


def _decision_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    names = ("reject", "accept") if trials.detection else trials.classes
    choices = decided(trials, scoring)
    width = scoring.application.matrix(len(trials.classes)).shape[1]
    if choices.max(initial=0) >= width:
        raise UsageError(
            "some decisions abstain, but the cost matrix has no column for it: give "
            "one more column with --cost-matrix"
        )
    labels = (*names, "abstain")[:width]
    return Tally.count(
        sides,
        {"n": np.ones(len(trials.labels), np.int64)},
        {**_class_axis(trials), "decision": (labels, choices)},
        trials.weights,
    )


def _loss_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    logs, _ = log_posteriors(trials, scoring)
    truth = logs[np.arange(len(trials.labels)), trials.labels]
    impossible = np.isneginf(truth)
    posteriors = np.exp(logs)
    brier = (posteriors**2).sum(axis=1) - 2 * np.exp(truth) + 1
    return Tally.count(
        sides,
        {
            "n": np.ones(len(trials.labels)),
            "log": np.where(impossible, 0.0, -truth),
            "brier": brier,
            "impossible": impossible,
        },
        _class_axis(trials),
        trials.weights,
    )


def _llr_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    application = scoring.application.with_priors(class_shares(trials))
    signed = np.where(trials.labels == 1, -1.0, 1.0) * llrs(trials, scoring)
    shift = -application.threshold if application.plain_detection else 0.0
    moved = signed + np.where(trials.labels == 1, -shift, shift)
    impossible = np.isposinf(signed)
    bits = {
        name: np.where(impossible, 0.0, np.logaddexp(0.0, value) / np.log(2.0))
        for name, value in (("cllr", signed), ("cnxe", moved))
    }
    return Tally.count(
        sides,
        {"n": np.ones(len(trials.labels)), **bits, "impossible": impossible},
        _class_axis(trials),
        trials.weights,
    )


def ranking_of(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    """Trials ranked by likelihood ratio (or score)."""
    return Ranking.of(llrs(trials, scoring), trials.labels, sides, trials.weights)


def _error_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    del scoring
    errors = trials.scores - trials.labels
    centred = trials.labels - trials.labels.mean()  # a fixed origin keeps the variance precise
    return Tally.count(
        sides,
        {
            "n": np.ones(len(trials.labels)),
            "absolute": np.abs(errors),
            "squared": errors**2,
            "truth": centred,
            "truth2": centred**2,
        },
        weights=trials.weights,
    )


def _truth_ranking(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    del scoring
    return Ranking.of(trials.labels, np.zeros(len(trials.labels), np.uint8), sides, trials.weights)
