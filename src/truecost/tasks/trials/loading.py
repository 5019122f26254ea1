"""Loading trials: from tables of scores, keys and metadata to checked records.

`load` joins a table of scores with an optional key by id, reads the mapped columns, and refuses
what cannot be scored: missing, extra or repeated ids, scores that are not finite, labels outside
the set. Nothing is guessed; `missing` says what to do with trials that have no score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, checked, counted, first_five
from truecost.formats import Table
from truecost.formats.mapped import optional_texts, refuse_rows, unit_columns
from truecost.names import POSTERIORS
from truecost.study import columns as read
from truecost.study.arguments import columns_in
from truecost.study.columns import Options
from truecost.study.joining import join, join_metadata
from truecost.tasks.trials.annotators import Annotation, annotation_of, answers_of
from truecost.tasks.trials.labels import (
    decisions_of,
    labels_of,
    log_odds,
    other_labels,
    soft_labels,
    truth_of,
)
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
Columns = Mapping[str, npt.ArrayLike]
_HOW = (
    "give a Table, as truecost.read makes it of a file, a frame of polars or pandas, or columns; "
    "truecost.Trials.of takes arrays"
)


def load(
    table: Table | Columns | pl.DataFrame | Any,
    options: Options,
    name: str,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
) -> Trials:
    """Trials of one system from its table and, where given, a key joined by id.

    Parameters
    ----------
    table : Table, frame of polars or pandas, or mapping of str to array_like
        Scores, as `truecost.read` gives them, or columns; labels and units too when there is no
        key.
    options : Options
        What the columns mean.
    name : str
        Name of the system.
    key : Table, optional
        Labels, units and other columns.
    metadata : sequence of (str, Table)
        Further columns, each table with the column of the trials whose values are its ids.

    Returns
    -------
    Trials
        In the order of the key, or of the table without one. A soft label makes two rows of a
        trial: target with weight p, nontarget with weight 1 - p. Votes of annotators make one for
        each class that has any, with its share of them as weight.

    Raises
    ------
    InputError
        When ids do not match or repeat, or scores, labels, units or weights cannot be used; names
        the file and the first five lines or ids.
    UsageError
        When columns are not found, or the options do not go together or with the table.
    """
    checked("options", options, Options, "what the columns mean, truecost.Options")
    if not isinstance(table, Table):
        table = Table(name, columns_in("table", table, lambda: _HOW), ordered=True)
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no trials")
    if key is not None:
        table = join(table, key, options)
    for column, further in metadata:
        table = join_metadata(table, further, column, options.column("id", table) or "id")
    kind, column = truth_of(table, options)
    scores, columns = read.scores_of(table, options)
    ids = read.trial_ids(table, options)
    truth = _truth(table, options, scores, columns, ids)
    if options.kind == "decision":
        scores = decisions_of(table, options, truth.classes)
    if truth.detection and options.kind in POSTERIORS:
        scores = log_odds(scores, columns, options)
    trials = Trials(
        name=name,
        kind=options.kind,
        scores=scores,
        labels=truth.labels,
        classes=truth.classes,
        detection=truth.detection,
        units=unit_columns(table, options.columns),
        ids=ids,
        strata=optional_texts(table, options.columns, "stratum"),
        weights=read.weights_of(table, options.columns, ids),
        frame=table.frame,
        signature=_signature(options),
        problems=_merged_labels(table, options, kind, column),
        annotation=truth.annotation,
    )
    return _shared_out(_missing(trials, table, options), soft=kind == "soft")


@dataclass(frozen=True, eq=False)
class _Truth:
    """What is true of the trials: classes by index, numbers, or shares of the target."""

    labels: npt.NDArray[Any]
    classes: tuple[str, ...]
    detection: bool
    annotation: Annotation | None = None


def _truth(
    table: Table,
    options: Options,
    scores: Floats,
    columns: tuple[str, ...] | None,
    ids: npt.NDArray[Any] | None,
) -> _Truth:
    """Labels from a column of labels, soft labels, several annotators, or numbers."""
    kind, column = truth_of(table, options)
    if kind == "soft":
        return _Truth(*soft_labels(table, options, column))
    if kind == "annotators":
        found, names, detection = annotation_of(table, options, scores, columns, ids)
        return _Truth(found.majority, names, detection, found)
    if options.kind == "number":
        numbers = table.numbers(column, "label")
        wrong = ("true number", "are", "missing or not finite")
        refuse_rows(table, ~np.isfinite(numbers), wrong, ids)
        return _Truth(numbers, (), detection=False)
    return _Truth(*labels_of(table, options, column, scores, columns))


def _merged_labels(table: Table, options: Options, kind: str, column: str) -> tuple[str, ...]:
    """Which labels became nontargets, where a target was named."""
    if options.target is None or kind == "soft":
        return ()
    said = answers_of(table, column)[1] if kind == "annotators" else table.texts(column, "label")
    return other_labels(said, options)


def _shared_out(trials: Trials, *, soft: bool) -> Trials:
    """Soft labels and votes make a trial of each class that has a share."""
    if soft:
        p = np.asarray(trials.labels, np.float64)
        return _by_share(trials, np.stack([1 - p, p], axis=1))
    if trials.annotation is not None and trials.annotation.rule == "votes":
        return _by_share(trials, trials.annotation.shares)
    return trials


def _by_share(trials: Trials, shares: Floats) -> Trials:
    """A trial counted once for each class that has a share of it, with the share as weight."""
    own = np.ones(len(trials)) if trials.weights is None else trials.weights
    # Class by class, the last first: all targets before all nontargets.
    places, rows = np.nonzero(shares.T[::-1])
    codes = shares.shape[1] - 1 - places
    kept = own[rows] * shares[rows, codes]
    return replace(trials.take(rows), labels=codes, weights=kept, origin=rows).take(kept > 0)


def _missing(trials: Trials, table: Table, options: Options) -> Trials:
    """What to do with trials that have no score."""
    absent = np.isnan(trials.scores if trials.scores.ndim == 1 else trials.scores.sum(axis=1))
    if not absent.any():
        return trials
    rows = np.flatnonzero(absent)
    if options.missing == "error":
        names = [
            str(trials.ids[r]) if trials.ids is not None else table.where(int(r)) for r in rows[:6]
        ]
        raise InputError(
            f"{table.source}: {counted(len(rows), 'score', 'are')} missing or NaN: "
            f"{first_five(names)}; score them, or say --missing drop|worst"
        )
    said = f"{len(rows)} of {counted(len(trials), 'trial')} had no score"
    if options.missing == "drop":
        kept = trials.take(~absent)
        if len(kept) == 0:
            raise InputError(f"{table.source}: no trial has a score")
        return replace(kept, problems=(*trials.problems, f"{said}: left out (--missing drop)"))
    if trials.scores.ndim == 2 or not trials.detection:
        raise UsageError(
            "--missing worst needs one score a trial and a target class; "
            "use --missing drop or error"
        )
    scores = trials.scores.copy()
    target = np.asarray(trials.labels, np.float64) > 0.5
    scores[absent & target] = np.nanmin(scores)
    scores[absent & ~target] = np.nanmax(scores)
    return replace(
        trials,
        scores=scores,
        problems=(
            *trials.problems,
            f"{said}: given the worst score of the system (--missing worst)",
        ),
    )


def _signature(options: Options) -> str:
    said = [f"type:{options.kind}"]
    if options.llr_base is not None:
        said.append(f"llr-base:{options.llr_base:g}")
    if options.target is not None:
        said.append(f"target:{options.target}")
    if options.missing != "error":
        said.append(f"missing:{options.missing}")
    if "soft" in options.columns:
        said.append("labels:soft")
    if options.annotators == "votes":
        said.append("labels:votes")
    if options.annotators == "any":
        share = "" if options.accept is None else f":accept{options.accept:g}"
        said.append(f"annotators:any{share}")
    if "weight" in options.columns and ("soft" in options.columns or options.annotators == "votes"):
        said.append("weighted")  # beside the shares, which are weights of rows
    return "|".join(said)
