"""How outputs are corrected, by their kind."""

from truecost.corrections.base import Corrector
from truecost.corrections.regions import Regions
from truecost.corrections.texts import Classes, Texts
from truecost.errors import UsageError, near

CORRECTORS: dict[str, Corrector] = {
    "classes": Classes(),
    "transcripts": Texts("transcript"),
    "translation": Texts("translation"),
    "diarization": Regions(),
}


def corrector(kind: str) -> Corrector:
    """How outputs of a kind are corrected.

    Parameters
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}

    Raises
    ------
    UsageError
        When there is no such kind.

    Examples
    --------
    >>> from truecost.corrections import corrector
    >>> corrector("transcripts").parts("the cat sat", "the cat sat down")
    (Part(name='', errors=1.0, words=4, actions=1),)
    """
    if kind not in CORRECTORS:
        raise UsageError(
            f"no outputs of kind {kind!r} can be corrected{near(kind, CORRECTORS)}: known are "
            f"{', '.join(CORRECTORS)}"
        )
    return CORRECTORS[kind]
