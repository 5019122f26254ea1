"""Differences and ratios of two systems on the same trials, alone and in units."""

from functools import partial
from itertools import product
from statistics import NormalDist

import numpy as np

import truecost as tc
from covering.cells import Cell
from covering.drawing import of_targets, sizes
from truecost.core.comparison import compare

EQUAL = tc.preset("equal")
NAMES = "difference of p_miss", "ratio of p_miss"


def cells():
    """Trials alone by how many are discordant; units by errors, correlation and size."""
    for trials, discordant in product((200, 1000), (3, 10, 30)):
        name = f"{trials} trials, {discordant} discordant, 10 errors in common, equal systems"
        draw = partial(alone, trials=trials, discordant=discordant)
        yield Cell("differences", name, lambda: dict(zip(NAMES, (0.0, 1.0), strict=True)), draw)
    for units, expected, icc, times in product((10, 20, 100), (3, 10, 50), (0.0, 0.3), (1.0, 1.5)):
        base = expected / (10 * units)
        if base * times > 0.4:
            continue
        name = f"{units} units, {expected} errors, correlation {icc:g}, ratio {times:g}"
        truth = dict(zip(NAMES, (base * (times - 1), times), strict=True))
        draw = partial(in_units, units=units, rates=(base * times, base), icc=icc)
        yield Cell("differences", name, lambda truth=truth: truth, draw)


def compared(ours, theirs, trials, plan):
    """Rows of a comparison of misses."""
    [a], [b] = (
        tc.estimate(of_targets(missed, trials), [tc.find("p_miss")], EQUAL, plan, jobs=1)
        for missed in (ours, theirs)
    )
    found = compare(a, b)
    return [found.difference, found.ratio]


def alone(rng, plan, trials, discordant):
    """Each trial by itself; either system is as likely to be the one that errs."""
    kind = rng.choice(4, trials, p=shares(trials, discordant))
    return compared(
        np.isin(kind, (1, 2)) * 1, np.isin(kind, (1, 3)) * 1, np.ones(trials, int), plan
    )


def shares(trials, discordant):
    """Of no error, errors in common, and errors of one system only."""
    common, one = 10 / trials, discordant / 2 / trials
    return [1 - common - 2 * one, common, one, one]


def in_units(rng, plan, units, rates, icc):
    """Units are hard for both systems alike to some degree, and so are trials."""
    trials = np.minimum(sizes(rng, "lognormal", units, 10), 60)
    unit = np.repeat(np.arange(units), trials)
    hard = rng.normal(size=(2, units))
    both = np.stack([hard[0], 0.7 * hard[0] + np.sqrt(0.51) * hard[1]])[:, unit]
    common = rng.normal(size=len(unit))
    own = np.sqrt(0.6) * common + np.sqrt(0.4) * rng.normal(size=(2, len(unit)))
    level = np.sqrt(icc) * both + np.sqrt(1 - icc) * own
    missed = [
        np.bincount(unit, level[k] < NormalDist().inv_cdf(rate), units).astype(np.int64)
        for k, rate in enumerate(rates)
    ]
    return compared(*missed, trials, plan)
