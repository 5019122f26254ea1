"""Rows of a deployment: every ratio by every estimator that the log allows, with its interval.

Intervals are percentiles of the bootstrap over users. Where they cannot be trusted the delta method
on the logarithm takes over, with half an item of either label added to each cell (to the interval,
never to the value): a cell that an estimator rests on has fewer than `FEW` items of the label, or
more than `MOST_BROKEN` of the replicates are undefined or infinite. Below `ENOUGH` labels in a cell
the corrected interval is that with one labelled item more a cell, whose residual of +1 or -1 widens
it: labels that agree with the machine by chance would make it too narrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.application import Application
from truecost.errors import UsageError, counted, first_five
from truecost.estimates import Context, estimate
from truecost.evidence import Evidence, Totals
from truecost.flags import raised
from truecost.measures import Measure, find, registry
from truecost.measures.relative import ESTIMATORS, READS, ratio
from truecost.results import Estimate
from truecost.tasks.abba.checks import label_mix
from truecost.tasks.abba.counting import evidence_of, plan_of
from truecost.tasks.abba.delta import Linear, log_interval
from truecost.tasks.abba.records import CELLS, FEW, Deployment
from truecost.tasks.scoring import Scoring
from truecost.tasks.subsets import Masks

Array = npt.NDArray[Any]
ENOUGH, MOST_BROKEN = 100, 0.01
DEFAULT_MEASURES = ("rrecall", "rfpr")
LABELS = {"rrecall": 1, "rfpr": 0}  # the label that each ratio is about
WIDENING = np.array([[1.0, -1.0], [-1.0, 1.0]])  # residuals that raise rRecall, by arm and other


def measures_of(asked: Sequence[str]) -> list[Measure]:
    """The measures asked for, or rRecall and rFPR.

    Parameters
    ----------
    asked : sequence of str

    Returns
    -------
    list of Measure

    Raises
    ------
    UsageError
        When a measure is not known or belongs to another task, or names its estimator.
    """
    own = [m.name for m in registry().values() if "collected" in m.parts]
    found = []
    for name in dict.fromkeys(asked or DEFAULT_MEASURES):
        measure = find(name)
        if measure.name not in own:
            raise UsageError(f"measure {name!r} is not for AB/BA: take {', '.join(own)}")
        if measure.name in LABELS and ":" in name:
            raise UsageError(f"{name}: name the estimator with --estimator {name.split(':')[1]}")
        measure.argument()
        found.append(measure)
    return found


def estimators_of(deployment: Deployment, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """The estimators asked for, or all that the log allows, the one to trust first.

    Parameters
    ----------
    deployment : Deployment
    asked : sequence of str

    Returns
    -------
    tuple of str

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
    found: dict[str, str] = {}
    if deployment.machine is None:
        machine = "machine scores for every item (--map machine=COLUMN)"
        found |= {"corrected": machine, "soft": machine}
    if not deployment.labelled.any():
        found |= dict.fromkeys(("corrected", "direct", "pooled", "ab"), "human labels")
    elif deployment.traffic.exposures is None:
        found["ab"] = "the exposure of each arm (--exposure-a, --exposure-b)"
    return found


def score_deployment(
    deployment: Deployment,
    scoring: Scoring,
    masks: Masks | None = None,
    dims: Mapping[str, str] | None = None,
) -> list[Estimate]:
    """Rows of one deployment, as `truecost.score` says: the whole, then each subset."""
    if scoring.method == "bca":
        raise UsageError("bca intervals are not defined for AB/BA: use the percentile method")
    about = {**(dims or {}), "system": deployment.name}
    rows = _score(deployment, scoring, about)
    if masks is None:
        masks = [mask for subset in scoring.subsets for mask in deployment.masks(subset)]
    for name, mask in masks:
        rows += _score(deployment.take(mask), scoring, {**about, "subset": name})
    return rows


def _score(deployment: Deployment, scoring: Scoring, dims: Mapping[str, str]) -> list[Estimate]:
    measures = measures_of(scoring.measures)
    estimators = scoring.estimators
    if "subset" not in dims:
        estimators = estimators_of(deployment, estimators)
        _check_traffic(deployment, measures)
    else:  # its traffic is not known
        lacking = lacking_of(deployment)
        estimators = tuple(e for e in estimators or ESTIMATORS if e not in lacking)
    chosen = [m for measure in measures for m in _by_estimator(measure, estimators)]
    chosen = [m for m in chosen if "traffic" not in m.parts or deployment.traffic.exposures]
    if not chosen:
        return []
    columns = tuple(str(m.parameter) for m in measures if m.name == "rmean")
    plan = plan_of(deployment, scoring.plan)
    wanted = any("machine" in m.parts for m in chosen)
    evidence = evidence_of(deployment, plan, columns, machine=wanted)
    tell, what = scoring.progress, " ".join(dims.values())
    rows = estimate(
        evidence,
        [*chosen, *(w for m in chosen for w in _widened(m, deployment))],
        Application(),
        plan,
        level=scoring.level,
        context=context_of(deployment, dims),
        jobs=scoring.jobs,
        progress=None if tell is None else lambda done, total: tell(what, done, total),
    )
    finish = Finish(deployment, evidence, scoring.level)
    ends = {row.measure: row for row in rows[len(chosen) :]}
    return finish.all(chosen, rows[: len(chosen)], ends)


def _check_traffic(deployment: Deployment, measures: Sequence[Measure]) -> None:
    """Refuse measures of traffic where none is known."""
    for measure in measures:
        if "traffic" in measure.parts and deployment.traffic.exposures is None:
            raise UsageError(
                f"{deployment.name}: {measure.name} needs the exposure of each arm (--exposure-a, "
                f"--exposure-b)"
            )


def _by_estimator(measure: Measure, estimators: Sequence[str]) -> list[Measure]:
    """A ratio by each estimator with the parts that this one reads; other measures as they are."""
    if measure.name not in LABELS:
        return [measure]
    return [replace(measure.at(e), parts=READS[e]) for e in estimators]


def _widened(measure: Measure, deployment: Deployment) -> list[Measure]:
    """The corrected ratio with a residual more in each cell of few labels, both ways."""
    few = few_labels(deployment)
    if measure.parameter != "corrected" or not few.any():
        return []
    label = LABELS[measure.name]
    up = np.where(few, WIDENING, 0.0) * (1 if label else -1)
    # A cell with labels enough has no pseudo-item at all: NaN says so.
    return [
        Measure(
            f"{measure.name}{sign}",
            partial(_leaning, label=label, lean=way * up, cells=few),
            measure.parts,
            *("", measure.direction, measure.source),
            uses=(),
        )
        for sign, way in (("-", -1.0), ("+", 1.0))
    ]


def _leaning(
    totals: Totals, application: Application, label: int, lean: Array, cells: Array
) -> tuple[Array, float]:
    del application
    return ratio(totals.sums, "corrected", label, (lean, cells))[0], 1.0


def few_labels(deployment: Deployment) -> npt.NDArray[np.bool_]:
    """Which cells have fewer than `ENOUGH` human labels, but items without; shape (arm, other)."""
    least = np.minimum(deployment.items_by_cell, ENOUGH)
    return np.asarray(deployment.labels_by_cell < least).reshape(2, 2)


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
        part_signatures={"collected": "weighted" if deployment.inclusion is not None else ""},
    )


@dataclass(frozen=True, eq=False)
class Finish:
    """From the rows of the bootstrap to those that are told.

    Attributes
    ----------
    deployment : Deployment
    evidence : Evidence
    level : float
    """

    deployment: Deployment
    evidence: Evidence
    level: float

    @cached_property
    def linear(self) -> Linear:
        """Sums of the evidence, for the delta method."""
        return Linear.of(self.evidence)

    @cached_property
    def mix_differs(self) -> bool:
        """Whether the label mix of the arms speaks against the pooled estimate."""
        mix = label_mix(self.deployment)
        return mix is not None and mix.differs

    @cached_property
    def seen(self) -> Array:
        """Items by label, arm and other that humans labelled so; shape (2, 2, 2)."""
        d = self.deployment
        known = d.labelled
        cells = 4 * d.label[known].astype(np.int64) + d.cell[known]
        return np.bincount(cells, minlength=8).reshape(2, 2, 2)

    def all(
        self, measures: Sequence[Measure], rows: Sequence[Estimate], ends: Mapping[str, Estimate]
    ) -> list[Estimate]:
        """Every row with its estimator as a dimension, its cells, and the interval to trust."""
        found = [self.row(*pair, ends) for pair in zip(measures, rows, strict=True)]
        best = {r.measure: r for r in reversed(found) if r.dims["estimator"] != "soft"}
        return [_against(r, best.get(r.measure)) for r in found]

    def row(self, measure: Measure, row: Estimate, ends: Mapping[str, Estimate]) -> Estimate:
        """One row: widened, or replaced by the delta method."""
        if measure.name not in LABELS:
            return structs.replace(row, dims=placed(row.dims, "ab"))
        estimator, label = str(measure.parameter), LABELS[measure.name]
        totals = self._totals(estimator, label)
        parameters = {k: v for k, v in row.parameters.items() if k != "variant"}
        counts = {**row.counts, **dict(zip(CELLS, totals.ravel().tolist(), strict=True))}
        row = structs.replace(
            row, dims=placed(row.dims, estimator), parameters=parameters, counts=counts
        )
        mixed = estimator == "pooled" and self.mix_differs
        cut = counts.get("clipped", 0) > 0
        own = raised(uncorrected=estimator == "soft", label_mix=mixed, clipped=cut)
        row = structs.replace(row, flags=(*row.flags, *own))
        if f"{measure.name}+" in ends and estimator == "corrected":
            row = _widest(row, ends[f"{measure.name}-"], ends[f"{measure.name}+"])
        return self._checked(row, estimator, label, totals)

    def _totals(self, estimator: str, label: int) -> Array:
        """Items of the label in each cell as the estimator counts them."""
        from truecost.measures.relative import corrected, human, soft

        def sums(part: str, statistic: str) -> Array:
            return self.linear.sums[part, statistic]

        with np.errstate(divide="ignore", invalid="ignore"):
            if estimator == "corrected":
                return corrected(sums)[1 - label]
            return (soft if estimator == "soft" else human)(sums)[1 - label]

    def _checked(self, row: Estimate, estimator: str, label: int, totals: Array) -> Estimate:
        """A row with the delta interval beside its own, or in its place."""
        small = _smallest(totals if estimator in ("corrected", "soft") else self.seen[label])
        broken = float((~np.isfinite(row.replicates)).mean())
        few = small[estimator] < FEW
        lower, upper = self._delta(estimator, label, adjusted=few or broken > MOST_BROKEN)
        said = {"delta_lower": lower, "delta_upper": upper}
        row = structs.replace(
            row, counts={**row.counts, **{k: v for k, v in said.items() if np.isfinite(v)}}
        )
        if np.isnan(row.point):
            return structs.replace(row, reason=self._why(estimator, label))
        if not few and broken <= MOST_BROKEN:
            return row
        if estimator == "corrected":  # as wide as the labels of the cells make it, too
            lower, upper = np.fmin(lower, row.lower or np.nan), np.fmax(upper, row.upper or np.nan)
        lower, upper = np.fmin(lower, row.point), np.fmax(upper, row.point)
        flags = raised(small_cells=few, broken_replicates=not few)
        flags = (*(f for f in row.flags if f != "no_spread"), *flags)
        if np.isinf(row.point):
            why = f"infinite: no item with label {label} that B collected is accepted by A"
            return structs.replace(
                row, lower=_or_none(lower), upper=None, method="delta", reason=why, flags=flags
            )
        return structs.replace(
            row,
            lower=_or_none(lower),
            upper=_or_none(upper),
            method="delta",
            reason="the delta method is undefined" if np.isnan(lower) else None,
            flags=flags,
        )

    def _delta(self, estimator: str, label: int, *, adjusted: bool) -> tuple[float, float]:
        def function(sums: Any) -> Array:
            return ratio(sums, estimator, label)[0]

        return log_interval(self.linear, function, self.level, adjusted=adjusted)

    def _why(self, estimator: str, label: int) -> str:
        """Why a ratio is undefined, by its cells."""
        d = self.deployment
        found = zip(CELLS, d.items_by_cell, d.labels_by_cell, strict=True)
        bare = [cell for cell, items, labels in found if items and not labels]
        if bare and estimator != "soft":
            cells = counted(len(bare), "cell", "have")
            return f"undefined: {cells} items and no human label ({first_five(bare)})"
        return f"undefined: no item with label {label} is accepted by both models"


def placed(dims: Mapping[str, str], estimator: str) -> dict[str, str]:
    """Dimensions with the estimator, in the order of tables."""
    found = {**dims, "estimator": estimator}
    if "subset" in found:
        found["subset"] = found.pop("subset")
    return found


def _smallest(n: Array) -> dict[str, float]:
    """The least count of one label that each estimator rests on; n by arm and other."""
    ways = {
        "direct": n.min(),
        "pooled": min(n[0, 1], n[1, 1], n[:, 0].sum()),
        "ab": n.sum(axis=1).min(),
    }
    return {**ways, "corrected": ways["direct"], "soft": ways["direct"]}


def _widest(row: Estimate, below: Estimate, above: Estimate) -> Estimate:
    """The interval from the lower end of one and the upper end of another, never narrower."""
    ends = [e for e in (row.lower, below.lower) if e is not None]
    upper = None if row.upper is None or above.upper is None else max(row.upper, above.upper)
    return structs.replace(
        row,
        lower=min(ends, default=None),
        upper=upper,
        flags=(*row.flags, *raised(few_labels=True)),
    )


def _against(row: Estimate, best: Estimate | None) -> Estimate:
    """A row of machine labels, flagged where human labels say that the ratio lies beyond 1."""
    if row.dims["estimator"] != "soft" or best is None or row.value is None or best.value is None:
        return row
    other = (row.value - 1) * (best.value - 1) < 0
    return structs.replace(row, flags=(*row.flags, *raised(other_side=other)))


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
