"""Measures: pure functions from totals to values and their naive references.

A measure is one function `f(totals, application[, parameter]) -> (values, references[, extras])`
over the first axis (replicates), listed in its module's `MEASURES`. That is all: every module of
this package is searched, so intervals, subsets, comparisons, command line, JSON and report follow.
"""

import importlib
import pkgutil
from difflib import get_close_matches
from functools import cache

from truecost.errors import UsageError
from truecost.measures.base import Measure, Result, Values, share

__all__ = ["Measure", "Result", "Values", "find", "find_of_any_task", "registry", "share"]

AVERAGED = "averaged F1 scores turn one decision into many; use nec with a cost matrix"
REPLACED = {  # rule of advice, and what to use in its place
    "f1": (
        "f-score",
        "F1 ignores what errors cost and depends on the prevalence; use nec with your own costs",
    ),
    "mcc": ("f-score", "MCC ignores what errors cost; use nec with your own costs"),
    "macro_f1": ("macro-f1", AVERAGED),
    "micro_f1": ("macro-f1", AVERAGED),
    "ece": (
        "ece-is-no-quality",
        "calibration error does not measure quality (the priors alone get 0); use nce or cllr",
    ),
    "fpr_at_fnr": (
        "fpr-at-fnr",
        "it chooses its threshold on the evaluation data; use act_dcf, or fa_at_miss:RATE if an "
        "operating point is what you need",
    ),
    "word_accuracy": (
        "insertions-hidden",
        "1 - wer is below 0 where many words are inserted; use wer, and unit_accuracy beside it "
        "for the share of words that were got right",
    ),
    "word_precision": (
        "units-of-hypothesis",
        "it divides by the length of the output, a mistake that pays for cautious systems that "
        "put out little; use wer, or mer for a share of at most 1",
    ),
    "wil": (
        "units-of-hypothesis",
        "it divides by the length of the output among others; use wer, or mer for a share of at "
        "most 1",
    ),
}


@cache
def registry() -> dict[str, Measure]:
    """Every measure by its key, in the order of the modules and their lists.

    Returns
    -------
    dict of str to Measure

    Raises
    ------
    UsageError
        When two measures have one name.
    """
    found: dict[str, Measure] = {}
    for module in pkgutil.iter_modules(__path__):
        for measure in getattr(
            importlib.import_module(f"{__name__}.{module.name}"), "MEASURES", ()
        ):
            if measure.key in found:
                raise UsageError(f"two measures are named {measure.key!r}")
            found[measure.key] = measure
    return found


def find(text: str, task: str = "") -> Measure:
    """The measure that `NAME` or `NAME:PARAMETER` names.

    Parameters
    ----------
    text : str
    task : str
        Whose measure of that name is meant, where several tasks have one.

    Returns
    -------
    Measure
        With its default parameter when none is given.

    Raises
    ------
    UsageError
        When there is no such measure (with what to use in its place, or the nearest name), or its
        parameter is not understood.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.find("eer").label, tc.find("eer:nearest").label
    ('eer:rocch', 'eer:nearest')
    """
    name, _, parameter = text.partition(":")
    known = registry()
    if f"{task}/{name}" in known:
        name = f"{task}/{name}"
    if name.lower() in REPLACED:
        rule, why = REPLACED[name.lower()]
        raise UsageError(f"{name} is no measure of truecost: {why} (truecost list advice: {rule})")
    if name not in known:
        own = (m.name if m.task in ("", task) else m.key for m in known.values())
        close = get_close_matches(name.lower(), [*own], n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(
            f"measure {name!r} is not known: {hint}`truecost list measures` shows them all"
        )
    return known[name].at(parameter) if parameter else known[name]


def find_of_any_task(label: str, task: str = "") -> Measure:
    """The measure of a row's label, whatever its task.

    Parameters
    ----------
    label : str
        `NAME` or `NAME:PARAMETER`.
    task : str
        The task that the row names (`Row.task`). Without it the parameter in the label tells
        measures of one name apart.

    Returns
    -------
    Measure

    Raises
    ------
    UsageError
        As `find` says.
    """
    try:
        return find(label, task)
    except UsageError:
        name = label.partition(":")[0]
        others = [m.task for m in registry().values() if m.task and m.name == name]
        if not others:
            raise
    return find(label, others[0])
