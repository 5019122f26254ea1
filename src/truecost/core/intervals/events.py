"""The hours of audio that decide on a rate of events in time, such as false alarms per hour.

T hours with the true rate r contain a Poisson number of bursts of D events, r T / D on average; D
is the design effect of the known hours (see `rates`). Units grow with the hours. The interval of k
bursts is that of `rates`: Garwood's ends in T / D (z / t_nu)^2 hours, nu = min(n_w T / H - 1, k +
1), the upper end moved out by one more burst. The power of T hours is the probability of the k
whose interval ends on the right side of the limit,

- if the truth is the value: bursts are Poisson with r T / D;
- if it is as uncertain as the data show: r is gamma with k_0 + 1/2 bursts in H hours (Jeffreys),
  which are part of the T hours, so the new bursts are negative binomial.

Hours for 80% power have a fifth added, as D is uncertain: 83% or more of simulated plans decide.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecost.core.flags import HOUR
from truecost.core.intervals.rates import event_ends
from truecost.core.results import Row

POWER, SPARE = 0.8, 1.2
LEAST, MOST = 1e-6, 1e5  # times the known hours that are looked at


@dataclass(frozen=True)
class Heard:
    """Events in hours of audio, in effective units, with their design effect."""

    events: float
    hours: float
    units: float
    design: float = 1.0

    @staticmethod
    def from_row(row: Row) -> "Heard | None":
        """The events and hours of a row, if it is a rate of events; None for any other figure."""
        if row.kind != "value" or [kind.of for kind in row.rates] != [HOUR]:
            return None
        [kind] = row.rates
        return Heard(kind.errors, kind.trials, kind.units, kind.design or 1.0)

    def ends(self, bursts: Any, hours: float, level: float) -> tuple[Any, Any]:
        """Ends of the interval of the rate, for a number of bursts in a number of hours."""
        from scipy.special import ndtri, stdtrit

        most, some = self.units * hours / self.hours - 1, np.asarray(bursts) > 0
        nu = np.maximum(1.0, np.where(some, np.minimum(most, np.asarray(bursts) + 1), most))
        tail = (1 - level) / 2
        effective = hours / self.design * (ndtri(tail) / stdtrit(nu, tail)) ** 2
        lower, upper = event_ends(bursts * self.design / hours, effective, tail)
        return lower, upper + some * np.minimum(1.0, 20 / nu) * self.design / hours


def hours_without(heard: Heard, limit: float, level: float) -> float:
    """Hours without an event whose interval ends at a limit above 0: 3.69 / limit at level .95,
    and more where units are few.
    """

    def fine(hours: float) -> bool:
        return bool(heard.ends(0, hours, level)[1] <= limit)

    return _least(fine, LEAST * heard.hours, MOST * heard.hours)


def hours_for_width(heard: Heard, half_width: float, level: float) -> float:
    """Hours after which the interval has a half-width at the present rate, with a fifth added."""

    def narrow(hours: float) -> bool:
        bursts = heard.events / heard.design * hours / heard.hours
        lower, upper = heard.ends(bursts, hours, level)
        return bool((upper - lower) / 2 <= half_width)

    return SPARE * _least(narrow, LEAST * heard.hours, MOST * heard.hours)


def hours_to_decide(
    heard: Heard, limit: float, level: float, *, upper: bool
) -> tuple[float | None, float | None]:
    """Total hours after which the interval ends below a limit (`upper`) or begins above it, with
    80% power: if the truth is the value, and if it is uncertain. None where no number of hours
    suffices.
    """
    from scipy.special import betainc, gammainc, gammaincc

    if limit <= 0:
        return None, None
    before = heard.events / heard.design

    def if_value(bursts: Any, hours: float) -> Any:
        return gammaincc(bursts + 1, before * hours / heard.hours)

    def unsure(bursts: Any, hours: float) -> Any:
        new = np.maximum(np.floor(bursts - before) + 1, 1)
        few = betainc(before + 0.5, new, min(1.0, heard.hours / hours))
        return np.where(bursts >= before, few, 0.0)

    def found(within: Callable[[Any, float], Any]) -> float | None:
        def decides(hours: float) -> bool:
            return _power(heard, hours, limit, level, within, upper=upper) >= POWER

        least = _least(decides, heard.hours, MOST * heard.hours)
        return SPARE * least if math.isfinite(least) else None

    below = float(gammainc(before + 0.5, limit * heard.hours / heard.design))
    certain = (below if upper else 1 - below) > POWER
    sure = found(if_value) if heard.events else hours_without(heard, limit, level)
    return sure, found(unsure) if certain else None


def _power(
    heard: Heard,
    hours: float,
    limit: float,
    level: float,
    within: Callable[[Any, float], Any],
    *,
    upper: bool,
) -> float:
    """Probability that the interval of these hours decides. `within`: probability of at most a
    number of bursts. Far from the limit every number of bursts decides, on the right side.
    """
    middle = limit * hours / heard.design
    reach = 12 * math.sqrt(middle) + 40
    bursts = np.arange(max(0, math.floor(middle - reach)), math.ceil(middle + reach))
    low, high = heard.ends(bursts, hours, level)
    fine = high <= limit if upper else low >= limit
    below, at = within(bursts - 1, hours), within(bursts, hours)
    beyond = below[0] if upper else 1 - at[-1]
    return float((fine * (at - below)).sum() + beyond)


def _least(holds: Callable[[float], bool], start: float, most: float) -> float:
    """Least number from `start` on for which a condition is true and stays true; infinite beyond
    `most`.
    """
    low, high = start, start
    while not holds(high):
        low, high = high, 2 * high
        if high > most:
            return math.inf
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
