"""Options of `truecost abba`: logs of what two models accepted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli.options import Flag, Whole, numbers, pairs
from truecost.errors import UsageError
from truecost.names import ChosenBy, Mismatch

if TYPE_CHECKING:
    from truecost.study.tables import DataTable, IntervalTable


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Logs:
    """What the logs hold."""

    map: str = ""
    """Columns, as KEY=COLUMN,...: id, collected_by, score_a, score_b, label, machine, unit, ...
    See: truecost list map"""
    metadata: Annotated[tuple[str, ...], Flag] = ()
    """FILE with further columns, joined by id, or COLUMN=FILE, joined by that column."""
    users: str | None = None
    """File with every user (unit) and its arm, those included of which nothing was accepted."""
    labels: str | None = None
    """File with labels of items, as select writes it: columns id, label, inclusion_probability."""
    input_format: str | None = None
    """Format of the logs; recognised unless given. See: truecost list formats"""


@Parameter(name="*", group="Deployment")
@dataclass(frozen=True, kw_only=True)
class Deployed:
    """How the two models were deployed: A is the present one, B the candidate."""

    threshold_a: float | None = None
    """Deployed threshold of A (the least score that it collected unless given)."""
    threshold_b: float | None = None
    """Deployed threshold of B (the least score that it collected unless given)."""
    exposure_a: float | None = None
    """Amount of traffic of A: streams, hours or devices; the A/B estimator needs both."""
    exposure_b: float | None = None
    """Amount of traffic of B in the same unit."""
    units_a: Whole = None
    """Number of users of A, those included of which nothing was accepted."""
    units_b: Whole = None
    """Number of users of B, those included of which nothing was accepted."""
    split: float | None = None
    """Share of the users that was meant for A; checked against what came."""
    mismatch: Mismatch | None = None
    """What to do with items that the model which collected them rejects (error unless given)."""

    def table(self, logs: Logs) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        own = {name: value for name, value in vars(self).items() if name != "mismatch"}
        return DataTable(
            map=pairs(logs.map),
            metadata=logs.metadata,
            users=logs.users,
            labels=logs.labels,
            input_format=logs.input_format,
            **own,
        )


@Parameter(name="*", group="Thresholds")
@dataclass(frozen=True, kw_only=True)
class Limits:
    """Which threshold of B is chosen."""

    max_rfpr: float | None = None
    """The highest relative recall with rFPR at most this (1 when no limit is given)."""
    min_rrecall: float | None = None
    """The lowest relative false-positive rate with rRecall at least this."""
    by: ChosenBy | None = None
    """Whether the value keeps the limit, or its interval (point unless given)."""
    grid: str | None = None
    """Number of candidate thresholds, or thresholds separated by commas (200 unless given)."""
    test_set: str | None = None
    """File with scores of both models and labels of a test set, to stand beside the log."""

    def table(self) -> dict[str, Any]:
        """The keys of `[abba]` that were given, and that a threshold is chosen."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if self.grid is not None:
            given["grid"] = _grid(self.grid)
        return {"thresholds": True, **given}


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How the intervals are made: what goes with other tasks is no option."""

    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: Whole = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: Whole = None
    """Seed of all random numbers (0 unless given)."""
    resample: Literal["multinomial", "poisson"] | None = None
    """How users are drawn where all are known (multinomial unless given; otherwise poisson)."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""

    def table(self) -> "IntervalTable":
        """`[interval]` of the study."""
        from truecost.study.tables import IntervalTable

        return IntervalTable(**vars(self))


def _grid(text: str) -> int | tuple[float, ...]:
    """A number of thresholds, or the thresholds themselves."""
    return int(text) if text.strip().isdecimal() else numbers(text, "--grid")


def rates_of(text: str) -> dict[str, float]:
    """`CELL=RATE,...` as a mapping."""
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        cell, mark, rate = (word.strip() for word in part.partition("="))
        try:
            found[cell] = float(rate)
        except ValueError:
            mark = ""
        if not mark:
            raise UsageError(
                f"--rates {part!r} is not understood: write CELL=RATE, such as 10A=0.2,01B=0.1"
            )
    return found


NO_LOGS, NO_DEPLOYED, NO_LIMITS, RESAMPLING = Logs(), Deployed(), Limits(), Resampling()
