"""Dealing units to sets with given shares: each unit stays whole, and every cell is divided by the
shares.

A cell is something to divide evenly: a class, a level of a condition, all samples. Units are rows
of a sparse matrix: unit u has `counts[k]` samples in `cells[k]` for k from `starts[u]` up to
`starts[u + 1]`, cells ascending. `shares` are the shares of the sets, `weights` those of the cells.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel
from truecost.kernels.sweeps import Ints

Floats = npt.NDArray[np.float64]


@kernel
def deal(
    starts: Ints,
    cells: Ints,
    counts: Ints,
    order: Ints,
    weights: Floats,
    shares: Floats,
    out: Ints,
) -> None:
    """Deal units so that every set gets its share of every cell.

    Units are dealt in `order`, each to the set f where sum over cells c of
    weights[c] (its part of the cell)^2 / shares[f] grows least; of equal ones the set with the
    fewest samples for its share, the lowest first. No set stays empty.
    """
    sets, units = len(shares), len(order)
    held = np.zeros((sets, len(weights)))
    filled, members = np.zeros(sets, np.int64), np.zeros(sets, np.int64)
    totals = np.zeros(len(weights))
    for k in range(len(cells)):
        totals[cells[k]] += counts[k]
    scale = shares.min() / shares  # exactly 1 where shares are equal
    empty = sets
    for i in range(units):
        u = order[i]
        best, least = -1, np.inf
        for f in range(sets):
            if members[f] and units - i <= empty:
                continue
            growth = 0.0
            for k in range(starts[u], starts[u + 1]):
                c = cells[k]
                part = counts[k] / totals[c]
                growth += weights[c] * (part * (2.0 * held[f, c] / totals[c] + part))
            growth *= scale[f]
            if (
                best < 0
                or growth < least
                or (growth == least and filled[f] * scale[f] < filled[best] * scale[best])
            ):
                best, least = f, growth
        out[u] = best
        empty -= members[best] == 0
        members[best] += 1
        for k in range(starts[u], starts[u + 1]):
            held[best, cells[k]] += counts[k]
            filled[best] += counts[k]


@kernel
def change(
    f: int,
    g: int,
    u: int,
    v: int,
    starts: Ints,
    cells: Ints,
    counts: Ints,
    off: Floats,
    weights: Floats,
    shares: Floats,
) -> float:
    """Change of the objective when unit u goes from set f to g, and unit v (-1: none) back.

    The objective is sum over cells and sets of weights[c] off[f, c]^2 / shares[f]; `off` is how
    many samples of a cell a set has above its share.
    """
    found = 0.0
    i, end = starts[u], starts[u + 1]
    j, last = (0, 0) if v < 0 else (starts[v], starts[v + 1])
    while i < end or j < last:
        if j >= last or (i < end and cells[i] < cells[j]):
            c, m = cells[i], float(counts[i])
            i += 1
        elif i >= end or cells[j] < cells[i]:
            c, m = cells[j], -float(counts[j])
            j += 1
        else:
            c, m = cells[i], float(counts[i] - counts[j])
            i += 1
            j += 1
        found += (
            weights[c] * m * ((m - 2.0 * off[f, c]) / shares[f] + (m + 2.0 * off[g, c]) / shares[g])
        )
    return found


@kernel
def shift(f: int, g: int, u: int, starts: Ints, cells: Ints, counts: Ints, off: Floats) -> None:
    """Move the samples of unit u from set f to set g."""
    for k in range(starts[u], starts[u + 1]):
        off[f, cells[k]] -= counts[k]
        off[g, cells[k]] += counts[k]


@kernel
def improve(
    starts: Ints,
    cells: Ints,
    counts: Ints,
    order: Ints,
    weights: Floats,
    shares: Floats,
    off: Floats,
    out: Ints,
    window: int,
    passes: int,
) -> int:
    """Move and swap whole units as long as the objective of `change` falls; returns the number of
    passes.

    In `order`, each unit takes the best of all moves to another set and of all swaps with one of
    the next `window` units, if that lowers the objective. No set is emptied. Changes `off` and
    `out`.
    """
    sets, units = len(shares), len(order)
    members = np.zeros(sets, np.int64)
    for i in range(units):
        members[out[order[i]]] += 1
    for p in range(passes):
        changed = False
        for i in range(units):
            u = order[i]
            f = out[u]
            least, to, other = -1e-10, -1, -1
            if members[f] > 1:
                for g in range(sets):
                    if g != f:
                        gain = change(f, g, u, -1, starts, cells, counts, off, weights, shares)
                        if gain < least:
                            least, to, other = gain, g, -1
            for j in range(i + 1, min(units, i + 1 + window)):
                v = order[j]
                if out[v] != f:
                    gain = change(f, out[v], u, v, starts, cells, counts, off, weights, shares)
                    if gain < least:
                        least, to, other = gain, out[v], v
            if to < 0:
                continue
            changed = True
            shift(f, to, u, starts, cells, counts, off)
            out[u] = to
            if other < 0:
                members[f] -= 1
                members[to] += 1
            else:
                shift(to, f, other, starts, cells, counts, off)
                out[other] = f
        if not changed:
            return p + 1
    return passes


@kernel
def try_all(
    starts: Ints,
    cells: Ints,
    counts: Ints,
    order: Ints,
    weights: Floats,
    shares: Floats,
    off: Floats,
    out: Ints,
) -> None:
    """Find the assignment with the least objective of `change` among all that leave no set empty.

    `out` and `off` hold an assignment on entry, which is replaced if another one is better.
    """
    sets, units = len(shares), len(order)
    members = np.zeros(sets, np.int64)
    for i in range(units):
        members[out[order[i]]] += 1
    best, turned = out.copy(), np.zeros(units, np.int64)
    now, least = 0.0, -1e-10
    at = units - 1
    while at >= 0:  # an odometer: the last unit turns fastest, each through all sets and back
        u = order[at]
        f, g = out[u], (out[u] + 1) % sets
        now += change(f, g, u, -1, starts, cells, counts, off, weights, shares)
        shift(f, g, u, starts, cells, counts, off)
        out[u] = g
        members[f] -= 1
        members[g] += 1
        turned[at] = (turned[at] + 1) % sets
        if turned[at] == 0:
            at -= 1
            continue
        at = units - 1
        if now < least and members.min() > 0:
            least = now - 1e-10
            best[:] = out
    for i in range(units):  # everything has turned back to where it began
        u = order[i]
        if best[u] != out[u]:
            shift(out[u], best[u], u, starts, cells, counts, off)
            out[u] = best[u]
