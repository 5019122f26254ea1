"""The DET curve of a detection system, with its band and operating points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.report.curves.base import DRAWN, GRID, Floats, Scorings, Weighed, ranked
from truecost.report.tables import Numbers
from truecost.tasks.measures import find
from truecost.tasks.trials.counting import bayes_threshold, evidence_of, risks
from truecost.tasks.trials.records import Trials


@dataclass(frozen=True, eq=False)
class Curve:
    """DET curve of one system.

    Attributes
    ----------
    threshold, p_miss, p_fa : ndarray of float64
        Thinned curve, by ascending threshold; the last point rejects all.
    rates, lower, middle, upper : ndarray of float64
        False-alarm rates and the interval and value of Pmiss there.
    actual, minimum : tuple of float or None
        (Pfa, Pmiss) at the decision threshold and at the threshold of least cost.
    actual_threshold : float or None
        The decision threshold.
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

    def numbers(self) -> Numbers:
        """Operating points, and the curve at every eighth rate of its band."""
        points = (("at the threshold in use", self.actual), ("least cost", self.minimum))
        rows: list[tuple[str | float, ...]] = [
            (self.system, name, point[0], point[1], "", "")
            for name, point in points
            if point is not None
        ]
        rows += [
            (self.system, "curve", self.rates[g], self.middle[g], self.lower[g], self.upper[g])
            for g in range(4, len(self.rates), 8)
        ]
        header = ("system", "point", "false-alarm rate", "miss rate", "lower", "upper")
        return Numbers.of(header, rows)


def det_curves(systems: Sequence[Trials], scoring: Scorings) -> list[Curve]:
    """DET curves of the detection systems whose scores rank trials; the others are left out.

    Parameters
    ----------
    scoring : Scoring, or mapping of str to Scoring
        For all systems, or by name: application and threshold of the operating points, and the
        resampling of the band.

    Returns
    -------
    list of Curve
        The band is the percentile interval of the least Pmiss at fixed Pfa, from 1 false alarm up.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.report import curves
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1)
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> application = tc.Application.detection(prior=0.5)
    >>> [curve] = curves.det_curves([trials], tc.Scoring(application, plan=tc.Plan(100)))
    >>> print("Pfa %.3f, Pmiss %.3f" % curve.actual)
    Pfa 0.140, Pmiss 0.170
    """
    return [_curve(trials, own) for trials, own in ranked(systems, scoring)]


def _curve(trials: Trials, scoring: Scoring) -> Curve:
    weighed = Weighed(evidence_of(trials, scoring, [find("eer")]), scoring)
    threshold, miss, fa = weighed.sweep.curve()
    kept = _drawable(miss, fa)
    rates = _rates(weighed.sweep.nontargets[0])
    lower, upper = weighed.band(lambda sweep: sweep.miss_at(rates)[0])
    actual, minimum, at = _operating_points(trials, scoring, weighed.sweep)
    return Curve(
        system=trials.name,
        threshold=threshold[kept],
        p_miss=miss[kept],
        p_fa=fa[kept],
        rates=rates,
        lower=lower,
        middle=weighed.sweep.miss_at(rates)[0][0],
        upper=upper,
        actual=actual,
        minimum=minimum,
        actual_threshold=at,
    )


def _rates(nontargets: float) -> Floats:
    """False-alarm rates from one false alarm up, evenly spaced on the probit axis."""
    from scipy.special import ndtr, ndtri

    lowest = max(1 / max(nontargets, 2.0), 1e-6)
    return np.asarray(ndtr(np.linspace(ndtri(lowest), ndtri(0.6), GRID)))


def _drawable(miss: Floats, fa: Floats) -> npt.NDArray[np.int64]:
    """Points of the curve, thinned evenly in probit coordinates."""
    from scipy.special import ndtri

    if len(miss) <= DRAWN or np.isnan(miss).any() or np.isnan(fa).any():
        return np.arange(min(len(miss), DRAWN))
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
    at = bayes_threshold(trials, scoring)
    if not (sweep.targets[0] > 0 and sweep.nontargets[0] > 0):
        return None, None, at
    least = _point(sweep, sweep.minimum_at(*risks(trials, scoring), ties=True)[1])
    return (None if at is None else _point(sweep, at)), least, at


def _point(sweep: Sweep, threshold: npt.ArrayLike) -> tuple[float, float]:
    miss, fa = sweep.rates_at(threshold)
    return float(fa[0, 0]), float(miss[0, 0])
