"""Metrics that decide nothing: F1 and its kin of few errors, calibration errors of few trials.

Decisions are those of units whose errors go together, or one by one; posteriors are the sigmoid of
a normal number, for which a trial is a target with that probability (calibrated), or with that of
half the number (too sure), where speakers may have a level of their own.
"""

from functools import cache, partial
from itertools import product

import numpy as np

import truecost as tc
from covering.cells import Cell
from covering.drawing import errors, of_units, sizes

OF_DECISIONS = ("f1", "macro_f1", "mcc", "kappa")
BY_DATA = tc.Application()
MISS, FA, SPREAD, LEVEL = 0.2, 0.03, 1.5, 0.7
BINS = 15


def cells():
    """Few and many units, with errors that go together or not; posteriors that claim too much."""
    truth = partial(of_decisions, 1 / 5)
    for units, icc in product((10, 20, 100), (0.0, 0.1, 0.3)):
        name = f"{units} units of 10, correlation {icc:g}, {2 * units} targets"
        yield Cell("metrics", name, truth, partial(decisions, units=units, icc=icc))
    for targets in (8, 20, 50):
        name = f"{targets} of {5 * targets} trials are targets, one by one"
        yield Cell("metrics", name, truth, partial(alone, targets=targets))
    for trials, times in product((40, 100, 400), (1.0, 2.0)):
        name = f"{trials} posteriors, {'calibrated' if times == 1 else 'too sure'}"
        draw = partial(posteriors, trials=trials, times=times)
        yield Cell("metrics", name, partial(of_posteriors, times), draw)
    for speakers in (10, 20, 100):
        name = f"{speakers} speakers of 20 posteriors, too sure"
        draw = partial(posteriors, trials=20 * speakers, times=2.0, speakers=speakers)
        yield Cell("metrics", name, partial(of_posteriors, 2.0, LEVEL), draw)


def of_decisions(prior):
    """Each metric of all trials."""
    right, wrong = prior * (1 - MISS), (1 - prior) * FA
    decided = right + wrong
    f1 = 2 * right / (prior + decided)
    other = 2 * (1 - prior - wrong) / (2 - prior - decided)
    agreed = right + 1 - prior - wrong
    chance = prior * decided + (1 - prior) * (1 - decided)
    room = (1 - prior**2 - (1 - prior) ** 2) * (1 - decided**2 - (1 - decided) ** 2)
    return {
        "f1": f1,
        "macro_f1": (f1 + other) / 2,
        "mcc": (agreed - chance) / np.sqrt(room),
        "kappa": (agreed - chance) / (1 - chance),
    }


def measured(evidence, plan):
    """The metrics of decisions."""
    return tc.estimate(evidence, [tc.find(name) for name in OF_DECISIONS], BY_DATA, plan, jobs=1)


def decisions(rng, plan, units, icc):
    """Two targets and eight nontargets of each unit."""
    targets = sizes(rng, "equal", units, 2)
    missed, false = errors(rng, targets, MISS, icc), errors(rng, 4 * targets, FA, icc)
    return measured(of_units(missed, targets, false, 4 * targets), plan)


def alone(rng, plan, targets):
    """Each trial is a unit."""
    label = (np.arange(5 * targets) < targets).astype(int)
    wrong = rng.random(len(label)) < np.where(label, MISS, FA)
    one, none = label, 1 - label
    return measured(of_units(one * wrong, one, none * wrong, none), plan)


@cache
def of_posteriors(times, level=0.0):
    """The error of 15 bins of all trials, by quadrature."""
    at, weight = np.polynomial.hermite_e.hermegauss(201)
    number = np.linspace(-9, 9, 200_001)
    density = np.exp(-(number**2) / 2 / SPREAD**2) / SPREAD / np.sqrt(2 * np.pi)
    density *= number[1] - number[0]
    own = level * at[:, None] + (number / times)[None, ::100]
    right = np.interp(number, number[::100], weight @ sigmoid(own) / weight.sum())
    said = sigmoid(number)
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    return {"ece": float(np.abs(np.bincount(bins, density * (said - right), BINS)).sum())}


def sigmoid(number):
    """The probability of log-odds."""
    return 1 / (1 + np.exp(-number))


def posteriors(rng, plan, trials, times, speakers=0):
    """The calibration error of some trials, at the shares of the classes."""
    number = rng.normal(scale=SPREAD, size=trials)
    unit = np.arange(trials) % speakers if speakers else None
    level = LEVEL * rng.normal(size=speakers)[unit] if speakers else 0.0
    label = (rng.random(trials) < sigmoid(number / times + level)).astype(int)
    said = sigmoid(number)
    found = tc.Trials.from_arrays(
        np.stack([1 - said, said], axis=1), label, kind="posterior", target="1", unit=unit
    )
    shares = (float(1 - label.mean()), float(label.mean()))
    scoring = tc.Scoring(
        BY_DATA, ("total_error",), plan, jobs=1, also=("ece",),
        choices=tc.TrialsScoring(training_prior=shares),
    )  # fmt: skip
    return [row for row in tc.score_system(found, scoring) if row.measure == "ece"]
