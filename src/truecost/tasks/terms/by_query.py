"""What each query gets by itself: counts, rates, values and its cross entropy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.core.measure import share
from truecost.errors import UsageError
from truecost.tasks.terms.counted import Counted
from truecost.tasks.terms.measures.term_entropy import prior_entropy
from truecost.tasks.terms.measures.term_sweep import TermSweep
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.records import Search

Array = npt.NDArray[Any]


def per_query(
    search: Search, application: Application, how: TermsScoring | None = None
) -> pl.DataFrame:
    """A row for each query of the list, as the reference tool's table has it, and more.

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
    count, reference = Counted.of(search, application, how), search.reference
    known, compat = count.application, reference.compat
    queries, hit = reference.queries.height, search.is_target

    def number(rows: Array) -> Array:
        return np.bincount(search.query[rows], minlength=queries)

    targets, correct, found = (
        reference.targets_by_query,
        number(hit & search.accepted),
        number(hit),
    )
    false, others = number(~hit & search.accepted), reference.trials - targets
    # A query all of whose trials are targets has none to raise a false alarm in.
    pmiss, pfa = share(targets - correct, targets), np.where(others == 0, 0.0, share(false, others))
    there = targets > 0
    price = np.where(others == 0, 0.0, share(known.beta, others))
    gain, loss = (x[count.counts][None] for x in (share(1.0, targets), price))
    swept = TermSweep.alone(count.ranking)
    best, _, threshold = swept.each(gain, loss, "no-reject-all" not in compat)
    precise = swept.precisions(1, false_first="false-alarms-first" in compat)[0]

    def of_all(values: Array) -> Array:
        out = np.full(queries, np.nan)
        out[count.counts if count.search is not search else slice(None)] = values
        return np.where(there, out, np.nan)

    values = {
        "pmiss": pmiss,
        "pfa": np.where(there, pfa, np.nan),
        "twv": 1 - pmiss - known.beta * pfa,
        "optimum": of_all(best[:, 0]),
        "threshold": of_all(threshold[:, 0]),
        "supremum": share(found, targets),
        "average_precision": share(of_all(precise), targets),
        "lowest": search.lowest_by_query,
        "cnxe": _entropies(search, known, count.floor),
    }
    counts = {
        "targets": targets,
        "correct": correct,
        "found": found,
        "false_alarms": false,
        "missed": targets - correct,
        "detections": number(np.ones(len(search), bool)),
    }
    names = [c for c in ("query", "text") if c in reference.queries.columns]
    rest = [c for c in reference.queries.columns if c not in names]
    frame = pl.DataFrame({**counts, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))
    clash = {c: f"{c}_" for c in rest if c in frame.columns}
    own = reference.queries.select(rest).rename(clash)
    return pl.concat([reference.queries.select(names), frame, own], how="horizontal")


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
