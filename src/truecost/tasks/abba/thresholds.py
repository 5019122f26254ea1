"""Choosing the threshold of the candidate: both ratios over a grid, chosen anew in every replicate.

How a threshold is chosen from the curves stands in `choosing`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.estimates import Setting
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import encode
from truecost.core.flags import raised
from truecost.core.replication import by_block
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import InputError, UsageError, first_five, named
from truecost.formats import Table
from truecost.tasks.abba.checks import label_mix
from truecost.tasks.abba.choosing import Choosing, Curve
from truecost.tasks.abba.counting import OTHER, evidence_of, plan_of
from truecost.tasks.abba.describing import By, Plane, Rule
from truecost.tasks.abba.interval_choice import ENOUGH, MOST_BROKEN, Trust, leans, least_count
from truecost.tasks.abba.measures import ESTIMATORS, ratio
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import CELLS, FEW, Deployment
from truecost.tasks.abba.scoring import LABELS, context_of, estimators_of, placed

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ratios = dict[tuple[str, int], tuple[Array, Array, Array]]  # value, lowered, raised
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
    dims : mapping of str to str, optional
        What the rows are about besides the deployment.

    Returns
    -------
    rows : list of Estimate
        `rrecall` and `rfpr` by estimator and rule (`parameters["variant"]`), with the threshold.

    Raises
    ------
    UsageError
        When there are no scores, or a threshold lies below the deployed one.
    """
    about = {**(dims or {}), "system": deployment.name}
    grid = grid_of(deployment, choice)
    plan = plan_of(deployment, scoring.plan)
    asked = scoring.chosen(AbbaScoring).estimators
    estimators = estimators_of(deployment, asked)
    estimators = estimators if asked else estimators[:1]
    for estimator in estimators:
        _refuse_bare(deployment, estimator)
    machine = any(ESTIMATORS[e].machine for e in estimators)
    evidence = _evidence(deployment, plan, grid, machine=machine)
    curves = _Curves(deployment, plan, scoring, grid, evidence)
    rows, planes = [], []
    for estimator, found in zip(
        estimators, curves.of(estimators, " ".join(about.values())), strict=True
    ):
        setting = Setting(
            plan,
            scoring.level,
            "percentile",
            scoring.icc,
            context_of(deployment, placed(about, estimator)),
            Application(),
            evidence,
        )
        made = Choosing(
            grid, choice.rules, choice.by, found, setting, _flags(deployment, estimator)
        )
        rows += made.rows()
        planes.append(made.plane(deployment.threshold_b))
    if choice.test_set is not None:
        from truecost.tasks.abba.test_sets import compared

        more, plane = compared(deployment, choice, scoring, about)
        rows, planes = [*rows, *more], [*planes, plane]
    return rows, planes


def _refuse_bare(deployment: Deployment, estimator: str) -> None:
    """Refuse cells (or strata) with items of which none has a label: thresholds mix their items."""
    d = deployment
    if not ESTIMATORS[estimator].labels:
        return
    names, codes = (np.array(CELLS), d.cell) if d.strata is None else encode(d.strata)
    items, labels = (np.bincount(codes[x], minlength=len(names)) for x in (d.cell >= 0, d.labelled))
    bare = [str(name) for name in names[(items > 0) & (labels == 0)]]
    if bare:
        raise InputError(
            f"{d.name}: {named('cell' if d.strata is None else 'stratum', bare, 'have')} items and "
            f"no human label, so {estimator} is not defined at other thresholds: truecost abba "
            f"select says what to label"
        )


def _flags(deployment: Deployment, estimator: str) -> tuple[str, ...]:
    """What a reader of an estimator's rows should beware of."""
    mix = label_mix(deployment) if estimator == "pooled" else None
    return raised(uncorrected=estimator == "soft", label_mix=mix is not None and mix.differs)


def grid_of(deployment: Deployment, choice: Choice) -> Floats:
    """The candidate thresholds, ascending, the deployed one first when they are quantiles.

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


def _evidence(deployment: Deployment, plan: Plan, grid: Floats, machine: bool) -> Evidence:
    """Totals by arm, by what A says, and by how many thresholds of the grid B's score reaches."""
    assert deployment.score_b is not None
    a_rejects = (deployment.arm == 1) & ~deployment.other
    reached = np.searchsorted(grid, deployment.score_b, side="right")
    labels = tuple(map(str, range(len(grid) + 1)))
    return evidence_of(
        deployment,
        plan,
        accepts={"a": (OTHER, a_rejects.astype(np.int64)), "grid": (labels, reached)},
        machine=machine,
    )


@dataclass(frozen=True, eq=False)
class _Grid:
    """Sums by cell at every threshold of the grid, as `ratio` takes them."""

    totals: Totals

    @property
    def weighed(self) -> bool:
        """Whether labels weigh unequally."""
        collected = self.totals.evidence.parts["collected"]
        return isinstance(collected, Tally) and "squares" in collected.statistics

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
class _Curves:
    """Both ratios over the grid, at the point and in replicates.

    Attributes
    ----------
    grid : ndarray, shape (thresholds,)
    evidence : Evidence
        Of the deployment, by threshold.
    """

    deployment: Deployment
    plan: Plan
    scoring: Scoring
    grid: Floats
    evidence: Evidence

    def of(self, estimators: Sequence[str], what: str) -> list[dict[str, Curve]]:
        """Curves of each estimator by measure."""
        ones = Weights.ones(self.evidence.factors)
        [(sums, point)] = by_block(
            self.evidence, ones, lambda seen: (_Grid(seen), _ratios(_Grid(seen), estimators)), 1
        )
        few = self._few(sums) if "corrected" in estimators else None
        tell = self.scoring.progress
        drawn = by_block(
            self.evidence,
            self.plan.weights(self.evidence.factors),
            lambda seen: _ratios(_Grid(seen), estimators, few),
            self.scoring.jobs,
            None if tell is None else lambda done, total: tell(what, done, total),
        )
        return [
            {name: self._curve(name, estimator, point, drawn, sums, few) for name in LABELS}
            for estimator in estimators
        ]

    def _few(self, sums: "_Grid") -> Array | None:
        """Cells of few labels at each threshold; None where there are none."""
        least = np.minimum(sums("collected", "items")[0], ENOUGH)
        few = _effective(sums)[0] < least * (1 - 1e-9)
        return few if few.any() else None

    def _curve(
        self,
        name: str,
        estimator: str,
        point: Ratios,
        drawn: Sequence[Ratios],
        sums: "_Grid",
        few: Array | None,
    ) -> Curve:
        label = LABELS[name]
        widened: npt.NDArray[np.bool_] = np.zeros(len(self.grid), bool)
        if estimator == "corrected" and few is not None:
            widened = np.asarray(few.any(axis=(-2, -1)))
        middle, below, above = (
            np.concatenate([block[estimator, label][side] for block in drawn]) for side in range(3)
        )
        return Curve(
            point[estimator, label][0][0],
            middle,
            np.fmin(below, middle),
            np.fmax(above, middle),
            widened,
            least_count(_seen(sums, estimator, label)[0], estimator) < FEW,
            (~np.isfinite(middle)).mean(axis=0) > MOST_BROKEN,
            partial(self._delta, estimator, label),
            union=estimator == "corrected",
        )

    def _delta(self, estimator: str, label: int, k: int) -> tuple[float, float]:
        """Ends of the interval of the delta method at one threshold."""
        there = self.deployment.at_threshold(float(self.grid[k]))
        machine = ESTIMATORS[estimator].machine
        trust = Trust(there, evidence_of(there, self.plan, machine=machine), self.scoring.level)
        return trust.delta(estimator, label, adjusted=True)


def _ratios(sums: "_Grid", estimators: Sequence[str], few: Array | None = None) -> Ratios:
    """Ratios of each estimator and label; the lowered and raised ones where labels are few."""
    found: Ratios = {}
    for estimator in estimators:
        for label in (0, 1):
            middle = ratio(sums, estimator, label)
            sides = (middle, middle)
            if estimator == "corrected" and few is not None:
                below, above = (ratio(sums, estimator, label, x) for x in leans(few, label))
                sides = (below, above)
            found[estimator, label] = (middle, *sides)
    return found


def _effective(sums: "_Grid") -> Array:
    """Labels of each cell at each threshold, counted less where they weigh unequally."""
    if not sums.weighed:
        return sums("collected", "labels")
    squares = sums("collected", "squares")
    return np.asarray(sums("collected", "labelled") ** 2 / np.where(squares > 0, squares, 1.0))


def _seen(sums: "_Grid", estimator: str, label: int) -> Array:
    """Items of a label in each cell that an estimator rests on, at each threshold."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if ESTIMATORS[estimator].machine:
            return ESTIMATORS[estimator].totals(sums, None)[1 - label]
        labels = sums("collected", "labels")
        true = sums("collected", "true" if sums.weighed else "positive")
        share = np.where(labels > 0, _effective(sums) / labels, 0.0)
        return np.asarray((true if label else labels - true) * share)
