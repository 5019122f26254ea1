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
from truecost.pictures.tables import ENDS, Table, without_empty_columns

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
    kind : str
        "linear", "log", "asinh" (linear near 0, logarithmic far from it on both sides), "probit"
        (rates; normal deviates), or names: "rows" down, "columns" across.
    domain : tuple of float, optional
        Ends of the axis. Default: the range of the marks, and a little more.
    scale : str
        "%" for shares that are shown in percent, "pp" for differences of such; else what stands
        behind figures (" EUR").
    ticks : tuple of float
        Possible ticks, the most important first. Default: round numbers.
    names : tuple of str
        Names of an axis of names; for another axis, the texts of its ticks. Default: numbers.
    reverse : bool
        Whether it runs from right to left.
    heads : tuple of int
        Which of the names are headings of those after them.
    factor : float
        Of an x axis of numbers: what they are times this stands below them too; nothing where 0.
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
            return str(self.names[round(value)])
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
    """One thing that a picture shows.

    Attributes
    ----------
    kind : str
        "line" (arrays `x`, `y`; NaN breaks it); "band" (arrays `x`, `lo`, `hi`); "dot" and "hollow"
        (`x`, `y`); "interval" (`lo` to `hi`, in row `y` or up and down at `x`; an end that is None
        is infinite); "gap", a pale bar behind dots, and "bar" (row `y` from `lo` to `hi`); "limit",
        a stroke across a row (`x`, `y`); "cell" (column `x`, row `y`, `tone`, `text`); "edge", a
        line between cells (arrays of corners); "rule", a dashed line across at `x` or at `y` with
        its `text`; "diagonal", where x equals y.
    series : str
        The system, or what else has a colour of its own.
    label : str
        Text under the mouse pointer: name, figures, and the amount of data.
    step : bool
        For a line: each y is valid until the next x.
    tone : int
        Of a bar, which of `Picture.parts`; of a cell, which of `Picture.shades`.
    weak : bool
        Rests on too little: drawn dashed.
    size : float
        For a dot: its area relative to other dots.
    live : str
        The slider of the page that moves the mark.
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
        """Its numbers on one axis; `rows`: whether y is an axis of names."""
        yield self.x if axis == "x" else self.y
        across = self.x is None or (rows and self.kind != "band")
        if (axis == "x") == (across and self.kind != "band"):
            yield from (self.lo, self.hi)


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A picture: what it shows, and nothing of how it is drawn.

    Attributes
    ----------
    name : str
        Short name: of its file, and `outcome.plot(name)`.
    title : str
        Heading; may be empty where the section has one.
    caption : str
        How to read it, in a sentence or two.
    marks : tuple of Mark
        In the order in which they are drawn.
    table : Table, optional
        Its numbers, every dot among them, where marks do not say enough.
    columns : tuple
        Beside rows: pairs of a heading and a text for each row.
    key : tuple
        Pairs of a kind of mark and what it means.
    parts, shades : tuple of str
        Meaning of the tones of bars and of cells.
    strip : tuple
        Above the picture along its x axis: triples of series, places and heights.
    square : bool
        Whether both axes are equally long.
    zoom : bool
        Whether a reader may enlarge a part on the page.
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
        """The picture in words, for those who do not see it: what its first marks say."""
        found = [m.label for m in self.marks if m.label]
        said = "; ".join(found[:MOST_WORDS]) + ("; and more" if len(found) > MOST_WORDS else "")
        return ". ".join(filter(None, (self.title or self.name, said or self.caption)))

    @cached_property
    def series(self) -> tuple[str, ...]:
        """Names of the series, in the order of the marks, then those of the strip."""
        found = (*(m.series for m in self.marks), *(name for name, _, _ in self.strip))
        return tuple(dict.fromkeys(filter(None, found)))

    @cached_property
    def numbers(self) -> Table | None:
        """Its table; where it has none, what a pointer reads: a row a dot, a cell, a curve."""
        read = [m for m in self.marks if m.kind in READ and m.label]
        if self.table is not None or not read:
            return self.table
        header = ("series", self.x.label or "column", self.y.label or "row", "details")
        cells = [(m.series, self.x.place(m.x), self.y.place(m.y), self._details(m)) for m in read]
        return without_empty_columns(self.title or self.name, header, cells)

    def _details(self, mark: Mark) -> str:
        """What a pointer reads, without what other columns of the table and the title say."""
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
        """The picture of the first rows alone, none of which is a heading with nothing below."""
        while rows - 1 in self.y.heads:
            rows -= 1
        kept = replace(self.y, names=self.y.names[:rows])
        marks = tuple(m for m in self.marks if m.y is None or round(float(m.y)) < rows)
        columns = tuple((head, cells[:rows]) for head, cells in self.columns)
        x = replace(self.x, domain=self.domain("x")) if self.x.kind not in NAMED else self.x
        return replace(self, y=kept, x=x, marks=marks, columns=columns)

    def frame(self) -> "pl.DataFrame":
        """The points that are drawn, a row each: `kind`, `series`, `label`, `x`, `y`, `lo`, `hi`.

        Of a picture in rows what each is called too, `of` (its heading) and `name`, and the figures
        of dots as `value`, `lower` and `upper`, in full and null where there are none.
        """
        import polars as pl

        schema = dict.fromkeys(_TEXTS, pl.String()) | dict.fromkeys(_PLACES, pl.Float64())
        found = [pl.DataFrame(schema=schema)]
        for m in self.marks:
            numbers = np.broadcast_arrays(*(np.atleast_1d(_number(getattr(m, n))) for n in _PLACES))
            columns = {name: v.astype(float) for name, v in zip(_PLACES, numbers, strict=True)}
            texts = {name: [getattr(m, name)] * len(numbers[0]) for name in _TEXTS}
            found.append(pl.DataFrame({**texts, **columns}))
        drawn = pl.concat(found)
        if self.y.kind != "rows":
            return drawn
        called, of = [("", "")], ""
        for k, name in enumerate(self.y.names):
            called.append((of, name))
            of = name if k in self.y.heads else of
        rows = (drawn["y"].fill_nan(-1).round() + 1).to_list()
        own = [called[int(k) if k < len(called) else 0] for k in rows]
        names = pl.DataFrame(own, {"of": pl.String, "name": pl.String}, orient="row")
        dots = pl.when(pl.col("kind").is_in(("dot", "hollow")))
        figures = zip(ENDS, ("x", "lo", "hi"), strict=True)
        ends = {name: dots.then(pl.col(place).fill_nan(None)) for name, place in figures}
        return drawn.hstack(names).with_columns(**ends)

    def svg(self, width: float = 760.0, order: Sequence[str] | None = None) -> str:
        """The picture as SVG in light colours, every look resolved: for files and notebooks.

        order: all systems, each with its own colour. Default: the series.
        """
        from truecost.pictures.frame import Frame
        from truecost.pictures.svg import alone

        return alone(Frame(self, width, order))

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the picture as SVG, PDF or PNG, or its numbers as CSV, TeX or Markdown.

        The ending of the name says which. PDF and PNG need the extra `figures`. Equal pictures give
        equal bytes on one platform.

        Raises
        ------
        UsageError
            When the ending is another.
        InputError
            When the file cannot be written.
        """
        from truecost.pictures.files import save

        return save(self, Path(path))

    def matplotlib(self, ax: "Axes") -> "Axes":
        """Draw it on matplotlib axes, where that is installed: lines, bands, dots and rows."""
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


_TEXTS, _PLACES = ("kind", "series", "label"), ("x", "y", "lo", "hi")


def _number(value: Values) -> Any:
    return np.nan if value is None else value


def span(
    values: Sequence[Values], *, kind: str = "linear", pad: float = PAD
) -> tuple[float, float]:
    """Ends of an axis that shows some values, and a little more on both sides.

    `kind`: as of `Axis`; of "log" and "probit" only what has a place on it.
    """
    every = [np.ravel(np.asarray(_number(v), float)) for v in (None, *values)]
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
