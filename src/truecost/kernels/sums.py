"""Weighted sums of entries, and weights of labels that represent many equal units.

Exact binomial and Poisson counts: by inversion where the mean is small, otherwise by transformed
rejection with a squeeze (BTRS and PTRS of Hörmann 1993, "The generation of binomial random
variates", J. Stat. Comput. Simul. 46, and "The transformed rejection method for generating Poisson
random variables", Insurance: Mathematics and Economics 12). A count depends only on (key,
replicate, stratum, place among the labels drawn in this way, attempt); its counters never meet
those of `draws`, whose second word is 0.
Arrays: `rows` is (replicates x labels) uint32, `sizes` (labels,) the number of units of each label,
`large` the labels drawn by their size.

An entry is (one slot per side, one cell, one number per statistic). A slot is a column of the
weight block; an entry weighs the product of its slots' weights. Replicates lie in the last,
contiguous axis, so the inner loop runs over replicates side by side while each replicate still
adds its entries in their order: no sum depends on threads or vector width.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel
from truecost.kernels.draws import CALLS, LARGE, draw_units, fill_words, philox

Rows = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Word = np.uint64
At = tuple[int, Word, Word, Word, Word]  # place, replicate, stratum and key of a count
INVERT_BELOW = 10.0  # the rejection methods are made for means from 10 up
NEGLIGIBLE = 2.0**-54  # below the step of a uniform number: ends the tail of an inversion
FIRST_ATTEMPT = 1 << 32  # the second word of the counter is the attempt, from 1


@inline_kernel
def uniform(high: Word, low: Word) -> float:
    """The middle of one of 2^52 equal parts of (0, 1): exact, never 0 or 1."""
    part = (high << np.uint64(20)) | (low >> np.uint64(12))
    return (np.float64(np.int64(part)) + 0.5) * 2.0**-52


@kernel
def uniforms(at: At, attempt: int) -> tuple[float, float]:
    """The two uniform numbers of an attempt."""
    place, replicate, stratum, k0, k1 = at
    w0, w1, w2, w3 = philox(np.uint64(place), np.uint64(attempt), replicate, stratum, k0, k1)
    return uniform(w0, w1), uniform(w2, w3)


@inline_kernel
def inverted(u: float, first: float, a: float, s: float) -> int:
    """Least k with P(X <= k) >= u, where P(X = 0) is `first` and P(k) = P(k - 1) (a / k - s)."""
    k, p = 0, first
    while u > p > NEGLIGIBLE:
        u -= p
        k += 1
        p *= a / k - s
    return k


@kernel
def poisson(mean: float, u: float, v: float, at: At) -> int:
    """A Poisson count; `u` and `v` are the uniforms of the first attempt."""
    if mean < INVERT_BELOW:
        return inverted(u, math.exp(-mean), mean, 0.0)
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    attempt = 1
    while True:
        x = u - 0.5
        edge = 0.5 - abs(x)
        k = np.floor((2.0 * a / edge + b) * x + mean + 0.43)
        if edge >= 0.07 and v <= squeeze:
            return int(k)
        if k >= 0.0 and (edge >= 0.013 or v <= edge):
            hat = (1.1239 + 1.1328 / (b - 3.4)) / (a / (edge * edge) + b)
            if math.log(v * hat) <= k * math.log(mean) - mean - math.lgamma(k + 1.0):
                return int(k)
        attempt += 1
        u, v = uniforms(at, attempt)


@kernel
def binomial(n: int, p: float, u: float, v: float, at: At) -> int:
    """A binomial count, p at most 1/2; `u` and `v` are the uniforms of the first attempt."""
    if n * p < INVERT_BELOW:
        odds = p / (1.0 - p)
        return min(n, inverted(u, math.exp(n * math.log1p(-p)), (n + 1) * odds, odds))
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    squeeze = 0.92 - 4.2 / b
    attempt = 1
    while True:
        x = u - 0.5
        edge = 0.5 - abs(x)
        k = np.floor((2.0 * a / edge + b) * x + n * p + 0.5)
        if edge >= 0.07 and v <= squeeze:
            return int(k)
        if 0.0 <= k <= n:
            mode = np.floor((n + 1) * p)
            hat = (2.83 + 5.1 / b) * spread / (a / (edge * edge) + b)
            chance = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
            chance -= math.lgamma(k + 1.0) + math.lgamma(n - k + 1.0)
            if math.log(v * hat) <= chance + (k - mode) * math.log(p / (1.0 - p)):
                return int(k)
        attempt += 1
        u, v = uniforms(at, attempt)


@kernel
def share_of(draws: int, size: int, units: int, u: float, v: float, at: At) -> int:
    """Number of `draws` among `units` that are in a part of `size`: binomial, exact at its ends."""
    if size == units:
        return draws
    if 2 * size > units:
        return draws - binomial(draws, (units - size) / units, u, v, at)
    return binomial(draws, size / units, u, v, at)


@kernel
def poisson_counts(
    rows: Rows, first_replicate: int, sizes: Ints, large: Ints, k0: Word, k1: Word
) -> None:
    """An independent Poisson weight for each label in `large`, its size the mean."""
    words = np.empty((4, CALLS), np.uint64)
    for r in range(rows.shape[0]):
        replicate = np.uint64(first_replicate + r)
        for done in range(0, len(large), CALLS):
            fill_words(words, FIRST_ATTEMPT + done, replicate, np.uint64(0), k0, k1)
            for j in range(min(CALLS, len(large) - done)):
                label = large[done + j]
                u, v = uniform(words[0, j], words[1, j]), uniform(words[2, j], words[3, j])
                at = (done + j, replicate, np.uint64(0), k0, k1)
                rows[r, label] = poisson(np.float64(sizes[label]), u, v, at)


@kernel
def draw_large(
    row: npt.NDArray[np.uint32],
    sizes: Ints,
    large: Ints,
    units: int,
    words: npt.NDArray[np.uint64],
    replicate: Word,
    stratum: Word,
    k0: Word,
    k1: Word,
) -> int:
    """Draw the counts of the large labels of a stratum, of as many draws as it has `units`; returns
    the number of draws left for the others.

    Each label takes a binomial share of the draws that the labels before it left.
    """
    left = units
    for done in range(0, len(large), CALLS):
        fill_words(words, FIRST_ATTEMPT + done, replicate, stratum, k0, k1)
        for j in range(min(CALLS, len(large) - done)):
            label = large[done + j]
            u, v = uniform(words[0, j], words[1, j]), uniform(words[2, j], words[3, j])
            at = (done + j, replicate, stratum, k0, k1)
            count = share_of(left, sizes[label], units, u, v, at)
            row[label] = count
            left -= count
            units -= sizes[label]
    return left


@kernel
def multinomial_counts(
    rows: Rows,
    first_replicate: int,
    sizes: Ints,
    large: Ints,
    large_start: Ints,
    single: Ints,
    single_start: Ints,
    k0: Word,
    k1: Word,
) -> None:
    """Draw from each stratum, with replacement, as many units as it has.

    The large labels of stratum s are `large[large_start[s]:large_start[s + 1]]`; `single` is the
    label of each unit of all others, with `single_start` likewise: these units are drawn one by
    one, as in `draws`.
    """
    rows[:] = 0
    words = np.empty((4, CALLS), np.uint64)
    for r in range(rows.shape[0]):
        replicate = np.uint64(first_replicate + r)
        for s in range(len(large_start) - 1):
            stratum = np.uint64(s)
            offset = single_start[s]
            size = single_start[s + 1] - offset
            chosen = large[large_start[s] : large_start[s + 1]]
            units = size
            for label in chosen:
                units += sizes[label]
            left = draw_large(rows[r], sizes, chosen, units, words, replicate, stratum, k0, k1)
            each = CALLS * (2 if size > LARGE else 4)
            for done in range(0, left, each):
                fill_words(words, done // each * CALLS, replicate, stratum, k0, k1)
                draw_units(rows[r], single, offset, size, words, min(each, left - done))


Columns = npt.NDArray[np.floating[Any]]  # float64 where weights may exceed 2^24


@kernel
def entry_sums(
    columns: Columns,
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Add to `out` (cells x statistics x replicates) the weighted `values` (entries x statistics).

    `columns` is (slots x replicates); `slots` is (entries x sides).
    """
    # Plain indices, no row views: a view's reference count is shared between threads (2x slower).
    replicates = columns.shape[1]
    weight = np.empty(replicates, columns.dtype)
    for e in range(len(cells)):
        cell, slot = cells[e], slots[e, 0]
        for r in range(replicates if slots.shape[1] > 1 else 0):
            weight[r] = columns[slot, r]
        for side in range(1, slots.shape[1]):
            slot = slots[e, side]
            for r in range(replicates):
                weight[r] *= columns[slot, r]
        for s in range(values.shape[1]):
            value = values[e, s]
            if value == 0.0:
                continue
            if slots.shape[1] > 1:
                for r in range(replicates):
                    out[cell, s, r] += weight[r] * value
            else:
                for r in range(replicates):
                    out[cell, s, r] += columns[slot, r] * value


def sums_of_few(
    columns: Columns,
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """The result of `entry_sums`, in the same order, for few entries, without a kernel; `out` is
    zero.
    """
    size, _, replicates = out.shape
    step = 1 + (1 << 17) // (1 + len(cells))  # of replicates: larger arrays take four times as long
    for start in range(0, replicates, step):
        own = columns[:, start : start + step]
        weight = own[slots[:, 0]]
        for side in range(1, slots.shape[1]):
            weight *= own[slots[:, side]]
        shape = size, weight.shape[1]
        keys = (cells[:, None] * shape[1] + np.arange(shape[1])).ravel()
        for s, column in enumerate(values.T):
            weighed = (weight * column[:, None]).ravel()
            sums = np.bincount(keys, weighed, shape[0] * shape[1])
            out[:, s, start : start + step] = sums.reshape(shape)


@kernel
def take_away(
    groups: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Subtract from `out` (cells x statistics x replicates) the `values` that are left out.

    `groups`: replicate that leaves out each slot, outside their range for none; an entry is
    subtracted once, however many of its slots are left out.
    """
    replicates = out.shape[2]
    for e in range(len(cells)):
        for side in range(slots.shape[1]):
            group = groups[slots[e, side]]
            if group < 0 or group >= replicates:
                continue
            again = False
            for earlier in range(side):
                again = again or groups[slots[e, earlier]] == group
            if again:
                continue
            for s in range(values.shape[1]):
                out[cells[e], s, group] -= values[e, s]


def take_few(
    groups: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """The result of `take_away`, in the same order, for few entries of one side, without a kernel;
    `out` is contiguous.
    """
    _, statistics, replicates = out.shape
    group = groups[slots[:, 0]]
    gone = (group >= 0) & (group < replicates)
    places = cells[gone, None] * statistics + np.arange(statistics)
    places = places * replicates + group[gone, None]
    np.subtract.at(out.reshape(-1), places.reshape(-1), values[gone].reshape(-1))


@kernel
def transpose_block(
    rows: npt.NDArray[np.unsignedinteger[Any]], columns: Columns, offset: int
) -> None:
    """Write `rows` (replicates x units) into `columns` (slots x replicates) from slot `offset`."""
    tile = 16  # units whose lines of the input stay near; writing along a line is 5 times faster
    replicates, units = rows.shape
    for start in range(0, units, tile):
        for u in range(start, min(units, start + tile)):
            for r in range(replicates):
                columns[offset + u, r] = rows[r, u]


@kernel
def bucket_entries(
    edges: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
    width: int,
    out_slots: npt.NDArray[np.int32],
    out_cells: npt.NDArray[np.int64],
    out_values: npt.NDArray[np.float64],
) -> int:
    """One entry for each (bucket, class, slot) that occurs, of trials in order of bucket; returns
    their number. The outputs have room for all that can occur.
    """
    counts = np.zeros((2, width))
    seen = np.zeros((2, width), np.bool_)
    entries = 0
    for bucket in range(len(edges) - 1):
        first = entries
        for i in range(edges[bucket], edges[bucket + 1]):
            code, slot = codes[i], slots[i]
            counts[code, slot] += extra[i] if len(extra) > 0 else 1.0
            if not seen[code, slot]:
                seen[code, slot] = True
                out_slots[entries], out_cells[entries] = slot, 2 * bucket + code
                entries += 1
        for e in range(first, entries):
            code, slot = out_cells[e] - 2 * bucket, out_slots[e]
            out_values[e] = counts[code, slot]
            counts[code, slot] = 0.0
            seen[code, slot] = False
    return entries


@kernel
def add_by_key(
    keys: npt.NDArray[np.int32], values: npt.NDArray[np.float64], out: npt.NDArray[np.float64]
) -> None:
    """Add each value at the index of its key, in order."""
    for i in range(len(keys)):
        out[keys[i]] += values[i]
