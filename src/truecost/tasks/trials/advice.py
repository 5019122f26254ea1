"""Advice on trials: accuracy where one class is nearly all, and lists of two sides."""

from collections.abc import Sequence

from truecost.core.flags import Flag
from truecost.core.results import Estimate
from truecost.core.warnings import detailed
from truecost.study.outcome import Part, Problem
from truecost.tasks.trials.counting import class_shares
from truecost.tasks.trials.records import Trials

IMBALANCED = 0.9  # share of the largest class from which accuracy all but leaves out the others


def flagged(flag: Flag, rows: Sequence[Estimate], every: int, parts: Sequence[Part]) -> str:
    """The advice of a flag; where a trial is a pair of an enrolment and a test, that of pairs."""
    del every
    sides = flag.sides if any(map(_is_trial_list, parts)) else ""
    return detailed(flag.name, rows) or sides or flag.advice


def _is_trial_list(part: Part) -> bool:
    """Whether a trial is a pair of an enrolment and a test."""
    listed = (t for t in part.systems if isinstance(t, Trials))
    return any({"enroll", "test"} <= set(t.frame.columns) for t in listed)


def on_imbalance(part: Part) -> list[Problem]:
    """Accuracy of trials that are nearly all of one class, where it was asked for."""
    found = []
    for trials in part.systems:
        if not isinstance(trials, Trials) or "accuracy" not in part.scoring[trials.name].measures:
            continue
        largest = class_shares(trials).max()
        if largest >= IMBALANCED:
            message = (
                f"accuracy: {100 * largest:.3g} % of the trials are of one class, so that errors "
                f"on others hardly count: use nec, and say what they cost (--cost-miss)"
            )
            rule = "accuracy-on-imbalanced-data"
            found.append(Problem(kind="advice", message=message, rule=rule))
    return found
