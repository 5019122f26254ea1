"""Costs of misses and false alarms, with few targets beside many nontargets, alone and in units."""

from functools import partial
from itertools import product

import numpy as np

import truecost as tc
from covering.cells import Cell
from covering.drawing import decided, errors, of_units, sizes

COSTS = {"equal": tc.preset("equal"), "10 to 1 at .2": tc.Application.detection(10, 1, 0.2)}
BY_DATA = tc.Application()
NONTARGETS = 30  # of each unit


def cells():
    """Few targets, units of both classes, and priors left to the data."""
    for missed, icc, costs in product((0.25, 0.5, 1, 2), (0.0, 0.3), COSTS):
        name = f"8 targets, {missed:g} misses, 50 false alarms, correlation {icc:g}, costs {costs}"
        yield cell(few_targets, name, costs, missed / 8, 50 / (20 * NONTARGETS), icc=icc)
    for units, kind, icc in product((10, 20, 100), ("equal", "lognormal"), (0.0, 0.1, 0.3)):
        for missed, false in ((1, 10), (10, 1), (10, 50)):
            name = f"{units} units, {kind} sizes, correlation {icc:g}, {missed} and {false} errors"
            miss, fa = missed / (5 * units), false / (15 * units)
            yield cell(both, name, "equal", miss, fa, units=units, kind=kind, icc=icc)
    for units, icc in product((10, 20, 100), (0.0, 0.3)):
        name = f"{units} units, correlation {icc:g}, .1 errors, priors of the data"
        draw = partial(of_data, units=units, icc=icc)
        yield Cell("costs", name, lambda: {"total_error": 0.1}, draw)


def cell(drawn, name, costs, miss, fa, **more):
    """One cell of the normalised cost."""
    application = COSTS[costs]
    weights = [10 * 0.2, 0.8] if costs != "equal" else [0.5, 0.5]
    truth = (weights[0] * miss + weights[1] * fa) / min(weights)
    draw = partial(drawn, application=application, miss=miss, fa=fa, **more)
    return Cell("costs", name, lambda: {"act_dcf": truth}, draw)


def few_targets(rng, plan, application, miss, fa, icc):
    """Eight targets of eight units, and 20 units of nontargets."""
    missed, false = rng.binomial(1, miss, 8), errors(rng, np.full(20, NONTARGETS), fa, icc)
    counts = np.stack(
        [np.r_[missed, np.zeros(20)], np.r_[1 - missed, np.zeros(20)],
         np.r_[np.zeros(8), NONTARGETS - false], np.r_[np.zeros(8), false]]
    ).astype(np.int64)  # fmt: skip
    side, unit = (axis.ravel() for axis in np.indices(counts.shape))
    there = counts.ravel() > 0
    label, decision = np.array([1, 1, 0, 0]), np.array([0, 1, 0, 1])
    found = decided(unit[there], label[side][there], decision[side][there], counts.ravel()[there])
    return tc.estimate(found, [tc.find("act_dcf")], application, plan, jobs=1)


def both(rng, plan, application, miss, fa, units, kind, icc):
    """Units with targets and three times as many nontargets."""
    targets = sizes(rng, kind, units, 5)
    missed = errors(rng, targets, miss, icc)
    false = errors(rng, 3 * targets, fa, icc)
    found = of_units(missed, targets, false, 3 * targets)
    return tc.estimate(found, [tc.find("act_dcf")], application, plan, jobs=1)


def of_data(rng, plan, units, icc):
    """Errors of both classes at one rate, that go together in a unit."""
    trials = sizes(rng, "lognormal", units, 10)
    targets = rng.binomial(trials, 0.3)
    wrong = errors(rng, trials, 0.1, icc)
    missed = rng.hypergeometric(targets, trials - targets, wrong)
    found = of_units(missed, targets, wrong - missed, trials - targets)
    return tc.estimate(found, [tc.find("total_error")], BY_DATA, plan, jobs=1)
