"""What a correction is, and corrections of classes and of texts: the whole of an item."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

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


class Classes:
    """A class is right or wrong; putting it right is one action."""

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The item, when its class is wrong."""
        if self.is_right(output, reference):
            return ()
        words = max(len(_several(reference)[0].split()), 1)
        return (Part(WHOLE, 1.0, words, 1),)

    def correct(
        self,
        output: str,
        reference: References,
        part: str,
        base: str | None = None,  # noqa: ARG002
    ) -> str:
        """The right class."""
        return self.told(output, reference, part)

    def told(self, output: str, reference: References, part: str) -> str:
        """The right class; the one that was said where several are right and it is among them."""
        whole(part, "class")
        right = _several(reference)
        return output if output in right else right[0]

    def is_right(self, output: str, reference: References) -> bool:
        """Whether the class is the right one."""
        return output in _several(reference)


class Texts:
    """A transcript or a translation: words apart by blanks, set right by edits of words.

    Of several references a person goes for the one that takes the fewest edits, the first of them.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The item, when a word of it is wrong."""
        edits, right = _nearest(output, _several(reference))
        return (Part(WHOLE, float(edits), len(right.split()), edits),) if edits else ()

    def correct(
        self,
        output: str,
        reference: References,
        part: str,
        base: str | None = None,  # noqa: ARG002
    ) -> str:
        """The nearest reference."""
        return self.told(output, reference, part)

    def told(self, output: str, reference: References, part: str) -> str:
        """The nearest reference."""
        whole(part, self._noun)
        return _nearest(output, _several(reference))[1]

    def is_right(self, output: str, reference: References) -> bool:
        """Whether all words are those of a reference."""
        words = output.split()
        return any(words == right.split() for right in _several(reference))


def _several(reference: References) -> tuple[str, ...]:
    """References as a tuple."""
    return (reference,) if isinstance(reference, str) else reference


def _nearest(output: str, references: tuple[str, ...]) -> tuple[int, str]:
    """Fewest edits, and the first reference that takes no more."""
    return min(((edits(output, right), right) for right in references), key=lambda found: found[0])


def edits(output: str, reference: str) -> int:
    """Substitutions, insertions and deletions of words between two texts.

    Parameters
    ----------
    output, reference : str
        Words apart by blanks.

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
