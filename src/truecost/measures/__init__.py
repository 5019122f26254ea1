"""Measures: pure functions from totals to values and their naive references.

A measure is one function `f(totals, application[, parameter]) -> (values, references[, extras])`
over the first axis (replicates), listed in its module's `MEASURES`. That is all: every module
of its task's folder `measures` is searched, so intervals, subsets, comparisons, command line, JSON
and report follow. Here is what the measures of all tasks are made of.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.measures.base import Measure as Measure
    from truecost.measures.base import Result as Result
    from truecost.measures.base import Values as Values
    from truecost.measures.base import share as share
    from truecost.measures.finding import REPLACED as REPLACED
    from truecost.measures.finding import find as find
    from truecost.measures.finding import find_of_any_task as find_of_any_task
    from truecost.measures.finding import look_up as look_up
    from truecost.measures.finding import registry as registry
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".base": ("Measure", "Result", "Values", "share"),
            ".finding": ("REPLACED", "find", "find_of_any_task", "look_up", "registry"),
        },
    )
