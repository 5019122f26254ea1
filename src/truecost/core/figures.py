"""Values and their intervals as readers see them: in tables, on pages, in pictures and messages."""

import math
from typing import TYPE_CHECKING, Protocol

from truecost.core.digits import (
    Scale,
    factor_of,
    figure,
    precision,
    rounded,
    sign_of,
    told_apart,
    uncertain,
)

if TYPE_CHECKING:
    from truecost.core.results import Row


class Figures(Protocol):
    """A value with its interval, and why one of them is missing: a row, or a verdict on one."""

    @property
    def value(self) -> float | None: ...  # noqa: D102
    @property
    def lower(self) -> float | None: ...  # noqa: D102
    @property
    def upper(self) -> float | None: ...  # noqa: D102
    @property
    def reason(self) -> str | None: ...  # noqa: D102
    @property
    def scale(self) -> Scale: ...  # noqa: D102


def figures(row: Figures) -> tuple[str, str]:
    """The value and the interval of a row as readers see them, with two significant digits of its
    half-width; infinite where they are, four digits without an interval, empty without any end.
    """
    endless = row.value is None and (row.reason or "").startswith("infinite")
    value = math.inf if endless else row.value
    sign, apart = _manner(row)
    if row.lower is None and row.upper is None:
        if apart is None:
            return rounded(value, None, row.scale, sign=sign), ""
        return told_apart(value, apart, None, row.scale, sign=sign), ""
    above = endless or (row.reason or "").startswith("the upper end")
    upper = math.inf if row.upper is None and above else row.upper
    return uncertain(value, row.lower, upper, row.scale, sign=sign, apart=apart)


def shown_value(row: Figures, value: float | None) -> str:
    """A number that stands beside the figures of a row, with as many digits as these have."""
    sign, apart = _manner(row)
    places = precision(row.value, row.lower, row.upper, row.scale, apart=apart)
    return rounded(value, places, row.scale, sign=sign)


def shown_naive(row: "Row") -> str:
    """The naive baseline's value, with no more digits than that of the row and no zeros at its end;
    empty where there is none.
    """
    if row.naive is None:
        return ""
    places = precision(row.value, row.lower, row.upper, row.scale, apart=row.apart)
    if places is None:
        return figure(row.naive, row.scale)
    if short := round(factor_of(row.scale) * row.naive, places):
        return f"{short:.15g}{sign_of(row.scale)}"
    return figure(float(f"{row.naive:.1g}"), row.scale)


def _manner(row: Figures) -> tuple[bool, float | None]:
    """Whether a value above 0 has a plus, and what its interval is told apart from: of a row or a
    verdict; nothing of what is a value only.
    """
    return getattr(row, "signed", False), getattr(row, "apart", None)
