"""Term-weighted value against the threshold, and the DET curve of the mean rates, with bands.

Computed from all trials at the scores of a grid; bands hold percentiles of the same replicates as
the rows, the first `BAND_REPLICATES` of them.
"""

import msgspec
import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Evidence, Totals, totals
from truecost.core.ranking import Ranking
from truecost.core.replication import by_block
from truecost.core.scoring import Scoring
from truecost.core.weights import Plan, Weights
from truecost.tasks.terms.measures.term_shares import Averaging, Shares, missed
from truecost.tasks.terms.measures.term_sweep import TermSweep
from truecost.tasks.terms.measures.terms import atwv, mtwv, p_fa, p_miss
from truecost.tasks.terms.records import Floats

BAND_REPLICATES = 400
POINTS = 160  # of a curve: more than a picture shows
DIGITS = 7


class Operating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Mean rates and TWV of some decisions.

    Attributes
    ----------
    threshold : float, optional
        None where everything is rejected, and of decisions that came with the detections.
    """

    threshold: float | None = None
    p_miss: float
    p_fa: float
    twv: float


class TwvCurve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Mean rates and TWV when what scores at least a threshold is accepted.

    Attributes
    ----------
    thresholds : tuple of float
        Ascending.
    twv_lower, twv_upper : tuple of float
        Band at each threshold; empty where there is none.
    det_p_fa : tuple of float
        Grid of false-alarm rates, ascending.
    det_lower, det_upper : tuple of float
        Band of Pmiss at each of them; empty where there is none.
    actual, maximum : Operating, optional
        At the system's decisions, and at the threshold of MTWV.
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


def curve_of(
    evidence: Evidence, application: Application, scoring: Scoring, plan: Plan, how: Averaging
) -> TwvCurve | None:
    """The curve of a search; None where nothing was submitted or no query has a target.

    Parameters
    ----------
    evidence : Evidence
        With `term_trials`.
    plan : Plan
        As `Counted.plan` gives it.

    Returns
    -------
    TwvCurve or None
    """
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
        shares = Shares.of(seen, how)
        gained, lost = TermSweep.of(seen).at(positions, shares.gain, shares.loss)
        return missed(gained), lost, gained - shares.beta(application)[:, None] * lost

    misses, alarms, twv = (x[0] for x in at(whole))
    if np.isnan(twv).any():
        return None
    thresholds = ranking.scores[positions].astype(np.float64)
    point = {"thresholds": thresholds, "p_miss": misses, "p_fa": alarms, "twv": twv}
    bands: dict[str, Floats] = {}
    count = min(BAND_REPLICATES, plan.replicates)
    units = min((f.count for n, f in evidence.factors.items() if n not in plan.hold), default=0)
    if count > 1 and units > 1:
        drawn = plan.weights(evidence.factors)
        short = Weights(drawn.factors, count, plan)
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
    rounded = {name: _told(column) for name, column in (point | bands).items()}
    return TwvCurve(level=scoring.level, actual=actual, maximum=maximum, **rounded)


def _operating(
    whole: Totals, application: Application, how: Averaging
) -> tuple[Operating, Operating]:
    """The system's decisions, and the best single threshold."""
    decided = [float(measure(whole, application, how)[0][0]) for measure in (p_miss, p_fa, atwv)]
    best, _, told = mtwv(whole, application, how)
    at = float(told["threshold"][0])
    swept = (*(float(told[name][0]) for name in ("p_miss", "p_fa")), float(best[0]))
    names = ("p_miss", "p_fa", "twv")
    return (
        Operating(**dict(zip(names, decided, strict=True))),
        Operating(
            threshold=at if np.isfinite(at) else None, **dict(zip(names, swept, strict=True))
        ),
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
    hits, false = np.cumsum(codes), np.cumsum(1 - codes)
    wanted = []
    for count, even in ((hits, True), (false, False)):
        whole = int(count[-1])
        if whole:
            steps = (
                np.linspace(1, whole, POINTS // 2) if even else np.geomspace(1, whole, POINTS // 2)
            )
            wanted.append(trials - 1 - np.searchsorted(count, np.rint(steps)))
    chosen = np.unique(np.concatenate([*wanted, [starts[0]]]))
    return np.unique(starts[np.searchsorted(starts, chosen, side="right") - 1])


def _told(column: Floats) -> tuple[float, ...]:
    """A column for storage: rounded far below what a picture shows."""
    return tuple(float(f"{x:.{DIGITS}g}") for x in column)
