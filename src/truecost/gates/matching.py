"""Which rows of a result a gate is about: one for each system, application and collection."""

from collections.abc import Hashable, Iterable, Sequence

import msgspec

from truecost.core.results import Row
from truecost.errors import UsageError, first_five, near
from truecost.gates.gate import DIMS, Gate
from truecost.names import PARTS

EACH = ("system", *PARTS)  # a verdict for each of these, when not named
WHOLE = "all"  # what tables call the whole data beside its subsets


def rows_of(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """The rows that a gate is about, in their order.

    Parameters
    ----------
    rows : sequence of Row
        All rows of a result.

    Returns
    -------
    list of Row
        One for each system, application and collection that the gate leaves open.

    Raises
    ------
    UsageError
        When there is none, or several for the same system, application and collection, or one of
        these lacks the measure: says what there is.
    """
    if gate.subset == WHOLE and all(row.dims.get("subset") != WHOLE for row in rows):
        gate = msgspec.structs.replace(gate, subset=None)
    found = _of_kind(gate, rows)
    for dim in DIMS:
        wanted = getattr(gate, dim)
        if wanted is not None:
            found = _named(gate, dim, wanted, found)
    everywhere = found
    found = [row for row in found if gate.measure in (row.label, row.measure)]
    if not found:
        raise UsageError(_nothing(gate, "measure", gate.measure, (r.label for r in everywhere)))
    found = _whole(gate, found)
    _check_single(gate, found)
    _check_complete(gate, found, everywhere)
    return found


def _of_kind(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """Values, or differences from the gate's baseline."""
    if gate.baseline is None:
        return [row for row in rows if row.kind == "value"]
    found = [row for row in rows if row.kind == "difference"]
    if not found:
        raise UsageError(
            f"{_called(gate)}: the result compares no systems, so nothing can be said against "
            f"{gate.baseline}: make it with truecost compare {gate.baseline}=FILE NAME=FILE"
        )
    return _named(gate, "baseline", gate.baseline, found)


def _named(gate: Gate, what: str, wanted: str, rows: Sequence[Row]) -> list[Row]:
    """The rows whose dim or baseline is the one wanted."""

    def name_of(row: Row) -> str | None:
        return row.baseline if what == "baseline" else row.dims.get(what)

    found = [row for row in rows if name_of(row) == wanted]
    if not found:
        raise UsageError(_nothing(gate, what, wanted, map(name_of, rows)))
    return found


def _nothing(gate: Gate, what: str, wanted: str, there: Iterable[str | None]) -> str:
    """That there is no row of this name, and which there are."""
    names = list(dict.fromkeys(name for name in there if name is not None))
    listed = "; ".join(names) if what == "subset" else ", ".join(names)
    has = f"there are: {listed}" if names else f"the result names no {what}"
    return f"{_called(gate)}: there is no {what} {wanted!r}{near(wanted, names)}; {has}"


def _whole(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """Without the rows of subsets, queries and so on, unless the gate names the subset."""
    allowed = {dim for dim in DIMS if dim != "subset" or gate.subset is not None}
    found = [row for row in rows if set(row.dims) <= allowed]
    if not found and gate.subset is None and all("subset" in row.dims for row in rows):
        subsets = dict.fromkeys(row.dims["subset"] for row in rows)
        raise UsageError(
            f"{_called(gate)}: the result has {gate.measure} for subsets only: name one with "
            f"subset=NAME; there are: {'; '.join(subsets)}"
        )
    return found or list(rows)


def _check_single(gate: Gate, rows: Sequence[Row]) -> None:
    seen: dict[Hashable, list[Row]] = {}
    for row in rows:
        seen.setdefault(tuple(row.dims.get(dim) for dim in EACH), []).append(row)
    several = next((same for same in seen.values() if len(same) > 1), None)
    if several is not None:
        what = f"{', '.join(EACH[:-1])} and {EACH[-1]}"
        raise UsageError(
            f"{_called(gate)}: {len(several)} rows of the same {what} fit: "
            f"{first_five(map(_described, several))}; {_how_to_choose(several)}"
        )


def _how_to_choose(rows: Sequence[Row]) -> str:
    if len({row.label for row in rows}) > 1:
        return f"name the variant, such as {rows[0].label}"
    open_dims = [d for d in DIMS if len({row.dims.get(d) for row in rows}) > 1]
    if open_dims:
        return f"say which with {open_dims[0]}=NAME"
    return "a gate can tell them apart by nothing but measure, " + ", ".join(DIMS)


def _described(row: Row) -> str:
    """A row by its measure and dims: `eer:nearest (network, noise=babble)`."""
    return f"{row.label} ({', '.join(row.dims.values())})"


def _check_complete(gate: Gate, found: Sequence[Row], everywhere: Sequence[Row]) -> None:
    """Refuse a gate that would pass over a system because that has no such row."""
    dims = [dim for dim in EACH if any(dim in row.dims for row in found)]

    def places(rows: Iterable[Row]) -> dict[tuple[str, ...], None]:
        full = (row for row in rows if all(dim in row.dims for dim in dims))
        return dict.fromkeys(tuple(row.dims[dim] for dim in dims) for row in full)

    covered = places(found)
    if missing := [place for place in places(everywhere) if place not in covered]:
        raise UsageError(
            f"{_called(gate)}: there is no {gate.measure} for "
            f"{first_five(', '.join(place) for place in missing)}: say which to check with "
            f"{dims[0]}=NAME, or score the measure there too"
        )


def _called(gate: Gate) -> str:
    return f"gate {gate.title}"
