"""Rows of a life cycle: scores across time by policy, what was forgotten, what help cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.core.estimates import Context
from truecost.core.evidence import Evidence
from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring, estimated
from truecost.errors import UsageError
from truecost.task import Dims
from truecost.tasks.lifelong.axes import refuse_unsaid
from truecost.tasks.lifelong.choosing import OFFLINES, measures_of, single
from truecost.tasks.lifelong.evidence import Laid
from truecost.tasks.lifelong.measures.across import Across
from truecost.tasks.lifelong.measures.lifelong import inner_of, rule_of
from truecost.tasks.lifelong.measures.supervision import OFFLINE
from truecost.tasks.lifelong.options import OF_POLICY, LifelongScoring
from truecost.tasks.lifelong.policies import Policy
from truecost.tasks.lifelong.records import Lifelong

NOTHING_VARIES = "no interval: there is one run, and at each time one"
Wanted = tuple[Measure, int, Policy | None]  # a measure of a version, under a policy if it has one


def asked_of(lifelong: Lifelong, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit a life cycle."""
    return measures_of(scoring.measures, lifelong, scoring.chosen(LifelongScoring))


def batches(lifelong: Lifelong, scoring: Scoring, dims: Dims, whole: object) -> Iterator[Batch]:
    """A batch for each evidence that measures read; versions and policies stand side by side."""
    del whole
    measures = asked_of(lifelong, scoring)
    refuse_unsaid(lifelong)
    if scoring.method == "bca":
        raise UsageError(
            "bca intervals are not defined for life cycles (items are drawn within their times): "
            "use the method auto or percentile"
        )
    if "subset" in dims:
        measures = [m for m in measures if m.name not in ("lifelong_score", *OFFLINES)]
    yield from Rows(lifelong, scoring, dims).batches(measures)


def places(lifelong: Lifelong) -> "dict[str, int | npt.NDArray[np.int64]]":
    """Where the initial version and the first that learnt stand, and the own version of each time.

    The own version of a time is the newest of that time: the last with l_i <= t_j.
    """
    learnt, at = lifelong.learnt, lifelong.test.at
    own = np.searchsorted(learnt, at, side="right") - 1
    begun = int(np.isinf(learnt).sum())
    own = np.where(own < begun, -1, own).astype(np.int64)
    return {"initial": begun - 1, "own": own, "learnt": begun}


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one set of items."""

    lifelong: Lifelong
    scoring: Scoring
    about: Mapping[str, str]

    @cached_property
    def laid(self) -> Laid:
        """The statistics, laid out."""
        return Laid(self.lifelong, self.scoring.chosen(LifelongScoring))

    @cached_property
    def versions(self) -> range:
        """Places of the versions that get rows."""
        learnt = self.lifelong.learnt
        first = min(int(np.isinf(learnt).sum()), len(learnt) - 1)  # M_0 has no window of its own
        return range(
            first if self.scoring.chosen(LifelongScoring).every_version else len(learnt) - 1,
            len(learnt),
        )

    def by_version(self, measures: Sequence[Measure]) -> list[list[Estimate]]:
        """The rows of each version, all estimated from the same replicates."""
        scoring = self.scoring
        rows = estimated(
            self.batches(measures),
            level=scoring.level,
            method=scoring.method,
            icc=scoring.icc,
            jobs=scoring.jobs,
            tell=scoring.progress,
        )
        size = len(rows) // len(self.versions)
        return [rows[start : start + size] for start in range(0, len(rows), size or 1)]

    def batches(self, measures: Sequence[Measure]) -> Iterator[Batch]:
        """Of each version: under each policy, then what no policy enters."""
        wanted: list[Wanted] = [
            (measure, version, policy)
            for version in self.versions
            for policy in (*self.scoring.chosen(LifelongScoring).policies, None)
            for measure in measures
            if (measure.name in OF_POLICY) == (policy is not None)
        ]
        for read in dict.fromkeys(_reads(measure) for measure, _, _ in wanted):
            places = [k for k, (measure, _, _) in enumerate(wanted) if _reads(measure) == read]
            yield self._batch(self._evidence(*read), [wanted[k] for k in places], places)

    def across(self, version: int, policy: Policy) -> Across:
        """Which cells make the figures of a version under a policy."""
        how, lifelong = self.scoring.chosen(LifelongScoring), self.lifelong
        test = lifelong.test
        tested = np.bincount(test.items["time"].to_numpy(), minlength=len(test.times)) > 0
        weights = policy.weights(lifelong.learnt, test.at, test.times, tested)[version]
        costs = self.laid.spent(self.laid.cost)
        found: dict[str, object] = {**places(lifelong)}
        return Across(
            version,
            weights,
            **found,  # type: ignore[arg-type]
            higher=lifelong.higher,
            compat=how.compat or "",
            cost=self.laid.cost,
            item_seconds=how.item_seconds,
            runs=len(lifelong.seeds),
            costs=costs,
            maximum=how.max_cost or float(np.nanmax(costs, initial=0.0)),
        )

    def _named(
        self, row: Estimate, measure: Measure, version: int, policy: Policy | None
    ) -> Estimate:
        """A row with the version and the policy that it is about, and its own choices."""
        label, _, rest = row.signature.partition("|")
        signature = "|".join([label, *self._choices(measure, policy), rest])
        if not self.laid.resample and row.value is not None:
            row = structs.replace(row, reason=f"{NOTHING_VARIES} {self.lifelong.kind.item}")
        if single(self.lifelong):
            return structs.replace(row, signature=signature)
        dims = {**row.dims, "version": self.lifelong.versions[version]}
        weighed = {} if policy is None else {"policy": policy.name}
        return structs.replace(row, dims={**dims, **weighed}, signature=signature)

    def _choices(self, measure: Measure, policy: Policy | None) -> list[str]:
        """What decides the value of a measure besides its score."""
        how, said = self.scoring.chosen(LifelongScoring), []
        if policy is not None and not single(self.lifelong):
            said.append(policy.signature)
        if how.compat and measure.name in ("penalised_score", "generalisation_gain"):
            said.append(f"compat:{how.compat}")
        if measure.name in ("msr", "area_under_curve"):
            said.append(f"cost:{self.laid.cost}")
        if measure.name == "msr" and how.item_seconds is not None:
            said.append(f"item-seconds:{how.item_seconds:g}")
        if measure.name == "area_under_curve" and how.max_cost is not None:
            said.append(f"max-cost:{how.max_cost:g}")
        return said

    def _evidence(self, kind: str, parts: tuple[str, ...]) -> Evidence:
        """The evidence of one set, laid out once."""
        if kind == OFFLINE:
            return self.laid.offline()
        return {"test": self.laid.test, "stream": self.laid.stream, "curve": self.laid.curve}[kind](
            parts
        )

    def _batch(self, evidence: Evidence, wanted: Sequence[Wanted], places: Sequence[int]) -> Batch:
        """Measures that read the same evidence."""
        plan = self.laid.plan(self.scoring.plan)
        return Batch(
            evidence=evidence,
            measures=[
                finished(m, self.across(version, policy or Policy()))
                for m, version, policy in wanted
            ],
            application=self.scoring.application,
            plan=replace(plan, hold=tuple(h for h in plan.hold if h in evidence.factors)),
            context=self._context(dict(self.about)),
            places=places,
            finish=partial(self._all_named, wanted),
        )

    def _all_named(self, wanted: Sequence[Wanted], rows: Sequence[Estimate]) -> list[Estimate]:
        return [self._named(row, *found) for row, found in zip(rows, wanted, strict=True)]

    def _context(self, about: dict[str, str]) -> Context:
        """What the rows say besides their values."""
        lifelong = self.lifelong
        counts: dict[str, float] = {
            "versions": len(lifelong.versions),
            "times": len(lifelong.test.times),
            "runs": len(lifelong.seeds),
        }
        return Context(
            about,
            len(lifelong),
            counts={} if single(lifelong) else counts,
            item=lifelong.kind.item,
            signature=f"resampled:{self.laid.resample or 'nothing'}",
            part_signatures=lifelong.signatures,
            flags=raised(crossed=self.laid.resample == "both"),
        )


def _reads(measure: Measure) -> tuple[str, tuple[str, ...]]:
    """The evidence that a measure reads, and the parts of its score."""
    if measure.name in OFFLINES:
        return OFFLINE, ()
    kind = {"lifelong_score": "stream", "area_under_curve": "curve"}.get(measure.name, "test")
    return kind, () if measure.parameter is None else inner_of(measure.parameter).parts


def finished(measure: Measure, across: Across) -> Measure:
    """A measure with its choices, in the direction and the unit of its score."""
    function = partial(measure.function, how=across)
    if measure.parameter is None:
        return replace(measure, function=function)
    inner = inner_of(measure.parameter)
    direction = inner.direction
    if across.higher is not None:
        direction = "higher" if across.higher else "lower"
    return replace(
        measure,
        function=function,
        parts=inner.parts,
        direction=direction if measure.follows else measure.direction,
        shown_in=inner.shown_in,
        interval=rule_of(measure, inner, across),
    )
