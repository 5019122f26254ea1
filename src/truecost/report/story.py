"""What a page tells of: a stored result by collection and application, and its main measure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from truecost.core.captions import title_of
from truecost.core.results import Row
from truecost.names import PARTS
from truecost.report.curves import Curves
from truecost.report.declared import Page, page_of
from truecost.report.words import measure_of

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Problem, ResultFile

Kind = TypeVar("Kind")
BESIDE = ("run", "test_set")  # rows that stand beside the one that tells of a system
LEFT_OUT = "left out: "  # how the problem of a submission begins that was not scored


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
        return title_of(dict(self.dims))

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
    curves : tuple of Curves
        By part.
    items : polars.DataFrame, optional
        Utterances, sentences or recordings one by one (`study.itemised.frame_of_items`).
    """

    result: "ResultFile"
    curves: tuple[Curves, ...]
    items: "pl.DataFrame | None" = None

    def described_as(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The descriptions of one type."""
        return self.result.described_as(kind)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows; one that does not say its system is of one without a name."""
        found = tuple(
            r
            if "system" in r.dims
            else msgspec.structs.replace(r, dims={"system": "no name", **r.dims})
            for r in self.result.rows
        )
        return tuple(self.page.rows(found))

    @cached_property
    def values(self) -> tuple[Row, ...]:
        """Rows of kind "value"."""
        return tuple(r for r in self.rows if r.kind == "value")

    @cached_property
    def whole(self) -> tuple[Row, ...]:
        """Values of the whole data, no subsets."""
        return tuple(r for r in self.values if "subset" not in r.dims)

    @cached_property
    def pairs(self) -> tuple[tuple[Row, Row | None], ...]:
        """Each difference with its ratio, where there is one."""
        ratios = {_about(r): r for r in self.rows if r.kind == "ratio"}
        return tuple((r, ratios.get(_about(r))) for r in self.rows if r.kind == "difference")

    @cached_property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Submissions of a leaderboard that could not be scored, and why."""
        said = [p.message.removeprefix(LEFT_OUT) for p in self.problems if _is_left_out(p)]
        found = (text.partition(": ") for text in said)
        return tuple((name, why) for name, _, why in found)

    @cached_property
    def problems(self) -> tuple["Problem", ...]:
        """What to beware of; faults of the data first."""
        return tuple(sorted(self.result.problems, key=lambda p: p.kind != "data"))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Collections side by side for each application; one without a name when there is one."""
        found = list(dict.fromkeys(map(part_of, self.rows)))
        order = list(dict.fromkeys(p.application for p in found))
        return tuple(sorted(found, key=lambda p: order.index(p.application)))

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of systems in their order."""
        return tuple(dict.fromkeys(r.dims["system"] for r in self.values or self.rows))

    @cached_property
    def page(self) -> Page:
        """What the page of its task shows."""
        return page_of(self.result.task)

    @cached_property
    def main(self) -> str:
        """Label of the measure that the verdict speaks of: what a leaderboard ranks by, what the
        page of the task says, or the first.
        """
        if self.result.leaderboard:
            return self.result.leaderboard[0].measure
        if self.page.main is not None:
            return self.page.main(self)
        return next((r.label for r in self.whole or self.rows), "")

    @cached_property
    def costs(self) -> tuple[str, ...]:
        """Labels of the normalised costs: lower is better and the naive baseline has 1."""
        rows = (r for r in self.whole if r.naive == 1 and r.direction == "lower")
        return tuple(dict.fromkeys(r.label for r in rows))

    @cached_property
    def phase(self) -> str:
        """The phase that the verdict speaks of: after adaptation where that is known."""
        known = dict.fromkeys(r.dims["phase"] for r in self.values if "phase" in r.dims)
        return "post" if "post" in known else next(iter(known), "")

    def in_phase(self, row: Row) -> bool:
        """Whether a row is of that phase; what has none is."""
        return row.dims.get("phase", self.phase) == self.phase

    @property
    def title(self) -> str:
        """Name of the main measure for a reader."""
        measure = measure_of(self.main, self.result.task)
        return self.main if measure is None else measure.title

    def mains(self, part: Part) -> list[Row]:
        """The main measure of each system, whole data; of several versions the newest."""
        found = [
            r for r in self.page.newest(self.whole) if r.label == self.main and part_of(r) == part
        ]
        return [r for r in found if self.in_phase(r)]

    def ranked(self, part: Part) -> list[Row]:
        """The main measure of each system, best first, undefined ones last."""
        return sorted(means(self.mains(part)), key=goodness)

    def main_pairs(self, part: Part) -> list[tuple[Row, Row | None]]:
        """The comparisons by the main measure, whole data; of several versions the newest."""
        last = {id(r) for r in self.page.newest([p[0] for p in self.pairs])}
        return [
            p
            for p in self.pairs
            if id(p[0]) in last
            if p[0].label == self.main and "subset" not in p[0].dims and part_of(p[0]) == part
            if self.in_phase(p[0])
        ]


def goodness(row: Row) -> tuple[bool, float]:
    """A key that sorts rows of one measure best first, undefined ones last."""
    value = 0.0 if row.value is None else row.value
    return row.value is None, value if row.direction == "lower" else -value


def _about(row: Row) -> tuple[object, ...]:
    return row.label, row.baseline, *sorted(row.dims.items())


def _is_left_out(problem: "Problem") -> bool:
    return problem.kind == "data" and problem.message.startswith(LEFT_OUT)


def part_of(row: Row) -> Part:
    """The collection and application of a row."""
    return Part(tuple((name, row.dims[name]) for name in PARTS if name in row.dims))


def bare(row: Row, names: Sequence[str] = PARTS) -> Row:
    """A row without some dimensions, for a picture whose heading says them."""
    kept = {key: name for key, name in row.dims.items() if key not in names}
    return msgspec.structs.replace(row, dims=kept)


def means(rows: Iterable[Row]) -> list[Row]:
    """Of methods the means over runs only, of AB/BA the estimator to trust; every row of systems.

    That to trust is the one of the whole data, where they have a row.
    """
    found = [r for r in rows if _estimator(r) not in BESIDE]
    trusted: dict[tuple[str, ...], str] = {}
    for row in sorted(found, key=lambda r: "subset" in r.dims):  # the one to trust comes first
        trusted.setdefault(_case(row), _estimator(row))
    return [r for r in found if _estimator(r) == trusted[_case(r)]]


def _estimator(row: Row) -> str:
    return row.dims.get("estimator", "mean")


def _case(row: Row) -> tuple[str, ...]:
    """What has an estimator of its own: a measure of a system in a part."""
    return (row.label, row.dims["system"], *(row.dims.get(name, "") for name in PARTS))
