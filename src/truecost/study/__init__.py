"""From a study to a result directory.

`Study` says everything that decides a result, `run` gives the `Outcome`, `write` its directory.
"""

from truecost.study.config import Study
from truecost.study.directory import check_target, write
from truecost.study.outcome import Input, Outcome, Part, Problem, ResultFile
from truecost.study.running import run

__all__ = [
    "Input",
    "Outcome",
    "Part",
    "Problem",
    "ResultFile",
    "Study",
    "check_target",
    "run",
    "write",
]
