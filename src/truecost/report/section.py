"""A section of the page: a heading with pictures and tables, and how its pictures are made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from truecost.report.cases import Worst
from truecost.report.drawing import Drawing
from truecost.report.lines import Line
from truecost.report.tables import Table

TOLD = 12  # figures in the words of a picture
MOST_LINES = 24  # rows of one picture


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    Attributes
    ----------
    title : str
    text : str
        What the pictures show, in one or two sentences.
    drawings : tuple of Drawing
    tables : tuple of Table
        In full below the pictures.
    cases : tuple of Worst
        Text in columns, by system.
    lines : tuple of Line
        Outcomes with a word each.
    """

    title: str
    text: str
    drawings: tuple[Drawing, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[Worst, ...] = ()
    lines: tuple[Line, ...] = ()


def drawing_of(
    draw: Callable[..., Any],
    data: Any,
    height: Callable[..., float],
    alternative: str,
    table: Table | None,
    title: str = "",
    square: bool = False,
    **options: Any,
) -> Drawing:
    """A picture that a function of `plots` draws of some data."""
    return Drawing(
        title,
        lambda ax: draw(data, ax=ax, **options),
        partial(height, data),
        " ".join(alternative.split()),
        table,
        square,
    )


def told(said: Iterable[str]) -> str:
    """The first of many phrases; the table holds them all."""
    found = [text.strip() for text in said]
    return "; ".join(found[:TOLD]) + ("; and more" if len(found) > TOLD else "")


def comma(name: str) -> str:
    """A name after a comma; nothing for none."""
    return f", {name}" if name else ""
