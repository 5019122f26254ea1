"""Lifelong learning with a human expert: scores across time, and what help costs (paper 004).

::

    lived = tc.lifelong.penalise("translation", base, adapted, references, corrected=["7"])
    for row in tc.score(lived, tc.Scoring(lifelong=tc.lifelong.LifelongScoring(score="bleu"))):
        print(row)

- A `Lifelong` holds what every version of a system puts out on every test set, counted by item;
- `from_matrix` makes one of an array of scores by version and time, `read_scores` of a table;
- `tc.score` gives the scores under each `Policy`, the penalty of the help, forgetting, transfer and
  the area under the learning curve, with their intervals; `LifelongScoring` says what is left open;
- `describe` makes what reports draw.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.tasks.lifelong.describing import describe_lifelong as describe
    from truecost.tasks.lifelong.descriptions import LifelongDescription
    from truecost.tasks.lifelong.options import LifelongScoring
    from truecost.tasks.lifelong.penalising import penalise
    from truecost.tasks.lifelong.policies import Policy
    from truecost.tasks.lifelong.records import Lifelong
    from truecost.tasks.lifelong.tables import TableOptions, from_matrix, read_scores

_HOME = {
    "truecost.tasks.lifelong.descriptions": ("LifelongDescription",),
    "truecost.tasks.lifelong.options": ("LifelongScoring",),
    "truecost.tasks.lifelong.penalising": ("penalise",),
    "truecost.tasks.lifelong.policies": ("Policy",),
    "truecost.tasks.lifelong.records": ("Lifelong",),
    "truecost.tasks.lifelong.tables": ("TableOptions", "from_matrix", "read_scores"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Lifelong",
    "LifelongDescription",
    "LifelongScoring",
    "Policy",
    "TableOptions",
    "describe",
    "from_matrix",
    "penalise",
    "read_scores",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name == "describe":
        return importlib.import_module("truecost.tasks.lifelong.describing").describe_lifelong
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE[name]), name)
