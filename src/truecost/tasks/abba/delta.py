"""The delta method on the logarithm of a ratio: a cross-check of the bootstrap, and its fallback.

Var log r = sum over units u of (influence of u)^2, with influence = sum over the statistics of u of
d log r / d statistic; the derivatives are taken numerically from the measure itself, so that every
estimator has its variance without a formula of its own. With every item its own unit it is the
textbook one: direct 1/n11A - 1/(n11A + n10A) + 1/n11B - 1/(n11B + n01B) (`spec/abba.md`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence, totals
from truecost.core.tally import Tally
from truecost.core.weights import Weights

Array = npt.NDArray[Any]
Sums = Callable[[str, str], Array]
STEP = 1e-5  # of the size of a sum: central differences are right to some ten digits
HALF = 0.5  # pseudo-counts of either label in a cell


@dataclass(frozen=True, eq=False)
class Linear:
    """Sums of evidence at weights of one, and how a function of them changes with each.

    Attributes
    ----------
    sums : mapping of (part, statistic) to ndarray, shape (*cells)
    """

    evidence: Evidence
    sums: dict[tuple[str, str], Array]

    @staticmethod
    def of(evidence: Evidence) -> "Linear":
        """The sums of evidence."""
        seen = totals(evidence, Weights.ones(evidence.factors).block())
        found = {}
        for name, part in evidence.parts.items():
            assert isinstance(part, Tally)
            for statistic in part.statistics:
                found[name, statistic] = seen.sums(name, statistic)[0].astype(np.float64)
        return Linear(evidence, found)

    def adjusted(self) -> "Linear":
        """The same with half an item of either label added to each cell, known to the machine."""
        found = dict(self.sums)
        for label in (0, 1):
            for key, one in self.pseudo(label).items():
                found[key] = found[key] + HALF * one
        return Linear(self.evidence, found)

    def pseudo(self, label: int) -> dict[tuple[str, str], Array | float]:
        """What a labelled item adds to the sums of its cell, weighing what others weigh there."""
        labels, labelled = self.sums["collected", "labels"], self.sums["collected", "labelled"]
        weight = np.where(labels > 0, labelled / np.maximum(labels, 1), 1.0)
        added: dict[tuple[str, str], Array | float] = {
            ("collected", "items"): 1.0,
            ("collected", "labels"): 1.0,
            ("collected", "labelled"): weight,
            ("collected", "positive"): weight * label,
            ("machine", "all"): float(label),
            ("machine", "known"): weight * label,
        }
        return {key: one for key, one in added.items() if key in self.sums}

    def value(self, function: Callable[[Sums], Array]) -> float:
        """A function at the sums."""
        return float(function(lambda part, statistic: self.sums[part, statistic][None])[0])

    def gradient(self, function: Callable[[Sums], Array]) -> dict[tuple[str, str], Array]:
        """Derivatives of a function with respect to each sum, by central differences.

        Parameters
        ----------
        function : callable
            From `sums(part, statistic)`, each of shape (R, *cells), to (R,) values.

        Returns
        -------
        dict of (part, statistic) to ndarray, shape (*cells)
        """
        offsets, size = {}, 0
        for key, values in self.sums.items():
            offsets[key], size = size, size + values.size
        steps = np.concatenate(
            [STEP * np.maximum(np.abs(v.ravel()), 1) for v in self.sums.values()]
        )

        def moved(sign: float) -> Array:
            def sums(part: str, statistic: str) -> Array:
                at = self.sums[part, statistic]
                out = np.repeat(at.reshape(1, -1), size, axis=0)
                place = offsets[part, statistic] + np.arange(at.size)
                out[place, np.arange(at.size)] += sign * steps[place]
                return out.reshape(size, *at.shape)

            return function(sums)

        with np.errstate(invalid="ignore"):  # infinite on both sides where a cell is empty
            slopes = (moved(1.0) - moved(-1.0)) / (2 * steps)
        return {k: slopes[offsets[k] :][: v.size].reshape(v.shape) for k, v in self.sums.items()}

    def influences(self, gradient: dict[tuple[str, str], Array]) -> Array:
        """What one unit of each slot of the factor adds to the function; shape (units,)."""
        [factor] = self.evidence.factors.values()
        found = np.zeros(len(factor))
        for name, part in self.evidence.parts.items():
            assert isinstance(part, Tally)
            slopes = np.stack([gradient[name, s].ravel() for s in part.statistics], axis=-1)
            own = (part.values * slopes[part.cells]).sum(axis=-1)
            found += np.bincount(part.slots.codes[:, 0], own, minlength=len(found))
        return found


def standard_error(linear: Linear, function: Callable[[Sums], Array], *, adjusted: bool) -> float:
    """Standard error of a function of the sums, by units.

    Parameters
    ----------
    function : callable
        As `Linear.gradient` takes it.
    adjusted : bool
        Add half an item of either label to each cell, to the derivatives and to what varies.

    Returns
    -------
    float
        NaN where a derivative is undefined.
    """
    at = linear.adjusted() if adjusted else linear
    gradient = at.gradient(function)
    [factor] = linear.evidence.factors.values()
    own = linear.influences(gradient)
    sizes = np.ones(len(own)) if factor.sizes is None else factor.sizes.astype(np.float64)
    variance = float((sizes * own**2).sum())
    if factor.strata is not None:  # a stratum has a fixed number of units
        sums = np.bincount(factor.strata, sizes * own)
        counts = np.bincount(factor.strata, sizes)
        seen = counts > 0
        variance -= float((sums[seen] ** 2 / counts[seen]).sum())
    if adjusted:
        for label in (0, 1):
            added = linear.pseudo(label).items()
            own = np.sum([gradient[key] * one for key, one in added], axis=0)
            variance += HALF * float((own**2).sum())
    return float(np.sqrt(max(variance, 0.0)))


def log_interval(
    linear: Linear, function: Callable[[Sums], Array], level: float, *, adjusted: bool
) -> tuple[float, float]:
    """exp(log r -+ z SE) of a positive ratio r.

    Parameters
    ----------
    function : callable
        The ratio.
    adjusted : bool
        As `standard_error` takes it; the middle is then the ratio of the adjusted counts.

    Returns
    -------
    lower, upper : float
        NaN where the ratio or its error is not defined.
    """
    from scipy.special import ndtri

    def log(sums: Sums) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(function(sums))

    middle = (linear.adjusted() if adjusted else linear).value(log)
    width = float(ndtri((1 + level) / 2)) * standard_error(linear, log, adjusted=adjusted)
    if not np.isfinite(middle) or not np.isfinite(width):
        return float("nan"), float("nan")
    return float(np.exp(middle - width)), float(np.exp(middle + width))
