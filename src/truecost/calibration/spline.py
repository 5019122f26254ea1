"""Monotone P-spline logistic regression: a smooth, rising curve from scores to likelihood ratios.

A cubic spline on equally spaced knots, with a penalty on the second differences of its coefficients
(Eilers and Marx 1996) and rising coefficients, which make the curve rise. The penalty leaves
straight lines alone: the smoothest curve is the affine calibration.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.calibration.affine import refuse_separable, separable, standard
from truecost.calibration.base import SEPARABLE, Evaluated, Fitted, Floats, Ints, Sample, sample
from truecost.errors import InputError, UsageError

INTERVALS = 20
BINS = 50  # of an interval, when there are more trials than EXACT
EXACT = 5_000
GRID = tuple(10.0**k for k in range(2, -7, -1))
LEAST = 0.1  # smoothing times trials, at least: a standard deviation of 3 nats, see `fit`
FOLDS = 5
TAIL = 0.005  # share of each class beyond the knots, at most


@dataclass(frozen=True, eq=False)
class Spline(Fitted):
    """Calibrator by an increasing cubic spline, in nats; linear below `low` and above `high`.

    `coefficients` are those of the B-splines. `collapsed` states whether the fit used means of
    trials with nearly equal scores (see `fit`).
    """

    low: float  # outer knots
    high: float
    coefficients: Floats  # of the B-splines, (intervals + 3,), never falling
    smoothing: float  # weight of the penalty
    prior: float  # of a target in the loss that was minimised
    collapsed: bool  # whether scores were collapsed before the fit

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        prior: float | None = None,
        weights: npt.ArrayLike | None = None,
        smoothing: float | None = None,
    ) -> "Spline":
        """Fit the increasing spline: the minimum of the penalised prior-weighted logistic loss.

        Loss: the loss of `Affine.fit` plus smoothing/2 times the sum of squared second differences
        of the coefficients. The spline has 20 intervals from the lower of the 0.5% quantiles of the
        two classes to the higher of their 99.5% quantiles, and is linear beyond.

        The default of the smoothing is one of 100, 10, ..., 1e-6. It is chosen by cross-validation:
        the largest value whose loss exceeds the lowest loss by at most the standard error of the
        paired difference (Breiman et al. 1984, section 3.4.3). Each of the 5 folds has a fifth of
        each class; the folds are drawn with a fixed seed. Values below 0.1 / n are excluded, where
        n = 1 / sum of (weights in the loss)^2 is the effective number of trials: with such small
        values, a few overlapping trials would give llrs of hundreds of nats. Values with which a
        fit to four of the folds fails are excluded, and so are all smaller values.

        With more than 5,000 trials, each interval is divided into 50 parts, and the trials of a
        class in one part are replaced by their mean. The time of a fit then depends little on the
        number of trials.

        Parameters
        ----------
        scores, labels, prior, weights : array_like, shape (N,); float; array_like, shape (N,)
            Arguments as in `Affine.fit`.
        smoothing : float, optional
            Smoothing, above 0. Default: chosen by cross-validation.

        Raises
        ------
        InputError
            If a class has no trials, the scores are all equal or separate the classes, or the
            arrays have different lengths.
        UsageError
            If the prior or the smoothing is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from truecost.calibration import Spline
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(2000) % 2
        >>> llrs = 2 * rng.normal(2 * labels - 1)  # well calibrated: llr = score
        >>> found = Spline.fit(np.sinh(llrs / 3), labels)
        >>> found(np.sinh([-1.0, 0.0, 1.0])).round().tolist()
        [-3.0, 0.0, 3.0]
        """
        if smoothing is not None and not (np.isfinite(smoothing) and smoothing > 0):
            raise UsageError(f"smoothing is {smoothing:g}: it must be a finite number above 0")
        data = sample(scores, labels, prior, weights)
        standard(data)  # refuses equal scores
        refuse_separable(data)
        low, high = _outer_knots(data)
        groups = _collapsed(data, low, high) if len(data.scores) > EXACT else _alone(data)
        fit = _Fit.prepare(groups, low, high, data.logit)
        chosen = fit.smoothest_of_best() if smoothing is None else smoothing
        at = fit.minimum(np.zeros(INTERVALS + 3), groups.weights.sum(axis=0), chosen)
        collapsed = len(groups.scores) < len(data.scores)
        return Spline(low, high, np.cumsum(at), chosen, data.prior, collapsed)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        given = np.asarray(scores, np.float64)
        first, values = _basis(given.ravel(), self.low, self.high, len(self.coefficients) - 3)
        found = np.zeros(given.size)
        for k in range(4):
            found += values[:, k] * self.coefficients[first + k]
        return found.reshape(given.shape)

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether nothing could be told apart."""
        if self.coefficients[-1] - self.coefficients[0] > 1e-9:
            return ()
        return (
            "the fitted curve is flat: the scores do not distinguish the classes (are they "
            "reversed?)",
        )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Scores (G,), the class that has them, and for each fold (folds, G) the sum of the weights of
    its trials there and of their squares.
    """

    scores: Floats
    codes: npt.NDArray[np.uint8]
    weights: Floats
    squares: Floats


def _alone(data: Sample) -> _Groups:
    weights = np.zeros((FOLDS, len(data.scores)))
    weights[_dealt(data), np.arange(len(data.scores))] = data.weights
    return _Groups(data.scores, data.codes, weights, weights**2)


def _dealt(data: Sample) -> Ints:
    """The fold of each trial: equal parts of each class, drawn over the trials in order of score.

    Drawn, not dealt in that order: folds whose scores interleave would hide that a curve follows
    the noise of the others.
    """
    random = np.random.Generator(np.random.Philox(0))
    out = np.empty(len(data.scores), np.int64)
    for code in (0, 1):
        own = np.flatnonzero(data.codes == code)
        out[own] = random.permutation(len(own)) % FOLDS  # a sample is in order of score
    return out


def _collapsed(data: Sample, low: float, high: float) -> _Groups:
    """Trials of one class in one bin as one group at their mean."""
    width = (high - low) / (INTERVALS * BINS)
    bins = np.clip(np.floor((data.scores - low) / width), -1e15, 1e15).astype(np.int64)
    keys, places = np.unique(bins * 2 + data.codes, return_inverse=True)
    weights, size, folds = data.weights, len(keys), _dealt(data)

    def summed(values: Floats) -> Floats:
        found = np.bincount(folds * size + places, values, minlength=FOLDS * size)
        return np.asarray(found, np.float64).reshape(FOLDS, size)

    of_fold = summed(weights)
    scores = summed(weights * data.scores).sum(axis=0) / of_fold.sum(axis=0)
    codes = (keys & 1).astype(np.uint8)
    if separable(scores, codes):  # the classes overlap by less than a bin
        return _alone(data)
    return _Groups(scores, codes, of_fold, summed(weights**2))


def _outer_knots(data: Sample) -> tuple[float, float]:
    """The outermost quantiles of the classes; all scores where these are equal."""
    parts = [data.scores[data.codes == code] for code in (0, 1)]
    ends = np.array([np.quantile(part, (TAIL, 1 - TAIL)) for part in parts])
    low, high = float(ends.min()), float(ends.max())
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    return float(data.scores.min()), float(data.scores.max())


def _basis(scores: Floats, low: float, high: float, intervals: int) -> tuple[Ints, Floats]:
    """The four cubic B-splines that are not 0 at each score: index of the first, and their values.

    Beyond the outer knots the tangent at the knot takes their place.
    """
    at = (scores - low) / (high - low) * intervals
    inside = np.clip(at, 0, intervals)
    first = np.minimum(inside.astype(np.int64), intervals - 1)
    u = inside - first
    v = 1 - u
    values = np.stack([v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3], axis=1) / 6
    slopes = np.stack([-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2], axis=1) / 2
    return first, values + slopes * (at - inside)[:, None]


@dataclass(frozen=True, eq=False)
class _Fit:
    """The penalised loss as a function of the first coefficient and the increments of the others.

    Increments of at least 0 are rising coefficients.
    """

    groups: _Groups
    first: Ints
    values: Floats
    logit: float
    penalty: Floats

    @staticmethod
    def prepare(groups: _Groups, low: float, high: float, logit: float) -> "_Fit":
        first, values = _basis(groups.scores, low, high, INTERVALS)
        size = INTERVALS + 3
        rises = np.diff(np.eye(size)[1:], axis=0)  # second differences, of the increments
        return _Fit(groups, first, values, logit, rises.T @ rises)

    def smoothest_of_best(self) -> float:
        """The greatest smoothing that is no worse than the best by more than a standard error.

        Only smoothings with which every fold can be fitted take part, and none below the first one
        with which a fold cannot: what fits there is an accident of the other folds. When even the
        greatest cannot be judged, it is the safest.
        """
        least = LEAST * float(self.groups.squares.sum())  # the weights sum to 1
        grid = [penalty for penalty in GRID if penalty >= least] or [GRID[0]]
        losses = self._judged(grid)
        if not len(losses):
            return GRID[0]
        means = (losses * self.groups.weights).sum(axis=(1, 2))
        best = int(means.argmin())
        errors = np.sqrt((self.groups.squares * (losses - losses[best]) ** 2).sum(axis=(1, 2)))
        return grid[int(np.flatnonzero(means - means[best] <= errors)[0])]

    def _judged(self, grid: list[float]) -> Floats:
        """Losses of a trial of each group by the fit to the other folds, shape (k, folds, G): for
        the k greatest smoothings, up to the first one with which a fold cannot be fitted.
        """
        usable = len(grid)
        losses = np.empty((usable, FOLDS, len(self.first)))
        for fold in range(FOLDS):
            path = self._path(fold, grid[:usable])
            for k, at in enumerate(path):
                losses[k, fold] = self._losses(at)[0]
            usable = len(path)
        return losses[:usable]

    def _path(self, fold: int, grid: list[float]) -> list[Floats]:
        """The minima without a fold, from the straightest on, until one is not found."""
        trained = np.delete(self.groups.weights, fold, axis=0).sum(axis=0)
        kept = trained > 0
        codes, found = self.groups.codes[kept], list[Floats]()
        if len(np.unique(codes)) < 2 or separable(self.groups.scores[kept], codes):
            return []
        at = np.zeros(INTERVALS + 3)
        for penalty in grid:
            try:
                at = self.minimum(at, trained / trained.sum(), penalty)  # each is near the next
            except InputError:
                break
            found.append(at)
        return found

    def evaluate(self, at: Floats, weights: Floats, penalty: float) -> Evaluated:
        """Value, gradient and Hessian."""
        losses, residuals, curvature = self._losses(at)
        value = float((weights * losses).sum())
        residuals, curvature = weights * residuals, weights * curvature
        slopes = _summed(self._spread(residuals))
        hessian = _summed(_summed(self._products(curvature)).T) + penalty * self.penalty
        bent = penalty * (self.penalty @ at)
        return value + float(at @ bent) / 2, slopes + bent, hessian

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def minimum(self, at: Floats, weights: Floats, penalty: float) -> Floats:
        """The minimum with increments of at least 0: projected Newton steps (Bertsekas 1982)."""
        value, gradient, hessian = self.evaluate(at, weights, penalty)
        for _ in range(200):
            held = (at <= 0) & (gradient > 0)
            held[0] = False
            free = np.flatnonzero(~held)
            step = np.zeros_like(at)
            try:
                step[free] = np.linalg.solve(hessian[np.ix_(free, free)], -gradient[free])
            except np.linalg.LinAlgError as error:
                raise InputError(SEPARABLE) from error
            rounding = 1e-14 * value
            if -float(gradient @ step) < rounding:
                return at
            length, moved = 1.0, at
            while length > 1e-12:
                moved = _projected(at + length * step)
                tried = self.evaluate(moved, weights, penalty)
                enough = 1e-4 * float(gradient @ (moved - at)) + rounding
                if tried[0] <= value + enough:
                    break
                length /= 2
            else:
                return at  # flat to rounding
            flat = value - tried[0] <= rounding
            at, (value, gradient, hessian) = moved, tried
            if flat:
                return at
        raise InputError(SEPARABLE)

    def _losses(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss of a trial of each group, with its derivatives by the log odds."""
        coefficients, targets = np.cumsum(at), self.groups.codes == 1
        odds = np.full(len(self.first), self.logit)
        for k in range(4):
            odds += self.values[:, k] * coefficients[self.first + k]
        signed = np.where(targets, -odds, odds)
        e = np.exp(-np.abs(odds))
        wrong = np.where(signed >= 0, 1.0, e) / (1 + e)  # posterior of the other class
        losses = np.maximum(signed, 0) + np.log1p(e)
        return losses, np.where(targets, -wrong, wrong), e / (1 + e) ** 2

    def _spread(self, of_group: Floats) -> Floats:
        """Sums over the groups of a number times each B-spline."""
        size, out = INTERVALS + 3, np.zeros(INTERVALS + 3)
        for k in range(4):
            out += np.bincount(self.first + k, of_group * self.values[:, k], minlength=size)
        return out

    def _products(self, of_group: Floats) -> Floats:
        """Sums over the groups of a number times the product of each two B-splines."""
        size = INTERVALS + 3
        out = np.zeros(size * size)
        for j in range(4):
            for k in range(4):
                place = (self.first + j) * size + self.first + k
                product = of_group * self.values[:, j] * self.values[:, k]
                out += np.bincount(place, product, minlength=size * size)
        return out.reshape(size, size)


def _summed(of_coefficient: Floats) -> Floats:
    """Derivatives by the increments from those by the coefficients: sums from each one on."""
    return np.asarray(np.cumsum(of_coefficient[::-1], axis=0)[::-1])


def _projected(at: Floats) -> Floats:
    """Increments below 0 set to 0."""
    return np.concatenate([at[:1], np.maximum(at[1:], 0)])
