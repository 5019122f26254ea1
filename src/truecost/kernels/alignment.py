"""Detections aligned one to one with occurrences: as many pairs as possible, then the largest sum
of values.

Times are whole microseconds, so that a time exactly at the edge of a window is inside it on every
machine; a midpoint is stored as twice its time. References are in order of group and start. The
windows of a group that touch form a *zone*, and only detections in a zone are sorted: by zone,
midpoint and start, best score first, then in file order. The detections of a window are then
consecutive, and no list of pairs is needed.

A component (the connected pairs) is solved by itself. Most components have one reference or one
detection; the others are solved by shortest augmenting paths from each detection (a *row*) to a
free reference (a *column*), with prices on both sides. A search without such a path has found a
Hall set: rows whose columns are all taken. One of these rows, the one that costs least, stays
unaligned; its columns are closed, and later searches enter them only when no others are left. So
the number of pairs never depends on the size of values.
"""

import numpy as np
import numpy.typing as npt

from truecost.kernels import inline_kernel, kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OVERLAP = 0.01  # worth of a full overlap, where the span of scores is worth 1
LEAST = 1e-5  # least denominator: of the span of scores, and of durations in seconds
SHORTEST = round(LEAST * 1e6)  # microseconds: that of overlaps


@kernel
def zones(groups: Ints, starts: Ints, ends: Ints, tolerance: int, zone: Ints, bounds: Ints) -> int:
    """Zones of references: windows of a group that overlap or touch.

    Parameters
    ----------
    groups, starts, ends : ndarray of int64, shape (R,)
        Sorted by group, then start.
    tolerance : int
        Microseconds on each side of a reference.
    zone : ndarray of int64, shape (R,)
        To be filled: the zone of each reference.
    bounds : ndarray of int64, shape (R, 3)
        To be filled for each zone: group, start, end.

    Returns
    -------
    int
        The number of zones.
    """
    found = 0
    for r in range(len(groups)):
        first, last = starts[r] - tolerance, ends[r] + tolerance
        if found == 0 or bounds[found - 1, 0] != groups[r] or bounds[found - 1, 2] < first:
            bounds[found, 0], bounds[found, 1], bounds[found, 2] = groups[r], first, last
            found += 1
        elif bounds[found - 1, 2] < last:
            bounds[found - 1, 2] = last
        zone[r] = found - 1
    return found


@kernel
def locate(
    groups: npt.NDArray[np.int32],
    middles: Ints,
    scores: Floats,
    first: Ints,
    bounds: Ints,
    zone: npt.NDArray[np.int32],
    low: Floats,
    high: Floats,
) -> None:
    """Find the zone of each detection, and each group's least and largest score.

    Parameters
    ----------
    groups : ndarray of int32, shape (D,)
        Group of each detection, 0, ..., G - 1; any other number where the group has no reference.
    middles : ndarray of int64, shape (D,)
        Twice the midpoint of each detection.
    scores : ndarray of float64, shape (D,)
    first : ndarray of int64, shape (G + 1,)
        Index in `bounds` of the first zone of each group; the last entry is Z.
    bounds : ndarray of int64, shape (Z, 3)
        Group, start and end of each zone.
    zone : ndarray of int32, shape (D,)
        Zone of each detection, written here; -1 for a detection outside all zones.
    low, high : ndarray of float64, shape (G,)
        Least and largest score of each group, written here; infinity and minus infinity on entry.
    """
    for d in range(len(groups)):
        zone[d] = -1
        group = groups[d]
        if not 0 <= group < len(low):
            continue
        low[group], high[group] = min(low[group], scores[d]), max(high[group], scores[d])
        left, right = first[group], first[group + 1]
        while left < right:  # the first zone that does not end before the midpoint
            middle = (left + right) // 2
            if 2 * bounds[middle, 2] < middles[d]:
                left = middle + 1
            else:
                right = middle
        if left < first[group + 1] and 2 * bounds[left, 1] <= middles[d]:
            zone[d] = left


@inline_kernel
def worth(
    r: int,
    d: int,
    starts: Ints,
    ends: Ints,
    scales: Floats,
    begins: Ints,
    stops: Ints,
    shares: Floats,
) -> float:
    """Value of a pair, beyond the 1 of every pair, in millionths.

    Parameters
    ----------
    r, d : int
        Index of the reference, and of the detection.
    starts, ends : ndarray of int64, shape (R,)
        Start and end of each reference, microseconds.
    scales : ndarray of float64, shape (R,)
        Value of a microsecond of overlap: `OVERLAP` over the duration of the reference.
    begins, stops : ndarray of int64, shape (D,)
        Start and end of each detection, microseconds.
    shares : ndarray of float64, shape (D,)
        Score term of each detection: (score - min) / (max - min).

    Returns
    -------
    float
        Score term plus overlap term; the overlap term is negative where the two do not overlap.
    """
    return float(shares[d] + scales[r] * (min(ends[r], stops[d]) - max(starts[r], begins[d])))


@kernel
def assign(
    r: int,
    last: int,
    left: int,
    reach: int,
    lefts: Ints,
    rights: Ints,
    starts: Ints,
    ends: Ints,
    scales: Floats,
    begins: Ints,
    stops: Ints,
    shares: Floats,
    found: Ints,
) -> None:
    """Align the detections left, ..., reach - 1 with the references r, ..., last - 1.

    Parameters
    ----------
    r, last : int
        First reference of the component, and the one after its last: columns.
    left, reach : int
        First detection of the component, and the one after its last: rows.
    lefts, rights : ndarray of int64, shape (R,)
        The detections in the window of each reference are lefts[i], ..., rights[i] - 1.
    starts, ends : ndarray of int64, shape (R,)
        Start and end of each reference, microseconds.
    scales : ndarray of float64, shape (R,)
        Value of a microsecond of overlap with each reference.
    begins, stops : ndarray of int64, shape (D,)
        Start and end of each detection, microseconds.
    shares : ndarray of float64, shape (D,)
        Score term of each detection: (score - min) / (max - min).
    found : ndarray of int64, shape (D,)
        Reference of each detection, written here for detections that get one.
    """
    rows, columns = reach - left, last - r
    firsts, lasts = np.full(rows, columns), np.zeros(rows, np.int64)  # columns of each row
    for i in range(r, last):
        for d in range(lefts[i] - left, rights[i] - left):
            firsts[d], lasts[d] = min(firsts[d], i - r), i - r + 1
    up, down = np.zeros(rows), np.zeros(columns)  # prices
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    closed = np.zeros(columns, np.bool_)
    away = np.full(columns, np.inf)  # cost of the way to a column, from the row that seeks one
    back = np.empty(columns, np.int64)  # the row before a column on this way
    done = np.zeros(columns, np.bool_)
    seen = np.empty(columns, np.int64)  # columns that were met and are not done
    tree, far = np.empty(columns + 1, np.int64), np.empty(columns + 1)  # rows, and their cost
    # Any order of rows gives the largest sum. Best score first is for speed (most of those that
    # stay alone see it at once); that it is stable settles ties, as the preference for a free
    # column and for the first one does below.
    for row in np.argsort(-shares[left:reach], kind="mergesort"):
        tree[0], far[0] = row, 0.0
        size, scanned, met = 1, 0, 0
        hall, alone, lone = False, np.inf, -1  # no free column; least cost of staying alone, whose
        while True:
            for t in range(scanned, size):
                i = tree[t]
                d, cost = i + left, far[t] - up[i]
                if hall and cost < alone:
                    alone, lone = cost, i
                for j in range(firsts[i], lasts[i]):
                    if done[j] or closed[j] != hall or not lefts[j + r] <= d < rights[j + r]:
                        continue
                    value = worth(j + r, d, starts, ends, scales, begins, stops, shares)
                    step = cost - value - down[j]
                    if step < away[j]:
                        if away[j] == np.inf:
                            seen[met] = j
                            met += 1
                        away[j], back[j] = step, i
            scanned = size
            place, nearest, length = -1, -1, np.inf
            for s in range(met):
                j = seen[s]
                if away[j] > length:
                    continue
                free, other = row_of[j] < 0, nearest >= 0 and row_of[nearest] < 0
                if away[j] < length or free > other or (free == other and j < nearest):
                    place, nearest, length = s, j, away[j]
            if nearest < 0 and not hall:
                hall, scanned = True, 0
                continue
            if hall and alone <= length:
                length, nearest = alone, column_of[lone]
                column_of[lone] = -1
                break
            if row_of[nearest] < 0:
                break
            met -= 1
            seen[place] = seen[met]
            done[nearest] = True
            tree[size], far[size] = row_of[nearest], length
            size += 1
        for s in range(met):
            away[seen[s]] = np.inf
        up[row] += length
        for t in range(1, size):
            i = tree[t]
            j = column_of[i] if i != lone else nearest
            up[i] += length - far[t]
            down[j] -= length - far[t]
            closed[j], done[j], away[j] = closed[j] or hall, False, np.inf
        while nearest >= 0:  # the pairs on the way move on by one
            i = back[nearest]
            row_of[nearest] = i
            nearest, column_of[i] = column_of[i], nearest
            if i == row:
                break
    for j in range(columns):
        if row_of[j] >= 0:
            found[row_of[j] + left] = j + r


@kernel
def align(
    zone: Ints,
    starts: Ints,
    ends: Ints,
    zones_of: Ints,
    begins: Ints,
    stops: Ints,
    shares: Floats,
    tolerance: int,
    found: Ints,
) -> None:
    """Align detections with references.

    Parameters
    ----------
    zone, starts, ends : ndarray of int64, shape (R,)
        Zone, start and end of each reference, sorted by zone, then start.
    zones_of, begins, stops : ndarray of int64, shape (D,)
        Zone, start and end of each detection, sorted by zone, then midpoint.
    shares : ndarray of float64, shape (D,)
        Score term of each detection: (score - min) / (max - min).
    tolerance : int
        Microseconds on each side of a reference.
    found : ndarray of int64, shape (D,)
        Reference of each detection, written here; -1 for none.
    """
    lefts, rights = np.empty(len(zone), np.int64), np.empty(len(zone), np.int64)
    begin = 0  # the first detection of the zone
    for r in range(len(zone)):
        while begin < len(zones_of) and zones_of[begin] < zone[r]:
            begin += 1
        left = begin if r == 0 or zone[r - 1] != zone[r] else lefts[r - 1]
        while (
            left < len(zones_of)
            and zones_of[left] == zone[r]
            and begins[left] + stops[left] < 2 * (starts[r] - tolerance)
        ):
            left += 1
        low, high = left, len(zones_of)
        while low < high:  # the first detection behind the window
            middle = (low + high) // 2
            inside = zones_of[middle] == zone[r]
            if inside and begins[middle] + stops[middle] <= 2 * (ends[r] + tolerance):
                low = middle + 1
            else:
                high = middle
        lefts[r], rights[r] = left, low
    scales = np.empty(len(zone))
    for r in range(len(zone)):
        scales[r] = OVERLAP / max(ends[r] - starts[r], SHORTEST)
    found[:] = -1
    r = 0
    while r < len(zone):
        last, reach = r + 1, rights[r]
        while last < len(zone) and zone[last] == zone[r] and lefts[last] < reach:
            reach = max(reach, rights[last])
            last += 1
        left = lefts[r]
        if last == r + 1 or reach == left + 1:
            best, pair = -np.inf, (-1, -1)
            for i in range(r, last):
                for d in range(left, rights[i]):
                    value = worth(i, d, starts, ends, scales, begins, stops, shares)
                    if value > best or (value == best and begins[d] < begins[pair[1]]):
                        best, pair = value, (i, d)
            if pair[0] >= 0:
                found[pair[1]] = pair[0]
        else:
            assign(
                r,
                last,
                left,
                reach,
                lefts,
                rights,
                starts,
                ends,
                scales,
                begins,
                stops,
                shares,
                found,
            )
        r = last
