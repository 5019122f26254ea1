"""Which rows a gate is about, and which of their intervals it may decide by.

Percentile and bca intervals may be far too narrow where errors are few. `delta` takes the place of
any method where cells of AB/BA are too small for it, and is wider: it is nothing that a user asks
for, so every gate accepts it.
"""

import math
import re
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


STANDS_IN = "delta"


ICC = re.compile(r"\|icc:([^|]+)")  # behind the method in a signature


def without_width(row: Row) -> bool:
    """Whether both ends of the interval are one figure, but for rounding."""
    if row.lower is None or row.upper is None:
        return False
    return "no_spread" in row.flags or math.isclose(row.lower, row.upper, rel_tol=1e-9)


def check_method(gate: Gate, row: Row) -> None:
    """Refuse an interval of another method than the gate decides by.

    What decides nothing, an interval that is missing or has no width, is of any method.

    Raises
    ------
    UsageError
        With what to do.
    """
    if row.method in (gate.method, STANDS_IN) or not _decides(row):
        return
    if gate.method == "auto":
        todo = (
            f"gates decide by auto intervals, as {row.method} intervals may be too narrow where "
            f"errors are few: score again with --method auto, or accept this one with "
            f"method={row.method} in the gate"
        )
    else:
        todo = (
            f"the gate names method={gate.method}: score again with --method {gate.method}, or "
            f"name method={row.method}"
        )
    raise UsageError(
        f"gate {gate.title}: the interval of {_row_said(row)} is of the method {row.method}; {todo}"
    )


def check_alike(gate: Gate, about: Sequence[Row], rows: Iterable[Row]) -> None:
    """Refuse to hold systems against one limit, or each other, by unlike intervals.

    Parameters
    ----------
    about : sequence of Row
        That it is about. Differences bring the rows of the system and the baseline along.
    rows : iterable of Row
        All of the result.

    Raises
    ------
    UsageError
        When two of them were made by different methods, or assume different correlations of the
        trials of a unit.
    """
    beside = [row for row in rows if any(_enters(row, of) for of in about)]
    seen: dict[tuple[str, str], Row] = {}
    for row in (*about, *beside):
        if row.method != STANDS_IN and _decides(row):
            seen.setdefault(_way(row), row)
    if len(seen) > 1:
        (one, first), (other, second) = list(seen.items())[:2]
        raise UsageError(
            f"gate {gate.title}: the intervals of {_row_said(first)} and {_row_said(second)} "
            f"were made in different ways ({_said(one)}; {_said(other)}): score both with the same "
            f"--method and --icc"
        )


def _decides(row: Row) -> bool:
    """Whether the interval could decide a gate."""
    return not (row.lower is row.upper is None or without_width(row))


def _enters(row: Row, difference: Row) -> bool:
    """Whether a value is one of the two of a difference."""
    if difference.kind != "difference" or row.kind != "value" or row.label != difference.label:
        return False
    places = {**difference.dims, "system": difference.baseline}
    return row.dims in (difference.dims, places)


def _way(row: Row) -> tuple[str, str]:
    """Method and, of `auto`, the correlation that it assumes where the data show none."""
    found = ICC.search(row.signature) if row.method == "auto" else None
    return row.method, found[1] if found else ""


def _said(way: tuple[str, str]) -> str:
    method, icc = way
    return f"method {method}" + (f", icc {icc}" if icc else "")


def _row_said(row: Row) -> str:
    about = ", ".join(row.dims.values())
    against = f" against {row.baseline}" if row.kind == "difference" else ""
    return f"{row.label}{against}" + (f" ({about})" if about else "")
