"""Where a picture's data land at one width: margins, rows, columns of figures, axes and legend.

The only place that knows pixels. A picture narrower than `NARROW` has the names of its rows and the
first column of figures above each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from truecost.pictures.look import COMPONENTS, LINE, SYSTEMS, cut, width_of, wrapped
from truecost.pictures.picture import Floats, Mark, Picture
from truecost.pictures.scales import Place, apart

NARROW = 500.0
SQUARE = 560.0  # widest square picture
CELL = 64.0  # widest cell
ROW, MATRIX_ROW = 26.0, 22.0
ASPECT = 0.62
HIGH = (0.5, 0.6, 0.7, 0.9)  # of the width, that axes may be high
STRIP = 36.0
SIDE = 8.0  # room at the sides
BESIDE = 110.0  # room of words right of the axes
KEY = 34.0  # room of a sample in the legend, with the space after a text


class Names:
    """The positions of the names of an axis."""

    def __init__(self, start: float, sizes: Sequence[float]) -> None:
        self.sizes = np.array(sizes, float)
        self.middles = start + np.cumsum(self.sizes) - self.sizes / 2
        self.start, self.end = start, start + float(self.sizes.sum())

    def __call__(self, values: Floats) -> Floats:
        """Places of the middles of names."""
        return np.asarray(np.interp(values, np.arange(len(self.middles)), self.middles), float)

    def at(self, value: float) -> float:
        """The middle of one name; a fraction lies above or below it."""
        name = round(value)
        return float(self.middles[name] + (value - name) * self.sizes[name])

    inside = at

    def holds(self, value: float) -> bool:
        """Whether there is such a name."""
        return 0 <= value < len(self.sizes)

    def corner(self, value: float) -> float:
        """Start of the name of an index; for the index after the last, the end."""
        return self.start + float(self.sizes[: int(value)].sum())


@dataclass(frozen=True)
class Entry:
    """An entry of the legend: its classes, the kind of mark, the words, and where it stands."""

    classes: str
    kind: str
    text: str
    series: str = ""
    x: float = 0.0
    y: float = 0.0


class Frame:
    """The positions of all parts of a picture of a given width.

    Parameters
    ----------
    width : float
        Pixels there are at most.
    order : sequence of str, optional
        All systems, each of which has its own colour; the series of the picture when left out.
    """

    def __init__(self, picture: Picture, width: float, order: Sequence[str] | None = None) -> None:
        self.picture, self.narrow = picture, width < NARROW
        self.order = list(picture.series if order is None else order)
        self.width = min(width, SQUARE) if picture.square else width
        self._beside = 0.75 * BESIDE if self.narrow else BESIDE
        self._others = [s for s in picture.series if s not in self.order]
        x, y = picture.x, picture.y
        self.labels = self._row_labels() if y.kind == "rows" else []
        self.left, right = self._left(), self._right()
        if x.kind == "columns":
            self.width = min(self.width, self.left + right + CELL * len(x.names))
        self.right = self.width - right
        inner = self.right - self.left
        self.x: Place | Names
        if x.kind == "columns":
            self.x = Names(self.left, [inner / len(x.names)] * len(x.names))
        else:
            ends = (self.right, self.left) if x.reverse else (self.left, self.right)
            domain = picture.domain("x")
            self.x = Place(x, domain, *ends, apart(x, domain, inner))
        self.x_rules = self._x_rules()
        self.top = self._top()
        self.y: Place | Names
        if y.kind == "rows":
            self.y = Names(self.top, [self._row(k) for k in range(len(y.names))])
        else:
            aspect = 1.0 if picture.square else max(ASPECT, 0.7 * self.narrow)
            ends = self.top + inner * aspect, self.top
            self.y = Place(y, picture.domain("y"), *ends, 26.0)
        self.bottom = max(self.y.start, self.y.end)
        self.x_label = wrapped(x.label, self.width - 2 * SIDE) if x.label else []
        ticks = 0 if x.kind == "columns" and not any(x.names) else 18
        self.under_ticks = self.bottom + ticks + (LINE if x.factor else 0)
        under = self.under_ticks + (LINE + 2) * len(self.x_label)
        self.legend, self.height = self._legend(under + 18)

    def classes(self, mark: Mark) -> str:
        """The classes that colour a mark."""
        parts = self.picture.parts
        if mark.kind == "cell":
            return f"q{mark.tone}"
        if mark.kind == "bar" and parts:
            return f"c{mark.tone % COMPONENTS}"
        return self.colour(mark.series) + (" pale" if mark.kind == "bar" and mark.tone else "")

    def colour(self, series: str) -> str:
        """The class of a series: a system's own, that of a component, or grey for those beyond."""
        if series in self.order:
            place = self.order.index(series)
            return f"s{place}" if place < SYSTEMS else "more"
        return f"c{self._others.index(series) % COMPONENTS}" if series in self._others else ""

    @cached_property
    def banded(self) -> set[str]:
        """The series that have a band: two of many, or bands hide each other."""
        names = list(self.picture.series)
        return {"", *(names if len(names) <= 3 else names[:2])}

    def figures(self) -> list[tuple[str, tuple[str, ...], float]]:
        """Columns of figures beside the rows: heading, cells and right end."""
        if self.narrow:
            return []
        found, at = [], self.right + SIDE
        for head, cells in self.picture.columns:
            at += _column(head, cells)
            found.append((head, cells, at))
        return found

    def below_names(self) -> tuple[str, ...]:
        """The figures under each name of a narrow picture."""
        columns = self.picture.columns
        return columns[0][1] if self.narrow and columns else ()

    def _x_rules(self) -> list[tuple[Mark, int, float, str]]:
        """Rules at an x with words: the mark, its lane above the axes, where, and the words."""
        found: list[tuple[Mark, int, float, str]] = []
        ends: list[float] = []
        for mark in sorted(self._named("x"), key=lambda m: float(m.x)):
            text = cut(mark.text, self.width / 2)
            room = width_of(text)
            middle = self.x.inside(float(mark.x))
            middle = min(max(middle, self.left + room / 2), self.right - room / 2)
            lane = next((k for k, end in enumerate(ends) if middle - room / 2 > end), len(ends))
            ends[lane : lane + 1] = [middle + room / 2 + 6]
            found.append((mark, lane, middle, text))
        return found

    def y_rules(self) -> list[tuple[float, str]]:
        """Words of rules at a y, right of the axes and clear of each other: where and what."""
        found, last = [], -LINE
        for mark in sorted(self._named("y"), key=lambda m: self.y.inside(float(m.y))):
            last = max(self.y.inside(float(mark.y)), last + LINE)
            found.append((last, cut(mark.text, self._beside)))
        return found

    def _named(self, axis: str) -> list[Mark]:
        """Rules at an x or at a y that have words."""
        rules = [m for m in self.picture.marks if m.kind == "rule" and m.text]
        return [m for m in rules if getattr(m, axis) is not None]

    def _row_labels(self) -> list[list[str]]:
        names, heads = self.picture.y.names, self.picture.y.heads
        room = self.width * (0.40 if self.narrow else 0.34) - 10
        return [
            wrapped(name, self.width - 2 * SIDE if k in heads else room, 3)
            for k, name in enumerate(names)
        ]

    def _row(self, k: int) -> float:
        """Height of a row: its name in lines, and on a narrow picture its figures."""
        least = MATRIX_ROW if self.picture.x.kind == "columns" else ROW
        cells = self.below_names()
        under = LINE if k < len(cells) and cells[k] else 0
        return max(least, LINE * len(self.labels[k]) + 10 + under)

    def _left(self) -> float:
        if self.labels:
            heads = self.picture.y.heads
            texts = [t for k, lines in enumerate(self.labels) if k not in heads for t in lines]
            texts += [cut(cell, self.width / 2 - 12) for cell in self.below_names()]
            return max((width_of(t) for t in texts), default=0.0) + 14
        y, ends = self.picture.y, self.picture.domain("y")
        places = [Place(y, ends, share * self.width, 0.0, 26.0) for share in HIGH]
        return max([30.0, *(width_of(t) + 12 for place in places for t in place.texts)])

    def _right(self) -> float:
        if self.picture.x.kind == "columns" and (self.narrow or not self.picture.columns):
            return 14.0
        if rules := self._named("y"):
            return min(max(width_of(m.text) for m in rules), self._beside) + 12
        if self.narrow or not self.picture.columns:
            last = Place(self.picture.x, self.picture.domain("x"), 0.0, 200.0, 34.0).texts[-1:]
            return max([14.0, *(width_of(text) / 2 + 3 for text in last)])
        return 16.0 + sum(_column(head, cells) for head, cells in self.picture.columns)

    def _top(self) -> float:
        """Room above: words of rules, headings of columns, the name of the y axis, the strip."""
        lanes = 1 + max((lane for _, lane, _, _ in self.x_rules), default=-1)
        heads = bool(self.picture.columns) and not self.narrow
        above = max(lanes, int(heads)) + bool(self.picture.y.label)
        return 8.0 + LINE * above + (STRIP if self.picture.strip else 0)

    def _legend(self, y: float) -> tuple[list[Entry], float]:
        """Entries of the legend in rows, and the height of the whole."""
        start = SIDE if self.narrow or self.left > self.width / 4 else self.left
        x, found = start, []
        entries = self._entries()
        for entry in entries:
            text = cut(entry.text, self.width - start - KEY)
            room = width_of(text) + KEY
            if x + room > self.width and x > start:
                x, y = start, y + LINE + 5
            found.append(Entry(entry.classes, entry.kind, text, entry.series, x, y))
            x += room
        return found, y + 10 if entries else y - 10

    def _entries(self) -> list[Entry]:
        picture = self.picture
        drawn = [s for s in picture.series if self.colour(s) != "more"]
        lined = {m.series for m in picture.marks if m.kind == "line"}
        lined |= {name for name, _, _ in picture.strip}
        found = []
        if picture.y.kind != "rows" and (len(drawn) > 1 or picture.zoom):
            kinds = {s: "line" if s in lined else "dot" for s in drawn}
            found = [Entry(self.colour(s), kinds[s], s, s) for s in drawn]
            if more := len(picture.series) - len(drawn):
                found.append(Entry("more", "line", f"{more} more"))
        found += [Entry("", kind, text) for kind, text in picture.key]
        found += [Entry(f"c{k % COMPONENTS}", "bar", text) for k, text in enumerate(picture.parts)]
        return found + [Entry(f"q{k}", "cell", text) for k, text in enumerate(picture.shades)]


def _column(head: str, cells: Sequence[str]) -> float:
    """Room of a column of figures."""
    return max(width_of(text) for text in (head, *cells)) + 18
