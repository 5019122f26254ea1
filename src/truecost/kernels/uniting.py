"""What hangs together: connected components by union-find."""

from truecost.kernels import kernel
from truecost.kernels.sweeps import Ints


@kernel
def unite(nodes: Ints, out: Ints, parent: Ints) -> None:
    """The component of each row.

    The nodes of a row, `nodes` (columns x rows) from 0 up, hang together, and so does what shares a
    node. `parent` begins as 0, 1, 2, ...; `out` gets the least node of each row's component.
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
