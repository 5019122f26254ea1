"""Tables of streams: what a system costs before and after it adapts, side by side."""

from collections.abc import Mapping, Sequence

from truecost.captions import dims_of, items_of, units_shown
from truecost.cli.columns import Columns
from truecost.digits import percent
from truecost.errors import amount, counted
from truecost.results import Row, figures, shown
from truecost.tasks.streams.records import PHASES, Online


def about_online(record: Online) -> str:
    """What there is of a system, in a few words."""
    several = [(record.seeds, "run"), (record.streams, "stream")]
    of = " and ".join(counted(len(names), what) for names, what in several if len(names) > 1)
    said = f"{counted(len(record), 'item')} in {counted(record.batches.height, 'batch')}"
    return f"{said}{f' of {of}' if of else ''}; {counted(record.questions.height, 'question')}"


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of one of both phases, and the others: gaps, or all rows where there is one phase."""
    both = set(PHASES) <= {row.dims.get("phase", "") for row in rows}
    sided = [row for row in rows if both and "phase" in row.dims]
    return sided, [row for row in rows if row not in sided]


def dims_beside(rows: Sequence[Row]) -> tuple[str, ...]:
    """What tells rows apart, without strategy and budget where every system is named so.

    Parameters
    ----------
    rows : sequence of Row

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


def side_by_side(rows: Sequence[Row], notes: Sequence[Sequence[str]]) -> Columns:
    """A line for each measure with its values before and after adaptation.

    Parameters
    ----------
    rows : sequence of Row
        With a phase each.
    notes : sequence of sequence of str
        What is special about each row.

    Returns
    -------
    Columns
    """
    level, (items, sizes) = percent(rows[0].level), sizes_of(rows)
    outer = [name for name in dims_beside(rows) if name not in ("system", "subset", "phase")]
    last = [name for name in ("system", "subset") if any(name in row.dims for row in rows)]
    dims = (*outer, *last)
    found: dict[tuple[str, ...], dict[str, Told]] = {}
    for told in zip(rows, notes, sizes, strict=True):
        row = told[0]
        about = [row.dims.get(name, "all" if name == "subset" else "") for name in dims]
        found.setdefault((*about, row.label), {})[row.dims["phase"]] = told
    values = [f"{phase}{end}" for phase in PHASES for end in ("", f" {level} interval")]
    names = (*dims, "measure", *values, "naive", items, "units", "note")
    cells = tuple((*key, *_cells(phases)) for key, phases in found.items())
    table = Columns(
        names,
        cells,
        spare=("units", items, "naive"),
        about=dims,
        above=("measure", "system", items, "units"),
    )
    return table if any(map(units_shown, rows)) else table.without("units")


Told = tuple[Row, Sequence[str], str]  # with its notes and its number of items


def _cells(phases: Mapping[str, Told]) -> tuple[str, ...]:
    """The figures of one measure."""
    values = [text for p in PHASES for text in (figures(phases[p][0]) if p in phases else ("", ""))]
    some, _, size = next(iter(phases.values()))
    naive = "" if some.reference is None else shown(some, some.reference)
    notes = dict.fromkeys(mark for _, marks, _ in phases.values() for mark in marks)
    return (*values, naive, size, units_shown(some), ", ".join(notes))
