"""Corrections, and those of classes and of texts: the whole of an item; a diarization as one line
of text, `START END SPEAKER|START END SPEAKER|...` (`Turn`).

In that line times are seconds with a point, from 0, rounded to microseconds; a turn ends after it
starts. A speaker has neither blanks nor "|". Empty text is silence. Written turns are sorted by
start, end and speaker, so that the same turns are the same text. A region is named `START-END`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import NamedTuple, Protocol

import numpy as np

from truecost.errors import InputError
from truecost.names import LATEST
from truecost.speech.spans import MICRO

WHOLE = ""  # the part that is all of an output
EVER = (-(10**16), 10**16)  # microseconds, beyond any clock
References = str | tuple[str, ...]  # several may be right


class Turn(NamedTuple):
    """Someone speaks; times in whole microseconds."""

    start: int
    end: int
    speaker: str


@lru_cache(maxsize=256)
def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns of a text, as they stand.

    Examples
    --------
    >>> from truecost.corrections.texts import turns_of
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
            f"{where}: expected START END SPEAKER, times in seconds, separated by blanks; "
            "turns are separated by |"
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
        raise InputError(f"{where}: {text!r} is not a time: expected seconds, 0 or more")
    return round(time * MICRO)


def text_of(turns: Iterable[Turn]) -> str:
    """The text of turns; the inverse of `turns_of` for sorted turns.

    Examples
    --------
    >>> from truecost.corrections.texts import Turn, text_of
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
    """Start and end in microseconds of a region, which is `START-END` in seconds.

    Examples
    --------
    >>> from truecost.corrections.texts import region_of
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


def apart(regions: Iterable[str], where: str) -> list[tuple[int, int]]:
    """Start and end of regions in their order, from one end of time to the other of a whole;
    InputError where two share time.
    """
    found = sorted((EVER if name == WHOLE else region_of(name), name) for name in regions)
    for (one, a), (other, b) in pairwise(found):
        if other[0] < one[1]:
            raise InputError(
                f"{where}: corrected regions overlap ({a!r}, {b!r}): each time is corrected once"
            )
    return [bounds for bounds, _ in found]


def region_name(start: int, end: int) -> str:
    """The name of a region, from microseconds; the inverse of `region_of`."""
    return f"{seconds(start)}-{seconds(end)}"


@dataclass(frozen=True)
class Part:
    """A part of an output that is wrong.

    Its errors are what it adds to those of the output: 1 of a class, words, or seconds of speaker
    time (the numerator of DER). The simple actions that put it right are 1 for a class,
    substitutions, insertions and deletions of words, or turns that are added, taken away or
    changed.
    """

    name: str  # `WHOLE`, or for speech the region `START-END` in seconds
    errors: float
    words: int  # that are put in; for speech the turns of the reference there
    actions: int


class Corrector(Protocol):
    """The parts of a kind of output that can be corrected, and the corrected output."""

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The parts that are wrong, by their place; their errors add up to those of the output."""

    def correct(
        self, output: str, reference: References, part: str, base: str | None = None
    ) -> str:
        """The output with a part put in place.

        Where names of speakers are the system's own, they stay those of `base`, by default of the
        output: give what the system said first when several parts are corrected one by one.
        """

    def answer(self, output: str, reference: References, part: str) -> str:
        """The person's correction of this part; speakers under the names of the output."""

    def is_right(self, output: str, reference: References) -> bool:
        """Whether there is nothing to correct."""


@dataclass(frozen=True)
class Whole:
    """Outputs that are corrected as a whole: a class, which one action puts right; a transcript or
    a translation, whose words, apart by blanks, are set right by edits.

    `nearest`: the actions that an output takes, and what is right then, of several references the
    first that takes the fewest. `least`: words that are put in at least.
    """

    noun: str
    nearest: Callable[[str, tuple[str, ...]], tuple[int, str]]
    least: int = 0

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The item, when something of it is wrong."""
        edits, right = self.nearest(output, _several(reference))
        words = max(len(right.split()), self.least)
        return (Part(WHOLE, float(edits), words, edits),) if edits else ()

    def correct(
        self,
        output: str,
        reference: References,
        part: str,
        base: str | None = None,  # noqa: ARG002
    ) -> str:
        """The correct output."""
        return self.answer(output, reference, part)

    def answer(self, output: str, reference: References, part: str) -> str:
        """The correct output; InputError for a part, as a whole has none."""
        if part != WHOLE:
            raise InputError(
                f"the part {part!r} of a {self.noun}: a {self.noun} is corrected as a whole (leave "
                f"part empty); only diarizations have parts, START-END in seconds"
            )
        return self.nearest(output, _several(reference))[1]

    def is_right(self, output: str, reference: References) -> bool:
        """Whether there is nothing to correct."""
        return not self.nearest(output, _several(reference))[0]


def right_class(output: str, references: tuple[str, ...]) -> tuple[int, str]:
    """1 where a class is none of those that are right, else 0; the one that was said, or a right
    one.
    """
    return (0, output) if output in references else (1, references[0])


def _several(reference: References) -> tuple[str, ...]:
    """References as a tuple."""
    return (reference,) if isinstance(reference, str) else reference


def nearest_text(output: str, references: tuple[str, ...]) -> tuple[int, str]:
    """Fewest edits, and the first reference that takes no more."""
    return min(((edits(output, right), right) for right in references), key=lambda found: found[0])


def edits(output: str, reference: str) -> int:
    """Substitutions, insertions and deletions of words, apart by blanks, between two texts.

    Examples
    --------
    >>> from truecost.corrections.texts import edits
    >>> edits("the dog barks", "the big dog barked")
    2
    """
    from truecost.kernels.texts import distance

    said, right = output.split(), reference.split()
    if said == right:
        return 0
    codes: dict[str, int] = {}
    one, other = (
        np.array([codes.setdefault(word, len(codes)) for word in words], np.int64)
        for words in (said, right)
    )
    return distance(one, other)
