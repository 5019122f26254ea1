"""The default intervals: each measure by its rule, from evidence, replicates and left-out units."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.intervals.counted import errors_of
from truecost.core.intervals.rates import (
    Errors,
    Limits,
    equal_error_limits,
    rate_at_limits,
    rate_limits,
    ratio_limits,
    summed,
)
from truecost.core.intervals.smooth import (
    bias_of,
    correlation,
    excess_limits,
    forth,
    smooth_limits,
    spread,
)
from truecost.core.jackknife import LeftOut
from truecost.core.measure import Measure, Rate
from truecost.core.results import Kind
from truecost.core.weights import Plan

Floats = npt.NDArray[np.float64]
NO_SAMPLE = "no interval: a peak or a total load is no sample"
AT_AN_END = (
    "no interval: the figure is at the end of its range, or would be without one unit: collect "
    "more units"
)
NEVER_SEEN = 3.7  # -ln .025, and a little: what may be where nothing was counted


@dataclass(frozen=True, eq=False)
class Support:
    """What the interval of a row rests on.

    Attributes
    ----------
    kinds : tuple of Errors
        The rates that the figure is made of; none of a smooth one.
    limits : tuple of Limits
        Of each rate.
    weights : tuple of float
        What each rate weighs, where the figure is their weighted sum.
    drawn : bool
        Whether replicates have a say in the ends.
    nu, carrying, kish : float
        Degrees of freedom, units that carry the spread, and effective units, of a smooth figure.
    effective : float
        Effective units by what each adds to the figure, n_w / (1 + n_w SE^2) with SE on logarithms;
        infinite where that is not asked.
    """

    kinds: tuple[Errors, ...] = ()
    limits: tuple[Limits, ...] = ()
    weights: tuple[float, ...] = ()
    drawn: bool = False
    nu: float = float("nan")
    carrying: float = float("nan")
    kish: float = float("nan")
    effective: float = float("inf")

    @property
    def rates(self) -> tuple[Kind, ...]:
        """The rates as a row stores them."""
        return tuple(
            Kind(
                what=k.what,
                of=k.of,
                errors=k.errors,
                trials=k.trials,
                units=k.kish,
                lower=m.lower,
                upper=m.upper,
            )
            for k, m in zip(self.kinds, self.limits, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Found:
    """Ends of an interval, why one is missing, and what they rest on."""

    lower: float | None
    upper: float | None
    reason: str | None
    support: Support = field(default_factory=Support)


@dataclass(frozen=True, eq=False)
class Auto:
    """What the intervals of one set of evidence share.

    Attributes
    ----------
    seen : Totals
        With weights of one.
    """

    seen: Totals
    application: Application
    plan: Plan
    level: float
    icc: float

    def ends(
        self,
        measure: Measure,
        point: float,
        left: Sequence[LeftOut],
        replicates: Floats,
        naive: float = float("nan"),
    ) -> Found:
        """The ends of the interval of a measure by its rule.

        Parameters
        ----------
        point : float
            Its value; finite.
        left : sequence of LeftOut
            One for each resampled factor.
        replicates : ndarray of float64, shape (replicates,)
        naive : float
            The naive baseline, where there is one.
        """
        rule = measure.interval
        if rule.scale == "none":
            return Found(None, None, NO_SAMPLE)
        lone = next((one.lone for one in left if one.lone), "")
        if lone:
            return Found(None, None, f"no interval: {lone}")
        if rule.counts:
            rates = self._rates(measure)
            if not rates:
                return Found(None, None, "no interval: all decisions cost the same here")
            return self._of_rates(measure, point, rates, replicates, naive)
        if rule.excess:
            ends = excess_limits(point, left, replicates, self.level, measure.direction)
        else:
            ends = smooth_limits(
                point,
                left,
                replicates,
                self.level,
                rule.scale,
                measure.direction,
                optimistic=rule.optimistic,
                total=measure.total,
            )
        support = replace(self._support(left, point, rule.scale), drawn=True)
        if ends is not None:
            least, most = rule.bounds
            lower, upper = np.clip(ends, min(least, point), max(most, point)).tolist()
            return Found(lower, upper, None, support)
        return self._at_an_edge(measure, point, left, support)

    def _rates(self, measure: Measure) -> Sequence[Rate]:
        if measure.interval.rates is None:
            return ()
        arguments = () if measure.parameter is None else (measure.argument(),)
        return measure.interval.rates(self.seen, self.application, *arguments)

    def _support(self, left: Sequence[LeftOut], point: float, scale: str) -> Support:
        found = spread(left, point)
        if found is None:
            return Support(kish=min((one.kish for one in left), default=float("nan")))
        effective = float("inf")
        if scale in ("log", "log1m") and not any(one.ordered for one in left):
            logs = spread(left, point, partial(forth, scale))
            effective = logs.kish / (1 + logs.kish * logs.se**2) if logs else effective
        return Support(nu=found.nu, carrying=found.carrying, kish=found.kish, effective=effective)

    def _at_an_edge(
        self, measure: Measure, point: float, left: Sequence[LeftOut], support: Support
    ) -> Found:
        """Where the scale has no place for the value, or for it without a unit."""
        rates = self._rates(measure)
        if rates:
            return self._of_rates(measure, point, rates, np.zeros(0))
        if measure.total and point == 0:
            n_w = min(one.kish for one in left)
            return Found(0.0, NEVER_SEEN * n_w / max(n_w - 1, 1e-9), None, support)
        return Found(None, None, AT_AN_END, support)

    def _of_rates(
        self,
        measure: Measure,
        point: float,
        rates: Sequence[Rate],
        replicates: Floats,
        naive: float = float("nan"),
    ) -> Found:
        kinds = tuple(errors_of(self.seen, rate, self.plan) for rate in rates)
        found = [rate_limits(kind, self.level, self.icc) for kind in kinds]
        limits = tuple(one for one in found if one is not None)
        if len(limits) < len(kinds):
            return Found(None, None, "no interval: a class has no trials or no units")
        support = Support(
            kinds,
            limits,
            tuple(r.weight for r in rates) if measure.interval.joined == "sum" else (),
            measure.interval.optimistic,
            min(m.nu for m in limits),
            min(m.carrying for m in limits),
            min(k.kish for k in kinds),
        )
        lower, upper = map(float, self._joined(measure, point, rates, kinds, limits))
        if measure.interval.optimistic:  # no threshold need cost more than the naive baseline
            upper -= min(0.0, bias_of(replicates, point))
            upper = min(upper, naive) if naive >= point else upper
        if np.isinf(upper):
            return Found(lower, None, "the upper end is infinite", support)
        return Found(lower, upper, None, support)

    def _joined(
        self,
        measure: Measure,
        point: float,
        rates: Sequence[Rate],
        kinds: Sequence[Errors],
        limits: Sequence[Limits],
    ) -> tuple[float, float]:
        """Ends of what a figure makes of its rates."""
        joined = measure.interval.joined
        if joined in ("equal", "at"):
            lower, upper = self._at_thresholds(measure, rates, limits)
            return min(lower, point), max(upper, point)
        weights = [rate.weight for rate in rates]
        if len(rates) == 1:
            [w], [m] = weights, limits
            ends = sorted((point + w * (end - m.value)) for end in (m.lower, m.upper))
            return ends[0], ends[1]
        if joined == "sum":
            whole = summed(point, weights, kinds, limits)
            return whole.lower, whole.upper
        r = 0.0 if joined == "ratio" else correlation(kinds[0].every, kinds[1].every)
        lower, upper = ratio_limits(limits[0], limits[1], r)
        weight = rates[0].weight / rates[1].weight
        lower, upper = lower * weight, upper * weight
        if joined in ("ratio", "shared"):
            return lower, upper
        shares = sorted(1.0 if np.isinf(o) else o / (1 + o) for o in (lower, upper))
        if measure.direction == "higher":
            shares = [1 - shares[1], 1 - shares[0]]
        return min(shares[0], point), max(shares[1], point)

    def _at_thresholds(
        self,
        measure: Measure,
        rates: Sequence[Rate],
        limits: Sequence[Limits],
    ) -> tuple[float, float]:
        sweep = self.seen.sweep(rates[0].part)
        first, second = (m.effective for m in limits)
        if measure.interval.joined == "equal":
            return equal_error_limits(sweep, first, second, self.level)
        at, of_misses = measure.argument(), rates[0].of == "target"
        return rate_at_limits(sweep, of_misses, first, second, at, self.level)
