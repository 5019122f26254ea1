"""The numbers of a picture as a table: what stands under it, for those who cannot see it.

Curves give theirs themselves (`numbers()`); rows, comparisons and verdicts of gates get them here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecost.core.captions import items_of, units_shown
from truecost.core.digits import figure
from truecost.core.results import Figures, Row, shown, verdict_of
from truecost.gates import Verdict
from truecost.report.words import note


@dataclass(frozen=True)
class Numbers:
    """The numbers of a picture as a table.

    Attributes
    ----------
    rows : tuple of tuple of str
        A cell for each column of the header.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(header: Sequence[str], rows: Sequence[Sequence[str | float | None]]) -> "Numbers":
        """A table whose numbers are written with four significant digits."""
        return Numbers(tuple(header), tuple(tuple(_cell(c) for c in row) for row in rows))


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or np.isnan(value):
        return ""
    return f"{value}" if isinstance(value, int) else figure(float(value))


def _seen(row: Figures, *values: float | None) -> tuple[str, ...]:
    """Figures of a row as readers see them; nothing where there is none."""
    return tuple("" if value is None else shown(row, value) for value in values)


def slot_of(row: Row) -> str:
    """What a row is about beside its system: subset, collection and so on; "all" when nothing."""
    return ", ".join(text for name, text in row.dims.items() if name != "system") or "all"


def of_rows(rows: Sequence[Row]) -> Numbers:
    """Values with their intervals, naive references, counts and flags.

    Returns
    -------
    Numbers
        An undefined value says why in the last column.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import numbers
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(100))
    >>> trials = tc.Trials.of([1, 0, 0, 1], [1, 0, 1, 0], kind="decision", name="mine")
    >>> numbers.of_rows(tc.score_system(trials, scoring)).rows[0][:4]
    ('mine', 'all', 'total_error', '0.5')
    """
    header = ("system", "of", "measure", "value", "lower", "upper", "naive")
    return Numbers.of(
        (*header, items_of(rows), "units", "note"),
        [
            (
                *(r.dims["system"], slot_of(r), r.label),
                *(*_seen(r, r.value, r.lower, r.upper, r.naive),),
                *(r.n_trials, units_shown(r), note(r)),
            )
            for r in rows
        ],
    )


def of_differences(rows: Sequence[Row]) -> Numbers:
    """Paired differences with intervals and verdicts.

    Parameters
    ----------
    rows : sequence of Row
        Those of another kind than "difference" are left out.
    """
    header = ("system", "against", "of", "measure", "difference", "lower", "upper", "verdict")
    return Numbers.of(
        header,
        [
            (
                *(r.dims["system"], r.baseline or "", slot_of(r), r.label),
                *(*_seen(r, r.value, r.lower, r.upper), verdict_of(r)),
            )
            for r in rows
            if r.kind == "difference"
        ],
    )


def of_gates(verdicts: Sequence[Verdict]) -> Numbers:
    """Values with intervals, limits and how each gate turned out."""
    header = ("measure", "of", "value", "lower", "upper", "limit", "state", "why")
    return Numbers.of(
        header,
        [
            (
                *(v.measure, v.about, *_seen(v, v.value, v.lower, v.upper, v.limit)),
                *(v.state, v.message),
            )
            for v in verdicts
        ],
    )
