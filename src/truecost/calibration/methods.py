"""The methods of calibration by name: what fits them, their options and their sources; two of them,
`Cubic` and `Pav`.

`Cubic`: Petegrosso et al. 2022, appendix A.4, which maps the scores of a labelling machine so. A
polynomial need neither rise nor stay within 0 and 1; the paper hopes that it does. Here both are
checked, and the monotone spline takes the place of one that fails: for scores that tell much that
is the rule.

`Pav` (pool adjacent violators), the monotone step function of least loss, whatever the prior: Ayer
et al. (1955); Brümmer and du Preez (2006) for likelihood ratios and Laplace's rule.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration import affine
from truecost.calibration.base import Fitted, Floats, Ints, Kind, Sample, logit, sample
from truecost.calibration.spline import Spline
from truecost.errors import InputError, counted

GRID = 1_001  # points at which the polynomial is checked
ROUNDING = 1e-9  # of a probability, that is no fall and no way out of [0, 1]
PLACES = ("low", "middle", "high")  # thirds of the range of the scores, for messages
Stretches = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Cubic(Fitted):
    """Calibrator by a cubic polynomial p: llr = logit p(score) - logit P, in nats.

    p = c0 + c1 z + c2 z^2 + c3 z^3 with z = (2 score - low - high) / (high - low), from -1 to 1,
    where `low` and `high` are the lowest and the highest training score. `falls` and `leaves`
    are the ranges of scores in which the polynomial decreases, or is outside [0, 1]. If there are
    any, a monotone spline (`fallback`) replaces the polynomial. A score outside the range of the
    training scores has the value of the nearest training score. p is clipped to [clip, 1 - clip]
    with clip = 1 / (n + 2) for n training trials, so that likelihood ratios are finite; 1 / (n + 2)
    is Laplace's probability of a class that does not occur in n trials.

    Examples
    --------
    >>> from truecost.calibration import Cubic
    >>> scores, labels = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    >>> found = Cubic.fit(scores, labels)
    >>> [round(float(p), 3) for p in found.polynomial([0, 1, 2, 3])]
    [0.333, 0.333, 0.667, 0.667]
    >>> found.problems[0]
    'the cubic polynomial falls at low and high scores: a monotone spline is used instead'
    """

    low: float  # least and greatest training score
    high: float
    coefficients: tuple[float, ...]  # c0 to c3
    prior: float  # P, of a target in the loss that was minimised
    clip: float  # least probability of either class
    falls: Stretches = ()  # of scores in which the polynomial falls
    leaves: Stretches = ()  # in which it is below 0 or above 1
    fallback: Spline | None = None  # what takes its place when it does either

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        prior: float | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "Cubic":
        """Fit the cubic polynomial: the minimum of the prior-weighted squared error.

        Loss: P/T sum over targets of (1 - p)^2 + (1-P)/N sum over nontargets of p^2; T and N are
        the weights of targets and nontargets. If P is the share of the targets, this is least
        squares. The polynomial is checked at 1,001 equally spaced points of the range of the
        scores; if it decreases or leaves [0, 1] there, `Spline.fit` replaces it.

        Parameters
        ----------
        scores, labels, prior, weights : array_like, shape (N,); float; array_like, shape (N,)
            Arguments as in `Affine.fit`, with at least four different scores.

        Raises
        ------
        InputError
            If a class has no trials, there are fewer than four different scores, neither polynomial
            nor spline can be fitted, or the arrays have different lengths.
        UsageError
            If the prior is out of range.
        """
        data = sample(scores, labels, prior, weights)
        affine.standard(data)  # refuses equal scores
        distinct = len(np.unique(data.scores))
        if distinct < 4:
            raise InputError(
                f"there are {counted(distinct, 'different score')}: a cubic polynomial needs at "
                f"least 4; choose another method of calibration"
            )
        low, high = float(data.scores.min()), float(data.scores.max())
        coefficients = _least_squares(_placed(data.scores, low, high), data)
        clip = 1 / (len(data.scores) + 2)
        found = Cubic(low, high, tuple(coefficients.tolist()), data.prior, clip)
        falls, leaves = found._checked()
        if not (falls or leaves):
            return found
        spline = Spline.fit(data.scores, data.codes, prior=data.prior, weights=data.own)
        return replace(found, falls=falls, leaves=leaves, fallback=spline)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        if self.fallback is not None:
            return self.fallback(scores)
        inside = np.clip(np.asarray(scores, np.float64), self.low, self.high)
        p = np.clip(self.polynomial(inside), self.clip, 1 - self.clip)
        return np.asarray(np.log(p) - np.log1p(-p) - logit(self.prior))

    def polynomial(self, scores: npt.ArrayLike) -> Floats:
        """Values of the polynomial at the given scores; a value can be outside [0, 1]."""
        z = _placed(np.asarray(scores, np.float64), self.low, self.high)
        c0, c1, c2, c3 = self.coefficients
        return np.asarray(((c3 * z + c2) * z + c1) * z + c0)

    def _checked(self) -> tuple[Stretches, Stretches]:
        """The parts of the range where the polynomial falls, and where it leaves [0, 1]."""
        at = np.linspace(self.low, self.high, GRID)
        p = self.polynomial(at)
        rises = np.diff(p) >= -ROUNDING / GRID
        inside = (p >= -ROUNDING) & (p <= 1 + ROUNDING)
        return _stretches(at, ~rises, 1), _stretches(at, ~inside, 0)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields, as plain numbers, with those of the spline that takes the place."""
        own = super().parameters
        del own["fallback"]
        if self.fallback is None:
            return own
        spline = self.fallback.parameters
        return {**own, "fallback": "spline", **{f"spline_{k}": v for k, v in spline.items()}}

    @property
    def problems(self) -> tuple[str, ...]:
        """Warnings: where the polynomial fails, and those of the spline in its place."""
        if self.fallback is None:
            return ()
        faults = [("falls", self.falls), ("leaves [0, 1]", self.leaves)]
        said: dict[str, list[str]] = {}
        for verb, stretches in faults:
            if stretches:
                said.setdefault(self._where(stretches), []).append(verb)
        fails = " and ".join(f"{' and '.join(verbs)} at {where}" for where, verbs in said.items())
        text = f"the cubic polynomial {fails}: a monotone spline is used instead"
        return (text, *self.fallback.problems)

    def _where(self, stretches: Stretches) -> str:
        """In which thirds of the range, in words: the same for fits that differ a little."""
        touched = set[int]()
        for ends in stretches:
            thirds = [(end - self.low) / (self.high - self.low) * 3 for end in ends]
            first, last = (min(int(third), 2) for third in thirds)
            touched |= {*range(first, last + 1)}
        *others, last_one = (PLACES[k] for k in sorted(touched))
        return f"{', '.join(others)}{' and ' * bool(others)}{last_one} scores"


def _placed(scores: Floats, low: float, high: float) -> Floats:
    """Scores with the training range as [-1, 1]."""
    return np.asarray((2 * scores - low - high) / (high - low))


def _least_squares(z: Floats, data: Sample) -> Floats:
    """Coefficients of powers of z, by orthogonal polynomials (Forsythe 1957).

    Plain sums alone, which do not depend on threads, and no badly conditioned equations.
    """
    weights, targets = data.weights, data.codes == 1
    power, last = np.eye(4)[0], np.zeros(4)
    at, last_at = np.ones(len(z)), np.zeros(len(z))
    found, before = np.zeros(4), 1.0
    for degree in range(4):
        weighted = weights * at
        norm = float((weighted * at).sum())
        found += float(weighted[targets].sum()) / norm * power
        centre = float((weighted * at * z).sum()) / norm
        ratio = norm / before if degree else 0.0
        power, last = np.roll(power, 1) - centre * power - ratio * last, power
        at, last_at = (z - centre) * at - ratio * last_at, at
        before = norm
    return found


def _stretches(at: Floats, bad: npt.NDArray[np.bool_], reach: int) -> Stretches:
    """Ends of the runs of bad points, or of bad steps to the next point (`reach` 1)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]])))
    starts, stops = at[edges[::2]], at[edges[1::2] - 1 + reach]
    return tuple(zip(starts.tolist(), stops.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Pav(Fitted):
    """Calibrator by pooled adjacent violators: llr = llrs[k] for a score in block k, in nats.

    Block k contains the scores from edges[k - 1] to below edges[k]. Each edge is halfway between
    the training scores of two blocks, so a score between two blocks has the value of the nearer
    block; this rule treats targets and nontargets alike. The llrs increase strictly. A first block
    without targets has -inf and a last block without nontargets +inf, except with Laplace's rule.

    Examples
    --------
    >>> from truecost.calibration import Pav
    >>> found = Pav.fit([-2.0, 0.0, 1.0, -1.0, 1.0, 3.0], [0, 0, 0, 1, 1, 1])
    >>> found.edges.tolist(), found.llrs.round(3).tolist()
    ([-1.5, 2.0], [-inf, 0.0, inf])
    >>> Pav.fit([-1.0, 1.0], [0, 1], laplace=True).llrs.round(3).tolist()
    [-0.693, 0.693]
    """

    edges: Floats  # scores at which the next block starts, rising, (blocks - 1,)
    llrs: Floats  # (blocks,)
    laplace: bool = False

    @staticmethod
    def fit(
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        laplace: bool = False,
    ) -> "Pav":
        """Fit by pooled adjacent violators; equal scores are one group.

        The llr of a block is ln(t/n) - ln(T/N): t and n are the weights of its targets and
        nontargets, T and N those of all trials. This map minimises every proper scoring rule among
        monotone maps, so it does not depend on a prior.

        Parameters
        ----------
        scores, labels, weights : array_like, shape (N,)
            Arrays as in `Affine.fit`; infinite scores are allowed.
        laplace : bool
            Whether Laplace's rule is used: a target and a nontarget of weight 1 are added below all
            scores, and another target and nontarget above all scores, so that each llr is finite
            (Brümmer and du Preez 2006).

        Raises
        ------
        InputError
            If a class has no trials, or a score is missing.
        """
        from truecost.kernels.calibrating import pool_blocks

        data = sample(scores, labels, None, weights, finite=False)
        values, targets, nontargets = _groups(data)
        total_t, total_n = targets.sum(), nontargets.sum()
        if laplace:
            targets = np.concatenate([[1.0], targets, [1.0]])
            nontargets = np.concatenate([[1.0], nontargets, [1.0]])
        lasts = np.empty(len(targets), np.int64)
        count = pool_blocks(targets, nontargets, lasts)
        with np.errstate(divide="ignore"):
            llrs = np.log(targets[:count]) - np.log(nontargets[:count]) - np.log(total_t / total_n)
        ends = lasts[: count - 1] - (1 if laplace else 0)
        return Pav(*_inside(values, ends, llrs), laplace)

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Log-likelihood ratios of scores, in nats; of the shape of the scores."""
        given = np.asarray(scores, np.float64)
        found = self.llrs[np.searchsorted(self.edges, given, side="right")]
        return np.asarray(np.where(np.isnan(given), np.nan, found))

    @property
    def problems(self) -> tuple[str, ...]:
        """Whether nothing could be told apart."""
        if len(self.llrs) > 1:
            return ()
        return (
            "the monotone fit is a single step: the scores do not distinguish the classes (are "
            "they reversed?)",
        )


def _groups(data: Sample) -> tuple[Floats, Floats, Floats]:
    """Distinct scores, rising, with the weight of their targets and nontargets."""
    order = np.argsort(data.scores, kind="stable")
    ranked, own = data.scores[order], data.own[order]
    is_target = data.codes[order] == 1
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    targets = np.add.reduceat(np.where(is_target, own, 0.0), starts)
    return ranked[starts], targets, np.add.reduceat(np.where(is_target, 0.0, own), starts)


def _inside(values: Floats, ends: Ints, llrs: Floats) -> tuple[Floats, Floats]:
    """Edges half way between the last score of a block and the first of the next.

    Blocks of Laplace's trials alone hold no score: they are left out.
    """
    kept = (ends >= 0) & (ends < len(values) - 1)
    first = int((ends < 0).sum())
    llrs = llrs[first : first + int(kept.sum()) + 1]
    low, high = values[ends[kept]], values[ends[kept] + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    return np.where((middle > low) & np.isfinite(middle), middle, high), llrs


METHODS: dict[str, Kind] = {
    "affine": Kind(
        "scale and offset by prior-weighted logistic regression; K classes: one scale, K offsets",
        affine.Affine.fit,
        affine.AffineClasses.fit,
        options=("ridge",),
        cites=("pav",),
    ),
    "temperature": Kind(
        "one scale, no offset",
        affine.Temperature.fit,
        affine.TemperatureClasses.fit,
        cites=("temperature",),
    ),
    "pav": Kind(
        "pool adjacent violators: the best monotone step function (two classes)",
        Pav.fit,
        options=("laplace",),
        cites=("pav", "ayer"),
        at_prior=False,  # the best at every prior
    ),
    "spline": Kind(
        "monotone P-spline logistic regression (two classes)", Spline.fit, cites=("spline",)
    ),
    "poly3": Kind(
        "cubic polynomial by least squares, checked; spline where it fails (two classes)",
        Cubic.fit,
        cites=("001", "spline"),
    ),
}


"""The methods by name. Registering one here is all that other modules need."""
