"""Rows of a search for terms, and what a reader of them should know of scores and decisions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from msgspec import structs

from truecost.core.application import Application
from truecost.core.costs import (
    ERRORS,
    ONCE,
    asked_costs,
    no_record,
    refuse_unmeasured,
    refuse_unpriced,
    without_shared,
)
from truecost.core.digits import figure
from truecost.core.estimates import Context
from truecost.core.flags import raised
from truecost.core.intervals.smooth import finite
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.resources.loads import UNITS
from truecost.task import Dims
from truecost.tasks.measures import suiting
from truecost.tasks.terms.counting import Counted, evidence_of
from truecost.tasks.terms.entropy import prior_entropy
from truecost.tasks.terms.measures import COUNTS
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.records import PHASES, Floats, Search

REFUSED = "refuse-inconsistent"


def check_decisions(detections: DetectionList, compat: frozenset[str]) -> tuple[str, ...]:
    """The warning about decisions that contradict the scores; refused with `refuse-inconsistent`.

    Of queries that have a NO above a YES of their own; where there are none, of the whole list.
    """
    least, most = _bounds(detections)
    odd = np.flatnonzero(most > least)
    if len(odd):
        said = f"{counted(len(odd), 'query', 'have')} a NO with a higher score than a YES"
        note = (
            f"{said}, so no threshold makes these decisions: "
            f"{first_five(detections.queries[q] for q in odd)}"
        )
    elif len(least) and most.max() > least.min():
        low, high = detections.queries[least.argmin()], detections.queries[most.argmax()]
        note = (
            f"no single threshold gives all decisions: a NO of query {high} scores "
            f"{figure(most.max())}, a YES of query {low} {figure(least.min())}"
        )
    else:
        return ()
    if REFUSED in compat:
        raise InputError(
            f"{detections.source}: {note}: correct the decisions, or leave out --compat {REFUSED}"
        )
    return (note,)


def _bounds(detections: DetectionList) -> tuple[Floats, Floats]:
    """The least score of a YES and the largest of a NO of each query; infinite without any."""
    least = np.full(len(detections.queries), np.inf)
    most = np.full(len(detections.queries), -np.inf)
    yes = detections.accepted
    np.minimum.at(least, detections.query[yes], detections.score[yes])
    np.maximum.at(most, detections.query[~yes], detections.score[~yes])
    return least, most


APART = 0.25  # of the range of the scores: lowest scores of queries further apart are said
ENTROPIES = ("cnxe", "min_cnxe", "cnxe_loss")
CROSS_ENTROPIES = ("cnxe", "cnxe_loss")
SWEPT = ("mtwv", "otwv", *ENTROPIES)


@dataclass(frozen=True, eq=False)
class Remarks:
    """The oddities of a search."""

    count: Counted

    @property
    def search(self) -> Search:
        """The search for the queries that count."""
        return self.count.search

    def flags(self, measure: Measure) -> tuple[str, ...]:
        """The flags that a measure's row raises."""
        least = measure.name in ("min_cnxe", "cnxe_loss")
        fit = self.count.fit(str(measure.parameter)) if least else None
        return raised(
            not_llrs=measure.name in CROSS_ENTROPIES and not self.count.how.llr,
            nothing_below=measure.name in SWEPT and self.nothing_below,
            floor_costs=measure.name in CROSS_ENTROPIES and self.floor_costs,
            floors_differ=measure.name in ENTROPIES and self.floors_differ,
            uninformative=fit is not None and fit.reversed,
            separated=fit is not None and fit.separated,
        )

    def why_undefined(self, measure: Measure) -> str:
        """The reason why a measure has no value."""
        reference = self.search.reference
        if not reference.targets.height:
            return f"no query has a target ({reference.trial})"
        if measure.name in ENTROPIES and np.isnan(self.count.floor):
            return (
                "nothing was submitted: give the score of the trials that were not (--floor), if "
                "they should count"
            )
        if (reference.targets_by_query >= reference.trials).all():
            return "no query has nontargets"
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
        reference, prior, floor = self.search.reference, self.count.prior, self.count.floor
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
    """Whether the lowest scores of the queries that have any lie far apart.

    Half of them further apart than a quarter of the range of all scores (Rodriguez-Fuentes &
    Penagarikano 2013, footnote 6).
    """
    if len(lowest) < 2:
        return False
    low, high = np.quantile(lowest, (0.25, 0.75))
    return bool(high - low > APART * np.ptp(scores))


DEFAULT_MEASURES = (
    *("atwv", "mtwv", "otwv", "stwv", "p_miss", "p_fa"),
    *("n_targets", "n_correct", "n_false_alarms", "n_missed"),
    *("cnxe", "cnxe:by_query", "min_cnxe", "min_cnxe:by_query", "cnxe_loss"),
)


def measures_of(asked: Sequence[str], *, llr: bool = False) -> list[Measure]:
    """The measures asked for, or those of Rodriguez-Fuentes & Penagarikano 2013.

    With `llr`, for scores of this type, the value at the Bayes threshold too.
    """
    default = (*DEFAULT_MEASURES[:1], "twv_bayes", *DEFAULT_MEASURES[1:])
    names = asked or (default if llr else DEFAULT_MEASURES)
    if loads := [name for name in names if name in UNITS]:
        raise UsageError(
            f"measure {loads[0]!r} is computed from records of resources: give --indexing FILE and "
            "--searching FILE, and leave the measure out"
        )
    found = suiting(names, "terms", "terms", lambda m: "term_targets" in m.parts)
    for measure in found:
        measure.argument()
    return found


def frozen(search: Search, scoring: Scoring) -> Counted:
    """The search as it is scored: its prior, its floor and what is found once."""
    return Counted.from_search(search, scoring.application, scoring.chosen(TermsScoring))


def batches(search: Search, scoring: Scoring, dims: Dims, whole: Counted | None) -> Iterator[Batch]:
    """Two batches: entropies take a prior that replicates do not change."""
    measures = asked_of(search, scoring)
    if "subset" in dims:
        measures = without_shared(measures, scoring.application.prices)
    _require_application(scoring.application, measures)
    if scoring.method == "bca" and scoring.chosen(TermsScoring).factors != "query":
        raise UsageError(
            "bca intervals of terms are defined for resampled queries only: use the method auto "
            "or percentile"
        )
    if whole is None:
        count, application = frozen(search, scoring), scoring.application
    else:
        count, application = replace(whole, whole=search), whole.application
    evidence, remarks = evidence_of(count, measures), Remarks(count)
    for entropies in (False, True):
        places = [k for k, m in enumerate(measures) if (m.name in ENTROPIES) == entropies]
        chosen = [measures[k] for k in places]
        if chosen:
            yield Batch(
                evidence=evidence,
                measures=[
                    replace(m, function=partial(m.function, how=count.averaging)) for m in chosen
                ],
                application=count.application if entropies else application,
                plan=count.plan(scoring.plan),
                context=_context(count, dims),
                places=places,
                finish=partial(_finished, chosen, remarks),
            )


def asked_of(search: Search, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit the scores and the prices."""
    prices = scoring.application.prices
    found = measures_of(scoring.measures, llr=scoring.chosen(TermsScoring).llr)
    if prices.amounts and not scoring.measures:
        found += measures_of(asked_costs(prices))
    refuse_unpriced(found, prices, search.name, ERRORS[:2])
    refuse_unmeasured(found, prices, search.name, lacking(search))
    return found


def lacking(search: Search) -> dict[str, str]:
    """The amounts without a measurement, by key of their price, and how to get one."""
    found = {}
    for key in ONCE:
        phases = [p for p in search.unrecorded if key != "waiting" or p == "searching"]
        where = " and ".join(f"--{phase} FILE" for phase in phases or PHASES)
        if phases or key not in search.took:
            found[key] = no_record(key, where)
    return found


def _require_application(application: Application, measures: Sequence[Measure]) -> None:
    """Refuse to weigh misses and false alarms that nobody gave a price."""
    if any({"costs", "prior"} & {*m.uses} for m in measures):
        application.require_detection()
        if application.costs is None:
            raise UsageError(
                "the costs of misses and false alarms are not given: use --preset nist-std-2006 "
                "(or sws-2013, sws-2012, quesst-2014), or --cost-miss, --cost-fa and --prior"
            )


def _context(count: Counted, dims: Mapping[str, str]) -> Context:
    """The facts that the rows of a search show besides their values."""
    search, how = count.search, count.how
    reference, listed = search.reference, count.whole.reference
    counts: dict[str, float] = {
        "queries": reference.queries.height,
        "queries_without_targets": int((listed.targets_by_query == 0).sum()),
        "documents": len(reference.document_units[0]),
        "seconds": round(reference.seconds, 6),
        "trials_of_a_query": reference.trials,
        "detections": len(search),
        "accepted": int(search.accepted.sum()),
    }
    if count.empirical:
        counts["prior"] = count.application.prior
    false = int((search.accepted & ~search.is_target).sum())
    missed = reference.targets.height - int((search.accepted & search.is_target).sum())
    said = (reference.signature, search.signature, str(count.averaging))
    floor = "" if how.floor is None else f"floor:{how.floor:g}"
    return Context(
        dict(dims),
        reference.queries.height * reference.trials,
        counts=counts,
        signature="|".join(filter(None, said)),
        flags=raised(crossed="," in how.factors),
        part_signatures={"term_floor": floor},
        part_errors={COUNTS[0]: false + missed},
    )


def _finished(
    measures: Sequence[Measure], remarks: Remarks, rows: Sequence[Estimate]
) -> list[Estimate]:
    return [_with_remarks(row, m, remarks) for m, row in zip(measures, rows, strict=True)]


def _with_remarks(row: Estimate, measure: Measure, remarks: Remarks) -> Estimate:
    """A row with its threshold, without what was told of every replicate, and with its flags."""
    counts = {k: v for k, v in row.counts.items() if not k.endswith("_mean")}
    counts["vanished"] = row.counts.get("vanished_mean", 0)
    if not counts["vanished"]:
        del counts["vanished"]
    changed: dict[str, Any] = {}
    if "threshold" in counts:
        changed["threshold"] = finite(counts.pop("threshold"))
    flags = (*row.flags, *raised(vanished="vanished" in counts), *remarks.flags(measure))
    if row.value is None:
        counts = {k: v for k, v in counts.items() if k not in ("p_miss", "p_fa")}
        changed["reason"] = f"undefined: {remarks.why_undefined(measure)}"
    # What is aligned and joined in other ways cannot be paired either.
    made = "|".join((remarks.search.reference.signature, remarks.search.signature))
    alike = f"{row.resampling}|{made}|{remarks.count.averaging}"
    return structs.replace(row, counts=counts, flags=flags, resampling=alike, **changed)
