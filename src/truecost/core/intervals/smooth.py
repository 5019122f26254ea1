"""Limits of smooth figures: t limits on a scale on which the figure is nearly normal.

On the scale g, which rises as the figure gets worse, the ends are g(v) -+ t_nu SE (`spread`); the
bad end moves out by min(1, 20 / nu) of what one more unit like the worst would do, each end on the
identity scale; with nu above 100 the ends pass over into those of the replicates, with weight
1 - 100 / nu. Figures that were chosen to be good (minima over thresholds) also lose their bias, the
mean of g over replicates less g(v), at the bad end.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from truecost.core.intervals.replicates import interval
from truecost.core.intervals.spread import spread
from truecost.core.jackknife import LeftOut

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # of 1 less a figure (sums of shares that make 1), and of places on a scale
AMPLE = 100  # degrees of freedom from which replicates have a say
# The best of several that are equal in truth: its replicates, which vary twice as much as the data
# alone, lie above it by sqrt(2) - 1 of what it lies above the truth.
SEEN = 2**0.5 - 1


def forth(scale: str, values: Floats) -> Floats:
    """Values on a scale; infinite or NaN where it has none for them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return np.asarray(np.log(values))
        if scale == "log1m":
            rest = 1 - np.asarray(values)
            return np.asarray(np.log(np.where(np.abs(rest) < ROUNDING, 0.0, rest)))
        if scale == "logit":
            return np.asarray(np.log(values) - np.log(1 - values))
        if scale == "logit100":
            return np.asarray(np.log(values) - np.log(100 - values))
    return np.asarray(values, np.float64)


def back(scale: str, value: float) -> float:
    """The figure at a place of a scale."""
    with np.errstate(over="ignore"):
        if scale == "log":
            return float(np.exp(value))
        if scale == "log1m":
            return float(1 - np.exp(value))
        if scale in ("logit", "logit100"):
            whole = 100 if scale == "logit100" else 1
            return float(whole / (1 + np.exp(-value)))
    return value


def sign_of(scale: str, direction: str) -> float:
    """1 where larger places on the scale are worse, -1 where they are better."""
    falls = scale == "log1m"  # larger figures lie lower
    return 1.0 if (direction == "lower") != falls else -1.0


def smooth_limits(
    point: float,
    left: Sequence[LeftOut],
    replicates: Floats,
    level: float,
    scale: str,
    direction: str,
    *,
    optimistic: bool = False,
    total: bool = False,
) -> tuple[float, float] | None:
    """Ends of the interval of a smooth figure; None where the scale has no place for a value.

    Parameters
    ----------
    replicates : ndarray of float64, shape (replicates,)
    scale : {"log", "log1m", "logit", "logit100", "identity"}
    direction : {"lower", "higher"}
        Which values are better.
    optimistic : bool
        Whether the figure is the best of many on these data.
    total : bool
        Whether it is a sum: the values without a unit are scaled by n / (n - 1) already, and their
        squares are taken about their mean.
    """
    from scipy.special import stdtrit

    sign = sign_of(scale, direction)

    def g(values: Floats) -> Floats:
        return sign * forth(scale, values)

    found = spread(left, point, g, about_mean=total)
    if found is None:
        return None
    at = float(g(np.array([point]))[0])
    reach = float(stdtrit(found.nu, (1 + level) / 2)) * found.se
    low = at - reach - (found.worst * found.fall if scale == "identity" else 0.0)
    high = at + reach + found.worst * found.rise
    share = min(1.0, AMPLE / found.nu)
    if share < 1:
        near, far = interval(g(replicates), level)
        if np.isfinite([near, far]).all():
            low, high = (share * e + (1 - share) * p for e, p in ((low, near), (high, far)))
    if optimistic:
        high -= min(0.0, bias_of(g(replicates), at))
    if high - low <= ROUNDING * max(1.0, abs(at)):  # nothing varies: exp(log(v)) may miss v
        return point, point
    ends = sorted(back(scale, sign * end) + 0.0 for end in (low, high))  # 0, and never -0
    return ends[0], ends[1]


def bias_of(replicates: Floats, point: float) -> float:
    """Mean of the defined replicates less the point; 0 when there is none."""
    fine = replicates[np.isfinite(replicates)]
    return float(fine.mean()) - point if len(fine) else 0.0


def excess_limits(
    point: float, left: Sequence[LeftOut], replicates: Floats, level: float, direction: str
) -> tuple[float, float] | None:
    """Ends of a figure that is 0 at best and too large by chance (a loss, the best of many).

    On the identity scale. The lower end also loses the bias that there is where the truth is 0:
    what the replicates show of it, over the share that they show then.
    """
    found = smooth_limits(point, left, replicates, level, "identity", direction)
    if found is None:
        return None
    bias = max(0.0, bias_of(replicates, point)) / SEEN
    return min(found[0] - bias, point), found[1]
