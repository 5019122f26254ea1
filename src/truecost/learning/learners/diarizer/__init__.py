"""`diarizer`: starts from what a real diarization system put out, and learns from corrections.

Within a recording, the regions that a person told stay as they were told, and speakers get the
names that the person gave them. From region to region, and from one recording to all later ones, it
learns which speakers of the system are nobody (`heaps`): their time is given to whoever else speaks
nearest. It asks about regions in which its output differs most from that of another system.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.learning.learners.diarizer.learner import Diarizer as Diarizer
    from truecost.learning.learners.diarizer.learner import DiarizerSettings as DiarizerSettings
    from truecost.learning.learners.diarizer.learner import diarizer as diarizer
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".learner": ("Diarizer", "DiarizerSettings", "diarizer"),
        },
    )
