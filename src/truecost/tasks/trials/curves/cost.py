"""The detection cost as a function of the threshold, with its band, actual and minimum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from truecost.core.application import Application
from truecost.core.measure import share
from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.pictures.tables import Table
from truecost.tasks.measures import find
from truecost.tasks.trials.counting import bayes_threshold, evidence_of, risks
from truecost.tasks.trials.curves.det import (
    DRAWN,
    GRID,
    Scorings,
    Weighed,
    central_scores,
    numbers_of,
    ranked,
)
from truecost.tasks.trials.records import Floats, Trials

STEPS = 241  # thresholds of a slider


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Normalised detection cost of one system at each threshold.

    Attributes
    ----------
    system : str
        Name of the system.
    unit : {"llr", "score"}
        Unit of the thresholds: natural log-likelihood ratios, or raw scores.
    threshold, cost : ndarray of float64
        Points of the curve for drawing, by ascending threshold: cost of accepting all trials whose
        score is at least the threshold. The first threshold accepts all trials; the last is
        infinite and rejects all.
    grid, lower, upper : ndarray of float64
        Thresholds of the band (`grid`), and the ends of the interval of the cost at each.
    actual : tuple of float or None
        (threshold, cost) of the threshold in use; None if there is none.
    minimum : tuple of float or None
        (threshold, cost) of the threshold with the lowest cost; the threshold is infinite if
        rejecting all trials costs least.
    shown : tuple of float
        Range of thresholds to draw: from the 1% to the 99% quantile of the scores, weighted so that
        both classes have the same total weight.
    steps, step_miss, step_fa : ndarray of float64
        Thresholds (identical for all systems), and exact miss and false-alarm rates at each, for
        sliders of report pages.
    """

    system: str
    unit: str
    threshold: Floats
    cost: Floats
    grid: Floats
    lower: Floats
    upper: Floats
    actual: tuple[float, float] | None
    minimum: tuple[float, float] | None
    shown: tuple[float, float]
    steps: Floats
    step_miss: Floats
    step_fa: Floats

    def numbers(self) -> Table:
        """Table of the cost at the threshold in use, of the lowest cost, and of the cost at every
        sixth threshold of the band.
        """
        axes, places = ("threshold", "normalised cost"), range(2, len(self.grid), 6)
        caption = "Cost against threshold"
        return numbers_of(caption, self, axes, self.grid, self.at(self.grid), places)

    def at(self, thresholds: Floats) -> Floats:
        """Cost at given thresholds, read from the points of the drawn curve.

        Parameters
        ----------
        thresholds : ndarray of float64
            Thresholds: log-likelihood ratios or raw scores, as the attribute `unit` states.
        """
        return np.asarray(self.cost[np.searchsorted(self.threshold, thresholds)])


def cost_curves(systems: Sequence[Trials], scoring: Scorings) -> list[CostCurve]:
    """Compute the normalised detection cost of each system as a function of the threshold.

    The cost at threshold t is (C_miss P p_miss(t) + C_fa (1 - P) p_fa(t)) / min(C_miss P, C_fa (1 -
    P)), with the costs C_miss and C_fa of a miss and a false alarm, the prior P of a target, and
    the error rates p_miss and p_fa. The cost at the threshold in use is the measure `act_dcf`; its
    minimum is `min_dcf` (Rodriguez-Fuentes & Penagarikano 2013, section 2.3).

    Parameters
    ----------
    systems : sequence of Trials
        Trials of each system.
    scoring : Scoring, or mapping of str to Scoring
        Costs, prior, threshold and resampling: one object for all systems, or one for each system,
        by name.

    Returns
    -------
    list of CostCurve
        One curve for each system. Systems without detection scores, without trials of one class, or
        with costs other than those of a miss and a false alarm are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.tasks.trials import curves
    >>> labels = np.arange(400) % 2
    >>> llrs = 2 * np.random.default_rng(0).normal(2 * labels - 1) + 1  # not calibrated
    >>> trials = tc.Trials.from_arrays(llrs, labels, kind="llr", name="mine")
    >>> application = tc.Application.detection(prior=0.5)
    >>> [curve] = curves.cost_curves([trials], tc.Scoring(application, plan=tc.Plan(100)))
    >>> print("threshold %.2f costs %.3f" % curve.actual)
    threshold 0.00 costs 0.305
    >>> print("threshold %.2f costs %.3f" % curve.minimum)
    threshold 0.33 costs 0.290
    """
    found = [_curve(trials, own) for trials, own in ranked(systems, scoring)]
    curves = [pair for pair in found if pair is not None]
    return [_stepped(curve, sweep, [c for c, _ in curves]) for curve, sweep in curves]


def _stepped(curve: CostCurve, sweep: Sweep, every: Sequence[CostCurve]) -> CostCurve:
    """A curve with its exact rates at thresholds that all curves share."""
    low, high = (f(c.shown[k] for c in every) for k, f in enumerate((min, max)))
    marked = [at[0] for c in every for at in (c.actual, c.minimum) if at is not None]
    steps = np.linspace(*_reach((low, high), None), STEPS)
    steps = np.unique(np.append(steps, [t for t in marked if np.isfinite(t)]))
    miss, fa = sweep.rates_at(steps)
    return replace(curve, steps=steps, step_miss=miss[0], step_fa=fa[0])


def _curve(trials: Trials, scoring: Scoring) -> tuple[CostCurve, Sweep] | None:
    if not scoring.application.plain_detection:
        return None
    weighed = Weighed(evidence_of(trials, scoring, [find("eer")]), scoring)
    sweep, application = weighed.sweep, scoring.application
    if not (sweep.targets[0] > 0 and sweep.nontargets[0] > 0):
        return None
    at = bayes_threshold(trials, scoring)
    least = float(sweep.minimum_at(*risks(trials, scoring), ties=True)[1][0])
    shown = central_scores(sweep)
    threshold = _drawable(sweep, [least, *([] if at is None else [at])], shown)
    grid = np.unique(np.clip(np.linspace(*_reach(shown, at), GRID), -1e300, 1e300))
    lower, upper = weighed.band(lambda s: costs_at(s, grid, application))

    def point(t: float) -> tuple[float, float]:
        return t, float(costs_at(sweep, np.array([t]), application)[0, 0])

    none = np.empty(0)
    curve = CostCurve(
        system=trials.name,
        unit="score" if trials.kind == "score" else "llr",
        threshold=threshold,
        cost=costs_at(sweep, threshold, application)[0],
        grid=grid,
        lower=lower,
        upper=upper,
        actual=None if at is None else point(at),
        minimum=point(least),
        shown=shown,
        **dict.fromkeys(("steps", "step_miss", "step_fa"), none),
    )
    return curve, sweep


def costs_at(sweep: Sweep, thresholds: Floats, application: Application) -> Floats:
    """Normalised detection cost at each threshold, in each replicate.

    Shape (replicates, thresholds); a prior that is left to the data is that of the replicate, as in
    the measures. NaN where a class is empty.
    """
    miss, fa = sweep.rates_at(thresholds)
    priors = application.class_priors(np.stack([sweep.nontargets, sweep.targets], axis=-1))
    all_missed = (application.cost_miss * priors[:, 1])[:, None]
    all_accepted = (application.cost_fa * priors[:, 0])[:, None]
    naive = np.minimum(all_missed, all_accepted)
    return share(all_missed * miss + all_accepted * fa, naive)


def _reach(shown: tuple[float, float], at: float | None) -> tuple[float, float]:
    """Start and end of the band: the shown range, including the threshold in use."""
    low, high = shown if at is None or not np.isfinite(at) else (min(*shown, at), max(*shown, at))
    edge = 0.06 * (high - low) or 1.0
    return low - edge, high + edge


def _drawable(sweep: Sweep, marked: list[float], shown: tuple[float, float]) -> Floats:
    """Thresholds of the drawn curve: scores, evenly by rank and by size, and the marked ones."""
    scores = sweep.ranking.scores
    if len(scores) > DRAWN:
        by_rank = np.linspace(0, len(scores) - 1, DRAWN // 3).astype(np.int64)
        by_size = sweep.ranking.positions(np.linspace(*shown, 2 * DRAWN // 3))
        scores = scores[np.concatenate([[0], by_rank, by_size.clip(0, len(scores) - 1)])]
    kept = np.concatenate([scores, marked, [np.inf]])
    return np.unique(kept[kept > -np.inf])
