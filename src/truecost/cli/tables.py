"""Tables on the terminal, fitted to the width; figures are never cut.

A table that is too wide is transposed if it has few rows, or divided into a table for each value of
a column; in the last resort every figure has a line of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from truecost.core.costs import NOT_BY_HAND
from truecost.core.digits import dims_of, figures, items_of, percent, shown_naive, units_shown
from truecost.core.flags import marks
from truecost.core.results import HELD, Row
from truecost.errors import amount, visible
from truecost.face import at
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.pictures.tables import Table as Written
    from truecost.study.outcome import Outcome


@dataclass(frozen=True)
class Columns:
    """A table as text: named columns, some of which may be left out on a narrow screen."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[str] = frozenset({"measure", "verdict", "note"})
    spare: tuple[str, ...] = ()
    about: tuple[str, ...] = ("system", "against", "subset")  # shown once where it repeats
    above: tuple[str, ...] = ()  # what is said above the table where every row has the same
    said: tuple[str, ...] = ()
    below: tuple[str, ...] = ()  # notes that had no place beside the figures
    plain: bool = False  # no names above, and a long text goes on in the next line
    best: frozenset[tuple[int, str]] = frozenset()  # rows and columns that are bold in documents

    def visible(self) -> "Columns":
        """The table without control characters for a terminal."""
        texts = ("names", "spare", "about", "above", "said", "below")
        shown: dict[str, Any] = {key: tuple(map(visible, getattr(self, key))) for key in texts}
        rows = tuple(tuple(map(visible, row)) for row in self.rows)
        return replace(self, rows=rows, left=frozenset(map(visible, self.left)), **shown)

    def document(self) -> "Written":
        """The table for a document: without empty rows and columns."""
        from truecost.pictures.tables import Table

        kept = [k for k, cells in enumerate(zip(*self.rows, strict=True)) if any(cells)]
        names = tuple(self.names[k] for k in kept)
        rows = tuple(tuple(row[k] for k in kept) for row in self.rows)
        best = frozenset((k, names.index(name)) for k, name in self.best if name in names)
        return Table("", names, rows, best=best)

    def fitted(self, width: int) -> "Columns":
        """The table, changed in steps until it fits: a value of every row in a line above it, notes
        below it, spare columns left out, long names cut.
        """
        table = self
        for name in self.above:
            if table.width() > width:
                table = table.lifted(name)
        said = sorted(table.said[len(self.said) :], key=self._place)
        table = replace(table, said=(*self.said, *said))
        if table.width() > width:
            table = table.footed()
        table = table.spared(width)
        for name in reversed(self.about):
            if (over := table.width() - width) > 0 and name != "measure":
                table = table.cut(name, over)
        return table

    def spared(self, width: int) -> "Columns":
        """The table without spare columns until it fits; a note names those left out."""
        table, left_out = self, []
        for name in self.spare:
            if table.width() > width and name in table.names:
                shown = any(row[table.names.index(name)] for row in table.rows)
                left_out += [name] if shown else []
                table = table.without(name)
        if not left_out:
            return table
        said = (
            f"columns left out, because the terminal is too narrow: {', '.join(reversed(left_out))}"
        )
        return replace(table, below=(*table.below, said))

    def shown(self, width: int) -> "Columns":
        """The table as a screen of this width shows it: the last column is padded too."""
        return self.fitted(width - 2)

    def _place(self, said: str) -> int:
        """The position of a column whose value is in a line above the table."""
        return next(k for k, name in enumerate(self.names) if said.startswith(f"{name} "))

    def width(self) -> int:
        """Characters from the first to the last column."""
        return sum(self.widths()) + 2 * (len(self.names) - 1)

    def widths(self) -> list[int]:
        """The longest cell of each column, including its name; a heading of notes is not shown."""
        heads = ("" if name == "note" else name for name in self.names)
        return [max(map(cell_len, cells)) for cells in zip(heads, *self.rows, strict=True)]

    def without(self, name: str) -> "Columns":
        """The table without a column, if it has it."""
        kept = [k for k, n in enumerate(self.names) if n != name]
        rows = tuple(tuple(row[k] for k in kept) for row in self.rows)
        return replace(self, names=tuple(self.names[k] for k in kept), rows=rows)

    def lifted(self, name: str) -> "Columns":
        """The table with a column as a line above it, if every row has the same value."""
        cells = {row[self.names.index(name)] for row in self.rows} if name in self.names else ()
        if len(cells) != 1:
            return self
        if not (cell := next(iter(cells))):
            return self.without(name)
        return replace(self.without(name), said=(*self.said, f"{name} {cell}"))

    def footed(self) -> "Columns":
        """The table with a number for each note, and the notes below."""
        if "note" not in self.names:
            return self
        k = self.names.index("note")
        notes = dict.fromkeys(row[k] for row in self.rows if row[k])
        if not notes:
            return self.without("note")
        marks = {"": "", **{note: f"({number})" for number, note in enumerate(notes, 1)}}
        below = tuple(f"{marks[note]} {note}" for note in notes)
        return replace(self._with(k, marks.__getitem__), below=(*below, *self.below))

    def _with(self, k: int, change: Callable[[str], str]) -> "Columns":
        """The table with the cells of one column changed."""
        rows = tuple((*row[:k], change(row[k]), *row[k + 1 :]) for row in self.rows)
        return replace(self, rows=rows)

    def cut(self, name: str, over: int) -> "Columns":
        """The table with the cells of a column shortened by `over` characters, to 8 at least."""
        if name not in self.names:
            return self
        k = self.names.index(name)
        most = max(8, self.widths()[k] - over)

        def short(cell: str) -> str:
            head = most // 2  # both ends of a name tell it from its neighbours
            return cell if len(cell) <= most else f"{cell[:head]}\u2026{cell[head + 1 - most :]}"

        return self._with(k, short)

    def table(self, width: int) -> Group:
        """The table for the terminal; a repeated name is shown in its first row only."""
        fitted = self.shown(width)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=not self.plain)
        words = {*self.left, *self.about}
        for name in fitted.names:
            shown_name = "" if name == "note" else name
            side: Literal["left", "right"] = "left" if name in words else "right"
            wraps = self.plain and name == fitted.names[-1]
            table.add_column(Text(shown_name), justify=side, no_wrap=not wraps, overflow="ellipsis")
        repeated = [n for n in self.about if n in self.names]
        before: list[str] = []
        for whole, row in zip(self.rows, fitted.rows, strict=True):
            names = [whole[self.names.index(n)] for n in repeated]
            cells = dict(zip(fitted.names, row, strict=True))
            for k, name in enumerate(repeated):
                if names[: k + 1] == before[: k + 1] and name in cells:
                    cells[name] = ""
            table.add_row(*(Text(cell) for cell in cells.values()))
            before = names
        below = map(Text, fitted.below)
        return Group(*filter(None, [Text(", ".join(fitted.said))]), table, *below)


MOST_TURNED = 6  # rows of a table that is turned


def parts_of(table: "Columns", width: int) -> list["Columns"]:
    """Tables that fit and together have the same content.

    The table alone where it fits; `width` in characters.
    """
    for way in (lambda whole: [whole], _turned, _grouped):
        found = way(table)
        if found and all(part.shown(width).width() <= width for part in found):
            return found
    about = _about_columns(table)
    named = [name for name in table.names if name in table.left - {*about, "note"}]
    return [_upright(part) for part in _by(table, [*about, *named[:1]])]


def _about_columns(table: "Columns") -> list[str]:
    return [name for name in table.about if name in table.names]


def _grouped(table: "Columns") -> list["Columns"]:
    """A table for each scope of rows, all without spare columns, except those that are equal in
    every row of one and can be a line above it.
    """
    parts = _by(table, _about_columns(table))
    for name in table.above:
        parts = [part.lifted(name) if name in table.spare else part for part in parts]
    return [part.spared(0) for part in parts]


def _by(table: "Columns", names: Sequence[str]) -> list["Columns"]:
    """A table for each run of rows with one scope, which is a line above it."""
    places = [table.names.index(name) for name in names]
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in table.rows:
        found.setdefault(tuple(row[k] for k in places), []).append(row)
    parts = [replace(table, rows=tuple(rows)) for rows in found.values()]
    for name in names:
        parts = [part.lifted(name) for part in parts]
    return parts


def _turned(table: "Columns") -> list["Columns"]:
    """A table of few rows transposed; none where the names of rows are not unique."""
    [first, *others] = _by(table, _about_columns(table))
    heads = [row[0] for row in first.rows]
    if others or len(heads) > MOST_TURNED or len({first.names[0], *heads}) <= len(heads):
        return []
    columns = list(zip(*first.rows, strict=True))
    cells = zip(first.names[1:], columns[1:], strict=True)
    rows = tuple((name, *column) for name, column in cells if any(column))
    left = frozenset({first.names[0]})
    names = (first.names[0], *heads)
    return [replace(first, names=names, rows=rows, left=left, spare=(), about=(), above=())]


def _upright(table: "Columns") -> "Columns":
    """A table with a line for each figure."""
    rows = [pair for row in table.rows for pair in zip(table.names, row, strict=True) if pair[1]]
    names = ("figure", "value")
    bare = replace(table, left=frozenset(names), spare=(), about=(), above=(), plain=True)
    return replace(bare, names=names, rows=tuple(rows))


ABOVE = ("measure", "system")


def dims_beside(rows: Sequence[Row]) -> tuple[str, ...]:
    """The dimensions that distinguish rows, without strategy and budget where these are the names
    of systems.

    The names `margin-4` and `passive` are complete; `often` and `margin-rate-0.1` are not, as their
    number of questions per batch is not in the name.
    """
    said = all(_system_name(row.dims) == row.dims.get("system") for row in rows)
    left_out = ("strategy", "budget") if said else ()
    return tuple(name for name in dims_of(rows) if name not in left_out)


def _system_name(dims: Mapping[str, str]) -> str:
    """The name of a system with this strategy and budget in a live run: `margin-4`, `passive`."""
    strategy = dims.get("strategy", "").replace(":", "-")
    return f"{strategy}-{dims['budget']}" if "budget" in dims else strategy


def sizes_of(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The number of items of each row, in a run, and the head of that column."""
    runs = [max(row.counts.get("runs", 1), 1) for row in rows]
    head = items_of(rows) + (" a run" if max(runs, default=1) > 1 else "")
    return head, [amount(row.n_trials / n) for row, n in zip(rows, runs, strict=True)]


def dims_shown(rows: Sequence[Row]) -> tuple[str, ...]:
    """The dims of rows, the most general first: the system and its subsets come last."""
    found = dims_beside(rows)
    inner = ("system", "subset", "phase")
    return (*(n for n in found if n not in inner), *(n for n in inner if n in found))


def dim_cells(row: Row, dims: Sequence[str]) -> tuple[str, ...]:
    """The dims of a row as cells; the baseline is beside its system."""
    cells = {**row.dims, "against": row.baseline or ""}
    return tuple(cells.get(name, "all" if name == "subset" else "") for name in dims)


def _best_of(rows: Sequence[Row], differences: Sequence[Row]) -> Sequence[int]:
    """The places of the best of several systems, decided where there are comparisons; none where
    nothing is there twice.
    """
    if len({row.label for row in rows}) == len(rows):
        return ()
    from truecost.pictures.tables import best_of, is_decided

    return [k for k in best_of(rows) if not differences or is_decided(rows[k], differences)]


def values(
    rows: Sequence[Row], differences: Sequence[Row] = (), *, by_run: bool = False
) -> Columns:
    """A line for each row; for streams with the items of a run."""
    dims, items, sizes = dims_shown(rows), items_of(rows), [str(row.n_trials) for row in rows]
    if by_run:
        items, sizes = sizes_of(rows)
    names = ("measure", "value", f"{percent(rows[0].level)} interval", "naive", items, "units")
    cells = tuple(
        (
            *(*dim_cells(row, dims), row.label, *figures(row)),
            shown_naive(row),
            *(size, units_shown(row), note_of(row)),
        )
        for row, size in zip(rows, sizes, strict=True)
    )
    above = (*ABOVE, items, "units") if by_run else ABOVE
    spare = ("units", items, "naive")
    best = frozenset((k, "value") for k in _best_of(rows, differences))
    table = Columns((*dims, *names, "note"), cells, spare=spare, about=dims, above=above, best=best)
    return table if any(map(units_shown, rows)) else table.without("units")


def note_of(row: Row) -> str:
    """The remarks on a row, in one cell."""
    return ", ".join(marks_of(row))


def marks_of(row: Row) -> list[str]:
    """The reason why a row has no value, or its flags."""
    if row.reason == NOT_BY_HAND:
        return [row.reason, *marks(row.flags)]
    if row.reason and (row.value is None or row.reason == HELD):
        return [row.reason.removeprefix("undefined: ")]
    return marks(row.flags)


@dataclass(frozen=True)
class Layout:
    """The tables of a task, where they differ from those of all tasks.

    `values`: tables of some values. `pairs`: the table of comparisons, from that of all tasks and
    the differences. `whole`: tables that replace all others, with every subset; none to keep the
    others. `below`: further tables. `brief`: measures that are shown for subsets beside the first.
    `told`: sentences below the tables.
    """

    values: "Callable[[Sequence[Row]], list[Columns]] | None" = None
    pairs: "Callable[[Columns, Sequence[Row]], Columns] | None" = None
    whole: "Callable[[Outcome], Sequence[Columns]]" = lambda _: ()
    below: "Callable[[Outcome], Sequence[Columns]]" = lambda _: ()
    brief: tuple[str, ...] = ()
    told: "Callable[[Outcome], Sequence[str]]" = lambda _: ()


LAYOUT = Layout()  # of tasks that have none of their own


def layout_of(task: str) -> Layout:
    """The layout of the tables of a task on the terminal, imported now."""
    layout: Layout = at(find(task).load().layout)
    return layout
