"""Tables of streams: what a system costs before and after it adapts, side by side."""

from collections.abc import Mapping, Sequence

from truecost.cli.tables import Columns, Layout, dims_beside, marks_of, sizes_of, values
from truecost.core.captions import units_shown
from truecost.core.digits import percent
from truecost.core.results import Row, figures, shown
from truecost.study.outcome import Outcome
from truecost.tasks.streams.records import PHASES
from truecost.tasks.streams.sweep import SweepAdvice


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
    ends = [f"{phase}{end}" for phase in PHASES for end in ("", f" {level} interval")]
    names = (*dims, "measure", *ends, "naive", items, "units", "note")
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
    found = [text for p in PHASES for text in (figures(phases[p][0]) if p in phases else ("", ""))]
    some, _, size = next(iter(phases.values()))
    naive = "" if some.naive is None else shown(some, some.naive)
    notes = dict.fromkeys(mark for _, marks, _ in phases.values() for mark in marks)
    return (*found, naive, size, units_shown(some), ", ".join(notes))


def of_phases(rows: Sequence[Row]) -> list[Columns]:
    """What a system costs before and after it adapts, and what has no phase."""
    sided, others = split(rows)
    tables = [side_by_side(sided, [marks_of(row) for row in sided])] if sided else []
    return [*tables, *([values(others, by_run=True)] if others else [])]


def advised(outcome: Outcome) -> list[str]:
    """The advice of a sweep: a result, it stands in JSON too."""
    return [advice.text for advice in outcome.described_as(SweepAdvice)]


LAYOUT = Layout(values=of_phases, told=advised)
