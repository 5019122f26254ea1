"""A section of the page: a heading with pictures and tables, and how its pictures are made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from truecost.report.cases import Worst
from truecost.report.lines import Line
from truecost.report.svg import Drawing
from truecost.report.tables import Table, used

TOLD = 12  # figures in the words of a picture
MOST_LINES = 24  # rows of one picture


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    Attributes
    ----------
    text : str
        What the pictures show, in one or two sentences.
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


def stacked(
    title: str,
    counts: Mapping[str, Sequence[float]],
    kinds: Sequence[str],
    *,
    of: str,
    across: str,
) -> Drawing:
    """Counts of several kinds as stacked bars, a bar a name, with their table.

    Parameters
    ----------
    title : str
        Heading; empty for the only picture of a section.
    counts : mapping of str to sequence of float
        For each name the count of each kind; the first 24 are drawn, the table has all.
    kinds : sequence of str
        How they are called.
    of : str
        What a name is, for the head of its column.
    across : str
        What is counted, for the axis.
    """
    from truecost.report import plots

    drawn = dict(islice(counts.items(), MOST_LINES))
    if len(drawn) < len(counts):
        title = f"{title}, the first {len(drawn)} of {len(counts)}".removeprefix(", ")
    cells = {name: [f"{n:g}" for n in of_name] for name, of_name in counts.items()}
    said = (
        f"{name} {', '.join(f'{n} {kind}' for n, kind in zip(found, kinds, strict=True))}"
        for name, found in cells.items()
    )
    header, rows = (of, *kinds), [(name, *found) for name, found in cells.items()]
    return drawing_of(
        plots.stacks,
        plots.Stacks(drawn, tuple(kinds), across),
        plots.stacks_height,
        f"Stacked bars of {across}: {told(said)}",
        used(f"{across.capitalize()} by {of}: numbers", header, rows),
        title=title,
    )


def told(said: Iterable[str]) -> str:
    """The first of many phrases; the table holds them all."""
    found = [text.strip() for text in said]
    return "; ".join(found[:TOLD]) + ("; and more" if len(found) > TOLD else "")


def comma(name: str) -> str:
    """A name after a comma; nothing for none."""
    return f", {name}" if name else ""
