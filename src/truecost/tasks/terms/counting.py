"""From an aligned search to evidence: the queries that count, sums by query, and ranked trials.

Rows, tables by query and reports all start from here, so that the trials are sorted once and each
affine map is fitted once.

Queries are cells whose weights multiply the means (an outer factor). Documents stand on the sides
of the tallies where they are resampled; where they are not, all counts are fixed and a replicate
costs next to nothing. Trials that nobody submitted are numbers, never rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from truecost.core.application import Application
from truecost.core.costs import TOOK
from truecost.core.evidence import Evidence, Part
from truecost.core.factors import Factor
from truecost.core.measure import Array, Measure
from truecost.core.ranking import Ranking
from truecost.core.tally import Tally
from truecost.core.unit_index import UnitColumns
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted
from truecost.prices import COSTS
from truecost.tasks.terms.entropy import DERIVATIVES, Fit, derivatives
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.pooling import Averaging
from truecost.tasks.terms.records import Codes, Reference, Search


@dataclass(frozen=True, eq=False)
class Counted:
    """A search for one application."""

    whole: Search  # with all queries of the list
    application: Application  # with a prior of its own, unless it has no costs
    how: TermsScoring
    empirical: bool = False  # the prior was taken from the data
    _fits: dict[str, Fit] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def from_search(search: Search, application: Application, how: TermsScoring) -> "Counted":
        """The search for an application, the same object whenever it is asked for again."""
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
        """Whether each query of the whole list counts."""
        targets = self.whole.reference.targets_by_query
        return np.ones(len(targets), bool) if self.how.every else targets > 0

    @property
    def floor(self) -> float:
        """Score of the trials that were not submitted; NaN where it is not known."""
        return self.whole.lowest if self.how.floor is None else self.how.floor

    @property
    def prior(self) -> float:
        """Effective prior of the application; NaN where it has none."""
        return self.application.effective_prior if self.application.priors else np.nan

    def fit(self, variant: str) -> Fit:
        """The best affine map of the scores of a variant, found once."""
        if variant not in self._fits:
            known = (self.search, self.prior, self.floor, self.how.every)
            self._fits[variant] = Fit.best(*known, variant)
        return self._fits[variant]

    @property
    def averaging(self) -> Averaging:
        """The averaging of queries."""
        compat = self.whole.reference.compat
        return Averaging(
            *(self.how.every, self.how.pooled),
            one_query="pool-trials" in compat,
            reject_all="no-reject-all" not in compat,
            false_first="false-alarms-first" in compat,
        )

    @cached_property
    def queries(self) -> Factor:
        """The queries that count as units of resampling."""
        return self.search.reference.query_units(self.how.query_unit)

    @property
    def by_document(self) -> bool:
        """Whether documents are resampled."""
        return self.how.factors != "query"

    def documents(self, place: Codes) -> UnitColumns:
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
        return Ranking.from_scores(search.score, search.is_target.astype(np.uint8), sides)

    def plan(self, plan: Plan) -> Plan:
        """How queries, documents or both are drawn."""
        if plan.scheme == "blocks":
            raise UsageError(
                "moving blocks need units in time order, but queries and documents have no order"
            )
        held = (self.queries.name,) if self.how.factors == "document" else ()
        return replace(plan, hold=held)


def with_prior(application: Application, search: Search | Reference) -> Application:
    """The application with the prior that the data have, for cross entropies.

    P = Ntrue / N (Rodriguez-Fuentes & Penagarikano 2013, Eq. 17), frozen: replicates of the whole
    take their own for term-weighted values, subsets that of the whole.
    """
    if application.priors is not None or application.costs is None:
        return application
    reference = search.reference if isinstance(search, Search) else search
    prior = reference.targets.height / max(1, reference.trials)
    if not 0 < prior < 1:
        raise UsageError(
            f"{search.name}: the prior from the data is {prior:g} (Ntrue / N, Rodriguez-Fuentes & "
            f"Penagarikano 2013, Eq. 17): "
            f"it must lie between 0 and 1; give one (--prior)"
        )
    return application.with_priors((1 - prior, prior))


def _refuse_floor(search: Search, how: TermsScoring) -> None:
    """Refuse a score of unsubmitted trials above that of submitted ones (Rodriguez-Fuentes &
    Penagarikano 2013, Eq. 42).
    """
    if how.floor is not None and how.floor > search.lowest:
        raise UsageError(
            f"{search.name}: --floor {how.floor:g} is above the lowest submitted score "
            f"{search.lowest:g}: give at most this score, as unsubmitted trials score lower"
        )


def evidence_of(count: Counted, measures: Sequence[Measure]) -> Evidence:
    """The evidence of a search for these measures, with the queries as outer factor."""
    refuse_few_trials(count.search)
    names = {m.name for m in measures}
    entropies = not names.isdisjoint(("cnxe", "cnxe_loss"))
    variants = {str(m.parameter) for m in measures if m.name in ("min_cnxe", "cnxe_loss")}
    if entropies or variants:
        refuse_many_detections(count)
    parts: dict[str, Part] = dict(_counts(count, bayes="twv_bayes" in names, entropies=entropies))
    parts["term_audio"] = _audio(count)
    if any("term_trials" in m.parts for m in measures):
        parts["term_trials"] = count.ranking
    for variant in sorted(variants):
        parts |= _fit(count, variant)
    if (spent := count.search.took) and not names.isdisjoint(COSTS):
        parts[TOOK] = _numbers(spent)
    return Evidence(parts, outer=(count.queries,))


def refuse_few_trials(search: Search) -> None:
    """Refuse a query with more occurrences than trials: InputError."""
    reference = search.reference
    most = reference.targets_by_query.max(initial=0)
    if reference.trial == "occurrence" and most >= reference.trials:
        at = int(np.argmax(reference.targets_by_query))
        raise InputError(
            f"query {reference.queries['query'][at]!r} has {counted(int(most), 'occurrence')} but "
            f"only {counted(reference.trials, 'trial')} in {reference.seconds:g} s: raise the "
            f"trials per second (--trials-per-second)"
        )


def refuse_many_detections(count: Counted) -> None:
    """Refuse more unaligned detections than there are nontarget trials: InputError."""
    search, reference = count.search, count.search.reference
    others = int((reference.trials - reference.targets_by_query).sum())
    false = int((~search.is_target).sum())
    if false > others:
        raise InputError(
            f"{search.name}: {counted(false, 'detection', 'match')} no target, but there are only "
            f"{counted(others, 'nontarget trial')} ({reference.trials} of each query): "
            f"cross entropy needs more trials per second (--trials-per-second)"
        )


def _counts(count: Counted, *, bayes: bool, entropies: bool) -> dict[str, Part]:
    """The tallies of targets and of nontargets, and the cost of a trial at the floor."""
    search, application = count.search, count.application
    logit = -application.threshold if bayes or entropies else np.nan
    hit, missed = search.is_target, ~search.is_target
    targets = search.reference.targets

    def of_targets(values: Array) -> Array:
        out = np.zeros(targets.height, values.dtype)
        out[search.target[hit]] = values
        return out

    found, correct = (
        search.found.astype(np.int64),
        of_targets(search.accepted[hit].astype(np.int64)),
    )
    right: dict[str, Array] = {"targets": np.ones(targets.height, np.int64), "found": found}
    right |= {"correct": correct, "missed": 1 - correct, "unfound": 1 - found}
    wrong: dict[str, Array] = {
        "submitted": np.ones(int(missed.sum()), np.int64),
        "false_alarms": search.accepted[missed].astype(np.int64),
    }
    if bayes:
        above = (search.score >= application.threshold).astype(np.int64)
        right["correct_bayes"] = of_targets(above[hit])
        right["missed_bayes"] = 1 - right["correct_bayes"]
        wrong["false_alarms_bayes"] = above[missed]
    if entropies:
        right["cost"] = of_targets(np.logaddexp(0.0, -(search.score[hit] + logit)))
        wrong["cost"] = np.logaddexp(0.0, search.score[missed] + logit)
    query, place = (targets[c].to_numpy() for c in ("query", "place"))
    parts: dict[str, Part] = {
        "term_targets": _tally(count, query, place, right),
        "term_nontargets": _tally(count, search.query[missed], search.place[missed], wrong),
    }
    if entropies:
        costs = {"target": -(count.floor + logit), "nontarget": count.floor + logit}
        with np.errstate(invalid="ignore"):  # there is no floor where nothing was submitted
            fixed = {name: float(np.logaddexp(0.0, z)) for name, z in costs.items()}
        parts["term_floor"] = _numbers(fixed)
    return parts


def _audio(count: Counted) -> Tally:
    """Trials of a query and seconds."""
    documents = count.search.reference.documents
    values = {c: documents[c].to_numpy().astype(np.float64) for c in ("trials", "seconds")}
    if not count.by_document:
        return _numbers({name: float(column.sum()) for name, column in values.items()})
    return Tally.count(count.documents(np.arange(documents.height, dtype=np.int32)), values)


def _fit(count: Counted, variant: str) -> dict[str, Part]:
    """The least cross entropy of affine maps: loss and derivatives there, by trial."""
    search, fit = count.search, count.fit(variant)
    lowest = np.array([count.floor])
    floors = {"scale": fit.scale, "separated": float(fit.separated)}
    parts: dict[str, Part] = {}
    for what, right in (("targets", True), ("nontargets", False)):
        rows = search.is_target == right
        found = derivatives(search.score[rows], fit, target=right)
        columns = dict(zip(DERIVATIVES, found, strict=True))
        tally = _tally(count, search.query[rows], search.place[rows], columns)
        parts[f"term_fit_{what}_{variant}"] = tally
        at_floor = derivatives(lowest, fit, target=right)
        for name, column in zip(DERIVATIVES, at_floor, strict=True):
            floors[f"{what}_{name}"] = float(column[0])
    return {**parts, f"term_fit_floor_{variant}": _numbers(floors)}


def _tally(count: Counted, query: Array, place: Array, statistics: Mapping[str, Array]) -> Tally:
    """Sums by query, and by document where documents are resampled."""
    labels = tuple(str(x) for x in count.search.reference.query_factor.labels)
    if count.by_document:
        return Tally.count(count.documents(place), statistics, {"query": (labels, query)})
    sums = [_by_query(query, column, len(labels)) for column in statistics.values()]
    return Tally.constant(np.stack(sums, axis=1), tuple(statistics), {"query": labels})


def _by_query(query: Array, column: Array, queries: int) -> Array:
    """Sum of a column for each query; counts stay whole."""
    found = np.bincount(query, column, queries)
    return np.rint(found).astype(np.int64) if column.dtype.kind in "iu" else found


def _numbers(values: Mapping[str, float]) -> Tally:
    """A tally of single numbers that no resampling changes."""
    return Tally.constant(np.array([*values.values()], np.float64), tuple(values), {})
