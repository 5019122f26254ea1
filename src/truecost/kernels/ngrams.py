"""Matching n-grams of two or more sequences, without ever building an n-gram.

An n-gram is known by a small number: that of its first n - 1 tokens and its last token are looked
up together in a hash table, exactly (the pair itself is stored). So each order takes one step for
each token, whatever n is.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Ints = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.int32]
FREE = -1  # a place of the table that holds nothing; the number of an n-gram that is not in it
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring keys


@kernel
def _number(
    tokens: Tokens, bounds: Ints, n: int, keys: Ints, numbers: Tokens, names: Tokens, enter: bool
) -> int:
    """Put into `names` the number of the n + 1 tokens that start at each place of a sequence, FREE
    where they are not in the table; with `enter` they are entered, and their number is returned.

    `names` holds those of the first n tokens; the table has a power of two of places.
    """
    distinct = 0
    shift = np.uint64(64 - int(np.log2(len(keys))))
    for k in range(bounds[0], bounds[1] - n):
        if n > 0 and names[k] == FREE:
            continue
        key = np.int64(tokens[k + n])
        if n > 0:
            key |= np.int64(names[k]) << 32
        place = np.int64((np.uint64(key) * MIX) >> shift)
        while keys[place] != FREE and keys[place] != key:
            place = (place + 1) & (len(keys) - 1)
        if enter and keys[place] == FREE:
            keys[place], numbers[place] = key, distinct
            distinct += 1
        names[k] = numbers[place] if keys[place] == key else FREE
    return distinct


@kernel
def ngram_matches(tokens: Tokens, bounds: Ints, matches: Ints) -> None:
    """Count in `matches` (items x orders) the n-grams of side 0 that another side has too, each at
    most as often as the side that has it most often.

    `tokens` (at least 0) are those of all sides; item i of side s is
    `tokens[bounds[i, s, 0]:bounds[i, s, 1]]`.
    """
    longest = np.max(bounds[:, 0, 1] - bounds[:, 0, 0])
    room = 1 << (int(np.log2(longest + 1)) + 2)  # at most half of the places are ever taken
    table, numbers = np.empty(room, np.int64), np.empty(room, np.int32)
    own, here, most = np.empty((3, longest), np.int64)
    names = np.empty(len(tokens), np.int32)
    for i in range(len(bounds)):
        length = bounds[i, 0, 1] - bounds[i, 0, 0]
        keys = table[: 1 << (int(np.log2(length + 1)) + 2)]
        for n in range(matches.shape[1]):
            keys[:] = FREE
            distinct = _number(tokens, bounds[i, 0], n, keys, numbers, names, True)
            own[:distinct] = 0
            most[:distinct] = 0
            for k in range(bounds[i, 0, 0], bounds[i, 0, 1] - n):
                own[names[k]] += 1
            for s in range(1, bounds.shape[1]):
                _number(tokens, bounds[i, s], n, keys, numbers, names, False)
                here[:distinct] = 0
                for k in range(bounds[i, s, 0], bounds[i, s, 1] - n):
                    if names[k] != FREE:
                        here[names[k]] += 1
                        most[names[k]] = max(most[names[k]], here[names[k]])
            for g in range(distinct):
                matches[i, n] += min(own[g], most[g])
            if matches[i, n] == 0:
                break  # a longer n-gram has shorter ones in it
