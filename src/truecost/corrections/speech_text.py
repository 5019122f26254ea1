"""A diarization as one line of text: `START END SPEAKER|START END SPEAKER|...`.

Times are seconds with a point, from 0, rounded to microseconds; a turn ends after it starts. A
speaker has neither blanks nor "|". Empty text is silence. Written turns are sorted by start, end
and speaker, so that the same turns are the same text. A region is named `START-END`.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from truecost.errors import InputError
from truecost.speech.spans import MICRO

LATEST = 1e10  # seconds; sums of such times still fit into 64 bits


class Turn(NamedTuple):
    """Someone speaks; times in whole microseconds."""

    start: int
    end: int
    speaker: str


@lru_cache(maxsize=256)
def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns of a text, as they stand.

    Raises
    ------
    InputError
        When a turn is not `START END SPEAKER`, or does not last.

    Examples
    --------
    >>> from truecost.corrections.speech_text import turns_of
    >>> turns_of("0 1.5 ann|1.25 2 bob")[1]
    Turn(start=1250000, end=2000000, speaker='bob')
    """
    if not text.strip():
        return ()
    return tuple(_turn(said, place) for place, said in enumerate(text.split("|"), 1))


def _turn(said: str, place: int) -> Turn:
    """One turn; the place is for messages."""
    fields = said.split()
    where = f"turn {place} of a diarization, {said.strip()[:80]!r}"
    if len(fields) != 3:
        raise InputError(
            f"{where}: expected START END SPEAKER, in seconds and apart by blanks, turns apart by |"
        )
    start, end = (_time(field, where) for field in fields[:2])
    if end <= start:
        raise InputError(f"{where}: ends at {fields[1]} s, but must end after its start")
    return Turn(start, end, fields[2])


def _time(text: str, where: str) -> int:
    """Seconds as microseconds."""
    try:
        time = float(text)
    except ValueError:
        time = float("nan")
    if not (isfinite(time) and 0 <= time <= LATEST):
        raise InputError(f"{where}: {text!r} is no time: expected seconds, from 0")
    return round(time * MICRO)


def text_of(turns: Iterable[Turn]) -> str:
    """The text of turns; the inverse of `turns_of` for sorted turns.

    Raises
    ------
    InputError
        When the name of a speaker is empty, or has a blank or "|".

    Examples
    --------
    >>> from truecost.corrections.speech_text import Turn, text_of
    >>> text_of([Turn(1_250_000, 2_000_000, "bob"), Turn(0, 1_500_000, "ann")])
    '0 1.5 ann|1.25 2 bob'
    """
    said = []
    for turn in sorted(turns):
        if len(turn.speaker.split()) != 1 or turn.speaker.strip() != turn.speaker:
            raise InputError(f"speaker {turn.speaker!r}: a name must not be empty nor have blanks")
        if "|" in turn.speaker:
            raise InputError(f"speaker {turn.speaker!r}: a name must not have |")
        said.append(f"{seconds(turn.start)} {seconds(turn.end)} {turn.speaker}")
    return "|".join(said)


def seconds(time: int) -> str:
    """Microseconds as seconds, with no more decimals than are needed."""
    whole, rest = divmod(time, MICRO)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def region_of(part: str) -> tuple[int, int]:
    """Start and end of a region in microseconds.

    Parameters
    ----------
    part : str
        `START-END` in seconds.

    Raises
    ------
    InputError
        When it is none.

    Examples
    --------
    >>> from truecost.corrections.speech_text import region_of
    >>> region_of("1.5-2")
    (1500000, 2000000)
    """
    first, dash, last = part.partition("-")
    where = f"the region {part[:80]!r}"
    if not (dash and first and last):
        raise InputError(f"{where}: expected START-END in seconds, as in 12.5-14")
    start, end = _time(first, where), _time(last, where)
    if end <= start:
        raise InputError(f"{where}: must end after its start")
    return start, end


def region_name(start: int, end: int) -> str:
    """The name of a region, from microseconds; the inverse of `region_of`."""
    return f"{seconds(start)}-{seconds(end)}"
