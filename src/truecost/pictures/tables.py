"""Tables of the page, and the numbers of a picture as a table.

Figures have two digits of half their interval.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from truecost.core.digits import (
    Figures,
    dims_of,
    figure,
    figures,
    items_of,
    percent,
    shown_naive,
    units_shown,
)
from truecost.core.flags import notes
from truecost.core.results import Row, verdict_of, verdict_word
from truecost.errors import visible
from truecost.names import PARTS

MOST_ROWS = 400  # of one table


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or np.isnan(value):
        return ""
    return f"{value}" if isinstance(value, int) else figure(float(value))


def slot_of(row: Row) -> str:
    """The scope of a row beside its system: subset, collection and so on, or "all"."""
    return ", ".join(text for name, text in row.dims.items() if name != "system") or "all"


class Shown(str):
    """Figures as people read them, which know their numbers in full, as result.json has them.

    `numbers`: what a file for programs has in their place, a column each: a value and the ends of
    its interval, one number, or none where another cell has them.
    """

    numbers: tuple[float | None, ...]

    def __new__(cls, text: str, *numbers: float | None) -> "Shown":
        """A text with its numbers."""
        found = super().__new__(cls, text)
        found.numbers = numbers
        return found


ENDS = ("value", "lower", "upper")
NUMBER = re.compile(r"[-+\[\d][-+\d.,eE\[\]% ]*(?: pp)?|-?inf|nan|infinite|undefined|")


@dataclass(frozen=True)
class Table:
    """A table with a caption, whose cells are texts: for the numbers of a picture, or in a report.

    Attributes
    ----------
    caption : str
        Caption of the table.
    header : tuple of str
        Headings of the columns.
    rows : tuple of tuple of str
        Cells of each row.
    left_out : int
        Number of rows that are not shown; `result.json` contains them.
    named : int
        Position of the column that names the rows.
    best : frozenset of (int, int)
        Positions (row, column) of the best value of several systems; these cells are printed in
        bold.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    named: int = 0
    best: frozenset[tuple[int, int]] = frozenset()

    @staticmethod
    def from_rows(
        caption: str, header: Sequence[str], rows: Sequence[Sequence[str | float | None]]
    ) -> "Table":
        """Make a table from texts and numbers; numbers are rounded to four significant digits.

        Parameters
        ----------
        caption : str
            Caption of the table.
        header : sequence of str
            Headings of the columns.
        rows : sequence of sequence of str, float or None
            Cells of each row; None and NaN become empty cells.
        """
        return Table(caption, tuple(header), tuple(tuple(map(_cell, row)) for row in rows))

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Whether all cells of a column are numbers, for each column. Such columns are aligned to
        the right.
        """
        columns = zip(*self.rows, strict=True)
        return tuple(
            k != self.named and all(map(NUMBER.fullmatch, c)) for k, c in enumerate(columns)
        )

    def in_full(self) -> list[tuple[str, ...]]:
        """Header and rows for programs: numbers with all digits, and intervals in columns of their
        own.
        """
        found: list[tuple[str, ...]] = []
        for head, *cells in zip(self.header, *self.rows, strict=True):
            rooms = [len(c.numbers) for c in cells if isinstance(c, Shown)]
            names: tuple[str, ...] = (head,)
            if max(rooms, default=1) != 1:
                known = any(column[0] == ENDS[0] for column in found)
                names = tuple(f"{head} {n}" if known else n for n in ENDS[: max(rooms)])
            for k, name in enumerate(names):
                found.append((name, *(_number(c, k) if rooms else c for c in cells)))
        return [*zip(*found, strict=True)]

    def text(self, kind: str) -> str:
        """Table as the text of a file.

        Parameters
        ----------
        kind : {"csv", "tex", "md"}
            Format. `csv`: all digits, as `in_full` returns them. `tex`: LaTeX with booktabs. `md`:
            Markdown. In LaTeX and Markdown, the best values are bold.

        Returns
        -------
        str
        """
        if kind == "csv":
            stream = io.StringIO()
            csv.writer(stream, lineterminator="\n").writerows(self.in_full())
            return stream.getvalue()
        if kind == "md":
            under = tuple("--:" if n else "---" for n in self.numeric)
            plain = [_md(cell) for cell in self.header]
            shown = self._bold(_md, "**{}**")
            return "".join(f"| {' | '.join(cells)} |\n" for cells in (plain, under, *shown))
        sides = "".join("r" if n else "l" for n in self.numeric)
        cells = [[*map(_tex, self.header)], *self._bold(_tex, r"\textbf{{{}}}")]
        head, *rows = (_tex_row(" & ".join(row)) for row in cells)
        body = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *rows]
        return "\n".join([*body, r"\bottomrule", r"\end{tabular}", ""])

    def _bold(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """The rows for a document, the best cells as `bold` has them."""
        return [
            [
                bold.format(escaped(c)) if (k, j) in self.best else escaped(c)
                for j, c in enumerate(r)
            ]
            for k, r in enumerate(self.rows)
        ]


def best_of(rows: Sequence[Row]) -> list[int]:
    """The places of the rows whose value is the best of several systems, of what is alike beside.

    Equal values are all the best; where all systems have the same, none is.
    """
    systems = ("system", "strategy", "budget")
    found: dict[tuple[object, ...], dict[int, float]] = {}
    for k, row in enumerate(rows):
        if row.value is not None and row.kind == "value":
            about = sorted((n, text) for n, text in row.dims.items() if n not in systems)
            ahead = row.value if row.direction == "lower" else -row.value
            found.setdefault((row.label, *about), {})[k] = ahead
    groups = (of for of in found.values() if len({*of.values()}) > 1)
    return sorted(k for of in groups for k, ahead in of.items() if ahead == min(of.values()))


def is_decided(row: Row, differences: Sequence[Row]) -> bool:
    """Whether a system differs from all that it was compared with, by the measure of a row."""
    beside = {**row.dims, "system": ""}
    name = row.dims.get("system")
    own = [
        d
        for d in differences
        if d.label == row.label
        and {**d.dims, "system": ""} == beside
        and name in (d.dims.get("system"), d.baseline)
    ]
    return bool(own) and all(verdict_of(d) != "inconclusive" for d in own)


def _number(cell: str, k: int) -> str:
    """One of the numbers of a cell; empty where it has none."""
    numbers = cell.numbers[k : k + 1] if isinstance(cell, Shown) else ()
    return "".join("" if n is None else repr(float(n)) for n in numbers)


_TEX = {c: f"\\{c}" for c in "&%$#_{}"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\N{MINUS SIGN}": "$-$"}
_TEX |= {"\N{LESS-THAN OR EQUAL TO}": r"$\leq$", "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$"}


def _md(cell: str) -> str:
    """A cell for Markdown."""
    return visible(cell).replace("|", "\\|")


def _tex(cell: str) -> str:
    """A cell for LaTeX: nothing in it is a command; a minus is one."""
    number = bool(cell) and NUMBER.fullmatch(cell) is not None
    text = "".join(_TEX.get(c, c) for c in visible(cell))
    return re.sub(r"-(?=\d)", "$-$", text) if number else text


def _tex_row(cells: str) -> str:
    """A row for LaTeX, whose begin is no option of the line break or rule before it."""
    return ("{}" if cells[:1] in ("[", "*", "(") else "") + cells + r" \\"


def without_empty_columns(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """A table without the columns that are empty, or "all", in every row."""
    kept = [k for k in range(len(header)) if any(row[k] not in ("", "all") for row in rows)] or [0]
    names, *cells = (tuple(row[k] for k in kept) for row in (header, *rows))
    return Table(caption, names, tuple(cells))


def below_each_other(found: Sequence[Table]) -> Table:
    """The numbers of several curves in one table."""
    rows = [row for one in found for row in one.rows]
    return without_empty_columns(found[0].caption, found[0].header, rows)


def of_values(
    caption: str, rows: Sequence[Row], most: int = MOST_ROWS, reference: str = "naive"
) -> Table:
    """Values with intervals, references (by their name) and counts, whatever they are about.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.pictures import tables
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(100))
    >>> trials = tc.Trials.from_arrays([1, 0, 0, 1], [1, 0, 1, 0], kind="decision", name="mine")
    >>> tables.of_values("Values", tc.score_system(trials, scoring)).rows[0][:3]
    ('mine', 'total_error', '50%')
    """
    dims = dims_of(rows)
    cells = [
        (
            *_dim_cells(row, dims),
            *(row.label, *figure_cells(row)),
            shown_naive(row),
            *(str(row.n_trials), units_shown(row), note(row)),
        )
        for row in rows[:most]
    ]
    names = ("measure", "value", _interval(rows), reference, items_of(rows), "units", "note")
    table = without_empty_columns(caption, (*dims, *names), cells)
    column = table.header.index("value") if "value" in table.header else -1
    best = frozenset((k, column) for k in best_of(rows[:most]))
    return replace(table, left_out=max(len(rows) - most, 0), best=best)


def by_measure(caption: str, rows: Sequence[Row], most: int = MOST_ROWS) -> Table:
    """Values with intervals, a column for each measure and a row for whatever they are about."""
    dims, labels = dims_of(rows), tuple(dict.fromkeys(row.label for row in rows))
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        found.setdefault(_dim_cells(row, dims), {})[row.label] = row
    cells = [
        (*about, *(_in_one(own[label]) if label in own else "" for label in labels))
        for about, own in [*found.items()][:most]
    ]
    table = without_empty_columns(caption, (*dims, *labels), cells)
    return replace(table, left_out=max(len(found) - most, 0))


def _in_one(row: Row) -> Shown:
    """The value and the interval of a row in one cell."""
    return Shown(" ".join(figure_cells(row)).strip(), row.value, row.lower, row.upper)


def of_pairs(caption: str, pairs: Sequence[tuple[Row, Row | None]], most: int = MOST_ROWS) -> Table:
    """Differences and ratios, the verdict before the figures; one baseline is named once, and so is
    one measure that the caption names.
    """
    differences = [row for row, _ in pairs]
    baselines = {row.baseline for row in differences}
    if len(baselines) == 1:
        caption += f", against {differences[0].baseline}"
    alone = {row.label for row in differences} == {differences[0].label}
    told = alone and caption.startswith(f"Differences in {differences[0].label},")
    dims = dims_of(differences)
    first = [name for name in dims if name in ("system", *PARTS)]
    others = [name for name in dims if name not in first]
    cells = [
        (
            *_dim_cells(row, first),
            row.baseline or "" if len(baselines) > 1 else "",
            *(verdict_word(row), "" if told else row.label),
            *_dim_cells(row, others),
            *figure_cells(row),
            *(("", "") if ratio is None else figure_cells(ratio)),
            note(row),
        )
        for row, ratio in pairs[:most]
    ]
    names = ("against", "verdict", "measure", *others, "difference", _interval(differences))
    table = without_empty_columns(
        caption, (*first, *names, "ratio", "ratio interval", "note"), cells
    )
    return replace(table, left_out=max(len(pairs) - most, 0))


def _dim_cells(row: Row, dims: Sequence[str]) -> tuple[str, ...]:
    """The dims of a row as cells; the subset of whole data is `all`."""
    return tuple(row.dims.get(name, "all" if name == "subset" else "") for name in dims)


def note(row: Row) -> str:
    """The reason for a missing value, and the flags."""
    return ", ".join([*([] if row.reason is None else [row.reason]), *notes(row.flags)])


def both(texts: tuple[str, str], *numbers: float | None) -> tuple[Shown, Shown]:
    """The cells of a value and its interval, of which the first has the numbers of both."""
    return Shown(texts[0], *numbers), Shown(texts[1])


def figure_cells(row: Figures) -> tuple[Shown, Shown]:
    """The cells of the value and the interval of a row."""
    return both(figures(row), row.value, row.lower, row.upper)


def _interval(rows: Sequence[Row]) -> str:
    return f"{percent(rows[0].level)} interval"
