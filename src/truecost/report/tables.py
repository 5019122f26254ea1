"""Tables of the page, and the numbers of a picture as a table.

Curves give theirs themselves (`numbers()`); rows, comparisons and verdicts of gates get them here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from truecost.core.captions import dims_of, items_of, units_shown
from truecost.core.digits import between, figure, percent, scale_of, signed
from truecost.core.flags import marks
from truecost.core.results import Figures, Row, Standing, shown, verdict_of
from truecost.gates import Verdict
from truecost.names import PARTS
from truecost.report.words import note


@dataclass(frozen=True)
class Numbers:
    """The numbers of a picture as a table.

    Attributes
    ----------
    rows : tuple of tuple of str
        A cell for each column of the header.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(header: Sequence[str], rows: Sequence[Sequence[str | float | None]]) -> "Numbers":
        """A table whose numbers are written with four significant digits."""
        return Numbers(tuple(header), tuple(tuple(_cell(c) for c in row) for row in rows))


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or np.isnan(value):
        return ""
    return f"{value}" if isinstance(value, int) else figure(float(value))


def _seen(row: Figures, *values: float | None) -> tuple[str, ...]:
    """Figures of a row as readers see them; nothing where there is none."""
    return tuple("" if value is None else shown(row, value) for value in values)


def slot_of(row: Row) -> str:
    """What a row is about beside its system: subset, collection and so on; "all" when nothing."""
    return ", ".join(text for name, text in row.dims.items() if name != "system") or "all"


def of_rows(rows: Sequence[Row]) -> Numbers:
    """Values with their intervals, naive references, counts and flags.

    Returns
    -------
    Numbers
        An undefined value says why in the last column.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import tables as numbers
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(100))
    >>> trials = tc.Trials.of([1, 0, 0, 1], [1, 0, 1, 0], kind="decision", name="mine")
    >>> numbers.of_rows(tc.score_system(trials, scoring)).rows[0][:4]
    ('mine', 'all', 'total_error', '0.5')
    """
    header = ("system", "of", "measure", "value", "lower", "upper", "naive")
    return Numbers.of(
        (*header, items_of(rows), "units", "note"),
        [
            (
                *(r.dims["system"], slot_of(r), r.label),
                *(*_seen(r, r.value, r.lower, r.upper, r.naive),),
                *(r.n_trials, units_shown(r), note(r)),
            )
            for r in rows
        ],
    )


def of_differences(rows: Sequence[Row]) -> Numbers:
    """Paired differences with intervals and verdicts.

    Parameters
    ----------
    rows : sequence of Row
        Those of another kind than "difference" are left out.
    """
    header = ("system", "against", "of", "measure", "difference", "lower", "upper", "verdict")
    return Numbers.of(
        header,
        [
            (
                *(r.dims["system"], r.baseline or "", slot_of(r), r.label),
                *(*_seen(r, r.value, r.lower, r.upper), verdict_of(r)),
            )
            for r in rows
            if r.kind == "difference"
        ],
    )


def of_gates(verdicts: Sequence[Verdict]) -> Numbers:
    """Values with intervals, limits and how each gate turned out."""
    header = ("measure", "of", "value", "lower", "upper", "limit", "state", "why")
    return Numbers.of(
        header,
        [
            (
                *(v.measure, v.about, *_seen(v, v.value, v.lower, v.upper, v.limit)),
                *(v.state, v.message),
            )
            for v in verdicts
        ],
    )


NUMBER = re.compile(r"[-+\[\d][-+\d.,eE\[\]% ]*(?: pp)?|-?inf|nan|infinite|undefined|")


@dataclass(frozen=True)
class Table:
    """A table with its caption.

    Attributes
    ----------
    left_out : int
        Rows that stand in result.json only.
    named : int
        The column that names a row.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    named: int = 0

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Whether the cells of each column are numbers, and stand at the right."""
        columns = zip(*self.rows, strict=True)
        return tuple(
            k != self.named and all(map(NUMBER.fullmatch, c)) for k, c in enumerate(columns)
        )

    def first(self, most: int) -> "Table":
        """The first rows."""
        return replace(self, rows=self.rows[:most])

    def after(self, most: int) -> "Table":
        """The rows after the first ones."""
        return replace(self, caption=f"{self.caption}: the others", rows=self.rows[most:])


def used(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without the columns that are empty, or "all", in every row."""
    kept = [k for k in range(len(header)) if any(row[k] not in ("", "all") for row in rows)] or [0]
    return Table(
        caption,
        tuple(header[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in rows),
    )


def of_numbers(caption: str, found: Sequence[Numbers]) -> Table:
    """The numbers of a picture; of several curves one below the other."""
    return used(caption, found[0].header, [row for one in found for row in one.rows])


def of_values(caption: str, rows: Sequence[Row], most: int, reference: str = "naive") -> Table:
    """Values with intervals, references (by their name) and counts, whatever they are about."""
    dims = dims_of(rows)
    cells = [
        (
            *_about(row, dims),
            *(row.label, _or_reason(row), between(row.lower, row.upper, row.scale)),
            "" if row.naive is None else shown(row, row.naive),
            *(str(row.n_trials), units_shown(row), note(row)),
        )
        for row in rows[:most]
    ]
    names = ("measure", "value", _interval(rows), reference, items_of(rows), "units", "note")
    return _capped(used(caption, (*dims, *names), cells), len(rows) - most)


def of_pairs(caption: str, pairs: Sequence[tuple[Row, Row | None]], most: int) -> Table:
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
            *_about(row, first),
            row.baseline or "" if len(baselines) > 1 else "",
            *(verdict_of(row), "" if told else row.label),
            *_about(row, others),
            *(signed(row.value, row.scale), between(row.lower, row.upper, row.scale)),
            *_ratio(ratio),
            note(row),
        )
        for row, ratio in pairs[:most]
    ]
    names = ("against", "verdict", "measure", *others, "difference", _interval(differences))
    table = used(caption, (*first, *names, "ratio", "ratio interval", "note"), cells)
    return _capped(table, len(pairs) - most)


def _ratio(ratio: Row | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    return figure(ratio.value), between(ratio.lower, ratio.upper)


def _about(row: Row, dims: Sequence[str]) -> tuple[str, ...]:
    """What a row is about; a subset of all is all."""
    return tuple(row.dims.get(name, "all" if name == "subset" else "") for name in dims)


def of_standings(caption: str, board: Sequence[Standing], level: float) -> Table:
    """A leaderboard, best first."""
    cells = [
        (
            *(str(s.rank), s.system, place_of(s), figure(s.value, scale_of(s.shown_in))),
            between(s.lower, s.upper, scale_of(s.shown_in)),
            {None: "", True: "yes", False: "no"}[s.may_be_best],
            "" if s.difference is None else signed(s.difference, scale_of(s.shown_in, True)),
            between(s.difference_lower, s.difference_upper, scale_of(s.shown_in, True)),
            ", ".join((s.verdict, *(marks(["alone"]) if s.alone else []))),
        )
        for s in board
    ]
    interval = f"{percent(level)} interval"
    names = (
        "rank",
        "system",
        "place",
        board[0].measure,
        interval,
        "may be best",
        "from the first",
        "its interval",
    )
    table = used(caption, (*names, "against the first"), cells)
    return replace(table, named=1)


def of_systems(caption: str, rows: Sequence[Row], said: Sequence[str]) -> Table:
    """One measure of many systems in a few columns, with what is said of each."""
    cells = [
        (row.dims["system"], _or_reason(row), between(row.lower, row.upper, row.scale), text)
        for row, text in zip(rows, said, strict=True)
    ]
    return used(caption, ("system", rows[0].label, _interval(rows), "verdict"), cells)


def place_of(standing: Standing) -> str:
    """The places that are left open: `1-3`, or `1`."""
    if standing.place_lower is None or standing.place_upper is None:
        return ""
    ends = dict.fromkeys((standing.place_lower, standing.place_upper))
    return "-".join(map(str, ends))


def _capped(table: Table, over: int) -> Table:
    return replace(table, left_out=max(over, 0))


def _or_reason(row: Row) -> str:
    infinite = row.value is None and (row.reason or "").startswith("infinite")
    return "infinite" if infinite else shown(row, row.value)


def _interval(rows: Sequence[Row]) -> str:
    return f"{percent(rows[0].level)} interval"
