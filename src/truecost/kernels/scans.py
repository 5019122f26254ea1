"""Scans of all ranked trials: area under the curve, pooled adjacent violators, weighted median.

Conventions as in `sweeps`: trials in ascending order of score, code 1 a target, 0 a nontarget.
"""

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sums import Columns
from truecost.kernels.sweeps import Codes, Cuts, Floats, Ints, Row, Rows, Slots, weight_of


@kernel
def trial_weights(row: Row, slots: Slots, extra: Floats, out: Floats) -> None:
    """The weight of every trial, in order of score."""
    for i in range(len(out)):
        out[i] = weight_of(i, row, slots, extra)


@kernel
def corners(
    positions: Ints,
    miss: Floats,
    rejected: Floats,
    row: Row,
    slots: Slots,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> int:
    """Thresholds at which the curve of (rejected nontargets, misses) starts, turns or ends.

    Fills position, weight of missed targets and of rejected nontargets, with room for each trial
    and one more; returns their number. A threshold between two steps along the same axis lies
    on the straight line between its neighbours and is left out.
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
def pooling_knots(codes: Codes, cut: Cuts, knots: Ints) -> int:
    """Positions where a tie group with nontargets is followed by one with targets, with both ends.

    The output has room for each trial and one more; returns their number.
    """
    trials, found = len(codes), 1
    knots[0] = 0
    before_has_nontarget = False
    start = 0
    while start < trials:
        has_target, has_nontarget = False, False
        stop = start
        while stop < trials and (stop == start or not cut[stop]):
            has_target |= codes[stop] == 1
            has_nontarget |= codes[stop] == 0
            stop += 1
        if start > 0 and before_has_nontarget and has_target:
            knots[found] = start
            found += 1
        before_has_nontarget = has_nontarget
        start = stop
    if trials > 0:
        knots[found] = trials
        found += 1
    return found


@kernel
def pools(
    starts: Ints,
    stops: Ints,
    targets: Floats,
    nontargets: Floats,
    row: Row,
    slots: Slots,
    codes: Codes,
    extra: Floats,
    knots: Ints,
) -> int:
    """Pool adjacent violators over the intervals between `knots`: targets/nontargets rises.

    Fills first trial, place after the last trial (both with weight) and weight of either class of
    each pool, with room for each knot; returns their number.
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
def areas(
    columns: Columns,
    slots: Slots,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
    out: Floats,
) -> None:
    """Weight of (target above nontarget) pairs plus half the tied pairs, for each replicate."""
    trials, replicates = len(codes), columns.shape[1]
    below = np.zeros(replicates)
    tied_targets, tied_nontargets = np.zeros(replicates), np.zeros(replicates)
    weight = np.empty(replicates)
    for i in range(trials):
        first = columns[slots[i, 0]]
        for r in range(replicates):
            weight[r] = first[r]
        for side in range(1, slots.shape[1]):
            other = columns[slots[i, side]]
            for r in range(replicates):
                weight[r] *= other[r]
        if len(extra) > 0:
            for r in range(replicates):
                weight[r] *= extra[i]
        alone = cut[i] and (i + 1 == trials or cut[i + 1])
        if alone:
            if codes[i] == 1:
                for r in range(replicates):
                    out[r] += weight[r] * below[r]
            else:
                for r in range(replicates):
                    below[r] += weight[r]
            continue
        if codes[i] == 1:
            tied_targets += weight
        else:
            tied_nontargets += weight
        if i + 1 == trials or cut[i + 1]:
            out += tied_targets * (below + 0.5 * tied_nontargets)
            below += tied_nontargets
            tied_targets[:] = 0.0
            tied_nontargets[:] = 0.0


@kernel
def entropy_of_blocks(prior: float, targets: Floats, nontargets: Floats) -> float:
    """Cross entropy in bits of blocks whose posterior is their own share of targets."""
    total_t, total_n = targets.sum(), nontargets.sum()
    if total_t <= 0.0 or total_n <= 0.0:
        return np.nan
    entropy = 0.0
    for k in range(len(targets)):
        t = prior * targets[k] / total_t
        n = (1.0 - prior) * nontargets[k] / total_n
        if t > 0.0 and n > 0.0:
            entropy += t * np.log2((t + n) / t) + n * np.log2((t + n) / n)
    return entropy


LANES = 16  # replicates pooled side by side: one cache line of weights serves them all


@kernel
def pooled_entropies(
    priors: Floats,
    columns: Columns,
    slots: Slots,
    codes: Codes,
    extra: Floats,
    knots: Ints,
    out: Floats,
) -> None:
    """Cross entropy in bits at each replicate's prior after its own best monotone calibration.

    Pool adjacent violators over the intervals between `knots`, a stack of blocks (weight of
    targets, weight of nontargets) for each replicate, so that targets/nontargets strictly rises.
    """
    replicates, size = len(out), max(1, len(knots) - 1)
    width = min(LANES, replicates)
    targets, nontargets = np.empty((width, size)), np.empty((width, size))
    weight, t_sum, n_sum = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, replicates, LANES):
        lanes = min(LANES, replicates - start)
        top = np.full(LANES, -1)
        for k in range(len(knots) - 1):
            t_sum[:] = 0.0
            n_sum[:] = 0.0
            for i in range(knots[k], knots[k + 1]):
                first = columns[slots[i, 0]]
                for r in range(lanes):
                    weight[r] = first[start + r]
                for side in range(1, slots.shape[1]):
                    other = columns[slots[i, side]]
                    for r in range(lanes):
                        weight[r] *= other[start + r]
                own = extra[i] if len(extra) > 0 else 1.0
                total = t_sum if codes[i] == 1 else n_sum
                for r in range(lanes):
                    total[r] += weight[r] * own
            for r in range(lanes):
                t, n = t_sum[r], n_sum[r]
                if t == 0.0 and n == 0.0:
                    continue
                while top[r] >= 0 and targets[r, top[r]] * n >= t * nontargets[r, top[r]]:
                    t += targets[r, top[r]]
                    n += nontargets[r, top[r]]
                    top[r] -= 1
                top[r] += 1
                targets[r, top[r]], nontargets[r, top[r]] = t, n
        for r in range(lanes):
            out[start + r] = entropy_of_blocks(
                priors[start + r], targets[r, : top[r] + 1], nontargets[r, : top[r] + 1]
            )


@kernel
def weighted_medians(
    values: Floats,
    rows: Rows,
    slots: Slots,
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
