"""Detections and occurrences aligned one to one (paper 002, section 2.2; NIST KWSEval).

Within a *group* (query, document, channel) a detection may go with an occurrence when its midpoint
lies at most a tolerance outside of it, edges included. Of all one-to-one alignments those with the
most pairs are taken, and of these the one with the largest sum of

    1 + 1e-6 (score - min) / (max - min) + 1e-8 overlap / duration of the occurrence

with an overlap that is negative where the two are apart, and both denominators at least 1e-5. The
scores' min and max are those that the list states, else those of the group. Decisions play no part.

Times are rounded to whole microseconds first, so a midpoint that is written as exactly 0.5 s behind
an end is 0.5 s behind it, whatever binary fractions make of it. Equal values are told apart by the
order of starts and scores, then by the order of the file: of equal detections of an occurrence the
first is taken. The reference tool draws lots.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
MICRO = 1_000_000
LATEST = 2**58


def micro(seconds: npt.ArrayLike) -> Ints:
    """Whole microseconds.

    Returns
    -------
    ndarray of int64
        At most `LATEST`, so that sums of some of them fit in 64 bits.
    """
    scaled = np.rint(np.asarray(seconds, np.float64) * MICRO)
    return np.clip(scaled, -LATEST, LATEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Spoken:
    """Stretches of audio that belong to groups: occurrences, or detections.

    Attributes
    ----------
    group : ndarray of int32
        The query, document and channel, as a number; -1 where a detection has no occurrence.
    start, end : ndarray of int64
        Microseconds.
    """

    group: Codes
    start: Ints
    end: Ints


def align(
    occurrences: Spoken,
    detections: Spoken,
    scores: Floats,
    tolerance: float,
    span: tuple[float, float] | None = None,
) -> Codes:
    """The occurrence of each detection.

    Parameters
    ----------
    occurrences : Spoken
        Sorted by group, then start.
    detections : Spoken
        In the order of the file.
    scores : ndarray of float64, shape (D,)
    tolerance : float
        Seconds.
    span : tuple of float, optional
        Least and largest score that the list states.

    Returns
    -------
    ndarray of int32, shape (D,)
        Row of the occurrences, -1 for none; no two share one.
    """
    from truecost.kernels import alignment as kernels

    found = np.full(len(scores), -1, np.int32)
    size = len(occurrences.start)
    if not size:
        return found
    extra = round(tolerance * MICRO)
    zone, bounds = np.empty(size, np.int64), np.empty((size, 3), np.int64)
    groups = occurrences.group.astype(np.int64)
    zones = kernels.zones(groups, occurrences.start, occurrences.end, extra, zone, bounds)
    bounds = bounds[:zones]
    count = int(groups[-1]) + 1
    first = np.searchsorted(bounds[:, 0], np.arange(count + 1))
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    at = np.empty(len(scores), np.int32)
    middles = detections.start + detections.end  # twice
    kernels.locate(detections.group, middles, scores, first, bounds, at, low, high)
    near = np.flatnonzero(at >= 0)
    near = near[_order(at[near], middles[near], detections.start[near], scores[near])]
    group, score = detections.group[near], scores[near]
    shares = _shares(score, *((low[group], high[group]) if span is None else span))
    chosen = np.empty(len(near), np.int64)
    kernels.align(
        zone,
        occurrences.start,
        occurrences.end,
        at[near].astype(np.int64),
        detections.start[near],
        detections.end[near],
        shares,
        extra,
        chosen,
    )
    found[near] = chosen
    return found


def _order(zone: Codes, middles: Ints, starts: Ints, scores: Floats) -> Ints:
    """By zone, midpoint, start, best score first; equal ones as they stand in the file.

    Zone and midpoint are what the kernel searches by; the others settle ties only.
    """
    return np.lexsort((-scores, starts, middles, zone))


def _shares(scores: Floats, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """(score - min) / (max - min); by halves, so that the widest span is a number still."""
    from truecost.kernels.alignment import LEAST

    half = np.multiply(low, 0.5)
    span = np.maximum(np.multiply(high, 0.5) - half, LEAST / 2)
    return np.asarray((0.5 * scores - half) / span)
