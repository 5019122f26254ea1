"""What a task says of its page: a `Page`, and what words it has for the naive baseline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.face import at

if TYPE_CHECKING:
    import polars as pl

    from truecost.core.results import Row
    from truecost.report.section import Group, Line, Section
    from truecost.report.story import Story
    from truecost.study.outcome import Outcome, Problem


def _whole(rows: "Sequence[Row]") -> "Sequence[Row]":
    return rows


def _each(row: "Row") -> bool:
    del row
    return True


def _no_word(row: "Row") -> str:
    del row
    return ""


def _empty_output(measure: str) -> str:
    del measure
    return "an empty output"


def _nothing_stored(outcome: "Outcome") -> "pl.DataFrame | None":
    del outcome
    return None


@dataclass(frozen=True, kw_only=True)
class Naive:
    """What pages call the value that systems are held against.

    Attributes
    ----------
    column : str
        Head of its column.
    said : str
        How the list of measures says it, `{}` in place of the value; empty where it does not.
    output : callable
        What the naive baseline puts out, by the measure.
    """

    column: str = "naive"
    said: str = "the naive baseline has {}"
    output: Callable[[str], str] = _empty_output


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the worst items are shown.

    Attributes
    ----------
    parts : tuple of str
        What they are the worst by: parts of measures, the first that there is.
    text : str
        How to read their lines.
    columns : bool
        Whether the words of their lines stand in columns; else each line is text as a whole.
    """

    parts: tuple[str, ...] = ()
    text: str = ""
    columns: bool = True


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the page of a task shows; what is left out is as for all tasks.

    Attributes
    ----------
    sections : tuple of callable
        In the order of the page: from a `Story` to a `Section`, or None where it has nothing.
    main : callable, optional
        Label of the measure that the verdict speaks of; the first one when left out.
    titles : callable, optional
        Title and heading; None where systems are named there.
    lead : callable, optional
        What the figures of the verdict are, from the story and the first of them.
    verdict : callable, optional
        Groups of lines below the gates.
    line : callable, optional
        The line of a value in the verdict.
    remarks : callable, optional
        What of the remarks of a result stands in no other place.
    problems : callable, optional
        What to beware of, where sections say some of it.
    rows : callable
        All rows, in the order in which systems are told of.
    newest : callable
        Of rows of several versions of a system those that the verdict speaks of.
    judged : callable
        Whether a row is of a system that is judged.
    drawn : callable, optional
        Labels of the measures whose differences are drawn; all when left out.
    named : tuple of str
        Dims that the names of systems say already, in pictures of differences.
    resampled : callable
        What was resampled, by a row; empty where its units tell.
    conventions : bool
        Whether the choices in signatures are listed.
    curves : callable
        What curves.parquet holds of an outcome.
    draws : bool
        Whether the page draws these curves; else they stand in the result too.
    items : callable
        What items.parquet holds of an outcome.
    """

    sections: "tuple[Callable[[Story], Section | None], ...]"
    main: "Callable[[Story], str] | None" = None
    titles: "Callable[[Story], tuple[str, str] | None] | None" = None
    lead: "Callable[[Story, Row], str] | None" = None
    verdict: "Callable[[Story], Sequence[Group]] | None" = None
    line: "Callable[[Story, Row], Line] | None" = None
    remarks: "Callable[[Story], Sequence[str]] | None" = None
    problems: "Callable[[Story, Sequence[Problem]], list[Problem]] | None" = None
    rows: "Callable[[Sequence[Row]], Sequence[Row]]" = _whole
    newest: "Callable[[Sequence[Row]], Sequence[Row]]" = _whole
    judged: "Callable[[Row], bool]" = _each
    drawn: "Callable[[Story], Sequence[str]] | None" = None
    named: tuple[str, ...] = ()
    resampled: "Callable[[Row], str]" = _no_word
    conventions: bool = True
    naive: Naive = Naive()
    reading: Reading = Reading()
    curves: "Callable[[Outcome], pl.DataFrame | None]" = _nothing_stored
    draws: bool = False
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
