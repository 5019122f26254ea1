"""Cross-fitting: a trial is calibrated by what was fitted to trials that share no unit with it.

All that a fit takes from labels, the shares of the classes too, comes from its training trials.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration import Calibrator
from truecost.core.application import Application
from truecost.core.factors import encode
from truecost.core.splits import folds as deal
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.tasks.trials.fitting import Fitting
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
        As in `truecost.core.splits.folds`.
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
