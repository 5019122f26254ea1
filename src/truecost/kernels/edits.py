"""The least number of edits between two sequences of codes."""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Ints = npt.NDArray[np.int64]


@kernel
def distance(one: Ints, other: Ints) -> int:
    """Substitutions, insertions and deletions that make one sequence the other (Levenshtein).

    Parameters
    ----------
    one, other : ndarray of int64
        Equal units have equal codes.

    Returns
    -------
    int
        From 0 to the longer length.
    """
    row = np.arange(len(other) + 1)  # edits from the units of `one` so far to each prefix
    for i in range(len(one)):
        diagonal, row[0] = row[0], i + 1
        for j in range(len(other)):
            changed = diagonal + (one[i] != other[j])
            diagonal = row[j + 1]
            row[j + 1] = min(changed, diagonal + 1, row[j] + 1)
    return int(row[len(other)])
