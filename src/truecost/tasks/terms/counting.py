"""From an aligned search to evidence: sums by query, and the trials in order of score.

Queries are cells whose weights multiply the means (an outer factor). Documents stand on the sides
of the tallies where they are resampled; where they are not, all counts are fixed and a replicate
costs next to nothing. Trials that nobody submitted are numbers, never rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.application import Application
from truecost.errors import InputError, counted
from truecost.evidence import Evidence, Part
from truecost.factors import Factor
from truecost.measures import Measure
from truecost.measures.term_entropy import DERIVATIVES
from truecost.ranking import Ranking
from truecost.slots import Sides, Slots
from truecost.tally import Tally
from truecost.tasks.scoring import TermsScoring
from truecost.tasks.terms.fitting import Fits, derivatives
from truecost.tasks.terms.records import Search

Array = npt.NDArray[Any]


def evidence_of(
    search: Search,
    application: Application,
    measures: Sequence[Measure],
    how: TermsScoring,
    fits: Fits,
) -> Evidence:
    """What these measures read of a search.

    Parameters
    ----------
    search : Search
    application : Application
        With a prior of its own.
    measures : sequence of Measure
    how : TermsScoring
    fits : Fits
        The best maps of the scores.

    Returns
    -------
    Evidence
        With the queries as outer factor, and the documents where they are resampled.

    Raises
    ------
    InputError
        When a query has as many targets as trials, or there are more detections than trials.
    """
    refuse_few_trials(search)
    names = {m.name for m in measures}
    parts: dict[str, Part] = {}
    count = _Counting(search, application, how, fits)
    entropies = not names.isdisjoint(("cnxe", "cnxe_loss"))
    variants = {str(m.parameter) for m in measures if m.name in ("min_cnxe", "cnxe_loss")}
    if entropies or variants:
        refuse_many_detections(search, how)
    parts |= count.counts(bayes="twv_bayes" in names, entropies=entropies)
    parts["term_audio"] = count.audio()
    if any("term_trials" in m.parts for m in measures):
        parts["term_trials"] = count.ranking()
    for variant in sorted(variants):
        parts |= count.fit(variant)
    return Evidence(parts, outer=(count.queries,))


def refuse_few_trials(search: Search) -> None:
    """Refuse a query with more occurrences than trials: InputError."""
    reference = search.reference
    most = reference.targets_by_query.max(initial=0)
    if reference.unit == "occurrence" and most >= reference.trials:
        at = int(np.argmax(reference.targets_by_query))
        raise InputError(
            f"query {reference.queries['query'][at]!r} has {counted(int(most), 'occurrence')} but "
            f"only {counted(reference.trials, 'trial')} in {reference.seconds:g} s: raise the "
            f"trials per second (--trials-per-second)"
        )


def refuse_many_detections(search: Search, how: TermsScoring) -> None:
    """Refuse more unaligned detections than there are nontarget trials: InputError."""
    reference = search.reference
    used = np.ones(reference.queries.height, bool) if how.every else reference.targets_by_query > 0
    others = int((reference.trials - reference.targets_by_query[used]).sum())
    false = int((~search.is_target & used[search.query]).sum())
    if false > others:
        raise InputError(
            f"{search.name}: {counted(false, 'detection', 'match')} no target, but there are only "
            f"{counted(others, 'nontarget trial')} ({reference.trials} of each query): "
            f"cross entropy needs more trials per second (--trials-per-second)"
        )


@dataclass(frozen=True, eq=False)
class _Counting:
    search: Search
    application: Application
    how: TermsScoring
    fits: Fits

    def counts(self, *, bayes: bool, entropies: bool) -> dict[str, Part]:
        """The tallies of targets and of nontargets, and the cost of a trial at the floor."""
        search = self.search
        logit = -self.application.threshold if bayes or entropies else np.nan
        hit, missed = search.is_target, ~search.is_target
        targets = search.reference.targets
        by = search.target[hit]

        def of_targets(values: Array) -> Array:
            out = np.zeros(targets.height, values.dtype)
            out[by] = values
            return out

        right: dict[str, Array] = {
            "targets": np.ones(targets.height, np.int64),
            "found": search.found.astype(np.int64),
            "correct": of_targets(search.accepted[hit].astype(np.int64)),
        }
        wrong: dict[str, Array] = {
            "submitted": np.ones(int(missed.sum()), np.int64),
            "false_alarms": search.accepted[missed].astype(np.int64),
        }
        if bayes:
            above = (search.score >= self.application.threshold).astype(np.int64)
            right["correct_bayes"], wrong["false_alarms_bayes"] = (
                of_targets(above[hit]),
                above[missed],
            )
        if entropies:
            right["cost"] = of_targets(np.logaddexp(0.0, -(search.score[hit] + logit)))
            wrong["cost"] = np.logaddexp(0.0, search.score[missed] + logit)
        query, place = (targets[c].to_numpy() for c in ("query", "place"))
        parts: dict[str, Part] = {
            "term_targets": self._tally(query, place, right),
            "term_nontargets": self._tally(search.query[missed], search.place[missed], wrong),
        }
        if entropies:
            costs = {"target": -(self.fits.floor + logit), "nontarget": self.fits.floor + logit}
            with np.errstate(invalid="ignore"):  # there is no floor where nothing was submitted
                fixed = {name: float(np.logaddexp(0.0, z)) for name, z in costs.items()}
            parts["term_floor"] = _numbers(fixed)
        return parts

    def audio(self) -> Tally:
        """Trials of a query and seconds."""
        documents = self.search.reference.documents
        values = {c: documents[c].to_numpy().astype(np.float64) for c in ("trials", "seconds")}
        if not self._by_document:
            return _numbers({name: float(column.sum()) for name, column in values.items()})
        return Tally.count(self._sides(np.arange(documents.height)), values)

    def ranking(self) -> Ranking:
        """The submitted trials by score; those of queries that weigh nothing are left out."""
        search = self.search
        targets = search.reference.targets_by_query
        used = np.ones(len(search), bool) if self.how.every else targets[search.query] > 0
        sides = [(self.queries, search.query[used]), *self._sides(search.place[used])]
        return Ranking.of(search.score[used], search.is_target[used].astype(np.uint8), sides)

    def fit(self, variant: str) -> dict[str, Part]:
        """The least cross entropy of affine maps: loss and derivatives there, by trial."""
        search, fit = self.search, self.fits.of(variant)
        lowest = np.array([self.fits.floor])
        floors = {"scale": fit.scale, "separated": float(fit.separated)}
        parts: dict[str, Part] = {}
        for what, right in (("targets", True), ("nontargets", False)):
            rows = search.is_target == right
            found = derivatives(search.score[rows], fit, target=right)
            columns = dict(zip(DERIVATIVES, found, strict=True))
            parts[f"term_fit_{what}_{variant}"] = self._tally(
                search.query[rows], search.place[rows], columns
            )
            at_floor = derivatives(lowest, fit, target=right)
            for name, column in zip(DERIVATIVES, at_floor, strict=True):
                floors[f"{what}_{name}"] = float(column[0])
        return {**parts, f"term_fit_floor_{variant}": _numbers(floors)}

    @cached_property
    def queries(self) -> Factor:
        """The queries as units of resampling."""
        return self.search.reference.query_units(self.how.query_unit)

    @property
    def _by_document(self) -> bool:
        return self.how.resample != "query"

    def _sides(self, place: Array) -> Sides:
        """The documents of rows, where they are resampled."""
        if not self._by_document:
            return []
        factor, codes = self.search.reference.document_units
        return [(factor, codes[place])]

    def _tally(self, query: Array, place: Array, statistics: Mapping[str, Array]) -> Tally:
        """Sums by query, and by document where documents are resampled."""
        labels = tuple(str(x) for x in self.search.reference.query_factor.labels)
        if self._by_document:
            axes = {"query": (labels, query)}
            return Tally.count(self._sides(place), statistics, axes)
        sums = [_by_query(query, column, len(labels)) for column in statistics.values()]
        return _fixed(np.stack(sums, axis=1), {"query": labels}, tuple(statistics))


def _by_query(query: Array, column: Array, queries: int) -> Array:
    """Sum of a column for each query; counts stay whole."""
    found = np.bincount(query, column, queries)
    return np.rint(found).astype(np.int64) if column.dtype.kind in "iu" else found


def _fixed(values: Array, axes: Mapping[str, tuple[str, ...]], names: tuple[str, ...]) -> Tally:
    """A tally of what no resampling changes."""
    none = Slots((), np.zeros((0, 1), np.int32))
    empty = np.zeros((0, len(names)), values.dtype)
    return Tally(none, np.zeros(0, np.int64), empty, axes, names, values)


def _numbers(values: Mapping[str, float]) -> Tally:
    """A tally of single numbers that no resampling changes."""
    return _fixed(np.array([*values.values()], np.float64), {}, tuple(values))
