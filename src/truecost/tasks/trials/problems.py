"""What is odd about scores, for the application that they are scored for, and advice on trials."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from truecost.core.captions import detailed
from truecost.core.flags import Flag
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.unit_index import Sides
from truecost.errors import counted
from truecost.names import POSTERIORS
from truecost.study.columns import NONE_BELOW
from truecost.study.outcome import Part, Problem
from truecost.tasks.trials.counting import bayes_threshold, class_shares
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

HINT = (
    f"{NONE_BELOW}, which is odd: if the scores are posteriors say --type posterior, if they are "
    f"only scores --type score"
)


def problems_of(part: "Part", trials: Trials) -> list[str]:
    """What is odd about scores, and truths that were given probability 0."""
    found = _of_scores(trials, part.scoring[trials.name])
    impossible = _impossible(part.estimates, trials.name)
    if impossible:
        mend = "calibrate with --laplace" if trials.kind == "llr" else "mend it, or say --clip P"
        give = f"{counted(impossible, 'trial', 'give')} {'its' if impossible == 1 else 'their'}"
        found.append(f"{give} true class probability 0, which costs infinity: {mend}")
    return found


def _of_scores(trials: Trials, scoring: Scoring) -> list[str]:
    """What is odd about the scores for this application, and what was taken for granted."""
    found = []
    if trials.kind == "llr" and trials.scores.min() >= 0:
        found.append(HINT)
    if trials.kind == "llr" and (at := bayes_threshold(trials, scoring)) is not None:
        low, high = trials.scores.min(), trials.scores.max()
        if not low < at <= high:
            what = "no score reaches" if high < at else "every score reaches"
            found.append(
                f"{what} the threshold {at:.3g} (they go from {low:.3g} to {high:.3g}): if they "
                f"are no likelihood ratios, calibrate them or say --type score"
            )
    if (
        trials.kind in POSTERIORS
        and scoring.chosen(TrialsScoring).training_prior is None
        and scoring.application.priors is not None
    ):
        share = f"prior {class_shares(trials)[1]:.4g}, the share of targets"
        found.append(
            f"its posteriors are taken to contain the "
            f"{share if trials.detection else 'shares of the classes'} in the data; "
            f"--training-prior says otherwise"
        )
    return found


def _impossible(estimates: Sequence[Estimate], system: str) -> float:
    own = (e for e in estimates if e.dims["system"] == system and "subset" not in e.dims)
    return max((e.counts.get("impossible", 0) for e in own), default=0)


IMBALANCED = 0.9  # share of the largest class from which accuracy all but leaves out the others


def flagged(flag: Flag, rows: Sequence[Estimate], every: int, parts: Sequence[Part]) -> str:
    """The advice of a flag; where a trial is a pair of an enrolment and a test, that of pairs."""
    del every
    sides = flag.sides if any(map(_is_trial_list, parts)) else ""
    return detailed(flag.name, rows) or sides or flag.advice


def _is_trial_list(part: Part) -> bool:
    """Whether a trial is a pair of an enrolment and a test."""
    listed = (t for t in part.systems if isinstance(t, Trials))
    return any({"enroll", "test"} <= set(t.frame.columns) for t in listed)


def on_imbalance(part: Part) -> list[Problem]:
    """Accuracy of trials that are nearly all of one class, where it was asked for."""
    found = []
    for trials in part.systems:
        if not isinstance(trials, Trials) or "accuracy" not in part.scoring[trials.name].measures:
            continue
        largest = class_shares(trials).max()
        if largest >= IMBALANCED:
            message = (
                f"accuracy: {100 * largest:.3g} % of the trials are of one class, so that errors "
                f"on others hardly count: use nec, and say what they cost (--cost-miss)"
            )
            rule = "accuracy-on-imbalanced-data"
            found.append(Problem(kind="advice", message=message, rule=rule))
    return found


Floats = npt.NDArray[np.float64]


LEVEL = 0.999  # of the interval of the AUC that must lie below 0.5


def beyond_chance(
    scores: Floats, targets: npt.NDArray[np.bool_], sides: Sides, weights: Floats | None = None
) -> bool:
    """Whether the two-sided 99.9 % interval of the AUC lies below 0.5.

    The variance of the AUC is that of the placement values of the trials (DeLong et al. 1988),
    added up within units (Obuchowski 1997); over crossed factors the sum of theirs. It is at least
    that of a system that knows nothing, (N + 1) / (12 m n), so that it is not 0 where all pairs
    are reversed. t quantile with one degree of freedom less than the class that stands in fewer
    units has units (Kish's number, where they are not of equal size).

    Parameters
    ----------
    scores : ndarray of float64, shape (N,)
    targets : ndarray of bool, shape (N,)
        Both classes must be there.
    sides : sequence of (Factor, ndarray of int32, shape (N,))
        Units, as `counting.sides_of` gives them.
    weights : ndarray of float64, shape (N,), optional
        Own weights of the trials.

    Returns
    -------
    bool
        Never where a class stands in one unit only.
    """
    from scipy.special import stdtrit

    own = np.ones(len(scores)) if weights is None else weights
    each = np.where(targets, own, 0.0), np.where(targets, 0.0, own)
    sums = [float(weight.sum()) for weight in each]
    below = [share / total for share, total in zip(_below(scores, each), sums, strict=True)]
    placed = np.where(targets, below[1], 1 - below[0])
    area = float(each[0] @ placed) / sums[0]
    shares = [weight / total * (placed - area) for weight, total in zip(each, sums, strict=True)]
    of_chance = [_kish(weight) for weight in each]
    chance = (sum(of_chance) + 1) / (12 * of_chance[0] * of_chance[1])
    variance, fewest = 0.0, np.inf
    for _, same in groupby(sides, key=lambda side: side[0].name):
        codes = [code for _, code in same]
        units = min(_kish(_by_unit(weight, codes)) for weight in each)
        fewest = min(fewest, units)
        if units > 1:
            squares = float(np.square(_by_unit(shares[0] + shares[1], codes)).sum())
            variance += squares * units / (units - 1)
    if not fewest > 1:
        return False
    reach = stdtrit(fewest - 1, (1 + LEVEL) / 2)
    return bool(area + reach * np.sqrt(max(variance, chance)) < 0.5)


def _below(scores: Floats, weights: Sequence[Floats]) -> list[Floats]:
    """For each weighting the weight below each score, and half of that at the same score."""
    levels, places = np.unique(scores, return_inverse=True)
    at = [np.bincount(places, each, minlength=len(levels)) for each in weights]
    return [np.asarray((np.cumsum(each) - each / 2)[places]) for each in at]


def _by_unit(values: Floats, codes: Sequence[npt.NDArray[np.int32]]) -> Floats:
    """Sum of the values of each unit, over all sides on which it stands."""
    length = 1 + max(int(code.max()) for code in codes)
    return np.asarray(sum(np.bincount(code, values, minlength=length) for code in codes))


def _kish(weights: Floats) -> float:
    """Number of equal weights that tell as much as these."""
    total = float(weights.sum())
    return total * total / float(np.square(weights).sum())
