"""Equal error rates, minimum costs, areas and entropies of normal scores, whose truth is known.

Scores of targets and nontargets are normal around +-mean, with a variance of one within units and
more between them; they are scaled so that they are log-likelihood ratios of all trials.
"""

from functools import cache, partial

import numpy as np
from scipy import stats

import truecost as tc
from covering.cells import Cell

APPLICATION = tc.Application.detection(1, 1, 0.1)
MEASURES = ("eer", "auc", "min_dcf", "cllr", "min_cllr", "cllr_loss", "miss_at_fa:0.1")
LOSSES = ("cllr", "cllr_loss")
CHOSEN = ("eer", "miss_at_fa:0.2")
ALONE, BY_SPEAKER = (8, 20, 50, 100, 400), (10, 20, 100)
GRADES = (3, 5, 10)
NONTARGETS, MEAN, BETWEEN = 300, 1.5, 0.6


def cells():
    """Targets one by one, with scores and with grades, and speakers of unequal size with 5 targets
    and 15 nontargets.
    """
    for targets in ALONE:
        draw = partial(alone, targets=targets)
        yield Cell("thresholds", f"{targets} targets", partial(truth, 0.0), draw)
    for speakers in BY_SPEAKER:
        draw = partial(by_speaker, speakers=speakers)
        yield Cell("thresholds", f"{speakers} speakers", partial(truth, BETWEEN), draw)
        name = f"{speakers} speakers, scores that claim twice as much"
        draw = partial(by_speaker, speakers=speakers, measures=LOSSES, times=2.0)
        yield Cell("thresholds", name, partial(too_sure, BETWEEN, 2.0), draw)
    for grades in GRADES:
        name = f"100 targets, {grades} grades"
        yield Cell("thresholds", name, partial(of_grades, grades), partial(graded, grades=grades))


@cache
def truth(between):
    """Each measure of all trials."""
    sd = np.sqrt(1 + between**2)
    at = np.linspace(-12, 12, 40_001)
    miss, fa = stats.norm.cdf(at, MEAN, sd), stats.norm.sf(at, -MEAN, sd)
    cllr = entropy(between)
    return {
        "eer:rocch": float(stats.norm.cdf(-MEAN / sd)),
        "auc": float(stats.norm.cdf(2 * MEAN / sd / np.sqrt(2))),
        "min_dcf": float((0.1 * miss + 0.9 * fa).min() / 0.1),
        "cllr": cllr,
        "min_cllr": cllr,
        "cllr_loss": 0.0,
        "miss_at_fa:0.1": float(stats.norm.cdf(stats.norm.isf(0.1, -MEAN, sd), MEAN, sd)),
    }


def edges(grades):
    """Where scores from -2 to 2 are cut into grades."""
    return np.linspace(-2, 2, grades + 1)[1:-1]


def of_grades(grades):
    """Equal error rate of the convex hull, and miss rate at 20% false alarms."""
    at = edges(grades)
    miss = np.concatenate([[0.0], stats.norm.cdf(at, MEAN), [1.0]])
    fa = np.concatenate([[1.0], stats.norm.sf(at, -MEAN), [0.0]])
    k = int(np.searchsorted(miss - fa, 0.0))
    step = (fa[k - 1] - miss[k - 1]) / (miss[k] - miss[k - 1] + fa[k - 1] - fa[k])
    equal = miss[k - 1] + step * (miss[k] - miss[k - 1])
    return {"eer:rocch": float(equal), "miss_at_fa:0.2": float(miss[fa <= 0.2].min())}


def entropy(between, times=1.0):
    """Cllr of likelihood ratios that are too large by this factor on their scale."""
    sd = np.sqrt(1 + between**2)
    at = np.linspace(-12, 12, 40_001)
    density = stats.norm.pdf(at, MEAN, sd) * (at[1] - at[0])
    return float((np.logaddexp(0, -times * scale(between) * at) / np.log(2) * density).sum())


def too_sure(between, times):
    """Cllr and its calibration loss."""
    cllr = entropy(between, times)
    return {"cllr": cllr, "cllr_loss": cllr - entropy(between)}


def scale(between):
    """What makes log-likelihood ratios of the scores."""
    return 2 * MEAN / (1 + between**2)


def rows(scores, label, unit, plan, measures=MEASURES):
    """The measures of these trials."""
    trials = tc.Trials.from_arrays(scores, label, kind="llr", unit=unit)
    scoring = tc.Scoring(
        APPLICATION, measures, plan, jobs=1, choices=tc.TrialsScoring(allow_reversed=True)
    )
    return tc.score_system(trials, scoring)


def alone(rng, plan, targets):
    """Each trial is a unit."""
    label = (np.arange(targets + NONTARGETS) < targets).astype(int)
    scores = rng.normal(np.where(label, MEAN, -MEAN))
    return rows(scale(0.0) * scores, label, None, plan)


def graded(rng, plan, grades):
    """Scores are grades, so that many are tied; each trial is a unit."""
    label = (np.arange(100 + NONTARGETS) < 100).astype(int)
    scores = np.digitize(rng.normal(np.where(label, MEAN, -MEAN)), edges(grades))
    return rows(scores.astype(float), label, None, plan, CHOSEN)


def by_speaker(rng, plan, speakers, measures=MEASURES, times=1.0):
    """Some speakers score higher than others."""
    size = np.maximum(1, np.round(5 * np.exp(rng.normal(-0.125, 0.5, speakers)))).astype(int)
    unit = np.repeat(np.arange(speakers), 4 * size)
    label = np.concatenate([np.arange(4 * s) % 4 == 0 for s in size]).astype(int)
    level = BETWEEN * rng.normal(size=speakers)[unit]
    scores = rng.normal(np.where(label, MEAN, -MEAN)) + level
    return rows(times * scale(BETWEEN) * scores, label, unit, plan, measures)
