"""Affine calibration: a scale and an offset (one offset a class) by logistic regression; a scale
alone, which is 1 / temperature.

Sources: Brümmer and du Preez (2006), prior-weighted logistic regression; Rodriguez-Fuentes &
Penagarikano 2013, Eq. 44-45, the affine recalibration of likelihood ratios; Guo, Pleiss, Sun and
Weinberger (2017), section 4.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration import CalibrationTable
from truecost.calibration.base import (
    SEPARABLE,
    ClassSample,
    Evaluated,
    Floats,
    Loss,
    Sample,
    Scaled,
    class_priors,
    class_sample,
    newton,
    sample,
)
from truecost.core.application import log_normalise
from truecost.errors import InputError
from truecost.options import check

MANY_CLASSES = 128  # above this a matrix of second derivatives costs more than it saves
EQUAL = "all scores are equal: a calibration cannot be fitted"


@dataclass(frozen=True)
class Affine(Scaled):
    """Affine calibrator: llr = scale * score + offset, in nats.

    `prior` is the prior of a target in the minimised loss.

    Examples
    --------
    >>> from truecost.calibration import Affine
    >>> found = Affine.fit([-2.0, 0.0, 1.0, -1.0, 1.0, 3.0], [0, 0, 0, 1, 1, 1])
    >>> [round(float(llr), 3) for llr in found([-1.0, 0.0, 2.0])]
    [-0.794, -0.191, 1.016]
    """

    offset: float
    prior: float

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        prior: float | None = None,
        weights: npt.ArrayLike | None = None,
        ridge: float = 0.0,
    ) -> "Affine":
        """Fit scale a and offset b: the minimum of the prior-weighted logistic loss.

        Loss: P/T sum over targets of ln(1 + exp(-(a s + b + logit P))) + (1-P)/N sum over
        nontargets of ln(1 + exp(a s + b + logit P)), in nats; s is the score, P the prior of a
        target, T and N are the total weights of targets and nontargets. The minimum is found by
        Newton's method on standardised scores.

        Parameters
        ----------
        scores : array_like, shape (N,)
            Finite scores.
        labels : array_like, shape (N,)
            1 for a target, 0 for a nontarget.
        prior : float, optional
            Prior P, between 0 and 1. Default: the share of the targets in the data.
        weights : array_like, shape (N,), optional
            Weights of the trials, at least 0. Default: 1.
        ridge : float
            Penalty, at least 0: ridge/2 (a sd)^2 is added to the loss; sd is the standard deviation
            of the scores.

        Raises
        ------
        InputError
            If a class has no trials, all scores are equal or (without a ridge) separate the
            classes, or the arrays have different lengths.
        UsageError
            If the prior or the ridge is out of range.
        """
        data = sample(scores, labels, prior, weights)
        check(CalibrationTable(ridge=ridge))
        middle, spread = standard(data)
        if ridge == 0:
            refuse_separable(data)
        moved = (data.scores - middle) / spread
        start = np.array([0.0, data.logit])
        scale, offset = newton(logistic(moved, data, ridge), start).tolist()
        return Affine(scale / spread, offset - data.logit - scale * middle / spread, data.prior)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        return np.asarray(self.scale * np.asarray(scores, np.float64) + self.offset)


@dataclass(frozen=True)
class AffineClasses(Scaled):
    """Affine calibrator of classes: log p_k = scale * score_k + offset_k + ln P_k, normalised.

    p_k is the posterior of class k. The sum of the offsets is 0. `priors` are the P_k of the
    minimised loss.
    """

    offsets: tuple[float, ...]  # one a class; they sum to 0
    priors: tuple[float, ...]  # P, in the loss that was minimised; the log-posteriors contain them

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        priors: npt.ArrayLike | None = None,
        training: npt.ArrayLike | None = None,  # noqa: ARG004
        weights: npt.ArrayLike | None = None,
        ridge: float = 0.0,
    ) -> "AffineClasses":
        """Fit scale and offsets: the minimum of the prior-weighted cross entropy (multinomial
        logistic).

        Loss: sum over the classes k of P_k times the mean of -ln p_k over the trials of class k, in
        nats. The minimum is found by Newton's method, or by L-BFGS for more than 128 classes.

        Parameters
        ----------
        scores : array_like, shape (N, K)
            Finite log-scores. A constant added to a row has no effect.
        labels : array_like, shape (N,)
            Index of the class.
        priors : array_like, shape (K,), optional
            Priors P, each above 0. Default: the shares in the data.
        training : array_like, shape (K,), optional
            Priors that the scores contain. They have no effect: the offsets absorb them.
        weights : array_like, shape (N,), optional
            Weights of the trials, at least 0. Default: 1.
        ridge : float
            Penalty, at least 0: ridge/2 (scale sd)^2 is added to the loss; sd is the standard
            deviation of the scores about the means of their rows and columns.

        Raises
        ------
        InputError
            If a class has no trials, the scores separate the classes (without a ridge), or the
            arrays have different lengths.
        UsageError
            If the priors or the ridge are out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from truecost.calibration import AffineClasses
        >>> scores = np.array([[1.0, 0, 0], [0, 2, 1], [0, 0, 1], [2, 1, 0], [1, 0, 3], [0, 1, 1]])
        >>> found = AffineClasses.fit(scores, [0, 1, 2, 1, 2, 0])
        >>> round(found.scale, 3), round(sum(found.offsets), 12)
        (1.157, 0.0)
        """
        data = class_sample(scores, labels, priors, weights)
        check(CalibrationTable(ridge=ridge))
        rows = data.scores - data.scores.mean(axis=1, keepdims=True)
        middle = rows.mean(axis=0)
        moved = np.ascontiguousarray(rows - middle)
        spread = float(moved.std())
        if spread <= 1e-14 * max(1.0, float(np.abs(data.scores).max())):
            raise InputError(EQUAL)
        if ridge == 0 and _separable(data):
            raise InputError(SEPARABLE)
        scale, offsets = _multinomial(moved / spread, data, ridge)
        own = offsets - np.log(data.priors) - scale * middle / spread
        return AffineClasses(
            scale / spread, tuple((own - own.mean()).tolist()), tuple(data.priors.tolist())
        )

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-posteriors, shape (N, K), from log-scores, shape (N, K)."""
        given = np.asarray(scores, np.float64)
        return log_normalise(self.scale * given + np.array(self.offsets) + np.log(self.priors))


def standard(data: Sample) -> tuple[float, float]:
    """Mean and standard deviation of the scores, each class weighing a half; InputError when equal.

    Balanced classes make the fit well conditioned when targets are rare.
    """
    half = Sample(data.scores, data.codes, data.own, 0.5).weights
    middle = float((half * data.scores).sum())
    spread = float(np.sqrt((half * (data.scores - middle) ** 2).sum()))
    if spread <= 1e-14 * max(1.0, abs(middle)):
        raise InputError(EQUAL)
    return middle, spread


def separable(scores: Floats, codes: npt.NDArray[np.uint8]) -> bool:
    """Whether the scores of two classes do not overlap by more than a tie."""
    targets, others = scores[codes == 1], scores[codes == 0]
    return bool(targets.min() >= others.max() or targets.max() <= others.min())


def refuse_separable(data: Sample) -> None:
    """Refuse scores that separate the classes, as the loss has no minimum: InputError."""
    if separable(data.scores, data.codes):
        raise InputError(SEPARABLE)


def logistic(moved: Floats, data: Sample, ridge: float = 0.0) -> Loss:
    """The loss of two classes as a function of (scale, offset)."""
    from truecost.kernels.calibrating import logistic_pass

    weights, out = data.weights, np.empty(6)

    def evaluate(at: Floats) -> Evaluated:
        logistic_pass(moved, data.codes, weights, at[0], at[1], out)
        loss, by_scale, by_offset, aa, ab, bb = out.tolist()
        return (
            loss + ridge / 2 * at[0] ** 2,
            np.array([by_scale + ridge * at[0], by_offset]),
            np.array([[aa + ridge, ab], [ab, bb]]),
        )

    return evaluate


def _separable(data: ClassSample) -> bool:
    """Whether some scale of either sign and some offsets put the truth first in every trial.

    With scale 1 that asks for offsets b with b_k - b_y <= min over class y of (s_y - s_k), for all
    y and k: a system of difference constraints, which has a solution unless its graph has a
    negative cycle (Bellman 1958). Ties count: the loss then falls towards infinity too, or does
    not depend on the scale.
    """
    classes = len(data.priors)
    least, most = np.empty((classes, classes)), np.empty((classes, classes))
    for y in range(classes):
        own = data.scores[data.labels == y]
        margins = own[:, y, None] - own
        least[y], most[y] = margins.min(axis=0), margins.max(axis=0)
    return not (_negative_cycle(least) and _negative_cycle(-most))


def _negative_cycle(distances: Floats) -> bool:
    """Whether a graph has a negative cycle (Floyd and Warshall)."""
    if (distances + distances.T < 0).any():
        return True
    shortest = distances.copy()
    for k in range(len(shortest)):
        np.minimum(shortest, shortest[:, k, None] + shortest[k], out=shortest)
    # a sum of rounded numbers is not exactly 0 on a cycle of ties
    return bool((np.diag(shortest) < -1e-12 * np.abs(distances).max()).any())


def _multinomial(
    moved: Floats, data: ClassSample, ridge: float = 0.0, given: Floats | None = None
) -> tuple[float, Floats]:
    """Scale and offsets of least cross entropy; the scale alone where offsets are given."""
    from truecost.kernels.calibrating import multinomial_pass

    classes = len(data.priors)
    size = 1 if given is not None else 0 if classes > MANY_CLASSES else classes + 1
    gradient, hessian = np.empty(classes + 1), np.empty((size, size))

    def evaluate(at: Floats) -> Evaluated:
        offsets = np.ascontiguousarray(at[1:]) if given is None else given
        loss = multinomial_pass(moved, data.labels, data.weights, at[0], offsets, gradient, hessian)
        slopes, second = gradient[: len(at)].copy(), hessian.copy()
        slopes[0] += ridge * at[0]
        if size > 1:
            second[0, 0] += ridge
            second[1:, 1:] += 1 / classes**2  # the offsets have one degree of freedom too many
        return loss + ridge / 2 * at[0] ** 2, slopes, second

    start = np.concatenate([[0.0], np.log(data.priors) if given is None else []])
    found = newton(evaluate, start) if size else _quasi_newton(evaluate, start)
    return float(found[0]), found[1:]


def _quasi_newton(evaluate: Loss, start: Floats) -> Floats:
    """The minimum by L-BFGS, without second derivatives."""
    from scipy.optimize import minimize

    options = {"maxiter": 10_000, "maxfun": 20_000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-10}
    found = minimize(lambda x: evaluate(x)[:2], start, jac=True, method="L-BFGS-B", options=options)
    if np.abs(found.jac).max() > 1e-6:
        raise InputError(SEPARABLE)
    return np.asarray(found.x)


@dataclass(frozen=True)
class Temperature(Scaled):
    """Calibrator with a scale only: llr = scale * score, in nats. A score of 0 gives llr 0.

    `prior` is the prior of a target in the minimised loss.
    """

    prior: float

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        prior: float | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "Temperature":
        """Fit the scale: the minimum of the loss of `Affine.fit` with offset 0.

        Raises InputError as `Affine.fit` does, and if the scores of all targets are on one side of
        0 and those of all nontargets on the other.

        Examples
        --------
        >>> from truecost.calibration import Temperature
        >>> found = Temperature.fit([-2.0, 0.0, 1.0, -1.0, 1.0, 3.0], [0, 0, 0, 1, 1, 1])
        >>> round(found.scale, 3)
        0.581
        """
        data = sample(scores, labels, prior, weights)
        signed = np.where(data.codes == 1, data.scores, -data.scores)
        if not data.scores.any():
            raise InputError(EQUAL)
        if signed.min() >= 0 or signed.max() <= 0:
            raise InputError(SEPARABLE)
        spread = float(np.sqrt((data.weights * data.scores**2).sum()))
        with_offset = logistic(data.scores / spread, data)

        def evaluate(at: Floats) -> Evaluated:
            loss, slopes, second = with_offset(np.array([at[0], data.logit]))
            return loss, slopes[:1], second[:1, :1]

        return Temperature(float(newton(evaluate, np.zeros(1))[0]) / spread, data.prior)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        return np.asarray(self.scale * np.asarray(scores, np.float64))


@dataclass(frozen=True)
class TemperatureClasses(Scaled):
    """Calibrator of classes with a scale only: log p_k = scale * score_k + ln(P_k / Q_k).

    The sum of the p_k is normalised to 1. P_k are the `priors` of the minimised loss, Q_k the
    priors that the scores contain (`training`).
    """

    training: tuple[float, ...]  # Q, the priors that the scores contain
    priors: tuple[float, ...]  # P, in the loss that was minimised; the log-posteriors contain them

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        priors: npt.ArrayLike | None = None,
        training: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "TemperatureClasses":
        """Fit the scale: the minimum of the prior-weighted cross entropy (see `AffineClasses.fit`).

        `training` is the array of the priors Q that the scores contain, shape (K,), each above 0.
        Default: the shares in the data. With P = Q, the result is softmax(scale * score).
        Raises InputError if the true class has the highest (or the lowest) score in every trial.
        """
        data = class_sample(scores, labels, priors, weights)
        given = data.shares
        if training is not None:
            given = class_priors(training, len(given))
        margins = data.scores[np.arange(len(data.labels)), data.labels, None] - data.scores
        if not margins.any():
            raise InputError(EQUAL)
        if margins.min() >= 0 or margins.max() <= 0:
            raise InputError(SEPARABLE)
        rows = data.scores - data.scores.mean(axis=1, keepdims=True)
        spread = float(rows.std())
        moved = np.ascontiguousarray(rows / spread)
        scale, _ = _multinomial(moved, data, given=np.log(data.priors) - np.log(given))
        return TemperatureClasses(
            scale / spread, tuple(given.tolist()), tuple(data.priors.tolist())
        )

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-posteriors, shape (N, K), from log-scores, shape (N, K)."""
        step = np.log(self.priors) - np.log(self.training)
        return log_normalise(self.scale * np.asarray(scores, np.float64) + step)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields, as plain numbers; `training` under the name `training_prior`."""
        named = {"training": "training_prior"}
        return {named.get(key, key): value for key, value in super().parameters.items()}
