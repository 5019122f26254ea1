"""Tables on screens that are too narrow for their columns: figures are never cut.

A table of few rows is turned, so that its rows are columns; one about several things becomes a
table for each, below a line that names it; and at last every figure has a line of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truecost.cli.columns import Columns

MOST_TURNED = 6  # rows of a table that is turned


def parts_of(table: "Columns", width: int) -> list["Columns"]:
    """Tables that say the same and fit.

    Parameters
    ----------
    width : int
        Characters of a line.

    Returns
    -------
    list of Columns
        The table alone where it fits.
    """
    for way in (_whole, _turned, _grouped):
        found = way(table)
        if found and all(part.shown(width).width() <= width for part in found):
            return found
    about = _about(table)
    named = [name for name in table.names if name in table.left - {*about, "note"}]
    return [_upright(part) for part in _by(table, [*about, *named[:1]])]


def _whole(table: "Columns") -> list["Columns"]:
    return [table]


def _about(table: "Columns") -> list[str]:
    return [name for name in table.about if name in table.names]


def _grouped(table: "Columns") -> list["Columns"]:
    """A table for each thing that a table is about, all without its spare columns, but for what
    every row of one has the same and may stand above it.
    """
    parts = _by(table, _about(table))
    for name in table.above:
        parts = [part.lifted(name) if name in table.spare else part for part in parts]
    return [part.spared(0) for part in parts]


def _by(table: "Columns", names: Sequence[str]) -> list["Columns"]:
    """A table for each run of rows that are about the same, which is said above it."""
    places = [table.names.index(name) for name in names]
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in table.rows:
        found.setdefault(tuple(row[k] for k in places), []).append(row)
    parts = [replace(table, rows=tuple(rows)) for rows in found.values()]
    for name in names:
        parts = [part.lifted(name) for part in parts]
    return parts


def _turned(table: "Columns") -> list["Columns"]:
    """A table of few rows with a column for each of them; none where their names do not differ."""
    [first, *others] = _by(table, _about(table))
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
    """A line for each figure of a table."""
    rows = [pair for row in table.rows for pair in zip(table.names, row, strict=True) if pair[1]]
    names = ("figure", "value")
    left = frozenset(names)
    table = replace(table, names=names, rows=tuple(rows), left=left, spare=(), about=(), above=())
    return replace(table, plain=True)
