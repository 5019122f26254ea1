"""Applying a fitted calibration: to scores without labels, and across folds that share no unit.

All that a fit takes from labels, the shares of the classes too, comes from its training trials.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.calibration import Calibrator
from truecost.core.application import Application
from truecost.core.factors import encode
from truecost.core.subsets import folds as deal
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.formats.table import refuse_rows
from truecost.names import POSTERIORS, ScoreType
from truecost.study.columns import Options, scores_of
from truecost.tasks.trials.fitting import Fitting
from truecost.tasks.trials.labels import log_odds
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]


Ints = npt.NDArray[np.int64]


Fold = str | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of trials.

    Attributes
    ----------
    codes : ndarray of int64, shape (sides, N)
        Fold of each trial on each side; folds of different factors have different numbers.
    names : tuple of str
        Of the folds, for messages.
    said : str
        For the signature.
    """

    codes: Ints
    names: tuple[str, ...]
    said: str
    problems: tuple[str, ...] = ()


def dealt(trials: Trials, k: int, seed: int) -> Folds:
    """Whole units dealt to k folds, stratified by class; each trial a unit when none is named.

    Parameters
    ----------
    k, seed : int
        As in `truecost.core.subsets.folds`.
    """
    rows: list[Ints] = []
    for number, columns in enumerate(trials.units.values()):
        classes = np.tile(trials.labels, len(columns))
        codes = deal(np.concatenate(columns), k, seed, classes)
        rows += [part + number * k for part in np.split(codes, len(columns))]
    several = len(trials.units) > 1
    folds = [f"{j + 1} of {unit}" for unit in trials.units for j in range(k)] if several else []
    names = tuple(folds or map(str, range(1, k + 1)))
    if not rows:
        labels: npt.NDArray[Any] = np.arange(len(trials.labels))
        if trials.ids is not None:
            labels = trials.ids
        elif trials.origin is not None:
            labels = trials.origin
        rows = [deal(labels, k, seed, trials.labels)]
    by = "-".join(trials.units) or "trial"
    return Folds(np.stack(rows), names, f"folds{k}:by-{by}:seed{seed}")


def given(trials: Trials, fold: Fold) -> Folds:
    """Folds as the user gives them, with a note when they divide units.

    Parameters
    ----------
    fold : str or array_like, shape (N,)
        A column of `trials.frame`, or a label for each trial.

    Raises
    ------
    UsageError
        When there is no such column.
    InputError
        When there is not a label for each trial, or fewer than two folds.
    """
    column = fold if isinstance(fold, str) else "given"
    labels = _column(trials, fold) if isinstance(fold, str) else np.asarray(fold)
    if labels.shape != trials.labels.shape:
        raise InputError(
            f"{trials.name}: {counted(len(labels), 'fold')} for "
            f"{counted(len(trials.labels), 'trial')}: give one for each"
        )
    names, codes = encode(labels)
    if len(names) < 2:
        raise InputError(
            f"{trials.name}: all trials lie in the fold {names[0]}: at least 2 folds are needed"
        )
    problems = []
    for unit, columns in trials.units.items():
        of_sides = encode(np.concatenate(columns))
        pairs = np.unique(np.stack([of_sides[1], np.tile(codes, len(columns))], axis=1), axis=0)
        divided = of_sides[0][np.flatnonzero(np.bincount(pairs[:, 0]) > 1)]
        if len(divided):
            problems.append(
                f"{counted(len(divided), 'unit')} of {unit!r} "
                f"{'lies' if len(divided) == 1 else 'lie'} in more than one fold "
                f"({first_five(divided)}): the calibration has seen them, which is optimistic"
            )
    said = f"folds{len(names)}:column-{column}" if column != "given" else f"folds{len(names)}:given"
    own = tuple(str(name) for name in names)
    return Folds(codes.astype(np.int64)[None, :], own, said, tuple(problems))


def _column(trials: Trials, name: str) -> npt.NDArray[Any]:
    import polars as pl

    if name not in trials.frame.columns:
        raise UsageError(
            f"{trials.name}: there is no column {name!r} for the folds"
            f"{near(name, trials.frame.columns)}; the columns are "
            f"{', '.join(trials.frame.columns) or 'none'}"
        )
    column = trials.frame[name].cast(pl.String)
    empty = int(column.is_null().sum())
    if empty:
        raise InputError(
            f"{trials.name}: {counted(empty, 'trial')} without a fold in column {name!r}"
        )
    return column.to_numpy()


def cross_fit(
    trials: Trials, folds: Folds, plain: Fitting, application: Application
) -> tuple[tuple[tuple[Fitting, Calibrator], ...], Ints, Floats]:
    """Calibrate each trial by what was fitted to the trials that share none of its folds.

    Parameters
    ----------
    plain : Fitting
        Without priors: each fit takes those that the application or the user does not give from
        its own training trials, so that no label of a fold has a say in its scores.

    Returns
    -------
    fits : tuple of (Fitting, Calibrator)
        One for each combination of folds that a trial has.
    used : ndarray of int64, shape (N,)
        Which of them a trial is calibrated by.
    calibrated : ndarray of float64, of the shape of the scores
        Log-posteriors of classes are at the priors of their fit.

    Raises
    ------
    InputError
        When a training part lacks a class or cannot be fitted.
    """
    cells, used = np.unique(np.sort(folds.codes, axis=0), axis=1, return_inverse=True)
    used = used.ravel()
    out = np.empty_like(trials.scores, np.float64)
    fits = []
    for number, cell in enumerate(cells.T):
        apart = np.asarray(~np.isin(folds.codes, cell).any(axis=0))
        names = [folds.names[c] for c in dict.fromkeys(cell.tolist())]
        where = f"{trials.name}, without fold{'s' * (len(names) > 1)} {' and '.join(names)}"
        fitting = plain.of(training_shares(trials, apart, where), application)
        scores = fitting.inputs(trials)
        weights = None if trials.weights is None else trials.weights[apart]
        found = fitting.fit(scores[apart], trials.labels[apart], weights, where)
        rows = used == number
        out[rows] = found(scores[rows])
        fits.append((fitting, found))
    return tuple(fits), used.astype(np.int64), out


def training_shares(trials: Trials, rows: npt.NDArray[np.bool_], where: str) -> Floats:
    """Share of each class in the training trials at these rows, weights included, shape (K,).

    InputError when a class does not occur there; `where` says where that is.
    """
    own = None if trials.weights is None else trials.weights[rows]
    counts = np.bincount(trials.labels[rows], own, minlength=len(trials.classes))
    empty = [trials.classes[k] for k in np.flatnonzero(counts == 0)]
    if empty:
        raise InputError(
            f"{where}: no trials of {first_five(empty)} to train on; every class is needed: use "
            f"fewer or other folds, or train on other data"
        )
    return np.asarray(counts / counts.sum())


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
