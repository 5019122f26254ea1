"""False alarms an hour of recordings whose rates differ, and rates at a threshold that was chosen.

Recordings have an hour each, or lognormal lengths; their hourly rates are alike (Poisson), gamma
with a squared coefficient of variation of 0.25, or exponential. A chosen threshold has the miss
rate that it has on all trials: the interval on the data that chose it must hold that of the best
threshold of all.
"""

from functools import partial
from itertools import product

import numpy as np
from scipy import stats

import truecost as tc
from covering.cells import Cell
from covering.drawing import NAMES

RATES = {"alike": 0.0, "gamma": 0.25, "exponential": 1.0}
EQUAL = tc.preset("equal")
MEAN = 1.5


def cells():
    """Recordings, their rates and lengths; targets of a threshold that is chosen."""
    for recordings, rates, mean in product((10, 30, 100), RATES, (0.2, 1, 5)):
        name = f"{recordings} recordings of an hour, {rates} rates, {mean:g} false alarms an hour"
        draw = partial(heard, recordings=recordings, rates=rates, mean=mean)
        yield Cell("events", name, partial(dict, fa_per_hour=mean), draw)
    for recordings, mean in ((30, 1), (30, 5), (20, 20)):
        name = f"{recordings} recordings of unequal length, exponential rates, {mean} false alarms"
        name += " an hour"
        draw = partial(heard, recordings=recordings, rates="exponential", mean=mean, unequal=True)
        yield Cell("events", name, partial(dict, fa_per_hour=mean), draw)
    for speakers in (20, 100):
        name = f"{speakers} speakers choose a threshold, at most 10 % false alarms"
        yield Cell("events", name, at_best, partial(chosen, speakers=speakers))


def heard(rng, plan, recordings, rates, mean, unequal=False):
    """Rows of one log: recordings without a false alarm are in it."""
    hours = np.exp(rng.normal(-0.5, 1, recordings)) if unequal else np.ones(recordings)
    spread = RATES[rates]
    level = rng.gamma(1 / spread, spread, recordings) if spread else np.ones(recordings)
    found = rng.poisson(mean * hours * level).astype(float)
    factor, codes = tc.Factor.encode("recording", np.arange(recordings))
    none = np.zeros(recordings, np.int64)
    axes = {"class": (NAMES[0], none), "decision": (NAMES[1], none + 1)}
    audio = tc.Tally.count([(factor, codes)], {"n": found, "hours": hours}, axes)
    evidence = tc.Evidence({"audio": audio})
    return tc.estimate(evidence, [tc.find("fa_per_hour")], EQUAL, plan, jobs=1)


def at_best():
    """The miss rate of the threshold that has 10 % false alarms of all trials."""
    return {"p_miss": float(stats.norm.cdf(stats.norm.isf(0.1, -MEAN), MEAN))}


def chosen(rng, plan, speakers):
    """The miss rate on the trials that chose the threshold."""
    unit = np.repeat(np.arange(speakers), 20)
    label = (np.arange(len(unit)) % 4 == 0).astype(int)
    scores = rng.normal(np.where(label, MEAN, -MEAN))
    outcome = tc.threshold(
        scores=scores, labels=label, unit=unit, type="score", max_p_fa=0.1,
        replicates=plan.replicates, seed=plan.seed,
    )  # fmt: skip
    return [row for row in outcome.estimates if row.measure == "p_miss"]
