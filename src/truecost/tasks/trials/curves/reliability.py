"""Reliability: what a system says of a trial beside what is seen among the trials where it says so.

What is seen comes in two forms: the best monotone map of the scores (pool adjacent violators), and
shares in bins of about equally many trials with their intervals. A detection system says a
log-likelihood ratio (both classes weigh alike) or a posterior of the target (classes weigh as their
priors); with several classes it says how probable the class is that it finds most probable.

Calibration is no measure of quality: a system that gives every trial the priors is perfectly
calibrated and perfectly useless (paper 003, section 3.6). So each curve carries a proper score with
its naive value 1: Cllr = minimum + calibration loss, or the normalised cross entropy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from truecost.core.evidence import Evidence
from truecost.core.ranking import Ranking
from truecost.core.scoring import Scoring
from truecost.core.sweep import Sweep
from truecost.pictures.tables import Table
from truecost.tasks.measures import find
from truecost.tasks.trials import counting
from truecost.tasks.trials.curves.det import DRAWN, Scorings, Weighed, each
from truecost.tasks.trials.records import Floats, Ints, Mask, Trials

Scale = Literal["llr", "posterior", "top"]
BINS = 12
FEWEST = 5  # trials of a bin
COLUMNS = 40  # of the histogram


@dataclass(frozen=True, eq=False)
class Reliability:
    """What one system says and what is seen.

    Attributes
    ----------
    scale : {"llr", "posterior", "top"}
        What the axes show: log-likelihood ratios in nats; posteriors of the target; posteriors of
        the class that is most probable.
    prior : float or None
        Prior of the target at which trials weigh; 1/2 for "llr", None for "top".
    said, seen : ndarray of float64
        The monotone map from what is said to what is seen, thinned; natural log odds at `prior`,
        which are log-likelihood ratios for "llr"; infinite where only one class is seen.
    bin_said, bin_seen, bin_lower, bin_upper : ndarray of float64, shape (bins,)
        Mean of what is said, share seen and the ends of its interval: probabilities at `prior`.
    bin_trials : ndarray of float64, shape (bins,)
        Weight of the trials of each bin.
    edges, counts : ndarray of float64, shapes (columns + 1,) and (columns,)
        Histogram of what is said: log-likelihood ratios for "llr", else probabilities; shares of
        the trials, classes weighing as their priors.
    measure : {"cllr", "nce"}
    actual, minimum : float
        Cllr and minimum Cllr in bits, whose difference is the calibration loss; or the normalised
        cross entropy, and NaN.
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
        """Calibration loss in bits: Cllr - minimum Cllr; NaN for several classes."""
        return self.actual - self.minimum

    def drawn(self, probabilities: Floats) -> Floats:
        """Probabilities as the axes show them: log-likelihood ratios for "llr"."""
        if self.scale != "llr":
            return probabilities
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities) - np.log1p(-probabilities))

    def numbers(self) -> Table:
        """The bins, as the axes show them."""
        said, *seen = (
            self.drawn(v) for v in (self.bin_said, self.bin_seen, self.bin_lower, self.bin_upper)
        )
        rows = [
            (self.system, said[b], *(float(v[b]) for v in seen), float(self.bin_trials[b]))
            for b in range(len(said))
        ]
        return Table.of("Reliability", ("system", "said", "seen", "lower", "upper", "trials"), rows)


def reliabilities(
    systems: Sequence[Trials], scoring: Scorings, *, posteriors: bool | None = None
) -> list[Reliability]:
    """What each system says and what is seen; systems that say no probabilities are left out.

    Parameters
    ----------
    scoring : Scoring, or mapping of str to Scoring
        For all systems, or by name: priors, and the resampling of the intervals.
    posteriors : bool, optional
        Show detection systems on the scale of posteriors at the application's prior; otherwise of
        log-likelihood ratios. Left out: as the scores were given.

    Returns
    -------
    list of Reliability
        Systems that lack a class are left out too.

    Notes
    -----
    With several classes and given priors a trial weighs P_k over the share of its class in the
    data, also in replicates.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.tasks.trials import curves
    >>> labels = np.arange(400) % 2
    >>> llrs = 4 * np.random.default_rng(0).normal(2 * labels - 1)  # twice too sure
    >>> trials = tc.Trials.of(llrs, labels, kind="llr", name="mine")
    >>> [curve] = curves.reliabilities([trials], tc.Scoring(plan=tc.Plan(100)))
    >>> print(f"{curve.actual:.3f} = {curve.minimum:.3f} + {curve.loss:.3f}")
    0.530 = 0.408 + 0.122
    """
    found = []
    for trials, own in each(systems, scoring):
        if trials.detection and "llr" in counting.parts_of(trials, own):
            shown = trials.kind != "llr" if posteriors is None else posteriors
            found.append(_detection(trials, own, shown))
        elif not trials.detection and "losses" in counting.parts_of(trials, own):
            found.append(_top(trials, own))
    return [curve for curve in found if curve is not None]


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
    shift = float(np.log(prior) - np.log1p(-prior))
    with np.errstate(over="ignore"):
        odds = np.asarray(sweep.ranking.scores, np.float64) + shift
    masses = sweep.trial_weights()[0]
    own = np.array([(1 - prior) / sweep.nontargets[0], prior / sweep.targets[0]])
    scale: Scale = "posterior" if posteriors else "llr"
    actual, minimum = (m(weighed.point, application).values[0] for m in (cllr, least))

    def priors(s: Sweep) -> Floats:
        if not posteriors:
            return np.full((s.block.count, 2), 0.5)
        return application.class_priors(np.stack([s.nontargets, s.targets], axis=-1))

    return _reliability(
        trials.name,
        weighed,
        scale,
        prior,
        odds,
        masses * own[sweep.ranking.codes],
        priors,
        ("cllr", float(actual), float(minimum)),
    )


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
    ranking = Ranking.of(odds, top == trials.labels, counting.sides_of(trials, scoring), weights)
    weighed = Weighed(Evidence({**counted.parts, "ranking": ranking}), scoring)
    sweep = weighed.sweep
    value = float(nce(weighed.point, scoring.application).values[0])

    def priors(s: Sweep) -> Floats:
        return np.stack([s.nontargets, s.targets], axis=-1)

    scores = np.asarray(sweep.ranking.scores, np.float64)
    masses = sweep.trial_weights()[0]
    counts = ("nce", value, float("nan"))
    return _reliability(trials.name, weighed, "top", None, scores, masses, priors, counts)


def _reliability(
    name: str,
    weighed: Weighed,
    scale: Scale,
    prior: float | None,
    odds: Floats,
    masses: Floats,
    priors: Callable[[Sweep], Floats],
    score: tuple[str, float, float],
) -> Reliability:
    """All of it, from the log odds that are said and the mass of each trial, by ascending odds.

    `priors` gives the mass of either class in each replicate, (replicates x 2).
    """
    from scipy.special import expit

    ranking = weighed.sweep.ranking
    said, seen = pooled(odds, ranking.codes, masses)
    starts = _bins(ranking.cut, masses)
    edges = np.append(np.asarray(ranking.scores, np.float64)[starts], np.inf)
    edges[0] = -np.inf
    lower, upper = weighed.band(lambda s: _observed_share(s, edges, priors(s)))
    mean = np.add.reduceat(masses * expit(odds), starts) / np.add.reduceat(masses, starts)
    own = ranking.extra if len(ranking.extra) else np.ones(len(masses))
    shown = odds if scale == "llr" else expit(odds)
    columns = _columns(shown, masses) if scale == "llr" else np.linspace(0, 1, COLUMNS + 1)
    counts = np.histogram(shown, columns, weights=masses)[0] / masses.sum()
    kept = np.unique(np.linspace(0, len(said) - 1, min(DRAWN, len(said))).astype(np.int64))
    return Reliability(
        name,
        scale,
        prior,
        said[kept],
        seen[kept],
        mean,
        _observed_share(weighed.sweep, edges, priors(weighed.sweep))[0],
        lower,
        upper,
        np.add.reduceat(own, starts),
        columns,
        counts,
        *score,
    )


def _observed_share(sweep: Sweep, edges: Floats, priors: Floats) -> Floats:
    """Share of the mass between edges that is of code 1, (replicates x bins)."""
    miss, fa = sweep.rates_at(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.nan_to_num(np.diff(miss)) * priors[:, 1:]
        zeros = np.nan_to_num(-np.diff(fa)) * priors[:, :1]
        return np.asarray(ones / (ones + zeros))


def pooled(odds: Floats, codes: npt.NDArray[np.uint8], masses: Floats) -> tuple[Floats, Floats]:
    """The best monotone map of log odds (pool adjacent violators), tied ones together.

    `odds`: what is said, ascending; `codes`: 1 where it came true; `masses`: weight of each trial.
    For each pool the lowest and highest log odds said, and the log odds seen there; infinite where
    all of a pool are of one class. Barlow and others (1972); Brümmer and du Preez (2006).
    """
    from scipy.optimize import isotonic_regression

    odds, codes, masses = odds[masses > 0], codes[masses > 0], masses[masses > 0]
    starts = np.flatnonzero(np.append(True, odds[1:] != odds[:-1]))
    total, ones = np.add.reduceat(masses, starts), np.add.reduceat(masses * codes, starts)
    blocks = isotonic_regression(ones / total, weights=total).blocks
    first, last = blocks[:-1], blocks[1:] - 1
    pool_ones = np.add.reduceat(ones, first)
    pool_zeros = np.add.reduceat(masses * (codes == 0), starts[first])
    with np.errstate(divide="ignore"):
        seen = np.log(pool_ones) - np.log(pool_zeros)
    ends = np.stack([odds[starts[first]], odds[starts[last]]], axis=1)
    return ends.ravel(), np.repeat(seen, 2)


def _bins(cut: Mask, masses: Floats) -> Ints:
    """First trial of each bin: about equal masses, never inside a tie."""
    bins = int(np.clip(len(masses) // FEWEST, 1, BINS))
    wanted = np.searchsorted(np.cumsum(masses), masses.sum() * np.arange(bins) / bins)
    ties = np.flatnonzero(cut)
    starts = np.unique(ties[np.searchsorted(ties, wanted, side="right").clip(1) - 1])
    kept = [0]
    for start in starts[starts > 0]:
        if start - kept[-1] >= FEWEST and len(masses) - start >= FEWEST:
            kept.append(int(start))
    return np.array(kept)


def _columns(shown: Floats, masses: Floats) -> Floats:
    """Edges of the histogram over all but the outermost 1 % on either side."""
    places = np.searchsorted(np.cumsum(masses) / masses.sum(), [0.01, 0.99])
    finite = shown[np.isfinite(shown)]
    if len(finite) == 0:
        return np.linspace(-1, 1, COLUMNS + 1)
    low, high = np.clip(shown[places.clip(0, len(shown) - 1)], finite[0], finite[-1])
    edge = 0.05 * (high - low) or 1.0
    return np.linspace(low - edge, high + edge, COLUMNS + 1)
