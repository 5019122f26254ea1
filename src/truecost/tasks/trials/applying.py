"""Applying a fitted calibration: scores without labels, and the table of what comes out."""

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.mapped import refuse_rows
from truecost.names import POSTERIORS, ScoreType
from truecost.study.columns import Options, scores_of
from truecost.tasks.trials.labels import log_odds
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]


def has_truth(table: Table, options: Options) -> bool:
    """Whether a table has any column that the options take labels from."""
    columns = [options.column("label", table), options.columns.get("soft")]
    columns += options.columns.get("annotators", "").split("+")
    return any(column in table.columns for column in columns if column)


def bare_trials(
    scores: npt.ArrayLike | Table, options: Options | None, kind: ScoreType, like: Trials
) -> Trials:
    """Trials without labels, for what looks at scores alone.

    Parameters
    ----------
    scores : array_like of shape (N,) or (N, K), or Table
    kind : str
        Type of the scores that are wanted.
    like : Trials
        Of the same classes.

    Returns
    -------
    Trials
        NaN where a score is missing and the options say "drop"; `labels` is empty.

    Raises
    ------
    UsageError
        When the type differs, or the options do not go with the scores.
    InputError
        When scores are missing or cannot be used, or the classes differ.
    """
    table = scores if isinstance(scores, Table) else _table(np.asarray(scores))
    options = options or Options(kind)
    if options.kind != kind:
        raise UsageError(
            f"{table.source}: scores of type {options.kind}: a calibration is for scores of the "
            f"type that it was trained on, {kind}"
        )
    if options.missing == "worst":
        raise UsageError(
            f"{table.source}: --missing worst needs labels, there are none: use --missing drop or "
            f"error"
        )
    found, columns = scores_of(table, options)
    if like.detection:
        if found.ndim == 2 and options.target is None:
            raise UsageError(f"{table.source}: one score a class: name the target with --target")
        if kind in POSTERIORS:
            found = log_odds(found, columns, options)
    else:
        _refuse_other_classes(table, found, options.classes or columns, like)
    if options.missing == "error":
        refuse_rows(table, ~present(found), ("score", "are", "missing or NaN"), None)
    none = np.empty(0, np.int64)
    return Trials(table.source, kind, found, none, like.classes, like.detection)


def _table(scores: npt.NDArray[np.generic]) -> Table:
    """Scores as the only column of a table."""
    if scores.ndim not in (1, 2):
        raise InputError(
            f"scores have the shape {scores.shape}: one entry a trial is needed, shape (N,) or "
            f"(N, K)"
        )
    if scores.ndim == 1:
        return Table("scores", pl.DataFrame({"score": scores}), ordered=True)
    rows = pl.DataFrame({"row": np.arange(len(scores))})
    return Table("scores", rows, {"score": scores}, ordered=True)


def _refuse_other_classes(
    table: Table, scores: npt.NDArray[np.float64], names: tuple[str, ...] | None, like: Trials
) -> None:
    """Refuse scores of other classes than those trained on, or in another order: InputError."""
    expected = f"the calibration was trained on the classes {first_five(like.classes)}"
    if scores.ndim == 1 or scores.shape[1] != len(like.classes):
        count = 1 if scores.ndim == 1 else scores.shape[1]
        raise InputError(f"{table.source}: {count} scores a trial, but {expected}: one for each")
    if names is not None and names != like.classes:
        raise InputError(
            f"{table.source}: the score columns are those of the classes {first_five(names)}, but "
            f"{expected}: name them in this order with --classes"
        )


def present(scores: Floats) -> npt.NDArray[np.bool_]:
    """Which trials have a score, shape (N,), of scores (N,) or (N, K)."""
    return np.asarray(~np.isnan(scores.reshape(len(scores), -1)).any(axis=1))


def beside(frame: pl.DataFrame, calibrated: Floats, like: Trials) -> Table:
    """Columns as they were read, with calibrated scores.

    Parameters
    ----------
    calibrated : ndarray of float64, shape (N,) or (N, K)
    like : Trials
        A calibrated system of the same classes.

    Returns
    -------
    Table
        With a column `score`, or one for each class, named by the class. A column that had the
        name before becomes `raw_NAME`.
    """
    names = ("score",) if like.detection else like.classes
    scores = calibrated.reshape(len(calibrated), -1)
    taken = set(frame.columns)
    for name in names:
        raw = f"raw_{name}"
        while name in frame.columns and raw in taken:
            raw = f"raw_{raw}"
        frame = frame.rename({name: raw}, strict=False)
        taken.add(raw)
    new = [pl.Series(name, scores[:, k]) for k, name in enumerate(names)]
    return Table(like.name, frame.with_columns(new), kind=like.kind)


def problems_of_scores(name: str, scores: Floats) -> list[str]:
    """A note on likelihood ratios and posteriors without end; InputError on what is no number."""
    if not present(scores).all():
        undefined = int((~present(scores)).sum())
        raise InputError(
            f"{name}: {counted(undefined, 'calibrated score', 'are')} undefined "
            f"(posteriors of 0 before?): clip the posteriors"
        )
    endless = int(np.isinf(scores.reshape(len(scores), -1)).any(axis=1).sum())
    if not endless:
        return []
    return [
        f"{counted(endless, 'trial', 'get')} an infinite likelihood ratio: Laplace's rule "
        f"(--laplace) keeps those of pav finite"
    ]
