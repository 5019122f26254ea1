"""A search as it is scored: the queries that count, its prior, its floor, and what is found once.

Rows, tables by query and reports all start from here, so that the trials are sorted once and each
affine map is fitted once.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from truecost.core.application import Application
from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.unit_index import Sides
from truecost.core.weights import Plan
from truecost.errors import UsageError
from truecost.tasks.terms.fitting import Fits
from truecost.tasks.terms.measures.term_shares import Averaging
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.records import Codes, Search


@dataclass(frozen=True, eq=False)
class Counted:
    """A search for one application.

    Attributes
    ----------
    whole : Search
        With all queries of the list.
    application : Application
        With a prior of its own, unless it has no costs.
    empirical : bool
        Whether the prior was taken from the data.
    """

    whole: Search
    application: Application
    how: TermsScoring
    empirical: bool = False

    @staticmethod
    def of(search: Search, application: Application, how: TermsScoring) -> "Counted":
        """The search for an application, the same object whenever it is asked for again.

        Raises
        ------
        UsageError
            When the floor lies above a submitted score, or the prior from the data is none.
        """
        key = (application, how)
        if key not in search.known:
            _refuse_floor(search, how)
            known = with_prior(application, search)
            search.known[key] = Counted(search, known, how, known is not application)
        found = search.known[key]
        assert isinstance(found, Counted)
        return found

    @cached_property
    def search(self) -> Search:
        """The search for the queries that count: those with targets, unless every one does.

        The whole where no query has a target.
        """
        known = self.counts
        if known.all() or not known.any():
            return self.whole
        documents = np.ones(self.whole.reference.documents.height, bool)
        return self.whole.take(np.append(known, documents))

    @cached_property
    def counts(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which queries of the whole list count."""
        targets = self.whole.reference.targets_by_query
        return np.ones(len(targets), bool) if self.how.every else targets > 0

    @property
    def floor(self) -> float:
        """Score of the trials that were not submitted; NaN where it is not known."""
        return self.whole.lowest if self.how.floor is None else self.how.floor

    @cached_property
    def fits(self) -> Fits:
        """The best affine maps of the scores."""
        prior = self.application.effective_prior if self.application.priors else np.nan
        return Fits(self.search, prior, self.floor, self.how.every)

    @property
    def averaging(self) -> Averaging:
        """How queries are joined."""
        compat = self.whole.reference.compat
        one_query, reject_all = "pool-trials" in compat, "no-reject-all" not in compat
        false_first = "false-alarms-first" in compat
        return Averaging(self.how.every, self.how.pooled, one_query, reject_all, false_first)

    @cached_property
    def queries(self) -> Factor:
        """The queries that count as units of resampling."""
        return self.search.reference.query_units(self.how.query_unit)

    @property
    def by_document(self) -> bool:
        """Whether documents are resampled."""
        return self.how.resample != "query"

    def documents(self, place: Codes) -> Sides:
        """The documents of rows, where they are resampled."""
        if not self.by_document:
            return []
        factor, codes = self.search.reference.document_units
        return [(factor, codes[place])]

    @cached_property
    def ranking(self) -> Ranking:
        """The submitted trials by score."""
        search = self.search
        sides = [(self.queries, search.query), *self.documents(search.place)]
        return Ranking.of(search.score, search.is_target.astype(np.uint8), sides)

    def plan(self, plan: Plan) -> Plan:
        """How queries, documents or both are drawn.

        Raises
        ------
        UsageError
            When moving blocks are asked for: queries have no order.
        """
        if plan.scheme == "blocks":
            raise UsageError(
                "moving blocks need units in time order: queries and documents have none"
            )
        held = (self.queries.name,) if self.how.resample == "document" else ()
        return replace(plan, hold=held)


def with_prior(application: Application, search: Search) -> Application:
    """The application with the prior that the data have, for cross entropies.

    P = Ntrue / N (paper 002, Eq. 17), frozen: replicates of the whole take their own for
    term-weighted values, subsets that of the whole.
    """
    if application.priors is not None or application.costs is None:
        return application
    reference = search.reference
    prior = reference.targets.height / max(1, reference.trials)
    if not 0 < prior < 1:
        raise UsageError(
            f"{search.name}: the prior from the data is {prior:g} (Ntrue / N, paper 002, Eq. 17): "
            f"it must lie between 0 and 1; give one (--prior)"
        )
    return application.with_priors((1 - prior, prior))


def _refuse_floor(search: Search, how: TermsScoring) -> None:
    """Refuse a score of unsubmitted trials above that of submitted ones (paper 002, Eq. 42)."""
    if how.floor is not None and how.floor > search.lowest:
        raise UsageError(
            f"{search.name}: the floor {how.floor:g} lies above the lowest submitted score "
            f"{search.lowest:g}: trials that were not submitted score lower than those that were"
        )
