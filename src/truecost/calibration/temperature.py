"""Temperature: a scale alone, in nats.

Source: Guo, Pleiss, Sun and Weinberger (2017), section 4; temperature = 1 / scale.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration.affine import EQUAL, REVERSED
from truecost.calibration.base import (
    SEPARABLE,
    ClassSample,
    Evaluated,
    Floats,
    Sample,
    class_priors,
    class_sample,
    newton,
    sample,
)
from truecost.core.bayes import log_normalise
from truecost.errors import InputError


@dataclass(frozen=True)
class Temperature:
    """llr = scale * score, in nats: for scores that are 0 where targets and nontargets are even.

    Parameters
    ----------
    prior : float
        Prior of a target in the loss that was minimised.
    """

    scale: float
    prior: float

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        prior: float | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "Temperature":
        """The scale of least prior-weighted logistic loss, as `Affine.fit` with an offset of 0.

        Parameters
        ----------
        scores : array_like, shape (N,)
            Finite.
        labels : array_like, shape (N,)
            1 for a target, 0 for a nontarget.
        prior : float, optional
            Prior of a target, between 0 and 1; the share in the data when left out.
        weights : array_like, shape (N,), optional
            Trial weights, at least 0.

        Raises
        ------
        InputError
            When a class has no trials, a scale puts all targets on one side of 0 and all nontargets
            on the other, or as the arrays do not fit.
        UsageError
            When the prior is out of range.

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
        return Temperature(_scale(data), data.prior)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        return np.asarray(self.scale * np.asarray(scores, np.float64))

    @property
    def parameters(self) -> dict[str, Any]:
        """Scale and the prior of the fit."""
        return {"scale": self.scale, "prior": self.prior}

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether the scores look reversed."""
        return (REVERSED,) if self.scale < 0 else ()


def _scale(data: Sample) -> float:
    from truecost.kernels.calibrating import logistic_pass

    spread = float(np.sqrt((data.weights * data.scores**2).sum()))
    moved, weights, out = data.scores / spread, data.weights, np.empty(6)

    def evaluate(at: Floats) -> Evaluated:
        logistic_pass(moved, data.codes, weights, at[0], data.logit, out)
        return float(out[0]), out[1:2].copy(), out[3:4].reshape(1, 1).copy()

    return float(newton(evaluate, np.zeros(1))[0]) / spread


@dataclass(frozen=True)
class TemperatureClasses:
    """log p_k = scale * score_k + ln(P_k / Q_k), normalised over the classes.

    Parameters
    ----------
    scale : float
        1 / temperature.
    training : tuple of float
        Q, the priors that the scores contain.
    priors : tuple of float
        P, in the loss that was minimised; the log-posteriors contain them.
    """

    scale: float
    training: tuple[float, ...]
    priors: tuple[float, ...]

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        priors: npt.ArrayLike | None = None,
        training: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "TemperatureClasses":
        """The scale of least prior-weighted cross entropy; P = Q gives plain softmax(scale s).

        Parameters
        ----------
        scores : array_like, shape (N, K)
            Finite log-scores; a constant added to a row changes nothing.
        labels : array_like, shape (N,)
            Index of the class.
        priors : array_like, shape (K,), optional
            P, each above 0; the shares in the data when left out.
        training : array_like, shape (K,), optional
            Q, each above 0; the shares in the data when left out.
        weights : array_like, shape (N,), optional
            Trial weights, at least 0.

        Raises
        ------
        InputError
            When a class has no trials, the truth has the highest score (or the lowest) in every
            trial, or as the arrays do not fit.
        UsageError
            When the priors are out of range.
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
        scale = _class_scale(data, np.log(data.priors) - np.log(given))
        return TemperatureClasses(scale, tuple(given.tolist()), tuple(data.priors.tolist()))

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-posteriors, shape (N, K), from log-scores, shape (N, K)."""
        step = np.log(self.priors) - np.log(self.training)
        return log_normalise(self.scale * np.asarray(scores, np.float64) + step)

    @property
    def parameters(self) -> dict[str, Any]:
        """Scale and priors."""
        return {
            "scale": self.scale,
            "training_prior": [*self.training],
            "priors": [*self.priors],
        }

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether the scores look reversed."""
        return (REVERSED,) if self.scale < 0 else ()


def _class_scale(data: ClassSample, offsets: Floats) -> float:
    from truecost.kernels.calibrating import multinomial_pass

    rows = data.scores - data.scores.mean(axis=1, keepdims=True)
    spread = float(rows.std())
    moved = np.ascontiguousarray(rows / spread)
    gradient, hessian = np.empty(len(offsets) + 1), np.empty((1, 1))

    def evaluate(at: Floats) -> Evaluated:
        loss = multinomial_pass(moved, data.labels, data.weights, at[0], offsets, gradient, hessian)
        return loss, gradient[:1].copy(), hessian.copy()

    return float(newton(evaluate, np.zeros(1))[0]) / spread
