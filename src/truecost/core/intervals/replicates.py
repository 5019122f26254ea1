"""Intervals from replicates: percentile, and bias-corrected and accelerated (BCa)."""

import numpy as np
import numpy.typing as npt

from truecost.names import Ends, Method

Floats = npt.NDArray[np.float64]
ONE_UNIT = "no interval: there is one unit, so nothing can be resampled"


def interval(
    replicates: Floats,
    level: float,
    method: Method = "percentile",
    point: float = float("nan"),
    left_out: Floats | None = None,
) -> tuple[float, float]:
    """Ends of the interval from replicates; undefined (NaN) replicates are left out.

    The ends are quantiles of the replicates, interpolated linearly. For `percentile` (paper 003,
    section 4.1) they are those at t = (1 - level) / 2 and (1 + level) / 2; for `bca` those at
    Phi(b + (b + z) / (1 - a (b + z))) with z = Phi^-1(t), the bias b = Phi^-1(share of replicates
    below the point, ties counted half), and the acceleration a = sum d^3 / (6 (sum d^2)^1.5) over
    d = mean of the leave-one-out values - each of them (Efron 1987; DiCiccio and Efron 1996).

    Parameters
    ----------
    replicates : ndarray of float64, shape (replicates,)
    level : float
        Between 0 and 1.
    method : {"percentile", "bca"}
        `bca` without `left_out` is `percentile`.
    point : float
        The estimate (bca).
    left_out : ndarray of float64, shape (units or groups,), optional
        Leave-one-out values (bca).

    Returns
    -------
    lower, upper : float
        Infinite where the replicates are; both NaN when no replicate is defined, or when `bca` is
        not: the point lies outside all replicates, or a leave-one-out value is infinite.
    """
    values = np.sort(replicates[~np.isnan(replicates)])
    if len(values) == 0:
        return float("nan"), float("nan")
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca" and left_out is not None:
        tails = _bca_tails(values, tails, point, left_out)
    return _quantile(values, tails[0]), _quantile(values, tails[1])


def _quantile(values: Floats, q: float) -> float:
    """Linear quantile of sorted values that may hold infinities; NaN for q NaN."""
    if np.isnan(q):
        return float("nan")
    place = q * (len(values) - 1)
    low, high = values[int(np.floor(place))], values[int(np.ceil(place))]
    return float(low) if low == high else float(low + (place - np.floor(place)) * (high - low))


def _bca_tails(values: Floats, tails: Floats, point: float, left_out: Floats) -> Floats:
    """Bias-corrected and accelerated tail probabilities; ties count half in the bias term."""
    from scipy.special import ndtr, ndtri

    below = (values < point).mean() + 0.5 * (values == point).mean()
    defined = left_out[~np.isnan(left_out)]
    if len(defined) < 2:
        return tails
    if not np.isfinite(defined).all():
        return np.array([np.nan, np.nan])
    deviations = defined.mean() - defined
    spread = float((deviations**2).sum())
    if spread == 0 or not 0 < below < 1:
        return tails if spread == 0 else np.array([np.nan, np.nan])
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
    bias, z = ndtri(below), ndtri(tails)
    return np.asarray(ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))))


def finite(value: float) -> float | None:
    """The value, or None where JSON has no number for it (NaN and the infinities)."""
    return float(value) if np.isfinite(value) else None


def ends(
    replicates: Floats,
    level: float,
    method: Ends,
    point: float,
    left_out: Floats | None = None,
    undefined: str = "",
) -> tuple[float | None, float | None, str | None]:
    """Ends of the interval as they are stored, and why one of them or the value is missing.

    Parameters
    ----------
    replicates : ndarray of float64, shape (replicates,)
    method : {"percentile", "bca", "delta"}
        `delta` rows are compared by the percentiles of their replicates.
    point : float
        The value.
    left_out : ndarray of float64, optional
        Leave-one-out values (bca).
    undefined : str
        Why the value is undefined, if it is.

    Returns
    -------
    lower, upper : float or None
        None when undefined or infinite.
    reason : str or None
        None when both ends are there.
    """
    if np.isnan(point):
        why = undefined or "a class or a denominator that the measure needs has no weight"
        return None, None, f"undefined: {why}"
    way: Method = "bca" if method == "bca" else "percentile"
    lower, upper = interval(replicates, level, way, point, left_out)
    if np.isinf(point):
        reason = "infinite: a truth was given probability 0"
    elif np.isnan(upper) and np.isnan(replicates).all():
        reason = "no replicate defines the measure"
    elif np.isnan(upper):
        reason = "bca is not defined: the value lies outside all replicates, or one is infinite"
    elif np.isinf(upper):
        reason = "the upper end is infinite"
    else:
        return float(lower), float(upper), None
    return finite(lower), finite(upper), reason
