"""Machine scores to probabilities of a true accept, held against human labels in each cell.

A probability holds for the mix of labels that it was fitted to. The sums of probabilities that the
soft estimator takes are right only where, in each cell, their mean is the share of true accepts:
the table by cell holds the one against the other. Sources: Petegrosso et al. 2022, appendix A.4
(`poly3`); Platt (1999); Eilers and Marx (1996); Ayer et al. (1955).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from truecost.calibration import METHODS, Affine, Calibrator, Cubic
from truecost.calibration.affine import separable
from truecost.calibration.base import logit, plain, problems_of
from truecost.core.digits import figure
from truecost.core.subsets import folds as deal
from truecost.core.subsets import seen_before, shared_units
from truecost.errors import InputError, counted
from truecost.names import CalibrationMethod, MachineMethod
from truecost.options import check
from truecost.tasks.abba.checks import (
    FEW_LABELS,
    LabelledItems,
    hold_cells,
    labelled_items,
    machine_scores,
    units_of_items,
)
from truecost.tasks.abba.options import MachineTable
from truecost.tasks.abba.records import CELLS, Deployment, Floats, Ints, Mask

SEPARABLE = (
    "the machine scores separate the labels without error, so the best curve is infinitely steep: "
    "use method affine or pav"
)
FAR = 0.05  # mean difference from the isotonic curve that is told
CHANCE = 0.48  # times labels^(-1/3): what chance alone hardly exceeds, see below
BEYOND = 0.05  # share of items beyond the labelled scores that is told
LEVEL = 0.95
POINTS = 201  # of the curve
OTHER_MIX = (
    "; the training data may have another mix of labels: without training data, the labels of the "
    "log are used (cross-fitted)"
)


@dataclass(frozen=True, eq=False)
class MachineCalibration:
    """Result of `calibrate_machine`: probabilities of the items, and checks of their quality.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (N,)
        Probability of label 1 for each item of the log.
    method : {"spline", "poly3", "affine", "pav"}
        Fitted method; `spline` if splines replaced every polynomial.
    trained : str
        Training data: "train-NAME", or with cross-fitting, for example, "folds5:by-user:seed0".
    labels : int
        Number of labels used.
    calibrators : tuple of Calibrator
        Fitted calibrators: a single one, or one for each fold.
    by_cell : polars.DataFrame
        A row for each cell. The means are weighted by inverse inclusion probabilities, and are NaN
        in a cell without labels.

        - `cell`, `items`, `labels`, `units`: name, and numbers of items, labels and units with
          labels.
        - `mean_probability`, `share_positive`: means over the labelled items.
        - `difference`: `share_positive` minus `mean_probability`; positive if the probabilities are
          too low.
        - `standard_error`, `lower`, `upper`: standard error and 95% interval of the difference;
          NaN with fewer than two units.
        - `off`: whether `problems` has a warning about this difference.
    curve : polars.DataFrame
        201 rows over the range of the labelled scores: `score`, `probability` (mean of the fits)
        and `isotonic`, a monotone step function fitted to the same labels.
    largest_difference, mean_difference : float
        Largest and mean absolute difference between `probability` and `isotonic` over the labelled
        scores; the mean is weighted by inverse inclusion probabilities.
    problems : tuple of str
        Warnings for the reader.
    fallbacks : int
        Number of fits in which a spline replaced the polynomial.
    """

    probabilities: Floats = field(repr=False)
    method: CalibrationMethod
    trained: str
    labels: int
    calibrators: tuple[Calibrator, ...] = field(repr=False)
    by_cell: pl.DataFrame = field(repr=False)
    curve: pl.DataFrame = field(repr=False)
    largest_difference: float
    mean_difference: float
    problems: tuple[str, ...] = ()
    fallbacks: int = 0

    @property
    def fitted(self) -> str:
        """Name of the method in words, such as `spline (poly3 was unsuitable in 5 of 5 folds)`."""
        fits = len(self.calibrators)
        where = f" in {self.fallbacks} of {fits} folds" if fits > 1 else ""
        said = "replaced by a spline" if self.method == "poly3" else "poly3 was unsuitable"
        return f"{self.method} ({said}{where})" if self.fallbacks else self.method

    @property
    def sentence(self) -> str:
        """Sentence about the fit and its difference from the isotonic curve."""
        return (
            f"fitted: {self.fitted} on {counted(self.labels, 'label')} ({self.trained}); "
            f"difference from the isotonic curve {figure(self.mean_difference)} on average, at "
            f"most {figure(self.largest_difference)}"
        )

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """Parameters of each fit."""
        return [calibrator.parameters for calibrator in self.calibrators]

    def summary(self) -> dict[str, Any]:
        """Dictionary of all fields except probabilities and curve; None for undefined values."""
        return {
            "method": self.method,
            "fallbacks": self.fallbacks,
            "trained": self.trained,
            "labels": self.labels,
            "fits": plain(self.parameters),
            "isotonic": {
                "largest_difference": self.largest_difference,
                "mean_difference": self.mean_difference,
            },
            "by_cell": self.by_cell.fill_nan(None).to_dicts(),
            "problems": [*self.problems],
        }


def calibrate_machine(
    log: Deployment,
    train: Deployment | None = None,
    method: MachineMethod | None = None,
    folds: int = 5,
    seed: int = 0,
) -> MachineCalibration:
    """Calibrate machine scores: map them to probabilities of label 1.

    With `train`, the map is fitted to the labelled items of that deployment. Without it, the log is
    cross-fitted by folds of units: the probability of a labelled item is from a fit to the other
    folds; the probability of an item without a label is the mean over the fits. Labels have their
    inverse inclusion probability as weight.

    The map is compared with an isotonic fit (pooled adjacent violators). `problems` gets a warning
    if their mean absolute difference is above 0.05 and above 0.48 n^(-1/3), where n = (sum w)^2 /
    sum w^2 is the effective number of labels and w the weight of a label. If the map is right, the
    difference is above the bound 0.48 n^(-1/3) in about one of 100 data sets, as measured for three
    logistic curves and 40 to 1,500 labels. Up to 884 labels, this bound is above 0.05.

    The difference D of a cell is the weighted mean of y - p, with the label y and the probability p
    of an item. Its interval is D - t s to D + t s, clipped to [-1, 1]; t is the quantile of
    Student's distribution with G - 1 degrees of freedom for G units (97.5%, if the interval has the
    level 95%), and s^2 is the larger of two variances:

    - between units: G / (G - 1) sum over units of (sum w (y - p - D))^2 / (sum w)^2;
    - of labels drawn from the probabilities: sum w^2 p (1 - p) / (sum w)^2, which is the larger one
      in cells with few labels that are all 0 or all 1.

    The interval ignores the uncertainty of the fits. `problems` gets a warning if abs(D) is above
    0.02 and the interval at 98.75% excludes 0. If the probabilities are right, at most 5% of data
    sets have such a warning in at least one of the four cells.

    Parameters
    ----------
    log : Deployment
        Deployment with finite machine scores, higher for label 1.
    train : Deployment, optional
        Labelled items with scores of the same machine.
    method : {"spline", "poly3", "affine", "pav"}, optional
        Calibration method. Default: `spline`; below 100 labels, or if no spline can be fitted,
        `affine`.

        - `spline`: monotone P-spline.
        - `poly3`: cubic polynomial of Petegrosso et al. 2022; the spline replaces it if it
          decreases or leaves [0, 1].
        - `affine`: logistic regression with the targets of Platt (1999), (T + 1) / (T + 2) and 1 /
          (N + 2) in place of 1 and 0, for T labels 1 and N labels 0. The map is finite even if
          scores separate the labels.
        - `pav`: pooled adjacent violators, which can give 0 or 1.
    folds : int
        Number of folds without `train`, at least 2.
    seed : int
        Seed of the folds, at least 0.

    Returns
    -------
    MachineCalibration
        Probabilities and results of the checks.

    Raises
    ------
    UsageError
        If the method does not exist, or there are fewer than 2 folds.
    InputError
        If there are no machine scores, fewer than 10 labels, labels of one class, equal scores,
        fewer units than folds, or the method cannot be fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.abba.calibrating import calibrate_machine
    >>> from truecost.tasks.abba.records import Deployment
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.uniform(0, 50, 4000)
    >>> true = 1 / (1 + np.exp((25 - scores) / 5))
    >>> labels = np.where(rng.random(4000) < 0.25, rng.random(4000) < true, np.nan)
    >>> ids, arm = np.array([f"i{k:04}" for k in range(4000)]), np.arange(4000, dtype=np.uint8) % 2
    >>> log = Deployment("new", ids, arm, rng.random(4000) < 0.8, labels, machine=scores)
    >>> found = calibrate_machine(log)
    >>> found.method, found.trained, found.labels, found.problems
    ('spline', 'folds5:by-item:seed0', 1029, ())
    >>> round(float(np.abs(found.probabilities - true).mean()), 2)
    0.01
    """
    check(MachineTable(method=method, folds=folds, seed=seed))
    scores, known = machine_scores(log), labelled_items(train or log)
    if train is None:
        try:
            part = deal(known.units, folds, seed, known.labels)
        except InputError as error:
            raise InputError(f"{known.name}, labelled items: {error}") from error
        parts = [(part != k, f", without fold {k + 1}") for k in range(folds)]
        trained, notes = f"folds{folds}:by-{'-'.join(log.units) or 'item'}:seed{seed}", []
    else:
        parts = [(np.ones(len(known.scores), bool), "")]
        trained, notes = f"train-{train.name}", _shared_with(log, train)
    fitted, maps, problems = _fit_maps(known, parts, method)
    probabilities = _mean_of(maps, scores)
    if train is None:
        own = np.array([one(known.scores) for one in maps])
        probabilities[log.labelled] = own[part, np.arange(len(part))]
    curve, largest, mean = _held_against_isotonic(maps, known)
    held = hold_cells(log, probabilities, LEVEL)
    sizes = ({"cell": cell, "items": n} for cell, n in zip(CELLS, log.items_by_cell, strict=True))
    by_cell = pl.DataFrame([one | vars(of) for one, of in zip(sizes, held, strict=True)])
    calibrators = tuple(one.calibrator for one in maps)
    fallbacks = sum(isinstance(c, Cubic) and c.fallback is not None for c in calibrators)
    found = _warnings(scores, known, mean, by_cell, other=train is not None)
    return MachineCalibration(
        probabilities,
        "spline" if fallbacks == len(calibrators) else fitted,
        trained,
        len(known.scores),
        calibrators,
        by_cell,
        curve,
        largest,
        mean,
        (*notes, *problems, *problems_of(calibrators), *found),
        fallbacks,
    )


@dataclass(frozen=True, eq=False)
class Map:
    """A calibrator with the share of true accepts that it was fitted to, for probabilities."""

    calibrator: Calibrator
    prior: float

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities."""
        from scipy.special import expit

        return np.asarray(expit(self.calibrator(scores) + logit(self.prior)))


def _fit_maps(
    known: LabelledItems, parts: Sequence[tuple[Mask, str]], method: CalibrationMethod | None
) -> tuple[CalibrationMethod, tuple[Map, ...], list[str]]:
    """A map for each part of the labelled items: the items to fit to, and their name in messages.

    Without a method the spline; affine below 100 labels, or where no spline can be fitted: what was
    fitted stands before the maps, and why behind them.
    """

    def maps(name: CalibrationMethod) -> tuple[Map, ...]:
        return tuple(_fit_map(known, rows, name, where) for rows, where in parts)

    count, why = len(known.scores), f"below {FEW_LABELS}"
    if method is not None:
        return method, maps(method), []
    if count >= FEW_LABELS:
        try:
            return "spline", maps("spline"), []
        except InputError as error:
            note = f"affine (Platt) in place of the spline, which cannot be fitted: {error}"
    else:
        note = f"{counted(count, 'label')}: affine (Platt) in place of the spline, {why}"
    return "affine", maps("affine"), [note]


def _fit_map(known: LabelledItems, rows: Mask, method: CalibrationMethod, where: str = "") -> Map:
    """The map that is fitted to these rows; `where` says in messages which of the labelled items
    they are.
    """
    scores, labels, weights = known.scores[rows], known.labels[rows], known.weights[rows]
    where = known.name + where
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


def _mean_of(maps: Sequence[Map], scores: Floats) -> Floats:
    """Mean probability over the maps."""
    return np.asarray(np.mean([one(scores) for one in maps], axis=0))


def _held_against_isotonic(
    maps: Sequence[Map], known: LabelledItems
) -> tuple[pl.DataFrame, float, float]:
    """The curve beside the isotonic one, with their largest and mean difference."""
    isotonic = _fit_map(known, np.ones(len(known.scores), bool), "pav")
    at = np.linspace(known.scores.min(), known.scores.max(), POINTS)
    curve = {"score": at, "probability": _mean_of(maps, at), "isotonic": isotonic(at)}
    apart = np.abs(_mean_of(maps, known.scores) - isotonic(known.scores))
    mean = float((known.weights * apart).sum() / known.weights.sum())
    return pl.DataFrame(curve), float(apart.max()), mean


def _shared_with(log: Deployment, train: Deployment) -> list[str]:
    """Items that occur in both, which the calibration has seen."""
    pairs = [("of the items", log.ids, train.ids)]
    if log.units and train.units:
        pairs.append(("of the units", units_of_items(log), units_of_items(train)))
    shared = ((what, *shared_units(one, other)) for what, one, other in pairs)
    return seen_before(shared, train.name, log.name)


def _warnings(
    scores: Floats, known: LabelledItems, mean: float, by_cell: pl.DataFrame, *, other: bool
) -> Iterator[str]:
    """Warnings about a curve far from the isotonic one, about probabilities far from the labels of
    a cell, both by more than chance explains, and about many items with scores beyond the training
    scores. `other`: whether there are training data beside the log.
    """
    effective = float(known.weights.sum() ** 2 / (known.weights**2).sum())
    if mean > max(FAR, CHANCE * effective ** (-1 / 3)):
        yield (
            f"the mapping differs from the isotonic one by {mean:.3f} on average, more than chance "
            f"explains: look at the curve, and try the method spline or pav"
        )
    low, high = known.scores.min(), known.scores.max()
    count = int(((scores < low) | (scores > high)).sum())
    if count > BEYOND * len(scores):
        yield (
            f"{counted(count, 'item', 'have')} a machine score beyond those of the labelled items "
            f"({low:g} to {high:g}): their probabilities are extrapolated"
        )
    if not by_cell["labels"].sum():
        yield (
            "the log has no labels: it is not known whether its mix of labels is that of the "
            "training data, for which the probabilities are valid"
        )
    off = [
        f"{row['cell']} ({row['mean_probability']:.3f}, {row['share_positive']:.3f})"
        for row in by_cell.filter("off").iter_rows(named=True)
    ]
    if off:
        yield (
            f"mean probability and share of true accepts differ in {', '.join(off)}: the estimator "
            f"soft is biased there, corrected is not{OTHER_MIX if other else ''}"
        )
