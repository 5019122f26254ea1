"""From a study to a result directory.

`Study` contains all settings of a result, `run` returns the `Outcome`, `write` writes its
directory.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.study.config import Study as Study
    from truecost.study.directory import check_target as check_target
    from truecost.study.directory import write as write
    from truecost.study.outcome import Input as Input
    from truecost.study.outcome import Outcome as Outcome
    from truecost.study.outcome import Part as Part
    from truecost.study.outcome import Problem as Problem
    from truecost.study.outcome import ResultFile as ResultFile
    from truecost.study.running import run as run
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
