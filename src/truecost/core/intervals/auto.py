"""The default intervals: the interval of each measure by its rule, from evidence, replicates and
left-out units; and flags about too few units, trials and errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from truecost.core.application import Application
from truecost.core.digits import FEW_ERRORS
from truecost.core.evidence import Totals
from truecost.core.flags import fewest_of, raised
from truecost.core.intervals import rates as binomial
from truecost.core.intervals import smooth
from truecost.core.measure import Measure, Rate
from truecost.core.replication import errors_of
from truecost.core.results import Kind
from truecost.core.subsets import Floats, LeftOut
from truecost.core.weights import Plan

if TYPE_CHECKING:
    from truecost.core.estimates import Setting

NO_SAMPLE = "no interval: a peak or a total load is one measurement, not a sample"
AT_AN_END = (
    "no interval: the value, or the value without one of the units, is undefined or at an end of "
    "its range; collect more units"
)
NEVER_SEEN = 3.7  # -ln .025, and a little: what may be where nothing was counted
FEW_UNITS = 20  # below this a percentile interval covers too little (0.92 at 20, 0.83 at 5 units)
FEW_KISH = 8  # effective units: below this a few of them carry the value (.90 at 10 speakers)
ONE_KISH = 3  # below this one of them does
FEW_LOSSES = 50  # trials of a class, one by one, in a mean of losses


@dataclass(frozen=True, eq=False)
class Support:
    """The basis of a row's interval: its rates (none for a smooth figure), their limits and
    weights.

    `drawn`: whether the ends use replicates. Of a smooth figure, `nu`: degrees of freedom;
    `carrying`: number of units that carry the spread; `kish`: effective number of units.
    `effective`: number of units by the contribution of each to the figure, n_w / (1 + n_w SE^2)
    with SE on logarithms; infinite where it is not computed.
    """

    kinds: tuple[binomial.Errors, ...] = ()
    limits: tuple[binomial.Limits, ...] = ()
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
                design=m.design if k.events else None,
            )
            for k, m in zip(self.kinds, self.limits, strict=True)
        )


@dataclass(frozen=True, eq=False)
class FoundInterval:
    """Ends of an interval, the reason for a missing end, and the basis of the interval."""

    lower: float | None
    upper: float | None
    reason: str | None
    support: Support = field(default_factory=Support)


@dataclass(frozen=True, eq=False)
class Auto:
    """Facts that the intervals of one set of evidence have in common; `seen` are totals with
    weights of 1.
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
    ) -> FoundInterval:
        """The ends of the interval of a measure by its rule, from its finite value, one `LeftOut`
        for each resampled factor, and the replicates.
        """
        rule = measure.interval
        if rule.scale == "none":
            return FoundInterval(None, None, NO_SAMPLE)
        lone = next((one.lone for one in left if one.lone), "")
        if lone:
            return FoundInterval(None, None, f"no interval: {lone}")
        if rule.counts:
            rates = self._rates(measure)
            if not rates:
                return FoundInterval(None, None, "no interval: all decisions cost the same here")
            return self._from_rates(measure, point, rates, replicates, naive)
        if rule.excess:
            chance = rule.chance(self.seen, self.application) if rule.chance else 0.0
            ends = smooth.excess_limits(
                point, left, replicates, self.level, measure.direction, chance
            )
        else:
            ends = smooth.smooth_limits(
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
            return FoundInterval(lower, upper, None, support)
        return self._at_an_edge(measure, point, left, support)

    def _rates(self, measure: Measure) -> Sequence[Rate]:
        if measure.interval.rates is None:
            return ()
        arguments = () if measure.parameter is None else (measure.argument(),)
        return measure.interval.rates(self.seen, self.application, *arguments)

    def _support(self, left: Sequence[LeftOut], point: float, scale: str) -> Support:
        found = smooth.spread(left, point)
        if found is None:
            return Support(kish=min((one.kish for one in left), default=float("nan")))
        effective = float("inf")
        if scale in ("log", "log1m") and not any(one.ordered for one in left):
            logs = smooth.spread(left, point, partial(smooth.to_scale, scale))
            effective = logs.kish / (1 + logs.kish * logs.se**2) if logs else effective
        return Support(nu=found.nu, carrying=found.carrying, kish=found.kish, effective=effective)

    def _at_an_edge(
        self, measure: Measure, point: float, left: Sequence[LeftOut], support: Support
    ) -> FoundInterval:
        """The interval where the scale has no place for the value, or for a value without some
        unit.
        """
        rates = self._rates(measure)
        if rates:
            return self._from_rates(measure, point, rates, np.zeros(0))
        if measure.total and point == 0:
            n_w = min(one.kish for one in left)
            return FoundInterval(0.0, NEVER_SEEN * n_w / max(n_w - 1, 1e-9), None, support)
        return FoundInterval(None, None, AT_AN_END, support)

    def _from_rates(
        self,
        measure: Measure,
        point: float,
        rates: Sequence[Rate],
        replicates: Floats,
        naive: float = float("nan"),
    ) -> FoundInterval:
        kinds = tuple(errors_of(self.seen, rate, self.plan) for rate in rates)
        found = [binomial.rate_limits(kind, self.level, self.icc) for kind in kinds]
        limits = tuple(one for one in found if one is not None)
        if len(limits) < len(kinds):
            return FoundInterval(None, None, "no interval: a class has no trials or no units")
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
            upper -= min(0.0, smooth.bias_of(replicates, point))
            upper = min(upper, naive) if naive >= point else upper
        if np.isinf(upper):
            return FoundInterval(lower, None, "the upper end is infinite", support)
        return FoundInterval(lower, upper, None, support)

    def _joined(
        self,
        measure: Measure,
        point: float,
        rates: Sequence[Rate],
        kinds: Sequence[binomial.Errors],
        limits: Sequence[binomial.Limits],
    ) -> tuple[float, float]:
        """Ends of a figure that is computed from rates."""
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
            whole = binomial.summed(point, weights, kinds, limits)
            return whole.lower, whole.upper
        r = 0.0 if joined == "ratio" else smooth.correlation(kinds[0].every, kinds[1].every)
        lower, upper = binomial.ratio_limits(limits[0], limits[1], r)
        weight = rates[0].weight / rates[1].weight
        lower, upper = lower * weight, upper * weight
        if joined in ("ratio", "shared"):
            return lower, upper
        shares = sorted(1.0 if np.isinf(o) else o / (1 + o) for o in (lower, upper))
        if measure.direction == "higher":
            shares = [1 - shares[1], 1 - shares[0]]
        return min(shares[0], point), max(shares[1], point)

    def _at_thresholds(
        self, measure: Measure, rates: Sequence[Rate], limits: Sequence[binomial.Limits]
    ) -> tuple[float, float]:
        sweep, given = (self.seen.sweep(rate.part) for rate in rates)
        first, second = (m.effective for m in limits)
        if measure.interval.joined == "equal":
            return binomial.equal_error_limits(sweep, first, second, self.level)
        at = measure.argument() if rates[1].held is None else rates[1].held
        of_misses = rates[0].of == "target"
        return binomial.rate_at_limits(sweep, given, of_misses, first, second, at, self.level)


def flags_of(
    measure: Measure,
    units: Mapping[str, int],
    support: Support,
    left: Sequence[LeftOut],
    run: "Setting",
    known: bool,
) -> tuple[str, ...]:
    """Flags of the task, then those about too few data, by the effective number of units in each
    class. `units`: number of units of each resampled factor; `known`: whether there is an interval.
    """
    auto, rule = run.method == "auto", measure.interval
    fewest = min(units.values(), default=np.inf)
    held = min((one.kish for one in left), default=np.inf)
    held = min(held, support.effective if auto else np.inf)
    found = raised(
        few_units=fewest < (rule.fewest if auto else FEW_UNITS),
        few_effective_units=held < ONE_KISH or (held < FEW_KISH and held < 0.9 * fewest),
        clustered_errors=any(map(_clustered, support.kinds)),
        rare_losses=auto and rule.rare and _rare(measure, fewest, run),
        in_order=any(one.ordered for one in left),
        few_errors=known and _errors(measure, support, run) < FEW_ERRORS,
    )
    # What is said of crossed percentile intervals is not so of the others.
    given = (f for f in run.context.flags if not (auto and f == "crossed"))
    return (*given, *found)


def _errors(measure: Measure, support: Support, run: "Setting") -> float:
    """Number of errors of the kind with the fewest; each class with a prior counts by itself."""
    if support.rates:
        return min(map(fewest_of, support.rates))
    said = run.context
    kind = measure.errors or ("costs" if "costs" in measure.uses else "")
    seen = said.errors.get(kind, said.errors.get("", FEW_ERRORS))
    own = (said.part_errors.get(part, FEW_ERRORS) for part in measure.parts)
    return min([seen if measure.decides else FEW_ERRORS, *own])


def _rare(measure: Measure, fewest: float, run: "Setting") -> bool:
    """Whether a class has few trials, each of which is a unit."""
    if fewest < 0.9 * run.context.n_trials:
        return False
    held = np.asarray(run.auto.seen.sums(measure.parts[0], "n")[0], np.float64)
    return bool(held[held > 0].min(initial=np.inf) <= FEW_LOSSES)


def _clustered(kind: binomial.Errors) -> bool:
    """Whether few units hold several trials each."""
    held = kind.errors if kind.events else kind.effective
    return kind.kish < FEW_UNITS and held > 1.5 * kind.kish
