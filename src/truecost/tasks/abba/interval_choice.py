"""Which interval of a ratio can be trusted, and why a ratio has no value.

The bootstrap knows only what was seen. Where a cell that an estimator rests on has fewer than `FEW`
items of the label, or more than `MOST_BROKEN` of the replicates are undefined or infinite, the
delta method takes over, with half an item of either label added to each cell (to the interval,
never to the value). Below `ENOUGH` labels in a cell the corrected interval is that with one
labelled item more a cell, whose residual of +1 or -1 widens it: labels that agree with the machine
by chance would make it too narrow. Labels that weigh unequally count as fewer: (sum w)^2 / sum w^2.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence
from truecost.errors import counted, first_five
from truecost.tasks.abba.delta import Linear, log_interval
from truecost.tasks.abba.measures import ESTIMATORS, Lean, ratio
from truecost.tasks.abba.records import ARMS, CELLS, Deployment

Array = npt.NDArray[Any]
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
