"""Tables as text, fitted to the width of a screen."""

from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from truecost.errors import visible


@dataclass(frozen=True)
class Columns:
    """A table as text: named columns, those that may be left out when the screen is narrow."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[str] = frozenset({"measure", "verdict", "note"})
    spare: tuple[str, ...] = ()
    about: tuple[str, ...] = ("system", "against", "subset")  # shown once where it repeats
    above: tuple[str, ...] = ()  # what is said above the table where every row has the same
    said: tuple[str, ...] = ()
    below: tuple[str, ...] = ()  # notes that had no place beside the figures
    plain: bool = False  # no names above, and a long text goes on in the next line

    def visible(self) -> "Columns":
        """The table with nothing in it that would steer a terminal."""
        return Columns(
            names=tuple(map(visible, self.names)),
            rows=tuple(tuple(map(visible, row)) for row in self.rows),
            left=frozenset(map(visible, self.left)),
            spare=tuple(map(visible, self.spare)),
            about=tuple(map(visible, self.about)),
            above=tuple(map(visible, self.above)),
            said=tuple(map(visible, self.said)),
            below=tuple(map(visible, self.below)),
            plain=self.plain,
        )

    def fitted(self, width: int) -> "Columns":
        """The table with one line for what every row has until it fits, then with its notes below,
        then without spare columns, and at last with long names cut.
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
        """The table without spare columns until it fits; it says which, where any of them might
        have stood above it.
        """
        table, left_out = self, []
        for name in self.spare:
            if table.width() > width and name in table.names:
                shown = any(row[table.names.index(name)] for row in table.rows)
                left_out += [name] if shown else []
                table = table.without(name)
        if not left_out or not {*self.spare} & {*self.above}:
            return table
        said = f"left out for want of width: {', '.join(reversed(left_out))}"
        return replace(table, below=(*table.below, said))

    def shown(self, width: int) -> "Columns":
        """The table as a screen of this width shows it: the last column is padded too."""
        return self.fitted(width - 2)

    def _place(self, said: str) -> int:
        """Where the column of a line above the table stood."""
        return next(k for k, name in enumerate(self.names) if said.startswith(f"{name} "))

    def width(self) -> int:
        """Characters from the first to the last column."""
        return sum(self.widths()) + 2 * (len(self.names) - 1)

    def widths(self) -> list[int]:
        """The longest cell of each column, its name included; that of the notes is not shown."""
        heads = ("" if name == "note" else name for name in self.names)
        return [max(map(cell_len, cells)) for cells in zip(heads, *self.rows, strict=True)]

    def without(self, name: str) -> "Columns":
        """The table without a column, if it has it."""
        kept = [k for k, n in enumerate(self.names) if n != name]
        rows = tuple(tuple(row[k] for k in kept) for row in self.rows)
        return replace(self, names=tuple(self.names[k] for k in kept), rows=rows)

    def lifted(self, name: str) -> "Columns":
        """The table with a column said above it, if every row has the same there."""
        cells = {row[self.names.index(name)] for row in self.rows} if name in self.names else ()
        if len(cells) != 1:
            return self
        if not (cell := next(iter(cells))):
            return self.without(name)
        return replace(self.without(name), said=(*self.said, f"{name} {cell}"))

    def footed(self) -> "Columns":
        """The table with a number for each note, which stands below."""
        if "note" not in self.names:
            return self
        k = self.names.index("note")
        notes = dict.fromkeys(row[k] for row in self.rows if row[k])
        if not notes:
            return self.without("note")
        marks = {"": "", **{note: f"({number})" for number, note in enumerate(notes, 1)}}
        rows = tuple((*row[:k], marks[row[k]], *row[k + 1 :]) for row in self.rows)
        return replace(self, rows=rows, below=tuple(f"{marks[note]} {note}" for note in notes))

    def cut(self, name: str, over: int) -> "Columns":
        """The table with the cells of a column cut by so many characters, to 8 at the least."""
        if name not in self.names:
            return self
        k = self.names.index(name)
        most = max(8, self.widths()[k] - over)

        def short(cell: str) -> str:
            head = most // 2  # both ends of a name tell it from its neighbours
            return cell if len(cell) <= most else f"{cell[:head]}\u2026{cell[head + 1 - most :]}"

        rows = tuple((*row[:k], short(row[k]), *row[k + 1 :]) for row in self.rows)
        return replace(self, rows=rows)

    def table(self, width: int) -> Group:
        """For the terminal; a name that repeats from row to row is shown once."""
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
