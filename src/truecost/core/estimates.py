"""Estimates: a value with its interval, naive baseline, counts and signature.

`estimate` computes measures over the replicates of a plan, and over the data without single units.
By default the interval follows the rule of each measure (`auto`, see `truecost.core.intervals`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, totals
from truecost.core.factors import Factor
from truecost.core.flags import NO_CLASS, raised
from truecost.core.intervals.auto import Auto, FoundInterval, flags_of
from truecost.core.intervals.smooth import ONE_UNIT, ends, finite
from truecost.core.measure import Measure, Values
from truecost.core.replication import Leaving, Progress, replicate
from truecost.core.results import HELD, Estimate
from truecost.core.subsets import Floats, LeftOut
from truecost.core.weights import Plan, Weights
from truecost.errors import UsageError
from truecost.names import ICC, Method
from truecost.version import __version__


@dataclass(frozen=True)
class Context:
    """Facts about the evidence that are stored in each result row.

    Attributes
    ----------
    dims : dict of str to str
        Subject of the rows: `system`, `subset`.
    n_trials, item : int, str
        Number of scored trials, and the singular of their name, such as `trial`.
    counts : dict of str to float
        Counts by name, such as `targets`.
    signature : str
        Settings of reading and scoring, separated by `|`.
    flags : tuple of str
        Warnings (see `Row`); `estimate` adds the warnings of the resampling.
    thresholds : dict of str to float
        Decision threshold for each measure, by name.
    errors : mapping of str to float
        Number of errors by kind: `misses`, `false_alarms`, `""` (all errors), and `costs` (the
        errors of the kind that causes most of the cost). See `Measure.errors`.
    part_counts, part_signatures, part_errors : mapping of str to mapping or str
        Counts, settings and errors of single parts of the evidence, by name of the part. Only rows
        of measures that use a part contain the entries of this part.
    """

    dims: dict[str, str] = field(default_factory=dict)
    n_trials: int = 0
    counts: dict[str, float] = field(default_factory=dict)
    signature: str = ""
    flags: tuple[str, ...] = ()
    thresholds: dict[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    item: str = "trial"
    part_counts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    part_signatures: Mapping[str, str] = field(default_factory=dict)
    part_errors: Mapping[str, float] = field(default_factory=dict)


def estimate(
    evidence: Evidence,
    measures: Sequence[Measure],
    application: Application,
    plan: Plan | None = None,
    *,
    level: float = 0.95,
    method: Method = "auto",
    icc: float = ICC,
    context: Context | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Estimate]:
    """Estimates of measures from evidence, with their confidence intervals.

    The value and the naive baseline are computed with weight 1 for all units. Replicates in which a
    measure is undefined are counted and excluded from its interval. The methods of the interval:

    - `auto`: the rule of the measure (page "Confidence intervals"). For most measures: a t interval
      whose degrees of freedom follow from the effective number of units, widened as if the data
      contained one more unit as bad as the worst. For error rates: the binomial interval of
      effective counts, so that zero errors still give an upper limit above 0.
    - `percentile`: quantiles (1 - level) / 2 and (1 + level) / 2 of the replicates (Ferrer et al.
      2024, section 4.1).
    - `bca`: percentile interval with corrections for bias and skewness (Efron 1987; DiCiccio and
      Efron 1996).

    `auto` and `bca` need a jackknife: they leave out each unit in turn, or each of about 1,000
    groups if there are more than 1,000 units.

    Parameters
    ----------
    evidence : Evidence
        Counts and rankings of the system.
    measures : sequence of Measure
        Measures to compute.
    application : Application
        Costs and priors.
    plan : Plan, optional
        Plan of the resampling. Default: 2,000 multinomial replicates with seed 0.
    level : float
        Level of the intervals, between 0 and 1.
    method : {"auto", "percentile", "bca"}
        Method of the intervals (see the list of methods). `bca` needs a single factor, without
        moving blocks.
    icc : float
        Correlation between the trials of a unit, from 0 to 1, that the method `auto` assumes if the
        data are too few to estimate it.
    context : Context, optional
        Names, counts and warnings from the task, which are stored in the rows.
    jobs : int, optional
        Number of threads; it does not change the result. Default: all cores.
    progress : callable, optional
        Function that is called from time to time with the number of replicates computed so far and
        in total.

    Returns
    -------
    list of Estimate
        One estimate for each measure.

    Raises
    ------
    UsageError
        If the level is not between 0 and 1, the plan names a factor that the data do not have, or
        BCa is not defined for the plan.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> speakers, codes = tc.Factor.encode("speaker", np.arange(40) // 2)
    >>> classes = (("nontarget", "target"), np.arange(40) % 2)
    >>> decisions = (("reject", "accept"), np.arange(40) % 5 == 0)
    >>> axes = {"class": classes, "decision": decisions}
    >>> tally = tc.Tally.count([(speakers, codes)], {"n": np.ones(40, int)}, axes)
    >>> evidence = tc.Evidence({"decisions": tally})
    >>> measures = [tc.find("nec"), tc.find("p_fa")]
    >>> for row in tc.estimate(evidence, measures, tc.preset("equal"), tc.Plan(200, seed=0)):
    ...     print(row, row.naive)
    nec 1.00 [0.71, 1.29] 1.0
    p_fa 20% [6%, 42%] None
    """
    plan, context = plan or Plan(), context or Context()
    if not 0 < level < 1:
        raise UsageError(
            f"level is {level:g}: it must lie between 0 and 1, such as 0.95"
            + (f" (did you mean {level / 100:g}?)" if 1 < level < 100 else "")
        )
    if not 0 <= icc <= 1:
        raise UsageError(f"icc is {icc:g}: it must lie between 0 and 1, such as 0.1")
    factors = evidence.factors
    # The point first, in this thread: it also compiles what the threads will run.
    points = replicate(evidence, measures, application, Weights.ones(factors), 1)
    drawn = replicate(evidence, measures, application, plan.weights(factors), jobs, progress)
    left = Leaving(evidence, application, plan, method, jobs).each(measures)
    setting = Setting(plan, level, method, icc, context, application, evidence)
    return [setting.row(*found) for found in zip(measures, points, drawn, left, strict=True)]


@dataclass(frozen=True)
class Setting:
    """The facts that the rows of one run have in common."""

    plan: Plan
    level: float
    method: Method
    icc: float
    context: Context
    application: Application
    evidence: Evidence

    @property
    def factors(self) -> Mapping[str, Factor]:
        """The factors of the evidence."""
        return self.evidence.factors

    @cached_property
    def auto(self) -> Auto:
        """The maker of `auto` intervals."""
        seen = totals(self.evidence, Weights.ones(self.factors).block())
        return Auto(seen, self.application, self.plan, self.level, self.icc)

    @cached_property
    def resampling(self) -> str:
        """The plan and the units that it draws; replicates can be paired when both are equal."""
        names = [f"{name}:{factor.digest}" for name, factor in self.factors.items()]
        return "|".join([self.plan.describe(self.factors), *names])

    def row(
        self, measure: Measure, point: Values, drawn: Values, left: tuple[LeftOut, ...]
    ) -> Estimate:
        """The estimate of a measure, from its point, replicates and leave-one-out values."""
        value, naive = float(point.values[0]), float(point.naive[0])
        units = {n: f.count for n, f in self.factors.items() if n not in self.plan.hold}
        parameters = _parameters(measure, self.application)
        found = self._ends(measure, value, naive, drawn.values, left)
        lower, upper, reason = found.lower, found.upper, found.reason
        if reason is None and (none := self._no_interval(units, len(drawn.values))):
            lower, upper, reason = None, None, none
        if np.isnan(value) and 0 in (self.context.counts.get(k) for k in ("targets", "nontargets")):
            lacking = "targets" if not self.context.counts["targets"] else "nontargets"
            reason = f"{NO_CLASS}{lacking}"
        undefined = int(np.isnan(drawn.values).sum())
        used = self.method != "auto" or not left or found.support.drawn
        lost = raised(undefined_replicates=undefined > 0 and used)
        # A minimum over thresholds never costs more than that: 1 is the end of its range.
        decides = measure.decides and not measure.minimum_of
        constant = decides and _naive(point) and _naive(drawn)
        made = Estimate(
            measure=measure.name,
            task=measure.task,
            parameters=parameters,
            dims=self.context.dims,
            point=value,
            value=finite(value),
            lower=lower,
            upper=upper,
            level=self.level,
            method=self.method,
            naive=finite(naive),
            direction=measure.direction,
            factors=tuple(units),
            n_units=min(units.values(), default=0),
            units_by_factor=units if len(units) > 1 else {},
            n_trials=self.context.n_trials,
            item=self.context.item,
            shown_in=_shown_in(measure, self.application),
            counts={**self._counts(measure), **_extras(point, drawn)},
            rates=found.support.rates,
            threshold=self.context.thresholds.get(measure.name),
            n_replicates=len(drawn.values),
            n_undefined=undefined,
            reason=reason,
            flags=(
                *flags_of(measure, units, found.support, left, self, lower is not None),
                *lost,
            ),
            signature=self._signature(measure, parameters),
            replicates=drawn.values,
            left_out=left,
            support=found.support,
            counted=self.evidence.digest(measure.parts),
            icc=self.icc,
            resampling=self.resampling,
        )
        odd = raised(
            no_spread=made.narrow and not (constant or measure.steady), outside=made.outside
        )
        return msgspec.structs.replace(made, flags=(*made.flags, *odd))

    def _ends(
        self, measure: Measure, value: float, naive: float, drawn: Floats, left: tuple[LeftOut, ...]
    ) -> FoundInterval:
        """Ends of the interval by the chosen method, with their basis."""
        if self.method == "auto" and np.isfinite(value) and left:
            return self.auto.ends(measure, value, left, drawn, naive)
        alone = left[0].values if self.method == "bca" and left else None
        return FoundInterval(*ends(drawn, self.level, self.method, value, alone, measure.undefined))

    def _no_interval(self, units: Mapping[str, int], replicates: int) -> str:
        """The reason why there can be no interval; empty when there can."""
        if not units:
            return HELD
        if max(units.values()) < 2:
            return ONE_UNIT
        one = replicates < 2 and self.method != "auto"
        return "no interval: one replicate shows no spread" if one else ""

    def _counts(self, measure: Measure) -> dict[str, float]:
        """The counts of a row: those of the task, and of the parts that the measure reads."""
        own = (self.context.part_counts.get(part, {}) for part in measure.parts)
        return {**self.context.counts, **{k: v for counts in own for k, v in counts.items()}}

    def _signature(self, measure: Measure, parameters: Mapping[str, Any]) -> str:
        said = [
            measure.label,
            *(f"{k}:{_compact(v)}" for k, v in parameters.items() if k != "variant"),
            self.context.signature,
            *dict.fromkeys(self.context.part_signatures.get(part, "") for part in measure.parts),
            self.plan.describe(self.factors),
            f"{self.method}:{self.level:g}",
            f"icc:{self.icc:g}" if self.method == "auto" else "",
            f"truecost:{__version__}",
        ]
        return "|".join(filter(None, said))


def _shown_in(measure: Measure, application: Application) -> str:
    """The unit in which a measure is shown; for amounts of money the name of the currency, where it
    is known.
    """
    if measure.shown_in != "currency":
        return measure.shown_in
    name = application.prices.currency
    return f"currency {name}" if name else ""


def _naive(found: Values) -> bool:
    """Whether the system costs exactly as much as the naive baseline in every replicate: it then
    decides like the baseline, and no data are lacking. A cost of 0 may also mean that no error was
    seen.
    """
    same = np.isclose(found.values, found.naive, rtol=1e-12, atol=0)  # but for rounding
    return bool((same & (found.values != 0)).all())


def _extras(point: Values, drawn: Values) -> dict[str, float]:
    """A measure's further figures: at the point, and on average over replicates."""
    return {
        key: value
        for name, values in point.extras.items()
        if not np.isnan(values[0])
        for key, value in (
            (name, float(values[0])),
            (f"{name}_mean", float(np.mean(drawn.extras[name]))),
        )
    }


def _parameters(measure: Measure, application: Application) -> dict[str, Any]:
    """The parts of the application that enter this measure, and its own parameter."""
    said = application.describe()
    keep = {"preset"} if {"costs", "prior"} & {*measure.uses} else set()
    keep |= {"costs"} if "costs" in measure.uses else set()
    keep |= {"prior", "priors"} if "prior" in measure.uses else set()
    keep |= {"prices"} if "prices" in measure.uses else set()
    chosen = {key: value for key, value in said.items() if key in keep}
    if measure.parameter is not None:
        chosen["variant"] = measure.parameter
    return chosen  # `variant` is named by the label, so signatures leave it out


def _compact(value: Any) -> str:
    """A parameter as text for the signature: without quotes, whole numbers without a point."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{_compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_compact(v) for v in value) + "]"
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
