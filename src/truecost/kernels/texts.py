"""Sequences of codes: least edits, the nearest path through alternatives, matching n-grams.

Nodes are numbered so that every edge goes up, from the first to the last; the edges that leave a
node stand together, in the order of the text; an edge carries a run of words. A cost is errors *
`ERROR` - hits, so that of paths with equally few errors the one with more hits is nearer.

An n-gram is known by a small number: that of its first n - 1 tokens and its last token are looked
up together in a hash table, exactly (the pair itself is stored). So each order takes one step for
each token, whatever n is.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

Ints = npt.NDArray[np.int64]


@kernel
def distance(one: Ints, other: Ints) -> int:
    """Substitutions, insertions and deletions that make one sequence the other (Levenshtein).

    Parameters
    ----------
    one, other : ndarray of int64
        Codes of the units of each sequence; equal units have equal codes.

    Returns
    -------
    int
        Number of edits, from 0 to the length of the longer sequence.
    """
    row = np.arange(len(other) + 1)  # edits from the units of `one` so far to each prefix
    for i in range(len(one)):
        diagonal, row[0] = row[0], i + 1
        for j in range(len(other)):
            changed = diagonal + (one[i] != other[j])
            diagonal = row[j + 1]
            row[j + 1] = min(changed, diagonal + 1, row[j] + 1)
    return int(row[len(other)])


ERROR = 1 << 32
FAR = 1 << 62


@inline_kernel
def _extend(row: Ints, word: int, others: Ints) -> None:
    """The least costs of a text with one more word against the first 0, 1, 2, ... of `others`, from
    those without this word.
    """
    before = row[0]
    row[0] = before + ERROR
    for j in range(len(others)):
        through = before - 1 if others[j] == word else before + ERROR
        before = row[j + 1]
        row[j + 1] = min(through, before + ERROR, row[j] + ERROR)


@kernel
def nearest_path(
    starts: Ints,
    targets: Ints,
    runs: Ints,
    words: Ints,
    hypothesis: Ints,
    kept: npt.NDArray[np.bool_],
) -> None:
    """Mark in `kept` the edges of the nearest path; of equally near ones the first in the text.

    The edges that leave node n are `starts[n]` to `starts[n + 1]`; edge e leads to `targets[e]` and
    has the words `runs[e, 0]` to `runs[e, 1]`.
    """
    nodes, last = len(starts) - 1, len(hypothesis)
    backwards = hypothesis[::-1].copy()
    rest = np.full((nodes, last + 1), FAR)  # least costs of what follows, by words still to come
    for j in range(last + 1):
        rest[nodes - 1, j] = j * ERROR
    row = np.empty(last + 1, np.int64)
    for node in range(nodes - 2, -1, -1):
        for e in range(starts[node], starts[node + 1]):
            row[:] = rest[targets[e]]
            for w in range(runs[e, 1] - 1, runs[e, 0] - 1, -1):
                _extend(row, words[w], backwards)
            rest[node] = np.minimum(rest[node], row)
    nearest = rest[0, last]
    reached = rest[nodes - 1].copy()
    node = 0
    while node < nodes - 1:
        for e in range(starts[node], starts[node + 1]):
            row[:] = reached
            for w in range(runs[e, 0], runs[e, 1]):
                _extend(row, words[w], hypothesis)
            if (row + rest[targets[e]][::-1]).min() == nearest:
                kept[e] = True
                node = targets[e]
                break
        reached[:] = row


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
    most as often as in the side with the most of them.

    `tokens` (at least 0) are those of all sides; item i of side s is `tokens[bounds[i, s,
    0]:bounds[i, s, 1]]`.
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
