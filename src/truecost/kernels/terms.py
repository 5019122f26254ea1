"""Sweeps of keyword search: the best threshold of all queries, that of each query, and average
precision.

Conventions: trials are sorted by ascending score (within a query where queries are separate);
position p accepts the trials p, p+1, ..., and only positions at the start of a tie group (`cut[p]`)
are thresholds. Arrays with replicates have them last, so that each step works on all replicates of
a block at once: `gain` and `loss` (queries x replicates) are the value of a found target and the
cost of a false alarm, `weights` (documents x replicates) the count of a document in a replicate; it
has no rows where documents are not resampled.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]
Cuts = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
SAME = 1e-12  # of sums that differ by rounding
LOOK = 4096  # trials between two looks at whether a sweep is decided


@kernel
def decided(value: Floats, gains: Floats, whole: Floats, best: Floats) -> Any:
    """Whether in no replicate the remaining gains can reach the best sum."""
    return not (value + whole - gains + 1e-9 >= best).any()


@kernel
def best_of_all(
    query: Codes,
    document: Codes,
    target: Flags,
    cut: Cuts,
    gain: Floats,
    loss: Floats,
    weights: Floats,
    whole: Floats,
    best: Floats,
    gained: Floats,
    position: Ints,
) -> None:
    """Largest sum of gains less losses over the thresholds, by replicate.

    Sums that differ only by rounding are equal.

    On entry `best`, `gained` (the gains alone) and `position` hold the values for rejecting all, or
    -inf where this is not a threshold. Of equal thresholds the lowest is taken. `whole` is the sum
    of all gains: the sweep ends where the remaining gains cannot reach the best sum (five times
    faster where most detections are false alarms with low scores).
    """
    replicates = gain.shape[1]
    value, gains = np.zeros(replicates), np.zeros(replicates)
    by_document = len(weights) > 0
    for p in range(len(query) - 1, -1, -1):
        if p % LOOK == 0 and decided(value, gains, whole, best):
            break
        q = query[p]
        if target[p] == 1:
            if by_document:
                d = document[p]
                for r in range(replicates):
                    step = gain[q, r] * weights[d, r]
                    gains[r] += step
                    value[r] += step
            else:
                for r in range(replicates):
                    gains[r] += gain[q, r]
                    value[r] += gain[q, r]
        elif by_document:
            d = document[p]
            for r in range(replicates):
                value[r] -= loss[q, r] * weights[d, r]
        else:
            for r in range(replicates):
                value[r] -= loss[q, r]
        # A threshold right below a false alarm is never better than the one above it, but equal
        # where it costs nothing, and the lowest of equals is wanted.
        if cut[p]:
            for r in range(replicates):
                if value[r] >= best[r] - SAME * (1.0 + abs(best[r])):
                    best[r] = max(best[r], value[r])
                    gained[r] = gains[r]
                    position[r] = p


@kernel
def best_of_each(
    starts: Ints,
    document: Codes,
    target: Flags,
    cut: Cuts,
    reject_all: bool,
    gain: Floats,
    loss: Floats,
    weights: Floats,
    best: Floats,
    gained: Floats,
    position: Ints,
) -> None:
    """Largest sum of gains less losses over the thresholds of each query; `best`, `gained` and
    `position` are queries x replicates.

    Trials of query q are `starts[q]` to `starts[q + 1]`. A query without trials has 0; position -1
    means rejecting all.
    """
    replicates = gain.shape[1]
    value, gains = np.empty(replicates), np.empty(replicates)
    by_document = len(weights) > 0
    for q in range(len(starts) - 1):
        first, last = starts[q], starts[q + 1]
        none = -np.inf if first < last and not reject_all else 0.0
        for r in range(replicates):
            value[r], gains[r] = 0.0, 0.0
            best[q, r], gained[q, r], position[q, r] = none, 0.0, -1
        # Below its lowest target a query only loses, if it loses: nothing there can be best.
        left = 0
        for p in range(first, last):
            left += target[p]
        free = loss[q].max() == 0.0
        for p in range(last - 1, first - 1, -1):
            left -= target[p]
            for r in range(replicates):
                weight = weights[document[p], r] if by_document else 1.0
                if target[p] == 1:
                    gains[r] += gain[q, r] * weight
                    value[r] += gain[q, r] * weight
                else:
                    value[r] -= loss[q, r] * weight
                if cut[p] and value[r] >= best[q, r] - SAME * (1.0 + abs(best[q, r])):
                    best[q, r] = max(best[q, r], value[r])
                    gained[q, r] = gains[r]
                    position[q, r] = p
            if left == 0 and cut[p] and not free and (reject_all or best[q].min() > -np.inf):
                break


@kernel
def precisions(
    starts: Ints,
    query: Codes,
    document: Codes,
    target: Flags,
    cut: Cuts,
    shares: Floats,
    weights: Floats,
    false_first: bool,
    out: Floats,
) -> None:
    """Sum over the found targets of the precision at their score: `out` is groups x replicates.

    Divided by the number of targets it is the average precision of a group of trials. Tied trials
    count together, or with `false_first` one by one, false alarms before targets. `shares` (queries
    x replicates) are weights of the queries inside a group; it has no rows for equal weights.
    """
    for g in range(len(starts) - 1):
        for r in range(out.shape[1]):
            right, seen, tied, total = 0.0, 0.0, 0.0, 0.0
            last = starts[g + 1]
            for p in range(starts[g + 1] - 1, starts[g] - 1, -1):
                weight = weights[document[p], r] if len(weights) > 0 else 1.0
                if len(shares) > 0:
                    weight *= shares[query[p], r]
                seen += weight
                if target[p] == 1:
                    tied += weight
                if not cut[p]:
                    continue
                if tied > 0.0 and not false_first:
                    total += tied * (right + tied) / seen
                elif tied > 0.0:
                    at = seen - tied
                    for i in range(p, last):
                        if target[i] == 1:
                            w = weights[document[i], r] if len(weights) > 0 else 1.0
                            if len(shares) > 0:
                                w *= shares[query[i], r]
                            at += w
                            total += w * (right + at - (seen - tied)) / max(at, 1e-300)
                right += tied
                tied, last = 0.0, p
            out[g, r] = total


@kernel
def sums_at(
    positions: Ints,
    query: Codes,
    document: Codes,
    target: Flags,
    gain: Floats,
    loss: Floats,
    weights: Floats,
    gained: Floats,
    lost: Floats,
) -> None:
    """Gains and losses when the trials from each position on are accepted.

    `positions` ascend; `gained` and `lost` are positions x replicates.
    """
    replicates = gain.shape[1]
    gains, losses = np.zeros(replicates), np.zeros(replicates)
    last = len(query)
    for k in range(len(positions) - 1, -1, -1):
        for p in range(last - 1, positions[k] - 1, -1):
            q = query[p]
            for r in range(replicates):
                weight = weights[document[p], r] if len(weights) > 0 else 1.0
                if target[p] == 1:
                    gains[r] += gain[q, r] * weight
                else:
                    losses[r] += loss[q, r] * weight
        last = positions[k]
        for r in range(replicates):
            gained[k, r], lost[k, r] = gains[r], losses[r]
