"""The text of figures: values and intervals in tables, on pages, in pictures and messages."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from truecost import errors
from truecost.names import DIMS

if TYPE_CHECKING:
    from truecost.core.results import Row


ShownIn = Literal["", "percent", "currency"]  # of a measure; of a row `currency EUR`
Scale = str  # % of a share, pp (percentage points), or what stands behind a figure: " EUR"
FEW_ERRORS = 10  # fewer say little of a rate
HUGE = 1e7  # from here on figures have an exponent
SIGN = {"%": "%", "pp": " pp"}  # of shares


def factor_of(scale: Scale) -> int:
    """The factor from a stored figure to a shown one: 100 for percent."""
    return 100 if scale in SIGN else 1


def sign_of(scale: Scale) -> str:
    """The sign behind a shown figure."""
    return SIGN.get(scale, scale)


def percent(share: float) -> str:
    """A share in percent, with all of its digits: 95%, 99.5%."""
    return f"{100 * share:.10g}%"


def figure(value: float | None, scale: Scale = "") -> str:
    """A number with four significant digits; near 1 with enough digits to differ from 1.

    The scale "%" stands for a share in percent, "pp" for a difference of shares in percentage
    points; any other scale is written behind the figure.

    Examples
    --------
    >>> from truecost.core.digits import figure
    >>> figure(0.12345), figure(0.12345, "%"), figure(-0.012345, "pp"), figure(0.999999, "%")
    ('0.1235', '12.35%', '-1.234 pp', '99.9999%')
    >>> figure(1240, " EUR")
    '1240 EUR'
    """
    if value is None:
        return "undefined"
    factor = factor_of(scale)
    return f"{_digits(factor * value, factor, value)}{sign_of(scale)}"


def _digits(value: float, one: int, share: float) -> str:
    """A number, one that stands for a share of `one`."""
    short = f"{value:.4g}"
    if short == f"{one}" and share != 1:
        return f"{value:.{min(12, 1 - math.floor(math.log10(abs(1 - share))))}g}"
    if 1e4 <= abs(value) < HUGE:  # counts, and percent of what has far more errors than it should
        return f"{value:.0f}"
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
    """Two ends in brackets; their unit, percentage points or a currency, is written once behind
    them.
    """
    if scale in ("", "%"):
        return f"[{lower}, {upper}]"
    sign = sign_of(scale)
    return f"[{lower.removesuffix(sign)}, {upper.removesuffix(sign)}]{sign}"


LEAST, MOST_PLACES = 1e-9, 12  # relative: less is rounding; digits behind the point


def precision(
    value: float | None,
    lower: float | None,
    upper: float | None,
    scale: Scale = "",
    *,
    apart: float | None = None,
) -> int | None:
    """Decimal places that show two significant digits of half the width of an interval.

    For an interval with one open end, the distance of the other end from the value is used. There
    are more places where an end would otherwise look like `apart` (the limit of a gate, or no
    difference) without being equal to it, and up to two more where the value of an interval without
    negative numbers would look like 0. None where the uncertainty is not known or 0, and for
    figures of ten millions.
    """
    factor = factor_of(scale)
    ends = [factor * n for n in (lower, upper) if n is not None and math.isfinite(n)]
    known = [factor * n for n in (value,) if n is not None and math.isfinite(n)]
    half = (ends[1] - ends[0]) / 2 if len(ends) == 2 else 0.0
    if len(ends) == len(known) == 1:
        half = abs(known[0] - ends[0])
    most = max(map(abs, (*ends, *known)), default=0.0)
    if not LEAST * most < half or most >= HUGE:
        return None
    places = max(0, 1 - int(f"{half:.1e}".partition("e")[2]))  # 0.00999 is 0.010 in two digits
    if places > MOST_PLACES:
        return None
    if apart is not None:
        own = factor * apart
        for more in range(places, MOST_PLACES + 1):
            if all(end == own or round(end, more) != round(own, more) for end in ends):
                return more
    if known and min(*ends, known[0]) >= 0 and round(known[0], places) == 0:  # 0.4 in [0, 22]
        shown = (k for k in range(places, places + 3) if round(known[0], k))
        places = next(shown, places)
    return places


def rounded(
    value: float | None, places: int | None, scale: Scale = "", *, sign: bool = False
) -> str:
    """A number with the given decimal places, trailing zeros included; with four digits where
    `places` is None. `sign`: whether a number above 0 has a plus.
    """
    if value is not None and math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value is None or places is None:
        return (signed if sign else figure)(value, scale)
    shown = f"{round(factor_of(scale) * value, places) + 0.0:.{places}f}"
    return f"{'+' * (sign and float(shown) > 0)}{shown}{sign_of(scale)}"


def told_apart(
    value: float | None, other: float, places: int | None, scale: Scale = "", *, sign: bool = False
) -> str:
    """`rounded`; with all its digits where a number would else look like another one."""
    short = rounded(value, places, scale, sign=sign)
    if value is None or value == other or short != rounded(other, places, scale, sign=sign):
        return short
    return f"{factor_of(scale) * value:.12g}{sign_of(scale)}" if scale else f"{value!r}"


def uncertain(
    value: float | None,
    lower: float | None,
    upper: float | None,
    scale: Scale = "",
    *,
    sign: bool = False,
    apart: float | None = None,
) -> tuple[str, str]:
    """A value and its interval, with two significant digits of half the width of the interval.

    Without an interval the value has four digits. `sign`, `apart`: as in `rounded` and `precision`.

    Examples
    --------
    >>> from truecost.core.digits import uncertain
    >>> uncertain(0.509744, 0.38377, 0.63936), uncertain(-0.0123, -0.0345, 0.0101, "pp")
    (('0.51', '[0.38, 0.64]'), ('-1.2 pp', '[-3.5, 1.0] pp'))
    >>> uncertain(0.25, 0.203, 0.2996), uncertain(0.25, 0.203, 0.2996, apart=0.3)
    (('0.250', '[0.203, 0.300]'), ('0.2500', '[0.2030, 0.2996]'))
    >>> uncertain(0.4, 0, 22), uncertain(0.004, -22, 22)
    (('0.4', '[0.0, 22.0]'), ('0', '[-22, 22]'))
    """
    places = precision(value, lower, upper, scale, apart=apart)
    shown = rounded(value, places, scale, sign=sign)
    if lower is None and upper is None:
        return shown, ""
    return shown, bracketed(rounded(lower, places, scale), rounded(upper, places, scale), scale)


def scale_of(shown_in: str, difference: bool = False) -> Scale:
    """The scale on which figures, or differences between them, are shown.

    Examples
    --------
    >>> from truecost.core.digits import scale_of
    >>> scale_of("percent"), scale_of("percent", difference=True), scale_of("currency EUR")
    ('%', 'pp', ' EUR')
    """
    if shown_in == "percent":
        return "pp" if difference else "%"
    return shown_in.removeprefix("currency")  # of a measure it has no name


def width(text: str) -> int:
    """Number of columns of a text on a terminal: 2 for wide characters, 0 for combining marks."""
    shown = (c for c in text if unicodedata.category(c) not in ("Mn", "Me", "Cf"))
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)


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


def items_of(rows: "Sequence[Row]") -> str:
    """The noun for the items that rows count, for the head of a column: trials, utterances,
    recordings.
    """
    found = {row.item for row in rows}
    return errors.plural(found.pop()) if len(found) == 1 else "items"


def units_shown(row: "Row") -> str:
    """The number of units; empty where each item is a unit, as its number is shown already."""
    alone = row.item != "trial" and row.factors == (row.item,)
    return "" if alone else str(row.n_units)


def dims_of(rows: "Sequence[Row]") -> tuple[str, ...]:
    """The names of the dims of rows, in the order of tables: those of `names.DIMS` that any row
    has, then others in order of appearance.
    """
    found = dict.fromkeys(name for row in rows for name in row.dims)
    known = [name for name in DIMS if name in found]
    return (*known, *(name for name in found if name not in DIMS))


def title_of(dims: Mapping[str, str]) -> str:
    """The scope of rows in words: `collection far, application strict`."""
    return ", ".join(f"{key} {name}" for key, name in dims.items())


class Figures(Protocol):
    """A value with its interval and the reason for a missing one: a row, or the verdict of a gate
    on one.
    """

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
    """The value and the interval of a row as text, with two significant digits of half the width.
    Infinite ends are shown; without an interval the value has four digits, and the interval is
    empty.
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
    """A number beside the figures of a row, with as many decimal places as these."""
    sign, apart = _manner(row)
    places = precision(row.value, row.lower, row.upper, row.scale, apart=apart)
    return rounded(value, places, row.scale, sign=sign)


def shown_naive(row: "Row") -> str:
    """The naive baseline's value, with at most as many decimal places as its row, without trailing
    zeros; empty without one.
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
    """The arguments `sign` and `apart` for a row or a verdict: whether a value above 0 has a plus,
    and the value that its interval is compared with; none for a plain value.
    """
    return getattr(row, "signed", False), getattr(row, "apart", None)


def matrix_text(costs: Sequence[Sequence[float]]) -> str:
    """A matrix as options have it: `"0 1; 10 0"`."""
    return f'"{"; ".join(" ".join(f"{cost:g}" for cost in row) for row in costs)}"'
