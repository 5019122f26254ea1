"""The content of a page: a stored result by collection and application, its main measure, and the
task's own parts (`Page`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from truecost.core.digits import title_of
from truecost.core.results import Row
from truecost.face import at
from truecost.names import PARTS
from truecost.pictures.look import SYSTEMS
from truecost.report.words import measure_of

if TYPE_CHECKING:
    import polars as pl

    from truecost.report.section import Group, Line, Section
    from truecost.study import ResultFile
    from truecost.study.outcome import Outcome, Problem

Kind = TypeVar("Kind")
BESIDE = ("run", "test_set")  # rows that stand beside the one that tells of a system
LEFT_OUT = "left out: "  # how the problem of a submission begins that was not scored


def _nothing_stored(outcome: "Outcome") -> "pl.DataFrame | None":
    del outcome
    return None


@dataclass(frozen=True, kw_only=True)
class Naive:
    """The words of pages for the naive baseline.

    `column`: head of its column. `said`: how the list of measures says it, `{}` in place of the
    value; empty where it does not. `output`: what the naive baseline puts out, by the measure.
    """

    column: str = "naive"
    said: str = "the naive baseline has {}"
    output: Callable[[str], str] = lambda _: "an empty output"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The presentation of the worst items.

    `parts`: what they are the worst by: parts of measures, the first that there is. `text`: how to
    read their lines. `columns`: whether the words of their lines stand in columns; else each line
    is text as a whole.
    """

    parts: tuple[str, ...] = ()
    text: str = ""
    columns: bool = True


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page of a task. Parts that are not given are those of every task.

    Attributes
    ----------
    sections : tuple of callable
        Functions that each return a `Section` from a `Story`, in the order of the page; None, or an
        empty section, is not shown.
    main : callable, optional
        Function that returns the label of the main measure of the verdict. Default: the first
        measure.
    titles : callable, optional
        Function that returns title and heading; None for a heading that names systems.
    headline : callable, optional
        Function that returns the verdict in one sentence, where no system is ranked; an empty one
        stands for that of every task.
    lead : callable, optional
        Function that returns the introduction to the figures of the verdict, from the story and the
        first of these rows.
    verdict : callable, optional
        Function that returns groups of lines below the gates.
    line : callable, optional
        Function that returns the line of a value in the verdict.
    remarks : callable, optional
        Function that returns the remarks of the result that no other part of the page shows.
    problems : callable, optional
        Function that returns the warnings of the list, without those that sections show.
    rows : callable
        Function that returns all rows, in the order in which systems are shown.
    newest : callable
        Function that returns the rows that the verdict is about: of several versions of a system,
        say, only the newest.
    judged : callable
        Function that returns whether a row is of a system that is judged.
    drawn : callable, optional
        Function that returns the labels of the measures whose differences are drawn. Default: all.
    named : tuple of str
        Dimensions that names of systems already contain, left out in pictures of differences.
    resampled : callable
        Function that returns a text about what was resampled, from a row; empty where the units of
        the row are enough.
    conventions : bool
        Whether the page lists the choices in signatures.
    curves : callable
        Function that returns the content of curves.parquet, from an outcome.
    items : callable
        Function that returns the content of items.parquet, from an outcome.
    """

    sections: "tuple[Callable[[Story], Section | None], ...]"
    main: "Callable[[Story], str] | None" = None
    titles: "Callable[[Story], tuple[str, str] | None] | None" = None
    headline: "Callable[[Story], str] | None" = None
    lead: "Callable[[Story, Row], str] | None" = None
    verdict: "Callable[[Story], Sequence[Group]] | None" = None
    line: "Callable[[Story, Row], Line] | None" = None
    remarks: "Callable[[Story], Sequence[str]] | None" = None
    problems: "Callable[[Story, Sequence[Problem]], list[Problem]] | None" = None
    rows: "Callable[[Sequence[Row]], Sequence[Row]]" = lambda rows: rows
    newest: "Callable[[Sequence[Row]], Sequence[Row]]" = lambda rows: rows
    judged: "Callable[[Row], bool]" = lambda _: True
    drawn: "Callable[[Story], Sequence[str]] | None" = None
    named: tuple[str, ...] = ()
    resampled: "Callable[[Row], str]" = lambda _: ""
    conventions: bool = True
    naive: Naive = Naive()
    reading: Reading = Reading()
    curves: "Callable[[Outcome], pl.DataFrame | None]" = _nothing_stored
    items: "Callable[[Outcome], pl.DataFrame | None]" = _nothing_stored

    @property
    def stored(self) -> str:
        """The file of the numbers of its pictures that the result has not; empty for none."""
        files = {"curves.parquet": self.curves, "items.parquet": self.items}
        return next((name for name, made in files.items() if made is not _nothing_stored), "")


def page_of(task: str) -> "Page":
    """The page of a task, imported now: UsageError when there is no such task."""
    from truecost.tasks import find

    page: Page = at(find(task).load().page)
    return page


@dataclass(frozen=True)
class Part:
    """One collection and one application of a result.

    Attributes
    ----------
    dims : tuple of (str, str)
        Names of the collection and the application; each only where there are several.
    """

    dims: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """The name in curves: `collection far, application strict`; empty for the only part."""
        return title_of(dict(self.dims))

    @property
    def application(self) -> str:
        """Name of the application; empty when there is one."""
        return dict(self.dims).get("application", "")

    @property
    def name(self) -> str:
        """The name in headings: `far, strict`."""
        return ", ".join(name for _, name in self.dims)


@dataclass(frozen=True)
class Story:
    """A stored result with its curves, as the sections of a page want them.

    `curves`: the numbers of curves (curves.parquet). `items`: utterances, sentences or recordings
    one by one (items.parquet).
    """

    result: "ResultFile"
    curves: "pl.DataFrame | None" = None
    items: "pl.DataFrame | None" = None

    def described_as(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The descriptions of one type."""
        return self.result.described_as(kind)

    @cached_property
    def _typed(self) -> dict[Any, Any]:
        return {}

    def read(self, reader: "Callable[[pl.DataFrame | None], Kind]") -> Kind:
        """The stored curves as a task types them; read once."""
        if reader not in self._typed:
            self._typed[reader] = reader(self.curves)
        return cast("Kind", self._typed[reader])

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
        ratios = {_row_key(r): r for r in self.rows if r.kind == "ratio"}
        return tuple((r, ratios.get(_row_key(r))) for r in self.rows if r.kind == "difference")

    @cached_property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Submissions of a leaderboard that could not be scored, and why."""
        said = [p.message.partition(LEFT_OUT) for p in self.problems if p.kind == "data"]
        found = (text.partition(": ") for before, of, text in said if of and not before)
        return tuple((name, why) for name, _, why in found)

    @cached_property
    def problems(self) -> tuple["Problem", ...]:
        """The warnings; faults of the data first."""
        return tuple(sorted(self.result.problems, key=lambda p: p.kind != "data"))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Collections side by side for each application; one without a name when there is one."""
        found = list(dict.fromkeys(map(part_of, self.rows)))
        order = list(dict.fromkeys(p.application for p in found))
        return tuple(sorted(found, key=lambda p: order.index(p.application)))

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of systems in their order; of more than have a colour the best first."""
        names = tuple(dict.fromkeys(r.dims["system"] for r in self.values or self.rows))
        if len(names) <= SYSTEMS:
            return names
        best = [r.dims["system"] for r in self.ranked(self.parts[0])]
        return tuple(dict.fromkeys([*best, *names]))

    @cached_property
    def page(self) -> Page:
        """The page of its task."""
        return page_of(self.result.task)

    @cached_property
    def sections(self) -> "list[Section]":
        """The sections of the page that have something to show."""
        from truecost.report.sections import leaderboard

        found = (make(self) for make in (leaderboard, *self.page.sections))
        return [section for section in found if section is not None and section.filled]

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

    @property
    def called(self) -> str:
        """The main measure within a sentence: `actual detection cost`, `BLEU`."""
        title = self.title.removesuffix(" (normalised)")
        return f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() else title

    def mains(self, part: Part) -> list[Row]:
        """The main measure of each system, whole data; of several versions the newest."""
        return [r for r in self.page.newest(self.whole) if self._is_main(r, part)]

    def ranked(self, part: Part) -> list[Row]:
        """The main measure of each system, best first, undefined ones last."""
        return sorted(mean_rows(self.mains(part)), key=goodness)

    def main_pairs(self, part: Part) -> list[tuple[Row, Row | None]]:
        """The comparisons by the main measure, whole data; of several versions the newest."""
        last = self.page.newest([p[0] for p in self.pairs])
        kept = {id(r) for r in last if self._is_main(r, part) and "subset" not in r.dims}
        return [p for p in self.pairs if id(p[0]) in kept]

    def _is_main(self, row: Row, part: Part) -> bool:
        """Whether a row is of the main measure, in a part and in the phase of the verdict."""
        return row.label == self.main and part_of(row) == part and self.in_phase(row)


def goodness(row: Row) -> tuple[bool, float]:
    """A key that sorts rows of one measure best first, undefined ones last."""
    value = 0.0 if row.value is None else row.value
    return row.value is None, value if row.direction == "lower" else -value


def _row_key(row: Row) -> tuple[object, ...]:
    return row.label, row.baseline, *sorted(row.dims.items())


def part_of(row: Row) -> Part:
    """The collection and application of a row."""
    return Part(tuple((name, row.dims[name]) for name in PARTS if name in row.dims))


def without_dims(row: Row, names: Sequence[str] = PARTS) -> Row:
    """A row without some dimensions, for a picture whose heading says them."""
    kept = {key: name for key, name in row.dims.items() if key not in names}
    return msgspec.structs.replace(row, dims=kept)


def mean_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows without single runs of methods, and only the recommended estimator of AB/BA.

    The recommended one is that of the whole data, where these have a row.
    """
    found = [r for r in rows if _estimator(r) not in BESIDE]
    trusted: dict[tuple[str, ...], str] = {}
    for row in sorted(found, key=lambda r: "subset" in r.dims):  # the one to trust comes first
        trusted.setdefault(_case(row), _estimator(row))
    return [r for r in found if _estimator(r) == trusted[_case(r)]]


def _estimator(row: Row) -> str:
    return row.dims.get("estimator", "mean")


def _case(row: Row) -> tuple[str, ...]:
    """The key of an estimator: a measure of a system in a part."""
    return (row.label, row.dims["system"], *(row.dims.get(name, "") for name in PARTS))
