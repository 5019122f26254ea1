"""Maps from machine scores to probabilities, and probabilities held against human labels.

Each label weighs the inverse of its inclusion probability.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration import METHODS, Affine, Calibrator
from truecost.calibration.affine import separable
from truecost.calibration.base import logit
from truecost.core.subsets import folds as deal
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.names import CalibrationMethod
from truecost.tasks.abba.records import CELLS, Deployment

Array = npt.NDArray[Any]


Floats = npt.NDArray[np.float64]


JOINT = 0.05  # chance of a false alarm over the four cells together


GAP = 0.02  # a smaller difference matters to no ratio


@dataclass(frozen=True)
class Held:
    """What humans and a machine say of the labelled items of a cell.

    Attributes
    ----------
    labels, units : int
        Labelled items, and the units that they belong to.
    machine, share : float
        Mean probability and share of label 1, both weighted; NaN without labels.
    difference, error : float
        `share` less `machine`, and its standard error: the larger of that by units and that of
        labels drawn with the machine's probabilities (few labels that happen to be alike have no
        error of their own). NaN with fewer than two units.
    lower, upper : float
        Interval of the difference by Student's law.
    off : bool
        Whether the difference is above `GAP` and more than chance explains, at a joint level of
        5 % over the four cells.
    """

    labels: int
    units: int
    machine: float
    share: float
    difference: float
    error: float
    lower: float
    upper: float
    off: bool


def held(
    labels: Floats, probabilities: Floats, weights: Floats, units: Array, level: float
) -> Held:
    """Hold a machine against the labels of a cell.

    Parameters
    ----------
    labels, probabilities, weights : ndarray of float64, shape (N,)
        Of the labelled items of the cell.
    units : ndarray of int, shape (N,)
        Code of the unit of each.
    level : float
        Of the interval.
    """
    from scipy.special import stdtrit

    nan = float("nan")
    if not len(labels):
        return Held(0, 0, nan, nan, nan, nan, nan, nan, off=False)
    total = weights.sum()
    machine = float((weights * probabilities).sum() / total)
    share = float((weights * labels).sum() / total)
    difference = share - machine
    names, codes = np.unique(units, return_inverse=True)
    groups = len(names)
    if groups < 2:
        return Held(len(labels), groups, machine, share, difference, nan, nan, nan, off=False)
    apart = weights * (labels - probabilities - difference)
    between = groups / (groups - 1) * (np.bincount(codes, apart) ** 2).sum()
    drawn = (weights**2 * probabilities * (1 - probabilities)).sum()
    error = float(np.sqrt(max(between, drawn)) / total)
    reach = error * float(stdtrit(groups - 1, (1 + level) / 2))
    far = -error * float(stdtrit(groups - 1, JOINT / len(CELLS) / 2))
    return Held(
        len(labels),
        groups,
        machine,
        share,
        difference,
        error,
        max(difference - reach, -1.0),
        min(difference + reach, 1.0),
        off=abs(difference) > max(GAP, far),
    )


Ints = npt.NDArray[np.int64]


Bools = npt.NDArray[np.bool_]


LEAST = 10  # labels


FEW = 100  # labels, below which two parameters are all that can be fitted


SEPARABLE = (
    "the machine scores separate the labels without error, so the best curve is infinitely steep: "
    "take method affine or pav"
)


@dataclass(frozen=True, eq=False)
class Known:
    """The labelled items of a log.

    Attributes
    ----------
    name : str
        Of the log.
    scores : ndarray of float64, shape (n,)
        Of the machine.
    labels : ndarray of int64, shape (n,)
    weights : ndarray of float64, shape (n,)
        Inverse inclusion probabilities.
    units : ndarray, shape (n,)
    """

    name: str
    scores: Floats
    labels: Ints
    weights: Floats
    units: Array


@dataclass(frozen=True, eq=False)
class Map:
    """A calibrator with the share of true accepts that it was fitted to, for probabilities."""

    calibrator: Calibrator
    prior: float

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities."""
        from scipy.special import expit

        return np.asarray(expit(self.calibrator(scores) + logit(self.prior)))


@dataclass(frozen=True, eq=False)
class Fit:
    """The maps of all folds; what they say together is their mean.

    Attributes
    ----------
    problems : tuple of str
        Why the method is not the one that was to be expected.
    """

    method: CalibrationMethod
    maps: tuple[Map, ...]
    problems: tuple[str, ...] = ()

    def __call__(self, scores: Floats) -> Floats:
        """Mean probability over the maps."""
        return np.asarray(np.mean([one(scores) for one in self.maps], axis=0))


def machine_scores(log: Deployment) -> Floats:
    """The scores of the machine, shape (N,): InputError unless all are there and finite."""
    if log.machine is None:
        raise InputError(
            f"{log.name}: there are no machine scores to calibrate: name their column, "
            f"--map machine=COLUMN"
        )
    bad = ~np.isfinite(log.machine)
    if bad.any():
        raise InputError(
            f"{log.name}: {counted(int(bad.sum()), 'item', 'have')} no finite machine score "
            f"({first_five(log.ids[bad])}): each item needs one, or has to be left out"
        )
    return log.machine


def labelled_items(log: Deployment) -> Known:
    """What a map can be fitted to: InputError when there are fewer than 10 labels, labels of one
    class, or equal scores.
    """
    rows = log.labelled
    scores, labels = machine_scores(log)[rows], log.label[rows].astype(np.int64)
    count, positive = len(labels), int(labels.sum())
    if count == 0:
        raise InputError(
            f"{log.name}: no item has a label to calibrate on: label some "
            f"(truecost abba select says which), or give labelled data to train on"
        )
    if count < LEAST:
        raise InputError(
            f"{log.name}: {counted(count, 'label')}: at least {LEAST} are needed to calibrate "
            f"machine scores, and better {FEW} or more"
        )
    if positive in (0, count):
        raise InputError(
            f"{log.name}: all {count} labels are {labels[0]}: a calibration needs true accepts (1) "
            f"and false ones (0)"
        )
    if scores.min() == scores.max():
        raise InputError(
            f"{log.name}: all labelled items have the machine score {scores[0]:g}: equal scores "
            f"tell nothing"
        )
    weights = log.label_weights[rows]
    return Known(log.name, scores, labels, weights, units_of(log)[rows])


def units_of(log: Deployment) -> Array:
    """The unit of each item, itself when none is named."""
    columns = [side for sides in log.units.values() for side in sides]
    if len(columns) > 1:
        raise UsageError(
            f"{log.name}: an item has {len(columns)} units, a calibration keeps those of one "
            f"column together: name the user or device alone"
        )
    return columns[0] if columns else log.ids


def dealt(known: Known, folds: int, seed: int) -> Ints:
    """The fold of each labelled item, units whole: InputError for fewer units than folds."""
    try:
        return deal(known.units, folds, seed, known.labels)
    except InputError as error:
        raise InputError(f"{known.name}, labelled items: {error}") from error


def fit_maps(known: Known, parts: list[tuple[Bools, str]], method: CalibrationMethod | None) -> Fit:
    """A map for each part of the labelled items.

    Parameters
    ----------
    parts : list of (ndarray of bool, str)
        The items to fit to, and what is said of them behind the name of the log.
    method : str, optional
        When left out the spline; affine below 100 labels, or where no spline can be fitted.

    Raises
    ------
    InputError
        When a part lacks a class, or the method cannot be fitted to it.
    """

    def maps(name: CalibrationMethod) -> tuple[Map, ...]:
        return tuple(fit_map(known, rows, name, known.name + where) for rows, where in parts)

    count = len(known.scores)
    if method is not None:
        return Fit(method, maps(method))
    if count < FEW:
        note = f"{counted(count, 'label')}: affine (Platt) in place of the spline, below {FEW}"
        return Fit("affine", maps("affine"), (note,))
    try:
        return Fit("spline", maps("spline"))
    except InputError as error:
        note = f"affine (Platt) in place of the spline, which cannot be fitted: {error}"
        return Fit("affine", maps("affine"), (note,))


def fit_map(known: Known, rows: Bools, method: CalibrationMethod, where: str) -> Map:
    """The map that is fitted to these rows; `where` says in messages what they are."""
    scores, labels, weights = known.scores[rows], known.labels[rows], known.weights[rows]
    positive = int(labels.sum())
    if positive in (0, len(labels)):
        raise InputError(
            f"{where}: all {counted(len(labels), 'label')} to train on are {labels[0]}: label "
            f"more items, use fewer or other folds, or give other data to train on"
        )
    try:
        if method == "affine":
            platt = _platt(scores, labels, weights)
            return Map(platt, platt.prior)
        share = float(weights[labels == 1].sum() / weights.sum())
        return Map(METHODS[method].of_scores(scores, labels, weights=weights), share)
    except InputError as error:
        apart = separable(scores, labels.astype(np.uint8)) and scores.min() < scores.max()
        said = SEPARABLE if apart else str(error)
        raise InputError(f"{where}: method {method}: {said}") from error


def _platt(scores: Floats, labels: Ints, weights: Floats) -> Affine:
    """Logistic regression on Platt's targets: each item counts as both classes, in two parts."""
    positive = int(labels.sum())
    ends = 1 / (len(labels) - positive + 2), (positive + 1) / (positive + 2)
    targets = np.where(labels == 1, ends[1], ends[0])
    return Affine.fit(
        np.tile(scores, 2),
        np.repeat([1, 0], len(scores)),
        weights=np.concatenate([weights * targets, weights * (1 - targets)]),
    )
