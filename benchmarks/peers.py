"""The same work as the peers do it, with metrics written to be quick."""

import numpy as np
from confidence_intervals import evaluate_with_conf_int
from sklearn.metrics import roc_curve

from benchmarks.data import Array
from benchmarks.ours import APPLICATION, WEIGHTS

Interval = tuple[float, tuple[float, float]]


def nec_metric(targets: Array, accepted: Array) -> float:
    """Normalised expected cost of decisions; both arrays are bool."""
    n_targets = np.count_nonzero(targets)
    hits = np.count_nonzero(targets & accepted)
    miss = 1 - hits / n_targets
    fa = (np.count_nonzero(accepted) - hits) / (len(targets) - n_targets)
    return float((WEIGHTS[1] * miss + WEIGHTS[0] * fa) / min(WEIGHTS))


def eer_metric(labels: Array, scores: Array) -> float:
    """Mean of Pmiss and Pfa at the threshold where they are closest."""
    fa, hit, _ = roc_curve(labels, scores, drop_intermediate=False)
    best = np.argmin(np.abs(1 - hit - fa))
    return float((1 - hit[best] + fa[best]) / 2)


def nec_value(scores: Array, labels: Array) -> float:
    """Normalised expected cost alone."""
    return nec_metric(labels == 1, scores >= APPLICATION.threshold)


def eer_value(scores: Array, labels: Array) -> float:
    """Equal error rate alone."""
    return eer_metric(labels, scores)


def nec(scores: Array, labels: Array, speaker: Array, replicates: int) -> Interval:
    """Normalised expected cost with its interval."""
    return evaluate_with_conf_int(
        scores >= APPLICATION.threshold,
        nec_metric,
        labels == 1,
        conditions=speaker,
        num_bootstraps=replicates,
    )


def eer(scores: Array, labels: Array, speaker: Array, replicates: int) -> Interval:
    """Equal error rate with its interval."""
    return evaluate_with_conf_int(
        scores, eer_metric, labels, conditions=speaker, num_bootstraps=replicates
    )


def points(scores: Array, labels: Array) -> tuple[Array, Array, Array]:
    """`roc_curve` as it is called by default: points between collinear ones are dropped."""
    return roc_curve(labels, scores)


def all_points(scores: Array, labels: Array) -> tuple[Array, Array, Array]:
    """`roc_curve` with a point at every distinct score, as `Sweep.curve` gives them."""
    return roc_curve(labels, scores, drop_intermediate=False)
