"""Hours that decide on a rate of events, against a Poisson count that is tried out by force."""

import numpy as np
import pytest
from scipy.special import gammainc, gammaincc, gammaincinv

from truecost.core.intervals.events import Heard, hours_for_width, hours_to_decide, hours_without
from truecost.core.intervals.rates import Errors, rate_limits
from truecost.core.subsets import LeftOut

LEVEL = 0.95
GRID = np.geomspace(1, 4000, 800)
COUNTS = np.arange(2000)


def by_force(rate, limit, *, upper):
    """The least hours in which 80% of Poisson counts have a Garwood end on the right side."""
    for hours in GRID:
        if upper:
            fine = COUNTS[gammaincinv(COUNTS + 1, 0.975) / hours <= limit]
            power = gammaincc(fine.max() + 1, rate * hours) if len(fine) else 0
        else:
            fine = COUNTS[1:][gammaincinv(COUNTS[1:], 0.025) / hours >= limit]
            power = gammainc(fine.min(), rate * hours)
        if power >= 0.8:
            return hours
    return None


def limits_of(events, hours, units):
    """The interval that a row has, of events by unit of equal length."""
    count, each = events.sum(), hours / units
    without = (count - events) / (hours - each)
    left = (LeftOut("unit", without, units, float(units)),)
    found = Errors(float(count), hours, hours, left, (1.0,), "false alarm", "hour", left, True)
    return rate_limits(found, LEVEL)


def power_of(rate, limit, heard, hours, *, upper, rng, known=0):
    """Share of simulated hours, with units as long as those at hand, that decide."""
    units, decided = round(heard.units * hours / heard.hours), 0
    for mean in rate * np.ones(400):
        events = known + rng.poisson(mean * (hours - heard.hours * bool(known)))
        found = limits_of(rng.multinomial(events, np.ones(units) / units), hours, units)
        decided += found.upper <= limit if upper else found.lower >= limit
    return decided / 400


@pytest.mark.parametrize(
    ("events", "hours", "limit"),
    [(2, 6.0, 0.5), (2, 6.0, 1.0), (3, 12.0, 0.5), (20, 12.0, 2.0), (4, 6.0, 0.5), (1, 100.0, 0.1)],
)
def test_the_plan_is_that_of_a_poisson_count_and_decides_the_gate(events, hours, limit):
    """2 events in 6 hours against 0.5 an hour: 94 hours by the normal law, 126 by Garwood's ends,
    and not thousands. With one event at the most, t limits of 2 degrees of freedom take twice.
    """
    rate, upper = events / hours, events / hours <= limit
    heard = Heard(events, hours, units=2 * hours)
    found, _ = hours_to_decide(heard, limit, LEVEL, upper=upper)
    assert 1 <= found / max(hours, by_force(rate, limit, upper=upper)) <= 2.6
    rng = np.random.default_rng(events)
    assert power_of(rate, limit, heard, found, upper=upper, rng=rng) >= 0.8


def test_the_uncertain_value_is_a_gamma():
    """Rates as they may be after these hours, and new hours of each: 80% of them decide."""
    heard, limit = Heard(2, 12.0, units=240.0), 0.7
    assert hours_to_decide(Heard(2, 6.0, 12.0), 0.5, LEVEL, upper=True)[1] is None  # may be above
    _, found = hours_to_decide(heard, limit, LEVEL, upper=True)
    rng = np.random.default_rng(0)
    rates = rng.gamma(2.5, 1 / 12, 400)
    shares = []
    for rate in rates:
        count = 2 + rng.poisson(rate * (found - 12))
        units = round(20 * found)
        each = rng.multinomial(count, np.ones(units) / units)
        shares.append(limits_of(each, found, units).upper <= limit)
    assert 0.78 <= np.mean(shares) <= 0.95


def test_no_event_needs_hours_by_the_limit_and_by_the_units():
    """3.69 / limit (Garwood), and more where few recordings hold the hours."""
    many, few = Heard(0, 6.0, 1e6), Heard(0, 6.0, 12.0)
    assert hours_without(many, 0.5, LEVEL) == pytest.approx(3.689 / 0.5, rel=1e-3)
    found = hours_without(few, 0.5, LEVEL)
    assert 1.05 < found / (3.689 / 0.5) < 1.4
    for hours, fine in ((found * 1.01, True), (found * 0.97, False)):
        units = 2 * hours
        none = limits_of(np.zeros(round(units)), hours, round(units))
        assert (none.upper <= 0.5 * 1.02) is fine or abs(none.upper - 0.5) < 0.02
    assert hours_to_decide(few, 0.5, LEVEL, upper=True)[0] == pytest.approx(found, rel=1e-5)


def test_bursts_take_as_many_times_the_hours():
    alone, bursts = Heard(20, 100.0, 1e6), Heard(20, 100.0, 1e6, design=2.0)
    one, two = (hours_to_decide(h, 0.3, LEVEL, upper=True)[0] for h in (alone, bursts))
    assert two == pytest.approx(2 * one, rel=0.1)
    wide = hours_for_width(alone, 0.05, LEVEL)
    assert wide == pytest.approx(1.2 * 0.2 * (1.96 / 0.05) ** 2, rel=0.15)
    assert hours_to_decide(alone, 0.0, LEVEL, upper=False) == (None, None)
