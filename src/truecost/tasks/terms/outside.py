"""Times that the audio does not have: of another unit or other audio, or counted otherwise."""

import numpy as np
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.kwslist import DetectionList
from truecost.formats.terms import Listing
from truecost.tasks.terms.places import Ints, Places
from truecost.tasks.terms.records import Reference
from truecost.tasks.terms.stretches import TICKS, ticks

FAR = 100  # times the end of the audio: beyond, times are rather of another unit
NEARLY = 0.9  # share of detections that are nearly all
EARLY = 0.01  # of the audio: where nothing is after it, the audio is rather of another unit
FEW = 10  # times; so few may all lie at the begin of the audio
APART = 20  # times; seconds that are said of audio, and seconds that there are
DURATION = "source_signal_duration"  # in the head of an ECF


def why_outside(start: float, end: float) -> str:
    """What is said of times that lie behind the end of the audio.

    Parameters
    ----------
    start : float
        The largest, in seconds.
    end : float
        Of the audio, in seconds.
    """
    question = "are times in milliseconds?" if start >= FAR * end else "is this their audio?"
    return f"the largest start is {start:.10g} s and the audio ends at {end:.10g} s: {question}"


def refuse_outside(detections: DetectionList, places: Places, group: Ints) -> None:
    """Refuse a list of which all detections lie before or behind the audio, or nearly all far.

    Parameters
    ----------
    places : Places
        The audio.
    group : ndarray of int64, shape (detections,)
        The channel of each detection, -1 for none.

    Raises
    ------
    InputError
    """
    rows = np.flatnonzero(group >= 0)
    first, last = (edge[group[rows]] for edge in places.bounds())
    start, duration = detections.start[rows], detections.duration[rows]
    late = ticks(start) > last
    early = ticks(start + duration) < first
    count = int((late | early).sum())
    if not count or count < NEARLY * len(rows):
        return
    ends = float(last.max() / TICKS)
    if count < len(rows) and start.max() < FAR * ends:
        return
    why = why_outside(float(start.max()), ends)
    if not late.any():
        why = (
            f"the last one ends at {(start + duration).max():.10g} s and the audio begins at "
            f"{first.min() / TICKS:.10g} s: are times counted from the begin of an excerpt?"
        )
    share = f"{count} of " if count < len(detections) else "all " if count > 1 else ""
    what = counted(len(detections), "detection", "lie")
    raise InputError(f"{detections.source}: {share}{what} outside the audio; {why}")


def early_note(detections: DetectionList, reference: Reference) -> tuple[str, ...]:
    """What is said where all that occurs or was detected lies at the very begin of the audio."""
    ends = np.append(reference.occurrences["end"], detections.start + detections.duration)
    audio = reference.excerpts["end"].max()
    if len(ends) < FEW or not isinstance(audio, float) or ends.max() >= EARLY * audio:
        return ()
    return (
        f"all that occurs or was detected ends before {ends.max():.10g} s, and the audio at "
        f"{audio:.10g} s: are the times of the audio in milliseconds?",
    )


def duration_note(audio: Listing) -> tuple[str, ...]:
    """What is said where the head of an ECF speaks of much more or much less audio than it lists.

    Heads often tell of the whole collection of which excerpts are scored, so that only what no
    choice of excerpts explains is said.

    Parameters
    ----------
    audio : Listing
        As `read_ecf` gives it.
    """
    said = pl.Series([audio.header.get(DURATION, "")]).cast(pl.Float64, strict=False)[0]
    listed = float(audio.frame["duration"].sum())
    if said is None or not 0 < said < np.inf or 1 / APART <= listed / said <= APART:
        return ()
    return (
        f"the head of {audio.source} says {said:.10g} s of audio ({DURATION}), and its excerpts "
        f"are {listed:.10g} s: is one of the two in milliseconds?",
    )
