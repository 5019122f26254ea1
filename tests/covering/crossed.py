"""Miss rates of trials in two crossed factors, and of units in strata."""

from functools import partial
from statistics import NormalDist

import numpy as np

import truecost as tc
from covering.cells import Cell
from covering.drawing import errors, tally

EQUAL = tc.preset("equal")
CROSSED = (  # units of both factors, shares of the variance behind the errors, and the rate
    (10, 10, 0.3, 0.3, 0.1), (20, 20, 0.3, 0.3, 0.1), (10, 40, 0.3, 0.3, 0.1),
    (20, 20, 0.0, 0.0, 0.1), (20, 20, 0.3, 0.0, 0.1), (40, 40, 0.3, 0.3, 0.02),
    (10, 10, 0.3, 0.3, 0.01), (20, 20, 0.1, 0.1, 0.01),
)  # fmt: skip
STRATA = ((3, 4), (5, 2), (10, 2), (20, 2), (4, 10))


def cells():
    """Crossed factors; few units in each of several strata."""
    for a, b, share, other, rate in CROSSED:
        name = f"{a} x {b}, shares of variance {share:g} and {other:g}, rate {rate:g}"
        draw = partial(crossed, sizes=(a, b), shares=(share, other), rate=rate)
        yield Cell("crossed", name, lambda rate=rate: {"p_miss": rate}, draw)
    for strata, units in STRATA:
        name = f"{strata} strata of {units} units of 10"
        rates = 0.1 + 0.3 * np.arange(strata) / max(1, strata - 1)
        truth = {"p_miss": float(rates.mean())}
        draw = partial(stratified, rates=rates, units=units)
        yield Cell("crossed", name, lambda truth=truth: truth, draw)


def crossed(rng, plan, sizes, shares, rate):
    """One trial for each pair of units; a trial is missed where a normal sum is low."""
    (a, b), rest = sizes, 1 - sum(shares)
    own, other = rng.normal(size=(a, 1)), rng.normal(size=(1, b))
    level = np.sqrt(shares[0]) * own + np.sqrt(shares[1]) * other
    low = level + np.sqrt(rest) * rng.normal(size=sizes) < NormalDist().inv_cdf(rate)
    places = [axis.ravel() for axis in np.indices(sizes)]
    sides = [tc.Factor.encode(name, p) for name, p in zip(("speaker", "text"), places, strict=True)]
    ones = np.ones(low.size, np.int64)
    found = tc.Evidence({"decisions": tally(sides, ones, 1 - low.ravel(), ones)})
    return tc.estimate(found, [tc.find("p_miss")], EQUAL, plan, jobs=1)


def stratified(rng, plan, rates, units):
    """Units of ten targets with rates of their stratum."""
    stratum = np.repeat(np.arange(len(rates)), units)
    missed = np.concatenate([errors(rng, np.full(units, 10), rate, 0.2) for rate in rates])
    unit = np.tile(np.arange(len(stratum)), 2)
    n, decision = np.r_[missed, 10 - missed], np.repeat([0, 1], len(stratum))
    side = tc.Factor.encode("unit", unit, np.tile(stratum, 2))
    found = tc.Evidence({"decisions": tally([side], np.ones(len(unit), np.int64), decision, n)})
    return tc.estimate(found, [tc.find("p_miss")], EQUAL, plan, jobs=1)
