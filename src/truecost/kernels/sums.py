"""Where weights meet sums: for each replicate, the weighted sums of a tally's entries.

An entry is (one slot per side, one cell, one number per statistic). A slot is a column of the
weight block; an entry weighs the product of its slots' weights. Replicates lie in the last,
contiguous axis, so the inner loop runs over replicates side by side while each replicate still
adds its entries in their order: no sum depends on threads or vector width.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Columns = npt.NDArray[np.floating[Any]]  # float64 where weights may exceed 2^24


@kernel
def entry_sums(
    columns: Columns,
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Add to `out` (cells x statistics x replicates) the weighted `values` (entries x statistics).

    `columns` is (slots x replicates); `slots` is (entries x sides).
    """
    # Plain indices, no row views: a view's reference count is shared between threads (2x slower).
    replicates = columns.shape[1]
    weight = np.empty(replicates, columns.dtype)
    for e in range(len(cells)):
        cell, slot = cells[e], slots[e, 0]
        for r in range(replicates if slots.shape[1] > 1 else 0):
            weight[r] = columns[slot, r]
        for side in range(1, slots.shape[1]):
            slot = slots[e, side]
            for r in range(replicates):
                weight[r] *= columns[slot, r]
        for s in range(values.shape[1]):
            value = values[e, s]
            if value == 0.0:
                continue
            if slots.shape[1] > 1:
                for r in range(replicates):
                    out[cell, s, r] += weight[r] * value
            else:
                for r in range(replicates):
                    out[cell, s, r] += columns[slot, r] * value


@kernel
def take_away(
    groups: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    cells: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Take from `out` (cells x statistics x replicates) the `values` of what is left out.

    `groups` is the replicate that leaves out each slot, outside of their range for none; an entry
    goes once, however many of its slots go.
    """
    replicates = out.shape[2]
    for e in range(len(cells)):
        for side in range(slots.shape[1]):
            group = groups[slots[e, side]]
            if group < 0 or group >= replicates:
                continue
            again = False
            for earlier in range(side):
                again = again or groups[slots[e, earlier]] == group
            if again:
                continue
            for s in range(values.shape[1]):
                out[cells[e], s, group] -= values[e, s]


@kernel
def transpose_block(
    rows: npt.NDArray[np.unsignedinteger[Any]], columns: Columns, offset: int
) -> None:
    """Write `rows` (replicates x units) into `columns` (slots x replicates) from slot `offset`."""
    tile = 16  # units whose lines of the input stay near; writing along a line is 5 times faster
    replicates, units = rows.shape
    for start in range(0, units, tile):
        for u in range(start, min(units, start + tile)):
            for r in range(replicates):
                columns[offset + u, r] = rows[r, u]


@kernel
def bucket_entries(
    edges: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    codes: npt.NDArray[np.uint8],
    extra: npt.NDArray[np.float64],
    width: int,
    out_slots: npt.NDArray[np.int32],
    out_cells: npt.NDArray[np.int64],
    out_values: npt.NDArray[np.float64],
) -> int:
    """One entry for each (bucket, class, slot) that occurs, of trials in order of bucket; returns
    their number. The outputs have room for one entry a trial.
    """
    counts = np.zeros((2, width))
    seen = np.zeros((2, width), np.bool_)
    entries = 0
    for bucket in range(len(edges) - 1):
        first = entries
        for i in range(edges[bucket], edges[bucket + 1]):
            code, slot = codes[i], slots[i]
            counts[code, slot] += extra[i] if len(extra) > 0 else 1.0
            if not seen[code, slot]:
                seen[code, slot] = True
                out_slots[entries], out_cells[entries] = slot, 2 * bucket + code
                entries += 1
        for e in range(first, entries):
            code, slot = out_cells[e] - 2 * bucket, out_slots[e]
            out_values[e] = counts[code, slot]
            counts[code, slot] = 0.0
            seen[code, slot] = False
    return entries


@kernel
def add_by_key(
    keys: npt.NDArray[np.int32], values: npt.NDArray[np.float64], out: npt.NDArray[np.float64]
) -> None:
    """Add each value to the place of its key, in order."""
    for i in range(len(keys)):
        out[keys[i]] += values[i]
