"""What a reader of a search's figures should know: of its scores, its decisions and its list."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from truecost.measures import Measure
from truecost.tasks.scoring import TermsScoring
from truecost.tasks.terms.fitting import Fits
from truecost.tasks.terms.records import Floats, Search

APART = 0.25  # of the range of the scores: lowest scores of queries further apart are said
SWEPT = ("mtwv", "otwv", "cnxe", "min_cnxe", "cnxe_loss")
ENTROPIES = ("cnxe", "cnxe_loss")


@dataclass(frozen=True, eq=False)
class Remarks:
    """What is odd about a search.

    Attributes
    ----------
    search : Search
    how : TermsScoring
    fits : Fits
        The best maps of the scores.
    """

    search: Search
    how: TermsScoring
    fits: Fits

    def flags(self, measure: Measure) -> dict[str, bool]:
        """Which flags a measure's row raises."""
        least = measure.name in ("min_cnxe", "cnxe_loss")
        fit = self.fits.of(str(measure.parameter)) if least else None
        return {
            "not_llrs": measure.name in ENTROPIES and not self.how.llr,
            "nothing_below": measure.name in SWEPT and self.nothing_below,
            "floors_differ": measure.name in (*ENTROPIES, "min_cnxe") and self.floors_differ,
            "uninformative": fit is not None and fit.reversed,
            "separated": fit is not None and fit.separated,
        }

    @cached_property
    def nothing_below(self) -> bool:
        """Whether nothing was submitted below the system's decision threshold (section 4.1)."""
        return len(self.search) > 0 and bool(self.search.accepted.all())

    @cached_property
    def lowest_by_query(self) -> Floats:
        """The lowest submitted score of each query; NaN where there is none."""
        lowest = np.full(self.search.reference.queries.height, np.inf)
        np.minimum.at(lowest, self.search.query, self.search.score)
        return np.where(np.isinf(lowest), np.nan, lowest)

    @cached_property
    def floors_differ(self) -> bool:
        """Whether the lowest scores of queries lie far apart."""
        known = self.lowest_by_query[~np.isnan(self.lowest_by_query)]
        return floors_differ(known, self.search.score)


def floors_differ(lowest: Floats, scores: Floats) -> bool:
    """Whether the lowest scores of queries lie far apart (paper 002, footnote 6).

    Half of them further apart than a quarter of the range of all scores.

    Parameters
    ----------
    lowest : ndarray of float64, shape (queries,)
        Of the queries that have any.
    scores : ndarray of float64, shape (N,)

    Returns
    -------
    bool
    """
    if len(lowest) < 2:
        return False
    low, high = np.quantile(lowest, (0.25, 0.75))
    return bool(high - low > APART * np.ptp(scores))
