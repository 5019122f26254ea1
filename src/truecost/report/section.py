"""A section of the page: heading, pictures as SVG, tables, lines with an outcome.

An inline SVG has no fixed size, no times and no ids that clash with those of others; coordinates
are rounded to what a screen can show.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from truecost.report.cases import Worst
from truecost.report.tables import Table, used

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDE, SQUARE, NARROW = 7.2, 5.6, 4.2  # inches


@dataclass(frozen=True)
class Drawing:
    """A picture with its words and numbers.

    Attributes
    ----------
    title : str
        Heading; empty for the only picture of a section.
    draw : callable
        Draws on given axes.
    height : callable
        Height in inches at a width in inches.
    alternative : str
        The picture in words, for those who do not see it.
    table : Table or None
        Its numbers; None when they stand in full right below the picture.
    square : bool
        Whether it is about as high as wide.
    """

    title: str
    draw: Callable[["Axes"], "Axes"]
    height: Callable[[float], float]
    alternative: str
    table: Table | None
    square: bool = False

    def both(self, key: str) -> str:
        """Inline SVGs for wide and for narrow screens; the page shows the one that fits."""
        wide = self._svg(key, SQUARE if self.square else WIDE)
        narrow = self._svg(f"{key}n", NARROW)
        look = "wide square" if self.square else "wide"
        return f'<div class="{look}">{wide}</div><div class="narrow">{narrow}</div>'

    def small(self, key: str) -> str:
        """One inline SVG for half a page or a narrow screen."""
        return f'<div class="half">{self._svg(key, NARROW)}</div>'

    def alone(self) -> str:
        """The picture outside the page."""
        return self._svg("picture", SQUARE if self.square else WIDE)

    def _svg(self, key: str, width: float) -> str:
        import matplotlib as mpl

        from truecost.report import plots
        from truecost.report.plots.look import figure_of

        with mpl.rc_context(plots.STYLE):  # type: ignore[arg-type]
            figure = figure_of(self.draw(plots.new_axes(width, self.height(width))))
            stream = io.StringIO()
            with warnings.catch_warnings():  # the fonts are those of the reader's page
                warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
                _lay_out(figure)
                figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
        return inline(stream.getvalue(), key, plots.INK)


def _lay_out(figure: "Figure") -> None:
    """Lay a figure out once and for all; saving would draw all of it once more to do so."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine, dpi = figure.get_layout_engine(), figure.dpi
    if engine is None:
        return
    FigureCanvasSVG(figure)
    figure.dpi = 72  # as an SVG has it: texts are as wide as in the picture
    engine.execute(figure)
    figure.dpi = dpi
    with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
        figure.set_layout_engine(None)


def inline(text: str, key: str, ink: str) -> str:
    """A stored SVG as part of a page.

    Parameters
    ----------
    text : str
        As matplotlib writes it.
    key : str
        What makes its ids unique on the page.
    ink : str
        The colour that becomes the page's own.
    """
    text = text[text.index("<svg") :].replace(ink, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r' transform="rotate\(-?0 [^"]*"|font-family: [^;"]*; ?', "", text)  # of the page
    text = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda m: _rounded(m[0]), text)
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    names = {name: f"{key}-{k}" for k, name in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    text = re.sub(r'(url\(#|href="#)([^")]+)', lambda m: m[1] + names[m[2]], text)
    return re.sub(r">\s+<", "><", text)


def _rounded(attribute: str) -> str:
    """Coordinates with two decimals, on one line; lines relative to the point before."""
    if re.fullmatch(r' d="[\s\d.MLzZ-]+"', attribute):
        return f' d="{_relative(attribute[4:-1])}"'
    text = re.sub(r"-?\d+\.\d{3,}(?![\de])", lambda m: f"{float(m[0]):.2f}", attribute)
    return re.sub(r"\s+", " ", text).replace(' "', '"')


def _relative(path: str) -> str:
    """A path of straight lines, each point as its way from the one before.

    Most points of a step curve differ in one coordinate only: the way is a third as long to write.
    Ways are differences of rounded points, so that rounding does not add up.
    """
    written: list[str] = []
    at = start = (0, 0)
    for command, numbers in re.findall(r"([MLzZ])([^MLzZ]*)", path):
        if command in "zZ":
            written.append("z")
            at = start
            continue
        found = [round(100 * float(n)) for n in re.findall(r"-?[\d.]+", numbers)]
        for k, point in enumerate(zip(found[::2], found[1::2], strict=True)):
            moves = command == "M" and k == 0  # points after the first are lines
            written.append(f"M{_short(point[0])} {_short(point[1])}" if moves else _way(at, point))
            start = point if moves else start
            at = point
    return "".join(written)


def _way(start: tuple[int, int], end: tuple[int, int]) -> str:
    """How a line gets from one point to another, in hundredths."""
    across, down = end[0] - start[0], end[1] - start[1]
    if not down:
        return f"h{_short(across)}"
    return f"l{_short(across)} {_short(down)}" if across else f"v{_short(down)}"


def _short(hundredths: int) -> str:
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Line:
    """One line of the verdict.

    Attributes
    ----------
    look : {"good", "bad", "open"}
        Colour of the chip.
    chip : str
        The outcome in a word or two; empty when there is none.
    name, text, more : str
        What it is about, the figures, and what they rest on.
    """

    look: str
    chip: str
    name: str
    text: str
    more: str = ""


@dataclass(frozen=True)
class Group:
    """Lines under a heading, and those that are folded away.

    Attributes
    ----------
    summary : str
        What is said of the folded lines.
    tables : tuple of Table
        In place of lines, where there would be many.
    """

    title: str
    lines: tuple[Line, ...] = ()
    folded: tuple[Line, ...] = ()
    summary: str = ""
    tables: tuple[Table, ...] = ()


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
