"""What a page tells of: a stored result by collection and application, and its main measure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from truecost.errors import UsageError
from truecost.measures import find
from truecost.measures.base import Measure
from truecost.report.curves import Curves
from truecost.report.plots.bars import PAIRS
from truecost.results import Row

if TYPE_CHECKING:
    from truecost.study import ResultFile

GROUPS = ("collection", "application")


@dataclass(frozen=True)
class Part:
    """One collection and application.

    Attributes
    ----------
    dims : tuple of (str, str)
        Those of `collection` and `application` of which there are several, with their names.
    """

    dims: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """As curves name it: `collection far, application strict`; empty for the only part."""
        return ", ".join(f"{key} {name}" for key, name in self.dims)

    @property
    def application(self) -> str:
        """Name of the application; empty when there is one."""
        return dict(self.dims).get("application", "")

    @property
    def name(self) -> str:
        """As a heading names it: `far, strict`."""
        return ", ".join(name for _, name in self.dims)


@dataclass(frozen=True)
class Story:
    """A stored result with its curves, as the sections of a page want them.

    Attributes
    ----------
    result : ResultFile
    curves : tuple of Curves
        By part.
    """

    result: "ResultFile"
    curves: tuple[Curves, ...]

    @cached_property
    def values(self) -> tuple[Row, ...]:
        """Rows of kind "value"."""
        return tuple(r for r in self.result.rows if r.kind == "value")

    @cached_property
    def whole(self) -> tuple[Row, ...]:
        """Values of the whole data, no subsets."""
        return tuple(r for r in self.values if "subset" not in r.dims)

    @cached_property
    def pairs(self) -> tuple[tuple[Row, Row], ...]:
        """Each difference with its ratio, which follows it."""
        derived = [r for r in self.result.rows if r.kind != "value"]
        return tuple(zip(derived[::2], derived[1::2], strict=True))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Collections side by side for each application; one without a name when there is one."""
        found = list(dict.fromkeys(map(part_of, self.values)))
        order = list(dict.fromkeys(p.application for p in found))
        return tuple(sorted(found, key=lambda p: order.index(p.application)))

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of systems in their order."""
        return tuple(dict.fromkeys(r.dims["system"] for r in self.values))

    @cached_property
    def main(self) -> str:
        """Label of the measure that the verdict speaks of.

        What a leaderboard ranks by; otherwise the first cost whose naive value is 1 (a minimum only
        when its actual cost is not there), then the first with any naive value, then the first.
        """
        if self.result.leaderboard:
            return self.result.leaderboard[0].measure
        labels = list(dict.fromkeys(r.label for r in self.whole))
        dropped = {least for actual, least in PAIRS.items() if actual in self.costs}
        costs = [name for name in self.costs if name not in dropped]
        known = [r.label for r in self.whole if r.reference is not None]
        return next(iter([*costs, *known, *labels]))

    @cached_property
    def costs(self) -> tuple[str, ...]:
        """Labels of the normalised costs: lower is better and the naive system has 1."""
        rows = (r for r in self.whole if r.reference == 1 and r.direction == "lower")
        return tuple(dict.fromkeys(r.label for r in rows))

    @property
    def title(self) -> str:
        """Name of the main measure for a reader."""
        measure = measure_of(self.main)
        return self.main if measure is None else measure.title

    def mains(self, part: Part) -> list[Row]:
        """The main measure of each system, whole data."""
        return [r for r in self.whole if r.label == self.main and part_of(r) == part]

    def main_pairs(self, part: Part) -> list[tuple[Row, Row]]:
        """The comparisons by the main measure, whole data."""
        return [
            p
            for p in self.pairs
            if p[0].label == self.main and "subset" not in p[0].dims and part_of(p[0]) == part
        ]


def part_of(row: Row) -> Part:
    """The collection and application of a row."""
    return Part(tuple((name, row.dims[name]) for name in GROUPS if name in row.dims))


def bare(row: Row, names: Sequence[str] = GROUPS) -> Row:
    """A row without some dimensions, for a picture whose heading says them."""
    kept = {key: name for key, name in row.dims.items() if key not in names}
    return msgspec.structs.replace(row, dims=kept)


def means(rows: Iterable[Row]) -> list[Row]:
    """Of methods the means over runs only; every row of systems."""
    return [r for r in rows if r.dims.get("estimator", "mean") == "mean"]


def measure_of(label: str) -> Measure | None:
    """The measure of a label; None when it is not known here, as in results of other versions."""
    try:
        return find(label)
    except UsageError:
        return None
