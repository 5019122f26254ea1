"""A picture as data: axes, marks, the words around them and their numbers. It names no pixel.

`Frame` lays a picture out at a width; `svg` draws what the frame says. Numbers are in the units of
the axes. On an axis of names ("rows" down, "columns" across) a place is the index of a name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.core.digits import Scale, figure
from truecost.pictures.tables import Table, without_empty_columns

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Values = Any  # a number, an array, or None
NAMED = ("rows", "columns")
READ = ("dot", "hollow", "cell", "line")  # marks that a table has
MOST_WORDS = 12  # marks that stand in the words of a picture
PAD = 0.04  # of an axis whose ends are not given
LEAST = 1e-10  # a rate on a probit axis


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One of the two axes of a picture.

    Attributes
    ----------
    label : str
        Measured quantity, with its unit.
    kind : {"linear", "log", "asinh", "probit", "rows", "columns"}
        Scale of the axis.

        - `linear`, `log`: linear or logarithmic.
        - `asinh`: linear near 0, logarithmic far from 0 on both sides.
        - `probit`: rates on a normal-deviate scale, as in DET curves.
        - `rows`: names from top to bottom (y axis).
        - `columns`: names from left to right (x axis).
    domain : tuple of float, optional
        Lowest and highest value of the axis. Default: the range of the marks, slightly extended.
    scale : str
        Unit of the numbers. `%`: shares shown in percent. `pp`: differences of shares in percentage
        points. Any other text follows the numbers, for example " EUR".
    ticks : tuple of float
        Candidate ticks, the most important first; only ticks with enough room are drawn. Default:
        round numbers.
    names : tuple of str
        For `rows` and `columns`: the names. For other kinds: texts of the ticks; default: numbers.
    reverse : bool
        Whether the values increase from right to left.
    heads : tuple of int
        For `rows`: positions of the names that are headings of the names below them.
    factor : float
        Factor for a second line of numbers below an x axis: each tick times this factor. Default:
        0, no second line.
    """

    label: str = ""
    kind: Literal["linear", "log", "asinh", "probit", "rows", "columns"] = "linear"
    domain: tuple[float, float] | None = None
    scale: Scale = ""
    ticks: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    reverse: bool = False
    heads: tuple[int, ...] = ()
    factor: float = 0.0

    def place(self, value: Values) -> str:
        """A place on it in words; empty for a whole curve."""
        if np.ndim(value):
            return ""
        if self.kind in NAMED:
            place: int = round(value)
            return self.names[place]
        named: dict[float, str] = dict(zip(self.ticks, self.names, strict=False))
        return named[value] if value in named else figure(value, self.scale)


Kind = Literal[
    "line",
    "band",
    "dot",
    "hollow",
    "interval",
    "gap",
    "limit",
    "bar",
    "cell",
    "edge",
    "rule",
    "diagonal",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mark:
    """One graphical element of a picture, such as a line, a dot or an interval.

    Attributes
    ----------
    kind : str
        Kind of the mark, which determines the fields that it needs.

        - `line`: line through the arrays `x` and `y`; interrupted at NaN.
        - `band`: area between the arrays `lo` and `hi` over the array `x`.
        - `dot`, `hollow`: filled or hollow dot at `x`, `y`.
        - `interval`: line from `lo` to `hi`, horizontal at `y` or vertical at `x`. None stands for
          an infinite end.
        - `bar`: bar from `lo` to `hi` in the row `y`.
        - `gap`: pale bar from `lo` to `hi`, behind dots.
        - `limit`: short vertical line at `x` in the row `y`.
        - `cell`: cell of a matrix in the column `x` and the row `y`, with `tone` and `text`.
        - `edge`: line between cells through the corners in the arrays `x` and `y`.
        - `rule`: dashed line across the picture at `x` or at `y`, with a `text`.
        - `diagonal`: line where x equals y.
    x, y, lo, hi : float, ndarray or None
        Positions, in the units of the axes; on an axis of names, the index of a name.
    series : str
        Name of the system (or other series) that determines the colour.
    label : str
        Text under the mouse pointer: name, values and amount of data.
    text : str
        Text drawn in a cell or beside a rule.
    step : bool
        For a line: whether each y holds up to the next x (step function).
    tone : int
        For a bar: index in `Picture.parts`. For a cell: index in `Picture.shades`.
    weak : bool
        Whether the mark is dashed, because too few data support it.
    size : float
        For a dot: area relative to other dots.
    live : str
        Name of the slider on a report page that moves the mark; empty for a fixed mark.
    """

    kind: Kind
    x: Values = None
    y: Values = None
    lo: Values = None
    hi: Values = None
    series: str = ""
    label: str = ""
    text: str = ""
    step: bool = False
    tone: int = 0
    weak: bool = False
    size: float = 1.0
    live: str = ""

    def along(self, axis: Literal["x", "y"], *, rows: bool) -> Iterator[Values]:
        """The numbers of the mark on one axis; `rows`: whether y is an axis of names."""
        yield self.x if axis == "x" else self.y
        across = self.x is None or (rows and self.kind != "band")
        if (axis == "x") == (across and self.kind != "band"):
            yield from (self.lo, self.hi)


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A picture as data: axes, marks and texts, independent of the file format.

    Attributes
    ----------
    name : str
        Short name, for file names and `outcome.plot(name)`.
    x, y : Axis
        Axes of the picture.
    marks : tuple of Mark
        Graphical elements, in drawing order.
    title : str
        Heading; may be empty.
    caption : str
        Explanation in one or two sentences.
    table : Table, optional
        Numbers of the picture. Default: a table of the dots, cells and lines that have a label.
    columns : tuple
        For an axis of rows, texts beside the rows: pairs (heading, texts), one text for each row.
    key : tuple
        Legend: pairs of a kind of mark and its meaning.
    parts, shades : tuple of str
        Meanings of the colours of bars (`parts`) and of the shades of cells (`shades`).
    strip : tuple
        Histograms above the picture: triples of series, positions on the x axis and heights.
    square : bool
        Whether both axes have the same length.
    zoom : bool
        Whether readers of a report page can enlarge a part of the picture.
    """

    name: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    caption: str = ""
    table: Table | None = None
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    key: tuple[tuple[Kind, str], ...] = ()
    parts: tuple[str, ...] = ()
    shades: tuple[str, ...] = ()
    strip: tuple[tuple[str, Values, Values], ...] = ()
    square: bool = False
    zoom: bool = False

    def __repr__(self) -> str:
        return f"<Picture {self.name!r}: {self.alternative}>"

    @property
    def alternative(self) -> str:
        """Text alternative for readers who cannot see the picture: the title, and the labels of
        the first dozen marks.
        """
        found = [m.label for m in self.marks if m.label]
        said = "; ".join(found[:MOST_WORDS]) + ("; and more" if len(found) > MOST_WORDS else "")
        return ". ".join(filter(None, (self.title or self.name, said or self.caption)))

    @cached_property
    def series(self) -> tuple[str, ...]:
        """Names of the series in drawing order: first of the marks, then of the histograms."""
        found = (*(m.series for m in self.marks), *(name for name, _, _ in self.strip))
        return tuple(dict.fromkeys(filter(None, found)))

    @cached_property
    def numbers(self) -> Table | None:
        """The table of the picture; without one, the texts for a pointer: a row for each dot, cell
        or curve.
        """
        read = [m for m in self.marks if m.kind in READ and m.label]
        if self.table is not None or not read:
            return self.table
        header = ("series", self.x.label or "column", self.y.label or "row", "details")
        cells = [(m.series, self.x.place(m.x), self.y.place(m.y), self._details(m)) for m in read]
        return without_empty_columns(self.title or self.name, header, cells)

    def _details(self, mark: Mark) -> str:
        """The text for a pointer, without the content of other columns of the table and the
        title.
        """
        about, colon, said = mark.label.partition(": ")
        known = {mark.series, *self.title.split(", ")}
        places = self.x.place(mark.x), self.y.place(mark.y)
        own = [p for p in about.split(", ") if p not in known and not _says_place(p, places)]
        return ": ".join(filter(None, (", ".join(own), said))) if colon else mark.label

    def domain(self, axis: Literal["x", "y"]) -> tuple[float, float]:
        """Ends of an axis: as given, or those of the marks and a little more."""
        own: Axis = getattr(self, axis)
        if own.domain is not None:
            return own.domain
        found = [v for m in self.marks for v in m.along(axis, rows=self.y.kind == "rows")]
        return span([v for v in found if v is not None], kind=own.kind)

    def first(self, rows: int) -> "Picture":
        """Picture with the first rows only. A heading without a row below it is left out.

        Parameters
        ----------
        rows : int
            Largest number of rows.
        """
        while rows - 1 in self.y.heads:
            rows -= 1
        kept = replace(self.y, names=self.y.names[:rows])
        marks = tuple(m for m in self.marks if m.y is None or round(float(m.y)) < rows)
        columns = tuple((head, cells[:rows]) for head, cells in self.columns)
        x = replace(self.x, domain=self.domain("x")) if self.x.kind not in NAMED else self.x
        return replace(self, y=kept, x=x, marks=marks, columns=columns)

    def frame(self) -> "pl.DataFrame":
        """Points of all marks as a frame with one row for each point.

        - `kind`, `series`, `label`: fields of the mark.
        - `x`, `y`, `lo`, `hi`: positions in the units of the axes.
        - `of`, `name`: heading and name of the row (only for a picture with rows).
        - `value`, `lower`, `upper`: value and interval of a dot (only for a picture with rows; null
          for all other marks).
        """
        from truecost.pictures.files import points_of

        return points_of(self)

    def svg(self, width: float = 760.0, order: Sequence[str] | None = None) -> str:
        """Picture as the text of an SVG file, with a light background, for files and notebooks.

        Parameters
        ----------
        width : float
            Width in pixels.
        order : sequence of str, optional
            Names of all systems, so that each system has the same colour in several pictures.
            Default: the series of this picture.

        Returns
        -------
        str
            SVG document.
        """
        from truecost.pictures.frame import Frame
        from truecost.pictures.svg import alone

        return alone(Frame(self, width, order))

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the picture, or its numbers, to a file.

        The file extension determines the format: .svg, .pdf or .png for the picture; .csv, .tex or
        .md for its numbers. PDF and PNG need `pip install "truecost[figures]"`. On one platform,
        identical pictures give identical files.

        Parameters
        ----------
        path : str or Path
            Path of the file.

        Returns
        -------
        Path
            Path of the written file.

        Raises
        ------
        UsageError
            If the file extension is unknown, or the picture has no numbers.
        InputError
            If the file cannot be written.
        """
        from truecost.pictures.files import save

        return save(self, Path(path))

    def matplotlib(self, ax: "Axes") -> "Axes":
        """Draw the picture on axes of matplotlib, which must be installed. A picture with cells
        raises UsageError.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from truecost.pictures.files import on_axes

        return on_axes(self, ax)


def _says_place(piece: str, places: Sequence[str]) -> bool:
    """Whether a piece of a text says places on the axes and no other number."""
    for place in sorted(filter(None, places), key=len, reverse=True):
        piece = re.sub(rf"(?<![\w.]){re.escape(place)}(?![\w.])", "\0", piece, count=1)
    return "\0" in piece and not re.search(r"\d", piece)


def keys_of(marks: Sequence[Mark], meanings: Mapping[Kind, str]) -> tuple[tuple[Kind, str], ...]:
    """The meaning of the marks that are drawn."""
    drawn = {m.kind for m in marks}
    return tuple((kind, text) for kind, text in meanings.items() if kind in drawn)


def number(value: Values) -> Any:
    """A number; NaN for none."""
    return np.nan if value is None else value


def span(
    values: Sequence[Values], *, kind: str = "linear", pad: float = PAD
) -> tuple[float, float]:
    """Ends of an axis that shows some values, and a little more on both sides.

    `kind`: as of `Axis`; of "log" and "probit" only what has a place on it.
    """
    every = [np.ravel(np.asarray(number(v), float)) for v in (None, *values)]
    found, ends = np.concatenate(every), {"log": (0.0, np.inf), "probit": (0.0, 1.0)}
    least, most = ends.get(kind, (-np.inf, np.inf))
    found = found[(least < found) & (found < most)]
    if not len(found):
        return (0.001, 0.999) if kind == "probit" else (0.1, 1.0) if kind == "log" else (0.0, 1.0)
    low, high = float(found.min()), float(found.max())
    if kind == "log":
        room = max(high / low, 1.5) ** pad
        return low / room, high * room
    if kind == "probit":
        return max(low * 0.8, LEAST), min(1 - (1 - high) * 0.8, 1 - 1e-6)
    room = (high - low) or abs(high) or 1.0
    return low - pad * room, high + pad * room
