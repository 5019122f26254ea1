"""Limits of error rates, of what is made of several, and of figures at a threshold chosen on the
same data.

A rate p = errors / trials of one class has the binomial limits of an effective number of trials:

- D = max(1, (k_c D^ + 2 D0) / (k_c + 2)) is the design effect: D^ = SE^2 / (p (1 - p) / N) as found
  by leaving units out, shrunk towards D0 = 1 + icc (N / n_w - 1), that of units whose trials
  correlate by `icc`, as if two units had shown it; k_c units carry errors; n_w is Kish's number of
  units;
- nu = min(n_w - 1, k_c + 1), or n_w - 1 where nothing was seen; of crossed factors by Satterthwaite
  (1946) from the nu and SE^2 of each;
- n_e = max(N / D (z / t_nu)^2, min(n_w, N)); with k = p n_e the ends are the Beta quantiles
  Beta_a/2(k + 1/4, n_e - k + 3/4) and Beta_1-a/2(k + 3/4, n_e - k + 1/4), halfway between those of
  Clopper and Pearson (1934) and of Jeffreys, and never beyond p.

Events in time, such as false alarms in hours of audio, are E events in H hours, and any number of
them may come. They have the exact limits of a Poisson count (Garwood 1936), G_a/2(k) and
G_1-a/2(k + 1), of k = E / D (z / t_nu)^2 events; D^ = SE^2 H^2 / E, and D0 = 1 + icc (E + 1) / n_w,
as if hourly rates of units varied by a squared coefficient of variation of `icc`. Rates of units
are skewed (a television that says the word all day), so the upper end moves out by min(1, 20 / nu)
times what one more unit like the worst would add.

Sums of rates take MOVER (Zou and Donner 2008), ratios and differences MOVER-R (Donner and Zou
2012).

On the arc-sine scale a rate p of n_x effective trials has a_x = asin sqrt((p n_x + 3/8) / (n_x +
3/4)) with the weight w_x = 4 (n_x + 1/2) (Anscombe 1948). Every threshold that the data do not rule
out takes part:

- equal error rates: q = w_m w_f (a_m - a_f)^2 / (w_m + w_f) <= z^2 (or the least q), and there
  (w_m a_m + w_f a_f) / (w_m + w_f) -+ sqrt((z^2 - q) / (w_m + w_f));
- misses at a rate of false alarms: q = w_f (a_f - asin sqrt rate)^2 <= z^2, and a_m -+ sqrt((z^2 -
  q) / w_m); false alarms at a rate of misses likewise.

For the last two, q is 0 at the threshold that keeps the rate. At another one it belongs to the rate
that would have to change for this threshold to be chosen: its own, or that of its neighbour. Tied
scores leave few thresholds: where the signed square roots of q of two neighbours differ by more
than 1, points on the line between both take part in equal error rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.core.intervals.smooth import carrying_units, correlation, of_factor
from truecost.core.subsets import Floats, LeftOut
from truecost.core.sweep import Near, Sweep
from truecost.names import ICC

CARRY = 2.0  # units' worth of belief in D0


@dataclass(frozen=True, eq=False)
class Errors:
    """Weighted counts of errors of one kind (`what`) among the trials of one class (`of`).

    Attributes
    ----------
    effective : float
        Kish's number of trials; equal to `trials` where every trial has the weight 1.
    left : tuple of LeftOut
        Rate without each single unit, over the units that hold such trials; its `kish` counts these
        trials.
    sides : tuple of float
        For each factor, the trials that leaving out its units one after another would remove, over
        all trials: 1, or more where a trial has units of the factor on several sides.
    events : bool
        Whether these are events in time: `trials` are then hours, and `effective` the hours over
        the mean weight of an event.
    every : tuple of LeftOut
        Rate without each single unit, over all units; a unit without such trials leaves the rate
        unchanged. The correlation of the rates of several classes is computed from this.
    """

    errors: float
    trials: float
    effective: float
    left: tuple[LeftOut, ...]
    sides: tuple[float, ...] = ()
    what: str = "error"
    of: str = "trial"
    every: tuple[LeftOut, ...] = ()
    events: bool = False

    @property
    def rate(self) -> float:
        """Errors / trials; NaN without trials."""
        return self.errors / self.trials if self.trials > 0 else float("nan")

    @property
    def kish(self) -> float:
        """Effective number of units, of the factor with the fewest."""
        return min((one.kish for one in self.left), default=0.0)


@dataclass(frozen=True)
class Limits:
    """A figure with the ends of its interval. `effective`: n_e, the trials of a binomial with these
    limits; `nu`: degrees of freedom; `carrying`: k_c, the units that carry the spread; and the
    design effect.
    """

    value: float
    lower: float
    upper: float
    effective: float = float("nan")
    nu: float = float("nan")
    carrying: float = float("nan")
    design: float = 1.0


def rate_limits(found: Errors, level: float, icc: float = ICC) -> Limits | None:
    """Limits of a rate, see the module; None without trials or without two units. `icc`:
    correlation between the trials of a unit that is assumed where the data do not show it.
    """
    from scipy.special import ndtri, stdtrit

    size, p, n_w = found.effective, found.rate, found.kish
    if not found.trials > 0 or not found.left or not size > 0:
        return None
    held, one_by_one = (p * size + 1, 0) if found.events else (size, 1)
    sides = found.sides or (1.0,) * len(found.left)
    assumed = 1 + icc * sum(
        max(0.0, s * held / one.kish - one_by_one) for s, one in zip(sides, found.left, strict=True)
    )
    design, carrying, worst = assumed, 0.0, 0.0
    nu = n_w - 1
    spreads = [of_factor(one, p) for one in found.left]
    known = [one for one in spreads if one is not None]
    ordered = any(one.ordered for one in found.left)
    if p > 0 and (p < 1 or found.events) and len(known) == len(spreads):
        carrying = min(_carrying_units(one, p) for one in found.left)
        alone = p / size if found.events else p * (1 - p) / size
        seen = sum(one.se**2 for one in known) / alone
        few = min(carrying, 1e9)
        design = (few * seen + CARRY * assumed) / (few + CARRY)
        worst = max(one.rise for one in known)
        nu = _joint_freedom(found.left, [one.se**2 for one in known], p)
        if ordered or any(one.strata is not None for one in found.left):
            nu = min(nu, *(one.nu for one in known))
    nu = max(1.0, nu)
    tail = (1 - level) / 2
    shrunk = (ndtri(tail) / stdtrit(nu, tail)) ** 2
    effective = size / max(1.0, design) * shrunk
    if found.events:
        lower, upper = event_ends(p, effective, tail)
        upper += min(1.0, 20 / nu) * worst
    else:
        if not ordered:  # units tell at least one trial each, but for those that hang together
            effective = max(effective, min(n_w, size))
        lower, upper = _share_ends(p, effective, tail)
    return Limits(p, float(lower), float(upper), effective, nu, carrying, max(1.0, design))


def _joint_freedom(left: Sequence[LeftOut], variances: Sequence[float], p: float) -> float:
    """Degrees of freedom of a rate; for crossed factors by Satterthwaite (1946)."""
    own = np.array([min(one.kish - 1, _carrying_units(one, p) + 1) for one in left])
    parts = np.array(variances)
    if len(own) == 1 or not parts.any():
        return float(own.min())
    own = np.maximum(1.0, own)
    return float(parts.sum() ** 2 / (parts**2 / own).sum())


def _share_ends(p: float, effective: float, tail: float) -> tuple[float, float]:
    """Ends of a share of effective trials, halfway between Clopper-Pearson and Jeffreys."""
    from scipy.special import betaincinv

    k = p * effective
    lower = 0.0 if k <= 0 else min(p, float(betaincinv(k + 0.25, effective - k + 0.75, tail)))
    if p >= 1:
        return lower, 1.0
    return lower, max(p, float(betaincinv(k + 0.75, effective - k + 0.25, 1 - tail)))


def event_ends(rate: Any, effective: Any, tail: float) -> tuple[Any, Any]:
    """Ends of a rate of events in effective hours, as of a Poisson count (Garwood 1936)."""
    from scipy.special import gammaincinv

    k = rate * effective
    lower = np.where(k > 0, gammaincinv(np.maximum(k, 1e-300), tail), 0.0) / effective
    return lower, gammaincinv(k + 1, 1 - tail) / effective


def _carrying_units(left: LeftOut, p: float) -> float:
    """Number of units of a factor that carry errors: d is the distance from the rate, in strata
    from their mean.
    """
    fine = np.where(np.isfinite(left.values), left.values, p)
    copies = np.ones(len(fine)) if left.copies is None else left.copies
    if left.strata is None:
        return carrying_units(fine - p, copies)
    means = np.bincount(left.strata, copies * fine) / np.bincount(left.strata, copies)
    return carrying_units(fine - means[left.strata], copies)


def summed(
    value: float, weights: Sequence[float], kinds: Sequence[Errors], limits: Sequence[Limits]
) -> Limits:
    """Limits of a sum of weighted rates (MOVER: Zou and Donner 2008).

    The squared distances of the ends are added, with the ends exchanged for negative weights, plus
    twice the product of each pair times the correlation of their leave-one-out rates, at least 0. A
    part of `value`, the whole figure, that does not vary is added to the sum.
    """
    down, up = arms(weights, limits)
    below, above = sum(a * a for a in down), sum(a * a for a in up)
    for i in range(len(kinds)):
        for j in range(i):
            if weights[i] * weights[j] > 0:
                r = correlation(kinds[i].every, kinds[j].every)
                below += 2 * r * down[i] * down[j]
                above += 2 * r * up[i] * up[j]
    return Limits(
        value,
        value - float(np.sqrt(below)),
        value + float(np.sqrt(above)),
        nu=min((m.nu for m in limits), default=float("nan")),
        carrying=min((m.carrying for m in limits), default=float("nan")),
    )


def arms(weights: Sequence[float], limits: Sequence[Limits]) -> tuple[list[float], list[float]]:
    """Distances of both ends from the value, for each weighted rate; a negative weight exchanges
    the ends.
    """
    pairs = [*zip(weights, limits, strict=True)]
    down = [max(w * (m.value - m.lower), w * (m.value - m.upper)) for w, m in pairs]
    return down, [max(w * (m.lower - m.value), w * (m.upper - m.value)) for w, m in pairs]


def difference_limits(a: Limits, b: Limits, r: float) -> tuple[float, float]:
    """Ends of a - b from those of both and the correlation of the two (MOVER)."""
    value = a.value - b.value
    below = (a.value - a.lower, b.upper - b.value)
    above = (a.upper - a.value, b.value - b.lower)
    return value - _joint_width(*below, r), value + _joint_width(*above, r)


def _joint_width(x: float, y: float, r: float) -> float:
    return float(np.sqrt(max(0.0, x * x + y * y - 2 * r * x * y)))


def ratio_limits(a: Limits, b: Limits, r: float) -> tuple[float, float]:
    """Ends of a / b, both at least 0, from the ends and the correlation of the two.

    On logarithms where all ends are above 0; otherwise by Donner and Zou (2012), whose formula
    allows an end of 0. The upper end is infinite where b may be 0.
    """
    if min(a.value, a.lower, b.value, b.lower) > 0:
        logs = [Limits(*np.log([m.value, m.lower, m.upper]).tolist()) for m in (a, b)]
        lower, upper = difference_limits(logs[0], logs[1], r)
        return float(np.exp(lower)), float(np.exp(upper))
    return _quotient(a, b, r, -1), _quotient(a, b, r, 1)


def _quotient(a: Limits, b: Limits, r: float, side: int) -> float:
    """One end of a / b by Donner and Zou; infinite where there is none."""
    near, far = (a.lower, b.upper) if side < 0 else (a.upper, b.lower)
    cross = a.value * b.value - r * (a.value - near) * (far - b.value)
    divisor = far * (2 * b.value - far)
    product = near * (2 * a.value - near)
    inside = max(0.0, cross**2 - product * divisor)
    if divisor == 0:
        if side > 0:
            return float("inf")
        return product / (2 * cross) if cross > 0 else 0.0
    end = (cross + side * float(np.sqrt(inside))) / divisor
    if side > 0 and divisor < 0:
        return float("inf")
    return max(0.0, end)


def equal_error_limits(
    sweep: Sweep, of_misses: float, of_false_alarms: float, level: float
) -> tuple[float, float]:
    """Ends of the equal error rate, from a sweep with weights of 1 and n_e of both classes at the
    threshold of equal errors.
    """
    w_a, w_b = _weight(of_misses), _weight(of_false_alarms)
    both = w_a + w_b
    scale = np.sqrt(w_a * w_b / both)

    def distance(miss: Floats, fa: Floats) -> Floats:
        return np.asarray(scale * (_arc(miss, of_misses) - _arc(fa, of_false_alarms)))

    near = sweep.near(distance, _z(level))
    miss, fa = _between(near, distance(near.miss, near.fa))
    a, b = _arc(miss, of_misses), _arc(fa, of_false_alarms)
    return _extremes((w_a * a + w_b * b) / both, distance(miss, fa) ** 2, both, level)


def _between(near: Near, distances: Floats) -> tuple[Floats, Floats]:
    """Rates at thresholds, and on the lines between two that are more than a standard error apart:
    tied scores leave few thresholds, and equal errors lie between two of them.
    """
    wide = np.flatnonzero(np.diff(distances) > 1)
    shares = np.linspace(0, 1, 34)[1:-1, None]
    miss, fa = (
        np.append(of, of[wide] + shares * (of[wide + 1] - of[wide])) for of in (near.miss, near.fa)
    )
    return miss, fa


def rate_at_limits(
    sweep: Sweep,
    given: Sweep,
    of_misses: bool,
    of_rates: float,
    of_given: float,
    at: float,
    level: float,
) -> tuple[float, float]:
    """Ends of the rate of one class (misses if `of_misses`) where the rate of the other is `at`,
    from sweeps with weights of 1 and n_e of both at the chosen threshold. The threshold is chosen
    in `given`, all data, where `sweep` is a subset.
    """
    scale, wanted = np.sqrt(_weight(of_given)), np.arcsin(np.sqrt(at))

    def distance(miss: Floats, fa: Floats) -> Floats:
        apart = wanted - _arc(fa, of_given) if of_misses else _arc(miss, of_given) - wanted
        return np.asarray(scale * apart)

    near = given.near(distance, _z(level))
    miss, fa = near.miss, near.fa
    if sweep is not given:
        miss, fa = (of[0] for of in sweep.rates_at(given.thresholds(near.positions)))
    centres = _arc(miss if of_misses else fa, of_rates)
    far = _unlikely(distance(near.miss, near.fa), last=not of_misses)
    return _extremes(centres, far**2, _weight(of_rates), level)


def _unlikely(apart: Floats, *, last: bool) -> Floats:
    """How many standard errors the rates would have to change for each threshold to be chosen: the
    first with a distance of 0 or more, whose neighbour before it has less; or the `last` of 0 or
    less, whose neighbour after it has more.
    """
    if last:
        apart = -apart[::-1]
    far = np.maximum(np.maximum(-apart, np.append(-np.inf, apart[:-1])), 0.0)
    return np.asarray(far[::-1] if last else far)


def threshold_limits(
    sweep: Sweep, of_misses: bool, effective: float, at: float, level: float
) -> tuple[float, float]:
    """Ends of the threshold at which a class (targets if `of_misses`) has the rate `at`: the least
    and the greatest threshold that the data do not rule out; infinite where it rejects everything.
    """
    scale, wanted = np.sqrt(_weight(effective)), np.arcsin(np.sqrt(at))

    def distance(miss: Floats, fa: Floats) -> Floats:
        apart = _arc(miss, effective) - wanted if of_misses else wanted - _arc(fa, effective)
        return np.asarray(scale * apart)

    near = sweep.near(distance, _z(level))
    fine = _unlikely(distance(near.miss, near.fa), last=of_misses) <= _z(level)
    found = sweep.thresholds(near.positions[fine] if fine.any() else near.positions)
    return float(found.min()), float(found.max())


def _arc(rates: Floats, effective: float) -> Floats:
    """Rates on the arc-sine scale."""
    return np.asarray(np.arcsin(np.sqrt((rates * effective + 0.375) / (effective + 0.75))))


def _weight(effective: float) -> float:
    """Weight of a rate on the arc-sine scale."""
    return 4 * (effective + 0.5)


def _z(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _extremes(centres: Floats, q: Floats, weight: float, level: float) -> tuple[float, float]:
    """The widest ends over the thresholds that are not ruled out, as rates."""
    most = _z(level) ** 2
    fine = (q <= most) | (q == q.min())
    reach = np.sqrt(np.maximum(most - q[fine], 0) / weight)
    low, high = float((centres[fine] - reach).min()), float((centres[fine] + reach).max())
    return float(np.sin(max(low, 0.0)) ** 2), float(np.sin(min(high, np.pi / 2)) ** 2)
