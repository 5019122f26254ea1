"""Miss rates and recalls of units of many sizes, correlations and numbers of errors."""

from functools import partial
from itertools import product

import truecost as tc
from covering.cells import Cell
from covering.drawing import errors, of_targets, sizes

UNITS = (8, 10, 20, 40, 100, 300)
SIZES = {"equal": 10, "lognormal": 10, "heavy": 12}  # about how many trials a unit has
CORRELATIONS = (0.0, 0.1, 0.3)
EXPECTED = (0.5, 1, 3, 10, 50, 200)
EQUAL = tc.preset("equal")


def cells():
    """The grid of miss rates, high recalls, and sizes whose trials strongly go together."""
    for units, kind, icc, expected in product(UNITS, SIZES, CORRELATIONS, EXPECTED):
        rate = expected / (units * SIZES[kind])
        if rate <= 0.4:
            name = f"{units} units, {kind} sizes, correlation {icc:g}, {expected:g} errors"
            yield cell("p_miss", name, rate, units, kind, icc)
    for units, recall, icc in product((20, 100), (0.98, 0.99, 0.995, 0.999), (0.0, 0.3)):
        name = f"recall {recall:g}, {units} units of 10, correlation {icc:g}"
        yield cell("recall", name, recall, units, "equal", icc)
    for units, rate in product((10, 30, 100), (0.05, 0.2)):
        name = f"{units} units, heavy sizes, correlation 0.5, rate {rate:g}"
        yield cell("p_miss", name, rate, units, "heavy", 0.5)
    for icc in (0.5, 0.8, 0.95):
        name = f"10 units, equal sizes, correlation {icc:g}, 10 errors"
        yield cell("p_miss", name, 0.1, 10, "equal", icc)


def cell(measure, name, rate, units, kind, icc):
    """One cell of a rate."""
    draw = partial(drawn, measure=measure, rate=rate, units=units, kind=kind, icc=icc)
    return Cell("rates", name, lambda: {measure: rate}, draw)


def drawn(rng, plan, measure, rate, units, kind, icc):
    """Rows of one data set."""
    trials = sizes(rng, kind, units, 10)
    missed = errors(rng, trials, rate if measure == "p_miss" else 1 - rate, icc)
    return tc.estimate(of_targets(missed, trials), [tc.find(measure)], EQUAL, plan, jobs=1)
