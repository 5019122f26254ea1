"""Counting: what a system decides and how it is judged, as tallies and rankings.

Conventions: log posteriors are natural; class 1 is the target of a detection task. What the
system takes from the data (conversion of posteriors, Bayes decisions) uses the priors of the whole
data and stays fixed in replicates and subsets.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.bayes import bayes_decisions, log_normalise, move_posteriors
from truecost.core.evidence import Evidence, Part
from truecost.core.factors import Factor, refuse_divided
from truecost.core.measure import Measure
from truecost.core.ranking import Ranking
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.errors import UsageError, counted
from truecost.names import POSTERIORS
from truecost.tasks.trials.annotators import accepted_tally
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
Sides = list[tuple[Factor, npt.NDArray[np.int32]]]


PARTS_OF: dict[str, tuple[str, ...]] = {
    "score": ("ranking",),
    "decision": ("decisions",),
    "number": ("errors", "truths"),
    **dict.fromkeys(("llr", *POSTERIORS), ("decisions", "losses", "llr", "ranking")),
}


def parts_of(trials: Trials, scoring: Scoring) -> set[str]:
    """The parts that can be counted of these trials.

    Returns
    -------
    set of str
        Only `accepted` when several labels of a trial may be right, and nothing when ranks are all
        that is known and no threshold decides.
    """
    parts = set(PARTS_OF[trials.kind])
    if trials.kind == "score" and scoring.chosen(TrialsScoring).threshold is not None:
        parts.add("decisions")
    if trials.several_right:
        return {"accepted"} if "decisions" in parts else set()
    return parts if trials.detection else parts - {"llr", "ranking"}


def sides_of(trials: Trials, scoring: Scoring) -> Sides:
    """The factors of the trials with the unit code of each trial on each side.

    Returns
    -------
    list of (Factor, ndarray of int32, shape (N,))
        One for each side; each trial its own unit when none is named.

    Raises
    ------
    UsageError
        When a factor with strata stands on two sides.
    InputError
        When a unit stands in two strata.
    """
    if not trials.units:
        return [_trials_as_units(trials, scoring)]
    sides: Sides = []
    strata = trials.strata  # of the first factor
    for name, columns in trials.units.items():
        if strata is not None and len(columns) > 1:
            raise UsageError(f"strata and two sides ({name}) cannot be combined")
        factor, codes = Factor.of(name, np.concatenate(columns), strata)
        if strata is not None and scoring.plan.scheme_of(name) != "blocks":
            refuse_divided(name, columns[0], codes)
        sides += [(factor, part) for part in np.split(codes, len(columns))]
        strata = None
    return sides


def _trials_as_units(trials: Trials, scoring: Scoring) -> tuple[Factor, npt.NDArray[np.int32]]:
    """Each trial its own unit: by id, so that the order of a file means nothing, except for moving
    blocks, which are made of successive rows.
    """
    labels: npt.NDArray[Any] = np.arange(len(trials.labels))
    if trials.ids is not None and scoring.plan.scheme_of("trial") != "blocks":
        labels = trials.ids
    elif trials.origin is not None:
        labels = trials.origin
    return Factor.of("trial", labels, trials.strata)


def class_shares(trials: Trials) -> Floats:
    """Share of each class in the data, trial weights included, shape (K,).

    Where several labels are right, the share of the votes: each trial has one, whoever is right.
    """
    if trials.several_right and trials.annotation is not None:
        own = np.ones(len(trials.labels)) if trials.weights is None else trials.weights
        counts = (own[:, None] * trials.annotation.shares).sum(axis=0)
        return np.asarray(counts / counts.sum())
    counts = np.bincount(trials.labels, trials.weights, minlength=len(trials.classes))
    return np.asarray(counts / counts.sum())


def system_shares(trials: Trials, scoring: Scoring) -> Floats:
    """Class shares of the whole data, of which these trials may be a subset, shape (K,)."""
    shares = scoring.chosen(TrialsScoring).whole_shares
    return class_shares(trials) if shares is None else np.array(shares)


def log_posteriors(trials: Trials, scoring: Scoring) -> Floats:
    """Log posteriors at the application's priors.

    Returns
    -------
    ndarray of float64, shape (N, K)
        Natural logarithms, clipped when asked, then moved from the training priors.
    """
    shares = system_shares(trials, scoring)
    application = scoring.application
    priors = shares if application.priors is None else np.array(application.priors)
    if trials.detection:
        with np.errstate(divide="ignore"):
            odds = llrs(trials, scoring) + np.log(priors[1]) - np.log(priors[0])
        return np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)
    with np.errstate(divide="ignore"):
        logs = np.log(trials.scores) if trials.kind == "posterior" else trials.scores
    if trials.kind == "log-score":
        logs = log_normalise(logs)
    if (least := scoring.chosen(TrialsScoring).clip) is not None:
        logs = log_normalise(np.maximum(logs, np.log(least)))
    training = _training(trials, scoring)
    if not np.allclose(training, priors, rtol=0, atol=1e-12):
        logs = move_posteriors(logs, training, priors)
    return logs


def _training(trials: Trials, scoring: Scoring) -> Floats:
    """The priors that the posteriors contain."""
    shares = system_shares(trials, scoring)
    given = scoring.chosen(TrialsScoring).training_prior
    if given is None:
        return shares
    if trials.detection and not all(0 < p < 1 for p in given):
        raise UsageError(
            f"training prior is {given[-1]:g}: it must lie between 0 and 1, neither included"
        )
    if len(given) != len(shares):
        raise UsageError(
            f"{counted(len(given), 'training prior')} for {counted(len(shares), 'class')}: "
            f"give one a class"
        )
    return np.array(given)


def llrs(trials: Trials, scoring: Scoring) -> Floats:
    """Natural-log likelihood ratios of target against nontarget.

    Posteriors become likelihood ratios by taking away the logit of their training prior.

    Parameters
    ----------
    trials : Trials
        Of a detection task.

    Returns
    -------
    ndarray of float64, shape (N,)
        The scores themselves for types llr, score and decision.
    """
    if trials.kind in ("llr", "score", "decision"):
        return trials.scores
    from truecost.calibration.base import logit

    odds = trials.scores  # log posterior odds: `loading.load` made them so
    if (least := scoring.chosen(TrialsScoring).clip) is not None:
        bound = np.log1p(-least) - np.log(least)
        odds = np.clip(odds, -bound, bound)
    return np.asarray(odds - logit(_training(trials, scoring)[1]))


def decided(trials: Trials, scoring: Scoring) -> npt.NDArray[np.int64]:
    """Index of the decision taken for each trial: given, by threshold, or Bayes; int64 (N,)."""
    if trials.kind == "decision":
        return trials.scores.astype(np.int64)
    if trials.detection:
        threshold = bayes_threshold(trials, scoring)
        if threshold is not None:
            return np.asarray(llrs(trials, scoring) >= threshold).astype(np.int64)
    logs = log_posteriors(trials, scoring)
    return bayes_decisions(logs, scoring.application.matrix(len(trials.classes)))


def bayes_threshold(trials: Trials, scoring: Scoring) -> float | None:
    """The decision threshold of a detection task; None where one does not tell all decisions.

    On the scale of `llrs`: a deployed threshold on posteriors is moved there with them.
    """
    if (given := scoring.chosen(TrialsScoring).threshold) is not None:
        return _deployed(trials, scoring, given)
    if trials.kind in ("score", "decision") or not trials.detection:
        return None
    application = scoring.application.with_priors(system_shares(trials, scoring))
    return application.threshold if application.plain_detection else None


def _deployed(trials: Trials, scoring: Scoring, threshold: float) -> float:
    """A threshold on the given scores, on the scale of `llrs`."""
    if trials.kind in ("llr", "score"):
        return threshold
    if not trials.detection or trials.kind not in ("posterior", "log-posterior"):
        raise UsageError(f"--threshold needs one score a trial; type {trials.kind} has none")
    from truecost.calibration.base import logit

    p = threshold if trials.kind == "posterior" else float(np.exp(threshold))
    if not 0 < p < 1:
        raise UsageError(f"threshold is {threshold:g}: it must be a probability between 0 and 1")
    moved = logit(p) - logit(_training(trials, scoring)[1])
    return moved - 1e-12 * max(1.0, abs(moved))  # a score at the threshold is accepted


def risks(trials: Trials, scoring: Scoring) -> tuple[float, float]:
    """Cm P and Cf (1-P): what all misses and all false alarms would cost."""
    application = scoring.application.with_priors(class_shares(trials))
    miss = application.cost_miss * application.prior
    return miss, application.cost_fa * (1 - application.prior)


def evidence_of(trials: Trials, scoring: Scoring, measures: Sequence[Measure]) -> Evidence:
    """Count the parts that the measures need.

    Returns
    -------
    Evidence
        With the parts that they read: `decisions`, `losses`, `llr`, `ranking`, `errors`, `truths`;
        `accepted` where several labels may be right.

    Raises
    ------
    UsageError
        When a decision abstains and the cost matrix has no column for it.
    """
    sides = sides_of(trials, scoring)
    makers = {
        "decisions": _decision_tally,
        "accepted": _accepted_tally,
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


def _choices(trials: Trials, scoring: Scoring) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Index of the decision taken for each trial, and the names of all decisions."""
    names = ("reject", "accept") if trials.detection else trials.classes
    choices = decided(trials, scoring)
    width = scoring.application.matrix(len(trials.classes)).shape[1]
    if choices.max(initial=0) >= width:
        raise UsageError(
            "some decisions abstain, but the cost matrix has no column for it: give "
            "one more column with --cost-matrix"
        )
    return choices, (*names, "abstain")[:width]


def _accepted_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    if trials.annotation is None:
        raise UsageError(f"{trials.name}: accepted labels need several annotators")
    choices, labels = _choices(trials, scoring)
    costs = scoring.application.matrix(len(trials.classes))
    return accepted_tally(trials.annotation, choices, costs, labels, sides, trials.weights)


def _decision_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    choices, labels = _choices(trials, scoring)
    return Tally.count(
        sides,
        {"n": np.ones(len(trials.labels), np.int64)},
        {**_class_axis(trials), "decision": (labels, choices)},
        trials.weights,
    )


def _loss_tally(trials: Trials, scoring: Scoring, sides: Sides) -> Part:
    logs = log_posteriors(trials, scoring)
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
    application = scoring.application.with_priors(system_shares(trials, scoring))
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
