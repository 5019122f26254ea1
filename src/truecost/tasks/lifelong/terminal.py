"""Tables of systems across time: the score is said once, systems come before policies."""

from collections.abc import Sequence
from dataclasses import replace

from truecost.cli.tables import Columns, Layout, values
from truecost.core.results import Row

FIRST = ("system", "against", "strategy", "version", "policy", "subset")
ASSISTED = "assisted"  # the strategy of a system that lived as configured, beside its baselines


def of_lives(table: Columns, rows: Sequence[Row]) -> Columns:
    """A table of values or comparisons as life cycles have it.

    Parameters
    ----------
    table : Columns
        With a line for each row.

    Returns
    -------
    Columns
        What rows are about from the system to its policy; the score above the table where it is
        one; no strategy that the name of the system says already.
    """
    first = [name for name in FIRST if name in table.names and not _said(name, rows)]
    kept = [name for name in table.names if name not in FIRST]
    names = (*first, *kept)
    scores = dict.fromkeys(r.parameters["variant"] for r in rows if "variant" in r.parameters)
    once = len(scores) == 1
    lines = []
    for cells, row in zip(table.rows, rows, strict=True):
        told = dict(zip(table.names, cells, strict=True))
        told["measure"] = row.measure if once else told["measure"]
        if "strategy" in told:
            told["strategy"] = told["strategy"] or ASSISTED
        lines.append(tuple(told[name] for name in names))
    return replace(
        table,
        names=tuple("reference" if name == "naive" else name for name in names),
        rows=tuple(lines),
        about=tuple(first),
        above=("version", *table.above),
        spare=tuple("reference" if name == "naive" else name for name in table.spare),
        said=(*table.said, *(_scored(next(iter(scores)), rows) if once else ())),
    )


def _said(name: str, rows: Sequence[Row]) -> bool:
    """Whether a dimension is the strategy, and the names of the systems end with it."""
    return name == "strategy" and all(
        row.dims["system"].endswith(row.dims.get(name, "")) for row in rows
    )


def _scored(score: str, rows: Sequence[Row]) -> tuple[str, ...]:
    """The score with its direction, where a row that is better as the score is tells it."""
    from truecost.tasks.lifelong.measures.lifelong import OWN_DIRECTION

    own = (r for r in rows if "variant" in r.parameters and r.measure not in OWN_DIRECTION)
    row = next(own, None)
    return (f"score {score}" + ("" if row is None else f" ({row.direction} is better)"),)


def _values(rows: Sequence[Row]) -> list[Columns]:
    return [of_lives(values(rows), rows)]


LAYOUT = Layout(values=_values, pairs=of_lives)
