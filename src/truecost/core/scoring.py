"""Scorings: the choice of measures and intervals, the input of one call of `estimate`, and the rows
of several calls in their order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence
from truecost.core.factors import Factor, Labels, encode_sides, refuse_divided
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.weights import Plan
from truecost.errors import UsageError, checked, refuse_text
from truecost.names import ICC, Direction, Method

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class Scoring:
    """Choices of a scoring: application, measures, intervals and subsets.

    Parameters
    ----------
    application : Application
        Costs and priors. Default: a wrong decision costs 1, a right one 0; the priors are the
        shares of the classes in the data.
    measures : tuple of str
        Measures, each as `NAME` or `NAME:PARAMETER`. Default: the measures for the
        type of the scores.
    plan : Plan
        Plan of the resampling.
    level : float
        Level of the intervals, between 0 and 1.
    method : {"auto", "percentile", "bca"}
        Method of the intervals (see `truecost.estimate`). `auto`: binomial limits for error rates,
        t limits for most other measures. `percentile`, `bca`: bootstrap.
    icc : float
        Correlation between the trials of a unit, from 0 to 1, that the method `auto` assumes if the
        data are too few to estimate it.
    subsets : tuple of str or (str, str)
        Subsets to score in addition to the whole data.

        - `COLUMN`: one subset for each value of the column.
        - `COLUMN vs VALUE`: for each other value of the column, one subset with the trials of
          VALUE and the trials of the other value.
        - A condition, such as `snr < 10`.
        - A pair: a name, which results show, and a column or condition as above.
    jobs : int, optional
        Number of threads; it does not change the result. Default: all cores.
    choices : object, optional
        Choices of the task: `TrialsScoring`, `TermsScoring`, `StreamScoring`, `LifelongScoring` or
        `AbbaScoring`. Default: the choices of the task with their default values.
    progress : callable, optional
        Function that is called from time to time with the name of the current step, the number of
        replicates computed so far, and the number of all replicates.
    also : tuple of str
        Further measures, reported after those in `measures`.
    directions : mapping of str to {"higher", "lower"}
        Direction of better values for `mean:COLUMN`, by column. The key "" is for all other
        columns.

    Raises
    ------
    UsageError
        If a number is out of range, or a text is given instead of a list of names.
    """

    application: Application = field(default_factory=Application)
    measures: tuple[str, ...] = ()
    plan: Plan = field(default_factory=Plan)
    level: float = 0.95
    method: Method = "auto"
    icc: float = ICC
    subsets: tuple[str | tuple[str, str], ...] = ()
    jobs: int | None = None
    progress: Callable[[str, int, int], None] | None = field(default=None, compare=False)
    choices: object = None
    also: tuple[str, ...] = ()
    directions: Mapping[str, Direction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked("application", self.application, Application, "an Application (or truecost.preset)")
        checked("plan", self.plan, Plan, "a Plan, such as truecost.Plan(2000, seed=0)")
        refuse_text(measures=self.measures, subsets=self.subsets, also=self.also)
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"jobs is {self.jobs}: at least one thread is needed")
        if not 0 <= self.icc <= 1:
            raise UsageError(f"icc is {self.icc:g}: it must lie between 0 and 1, such as 0.1")

    def chosen(self, kind: type[Chosen]) -> Chosen:
        """The attribute `choices`, an object of the class `kind`; if it is None, an object of this
        class with default values. Raises UsageError if `choices` belongs to another task.
        """
        if self.choices is None:
            return kind()
        checked("choices", self.choices, kind, f"a {kind.__name__}")
        return cast("Chosen", self.choices)

    def refuse_bca_of_samples(self) -> None:
        """Raise UsageError if `method` is "bca": BCa is not defined for weighted samples."""
        if self.method == "bca":
            raise UsageError(
                "bca intervals are not defined for weighted samples (inverse inclusion "
                "probabilities): the jackknife cannot repeat their drawing; use --method percentile"
            )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Measures that are estimated from the same evidence, in the same way.

    `places`: positions of the rows among those of all batches; empty for one after the other.
    `finish`: function of the task that returns the rows to report, as many as there are places.
    """

    evidence: Evidence
    measures: Sequence[Measure]
    application: Application = field(default_factory=Application)
    plan: Plan = field(default_factory=Plan)
    context: Context = field(default_factory=Context)
    places: Sequence[int] = ()
    finish: Callable[[list[Estimate]], list[Estimate]] | None = None


def estimated(batches: Iterable[Batch], scoring: Scoring) -> list[Estimate]:
    """The rows of batches in the order of their places. The progress callback of the scoring gets
    what is resampled, the replicates done, and their total number.
    """
    found: list[tuple[int, Estimate]] = []
    for batch in batches:
        about = f"replicates of {' '.join(batch.context.dims.values())}"
        rows = estimate(
            batch.evidence,
            batch.measures,
            batch.application,
            batch.plan,
            level=scoring.level,
            method=scoring.method,
            icc=scoring.icc,
            context=batch.context,
            jobs=scoring.jobs,
            progress=None if scoring.progress is None else partial(scoring.progress, about),
        )
        rows = rows if batch.finish is None else batch.finish(rows)
        places = batch.places or range(len(found), len(found) + len(rows))
        found += zip(places, rows, strict=True)
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def sides_of_units(
    units: Mapping[str, Sequence[Labels]], strata: Labels | None, plan: Plan
) -> list[tuple[Factor, npt.NDArray[np.int32]]]:
    """For each side of each factor, named after its columns: the factor, and its unit codes.
    `strata` apply to the first factor.
    """
    sides = []
    for name, columns in units.items():
        if strata is not None and len(columns) > 1:
            raise UsageError(
                f"strata and units on two sides ({name}) cannot be combined: leave out --stratum, "
                "or name one unit column"
            )
        if strata is None:
            labels, codes = encode_sides(columns)
            factor = Factor(name, labels)
        else:
            factor, own = Factor.encode(name, columns[0], strata)
            codes = [own]
            if plan.scheme_of(name) != "blocks":
                refuse_divided(name, columns[0], own)
        sides += [(factor, side) for side in codes]
        strata = None
    return sides
