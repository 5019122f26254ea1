"""What to compute and how, what one call of `estimate` takes, and the rows of several calls in
their order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from truecost.core.application import Application
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.weights import Plan
from truecost.errors import UsageError, checked, refuse_text
from truecost.names import ICC, Method

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
    subsets : tuple of str or (str, str)
        Columns, each level of which is a subset, or conditions such as `snr < 10`; a pair gives a
        name and one of these.
    jobs : int, optional
        Threads; all cores by default. The result does not depend on their number.
    choices : object, optional
        What the task of the system chooses beside: `TrialsScoring`, `TermsScoring`,
        `StreamScoring`, `LifelongScoring`, `AbbaScoring`; its defaults when left out.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Raises
    ------
    UsageError
        When a number is out of range, or a text is given in place of several names.
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

    def __post_init__(self) -> None:
        checked("application", self.application, Application, "an Application (or truecost.preset)")
        checked("plan", self.plan, Plan, "a Plan, such as truecost.Plan(2000, seed=0)")
        refuse_text(measures=self.measures, subsets=self.subsets)
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"jobs is {self.jobs}: at least one thread is needed")
        if not 0 <= self.icc <= 1:
            raise UsageError(f"icc is {self.icc:g}: it must lie between 0 and 1, such as 0.1")

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


Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Measures that are estimated from the same evidence, in the same way.

    Attributes
    ----------
    evidence : Evidence
        What was counted.
    measures : sequence of Measure
        What to compute.
    application : Application
        Costs and priors.
    plan : Plan
        How units are resampled.
    context : Context
        Counts, names and signature.
    places : sequence of int
        Where the rows stand among those of all batches; one after the other when empty.
    finish : callable, optional
        From the rows to as many as there are places: what a task adds to them.
    """

    evidence: Evidence
    measures: Sequence[Measure]
    application: Application = field(default_factory=Application)
    plan: Plan = field(default_factory=Plan)
    context: Context = field(default_factory=Context)
    places: Sequence[int] = ()
    finish: Callable[[list[Estimate]], list[Estimate]] | None = None


def estimated(
    batches: Iterable[Batch],
    *,
    level: float = 0.95,
    method: Method = "auto",
    icc: float = ICC,
    jobs: int | None = None,
    tell: Tell | None = None,
) -> list[Estimate]:
    """The rows of batches in the order of their places.

    Parameters
    ----------
    level, method, icc, jobs
        As `estimate` takes them.
    tell : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Raises
    ------
    UsageError
        As `estimate` says.
    """
    found: list[tuple[int, Estimate]] = []
    for batch in batches:
        rows = estimate(
            batch.evidence,
            batch.measures,
            batch.application,
            batch.plan,
            level=level,
            method=method,
            icc=icc,
            context=batch.context,
            jobs=jobs,
            progress=None if tell is None else _about(batch, tell),
        )
        rows = rows if batch.finish is None else batch.finish(rows)
        places = batch.places or range(len(found), len(found) + len(rows))
        found += zip(places, rows, strict=True)
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _about(batch: Batch, tell: Tell) -> Callable[[int, int], None]:
    """What to tell of a batch: what its rows are about, and how far it is."""
    what = " ".join(batch.context.dims.values())
    return lambda done, total: tell(what, done, total)
