"""Tables of streams: what a system costs before and after it adapts, side by side."""

from collections.abc import Mapping, Sequence

from truecost.cli.columns import Columns
from truecost.digits import percent
from truecost.errors import counted
from truecost.results import Row, dims_of, figures, items_of, shown, units_shown
from truecost.tasks.streams.records import PHASES, Online


def about_online(record: Online) -> str:
    """What there is of a system, in a few words."""
    several = [(record.seeds, "run"), (record.streams, "stream")]
    of = " and ".join(counted(len(names), what) for names, what in several if len(names) > 1)
    asked = int(record.items["asked"].sum())
    said = f"{counted(len(record), 'item')} in {counted(record.batches.height, 'batch')}"
    return f"{said}{f' of {of}' if of else ''}; {counted(asked, 'question')}"


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of one of both phases, and the others: gaps, or all rows where there is one phase."""
    both = set(PHASES) <= {row.dims.get("phase", "") for row in rows}
    sided = [row for row in rows if both and "phase" in row.dims]
    return sided, [row for row in rows if row not in sided]


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
    outer = [name for name in dims_of(rows) if name not in ("system", "subset", "phase")]
    last = [name for name in ("system", "subset") if any(name in row.dims for row in rows)]
    dims = (*outer, *last)
    found: dict[tuple[str, ...], dict[str, tuple[Row, Sequence[str]]]] = {}
    for row, note in zip(rows, notes, strict=True):
        about = [row.dims.get(name, "all" if name == "subset" else "") for name in dims]
        found.setdefault((*about, row.label), {})[row.dims["phase"]] = (row, note)
    level, items = percent(rows[0].level), items_of(rows)
    values = [f"{phase}{end}" for phase in PHASES for end in ("", f" {level} interval")]
    names = (*dims, "measure", *values, "naive", items, "units", "note")
    cells = tuple((*key, *_cells(phases)) for key, phases in found.items())
    table = Columns(
        names, cells, spare=("units", items, "naive"), about=dims, above=("measure", "system")
    )
    return table if any(map(units_shown, rows)) else table.without("units")


def _cells(phases: Mapping[str, tuple[Row, Sequence[str]]]) -> tuple[str, ...]:
    """The figures of one measure."""
    values = [text for p in PHASES for text in (figures(phases[p][0]) if p in phases else ("", ""))]
    some = next(iter(phases.values()))[0]
    naive = "" if some.reference is None else shown(some, some.reference)
    notes = dict.fromkeys(mark for _, marks in phases.values() for mark in marks)
    return (*values, naive, str(some.n_trials), units_shown(some), ", ".join(notes))
