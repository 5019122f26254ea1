"""The basis of intervals: totals of every replicate, block by block, in threads; errors and trials
by unit; each measure without single units.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.factors import Factor
from truecost.core.intervals.rates import Errors
from truecost.core.measure import Measure, Rate, Values
from truecost.core.ranking import Ranking
from truecost.core.subsets import Deferred, Floats, Groups, LeftOut, kish
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import UsageError
from truecost.names import Method

Progress = Callable[[int, int], None]
Found = TypeVar("Found")


def by_block(
    evidence: Evidence,
    weights: Weights,
    run: Callable[[Totals], Found],
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Found]:
    """The results of a function of totals, for each block of replicates in order.

    Computed in `jobs` threads, all cores by default; the result does not depend on their number.
    `progress` gets the number of replicates done and the number of all, after each block.
    """
    workers = jobs or os.cpu_count() or 1
    ranges = [*weights.blocks(evidence.cells)]

    def block(bounds: tuple[int, int]) -> Found:
        return run(totals(evidence, weights.block(*bounds)))

    def gathered(found: Iterable[Found]) -> list[Found]:
        parts = []
        for (_, stop), part in zip(ranges, found, strict=True):
            parts.append(part)
            if progress is not None:
                progress(stop, weights.count)
        return parts

    if workers == 1 or weights.count == 1:
        return gathered(map(block, ranges))
    evidence.prepare()
    with ThreadPoolExecutor(workers) as pool:
        return gathered(pool.map(block, ranges))


def with_ends(
    evidence: Evidence,
    plan: Plan,
    run: Callable[[Totals], Floats],
    level: float,
    jobs: int | None = None,
) -> Floats:
    """The value of a function of totals at the point, and the ends of its percentile interval.

    Values of shape (replicates, ...) give shape (3, ...). Undefined replicates are left out; the
    ends are NaN where all are undefined, or every factor is held.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        (point,) = by_block(evidence, Weights.ones(evidence.factors), run, 1)
        found = np.full((3, *point.shape[1:]), np.nan)
        found[0] = point[0]
        if set(plan.hold) >= set(evidence.factors):
            return found
        values = np.concatenate(by_block(evidence, plan.weights(evidence.factors), run, jobs))
        found[1:] = defined_quantiles(values, ((1 - level) / 2, (1 + level) / 2))
    return found


def defined_quantiles(values: Floats, tails: tuple[float, float]) -> Floats:
    """Two quantiles over the first axis, of the defined (not NaN) values; NaN without any."""
    unknown = np.isnan(values)
    whole, some = ~unknown.any(axis=0), ~unknown.all(axis=0)
    found = np.full((2, *values.shape[1:]), np.nan)
    found[:, whole] = np.quantile(values[:, whole], tails, axis=0)  # nanquantile is 50x slower
    if (few := some & ~whole).any():
        found[:, few] = np.nanquantile(values[:, few], tails, axis=0)
    return found


def replicate(
    evidence: Evidence,
    measures: Sequence[Measure],
    application: Application,
    weights: Weights,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Values]:
    """Values of each measure over all replicates in order; `jobs`, `progress` as in `by_block`."""

    def run(seen: Totals) -> list[Values]:
        return [measure(seen, application) for measure in measures]

    parts = by_block(evidence, weights, run, jobs, progress)
    return [Values.joined([part[m] for part in parts]) for m in range(len(measures))]


def errors_of(seen: Totals, rate: Rate, plan: Plan) -> Errors:
    """Errors and trials of a rate, and the rate without each unit of every factor that the plan
    resamples.
    """
    part = _counts(seen, rate)
    wrong, held, fixed, effective = _tally_errors(part, rate)
    total = np.array([wrong @ part.stood, held @ part.stood]) + fixed.sum(axis=0)
    outer = [f for f in seen.evidence.outer if f.name in part.axes]
    left, sides, every = [], [], []
    for factor in (*part.slots.factors, *outer):
        if factor.name in plan.hold:
            continue
        x, m = (
            _by_unit(part, factor, values, always)
            for values, always in zip((wrong, held), fixed.T, strict=True)
        )
        found = _without(factor, x, m, total, plan.scheme_of(factor.name) == "blocks")
        if found is not None:
            left.append(found[0])
            every.append(found[1])
            each = np.ones(len(m)) if factor.sizes is None else factor.sizes
            sides.append(float(each @ m / total[1]))
    if rate.chances is not None:  # hours are no trials: weights are those of what may be an event
        rate = replace(rate, trials=rate.chances, statistics=("n", "n"))
        _, chances, constant, one_by_one = _tally_errors(part, rate)
        weight = float(chances @ part.stood + constant[:, 1].sum()) / (one_by_one or np.nan)
        effective = float(total[1]) / (weight if weight > 0 else 1.0)
    if np.isnan(effective):
        effective = float(total[1])
    return Errors(
        float(total[0]),
        float(total[1]),
        effective,
        tuple(left),
        tuple(sides),
        rate.what,
        rate.of,
        tuple(every),
        rate.chances is not None,
    )


def _counts(seen: Totals, rate: Rate) -> Tally:
    """The tally that a rate is counted in."""
    part = seen.evidence.parts[rate.part]
    if isinstance(part, Tally):
        return part
    return seen.once(f"{rate.part} decided at {rate.position}", lambda: part.decided(rate.position))


def _tally_errors(part: Tally, rate: Rate) -> tuple[Floats, Floats, Floats, float]:
    """Errors and trials of each entry, those without a unit by cell, Kish's number of trials."""
    columns = [[part.statistics.index(n) for n in names.split("+")] for names in rate.statistics]
    own = [*zip(columns, (rate.errors, rate.trials), strict=True)]
    entries = [part.values[:, c].sum(axis=1) * mask[part.cells] for c, mask in own]
    flat = np.asarray(part.fixed, np.float64).reshape(-1, len(part.statistics))
    fixed = np.stack([flat[:, c].sum(axis=1) * mask for c, mask in own], axis=1)
    effective = float("nan")
    if part.squares is not None or rate.weighted:
        squares = part.squares
        if squares is None:
            squares = np.bincount(part.cells, part.values[:, columns[1]].sum(axis=1), len(flat))
        square = float(squares @ (rate.trials**2 if rate.weighted else rate.trials))
        effective = float(entries[1].sum()) ** 2 / square if square > 0 else 0.0
    return entries[0].astype(np.float64), entries[1].astype(np.float64), fixed, effective


def _by_unit(part: Tally, factor: Factor, values: Floats, fixed: Floats) -> Floats:
    """Sums of entries by unit; units of an outer factor are cells, which also contain `fixed`."""
    if factor.name in (f.name for f in part.slots.factors):
        return part.slots.of_units(factor, values)
    axis = [*part.axes].index(factor.name)
    place = np.unravel_index(part.cells, part.shape)[axis]
    others = tuple(k for k in range(len(part.shape)) if k != axis)
    sums = np.bincount(place, values, len(factor)) + fixed.reshape(part.shape).sum(axis=others)
    return np.asarray(sums, np.float64)


def _without(
    factor: Factor, x: Floats, m: Floats, total: Floats, ordered: bool
) -> tuple[LeftOut, LeftOut] | None:
    """The rate without each unit that has trials, and without each of all units; None where no unit
    has trials.
    """
    copies, strata = None, factor.strata
    if factor.tied is not None:
        x, m = (np.bincount(factor.tied, c, factor.count).astype(np.float64) for c in (x, m))
    if factor.sizes is not None:
        copies = factor.sizes.astype(np.float64)
    gone = np.stack([x, m], axis=1)
    keep = m > 0
    if strata is not None:  # the rest of the stratum of one that is left out weighs n / (n - 1)
        each = np.ones(len(m)) if copies is None else copies
        sizes = np.bincount(strata, each)
        sums = np.stack([np.bincount(strata, each * c) for c in (x, m)], axis=1)
        rest = np.maximum(sizes - 1, 1)[strata][:, None]
        gone = (sizes[strata][:, None] * gone - sums[strata]) / rest
        keep = np.bincount(strata, each * m)[strata] > 0
    if not keep.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (total[0] - gone[:, 0]) / (total[1] - gone[:, 1])
    whole = LeftOut(factor.name, without, factor.count, kish(m, copies), copies, strata, ordered)
    kept = None if copies is None else copies[keep]
    units = int(keep.sum() if kept is None else kept.sum())
    of = None if strata is None else np.unique(strata[keep], return_inverse=True)[1]
    own = LeftOut(factor.name, without[keep], units, kish(m[keep], kept), kept, of, ordered)
    return own, whole


def kish_of(evidence: Evidence, measure: Measure, factor: Factor) -> float:
    """Effective number of units of a factor by the sizes that a measure reads (trials, words,
    seconds), or the number of units where no size is known.
    """
    held = np.ones(len(factor))
    for part, statistic in _sizes(measure, evidence):
        own = _unit_totals(evidence.parts[part], statistic, factor)
        if own is not None and own.any():
            held = own
            break
    if factor.tied is not None:
        held = np.bincount(factor.tied, held, factor.count).astype(np.float64)
    return kish(held, None if factor.sizes is None else factor.sizes.astype(np.float64))


def _unit_totals(part: Tally | Ranking, statistic: str, factor: Factor) -> Floats | None:
    """The size of each unit in a part; None where the part has no such statistic."""
    if isinstance(part, Ranking):
        return part.slots.of_units(factor, part.extra if len(part.extra) else None)
    if statistic not in part.statistics:
        return None
    column = part.values[:, part.statistics.index(statistic)]
    return part.slots.of_units(factor, column.astype(np.float64))


def _sizes(measure: Measure, evidence: Evidence) -> Sequence[tuple[str, str]]:
    """Parts and statistics that may hold the sizes of units, the most suitable first."""
    if measure.interval.size is not None:
        return [measure.interval.size]
    return [(part, "n") for part in measure.parts if part in evidence.parts]


@dataclass(frozen=True, eq=False)
class Leaving:
    """The leave-one-out of units from one set of evidence."""

    evidence: Evidence
    application: Application
    plan: Plan
    method: Method
    jobs: int | None

    def each(self, measures: Sequence[Measure]) -> list[tuple[LeftOut, ...]]:
        """Each measure without units of each resampled factor; nothing for percentiles.

        Ends that are made of counts need no value without a unit: such a value is computed when a
        comparison asks for it.
        """
        if self.method == "percentile":
            return [()] * len(measures)
        if self.method == "bca":
            self._refuse_bca()
        found: list[list[LeftOut]] = [[] for _ in measures]
        for name, factor in self.evidence.factors.items():
            if name in self.plan.hold or factor.count < 1:
                continue
            groups = Groups.deal(factor, self.plan.scheme_of(name) == "blocks")
            for later in (False, True):
                chosen = [k for k, m in enumerate(measures) if later == self._later(m)]
                run = partial(self._without, factor, groups, [measures[k] for k in chosen])
                whole = Deferred(run)
                for at, k in enumerate(chosen):
                    made = Deferred(partial(_nth, whole, at)) if later else whole()[at]
                    held = kish_of(self.evidence, measures[k], factor)
                    found[k].append(LeftOut.from_groups(name, groups, made, held))
        return [tuple(own) for own in found]

    def _later(self, measure: Measure) -> bool:
        return self.method == "auto" and measure.interval.counts

    def _without(self, factor: Factor, groups: Groups, measures: Sequence[Measure]) -> list[Floats]:
        """The values of measures without each group; of totals, scaled to all units."""
        weights = Weights.leave_out(factor, groups, self.evidence.factors)
        found = replicate(self.evidence, measures, self.application, weights, self.jobs)
        scale = np.ones(groups.count)
        if groups.strata is None:  # strata are weighed so already
            scale = groups.units / np.maximum(groups.units - groups.removed, 1)
        pairs = zip(measures, found, strict=True)
        return [seen.values * scale if m.total else seen.values for m, seen in pairs]

    def _refuse_bca(self) -> None:
        """Refuse BCa intervals where there is not just one factor of exchangeable units."""
        names = [name for name in self.evidence.factors if name not in self.plan.hold]
        sides = max(p.slots.codes.shape[1] for p in self.evidence.parts.values())
        instead = "use the method auto or percentile"
        if len(names) != 1 or sides > 1:
            raise UsageError(
                f"bca intervals are not defined for crossed factors ({', '.join(names)}): without "
                f"one unit, units of the other factor lose trials; {instead}"
            )
        factor = self.evidence.factors[names[0]]
        blocks = self.plan.scheme_of(names[0]) == "blocks"
        for what, there in (
            ("moving blocks: units are not exchangeable", blocks),
            ("units in strata", factor.strata is not None),
            ("labels that represent several units each", factor.sizes is not None),
        ):
            if there:
                raise UsageError(f"bca intervals are not defined for {what}; {instead}")


def _nth(whole: Deferred[list[Floats]], at: int) -> Floats:
    return whole()[at]
