"""Sweeps over the boundaries of segments: the durations for which speakers talk together.

Times are whole microseconds, so that every sum is exact and equal on every machine.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import kernel

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]

REFERENCE, SYSTEM, REGION, BARRED = 0, 1, 2, 3  # what begins or ends


@kernel
def merge(
    groups: Ints,
    starts: Ints,
    ends: Ints,
    gap: int,
    to_groups: Ints,
    to_starts: Ints,
    to_ends: Ints,
) -> int:
    """Merge segments of a group that overlap, touch, or lie less than `gap` apart.

    Segments are sorted by group, then start. Fills group, start and end of what is merged, with
    room for each segment; returns their number.
    """
    found = 0
    for i in range(len(groups)):
        last = found - 1
        apart = found == 0 or groups[i] != to_groups[last]
        if not apart:
            away = starts[i] - to_ends[last]
            apart = away > 0 and away >= gap
        if apart:
            to_groups[found], to_starts[found], to_ends[found] = groups[i], starts[i], ends[i]
            found += 1
        elif ends[i] > to_ends[last]:
            to_ends[last] = ends[i]
    return found


@kernel
def sweep(
    first: Ints,
    times: Ints,
    kinds: Codes,
    steps: npt.NDArray[np.int8],
    who: Ints,
    speakers: Ints,
    cells: Ints,
    skip_overlap: bool,
    tables: Ints,
    common: Ints,
) -> None:
    """Scored time of each pair of speakers, of each speaker and of all, item by item.

    Parameters
    ----------
    first : ndarray of int64, shape (items + 1,)
        Index of the first event of each item; the last entry is the number of events.
    times, kinds, steps, who : ndarray, shape (events,)
        Time, kind, step and speaker of each event, sorted by time within an item. A reference
        speaker, a system speaker, a region to score or a zone left out of it begins (step 1) or
        ends (-1). Turns of one speaker do not overlap, nor do regions; zones may.
    speakers : ndarray of int64, shape (items, 2)
        Number of speakers of the reference, and of the system.
    cells : ndarray of int64, shape (items + 1,)
        Index of the first cell of the table of each item; the last entry is the number of cells.
    skip_overlap : bool
        Whether to leave out overlapped speech, in which several reference speakers talk.
    tables : ndarray of int64, shape (cells,)
        Zeros on entry; written here: for each item (reference + 1) x (system + 1) times. The last
        column has the time of each reference speaker, the last row that of each system speaker, and
        the corner all scored time.
    common : ndarray of int64, shape (items,)
        Sum of T min(Nref, Nsys), written here.
    """
    for item in range(len(common)):
        references, systems = speakers[item]
        table = tables[cells[item] : cells[item + 1]].reshape(references + 1, systems + 1)
        active = np.empty((2, max(references, systems)), np.int64)  # who speaks now, by side
        count = np.zeros(4, np.int64)  # of speakers by side, regions and zones that are open
        before = np.int64(0)
        for i in range(first[item], first[item + 1]):
            length = times[i] - before
            before = times[i]
            scored = count[REGION] > 0 and count[BARRED] == 0
            if length > 0 and scored and not (skip_overlap and count[REFERENCE] > 1):
                table[references, systems] += length
                common[item] += length * min(count[REFERENCE], count[SYSTEM])
                for s in range(count[SYSTEM]):
                    table[references, active[SYSTEM, s]] += length
                for r in range(count[REFERENCE]):
                    row = table[active[REFERENCE, r]]
                    row[systems] += length
                    for s in range(count[SYSTEM]):
                        row[active[SYSTEM, s]] += length
            kind = kinds[i]
            if kind < REGION:
                if steps[i] > 0:
                    active[kind, count[kind]] = who[i]
                else:
                    place = 0
                    while active[kind, place] != who[i]:
                        place += 1
                    active[kind, place] = active[kind, count[kind] - 1]
            count[kind] += steps[i]
