"""Made trials: log-likelihood ratios that speakers shift, from a fixed seed."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TARGET_SHARE = 0.1
SEPARATION = 4.5  # with the spread below, scores without speaker shifts are calibrated
SPREAD = 3.0
SPEAKER_SHIFT = 0.5


def make(
    trials: int, speakers: int, kind: str = "float64", seed: int = 1
) -> tuple[Array, Array, Array]:
    """Scores (`kind` floats), labels (1 target, 0 nontarget; uint8) and speaker numbers."""
    rng = np.random.default_rng(seed)
    speaker = rng.integers(0, speakers, trials)
    labels = (rng.random(trials) < TARGET_SHARE).astype(np.uint8)
    shifts = rng.normal(0, SPEAKER_SHIFT, (2, speakers))
    scores = rng.normal(0, SPREAD, trials)
    scores += np.where(labels == 1, SEPARATION, -SEPARATION) + shifts[labels, speaker]
    return scores.astype(kind), labels, speaker
