"""Mistakes of a simulated person: an answer that is not right, as like a right one as can be."""

from collections.abc import Mapping
from functools import lru_cache

from truecost.learning.system import generator


def mistaken(
    kind: str,
    said: str,
    draw: float,
    classes: tuple[str, ...],
    references: Mapping[str, str],
    output: str = "",
) -> str:
    """A wrong answer in place of a right one.

    Parameters
    ----------
    kind : str
        Of the outputs.
    said : str
        What is right.
    draw : float
        In [0, 1): decides which mistake it is.
    classes : tuple of str
        Of the kind `classes`: another one is said, each as likely.
    references : mapping of str to str
        Of texts: one word becomes another word of them; of diarizations: one turn gets another
        speaker of all of them.
    output : str
        Of diarizations: what the system said, whose speakers are taken instead.

    Returns
    -------
    str
        Different from `said`, unless there is no other class, word or speaker: then a text loses a
        word, and a diarization a turn. An empty diarization stays empty.
    """
    if kind == "classes":
        others = [name for name in classes if name != said]
        return others[int(draw * len(others))] if others else said
    if kind == "diarization":
        known = _Known({"": output} if output else references)
        return _other_turn(said, draw, _speakers(known))
    return _other_word(said, draw, _words(_Known(references)))


class _Known:
    """References that are kept apart by who they are: a mapping has no hash."""

    def __init__(self, references: Mapping[str, str]) -> None:
        self.references = references

    def __hash__(self) -> int:
        return id(self.references)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.references is other.references


@lru_cache(maxsize=4)
def _words(known: _Known) -> tuple[str, ...]:
    """All words of texts, sorted."""
    return tuple(sorted({word for text in known.references.values() for word in text.split()}))


@lru_cache(maxsize=4)
def _speakers(known: _Known) -> tuple[str, ...]:
    """All speakers of diarizations, sorted."""
    from truecost.corrections.speech_text import turns_of

    said = known.references.values()
    return tuple(sorted({turn.speaker for text in said for turn in turns_of(text)}))


def _other_word(said: str, draw: float, words: tuple[str, ...]) -> str:
    """A text with one word that is another."""
    own = said.split()
    if not own:
        return words[int(draw * len(words))] if words else said
    draws = generator(0, "mistake", repr(draw))
    place = int(draws.integers(len(own)))
    others = [word for word in words if word != own[place]]
    own[place : place + 1] = [others[int(draws.integers(len(others)))]] if others else []
    return " ".join(own)


def _other_turn(said: str, draw: float, speakers: tuple[str, ...]) -> str:
    """A diarization with one turn that is another's."""
    from truecost.corrections.speech_text import text_of, turns_of

    own = [*turns_of(said)]
    if not own:
        return said
    draws = generator(0, "mistake", repr(draw))
    place = int(draws.integers(len(own)))
    turn = own[place]
    others = [name for name in speakers if name != turn.speaker]
    own[place : place + 1] = (
        [turn._replace(speaker=others[int(draws.integers(len(others)))])] if others else []
    )
    return text_of(own)
