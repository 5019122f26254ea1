"""How many units would decide a gate: where the truth is the value, and where that is uncertain.

The limit is `away` from the value, the end of the interval on its side `arm`; the standard error is
SE = arm / z, z the normal quantile of the level. With N in place of n units the arm is
arm sqrt(n / N), and the limit is kept with 80 % power where

- the truth is the value: N = n ((z + .84) / z * arm / away)^2;
- the truth is as uncertain as the interval says: z r + .84 sqrt(1 - r^2) <= away / SE with
  r = sqrt(n / N), the n units at hand being part of the N. No N does it where away <= .84 SE.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

from truecost.core.results import Row
from truecost.gates.gate import Gate

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
