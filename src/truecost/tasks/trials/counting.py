"""Counting: what a system decides and how it is judged, as tallies and rankings.

Conventions: log posteriors are natural; class 1 is the target of a detection task. Properties of
the system that depend on the data (conversion of posteriors, Bayes decisions) use the priors of
the whole data and stays fixed in replicates and subsets.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import bayes_decisions, log_normalise, move_posteriors
from truecost.core.costs import TOOK
from truecost.core.evidence import Evidence, Part, Totals, totals
from truecost.core.factors import Factor
from truecost.core.measure import Measure
from truecost.core.ranking import Ranking
from truecost.core.scoring import Scoring, sides_of_units
from truecost.core.sweep import Sweep
from truecost.core.tally import Tally
from truecost.core.unit_index import Computed
from truecost.core.weights import Weights
from truecost.errors import UsageError, counted
from truecost.face import at
from truecost.names import MEAN, POSTERIORS
from truecost.prices import COSTS
from truecost.tasks.trials.options import ASV, BONAFIDE, PARTS_OF, SPOOFED, TrialsScoring
from truecost.tasks.trials.records import Array, Codes, Floats, Ints, Trials

UnitColumns = list[tuple[Factor, Codes]]
SPOOFING = (SPOOFED, BONAFIDE, ASV)  # parts of systems that spoofed speech attacks
APART = {  # what counts parts that few measures read
    "audio": "truecost.tasks.trials.audio:audio_tally",
    "judged": "truecost.tasks.trials.machine:judged_tally",
    "ranks": "truecost.tasks.trials.confidence:rank_tally",
    "bins": "truecost.tasks.trials.confidence:bin_tally",
}


def parts_of(trials: Trials, scoring: Scoring) -> set[str]:
    """The parts that can be counted of these trials.

    Only `accepted` when several labels of a trial may be right, and none when ranks are all that is
    known and no threshold decides.
    """
    parts = set(PARTS_OF[trials.kind])
    if trials.kind == "score" and scoring.chosen(TrialsScoring).threshold is not None:
        parts.add("decisions")
    if trials.several_right:
        return {"accepted"} if "decisions" in parts else set()
    parts |= set() if trials.audio is None else {"audio"}
    if trials.machine is not None:
        parts &= {"decisions"}
    parts.add("columns")
    if trials.spoofing is not None and trials.scores.ndim == 1:
        parts |= {*SPOOFING} if trials.spoofing.verified else {SPOOFED, BONAFIDE}
    return parts - ({"ranks"} if trials.detection else {"llr", "ranking"})


def sides_of(trials: Trials, scoring: Scoring) -> UnitColumns:
    """The factors of the trials with the unit code of each trial, (N,), on each side; each trial is
    its own unit when none is named.
    """
    key = "sides", scoring.plan.scheme
    if key not in trials.made:
        trials.made[key] = _sides(trials, scoring, key)
    found: UnitColumns = trials.made[key]
    return found


def _sides(trials: Trials, scoring: Scoring, key: tuple[object, ...]) -> UnitColumns:
    if trials.taken_from is not None:
        from truecost.tasks.trials.parts import part_sides

        if (found := part_sides(trials, key)) is not None:
            return found
    if trials.units:
        sides = sides_of_units(trials.units, trials.strata, scoring.plan)
    else:
        sides = [_trials_as_units(trials, scoring)]
    listed = trials.audio.listed if trials.audio is not None else None
    return sides if listed is None else listed.joined(sides)


def _trials_as_units(trials: Trials, scoring: Scoring) -> tuple[Factor, Codes]:
    """Each trial its own unit: by id, so that the order of a file means nothing, except for moving
    blocks, which are made of successive rows.
    """
    rows = replace(trials, ids=None) if scoring.plan.scheme_of("trial") == "blocks" else trials
    return Factor.encode("trial", rows.places, trials.strata)


def class_shares(trials: Trials) -> Floats:
    """Share of each class in the data, trial weights included, shape (K,).

    Where several labels are right, the share of the votes: each trial has one, whoever is right.
    """
    if trials.several_right and trials.annotation is not None:
        own = np.ones(len(trials.labels)) if trials.weights is None else trials.weights
        counts = (own[:, None] * trials.annotation.shares).sum(axis=0)
        return np.asarray(counts / counts.sum())
    if trials.machine is not None and trials.machine.shares is not None:
        from truecost.tasks.trials.machine import shares_of

        return shares_of(trials.machine, trials.labels, trials.weights)
    return np.asarray(trials.class_sizes / trials.class_sizes.sum())


def system_shares(trials: Trials, scoring: Scoring) -> Floats:
    """Class shares of the whole data, of which these trials may be a subset, shape (K,)."""
    shares = scoring.chosen(TrialsScoring).whole_shares
    return class_shares(trials) if shares is None else np.array(shares)


def log_posteriors(trials: Trials, scoring: Scoring) -> Floats:
    """Log posteriors at the application's priors.

    Natural logarithms of shape (N, K), clipped when asked, then moved from the training priors.
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
    training = training_priors(trials, scoring)
    if not np.allclose(training, priors, rtol=0, atol=1e-12):
        logs = move_posteriors(logs, training, priors)
    return logs


def training_priors(trials: Trials, scoring: Scoring) -> Floats:
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
            "give one per class"
        )
    return np.array(given)


def llrs(trials: Trials, scoring: Scoring) -> Floats:
    """Natural-log likelihood ratios of target against nontarget.

    The trials are of a detection task. Posteriors become likelihood ratios by taking away the logit
    of their training prior; of types llr, score and decision the scores themselves, shape (N,).
    """
    if trials.kind in ("llr", "score", "decision"):
        return trials.scores
    from truecost.calibration.base import logit

    odds = trials.scores  # log posterior odds: `loading.load` made them so
    if (least := scoring.chosen(TrialsScoring).clip) is not None:
        bound = np.log1p(-least) - np.log(least)
        odds = np.clip(odds, -bound, bound)
    return np.asarray(odds - logit(training_priors(trials, scoring)[1]))


def decided(trials: Trials, scoring: Scoring) -> Array:
    """Index of the decision taken for each trial: given, by threshold, or Bayes; whole (N,)."""
    if trials.kind == "decision":
        return trials.scores.astype(np.int64)
    if trials.detection:
        threshold = bayes_threshold(trials, scoring)
        if threshold is not None:
            return np.asarray(llrs(trials, scoring) >= threshold).view(np.uint8)
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
    moved = logit(p) - logit(training_priors(trials, scoring)[1])
    return moved - 1e-12 * max(1.0, abs(moved))  # a score at the threshold is accepted


def risks(trials: Trials, scoring: Scoring) -> tuple[float, float]:
    """Cm P and Cf (1-P): what all misses and all false alarms would cost."""
    application = scoring.application.with_priors(class_shares(trials))
    miss = application.cost_miss * application.prior
    return miss, application.cost_fa * (1 - application.prior)


def evidence_of(trials: Trials, scoring: Scoring, measures: Sequence[Measure]) -> Evidence:
    """Count the parts that the measures need.

    The parts are `decisions`, `losses`, `llr`, `ranking`, `errors` and `truths`; `accepted` where
    several labels may be right.
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
    makers |= {part: at(place) for part, place in APART.items() if part in wanted}
    if trials.spoofing is not None and not wanted.keys().isdisjoint(SPOOFING):
        from truecost.tasks.trials import further

        ratios = llrs(trials, scoring)
        spoofed = further.tallies(trials.spoofing, ratios, sides, trials.weights)
        makers |= {part: lambda *_, make=make: make() for part, make in spoofed.items()}
    parts: dict[str, Part] = {
        part: makers[part](trials, scoring, sides) for part in wanted if part in makers
    }
    for measure in (m for m in measures if m.name == MEAN):
        from truecost.tasks.trials import further

        column = str(measure.parameter)
        parts[measure.parts[0]] = further.tally_of(trials, column, sides)
    if trials.took and not {*COSTS}.isdisjoint(m.name for m in measures):
        parts[TOOK] = Tally.constant([*trials.took.values()], tuple(trials.took), {})
    return Evidence(parts)


def tally_of(
    trials: Trials,
    sides: UnitColumns,
    decision: tuple[Sequence[str], Ints] | None = None,
    /,
    **statistics: Array | Computed,
) -> Tally:
    """Sums by class, where trials have classes, and by decision, of labels and codes."""
    axes: dict[str, Any] = {"class": (trials.classes, trials.labels)} if trials.classes else {}
    axes |= {} if decision is None else {"decision": decision}
    return Tally.count(sides, statistics, axes, trials.weights)


def choices_of(trials: Trials, scoring: Scoring) -> tuple[Ints, tuple[str, ...]]:
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


def _accepted_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    from truecost.tasks.trials.further import accepted_tally

    if trials.annotation is None:
        raise UsageError(f"{trials.name}: accepted labels need several annotators")
    choices, labels = choices_of(trials, scoring)
    costs = scoring.application.matrix(len(trials.classes))
    return accepted_tally(trials.annotation, choices, costs, labels, sides, trials.weights)


def _decision_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    choices, labels = choices_of(trials, scoring)
    return tally_of(trials, sides, (labels, choices), n=np.broadcast_to(np.int64(1), len(choices)))


def _loss_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    logs = log_posteriors(trials, scoring)
    truth = logs[np.arange(len(trials.labels)), trials.labels]
    impossible = np.isneginf(truth)
    posteriors = np.exp(logs)
    brier = (posteriors**2).sum(axis=1) - 2 * np.exp(truth) + 1
    log, one = np.where(impossible, 0.0, -truth), np.ones(len(trials.labels))
    return tally_of(trials, sides, n=one, log=log, brier=brier, impossible=impossible)


def _llr_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    application = scoring.application.with_priors(system_shares(trials, scoring))
    shift = -application.threshold if application.plain_detection else 0.0
    ratios, labels = llrs(trials, scoring), trials.labels

    def signed(part: slice) -> Floats:
        side = np.where(labels[part] == 1, -1.0, 1.0)
        return np.asarray(side * ratios[part])

    def bits(part: slice, moved: float) -> Floats:
        against = signed(part)
        value = against + np.where(labels[part] == 1, -moved, moved)
        return np.where(np.isposinf(against), 0.0, np.logaddexp(0.0, value) / np.log(2.0))

    columns = {
        "n": lambda part: np.ones(len(labels[part])),
        "cllr": lambda part: bits(part, 0.0),
        "cnxe": lambda part: bits(part, shift),
        "impossible": lambda part: np.isposinf(signed(part)).astype(np.float64),
    }
    made = {name: Computed(make, len(labels)) for name, make in columns.items()}
    return tally_of(trials, sides, **made)


def sweep_of(trials: Trials, scoring: Scoring) -> Sweep:
    """The ranking of all trials, each with its own weight, at every threshold."""
    key = "point", *ranking_key(trials, scoring)
    if key not in trials.made:
        one = [(Factor("all", np.zeros(1)), np.zeros(len(trials.labels), np.int32))]
        ranking = ranking_of(trials, scoring, sides_of(trials, scoring))
        trials.made[key] = ranking.over(ranking.scores, one)
    return point_of(Evidence({"ranking": trials.made[key]})).sweep("ranking")


def point_of(evidence: Evidence) -> Totals:
    """The evidence with weights of one."""
    return totals(evidence, Weights.ones(evidence.factors).block())


def ranking_key(trials: Trials, scoring: Scoring) -> tuple[object, ...]:
    """The settings of the ranking of trials: resampling of units, and the scale of `llrs`."""
    if trials.kind not in POSTERIORS:
        return "ranking", scoring.plan.scheme
    prior = training_priors(trials, scoring)[1]
    return "ranking", scoring.plan.scheme, float(prior), scoring.chosen(TrialsScoring).clip


def ranking_of(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Ranking:
    """Trials ranked by likelihood ratio (or score): sorted once, whatever the application; `sides`
    are those of `sides_of`.
    """
    key = ranking_key(trials, scoring)
    if key not in trials.made:
        make = Ranking.ascending if trials.in_order else Ranking.from_scores
        if not trials.in_order and (scoring.subsets or trials.taken_from is not None):
            from truecost.tasks.trials.parts import ranked

            make = partial(ranked, trials, key)
        trials.made[key] = make(llrs(trials, scoring), trials.labels, sides, trials.weights)
    found: Ranking = trials.made[key]
    return found


def _error_tally(trials: Trials, _: Scoring, sides: UnitColumns) -> Part:
    errors = trials.scores - trials.labels
    centred = trials.labels - trials.labels.mean()  # a fixed origin keeps the variance precise
    squares = {"squared": errors**2, "truth2": centred**2}
    one = np.ones(len(errors))
    return tally_of(trials, sides, n=one, absolute=np.abs(errors), truth=centred, **squares)


def _truth_ranking(trials: Trials, _: Scoring, sides: UnitColumns) -> Part:
    return Ranking.from_scores(
        trials.labels, np.zeros(len(trials.labels), np.uint8), sides, trials.weights
    )
