"""Rows of a deployment: every ratio by every estimator that the log allows, with its interval.

Intervals are those of the method asked for, or those of the delta method where these cannot be
trusted (`trusting`). By `auto` direct ratios of items that all have a human label are those of two
binomial rates, which can be trusted however few items a cell has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.core.application import Application
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Totals
from truecost.core.flags import raised
from truecost.core.intervals import ends as ends_of
from truecost.core.intervals import finite
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.core.tally import Tally
from truecost.errors import UsageError
from truecost.task import Dims
from truecost.tasks.abba.checks import label_mix
from truecost.tasks.abba.counting import evidence_of, evidence_of_column, plan_of
from truecost.tasks.abba.interval_choice import MOST_BROKEN, Trust, few_labels, leans, not_finite
from truecost.tasks.abba.measures import DIFFERENT_SIGNS, ESTIMATORS, WHOLE, Lean, ratio
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import CELLS, FEW, Deployment
from truecost.tasks.measures import find, registry

Array = npt.NDArray[Any]
DEFAULT_MEASURES = ("rrecall", "rfpr")
LABELS = {"rrecall": 1, "rfpr": 0}  # the label that each ratio is about


def measures_of(asked: Sequence[str]) -> list[Measure]:
    """The measures asked for, or rRecall and rFPR.

    Raises
    ------
    UsageError
        When a measure is not known or belongs to another task, or names its estimator.
    """
    own = [m.name for m in registry("abba").values() if "collected" in m.parts]
    found = []
    for name in dict.fromkeys(asked or DEFAULT_MEASURES):
        measure = find(name, "abba")
        if measure.name not in own:
            raise UsageError(f"measure {name!r} is not for AB/BA: take {', '.join(own)}")
        if measure.name in LABELS and ":" in name:
            raise UsageError(f"{name}: name the estimator with --estimator {name.split(':')[1]}")
        measure.argument()
        found.append(measure)
    return found


def estimators_of(deployment: Deployment, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """The estimators asked for, or all that the log allows, the one to trust first.

    Raises
    ------
    UsageError
        When one is not known, or needs what the log does not have.
    """
    lacking = lacking_of(deployment)
    for name in asked:
        if name not in ESTIMATORS:
            raise UsageError(f"estimator {name!r}: choose among {', '.join(ESTIMATORS)}")
        if name in lacking:
            raise UsageError(f"{deployment.name}: estimator {name} needs {lacking[name]}")
    return tuple(e for e in ESTIMATORS if (e in asked if asked else e not in lacking))


def lacking_of(deployment: Deployment) -> dict[str, str]:
    """What each estimator that cannot be computed would need."""
    found = {}
    for name, estimator in ESTIMATORS.items():
        if estimator.machine and deployment.machine is None:
            found[name] = "machine scores for every item (--map machine=COLUMN)"
        elif estimator.labels and not deployment.labelled.any():
            found[name] = "human labels"
        elif estimator.traffic and deployment.traffic.exposures is None:
            found[name] = "the exposure of each arm (--exposure-a, --exposure-b)"
    return found


def batches(
    deployment: Deployment, scoring: Scoring, dims: Dims, whole: tuple[str, ...] | None
) -> Iterator[Batch]:
    """A batch for each ratio of means of a column, and one for all other ratios."""
    if scoring.method == "bca":
        raise UsageError("bca intervals are not defined for AB/BA: use the percentile method")
    measures = measures_of(scoring.measures)
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
    rest = [place for place, measure in enumerate(chosen) if "columns" not in measure.parts]
    for place, measure in enumerate(chosen):
        if place not in rest:
            evidence = evidence_of_column(deployment, plan, str(measure.parameter))
            asked = [_mean(measure, evidence)]
            yield batch(evidence=evidence, measures=asked, places=[place], finish=_all_of_arms)
    if rest:
        own = [chosen[place] for place in rest]
        evidence = evidence_of(deployment, plan, machine=any("machine" in m.parts for m in own))
        yield batch(
            evidence=evidence,
            measures=[*own, *(w for m in own for w in _widened(m, deployment))],
            places=rest,
            finish=partial(Finish(deployment, evidence, scoring.level).rows, own),
        )


def asked_estimators(deployment: Deployment, scoring: Scoring) -> tuple[str, ...]:
    """The estimators that were asked for, of which a subset takes those that it allows."""
    del deployment
    return scoring.chosen(AbbaScoring).estimators


def _check_parts(deployment: Deployment, measures: Sequence[Measure]) -> None:
    """Refuse measures of what is not known."""
    for measure in measures:
        if "traffic" in measure.parts and deployment.traffic.exposures is None:
            raise UsageError(
                f"{deployment.name}: {measure.name} needs the exposure of each arm (--exposure-a, "
                f"--exposure-b)"
            )
        if "machine" in measure.parts and deployment.machine is None:
            raise UsageError(
                f"{deployment.name}: {measure.name} needs machine scores (--map machine=COLUMN)"
            )


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


def _leaning(
    totals: Totals, application: Application, label: int, lean: Lean
) -> tuple[Array, float]:
    del application
    return ratio(totals.sums, "corrected", label, lean), 1.0


def _mean(measure: Measure, evidence: Evidence) -> Measure:
    """The ratio of means of a column, by the signs that its numbers have."""
    column = evidence.parts["columns"]
    signed = isinstance(column, Tally) and bool((column.values < 0).any())
    return replace(measure, interval=DIFFERENT_SIGNS) if signed else measure


def context_of(deployment: Deployment, dims: Mapping[str, str]) -> Context:
    """What the rows of a deployment say besides their values."""
    labels = int(deployment.labelled.sum())
    counts = {"items_a": int((deployment.arm == 0).sum()), "items_b": int(deployment.arm.sum())}
    alone = not deployment.units and deployment.traffic.units is None
    return Context(
        dict(dims),
        len(deployment),
        counts={**counts, "labels": labels},
        signature=deployment.signature,
        flags=raised(items_as_units=alone),
        item="item",
        part_signatures={"collected": _weighing(deployment)},
    )


def _weighing(deployment: Deployment) -> str:
    """How labels stand for the items that have none, for signatures."""
    if deployment.inclusion is not None:
        return "weighted"
    if deployment.labelled.all() or not deployment.labelled.any():
        return ""
    return f"labels-of:{'cells' if deployment.strata is None else 'strata'}"


@dataclass(frozen=True, eq=False)
class Finish:
    """From the rows of the bootstrap to those that are told."""

    deployment: Deployment
    evidence: Evidence
    level: float

    @cached_property
    def trust(self) -> Trust:
        """Which intervals can be trusted."""
        return Trust(self.deployment, self.evidence, self.level)

    @cached_property
    def mix_differs(self) -> bool:
        """Whether the label mix of the arms speaks against the pooled estimate."""
        mix = label_mix(self.deployment)
        return mix is not None and mix.differs

    def rows(self, measures: Sequence[Measure], found: Sequence[Estimate]) -> list[Estimate]:
        """The rows of some measures, from these and from the leaning ones behind them."""
        ends = {row.measure: row for row in found[len(measures) :]}
        return self.all(measures, found[: len(measures)], ends)

    def all(
        self, measures: Sequence[Measure], rows: Sequence[Estimate], ends: Mapping[str, Estimate]
    ) -> list[Estimate]:
        """Every row with its estimator as a dimension, its cells, and the interval to trust."""
        found = [self.row(*pair, ends) for pair in zip(measures, rows, strict=True)]
        human = {r.measure: r for r in reversed(found) if r.dims["estimator"] != "soft"}
        human |= {r.measure: r for r in found if r.dims["estimator"] == "direct"}
        return [_against(r, human.get(r.measure)) for r in found]

    def row(self, measure: Measure, row: Estimate, ends: Mapping[str, Estimate]) -> Estimate:
        """One row: widened, or replaced by the delta method."""
        if measure.name not in LABELS:
            return _of_arms(row)
        estimator, label = str(measure.parameter), LABELS[measure.name]
        totals = self.trust.totals(estimator, label)
        parameters = {k: v for k, v in row.parameters.items() if k != "variant"}
        counts = {**row.counts, **dict(zip(CELLS, totals.ravel().tolist(), strict=True))}
        row = structs.replace(
            row, dims=placed(row.dims, estimator), parameters=parameters, counts=counts
        )
        mixed = estimator == "pooled" and self.mix_differs
        cut = counts.get("clipped", 0) > 0
        own = raised(uncorrected=estimator == "soft", label_mix=mixed, clipped=cut)
        row = structs.replace(row, flags=(*row.flags, *own))
        broken = not_finite(row.replicates)
        if f"{measure.name}+" in ends and estimator == "corrected":
            sides = [ends[f"{measure.name}{sign}"] for sign in "-+"]
            broken = max(broken, *(not_finite(side.replicates) for side in sides))
            row = _widest(row, *sides)
        binomial = row.method == "auto" and measure.interval.rates is not None
        return self._checked(row, estimator, label, broken, binomial)

    def _checked(
        self, row: Estimate, estimator: str, label: int, broken: float, binomial: bool
    ) -> Estimate:
        """A row with the delta interval beside its own, or in its place.

        Never in the place of that of two binomial rates, which few items make wide by themselves.
        """
        few = self.trust.least(estimator, label) < FEW
        weak = few or broken > MOST_BROKEN
        lower, upper = self.trust.delta(estimator, label, adjusted=weak)
        said = {"delta_lower": lower, "delta_upper": upper}
        row = structs.replace(
            row, counts={**row.counts, **{k: v for k, v in said.items() if np.isfinite(v)}}
        )
        if np.isnan(row.point):
            why = f"undefined: {self.trust.why(estimator, label)}"
            return structs.replace(row, lower=None, upper=None, reason=why)
        if not weak or (binomial and np.isfinite(row.point)):
            return row
        if estimator == "corrected":  # as wide as the labels of the cells make it, too
            lower = np.fmin(lower, _or(row.lower, np.nan))
            upper = np.inf if row.upper is None else np.fmax(upper, row.upper)
        reason = None
        if np.isinf(row.point):
            reason = f"infinite: {self.trust.why(estimator, label)}"
        elif np.isnan(lower) or np.isnan(upper):
            reason = f"the interval is not defined: {self.trust.why(estimator, label)}"
        elif np.isinf(upper):
            reason = "the upper end is infinite: there are too few labels to bound it"
        if np.isfinite(lower) and not np.isnan(upper):
            lower, upper = min(lower, row.point), max(upper, row.point)
        flags = raised(small_cells=few, broken_replicates=not few)
        return structs.replace(
            row,
            lower=finite(float(lower)),
            upper=finite(float(upper)),
            method="delta",
            reason=reason,
            flags=(*(f for f in row.flags if f != "no_spread"), *flags),
        )


def _all_of_arms(rows: Sequence[Estimate]) -> list[Estimate]:
    return [_of_arms(row) for row in rows]


def _of_arms(row: Estimate) -> Estimate:
    """A row of what the arms collected, labels or decisions of the other model aside."""
    reason = "infinite: the figure of arm A is 0" if np.isinf(row.point) else row.reason
    return structs.replace(row, dims=placed(row.dims, "ab"), reason=reason)


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
    if row.dims["estimator"] != "soft" or human is None:
        return row
    if row.value is None or human.value is None:
        return row
    apart = (row.value - 1) * (human.value - 1) < 0
    other = apart and (_leaves_out_1(row) or _leaves_out_1(human))
    return structs.replace(row, flags=(*row.flags, *raised(other_side=other)))


def _leaves_out_1(row: Estimate) -> bool:
    """Whether the interval of a row lies on one side of 1."""
    above = row.lower is not None and row.lower > 1
    return above or (row.upper is not None and row.upper < 1)


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
