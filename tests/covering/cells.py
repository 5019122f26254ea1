"""Cells of the study, and how often the intervals of one hold its truth."""

import importlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import truecost as tc
from truecost.core.intervals.smooth import interval
from truecost.core.results import Estimate

LEVEL = 0.95
REPLICATES = 400
METHODS = ("auto", "percentile")
LIMITS = {"few_units", "few_effective_units", "clustered_errors", "rare_losses", "in_order"}
KINDS = (
    "rates", "costs", "crossed", "thresholds", "differences", "sequences", "translation", "abba",
    "calibrated", "terms", "lifelong", "streams", "events", "metrics",
)  # fmt: skip
Draw = Callable[[np.random.Generator, tc.Plan], Sequence[Estimate]]


@dataclass(frozen=True, eq=False)
class Cell:
    """A simulated situation.

    Parameters
    ----------
    kind, name : str
        The name says all that differs between the cells of a kind.
    truth : callable
        The true value of each label.
    draw : callable
        From a generator and a plan to rows with the intervals of `auto`, one for each label.
    """

    kind: str
    name: str
    truth: Callable[[], Mapping[str, float]]
    draw: Draw

    @property
    def key(self) -> str:
        """Kind and name."""
        return f"{self.kind}: {self.name}"


def every() -> list[Cell]:
    """All cells, kind by kind."""
    return [cell for kind in KINDS for cell in cells_of(kind)]


@cache
def cells_of(kind: str) -> tuple[Cell, ...]:
    """The cells of one kind, from the module of its name."""
    return tuple(importlib.import_module(f"covering.{kind}").cells())


@dataclass
class Count:
    """Intervals of one measure by one method.

    Attributes
    ----------
    held, below, above : int
        Those that hold the truth, lie below it, and lie above it.
    none : int
        Data sets with a value but without an interval.
    warned : int
        Data sets whose row warns of a known limit.
    widths : list of float
        Infinite where an end is.
    """

    held: int = 0
    below: int = 0
    above: int = 0
    none: int = 0
    warned: int = 0
    widths: list[float] | None = None

    def add(self, lower: float | None, upper: float | None, truth: float) -> None:
        """Count one interval; an end that is missing beside another one is infinite."""
        if lower is None and upper is None:
            self.none += 1
            return
        low = -np.inf if lower is None else lower
        high = np.inf if upper is None else upper
        slack = 1e-9 * max(1.0, abs(truth))
        self.below += high < truth - slack
        self.above += low > truth + slack
        self.held += low <= truth + slack and truth - slack <= high
        self.widths = [*(self.widths or []), high - low]

    def told(self) -> dict[str, float | int | None]:
        """As it is written."""
        width = float(np.median(self.widths)) if self.widths else np.inf
        return {
            "held": int(self.held),
            "below": int(self.below),
            "above": int(self.above),
            "none": int(self.none),
            "warned": int(self.warned),
            "width": float(f"{width:.4g}") if np.isfinite(width) else None,
        }


def label_of(row: Estimate) -> str:
    """What a row is called in the study: its measure, and the comparison that it is of."""
    return row.label if row.kind == "value" else f"{row.kind} of {row.label}"


def counted(cell: Cell, first: int, runs: int) -> dict[str, dict[str, Count]]:
    """Counts by label and method over the data sets `first` to `first + runs`.

    A data set is drawn from the name of the cell and its own number: neither order nor number of
    processes matters.
    """
    truth, found = cell.truth(), {}
    for run in range(first, first + runs):
        rng = np.random.default_rng([zlib.crc32(cell.key.encode()), run])
        rows = cell.draw(rng, tc.Plan(REPLICATES, seed=run))
        for row in rows:
            if row.value is None or label_of(row) not in truth:
                continue
            counts = found.setdefault(label_of(row), {m: Count() for m in METHODS})
            counts["auto"].warned += not LIMITS.isdisjoint(row.flags)
            for method, ends in both(row):
                counts[method].add(*ends, truth[label_of(row)])
    return found


def both(row: Estimate) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    """The ends by each method: percentiles are those of the row's replicates."""
    yield "auto", (row.lower, row.upper)
    low, high = interval(row.replicates, LEVEL)
    yield "percentile", (None, None) if np.isnan(low) else (low, high)
