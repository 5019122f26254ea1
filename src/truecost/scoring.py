"""What to compute and how: measures, application, resampling, and how scores become decisions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np

from truecost.application import Application, check_priors
from truecost.errors import UsageError, checked, refuse_text
from truecost.names import ICC, Method
from truecost.weights import Plan

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class Scoring:
    """What to compute and how.

    Parameters
    ----------
    application : Application
        Costs and priors; 0/1 costs and the shares in the data when left out.
    measures : tuple of str
        `NAME` or `NAME:PARAMETER`; those that suit the score type when left out.
    plan : Plan
        How units are resampled.
    level : float
        Level of the intervals, between 0 and 1.
    method : {"auto", "percentile", "bca"}
        How the ends of an interval are made (see `truecost.estimate`).
    icc : float
        Correlation of the trials of a unit that `auto` assumes where the data do not show it, from
        0 up to 1.
    training_prior : tuple of float, optional
        Priors of the classes that the posteriors contain, summing to 1; the shares in the data
        when left out. Likelihood ratios contain none.
    threshold : float, optional
        The deployed threshold on the score, in place of the Bayes threshold; a probability (or its
        logarithm) when the scores are posteriors.
    clip : float, optional
        Least probability that a class is given, between 0 and 0.5; nothing is clipped when left
        out.
    subsets : tuple of str or (str, str)
        Columns, each level of which is a subset, or conditions such as `snr < 10`; a pair gives a
        name and one of these.
    jobs : int, optional
        Threads; all cores by default. The result does not depend on their number.
    allow_reversed : bool
        Accept the scores of a detection task that rank nontargets above targets beyond chance
        (the 99.9 % interval of the area under the ROC curve lies below 0.5), which are refused
        otherwise.
    whole_shares : tuple of float, optional
        Class shares of the whole when a subset is scored: what the system takes from the data
        (the training prior, the prior of its decisions) does not change from subset to subset.
    whole_thresholds : mapping of str to float
        Thresholds that measures chose on the whole, by their label, when a subset is scored.
    choices : object, optional
        What the task of the system chooses beside: `TermsScoring`, `StreamScoring`,
        `LifelongScoring`, `AbbaScoring`; its defaults when left out.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Raises
    ------
    UsageError
        When `clip` is out of range, the training priors do not sum to 1, or a text is given in
        place of several names.
    """

    application: Application = field(default_factory=Application)
    measures: tuple[str, ...] = ()
    plan: Plan = field(default_factory=Plan)
    level: float = 0.95
    method: Method = "auto"
    icc: float = ICC
    training_prior: tuple[float, ...] | None = None
    threshold: float | None = None
    clip: float | None = None
    subsets: tuple[str | tuple[str, str], ...] = ()
    jobs: int | None = None
    allow_reversed: bool = False
    whole_shares: tuple[float, ...] | None = None
    whole_thresholds: Mapping[str, float] = field(default_factory=dict)
    progress: Callable[[str, int, int], None] | None = field(default=None, compare=False)
    choices: object = None

    def __post_init__(self) -> None:
        checked("application", self.application, Application, "an Application (or truecost.preset)")
        checked("plan", self.plan, Plan, "a Plan, such as truecost.Plan(2000, seed=0)")
        refuse_text(measures=self.measures, subsets=self.subsets)
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"jobs is {self.jobs}: at least one thread is needed")
        if not 0 <= self.icc <= 1:
            raise UsageError(f"icc is {self.icc:g}: it must lie between 0 and 1, such as 0.1")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise UsageError(f"threshold is {self.threshold:g}: it must be a finite number")
        if self.clip is not None and not 0 < self.clip < 0.5:
            raise UsageError(
                f"clip is {self.clip:g}: a least probability between 0 and 0.5 is needed"
            )
        if self.training_prior is not None:
            if np.ndim(self.training_prior) == 0:
                raise UsageError(
                    f"training_prior is {self.training_prior}: give that of each class, such as "
                    f"(0.5, 0.5)"
                )
            check_priors(self.training_prior)

    def chosen(self, kind: type[Chosen]) -> Chosen:
        """The choices of a task, of the class that holds them; its defaults where none were made.

        Raises
        ------
        UsageError
            When the choices are those of another task.
        """
        if self.choices is None:
            return kind()
        checked("choices", self.choices, kind, f"a {kind.__name__}")
        return cast("Chosen", self.choices)

    def refuse_bca_of_samples(self) -> None:
        """Refuse BCa intervals, where trials or items are weighted samples: UsageError."""
        if self.method == "bca":
            raise UsageError(
                "bca intervals are not defined for weighted samples (inverse inclusion "
                "probabilities): the jackknife does not know how they were drawn; use the "
                "percentile method"
            )
