"""Calibrating trials: trained on other data, cross-fitted by unit, or by given folds.

A calibration makes a new system: its trials are scored as any others, and the calibrators
stay as they are in every replicate. Sources: Brümmer and du Preez (2006); Rodriguez-Fuentes &
Penagarikano 2013, section 4.2.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.calibration import Calibrator
from truecost.calibration.base import plain, problems_of
from truecost.core.application import Application, move_posteriors
from truecost.core.factors import encode_sides
from truecost.core.scoring import Scoring
from truecost.core.subsets import seen_before, shared_units
from truecost.errors import InputError, UsageError, checked, first_five
from truecost.formats import Table
from truecost.names import ScoreType
from truecost.study.columns import Options
from truecost.tasks.trials import applying
from truecost.tasks.trials.counting import class_shares
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Floats, Ints, Trials

Train = Trials | Literal["self"] | None


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Calibrated trials of a system, with the calibrators.

    Attributes
    ----------
    trials : Trials
        Calibrated trials. Detection: type `llr`. Several classes: type `log-posterior`, with the
        shares of the classes in these trials as priors.
    method : str
        Name of the method, a key of `truecost.calibration.METHODS`.
    calibrators : tuple of Calibrator
        Fitted calibrators. With cross-fitting: one for each fold, or for each pair of folds.
    used : ndarray of int64, shape (N,)
        Index of the calibrator of each trial.
    priors : tuple of float, optional
        Priors of the classes in the minimised loss, and for several classes in the log-posteriors
        that `apply` returns. None if each fit uses the shares in its training trials.
    trained : str
        Training data: "train-" and the name of the training trials, "self", or for cross-fitting
        for example "folds5:by-speaker:seed0".
    problems : tuple of str
        Warnings about the calibration; `trials.problems` contains them, too.
    fittings : tuple of Fitting
        Method, priors and options of each fit.
    kind : str
        Type of the scores before calibration.
    """

    trials: Trials
    method: str
    calibrators: tuple[Calibrator, ...]
    used: Ints
    priors: tuple[float, ...] | None
    trained: str
    problems: tuple[str, ...] = ()
    fittings: tuple[applying.Fitting, ...] = field(default=(), repr=False)
    kind: ScoreType = "score"

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """Parameters of each calibrator."""
        return [calibrator.parameters for calibrator in self.calibrators]

    def table(self) -> Table:
        """Table with the original columns and the calibrated scores, one row for each trial.

        Returns
        -------
        Table
            Table with the calibrated scores. Detection: the column `score` contains log-likelihood
            ratios in nats. Several classes: a column of log-posteriors for each class. An original
            column with the name of a calibrated column gets the prefix `raw_`.
        """
        trials = self.trials
        rows = np.arange(len(trials.labels))
        if trials.origin is not None:  # a soft label is several rows of one trial
            rows = np.unique(trials.origin, return_index=True)[1]
        frame = trials.frame[rows] if trials.frame.width else trials.frame
        return applying.calibrated_table(frame, trials.scores[rows], trials)

    def apply(self, scores: npt.ArrayLike | Table, options: Options | None = None) -> Floats:
        """Calibrate new scores without labels. The calibration must not be cross-fitted.

        Parameters
        ----------
        scores : array_like of shape (N,) or (N, K), or Table
            Scores of the type and classes of the training trials.
        options : Options, optional
            Meaning of the columns of a table. Default: the column `score`. Labels, units and
            weights have no effect.

        Returns
        -------
        ndarray of float64, shape (N,) or (N, K)
            Log-likelihood ratios in nats, or log-posteriors of the classes, for the priors in the
            attribute `priors`. NaN for a missing score if the options contain missing="drop".

        Raises
        ------
        UsageError
            If the calibration is cross-fitted, or the scores are of another type.
        InputError
            If scores are missing or invalid, or the classes differ.

        Examples
        --------
        >>> import numpy as np
        >>> import truecost as tc
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(400) % 2
        >>> dev = tc.Trials.from_arrays(5 + 3 * rng.normal(labels), labels, kind="score")
        >>> tc.calibrate(dev, train="self").apply([4.0, 8.0]).round(2).tolist()
        [-0.92, 0.62]
        """
        if len(self.calibrators) != 1:
            raise UsageError(
                f"{self.trials.name}: there are {len(self.calibrators)} calibrations, cross-fitted "
                f"by trial: to apply one to other scores, fit it on one training set, with "
                f"train='self' or train=TRIALS"
            )
        bare = applying.bare_trials(scores, options, self.kind, self.trials)
        kept = applying.present(bare.scores)
        [calibrator], [fitting] = self.calibrators, self.fittings
        found = np.full(bare.scores.shape, np.nan)
        found[kept] = calibrator(fitting.inputs(bare)[kept])
        applying.problems_of_scores(bare.name, found[kept])
        return found

    def applied(self, table: Table, options: Options) -> Table:
        """Calibrate a table without labels.

        Parameters
        ----------
        table : Table
            Table of scores.
        options : Options
            Meaning of the columns (see `apply`).

        Returns
        -------
        Table
            Original columns and calibrated scores, as from `table()`, without the rows that have no
            score.

        Raises
        ------
        UsageError, InputError
            If `apply` raises this error.
        """
        scores = self.apply(table, options)
        kept = applying.present(scores)
        return applying.calibrated_table(table.frame.filter(kept), scores[kept], self.trials)

    def summary(self) -> dict[str, Any]:
        """Dictionary with method, training data, priors and parameters. Infinite numbers are texts;
        the priors are "empirical" if each fit uses the shares in its training trials.
        """
        return {
            "method": self.method,
            "trained": self.trained,
            "priors": "empirical" if self.priors is None else [*self.priors],
            "fits": [
                {"n_trials": int(count), **plain(parameters)}
                for count, parameters in zip(
                    np.bincount(self.used, minlength=len(self.calibrators)),
                    self.parameters,
                    strict=True,
                )
            ],
        }


def scoring_after(scoring: Scoring) -> Scoring:
    """The scoring for calibrated trials, without settings for the raw scores: training prior,
    deployed threshold and class shares.
    """
    own = scoring.chosen(TrialsScoring)
    bare = replace(own, training_prior=None, threshold=None, whole_shares=None)
    return replace(scoring, choices=bare)


def fitted_by(scoring: Scoring) -> dict[str, Any]:
    """The parts of a scoring that enter a fit, as arguments of `calibrate`."""
    own = scoring.chosen(TrialsScoring)
    priors = {"application": scoring.application, "training_prior": own.training_prior}
    return priors | {"clip": own.clip}


def calibrate(
    trials: Trials,
    method: str = "affine",
    *,
    train: Train = None,
    folds: int = 5,
    fold: applying.Fold | None = None,
    application: Application | None = None,
    training_prior: tuple[float, ...] | None = None,
    clip: float | None = None,
    seed: int = 0,
    **options: Any,
) -> Calibrated:
    """Calibrate trials: scores to log-likelihood ratios, log-scores of classes to log-posteriors.

    Without `train`, the calibration is cross-fitted: the trials of each fold are calibrated by a
    fit to the other folds. All trials of a unit are in one fold. A fit uses labels of its training
    trials only. If each trial has two units (of one factor or of two), a trial with units in the
    folds i and j is calibrated by a fit to the trials without units in i or j. With 5 folds, there
    are 15 such fits, each to about 36% of the trials if i and j differ.

    Parameters
    ----------
    trials : Trials
        Trials to calibrate, of any type except `decision`, `number` and `values`.
    method : {"affine", "temperature", "pav", "spline", "poly3"}
        Calibration method. `affine`: scale and offset. `temperature`: scale only. For two classes:
        `pav` (monotone step function), `spline` (monotone spline), `poly3` (cubic polynomial).
    train : Trials or "self", optional
        Training trials of the same type and classes. "self": the trials themselves; the result is
        then optimistic.
    folds : int
        Number of folds, at least 2.
    fold : str or array_like of shape (N,), optional
        Fold of each trial: a column name of `trials.frame`, or an array. Default: folds by units.
    application : Application, optional
        Application. Its effective prior (for several classes, its priors) weights the classes in
        the loss, for all methods except `pav`. Default: the shares of the classes in the training
        trials of each fit.
    training_prior : tuple of float, optional
        Priors that posteriors contain (see `TrialsScoring`). Default: the shares in the training
        trials of each fit. Affine calibration does not depend on these priors.
    clip : float, optional
        Lowest probability of a class before calibration (see `TrialsScoring`).
    seed : int
        Seed of the folds, at least 0.
    **options
        Options of the method. `laplace=True` for `pav`: Laplace's rule, for finite likelihood
        ratios (see `Pav.fit`). `ridge` for `affine`: penalty on the scale (see `Affine.fit`).

    Returns
    -------
    Calibrated
        Calibrated trials and calibrators.

    Raises
    ------
    UsageError
        If the method does not exist or does not fit the trials, an option is missing, options
        contradict each other, or the training trials are of another type.
    InputError
        If training trials lack a class, cannot be fitted, or have other classes than the trials.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> rng = np.random.default_rng(0)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> scores = 5 + 3 * rng.normal(labels)
    >>> trials = tc.Trials.from_arrays(scores, labels, kind="score", unit=speakers)
    >>> calibrated = tc.calibrate(trials)
    >>> calibrated.trials.signature
    'type:score|calibrated:affine:folds5:by-unit:seed0:prior-empirical'
    >>> [round(p["scale"], 2) for p in calibrated.parameters]
    [0.35, 0.36, 0.43, 0.41, 0.38]
    >>> scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(200))
    >>> [cllr] = tc.score_system(calibrated.trials, scoring)
    >>> round(cllr.value, 2)
    0.81
    """
    checked(
        "trials",
        trials,
        Trials,
        "Trials (truecost.trials.load or truecost.Trials.from_arrays makes them)",
    )
    if trials.kind in ("decision", "number", "values"):
        raise UsageError(f"{trials.name}: type {trials.kind} has no scores to calibrate")
    if trials.several_right:
        raise UsageError(
            f"{trials.name}: a calibration needs one true class a trial, and with --annotators any "
            f"several labels may be right: count the votes with --annotators votes"
        )
    plain = applying.Fitting(method, trials.detection, training_prior, (), clip, options)
    source = train if isinstance(train, Trials) else trials
    notes = [] if source is trials else _same_task(trials, source)
    everything = np.ones(len(source.labels), bool)
    shares = applying.training_shares(source, everything, source.name)
    chosen = application or Application()
    empirical = ""
    if train is None:
        checked("folds", folds, int, "a whole number")
        parts = (
            applying.dealt_folds(trials, folds, seed)
            if fold is None
            else applying.given_folds(trials, fold)
        )
        fits, used, scores = applying.cross_fit(trials, parts, plain, chosen)
        trained = parts.said
        notes += parts.problems
        empirical = "" if chosen.priors else _empirical(chosen)
    else:
        if fold is not None:
            raise UsageError("folds are for cross-fitting: leave out either train or fold")
        fitting = plain.with_priors(shares, chosen)
        one = fitting.fit(fitting.inputs(source), source.labels, source.weights, source.name)
        scores = one(fitting.inputs(trials))
        fits, used = ((fitting, one),), np.zeros(len(scores), np.int64)
        trained = "self" if source is trials else f"train-{source.name}"
        notes += [OPTIMISTIC] if source is trials else []
    fittings, calibrators = zip(*fits, strict=True)
    notes += [*problems_of(calibrators), *applying.problems_of_scores(trials.name, scores)]
    if not trials.detection:
        scores = _at_shares(trials, scores, used, fittings)
    words = fittings[0].signature(trained, trials.kind, training_prior, empirical)
    result = replace(
        trials,
        name=f"{trials.name}+{method}",
        kind="llr" if trials.detection else "log-posterior",
        scores=scores,
        # A map of one fit that rises keeps the order; those of several folds do not.
        ascending=trials.ascending and bool((scores[1:] >= scores[:-1]).all()),
        signature=f"{trials.signature}|{words}",
        problems=(*trials.problems, *notes),
    )
    return Calibrated(
        result,
        method,
        calibrators,
        used,
        None if empirical else fittings[0].priors,
        trained,
        tuple(notes),
        fittings,
        trials.kind,
    )


def _empirical(application: Application) -> str:
    """A note on priors that each fit takes from its trials; unequal costs change them."""
    if not application.plain_detection:
        return "empirical"
    ratio = application.cost_miss / application.cost_fa
    return "empirical" if ratio == 1 else f"empirical-costs-{ratio:.6g}"


def _at_shares(
    trials: Trials, scores: Floats, used: Ints, fittings: Sequence[applying.Fitting]
) -> Floats:
    """Log-posteriors at the shares of the classes in these trials, which posteriors are taken to
    contain: scoring takes these shares out again, so that they tell nothing of the truth.
    """
    shares = class_shares(trials)
    moved = np.empty_like(scores)
    for number, fitting in enumerate(fittings):
        rows = used == number
        moved[rows] = move_posteriors(scores[rows], fitting.priors, shares)
    return moved


OPTIMISTIC = (
    "calibrated on the scored trials themselves, so the figures are optimistic: they show the best "
    "possible calibration, not the quality in use"
)


def _same_task(trials: Trials, source: Trials) -> list[str]:
    """Refuse training trials of another task; notes on what they share with those scored."""
    if trials.kind != source.kind:
        raise UsageError(
            f"{source.name} has scores of type {source.kind}, {trials.name} of type {trials.kind}: "
            f"a calibration is for scores of the type that it was trained on"
        )
    if (trials.classes, trials.detection) != (source.classes, source.detection):
        raise InputError(
            f"{source.name} has the classes {first_five(source.classes)}, {trials.name} has "
            f"{first_five(trials.classes)}: name them all with --classes"
        )
    shared = []
    for name in sorted(set(trials.units) & set(source.units)):
        sides = (encode_sides(part.units[name])[0] for part in (trials, source))
        shared.append((f"of the units of {name!r}", *shared_units(*sides)))
    ids, others = trials.ids, source.ids
    if ids is not None and others is not None and ids.dtype.kind in "OU":  # no row numbers
        shared.append(("of the trial ids", *shared_units(ids, others)))
    return seen_before(shared, source.name, trials.name)
