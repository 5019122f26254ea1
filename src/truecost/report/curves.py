"""Curves of detection systems: the DET curve with its band and operating points.

The curve is computed at every distinct score and thinned only for drawing. The band is the
percentile interval of Pmiss at fixed false-alarm rates, from the same weights as the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.evidence import totals
from truecost.intervals import interval
from truecost.measures import find
from truecost.sweep import Sweep
from truecost.tasks.counting import (
    PARTS_OF,
    bayes_threshold,
    evidence_of,
    risks,
)
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring
from truecost.weights import Weights

if TYPE_CHECKING:
    from truecost.study import Outcome

Floats = npt.NDArray[np.float64]
DRAWN = 600  # points of a drawn curve: more cannot be told apart
GRID = 60  # false-alarm rates at which the band is computed
BAND_REPLICATES = 500


@dataclass(frozen=True)
class Curve:
    """DET curve of one system.

    Attributes
    ----------
    system : str
    threshold, p_miss, p_fa : ndarray
        Thinned curve, by ascending threshold; the last point rejects all.
    rates, lower, middle, upper : ndarray
        False-alarm rates and the interval and value of Pmiss there.
    actual, minimum : tuple of float or None
        (Pfa, Pmiss) at the Bayes threshold and at the threshold of least cost.
    """

    system: str
    threshold: Floats
    p_miss: Floats
    p_fa: Floats
    rates: Floats
    lower: Floats
    middle: Floats
    upper: Floats
    actual: tuple[float, float] | None
    minimum: tuple[float, float] | None
    actual_threshold: float | None


def curves_of(outcome: "Outcome") -> list[Curve]:
    """The curves of every detection system whose scores rank trials."""
    return [
        _curve(trials, outcome.scoring)
        for trials in outcome.systems
        if trials.detection and "ranking" in PARTS_OF[trials.kind]
    ]


def _curve(trials: Trials, scoring: Scoring) -> Curve:
    evidence = evidence_of(trials, scoring, [find("eer")])
    sweep = totals(evidence, Weights.ones(evidence.factors).block()).sweep("ranking")
    threshold, miss, fa = sweep.curve()
    kept = _drawable(miss, fa)
    rates = _rates(sweep.nontargets[0])
    plan = replace(scoring.plan, replicates=min(BAND_REPLICATES, scoring.plan.replicates))
    weights = plan.weights(evidence.factors)
    bands = np.concatenate(
        [
            totals(evidence, weights.block(*b)).sweep("ranking").miss_at(rates)[0]
            for b in weights.blocks()
        ]
    )
    ends = np.array([interval(bands[:, g], scoring.level) for g in range(len(rates))])
    actual, minimum, at = _operating_points(trials, scoring, sweep)
    return Curve(
        trials.name,
        threshold[kept],
        miss[kept],
        fa[kept],
        rates,
        ends[:, 0],
        sweep.miss_at(rates)[0][0],
        ends[:, 1],
        actual,
        minimum,
        at,
    )


def _rates(nontargets: float) -> Floats:
    """False-alarm rates from one false alarm up, evenly spaced on the probit axis."""
    from scipy.special import ndtr, ndtri

    lowest = max(1 / max(nontargets, 2.0), 1e-6)
    return np.asarray(ndtr(np.linspace(ndtri(lowest), ndtri(0.6), GRID)))


def _drawable(miss: Floats, fa: Floats) -> npt.NDArray[np.int64]:
    """Points of the curve, thinned evenly in probit coordinates."""
    from scipy.special import ndtri

    if len(miss) <= DRAWN:
        return np.arange(len(miss))
    clipped = [np.clip(v, 1e-7, 1 - 1e-7) for v in (miss, fa)]
    way = np.concatenate([[0], np.cumsum(np.hypot(*(np.diff(ndtri(v)) for v in clipped)))])
    wanted = np.searchsorted(way, np.linspace(0, way[-1], DRAWN)).clip(0, len(miss) - 1)
    return np.unique(wanted)


def _operating_points(
    trials: Trials, scoring: Scoring, sweep: Sweep
) -> tuple[tuple[float, float] | None, tuple[float, float] | None, float | None]:
    """(Pfa, Pmiss) at the decision threshold and at the one of least cost; the former's value."""
    if not scoring.application.plain_detection:
        return None, None, None
    least = sweep.minimum_at(*risks(trials, scoring), ties=True)[1]
    at = bayes_threshold(trials, scoring)
    if at is None:
        return None, _point(sweep, least), None
    return _point(sweep, at), _point(sweep, least), at


def _point(sweep: Sweep, threshold: npt.ArrayLike) -> tuple[float, float]:
    miss, fa = sweep.rates_at(threshold)
    return float(fa[0, 0]), float(miss[0, 0])


def frame_of(curves: Sequence[Curve]) -> pl.DataFrame:
    """Curves as a table: system, kind (det, band), threshold, p_fa, p_miss, lower, upper."""
    parts = []
    for c in curves:
        parts.append(
            pl.DataFrame(
                {
                    "system": c.system,
                    "kind": "det",
                    "threshold": c.threshold,
                    "p_fa": c.p_fa,
                    "p_miss": c.p_miss,
                }
            )
        )
        parts.append(
            pl.DataFrame(
                {
                    "system": c.system,
                    "kind": "band",
                    "p_fa": c.rates,
                    "p_miss": c.middle,
                    "lower": c.lower,
                    "upper": c.upper,
                }
            )
        )
    return pl.concat(parts, how="diagonal")
