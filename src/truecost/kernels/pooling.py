"""Pooled adjacent violators: cross entropy after the best monotone calibration of each replicate.

Conventions as in `sweeps`: trials in ascending order of score, code 1 for a target, 0 for a
nontarget. `knots` are the positions where blocks of the calibration may end, whatever the weights;
the trials between two of them are an *interval*. The blocks are the convex hull of the points
(weight of nontargets so far, weight of targets so far) at the knots.

Bucket and refine, as in `sweeps`: the weights of buckets of about `BUCKET` trials, and of groups of
`GROUP` buckets, are summed for all replicates. Inside a piece no point is below its corner (all its
nontargets first, then all its targets). Where the corner is on or above the hull of the ends of the
pieces, the piece has no point of the hull: of 1e7 trials of 1,000 speakers and 1,000 replicates one
group in ten is opened, and of its buckets one in ten. Sums of whole numbers are exact: the blocks,
and the entropies to the last digit, equal those from every interval (`pooled_entropies`), in a
sixth of the CPU time (a third at 1e6 trials, a fifth with 100,000 units, whose weights then stay in
the cache; `python -m benchmarks --only ranked`).
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel
from truecost.kernels.sums import Columns
from truecost.kernels.sweeps import Codes, Cuts, Floats, Ints, UnitIndex

Bytes = npt.NDArray[np.uint8]  # (slots x replicates)
LANES = 16  # replicates pooled side by side: one cache line of float32 weights serves them all
SIDE_BY_SIDE = 64  # the same of weights of one byte
LARGEST = 0xFFFF  # of the sums of a few trials: 16 bits hold them, so that one addition does 32
BUCKET = 16  # trials
GROUP = 8  # buckets
SLAB = 2048  # buckets whose sums are held at once: 2 MB for 64 replicates
SPREAD = 5  # so that the sums of replicates do not meet in the same lines of the cache
INSIDE, LAST, OPEN = 0, 1, 2


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


def knots_of_few(codes: Codes, cut: Cuts) -> Ints:
    """The result of `pooling_knots` for few trials, without a kernel."""
    starts = np.flatnonzero(cut)
    ends = np.append(starts[1:], len(codes))
    targets = np.add.reduceat(codes, starts, dtype=np.int64) if len(starts) else starts
    separate = (targets[:-1] < (ends - starts)[:-1]) & (targets[1:] > 0)
    last = [len(codes)] if len(codes) else []
    return np.array([0, *starts[1:][separate], *last], np.int64)


@kernel
def entropy_of_blocks(prior: float, targets: Floats, nontargets: Floats) -> float:
    """Cross entropy in bits of blocks whose posterior is their own share of targets."""
    total_t, total_n = 0.0, 0.0
    for k in range(len(targets)):
        total_t += targets[k]
        total_n += nontargets[k]
    if total_t <= 0.0 or total_n <= 0.0:
        return np.nan
    entropy = 0.0
    for k in range(len(targets)):
        t = prior * targets[k] / total_t
        n = (1.0 - prior) * nontargets[k] / total_n
        if t > 0.0 and n > 0.0:
            entropy += t * np.log2((t + n) / t) + n * np.log2((t + n) / n)
    return entropy


@kernel
def pooled_entropies(
    priors: Floats,
    columns: Columns,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    knots: Ints,
    out: Floats,
) -> None:
    """Cross entropy in bits at each replicate's prior after its own best monotone calibration.

    Pool adjacent violators over the intervals between `knots`: a stack of blocks (weight of
    targets, weight of nontargets) for each replicate, with targets/nontargets strictly rising. Used
    where weights are not small whole numbers.
    """
    replicates, size = len(out), len(knots)  # `max` and `min` take 0.2 s to compile
    width = LANES if replicates > LANES else replicates
    targets, nontargets = np.empty((width, size)), np.empty((width, size))
    weight, sums, tops = np.empty(LANES), np.empty((2, LANES)), np.empty(LANES, np.int64)
    for start in range(0, replicates, LANES):
        lanes = LANES if replicates - start > LANES else replicates - start
        for r in range(LANES):
            tops[r] = -1
        for k in range(len(knots) - 1):
            for r in range(LANES):
                sums[0, r] = 0.0
                sums[1, r] = 0.0
            for i in range(knots[k], knots[k + 1]):
                slot, code = slots[i, 0], codes[i]
                for r in range(lanes):
                    weight[r] = columns[slot, start + r]
                for side in range(1, slots.shape[1]):
                    slot = slots[i, side]
                    for r in range(lanes):
                        weight[r] *= columns[slot, start + r]
                own = extra[i] if len(extra) > 0 else 1.0
                for r in range(lanes):
                    sums[code, r] += weight[r] * own
            for r in range(lanes):
                tops[r] = push(r, sums[0, r], sums[1, r], targets, nontargets, tops[r])
        for r in range(lanes):
            last = tops[r] + 1
            out[start + r] = entropy_of_blocks(
                priors[start + r], targets[r, :last], nontargets[r, :last]
            )


@kernel
def pooled_counts(
    priors: Floats,
    columns: Bytes,
    most: int,
    slots: UnitIndex,
    codes: Codes,
    knots: Ints,
    out: Floats,
    bucket: int = BUCKET,
    slab: int = SLAB,
) -> None:
    """`pooled_entropies` of trials without weights of their own, whose units weigh small whole
    numbers; `most` trials weigh at most `LARGEST` in any replicate.
    """
    lanes = columns.shape[1]
    edges = np.empty(len(knots), np.int64)  # of buckets, as places in `knots`
    buckets = bucket_edges(knots, bucket, edges)
    sums = np.empty((lanes, slab + SPREAD, 2))
    groups, pieces, hull = np.empty((2, slab)), np.empty((2, slab)), np.empty((2, slab))
    lasts, states = np.empty(slab, np.int64), np.empty(slab, np.int64)
    sources = np.empty(slab, np.int64)
    targets, nontargets = np.empty((lanes, 4 * slab)), np.empty((lanes, 4 * slab))
    tops = np.empty(lanes, np.int64)
    for r in range(lanes):
        tops[r] = -1
    for start in range(0, buckets, slab):
        stop = min(buckets, start + slab)
        own = edges[start : stop + 1]
        bucket_sums(columns, most, slots, codes, knots, own, sums)
        needed = 0
        for r in range(lanes):
            needed = max(needed, tops[r] + 2 + edges[stop] - edges[start])
        if needed > targets.shape[1]:
            targets, nontargets = wider(targets, 2 * needed), wider(nontargets, 2 * needed)
        for r in range(lanes):
            count = group_sums(sums, r, stop - start, groups)
            mark(groups, count, hull, lasts, states)
            count = open_groups(sums, r, stop - start, groups, states, pieces, sources)
            mark(pieces, count, hull, lasts, states)
            tops[r] = open_buckets(
                *(r, count, pieces, states, sources, columns, slots, codes, knots, own),
                *(targets, nontargets, tops[r]),
            )
    for r in range(lanes):
        size = tops[r] + 1
        out[r] = entropy_of_blocks(priors[r], targets[r, :size], nontargets[r, :size])


@kernel
def bucket_edges(knots: Ints, bucket: int, edges: Ints) -> int:
    """Indices into `knots` that divide the trials into buckets of at least `bucket` trials, except
    the last; returns the number of buckets.
    """
    found, last = 0, len(knots) - 1
    edges[0] = 0
    for k in range(1, last + 1):
        if knots[k] - knots[edges[found]] >= bucket or k == last:
            found += 1
            edges[found] = k
    return found


@kernel
def wider(blocks: Floats, size: int) -> Floats:
    """The blocks in larger arrays."""
    found = np.empty((blocks.shape[0], size))
    for r in range(blocks.shape[0]):
        for k in range(blocks.shape[1]):
            found[r, k] = blocks[r, k]
    return found


@kernel
def bucket_sums(
    columns: Bytes,
    most: int,
    slots: UnitIndex,
    codes: Codes,
    knots: Ints,
    edges: Ints,
    sums: Floats,
) -> None:
    """Weight of the nontargets and the targets of each bucket, (replicates x buckets x 2).

    Weights are added in 16 bits, `most` trials at a time: four times as many replicates in one
    addition as with 64 bits, and no sum is ever too large.
    """
    lanes, sides = columns.shape[1], slots.shape[1]
    part, weight = np.empty((2, lanes), np.uint16), np.empty(lanes, np.uint16)
    for b in range(len(edges) - 1):
        at, stop = knots[edges[b]], knots[edges[b + 1]]
        first = True
        while at < stop:
            until = min(stop, at + most)
            for r in range(lanes):
                part[0, r] = 0
                part[1, r] = 0
            for i in range(at, until if sides == 1 else at):
                code, slot = np.uint64(codes[i]), np.uint64(slots[i, 0])  # unsigned: no wraparound
                for r in range(lanes):
                    part[code, r] += columns[slot, r]
            for i in range(at, until if sides > 1 else at):
                code, slot = np.uint64(codes[i]), np.uint64(slots[i, 0])
                for r in range(lanes):
                    weight[r] = columns[slot, r]
                for side in range(1, sides):
                    slot = np.uint64(slots[i, side])
                    for r in range(lanes):
                        weight[r] *= columns[slot, r]
                for r in range(lanes):
                    part[code, r] += weight[r]
            for r in range(lanes):
                if first:
                    sums[r, b, 0], sums[r, b, 1] = part[0, r], part[1, r]
                else:
                    sums[r, b, 0] += part[0, r]
                    sums[r, b, 1] += part[1, r]
            at, first = until, False


@kernel
def group_sums(sums: Floats, r: int, buckets: int, groups: Floats) -> int:
    """Weight of the nontargets and the targets of each group of buckets, (2 x groups); returns the
    number of groups.
    """
    count = 0
    for start in range(0, buckets, GROUP):
        n, t = 0.0, 0.0
        for b in range(start, min(buckets, start + GROUP)):
            n += sums[r, b, 0]
            t += sums[r, b, 1]
        groups[0, count], groups[1, count] = n, t
        count += 1
    return count


@kernel
def mark(pieces: Floats, count: int, hull: Floats, lasts: Ints, states: Ints) -> None:
    """Mark each piece that may have points of the hull (OPEN) or ends a block (LAST).

    `pieces` are weights of nontargets and targets, (2 x pieces). The hull is that of the ends of
    these pieces. The hull of all trials is nowhere above it, so that pieces outside need not be
    opened.
    """
    block = -1
    for b in range(count):
        n, t = pieces[0, b], pieces[1, b]
        while block >= 0 and hull[1, block] * n >= t * hull[0, block]:
            n += hull[0, block]
            t += hull[1, block]
            block -= 1
        block += 1
        hull[0, block], hull[1, block], lasts[block] = n, t, b
    first = 0
    for k in range(block + 1):
        n, t = 0.0, 0.0
        for b in range(first, lasts[k] + 1):
            n += pieces[0, b]
            states[b] = OPEN if t * hull[0, k] < n * hull[1, k] else INSIDE
            t += pieces[1, b]
        first = lasts[k] + 1
        if states[first - 1] == INSIDE:
            states[first - 1] = LAST


@kernel
def open_groups(
    sums: Floats,
    r: int,
    buckets: int,
    groups: Floats,
    states: Ints,
    pieces: Floats,
    sources: Ints,
) -> int:
    """Split open groups into their buckets, with one piece for each block between them; returns the
    number of pieces. `sources`: bucket of a piece, or -1.
    """
    count, n, t = 0, 0.0, 0.0
    for g in range(-(-buckets // GROUP)):
        opened = states[g] == OPEN
        if not opened:
            n += groups[0, g]
            t += groups[1, g]
        if states[g] != INSIDE and n + t > 0.0:
            pieces[0, count], pieces[1, count], sources[count] = n, t, -1
            count, n, t = count + 1, 0.0, 0.0
        if opened:
            for b in range(g * GROUP, min(buckets, (g + 1) * GROUP)):
                pieces[0, count], pieces[1, count] = sums[r, b, 0], sums[r, b, 1]
                sources[count] = b
                count += 1
    return count


@kernel
def open_buckets(
    r: int,
    count: int,
    pieces: Floats,
    states: Ints,
    sources: Ints,
    columns: Bytes,
    slots: UnitIndex,
    codes: Codes,
    knots: Ints,
    edges: Ints,
    targets: Floats,
    nontargets: Floats,
    top: int,
) -> int:
    """Pool the intervals of open buckets, and the pieces between them, into the blocks of replicate
    r; returns the last block.
    """
    n, t = 0.0, 0.0
    for p in range(count):
        b = sources[p]
        if states[p] == OPEN and b >= 0 and edges[b + 1] - edges[b] > 1:
            top = push(r, n, t, targets, nontargets, top)
            for k in range(edges[b], edges[b + 1]):
                n, t = 0.0, 0.0
                for i in range(knots[k], knots[k + 1]):
                    weight = np.int64(columns[slots[i, 0], r])
                    for side in range(1, slots.shape[1]):
                        weight *= columns[slots[i, side], r]
                    target = np.int64(codes[i])
                    t += weight * target
                    n += weight * (1 - target)
                top = push(r, n, t, targets, nontargets, top)
            n, t = 0.0, 0.0
            continue
        n += pieces[0, p]
        t += pieces[1, p]
        if states[p] != INSIDE:
            top = push(r, n, t, targets, nontargets, top)
            n, t = 0.0, 0.0
    return top


@kernel
def push(r: int, n: float, t: float, targets: Floats, nontargets: Floats, top: int) -> int:
    """Pool a further piece into the blocks of replicate r; returns the last block."""
    if t == 0.0 and n == 0.0:
        return top
    while top >= 0 and targets[r, top] * n >= t * nontargets[r, top]:
        t += targets[r, top]
        n += nontargets[r, top]
        top -= 1
    top += 1
    targets[r, top], nontargets[r, top] = t, n
    return top
