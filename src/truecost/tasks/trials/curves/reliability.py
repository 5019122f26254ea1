"""Reliability: what a system says of a trial beside what is seen among the trials where it says so.

The observed shares come in two forms: the best monotone map of the scores (pool adjacent
violators), and shares in bins of about equally many trials with their intervals. A detection system
says a log-likelihood ratio (both classes weigh alike) or a posterior of the target (classes weigh
as their priors); with several classes it says how probable the class is that it finds most
probable.

Calibration is no measure of quality: a system that gives every trial the priors is perfectly
calibrated and perfectly useless (Ferrer et al. 2024, section 3.6). So each curve carries a proper
score with its naive value 1: Cllr = minimum + calibration loss, or the normalised cross entropy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from truecost.core.evidence import Evidence
from truecost.core.ranking import Ranking
from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.pictures.tables import Table
from truecost.tasks.measures import find
from truecost.tasks.trials import counting
from truecost.tasks.trials.curves.det import (
    DRAWN,
    Scorings,
    Weighed,
    central_scores,
    each,
    mass_below,
    score_at,
)
from truecost.tasks.trials.records import Floats, Ints, Trials

Scale = Literal["llr", "posterior", "top"]
BINS = 12
FEWEST = 5  # trials of a bin
COLUMNS = 40  # of the histogram
AT_ONCE = 1 << 20  # trials whose probabilities are written down at a time


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted against observed probabilities of one system (reliability diagram).

    Attributes
    ----------
    system : str
        Name of the system.
    scale : {"llr", "posterior", "top"}
        Predicted quantity. `llr`: log-likelihood ratios in nats. `posterior`: posteriors of the
        target. `top`: posteriors of the most probable class.
    prior : float or None
        Prior of the target for the probabilities; 1/2 for `llr`, None for `top`.
    said, seen : ndarray of float64
        Predicted (`said`) and observed (`seen`) values of the best monotone calibration, thinned
        for drawing. Unit: natural log odds at `prior`, which for `llr` are log-likelihood ratios.
        Infinite where only one class was observed.
    bin_said : ndarray of float64, shape (bins,)
        Mean predicted probability of each bin, at `prior`.
    bin_seen, bin_lower, bin_upper : ndarray of float64, shape (bins,)
        Observed probability of each bin, at `prior`, with the ends of its interval.
    bin_trials : ndarray of float64, shape (bins,)
        Number of trials of each bin; if the trials have weights, their total weight.
    edges : ndarray of float64, shape (columns + 1,)
        Edges of the histogram of predictions: log-likelihood ratios for `llr`, otherwise
        probabilities.
    counts : ndarray of float64, shape (columns,)
        Share of the trials in each column of the histogram, where the trials of a class together
        have the prior of the class as weight.
    measure : {"cllr", "nce"}
        Measure of `actual`: Cllr in bits for detection, normalised cross entropy for several
        classes.
    actual : float
        Value of the measure.
    minimum : float
        Minimum Cllr in bits; NaN for several classes.
    """

    system: str
    scale: Scale
    prior: float | None
    said: Floats
    seen: Floats
    bin_said: Floats
    bin_seen: Floats
    bin_lower: Floats
    bin_upper: Floats
    bin_trials: Floats
    edges: Floats
    counts: Floats
    measure: str
    actual: float
    minimum: float

    @property
    def loss(self) -> float:
        """Calibration loss in bits: Cllr - minimum Cllr. NaN for several classes."""
        return self.actual - self.minimum

    def drawn(self, probabilities: Floats) -> Floats:
        """Convert probabilities to the scale of the axes: log-likelihood ratios for `llr`, else
        unchanged.

        Parameters
        ----------
        probabilities : ndarray of float64
            Probabilities at `prior`.
        """
        if self.scale != "llr":
            return probabilities
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities) - np.log1p(-probabilities))

    def numbers(self) -> Table:
        """Table of the bins, on the scale of the axes."""
        said, *seen = (
            self.drawn(v) for v in (self.bin_said, self.bin_seen, self.bin_lower, self.bin_upper)
        )
        rows = [
            (self.system, said[b], *(float(v[b]) for v in seen), float(self.bin_trials[b]))
            for b in range(len(said))
        ]
        return Table.from_rows(
            "Reliability", ("system", "predicted", "empirical", "lower", "upper", "trials"), rows
        )


def reliabilities(
    systems: Sequence[Trials], scoring: Scorings, *, posteriors: bool | None = None
) -> list[Reliability]:
    """Compute predicted against observed probabilities of each system.

    Systems without probabilities, or without trials of one class, are left out.

    Parameters
    ----------
    systems : sequence of Trials
        Trials of each system.
    scoring : Scoring, or mapping of str to Scoring
        Priors and resampling: one object for all systems, or one for each system, by name.
    posteriors : bool, optional
        Scale on which detection systems are shown. True: posteriors at the prior of the
        application. False: log-likelihood ratios. Default: log-likelihood ratios if the scores are
        of this kind, otherwise posteriors.

    Returns
    -------
    list of Reliability
        One diagram for each system.

    Notes
    -----
    With several classes and given priors, a trial of class k has the weight P_k / s_k, where P_k is
    the prior and s_k the share of class k in the data.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.tasks.trials import curves
    >>> labels = np.arange(400) % 2
    >>> llrs = 4 * np.random.default_rng(0).normal(2 * labels - 1)  # twice too sure
    >>> trials = tc.Trials.from_arrays(llrs, labels, kind="llr", name="mine")
    >>> [curve] = curves.reliabilities([trials], tc.Scoring(plan=tc.Plan(100)))
    >>> print(f"{curve.actual:.3f} = {curve.minimum:.3f} + {curve.loss:.3f}")
    0.530 = 0.408 + 0.122
    """
    found = []
    for trials, own in each(systems, scoring):
        if trials.detection and "llr" in counting.parts_of(trials, own):
            shown = trials.kind != "llr" if posteriors is None else posteriors
            found.append(_detection(trials, own, shown) if shown else _of_llrs(trials, own))
        elif not trials.detection and "losses" in counting.parts_of(trials, own):
            found.append(_top(trials, own))
    return [curve for curve in found if curve is not None]


def _of_llrs(trials: Trials, scoring: Scoring) -> Reliability | None:
    """The reliability of likelihood ratios, which no application changes: computed once for all."""
    key = "reliability", repr((scoring.plan, scoring.level)), *counting.ranking_key(trials, scoring)
    if key not in trials.made:
        trials.made[key] = _detection(trials, scoring, posteriors=False)
    found: Reliability | None = trials.made[key]
    return found


def _detection(trials: Trials, scoring: Scoring, posteriors: bool) -> Reliability | None:
    cllr, least = find("cllr"), find("min_cllr")
    weighed = Weighed(counting.evidence_of(trials, scoring, [cllr, least]), scoring)
    sweep, application = weighed.sweep, scoring.application
    if not (sweep.targets[0] > 0 and sweep.nontargets[0] > 0):
        return None
    prior = 0.5
    if posteriors:
        prior = float(application.with_priors(counting.system_shares(trials, scoring)).prior)
    if not 0 < prior < 1:
        return None
    scale: Scale = "posterior" if posteriors else "llr"
    actual, minimum = (m(weighed.point, application).values[0] for m in (cllr, least))

    def priors(s: Sweep) -> Floats:
        if not posteriors:
            return np.full((s.block.count, 2), 0.5)
        return application.class_priors(np.stack([s.nontargets, s.targets], axis=-1))

    said = Predictions(sweep, scale, float(np.log(prior) - np.log1p(-prior)), (1 - prior, prior))
    counts = ("cllr", float(actual), float(minimum))
    return _reliability(trials.name, weighed, said, prior, priors, counts)


def _top(trials: Trials, scoring: Scoring) -> Reliability | None:
    """Several classes: is the most probable class as often right as it is probable?"""
    nce, logs = find("nce"), counting.log_posteriors(trials, scoring)
    top = logs.argmax(axis=1)
    best = np.minimum(logs[np.arange(len(top)), top], 0.0)
    with np.errstate(divide="ignore"):
        odds = best - np.log(-np.expm1(best))
    weights = np.ones(len(top)) if trials.weights is None else trials.weights
    shares = counting.class_shares(trials)
    wanted = scoring.application.class_priors(shares[None, :])[0]
    weights = (
        weights
        * np.divide(wanted, shares, out=np.zeros(len(shares)), where=shares > 0)[trials.labels]
    )
    if not weights.sum() > 0:
        return None
    counted = counting.evidence_of(trials, scoring, [nce])
    ranking = Ranking.from_scores(
        odds, top == trials.labels, counting.sides_of(trials, scoring), weights
    )
    weighed = Weighed(Evidence({**counted.parts, "ranking": ranking}), scoring)
    sweep = weighed.sweep
    value = float(nce(weighed.point, scoring.application).values[0])

    def priors(s: Sweep) -> Floats:
        return np.stack([s.nontargets, s.targets], axis=-1)

    ones = float(sweep.targets[0] / (sweep.targets[0] + sweep.nontargets[0]))
    said = Predictions(sweep, "top", 0.0, (1 - ones, ones))
    return _reliability(trials.name, weighed, said, None, priors, ("nce", value, float("nan")))


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions behind a ranking of trials.

    Log odds are the scores and a shift, so that no column of all trials is ever made.

    Attributes
    ----------
    sweep : Sweep
        Sweep of the ranking, with weights of 1.
    shift : float
        Difference between predicted log odds and scores.
    priors : tuple of float
        Share of the mass of the trials of code 0, and of code 1.
    """

    sweep: Sweep
    scale: Scale
    shift: float
    priors: tuple[float, float]

    def pooled(self) -> tuple[Floats, Floats]:
        """The best monotone map of what is said: for each pool the lowest and highest log odds, and
        the log odds seen there; infinite where all of a pool are of one class.
        """
        starts, stops, targets, nontargets = self.sweep.pools()
        with np.errstate(divide="ignore"):
            seen = np.log(targets * self.own[1]) - np.log(nontargets * self.own[0])
        ends = self.sweep.ranking.scores[np.stack([starts, stops - 1], axis=1)]
        return ends.ravel().astype(np.float64) + self.shift, np.repeat(seen, 2)

    @cached_property
    def own(self) -> Floats:
        """Mass of a trial of weight one, of either class; a class of no weight has none."""
        weights = np.array([self.sweep.nontargets[0], self.sweep.targets[0]])
        return np.asarray(np.divide(self.priors, weights, out=np.zeros(2), where=weights > 0))

    def bins(self) -> Ints:
        """First trial of each bin: about equal masses, never inside a tie."""
        ranking = self.sweep.ranking
        trials = len(ranking.scores)
        bins = int(np.clip(trials // FEWEST, 1, BINS))
        shares = np.arange(1, bins) / bins - 1e-12  # a bin that is full to the digit ends
        wanted = np.array([score_at(self.sweep, share, self.priors) for share in shares])
        kept = [0]
        for start in np.unique(ranking.positions(wanted)).tolist():
            if start - kept[-1] >= FEWEST and trials - start >= FEWEST:
                kept.append(start)
        return np.array(kept)

    def mean(self, first: int, stop: int) -> float:
        """Mean probability said of the trials from one place to another."""
        from scipy.special import expit

        ranking, sums = self.sweep.ranking, np.zeros(2)
        for start in range(first, stop, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, stop))
            masses = self.own[ranking.codes[part]]
            if len(ranking.extra):
                masses = masses * ranking.extra[part]
            said = expit(ranking.scores[part].astype(np.float64) + self.shift)
            sums += (masses * said).sum(), masses.sum()
        return float(sums[0] / sums[1])

    def weights(self, starts: Ints) -> Floats:
        """Weight of the trials of each bin."""
        ranking = self.sweep.ranking
        if len(ranking.extra):
            return np.add.reduceat(ranking.extra, starts)
        return np.diff(starts, append=len(ranking.scores)).astype(np.float64)

    def columns(self) -> Floats:
        """Edges of the histogram: of log odds over all but the outermost 1% on either side."""
        if self.scale != "llr":
            return np.linspace(0, 1, COLUMNS + 1)
        low, high = (end + self.shift for end in central_scores(self.sweep))
        edge = 0.05 * (high - low) or 1.0
        return np.linspace(low - edge, high + edge, COLUMNS + 1)

    def shares(self, columns: Floats) -> Floats:
        """Share of the mass in each column; the last one has both ends."""
        edges = columns
        if self.scale != "llr":
            with np.errstate(divide="ignore"):
                edges = np.log(columns) - np.log1p(-columns)
        edges = edges - self.shift - 1e-12  # 0.1 stays 0.1, wherever its logarithm is rounded to
        below = mass_below(self.sweep, edges, self.priors)
        if self.scale != "llr":
            below[[0, -1]] = 0.0, 1.0  # all are between 0 and 1
        return np.asarray(np.diff(below))


def _reliability(
    name: str,
    weighed: Weighed,
    said: Predictions,
    prior: float | None,
    priors: Callable[[Sweep], Floats],
    score: tuple[str, float, float],
) -> Reliability:
    """All of it. `priors` gives the mass of either class in each replicate, (replicates x 2)."""
    ranking = weighed.sweep.ranking
    low, seen = said.pooled()
    starts = said.bins()
    edges = np.append(ranking.scores[starts].astype(np.float64), np.inf)
    edges[0] = -np.inf
    lower, upper = weighed.band(lambda s: _observed_share(s, edges, priors(s)))
    ends = [*starts.tolist(), len(ranking.scores)]
    columns = said.columns()
    kept = np.unique(np.linspace(0, len(low) - 1, min(DRAWN, len(low))).astype(np.int64))
    return Reliability(
        name,
        said.scale,
        prior,
        low[kept],
        seen[kept],
        np.array([said.mean(*pair) for pair in pairwise(ends)]),
        _observed_share(weighed.sweep, edges, priors(weighed.sweep))[0],
        lower,
        upper,
        said.weights(starts),
        columns,
        said.shares(columns),
        *score,
    )


def _observed_share(sweep: Sweep, edges: Floats, priors: Floats) -> Floats:
    """Share of the mass between edges that is of code 1, (replicates x bins)."""
    miss, fa = sweep.rates_at(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.nan_to_num(np.diff(miss)) * priors[:, 1:]
        zeros = np.nan_to_num(-np.diff(fa)) * priors[:, :1]
        return np.asarray(ones / (ones + zeros))
