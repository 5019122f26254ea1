"""Sorting trials by score.

When every score is exactly a 32-bit float, score, slot and class are packed into one 64-bit key and
sorted by value: about eight times faster at ten million trials than sorting an index and gathering
through it. Otherwise the key is the score rounded to 32 bits and the index of the trial; the few
scores that become equal by rounding are then ordered by their full values, or an index is sorted
where they are many. Rounding never creates a tie. Trials of a single unit (values without
intervals) need no index at all. Few trials are sorted by an index, without a kernel.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import FEW, kernel

CODE_BITS = 8
SLOT_BITS = 32 - CODE_BITS
MOVES = 2  # moves a trial above which sorting an index is the better way


@kernel
def ordered_bits(word: Any) -> Any:
    """Bits of a 32-bit float that sort as floats do: the sign bit of positive ones is flipped, all
    bits of negative ones.
    """
    return ~word if word >> np.uint32(31) else word | np.uint32(0x80000000)


@kernel
def pack_keys(
    scores: npt.NDArray[np.float32],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    keys: npt.NDArray[np.uint64],
) -> None:
    """Key = orderable score bits, code, slot (most significant first)."""
    bits = scores.view(np.uint32)
    for i in range(len(keys)):
        keys[i] = (
            (np.uint64(ordered_bits(bits[i])) << np.uint64(32))
            | (np.uint64(codes[i]) << np.uint64(24))
            | np.uint64(slots[i])
        )


@kernel
def unpack_keys(
    keys: npt.NDArray[np.uint64],
    bits: npt.NDArray[np.uint32],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
) -> None:
    """The inverse of `pack_keys`, into preallocated arrays."""
    for i in range(len(keys)):
        ordered = np.uint32(keys[i] >> np.uint64(32))
        bits[i] = ordered & np.uint32(0x7FFFFFFF) if ordered >> np.uint32(31) else ~ordered
        codes[i] = np.uint8((keys[i] >> np.uint64(24)) & np.uint64(0xFF))
        slots[i] = np.int32(keys[i] & np.uint64(0xFFFFFF))


@kernel
def order_by_range(
    scores: npt.NDArray[np.float64],
    narrow: npt.NDArray[np.float32],
    edges: npt.NDArray[np.float64],
    firsts: npt.NDArray[np.uint16],
    order: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Fill `order` with the rows, range by range and in each in their order; returns the first
    index of each range.

    Range k has the scores from edge k - 1 up to below edge k. `firsts`: for all scores whose 32-bit
    form begins with the same 16 bits, a range at or below theirs (`first_ranges`), from which few
    steps are left: 13 times faster than a binary search, whose branches processors cannot predict.
    """
    bits = narrow.view(np.uint32)
    ranges = np.empty(len(scores), np.uint16)
    starts = np.zeros(len(edges) + 2, np.int64)
    for i in range(len(scores)):
        k = int(firsts[ordered_bits(bits[i]) >> np.uint32(16)])
        while k < len(edges) and edges[k] <= scores[i]:
            k += 1
        ranges[i] = k
        starts[k + 1] += 1
    for k in range(len(edges) + 1):
        starts[k + 1] += starts[k]
    at = starts.copy()
    for i in range(len(scores)):
        order[at[ranges[i]]] = i
        at[ranges[i]] += 1
    return starts


def first_ranges(edges: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """Number of edges below all scores whose 32-bit form, sortable as an integer, begins with the
    same 16 bits; shape (65536,).
    """
    with np.errstate(over="ignore"):
        bits = (edges.astype(np.float32) + np.float32(0)).view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000)) >> 16
    return np.searchsorted(ordered, np.arange(1 << 16)).astype(np.uint16)


@kernel
def place_keys(scores: npt.NDArray[np.float32], keys: npt.NDArray[np.uint64]) -> None:
    """Key = orderable score bits, index of the trial."""
    bits = scores.view(np.uint32)
    for i in range(len(keys)):
        keys[i] = (np.uint64(ordered_bits(bits[i])) << np.uint64(32)) | np.uint64(i)


@kernel
def gather(
    keys: npt.NDArray[np.uint64],
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
    out_scores: npt.NDArray[np.floating[Any]],
    out_slots: npt.NDArray[np.int32],
    out_codes: npt.NDArray[np.uint8],
    out_extra: npt.NDArray[np.float64],
) -> None:
    """The entry of each trial, in the order of the indices in the low half of `keys`."""
    low = np.uint64(0xFFFFFFFF)
    for i in range(len(keys)):
        place = np.int64(keys[i] & low)
        out_scores[i] = scores[place]
        out_codes[i] = codes[place]
        for side in range(slots.shape[1]):
            out_slots[i, side] = slots[place, side]
        if len(extra) > 0:
            out_extra[i] = extra[place]


@kernel
def settle(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> bool:
    """Put gathered trials of equal rounded score in order of their full score.

    Returns False when this takes more than `MOVES` moves a trial.
    """
    left = MOVES * len(scores)
    for i in range(1, len(scores)):
        j = i
        while j > 0 and scores[j - 1] > scores[j]:  # never beyond a run of equal rounded score
            scores[j - 1], scores[j] = scores[j], scores[j - 1]
            codes[j - 1], codes[j] = codes[j], codes[j - 1]
            for side in range(slots.shape[1]):
                slots[j - 1, side], slots[j, side] = slots[j, side], slots[j - 1, side]
            if len(extra) > 0:
                extra[j - 1], extra[j] = extra[j], extra[j - 1]
            j -= 1
        left -= i - j
        if left < 0:
            return False
    return True


@kernel
def merge_classes(
    nontargets: npt.NDArray[np.floating[Any]],
    targets: npt.NDArray[np.floating[Any]],
    scores: npt.NDArray[np.floating[Any]],
    codes: npt.NDArray[np.uint8],
) -> None:
    """Merge the ascending scores of two classes; of tied ones the nontargets come first."""
    n = t = 0
    for i in range(len(scores)):
        if t == len(targets) or (n < len(nontargets) and nontargets[n] <= targets[t]):
            scores[i] = nontargets[n]
            n += 1
        else:
            scores[i] = targets[t]
            codes[i] = 1
            t += 1


Sorted = tuple[
    npt.NDArray[np.floating[Any]],
    npt.NDArray[np.int32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.float64],
]


def sort_trials(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> Sorted:
    """(scores, slots, codes, extra) in ascending order of score."""
    if len(scores) <= FEW:
        return _sort_index(scores, slots, codes, extra)
    plain = slots.shape[1] == 1 and len(extra) == 0
    if plain and not slots.any():
        return _sort_one_unit(scores, slots, codes, extra)
    with np.errstate(over="ignore"):  # what does not fit is found unequal
        narrow = scores.astype(np.float32) + np.float32(0)  # + 0: no two kinds of zero
    if plain and int(slots.max()) < 1 << SLOT_BITS and bool(np.array_equal(narrow, scores)):
        return _sort_packed(narrow, slots, codes, extra, scores.dtype)
    if len(scores) < 1 << 32:
        keys = np.empty(len(scores), np.uint64)
        place_keys(narrow, keys)
        keys.sort()
        found = (
            np.empty_like(scores),
            np.empty_like(slots),
            np.empty_like(codes),
            np.empty_like(extra),
        )
        gather(keys, scores, slots, codes, extra, *found)
        if settle(*found):
            return _with_ties(*found)
    return _sort_index(scores, slots, codes, extra)


def order_of(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> npt.NDArray[np.int64]:
    """Index of the trial at each position of `sort_trials`."""
    order = np.argsort(scores)
    ordered = scores[order]
    starts = ordered[1:] != ordered[:-1]
    tied = np.flatnonzero(np.append(~starts, False) | np.append(False, ~starts))
    own, ranks = order[tied], np.cumsum(np.append(0, starts))[tied]
    keys = [ranks, codes[own], *slots[own].T, *([extra[own]] if len(extra) else [])]
    order[tied] = own[np.lexsort(keys[::-1])]
    return order


def _sort_index(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> Sorted:
    """Trials gathered through a sorted index: for few trials, and for the hardest scores."""
    order = np.argsort(scores)
    return _with_ties(
        scores[order], slots[order], codes[order], extra[order] if len(extra) else extra
    )


def _with_ties(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> Sorted:
    """Sorted trials, with equal scores in order of class, units and weight, so that the order of
    rows in a file has no effect, not even on the last digit.
    """
    scores += 0.0  # no two kinds of zero
    starts = scores[1:] != scores[:-1]
    if starts.all():
        return scores, slots, codes, extra
    keys = np.zeros(len(scores), np.uint64)
    np.cumsum(starts, out=keys[1:])  # the rank of each score takes its place in the key
    keys <<= np.uint64(32)
    keys |= codes.astype(np.uint64) << np.uint64(SLOT_BITS)
    fits = int(slots[:, 0].max()) < 1 << SLOT_BITS
    if fits:
        keys |= slots[:, 0].astype(np.uint64)
    if fits and slots.shape[1] == 1 and len(extra) == 0:
        keys.sort()
        units = (keys & np.uint64((1 << SLOT_BITS) - 1)).astype(np.int32)
        return scores, units.reshape(-1, 1), (keys >> np.uint64(SLOT_BITS)).astype(np.uint8), extra
    tied = np.flatnonzero(np.append(~starts, False) | np.append(False, ~starts))
    further = [*slots[tied, int(fits) :].T, *([extra[tied]] if len(extra) else [])]
    order = tied[np.lexsort((*reversed(further), keys[tied]))]
    slots[tied], codes[tied] = slots[order], codes[order]
    if len(extra):
        extra[tied] = extra[order]
    return scores, slots, codes, extra


def _sort_one_unit(
    scores: npt.NDArray[np.floating[Any]],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
) -> Sorted:
    """Sorted trials of a single unit: each class is sorted by value, and the two are merged."""
    nontargets, targets = scores[codes == 0], scores[codes == 1]
    nontargets.sort()
    targets.sort()
    ordered, classes = np.empty(len(scores), scores.dtype), np.zeros(len(scores), np.uint8)
    merge_classes(nontargets, targets, ordered, classes)
    ordered += 0.0  # no two kinds of zero
    return ordered, np.zeros_like(slots), classes, extra  # zeros cost no memory until written


def _sort_packed(
    narrow: npt.NDArray[np.float32],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
    dtype: Any,
) -> Sorted:
    """Sorted trials whose scores are 32-bit floats: each is one key with its slot and class."""
    keys = np.empty(len(narrow), np.uint64)
    pack_keys(narrow, slots[:, 0], codes, keys)
    keys.sort()
    bits, slot = np.empty(len(keys), np.uint32), np.empty(len(keys), np.int32)
    code = np.empty(len(keys), np.uint8)
    unpack_keys(keys, bits, slot, code)
    return bits.view(np.float32).astype(dtype, copy=False), slot.reshape(-1, 1), code, extra
