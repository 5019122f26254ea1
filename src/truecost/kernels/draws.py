"""Resampling weights from a counter-based generator (Philox4x32-10; Salmon et al., SC 2011).

A draw depends only on (key, replicate, position), never on earlier draws: a replicate is equal in
any thread, in any block and on any machine. Arrays: `rows` is (replicates x units) uint16; the
units of stratum s are `members[start[s]:start[s + 1]]`.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

U32 = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)

# Poisson(1): cumulative probabilities as fractions of 2^32, up to the last that 32 bits can tell.
_POISSON = np.cumsum([np.exp(-1.0) / float(np.prod(np.arange(1, k + 1))) for k in range(13)])
POISSON_TABLE = np.floor(_POISSON * 2.0**32).astype(np.uint64)

TOP = np.uint64(24)  # bits below the upper byte of a word
POISSON_GUIDE = np.searchsorted(  # the weight of the least word with each upper byte
    POISSON_TABLE, np.arange(256, dtype=np.uint64) << TOP, side="right"
).astype(np.uint16)

LARGE = 1 << 16  # above this many units 32-bit draws would be visibly uneven: use 64 bits


@inline_kernel
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four uniform 32-bit words (kept in 64-bit integers) for counter c and key k."""
    for _ in range(10):
        p0 = MULTIPLIER_0 * c0
        p1 = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (p1 >> SHIFT) ^ c1 ^ k0, p1 & U32, (p0 >> SHIFT) ^ c3 ^ k1, p0 & U32
        k0 = (k0 + WEYL_0) & U32
        k1 = (k1 + WEYL_1) & U32
    return c0, c1, c2, c3


PLAIN_PHILOX: Any = getattr(philox, "py_func", philox)  # for arrays, without compilation


@kernel
def philox_words(
    counter: npt.NDArray[np.uint64], key: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """One Philox call as an array (for tests against the published vectors)."""
    return np.array(philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]))


@inline_kernel
def spread(high: np.uint64, low: np.uint64, n: np.uint64) -> np.int64:
    """Map 64 random bits to 0..n-1 (the high half of a 96-bit product)."""
    return np.int64((high * n + ((low * n) >> SHIFT)) >> SHIFT)


@kernel
def fill_words(
    words: npt.NDArray[np.uint64],
    first: int,
    replicate: np.uint64,
    stratum: np.uint64,
    k0: np.uint64,
    k1: np.uint64,
) -> None:
    """Words of the counters first, first + 1, ...: word j of a counter in row j of `words`.

    This loop is separate, so that the compiler vectorises it over counters.
    """
    for call in range(words.shape[1]):
        counter = np.uint64(first + call)
        w0, w1, w2, w3 = philox(counter & U32, counter >> SHIFT, replicate, stratum, k0, k1)
        words[0, call] = w0
        words[1, call] = w1
        words[2, call] = w2
        words[3, call] = w3


CALLS = 512  # counters at a time: their words stay in the first-level cache


@kernel
def draw_units(
    row: npt.NDArray[np.uint16],
    members: npt.NDArray[np.int64],
    offset: int,
    size: int,
    words: npt.NDArray[np.uint64],
    draws: int,
) -> None:
    """Add draws from one stratum to its units: one word a draw, or two above `LARGE` units."""
    n = np.uint64(size)
    if size > LARGE:
        for d in range(draws):
            j, call = 2 * (d & 1), d >> 1
            unit = offset + spread(words[j, call], words[j + 1, call], n)
            row[members[unit] if len(members) > 0 else unit] += 1
    elif len(members) > 0:
        for d in range(draws):
            row[members[offset + np.int64((words[d & 3, d >> 2] * n) >> SHIFT)]] += 1
    else:
        for d in range(draws):
            row[offset + np.int64((words[d & 3, d >> 2] * n) >> SHIFT)] += 1


@kernel
def multinomial_rows(
    rows: npt.NDArray[np.uint16],
    first_replicate: int,
    members: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    k0: np.uint64,
    k1: np.uint64,
) -> None:
    """Draw from each stratum, with replacement, as many units as it has.

    `members` is empty when the units of each stratum are consecutive.
    """
    rows[:] = 0
    words = np.empty((4, CALLS), np.uint64)
    for r in range(rows.shape[0]):
        for s in range(len(start) - 1):
            size = start[s + 1] - start[s]
            each = CALLS * (2 if size > LARGE else 4)
            for done in range(0, size, each):
                first = done // each * CALLS
                fill_words(words, first, np.uint64(first_replicate + r), np.uint64(s), k0, k1)
                draw_units(rows[r], members, start[s], size, words, min(each, size - done))


def multinomial_few(
    rows: npt.NDArray[np.uint16],
    first_replicate: int,
    members: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    k0: np.uint64,
    k1: np.uint64,
) -> None:
    """The result of `multinomial_rows`, for few draws of at most `LARGE` units: no kernel is
    needed.
    """
    replicates, units = rows.shape
    replicate = np.arange(first_replicate, first_replicate + replicates, dtype=np.uint64)
    drawn = np.empty((replicates, start[-1]), np.int64)
    for s, (begin, end) in enumerate(pairwise(start.tolist())):
        counters, size = np.arange((end - begin + 3) // 4, dtype=np.uint64), np.uint64(end - begin)
        zero, stratum = np.uint64(0), np.uint64(s)
        words = np.stack(PLAIN_PHILOX(counters, zero, replicate[:, None], stratum, k0, k1), axis=2)
        own = (words.reshape(replicates, -1)[:, : end - begin] * size) >> SHIFT
        drawn[:, begin:end] = begin + own.astype(np.int64)
    drawn = members[drawn] if len(members) else drawn
    drawn += np.arange(replicates)[:, None] * units
    rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)


@kernel
def poisson_rows(
    rows: npt.NDArray[np.uint16],
    first_replicate: int,
    table: npt.NDArray[np.uint64],
    guide: npt.NDArray[np.uint16],
    k0: np.uint64,
    k1: np.uint64,
) -> None:
    """An independent Poisson(1) weight for each unit: the number of entries of the table that a
    word reaches.

    `guide`: first entry to compare, by the upper byte of the word (1.6 ns a draw instead of 9).
    """
    units = rows.shape[1]
    calls = (units + 3) // 4
    zero = np.uint64(0)
    words = np.empty((4, CALLS), np.uint64)
    for r in range(rows.shape[0]):
        replicate = np.uint64(first_replicate + r)
        for first in range(0, calls, CALLS):
            fill_words(words, first, replicate, zero, k0, k1)
            for unit in range(4 * first, min(units, 4 * (first + CALLS))):
                word = words[unit & 3, (unit >> 2) - first]
                weight = np.int64(guide[word >> TOP])
                while weight < len(table) and word >= table[weight]:
                    weight += 1
                rows[r, unit] = weight


@kernel
def block_rows(
    rows: npt.NDArray[np.uint16],
    first_replicate: int,
    members: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    k0: np.uint64,
    k1: np.uint64,
) -> None:
    """Moving blocks: a unit weighs the number of drawn blocks that cover it.

    Blocks of `lengths[s]` successive units start anywhere in stratum s; the last block is cut so
    that the weights of a stratum sum to its number of units.
    """
    rows[:] = 0
    zero = np.uint64(0)
    for r in range(rows.shape[0]):
        replicate = np.uint64(first_replicate + r)
        for s in range(len(start) - 1):
            size = start[s + 1] - start[s]
            length = lengths[s]
            starts = np.uint64(size - length + 1)
            left = size
            draw = 0
            while left > 0:
                w0, w1, _, _ = philox(np.uint64(draw), zero, replicate, np.uint64(s), k0, k1)
                begin = start[s] + spread(w0, w1, starts)
                for j in range(min(length, left)):
                    unit = begin + j
                    rows[r, members[unit] if len(members) > 0 else unit] += 1
                left -= length
                draw += 1
