"""What a task does: its `Work`, the `Record` that it reads, and its `Page`.

What is light of it stands in its `Face` (`truecost.face`); the table of tasks is `truecost.tasks`.
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
    from truecost.study.checks import Check
    from truecost.study.config import Study
    from truecost.study.outcome import Case, Outcome, Part, Problem
    from truecost.study.reader import Reader
    from truecost.study.settings import Source
    from truecost.study.tables import ApplicationTable, DataTable

Dims = Mapping[str, str]
Frames = Sequence["pl.DataFrame"]


class Record(Protocol):
    """What a task reads of one system: rows that can be taken, and told apart by subsets."""

    @property
    def name(self) -> str:
        """Name of the system."""

    @property
    def problems(self) -> Sequence[str]:
        """What a reader should know."""

    @property
    def about(self) -> Dims:
        """What its rows are about beside its name."""

    @property
    def task(self) -> str:
        """Name of its task."""

    @property
    def item(self) -> str:
        """What it is counted by, in the singular: trial, utterance."""

    @property
    def summary(self) -> str:
        """What there is, in a few words."""

    def __len__(self) -> int: ...

    def take(self, rows: "npt.NDArray[Any]") -> Self:
        """The rows of a mask, as of a subset."""

    def masks(self, subset: str | tuple[str, str]) -> "Masks":
        """Name and rows of each subset that a column or a condition gives."""

    def frames(self) -> "Sequence[tuple[pl.DataFrame, str]]":
        """The columns that subsets are told by, and what a row of them is."""

    def right(self) -> Frames:
        """What is right, the same for all systems, as frames whose rows have no order."""

    def outputs(self) -> Frames:
        """What the system put out, as frames whose rows have no order."""


R = TypeVar("R", bound=Record)


def named_labels(labels: "npt.NDArray[Any]", classes: Sequence[str]) -> "pl.Series":
    """Labels by their names, numbers as they are: what is right, for `Record.right`."""
    import polars as pl

    found = pl.Series(labels)
    if not classes:
        return found.cast(pl.Float64)
    return pl.Series([*classes], dtype=pl.String).gather(found.cast(pl.Int64))


def _of_whole(record: Any, scoring: "Scoring") -> Any:
    """Nothing that a subset takes from the whole."""
    del record, scoring


def _as_said(table: "ApplicationTable") -> "ApplicationTable":
    return table


def _no_choices(study: "Study", data: "DataTable", reader: "Reader | None") -> object:
    del study, data, reader
    return None


def _no_texts(*given: Any) -> Sequence[str]:
    del given
    return ()


def _as_named(study: "Study", measure: str) -> str:
    del study
    return measure


def _unlike(one: Any, other: Any) -> str:
    del one, other
    return ""


def _not_otherwise(study: "Study", progress: Any) -> None:
    del study, progress


def _as_scored(part: "Part", study: "Study") -> "Part":
    del study
    return part


def _as_given(study: "Study", wanted: str | None) -> "Study":
    del wanted
    return study


def _read_alone(
    source: "Source", reader: "Reader", study: "Study", wanted: str | None
) -> "Iterable[Check]":
    from truecost.study.checks import read_alone

    return read_alone(source, reader, study, wanted)


def _no_cases(part: "Part", most: int | None) -> "Sequence[Case]":
    del part, most
    return ()


def _every(rows: "Sequence[Estimate]") -> "Sequence[Estimate]":
    return rows


@dataclass(frozen=True, kw_only=True)
class Live:
    """How a live run makes the logs that a task scores.

    Attributes
    ----------
    check : callable
        Refuses a study that makes no sense, before anything runs: UsageError.
    make : str
        Where the function is that takes a study to what makes its logs: `module:NAME`.
    systems : bool
        Whether `[systems.NAME]` says how a system learns, in place of naming its files.
    """

    check: Callable[["Study"], None]
    make: str
    systems: bool = False


def flagged(flag: "Flag", rows: "Sequence[Estimate]", every: int, parts: "Sequence[Part]") -> str:
    """The advice of a flag of some rows of all."""
    from truecost.core.captions import detailed

    del every, parts
    return detailed(flag.name, rows) or flag.advice


def _no_advice(part: "Part") -> "Sequence[Problem]":
    del part
    return ()


@dataclass(frozen=True, kw_only=True)
class Work(Generic[R]):
    """What a task does.

    Attributes
    ----------
    check : callable
        Refuses a study that makes no sense, before any file is read: UsageError.
    read : callable
        From a source to its record.
    pair : callable
        From records of several systems to the same ones, side by side: InputError where they
        are not scored on the same.
    measures : callable
        The measures that were asked for, or those that suit a record.
    defaults : callable
        Names of measures when none is asked for, by the type of the scores.
    count : callable
        From a record, what to compute, what its rows are about, and what `freeze` made of the
        whole (None for the whole itself) to batches.
    freeze : callable
        What the whole of a system decides for its subsets.
    refuse : callable
        Refuses a record that cannot be scored: InputError.
    application : callable
        What is given of an application over what the task takes for granted.
    choices : callable
        What `Scoring` holds beside what every task has.
    instead : callable
        Runs a study in another way than system by system; None where it is run as others are.
    part : callable, optional
        In place of scoring each system of a collection for an application, and comparing them.
    describe : callable
        A part with what its page draws beside the rows.
    descriptions : tuple of str
        The frozen structs that `describe` and whole runs add, told apart by their tags.
    cases : callable
        The worst items of the systems of a part.
    problems : callable
        What is odd about a record, for the application it was scored for.
    unused : callable
        What a study says that changes nothing.
    remarks : callable
        What a reader should be told first.
    gated : callable
        Name of the measure that a gate of a study is about.
    marks : callable
        Marks of the methods that a study takes beside those of its measures, for citations.
    planned : callable
        What the units of a plan are, and what comes before more of them.
    ranked : callable
        Of rows of one measure those that a leaderboard ranks: one for each system.
    same : callable
        What two records have in common to the last of their rows; empty for nothing.
    flagged : callable
        The advice of a flag, from the rows that have it, the number of all rows and the parts.
    advice : callable
        Advice on a part, whatever its flags.
    shares : bool
        Whether what all records say is said once, of what they share.
    advise : bool
        Whether measures give their advice where nobody asked for them.
    beside : callable
        From a study and the tables that were asked for beside its result to what writes them from
        the outcome; None where none was asked for.
    unjudged : callable
        A study that may lack what participants do not have, as a whole one; from the study and
        the file with what has to be there.
    checks : callable
        All checks of a source, from it, the reader, the study and the file with what has to be
        there; whether it can be read, by default.
    page : str
        Where its `Page` is: `module:NAME`; imported when a page is drawn.
    layout : str
        Where the `Layout` of its tables on the terminal is: `module:NAME`.
    """

    check: Callable[["Study"], None]
    read: Callable[["Source", "Reader", "Study"], R]
    pair: Callable[[Sequence[R]], Sequence[R]]
    measures: "Callable[[R, Scoring], list[Measure]]"
    defaults: Callable[[str | None], tuple[str, ...]]
    count: "Callable[[R, Scoring, Dims, Any], Iterable[Batch]]"
    freeze: "Callable[[R, Scoring], Any]" = _of_whole
    refuse: "Callable[[R, Scoring], None]" = _of_whole
    application: "Callable[[ApplicationTable], ApplicationTable]" = _as_said
    choices: "Callable[[Study, DataTable, Reader | None], object]" = _no_choices
    instead: "Callable[[Study, Any], Outcome | None]" = _not_otherwise
    part: "Callable[..., Part] | None" = None
    describe: "Callable[[Part, Study], Part]" = _as_scored
    descriptions: tuple[str, ...] = ()
    cases: "Callable[[Part, int | None], Sequence[Case]]" = _no_cases
    problems: "Callable[[Part, R], Sequence[str]]" = _no_texts
    unused: "Callable[[Study], Sequence[str]]" = _no_texts
    remarks: "Callable[[Study, Sequence[Part]], Sequence[str]]" = _no_texts
    gated: "Callable[[Study, str], str]" = _as_named
    marks: "Callable[[Study], Sequence[str]]" = _no_texts
    planned: "Callable[[Outcome], Sequence[str]]" = _no_texts
    ranked: "Callable[[Sequence[Estimate]], Sequence[Estimate]]" = _every
    same: Callable[[R, R], str] = _unlike
    flagged: "Callable[[Flag, Sequence[Estimate], int, Sequence[Part]], str]" = flagged
    advice: "Callable[[Part], Sequence[Problem]]" = _no_advice
    shares: bool = True
    advise: bool = False
    beside: "Callable[[Study, Mapping[str, Any]], Callable[[Outcome], None] | None]" = (
        _not_otherwise
    )
    unjudged: "Callable[[Study, str | None], Study]" = _as_given
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
        """Rows of one system: the whole, then each subset, as `truecost.score` says."""
        about = {**(dims or {}), "system": record.name, **record.about}
        rows = _rows(self.count(record, scoring, about, None), scoring)
        if masks is None:
            masks = [mask for subset in scoring.subsets for mask in record.masks(subset)]
        whole = self.freeze(record, scoring) if masks else None
        for name, mask in masks:
            part = self.count(record.take(mask), scoring, {**about, "subset": name}, whole)
            rows += _rows(part, scoring)
        return rows


def _rows(batches: "Iterable[Batch]", scoring: "Scoring") -> "list[Estimate]":
    from truecost.core.scoring import estimated

    return estimated(
        batches,
        level=scoring.level,
        method=scoring.method,
        icc=scoring.icc,
        jobs=scoring.jobs,
        tell=scoring.progress,
    )
