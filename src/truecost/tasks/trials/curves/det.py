"""The parts that all curves share (a system under its weights, bands, thinning), and the DET curve.

Conventions: everything is computed from all trials at full resolution; thinning only leaves out
points that a picture cannot show. A band holds percentile intervals from the same weights as the
rows, of the first `BAND_REPLICATES` replicates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.digits import Scale, figure
from truecost.core.evidence import Evidence, Totals
from truecost.core.intervals.smooth import interval
from truecost.core.replication import by_block
from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.pictures.tables import Shown, Table
from truecost.tasks.measures import find
from truecost.tasks.trials.counting import bayes_threshold, evidence_of, parts_of, point_of, risks
from truecost.tasks.trials.records import Floats, Trials

DRAWN = 600  # points of a drawn curve: more cannot be told apart
GRID = 60  # places at which a band is computed
BAND_REPLICATES = 500
Scorings = Scoring | Mapping[str, Scoring]  # one for all systems, or one for each name


def numbers_of(
    caption: str,
    curve: Any,
    axes: tuple[str, str],
    x: Floats,
    y: Floats,
    places: Iterable[int],
    scale: Scale = "",
) -> Table:
    """Operating points that a curve has, and the curve at some places of its band."""

    def shown(value: float) -> Shown:
        return Shown(figure(float(value), scale), float(value))

    points = (("at the threshold in use", curve.actual), ("least cost", curve.minimum))
    known = [(name, point) for name, point in points if point is not None]
    rows = [(curve.system, name, *map(shown, point), "", "") for name, point in known]
    band = [(x[g], y[g], curve.lower[g], curve.upper[g]) for g in places]
    rows += [(curve.system, "curve", *map(shown, at)) for at in band]
    return Table(caption, ("system", "point", *axes, "lower", "upper"), tuple(rows))


def each(systems: Sequence[Trials], scoring: Scorings) -> list[tuple[Trials, Scoring]]:
    """Every system with its scoring."""
    return [(t, scoring if isinstance(scoring, Scoring) else scoring[t.name]) for t in systems]


def ranked(systems: Sequence[Trials], scoring: Scorings) -> list[tuple[Trials, Scoring]]:
    """The detection systems whose scores rank trials."""
    return [
        (t, s) for t, s in each(systems, scoring) if t.detection and "ranking" in parts_of(t, s)
    ]


@dataclass(frozen=True, eq=False)
class Weighed:
    """The ranking of a system with weights of one, and replicate by replicate.

    The evidence has the part `ranking`.
    """

    evidence: Evidence
    scoring: Scoring

    @cached_property
    def point(self) -> Totals:
        """With weights of one."""
        return point_of(self.evidence)

    @property
    def sweep(self) -> Sweep:
        """The ranking with weights of one."""
        return self.point.sweep("ranking")

    def band(self, of: Callable[[Sweep], Floats]) -> tuple[Floats, Floats]:
        """Ends of the interval of each column that a function gives.

        `of`: from a sweep to an array of shape (replicates, places). NaN where no replicate is
        defined, and when there is nothing to resample.
        """
        plan = self.scoring.plan
        plan = replace(plan, replicates=min(BAND_REPLICATES, plan.replicates))
        counted, weights = self.evidence, plan.weights(self.evidence.factors)
        swept = by_block(counted, weights, lambda s: of(s.sweep("ranking")), self.scoring.jobs)
        drawn = np.concatenate(swept)
        if min(len(f) for f in self.evidence.factors.values()) < 2:
            return np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
        ends = np.array([interval(column, self.scoring.level) for column in drawn.T])
        return ends[:, 0], ends[:, 1]


@dataclass(frozen=True, eq=False)
class Curve:
    """DET curve of one system: miss rate against false-alarm rate for all thresholds.

    Attributes
    ----------
    system : str
        Name of the system.
    threshold, p_miss, p_fa : ndarray of float64
        Points of the curve for drawing (at most about 600), by ascending threshold. The last point
        rejects all trials.
    rates : ndarray of float64
        False-alarm rates of the band, in ascending order; the lowest is that of one false alarm.
    lower, middle, upper : ndarray of float64
        Miss rate at each of `rates` (`middle`), with the ends of its interval.
    actual : tuple of float or None
        (p_fa, p_miss) at the threshold in use; None if there is none.
    minimum : tuple of float or None
        (p_fa, p_miss) at the threshold with the lowest cost.
    actual_threshold : float or None
        Threshold in use.
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

    def numbers(self) -> Table:
        """Table of the operating points, and of the curve at every eighth rate of the band."""
        axes, places = ("false-alarm rate", "miss rate"), range(4, len(self.rates), 8)
        return numbers_of("Error trade-off", self, axes, self.rates, self.middle, places, "%")


def det_curves(systems: Sequence[Trials], scoring: Scorings) -> list[Curve]:
    """Compute the DET curves of detection systems. Systems without scores that rank trials
    (decisions only, several classes) are left out.

    Parameters
    ----------
    systems : sequence of Trials
        Trials of each system.
    scoring : Scoring, or mapping of str to Scoring
        Application, threshold and resampling: one object for all systems, or one for each system,
        by name.

    Returns
    -------
    list of Curve
        One curve for each system, with percentile intervals of the miss rate at fixed false-alarm
        rates.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.tasks.trials import curves
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.from_arrays(llrs, labels, kind="llr", name="mine")
    >>> application = tc.Application.detection(prior=0.5)
    >>> [curve] = curves.det_curves([trials], tc.Scoring(application, plan=tc.Plan(100)))
    >>> print("Pfa %.3f, Pmiss %.3f" % curve.actual)
    Pfa 0.140, Pmiss 0.170
    """
    return [_curve(trials, own) for trials, own in ranked(systems, scoring)]


def _curve(trials: Trials, scoring: Scoring) -> Curve:
    weighed = Weighed(evidence_of(trials, scoring, [find("eer")]), scoring)
    threshold, miss, fa = _drawable(weighed.sweep)
    rates = _rates(weighed.sweep.nontargets[0])
    lower, upper = weighed.band(lambda sweep: sweep.miss_at(rates)[0])
    actual, minimum, at = _operating_points(trials, scoring, weighed.sweep)
    return Curve(
        system=trials.name,
        threshold=threshold,
        p_miss=miss,
        p_fa=fa,
        rates=rates,
        lower=lower,
        middle=weighed.sweep.miss_at(rates)[0][0],
        upper=upper,
        actual=actual,
        minimum=minimum,
        actual_threshold=at,
    )


def mass_below(sweep: Sweep, thresholds: Floats, priors: tuple[float, float]) -> Floats:
    """Share of the trials below each threshold; nontargets and targets weigh as their priors."""
    miss, fa = sweep.rates_at(thresholds)
    (zeros, ones) = priors
    found = ones * np.nan_to_num(miss[0]) + zeros * (1 - np.nan_to_num(fa[0], nan=1.0))
    return np.asarray(found)


def score_at(sweep: Sweep, share: float, priors: tuple[float, float] = (0.5, 0.5)) -> float:
    """The highest finite score with at most this share of the trials below it.

    Found by looking at ever closer scores, so that no weight of a trial is ever written down.
    """
    scores = sweep.ranking.scores[sweep.ranking.finite]
    low, high = 0, len(scores) - 1
    while high > low:
        places = np.unique(np.linspace(low, high, 256).astype(np.int64))
        below = mass_below(sweep, scores[places].astype(np.float64), priors)
        k = int(np.searchsorted(below, share, side="right"))
        low = int(places[max(k - 1, 0)])
        high = max(low, int(places[k]) - 1 if k < len(places) else low)
    return float(scores[low])


def central_scores(sweep: Sweep) -> tuple[float, float]:
    """Quantiles of 1% and 99% of the scores, where both classes have the same total weight."""
    finite = sweep.ranking.finite
    if finite.start >= finite.stop:
        return -1.0, 1.0
    low, high = (score_at(sweep, share) for share in (0.01, 0.99))
    return low, max(low, high)


def _rates(nontargets: float) -> Floats:
    """False-alarm rates from one false alarm up, evenly spaced on the probit axis."""
    from scipy.special import ndtr, ndtri

    lowest = max(1 / max(nontargets, 2.0), 1e-6)
    return np.asarray(ndtr(np.linspace(ndtri(lowest), ndtri(0.6), GRID)))


def _drawable(sweep: Sweep) -> tuple[Floats, Floats, Floats]:
    """Points of the curve, thinned evenly in probit coordinates; large curves piece by piece."""
    parts = list(map(_thinned, sweep.curve_parts()))
    threshold, miss, fa = map(np.concatenate, zip(*parts, strict=True))
    return _thinned((threshold, miss, fa), DRAWN)


def _thinned(
    curve: tuple[Floats, Floats, Floats], most: int = 100 * DRAWN
) -> tuple[Floats, Floats, Floats]:
    """At most so many points of a curve, evenly in probit coordinates."""
    from scipy.special import ndtri

    threshold, miss, fa = curve
    if len(miss) <= most:
        return curve
    if np.isnan(miss).any() or np.isnan(fa).any():
        return threshold[:most], miss[:most], fa[:most]
    clipped = [np.clip(v, 1e-7, 1 - 1e-7) for v in (miss, fa)]
    way = np.concatenate([[0], np.cumsum(np.hypot(*(np.diff(ndtri(v)) for v in clipped)))])
    wanted = np.searchsorted(way, np.linspace(0, way[-1], most)).clip(0, len(miss) - 1)
    kept = np.unique(wanted)
    return threshold[kept], miss[kept], fa[kept]


def _operating_points(
    trials: Trials, scoring: Scoring, sweep: Sweep
) -> tuple[tuple[float, float] | None, tuple[float, float] | None, float | None]:
    """(Pfa, Pmiss) at the decision threshold and at the one of least cost; the former's value."""
    if not scoring.application.plain_detection:
        return None, None, None
    at = bayes_threshold(trials, scoring)
    if not (sweep.targets[0] > 0 and sweep.nontargets[0] > 0):
        return None, None, at
    least = _point(sweep, sweep.minimum_at(*risks(trials, scoring), ties=True)[1])
    return (None if at is None else _point(sweep, at)), least, at


def _point(sweep: Sweep, threshold: npt.ArrayLike) -> tuple[float, float]:
    miss, fa = sweep.rates_at(threshold)
    return float(fa[0, 0]), float(miss[0, 0])
