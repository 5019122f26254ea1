"""Validation: everything that can be said of a file of scores before it is scored.

`load` stops at the first fault; a participant wants them all. Each check runs the same code as
scoring does and keeps its message. None needs the labels: a list of trials is enough, and without
one the file is checked on its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from truecost.errors import TruecostError, first_five
from truecost.formats import Table
from truecost.tasks import columns as read
from truecost.tasks.columns import Options
from truecost.tasks.joining import join
from truecost.tasks.pairing import check_classes
from truecost.tasks.records import load

FEW_VALUES = 0.05  # distinct scores as a share of the trials: fewer are coarse


@dataclass(frozen=True)
class Check:
    """One check of a file.

    Attributes
    ----------
    name : str
        What was checked.
    state : {"ok", "warning", "error"}
    message : str
        What was found, and what to do about it.
    """

    name: str
    state: Literal["ok", "warning", "error"]
    message: str


def validate(
    table: Table,
    options: Options,
    *,
    trials: Table | None = None,
    key: Table | None = None,
    name: str = "submission",
) -> list[Check]:
    """All checks of a file of scores.

    Parameters
    ----------
    table : Table
        Scores.
    options : Options
        What the columns mean.
    trials : Table, optional
        The trials that have to be scored, with or without labels.
    key : Table, optional
        Trials with their labels: the whole loading is checked then.
    name : str
        Name of the system.

    Returns
    -------
    list of Check
        In the order in which they were made; the file can be scored when none is an error.

    Examples
    --------
    >>> import io
    >>> import polars as pl
    >>> import truecost as tc
    >>> from truecost.formats import Table
    >>> from truecost.tasks.validation import validate
    >>> scores = Table("mine.csv", pl.DataFrame({"id": ["a", "b"], "score": ["1.5", "x"]}))
    >>> asked = Table("trials.csv", pl.DataFrame({"id": ["a", "c"]}))
    >>> for check in validate(scores, tc.Options("llr"), trials=asked):
    ...     print(check.state, check.name)
    ok rows
    error trials
    error scores
    """
    said = f" ({table.layout})" if table.layout else ""
    found = [Check("rows", "ok", f"{table.source}: {_count(len(table), 'row')} read{said}")]
    wanted = trials if trials is not None else key
    if wanted is not None:
        found.append(_tried("trials", lambda: _same_ids(table, wanted, options)))
    else:
        found.append(_tried("ids", lambda: _ids(table, options)))
    scores = _tried("scores", lambda: _scores(table, options))
    found.append(scores)
    if scores.state != "error" and options.kind not in ("decision",):
        found += _spread(table, options)
    labelled = options.column("label", table) is not None
    if all(check.state != "error" for check in found) and (key is not None or labelled):
        found.append(_tried("labels", lambda: _labels(table, options, name, key)))
    return found


def _tried(name: str, check: Callable[[], str]) -> Check:
    """What a check says, or the error that it raised."""
    try:
        return Check(name, "ok", check())
    except TruecostError as error:
        return Check(name, "error", str(error))


def _ids(table: Table, options: Options) -> str:
    ids = read.trial_ids(table, options)
    if ids is None:
        return f"{table.source}: no id column; trials can be neither joined nor compared"
    return f"{table.source}: {_count(len(ids), 'id')}, none empty, none repeated"


def _same_ids(table: Table, wanted: Table, options: Options) -> str:
    """The ids are those of the trials, unless missing ones are allowed."""
    column = options.column("id", table)
    ids = wanted if column is None else replace(wanted, frame=wanted.frame.select(column))
    join(table, replace(ids, matrices={}), options, "the list")
    return f"{table.source}: the ids are those of the {_count(len(wanted), 'trial')} asked for"


def _scores(table: Table, options: Options) -> str:
    scores, _ = read.scores_of(table, options)
    absent = np.isnan(scores if scores.ndim == 1 else scores.sum(axis=1))
    read.refuse_rows(
        table,
        absent & (options.missing == "error") & (options.kind != "decision"),
        "scores are missing or NaN",
        None,
    )
    return f"{table.source}: {_count(len(scores), 'score')} of type {options.kind}"


def _spread(table: Table, options: Options) -> list[Check]:
    """Warnings on scores that are right in form but odd."""
    scores, _ = read.scores_of(table, options)
    found = []
    flat = scores if scores.ndim == 1 else scores[:, 0]
    distinct = len(np.unique(flat[~np.isnan(flat)]))
    if distinct == 1 and len(flat) > 1:
        found.append(f"all scores are {flat[0]:g}: they tell nothing apart")
    elif distinct < FEW_VALUES * len(flat) and scores.ndim == 1 and options.kind != "number":
        found.append(
            f"only {distinct} distinct scores in {_count(len(flat), 'trial')}: were they rounded? "
            f"tied trials are accepted or rejected together"
        )
    if options.kind == "llr" and flat.min(initial=0.0) >= 0:
        found.append("no log likelihood ratio is below 0: are they posteriors or plain scores?")
    return [Check("spread", "warning", f"{table.source}: {text}") for text in found]


def _labels(table: Table, options: Options, name: str, key: Table | None) -> str:
    trials = load(table, options, name, key)
    check_classes(trials)
    if not trials.classes:
        return f"{name}: {_count(len(trials), 'trial')} with true numbers"
    counts = np.bincount(trials.labels, minlength=len(trials.classes))
    classes = zip(counts, trials.classes, strict=True)
    return f"{name}: {first_five(f'{n} {c}' for n, c in classes)}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
