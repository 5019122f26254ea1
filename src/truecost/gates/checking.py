"""From gates and rows to verdicts: pass, fail or undecided, and how many units would decide.

The limit is `away` from the value, the end of the interval on its side `arm`; the standard error is
SE = arm / z, z the normal quantile of the level. With N in place of n units the arm is
arm sqrt(n / N), and the limit is kept with 80 % power where

- the truth is the value: N = n ((z + .84) / z * arm / away)^2;
- the truth is as uncertain as the interval says: z r + .84 sqrt(1 - r^2) <= away / SE with
  r = sqrt(n / N), the n units at hand being part of the N. No N does it where away <= .84 SE.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from truecost.core.digits import SIGN, figure
from truecost.core.flags import beware, telling
from truecost.core.results import Row
from truecost.errors import plural
from truecost.gates.gate import Gate, number
from truecost.gates.matching import check_alike, check_method, rows_of, without_width
from truecost.gates.verdict import State, Verdict

Z_POWER = NormalDist().inv_cdf(0.8)


MOST_UNITS = 10**9  # more than this is no advice


FREE_OF_ERRORS = (0.0, 1.0)  # values of rates and normalised costs without any error


@dataclass(frozen=True)
class Needed:
    """Units in all that decide a gate with 80 % power.

    Attributes
    ----------
    if_value : int or None
        If the truth is the value; None where it is so near the limit that no number is advice.
    unsure : int or None
        If the truth is as uncertain as the interval says; None where no number is enough.
    stays : bool
        Whether the value is at the end of its range: its arm shrinks as 1 / N while it stays there.
    """

    if_value: int | None
    unsure: int | None
    stays: bool = False


NOTHING = Needed(None, None)


def needed(gate: Gate, row: Row) -> Needed:
    """How many units decide an undecided gate with 80 % power.

    Parameters
    ----------
    row : Row
        With a whole interval that holds the limit.
    """
    if row.value is None or row.lower is None or row.upper is None or not row.n_units:
        return NOTHING
    ends = (row.upper, row.lower) if row.value <= gate.limit else (row.lower, row.upper)
    arm, away = abs(ends[0] - row.value), abs(gate.limit - row.value)
    stays = row.value == ends[1] and row.value in FREE_OF_ERRORS
    if not arm < MOST_UNITS * away:
        return Needed(None, None, stays)
    z = NormalDist().inv_cdf(0.5 + row.level / 2)
    grown = arm / away if stays else ((z + Z_POWER) / z * arm / away) ** 2
    return Needed(_units(row, grown), _units(row, _predicted(z, z * away / arm)), stays)


def _predicted(z: float, apart: float) -> float:
    """N / n where the truth is uncertain; `apart` is away / SE, below z.

    z r + .84 sqrt(1 - r^2) rises from .84 at r = 0 to its greatest value above z: the smaller root.
    """
    if apart <= Z_POWER:
        return math.inf
    square = z**2 + Z_POWER**2
    root = (apart * z - Z_POWER * math.sqrt(max(0.0, square - apart**2))) / square
    return 1 / root**2 if root > 0 else math.inf


def _units(row: Row, grown: float) -> int | None:
    if not grown * row.n_units <= MOST_UNITS:
        return None
    # rounding: 400 stays 400; what holds the limit takes more than the units at hand
    return max(row.n_units + 1, math.ceil(row.n_units * grown * (1 - 1e-9)))


PASSED, FAILED, UNDECIDED = 0, 1, 4  # exit codes


def check(gates: Iterable[Gate], rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """What becomes of each gate on the rows of a result.

    Returns
    -------
    tuple of Verdict
        In the order of the gates; one for each system, application and collection that a gate does
        not name.

    Raises
    ------
    UsageError
        When a gate fits no row, or several of the same system, or its limit does not go with the
        direction of the measure, or is in percent where the measure is a share; when an interval
        was made by another method than the gate decides by, or two by different ones.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.gates import check
    >>> trials = tc.Trials.of([1, 0] * 30, [1, 0] * 25 + [0, 1] * 5, kind="decision")
    >>> rows = tc.score_system(trials, tc.Scoring(measures=("total_error",)))
    >>> [verdict] = check([tc.Gate(measure="total_error", max_upper=0.5)], rows)
    >>> verdict.state, verdict.found
    ('pass', '0.1667 [0.08598, 0.2804]')
    """
    found = []
    for gate in gates:
        about = rows_of(gate, rows)
        check_alike(gate, about, rows)
        for row in about:
            gate.check_direction(row.direction)
            gate.check_size(row.shown_in)
            found.append(judge(gate, row))
    return tuple(found)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of the verdicts together.

    Returns
    -------
    int
        1 when a gate failed, otherwise 4 when one is undecided and counts as failed, otherwise 0.
    """
    states = {verdict.state for verdict in verdicts if not verdict.passed}
    return FAILED if "fail" in states else UNDECIDED if states else PASSED


def judge(gate: Gate, row: Row) -> Verdict:
    """The verdict of a gate on the row that it is about.

    Parameters
    ----------
    row : Row
        Its value, or the difference from the baseline.
    """
    check_method(gate, row)
    state, units = state_of(gate, row), NOTHING
    if state != "undecided":
        message = _decided(gate, row, state)
    elif not (message := _unknown(row)):
        units = needed(gate, row)
        message = _too_few(gate, row, units)
    said = ", ".join(filter(None, map(beware, telling(row.flags))))
    return Verdict(
        gate=gate,
        state=state,
        measure=row.label,
        dims=row.dims,
        value=row.value,
        lower=row.lower,
        upper=row.upper,
        level=row.level,
        limit=gate.limit,
        message=message + (f"; warning: {said}" if said else ""),
        units_needed=units.if_value,
        reason=row.reason,
        flags=row.flags,
        shown_in=row.shown_in,
        signature=row.signature,
    )


def state_of(gate: Gate, row: Row) -> State:
    """Pass, fail or undecided.

    An interval need not hold its value: where it does not, the value counts as an end of it, so
    that no gate passes with a value beyond the limit. What was measured once has no interval, and
    no number of units would give it one: its value decides. An interval without width decides
    nothing: no spread in the data is no certainty.
    """
    sign = 1 if gate.is_upper else -1
    near, far = (row.lower, row.upper) if gate.is_upper else (row.upper, row.lower)

    def beyond(x: float) -> bool:
        return sign * (x - gate.limit) > 0

    if measured_once(row):
        return "fail" if beyond(row.value) else "pass"  # type: ignore[arg-type]
    if row.often_undefined or without_width(row):
        return "undecided"
    # A value without end is beyond every limit, and so is an end of the interval without end.
    if near is not None and beyond(near) and (row.value is None or beyond(row.value)):
        return "fail"
    known = row.value is not None and far is not None
    if known and not beyond(row.value) and not beyond(far):  # type: ignore[arg-type]
        return "pass"
    return "undecided"


def measured_once(row: Row) -> bool:
    """Whether a row has a value and, as nothing could be drawn again, no interval."""
    return row.value is not None and row.lower is row.upper is None and not row.n_replicates


def _unknown(row: Row) -> str:
    """Why the interval cannot be held against a limit; empty when it can."""
    if row.value is None:
        return f"there is no value: {_why(row)}"
    if row.lower is None or row.upper is None:
        return f"there is no whole interval: {_why(row)}"
    if without_width(row):
        more = "collect more units" if row.method == "auto" else "score again with --method auto"
        return f"the interval has no width, so the data tell nothing about its ends: {more}"
    if row.often_undefined:
        share = row.n_undefined / row.n_replicates
        return f"undefined in {share:.0%} of the replicates: the interval speaks of the others only"
    return ""


def _why(row: Row) -> str:
    """Why a value or an interval is missing."""
    return (row.reason or "").removeprefix("undefined: ") or "undefined"


def _decided(gate: Gate, row: Row, state: State) -> str:
    side = "above" if gate.is_upper else "below"
    if measured_once(row):
        value = f"the value {_told_apart(row.value, gate, row)}"
        held = f"lies {side} the limit" if state == "fail" else "keeps the limit"
        return f"{value} {held} ({row.reason or 'no interval'})"
    if state == "fail":
        near = row.lower if gate.is_upper else row.upper
        end = "lower" if gate.is_upper else "upper"
        return (
            f"the whole interval lies {side} the limit ({end} end {_told_apart(near, gate, row)})"
        )
    far, end = (row.upper, "upper") if gate.is_upper else (row.lower, "lower")
    return f"the {end} end {_told_apart(far, gate, row)} keeps the limit"


def _told_apart(end: float | None, gate: Gate, row: Row) -> str:
    """An end of the interval with as many digits as tell it from the limit."""
    short = figure(end, row.scale)
    if end is None or end == gate.limit or figure(gate.limit, row.scale) != short:
        return short
    return f"{100 * end:.12g}{SIGN[row.scale]}" if row.scale else f"{end!r}"


def _too_few(gate: Gate, row: Row, found: Needed) -> str:
    """That the limit lies in the interval, and what more units would do."""
    limit, value = number(gate.limit, row.scale), figure(row.value, row.scale)
    if row.value is not None and (row.value - gate.limit) * (1 if gate.is_upper else -1) > 0:
        side = "above" if gate.is_upper else "below"
        count = "" if found.if_value is None else f" (about {found.if_value - row.n_units} more)"
        return (
            f"the value itself lies {side} the limit {limit}, which lies in the interval: more "
            f"{_of(row)} would more likely make it fail{count}"
        )
    if found.if_value is None:
        return f"the limit {limit} lies in the interval, so near the value that data do not help"
    given = "if the value stays exactly" if found.stays else "with 80% power if the true value is"
    sure = "no number gives 80% power, as it may lie beyond the limit"
    if found.unsure is not None:
        sure = _times(row, found.unsure) if row.units_by_factor else f"{found.unsure} in all"
    return (
        f"the limit {limit} lies in the interval: {_more(row, found.if_value)} {given} {value}; "
        f"allowing for the uncertainty of the value, {sure}"
    )


def _more(row: Row, units: int) -> str:
    """`about 300 more speakers would decide, 400 in all,`; of crossed factors all grow alike."""
    if row.units_by_factor:
        grown = ", ".join(
            f"{math.ceil(n * units / row.n_units)} of {name}"
            for name, n in row.units_by_factor.items()
        )
        return f"about {_times(row, units)} units would decide ({grown})"
    more = units - row.n_units
    what = (row.factors or ("unit",))[0] if more == 1 else _of(row)
    return f"about {more} more {what} would decide, {units} in all,"


def _times(row: Row, units: int) -> str:
    return f"{units / row.n_units:.3g} times as many"


def _of(row: Row) -> str:
    """What was resampled, in the plural."""
    names = row.factors or ("unit",)
    return plural(names[0]) if len(names) == 1 else f"units of {' and of '.join(names)} each"
