"""Exact threshold sweeps over trials sorted by ascending score, one replicate at a time.

Conventions: code 1 is a target, 0 a nontarget; position p accepts the trials p, p+1, ..., N-1, so
`miss(p)` is the weight of targets below p and `fa(p)` that of nontargets from p on. Only positions
at the start of a tie group (`cut[p]`) and p = N (reject all) are thresholds.

Bucket and refine: `edges` cut the trials into buckets, never inside a tie; `miss` and `fa` hold the
exact sums at the edges. Inside bucket j any cost a*miss + b*fa is at least a*miss[j] + b*fa[j+1],
so only buckets whose bound beats the best edge are scanned. The result equals the full scan.
The step past a trial is written out in each scan: a shared function that returns both sums made
the equal error rate four times slower.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

Row = npt.NDArray[np.unsignedinteger[Any]]
Rows = npt.NDArray[np.unsignedinteger[Any]]  # (replicates x slots)
UnitIndex = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Cuts = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@inline_kernel
def weight_of(i: int, row: Row, slots: UnitIndex, extra: Floats) -> float:
    """Weight of trial i: the product of its units' weights and of its own trial weight."""
    weight = np.float64(row[slots[i, 0]])
    for side in range(1, slots.shape[1]):
        weight *= row[slots[i, side]]
    if len(extra) > 0:
        weight *= extra[i]
    return weight


@kernel
def lowest(
    a: float,
    b: float,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    row: Row,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
    ties: bool,
    known_miss: float,
    known_fa: float,
) -> tuple[float, float, float, int]:
    """Least a*miss + b*fa over all thresholds: (cost, miss, fa, position).

    `ties`: whether to find the lowest position of equal cost too, which needs more scanning.
    `known_miss`, `known_fa`: sums at a threshold of low cost, as only lower costs are then looked
    for; infinite without one.
    """
    best, best_miss, best_fa, best_position = np.inf, known_miss, known_fa, 0
    if known_miss < np.inf:
        best = a * known_miss + b * known_fa
    for j in range(len(edges)):
        cost = a * miss[j] + b * fa[j]
        if cost < best:
            best, best_miss, best_fa, best_position = cost, miss[j], fa[j], edges[j]
    for j in range(len(edges) - 1):
        bound = a * miss[j] + b * fa[j + 1]
        if bound > best or (bound == best and not ties):
            continue
        m, f = miss[j], fa[j]
        for i in range(edges[j], edges[j + 1]):
            if cut[i]:
                cost = a * m + b * f
                if cost < best or (cost == best and i < best_position):
                    best, best_miss, best_fa, best_position = cost, m, f, i
            # Spelled out: as a helper's argument `row` costs a reference count for each trial.
            weight = np.float64(row[slots[i, 0]])
            for side in range(1, slots.shape[1]):
                weight *= row[slots[i, side]]
            if len(extra) > 0:
                weight *= extra[i]
            target = np.float64(codes[i])  # arithmetic, not a branch: labels are unpredictable
            m += weight * target
            f -= weight * (1.0 - target)
    return best, best_miss, best_fa, best_position


@kernel
def lowest_costs(
    costs: Floats,
    positions: Ints,
    ties: bool,
    a: Floats,
    b: Floats,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> None:
    """`lowest` for each replicate; `miss` and `fa` are (replicates x edges)."""
    for r in range(len(costs)):
        costs[r], _, _, positions[r] = lowest(
            *(a[r], b[r], miss[r], fa[r], edges, rows[r], slots, codes, extra, cut, ties),
            *(np.inf, np.inf),
        )


@kernel
def hull_crossings(
    out: Floats,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> None:
    """Intersection of the convex hull of (Pfa, Pmiss) with the diagonal, for each replicate.

    A chord of two hull points, one on each side of the diagonal, is moved outwards: the threshold
    of least cost in the direction of the chord replaces the end on its side until no threshold lies
    beyond. This is done first among the edges alone, which is cheap and leaves few buckets to scan.
    """
    for r in range(len(out)):
        targets, nontargets = miss[r, -1], fa[r, 0]
        if targets <= 0.0 or nontargets <= 0.0:
            out[r] = np.nan
            continue
        left_m, left_f = 0.0, nontargets
        right_m, right_f = targets, 0.0
        m, f = 0.0, 0.0
        refine = False
        while True:
            a, b = left_f - right_f, right_m - left_m
            if refine:
                _, m, f, _ = lowest(
                    *(a, b, miss[r], fa[r], edges, rows[r], slots, codes, extra, cut, False),
                    *(right_m, right_f),
                )
            else:
                least = np.inf
                for j in range(len(edges)):  # `argmin` takes 0.3 s to compile
                    cost = a * miss[r, j] + b * fa[r, j]
                    if cost < least:
                        least, m, f = cost, miss[r, j], fa[r, j]
            # How far the new point lies beyond the chord, as differences so that rounding of the
            # large products cannot pass for progress.
            gain = a * (left_m - m) + b * (left_f - f)
            if gain <= 1e-14 * targets * nontargets:
                if refine:
                    break
                refine = True
            elif m * nontargets <= f * targets:
                left_m, left_f = m, f
            else:
                right_m, right_f = m, f
        above = left_f / nontargets - left_m / targets
        below = right_m / targets - right_f / nontargets
        share = above / (above + below) if above + below > 0.0 else 0.0
        out[r] = (left_m + share * (right_m - left_m)) / targets


@kernel
def crossings(
    out: Floats,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> None:
    """The two thresholds around Pmiss = Pfa: out[r] = (Pmiss, Pfa) of the last one with
    Pmiss <= Pfa, then (Pmiss, Pfa) of the next.
    """
    for r in range(len(out)):
        targets, nontargets = miss[r, -1], fa[r, 0]
        if targets <= 0.0 or nontargets <= 0.0:
            out[r] = np.nan
            continue
        j = 0
        while j + 2 < len(edges) and miss[r, j + 1] * nontargets <= fa[r, j + 1] * targets:
            j += 1
        m, f = miss[r, j], fa[r, j]
        last_m, last_f = m, f
        next_m, next_f = miss[r, j + 1], fa[r, j + 1]
        for i in range(edges[j], edges[j + 1]):
            if cut[i]:
                if m * nontargets <= f * targets:
                    last_m, last_f = m, f
                else:
                    next_m, next_f = m, f
                    break
            weight = weight_of(i, rows[r], slots, extra)
            if codes[i] == 1:
                m += weight
            else:
                f -= weight
        out[r, 0], out[r, 1] = last_m / targets, last_f / nontargets
        out[r, 2], out[r, 3] = next_m / targets, next_f / nontargets


@kernel
def misses_at(
    out: Floats,
    positions: Ints,
    limits: Floats,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> None:
    """Pmiss at the lowest threshold whose Pfa is within each limit, (replicates x limits).

    Limits are processed in order of threshold, so that a bucket with several of them is scanned
    once.
    """
    order = np.argsort(-limits)
    for r in range(out.shape[0]):
        targets, nontargets = miss[r, -1], fa[r, 0]
        if targets <= 0.0 or nontargets <= 0.0:
            out[r] = np.nan
            continue
        walked, i, m, f = -1, 0, 0.0, 0.0
        for g in order:
            limit = (limits[g] + 1e-12) * nontargets  # sums of weights round
            low, high = 0, len(edges) - 1  # first edge within the limit
            while low < high:
                middle = (low + high) // 2
                if fa[r, middle] <= limit:
                    high = middle
                else:
                    low = middle + 1
            out[r, g], positions[r, g] = miss[r, low] / targets, edges[low]
            if low == 0:
                continue
            if walked != low:
                walked, i, m, f = low, edges[low - 1], miss[r, low - 1], fa[r, low - 1]
            while i < edges[low]:
                if cut[i] and f <= limit:
                    out[r, g], positions[r, g] = m / targets, i
                    break
                weight = weight_of(i, rows[r], slots, extra)
                if codes[i] == 1:
                    m += weight
                else:
                    f -= weight
                i += 1


@kernel
def false_alarms_at(
    out: Floats,
    positions: Ints,
    limits: Floats,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
    cut: Cuts,
) -> None:
    """Pfa at the highest threshold whose Pmiss is within each limit, (replicates x limits).

    Limits are processed in order of threshold, so that a bucket with several of them is scanned
    once.
    """
    order = np.argsort(limits)
    for r in range(out.shape[0]):
        targets, nontargets = miss[r, -1], fa[r, 0]
        if targets <= 0.0 or nontargets <= 0.0:
            out[r] = np.nan
            continue
        walked, i, m, f, best_f, best = -1, 0, 0.0, 0.0, 0.0, 0
        for g in order:
            limit = (limits[g] + 1e-12) * targets  # sums of weights round
            low, high = 0, len(edges) - 1  # last edge within the limit
            while low < high:
                middle = (low + high + 1) // 2
                if miss[r, middle] <= limit:
                    low = middle
                else:
                    high = middle - 1
            if walked != low:
                walked, i, m, f = low, edges[low], miss[r, low], fa[r, low]
                best_f, best = f, i
            stop = edges[low + 1] if low < len(edges) - 1 else i
            while i < stop:
                if cut[i]:
                    if m > limit:
                        break
                    best_f, best = f, i
                weight = weight_of(i, rows[r], slots, extra)
                if codes[i] == 1:
                    m += weight
                else:
                    f -= weight
                i += 1
            out[r, g], positions[r, g] = best_f / nontargets, best


@kernel
def rates_at(
    out: Floats,
    positions: Ints,
    miss: Floats,
    fa: Floats,
    edges: Ints,
    rows: Rows,
    slots: UnitIndex,
    codes: Codes,
    extra: Floats,
) -> None:
    """Pmiss and Pfa at given positions; out is (replicates x positions x 2)."""
    for r in range(out.shape[0]):
        for g in range(len(positions)):
            j = np.searchsorted(edges, positions[g], side="right") - 1
            m, f = miss[r, j], fa[r, j]
            for i in range(edges[j], positions[g]):
                weight = weight_of(i, rows[r], slots, extra)
                if codes[i] == 1:
                    m += weight
                else:
                    f -= weight
            targets, nontargets = miss[r, -1], fa[r, 0]
            out[r, g, 0] = m / targets if targets > 0.0 else np.nan
            out[r, g, 1] = f / nontargets if nontargets > 0.0 else np.nan


def eer_of(around: Floats, kind: str) -> Floats:
    """EER from the two thresholds around the crossing: columns (Pmiss, Pfa, Pmiss, Pfa)."""
    gap_last, gap_next = around[:, 1] - around[:, 0], around[:, 2] - around[:, 3]
    if kind == "interpolated":
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(gap_last + gap_next > 0, gap_last / (gap_last + gap_next), 0.0)
        return np.asarray(around[:, 0] + share * (around[:, 2] - around[:, 0]))
    nearest = np.where((gap_next < gap_last)[:, None], around[:, 2:], around[:, :2])
    if kind == "nearest-pfa":
        return np.asarray(nearest[:, 1])
    if kind == "nearest-pmiss":
        return np.asarray(nearest[:, 0])
    return np.asarray(nearest.mean(axis=1))
