"""Sums of posteriors that few measures read: the place of the true class, bins of confidence."""

import numpy as np

from truecost.core.evidence import Part
from truecost.core.scoring import Scoring
from truecost.core.tally import Tally
from truecost.tasks.trials.counting import UnitColumns, log_posteriors
from truecost.tasks.trials.records import Trials

BINS = 15  # of confidence, equally wide


def rank_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    """Trials by the place of their true class among the posteriors; ties go before it."""
    logs = log_posteriors(trials, scoring)
    own = logs[np.arange(len(logs)), trials.labels]
    ranks = (logs >= own[:, None]).sum(axis=1) - 1
    places = tuple(str(k + 1) for k in range(logs.shape[1]))
    axes = {"class": (trials.classes, trials.labels), "place": (places, ranks)}
    return Tally.count(sides, {"n": np.ones(len(logs), np.int64)}, axes, trials.weights)


def bin_tally(trials: Trials, scoring: Scoring, sides: UnitColumns) -> Part:
    """Trials, confidence and right decisions by bins of confidence, of which each has its upper
    end: of the most probable class, or of the target.
    """
    posteriors = np.exp(log_posteriors(trials, scoring))
    top = np.ones(len(posteriors), np.int64) if trials.detection else posteriors.argmax(axis=1)
    confidence = np.minimum(posteriors[np.arange(len(top)), top], 1.0)
    bins = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    names = tuple(f"{(k + 1) / BINS:.3g}" for k in range(BINS))
    axes = {"class": (trials.classes, trials.labels), "bin": (names, bins)}
    right = (top == trials.labels).astype(np.float64)
    sums = {"n": np.ones(len(top)), "confidence": confidence, "right": right}
    return Tally.count(sides, sums, axes, trials.weights)
