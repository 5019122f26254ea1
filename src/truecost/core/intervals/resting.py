"""What a row rests on: which of its units, trials and errors are too few to trust its interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from truecost.core.flags import raised
from truecost.core.intervals.auto import Auto, Support
from truecost.core.intervals.rates import Errors
from truecost.core.jackknife import LeftOut
from truecost.core.measure import Measure
from truecost.names import Method

FEW_UNITS = 20  # below this a percentile interval covers too little (0.92 at 20, 0.83 at 6 units)
FEW_ERRORS = 10
FEW_KISH = 8  # effective units: below this a few of them carry the value (.90 at 10 speakers)
ONE_KISH = 3  # below this one of them does
FEW_LOSSES = 50  # trials of a class, one by one, in a mean of losses


class Said(Protocol):
    """What the task says of its evidence."""

    @property
    def flags(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def n_trials(self) -> int: ...  # noqa: D102
    @property
    def errors(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def part_errors(self) -> Mapping[str, float]: ...  # noqa: D102


class Run(Protocol):
    """What the rows of one run share."""

    @property
    def method(self) -> Method: ...  # noqa: D102
    @property
    def context(self) -> Said: ...  # noqa: D102
    @property
    def auto(self) -> Auto: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Resting:
    """What the interval of one row rests on.

    Attributes
    ----------
    units : mapping of str to int
        Number of units of each resampled factor.
    known : bool
        Whether there is an interval.
    """

    measure: Measure
    units: Mapping[str, int]
    support: Support
    left: tuple[LeftOut, ...]
    run: Run
    known: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of the task, then what is too few, by what each class effectively holds."""
        auto, rule = self.run.method == "auto", self.measure.interval
        found = raised(
            few_units=self._fewest < (rule.fewest if auto else FEW_UNITS),
            few_effective_units=self._few_effective,
            clustered_errors=any(map(_clustered, self.support.kinds)),
            rare_losses=auto and rule.rare and self._rare,
            in_order=any(one.ordered for one in self.left),
            few_errors=self.known and self._errors < FEW_ERRORS,
        )
        # What is said of crossed percentile intervals is not so of the others.
        given = (f for f in self.run.context.flags if not (auto and f == "crossed"))
        return (*given, *found)

    @property
    def _fewest(self) -> float:
        return min(self.units.values(), default=np.inf)

    @property
    def _few_effective(self) -> bool:
        held = min((one.kish for one in self.left), default=np.inf)
        held = min(held, self.support.effective if self.run.method == "auto" else np.inf)
        return held < ONE_KISH or (held < FEW_KISH and held < 0.9 * self._fewest)

    @property
    def _errors(self) -> float:
        """Errors of the kind that has fewest: each class that has a prior counts for itself."""
        if self.support.rates:
            return min(min(k.errors, k.trials - k.errors) for k in self.support.rates)
        said, measure = self.run.context, self.measure
        kind = measure.errors or ("costs" if "costs" in measure.uses else "")
        seen = said.errors.get(kind, said.errors.get("", FEW_ERRORS))
        own = (said.part_errors.get(part, FEW_ERRORS) for part in measure.parts)
        return min([seen if measure.decides else FEW_ERRORS, *own])

    @property
    def _rare(self) -> bool:
        """Whether a class has few trials that are each a unit."""
        if self._fewest < 0.9 * self.run.context.n_trials:
            return False
        held = np.asarray(self.run.auto.seen.sums(self.measure.parts[0], "n")[0], np.float64)
        return bool(held[held > 0].min(initial=np.inf) <= FEW_LOSSES)


def _clustered(kind: Errors) -> bool:
    """Whether few units hold several trials each."""
    return kind.kish < FEW_UNITS and kind.effective > 1.5 * kind.kish
