"""Choosing the threshold of the candidate: both ratios over a grid, chosen again in each replicate.

How a threshold is chosen from the curves stands in `choosing`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product

import numpy as np

from truecost.core.evidence import Evidence, Totals
from truecost.core.flags import raised
from truecost.core.replication import by_block
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.core.weights import Plan, Weights
from truecost.errors import InputError, UsageError, first_five, named
from truecost.formats import Table
from truecost.names import ChosenBy
from truecost.options import check_fields
from truecost.study.config import Study
from truecost.study.outcome import Part
from truecost.study.running import score_part
from truecost.study.settings import Reader
from truecost.tasks.abba.arrays import Words
from truecost.tasks.abba.checks import mix_differs
from truecost.tasks.abba.choosing import (
    Choosing,
    Curve,
    Ends,
    compared,
    setting_of,
    thresholds_of,
)
from truecost.tasks.abba.counting import ENOUGH, OTHER, evidence_of, leans, least_count, plan_of
from truecost.tasks.abba.describing import Plane, Rule
from truecost.tasks.abba.measures import ESTIMATORS, ratio
from truecost.tasks.abba.options import AbbaScoring, AbbaTable
from truecost.tasks.abba.records import FEW, Array, Deployment, Floats, context_of
from truecost.tasks.abba.scoring import (
    LABELS,
    MOST_BROKEN,
    Trust,
    estimators_of,
    placed,
)

Ratios = dict[tuple[str, int], tuple[Array, Array, Array]]  # value, lowered, raised
GRID = 200  # thresholds, unless a grid is given


@dataclass(frozen=True)
class Choice:
    """Rules that choose thresholds of the candidate model B.

    Parameters
    ----------
    max_rfpr : float, optional
        Highest allowed ratio of false-positive rates (rFPR). Of the thresholds that meet this
        limit, the one with the highest ratio of recalls (rRecall) is chosen. Default: 1 if
        `min_rrecall` is not given either.
    min_rrecall : float, optional
        Lowest allowed ratio of recalls (rRecall). Of the thresholds that meet this limit, the one
        with the lowest ratio of false-positive rates (rFPR) is chosen.
    by : {"point", "upper"}
        Quantity that must meet the limit. `point`: the value of the ratio. `upper`: the upper end
        of its interval for `max_rfpr`, the lower end for `min_rrecall`. A bootstrap replicate has
        no interval: its ratio, multiplied by (end / value) of the whole data, must meet the limit.
    grid : int or tuple of float
        Candidate thresholds, or their number. With a number, the thresholds are quantiles of the
        scores that B accepts.
    test_set : Table, optional
        Labelled trials with scores of both models, for ratios in addition to those of AB/BA.

    Raises
    ------
    UsageError
        If a limit or the grid is out of range.
    """

    max_rfpr: float | None = None
    min_rrecall: float | None = None
    by: ChosenBy = "point"
    grid: int | tuple[float, ...] = GRID
    test_set: Table | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _ = self.rules
        check_fields(self, AbbaTable)
        if isinstance(self.grid, int) and not 1 <= self.grid <= 10_000:
            raise UsageError(f"--grid is {self.grid}: give 1 to 10,000 thresholds")
        if isinstance(self.grid, tuple) and not (self.grid and np.isfinite(self.grid).all()):
            raise UsageError("--grid: thresholds must be finite numbers")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """A rule for each limit that is set, `max_rfpr` before `min_rrecall`."""
        highest = () if self.max_rfpr is None else (Rule("max-rfpr", self.max_rfpr),)
        lowest = () if self.min_rrecall is None else (Rule("min-rrecall", self.min_rrecall),)
        return (*highest, *lowest) or (Rule("max-rfpr", 1.0),)


def choose(
    deployment: Deployment, scoring: Scoring, choice: Choice, dims: Mapping[str, str] | None = None
) -> tuple[list[Estimate], list[Plane]]:
    """Choose thresholds of the candidate model B, and compute the ratios of recalls and of
    false-positive rates.

    Parameters
    ----------
    deployment : Deployment
        Deployment with scores of both models.
    scoring : Scoring
        Plan, level, jobs and estimators. Default estimator: the first of `corrected`, `direct`,
        `pooled`, `ab` and `soft` for which the log contains the data.
    choice : Choice
        Rules for the choice.
    dims : mapping of str to str, optional
        Further names to store in the rows, such as `{"collection": "noisy"}`.

    Returns
    -------
    rows : list of Estimate
        `rrecall` and `rfpr` at the chosen threshold, for each estimator and rule (the rule is
        `parameters["variant"]` of the row).
    planes : list of Plane
        Both ratios at all thresholds of the grid, for each estimator and for the test set.

    Raises
    ------
    UsageError
        If there are no scores, or a threshold is below the deployed one.
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
    found = curves.by_measure(estimators, " ".join(about.values()))
    rows, planes = [], []
    for estimator, own in zip(estimators, found, strict=True):
        context = context_of(deployment, placed(about, estimator))
        setting = setting_of(scoring, plan, context, evidence)
        mixed = estimator == "pooled" and mix_differs(deployment)
        flags = raised(uncorrected=estimator == "soft", label_mix=mixed)
        made = Choosing(grid, choice.rules, choice.by, own, setting, flags)
        rows += made.rows()
        planes.append(made.plane(deployment.threshold_b))
    if choice.test_set is not None:
        more, plane = compared(deployment, choice, scoring, about)
        rows, planes = [*rows, *more], [*planes, plane]
    return rows, planes


def _refuse_bare(deployment: Deployment, estimator: str) -> None:
    """Refuse cells (or strata) with items of which none has a label: thresholds mix their items."""
    d = deployment
    if not ESTIMATORS[estimator].labels:
        return
    names, codes = d.stratum_codes
    items, labels = (np.bincount(codes[x], minlength=len(names)) for x in (d.cell >= 0, d.labelled))
    bare = [str(name) for name in names[(items > 0) & (labels == 0)]]
    if bare:
        raise InputError(
            f"{d.name}: {named('cell' if d.strata is None else 'stratum', bare, 'have')} items and "
            f"no human label, so {estimator} is not defined at other thresholds: choose items to "
            f"label with truecost abba select"
        )


def grid_of(deployment: Deployment, choice: Choice) -> Floats:
    """The candidate thresholds, ascending, the deployed one first when they are quantiles."""
    scores, lowest = deployment.score_b, deployment.threshold_b
    if scores is None or lowest is None:
        raise UsageError(
            f"{deployment.name}: thresholds need the scores of both models, not their decisions: "
            f"name them with --map score_a=COLUMN,score_b=COLUMN"
        )
    grid = thresholds_of(choice.grid, scores[scores >= lowest])
    if not isinstance(choice.grid, tuple):
        return np.unique([lowest, *grid])
    below = grid[grid < lowest]
    if len(below):
        raise UsageError(
            f"{deployment.name}: thresholds below the deployed {lowest:g} cannot be evaluated: "
            f"{first_five(f'{t:g}' for t in below)}. Items that B would accept there were never "
            f"collected; deploy B with a lower threshold to collect them"
        )
    return grid


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
    """Both ratios over the grid, at the point and in replicates."""

    deployment: Deployment
    plan: Plan
    scoring: Scoring
    grid: Floats  # (thresholds,)
    evidence: Evidence  # of the deployment, by threshold

    def by_measure(self, estimators: Sequence[str], what: str) -> list[dict[str, Curve]]:
        """Curves of each estimator by measure."""
        ones = Weights.ones(self.evidence.factors)
        [(sums, point)] = by_block(
            self.evidence, ones, lambda seen: (_Grid(seen), _ratios(_Grid(seen), estimators)), 1
        )
        least = np.minimum(sums("collected", "items")[0], ENOUGH)
        few = _effective(sums)[0] < least * (1 - 1e-9)
        few &= "corrected" in estimators  # no other is widened
        tell = self.scoring.progress
        drawn = by_block(
            self.evidence,
            self.plan.weights(self.evidence.factors),
            lambda seen: _ratios(_Grid(seen), estimators, few),
            self.scoring.jobs,
            None if tell is None else lambda done, total: tell(what, done, total),
        )

        # What is counted anew at a threshold serves both labels and all estimators.
        delta = cache(partial(self._delta, estimators))

        def curve(estimator: str, label: int) -> Curve:
            sides = zip(*(block[estimator, label] for block in drawn), strict=True)
            middle, below, above = map(np.concatenate, sides)
            return Curve(
                point[estimator, label][0][0],
                middle,
                np.fmin(below, middle),
                np.fmax(above, middle),
                few.any(axis=(-2, -1)) & (estimator == "corrected"),
                least_count(_items_of_label(sums, estimator, label)[0], estimator) < FEW,
                (~np.isfinite(middle)).mean(axis=0) > MOST_BROKEN,
                lambda k: delta(k, machine=ESTIMATORS[estimator].machine)[estimator, label],
                union=estimator == "corrected",
            )

        return [{name: curve(e, label) for name, label in LABELS.items()} for e in estimators]

    def _delta(
        self, estimators: Sequence[str], k: int, *, machine: bool
    ) -> dict[tuple[str, int], Ends]:
        """Ends of the intervals of the delta method at one threshold, by estimator and label."""
        there = self.deployment.at_threshold(float(self.grid[k]))
        trust = Trust(there, evidence_of(there, self.plan, machine=machine), self.scoring.level)
        mine = [name for name in estimators if ESTIMATORS[name].machine == machine]
        return {at: trust.delta(*at, adjusted=True) for at in product(mine, LABELS.values())}


def _ratios(sums: "_Grid", estimators: Sequence[str], few: Array | None = None) -> Ratios:
    """Ratios of each estimator and label; the lowered and raised ones where labels are few."""
    found: Ratios = {}
    for estimator, label in product(estimators, (0, 1)):
        middle = below = above = ratio(sums, estimator, label)
        if estimator == "corrected" and few is not None and few.any():
            below, above = (ratio(sums, estimator, label, lean) for lean in leans(few, label))
        found[estimator, label] = middle, below, above
    return found


def _effective(sums: "_Grid") -> Array:
    """Labels of each cell at each threshold, counted less where they weigh unequally."""
    if not sums.weighed:
        return sums("collected", "labels")
    squares = sums("collected", "squares")
    return np.asarray(sums("collected", "labelled") ** 2 / np.where(squares > 0, squares, 1.0))


def _items_of_label(sums: "_Grid", estimator: str, label: int) -> Array:
    """Items of a label in each cell that an estimator rests on, at each threshold."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if ESTIMATORS[estimator].machine:
            return ESTIMATORS[estimator].totals(sums, None)[1 - label]
        labels = sums("collected", "labels")
        true = sums("collected", "true" if sums.weighed else "positive")
        share = np.where(labels > 0, _effective(sums) / labels, 0.0)
        return np.asarray((true if label else labels - true) * share)


OF_TEST_SETS = ("score_a", "score_b", "label", "unit")


def part_of(
    systems: Sequence[Deployment],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    study: "Study",
    reader: Reader,
) -> Part:
    """The deployments scored at their thresholds, or with the threshold that is chosen for B."""
    if not study.table(AbbaTable).thresholds:
        return score_part(systems, scoring, dims, None)
    asked = study.table(AbbaTable).given()
    names = ("max_rfpr", "min_rrecall", "by", "grid")
    alone = Choice(**{name: asked[name] for name in names if name in asked})
    choice = replace(alone, test_set=_test_set(study, reader))
    found = []
    for system in systems:
        own = scoring[system.name]
        masks = [mask for subset in own.subsets for mask in system.masks(subset)]
        found.append(choose(system, own, choice, dims))
        for name, mask in masks:  # a test set stands beside the whole only
            found.append(choose(system.take(mask), own, alone, {**dims, "subset": name}))
    estimates = tuple(row for rows, _ in found for row in rows)
    planes = tuple(plane for _, of in found for plane in of)
    return Part(dims, tuple(systems), scoring, estimates, described=planes)


def _test_set(study: "Study", reader: Reader) -> Table | None:
    """Labelled trials beside the log; columns that are mapped for it are known here too."""
    path = study.table(AbbaTable).test_set
    if path is None:
        return None
    table = reader.table(path)
    reader.note(path)
    mapped = {study.data.map.get(key): key for key in OF_TEST_SETS if key not in table.columns}
    names = {column: key for column, key in mapped.items() if column in table.frame.columns}
    known = replace(table, frame=table.frame.rename(names))
    return Words(target=study.data.target).recoded(known, {}, beside=True)
