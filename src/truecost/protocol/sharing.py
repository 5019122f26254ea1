"""Leaks between sets: shared groups, copies, and cuts of the same recording.

A file's hash is that of its samples, so that another header, width or container of the same sound
does not hide it; what is no uncompressed wav file is hashed byte by byte.

A shared stretch is found by landmarks (`Landmarks`). The bits of a print go by the sign and scale
of the landmark, so it does not depend on where a clip was cut, how loud it is, or which way round
it is wired. Where many samples are equal (silence in few bits) there are no landmarks. Noise,
resampling and lossy codecs change the prints: docs/protocol-checks.md says how much.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import InputError, counted
from truecost.formats import sha256
from truecost.protocol.findings import Division, Finding, Kind
from truecost.protocol.samples import Ints, Marks, Samples, Texts
from truecost.speech.clips import read_wave

SHOWN = 5  # examples of a finding
PLACES = 3  # sets that an example names
S = TypeVar("S")
T = TypeVar("T")
REACH = 0.005  # seconds on either side within which a landmark is the largest
AROUND = 0.008  # seconds on either side that a print looks at
BITS = 32
SHARED = 8  # landmarks in step that make a shared stretch
COMMONEST = 200  # landmarks with one print: a hum repeats, and tells nothing
QUIETEST = 0.02  # of the loudest sample: landmarks below are noise
TIED = 8  # of the pairs of a print may be equal: more of them are silence


@dataclass(frozen=True, eq=False)
class Keys:
    """The key that copies have in common: a code for each sample, and its name."""

    codes: Ints
    by: str
    kind: Kind = "leak"
    doubt: str = ""


@dataclass(frozen=True, eq=False)
class Crossing:
    """Keys that stand in several sets of a division: of each such key, in the order of the rows,
    its first row in each set that it is in; all rows of these keys in a set; the sets that share
    any.
    """

    first: list[Ints]
    rows: Ints
    sets: tuple[str, ...]

    @staticmethod
    def find(codes: Ints, division: Division, known: Marks | None = None) -> "Crossing":
        """The samples that cross a division. `codes`, shape (N,), is the key of each sample, -1 for
        none; a key of which nothing else crosses than `known` rows, said already, is left out.
        """
        inside = np.flatnonzero((division.codes >= 0) & (codes >= 0))
        pairs = codes[inside].astype(np.int64) * len(division) + division.codes[inside]
        cells, where = np.unique(pairs, return_index=True)
        keys, sets = np.divmod(cells, len(division))
        owners, starts, counts = np.unique(keys, return_index=True, return_counts=True)
        crossing = counts > 1
        if known is not None:
            new = np.add.reduceat(~known[inside[where]], starts) if len(starts) else starts
            crossing &= new > 0
        first = [
            np.sort(inside[where[s : s + n]])
            for s, n in zip(starts[crossing], counts[crossing], strict=True)
        ]
        first.sort(key=lambda rows: int(rows[0]))
        shared = np.isin(codes[inside], owners[crossing])
        among = np.unique(sets[np.isin(keys, owners[crossing])])
        return Crossing(first, inside[shared], division.named(among))

    def __len__(self) -> int:
        return len(self.first)


def place(samples: Samples, division: Division, row: int) -> str:
    """The place of a sample: `train, line 7`; `fold 2, line 7`."""
    return f"{division.called(int(division.codes[row]))}, {samples.table.where(int(row))}"


def sample_at(samples: Samples, division: Division, row: int) -> str:
    """A sample and where it stands: `u7 (train, line 7)`."""
    return f"{samples.ids[row]} ({place(samples, division, row)})"


def places(samples: Samples, division: Division, rows: Ints) -> str:
    """The places of the first samples of a key, set by set."""
    said = [place(samples, division, int(row)) for row in rows[:PLACES]]
    return "; ".join([*said, "..."] if len(rows) > PLACES else said)


def listed(examples: Sequence[str], count: int) -> str:
    """Examples in a message, and whether there are more."""
    return ", ".join([*examples, "..."] if count > len(examples) else examples)


def about_crossing(
    rule: str,
    division: Division,
    crossing: Crossing,
    words: tuple[str, str, str],
    examples: Sequence[str],
    kind: Kind = "leak",
) -> list[Finding]:
    """The finding about what crosses, none where nothing does: in words what it is, what else to
    say of it, and what to do.
    """
    number, (what, more, remedy) = len(crossing), words
    if not number:
        return []
    message = (
        f"{division.prefix}{what} in several sets ({division.listed(crossing.sets)}{more}: "
        f"{listed(examples, number)}; {remedy}"
    )
    return [Finding(rule, kind, message, crossing.sets, number, tuple(examples), crossing.rows)]


def warning(rule: str, message: str, sets: tuple[str, ...], about: Sequence[object]) -> Finding:
    """A warning about levels, groups or classes, the first five as examples."""
    return Finding(rule, "warning", message, sets, len(about), tuple(map(str, about[:SHOWN])))


def shared_groups(samples: Samples, division: Division, allowed: Sequence[str]) -> list[Finding]:
    """Groups of which some samples are in one set and some in another."""
    findings = []
    for column, texts in samples.groups.items():
        crossing = Crossing.find(encode(texts)[1].astype(np.int64), division)
        number, first = len(crossing), crossing.first[:SHOWN]
        examples = [f"{texts[rows[0]]} ({places(samples, division, rows)})" for rows in first]
        known = column in allowed
        remedy = (
            f"allowed by --shared {column}: figures are valid only for a {column} of the training"
            if known
            else f"the evaluation is optimistic: keep each {column} in one set (truecost protocol "
            f"split FILE --map id=ID,group={column}), or use --shared {column} if every {column} "
            f"in use is known in training"
        )
        what = f"{counted(number, column)} {'is' if number == 1 else 'are'}"
        said = (what, f"; {counted(len(crossing.rows), 'sample')})", remedy)
        kind: Kind = "note" if known else "leak"
        findings += about_crossing("shared-groups", division, crossing, said, examples, kind)
    return findings


def exact_copies(samples: Samples, division: Division, keys: Keys, known: Marks) -> list[Finding]:
    """Samples that are the same by a key (a text, a hash, equal features), across sets; their rows
    are `known` then.
    """
    crossing = Crossing.find(keys.codes, division, known)
    known[crossing.rows] = True
    first = crossing.first[:SHOWN]
    examples = [" = ".join(sample_at(samples, division, r) for r in rows[:2]) for rows in first]
    said = (
        counted(len(crossing), "sample", "are"),
        f"), with equal {keys.by}{keys.doubt}",
        "systems have learnt the answers: keep equal samples in one set",
    )
    return about_crossing("exact-copies", division, crossing, said, examples, keys.kind)


def copies_within(samples: Samples, division: Division, keys: Keys, known: Marks) -> list[Finding]:
    """Samples of one set that are the same by a key: a note, for they weigh more than once."""
    inside = np.flatnonzero((division.codes >= 0) & (keys.codes >= 0))
    pairs = keys.codes[inside] * len(division) + division.codes[inside]
    _, first, own = np.unique(pairs, return_index=True, return_inverse=True)
    later = ~known[inside]
    later[first] = False
    rows = inside[later]
    if not len(rows):
        return []
    known[rows] = True
    originals = inside[first[own[later]]]
    examples = [
        f"{sample_at(samples, division, r)} = {samples.ids[o]} ({samples.table.where(int(o))})"
        for r, o in zip(rows[:SHOWN], originals[:SHOWN], strict=True)
    ]
    sets = division.named(np.unique(division.codes[rows]))
    message = (
        f"{division.prefix}{counted(len(rows), 'sample', 'repeat')} another sample of the same "
        f"set (equal {keys.by}): {listed(examples, len(rows))}; they count more than once: leave "
        f"them out, or keep them if repetitions are as frequent in use"
    )
    return [Finding("exact-copies", "note", message, sets, len(rows), tuple(examples), rows)]


def shared_sources(samples: Samples, division: Division) -> list[Finding]:
    """Chunks and augmented copies of which the origin, or another one, is in another set; over
    sources of sources too.
    """
    if samples.origins is None:
        return []
    crossing = Crossing.find(families(samples.ids, samples.origins), division)
    examples = [
        " and ".join(
            f"{samples.ids[row]} of {samples.origins[row]} ({place(samples, division, row)})"
            if samples.origins[row] != samples.ids[row]
            else sample_at(samples, division, row)
            for row in rows[:2]
        )
        for rows in crossing.first[:SHOWN]
    ]
    column = samples.columns.get("source", "source")
    said = (
        f"{counted(len(crossing), 'source', 'have')} chunks or augmented copies",
        f"; column {column}; {counted(len(crossing.rows), 'sample')})",
        "the evaluation is optimistic: split first, then cut and augment, or split with "
        f"--map source={column}",
    )
    return about_crossing("shared-sources", division, crossing, said, examples)


def families(ids: Texts, origins: Texts) -> Ints:
    """The groups of samples by source: one code for a sample, its source and all samples made of
    it.
    """
    from truecost.kernels.points import unite

    names, nodes = encode(np.concatenate([ids, origins]))
    found = np.empty(len(ids), np.int64)
    unite(nodes.reshape(2, -1).astype(np.int64), found, np.arange(len(names), dtype=np.int64))
    return found


def sample_hash(path: str | Path) -> str:
    """SHA-256 of the audio samples of a wav file, or of the bytes of any other file."""
    try:
        samples = read_wave(path)[0]
    except InputError:
        return sha256(str(path))
    return hashlib.sha256(b"samples" + samples.tobytes()).hexdigest()


def each(work: Callable[[S], T], given: Sequence[S], jobs: int | None = None) -> list[T]:
    """The results of `work` for each of several (paths), in their order, made in threads."""
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(work, given))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks of one recording: loud moments, each with a fingerprint of the sound around it.

    A landmark is a sample whose absolute value is the largest within 5 ms on either side. Equal
    fingerprints of two recordings, at the same time offset, are signs of a shared segment.

    Attributes
    ----------
    times : ndarray of int64, shape (landmarks,)
        Position of each landmark, in samples from the start.
    prints : ndarray of int64, shape (landmarks,)
        Fingerprint of each landmark: 32 bits, each of which compares two samples within 8 ms of the
        landmark.
    rate : int
        Sampling rate in Hz.
    """

    times: Ints
    prints: Ints
    rate: int

    @staticmethod
    def of_file(path: str | Path) -> "Landmarks":
        """The landmarks of a wav file. An unreadable file causes an InputError."""
        return Landmarks.find(*read_wave(path))

    @staticmethod
    def find(samples: npt.ArrayLike, rate: int) -> "Landmarks":
        """The landmarks of an audio signal, shape (samples,), sampled at ``rate`` Hz."""
        from scipy.ndimage import maximum_filter1d

        sound = np.asarray(samples, np.float64)
        around, reach = max(4, round(AROUND * rate)), max(2, round(REACH * rate))
        loud = np.abs(sound)
        if len(sound) <= 2 * around or not loud.any():
            return Landmarks(np.zeros(0, np.int64), np.zeros(0, np.int64), rate)
        peaks = (loud == maximum_filter1d(loud, 2 * reach + 1)) & (loud >= QUIETEST * loud.max())
        times = np.flatnonzero(peaks)
        times = times[(times >= around) & (times < len(sound) - around)]
        one, other = _pairs(around)
        differences = sound[times[:, None] + one] - sound[times[:, None] + other]
        told = (differences == 0).sum(axis=1) <= TIED
        larger = differences * np.sign(sound[times])[:, None] > 0
        prints = (larger.astype(np.int64) << np.arange(BITS)).sum(axis=1)
        return Landmarks(times[told], prints[told], rate)


def _pairs(around: int) -> tuple[Ints, Ints]:
    """Places, from the landmark, of the two samples that each bit compares."""
    rng = np.random.Generator(np.random.Philox(key=[around, 0x70726F74]))
    one = rng.integers(-around, around + 1, BITS)
    step = rng.integers(around // 2, around + 1, BITS)  # far apart, so that they seldom tie
    other = np.where(one > 0, one - step, one + step)
    return one, other


def shared_stretches(recordings: Sequence[Landmarks], codes: Ints) -> dict[tuple[int, int], Any]:
    """Find pairs of recordings of different sets that share a segment of sound.

    A pair is found if at least 8 different fingerprints occur in both recordings with the same
    time offset.

    Parameters
    ----------
    recordings : sequence of Landmarks
        Landmarks of each recording.
    codes : ndarray of int64, shape (recordings,)
        Number of the set of each recording; -1 for recordings that are ignored.

    Returns
    -------
    dict of (int, int) to (int, float, float)
        For each pair of indices, the smaller one first: the number of common landmarks, and the
        position of the first of them in each recording, in seconds.
    """
    sizes = [len(r.times) for r in recordings]
    owner = np.repeat(np.arange(len(recordings)), sizes)
    if not len(owner):
        return {}
    times = np.concatenate([r.times for r in recordings])
    prints = np.concatenate([r.prints for r in recordings])
    rates = np.array([r.rate for r in recordings])
    order = np.lexsort((times, owner, prints))
    owner, times, prints = owner[order], times[order], prints[order]
    starts = np.flatnonzero(np.append(True, prints[1:] != prints[:-1]))
    counts = np.diff(np.append(starts, len(prints)))
    kept = np.repeat(counts <= COMMONEST, counts)
    owner, times, prints = owner[kept], times[kept], prints[kept]
    found: list[Ints] = []
    for shift in range(1, min(COMMONEST, len(prints))):
        same = np.flatnonzero(prints[shift:] == prints[:-shift])
        if not len(same):
            break
        one, other = owner[same], owner[same + shift]
        apart = (codes[one] != codes[other]) & (rates[one] == rates[other])
        apart &= (codes[one] >= 0) & (codes[other] >= 0)
        here = same[apart]
        lag = times[here + shift] - times[here]
        pairs = (owner[here], owner[here + shift], lag, prints[here], times[here])
        found.append(np.stack(pairs, axis=1))
    return _in_step(np.concatenate(found), rates) if found else {}


def _in_step(matches: Ints, rates: Ints) -> dict[tuple[int, int], Any]:
    """Pairs with enough prints of one lag; of several lags the one with most, then the least."""
    if not len(matches):
        return {}
    matches = matches[np.lexsort(matches.T[::-1])]
    again = (matches[1:, :4] == matches[:-1, :4]).all(axis=1)
    matches = matches[np.append(True, ~again)]  # a print that repeats counts once
    lags, first, counts = np.unique(matches[:, :3], axis=0, return_index=True, return_counts=True)
    best: dict[tuple[int, int], Any] = {}
    for k in np.flatnonzero(counts >= SHARED):
        one, other, lag = (int(value) for value in lags[k])
        start = int(matches[first[k] : first[k] + counts[k], 4].min())
        known = best.get((one, other))
        if known is None or counts[k] > known[0]:
            rate = int(rates[one])
            best[one, other] = (int(counts[k]), start / rate, (start + lag) / rate)
    return best


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
            f"{sample_at(samples, division, one)} at {start:.2f} s and "
            f"{sample_at(samples, division, other)} at {begin:.2f} s ({counted(marks, 'landmark')})"
        )
    rows = np.unique(np.array(pairs, np.int64))
    sets = division.named(np.unique(division.codes[rows]))
    message = (
        f"{division.prefix}{counted(len(pairs), 'pair')} of recordings in different sets share a "
        f"segment of audio ({division.listed(sets)}): {listed(examples, len(pairs))}; they are cut "
        f"from one recording, or one is mixed into the other: split recordings first, then cut them"
    )
    return [Finding("shared-sources", "leak", message, sets, len(pairs), tuple(examples), rows)]
