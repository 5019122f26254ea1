"""Corrections: what of an output a person can put right, what it takes, and what comes out.

Used by whoever stands for a person (an expert that answers from the references) and by whoever
counts what a person did. Each kind of output has a `Corrector`::

    right = corrector("diarization")
    worst = max(right.parts(output, reference), key=lambda part: part.errors)
    better = right.correct(output, reference, worst.name)
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.corrections.base import WHOLE as WHOLE
    from truecost.corrections.base import Corrector as Corrector
    from truecost.corrections.base import Part as Part
    from truecost.corrections.base import References as References
    from truecost.corrections.kinds import CORRECTORS as CORRECTORS
    from truecost.corrections.kinds import corrector as corrector
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".base": ("Corrector", "Part", "References", "WHOLE"),
            ".kinds": ("CORRECTORS", "corrector"),
        },
    )
