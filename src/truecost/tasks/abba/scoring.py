"""Rows of a deployment: every ratio by every estimator that the log allows, with its interval.

Intervals are those of the method asked for, or those of the delta method where these cannot be
trusted (`Trust`). By `auto` direct ratios of items that all have a human label are those
of two binomial rates, which can be trusted however few items a cell has.

The bootstrap knows only what was seen. Where a cell that an estimator rests on has fewer than `FEW`
items of the label, or more than `MOST_BROKEN` of the replicates are undefined or infinite, the
delta method takes over, with half an item of either label added to each cell (to the interval,
never to the value). Below `ENOUGH` labels in a cell the corrected interval is that with one
labelled item more a cell, whose residual of +1 or -1 widens it: labels that agree with the machine
by chance would make it too narrow. Labels that weigh unequally count as fewer: (sum w)^2 / sum w^2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product

import numpy as np
from msgspec import structs

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals
from truecost.core.flags import raised
from truecost.core.intervals.smooth import ends as ends_of
from truecost.core.intervals.smooth import finite
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.core.tally import Tally
from truecost.errors import UsageError, counted, first_five
from truecost.prices import Prices
from truecost.task import Dims
from truecost.tasks.abba import spending
from truecost.tasks.abba.checks import mix_differs
from truecost.tasks.abba.counting import (
    Linear,
    evidence_of,
    evidence_of_column,
    few_labels,
    leans,
    least_count,
    log_interval,
    plan_of,
)
from truecost.tasks.abba.measures import DIFFERENT_SIGNS, ESTIMATORS, WHOLE, Lean, ratio
from truecost.tasks.abba.options import RATIOS, AbbaScoring
from truecost.tasks.abba.records import ARMS, CELLS, FEW, Array, Deployment, context_of
from truecost.tasks.measures import suiting

LABELS = {"rrecall": 1, "rfpr": 0}  # the label that each ratio is about
OPEN = "the upper end is infinite: there are too few labels"
MOST_BROKEN = 0.01  # of the replicates, undefined or infinite
NEEDS = {  # parts of the evidence that a log need not have
    "traffic": "the exposure of each arm (--exposure-a, --exposure-b)",
    "machine": "machine scores (--map machine=COLUMN)",
}


def measures_of(asked: Sequence[str], prices: Prices | None = None) -> list[Measure]:
    """The measures asked for, or rRecall and rFPR, and what all costs where there are prices."""
    names = asked or (*RATIOS, *spending.usual(prices or Prices()))
    found = suiting(names, "abba", "AB/BA", lambda m: "collected" in m.parts)
    for name in names:
        ratio_name, _, estimator = name.partition(":")
        if ratio_name in LABELS and estimator:
            raise UsageError(f"{name}: name the estimator with --estimator {estimator}")
    for measure in found:
        measure.argument()
    return found


def estimators_of(deployment: Deployment, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """The estimators asked for, or all that the log allows, the one to trust first."""
    lacking = lacking_of(deployment)
    for name in asked:
        if name not in ESTIMATORS:
            raise UsageError(f"estimator {name!r}: choose among {', '.join(ESTIMATORS)}")
        if name in lacking:
            raise UsageError(f"{deployment.name}: estimator {name} needs {lacking[name]}")
    return tuple(e for e in ESTIMATORS if (e in asked if asked else e not in lacking))


def lacking_of(deployment: Deployment) -> dict[str, str]:
    """The missing data of each estimator that cannot be computed."""
    d, found = deployment, {}
    for name, estimator in ESTIMATORS.items():
        if estimator.machine and d.machine is None:
            found[name] = "machine scores for every item (--map machine=COLUMN)"
        elif estimator.labels and not d.labelled.any():
            found[name] = "human labels"
        elif "traffic" in estimator.reads and d.traffic.exposures is None:
            found[name] = NEEDS["traffic"]
    return found


def batches(
    deployment: Deployment, scoring: Scoring, dims: Dims, whole: tuple[str, ...] | None
) -> Iterator[Batch]:
    """A batch for each ratio of means of a column, and one for all other ratios."""
    if scoring.method == "bca":
        raise UsageError("bca intervals are not defined for AB/BA: use the percentile method")
    prices = scoring.application.prices
    measures = measures_of(scoring.measures, prices)
    spending.refuse(measures, prices, deployment)
    if whole is None:
        estimators = estimators_of(deployment, scoring.chosen(AbbaScoring).estimators)
        _check_parts(deployment, measures)
    else:  # its traffic is not known
        lacking = lacking_of(deployment)
        estimators = tuple(e for e in whole or ESTIMATORS if e not in lacking)
    chosen = [m for measure in measures for m in _by_estimator(measure, estimators, deployment)]
    chosen = [m for m in chosen if "traffic" not in m.parts or deployment.traffic.exposures]
    plan = plan_of(deployment, scoring.plan)
    batch = partial(Batch, plan=plan, context=context_of(deployment, dims))
    priced = [place for place, measure in enumerate(chosen) if "prices" in measure.uses]
    rest = [place for place, measure in enumerate(chosen) if "columns" not in measure.parts]
    rest = [place for place in rest if place not in priced]
    for place, measure in enumerate(chosen):
        if place not in (*rest, *priced):
            evidence = evidence_of_column(deployment, plan, str(measure.parameter))
            column = evidence.parts["columns"]
            below = isinstance(column, Tally) and bool((column.values < 0).any())
            own = [replace(measure, interval=DIFFERENT_SIGNS) if below else measure]
            yield batch(evidence=evidence, measures=own, places=[place], finish=_collected_rows)
    if priced:
        yield batch(
            evidence=evidence_of(deployment, plan, machine=False, timed=True),
            measures=spending.with_hidden([chosen[place] for place in priced]),
            application=scoring.application,
            places=priced,
            finish=_priced_rows,
        )
    if rest:
        own = [chosen[place] for place in rest]
        evidence = evidence_of(deployment, plan, machine=any("machine" in m.parts for m in own))
        yield batch(
            evidence=evidence,
            measures=[*own, *(w for m in own for w in _widened(m, deployment))],
            places=rest,
            finish=partial(Trust(deployment, evidence, scoring.level).rows, own),
        )


def _priced_rows(rows: Sequence[Estimate]) -> list[Estimate]:
    """Rows of what labels, misses and false accepts cost, by human labels."""
    found = spending.turning(rows)
    return [structs.replace(row, dims=placed(row.dims, "direct")) for row in found]


def _check_parts(deployment: Deployment, measures: Sequence[Measure]) -> None:
    """Refuse measures of what is not known."""
    known = {"traffic": deployment.traffic.exposures, "machine": deployment.machine}
    lacking = [part for part in NEEDS if known[part] is None]
    for measure, part in product(measures, lacking):
        if part in measure.parts:
            raise UsageError(f"{deployment.name}: {measure.name} needs {NEEDS[part]}")


def _by_estimator(
    measure: Measure, estimators: Sequence[str], deployment: Deployment
) -> list[Measure]:
    """A ratio by each estimator with the parts that this one reads; other measures as they are.

    Where every item has a label of weight one, many are ratios of two binomial rates.
    """
    found = [measure]
    if measure.name in LABELS:
        found = [replace(measure.at(e), parts=ESTIMATORS[e].reads) for e in estimators]
    if not deployment.labelled.all() or deployment.inclusion is not None:
        return found
    return [replace(m, interval=WHOLE.get(m.label, m.interval)) for m in found]


def _widened(measure: Measure, deployment: Deployment) -> list[Measure]:
    """The corrected ratio with a residual more in each cell of few labels, both ways."""
    few = few_labels(deployment)
    if measure.parameter != "corrected" or not few.any():
        return []
    label = LABELS[measure.name]
    return [
        Measure(
            f"{measure.name}{sign}",
            partial(_leaning, label=label, lean=lean),
            measure.parts,
            *("", measure.direction, measure.source),
            uses=(),
        )
        for sign, lean in zip("-+", leans(few, label), strict=True)
    ]


def _leaning(totals: Totals, _: Application, label: int, lean: Lean) -> tuple[Array, float]:
    return ratio(totals.sums, "corrected", label, lean), 1.0


@dataclass(frozen=True, eq=False)
class Trust:
    """The estimators that the cells of a deployment allow, and so the rows of the result."""

    deployment: Deployment
    evidence: Evidence  # of it, by arm and other
    level: float  # of the intervals

    @cached_property
    def linear(self) -> Linear:
        """Sums of the evidence, for the delta method."""
        return Linear.from_evidence(self.evidence)

    @cached_property
    def seen(self) -> Array:
        """Items by label, arm and other that humans labelled so; unequal weights count less."""
        d = self.deployment
        cells = 4 * d.label[d.labelled].astype(np.int64) + d.cell[d.labelled]
        share = d.effective_labels / np.maximum(d.labels_by_cell, 1)
        return (np.bincount(cells, minlength=8).reshape(2, 4) * share).reshape(2, 2, 2)

    def totals(self, estimator: str, label: int) -> Array:
        """Items of a label in each cell as an estimator counts them; shape (arm, other)."""
        sums = self.linear.sums
        with np.errstate(divide="ignore", invalid="ignore"):
            return ESTIMATORS[estimator].totals(lambda *key: sums[key], None)[1 - label]

    def least(self, estimator: str, label: int) -> float:
        """The least count of a label that an estimator rests on."""
        machine = ESTIMATORS[estimator].machine
        n = self.totals(estimator, label) if machine else self.seen[label]
        return float(least_count(n, estimator))

    def delta(self, estimator: str, label: int, *, adjusted: bool) -> tuple[float, float]:
        """Ends of the interval of the delta method; NaN where it is not defined."""
        function = partial(ratio, estimator=estimator, label=label)
        return log_interval(self.linear, function, self.level, adjusted=adjusted)

    def why(self, estimator: str, label: int) -> str:
        """The reason why a ratio is undefined or infinite, from its cells."""
        d = self.deployment
        found = zip(CELLS, d.items_by_cell, d.labels_by_cell, strict=True)
        bare = [cell for cell, items, labels in found if items and not labels]
        if bare and ESTIMATORS[estimator].labels:
            cells = counted(len(bare), "cell", "have")
            return f"{cells} items and no human label ({first_five(bare)})"
        n = self.totals(estimator, label)
        if estimator == "pooled":
            for arm, items in zip(ARMS, d.items_by_cell[[0, 2]], strict=True):
                if not items:
                    return f"no item that {arm} collected is accepted by both models"
            return f"A accepts no item with label {label}"
        if not n[0].sum():
            return f"A collected no item with label {label}"
        if estimator == "ab":
            return f"B collected no item with label {label}"
        some = "" if d.labelled.all() or not ESTIMATORS[estimator].labels else "labelled "
        return f"no {some}item with label {label} that B collected is accepted by A"

    def rows(self, measures: Sequence[Measure], given: Sequence[Estimate]) -> list[Estimate]:
        """The rows of some measures, from these and from the leaning ones behind them.

        Each has its estimator as a dimension, its cells, and the interval to trust.
        """
        ends = {row.measure: row for row in given[len(measures) :]}
        found = [self.row(*pair, ends) for pair in zip(measures, given, strict=False)]
        human = {r.measure: r for r in reversed(found) if r.dims["estimator"] != "soft"}
        human |= {r.measure: r for r in found if r.dims["estimator"] == "direct"}
        return [_against(r, human.get(r.measure)) for r in found]

    def row(self, measure: Measure, row: Estimate, ends: Mapping[str, Estimate]) -> Estimate:
        """One row: widened, or replaced by the delta method."""
        if measure.name not in LABELS:
            return _collected_rows([row])[0]
        estimator, label = str(measure.parameter), LABELS[measure.name]
        totals = self.totals(estimator, label)
        parameters = {k: v for k, v in row.parameters.items() if k != "variant"}
        counts = {**row.counts, **dict(zip(CELLS, totals.ravel().tolist(), strict=True))}
        row = structs.replace(
            row, dims=placed(row.dims, estimator), parameters=parameters, counts=counts
        )
        mixed = estimator == "pooled" and mix_differs(self.deployment)
        cut = counts.get("clipped", 0) > 0
        own = raised(uncorrected=estimator == "soft", label_mix=mixed, clipped=cut)
        row = structs.replace(row, flags=(*row.flags, *own))
        sides = [ends[name] for sign in "-+" if (name := f"{measure.name}{sign}") in ends]
        sides = sides if estimator == "corrected" else []
        broken = max(float((~np.isfinite(one.replicates)).mean()) for one in (row, *sides))
        row = _widest(row, *sides) if sides else row
        binomial = row.method == "auto" and measure.interval.rates is not None
        return self._checked(row, estimator, label, broken, binomial)

    def _checked(
        self, row: Estimate, estimator: str, label: int, broken: float, binomial: bool
    ) -> Estimate:
        """A row with the delta interval beside its own, or in its place.

        Never in the place of that of two binomial rates, which few items make wide by themselves.
        """
        few = self.least(estimator, label) < FEW
        weak = few or broken > MOST_BROKEN
        lower, upper = self.delta(estimator, label, adjusted=weak)
        ends = {"delta_lower": lower, "delta_upper": upper}
        known = {name: end for name, end in ends.items() if np.isfinite(end)}
        row = structs.replace(row, counts={**row.counts, **known})
        if np.isnan(row.point):
            why = f"undefined: {self.why(estimator, label)}"
            return structs.replace(row, lower=None, upper=None, reason=why)
        if not weak or (binomial and np.isfinite(row.point)):
            return row
        if estimator == "corrected":  # as wide as the labels of the cells make it, too
            lower = lower if row.lower is None else np.fmin(lower, row.lower)
            upper = np.inf if row.upper is None else np.fmax(upper, row.upper)
        reason = None
        if np.isinf(row.point):
            reason = f"infinite: {self.why(estimator, label)}"
        elif np.isnan(lower) or np.isnan(upper):
            reason = f"the interval is not defined: {self.why(estimator, label)}"
        elif np.isinf(upper):
            reason = OPEN
        if np.isfinite(lower) and not np.isnan(upper):
            lower, upper = min(lower, row.point), max(upper, row.point)
        return by_delta(row, (lower, upper), reason, small=few, broken=not few)


def by_delta(
    row: Estimate, ends: tuple[float, float], reason: str | None, *, small: bool, broken: bool
) -> Estimate:
    """A row with an interval of its own; that of the delta method where the bootstrap's cannot be
    trusted: cells are small, or too many replicates broken.
    """
    weak = small or broken
    flags = raised(small_cells=small, broken_replicates=broken)
    return structs.replace(
        row,
        lower=finite(float(ends[0])),
        upper=finite(float(ends[1])),
        method="delta" if weak else row.method,
        reason=reason,
        flags=(*(f for f in row.flags if not (weak and f == "no_spread")), *flags),
    )


def _collected_rows(rows: Sequence[Estimate]) -> list[Estimate]:
    """Rows of what the arms collected, labels or decisions of the other model aside."""
    endless = "infinite: the figure of arm A is 0"
    return [
        structs.replace(
            row,
            dims=placed(row.dims, "ab"),
            reason=endless if np.isinf(row.point) else row.reason,
        )
        for row in rows
    ]


def placed(dims: Mapping[str, str], estimator: str) -> dict[str, str]:
    """Dimensions with the estimator, in the order of tables."""
    found = {**dims, "estimator": estimator}
    if "subset" in found:
        found["subset"] = found.pop("subset")
    return found


def _widest(row: Estimate, below: Estimate, above: Estimate) -> Estimate:
    """The interval from the lower end of one and the upper end of another, never narrower.

    Where `auto` has no ends for one of them (a ratio of 0 without one user) they are percentiles.
    """
    row, below, above = (_with_ends(one) for one in (row, below, above))
    ends = [e for e in (row.lower, below.lower) if e is not None]
    upper = None if row.upper is None or above.upper is None else max(row.upper, above.upper)
    return structs.replace(
        row,
        lower=min(ends, default=None),
        upper=upper,
        flags=(*row.flags, *raised(few_labels=True)),
    )


def _with_ends(row: Estimate) -> Estimate:
    if row.method != "auto" or row.lower is not None or row.upper is not None:
        return row
    lower, upper, reason = ends_of(row.replicates, row.level, "percentile", row.point)
    return structs.replace(row, lower=lower, upper=upper, reason=reason)


def _against(row: Estimate, human: Estimate | None) -> Estimate:
    """A row of machine labels, flagged where human labels say that the ratio lies beyond 1.

    Not where both intervals hold 1: chance alone puts such ratios on either side of it.
    """
    if row.dims["estimator"] != "soft" or human is None or row.value is None or human.value is None:
        return row
    apart = (row.value - 1) * (human.value - 1) < 0
    sure = any((r.lower or 0) > 1 or (r.upper or np.inf) < 1 for r in (row, human))
    return structs.replace(row, flags=(*row.flags, *raised(other_side=apart and sure)))
