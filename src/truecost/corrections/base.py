"""What a correction is: a part of an output that a person puts right, and what that takes."""

from dataclasses import dataclass
from typing import Protocol

from truecost.errors import InputError

WHOLE = ""  # the part that is all of an output
References = str | tuple[str, ...]  # several may be right


@dataclass(frozen=True)
class Part:
    """A part of an output that is wrong.

    Attributes
    ----------
    name : str
        `WHOLE`, or for speech the region `START-END` in seconds.
    errors : float
        What it adds to the errors of the output: 1 of a class, words, or seconds of speaker time
        (the numerator of DER).
    words : int
        Words that are put in; for speech the turns of the reference there.
    actions : int
        Simple actions that put it right: 1 for a class, substitutions, insertions and deletions of
        words, or turns that are added, taken away or changed.
    """

    name: str
    errors: float
    words: int
    actions: int


class Corrector(Protocol):
    """What of a kind of output can be corrected, and what comes out of it."""

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The parts that are wrong, by their place; their errors add up to those of the output."""
        ...

    def correct(
        self, output: str, reference: References, part: str, base: str | None = None
    ) -> str:
        """The output with a part put in place.

        Where names of speakers are the system's own, they stay those of `base`, by default of the
        output: give what the system said first when several parts are corrected one by one.
        """
        ...

    def told(self, output: str, reference: References, part: str) -> str:
        """What the person says is right there; speakers under the names of the output."""
        ...

    def is_right(self, output: str, reference: References) -> bool:
        """Whether there is nothing to correct."""
        ...


def whole(part: str, noun: str) -> None:
    """Refuse parts of what has none: InputError."""
    if part != WHOLE:
        raise InputError(
            f"the part {part!r} of a {noun}: a {noun} is corrected as a whole (part empty); only "
            f"the regions of a diarization are named, START-END in seconds"
        )
