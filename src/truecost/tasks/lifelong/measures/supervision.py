"""Measures of what people did for systems that learn: corrections, seconds, words, simple actions.

`effort` is a tally of the help on the whole test set (whatever the window of a policy), with the
cell axis version and the statistics that `truecost.tasks.lifelong.records` names; `offline` of the
help away from it, up to each version: `answers`, `seconds`, `words`, `actions`. Help is never added
to a score here; the penalty of a penalised score is its cost in the unit of the score. Source:
paper 004, section 2.2.
"""

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Function, Measure, Result, share
from truecost.tasks.lifelong.measures.across import Across

TASK = "lifelong"
EFFORT, OFFLINE = "effort", "offline"


def msr(totals: Totals, application: Application, how: Across) -> Result:
    """Minimal supervision rate: cost of the corrections until the output is right / cost of all.

    The costs are words put in, or parts corrected (`answers`), or seconds (where the seconds that
    correcting a part takes are stated). Range [0, inf), lower is better; the reference is
    correcting everything, 1. Undefined where an output is not right in the end. Geoffrois 2016;
    paper 004, section 2.2.
    """
    del application
    sums = {
        name: totals.sums(EFFORT, name)[:, how.version]
        for name in ("corrections", "seconds", "words", "all_parts", "all_words", "wrong")
    }
    made, whole = {
        "words": ("words", sums["all_words"]),
        "answers": ("corrections", sums["all_parts"]),
        "seconds": ("seconds", sums["all_parts"] * (how.item_seconds or np.nan)),
    }.get(how.cost, ("words", np.full(len(sums["words"]), np.nan)))
    return np.where(sums["wrong"] > 0, np.nan, share(sums[made], whole)), 1.0


def _done(totals: Totals, part: str, statistic: str, how: Across) -> Result:
    """What people did in a run, on average over the runs."""
    return totals.sums(part, statistic)[:, how.version] / how.runs, NONE


def n_corrections(totals: Totals, application: Application, how: Across) -> Result:
    """Parts of outputs on the test set that a person corrected for a version, in a run."""
    del application
    return _done(totals, EFFORT, "corrections", how)


def help_seconds(totals: Totals, application: Application, how: Across) -> Result:
    """Seconds that a person was busy on the test set for a version, in a run."""
    del application
    return _done(totals, EFFORT, "seconds", how)


def help_words(totals: Totals, application: Application, how: Across) -> Result:
    """Words that a person put in on the test set for a version, in a run."""
    del application
    return _done(totals, EFFORT, "words", how)


def help_actions(totals: Totals, application: Application, how: Across) -> Result:
    """Simple actions of a person on the test set for a version, in a run."""
    del application
    return _done(totals, EFFORT, "actions", how)


def offline_answers(totals: Totals, application: Application, how: Across) -> Result:
    """Answers of people away from the test set, up to a version, in a run; never in a score."""
    del application
    return _done(totals, OFFLINE, "answers", how)


def offline_seconds(totals: Totals, application: Application, how: Across) -> Result:
    """Seconds that people were busy away from the test set, up to a version; never in a score."""
    del application
    return _done(totals, OFFLINE, "seconds", how)


def offline_words(totals: Totals, application: Application, how: Across) -> Result:
    """Words that people put in away from the test set, up to a version; never in a score."""
    del application
    return _done(totals, OFFLINE, "words", how)


def offline_actions(totals: Totals, application: Application, how: Across) -> Result:
    """Simple actions of people away from the test set, up to a version; never in a score."""
    del application
    return _done(totals, OFFLINE, "actions", how)


OF_EFFORT: tuple[tuple[Function, str, str], ...] = (
    (n_corrections, "Parts corrected or confirmed", EFFORT),
    (help_seconds, "Seconds of help", EFFORT),
    (help_words, "Words put in", EFFORT),
    (help_actions, "Actions of help", EFFORT),
    (offline_answers, "Offline answers", OFFLINE),
    (offline_seconds, "Seconds of offline help", OFFLINE),
    (offline_words, "Offline words put in", OFFLINE),
    (offline_actions, "Actions of offline help", OFFLINE),
)
MEASURES = (
    Measure(
        "msr",
        msr,
        (EFFORT,),
        "Minimal supervision rate",
        "lower",
        "Geoffrois 2016; paper 004, section 2.2",
        uses=(),
        undefined="an output is not right in the end, or what correcting all costs is not known",
        cites=("msr", "004"),
        shown_in="percent",
        task=TASK,
    ),
    *(
        Measure(
            function.__name__,
            function,
            (part,),
            title,
            "lower",
            "paper 004, section 2.2",
            uses=(),
            undefined="nobody measured it",
            task=TASK,
            total=True,
        )
        for function, title, part in OF_EFFORT
    ),
)
