"""The number of units, or hours of events, that would decide a gate.

Formulas of `needed`: `away` is the distance from the value to the limit, `arm` that to the end of
the interval on this side; the standard error is SE = arm / z, with z the normal quantile of the
level. With N instead of n units the arm is arm sqrt(n / N), and the gate decides with 80% power if

- the truth is the value: N = n ((z + .84) / z * arm / away)^2;
- the truth is as uncertain as the interval shows: z r + .84 sqrt(1 - r^2) <= away / SE with
  r = sqrt(n / N), the n units being part of the N. No N is enough where away <= .84 SE.

Rates of events in time need hours, not units: `truecost.core.intervals.events`.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

from truecost.core.intervals.events import Heard, hours_to_decide
from truecost.core.results import Row
from truecost.errors import plural
from truecost.gates.gate import Gate

Z_POWER = NormalDist().inv_cdf(0.8)
MOST_UNITS = 10**9  # more than this is no advice
MOST_COLLECTED = 100  # times the units of the data; nobody collects more
ENDS_OF_RATES = ((0.0, True), (1.0, False))  # a rate there, and whether it is its lower end


@dataclass(frozen=True)
class Needed:
    """Total units, or hours of events in time, that decide a gate with 80% power: if the truth is
    the value, and if it is as uncertain as the interval shows; None where no number is enough.
    """

    if_value: int | None = None
    unsure: int | None = None
    stays: bool = False  # the value is at the end of its range: its arm shrinks as 1 / N there
    hours: float = 0.0  # present, of events in time; else units are meant


def needed(gate: Gate, row: Row) -> Needed:
    """Units that would decide a gate with 80% power, if the limit is inside the interval."""
    if row.value is None or row.lower is None or row.upper is None or not row.n_units:
        return Needed()
    if heard := Heard.from_row(row):
        return _needed_hours(gate, row, heard)
    ends = (row.upper, row.lower) if row.value <= gate.limit else (row.lower, row.upper)
    arm, away = abs(ends[0] - row.value), abs(gate.limit - row.value)
    stays = row.value == ends[1] and (row.value, row.value == row.lower) in ENDS_OF_RATES
    if not arm < MOST_UNITS * away:
        return Needed(stays=stays)
    z = NormalDist().inv_cdf(0.5 + row.level / 2)
    grown = arm / away if stays else ((z + Z_POWER) / z * arm / away) ** 2
    return Needed(_units(row, grown), _units(row, _predicted(z, z * away / arm)), stays)


def more_units(row: Row) -> str:
    """`About 260 more speakers would be needed to show a difference of this size`, with 80% power;
    empty where the number is too large to collect.
    """
    wanted = needed(Gate(measure=row.measure, max_upper=0.0), row).if_value
    if wanted is None or wanted > MOST_COLLECTED * row.n_units:
        return ""
    if row.units_by_factor:  # crossed: all of them grow by one ratio
        more = f"{times(row, wanted)} units of each factor ({', '.join(row.units_by_factor)})"
    else:
        units = plural(row.factors[0] if row.factors else "unit")
        more = f"{two_digits(wanted - row.n_units):,} more {units}"
    return f"About {more} would be needed to show a difference of this size"


def two_digits(number: float) -> int:
    """A number of units or hours, rounded up to two digits: no more are known."""
    whole = math.ceil(number)
    step: int = 10 ** max(len(str(whole)) - 2, 0)
    return -(-whole // step) * step


def times(row: Row, units: int) -> str:
    """`3.2 times as many`: a number of units, compared with that of the row."""
    return f"{units / row.n_units:.3g} times as many"


def _needed_hours(gate: Gate, row: Row, heard: Heard) -> Needed:
    """Hours that decide a gate on a rate of events."""
    upper = heard.events / heard.hours <= gate.limit
    found = hours_to_decide(heard, gate.limit, row.level, upper=upper)
    least = math.floor(heard.hours) + 1
    if_value, unsure = (None if x is None else max(least, math.ceil(x)) for x in found)
    return Needed(if_value, unsure, heard.events == 0, heard.hours)


def _predicted(z: float, apart: float) -> float:
    """N / n where the truth is uncertain; `apart` is away / SE, below z.

    z r + .84 sqrt(1 - r^2) rises from .84 at r = 0 to its greatest value above z: the smaller root
    is returned.
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
