"""Scans of all ranked trials: the weight of each, the corners of the curve, the weighted median.

Conventions as in `sweeps`: trials in ascending order of score, code 1 for a target, 0 for a
nontarget.
"""

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sweeps import Codes, Cuts, Floats, Ints, Row, Rows, UnitIndex, weight_of


@kernel
def trial_weights(row: Row, slots: UnitIndex, extra: Floats, out: Floats) -> None:
    """The weight of every trial, in order of score."""
    for i in range(len(out)):
        out[i] = weight_of(i, row, slots, extra)


@kernel
def corners(
    positions: Ints,
    miss: Floats,
    rejected: Floats,
    row: Row,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> int:
    """Thresholds at which the curve of (rejected nontargets, misses) starts, turns or ends.

    Writes position, weight of missed targets and of rejected nontargets, into arrays with room for
    each trial and one more; returns the number. A threshold between two steps along one axis is on
    the straight line between its neighbours and is left out.
    """
    trials, found = len(codes), 0
    m, n = 0.0, 0.0
    at, at_m, at_n = 0, 0.0, 0.0  # the last threshold that differs from the one before
    along_m, along_n = False, False  # the step that led to it
    for p in range(1, trials + 1):
        weight = weight_of(p - 1, row, slots, extra)
        target = np.float64(codes[p - 1])
        m += weight * target
        n += weight * (1.0 - target)
        if p < trials and not cut[p]:
            continue
        step_m, step_n = bool(m > at_m), bool(n > at_n)
        if not step_m and not step_n:
            continue
        straight = step_m != step_n and step_m == along_m and step_n == along_n
        if not straight or at == 0:
            positions[found], miss[found], rejected[found] = at, at_m, at_n
            found += 1
        at, at_m, at_n, along_m, along_n = p, m, n, step_m, step_n
    positions[found], miss[found], rejected[found] = at, at_m, at_n
    return found + 1


@kernel
def pools(
    starts: Ints,
    stops: Ints,
    targets: Floats,
    nontargets: Floats,
    row: Row,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    knots: Ints,
) -> int:
    """Pool adjacent violators over the intervals between `knots`: targets/nontargets rises.

    Writes the first trial, the index after the last trial (both with weight) and the weight of each
    class of each pool, into arrays with room for each knot; returns the number of pools.
    """
    top = -1
    for k in range(len(knots) - 1):
        t, n, first, stop = 0.0, 0.0, -1, -1
        for i in range(knots[k], knots[k + 1]):
            weight = weight_of(i, row, slots, extra)
            if weight <= 0.0:
                continue
            if first < 0:
                first = i
            stop = i + 1
            if codes[i] == 1:
                t += weight
            else:
                n += weight
        if first < 0:
            continue
        while top >= 0 and targets[top] * n >= t * nontargets[top]:
            t += targets[top]
            n += nontargets[top]
            first = starts[top]
            top -= 1
        top += 1
        starts[top], stops[top], targets[top], nontargets[top] = first, stop, t, n
    return top + 1


@kernel
def weighted_medians(
    values: Floats,
    rows: Rows,
    slots: UnitIndex,
    extra: Floats,
    medians: Floats,
    deviations: Floats,
) -> None:
    """Weighted median of ascending `values` and the weighted sum of distances to it."""
    weights = np.empty(len(values))
    for r in range(len(medians)):
        trial_weights(rows[r], slots, extra, weights)
        total = 0.0
        for i in range(len(values)):
            total += weights[i]
        if total <= 0.0:
            medians[r], deviations[r] = np.nan, np.nan
            continue
        below, low, high = 0.0, np.nan, np.nan
        for i in range(len(values)):
            below += weights[i]
            if np.isnan(low) and 2.0 * below >= total:
                low = values[i]
            if 2.0 * below > total:
                high = values[i]
                break
        medians[r] = 0.5 * (low + high)
        deviation = 0.0
        for i in range(len(values)):
            deviation += weights[i] * abs(values[i] - medians[r])
        deviations[r] = deviation
