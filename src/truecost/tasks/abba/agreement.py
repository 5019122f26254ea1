"""A machine's probabilities held against human labels of the same items, in one cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.tasks.abba.records import CELLS

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
JOINT = 0.05  # chance of a false alarm over the four cells together
GAP = 0.02  # a smaller difference matters to no ratio


@dataclass(frozen=True)
class Held:
    """What humans and a machine say of the labelled items of a cell.

    Attributes
    ----------
    labels, units : int
        Labelled items, and the units that they belong to.
    machine, share : float
        Mean probability and share of label 1, both weighted; NaN without labels.
    difference, error : float
        `share` less `machine`, and its standard error: the larger of that by units and that of
        labels drawn with the machine's probabilities (few labels that happen to be alike have no
        error of their own). NaN with fewer than two units.
    lower, upper : float
        Interval of the difference by Student's law.
    off : bool
        Whether the difference is above `GAP` and more than chance explains, at a joint level of
        5 % over the four cells.
    """

    labels: int
    units: int
    machine: float
    share: float
    difference: float
    error: float
    lower: float
    upper: float
    off: bool


def held(
    labels: Floats, probabilities: Floats, weights: Floats, units: Array, level: float
) -> Held:
    """Hold a machine against the labels of a cell.

    Parameters
    ----------
    labels, probabilities, weights : ndarray of float64, shape (N,)
        Of the labelled items of the cell.
    units : ndarray of int, shape (N,)
        Code of the unit of each.
    level : float
        Of the interval.
    """
    from scipy.special import stdtrit

    nan = float("nan")
    if not len(labels):
        return Held(0, 0, nan, nan, nan, nan, nan, nan, off=False)
    total = weights.sum()
    machine = float((weights * probabilities).sum() / total)
    share = float((weights * labels).sum() / total)
    difference = share - machine
    names, codes = np.unique(units, return_inverse=True)
    groups = len(names)
    if groups < 2:
        return Held(len(labels), groups, machine, share, difference, nan, nan, nan, off=False)
    apart = weights * (labels - probabilities - difference)
    between = groups / (groups - 1) * (np.bincount(codes, apart) ** 2).sum()
    drawn = (weights**2 * probabilities * (1 - probabilities)).sum()
    error = float(np.sqrt(max(between, drawn)) / total)
    reach = error * float(stdtrit(groups - 1, (1 + level) / 2))
    far = -error * float(stdtrit(groups - 1, JOINT / len(CELLS) / 2))
    return Held(
        len(labels),
        groups,
        machine,
        share,
        difference,
        error,
        max(difference - reach, -1.0),
        min(difference + reach, 1.0),
        off=abs(difference) > max(GAP, far),
    )
