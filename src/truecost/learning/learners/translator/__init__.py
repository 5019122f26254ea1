"""`translator`: learns to translate from sentences and their translations, however few.

It remembers every pair of sentences that it was given, finds out which words belong together
(`aligning`), what runs of words are translated as (`phrases`), and translates new sentences with
both (`decoding`). After each adaptation everything is worked out anew from all pairs that it keeps,
so that it depends on them alone. It asks for the sentences of which it is least sure.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.learners.translator.learner import Translator as Translator
    from truecost.learning.learners.translator.learner import (
        TranslatorSettings as TranslatorSettings,
    )
    from truecost.learning.learners.translator.learner import translator as translator
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".learner": ("Translator", "TranslatorSettings", "translator"),
        },
    )
