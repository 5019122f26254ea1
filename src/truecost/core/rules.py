"""How a measure says which interval suits it: the scale on which it is nearly normal, the rates
that it is made of, and whether it was chosen to be good.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Scale = Literal["log", "log1m", "logit", "logit100", "identity", "none"]
Joined = Literal["sum", "ratio", "shared", "odds", "equal", "at"]


@dataclass(frozen=True, eq=False)
class Rate:
    """A rate of one class that enters a figure: which trials of a part, and which are errors.

    Parameters
    ----------
    part : str
        Name of a tally, or of a ranking: the decisions at a position are its tally then.
    errors, trials : ndarray of float64, shape (cells,)
        How far each cell counts as an error (0 to 1) and as a trial, in the order of the axes.
    weight : float
        What the rate weighs in the figure.
    statistics : (str, str)
        What is summed as errors and as trials; several joined by + are added.
    what, of : str
        For a reader: what an error is (`miss`) and whose it is (`target`).
    position : int
        Of a ranking: the place of the threshold.
    """

    part: str
    errors: Floats
    trials: Floats
    weight: float = 1.0
    statistics: tuple[str, str] = ("n", "n")
    what: str = "error"
    of: str = "trial"
    position: int = 0


Rates = Callable[..., Sequence[Rate]]


@dataclass(frozen=True)
class Rule:
    """How the interval of a measure is made by the method `auto`.

    Parameters
    ----------
    scale : {"log", "log1m", "logit", "logit100", "identity", "none"}
        The scale on which it is nearly normal: positive ones take logarithms, those that are 1 at
        best log(1 - v), shares on both sides log odds, differences none. `none` is for figures that
        no sample tells (a peak): they have no interval.
    rates : callable, optional
        From the totals with weights of one, the application and the parameter to the rates that the
        figure is made of; none of them where it does not apply.
    joined : {"sum", "ratio", "shared", "odds", "equal", "at"}
        What the figure makes of its rates: their weighted sum; the first over the second, of trials
        apart and of trials that are partly the same; the share
        o / (1 + o) of o, the first over the second times their weights; their equal value at a
        threshold (the first is of misses); the first where the second is given.
    edge : bool
        Whether the rates serve only where the scale has no place for the value (no errors).
    optimistic : bool
        Whether it is the best over thresholds, calibrations or versions on the same data.
    excess : bool
        Whether it is too large by chance: a loss, what the best of many was ahead by.
    fewest : int
        Units below which the interval is known to cover too little.
    rare : bool
        Whether it is a mean of losses of which rare large ones may not have been seen.
    size : (str, str), optional
        Part and statistic that say how much each unit holds; the trials that a part counts when
        left out.
    bounds : (float, float)
        Least and largest value that it can have: smooth ends stay within.
    """

    scale: Scale = "log"
    rates: Rates | None = None
    joined: Joined = "sum"
    edge: bool = False
    optimistic: bool = False
    excess: bool = False
    fewest: int = 0
    rare: bool = False
    size: tuple[str, str] | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def counts(self) -> bool:
        """Whether the ends are made of counts by unit: they need no value without a unit."""
        return self.rates is not None and not self.edge


SMOOTH = Rule()


# Cells of decisions at a threshold: nontarget rejected and accepted, target rejected and accepted.
FALSE_ALARM, MISS = np.array([0.0, 1, 0, 0]), np.array([0.0, 0, 1, 0])
NONTARGETS, TARGETS = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])


def at_threshold(code: int, position: int, weight: float = 1.0, part: str = "ranking") -> Rate:
    """The rate of errors of one class at a threshold.

    Parameters
    ----------
    code : int
        1 for the misses of targets, 0 for the false alarms of nontargets.
    position : int
        Of the threshold in the ranking.
    """
    if code == 1:
        return Rate(part, MISS, TARGETS, weight, what="miss", of="target", position=position)
    what, of = "false alarm", "nontarget"
    return Rate(part, FALSE_ALARM, NONTARGETS, weight, what=what, of=of, position=position)
