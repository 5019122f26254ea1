"""Which intervals a gate may decide by: those of one method, `auto` unless the gate names another.

Percentile and bca intervals may be far too narrow where errors are few. `delta` takes the place of
any method where cells of AB/BA are too small for it, and is wider: it is nothing that a user asks
for, so every gate accepts it.
"""

import math
import re
from collections.abc import Iterable, Sequence

from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.gates.gate import Gate

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
        f"gate {gate.title}: the interval of {_described(row)} is of the method {row.method}; "
        f"{todo}"
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
            f"gate {gate.title}: the intervals of {_described(first)} and {_described(second)} "
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


def _described(row: Row) -> str:
    about = ", ".join(row.dims.values())
    against = f" against {row.baseline}" if row.kind == "difference" else ""
    return f"{row.label}{against}" + (f" ({about})" if about else "")
