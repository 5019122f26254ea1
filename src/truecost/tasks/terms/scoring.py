"""Rows of a search for terms: every measure of the whole, then of each subset."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from truecost.core.application import Application
from truecost.core.batches import Batch
from truecost.core.estimates import Context
from truecost.core.flags import raised
from truecost.core.intervals import finite
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import UsageError
from truecost.task import Dims
from truecost.tasks.measures import find, registry
from truecost.tasks.terms.counted import Counted
from truecost.tasks.terms.counting import evidence_of
from truecost.tasks.terms.measures.term_shares import Averaging
from truecost.tasks.terms.measures.terms import COUNTS
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.records import Search
from truecost.tasks.terms.remarks import Remarks

DEFAULT_MEASURES = (
    "atwv",
    "mtwv",
    "otwv",
    "stwv",
    "pmiss",
    "pfa",
    "n_targets",
    "n_correct",
    "n_false_alarms",
    "n_missed",
    "cnxe",
    "cnxe:by_query",
    "min_cnxe",
    "min_cnxe:by_query",
    "cnxe_loss",
)
ENTROPIES = ("cnxe", "min_cnxe", "cnxe_loss")


def measures_of(asked: Sequence[str], *, llr: bool = False) -> list[Measure]:
    """The measures asked for, or those of paper 002.

    Parameters
    ----------
    llr : bool
        Whether scores claim to be log-likelihood ratios: the value at the Bayes threshold too.

    Raises
    ------
    UsageError
        When a measure is not known or belongs to another task.
    """
    own = {m.key: m.name for m in registry("terms").values() if "term_targets" in m.parts}
    default = (*DEFAULT_MEASURES[:1], "twv_bayes", *DEFAULT_MEASURES[1:])
    found = []
    for name in dict.fromkeys(asked or (default if llr else DEFAULT_MEASURES)):
        measure = find(name, "terms")
        if measure.key not in own:
            raise UsageError(f"measure {name!r} is not for terms: take {', '.join(own.values())}")
        measure.argument()
        found.append(measure)
    return found


def frozen(search: Search, scoring: Scoring) -> Counted:
    """The search as it is scored: its prior, its floor and what is found once."""
    return Counted.of(search, scoring.application, scoring.chosen(TermsScoring))


def batches(search: Search, scoring: Scoring, dims: Dims, whole: Counted | None) -> Iterator[Batch]:
    """Two batches: entropies take a prior that replicates do not change."""
    measures = asked_of(search, scoring)
    _require_application(scoring.application, measures)
    if scoring.method == "bca" and scoring.chosen(TermsScoring).resample != "query":
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
                measures=[_joined(m, count.averaging) for m in chosen],
                application=count.application if entropies else application,
                plan=count.plan(scoring.plan),
                context=_context(count, dims),
                places=places,
                finish=partial(_all_finished, chosen, remarks),
            )


def _all_finished(
    measures: Sequence[Measure], remarks: Remarks, rows: Sequence[Estimate]
) -> list[Estimate]:
    return [_finished(row, m, remarks) for m, row in zip(measures, rows, strict=True)]


def asked_of(search: Search, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit the scores."""
    del search
    return measures_of(scoring.measures, llr=scoring.chosen(TermsScoring).llr)


def _require_application(application: Application, measures: Sequence[Measure]) -> None:
    """Refuse to weigh misses and false alarms that nobody gave a price."""
    if any(m.uses for m in measures):
        application.require_detection()
        if application.costs is None:
            raise UsageError(
                "say what misses and false alarms cost: --preset nist-std-2006 (or sws-2013, "
                "sws-2012, quesst-2014), or --cost-miss, --cost-fa and --prior"
            )


def _joined(measure: Measure, averaging: Averaging) -> Measure:
    """A measure with its way to join queries."""
    return replace(measure, function=partial(measure.function, how=averaging))


def _context(count: Counted, dims: Mapping[str, str]) -> Context:
    """What the rows of a search say besides their values."""
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
        flags=raised(crossed=how.resample == "both"),
        part_signatures={"term_floor": floor},
        part_errors={COUNTS[0]: false + missed},
    )


def _finished(row: Estimate, measure: Measure, remarks: Remarks) -> Estimate:
    """A row with its threshold, without what was told of every replicate, and with its flags."""
    counts = {
        k: v for k, v in row.counts.items() if not k.endswith("_mean") or k == "vanished_mean"
    }
    if not counts.get("vanished_mean"):
        counts = {k: v for k, v in counts.items() if not k.startswith("vanished")}
    else:
        counts["vanished"] = counts.pop("vanished_mean")
    told: dict[str, Any] = {}
    if "threshold" in counts:
        told["threshold"] = finite(counts.pop("threshold"))
    flags = (*row.flags, *raised(vanished="vanished" in counts), *remarks.flags(measure))
    if row.value is None:
        counts = {k: v for k, v in counts.items() if k not in ("pmiss", "pfa")}
        told["reason"] = f"undefined: {remarks.why_undefined(measure)}"
    # What is aligned and joined in other ways cannot be paired either.
    made = "|".join((remarks.search.reference.signature, remarks.search.signature))
    alike = f"{row.resampling}|{made}|{remarks.count.averaging}"
    return structs.replace(row, counts=counts, flags=flags, resampling=alike, **told)
