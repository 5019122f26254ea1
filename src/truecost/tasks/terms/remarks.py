"""What a reader of a search's figures should know: of its scores, its decisions and its list."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.errors import counted
from truecost.tasks.terms.counted import Counted
from truecost.tasks.terms.measures.term_entropy import prior_entropy
from truecost.tasks.terms.records import Floats, Search

APART = 0.25  # of the range of the scores: lowest scores of queries further apart are said
SWEPT = ("mtwv", "otwv", "cnxe", "min_cnxe", "cnxe_loss")
ENTROPIES = ("cnxe", "cnxe_loss")


@dataclass(frozen=True, eq=False)
class Remarks:
    """What is odd about a search."""

    count: Counted

    @property
    def search(self) -> Search:
        """The search for the queries that count."""
        return self.count.search

    def flags(self, measure: Measure) -> tuple[str, ...]:
        """The flags that a measure's row raises."""
        least = measure.name in ("min_cnxe", "cnxe_loss")
        fit = self.count.fits.of(str(measure.parameter)) if least else None
        return raised(
            not_llrs=measure.name in ENTROPIES and not self.count.how.llr,
            nothing_below=measure.name in SWEPT and self.nothing_below,
            floor_costs=measure.name in ENTROPIES and self.floor_costs,
            floors_differ=measure.name in (*ENTROPIES, "min_cnxe") and self.floors_differ,
            uninformative=fit is not None and fit.reversed,
            separated=fit is not None and fit.separated,
        )

    def why_undefined(self, measure: Measure) -> str:
        """Why a measure has no value here."""
        reference = self.search.reference
        if not reference.targets.height:
            return f"no query has a target ({reference.unit})"
        if measure.name in (*ENTROPIES, "min_cnxe") and np.isnan(self.count.floor):
            return (
                "nothing was submitted: give the score of the trials that were not (--floor), if "
                "they should count"
            )
        if (reference.targets_by_query >= reference.trials).all():
            return "no query has a trial that is no target"
        wrong = self.search.query[~self.search.is_target]
        false = np.bincount(wrong, minlength=reference.queries.height)
        others = reference.trials - reference.targets_by_query
        short = np.flatnonzero(false > others)
        if len(short) and "by_query" in str(measure.parameter):
            at = int(short[0])
            return (
                f"{counted(int(false[at]), 'detection')} of query {reference.queries['query'][at]} "
                f"match no target, but it has only {counted(int(others[at]), 'other trial')}: "
                f"raise the trials per second (--trials-per-second)"
            )
        return measure.undefined

    @cached_property
    def nothing_below(self) -> bool:
        """Whether nothing was submitted below the system's decision threshold (section 4.1)."""
        return len(self.search) > 0 and bool(self.search.accepted.all())

    @cached_property
    def floor_costs(self) -> bool:
        """Whether the trials that were not submitted cost more than the prior alone."""
        reference, prior, floor = self.search.reference, self.count.fits.prior, self.count.floor
        targets = reference.targets_by_query
        others = int((reference.trials - targets).sum())
        false = int((~self.search.is_target).sum())
        if not others or not targets.any() or np.isnan(floor) or np.isnan(prior):
            return False
        z = floor + np.log(prior) - np.log1p(-prior)
        missed = float((~self.search.found).mean())
        cost = prior * missed * np.logaddexp(0, -z)
        cost += (1 - prior) * (others - false) / others * np.logaddexp(0, z)
        return bool(cost > prior_entropy(prior))

    @cached_property
    def floors_differ(self) -> bool:
        """Whether the lowest scores of queries lie far apart."""
        lowest = self.search.lowest_by_query
        known = lowest[~np.isnan(lowest)]
        return floors_differ(known, self.search.score)


def floors_differ(lowest: Floats, scores: Floats) -> bool:
    """Whether the lowest scores of queries lie far apart (paper 002, footnote 6).

    Half of them further apart than a quarter of the range of all scores.

    Parameters
    ----------
    lowest : ndarray of float64, shape (queries,)
        Of the queries that have any.
    scores : ndarray of float64, shape (N,)
    """
    if len(lowest) < 2:
        return False
    low, high = np.quantile(lowest, (0.25, 0.75))
    return bool(high - low > APART * np.ptp(scores))
