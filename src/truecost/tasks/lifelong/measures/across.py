"""A score under every version, at every time, in every state.

The parts that the score reads are tallies with the cell axes version x time x state, so that the
score itself, which divides sums, comes out for all cells at once. `Across` says which of them make
a figure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals
from truecost.core.measure import ROUNDING, Array, Floats, Measure, share

BASE, ADAPTED, IMPAIRED, CORRECTED = range(4)  # the axis `state`
STREAM = "stream_"  # what parts of the lifelong set are called
CURVE = "curve_"  # and those of all test items together


@dataclass(frozen=True, eq=False)
class Across:
    """Which cells make a figure of one version.

    Attributes
    ----------
    version : int
        Place of the version M_i.
    weights : ndarray of float64, shape (times,)
        Policy weights P(t_j) in its window; NaN nowhere, all 0 where the window is empty.
    initial : int
        Place of the initial version M_0; -1 where there is none.
    own : ndarray of int64, shape (times,)
        Place of the version that was the newest at t_j; -1 where there was none.
    learnt : int
        Place of the first version that learnt anything.
    higher : bool, optional
        Whether a higher score is better, where the score itself does not say.
    compat : str
        `allies-2020`, or empty.
    cost : str
        What the minimal supervision rate counts.
    item_seconds : float, optional
        Seconds that correcting a part takes.
    runs : int
        Number of seeds.
    costs : ndarray of float64, shape (seeds, versions)
        Cost of the help up to each version, for the learning curve.
    maximum : float
        Where that curve ends.
    """

    version: int
    weights: Floats
    initial: int = -1
    own: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    learnt: int = 0
    higher: bool | None = None
    compat: str = ""
    cost: str = "words"
    item_seconds: float | None = None
    runs: int = 1
    costs: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    maximum: float = np.inf

    @cached_property
    def window(self) -> npt.NDArray[np.int64]:
        """Places of the times that have a weight."""
        return np.flatnonzero(self.weights > 0)

    def weighed(self, scores: Floats) -> Floats:
        """Sum over the window of score x weight; undefined where the window is empty.

        Parameters
        ----------
        scores : ndarray, shape (replicates, times)

        Returns
        -------
        ndarray of float64, shape (replicates,)
        """
        if not len(self.window):
            return np.full(len(scores), np.nan)
        return np.asarray((scores[:, self.window] * self.weights[self.window]).sum(axis=1))


class View:
    """Totals of which a score reads other parts or cells than those of its own names.

    Parameters
    ----------
    named : callable
        From the name of a part, as the score knows it, to that in the evidence.
    change : callable, optional
        From sums and the statistic's name to other sums.
    """

    def __init__(
        self,
        totals: Totals,
        named: Callable[[str], str] = str,
        change: "Callable[[Array, str], Array] | None" = None,
    ) -> None:
        self._totals, self._named, self._change = totals, named, change

    @property
    def evidence(self) -> Evidence:
        """What was counted."""
        return self._totals.evidence

    def sums(self, part: str, statistic: str) -> Array:
        """Sums of a statistic, as `Totals.sums`."""
        found = self._totals.sums(self._named(part), statistic)
        return found if self._change is None else self._change(found, statistic)


def scores(
    totals: Totals, application: Application, inner: Measure, prefix: str = ""
) -> tuple[Floats, Floats]:
    """The score of every cell, and what a naive baseline gets there.

    Parameters
    ----------
    prefix : str
        Of the names of the parts.

    Returns
    -------
    values, references : ndarray of float64, shape (replicates, versions, times, states)
        NaN where a cell is empty.
    """
    view = cast("Totals", View(totals, lambda part: prefix + part))
    # Costs enter when items are counted: the label says all that decides a score.
    found = totals.once(f"{prefix}{inner.label}", lambda: inner(view, application))
    return found.values, found.naive


def allies_2020(totals: Totals, application: Application, inner: Measure, how: Across) -> Floats:
    """BLEU of the adapted output without the n-grams of the corrections, shape (R, times).

    The program of the organisers (2020) takes the n-grams of the corrected references from the
    matches of the adapted output; all other sums are those of the adapted output. Fewer matches
    than none are none.
    """

    def less(sums: Array, statistic: str) -> Array:
        of = sums[:, how.version]
        if not statistic.startswith("matches"):
            return np.asarray(of[..., ADAPTED])
        left: Array = np.maximum(of[..., ADAPTED] + of[..., IMPAIRED] - of[..., CORRECTED], 0)
        return left

    found = inner(cast("Totals", View(totals, change=less)), application)
    return np.asarray(found.values)


def averaged(values: Floats, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Mean over the chosen times, 0 where it is no more than rounding; undefined without any.

    Parameters
    ----------
    values : ndarray, shape (replicates, times)
    chosen : ndarray of bool, shape (times,)

    Returns
    -------
    ndarray of float64, shape (replicates,)
    """
    if not chosen.any():
        return np.full(len(values), np.nan)
    kept = values[:, chosen]
    means, size = kept.mean(axis=1), np.abs(kept).mean(axis=1)
    return np.asarray(np.where(np.abs(means) <= ROUNDING * size, 0.0, means))


def stepped(costs: Floats, values: Floats, maximum: float) -> Floats:
    """Area under a step function, divided by the range of its costs.

    Parameters
    ----------
    costs : ndarray, shape (points,)
        Ascending; a value holds from its cost to the next, the last one to the maximum.
    values : ndarray, shape (replicates, points)

    Returns
    -------
    ndarray of float64, shape (replicates,)
        NaN where the range is empty.
    """
    ends = np.minimum(np.append(costs[1:], maximum), maximum)
    widths = np.maximum(ends - np.minimum(costs, maximum), 0.0)
    held = widths > 0
    area = (values[:, held] * widths[held]).sum(axis=1)
    return share(area, np.full(len(values), widths.sum()))
