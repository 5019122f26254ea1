"""Limits of figures, from their replicates (`interval`: percentile, basic, BCa), or, where they are
smooth, from what leave-one-out values tell of their standard error (`smooth_limits`).

With g the scale on which a figure is judged, v the figure and lo the n values without one unit:
d = g(lo) - mean, U = -(n - 1) d, SE^2 = (n - 1) / n sum (g(lo) - g(v))^2, and the units that carry
the spread are counted by nu_k = 2 (sum d^2)^2 / (sum d^4 - (sum d^2)^2 / n). Crossed factors add
their SE^2; in strata each d is that from the mean of its stratum; units in order of time may be
correlated, which the low frequencies of U show (equal-weighted cosines: Lazarus, Lewis, Stock and
Watson 2018).

On the scale g, which rises as the figure gets worse, the ends are g(v) -+ t_nu SE (`spread`); the
bad end moves out by min(1, 20 / nu) of what one more unit like the worst would do, each end on the
identity scale; with nu above 100 the ends pass over into those of the replicates, with weight
1 - 100 / nu. Figures that were chosen to be good (minima over thresholds) also lose their bias, the
mean of g over replicates less g(v), at the bad end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.core.subsets import Floats, LeftOut
from truecost.names import Ends, Method

ONE_UNIT = "no interval: there is only one unit, and an interval needs several"
Scale = Callable[[Floats], Floats]
ROUNDING = 1e-12  # of 1 less a figure (sums of shares that make 1), and of places on a scale
LARGEST = 1e70  # size of a figure whose fourth power is a number
AMPLE = 100  # degrees of freedom from which replicates have a say

# The best of several that are equal in truth: its replicates, which vary twice as much as the data
# alone, lie above it by sqrt(2) - 1 of what it lies above the truth.
SEEN = 2**0.5 - 1


def interval(
    replicates: Floats,
    level: float,
    method: Method = "percentile",
    point: float = float("nan"),
    left_out: Floats | None = None,
) -> tuple[float, float]:
    """Ends of the interval from replicates; undefined (NaN) replicates are left out.

    The ends are quantiles of the replicates, interpolated linearly. For `percentile` (Ferrer et al.
    2024, section 4.1) they are those at t = (1 - level) / 2 and (1 + level) / 2; for `bca` those at
    Phi(b + (b + z) / (1 - a (b + z))) with z = Phi^-1(t), the bias b = Phi^-1(share of replicates
    below the point, ties counted half), and the acceleration a = sum d^3 / (6 (sum d^2)^1.5) over d
    = mean of the leave-one-out values - each of them (Efron 1987; DiCiccio and Efron 1996); without
    these values `bca` is `percentile`.

    Infinite where the replicates are; both NaN when no replicate is defined, or when `bca` is not:
    the point lies outside all replicates, or a leave-one-out value is infinite.
    """
    values = np.sort(replicates[~np.isnan(replicates)])
    if len(values) == 0:
        return float("nan"), float("nan")
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca" and left_out is not None:
        tails = _bca_tails(values, tails, point, left_out)
    return _quantile(values, tails[0]), _quantile(values, tails[1])


def _quantile(values: Floats, q: float) -> float:
    """Linear quantile of sorted values that may be infinite; NaN for q NaN."""
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
    """The value, or None for NaN and infinities, which JSON cannot store."""
    return float(value) if np.isfinite(value) else None


def ends(
    replicates: Floats,
    level: float,
    method: Ends,
    point: float,
    left_out: Floats | None = None,
    undefined: str = "",
) -> tuple[float | None, float | None, str | None]:
    """Ends of the interval as they are stored, None when undefined or infinite, and the reason why
    one of them or the value is missing. `undefined`: reason why the value is undefined, if it is.

    Rows of the method `delta` are compared by the percentiles of their replicates.
    """
    if np.isnan(point):
        why = undefined or "a class or a denominator that the measure needs has no weight"
        return None, None, f"undefined: {why}"
    way: Method = "bca" if method == "bca" else "percentile"
    lower, upper = interval(replicates, level, way, point, left_out)
    if np.isinf(point):
        reason = "infinite: a true class was given probability 0"
    elif np.isnan(upper) and np.isnan(replicates).all():
        reason = "no replicate defines the measure"
    elif np.isnan(upper):
        reason = "bca is not defined: the value lies outside all replicates, or one is infinite"
    elif np.isinf(upper):
        reason = "the upper end is infinite"
    else:
        return float(lower), float(upper), None
    return finite(lower), finite(upper), reason


@dataclass(frozen=True)
class Spread:
    """The uncertainty of a figure on its scale: standard error and degrees of freedom; units that
    carry the spread, nu_k / 2, of the factor with the fewest; the distance, at least 0, by which
    one more unit like the lowest, or like the highest, would move the figure; effective units, of
    the factor with the fewest.
    """

    se: float
    nu: float
    carrying: float
    fall: float
    rise: float
    kish: float

    @property
    def worst(self) -> float:
        """Distance by which the ends move out for one more unit like the worst: all of it up to nu
        = 20.
        """
        return min(1.0, 20 / self.nu)


def spread(
    left: Sequence[LeftOut], point: float, scale: Scale | None = None, about_mean: bool = False
) -> Spread | None:
    """The spread of a figure v (`point`) from its values without single units of each resampled
    factor, on the scale g; None when such a value is not finite on the scale, or above 1e70 in
    size.

    `about_mean`: whether squares are taken about the mean of g(lo) instead of g(v): for sums.
    """
    found = [of_factor(one, point, scale, about_mean) for one in left]
    spreads = [one for one in found if one is not None]
    if len(spreads) < len(found) or not found:
        return None
    if len(spreads) == 1:
        return spreads[0]
    variances = np.array([s.se**2 for s in spreads])
    whole = float(variances.sum())
    nu = min(s.nu for s in spreads)
    if whole > 0:  # Satterthwaite 1946
        nu = whole**2 / float((variances**2 / np.array([s.nu for s in spreads])).sum())
    return Spread(
        float(np.sqrt(whole)),
        nu,
        min(s.carrying for s in spreads),
        max(s.fall for s in spreads),
        max(s.rise for s in spreads),
        min(s.kish for s in spreads),
    )


def of_factor(
    left: LeftOut, point: float, scale: Scale | None = None, about_mean: bool = False
) -> Spread | None:
    """`spread` of one factor."""
    values = np.append(left.values, point)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = values if scale is None else scale(values)
    if not (np.abs(found) <= LARGEST).all() or left.units < 2:
        return None
    without, at = found[:-1], found[-1]
    copies = np.ones(len(without)) if left.copies is None else left.copies
    strata = np.zeros(len(without), np.int64) if left.strata is None else left.strata
    sizes = np.bincount(strata, copies)
    means = np.bincount(strata, copies * without) / np.maximum(sizes, 1)
    d = without - means[strata]
    about = d if about_mean or left.strata is not None else without - at
    influence = -(sizes[strata] - 1) * d
    shares = np.bincount(strata, copies * about**2) * (sizes - 1) / np.maximum(sizes, 1)
    n = float(copies.sum())
    carrying = carrying_units(d, copies)
    rest = shares.sum() ** 2 / max(float((shares**2 / np.maximum(sizes - 1, 1)).sum()), 1e-300)
    nu = min(
        n - 1 if left.strata is None else rest, max(2.0, left.kish - 1), max(2.0, 2 * carrying)
    )
    over = influence / np.maximum(sizes[strata], 1)
    one = Spread(
        float(np.sqrt(shares.sum())),
        max(1.0, nu),
        carrying,
        max(0.0, -float(over.min())),
        max(0.0, float(over.max())),
        left.kish,
    )
    return _in_order(one, influence, strata) if left.ordered else one


def _in_order(found: Spread, influence: Floats, strata: npt.NDArray[np.int64]) -> Spread:
    """The spread of units in order of time: from low frequencies, where that is larger."""
    variances, freedoms = [], []
    for stratum in np.unique(strata):
        series = influence[strata == stratum]
        length = len(series)
        most = max(3, int(0.3 * length ** (2 / 3)))
        at = (np.arange(length) + 0.5) / length
        waves = np.sqrt(2 / length) * np.cos(np.pi * np.arange(1, most + 1)[:, None] * at)
        variances.append(float(((waves @ series) ** 2).mean()) / max(1, length - 1))
        freedoms.append(float(most))
    low = np.array(variances)
    # Strata are streams that are joined: each brings its own variance and its own freedom.
    nu = low.sum() ** 2 / max(float((low**2 / np.array(freedoms)).sum()), 1e-300)
    if not low.any():
        nu = min(freedoms)
    se = max(found.se, float(np.sqrt(low.sum())))
    # t limits of so few waves are wide already: no unit like the worst is added to them.
    return replace(found, se=se, nu=max(1.0, nu), fall=0.0, rise=0.0)


def carrying_units(d: Floats, copies: Floats) -> float:
    """Number of units that carry the spread: nu_k / 2; 0 where the figure does not vary."""
    second = float((copies * d**2).sum())
    if second == 0:
        return 0.0
    excess = float((copies * d**4).sum()) - second**2 / float(copies.sum())
    return second**2 / excess if excess > 1e-12 * second**2 / float(copies.sum()) else np.inf


def correlation(one: Sequence[LeftOut], other: Sequence[LeftOut]) -> float:
    """Correlation of the effects of single units on two figures, clipped to 0 and 1; a factor that
    one figure lacks affects the other alone.
    """
    ours, theirs = ({f.factor: f for f in side} for side in (one, other))
    products = np.zeros(3)
    for name in dict.fromkeys([*ours, *theirs]):
        known = ours.get(name) or theirs[name]
        still = np.zeros(len(known.values))
        a, b = (_moves(side[name]) if name in side else still for side in (ours, theirs))
        n = max(1.0, float(known.units))
        products += (n - 1) / n * np.array([a @ b, a @ a, b @ b])
    both = float(np.sqrt(products[1] * products[2]))
    return float(np.clip(products[0] / both, 0, 1)) if both > 0 else 0.0


def _moves(left: LeftOut) -> Floats:
    """The effect of each unit on a figure, 0 where it is not known; of all units that a label
    represents together.
    """
    of = np.zeros(len(left.values), np.int64) if left.strata is None else left.strata
    copies = np.ones(len(of)) if left.copies is None else left.copies
    fine = np.isfinite(left.values)
    seen, weighed = np.where(fine, left.values, 0.0), np.where(fine, copies, 0.0)
    means = np.bincount(of, weighed * seen) / np.maximum(np.bincount(of, weighed), 1e-300)
    return np.where(fine, (seen - means[of]) * np.sqrt(copies), 0.0)


def to_scale(scale: str, values: Floats) -> Floats:
    """Values on a scale; infinite or NaN outside its range."""
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


def from_scale(scale: str, value: float) -> float:
    """The figure at a point of a scale."""
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
    blended: bool = True,
) -> tuple[float, float] | None:
    """Ends of the interval of a smooth figure; None where the scale has no place for a value.

    `optimistic`: whether the figure is the best of many on these data; `total`: whether it is a
    sum, whose values without a unit are scaled by n / (n - 1) already, with squares about their
    mean; `blended`: whether percentiles count where data are ample.
    """
    from scipy.special import stdtrit

    sign = sign_of(scale, direction)

    def g(values: Floats) -> Floats:
        return sign * to_scale(scale, values)

    found = spread(left, point, g, about_mean=total)
    if found is None:
        return None
    at = float(g(np.array([point]))[0])
    reach = float(stdtrit(found.nu, (1 + level) / 2)) * found.se
    low = at - reach - (found.worst * found.fall if scale == "identity" else 0.0)
    high = at + reach + found.worst * found.rise
    share = min(1.0, AMPLE / found.nu)
    if blended and share < 1:
        near, far = interval(g(replicates), level)
        if np.isfinite([near, far]).all():
            low, high = (share * e + (1 - share) * p for e, p in ((low, near), (high, far)))
    if optimistic:
        high -= min(0.0, bias_of(g(replicates), at))
    if high - low <= ROUNDING * max(1.0, abs(at)):  # nothing varies: exp(log(v)) may miss v
        return point, point
    ends = sorted(from_scale(scale, sign * end) + 0.0 for end in (low, high))  # 0, and never -0
    return ends[0], ends[1]


def bias_of(replicates: Floats, point: float) -> float:
    """Mean of the defined replicates less the point; 0 when there is none."""
    fine = replicates[np.isfinite(replicates)]
    return float(fine.mean()) - point if len(fine) else 0.0


def excess_limits(
    point: float,
    left: Sequence[LeftOut],
    replicates: Floats,
    level: float,
    direction: str,
    chance: float = 0.0,
) -> tuple[float, float] | None:
    """Ends of a figure that is 0 at best and too large by chance (a loss, the best of many).

    On the identity scale. The lower end is also corrected for the bias that there is where the
    truth is 0: the bias of the replicates, divided by the share of it that they show then; or at
    least `chance`, which counts in full for figures up to twice itself, and not at all from three
    times itself on. Replicates lie too high by more than the figure does, so that their percentiles
    are not used.
    """
    found = smooth_limits(point, left, replicates, level, "identity", direction, blended=False)
    if found is None:
        return None
    fading = min(1.0, max(0.0, 3 - point / chance)) if chance > 0 else 0.0
    bias = max(chance * fading, bias_of(replicates, point) / SEEN)
    return min(found[0] - bias, point), found[1]
