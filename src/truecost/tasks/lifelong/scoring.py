"""Rows of a life cycle: scores across time by policy, what was forgotten, what help cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from msgspec import structs

from truecost.errors import UsageError
from truecost.estimates import Context, estimate
from truecost.evidence import Evidence
from truecost.flags import raised
from truecost.measures import Measure
from truecost.measures.across import Across
from truecost.measures.lifelong import follows_score, inner_of, rule_of
from truecost.measures.supervision import OFFLINE
from truecost.results import Estimate
from truecost.tasks.lifelong.choosing import OF_POLICY, OFFLINES, measures_of, single
from truecost.tasks.lifelong.direction import refuse_unsaid
from truecost.tasks.lifelong.evidence import Laid
from truecost.tasks.lifelong.policies import Policy
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.scoring import Scoring
from truecost.tasks.subsets import Masks

NOTHING_VARIES = "no interval: there is one run, and at each time one"
Wanted = tuple[Measure, int, Policy | None]  # a measure of a version, under a policy if it has one


def score_lifelong(
    lifelong: Lifelong,
    scoring: Scoring,
    masks: Masks | None = None,
    dims: Mapping[str, str] | None = None,
) -> list[Estimate]:
    """Rows of one system, as `truecost.score` says: of the whole, then of each subset."""
    how = scoring.lifelong
    measures = measures_of(scoring.measures, lifelong, how)
    refuse_unsaid(lifelong)
    if scoring.method == "bca":
        raise UsageError(
            "bca intervals are not defined for life cycles (items are drawn within their times): "
            "use the method auto or percentile"
        )
    about = {**(dims or {}), "system": lifelong.name, **lifelong.about}
    rows = Rows(lifelong, scoring, about).of(measures)
    if masks is None:
        masks = [mask for subset in scoring.subsets for mask in lifelong.masks(subset)]
    inside = [m for m in measures if m.name not in ("lifelong_score", *OFFLINES)]
    for name, mask in masks:
        part = Rows(lifelong.take(mask), scoring, {**about, "subset": name})
        rows += part.of(inside)
    return rows


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
    """The rows of one set of items.

    Attributes
    ----------
    lifelong : Lifelong
    scoring : Scoring
    about : mapping of str to str
    """

    lifelong: Lifelong
    scoring: Scoring
    about: Mapping[str, str]

    @cached_property
    def laid(self) -> Laid:
        """The statistics, laid out."""
        return Laid(self.lifelong, self.scoring.lifelong)

    @cached_property
    def versions(self) -> range:
        """Places of the versions that get rows."""
        learnt = self.lifelong.learnt
        first = min(int(np.isinf(learnt).sum()), len(learnt) - 1)  # M_0 has no window of its own
        return range(first if self.scoring.lifelong.every_version else len(learnt) - 1, len(learnt))

    def of(self, measures: Sequence[Measure]) -> list[Estimate]:
        """Each version: under each policy, then what no policy enters."""
        return [row for of in self.by_version(measures) for row in of]

    def by_version(self, measures: Sequence[Measure]) -> list[list[Estimate]]:
        """The rows of each version, all estimated from the same replicates."""
        wanted: list[Wanted] = [
            (measure, version, policy)
            for version in self.versions
            for policy in (*self.scoring.lifelong.policies, None)
            for measure in measures
            if (measure.name in OF_POLICY) == (policy is not None)
        ]
        rows: dict[int, Estimate] = {}
        for read in dict.fromkeys(_reads(measure) for measure, _, _ in wanted):
            places = [k for k, (measure, _, _) in enumerate(wanted) if _reads(measure) == read]
            found = self._estimates(self._evidence(*read), [wanted[k] for k in places])
            rows |= zip(places, found, strict=True)
        named = [self._named(rows[k], *found) for k, found in enumerate(wanted)]
        size = len(named) // len(self.versions)
        return [named[start : start + size] for start in range(0, len(named), size or 1)]

    def across(self, version: int, policy: Policy) -> Across:
        """Which cells make the figures of a version under a policy."""
        how, lifelong = self.scoring.lifelong, self.lifelong
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
            compat=how.compat,
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
        how, said = self.scoring.lifelong, []
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

    def _estimates(self, evidence: Evidence, wanted: Sequence[Wanted]) -> list[Estimate]:
        """Rows of measures that read the same evidence."""
        scoring, about = self.scoring, dict(self.about)
        tell, what = scoring.progress, " ".join(about.values())
        plan = self.laid.plan(scoring.plan)
        plan = replace(plan, hold=tuple(h for h in plan.hold if h in evidence.factors))
        return estimate(
            evidence,
            [
                finished(m, self.across(version, policy or Policy()))
                for m, version, policy in wanted
            ],
            scoring.application,
            plan,
            level=scoring.level,
            method=scoring.method,
            icc=scoring.icc,
            context=self._context(about),
            jobs=scoring.jobs,
            progress=None if tell is None else lambda done, total: tell(what, done, total),
        )

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
        direction=direction if follows_score(measure) else measure.direction,
        shown_in=inner.shown_in,
        interval=rule_of(measure, inner, across),
    )
