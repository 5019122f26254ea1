"""Points: distances to centres, close points of another code, connected components.

Points are transposed and processed in blocks: the innermost loop runs over points, so that it fills
vector registers, while every sum keeps its order, dimension by dimension. (A matrix product is no
faster here, and its sums may depend on the number of threads.)

Points are rotated to their principal axes, so that the first coordinates vary most, and stored in
leaves of 64, each with points of one code unless codes have few points: float32 coordinates,
dimension by lane, that fill vector registers. A leaf is skipped when the box of its first
coordinates is too far away; otherwise its squared distances are added up eight dimensions at a time
until all 64 are too large. The bound has room for the rounding of float32; pairs within it are
decided in float64 on the features themselves, summed in the order of the columns, which is equal
from either side of a pair. Each point is processed by itself, so that threads have no effect.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

Floats = npt.NDArray[np.float64]
BLOCK = 64  # points at a time: a block of some hundred dimensions fits into the cache


@kernel
def lower(points: Floats, centres: Floats, sums: Floats, nearest: Floats) -> None:
    """Lower the squared distances to the nearest centre for additional centres.

    Parameters
    ----------
    points : ndarray of float64, shape (dimensions, points)
        Transposed and contiguous.
    centres : ndarray of float64, shape (centres, dimensions)
    sums : ndarray of float64, shape (points,)
        Room to work in.
    nearest : ndarray of float64, shape (points,)
        Squared distance to the nearest centre so far (infinite for none); lowered in place.
    """
    dimensions, n = points.shape
    for start in range(0, n, BLOCK):
        part = points[:, start : start + BLOCK].copy()  # of known layout: vector registers
        total, least = sums[start : start + BLOCK], nearest[start : start + BLOCK]
        for c in range(len(centres)):
            total[:] = 0.0
            for k in range(dimensions):
                value = centres[c, k]
                for i in range(len(total)):
                    difference = part[k, i] - value
                    total[i] += difference * difference
            for i in range(len(total)):
                least[i] = min(least[i], total[i])


Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
LANES = 64  # points of a leaf
STEP = 8  # dimensions between two looks at the bound


@inline_kernel
def square_distance(features: Floats, one: int, other: int) -> float:
    """The squared distance of two rows, summed in the order of the columns."""
    total = 0.0
    for k in range(features.shape[1]):
        difference = features[one, k] - features[other, k]
        total += difference * difference
    return total


@kernel
def square_distances(features: Floats, one: int, out: Floats) -> None:
    """Squared distances of one row to all rows.

    Parameters
    ----------
    features : ndarray of float64, shape (rows, dimensions)
    out : ndarray of float64, shape (rows,)
        Filled in place.
    """
    for other in range(len(features)):
        out[other] = square_distance(features, one, other)


@inline_kernel
def apart(point: Singles, low: Singles, high: Singles, bound: np.float32) -> bool:
    """Whether the box from `low` to `high` is farther away than the bound."""
    total = np.float32(0.0)
    for k in range(len(low)):
        below, above = low[k] - point[k], point[k] - high[k]
        gap = max(below, above, np.float32(0.0))
        total += gap * gap
        if total > bound:
            return True
    return False


@inline_kernel
def boxes_apart(
    low: Singles, high: Singles, other_low: Singles, other_high: Singles, bound: np.float32
) -> bool:
    """Whether two boxes are farther from each other than the bound."""
    total = np.float32(0.0)
    for k in range(len(low)):
        gap = max(other_low[k] - high[k], low[k] - other_high[k], np.float32(0.0))
        total += gap * gap
        if total > bound:
            return True
    return False


@inline_kernel
def grow(point: Singles, leaf: Singles, sums: Singles, bound: np.float32) -> bool:
    """Squared distances to the points of a leaf; False as soon as all are beyond the bound."""
    dimensions = len(point)
    sums[:] = np.float32(0.0)
    start = 0
    while start < dimensions:
        for k in range(start, min(start + STEP, dimensions)):
            value, lanes = point[k], leaf[k]
            for lane in range(LANES):
                difference = lanes[lane] - value
                sums[lane] += difference * difference
        start += STEP
        near = np.int32(0)
        for lane in range(LANES):  # a count fills vector registers, and a minimum does not
            near += np.int32(sums[lane] <= bound)
        if near == 0:
            return False
    return True


@kernel
def mark(
    leaves: Singles,
    rows: Ints,
    codes: Ints,
    own: Ints,
    lows: Singles,
    highs: Singles,
    features: Floats,
    bound: np.float32,
    limit: float,
    passed: Marks,
    first: int,
    last: int,
    found: Marks,
) -> None:
    """Mark the points of some leaves that have a close point in a leaf of another code.

    Parameters
    ----------
    leaves : ndarray of float32, shape (leaves, dimensions, 64)
        Turned coordinates; the lanes of no point are infinite.
    rows : ndarray of int64, shape (leaves, 64)
        Row of each lane, -1 for no point.
    codes : ndarray of int64, shape (leaves,)
        Code of all its points, or -1 when they have several.
    own : ndarray of int64, shape (rows,)
        Code of each row.
    lows, highs : ndarray of float32, shape (leaves, first dimensions)
        Boxes of the leaves.
    features : ndarray of float64, shape (rows, dimensions)
    bound : float32
        Squared distance beyond which float32 cannot be wrong.
    limit : float
        Squared distance up to which two points are close.
    passed : ndarray of bool, shape (rows,)
        Rows that are not asked about.
    first, last : int
        The leaves whose points are asked about.
    found : ndarray of bool, shape (rows,)
        Set in place.
    """
    count, dimensions = leaves.shape[0], leaves.shape[1]
    points = np.empty((LANES, dimensions), np.float32)
    sums = np.empty(LANES, np.float32)
    for mine in range(first, last):
        for lane in range(LANES):
            for k in range(dimensions):
                points[lane, k] = leaves[mine, k, lane]
        for other in range(count):  # a leaf stays in the cache for all points of this one
            if (codes[mine] >= 0 and codes[other] == codes[mine]) or boxes_apart(
                lows[mine], highs[mine], lows[other], highs[other], bound
            ):
                continue
            for lane in range(LANES):
                row = rows[mine, lane]
                if row < 0 or passed[row] or found[row]:
                    continue
                point = points[lane]
                if apart(point, lows[other], highs[other], bound):
                    continue
                if not grow(point, leaves[other], sums, bound):
                    continue
                for beside in range(LANES):
                    if (
                        sums[beside] <= bound
                        and own[rows[other, beside]] != own[row]
                        and square_distance(features, row, rows[other, beside]) <= limit
                    ):
                        found[row] = True
                        break


@kernel
def unite(nodes: Ints, out: Ints, parent: Ints) -> None:
    """The component of each row.

    The nodes of a row, `nodes` (columns x rows) from 0 up, are connected, and so are rows that
    share a node. `parent` begins as 0, 1, 2, ...; `out` gets the least node of each row's
    component.
    """
    columns, rows = nodes.shape
    for c in range(1, columns):
        for r in range(rows):
            a, b = nodes[0, r], nodes[c, r]
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
    for r in range(rows):
        a = nodes[0, r]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        out[r] = a
