"""Squared distances from points to the nearest of some centres.

Points come transposed and are visited in blocks: the innermost loop runs over points, so it fills
vector registers although every sum keeps its order, dimension by dimension. (A matrix product is
no faster here, and its sums may depend on the number of threads.)
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Floats = npt.NDArray[np.float64]
BLOCK = 64  # points at a time: a block of some hundred dimensions fits into the cache


@kernel
def lower(points: Floats, centres: Floats, sums: Floats, nearest: Floats) -> None:
    """Lower the squared distances to the nearest centre, now that there are more centres.

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
