"""Which measures of a life cycle are meant: those asked for, or those that suit what is there."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truecost.core.measure import Measure
from truecost.errors import UsageError
from truecost.tasks.lifelong.kinds.base import Kind
from truecost.tasks.lifelong.kinds.ready import KIND as SCORES
from truecost.tasks.lifelong.measures.lifelong import inner_of
from truecost.tasks.lifelong.measures.supervision import OF_EFFORT, OFFLINE, TASK
from truecost.tasks.lifelong.options import OF_POLICY, LifelongScoring
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.measures import find, registry

PLAIN = LifelongScoring()
OF_HELP = OF_POLICY[1:2] + OF_POLICY[3:]  # what corrections are needed for
ACROSS = ("forgetting_max", "forgetting_first", "backward_transfer", "forward_transfer")
EFFORTS = tuple(function.__name__ for function, _, _ in OF_EFFORT)
ON_TEST = ("msr", *(name for name in EFFORTS if not name.startswith(OFFLINE)))
AREA = "area_under_curve"
READY = SCORES.name
OFFLINES = tuple(name for name in EFFORTS if name.startswith(OFFLINE))


def score_of_kind(text: str, kind: Kind) -> Measure:
    """The measure that a score is.

    Parameters
    ----------
    text : str
        `NAME` or `NAME:PARAMETER`.
    kind : Kind
        What the outputs are.

    Raises
    ------
    UsageError
        When it is no score of this kind.
    """
    name = text.partition(":")[0]
    if name not in kind.scores:
        known = ", ".join(kind.scores)
        if kind.name == READY:
            raise UsageError(
                f"score {text!r} cannot be computed: the table holds scores, and no outputs that "
                f"could be counted; leave the score out (it is {known}), or give event logs of the "
                f"outputs"
            )
        why = kind.refused.get(name, f"it is no score of {kind.name}")
        raise UsageError(f"score {text!r} is not for {kind.name}: {why}; take {known}")
    try:
        return inner_of(text)
    except ValueError as error:
        raise UsageError(str(error)) from error


def score_of(lifelong: Lifelong, how: LifelongScoring) -> str:
    """The score that is asked for, or that of the kind, refused where it cannot be computed."""
    text = how.score or lifelong.kind.scores[0]
    inner = score_of_kind(text, lifelong.kind)
    if lost := [part for part in inner.parts if part not in lifelong.test.statistics]:
        raise UsageError(
            f"{lifelong.name}: score {text!r} needs {', '.join(lost)}, which were not counted: "
            f"name the score when reading"
        )
    return text


def measures_of(
    asked: Sequence[str], lifelong: Lifelong | None = None, how: LifelongScoring = PLAIN
) -> list[Measure]:
    """The measures asked for, or those that suit what is there, each with the score in it.

    Parameters
    ----------
    asked : sequence of str
        `NAME`, or `NAME:SCORE` for another score than that of the options.

    Raises
    ------
    UsageError
        When a measure is not known, belongs to another task, or needs what is not there.
    """
    own = [m.name for m in registry(TASK).values() if m.task == TASK]
    found = []
    for text in dict.fromkeys(asked or defaults(lifelong, how)):
        measure = find(text, TASK)
        if measure.task != TASK or measure.name not in {*own}:
            raise UsageError(f"measure {text!r} is not for life cycles: take {', '.join(own)}")
        if lifelong is not None:
            _refuse_without(measure.name, lifelong)
            if measure.parameter is not None:
                score = text.partition(":")[2] or how.score
                measure = measure.at(score_of(lifelong, replace(how, score=score)))
        found.append(measure)
    return found


def _refuse_without(name: str, lifelong: Lifelong) -> None:
    """Refuse what needs help, an initial version or another set that is not there."""
    who = lifelong.name
    if name == "adapted_score" and lifelong.test.has("adapted"):
        return  # what was put out after help needs no worst value
    if name in OF_HELP and lifelong.no_penalty:
        raise UsageError(f"{who}: nothing can be penalised: {lifelong.no_penalty}")
    if name in OF_HELP and not lifelong.helped:
        raise UsageError(
            f"measure {name!r} needs a person's help on the test set; {who} has outputs before "
            f"help only: take policy_score"
        )
    if name == "lifelong_score" and lifelong.stream is None:
        raise UsageError(f"measure {name!r} needs scores on the lifelong set; {who} has none")
    if name in (*OFFLINES, AREA) and not lifelong.offline.height:
        raise UsageError(f"measure {name!r}: {who} tells of no help away from the test set")


def of_help(name: str) -> bool:
    """Whether a measure is of a person's help, which not every system has."""
    return name in (*OF_HELP, *ON_TEST, *OFFLINES, AREA)


def unhelped(name: str, lifelong: Lifelong) -> bool:
    """Whether a measure is of help that a system did not have, as a baseline has none.

    Parameters
    ----------
    name : str
        Of a measure, without its score.

    Returns
    -------
    bool
        False too where help was there, and cannot be scored: that is refused, never left out.
    """
    if name in (*OFFLINES, AREA):
        return not lifelong.offline.height
    if name in ON_TEST:
        return not lifelong.test.effort.height
    return name in OF_HELP and not lifelong.helped and not lifelong.test.effort.height


def single(lifelong: Lifelong) -> bool:
    """Whether there is one output, and nothing across time."""
    return len(lifelong.versions) == 1 and len(lifelong.test.times) == 1


def defaults(lifelong: Lifelong | None, how: LifelongScoring) -> tuple[str, ...]:
    """What is shown unless something is asked for."""
    del how
    if lifelong is None:
        return ("policy_score", *ACROSS)
    if "cost" in lifelong.offline.columns:  # of a curve: there is nothing across time
        return ("area_under_curve", "policy_score")
    helped = lifelong.helped and not lifelong.no_penalty
    effort = lifelong.test.effort
    made = [
        name
        for name, column in (
            ("n_corrections", "corrections"),
            ("help_seconds", "seconds"),
            ("help_words", "words"),
        )
        if helped and effort[column].sum()
    ]
    right = helped and effort.height and not effort["wrong"].sum()
    rate = ("msr",) if right and effort["all_words"].sum() else ()
    if single(lifelong) and not helped:  # a table of one plain score
        return ("policy_score",)
    if single(lifelong):
        return (*(name for name in OF_POLICY if name != "policy_score"), *made, *rate)
    offline = lifelong.offline
    spent = [
        f"offline_{name}"
        for name in ("answers", "seconds", "words")
        if offline.height and offline[name].sum()
    ]
    ahead = ACROSS if np.isinf(lifelong.learnt).any() else ACROSS[:-1]
    return (
        "policy_score",
        *(("penalised_score", "adapted_score", "penalty", "generalisation_gain") * helped),
        *ahead,
        *(() if lifelong.stream is None else ("lifelong_score",)),
        *made,
        *rate,
        *spent,
        *((AREA,) if spent else ()),
    )
