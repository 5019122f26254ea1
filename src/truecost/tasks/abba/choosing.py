"""From ratios over a grid of thresholds to the chosen one: rows, and the plane that is stored.

The interval of the ratio that a rule makes best is too narrow unless the choice is part of what is
resampled (it covered .78 in place of .95 when frozen): each replicate chooses its own. The ratio
that the rule limits is another matter: every replicate that chooses keeps to the limit, so its
interval would end there whatever is true (it held the true rFPR in 40% of 300 deployments). It is
that of the threshold that the data chose, in every replicate.

On a labelled test set A stands at its deployed threshold and B at each of a grid (`compared`): at
equal false-positive rate (rRecall where rFPR <= 1) or equal recall (Petegrosso et al. 2022, 3.2.2,
Table 4). A set that older models collected lacks what B alone accepts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.core.application import Application
from truecost.core.estimates import Context, Setting
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.flags import raised
from truecost.core.intervals.smooth import finite
from truecost.core.measure import Values
from truecost.core.replication import by_block
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import InputError, UsageError, named
from truecost.formats import Table
from truecost.formats.table import filled
from truecost.names import ChosenBy
from truecost.tasks.abba.counting import OTHER
from truecost.tasks.abba.describing import Chosen, Plane, Rule, improving
from truecost.tasks.abba.options import RATIOS
from truecost.tasks.abba.records import LABEL_WORDS, Array, Deployment, Floats, LogRows
from truecost.tasks.abba.scoring import OPEN, by_delta, placed
from truecost.tasks.measures import find

if TYPE_CHECKING:
    from truecost.tasks.abba.thresholds import Choice


Ends = tuple[float, float]
FEW_CHOOSE = "no interval: fewer than half of the replicates have such a threshold"


@dataclass(frozen=True, eq=False)
class Curve:
    """One ratio over a grid of thresholds, (thresholds,) or (replicates, thresholds).

    The ends of intervals are those of the replicates below and above: as drawn, unless cells have
    few labels.
    """

    point: Array
    drawn: Array
    below: Array
    above: Array
    widened: npt.NDArray[np.bool_]  # where cells have few labels
    small: npt.NDArray[np.bool_]  # where they have few items of the label
    broken: npt.NDArray[np.bool_]  # where too many replicates are undefined or infinite
    rescue: Callable[[int], Ends] | None = None  # from the place to the ends of the delta method
    union: bool = False  # whether these are never narrower than those of the replicates

    @staticmethod
    def plain(point: Array, drawn: Array) -> "Curve":
        """A ratio whose replicates tell its intervals."""
        nowhere = np.zeros(len(point), bool)
        return Curve(point, drawn, drawn, drawn, nowhere, nowhere, nowhere)

    def ends(self, tails: Ends) -> tuple[Floats, Floats]:
        """Pointwise ends of the interval at each threshold, NaN where it is undefined.

        Tails are the shares of the replicates below them.
        """
        lower, upper = _quantile(self.below, tails[0]), _quantile(self.above, tails[1])
        for k in np.flatnonzero(self.small | self.broken):
            lower[k], upper[k] = self.rescued(int(k), (lower[k], upper[k]), union=self.union)
        return lower, upper

    def rescued(self, k: int, ends: Ends, *, union: bool) -> Ends:
        """The ends of the delta method where the replicates cannot be trusted."""
        weak = self.small[k] or self.broken[k]
        if not weak or self.rescue is None or not np.isfinite(self.point[k]):
            return ends
        lower, upper = self.rescue(k)
        if union:
            lower, upper = np.fmin(lower, ends[0]), np.fmax(upper, ends[1])
        return float(np.fmin(lower, self.point[k])), float(np.fmax(upper, self.point[k]))


def setting_of(scoring: Scoring, plan: Plan, context: Context, evidence: Evidence) -> Setting:
    """The facts that rows of chosen thresholds share."""
    return Setting(plan, scoring.level, "percentile", scoring.icc, context, Application(), evidence)


def _quantile(values: Array, tail: float) -> Floats:
    """Quantile of each column that most replicates define; NaN for the others."""
    known = np.isfinite(values)
    enough = known.mean(axis=0) > 0.5
    found = np.full(values.shape[1], np.nan)
    if enough.any():
        some = np.where(known, values, np.nan)[:, enough]
        found[enough] = np.nanquantile(some, tail, axis=0)
    return found


@dataclass(frozen=True, eq=False)
class Choosing:
    """The choice of thresholds from curves over a grid, as rows and a plane."""

    grid: Floats  # (thresholds,)
    rules: tuple[Rule, ...]
    by: ChosenBy
    curves: Mapping[str, Curve]  # `rrecall` and `rfpr`
    setting: Setting  # what rows share
    flags: tuple[str, ...] = ()  # of every row

    @property
    def tails(self) -> Ends:
        """Shares of the replicates below the ends of an interval."""
        return (1 - self.setting.level) / 2, (1 + self.setting.level) / 2

    @cached_property
    def bounds(self) -> dict[str, tuple[Floats, Floats]]:
        """Pointwise ends of each ratio at each threshold."""
        return {name: curve.ends(self.tails) for name, curve in self.curves.items()}

    @cached_property
    def chosen(self) -> dict[str, tuple[int, Array]]:
        """Index of the threshold of each rule at the point, and in each replicate; -1 for none."""
        return {str(rule): self._places(rule) for rule in self.rules}

    def _places(self, rule: Rule) -> tuple[int, Array]:
        recall, fpr = (self.curves[name] for name in ("rrecall", "rfpr"))
        if self.by == "point":
            at = rule.chosen(recall.point, fpr.point)
            return int(at), rule.chosen(recall.drawn, fpr.drawn)
        limited = self.curves[rule.limits]
        bound = self.bounds[rule.limits][rule.limits == "rfpr"]
        at = rule.bounded(recall.point, fpr.point, bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The bound keeps its distance from the value, as a factor; where there is no value to
            # be multiplied, the bound itself stays.
            moved = np.where(limited.point > 0, limited.drawn * (bound / limited.point), bound)
        return int(at), rule.bounded(recall.drawn, fpr.drawn, moved)

    def rows(self) -> list[Estimate]:
        """`rrecall` and `rfpr` at the threshold of each rule."""
        return [self._row(rule, name) for rule in self.rules for name in self.curves]

    def _row(self, rule: Rule, name: str) -> Estimate:
        at, places = self.chosen[str(rule)]
        curve = self.curves[name]
        if rule.limits == name:
            places = np.full_like(places, at)

        def taken(replicates: Array) -> Floats:
            values = replicates[np.arange(len(places)), places]
            return np.where(places < 0, np.nan, values)

        drawn = Values(taken(curve.drawn), np.ones(len(places)), {})
        value = curve.point[at] if at >= 0 else np.nan
        by, undefined = ",by=upper" if self.by == "upper" else "", self._nothing(rule)
        measure = replace(find(name, "abba"), parameter=f"{rule}{by}", undefined=undefined)
        row = self.setting.row(measure, Values(np.array([value]), np.ones(1), {}), drawn, ())
        if at < 0:
            return row
        sides = zip((curve.below, curve.above), self.tails, strict=True)
        lower, upper = (_quantile(taken(side)[:, None], tail)[0] for side, tail in sides)
        # A choice that every replicate repeats varies more than the delta method knows.
        union = curve.union or rule.limits != name
        ends = curve.rescued(at, (lower, upper), union=union)
        return self._finished(row, rule, at, curve, ends)

    def _nothing(self, rule: Rule) -> str:
        """The reason why no threshold is chosen."""
        kept = self.curves[rule.limits].point
        keeps = kept <= rule.limit if rule.limits == "rfpr" else kept >= rule.limit
        if not keeps.any():
            return f"no threshold of the grid meets {rule}"
        [other] = [name for name in self.curves if name != rule.limits]
        return f"{other} is undefined at every threshold that meets {rule}"

    def _finished(self, row: Estimate, rule: Rule, at: int, curve: Curve, ends: Ends) -> Estimate:
        """A row with its interval, its threshold, and where the replicates chose theirs."""
        chosen = self.summary(rule)
        places = {"threshold_lower": chosen.lower, "threshold_upper": chosen.upper}
        known = {name: place for name, place in places.items() if place is not None}
        small = bool(curve.small[at])
        reason = None
        if not np.isfinite(ends).all():
            reason = OPEN if np.isfinite(ends[0]) else FEW_CHOOSE
        more = raised(few_labels=bool(curve.widened[at]))
        row = structs.replace(
            row,
            threshold=chosen.threshold,
            counts={**row.counts, **known},
            flags=(*row.flags, *self.flags, *more),
        )
        return by_delta(row, ends, reason, small=small, broken=bool(curve.broken[at]) and not small)

    def summary(self, rule: Rule) -> Chosen:
        """The threshold that a rule chose, and those of the replicates."""
        at, drawn = self.chosen[str(rule)]
        some = drawn[drawn >= 0]
        ends: list[float | None] = [None, None]
        if len(some):
            ends = np.quantile(self.grid[some], self.tails, method="nearest").tolist()
        highest = rule.limits == "rfpr"
        limited = self.curves[rule.limits].point
        if self.by == "upper":
            limited = self.bounds[rule.limits][highest]
        # The lowest threshold accepts falsely the most, the highest recalls the least.
        kept = limited[0] <= rule.limit if highest else limited[-1] >= rule.limit
        return Chosen(
            rule=str(rule),
            threshold=float(self.grid[at]) if at >= 0 else None,
            lower=ends[0],
            upper=ends[1],
            feasible=float((drawn >= 0).mean()),
            binds=not kept,
        )

    def plane(self, deployed: float | None) -> Plane:
        """Both ratios over the grid, as they are stored."""
        dims = self.setting.context.dims
        found: dict[str, Any]
        found = {n: dims.get(n, "") for n in ("system", "estimator", "collection", "subset")}
        for name, curve in self.curves.items():
            lower, upper = self.bounds[name]
            for end, values in (("", curve.point), ("_lower", lower), ("_upper", upper)):
                found[name + end] = tuple(finite(float(v)) for v in values)
        better = self.grid[improving(self.curves["rrecall"].point, self.curves["rfpr"].point)]
        return Plane(
            thresholds=tuple(self.grid.tolist()),
            **found,
            deployed=deployed,
            level=self.setting.level,
            better=() if len(better) == 0 else (float(better.min()), float(better.max())),
            chosen=tuple(map(self.summary, self.rules)),
            by=self.by,
        )


COLUMNS = ("score_a", "score_b", "label")
LABELS = ("0", "1")


@dataclass(frozen=True, eq=False)
class LabelledTrials:
    """Labelled trials with the scores of both models, arrays of shape (N,)."""

    score_a: Floats
    score_b: Floats
    label: npt.NDArray[np.int64]  # 1 or 0; there are trials of both
    units: tuple[Factor, npt.NDArray[np.int32]] | None = None  # of the column `unit`, with codes

    @staticmethod
    def from_table(table: Table) -> "LabelledTrials":
        """The trials of a table with columns `score_a`, `score_b`, `label` and, maybe, `unit`."""
        lacking = [name for name in COLUMNS if name not in table.columns]
        if lacking:
            raise UsageError(
                f"{table.source}: {named('column', lacking, 'are')} missing; a test set has "
                f"score_a, score_b, label and, for dependent trials, unit, by these names: "
                f"{table.listed}"
            )
        rows = LogRows(table)
        label, texts, _ = rows.coded("label", "label", LABEL_WORDS)
        rows.refuse(np.isnan(label), ("label", "are", "not 0 or 1"), values=texts)
        for value in (0, 1):
            if not (label == value).any():
                raise InputError(f"{table.source}: no trial has label {value}: both are needed")
        units, scores = None, []
        if "unit" in table.columns:
            units = Factor.encode("unit", filled(table, "unit", "unit").to_numpy())
        for name in COLUMNS[:2]:
            scores.append(table.numbers(name, name))
            bad = ~np.isfinite(scores[-1])
            rows.refuse(bad, (name, "are", "missing or infinite"), values=scores[-1])
        return LabelledTrials(scores[0], scores[1], label.astype(np.int64), units)

    def evidence(self, threshold_a: float, grid: Floats) -> Evidence:
        """Numbers of trials by label, by what A says and by how many thresholds B's score reaches.

        The grid ascends; the one part is `trials`.
        """
        shape = (len(LABELS), len(OTHER), len(grid) + 1)
        reached = np.searchsorted(grid, self.score_b, side="right")
        cell = np.ravel_multi_index((self.label, self.score_a < threshold_a, reached), shape)
        if self.units is None:  # equal trials are units of one row
            cell, sizes = np.unique(cell, return_counts=True)
            factor = Factor("trial", np.arange(len(cell)), sizes=sizes.astype(np.int64))
            codes = np.arange(len(cell), dtype=np.int32)
        else:
            factor, codes = self.units
        labels = {"label": LABELS, "a": OTHER, "grid": tuple(map(str, range(shape[2])))}
        places = dict(zip(labels, np.unravel_index(cell, shape), strict=True))
        axes = {name: (of, places[name]) for name, of in labels.items()}
        one = np.ones(len(cell), np.int64)
        return Evidence({"trials": Tally.count([(factor, codes)], {"n": one}, axes)})


def ratios(seen: Totals) -> tuple[Array, Array]:
    """Both ratios, rRecall and rFPR, of B at each threshold of the grid over A at its own.

    Shape (replicates, thresholds); NaN where A accepts no trial of the label.
    """
    counts = seen.sums("trials", "n")  # (replicates, label, a, reached)
    a = counts[:, :, 0].sum(axis=-1)
    b = counts.sum(axis=2)[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(a[..., None] > 0, b / a[..., None], np.nan)
    return found[:, 1], found[:, 0]


def compared(
    deployment: Deployment, choice: "Choice", scoring: Scoring, about: Mapping[str, str]
) -> tuple[list[Estimate], Plane]:
    """The ratios of a test set, by the rules by which a threshold is chosen for a deployment.

    Unless thresholds are given, the grid has as many quantiles of the scores of B on the test set.
    The rows are `rrecall` and `rfpr` by rule with the estimator `test_set`.
    """
    table, threshold = choice.test_set, deployment.threshold_a
    assert table is not None
    if threshold is None:
        raise UsageError(
            f"{deployment.name}: with a test set, give the deployed threshold of A (--threshold-a)"
        )
    trials = LabelledTrials.from_table(table)
    grid = thresholds_of(choice.grid, trials.score_b)
    evidence = trials.evidence(threshold, grid)
    plan = Plan(scoring.plan.replicates, scoring.plan.seed)
    positives = int(trials.label.sum())
    context = Context(
        placed(about, "test_set"),
        len(trials.label),
        counts={"positives": positives, "negatives": len(trials.label) - positives},
        signature=f"test-set|threshold-a:{threshold:g}",
        flags=raised(trials_as_units=trials.units is None),
    )
    [point] = by_block(evidence, Weights.ones(evidence.factors), ratios, 1)
    drawn = by_block(evidence, plan.weights(evidence.factors), ratios, scoring.jobs)
    both = zip(RATIOS, point, zip(*drawn, strict=True), strict=True)
    curves = {name: Curve.plain(at[0], np.concatenate(of)) for name, at, of in both}
    setting = setting_of(scoring, plan, context, evidence)
    made = Choosing(grid, choice.rules, choice.by, curves, setting)
    rows = [_explained(row, trials, threshold) for row in made.rows()]
    return rows, made.plane(None)


def thresholds_of(grid: int | tuple[float, ...], scores: Floats) -> Floats:
    """The thresholds given, or quantiles of scores; ascending."""
    if isinstance(grid, tuple):
        return np.unique(np.array(grid, np.float64))
    return np.unique(np.quantile(scores, np.arange(grid) / grid, method="lower"))


def _explained(row: Estimate, trials: LabelledTrials, threshold: float) -> Estimate:
    """A row that is undefined since A accepts no trial of a label says so."""
    accepted = trials.label[trials.score_a >= threshold]
    lacking = [label for label in LABELS if not (accepted == int(label)).any()]
    if row.value is not None or not lacking:
        return row
    why = f"undefined: on the test set A accepts no trial of label {' or '.join(lacking)}"
    return structs.replace(row, reason=f"{why} at its deployed threshold {threshold:g}")
