"""What each query gets by itself: counts, rates, values and its cross entropy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.application import Application
from truecost.errors import UsageError
from truecost.evidence import totals
from truecost.measures.base import share
from truecost.measures.term_entropy import prior_entropy
from truecost.measures.term_sweep import TermSweep
from truecost.tasks.scoring import TermsScoring
from truecost.tasks.terms.counting import evidence_of
from truecost.tasks.terms.fitting import Fits
from truecost.tasks.terms.records import Search
from truecost.tasks.terms.scoring import measures_of, with_prior
from truecost.weights import Weights

Array = npt.NDArray[Any]


def per_query(
    search: Search, application: Application, how: TermsScoring | None = None
) -> pl.DataFrame:
    """A row for each query of the list, as the reference tool's table has it, and more.

    Parameters
    ----------
    search : Search
    application : Application
    how : TermsScoring, optional

    Returns
    -------
    polars.DataFrame
        `query`, `text`; `targets`, `correct`, `found` (aligned, whatever the decision),
        `false_alarms`, `missed`, `detections`; `pmiss`, `pfa`, `twv`; `optimum` and its `threshold`
        (infinite where rejecting all is best), `supremum`, `average_precision`; `lowest` submitted
        score and `cnxe`; then the attributes of the list. Values are null where a query has no
        targets.

    Raises
    ------
    UsageError
        When nothing says what misses and false alarms cost.
    """
    how = how or TermsScoring()
    if application.costs is None:
        raise UsageError("say what misses and false alarms cost, with a preset, say")
    known, reference = with_prior(application, search), search.reference
    floor = search.lowest if how.floor is None else how.floor
    fits = Fits(search, known.effective_prior, floor, how.every)
    alone = TermsScoring(floor=how.floor, every=True)
    evidence = evidence_of(search, known, measures_of(["atwv", "otwv"]), alone, fits)
    seen = totals(evidence, Weights.ones(evidence.factors).block())

    def of(part: str, name: str) -> Array:
        return np.asarray(seen.sums(part, name)[0])

    targets, correct = of("term_targets", "targets"), of("term_targets", "correct")
    false, others = of("term_nontargets", "false_alarms"), reference.trials - targets
    gain, loss = share(1.0, targets), share(known.beta, others)
    swept = TermSweep.of(seen)
    reject_all = "no-reject-all" not in reference.compat
    ties = "false-alarms-first" in reference.compat
    best, _, threshold = swept.each(gain[None], loss[None], reject_all)
    pmiss, pfa = share(targets - correct, targets), share(false, others)
    there = targets > 0
    values = {
        "pmiss": pmiss,
        "pfa": np.where(there, pfa, np.nan),
        "twv": 1 - pmiss - known.beta * pfa,
        "optimum": np.where(there, best[:, 0], np.nan),
        "threshold": np.where(there, threshold[:, 0], np.nan),
        "supremum": share(of("term_targets", "found"), targets),
        "average_precision": share(swept.precisions(1, false_first=ties)[0], targets),
        "lowest": _lowest(search),
        "cnxe": _entropies(search, known, floor),
    }
    counts = {
        "targets": targets,
        "correct": correct,
        "found": of("term_targets", "found"),
        "false_alarms": false,
        "missed": targets - correct,
        "detections": np.bincount(search.query, minlength=len(targets)),
    }
    names = [c for c in ("query", "text") if c in reference.queries.columns]
    rest = [c for c in reference.queries.columns if c not in names]
    frame = pl.DataFrame({**counts, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))
    clash = {c: f"{c}_" for c in rest if c in frame.columns}
    own = reference.queries.select(rest).rename(clash)
    return pl.concat([reference.queries.select(names), frame, own], how="horizontal")


def _lowest(search: Search) -> Array:
    lowest = np.full(search.reference.queries.height, np.inf)
    np.minimum.at(lowest, search.query, search.score)
    return np.where(np.isinf(lowest), np.nan, lowest)


def _entropies(search: Search, application: Application, floor: float) -> Array:
    """Cnxe of each query by itself (paper 002, Eq. 37-43 for one query)."""
    queries, logit = search.reference.queries.height, -application.threshold
    targets = search.reference.targets_by_query
    others = search.reference.trials - targets
    right, prior = search.is_target, application.effective_prior
    found = np.zeros(queries)
    with np.errstate(invalid="ignore"):
        for mask, whole, sign, weight in (
            (right, targets, -1.0, prior),
            (~right, others, 1.0, 1 - prior),
        ):
            of, z = search.query[mask], sign * (search.score[mask] + logit)
            cost = np.bincount(of, np.logaddexp(0, z), queries)
            rest = whole - np.bincount(of, minlength=queries)
            missing = np.where(rest > 0, rest * np.logaddexp(0, sign * (floor + logit)), 0.0)
            found += weight * share(cost + missing, np.where(rest >= 0, whole, 0))
    return found / prior_entropy(prior)
