"""Parts that all calibrators share: checked and weighted training data, Newton's method, plain
results.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, counted

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Evaluated = tuple[float, Floats, Floats]
Loss = Callable[[Floats], Evaluated]  # value, gradient and Hessian at a point

LARGEST = 1e100  # size of a score whose squares are numbers
SEPARABLE = (
    "the scores separate the classes without error, so the best scale is infinite: train on more "
    "data, use --ridge 0.01, or (two classes) use --method pav with --laplace"
)
REVERSED = "the fitted scale is below 0: the scores look reversed (higher must mean target)"


class Calibrator(Protocol):
    """A fitted map from scores to log-likelihood ratios, or to log-posteriors of classes."""

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """The calibrated scores, of the same shape."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The fitted parameters, as plain numbers."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Warnings about the fit."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A calibrator whose fields are what was fitted."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields, as plain numbers."""
        return {one.name: np.asarray(getattr(self, one.name)).tolist() for one in fields(self)}


@dataclass(frozen=True)
class Scaled(Fitted):
    """A calibrator that multiplies scores."""

    scale: float

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether the scores look reversed."""
        return (REVERSED,) if self.scale < 0 else ()


@dataclass(frozen=True)
class Kind:
    """A method of calibration, as it is registered in `METHODS`.

    Two classes are fitted by `of_scores(scores, labels, weights=..., prior=...)`, several by
    `of_classes(scores, labels, weights=..., priors=..., training=...)`, with the priors in the loss
    and those that the scores contain. Without `of_classes` two classes are calibrated by the
    difference of their log-scores.
    """

    text: str
    of_scores: Callable[..., Calibrator]
    of_classes: Callable[..., Calibrator] | None = None
    options: tuple[str, ...] = ()  # further parameters of the fit, of no effect when 0 or False
    cites: tuple[str, ...] = ()  # keys of `truecost.report.citations.PAPERS`
    at_prior: bool = True  # whether the fit depends on the prior, which is given only then


@dataclass(frozen=True, eq=False)
class Sample:
    """Training data of two classes; arrays have the shape (N,)."""

    scores: Floats
    codes: Codes  # 1 for a target
    own: Floats  # weight of each trial, above 0
    prior: float  # of a target, in the loss

    @property
    def weights(self) -> Floats:
        """Weight of each trial in the loss: P/T for targets and (1 - P)/N for nontargets, times
        their own; they sum to one.
        """
        of_class = np.bincount(self.codes, self.own, minlength=2)
        factors = np.array([1 - self.prior, self.prior]) / of_class
        return np.asarray(self.own * factors[self.codes])

    @property
    def logit(self) -> float:
        """Logit of the prior."""
        return logit(self.prior)


def logit(p: float) -> float:
    """Log odds, ln p / (1 - p)."""
    return float(np.log(p) - np.log1p(-p))


def sample(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    prior: float | None,
    weights: npt.ArrayLike | None,
    *,
    finite: bool = True,
) -> Sample:
    """Training data of two classes as `Affine.fit` takes them, in order of class, score and weight,
    so that no order of trials changes a bit of what is fitted; trials of weight 0 are left out.

    No prior stands for the share of the targets in the data, trial weights included; `finite` says
    whether infinite scores are refused.
    """
    found, codes, own = _checked(scores, labels, weights, finite)
    if found.ndim != 1:
        raise InputError(f"scores of shape {found.shape}: one score per trial was expected")
    if not np.isin(codes, (0, 1)).all():
        raise InputError("labels were expected to be 1 (target) or 0 (nontarget)")
    found, codes, own = _in_order(found, codes, own)
    of_class = np.bincount(codes, own, minlength=2)
    for count, name in zip(of_class, ("nontargets", "targets"), strict=True):
        if count == 0:
            raise InputError(f"there are no {name} to train on: a calibration needs both classes")
    share = float(of_class[1] / of_class.sum()) if prior is None else float(prior)
    if not 0 < share < 1:
        raise UsageError(f"prior is {share:g}: it must lie between 0 and 1, neither included")
    return Sample(found, codes.astype(np.uint8), own, share)


def _in_order(scores: Floats, codes: Ints, own: Floats) -> tuple[Floats, Ints, Floats]:
    """Trials by class, score and weight."""
    classes = [np.flatnonzero(codes == code) for code in (0, 1)]
    if (own == own[0]).all():  # trials of one class and score are alike
        ranked = np.concatenate([np.sort(scores[rows]) for rows in classes])
        return ranked, np.repeat(np.array([0, 1]), [*map(len, classes)]), own
    order = np.concatenate([_by_weight(rows, scores, own) for rows in classes])
    return scores[order], codes[order], own[order]


def _by_weight(rows: Ints, scores: Floats, own: Floats) -> Ints:
    """Some rows by score, those of one score by weight: ties are few, and sorted by themselves."""
    order = rows[np.argsort(scores[rows], kind="stable")]
    found = scores[order]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = found[1:] == found[:-1]
    tied[:-1] |= tied[1:]
    ties = order[tied]
    order[tied] = ties[np.lexsort((own[ties], scores[ties]))]
    return np.asarray(order)


@dataclass(frozen=True, eq=False)
class ClassSample:
    """Training data of K classes, scores (N, K); priors and shares in the data have the shape (K,).

    The weights (N,) are those in the loss: P_k / N_k for a trial of class k, times its own; they
    sum to one.
    """

    scores: Floats
    labels: Ints
    weights: Floats
    priors: Floats
    shares: Floats


def class_sample(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    priors: npt.ArrayLike | None,
    weights: npt.ArrayLike | None,
) -> ClassSample:
    """Training data of several classes as `AffineClasses.fit` takes them, less those of weight 0.

    No priors stand for the shares in the data, trial weights included.
    """
    found, codes, own = _checked(scores, labels, weights, True)
    if found.ndim != 2 or found.shape[1] < 2:
        raise InputError(f"scores of shape {found.shape}: one log-score per class was expected")
    classes = found.shape[1]
    if codes.min() < 0 or codes.max() >= classes:
        raise InputError(f"labels were expected to be class indices, 0 to {classes - 1}")
    of_class = np.bincount(codes, own, minlength=classes)
    empty = np.flatnonzero(of_class == 0)
    if len(empty):
        raise InputError(
            f"class {empty[0]} has no trials to train on: a calibration needs every class"
        )
    shares = of_class / of_class.sum()
    chosen = shares if priors is None else class_priors(priors, classes)
    return ClassSample(found, codes, own * (chosen / of_class)[codes], chosen, shares)


def class_priors(priors: npt.ArrayLike, classes: int) -> Floats:
    """Priors of classes, scaled to sum to 1, shape (K,); UsageError unless each has one above 0."""
    chosen = np.asarray(priors, np.float64)
    if chosen.shape != (classes,) or not (chosen > 0).all():
        raise UsageError(
            f"priors are {chosen.tolist()}: a calibration of {classes} classes needs one prior "
            f"above 0 for each"
        )
    return np.asarray(chosen / chosen.sum())


def _checked(
    scores: npt.ArrayLike, labels: npt.ArrayLike, weights: npt.ArrayLike | None, finite: bool
) -> tuple[Floats, Ints, Floats]:
    """Scores, labels and weights of the trials that have weight."""
    found = np.ascontiguousarray(scores, np.float64)
    codes = np.asarray(labels)
    own = np.ones(len(found)) if weights is None else np.asarray(weights, np.float64)
    if not len(found) == len(codes) == len(own):
        raise InputError(
            f"{len(found)} scores, {len(codes)} labels and {len(own)} weights: each trial needs "
            f"one of each"
        )
    if not len(found):
        raise InputError("there are no trials to train on")
    if not (np.isfinite(own) & (own >= 0)).all():
        raise InputError("weights of trials must be finite and at least 0")
    bad = ~(np.abs(found) <= LARGEST) if finite else np.isnan(found)
    if bad.any():
        count = int(bad.reshape(len(bad), -1).any(axis=1).sum())
        raise InputError(
            f"{counted(count, 'trial', 'have')} a score that cannot be calibrated (missing, "
            f"infinite or beyond {LARGEST:g}; a posterior of 0 or 1?): correct or clip them"
        )
    kept = own > 0
    if not kept.all():
        found, codes, own = found[kept], codes[kept], own[kept]
        if not len(found):
            raise InputError("all trials have weight 0")
    return found, codes.astype(np.int64), own


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a minimum at infinity is refused
def newton(evaluate: Loss, start: Floats) -> Floats:
    """The minimum of a smooth, strictly convex function by Newton's method.

    Steps keep within a radius that grows while the second derivatives foretell what a step saves
    and shrinks where they do not: far from the minimum of a logistic loss they are nearly 0, and a
    full step would leave for where everything is flat. At the minimum (n,) the gradient is 0 to
    rounding.
    """
    x, radius = start, 2.0 * np.sqrt(len(start))
    value, gradient, hessian = evaluate(x)
    for _ in range(200):
        try:
            step = np.linalg.solve(hessian, -gradient)
        except np.linalg.LinAlgError:
            break
        slope, size = float(gradient @ step), float(np.linalg.norm(step))
        if not (np.isfinite(slope) and slope <= 0):
            break
        rounding = 1e-14 * max(value, 1e-300)
        if -slope < rounding:  # one last step, below what the value can tell
            return np.asarray(x + step)
        length = min(1.0, radius / size)
        foretold = -slope * length * (1 - length / 2)
        tried = evaluate(x + length * step)
        saved = value - tried[0]
        if not saved >= 0.1 * foretold - rounding:
            if foretold < 100 * rounding:
                return x  # flat to rounding: sums of many trials tell no more
            radius = length * size / 4
            continue
        if saved > 0.5 * foretold:
            radius = max(radius, 4 * length * size)
        x = x + length * step
        value, gradient, hessian = tried
    raise InputError(
        "the logistic regression finds no minimum: the scores (nearly) separate the classes, or "
        "a few of them lie very far from the others; check the scores, or use --ridge"
    )


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """A calibrator of detection for the log-scores of two classes: of their difference."""

    inner: Calibrator
    priors: tuple[float, ...]  # of the two classes, that the log-posteriors contain

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-posteriors, shape (N, 2), from log-scores, shape (N, 2)."""
        given = np.asarray(scores, np.float64)
        odds = self.inner(given[:, 1] - given[:, 0]) + logit(self.priors[1])
        return np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the inner calibrator, and the priors that the log-posteriors contain."""
        return {**self.inner.parameters, "priors": [*self.priors]}

    @property
    def problems(self) -> tuple[str, ...]:
        """Warnings of the inner calibrator."""
        return self.inner.problems


def problems_of(calibrators: Sequence[Calibrator]) -> list[str]:
    """The warnings of the fits, each once, with the number of fits where there are several."""
    found = Counter(problem for calibrator in calibrators for problem in calibrator.problems)
    of = f" (in {{}} of {len(calibrators)} fits)" if len(calibrators) > 1 else ""
    return [problem + of.format(count) for problem, count in found.items()]


def plain(value: Any) -> Any:
    """The value with infinite numbers, which JSON has none of, as text."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value if not isinstance(value, float) or np.isfinite(value) else str(value)
