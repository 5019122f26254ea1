"""Rows of a search for terms: every measure of the whole, then of each subset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from truecost.application import Application
from truecost.errors import UsageError
from truecost.estimates import Context, estimate
from truecost.flags import raised
from truecost.intervals import finite
from truecost.measures import Measure, find, registry
from truecost.measures.term_shares import Averaging
from truecost.measures.terms import COUNTS
from truecost.results import Estimate
from truecost.tasks.scoring import Scoring
from truecost.tasks.subsets import Masks
from truecost.tasks.terms.counted import Counted
from truecost.tasks.terms.counting import evidence_of
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
    asked : sequence of str
    llr : bool
        Whether scores claim to be log-likelihood ratios: the value at the Bayes threshold too.

    Returns
    -------
    list of Measure

    Raises
    ------
    UsageError
        When a measure is not known or belongs to another task.
    """
    own = {m.key: m.name for m in registry().values() if "term_targets" in m.parts}
    default = (*DEFAULT_MEASURES[:1], "twv_bayes", *DEFAULT_MEASURES[1:])
    found = []
    for name in dict.fromkeys(asked or (default if llr else DEFAULT_MEASURES)):
        measure = find(name, "terms")
        if measure.key not in own:
            raise UsageError(f"measure {name!r} is not for terms: take {', '.join(own.values())}")
        measure.argument()
        found.append(measure)
    return found


def score_search(
    search: Search,
    scoring: Scoring,
    masks: Masks | None = None,
    dims: Mapping[str, str] | None = None,
) -> list[Estimate]:
    """Rows of one search, as `truecost.score` says: the whole, then each subset."""
    measures = measures_of(scoring.measures, llr=scoring.terms.llr)
    _require_application(scoring.application, measures)
    if scoring.method == "bca" and scoring.terms.resample != "query":
        raise UsageError(
            "bca intervals of terms are defined for resampled queries only: use the method auto "
            "or percentile"
        )
    about = {**(dims or {}), "system": search.name}
    count = Counted.of(search, scoring.application, scoring.terms)
    rows = _score(count, scoring, measures, about)
    if masks is None:
        masks = [mask for subset in scoring.subsets for mask in search.masks(subset)]
    frozen = replace(scoring, application=count.application)
    for name, mask in masks:
        part = replace(count, whole=search.take(mask))
        rows += _score(part, frozen, measures, {**about, "subset": name})
    return rows


def _require_application(application: Application, measures: Sequence[Measure]) -> None:
    """Refuse to weigh misses and false alarms that nobody gave a price."""
    if any(m.uses for m in measures):
        application.require_detection()
        if application.costs is None:
            raise UsageError(
                "say what misses and false alarms cost: --preset nist-std-2006 (or sws-2013, "
                "sws-2012, quesst-2014), or --cost-miss, --cost-fa and --prior"
            )


def _score(
    count: Counted, scoring: Scoring, measures: Sequence[Measure], dims: Mapping[str, str]
) -> list[Estimate]:
    evidence, remarks = evidence_of(count, measures), Remarks(count)
    tell, what = scoring.progress, " ".join(dims.values())
    found: dict[str, Estimate] = {}
    for frozen in (False, True):  # entropies take a prior that replicates do not change
        chosen = [m for m in measures if (m.name in ENTROPIES) == frozen]
        if not chosen:
            continue
        rows = estimate(
            evidence,
            [_joined(m, count.averaging) for m in chosen],
            count.application if frozen else scoring.application,
            count.plan(scoring.plan),
            level=scoring.level,
            method=scoring.method,
            icc=scoring.icc,
            context=_context(count, dims),
            jobs=scoring.jobs,
            progress=None if tell is None else lambda done, total: tell(what, done, total),
        )
        found |= {m.label: _finished(row, m, remarks) for m, row in zip(chosen, rows, strict=True)}
    return [found[m.label] for m in measures]


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
