"""What all curves share: a system under its weights, bands, thinning, numbers as a table.

Conventions: everything is computed from all trials at full resolution; thinning only leaves out
points that a picture cannot show. A band holds percentile intervals from the same weights as the
rows, of the first `BAND_REPLICATES` replicates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.intervals import interval
from truecost.core.replication import by_block
from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.core.weights import Weights
from truecost.tasks.trials.counting import parts_of
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
DRAWN = 600  # points of a drawn curve: more cannot be told apart
GRID = 60  # places at which a band is computed
BAND_REPLICATES = 500


Scorings = Scoring | Mapping[str, Scoring]  # one for all systems, or one for each name


class Scored(Protocol):
    """Systems and how they were scored: an outcome, or one part of it."""

    @property
    def systems(self) -> Sequence[Trials]:
        """The systems, in the order in which they are drawn."""

    @property
    def scoring(self) -> Scorings:
        """How they were scored: all alike, or each by its name."""


def each(systems: Sequence[Trials], scoring: Scorings) -> list[tuple[Trials, Scoring]]:
    """Every system with its scoring."""
    return [(t, scoring if isinstance(scoring, Scoring) else scoring[t.name]) for t in systems]


def ranked(systems: Sequence[Trials], scoring: Scorings) -> list[tuple[Trials, Scoring]]:
    """Those detection systems whose scores rank trials."""
    return [
        (t, s) for t, s in each(systems, scoring) if t.detection and "ranking" in parts_of(t, s)
    ]


@dataclass(frozen=True, eq=False)
class Weighed:
    """The ranking of a system with weights of one, and replicate by replicate.

    Attributes
    ----------
    evidence : Evidence
        With the part `ranking`.
    """

    evidence: Evidence
    scoring: Scoring

    @cached_property
    def point(self) -> Totals:
        """With weights of one."""
        return totals(self.evidence, Weights.ones(self.evidence.factors).block())

    @property
    def sweep(self) -> Sweep:
        """The ranking with weights of one."""
        return self.point.sweep("ranking")

    def band(self, of: Callable[[Sweep], Floats]) -> tuple[Floats, Floats]:
        """Ends of the interval of each column that a function gives.

        Parameters
        ----------
        of : callable
            From a sweep to an array of shape (replicates, places).

        Returns
        -------
        lower, upper : ndarray of float64, shape (places,)
            NaN where no replicate is defined, and when there is nothing to resample.
        """
        plan = self.scoring.plan
        weights = replace(plan, replicates=min(BAND_REPLICATES, plan.replicates)).weights(
            self.evidence.factors
        )
        parts = by_block(
            self.evidence, weights, lambda seen: of(seen.sweep("ranking")), self.scoring.jobs
        )
        drawn = np.concatenate(parts)
        if min(len(f) for f in self.evidence.factors.values()) < 2:
            return np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
        ends = np.array([interval(column, self.scoring.level) for column in drawn.T])
        return ends[:, 0], ends[:, 1]
