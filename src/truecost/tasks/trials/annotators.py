"""Several annotators of one item: who gave which label, and which labels count as right.

Paper 003, section 3.7, asks whether a user takes a decision for a mistake when some annotators,
perhaps not most of them, gave that label. The answer is the user's, so it is never guessed:

- "any": every label that enough annotators gave is right. A trial then has a set of right labels
  and no one class; a decision costs the least that any of them makes it cost.
- "votes": each label counts with its share of the annotators, as a soft label. A trial then has
  one class in each of its rows, so that every measure can be computed.

Conventions: votes are counts, trials x classes; class 1 is the target of a detection task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.core.factors import Factor
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.names import Annotators
from truecost.study.columns import Options
from truecost.tasks.trials.labels import classes_of

Floats = npt.NDArray[np.float64]
Sides = Sequence[tuple[Factor, npt.NDArray[np.int32]]]

SEPARATOR = "|"  # between the labels of one cell


@dataclass(frozen=True, eq=False)
class Annotation:
    """What the annotators of each trial said.

    Attributes
    ----------
    votes : ndarray of int64, shape (N, K)
        How many annotators gave each class; each trial has at least one.
    rule : {"votes", "any"}
        What counts as right.
    accept : float, optional
        Least share of the annotators that makes a label right; any vote does when left out.
    """

    votes: npt.NDArray[np.int64]
    rule: Annotators
    accept: float | None = None

    @cached_property
    def answers(self) -> npt.NDArray[np.int64]:
        """Number of annotators of each trial, shape (N,)."""
        return np.asarray(self.votes.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """Share of the annotators of a trial that gave each class, shape (N, K)."""
        return np.asarray(self.votes / self.answers[:, None])

    @cached_property
    def accepted(self) -> npt.NDArray[np.bool_]:
        """Whether a class counts as right, shape (N, K)."""
        if self.accept is None:
            return self.votes > 0
        # 7 of 100 are a share of 0.07, whatever 0.07 * 100 is in floating point.
        return (self.votes > 0) & (self.shares >= self.accept - 1e-9)

    @property
    def majority(self) -> npt.NDArray[np.int64]:
        """The class of most votes, shape (N,); the first of those that tie."""
        return np.asarray(self.votes.argmax(axis=1))

    def take(self, rows: npt.NDArray[Any]) -> "Annotation":
        """Those of these rows (indices, or a mask)."""
        return replace(self, votes=self.votes[rows])

    def agreement(self, origin: npt.NDArray[np.int64] | None) -> dict[str, float]:
        """Mean number of annotators, and how many trials have several labels.

        Parameters
        ----------
        origin : ndarray of int, shape (N,), optional
            The trial that each row stands for, when votes make several rows of one.

        Returns
        -------
        dict of str to float
            `annotators_per_trial`; `several_accepted` (rule "any": trials of which several labels
            are right) or `several_labels` (rule "votes": trials whose annotators do not agree).
        """
        one = self if origin is None else self.take(np.unique(origin, return_index=True)[1])
        name, held = "several_labels", one.votes > 0
        if self.rule == "any":
            name, held = "several_accepted", one.accepted
        several = int((held.sum(axis=1) > 1).sum())
        return {"annotators_per_trial": float(one.answers.mean()), name: several}


def answers_of(table: Table, mapped: str) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """All labels that annotators gave, and the row of each.

    Parameters
    ----------
    mapped : str
        `a+b+c`: one column an annotator, empty where one did not answer; a single column: labels
        separated by `|`.

    Returns
    -------
    rows : ndarray of int64, shape (answers,)

    Raises
    ------
    UsageError
        When a column is not there, or named twice.
    InputError
        When a cell of several columns holds several labels.
    """
    names = mapped.split("+")
    if len(set(names)) < len(names):
        raise UsageError(f"--map annotators={mapped} names a column twice: each annotator has one")
    columns = [table.texts(name, "annotators") for name in names]
    if len(names) > 1:
        for column, name in zip(columns, names, strict=True):
            _refuse_several(table, column, name)
    rows = pl.Series("row", np.arange(len(table)))
    said = pl.concat(
        pl.DataFrame({"row": rows, "label": column.str.split(SEPARATOR)}) for column in columns
    )
    given = said.explode("label").with_columns(pl.col("label").str.strip_chars())
    given = given.filter(pl.col("label").is_not_null() & (pl.col("label") != ""))
    return given["row"].to_numpy(), given["label"]


def _refuse_several(table: Table, column: pl.Series, name: str) -> None:
    """Refuse several labels in a cell when each annotator has a column."""
    bad = column.str.contains(SEPARATOR, literal=True).fill_null(False).arg_true()
    if len(bad):
        shown = first_five(f"{column[r]!r} at {table.where(r)}" for r in bad.head(6))
        raise InputError(
            f"{table.source}: {counted(len(bad), 'cell')} of the annotator {name!r} with "
            f"{SEPARATOR!r}: {shown}; with one column an annotator a cell holds one label (labels "
            f"separated by {SEPARATOR!r} stand in a single column)"
        )


def annotation_of(
    table: Table,
    options: Options,
    scores: Floats,
    columns: tuple[str, ...] | None,
    ids: npt.NDArray[Any] | None,
) -> tuple[Annotation, tuple[str, ...], bool]:
    """The votes of each trial, class names, and whether this is detection.

    Parameters
    ----------
    options : Options
        With `annotators` mapped.
    scores : ndarray of float64, shape (N,) or (N, K)
    columns : tuple of str or None
        Class names that the score columns give.
    ids : ndarray, shape (N,), optional
        For messages.

    Raises
    ------
    InputError
        When a trial has no label, no label that enough annotators gave, or one that is no class.
    UsageError
        When a column is not there, or there are not as many classes as scores a trial.
    """
    rows, texts = answers_of(table, options.columns["annotators"])
    silent = ~np.isin(np.arange(len(table)), rows)
    _refuse_trials(table, silent, ids, "no label of any annotator", "label them")
    codes, names, detection = classes_of(table, options, texts, rows, scores, columns)
    votes = np.bincount(rows * len(names) + codes, minlength=len(table) * len(names))
    rule = options.annotators or "any"  # `Options` refuses a mapping without a rule
    annotation = Annotation(votes.reshape(len(table), len(names)), rule, options.accept)
    _refuse_trials(
        table,
        np.equal(annotation.accepted.sum(axis=1), 0),
        ids,
        f"no label that a share of {options.accept or 0:g} of their annotators gave",
        "give a lower --accept",
    )
    return annotation, names, detection


def _refuse_trials(
    table: Table,
    bad: npt.NDArray[np.bool_],
    ids: npt.NDArray[Any] | None,
    lacking: str,
    advice: str,
) -> None:
    """Refuse trials that lack something: how many, what, the first five, and what to do."""
    rows = np.flatnonzero(bad)
    if len(rows) == 0:
        return
    where = [table.where(int(r)) for r in rows[:6]]
    if ids is not None:
        where = [f"{ids[r]} ({place})" for r, place in zip(rows, where, strict=False)]
    raise InputError(
        f"{table.source}: {counted(len(rows), 'trial', 'have')} {lacking}: {first_five(where)}; "
        f"{advice}, or leave such trials out"
    )


def refuse_priors(application: Application) -> None:
    """Refuse priors that are given where a trial may have several classes: UsageError."""
    if application.priors is not None:
        raise UsageError(
            "priors cannot be given with --annotators any: a trial of which several labels are "
            "right has no one class that a prior could weigh; leave out --prior, --priors or the "
            "preset (--threshold sets the operating point of a detector), or say --annotators votes"
        )


def least_costs(accepted: npt.NDArray[np.bool_], costs: Floats) -> Floats:
    """What each decision costs when any accepted label is right: min over k in A of c[k, d].

    Parameters
    ----------
    accepted : ndarray of bool, shape (N, K)
        At least one in each row.
    costs : ndarray of float64, shape (K, D)

    Returns
    -------
    ndarray of float64, shape (N, D)
    """
    least = np.full((len(accepted), costs.shape[1]), np.inf)
    for right, row in zip(accepted.T, costs, strict=True):
        np.minimum(least, row, out=least, where=right[:, None])
    return least


def accepted_tally(
    annotation: Annotation,
    choices: npt.NDArray[np.int64],
    costs: Floats,
    labels: Sequence[str],
    sides: Sides,
    weights: Floats | None,
) -> Tally:
    """Count what decisions and constants cost when any accepted label is right.

    Parameters
    ----------
    choices : ndarray of int64, shape (N,)
        Index of the decision taken.
    costs : ndarray of float64, shape (K, D)
    labels : sequence of str, length D
        Names of the decisions.
    sides : sequence of (Factor, ndarray of int32, shape (N,))
    weights : ndarray of float64, shape (N,), optional

    Returns
    -------
    Tally
        Axis decision; statistics n, cost, error of the trials that are decided so, and
        constant_cost, constant_error of all trials if they were.
    """
    width = costs.shape[1]
    cost = least_costs(annotation.accepted, costs).ravel()
    error = least_costs(annotation.accepted, 1 - np.eye(*costs.shape)).ravel()
    decisions = np.tile(np.arange(width), len(choices))
    taken = decisions == np.repeat(choices, width)
    return Tally.count(
        [(factor, np.repeat(codes, width)) for factor, codes in sides],
        {
            "n": taken,
            "cost": np.where(taken, cost, 0.0),
            "error": np.where(taken, error, 0.0),
            "constant_cost": cost,
            "constant_error": error,
        },
        {"decision": (labels, decisions)},
        None if weights is None else np.repeat(weights, width),
    )
