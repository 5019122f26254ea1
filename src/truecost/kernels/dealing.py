"""Dealing units to folds of equal parts."""

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sweeps import Ints


@kernel
def deal(sizes: Ints, order: Ints, folds: int, out: Ints) -> None:
    """Deal units to folds so that every fold gets its part of every class.

    `sizes` (units x classes) counts the trials of each unit; units are dealt in `order`, each to
    the fold where sum over classes of (fold's share of the class)^2 grows least; of equal ones the
    fold with the fewest trials, the lowest first.
    """
    units, classes = sizes.shape
    held = np.zeros((folds, classes))
    filled = np.zeros(folds, np.int64)
    totals = np.zeros(classes)
    for u in range(units):
        for c in range(classes):
            totals[c] += sizes[u, c]
    for u in order:
        best, least = 0, np.inf
        for f in range(folds):
            growth = 0.0
            for c in range(classes):
                if sizes[u, c] > 0:
                    part = sizes[u, c] / totals[c]
                    growth += part * (2.0 * held[f, c] / totals[c] + part)
            if growth < least or (growth == least and filled[f] < filled[best]):
                best, least = f, growth
        out[u] = best
        for c in range(classes):
            held[best, c] += sizes[u, c]
            filled[best] += sizes[u, c]
