"""What one call of `estimate` takes, and the rows of several calls in their order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from truecost.core.application import Application
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.weights import Plan
from truecost.names import ICC, Method

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
