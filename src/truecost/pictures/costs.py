"""The total cost of systems in one currency, stacked by its parts, from rows in prices."""

from collections.abc import Mapping, Sequence
from typing import Any

from truecost.core.costs import PARTS_OF
from truecost.core.digits import counted, figure
from truecost.core.results import Row
from truecost.pictures.picture import Axis, Picture, span
from truecost.pictures.rows import Rows, figures_of, naive_rule, needed

NAMES = {
    "cost_misses": "misses",
    "cost_false_alarms": "false alarms",
    "cost_errors": "wrong outputs",
    "cost_person": "person",
    "cost_computing": "computing",
    "cost_waiting": "waiting",
}


def spending(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Total costs as stacked bars with the interval of the whole, a bar a system or budget.

    Parameters
    ----------
    rows : sequence of Row
        Values of `total_cost` and of its parts (`cost_person` and the like), of one phase.

    Raises
    ------
    UsageError
        When no total cost has a part.
    """
    known: dict[tuple[Any, ...], Row]
    known = {(r.measure, *sorted(r.dims.items())): r for r in rows if r.kind == "value"}
    wholes = [r for r in known.values() if r.measure == "total_cost" and r.value is not None]
    found = {id(r): _parts(r, known) for r in wholes}
    drawn = [r for r in wholes if found[id(r)]]
    needed(drawn, "no total cost stands beside its parts")
    used = [name for name in PARTS_OF if any(name in found[id(r)] for r in drawn)]
    scale = drawn[0].scale
    lines, strategy = Rows(("total_cost",), tuple(NAMES[name] for name in used)), ""
    for row in _by_budget(drawn):
        if "budget" in row.dims and (own := row.dims.get("strategy", "")) != strategy:
            lines.head(f"{own}: questions a batch")
            strategy = own
        name = row.dims.get("budget") or row.dims.get("system", "")
        start, parts = 0.0, found[id(row)]
        y = lines.add(name, figures_of(row), *(figure(parts.get(n, 0.0), scale) for n in used))
        for tone, part in enumerate(used):
            size = parts.get(part, 0.0)
            said = f"{_whose(row)}: {NAMES[part]} {figure(size, scale)}"
            lines.mark("bar", y, lo=start, hi=start + size, tone=tone, label=said)
            start += size
        lines.estimate(y, row, f"{_whose(row)}, in all")
    ends = [v for r in drawn for v in (r.value, r.upper) if v is not None]
    most = max(r.value or 0.0 for r in drawn)
    naive = drawn[0].naive if len({r.naive for r in drawn}) == 1 else None
    near = naive is not None and naive <= 2 * most
    high = min(max(ends), 2 * most)
    return lines.picture(
        "spending",
        Axis(
            label=f"total_cost{f' ({scale.strip()})' if scale else ''}",
            domain=(0.0, span([0.0, high, naive if near else None])[1]),
        ),
        title=title,
        rules=naive_rule(drawn[0]) if near else (),
        parts=tuple(NAMES[name] for name in used),
    )


def _parts(row: Row, known: Mapping[tuple[Any, ...], Row]) -> dict[str, float]:
    """What a total cost is made of, by measure."""
    about = sorted(row.dims.items())
    beside = {name: known.get((name, *about)) for name in PARTS_OF}
    return {name: r.value for name, r in beside.items() if r is not None and r.value is not None}


def _by_budget(rows: Sequence[Row]) -> list[Row]:
    """Rows without a budget, then those of each strategy, the smallest budget first."""
    order = list(dict.fromkeys(row.dims.get("strategy", "") for row in rows))

    def place(row: Row) -> tuple[bool, int, float]:
        own = row.dims.get("strategy", "")
        return "budget" in row.dims, order.index(own), float(row.dims.get("budget", -1))

    return sorted(rows, key=place) if any("budget" in row.dims for row in rows) else [*rows]


def _whose(row: Row) -> str:
    """The system of a row, or its strategy and budget."""
    if "budget" not in row.dims:
        return row.dims.get("system", "")
    asked = f"{counted(float(row.dims['budget']), 'question')} a batch"
    return ", ".join(filter(None, (row.dims.get("strategy", ""), asked)))
