"""The table of values: a line a row, as every task has it."""

from collections.abc import Mapping, Sequence

from truecost.cli.columns import Columns
from truecost.core.captions import dims_of, items_of, units_shown
from truecost.core.digits import percent
from truecost.core.flags import marks
from truecost.core.results import HELD, Row, figures, shown
from truecost.errors import amount

ABOVE = ("measure", "system")


def dims_beside(rows: Sequence[Row]) -> tuple[str, ...]:
    """What tells rows apart, without strategy and budget where every system is named so.

    Returns
    -------
    tuple of str
        Of `margin-4` and `passive` the name says all; not of `often`, nor of `margin-rate-0.1`,
        whose questions a batch are a number of their own.
    """
    said = all(_named(row.dims) == row.dims.get("system") for row in rows)
    left_out = ("strategy", "budget") if said else ()
    return tuple(name for name in dims_of(rows) if name not in left_out)


def _named(dims: Mapping[str, str]) -> str:
    """What a live run calls a system of this strategy and budget: `margin-4`, `passive`."""
    strategy = dims.get("strategy", "").replace(":", "-")
    return f"{strategy}-{dims['budget']}" if "budget" in dims else strategy


def sizes_of(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """How many items each row speaks of, in a run, and the head of that column."""
    runs = [max(row.counts.get("runs", 1), 1) for row in rows]
    head = items_of(rows) + (" a run" if max(runs, default=1) > 1 else "")
    return head, [amount(row.n_trials / n) for row, n in zip(rows, runs, strict=True)]


def dims_shown(rows: Sequence[Row]) -> tuple[str, ...]:
    """What the rows are about, the widest first: the system and its subsets come last."""
    found = dims_beside(rows)
    inner = ("system", "subset", "phase")
    return (*(n for n in found if n not in inner), *(n for n in inner if n in found))


def about(row: Row, dims: Sequence[str]) -> tuple[str, ...]:
    """What a row is about; the baseline stands beside its system."""
    cells = {**row.dims, "against": row.baseline or ""}
    return tuple(cells.get(name, "all" if name == "subset" else "") for name in dims)


def values(rows: Sequence[Row], *, by_run: bool = False) -> Columns:
    """A line a row; of streams with the items of a run."""
    dims, items, sizes = dims_shown(rows), items_of(rows), [str(row.n_trials) for row in rows]
    if by_run:
        items, sizes = sizes_of(rows)
    names = ("measure", "value", f"{percent(rows[0].level)} interval", "naive", items, "units")
    cells = tuple(
        (
            *(*about(row, dims), row.label, *figures(row)),
            "" if row.naive is None else shown(row, row.naive),
            *(size, units_shown(row), note_of(row)),
        )
        for row, size in zip(rows, sizes, strict=True)
    )
    above = (*ABOVE, items, "units") if by_run else ABOVE
    spare = ("units", items, "naive")
    table = Columns((*dims, *names, "note"), cells, spare=spare, about=dims, above=above)
    return table if any(map(units_shown, rows)) else table.without("units")


def note_of(row: Row) -> str:
    """What is special about a row, in one cell."""
    return ", ".join(marks_of(row))


def marks_of(row: Row) -> list[str]:
    """Why a row has no value, or what is special about it."""
    if row.reason and (row.value is None or row.reason == HELD):
        return [row.reason.removeprefix("undefined: ")]
    return marks(row.flags)
