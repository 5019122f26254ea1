"""Copies in audio: files with the same samples, and stretches that two recordings share.

A file's hash is that of its samples, so that another header, width or container of the same sound
does not hide it; what is no uncompressed wav file is hashed byte by byte.

A stretch is found by landmarks. A landmark is the largest |sample| within 5 ms on either side; its
print says which of 32 pairs of samples around it is larger, on the sign and scale of the peak. So
it does not depend on where a clip was cut, how loud it is, or which way round it is wired. Two
recordings share a stretch when at least 8 landmarks with equal prints, all different, lie equally
far apart in both. Where many samples are equal (silence in few bits) there are no landmarks.
Noise, resampling and lossy codecs change the prints: docs/protocol-checks.md says how much.
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

from truecost.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
T = TypeVar("T")

REACH = 0.005  # seconds on either side within which a landmark is the largest
AROUND = 0.008  # seconds on either side that a print looks at
BITS = 32
SHARED = 8  # landmarks in step that make a shared stretch
COMMONEST = 200  # landmarks with one print: a hum repeats, and tells nothing
QUIETEST = 0.02  # of the loudest sample: landmarks below are noise
TIED = 8  # of the pairs of a print may be equal: more of them are silence


def sample_hash(path: str | Path) -> str:
    """SHA-256 of the samples of a wav file, or of the bytes of any other file.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    from truecost.formats.streams import opened
    from truecost.speech.clips import read_wave

    try:
        samples = read_wave(path)[0]
        return hashlib.sha256(b"samples" + samples.tobytes()).hexdigest()
    except InputError:
        pass
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def each(work: Callable[[str], T], paths: Sequence[str], jobs: int | None = None) -> list[T]:
    """What `work` gives for each path, in their order, made in threads."""
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(work, paths))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The landmarks of one recording.

    Attributes
    ----------
    times : ndarray of int64, shape (landmarks,)
        In samples.
    prints : ndarray of int64, shape (landmarks,)
    rate : int
        Samples a second.
    """

    times: Ints
    prints: Ints
    rate: int

    @staticmethod
    def of_file(path: str | Path) -> "Landmarks":
        """Those of a wav file; InputError when it cannot be read."""
        from truecost.speech.clips import read_wave

        return Landmarks.of(*read_wave(path))

    @staticmethod
    def of(samples: npt.ArrayLike, rate: int) -> "Landmarks":
        """Those of samples.

        Parameters
        ----------
        samples : array_like, shape (samples,)
        rate : int
            Samples a second.
        """
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
    """Pairs of recordings of different codes that share a stretch.

    Parameters
    ----------
    codes : ndarray of int64, shape (recordings,)
        Set of each; -1 for recordings that are left out.

    Returns
    -------
    dict of (int, int) to (int, float, float)
        By pair, the first the smaller: landmarks in step, and the seconds in each recording at
        which the first of them stands.
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
