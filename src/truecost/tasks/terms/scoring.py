"""Rows of a search for terms: every measure of the whole, then of each subset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from msgspec import structs

from truecost.application import Application
from truecost.errors import UsageError
from truecost.estimates import Context, estimate
from truecost.flags import raised
from truecost.intervals import finite
from truecost.measures import Measure, find, registry
from truecost.measures.terms import COUNTS, Averaging
from truecost.results import Estimate
from truecost.tasks.scoring import Scoring, TermsScoring
from truecost.tasks.subsets import Masks
from truecost.tasks.terms.counting import evidence_of
from truecost.tasks.terms.fitting import Fits
from truecost.tasks.terms.records import Search
from truecost.tasks.terms.remarks import Remarks
from truecost.weights import Plan

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
        raise UsageError("bca intervals of terms are defined for resampled queries only")
    about = {**(dims or {}), "system": search.name}
    application = with_prior(scoring.application, search)
    _refuse_floor(search, scoring.terms)
    rows = _score(search, scoring, measures, application, about)
    if masks is None:
        masks = [mask for subset in scoring.subsets for mask in search.masks(subset)]
    for name, mask in masks:
        of_subset = {**about, "subset": name}
        frozen = replace(scoring, application=application)
        rows += _score(search.take(mask), frozen, measures, application, of_subset)
    return rows


def _refuse_floor(search: Search, how: TermsScoring) -> None:
    """Refuse a score of unsubmitted trials above that of submitted ones (paper 002, Eq. 42)."""
    if how.floor is not None and how.floor > search.lowest:
        raise UsageError(
            f"{search.name}: the floor {how.floor:g} lies above the lowest submitted score "
            f"{search.lowest:g}: trials that were not submitted score lower than those that were"
        )


def _require_application(application: Application, measures: Sequence[Measure]) -> None:
    """Refuse to weigh misses and false alarms that nobody gave a price."""
    if any(m.uses for m in measures):
        application.require_detection()
        if application.costs is None:
            raise UsageError(
                "say what misses and false alarms cost: --preset nist-std-2006 (or sws-2013, "
                "sws-2012, quesst-2014), or --cost-miss, --cost-fa and --prior"
            )


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


def _score(
    search: Search,
    scoring: Scoring,
    measures: Sequence[Measure],
    known: Application,
    dims: Mapping[str, str],
) -> list[Estimate]:
    how, averaging = scoring.terms, averaging_of(search, scoring.terms)
    silent = int((search.reference.targets_by_query == 0).sum())
    search = search if how.every else of_targets(search)
    floor = search.lowest if how.floor is None else how.floor
    fits = Fits(search, known.effective_prior if known.priors else np.nan, floor, how.every)
    evidence = evidence_of(search, known, measures, how, fits)
    tell, what = scoring.progress, " ".join(dims.values())
    plan = plan_of(scoring.plan, how)
    remarks = Remarks(search, how, fits)
    rows = []
    for group in (False, True):  # entropies take a prior that replicates do not change
        chosen = [m for m in measures if (m.name in ENTROPIES) == group]
        if not chosen:
            continue
        rows += estimate(
            evidence,
            [_joined(m, averaging) for m in chosen],
            known if group else scoring.application,
            plan,
            level=scoring.level,
            method=scoring.method,
            context=_context(search, scoring, known, dims, averaging, silent),
            jobs=scoring.jobs,
            progress=None if tell is None else lambda done, total: tell(what, done, total),
        )
    found = dict(zip([*_order(measures)], rows, strict=True))
    return [_finished(found[m.label], m, remarks) for m in measures]


def _order(measures: Sequence[Measure]) -> list[str]:
    return [m.label for g in (False, True) for m in measures if (m.name in ENTROPIES) == g]


def plan_of(plan: Plan, how: TermsScoring) -> Plan:
    """The plan of a search: queries, documents or both.

    Raises
    ------
    UsageError
        When moving blocks are asked for: queries have no order.
    """
    if plan.scheme == "blocks":
        raise UsageError("moving blocks need units in time order: queries and documents have none")
    queries = (how.query_unit or "query",)
    return replace(plan, hold=queries if how.resample == "document" else ())


def of_targets(search: Search) -> Search:
    """The search for the queries that have targets; the search itself where none has."""
    known = search.reference.targets_by_query > 0
    if known.all() or not known.any():
        return search
    return search.take(np.append(known, np.ones(search.reference.documents.height, bool)))


def averaging_of(search: Search, how: TermsScoring) -> Averaging:
    """How queries are joined."""
    compat = search.reference.compat
    one_query, reject_all = "pool-trials" in compat, "no-reject-all" not in compat
    false_first = "false-alarms-first" in compat
    return Averaging(how.every, how.pooled, one_query, reject_all, false_first)


def _joined(measure: Measure, averaging: Averaging) -> Measure:
    """A measure with its way to join queries."""
    return replace(measure, function=partial(measure.function, how=averaging))


def _context(
    search: Search,
    scoring: Scoring,
    known: Application,
    dims: Mapping[str, str],
    averaging: Averaging,
    silent: int,
) -> Context:
    """What the rows of a search say besides their values."""
    reference, how = search.reference, scoring.terms
    counts = {
        "queries": reference.queries.height,
        "queries_without_targets": silent,
        "documents": len(reference.document_units[0]),
        "seconds": round(reference.seconds, 6),
        "trials_of_a_query": reference.trials,
        "detections": len(search),
        "accepted": int(search.accepted.sum()),
    }
    if known.name == "sws-2012" or scoring.application.priors is None:
        counts |= {"prior": known.prior} if known.priors else {}
    false = int((search.accepted & ~search.is_target).sum())
    missed = reference.targets.height - int((search.accepted & search.is_target).sum())
    said = (reference.signature, search.signature, str(averaging))
    floor = "" if how.floor is None else f"floor:{how.floor:g}"
    return Context(
        dict(dims),
        reference.queries.height * reference.trials,
        counts=dict(counts),
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
    return structs.replace(row, counts=counts, flags=flags, **told)
