"""Spread: what leave-one-out values tell of the standard error of a figure, and how surely.

With g the scale on which a figure is judged, v the figure and lo the n values without one unit:
d = g(lo) - mean, U = -(n - 1) d, SE^2 = (n - 1) / n sum (g(lo) - g(v))^2, and the units that carry
the spread are counted by nu_k = 2 (sum d^2)^2 / (sum d^4 - (sum d^2)^2 / n). Crossed factors add
their SE^2; in strata each d is that from the mean of its stratum; units in order of time may hang
together, which the low frequencies of U show (equal-weighted cosines: Lazarus, Lewis, Stock and
Watson 2018).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.core.jackknife import LeftOut

Floats = npt.NDArray[np.float64]
Scale = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Spread:
    """How far a figure may be off, on its scale.

    Attributes
    ----------
    se : float
        Standard error.
    nu : float
        Degrees of freedom.
    carrying : float
        Units that effectively carry the spread, nu_k / 2; those of the factor that has fewest.
    fall, rise : float
        How far one more unit like the lowest and the highest would move the figure, from 0 up.
    kish : float
        Effective number of units; of the factor that has fewest.
    """

    se: float
    nu: float
    carrying: float
    fall: float
    rise: float
    kish: float

    @property
    def worst(self) -> float:
        """How far the ends move out for a unit like the worst: all of it up to nu = 20."""
        return min(1.0, 20 / self.nu)


def spread(
    left: Sequence[LeftOut], point: float, scale: Scale | None = None, about_mean: bool = False
) -> Spread | None:
    """The spread of a figure from its values without single units.

    Parameters
    ----------
    left : sequence of LeftOut
        One for each resampled factor.
    point : float
        The figure, v.
    scale : callable, optional
        g; the figure itself when left out.
    about_mean : bool
        Whether squares are taken about the mean of g(lo), not about g(v): for sums.

    Returns
    -------
    Spread or None
        None when the figure or a value without a unit is not finite on the scale.
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
    if not np.isfinite(found).all() or left.units < 2:
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
    carrying = carried(d, copies)
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
    """The spread of units in order of time: that of low frequencies, where it is the larger."""
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


def carried(d: Floats, copies: Floats) -> float:
    """How many units carry the spread: nu_k / 2; 0 where nothing differs."""
    second = float((copies * d**2).sum())
    if second == 0:
        return 0.0
    excess = float((copies * d**4).sum()) - second**2 / float(copies.sum())
    return second**2 / excess if excess > 1e-12 * second**2 / float(copies.sum()) else np.inf


def correlation(one: Sequence[LeftOut], other: Sequence[LeftOut]) -> float:
    """Correlation of what single units do to two figures, clipped to 0 and 1.

    Parameters
    ----------
    one, other : sequence of LeftOut
        Factors that only one of them has move only that one.
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
    """What each unit does to a figure, 0 where that is not known; of equal units, all."""
    of = np.zeros(len(left.values), np.int64) if left.strata is None else left.strata
    copies = np.ones(len(of)) if left.copies is None else left.copies
    fine = np.isfinite(left.values)
    seen, weighed = np.where(fine, left.values, 0.0), np.where(fine, copies, 0.0)
    means = np.bincount(of, weighed * seen) / np.maximum(np.bincount(of, weighed), 1e-300)
    return np.where(fine, (seen - means[of]) * np.sqrt(copies), 0.0)
