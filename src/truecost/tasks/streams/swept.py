"""Rows by strategy and budget: what a sweep tried, in order, and what asks nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truecost.core.digits import counted
from truecost.core.results import Row
from truecost.errors import UsageError

WITHOUT_QUESTIONS = ("act_dcf",)  # leave out what questions cost: no budget pays off by them
AFTER = "post"  # the phase that is shown where there are both


@dataclass(frozen=True)
class Swept:
    """One measure over several budgets.

    Attributes
    ----------
    strategies : mapping of str to tuple of Row
        By budget, the smallest first.
    baselines : tuple of Row
        Those that have no budget: the passive baseline.
    """

    strategies: Mapping[str, tuple[Row, ...]]
    baselines: tuple[Row, ...]

    @property
    def asking(self) -> list[Row]:
        """All rows with a budget."""
        return [row for rows in self.strategies.values() for row in rows]

    @property
    def budgets(self) -> list[float]:
        """All budgets, the smallest first."""
        return sorted({budget_of(row) for row in self.asking})


def asked(row: Row) -> float | None:
    """How many questions a batch, as the row says; None where it does not."""
    try:
        number = float(row.dims["budget"])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def budget_of(row: Row) -> float:
    """The budget of a row that has one."""
    number = asked(row)
    assert number is not None
    return number


def best_of(rows: Sequence[Row]) -> Row | None:
    """The row with the best value, the smaller budget of equal ones; None without any value."""
    known = [row for row in rows if row.value is not None]
    sign = 1 if all(row.direction == "lower" for row in known) else -1
    return min(known, key=lambda row: sign * (row.value or 0.0), default=None)


def swept_of(rows: Sequence[Row]) -> Swept:
    """Rows of one measure by strategy and budget.

    Parameters
    ----------
    rows : sequence of Row
        Differences, subsets, and predictions before adaptation are left out where there are others.

    Raises
    ------
    UsageError
        When they are of several measures, or of several systems with one strategy and budget.
    """
    values = [r for r in rows if r.kind == "value" and "subset" not in r.dims]
    if any(r.dims.get("phase") == AFTER for r in values):
        values = [r for r in values if r.dims.get("phase") == AFTER]
    if len(labels := dict.fromkeys(r.label for r in values)) > 1:
        raise UsageError(
            f"rows of {counted(len(labels), 'measure')} ({', '.join(labels)}) share no axis: draw "
            f"one at a time, such as [r for r in rows if r.label == '{values[0].label}']"
        )
    found: dict[str, list[Row]] = {}
    for row in values:
        if asked(row) is not None:
            found.setdefault(row.dims.get("strategy", ""), []).append(row)
    for name, own in found.items():
        _refuse_twice(name, own)
    return Swept(
        {name: tuple(sorted(own, key=budget_of)) for name, own in found.items()},
        tuple(row for row in values if asked(row) is None),
    )


def _refuse_twice(name: str, rows: Sequence[Row]) -> None:
    """Refuse two rows with one budget: they are of several collections or applications."""
    seen: dict[float, Row] = {}
    for row in rows:
        other = seen.setdefault(budget_of(row), row)
        if other is not row:
            said = " and ".join(f"({', '.join(r.dims.values())})" for r in (other, row))
            raise UsageError(
                f"two rows have {counted(budget_of(row), 'question')} a batch"
                f"{f' of {name}' if name else ''}: {said}: draw one collection and application at "
                f"a time"
            )


def is_swept(rows: Sequence[Row]) -> bool:
    """Whether rows are of several budgets, one row for each strategy and budget."""
    found = [(row.dims.get("strategy", ""), asked(row)) for row in rows if asked(row) is not None]
    return len({budget for _, budget in found}) > 1 and len(found) == len({*found})
