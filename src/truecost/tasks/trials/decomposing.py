"""Loss decomposition: actual = minimum (PAV or affine, named) + calibration loss.

Sources: Brümmer and du Preez (2006); paper 002, Eq. 44-45.
"""

from dataclasses import dataclass
from typing import Any

from truecost.core.comparison import compare
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, checked
from truecost.tasks.trials.calibrating import Calibrated, calibrate, scoring_after
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials


@dataclass(frozen=True)
class Decomposition:
    """Actual = minimum + calibration loss, for each measure.

    Attributes
    ----------
    actual : tuple of Estimate
        Of the scores as they are.
    minimum : tuple of Estimate
        Of the scores calibrated on the trials themselves.
    losses : tuple of Comparison
        Actual against minimum: `difference` is the calibration loss.
    """

    actual: tuple[Estimate, ...]
    minimum: tuple[Estimate, ...]
    losses: tuple[Comparison, ...]
    calibrated: Calibrated


def decompose(
    trials: Trials, scoring: Scoring | None = None, method: str = "affine", **options: Any
) -> Decomposition:
    """The part of a loss that calibration on the trials themselves would take away.

    The calibration is fitted once, to all trials, and stays in the replicates (it is a system that
    is compared with this one); the measures `min_cllr` and `cllr_loss` fit theirs anew in each.

    Parameters
    ----------
    trials : Trials
        Of a type with an actual loss: likelihood ratios, posteriors or log-scores.
    method : str
        Names the minimum: "pav" for the best monotone map (two classes), "affine" and others for
        the best of theirs. "affine" also suits many classes (paper 002, Eq. 44-45).
    **options
        Passed on to `calibrate`.

    Raises
    ------
    UsageError
        When the scores are of type "score", or as `calibrate` and `score` say.
    InputError
        As `calibrate` and `score` say.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(1000) % 2
    >>> trials = tc.Trials.of(3 * rng.normal(labels), labels, kind="llr")
    >>> found = tc.decompose(trials, tc.Scoring(measures=("cllr",), plan=tc.Plan(200)), "pav")
    >>> [loss] = found.losses
    >>> print(found.actual[0].value > 1, loss.difference.lower > 0)
    True True
    """
    checked(
        "trials", trials, Trials, "Trials (truecost.trials.load or truecost.Trials.of makes them)"
    )
    if trials.kind == "score":
        raise UsageError(
            f"{trials.name}: type score has no actual cost to decompose; say what the scores are, "
            f"such as llr, or calibrate them"
        )
    from truecost.tasks.trials.work import WORK

    chosen = scoring or Scoring()
    options = {
        "application": chosen.application,
        "training_prior": chosen.chosen(TrialsScoring).training_prior,
        "clip": chosen.chosen(TrialsScoring).clip,
    } | options
    calibrated = calibrate(trials, method, train="self", **options)
    actual = WORK.score(trials, chosen)
    minimum = WORK.score(calibrated.trials, scoring_after(chosen))
    losses = tuple(compare(a, b) for a, b in zip(actual, minimum, strict=True))
    return Decomposition(tuple(actual), tuple(minimum), losses, calibrated)
