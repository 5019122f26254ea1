"""Numbers and texts as readers see them: significant digits, shares in percent, counts, widths."""

import math
import unicodedata
from typing import Literal

from truecost import errors

ShownIn = Literal["", "percent"]


Scale = Literal["", "%", "pp"]  # pp: percentage points


SIGN: dict[Scale, str] = {"%": "%", "pp": " pp"}


def percent(share: float) -> str:
    """A share in percent, with all the digits that it was given: 95%, 99.5%."""
    return f"{100 * share:.10g}%"


def figure(value: float | None, scale: Scale = "") -> str:
    """A number with four significant digits; near 1 with as many as tell it from 1.

    Parameters
    ----------
    value : float or None
    scale : {"", "%", "pp"}
        "%" for a share that is shown in percent, "pp" for a difference of such, in percentage
        points.

    Examples
    --------
    >>> from truecost.core.digits import figure
    >>> figure(0.12345), figure(0.12345, "%"), figure(-0.012345, "pp"), figure(0.999999, "%")
    ('0.1235', '12.35%', '-1.234 pp', '99.9999%')
    """
    if value is None:
        return "undefined"
    return f"{_digits(100 * value, 100, value)}{SIGN[scale]}" if scale else _digits(value, 1, value)


def _digits(value: float, one: int, share: float) -> str:
    """A number, one that stands for a share of `one`."""
    short = f"{value:.4g}"
    if short == f"{one}" and share != 1:
        return f"{value:.{min(12, 1 - math.floor(math.log10(abs(1 - share))))}g}"
    if 1e4 <= abs(value) < 1e7:
        return (
            f"{value:.0f}"  # counts, and percent of what has many times the errors it should have
        )
    return short if value == 0 or 1e-4 <= abs(value) < 1e4 else f"{value:.3e}"


def signed(value: float | None, scale: Scale = "") -> str:
    """A difference with its sign: +0.012, -1.2 pp."""
    said = figure(value, scale)
    return f"+{said}" if value is not None and value > 0 else said


def between(lower: float | None, upper: float | None, scale: Scale = "") -> str:
    """An interval: `[0.1, 0.2]`, `[10%, 20%]`, `[-1, 2] pp`; empty where there is none."""
    if lower is None and upper is None:
        return ""
    return bracketed(figure(lower, scale), figure(upper, scale), scale)


def bracketed(lower: str, upper: str, scale: Scale) -> str:
    """Two ends in brackets; percentage points are named once, behind them."""
    if scale != "pp":
        return f"[{lower}, {upper}]"
    return f"[{lower.removesuffix(' pp')}, {upper.removesuffix(' pp')}] pp"


def scale_of(shown_in: ShownIn, difference: bool = False) -> Scale:
    """How readers see figures that are shown in percent, say, or differences between them."""
    if not shown_in:
        return ""
    return "pp" if difference else "%"


def width(text: str) -> int:
    """Columns that a text takes on a terminal: 2 for wide characters, 0 for marks above others."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


LONG = 10_000  # shorter ones are read at a glance


def amount(number: float) -> str:
    """A count: a whole number, or a mean of some with four digits.

    Examples
    --------
    >>> from truecost.core.digits import amount
    >>> amount(160966), amount(2939), amount(12.3456)
    ('160,966', '2939', '12.35')
    """
    whole = abs(number) >= LONG and number == int(number)
    return f"{int(number):,}" if whole else errors.amount(number)


def counted(number: float, noun: str) -> str:
    """A count with its noun: `1 trial`, `160,966 words`."""
    return f"{amount(number)} {noun if number == 1 else errors.plural(noun)}"
