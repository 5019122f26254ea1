"""Measures of predicted numbers, each with the best constant predictor as reference.

`errors` is a tally with the statistics `n`, `absolute`, `squared` (of the error), `truth` and
`truth2` (sums of the true value and its square, about a fixed origin); `truths` ranks the true
values. The best constant is found anew in each replicate. Source: paper 003, sections 3.4 and 3.5.
"""

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Measure, Result, Rule, share

ERRORS = ("errors",)


def mae(totals: Totals, application: Application) -> Result:
    """Mean absolute error: mean of abs(prediction - truth).

    Range [0, inf) in the unit of the truth, lower is better; the reference always predicts the
    weighted median of the truths of the replicate. Paper 003, section 3.4.
    """
    del application
    n = totals.sums("errors", "n")
    return share(totals.sums("errors", "absolute"), n), share(totals.sweep("truths").median()[1], n)


def nmae(totals: Totals, application: Application) -> Result:
    """Mean absolute error / that of the best constant (the median).

    Range [0, inf), lower is better; 1.0 is the best constant. Undefined when all truths are equal.
    Paper 003, sections 3.4 and 3.5.
    """
    value, reference = mae(totals, application)
    return share(value, reference), 1.0


def mse(totals: Totals, application: Application) -> Result:
    """Mean squared error: mean of (prediction - truth)^2.

    Range [0, inf) in the squared unit of the truth, lower is better; the reference always predicts
    the mean of the truths of the replicate and gets their variance. Paper 003, section 3.4.
    """
    del application
    n = totals.sums("errors", "n")
    mean = share(totals.sums("errors", "truth"), n)
    square = share(totals.sums("errors", "truth2"), n)
    variance = square - mean**2
    # Equal truths leave only rounding, which must not pass for a reference to divide by.
    variance = np.where(variance <= 1e-12 * square, 0.0, variance)
    return share(totals.sums("errors", "squared"), n), variance


def nmse(totals: Totals, application: Application) -> Result:
    """Mean squared error / variance of the truths, that of the best constant (the mean).

    Range [0, inf), lower is better; 1.0 is the best constant. Undefined when all truths are equal.
    Paper 003, sections 3.4 and 3.5.
    """
    value, reference = mse(totals, application)
    return share(value, reference), 1.0


def r2(totals: Totals, application: Application) -> Result:
    """Coefficient of determination: 1 - normalised mean squared error.

    Range (-inf, 1], higher is better; 0 is the best constant. Undefined when all truths are equal.
    Paper 003, section 3.5, for the normalisation.
    """
    return 1 - np.asarray(nmse(totals, application)[0]), 0.0


MEASURES = (
    Measure(
        "nmae",
        nmae,
        ("errors", "truths"),
        "Normalised mean absolute error",
        "lower",
        "paper 003, 3.4",
        uses=(),
    ),
    Measure(
        "mae", mae, ("errors", "truths"), "Mean absolute error", "lower", "paper 003, 3.4", uses=()
    ),
    Measure(
        "nmse", nmse, ERRORS, "Normalised mean squared error", "lower", "paper 003, 3.4", uses=()
    ),
    Measure("mse", mse, ERRORS, "Mean squared error", "lower", "paper 003, 3.4", uses=()),
    Measure(
        "r2",
        r2,
        ERRORS,
        "R squared",
        "higher",
        "paper 003, 3.5",
        uses=(),
        interval=Rule("log1m"),
    ),
)
