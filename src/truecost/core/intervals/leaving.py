"""Leaving out: what each measure is without single units, at once where its ends need it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.evidence import Evidence
from truecost.core.factors import Factor
from truecost.core.intervals.counted import kish_of
from truecost.core.jackknife import Groups, Later, LeftOut
from truecost.core.measure import Measure
from truecost.core.replication import replicate
from truecost.core.weights import Plan, Weights
from truecost.errors import UsageError
from truecost.names import Method

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Leaving:
    """How units are left out of one set of evidence.

    Attributes
    ----------
    method : {"auto", "percentile", "bca"}
    """

    evidence: Evidence
    application: Application
    plan: Plan
    method: Method
    jobs: int | None

    def each(self, measures: Sequence[Measure]) -> list[tuple[LeftOut, ...]]:
        """Each measure without units of each resampled factor; nothing for percentiles.

        Ends that are made of counts need no value without a unit: only comparisons do, and it is
        computed when one asks.

        Raises
        ------
        UsageError
            When BCa is not defined for these factors.
        """
        if self.method == "percentile":
            return [()] * len(measures)
        if self.method == "bca":
            self._refuse_bca()
        found: list[list[LeftOut]] = [[] for _ in measures]
        for name, factor in self.evidence.factors.items():
            if name in self.plan.hold or factor.count < 1:
                continue
            groups = Groups.of(factor, self.plan.scheme_of(name) == "blocks")
            for later in (False, True):
                chosen = [k for k, m in enumerate(measures) if later == self._later(m)]
                run = partial(self._without, factor, groups, [measures[k] for k in chosen])
                whole = Later(run)
                for at, k in enumerate(chosen):
                    made = Later(partial(_nth, whole, at)) if later else whole()[at]
                    held = kish_of(self.evidence, measures[k], factor)
                    found[k].append(LeftOut.of(name, groups, made, held))
        return [tuple(own) for own in found]

    def _later(self, measure: Measure) -> bool:
        return self.method == "auto" and measure.interval.counts

    def _without(self, factor: Factor, groups: Groups, measures: Sequence[Measure]) -> list[Floats]:
        """The values of measures without each group; of totals, as of all units."""
        weights = Weights.leave_out(factor, groups, self.evidence.factors)
        found = replicate(self.evidence, measures, self.application, weights, self.jobs)
        scale = np.ones(groups.count)
        if groups.strata is None:  # strata are weighed so already
            scale = groups.units / np.maximum(groups.units - groups.removed, 1)
        pairs = zip(measures, found, strict=True)
        return [seen.values * scale if m.total else seen.values for m, seen in pairs]

    def _refuse_bca(self) -> None:
        """Refuse BCa intervals where there is not just one factor of exchangeable units."""
        names = [name for name in self.evidence.factors if name not in self.plan.hold]
        sides = max(p.slots.codes.shape[1] for p in self.evidence.parts.values())
        instead = "use the method auto or percentile"
        if len(names) != 1 or sides > 1:
            raise UsageError(
                f"bca intervals are not defined for crossed factors ({', '.join(names)}): a unit "
                f"left out takes trials of the others with it; {instead}"
            )
        factor = self.evidence.factors[names[0]]
        blocks = self.plan.scheme_of(names[0]) == "blocks"
        for what, there in (
            ("moving blocks: units are not exchangeable", blocks),
            ("strata: their ends do not stay within them", factor.strata is not None),
            ("labels that stand for several units each", factor.sizes is not None),
        ):
            if there:
                raise UsageError(f"bca intervals are not defined for {what}; {instead}")


def _nth(whole: Later[list[Floats]], at: int) -> Floats:
    return whole()[at]
