"""Normalised cross entropy of scores that were calibrated by cross-fitting.

The truth is what such a system is worth on new trials: the mean, over data sets of this size, of
the exact entropy of their calibrations.
"""

from functools import cache, partial

import numpy as np

import truecost as tc
from covering.cells import Cell

MEAN, BETWEEN, TRIALS = 1.0, 0.5, (5, 15)
APPLICATION = tc.Application.detection(1, 1, 0.25)


def cells():
    """Speakers with 5 targets and 15 nontargets."""
    for speakers in (10, 20, 50):
        draw = partial(drawn, speakers=speakers)
        yield Cell("calibrated", f"{speakers} speakers", partial(truth, speakers), draw)


def calibrated(rng, speakers):
    """Scores that are no likelihood ratios, calibrated by five folds of speakers."""
    unit = np.repeat(np.arange(speakers), sum(TRIALS))
    label = np.tile(np.repeat([1, 0], TRIALS), speakers)
    level = BETWEEN * rng.normal(size=speakers)[unit]
    scores = 3 + 0.5 * (rng.normal(np.where(label, MEAN, -MEAN)) + level)
    trials = tc.Trials.from_arrays(scores, label, kind="score", unit=[f"s{u:03d}" for u in unit])
    return tc.calibrate(trials)


@cache
def truth(speakers, sets=150):
    """Mean exact entropy of calibrations, over the naive one."""
    at = np.linspace(-8, 8, 1601)
    sd = np.sqrt(1 + BETWEEN**2)
    density = np.exp(-(((at - MEAN * np.array([[-1], [1]])) / sd) ** 2) / 2)
    density /= density.sum(axis=1, keepdims=True)
    prior = APPLICATION.class_priors(np.ones((1, 2)))[0]
    found = []
    for k in range(sets):
        for one in calibrated(np.random.default_rng([speakers, k]), speakers).calibrators:
            odds = one(3 + 0.5 * at) + np.log(prior[1] / prior[0])
            losses = np.stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)])
            found.append(prior @ (density * losses).sum(axis=1))
    return {"nce": float(np.mean(found)) / -float((prior * np.log(prior)).sum())}


def drawn(rng, plan, speakers):
    """The entropy of one data set."""
    scoring = tc.Scoring(
        APPLICATION, ("nce",), plan, jobs=1, choices=tc.TrialsScoring(allow_reversed=True)
    )
    return tc.score_system(calibrated(rng, speakers).trials, scoring)
