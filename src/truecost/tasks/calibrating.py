"""Calibrating trials: trained on other data, cross-fitted by unit, or by given folds.

What a calibration gives is a new system: its trials are scored as any others, and the calibrators
stay as they are in every replicate. Sources: Brümmer and du Preez (2006); paper 002, section 4.2.5.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.application import Application
from truecost.bayes import move_posteriors
from truecost.calibration import Calibrator
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.splits import shared_units
from truecost.tasks.counting import class_shares
from truecost.tasks.crossfitting import Fold, cross_fit, dealt, given, require_classes
from truecost.tasks.fitting import Fitting
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Train = Trials | Literal["self"] | None


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A calibrated system.

    Attributes
    ----------
    trials : Trials
        Of type `llr` for detection. For classes of type `log-posterior`, at the shares of the
        classes in these trials, as `score` takes for granted of posteriors.
    method : str
        A key of `truecost.calibration.METHODS`.
    calibrators : tuple of Calibrator
        What was fitted; in cross-fitting one for each fold, or pair of folds.
    used : ndarray of int64, shape (N,)
        Which of them calibrated each trial.
    priors : tuple of float
        Priors of the classes in the loss that was minimised. The calibrators of classes give
        log-posteriors at these priors.
    trained : str
        Where the calibrators come from, as in the signature: "train-dev", "self", or
        "folds5:by-speaker:seed0".
    problems : tuple of str
        What a reader should know; `trials.problems` holds them too.
    """

    trials: Trials
    method: str
    calibrators: tuple[Calibrator, ...]
    used: Ints
    priors: tuple[float, ...]
    trained: str
    problems: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """The parameters of each calibrator."""
        return [calibrator.parameters for calibrator in self.calibrators]

    def table(self) -> Table:
        """The columns as they were read, with the calibrated scores, one row a trial.

        Returns
        -------
        Table
            With a column `score` of log-likelihood ratios in nats, or one of log-posteriors for
            each class, named by the class. A column that had the name before becomes `raw_NAME`.
        """
        trials = self.trials
        rows = np.arange(len(trials.labels))
        if trials.origin is not None:  # a soft label is several rows of one trial
            rows = np.unique(trials.origin, return_index=True)[1]
        names = ("score",) if trials.detection else trials.classes
        scores = trials.scores[rows].reshape(len(rows), -1)
        frame = trials.frame[rows] if trials.frame.width else trials.frame
        taken = set(frame.columns)
        for name in names:
            raw = f"raw_{name}"
            while name in frame.columns and raw in taken:
                raw = f"raw_{raw}"
            frame = frame.rename({name: raw}, strict=False)
            taken.add(raw)
        new = [pl.Series(name, scores[:, k]) for k, name in enumerate(names)]
        return Table(trials.name, frame.with_columns(new), kind=trials.kind)

    def summary(self) -> dict[str, Any]:
        """Method, training, priors and parameters as plain values; infinities as text."""
        return {
            "method": self.method,
            "trained": self.trained,
            "priors": [*self.priors],
            "fits": [
                {"n_trials": int(count), **_plain(parameters)}
                for count, parameters in zip(
                    np.bincount(self.used, minlength=len(self.calibrators)),
                    self.parameters,
                    strict=True,
                )
            ],
        }

    @staticmethod
    def scoring(scoring: Scoring) -> Scoring:
        """The same scoring for calibrated trials: a training prior and a deployed threshold belong
        to the scores as they were.

        Parameters
        ----------
        scoring : Scoring

        Returns
        -------
        Scoring
        """
        return replace(scoring, training_prior=None, threshold=None, whole_shares=None)


def calibrate(
    trials: Trials,
    method: str = "affine",
    *,
    train: Train = None,
    folds: int = 5,
    fold: Fold | None = None,
    application: Application | None = None,
    training_prior: tuple[float, ...] | None = None,
    clip: float | None = None,
    seed: int = 0,
    laplace: bool = False,
    ridge: float = 0.0,
) -> Calibrated:
    """Turn scores into log-likelihood ratios, or log-scores of classes into log-posteriors.

    Without `train` the trials are cross-fitted: each is calibrated by what was fitted to the other
    folds. Units are never split over folds. A trial with units on two sides (or of two factors)
    that lie in the folds i and j is calibrated by what was fitted to the trials with no unit in i
    or j: with 5 folds that is a fit for each of 15 pairs, to some 36 % of the trials where i and j
    differ.

    Parameters
    ----------
    trials : Trials
        To be calibrated; of any type but decisions and numbers.
    method : {"affine", "temperature", "pav", "spline"}
        See `truecost.calibration`; the last two are for detection and for two classes.
    train : Trials or "self", optional
        Fit on these trials of the same type and classes. "self" fits on the trials themselves,
        which is optimistic: a bound, no estimate of use.
    folds : int
        Number of folds, at least 2.
    fold : str or array_like of shape (N,), optional
        Fold of each trial, in place of dealt ones: a column of `trials.frame`, or labels.
    application : Application, optional
        Its effective prior (for classes its priors) weighs the classes in the loss of `affine`,
        `temperature` and `spline`; the shares in the training trials when it has none or is left
        out.
    training_prior : tuple of float, optional
        Priors that posteriors contain (see `Scoring`); the shares in the training trials when left
        out. Affine calibration does not depend on it.
    clip : float, optional
        Least probability that posteriors give a class before they are calibrated (see `Scoring`).
    seed : int
        Of the folds.
    laplace : bool
        Laplace's rule for `pav`: finite likelihood ratios at the ends (see `Pav.fit`).
    ridge : float
        Ridge on the scale for `affine` (see `Affine.fit`).

    Returns
    -------
    Calibrated

    Raises
    ------
    UsageError
        When the method is not known or not for these trials, options do not go together, or types
        differ.
    InputError
        When a training part lacks a class or cannot be fitted, or classes differ.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> rng = np.random.default_rng(0)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> scores = 5 + 3 * rng.normal(labels)
    >>> trials = tc.Trials.of(scores, labels, kind="score", unit=speakers)
    >>> calibrated = tc.calibrate(trials)
    >>> calibrated.trials.signature
    'type:score|calibrated:affine:folds5:by-unit:seed0:prior-0.5'
    >>> [round(p["scale"], 2) for p in calibrated.parameters]
    [0.35, 0.36, 0.43, 0.41, 0.38]
    >>> [cllr] = tc.score(calibrated.trials, tc.Scoring(measures=("cllr",), plan=tc.Plan(200)))
    >>> round(cllr.value, 2)
    0.81
    """
    if trials.kind in ("decision", "number"):
        raise UsageError(f"{trials.name}: type {trials.kind} has no scores to calibrate")
    if trials.several_right:
        raise UsageError(
            f"{trials.name}: a calibration needs one true class a trial, and with --annotators any "
            f"several labels may be right: count the votes with --annotators votes"
        )
    plain = Fitting(method, trials.detection, training_prior, (), clip, laplace, ridge)
    source = train if isinstance(train, Trials) else trials
    notes = [] if source is trials else _same_task(trials, source)
    require_classes(source, np.ones(len(source.labels), bool), source.name)
    fitting = plain.of(source, application or Application())
    scores = fitting.inputs(trials)
    if train is None:
        parts = dealt(trials, folds, seed) if fold is None else given(trials, fold)
        calibrators, used, scores = cross_fit(trials, scores, parts, fitting)
        trained = parts.said
        notes += parts.problems
    else:
        if fold is not None:
            raise UsageError("folds are for cross-fitting: leave out either train or fold")
        one = fitting.fit(fitting.inputs(source), source.labels, source.weights, source.name)
        calibrators, used, scores = (one,), np.zeros(len(scores), np.int64), one(scores)
        trained = "self" if source is trials else f"train-{source.name}"
        notes += [OPTIMISTIC] if source is trials else []
    notes += [*_of_fits(calibrators), *_of_scores(trials, scores)]
    if not trials.detection:  # to the priors that posteriors are taken to contain
        scores = move_posteriors(scores, fitting.priors, class_shares(trials))
    result = replace(
        trials,
        name=f"{trials.name}+{method}",
        kind="llr" if trials.detection else "log-posterior",
        scores=scores,
        signature=f"{trials.signature}|{fitting.said(trained, trials.kind, training_prior)}",
        problems=(*trials.problems, *notes),
    )
    return Calibrated(result, method, calibrators, used, fitting.priors, trained, tuple(notes))


def _plain(value: Any) -> Any:
    """The value with infinite numbers, which JSON has none of, as text."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value if not isinstance(value, float) or np.isfinite(value) else str(value)


OPTIMISTIC = (
    "calibrated on the trials that are scored, which is optimistic: a bound for the scores, no "
    "estimate of use"
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
            f"{source.name} has the classes {first_five(source.classes)}, {trials.name} "
            f"{first_five(trials.classes)}: name them all with --classes"
        )
    shared = []
    for name in sorted(set(trials.units) & set(source.units)):
        sides = (np.concatenate(part.units[name]) for part in (trials, source))
        shared.append((f"of the units of {name!r}", *shared_units(*sides)))
    ids, others = trials.ids, source.ids
    if ids is not None and others is not None and ids.dtype.kind in "OU":  # no row numbers
        shared.append(("of the trial ids", *shared_units(ids, others)))
    return [
        f"{count} {what} stand in both {source.name} and {trials.name} ({examples}): the "
        f"calibration has seen them, which is optimistic"
        for what, count, examples in shared
        if count
    ]


def _of_fits(calibrators: Sequence[Calibrator]) -> list[str]:
    """What the fits suffer from, once each."""
    found = Counter(problem for calibrator in calibrators for problem in calibrator.problems)
    of = f" (in {{}} of {len(calibrators)} fits)" if len(calibrators) > 1 else ""
    return [problem + of.format(count) for problem, count in found.items()]


def _of_scores(trials: Trials, scores: Floats) -> list[str]:
    """Refuse what is no number; a note on likelihood ratios and posteriors without end."""
    if np.isnan(scores).any():
        rows = np.isnan(scores.reshape(len(scores), -1)).any(axis=1)
        raise InputError(
            f"{trials.name}: {int(rows.sum())} calibrated scores are undefined (posteriors of 0 "
            f"before?): clip the posteriors"
        )
    endless = int(np.isinf(scores.reshape(len(scores), -1)).any(axis=1).sum())
    if not endless:
        return []
    what = (
        "trial gets an infinite likelihood ratio"
        if endless == 1
        else ("trials get infinite likelihood ratios")
    )
    return [f"{endless} {what}: Laplace's rule (--laplace) keeps those of pav finite"]
