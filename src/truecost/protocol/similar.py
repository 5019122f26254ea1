"""Copies that are not the same byte by byte: near ones by features, shared stretches of audio."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from truecost.core.digits import figure
from truecost.errors import counted
from truecost.protocol.copies import Scaled, close_to_another
from truecost.protocol.divisions import Division
from truecost.protocol.findings import Finding, Kind
from truecost.protocol.samples import Samples
from truecost.protocol.sharing import SHOWN, Crossing, place, told
from truecost.protocol.sounds import Landmarks, shared_stretches

Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

BY_CHANCE = 0.05  # pairs that may be near by chance: from here on nearness proves nothing


def near_copies(
    samples: Samples,
    division: Division,
    scaled: Scaled,
    limit: float,
    same: Sequence[Ints] = (),
    jobs: int | None = None,
) -> list[Finding]:
    """Samples with a near copy in another set, but for those that have an exact one there.

    Parameters
    ----------
    scaled : Scaled
        Features.
    limit : float
        Largest distance of a near copy.
    same : sequence of ndarray of int64, shape (N,)
        Keys that exact copies share.
    jobs : int, optional
        Threads.

    Returns
    -------
    list of Finding
        One or none.
    """
    exact = np.zeros(len(samples), bool)
    for keys in same:
        exact[Crossing.of(keys, division).rows] = True
    near = close_to_another(scaled, division.codes, limit, exact, jobs)
    rows = np.flatnonzero(near)
    if not len(rows):
        return []
    examples, more = _pairs(samples, division, scaled, rows)
    sets = division.named(_sets(division, scaled, limit, near, exact, jobs))
    chance = scaled.by_chance(_crossing_pairs(division), limit)
    kind: Kind = "leak" if chance < BY_CHANCE else "warning"
    doubt = "" if kind == "leak" else f"; up to {figure(chance)} unrelated pairs may be as near"
    message = (
        f"{division.prefix}{counted(len(rows), 'sample', 'have')} a near copy in another set "
        f"({division.listed(sets)}; distance up to {limit:g}, where unrelated samples are about 1 "
        f"apart{doubt}): {told(examples, len(examples) + more)}; keep "
        f"copies in one set, or leave them out"
    )
    return [Finding("near-copies", kind, message, sets, len(rows), examples, rows)]


def _sets(
    division: Division, scaled: Scaled, limit: float, near: Marks, exact: Marks, jobs: int | None
) -> Ints:
    """The sets of near copies and of what they are near to, be it passed over as an exact copy."""
    codes = division.codes
    found = {*codes[near].tolist()}
    for one in {*codes[exact].tolist()} - found - {-1}:
        sides = np.full(len(codes), -1, np.int64)
        sides[near], sides[exact & (codes == one)] = 0, 1
        if close_to_another(scaled, sides, limit, sides != 1, jobs).any():
            found.add(one)
    return np.array(sorted(found), np.int64)


def _pairs(
    samples: Samples, division: Division, scaled: Scaled, rows: Ints
) -> tuple[tuple[str, ...], bool]:
    """The first five pairs, each once, and whether there are more."""
    seen: set[tuple[int, int]] = set()
    said: list[str] = []
    for row in rows.tolist():
        among = (division.codes >= 0) & (division.codes != division.codes[row])
        other, distance = scaled.nearest(row, among)
        pair = (min(row, other), max(row, other))
        if pair in seen:
            continue
        if len(said) == SHOWN:
            return tuple(said), True
        seen.add(pair)
        first, second = (place(samples, division, row) for row in pair)
        said.append(
            f"{samples.ids[pair[0]]} ({first}) and {samples.ids[pair[1]]} ({second}; "
            f"{distance:.3f} apart)"
        )
    return tuple(said), False


def _crossing_pairs(division: Division) -> float:
    """How many pairs of samples lie in different sets."""
    sizes = np.bincount(division.codes[division.codes >= 0]).astype(np.float64)
    return float((sizes.sum() ** 2 - np.square(sizes).sum()) / 2)


def shared_audio(
    samples: Samples, division: Division, recordings: Sequence[Landmarks], same: Sequence[Ints]
) -> list[Finding]:
    """Recordings that share a stretch of sound with one in another set, but for exact copies."""
    stretches = shared_stretches(recordings, division.codes)
    pairs = [p for p in stretches if not any(keys[p[0]] == keys[p[1]] for keys in same)]
    if not pairs:
        return []
    pairs.sort()
    examples = []
    for one, other in pairs[:SHOWN]:
        marks, start, begin = stretches[one, other]
        examples.append(
            f"{samples.ids[one]} ({place(samples, division, one)}) at {start:.2f} s and "
            f"{samples.ids[other]} ({place(samples, division, other)}) at {begin:.2f} s "
            f"({counted(marks, 'landmark')})"
        )
    rows = np.unique(np.array(pairs, np.int64))
    sets = division.named(np.unique(division.codes[rows]))
    message = (
        f"{division.prefix}{counted(len(pairs), 'pair')} of recordings in different sets share a "
        f"stretch of sound ({division.listed(sets)}): {told(examples, len(pairs))}; they are cut "
        f"from one recording, or one is mixed into the other: split recordings first, then cut them"
    )
    return [Finding("shared-sources", "leak", message, sets, len(pairs), tuple(examples), rows)]
