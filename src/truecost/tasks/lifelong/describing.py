"""What a life cycle is like, cell by cell: every version at every time, with intervals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from truecost.core.evidence import Evidence, Totals
from truecost.core.intervals import finite
from truecost.core.measure import Floats, Measure, share
from truecost.core.replication import by_block
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.weights import Weights
from truecost.tasks.lifelong.choosing import measures_of, score_of
from truecost.tasks.lifelong.descriptions import (
    Cell,
    CurvePoint,
    Figure,
    LearningCurve,
    LifelongDescription,
    PolicyCurve,
    PolicyFigure,
    StreamFigure,
)
from truecost.tasks.lifelong.measures.across import (
    ADAPTED,
    BASE,
    CORRECTED,
    IMPAIRED,
    STREAM,
    scores,
)
from truecost.tasks.lifelong.measures.lifelong import inner_of
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.policies import Policy
from truecost.tasks.lifelong.records import STATES, Lifelong
from truecost.tasks.lifelong.scoring import Rows, finished

FEWER = 500  # replicates are enough for the intervals that pictures show
DRAWN = ("policy_score", "penalised_score", "adapted_score", "penalty")
PENALISED = "penalised"


def describe_lifelong(
    lifelong: Lifelong, scoring: Scoring, dims: Mapping[str, str] | None = None
) -> LifelongDescription:
    """Every score of a system across time, under each policy, and its learning curve.

    Parameters
    ----------
    scoring : Scoring
        At most 500 replicates of its plan are drawn.
    dims : mapping of str to str, optional
        What it is about besides the system.
    """
    return _Describing(lifelong, scoring, {**(dims or {}), "system": lifelong.name}).description()


@dataclass(frozen=True, eq=False)
class _Describing:
    """What one description is made of."""

    lifelong: Lifelong
    scoring: Scoring
    about: Mapping[str, str]

    @cached_property
    def rows(self) -> Rows:
        """The rows of every version, from fewer replicates."""
        plan = self.scoring.plan
        fewer = replace(plan, replicates=min(plan.replicates, FEWER))
        every = replace(self.scoring.chosen(LifelongScoring), every_version=True)
        return Rows(
            self.lifelong,
            replace(self.scoring, plan=fewer, choices=every, progress=None),
            {**self.about, **self.lifelong.about},
        )

    @cached_property
    def inner(self) -> Measure:
        """The score, with its direction."""
        text = score_of(self.lifelong, self.scoring.chosen(LifelongScoring))
        return inner_of(text)

    @cached_property
    def penalised(self) -> bool:
        """Whether there are penalised scores to show."""
        return self.lifelong.helped and not self.lifelong.no_penalty

    def description(self) -> LifelongDescription:
        """All of it."""
        lifelong, inner = self.lifelong, self.inner
        higher = inner.direction == "higher" if lifelong.higher is None else lifelong.higher
        return LifelongDescription(
            dims={**self.about, **lifelong.about},
            score=inner.label,
            title=inner.title,
            direction="higher" if higher else "lower",
            shown_in=inner.shown_in,
            versions=[*lifelong.versions],
            learnt=[finite(float(time)) for time in lifelong.learnt],
            times=[*lifelong.test.times],
            at=lifelong.test.at.tolist(),
            cells=[*self._cells()],
            policies=[
                self._policy(policy) for policy in self.scoring.chosen(LifelongScoring).policies
            ],
            stream=[*self._stream()],
            curve=self._curve(),
        )

    def _drawn(self, evidence: Evidence, run: Callable[[Totals], Floats]) -> list[Floats]:
        """What a function gives at the point, and its interval: value, lower, upper."""
        plan = self.rows.laid.plan(self.rows.scoring.plan)
        plan = replace(plan, hold=tuple(h for h in plan.hold if h in evidence.factors))
        with np.errstate(divide="ignore", invalid="ignore"):
            (point,) = by_block(evidence, Weights.ones(evidence.factors), run, 1)
            if set(plan.hold) >= set(evidence.factors):
                none = np.full_like(point[0], np.nan)
                return [point[0], none, none]
            blocks = by_block(evidence, plan.weights(evidence.factors), run, self.scoring.jobs)
        tails = (1 - self.scoring.level) / 2
        return [point[0], *_quantiles(np.concatenate(blocks), (tails, 1 - tails))]

    def _all(self, evidence: Evidence, prefix: str = "") -> list[Floats]:
        """Every cell in every state, the penalised one last."""
        application, inner = self.scoring.application, self.inner

        def run(totals: Totals) -> Floats:
            found = scores(totals, application, inner, prefix)[0]
            cost = found[..., IMPAIRED] - found[..., CORRECTED]
            return np.concatenate([found, (found[..., ADAPTED] + cost)[..., None]], axis=-1)

        return self._drawn(evidence, run)

    def _cells(self) -> Iterator[Cell]:
        """Every version at every time, in the states that there are."""
        lifelong = self.lifelong
        seen = Policy().weights(lifelong.learnt, lifelong.test.at) > 0
        values, lower, upper = self._all(self.rows.laid.test(self.inner.parts))
        states = [*STATES, PENALISED]
        drawn = range(len(states)) if self.penalised else (BASE,)
        for v, version in enumerate(lifelong.versions):
            for t, time in enumerate(lifelong.test.times):
                for state in drawn:
                    if np.isnan(values[v, t, state]):
                        continue
                    place = (v, t, state)
                    yield Cell(
                        version=version,
                        time=time,
                        state=states[state],
                        seen=bool(seen[v, t]),
                        **_figure(values[place], lower[place], upper[place]),
                    )

    def _policy(self, policy: Policy) -> PolicyCurve:
        """The scores of every version under a policy."""
        lifelong, how = self.lifelong, self.scoring.chosen(LifelongScoring)
        names = DRAWN if self.penalised else DRAWN[:1]
        measures = measures_of(names, lifelong, how)
        how = replace(how, policies=(policy,), every_version=True)
        rows = replace(self.rows, scoring=replace(self.rows.scoring, choices=how))
        found = rows.by_version(measures)
        return PolicyCurve(
            name=policy.name,
            says=policy.says,
            weights=policy.weights(lifelong.learnt, lifelong.test.at, lifelong.test.times).tolist(),
            figures=[
                _policy_figure(lifelong.versions[place], row)
                for place, of in zip(rows.versions, found, strict=True)
                for row in of
                if row.value is not None
            ],
        )

    def _stream(self) -> Iterator[StreamFigure]:
        """The scores on the lifelong set."""
        lifelong = self.lifelong
        if lifelong.stream is None:
            return
        begun = int(np.isinf(lifelong.learnt).sum())
        found = self._all(self.rows.laid.stream(self.inner.parts), STREAM)
        for time in range(min(len(lifelong.stream.times), len(lifelong.versions) - begun)):
            for state in (BASE, ADAPTED):
                figures = [of[time + begun, time, state] for of in found]
                if np.isfinite(figures[0]):
                    version = lifelong.versions[time + begun]
                    yield StreamFigure(version=version, state=STATES[state], **_figure(*figures))

    def _curve(self) -> LearningCurve | None:
        """The score against the cost of help, where there was any."""
        laid, inner = self.rows.laid, self.inner
        across = self.rows.across(len(self.lifelong.versions) - 1, Policy())
        if not across.maximum > np.nanmin(across.costs, initial=np.inf):
            return None
        grid = np.unique(across.costs[across.costs <= across.maximum])
        measure = finished(measures_of(("area_under_curve",), self.lifelong)[0], across)

        def run(totals: Totals) -> Floats:
            found = scores(totals, self.scoring.application, inner, "curve_")[0]
            steps = [_held(costs, found[:, s], grid) for s, costs in enumerate(across.costs)]
            weights = totals.weights("seed") if "seed" in totals.block.rows else None
            points = _over_seeds(np.stack(steps, axis=1), weights)
            area = measure(totals, self.scoring.application).values
            return np.concatenate([points, area[:, None]], axis=1)

        values, lower, upper = self._drawn(laid.curve(inner.parts), run)
        return LearningCurve(
            cost=laid.cost,
            points=[
                CurvePoint(cost=float(cost), **_figure(values[k], lower[k], upper[k]))
                for k, cost in enumerate(grid)
            ],
            maximum=across.maximum,
            area=Figure(**_figure(values[-1], lower[-1], upper[-1])),
        )


def _figure(value: float, lower: float, upper: float) -> dict[str, float | None]:
    """A figure in words that a result file can hold."""
    return {
        "value": finite(float(value)),
        "lower": finite(float(lower)),
        "upper": finite(float(upper)),
    }


def _policy_figure(version: str, row: Estimate) -> PolicyFigure:
    return PolicyFigure(
        version=version,
        measure=row.measure,
        value=row.value,
        lower=row.lower,
        upper=row.upper,
        naive=row.naive,
    )


def _quantiles(values: Floats, tails: Sequence[float]) -> Floats:
    """Quantiles over the replicates, undefined ones left out; NaN where all are."""
    unknown = np.isnan(values)
    whole, some = ~unknown.any(axis=0), ~unknown.all(axis=0)
    found = np.full((len(tails), *values.shape[1:]), np.nan)
    found[:, whole] = np.quantile(values[:, whole], tails, axis=0)  # nanquantile is 50x slower
    if (few := some & ~whole).any():
        found[:, few] = np.nanquantile(values[:, few], tails, axis=0)
    return found


def _held(costs: Floats, values: Floats, grid: Floats) -> Floats:
    """A step function at every cost of the grid; NaN before its first."""
    place = np.searchsorted(costs, grid, side="right") - 1
    return np.where(place >= 0, values[:, np.maximum(place, 0)], np.nan)


def _over_seeds(values: Floats, weights: Floats | None) -> Floats:
    """Mean over the seeds, each with its weight."""
    own = np.ones(values.shape[:2]) if weights is None else weights
    known = np.where(np.isnan(values), 0.0, own[..., None])
    return share((known * np.nan_to_num(values)).sum(axis=1), known.sum(axis=1))
