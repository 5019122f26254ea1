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
    from truecost.corrections.kinds import CORRECTORS as CORRECTORS
    from truecost.corrections.kinds import corrector as corrector
    from truecost.corrections.texts import WHOLE as WHOLE
    from truecost.corrections.texts import Corrector as Corrector
    from truecost.corrections.texts import Part as Part
    from truecost.corrections.texts import References as References
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
