"""Choosing the threshold of the candidate: both ratios over a grid, chosen anew in every replicate.

An interval of the ratio that a rule makes best is too narrow unless the choice is part of what is
resampled (it covered .69 in place of .95 when frozen): each replicate chooses its own. The ratio
that the rule limits is another matter: every replicate that chooses keeps to the limit, so its
interval would end there whatever is true (it held the true rFPR in 40 % of 300 deployments). It is
that of the threshold that the data chose, in every replicate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.application import Application
from truecost.errors import UsageError, first_five
from truecost.estimates import Setting, by_block
from truecost.evidence import Evidence, Totals
from truecost.formats import Table
from truecost.measures import Values, find
from truecost.measures.relative import ratio
from truecost.results import Estimate
from truecost.tasks.abba.counting import OTHER, evidence_of, plan_of
from truecost.tasks.abba.planes import By, Chosen, Plane, Rule, improving
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.scoring import context_of, estimators_of, placed
from truecost.tasks.scoring import Scoring
from truecost.weights import Plan, Weights

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
GRID = 200  # thresholds, unless a grid is given


@dataclass(frozen=True)
class Choice:
    """What is asked of the thresholds.

    Parameters
    ----------
    max_rfpr, min_rrecall : float, optional
        Highest rRecall with rFPR at most this; lowest rFPR with rRecall at least this. The first at
        1 when both are left out.
    by : {"point", "upper"}
        Limits hold for the value, or for the bound of its interval. In a replicate the bound keeps
        the distance, as a factor, that it has from the value in the data.
    grid : int or tuple of float
        Number of quantiles of the scores that B accepts, or the thresholds themselves.
    test_set : Table, optional
        Labelled trials with the scores of both models, for ratios beside those of AB/BA.

    Raises
    ------
    UsageError
        When a limit or the grid makes no sense.
    """

    max_rfpr: float | None = None
    min_rrecall: float | None = None
    by: By = "point"
    grid: int | tuple[float, ...] = GRID
    test_set: Table | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _ = self.rules
        if self.by not in ("point", "upper"):
            raise UsageError(f"--by {self.by!r}: choose point or upper")
        if isinstance(self.grid, int) and not 1 <= self.grid <= 10_000:
            raise UsageError(f"--grid is {self.grid}: give 1 to 10,000 thresholds")
        if isinstance(self.grid, tuple) and not (self.grid and np.isfinite(self.grid).all()):
            raise UsageError("--grid: thresholds must be finite numbers")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that were asked for."""
        found = []
        if self.max_rfpr is not None:
            found.append(Rule("max-rfpr", self.max_rfpr))
        if self.min_rrecall is not None:
            found.append(Rule("min-rrecall", self.min_rrecall))
        return tuple(found) or (Rule("max-rfpr", 1.0),)


def choose(
    deployment: Deployment,
    scoring: Scoring,
    choice: Choice,
    dims: Mapping[str, str] | None = None,
) -> tuple[list[Estimate], list[Plane]]:
    """Both ratios at the threshold that each rule chooses, and over all thresholds.

    Parameters
    ----------
    deployment : Deployment
        With scores of both models.
    scoring : Scoring
        Plan, level, estimators (the one to trust when none is named) and jobs.
    choice : Choice
    dims : mapping of str to str, optional
        What the rows are about besides the deployment.

    Returns
    -------
    rows : list of Estimate
        `rrecall` and `rfpr` by estimator and rule (`parameters["variant"]`), with the threshold.
    planes : list of Plane

    Raises
    ------
    UsageError
        When there are no scores, or a threshold lies below the deployed one.
    """
    about = {**(dims or {}), "system": deployment.name}
    grid = grid_of(deployment, choice)
    plan = plan_of(deployment, scoring.plan)
    estimators = estimators_of(deployment, scoring.estimators)
    estimators = estimators if scoring.estimators else estimators[:1]
    evidence = _evidence(deployment, plan, grid, machine={"soft", "corrected"} & {*estimators})

    def run(seen: Totals) -> list[tuple[Array, Array]]:
        sums = _Grid(seen)
        return [(ratio(sums, e, 1)[0], ratio(sums, e, 0)[0]) for e in estimators]

    rows, planes = [], []
    found = _replicated(evidence, plan, scoring, run, " ".join(about.values()))
    for estimator, curves in zip(estimators, found, strict=True):
        setting = Setting(
            plan,
            scoring.level,
            "percentile",
            context_of(deployment, placed(about, estimator)),
            Application(),
            evidence.factors,
        )
        made = Choosing(grid, choice, curves, setting)
        rows += made.rows()
        planes.append(made.plane(deployment.threshold_b))
    if choice.test_set is not None:
        from truecost.tasks.abba.test_sets import compared

        more, plane = compared(deployment, choice, scoring, about)
        rows, planes = [*rows, *more], [*planes, plane]
    return rows, planes


def grid_of(deployment: Deployment, choice: Choice) -> Floats:
    """The candidate thresholds, ascending, the deployed one first when they are quantiles.

    Parameters
    ----------
    deployment : Deployment
    choice : Choice

    Returns
    -------
    ndarray of float64, shape (thresholds,)

    Raises
    ------
    UsageError
        When there are no scores, or a threshold lies below the deployed one.
    """
    scores, lowest = deployment.score_b, deployment.threshold_b
    if scores is None or lowest is None:
        raise UsageError(
            f"{deployment.name}: thresholds need the scores of both models, not their decisions: "
            f"--map score_a=COLUMN,score_b=COLUMN"
        )
    if isinstance(choice.grid, tuple):
        grid = np.unique(np.array(choice.grid, np.float64))
        below = grid[grid < lowest]
        if len(below):
            raise UsageError(
                f"{deployment.name}: thresholds below the deployed {lowest:g} are not identified: "
                f"{first_five(f'{t:g}' for t in below)}. What B would accept there was never "
                f"collected; deploy B with a lower threshold to learn it"
            )
        return grid
    kept = scores[scores >= lowest]
    quantiles = np.quantile(kept, np.arange(choice.grid) / choice.grid, method="lower")
    return np.unique(np.concatenate([[lowest], quantiles]))


def _evidence(deployment: Deployment, plan: Plan, grid: Floats, machine: set[str]) -> Evidence:
    """Totals by arm, by what A says, and by how many thresholds of the grid B's score reaches."""
    assert deployment.score_b is not None
    a_rejects = (deployment.arm == 1) & ~deployment.other
    reached = np.searchsorted(grid, deployment.score_b, side="right")
    labels = tuple(map(str, range(len(grid) + 1)))
    return evidence_of(
        deployment,
        plan,
        accepts={"a": (OTHER, a_rejects.astype(np.int64)), "grid": (labels, reached)},
        machine=bool(machine),
    )


@dataclass(frozen=True, eq=False)
class _Grid:
    """Sums by cell at every threshold of the grid, as `ratio` takes them."""

    totals: Totals

    def __call__(self, part: str, statistic: str) -> Array:
        sums = self.totals.sums(part, statistic)
        if part == "traffic":
            return sums[:, None, :]
        reached = sums[..., ::-1].cumsum(axis=-1)[..., ::-1]  # at or above each threshold
        every, above = reached[..., :1], reached[..., 1:]
        cells = np.empty((*above.shape[:1], above.shape[-1], 2, 2), above.dtype)
        cells[..., 0, 0] = above[:, 0, 0]
        cells[..., 0, 1] = every[:, 0, 0] - above[:, 0, 0]
        cells[..., 1, 0] = above[:, 1, 0]
        cells[..., 1, 1] = above[:, 1, 1]
        return cells


@dataclass(frozen=True, eq=False)
class Curves:
    """Both ratios over the grid: at the point (thresholds,), in replicates (replicates, ...)."""

    rrecall: Array
    rfpr: Array
    rrecall_drawn: Array
    rfpr_drawn: Array


def _replicated(
    evidence: Evidence, plan: Plan, scoring: Scoring, run: Any, what: str
) -> list[Curves]:
    """Curves of each estimator."""
    tell = scoring.progress
    told = None if tell is None else lambda done, total: tell(what, done, total)
    [point] = by_block(evidence, Weights.ones(evidence.factors), run, 1)
    drawn = by_block(evidence, plan.weights(evidence.factors), run, scoring.jobs, told)
    return [
        Curves(
            point[k][0][0],
            point[k][1][0],
            np.concatenate([block[k][0] for block in drawn]),
            np.concatenate([block[k][1] for block in drawn]),
        )
        for k in range(len(point))
    ]


@dataclass(frozen=True, eq=False)
class Choosing:
    """From curves over a grid to rows and a plane.

    Attributes
    ----------
    grid : ndarray, shape (thresholds,)
    choice : Choice
    curves : Curves
    setting : Setting
    """

    grid: Floats
    choice: Choice
    curves: Curves
    setting: Setting

    def bounds(self, drawn: Array) -> tuple[Array, Array]:
        """Pointwise ends of the interval at each threshold, NaN where it is undefined."""
        tails = (1 - self.setting.level) / 2, (1 + self.setting.level) / 2
        values = np.where(np.isfinite(drawn), drawn, np.nan)
        # A threshold that hardly any replicate defines has no interval.
        enough = np.isfinite(drawn).mean(axis=0) > 0.5
        ends = np.full((2, drawn.shape[1]), np.nan)
        if enough.any():
            ends[:, enough] = np.nanquantile(values[:, enough], tails, axis=0)
        return ends[0], ends[1]

    def places(self, rule: Rule) -> tuple[int, Array]:
        """Place of the threshold that a rule chooses, at the point and in each replicate."""
        c = self.curves
        if self.choice.by == "point":
            at = rule.chosen(c.rrecall, c.rfpr)
            return int(at), rule.chosen(c.rrecall_drawn, c.rfpr_drawn)
        up = rule.name == "max-rfpr"
        seen, drawn = (c.rfpr, c.rfpr_drawn) if up else (c.rrecall, c.rrecall_drawn)
        # A ratio of 0 has no distance from its bound: NaN, which no rule chooses.
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = self.bounds(drawn)[1 if up else 0] / seen
            bound, bounds = seen * factor, drawn * factor
        at = _bounded(rule, c.rrecall, c.rfpr, bound)
        return int(at), _bounded(rule, c.rrecall_drawn, c.rfpr_drawn, bounds)

    def rows(self) -> list[Estimate]:
        """`rrecall` and `rfpr` at the threshold of each rule."""
        found = []
        for rule in self.choice.rules:
            at, drawn = self.places(rule)
            c = self.curves
            for name, point, every in (
                ("rrecall", c.rrecall, c.rrecall_drawn),
                ("rfpr", c.rfpr, c.rfpr_drawn),
            ):
                places = np.full_like(drawn, at) if rule.limits == name else drawn
                row = self._row(rule, name, at, places, point, every)
                found.append(self._with_threshold(row, rule, at, drawn))
        return found

    def _row(
        self, rule: Rule, name: str, at: int, drawn: Array, point: Array, every: Array
    ) -> Estimate:
        value = point[at] if at >= 0 else np.nan
        values = np.where(drawn >= 0, every[np.arange(len(every)), drawn], np.nan)
        one = np.ones(1)
        measure = replace(
            find(name), parameter=f"{rule}{',by=upper' if self.choice.by == 'upper' else ''}"
        )
        return self.setting.row(
            replace(measure, undefined=f"no threshold of the grid has {rule}"),
            Values(np.array([value]), one, {}),
            Values(values, np.ones(len(values)), {}),
            None,
        )

    def _with_threshold(self, row: Estimate, rule: Rule, at: int, drawn: Array) -> Estimate:
        """A row with the chosen threshold, and where the replicates chose theirs."""
        chosen = self._chosen(rule, at, drawn)
        ends = {"threshold_lower": chosen.lower, "threshold_upper": chosen.upper}
        return structs.replace(
            row,
            threshold=chosen.threshold,
            counts={**row.counts, **{k: v for k, v in ends.items() if v is not None}},
        )

    def _chosen(self, rule: Rule, at: int, drawn: Array) -> Chosen:
        some = drawn[drawn >= 0]
        tails = (1 - self.setting.level) / 2, (1 + self.setting.level) / 2
        ends: list[float | None] = [None, None]
        if len(some):
            ends = [float(t) for t in np.quantile(self.grid[some], tails, method="nearest")]
        return Chosen(
            rule=str(rule),
            threshold=float(self.grid[at]) if at >= 0 else None,
            lower=ends[0],
            upper=ends[1],
            feasible=float((drawn >= 0).mean()),
        )

    def plane(self, deployed: float | None) -> Plane:
        """Both ratios over the grid, as they are stored."""
        c, dims = self.curves, self.setting.context.dims
        better = self.grid[improving(c.rrecall, c.rfpr)]
        found: dict[str, Any] = {}
        for name, point, drawn in (
            ("rrecall", c.rrecall, c.rrecall_drawn),
            ("rfpr", c.rfpr, c.rfpr_drawn),
        ):
            lower, upper = self.bounds(drawn)
            found |= {name: _listed(point)}
            found |= {f"{name}_lower": _listed(lower), f"{name}_upper": _listed(upper)}
        return Plane(
            system=dims["system"],
            estimator=dims["estimator"],
            thresholds=tuple(self.grid.tolist()),
            **found,
            deployed=deployed,
            level=self.setting.level,
            better=() if len(better) == 0 else (float(better.min()), float(better.max())),
            chosen=tuple(self._chosen(r, *self.places(r)) for r in self.choice.rules),
            by=self.choice.by,
            collection=dims.get("collection", ""),
            subset=dims.get("subset", ""),
        )


def _bounded(rule: Rule, rrecall: Array, rfpr: Array, bound: Array) -> Array:
    """The choice of a rule whose limit holds for a bound; what it optimises stays the value."""
    if rule.name == "max-rfpr":
        return rule.chosen(rrecall, bound)
    goal = np.where(bound >= rule.limit, rfpr, np.nan)
    return rule.chosen(np.where(np.isnan(goal), -np.inf, np.inf), goal)


def _listed(values: Array) -> tuple[float | None, ...]:
    return tuple(float(v) if np.isfinite(v) else None for v in values)
