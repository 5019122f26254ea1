"""The description of a search beside its rows: curves with bands, the costliest queries, its
scores.

Computed from all trials at the scores of a grid; bands hold percentiles of the same replicates as
the rows, the first `BAND_REPLICATES` of them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl

from truecost.core.application import Application
from truecost.core.evidence import Totals, totals
from truecost.core.intervals.smooth import finite
from truecost.core.measure import share
from truecost.core.ranking import Ranking
from truecost.core.replication import by_block
from truecost.core.scoring import Scoring
from truecost.core.weights import Weights
from truecost.tasks.terms.counting import Counted, evidence_of
from truecost.tasks.terms.measures import atwv, mtwv, p_fa, p_miss
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.pooling import Averaging, Shares, TermSweep, missed
from truecost.tasks.terms.records import Floats, Search
from truecost.tasks.terms.scoring import measures_of
from truecost.tasks.terms.tables import per_query

BAND_REPLICATES = 400
POINTS = 160  # of a curve: more than a picture shows
DIGITS = 7


class Operating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Mean error rates and TWV of one set of decisions.

    `threshold`: None if everything is rejected, or if the decisions are those of the system.
    """

    threshold: float | None = None
    p_miss: float
    p_fa: float
    twv: float


class TwvCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Mean error rates and TWV at each threshold, if scores from the threshold on are accepted.

    `det_lower`, `det_upper`: interval of the miss rate at each false-alarm rate of `det_p_fa`.
    Intervals that were not computed are empty. `actual`: decisions of the system. `maximum`:
    decisions at the threshold of MTWV.
    """

    thresholds: tuple[float, ...]
    p_miss: tuple[float, ...]
    p_fa: tuple[float, ...]
    twv: tuple[float, ...]
    twv_lower: tuple[float, ...] = ()
    twv_upper: tuple[float, ...] = ()
    det_p_fa: tuple[float, ...] = ()
    det_lower: tuple[float, ...] = ()
    det_upper: tuple[float, ...] = ()
    actual: Operating | None = None
    maximum: Operating | None = None
    level: float = 0.95


def curve_of(count: Counted, scoring: Scoring) -> TwvCurve | None:
    """The curve of a search; None where nothing was submitted or no query has a target."""
    application, how, plan = scoring.application, count.averaging, count.plan(scoring.plan)
    evidence = evidence_of(count, measures_of(["mtwv"]))
    ranking = evidence.parts["term_trials"]
    assert isinstance(ranking, Ranking)
    positions = _grid(ranking)
    if not len(positions):
        return None
    whole = totals(evidence, Weights.ones(evidence.factors).block())
    actual, maximum = _operating(whole, application, how)
    if maximum.threshold is not None:
        least = np.searchsorted(ranking.scores, maximum.threshold)
        positions = np.union1d(positions, [least])

    def at(seen: Totals) -> tuple[Floats, Floats, Floats]:
        shares = Shares.from_totals(seen, how)
        gained, lost = TermSweep.from_totals(seen).at(positions, shares.gain, shares.loss)
        return missed(gained), lost, gained - shares.beta(application)[:, None] * lost

    misses, alarms, twv = (x[0] for x in at(whole))
    if np.isnan(twv).any():
        return None
    thresholds = ranking.scores[positions].astype(np.float64)
    point = {"thresholds": thresholds, "p_miss": misses, "p_fa": alarms, "twv": twv}
    bands: dict[str, Floats] = {}
    replicates = min(BAND_REPLICATES, plan.replicates)
    units = min((f.count for n, f in evidence.factors.items() if n not in plan.hold), default=0)
    if replicates > 1 and units > 1:
        drawn = plan.weights(evidence.factors)
        short = Weights(drawn.factors, replicates, plan)
        parts = by_block(evidence, short, at, scoring.jobs)
        miss, false, value = (np.concatenate([p[k] for p in parts]) for k in range(3))
        tails = (1 - scoring.level) / 2, (1 + scoring.level) / 2
        bands["twv_lower"], bands["twv_upper"] = np.nanquantile(value, tails, axis=0)
        rates = alarms[::-1][alarms[::-1] > 0]
        if len(rates):  # without false alarms there is nothing to trade
            pairs = zip(false, miss, strict=True)
            at_rate = np.array([np.interp(rates, f[::-1], m[::-1]) for f, m in pairs])
            bands["det_p_fa"] = rates
            bands["det_lower"], bands["det_upper"] = np.nanquantile(at_rate, tails, axis=0)
    rounded = {name: _rounded(column) for name, column in (point | bands).items()}
    return TwvCurve(level=scoring.level, actual=actual, maximum=maximum, **rounded)


def _operating(
    whole: Totals, application: Application, how: Averaging
) -> tuple[Operating, Operating]:
    """The system's decisions, and the best single threshold."""
    miss, false, value = (
        float(measure(whole, application, how)[0][0]) for measure in (p_miss, p_fa, atwv)
    )
    best, _, found = mtwv(whole, application, how)
    at, least, most = (float(found[name][0]) for name in ("threshold", "p_miss", "p_fa"))
    known = at if np.isfinite(at) else None
    return (
        Operating(p_miss=miss, p_fa=false, twv=value),
        Operating(threshold=known, p_miss=least, p_fa=most, twv=float(best[0])),
    )


def _grid(ranking: Ranking) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Positions of thresholds: even in the number of targets and of nontargets accepted.

    False alarms are spaced by ratio, as a DET curve shows them.
    """
    trials = len(ranking.scores)
    starts = np.flatnonzero(ranking.cut)
    if not trials:
        return starts
    codes = ranking.codes[::-1].astype(np.int64)
    wanted = []
    for count, spaced in ((np.cumsum(codes), np.linspace), (np.cumsum(1 - codes), np.geomspace)):
        whole = int(count[-1])
        if whole:
            steps = np.rint(spaced(1, whole, POINTS // 2))
            wanted.append(trials - 1 - np.searchsorted(count, steps))
    chosen = np.unique(np.concatenate([*wanted, [starts[0]]]))
    return np.unique(starts[np.searchsorted(starts, chosen, side="right") - 1])


def _rounded(column: Floats) -> tuple[float, ...]:
    """A column for storage: rounded far below what a picture shows."""
    return tuple(float(f"{x:.{DIGITS}g}") for x in column)


SHOWN = 40  # queries in the forest plot
BINS = 12  # of scores in the calibration picture
LEAST = 5  # targets of a bin
SPREAD = 200  # points of the values of all queries, in order


class QueryValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """TWV of one query with the decisions of the system, and its interval over documents.

    `optimum`: TWV at the best threshold of the query. `supremum`: share of its targets that have a
    detection of any score.
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
    """A bin of similar scores; `score` is the mean score of its targets.

    `llr`: ln(share of all targets in the bin / share of all nontargets in the bin). `lower`,
    `upper`: `llr` minus and plus about two standard errors.
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
    """Numbers about a keyword search that the report shows, as stored in `result.json`.

    Attributes
    ----------
    system, collection, application : str
        Names of the system, of the test collection (empty if there is only one) and of the
        application (empty if there is only one).
    trial : str
        Definition of a trial: occurrence, segment or document.
    queries, queries_with_targets, queries_answered : int
        Numbers of all queries, of the queries with a target, and of the queries in the list of the
        system.
    documents : int
        Number of audio files.
    seconds : float
        Duration of the scored audio in seconds.
    trials : int
        Number of trials of one query.
    detections, accepted : int
        Numbers of all detections, and of the detections with the decision YES.
    lowest, highest : float, optional
        Lowest and highest submitted score.
    least_accepted : float, optional
        Lowest score of a detection with the decision YES.
    bayes : float
        Bayes threshold of log-likelihood ratios, -logit of the effective prior.
    effective_prior, beta : float
        Effective prior of a target, and weight of false alarms in TWV.
    llr : bool
        Whether the scores are log-likelihood ratios.
    gamma, delta : float, optional
        Best affine calibration of the scores: llr = gamma score + delta. None if the best
        parameters are not finite.
    curve : TwvCurve, optional
        Error rates and TWV at all thresholds.
    worst : tuple of QueryValue
        Queries with the lowest TWV (at most 40).
    values : tuple of float
        TWV of the queries (at most 200, evenly selected), ascending.
    bins : tuple of ScoreBin
        Observed log-likelihood ratio in intervals of the score.
    header : dict of str to str
        Description of the system in the head of its file.
    """

    system: str
    collection: str = ""
    application: str = ""
    trial: str
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
    """Numbers about a keyword search for the report.

    Parameters
    ----------
    search : Search
        Aligned detections of a system.
    scoring : Scoring
        Application, measures and intervals.
    dims : mapping of str to str
        Names of the ``collection`` and the ``application``, if there are several.
    """
    how, reference = scoring.chosen(TermsScoring), search.reference
    count = Counted.from_search(search, scoring.application, how)
    application, fit = count.application, count.fit("pooled")
    table = per_query(search, scoring.application, how)
    yes = search.score[search.accepted]
    return SearchDescription(
        system=search.name,
        collection=dims.get("collection", ""),
        application=dims.get("application", ""),
        trial=reference.trial,
        queries=reference.queries.height,
        queries_with_targets=int((reference.targets_by_query > 0).sum()),
        queries_answered=int(search.answered.sum()),
        documents=len(reference.document_units[0]),
        seconds=round(reference.seconds, 6),
        trials=reference.trials,
        detections=len(search),
        accepted=int(search.accepted.sum()),
        lowest=finite(search.lowest),
        highest=finite(search.score.max(initial=-np.inf)),
        least_accepted=finite(yes.min(initial=np.inf)),
        bayes=application.threshold,
        effective_prior=application.effective_prior,
        beta=application.beta,
        llr=how.llr,
        gamma=None if fit.separated else finite(fit.gamma),
        delta=None if fit.separated else finite(fit.delta),
        curve=curve_of(count, scoring),
        worst=_worst_queries(count, table, scoring),
        values=_in_order(table),
        bins=_bins(search, how.every),
        header=dict(search.header),
    )


def _in_order(table: pl.DataFrame) -> tuple[float, ...]:
    """The values of all queries in order, thinned."""
    values = table["twv"].drop_nulls().sort().to_numpy()
    if len(values) > SPREAD:
        values = values[np.rint(np.linspace(0, len(values) - 1, SPREAD)).astype(int)]
    return tuple(float(f"{v:.6g}") for v in values)


def _worst_queries(count: Counted, table: pl.DataFrame, scoring: Scoring) -> tuple[QueryValue, ...]:
    """The queries with the lowest values, with intervals over documents."""
    rows = table.with_row_index("row").drop_nulls("twv").sort("twv", "query").head(SHOWN)
    ends = _intervals(count, rows["row"].to_numpy(), scoring)
    names = ("query", "targets", "correct", "false_alarms", "twv", "optimum", "supremum")
    return tuple(
        QueryValue(
            **{name: row[name] for name in names},
            text=row.get("text") or "",
            lower=finite(lower),
            upper=finite(upper),
        )
        for row, (lower, upper) in zip(rows.iter_rows(named=True), ends, strict=True)
    )


def _intervals(
    count: Counted, rows: np.ndarray[Any, Any], scoring: Scoring
) -> list[tuple[float, float]]:
    """Percentile intervals of TWV over documents, for some queries."""
    search, application = count.whole, count.application
    factor = search.reference.document_units[0]
    if factor.count < 2 or scoring.plan.replicates < 2 or not len(rows):
        return [(np.nan, np.nan)] * len(rows)
    mask = np.zeros(search.frame.height, bool)
    mask[rows], mask[search.reference.queries.height :] = True, True
    some = Counted(search.take(mask), application, TermsScoring(factors="document"))
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
    found = []
    for k in np.argsort(np.argsort(rows)):
        known = values[:, k][~np.isnan(values[:, k])]
        low, high = np.quantile(known, tails) if len(known) > 1 else (np.nan, np.nan)
        found.append((float(low), float(high)))
    return found


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
        ends = {"lower": llr - error, "upper": llr + error}
        shown = {"score": mine.mean(), "lowest": mine.min(), "highest": mine.max(), "llr": llr}
        numbers = {name: float(value) for name, value in (shown | ends).items()}
        found.append(ScoreBin(targets=len(mine), nontargets=wrong, **numbers))
    return tuple(found)
