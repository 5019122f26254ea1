"""Which interval of a ratio can be trusted, the delta method that checks it, and why a ratio has
no value.

Var log r = sum over units u of (influence of u)^2, with influence = sum over the statistics of u of
d log r / d statistic; the derivatives are taken numerically from the measure itself, so that every
estimator has its variance without a formula of its own. With every item its own unit it is the
textbook one: direct 1/n11A - 1/(n11A + n10A) + 1/n11B - 1/(n11B + n01B) (`spec/abba.md`).

The bootstrap knows only what was seen. Where a cell that an estimator rests on has fewer than `FEW`
items of the label, or more than `MOST_BROKEN` of the replicates are undefined or infinite, the
delta method takes over, with half an item of either label added to each cell (to the interval,
never to the value). Below `ENOUGH` labels in a cell the corrected interval is that with one
labelled item more a cell, whose residual of +1 or -1 widens it: labels that agree with the machine
by chance would make it too narrow. Labels that weigh unequally count as fewer: (sum w)^2 / sum w^2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence, totals
from truecost.core.tally import Tally
from truecost.core.weights import Weights
from truecost.errors import counted, first_five
from truecost.tasks.abba.measures import ESTIMATORS, Lean, ratio
from truecost.tasks.abba.records import ARMS, CELLS, Deployment

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


ENOUGH, MOST_BROKEN = 100, 0.01


WIDENING = np.array([[1.0, -1.0], [-1.0, 1.0]])  # residuals that raise rRecall, by arm and other


def leans(few: Array, label: int) -> tuple[Lean, Lean]:
    """Pseudo-residuals that lower and that raise the ratio of a label, in cells of few labels.

    Parameters
    ----------
    few : ndarray of bool, shape (..., arm, other)
    label : {0, 1}

    Returns
    -------
    below, above : Lean
        As `ratio` takes them.
    """
    up = np.where(few, WIDENING, 0.0) * (1 if label else -1)
    return (-up, few), (up, few)


def few_labels(deployment: Deployment) -> npt.NDArray[np.bool_]:
    """Which cells have fewer than `ENOUGH` human labels, but items without; shape (arm, other)."""
    least = np.minimum(deployment.items_by_cell, ENOUGH)
    short = deployment.labels_by_cell < least
    unequal = deployment.effective_labels < least * (1 - 1e-9)
    return np.asarray(short | (unequal & (deployment.inclusion is not None))).reshape(2, 2)


def not_finite(values: Array) -> float:
    """Share of replicates that are undefined or infinite."""
    return float((~np.isfinite(values)).mean())


def least_count(n: Array, estimator: str) -> Array:
    """The least count of one label that an estimator rests on.

    Parameters
    ----------
    n : ndarray, shape (..., arm, other)

    Returns
    -------
    ndarray, shape (...)
    """
    if estimator == "pooled":
        alone = np.minimum(n[..., 0, 1], n[..., 1, 1])
        return np.asarray(np.minimum(alone, n[..., 0].sum(axis=-1)))
    return np.asarray((n.sum(axis=-1) if estimator == "ab" else n.min(axis=-1)).min(axis=-1))


@dataclass(frozen=True, eq=False)
class Trust:
    """What the cells of a deployment allow.

    Attributes
    ----------
    evidence : Evidence
        Of it, by arm and other.
    level : float
        Of the intervals.
    """

    deployment: Deployment
    evidence: Evidence
    level: float

    @cached_property
    def linear(self) -> Linear:
        """Sums of the evidence, for the delta method."""
        return Linear.of(self.evidence)

    @cached_property
    def seen(self) -> Array:
        """Items by label, arm and other that humans labelled so; unequal weights count less."""
        d = self.deployment
        cells = 4 * d.label[d.labelled].astype(np.int64) + d.cell[d.labelled]
        share = d.effective_labels / np.maximum(d.labels_by_cell, 1)
        return (np.bincount(cells, minlength=8).reshape(2, 4) * share).reshape(2, 2, 2)

    def totals(self, estimator: str, label: int) -> Array:
        """Items of a label in each cell as an estimator counts them; shape (arm, other)."""

        def sums(part: str, statistic: str) -> Array:
            return self.linear.sums[part, statistic]

        with np.errstate(divide="ignore", invalid="ignore"):
            return ESTIMATORS[estimator].totals(sums, None)[1 - label]

    def least(self, estimator: str, label: int) -> float:
        """The least count of a label that an estimator rests on."""
        machine = ESTIMATORS[estimator].machine
        n = self.totals(estimator, label) if machine else self.seen[label]
        return float(least_count(n, estimator))

    def delta(self, estimator: str, label: int, *, adjusted: bool) -> tuple[float, float]:
        """Ends of the interval of the delta method; NaN where it is not defined."""

        def function(sums: Any) -> Array:
            return ratio(sums, estimator, label)

        return log_interval(self.linear, function, self.level, adjusted=adjusted)

    def why(self, estimator: str, label: int) -> str:
        """Why a ratio is undefined or infinite, by its cells."""
        d = self.deployment
        found = zip(CELLS, d.items_by_cell, d.labels_by_cell, strict=True)
        bare = [cell for cell, items, labels in found if items and not labels]
        if bare and ESTIMATORS[estimator].labels:
            cells = counted(len(bare), "cell", "have")
            return f"{cells} items and no human label ({first_five(bare)})"
        n = self.totals(estimator, label)
        if estimator == "pooled":
            for arm, items in zip(ARMS, d.items_by_cell[[0, 2]], strict=True):
                if not items:
                    return f"no item that {arm} collected is accepted by both models"
            return f"A accepts no item with label {label}"
        if not n[0].sum():
            return f"A collected no item with label {label}"
        if estimator == "ab":
            return f"B collected no item with label {label}"
        some = "" if d.labelled.all() or not ESTIMATORS[estimator].labels else "labelled "
        return f"no {some}item with label {label} that B collected is accepted by A"
