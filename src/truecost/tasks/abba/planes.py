"""The trade-off of rRecall against rFPR over candidate thresholds, and how one is chosen.

Pure arrays: the last axis is the threshold, ascending. Only thresholds at or above the deployed one
are identified, because what B would accept below it was never collected (paper 001, 2.3 and A.3).
"""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError

Array = npt.NDArray[Any]
By = Literal["point", "upper"]
MOST = 20.0  # of a limit: no two models that are held against each other lie further apart


@dataclass(frozen=True)
class Rule:
    """How a threshold is chosen.

    Attributes
    ----------
    name : {"max-rfpr", "min-rrecall"}
        Highest rRecall with rFPR <= limit, or lowest rFPR with rRecall >= limit.
    """

    name: Literal["max-rfpr", "min-rrecall"]
    limit: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.limit) and self.limit > 0):
            raise UsageError(f"--{self.name} is {self.limit:g}: a ratio above 0 is needed")
        if self.limit > MOST:
            raise UsageError(
                f"--{self.name} is {self.limit:g}: ratios of the two models lie around 1 (did you "
                f"mean {self.limit / 100:g}?)"
            )

    def __str__(self) -> str:
        return f"{self.name}={self.limit:g}"

    @property
    def limits(self) -> str:
        """The measure that has to keep to the limit."""
        return "rfpr" if self.name == "max-rfpr" else "rrecall"

    def chosen(self, rrecall: Array, rfpr: Array) -> npt.NDArray[np.int64]:
        """Place of the chosen threshold in the last axis, -1 where none will do.

        Of thresholds that tie the highest is taken (fewer false accepts) where the recall decides,
        the lowest (more recall) where the false accepts do.

        Parameters
        ----------
        rrecall, rfpr : ndarray, shape (..., thresholds)

        Returns
        -------
        ndarray of int64, shape (...)
        """
        return self.bounded(rrecall, rfpr, rfpr if self.limits == "rfpr" else rrecall)

    def bounded(self, rrecall: Array, rfpr: Array, bound: Array) -> npt.NDArray[np.int64]:
        """The same where the limit holds for a bound of one of the ratios; NaN keeps no limit."""
        known = np.isfinite(rrecall) & np.isfinite(rfpr) & ~np.isnan(bound)
        if self.limits == "rfpr":
            goal = np.where(known & (bound <= self.limit), rrecall, -np.inf)[..., ::-1]
            place = goal.shape[-1] - 1 - goal.argmax(axis=-1)
        else:
            goal = np.where(known & (bound >= self.limit), -rfpr, -np.inf)
            place = goal.argmax(axis=-1)
        return np.where(goal.max(axis=-1) > -np.inf, place, -1)


def improving(rrecall: Array, rfpr: Array) -> npt.NDArray[np.bool_]:
    """Where neither ratio is worse than 1 and one of them is better (the region of Figure 2)."""
    better = (rrecall >= 1) & (rfpr <= 1) & ((rrecall > 1) | (rfpr < 1))
    return np.asarray(better & np.isfinite(rrecall))


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule chose.

    Attributes
    ----------
    threshold : float or None
        None where no threshold will do.
    lower, upper : float or None
        Where the middle of the replicates chose it, at the level of the intervals.
    feasible : float
        Share of the replicates in which some threshold will do.
    binds : bool
        Whether the limit decides: it does not where the lowest threshold that is identified keeps
        it (of rfpr), or the highest (of rrecall).
    """

    rule: str
    threshold: float | None
    lower: float | None
    upper: float | None
    feasible: float
    binds: bool = True


class Plane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="plane"):
    """Both ratios over the thresholds of a grid, with pointwise intervals.

    Attributes
    ----------
    thresholds : tuple of float
        Ascending; the first is the deployed one, unless a grid was given.
    rrecall, rrecall_lower, rrecall_upper, rfpr, rfpr_lower, rfpr_upper : tuple of float or None
        None where undefined.
    deployed : float or None
        The deployed threshold of B; None for a test set.
    better : tuple of float
        Lowest and highest threshold that improve both ratios; empty where none does.
    chosen : tuple of Chosen
        By rule.
    by : {"point", "upper"}
        Whether limits hold for the value or for the bound of its interval.
    collection, subset : str
        Where there are several.
    """

    system: str
    estimator: str
    thresholds: tuple[float, ...]
    rrecall: tuple[float | None, ...]
    rrecall_lower: tuple[float | None, ...]
    rrecall_upper: tuple[float | None, ...]
    rfpr: tuple[float | None, ...]
    rfpr_lower: tuple[float | None, ...]
    rfpr_upper: tuple[float | None, ...]
    deployed: float | None
    level: float
    better: tuple[float, ...] = ()
    chosen: tuple[Chosen, ...] = ()
    by: By = "point"
    collection: str = ""
    subset: str = ""
