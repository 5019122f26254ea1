"""Pairs of a target and a nontarget: the area under the curve of each replicate.

Conventions as in `sweeps`: trials in ascending order of score, code 1 for a target, 0 for a
nontarget. A pair that the target wins counts two, a tied one one: whole numbers, which are halved
at the end.

There are two ways with equal results. One reads all trials for each replicate. The other counts
once how often the targets of each unit win against the nontargets of each other unit: with weights
w of units, w' wins w is twice the weight of the pairs, and the trials are not read again.
"""

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sums import Columns
from truecost.kernels.sweeps import Codes, Cuts, Floats, Ints, UnitIndex


@kernel
def areas(
    columns: Columns,
    slots: UnitIndex,
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
        slot = slots[i, 0]
        for r in range(replicates):
            weight[r] = columns[slot, r]
        for side in range(1, slots.shape[1]):
            slot = slots[i, side]
            for r in range(replicates):
                weight[r] *= columns[slot, r]
        if len(extra) > 0:
            for r in range(replicates):
                weight[r] *= extra[i]
        last = i + 1 == trials or cut[i + 1]
        if cut[i] and last:
            if codes[i] == 1:
                for r in range(replicates):
                    out[r] += weight[r] * below[r]
            else:
                for r in range(replicates):
                    below[r] += weight[r]
            continue
        if codes[i] == 1:
            for r in range(replicates):
                tied_targets[r] += weight[r]
        else:
            for r in range(replicates):
                tied_nontargets[r] += weight[r]
        if last:
            for r in range(replicates):
                out[r] += tied_targets[r] * (below[r] + 0.5 * tied_nontargets[r])
                below[r] += tied_nontargets[r]
                tied_targets[r] = 0.0
                tied_nontargets[r] = 0.0


def pairs_of_few(column: Columns, slots: UnitIndex, codes: Codes, cut: Cuts) -> float:
    """The result of `areas` for whole weights, (slots,), of one replicate, without a kernel."""
    weights = column[slots].astype(np.float64).prod(axis=1)
    starts = np.flatnonzero(cut)
    targets = np.add.reduceat(np.where(codes == 1, weights, 0.0), starts)
    nontargets = np.add.reduceat(np.where(codes == 1, 0.0, weights), starts)
    return float(targets @ (np.cumsum(nontargets) - 0.5 * nontargets))


LEAST, CACHED = 256, 1 << 20  # units counted at a time, and pairs of units whose counts are near


def tile_of(units: int) -> int:
    """Number of units that are counted at a time, so that their counts stay in the cache (twice as
    fast at 3,000 units, where all at once take 72 MB).
    """
    return max(1, min(units, max(LEAST, CACHED // max(units, 1))))


@kernel
def pair_wins(
    units: UnitIndex, codes: Codes, cut: Cuts, counted: int, tile: int, wins: Ints
) -> None:
    """Fill `wins` (units x units): 2 for each pair of a trial of class `counted` and one of the
    other class below it, 1 where they are tied, by the unit of the first and that of the other.

    `units` is (trials x 1). Each trial of the class `counted` adds a row: it should be the rarer.
    """
    trials, size = len(codes), wins.shape[1]
    below = np.empty(tile, np.int64)  # twice the trials of each unit, once those of this tie
    won = np.empty((size, tile), np.int64)  # adding to a part of a longer row is 10 times slower
    for first in range(0, size, tile):
        below[:] = 0
        won[:] = 0
        start = 0
        while start < trials:
            if start + 1 == trials or cut[start + 1]:  # alone, as most: 3 times faster than as ties
                if codes[start] == counted:
                    row = np.uint64(units[start, 0])
                    for u in range(tile):
                        won[row, u] += below[u]
                else:
                    place = units[start, 0] - first
                    if 0 <= place < tile:
                        below[place] += 2
                start += 1
                continue
            stop = start + 1
            while stop < trials and not cut[stop]:
                stop += 1
            count_others(units, codes, counted, start, stop, first, below)
            for i in range(start, stop):
                if codes[i] == counted:
                    row = np.uint64(units[i, 0])
                    for u in range(tile):
                        won[row, u] += below[u]
            count_others(units, codes, counted, start, stop, first, below)
            start = stop
        for unit in range(size):
            for u in range(min(tile, size - first)):
                wins[unit, first + u] = won[unit, u]


@kernel
def count_others(
    units: UnitIndex, codes: Codes, counted: int, start: int, stop: int, first: int, below: Ints
) -> None:
    """Count the trials of a tie that are not of class `counted`, by unit."""
    for i in range(start, stop):
        place = units[i, 0] - first
        if codes[i] != counted and 0 <= place < len(below):
            below[place] += 1


@kernel
def quadratic_forms(wins: Ints, columns: Columns, out: Floats) -> None:
    """W' wins w of the weights of each replicate; `columns` is (slots x replicates).

    Whole numbers below 2^53: exact in any order.
    """
    size, replicates = wins.shape[0], len(out)
    row = np.empty(replicates)
    for t in range(size):
        for r in range(replicates):
            row[r] = 0.0
        for u in range(size):
            won = np.float64(wins[t, u])
            for r in range(replicates):
                row[r] += columns[u, r] * won
        for r in range(replicates):
            out[r] += row[r] * columns[t, r]
