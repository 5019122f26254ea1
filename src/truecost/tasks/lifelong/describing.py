"""The description of a life cycle, cell by cell, with intervals, as stored for pictures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import asdict

from truecost.core.evidence import Evidence, Totals
from truecost.core.intervals.smooth import finite
from truecost.core.measure import Floats, Measure, share
from truecost.core.replication import with_ends
from truecost.core.scoring import Scoring
from truecost.tasks.lifelong import records
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
from truecost.tasks.lifelong.measures import inner_of
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.lifelong.scoring import Rows, finished, measures_of, score_of
from truecost.tasks.lifelong.settings import Policy
from truecost.tasks.lifelong.supervision import ADAPTED, BASE, CORRECTED, IMPAIRED, STREAM, scores

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Outcome, ResultFile

FROZEN = "frozen"  # the strategy of the initial version, which every row has as its reference
UNHELPED = (FROZEN, "unsupervised")  # strategies of baselines, in which nobody helped


FEWER = 500  # replicates are enough for the intervals that pictures show
DRAWN = ("policy_score", "penalised_score", "adapted_score", "penalty")
PENALISED = "penalised"
OF_ROW = ("measure", "value", "lower", "upper", "naive")  # what a figure of a policy has of its row


def describe_lifelong(
    lifelong: Lifelong, scoring: Scoring, dims: Mapping[str, str] | None = None
) -> LifelongDescription:
    """Compute the description of a system: all scores across time, under each policy, and its
    learning curve.

    Parameters
    ----------
    lifelong : Lifelong
        Record of the system.
    scoring : Scoring
        Choices for scoring, as for `tc.score_system`. At most 500 bootstrap replicates are used.
    dims : mapping of str to str, optional
        Additional entries of `dims`, such as the collection.

    Returns
    -------
    LifelongDescription
    """
    plan, every = scoring.plan, replace(scoring.chosen(LifelongScoring), every_version=True)
    fewer = replace(plan, replicates=min(plan.replicates, FEWER))
    how = replace(scoring, plan=fewer, choices=every, progress=None)
    about = {**(dims or {}), "system": lifelong.name, **lifelong.about}
    return _Described(lifelong, how, about).description()


class _Described(Rows):
    """The rows of every version, and what else a description is made of."""

    @cached_property
    def inner(self) -> Measure:
        """The score, with its direction."""
        return inner_of(score_of(self.lifelong, self.how))

    @cached_property
    def penalised(self) -> bool:
        """Whether there are penalised scores to show."""
        return self.lifelong.helped and not self.lifelong.no_penalty

    def description(self) -> LifelongDescription:
        """All of it."""
        lifelong, inner = self.lifelong, self.inner
        higher = inner.direction == "higher" if lifelong.higher is None else lifelong.higher
        return LifelongDescription(
            dims={**self.about},
            score=inner.label,
            title=inner.title,
            direction="higher" if higher else "lower",
            shown_in=inner.shown_in,
            versions=[*lifelong.versions],
            learnt=[finite(float(time)) for time in lifelong.learnt],
            times=[*lifelong.test.times],
            at=lifelong.test.at.tolist(),
            cells=[*self._cells()],
            policies=[self._policy(policy) for policy in self.how.policies],
            stream=[*self._stream()],
            curve=self._curve(),
        )

    def _drawn(self, evidence: Evidence, run: Callable[[Totals], Floats]) -> Floats:
        """The value of a function at the point, and its interval: value, lower, upper."""
        plan = self.laid.plan(self.scoring.plan, evidence)
        return with_ends(evidence, plan, run, self.scoring.level, self.scoring.jobs)

    def _all(self, evidence: Evidence, prefix: str = "") -> Floats:
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
        found = self._all(self.laid.test(self.inner.parts))
        states = [*records.STATES, PENALISED]
        for v, version in enumerate(lifelong.versions):
            for t, time in enumerate(lifelong.test.times):
                for k in range(len(states)) if self.penalised else (BASE,):
                    if not np.isnan(found[0, v, t, k]):
                        known = {"seen": bool(seen[v, t]), **_figure(found[:, v, t, k])}
                        yield Cell(version=version, time=time, state=states[k], **known)

    def _policy(self, policy: Policy) -> PolicyCurve:
        """The scores of every version under a policy."""
        lifelong, how = self.lifelong, replace(self.how, policies=(policy,))
        measures = measures_of(DRAWN if self.penalised else DRAWN[:1], lifelong, how)
        found = replace(self, scoring=replace(self.scoring, choices=how)).by_version(measures)
        return PolicyCurve(
            name=policy.name,
            says=policy.says,
            weights=policy.weights(lifelong.learnt, lifelong.test.at, lifelong.test.times).tolist(),
            figures=[
                PolicyFigure(
                    version=lifelong.versions[place],
                    **{name: getattr(row, name) for name in OF_ROW},
                )
                for place, of in zip(self.versions, found, strict=True)
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
        found = self._all(self.laid.stream(self.inner.parts), STREAM)
        for time in range(min(len(lifelong.stream.times), len(lifelong.versions) - begun)):
            for state in (BASE, ADAPTED):
                figures = found[:, time + begun, time, state]
                if np.isfinite(figures[0]):
                    version = lifelong.versions[time + begun]
                    known = _figure(figures)
                    yield StreamFigure(version=version, state=records.STATES[state], **known)

    def _curve(self) -> LearningCurve | None:
        """The score against the cost of help, where there was any."""
        laid, inner, how = self.laid, self.inner, self.how
        across = self.across(len(self.lifelong.versions) - 1, Policy())
        if not across.maximum > np.nanmin(across.costs, initial=np.inf):
            return None
        grid = np.unique(across.costs[across.costs <= across.maximum])
        measure = finished(measures_of(("area_under_curve",), self.lifelong, how)[0], across)

        def run(totals: Totals) -> Floats:
            found = scores(totals, self.scoring.application, inner, "curve_")[0]
            steps = [_step_values(costs, found[:, s], grid) for s, costs in enumerate(across.costs)]
            weights = totals.weights("seed") if "seed" in totals.block.rows else None
            points = _over_seeds(np.stack(steps, axis=1), weights)
            area = measure(totals, self.scoring.application).values
            return np.concatenate([points, area[:, None]], axis=1)

        found = self._drawn(laid.curve(inner.parts), run)
        return LearningCurve(
            cost=laid.cost,
            points=[
                CurvePoint(cost=float(cost), **_figure(found[:, k])) for k, cost in enumerate(grid)
            ],
            maximum=across.maximum,
            area=Figure(**_figure(found[:, -1])),
        )


def _figure(figures: Floats) -> dict[str, Any]:
    """A value and the ends of its interval as a result file can hold them."""
    return dict(zip(("value", "lower", "upper"), map(finite, figures.tolist()), strict=True))


def _step_values(costs: Floats, values: Floats, grid: Floats) -> Floats:
    """A step function at every cost of the grid; NaN before its first."""
    place = np.searchsorted(costs, grid, side="right") - 1
    return np.where(place >= 0, values[:, np.maximum(place, 0)], np.nan)


def _over_seeds(values: Floats, weights: Floats | None) -> Floats:
    """Mean over the seeds, each with its weight."""
    own = np.ones(values.shape[:2]) if weights is None else weights
    known = np.where(np.isnan(values), 0.0, own[..., None])
    return share((known * np.nan_to_num(values)).sum(axis=1), known.sum(axis=1))


TEXTS = ("part", "system", "strategy", "score", "kind", "version", "time", "state", "policy")
NUMBERS = ("learnt", "at", "value", "lower", "upper", "naive", "cost")


def lifelong_frame(result: "ResultFile | Outcome") -> "pl.DataFrame | None":
    """The content of `curves.parquet` holds of systems across time; None where none was followed.

    Each row has `part` (collection and application, empty when there is one), `system`, `strategy`
    where there is one, `score`, `value`, `lower`, `upper`, and

    - `kind` `cell`: `version`, `learnt` (its time; empty for the initial one), `time`, `at` (the
      time as a number), `state` (base, adapted, impaired, corrected, penalised), `seen` (whether
      the time lies in the window of the version);
    - `kind` `weight`: `policy`, `version`, `time`; the value is P(t_j);
    - `kind` `policy`: `policy`, `version`, `state` (the measure), `naive` (the initial version
      in the same window);
    - `kind` `lifelong set`: `version` that came of the data, `state`;
    - `kind` `learning curve`: `cost` and its `unit`; one of `area` has the largest cost.
    """
    import polars as pl

    from truecost.outputs.page import whose

    found = result.described_as(LifelongDescription)
    if not found:
        return None
    cells = [{**whose(d.dims), "score": d.score, **of} for d in found for of in _stored(d)]
    schema: dict[str, Any] = dict.fromkeys(TEXTS, pl.String())
    schema |= {"unit": pl.String(), "seen": pl.Boolean()}
    schema |= dict.fromkeys(NUMBERS, pl.Float64())
    return pl.DataFrame(cells, schema=schema)


def _stored(found: LifelongDescription) -> Iterator[dict[str, Any]]:
    """Every figure of a system."""
    learnt = dict(zip(found.versions, found.learnt, strict=True))
    at = dict(zip(found.times, found.at, strict=True))
    for c in found.cells:
        when = {"learnt": learnt.get(c.version), "at": at.get(c.time)}
        yield {"kind": "cell", **asdict(c), **when}
    for policy in found.policies:
        for version, weights in zip(found.versions, policy.weights, strict=False):
            for time, weight in zip(found.times, weights, strict=True):
                where = {"policy": policy.name, "version": version, "time": time}
                yield {"kind": "weight", **where, "value": weight}
    for policy in found.policies:
        for of in policy.figures:
            yield {"kind": "policy", "policy": policy.name, "state": of.measure, **asdict(of)}
    yield from ({"kind": "lifelong set", **asdict(of)} for of in found.stream)
    if (curve := found.curve) is not None:
        unit = {"unit": curve.cost}
        yield from ({"kind": "learning curve", **unit, **asdict(of)} for of in curve.points)
        yield {"kind": "area", "cost": curve.maximum, **unit, **asdict(curve.area)}
