"""The full part of a task: its `Work`, the `Record` that it reads, and its `Page`.

Its light part is its `Face` (`truecost.face`); the table of tasks is `truecost.tasks`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from truecost.core.flags import Flag
    from truecost.core.measure import Measure
    from truecost.core.results import Estimate
    from truecost.core.scoring import Batch, Scoring
    from truecost.core.subsets import Masks
    from truecost.study.config import Study
    from truecost.study.outcome import Case, Outcome, Part, Problem
    from truecost.study.settings import Reader, Source
    from truecost.study.tables import ApplicationTable, DataTable
    from truecost.study.validation import Check

Dims = Mapping[str, str]
Frames = Sequence["pl.DataFrame"]


class Record(Protocol):
    """The data of one system: rows that can be selected and divided into subsets."""

    @property
    def name(self) -> str:
        """Name of the system."""

    @property
    def problems(self) -> Sequence[str]:
        """Warnings about the data."""

    @property
    def about(self) -> Dims:
        """The dims of its rows, without its name."""

    @property
    def task(self) -> str:
        """Name of its task."""

    @property
    def item(self) -> str:
        """The noun for a counted item, in the singular: trial, utterance."""

    @property
    def summary(self) -> str:
        """The content in a few words."""

    def __len__(self) -> int: ...

    def take(self, rows: "npt.NDArray[Any]") -> Self:
        """The rows of a mask, as of a subset."""

    def masks(self, subset: str | tuple[str, str]) -> "Masks":
        """Name and rows of each subset that a column or a condition gives."""

    def frames(self) -> "Sequence[tuple[pl.DataFrame, str]]":
        """The columns of subsets, with the noun for a row of each frame."""

    def right(self) -> Frames:
        """The reference, the same for all systems, as frames whose rows have no order."""

    def outputs(self) -> Frames:
        """The output of the system, as frames whose rows have no order."""


class Rows:
    """Methods of records whose subsets are columns of their `frame`."""

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.summary}>"

    def frames(self: Any) -> "tuple[tuple[pl.DataFrame, str], ...]":
        """The columns of subsets, with the noun for a row."""
        return ((self.frame, self.item),)

    def masks(self: Any, subset: str | tuple[str, str]) -> "Masks":
        """Name and rows of each subset; UsageError and InputError as in `masks_of`."""
        from truecost.core.subsets import masks_of

        return masks_of(self.frame, subset, self.name, self.item)


R = TypeVar("R", bound=Record)


def named_labels(labels: "npt.NDArray[Any]", classes: Sequence[str]) -> "pl.Series":
    """Labels by their class names, and numbers unchanged: the reference, for `Record.right`."""
    import polars as pl

    found = pl.Series(labels)
    if not classes:
        return found.cast(pl.Float64)
    return pl.Series([*classes], dtype=pl.String).gather(found.cast(pl.Int64))


def _nothing(*_: Any) -> Any:
    """None: the default of functions that a task need not have."""


def _no_texts(*_: Any) -> Sequence[Any]:
    return ()


def _first(given: Any, *_: Any) -> Any:
    """The first argument, unchanged."""
    return given


def _read_alone(
    source: "Source", reader: "Reader", study: "Study", wanted: str | None
) -> "Iterable[Check]":
    from truecost.study.validation import read_alone

    return read_alone(source, reader, study, wanted)


@dataclass(frozen=True, kw_only=True)
class Live:
    """The way in which a live run makes the logs that a task scores.

    Attributes
    ----------
    check : callable
        Check of a study before anything runs; raises UsageError.
    make : str
        Place of the function that returns the maker of a study's logs: `module:NAME`.
    systems : bool
        Whether `[systems.NAME]` has the settings of a learner in place of files.
    """

    check: Callable[["Study"], None]
    make: str
    systems: bool = False


def flagged(flag: "Flag", parts: "Sequence[Part]") -> str:
    """The advice of a flag."""
    del parts
    return flag.advice


@dataclass(frozen=True, kw_only=True)
class Work(Generic[R]):
    """The functions of a task.

    Attributes
    ----------
    check : callable
        Check of a study before any file is read; raises UsageError.
    read : callable
        Function that returns the record of a source.
    pair : callable
        Function that returns records of several systems with their rows in one order; raises
        InputError where they do not have the same rows.
    measures : callable
        Function that returns the measures that were asked for, or those that suit a record.
    defaults : callable
        Function that returns the names of the default measures, from the type of the scores.
    count : callable
        Function that returns batches from a record, its scoring, the dims of its rows, and the
        result of `freeze` (None for the whole record).
    freeze : callable
        Function that returns the choices that are made on all data of a system and then used for
        its subsets.
    refuse : callable
        Check of a record that cannot be scored; raises InputError.
    application : callable
        Function that completes an application with the defaults of the task.
    choices : callable
        Function that returns the task's own choices in `Scoring`.
    instead : callable
        Function that runs a study in another way than system by system, or returns None for the
        usual way.
    part : callable, optional
        Function that scores and compares the systems of a collection for an application, in place
        of the usual one.
    describe : callable
        Function that returns a part with the data that its page draws beside the rows.
    descriptions : tuple of str
        Places of the frozen structs that `describe` and runs of whole studies add; their tags are
        distinct.
    cases : callable
        Function that returns the worst items of the systems of a part.
    problems : callable
        Function that returns warnings about a record, for the application it was scored for.
    remarks : callable
        Function that returns the notes that a reader should see first.
    gated : callable
        Function that returns the name of the measure that a gate of a study judges.
    marks : callable
        Function that returns citation marks of the methods that a study uses beside its measures.
    planned : callable
        Function that returns remarks on the units of a plan, and on what to do before collecting
        more.
    ranked : callable
        Function that returns the rows that a leaderboard ranks, of rows of one measure: one for
        each system.
    same : callable
        Function that returns a noun for what two records have in common in every row, such as
        outputs; empty for nothing.
    flagged : callable
        Function that returns the advice of a flag in the words of the task; the flagged rows are
        named before it.
    advice : callable
        Function that returns advice on a part, whatever its flags.
    apart : bool
        Whether workers of an engine may read and count each system by itself; its records can then
        be sent between processes.
    shares : bool
        Whether a problem of all records is reported once, about the data that they share.
    advise : bool
        Whether measures give their advice although nobody asked for them.
    unjudged : callable
        Function that completes a study without what participants lack, such as the reference, from
        the study and the file with what has to be there.
    checks : callable
        Function that returns all checks of a source, from the source, the reader, the study and the
        file with what has to be there. Default: whether the source can be read.
    page : str
        Place of its `Page`, `module:NAME`; imported when a page is drawn.
    layout : str
        Place of the `Layout` of its tables on the terminal, `module:NAME`.
    """

    check: Callable[["Study"], None]
    read: Callable[["Source", "Reader", "Study"], R]
    pair: Callable[[Sequence[R]], Sequence[R]]
    measures: "Callable[[R, Scoring], list[Measure]]"
    defaults: Callable[[str | None], tuple[str, ...]]
    count: "Callable[[R, Scoring, Dims, Any], Iterable[Batch]]"
    freeze: "Callable[[R, Scoring], Any]" = _nothing
    refuse: "Callable[[R, Scoring], None]" = _nothing
    application: "Callable[[ApplicationTable], ApplicationTable]" = _first
    choices: "Callable[[Study, DataTable, Reader | None], object]" = _nothing
    instead: "Callable[[Study, Any], Outcome | None]" = _nothing
    part: "Callable[..., Part] | None" = None
    describe: "Callable[[Part, Study], Part]" = _first
    descriptions: tuple[str, ...] = ()
    cases: "Callable[[Part, int | None], Sequence[Case]]" = _no_texts
    problems: "Callable[[Part, R], Sequence[str]]" = _no_texts
    remarks: "Callable[[Study, Sequence[Part]], Sequence[str]]" = _no_texts
    gated: "Callable[[Study, str], str]" = lambda _, measure: measure
    marks: "Callable[[Study], Sequence[str]]" = _no_texts
    planned: "Callable[[Outcome], Sequence[str]]" = _no_texts
    ranked: "Callable[[Sequence[Estimate]], Sequence[Estimate]]" = _first
    same: Callable[[R, R], str] = lambda *_: ""
    flagged: "Callable[[Flag, Sequence[Part]], str]" = flagged
    advice: "Callable[[Part], Sequence[Problem]]" = _no_texts
    apart: bool = False
    shares: bool = True
    advise: bool = False
    unjudged: "Callable[[Study, str | None], Study]" = _first
    checks: "Callable[[Source, Reader, Study, str | None], Iterable[Check]]" = _read_alone
    page: str = "truecost.report.sections:PAGE"
    layout: str = "truecost.cli.tables:LAYOUT"

    def score(
        self,
        record: R,
        scoring: "Scoring",
        masks: "Masks | None" = None,
        dims: Dims | None = None,
    ) -> "list[Estimate]":
        """Rows of one system: the whole, then each subset, as in `truecost.score`."""
        from truecost.core.scoring import estimated

        about = {**(dims or {}), "system": record.name, **record.about}
        rows = estimated(self.count(record, scoring, about, None), scoring)
        if masks is None:
            masks = [mask for subset in scoring.subsets for mask in record.masks(subset)]
        whole = self.freeze(record, scoring) if masks else None
        for name, mask in masks:
            part = self.count(record.take(mask), scoring, {**about, "subset": name}, whole)
            rows += estimated(part, scoring)
        return rows
