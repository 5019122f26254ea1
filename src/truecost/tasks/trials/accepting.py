"""Counting where any of several labels of a trial is right."""

from collections.abc import Sequence

import numpy as np

from truecost.core.factors import Factor
from truecost.core.tally import Tally
from truecost.tasks.trials.labels import Annotation
from truecost.tasks.trials.records import Codes, Floats, Ints, Mask

Sides = list[tuple[Factor, Codes]]


def least_costs(accepted: Mask, costs: Floats) -> Floats:
    """What each decision costs when any accepted label is right: min over k in A of c[k, d].

    `accepted` (N, K) has at least one in each row, `costs` the shape (K, D), the result (N, D).
    """
    least = np.full((len(accepted), costs.shape[1]), np.inf)
    for right, row in zip(accepted.T, costs, strict=True):
        np.minimum(least, row, out=least, where=right[:, None])
    return least


def accepted_tally(
    annotation: Annotation,
    choices: Ints,
    costs: Floats,
    labels: Sequence[str],
    sides: Sides,
    weights: Floats | None,
) -> Tally:
    """Count what decisions and constants cost when any accepted label is right.

    `choices` (N,): index of the decision taken, one of D `labels`; `costs` has the shape (K, D).
    The axis is decision; statistics are n, cost and error of the trials that are decided so, and
    constant_cost and constant_error of all trials if they were.
    """
    width = costs.shape[1]
    cost = least_costs(annotation.accepted, costs).ravel()
    error = least_costs(annotation.accepted, 1 - np.eye(*costs.shape)).ravel()
    decisions = np.tile(np.arange(width), len(choices))
    taken = decisions == np.repeat(choices, width)
    return Tally.count(
        [(factor, np.repeat(codes, width)) for factor, codes in sides],
        {
            "n": taken,
            "cost": np.where(taken, cost, 0.0),
            "error": np.where(taken, error, 0.0),
            "constant_cost": cost,
            "constant_error": error,
        },
        {"decision": (labels, decisions)},
        None if weights is None else np.repeat(weights, width),
    )
