"""The path through alternative texts that is nearest to a sequence of words.

Nodes are numbered so that every edge goes up, from the first to the last; the edges that leave a
node stand together, in the order of the text; an edge carries a run of words. A cost is errors *
`ERROR` - hits, so that of paths with equally few errors the one with more hits is nearer.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

Ints = npt.NDArray[np.int64]
ERROR = 1 << 32
FAR = 1 << 62


@inline_kernel
def _extend(row: Ints, word: int, others: Ints) -> None:
    """From the least costs of a text against the first 0, 1, 2, ... of `others` to those of the
    text with one more word.
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
    """Mark in `kept` the edges of the nearest path; of equally near ones the first of the text.

    The edges that leave node n are `starts[n]` to `starts[n + 1]`; edge e goes to `targets[e]` and
    carries the words `runs[e, 0]` to `runs[e, 1]`.
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
