"""What a page tells of: a stored result by collection and application, and its main measure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from truecost.captions import title_of
from truecost.measures.relative import ESTIMATORS
from truecost.names import PARTS
from truecost.report.curves import Curves
from truecost.report.lifelong_rows import main_of, newest
from truecost.report.plots.bars import minima
from truecost.report.words import at_best, measure_of
from truecost.results import Row

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Problem, ResultFile

TRUSTED = ("mean", *ESTIMATORS)  # the first that there is tells of a system
FEW = 4  # systems that stay in the order in which they were given
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
    result : ResultFile
    curves : tuple of Curves
        By part.
    items : polars.DataFrame, optional
        Utterances, sentences or recordings one by one (`study.itemised.frame_of_items`).
    """

    result: "ResultFile"
    curves: tuple[Curves, ...]
    items: "pl.DataFrame | None" = None

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows; one that does not say its system is of one without a name.

        Of many searches the best comes first, in every table and picture.
        """
        found = tuple(
            r
            if "system" in r.dims
            else msgspec.structs.replace(r, dims={"system": "no name", **r.dims})
            for r in self.result.rows
        )
        return _best_first(found) if self.searched else found

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
    def main(self) -> str:
        """Label of the measure that the verdict speaks of.

        What a leaderboard ranks by; of a sweep its objective; of items the first. Otherwise the
        first cost whose naive value is 1 (a minimum only when its actual cost is not there), then
        the first with any naive value (one that judges decisions before one that judges the order
        of scores), then the first.
        """
        if self.result.leaderboard:
            return self.result.leaderboard[0].measure
        if self.objective:
            return self.objective
        if self.lifelong:
            return main_of(self.whole or self.rows)
        if self.by_items:
            return next((r.label for r in self.whole or self.rows), "")
        labels = list(dict.fromkeys(r.label for r in self.whole))
        dropped = {least for actual, least in minima().items() if actual in self.costs}
        costs = sorted((c for c in self.costs if c not in dropped), key=at_best)
        known = [r.label for r in self.whole if r.reference is not None]
        judged = [name for name in known if not at_best(name)]
        return next(iter([*costs, *judged, *known, *labels, *(r.label for r in self.rows)]), "")

    @property
    def objective(self) -> str:
        """The measure by which the budgets of a sweep are judged; empty where there is none."""
        return next((a.measure for a in self.result.sweeps if a.objective), "")

    @cached_property
    def costs(self) -> tuple[str, ...]:
        """Labels of the normalised costs: lower is better and the naive system has 1."""
        rows = (r for r in self.whole if r.reference == 1 and r.direction == "lower")
        return tuple(dict.fromkeys(r.label for r in rows))

    @property
    def by_items(self) -> bool:
        """Whether items are counted (utterances, recordings), not trials."""
        return self.result.task != "trials"

    @property
    def deployed(self) -> bool:
        """Whether two models are compared by what they collected (AB/BA)."""
        return self.result.task == "abba"

    @property
    def searched(self) -> bool:
        """Whether terms were searched for."""
        return self.result.task == "terms"

    @property
    def online(self) -> bool:
        """Whether systems learn on streams with a person's help."""
        return self.result.task == "stream"

    @property
    def lifelong(self) -> bool:
        """Whether versions of systems are scored across time."""
        return self.result.task == "lifelong"

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
        rows = newest(self.whole) if self.lifelong else self.whole
        found = [r for r in rows if r.label == self.main and part_of(r) == part]
        return [r for r in found if self.in_phase(r)]

    def ranked(self, part: Part) -> list[Row]:
        """The main measure of each system, best first, undefined ones last."""
        return sorted(means(self.mains(part)), key=goodness)

    def main_pairs(self, part: Part) -> list[tuple[Row, Row | None]]:
        """The comparisons by the main measure, whole data; of several versions the newest."""
        last = {id(r) for r in newest(tuple(p[0] for p in self.pairs))} if self.lifelong else set()
        return [
            p
            for p in self.pairs
            if not self.lifelong or id(p[0]) in last
            if p[0].label == self.main and "subset" not in p[0].dims and part_of(p[0]) == part
            if self.in_phase(p[0])
        ]


def goodness(row: Row) -> tuple[bool, float]:
    """A key that sorts rows of one measure best first, undefined ones last."""
    value = 0.0 if row.value is None else row.value
    return row.value is None, value if row.direction == "lower" else -value


def _best_first(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Rows with the systems of each part in the order of the first measure, where they are many."""
    mains = [r for r in rows if r.kind == "value" and "subset" not in r.dims]
    mains = [r for r in mains if r.label == mains[0].label]
    if len({r.dims["system"] for r in mains}) <= FEW:
        return rows
    places = {(part_of(r), r.dims["system"]): k for k, r in enumerate(sorted(mains, key=goodness))}
    parts = [*dict.fromkeys(map(part_of, rows))]

    def place(row: Row) -> tuple[bool, int, int]:
        part = part_of(row)
        at = places.get((part, row.dims["system"]), len(places))
        return row.kind != "value", parts.index(part), at

    return tuple(sorted(rows, key=place))  # stable


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
    found = [r for r in rows if r.dims.get("estimator", "mean") in TRUSTED]
    trusted: dict[tuple[str, ...], str] = {}
    for row in sorted(found, key=lambda r: ("subset" in r.dims, TRUSTED.index(_estimator(r)))):
        trusted.setdefault(_case(row), _estimator(row))
    return [r for r in found if _estimator(r) == trusted[_case(r)]]


def _estimator(row: Row) -> str:
    return row.dims.get("estimator", "mean")


def _case(row: Row) -> tuple[str, ...]:
    """What has an estimator of its own: a measure of a system in a part."""
    return (row.label, row.dims["system"], *(row.dims.get(name, "") for name in PARTS))
