"""What a search holds beside its rows: curves, the queries that cost most, and its scores."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl

from truecost.core.application import Application
from truecost.core.evidence import totals
from truecost.core.measure import share
from truecost.core.scoring import Scoring
from truecost.tasks.terms.counting import Counted, evidence_of
from truecost.tasks.terms.curves import TwvCurve, curve_of
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.records import Floats, Search
from truecost.tasks.terms.scoring import measures_of
from truecost.tasks.terms.tables import per_query

SHOWN = 40  # queries in the forest plot
BINS = 12  # of scores in the calibration picture
LEAST = 5  # targets of a bin
SPREAD = 200  # points of the values of all queries, in order


class QueryValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One query of the forest plot.

    Attributes
    ----------
    twv : float
        At the system's decisions.
    lower, upper : float, optional
        Interval over documents.
    optimum : float
        At the query's own best threshold.
    supremum : float
        Share of its targets that any detection is aligned with.
    """

    query: str
    text: str = ""
    targets: int
    correct: int
    false_alarms: int
    twv: float
    lower: float | None = None
    upper: float | None = None
    optimum: float
    supremum: float


class ScoreBin(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of about the same height.

    Attributes
    ----------
    score : float
        Mean of the targets' scores in it.
    llr : float
        ln of the share of all targets that lie in it over that of all nontargets.
    lower, upper : float
        About two standard errors around it.
    """

    score: float
    lowest: float
    highest: float
    targets: int
    nontargets: int
    llr: float
    lower: float
    upper: float


class SearchDescription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="search"
):
    """What a search holds, as it is stored beside its rows.

    Attributes
    ----------
    collection, application : str
        Where there are several.
    unit : str
        What a trial is: occurrence, segment or document.
    seconds : float
        Audio that is scored.
    trials : int
        Of one query.
    lowest, highest : float, optional
        Submitted scores.
    least_accepted : float, optional
        Lowest score with decision YES.
    bayes : float
        Bayes threshold of log-likelihood ratios, -logit(Ptar).
    llr : bool
        Whether scores claim to be log-likelihood ratios.
    gamma, delta : float, optional
        Best affine map of the scores, llr' = gamma llr + delta; None where there is no best one.
    worst : tuple of QueryValue
        The queries that cost most, by loss of TWV.
    values : tuple of float
        TWV of all queries in ascending order, thinned.
    header : dict of str to str
        What the list says of the system.
    """

    system: str
    collection: str = ""
    application: str = ""
    unit: str
    queries: int
    queries_with_targets: int
    queries_answered: int
    documents: int
    seconds: float
    trials: int
    detections: int
    accepted: int
    lowest: float | None = None
    highest: float | None = None
    least_accepted: float | None = None
    bayes: float
    effective_prior: float
    beta: float
    llr: bool = False
    gamma: float | None = None
    delta: float | None = None
    curve: TwvCurve | None = None
    worst: tuple[QueryValue, ...] = ()
    values: tuple[float, ...] = ()
    bins: tuple[ScoreBin, ...] = ()
    header: dict[str, str] = {}


def describe(search: Search, scoring: Scoring, dims: Mapping[str, str]) -> SearchDescription:
    """What a search holds, for reports.

    Parameters
    ----------
    scoring : Scoring
        As for its rows.
    dims : mapping of str to str
        `collection` and `application`, where there are several.
    """
    how, reference = scoring.chosen(TermsScoring), search.reference
    count = Counted.of(search, scoring.application, how)
    application, fit = count.application, count.fits.of("pooled")
    evidence = evidence_of(count, measures_of(["mtwv"]))
    plan = count.plan(scoring.plan)
    curve = curve_of(evidence, scoring.application, scoring, plan, count.averaging)
    table = per_query(search, scoring.application, how)
    yes = search.score[search.accepted]
    return SearchDescription(
        system=search.name,
        collection=dims.get("collection", ""),
        application=dims.get("application", ""),
        unit=reference.unit,
        queries=reference.queries.height,
        queries_with_targets=int((reference.targets_by_query > 0).sum()),
        queries_answered=int(search.answered.sum()),
        documents=len(reference.document_units[0]),
        seconds=round(reference.seconds, 6),
        trials=reference.trials,
        detections=len(search),
        accepted=int(search.accepted.sum()),
        lowest=_known(search.lowest),
        highest=_known(search.score.max(initial=-np.inf)),
        least_accepted=_known(yes.min(initial=np.inf)),
        bayes=application.threshold,
        effective_prior=application.effective_prior,
        beta=application.beta,
        llr=how.llr,
        gamma=None if fit.separated else _known(fit.gamma),
        delta=None if fit.separated else _known(fit.delta),
        curve=curve,
        worst=_worst(search, table, application, scoring),
        values=_in_order(table),
        bins=_bins(search, how.every),
        header=dict(search.header),
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _in_order(table: pl.DataFrame) -> tuple[float, ...]:
    """The values of all queries in order, thinned."""
    values = table["twv"].drop_nulls().sort().to_numpy()
    if len(values) > SPREAD:
        values = values[np.rint(np.linspace(0, len(values) - 1, SPREAD)).astype(int)]
    return tuple(float(f"{v:.6g}") for v in values)


def _worst(
    search: Search, table: pl.DataFrame, application: Application, scoring: Scoring
) -> tuple[QueryValue, ...]:
    """The queries with the lowest values, with intervals over documents."""
    rows = table.with_row_index("row").drop_nulls("twv").sort("twv", "query").head(SHOWN)
    ends = _intervals(search, rows["row"].to_numpy(), application, scoring)
    found = []
    for row, (lower, upper) in zip(rows.iter_rows(named=True), ends, strict=True):
        numbers: dict[str, Any] = {k: row[k] for k in ("targets", "correct", "false_alarms")}
        values: dict[str, Any] = {k: float(row[k]) for k in ("twv", "optimum", "supremum")}
        named = {"query": row["query"], "text": row.get("text") or ""}
        found.append(
            QueryValue(**named, **numbers, **values, lower=_known(lower), upper=_known(upper))
        )
    return tuple(found)


def _intervals(
    search: Search, rows: np.ndarray[Any, Any], application: Application, scoring: Scoring
) -> list[tuple[float, float]]:
    """Percentile intervals of TWV over documents, for some queries."""
    factor = search.reference.document_units[0]
    if factor.count < 2 or scoring.plan.replicates < 2 or not len(rows):
        return [(np.nan, np.nan)] * len(rows)
    mask = np.zeros(search.frame.height, bool)
    mask[rows], mask[search.reference.queries.height :] = True, True
    some = Counted(search.take(mask), application, TermsScoring(resample="document"))
    evidence = evidence_of(some, measures_of(["atwv"]))
    plan = some.plan(scoring.plan)
    seen = totals(evidence, plan.weights(evidence.factors).block(0, min(1000, plan.replicates)))
    targets = seen.sums("term_targets", "targets")
    others = np.round(seen.sums("term_audio", "trials"))[:, None] - targets
    correct = share(seen.sums("term_targets", "correct"), targets)
    alarms = share(seen.sums("term_nontargets", "false_alarms"), others)
    false = np.where(others == 0, 0.0, alarms)
    values: Floats = correct - application.beta * false
    tails = (1 - scoring.level) / 2, (1 + scoring.level) / 2
    order = np.argsort(np.argsort(rows))
    found = []
    for k in order:
        known = values[:, k][~np.isnan(values[:, k])]
        enough = len(known) > 1
        found.append(tuple(np.quantile(known, tails)) if enough else (np.nan, np.nan))
    return [(float(a), float(b)) for a, b in found]


def _bins(search: Search, every: bool) -> tuple[ScoreBin, ...]:
    """Bins of about equally many targets that were found."""
    targets = search.reference.targets_by_query
    used = np.ones(len(targets), bool) if every else targets > 0
    rows = used[search.query]
    score, right = search.score[rows], search.is_target[rows]
    all_targets = int(targets.sum())
    others = int((search.reference.trials - targets[used]).sum())
    hits = np.sort(score[right])
    count = min(BINS, len(hits) // LEAST)
    if not count or others < 1:
        return ()
    edges = np.unique(hits[np.arange(1, count) * len(hits) // count])
    of_targets = np.searchsorted(edges, score[right], side="right")
    of_others = np.searchsorted(edges, score[~right], side="right")
    found = []
    for k in range(len(edges) + 1):
        mine, wrong = score[right][of_targets == k], int((of_others == k).sum())
        if not len(mine) or not wrong:
            continue
        llr = np.log(len(mine) / all_targets) - np.log(wrong / others)
        error = 2 * np.sqrt(1 / len(mine) + 1 / wrong)
        found.append(
            ScoreBin(
                score=float(mine.mean()),
                lowest=float(mine.min()),
                highest=float(mine.max()),
                targets=len(mine),
                nontargets=wrong,
                llr=float(llr),
                lower=float(llr - error),
                upper=float(llr + error),
            )
        )
    return tuple(found)
