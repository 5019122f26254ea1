"""How figures are written, and what tables, pictures and warnings say of rows: what they are
about, count, rest on, and what to do.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from truecost import errors
from truecost.names import DIMS

if TYPE_CHECKING:
    from truecost.core.results import Kind, Row


ShownIn = Literal["", "percent", "currency"]  # of a measure; of a row `currency EUR`
Scale = str  # % of a share, pp (percentage points), or what stands behind a figure: " EUR"
FEW_ERRORS = 10  # fewer say little of a rate
HUGE = 1e7  # from here on figures have an exponent
SIGN = {"%": "%", "pp": " pp"}  # of shares


def factor_of(scale: Scale) -> int:
    """By how much a figure is larger as readers see it."""
    return 100 if scale in SIGN else 1


def sign_of(scale: Scale) -> str:
    """The sign that stands behind a figure."""
    return SIGN.get(scale, scale)


def percent(share: float) -> str:
    """A share in percent, with all the digits that it was given: 95%, 99.5%."""
    return f"{100 * share:.10g}%"


def figure(value: float | None, scale: Scale = "") -> str:
    """A number with four significant digits; near 1 with as many as tell it from 1.

    The scale "%" is that of a share that is shown in percent, "pp" of a difference of such, in
    percentage points; any other one stands behind the figure as it is.

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
    """Two ends in brackets; percentage points and currencies are named once, behind them."""
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

    Of one that is open at one side the distance of the other end from the value counts. More places
    where an end would else look like `apart`, which it is not: the limit of a gate, no difference.
    None where nothing is known of the uncertainty, or it is none, and for figures of ten millions.
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
    places = max(0, 1 - math.floor(math.log10(half)))
    if places > MOST_PLACES:
        return None
    if apart is not None:
        own = factor * apart
        for more in range(places, MOST_PLACES + 1):
            if all(end == own or round(end, more) != round(own, more) for end in ends):
                return more
    return places


def rounded(
    value: float | None, places: int | None, scale: Scale = "", *, sign: bool = False
) -> str:
    """A number with so many decimal places, zeros at its end too; with four digits where nothing
    says how many (`precision`). `sign`: whether a number above 0 has a plus.
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
    """A value and its interval with two significant digits of half the width of the interval.

    Without an interval four digits. `sign`, `apart`: as in `rounded` and `precision`.

    Examples
    --------
    >>> from truecost.core.digits import uncertain
    >>> uncertain(0.509744, 0.38377, 0.63936), uncertain(-0.0123, -0.0345, 0.0101, "pp")
    (('0.51', '[0.38, 0.64]'), ('-1.2 pp', '[-3.5, 1.0] pp'))
    >>> uncertain(0.25, 0.203, 0.2996), uncertain(0.25, 0.203, 0.2996, apart=0.3)
    (('0.250', '[0.203, 0.300]'), ('0.2500', '[0.2030, 0.2996]'))
    """
    places = precision(value, lower, upper, scale, apart=apart)
    shown = rounded(value, places, scale, sign=sign)
    if lower is None and upper is None:
        return shown, ""
    return shown, bracketed(rounded(lower, places, scale), rounded(upper, places, scale), scale)


def scale_of(shown_in: str, difference: bool = False) -> Scale:
    """How readers see figures that are shown in percent, say, or differences between them.

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
    """Columns that a text takes on a terminal: 2 for wide characters, 0 for marks above others."""
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
    """The items that some rows count, for the head of a column: trials, utterances, recordings."""
    found = {row.item for row in rows}
    return errors.plural(found.pop()) if len(found) == 1 else "items"


def units_shown(row: "Row") -> str:
    """The number of units; nothing where each item is a unit of its own and is counted already."""
    alone = row.item != "trial" and row.factors == (row.item,)
    return "" if alone else str(row.n_units)


def dims_of(rows: "Sequence[Row]") -> tuple[str, ...]:
    """The names of what some rows are about, in the order in which tables show them: those of
    `names.DIMS` that any row has, then others in the order in which they come.
    """
    found = dict.fromkeys(name for row in rows for name in row.dims)
    known = [name for name in DIMS if name in found]
    return (*known, *(name for name in found if name not in DIMS))


def title_of(dims: Mapping[str, str]) -> str:
    """The scope of rows in a few words: `collection far, application strict`."""
    return ", ".join(f"{key} {name}" for key, name in dims.items())


def _share(rows: "Sequence[Row]") -> str:
    """The prior that was taken from the data, where counts of trials tell it."""
    for row in rows:
        targets, others = (row.counts.get(k, 0.0) for k in ("targets", "nontargets"))
        if "subset" not in row.dims and targets and others and "|weighted|" not in row.signature:
            return f"prior from the data ({figure(targets / (targets + others))})"
    return "prior from the data"


def assumed(rows: "Sequence[Row]") -> str:
    """The prior and costs that the values rest on, in words; empty when nothing was assumed."""
    parameters: dict[str, object] = {}
    for row in rows:
        parameters |= {k: v for k, v in row.parameters.items() if k != "variant"}
    words = []
    costs = parameters.get("costs")
    if isinstance(costs, Mapping):
        words.append(f"cost of a miss {costs['miss']:g}, of a false alarm {costs['fa']:g}")
    elif costs is not None:
        words.append("costs 0/1" if costs == "0/1" else "a cost matrix")
    prior = parameters.get("prior")
    if prior is not None:
        words.append(f"prior {prior:g}" if prior != "empirical" else _share(rows))
    if "preset" in parameters:
        words.append(f"preset {parameters['preset']}")
    if isinstance(prices := parameters.get("prices"), Mapping):
        said = (f"{k.replace('_', ' ')} {v:g}" for k, v in prices.items() if k != "currency")
        currency = f" in {prices['currency']}" if "currency" in prices else ""
        words.append(f"prices{currency}: {', '.join(said)}")
    return "; ".join(words)


MOST_CLASSES = 3  # of a row that are told of
FEW = 30  # trials that say more than their errors: 8 targets, however many of them are missed


def few_errors(row: "Row") -> str:
    """How few errors the weak classes of a row have, and what their rates may be; empty if not
    known.

    `only 8 targets, the true rate of misses may be up to 31 %`; of several classes joined by ;.
    """
    if not row.rates or any(not kind.of for kind in row.rates):  # time is not counted
        return ""
    weak = sorted((k for k in row.rates if fewest_of(k) < FEW_ERRORS), key=fewest_of)
    said = []
    for kind in weak[:MOST_CLASSES]:
        few = kind.of == HOUR or kind.errors <= kind.trials - kind.errors
        end = f"up to {_short_rate(kind, kind.upper)}"
        end = end if few else f"as low as {_short_rate(kind, kind.lower)}"
        said.append(f"{_amount_seen(kind)}, the true rate of {_plural(kind.what)} may be {end}")
    if len(weak) > MOST_CLASSES:
        said.append(f"{errors.counted(len(weak) - MOST_CLASSES, 'further class')} like these")
    return "; ".join(said)


HOUR = "hour"  # whose a rate is that counts events in time


def fewest_of(kind: "Kind") -> float:
    """Errors, or what is no error: what there are fewer of; of events in time their number."""
    return kind.errors if kind.of == HOUR else min(kind.errors, kind.trials - kind.errors)


def _short_rate(kind: "Kind", rate: float) -> str:
    """A rate that is known to two digits at most."""
    return f"{rate:.2g} an hour" if kind.of == HOUR else f"{100 * rate:.2g} %"


def _amount_seen(kind: "Kind") -> str:
    of = f"{errors.amount(round(kind.trials, 2))} {_plural(kind.of)}"
    if kind.of == HOUR:
        number = errors.amount(round(kind.errors, 2)) if kind.errors else "no"
        what = kind.what if round(kind.errors, 2) in (0, 1) else _plural(kind.what)
        return f"{'only ' * bool(kind.errors)}{number} {what} in {of}"
    if kind.trials < FEW:
        return f"only {errors.amount(1)} {kind.of}" if kind.trials == 1 else f"only {of}"
    if kind.errors > kind.trials / 2:
        rest = errors.amount(round(kind.trials - kind.errors, 2))
        return f"{_plural(kind.what)} in all but {rest} of {of}"
    if kind.errors == 0:
        return f"no {kind.what} among {of}"
    what = kind.what if round(kind.errors, 2) == 1 else _plural(kind.what)
    return f"only {errors.amount(round(kind.errors, 2))} {what} among {of}"


def _plural(noun: str) -> str:
    """The plural of `trial of class cat`: trials of class cat."""
    for between in (" of ", " by ", " with "):
        head, found, rest = noun.partition(between)
        if found:
            return f"{errors.plural(head)}{found}{rest}"
    return errors.plural(noun)


def interval_name(row: "Row") -> str:
    """The row that a warning is about: `95 % CI of act_dcf (network, noise)`."""
    return f"{100 * row.level:.10g} % CI of {_row_name(row)}"


def _row_name(row: "Row") -> str:
    dims = ", ".join(row.dims.values())
    return row.label + (f" ({dims})" if dims else "")


def rows_name(rows: "Sequence[Row]") -> str:
    """The rows that a warning is about: `auc (network) and 1 other row`."""
    more = f" and {errors.counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return f"{_row_name(rows[0])}{more}"


def without_interval(rows: "Sequence[Row]") -> list[str]:
    """Why rows have no interval: a sentence for each reason, of rows with a value and without both
    ends.

    `auc (network) and 1 other row: no interval: the figure is at the end of its range ...`.
    """
    said = []
    for reason in dict.fromkeys(row.reason or "no interval" for row in rows):
        own = [row for row in rows if (row.reason or "no interval") == reason]
        said.append(f"{rows_name(own)}: {reason}")
    return said


def detailed(flag: str, rows: "Sequence[Row]") -> str:
    """The warning of a flag for the row that it concerns most, with the number of other rows that
    have it; empty where the warning is the same for every row.
    """
    found = [(row, text) for row in rows if flag == "few_errors" and (text := few_errors(row))]
    if not found:
        return ""
    row, text = min(found, key=lambda pair: min(map(fewest_of, pair[0].rates)))
    more = f" (and {errors.counted(len(rows) - 1, 'other row')})" if len(rows) > 1 else ""
    return f"{interval_name(row)}: {text}{more}. Collect more of them before you trust the figure"
