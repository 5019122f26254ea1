"""Corrections of classes and of texts: the whole of an item."""

import numpy as np

from truecost.corrections.base import WHOLE, Part, References, whole


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
    from truecost.kernels.edits import distance

    said, right = output.split(), reference.split()
    if said == right:
        return 0
    codes: dict[str, int] = {}
    one, other = (
        np.array([codes.setdefault(word, len(codes)) for word in words], np.int64)
        for words in (said, right)
    )
    return distance(one, other)
