"""What trials leave open beside costs and priors: thresholds, training priors, clipping."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from truecost.core.application import check_priors
from truecost.errors import UsageError
from truecost.names import Direction, ThresholdBy
from truecost.options import check_fields
from truecost.study.tables import DataTable

if TYPE_CHECKING:
    from truecost.tasks.trials.records import Trials


@dataclass(frozen=True)
class TrialsScoring:
    """How trials are scored, beside their application.

    Parameters
    ----------
    training_prior : tuple of float, optional
        Priors of the classes that the posteriors contain, summing to 1; the shares in the data
        when left out. Likelihood ratios contain none.
    threshold : float, optional
        The deployed threshold on the score, in place of the Bayes threshold; a probability (or its
        logarithm) when the scores are posteriors.
    clip : float, optional
        Least probability that a class is given, between 0 and 0.5; nothing is clipped when left
        out.
    allow_reversed : bool
        Accept the scores of a detection task that rank nontargets above targets beyond chance
        (the 99.9 % interval of the area under the ROC curve lies below 0.5), which are refused
        otherwise.
    whole_shares : tuple of float, optional
        Class shares of the whole when a subset is scored: what the system takes from the data
        (the training prior, the prior of its decisions) does not change from subset to subset.
    threshold_by : {"whole", "subset"}
        Whose threshold a subset has where a measure chooses it.
    whole : Trials, optional
        The whole when a subset of it is scored, whose threshold measures choose.
    directions : mapping of str to {"higher", "lower"}
        Which values are better, by the column of `mean:COLUMN`; under "" those of all others.

    Raises
    ------
    UsageError
        When `clip` is out of range, the threshold is no number, or the training priors do not sum
        to 1.
    """

    training_prior: tuple[float, ...] | None = None
    threshold: float | None = None
    clip: float | None = None
    allow_reversed: bool = False
    whole_shares: tuple[float, ...] | None = None
    threshold_by: ThresholdBy = "whole"
    whole: "Trials | None" = field(default=None, repr=False)
    directions: Mapping[str, Direction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, DataTable)
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise UsageError(f"threshold is {self.threshold:g}: it must be a finite number")
        if self.training_prior is None:
            return
        if np.ndim(self.training_prior) == 0:
            raise UsageError(
                f"training_prior is {self.training_prior}: give that of each class, such as "
                f"(0.5, 0.5)"
            )
        check_priors(self.training_prior)


def choices_of(_study: object, data: DataTable, _reader: object) -> TrialsScoring:
    """How trials are scored, as `[data]` says: UsageError as `TrialsScoring` has it."""
    training = data.training_prior
    if isinstance(training, float | int):
        training = (1 - training, training)
    if data.threshold == "bayes" and data.type == "score":
        raise UsageError(
            "--threshold bayes takes likelihood ratios or posteriors, and type score has neither: "
            "give a number, or make likelihood ratios by truecost calibrate"
        )
    return TrialsScoring(
        training,
        None if data.threshold in (None, "bayes") else float(data.threshold),
        data.clip,
        bool(data.allow_reversed),
        threshold_by=data.settled("threshold_by"),
        directions=directions_of(data),
    )


def directions_of(data: DataTable) -> dict[str, Direction]:
    """Which values are better, by column; under "" those of every other column.

    UsageError where two options say it.
    """
    found: dict[str, Direction] = {}
    if data.higher is not None:
        found[""] = "higher" if data.higher else "lower"
    given = data.direction
    if given and found:
        raise UsageError("--direction goes without --higher and --lower: keep one of them")
    said = {"": given} if isinstance(given, str) else dict(given or {})
    for column, word in said.items():
        if word not in ("higher", "lower"):
            raise UsageError(
                f"--direction {f'{column}={word}' if column else word}: say which values are "
                f"better, higher or lower, such as --direction accuracy=higher,latency=lower"
            )
        found[column] = "higher" if word == "higher" else "lower"
    return found
