"""Axes of pictures: where numbers lie, round ticks, and what is written at them."""

import numpy as np
import pytest

from truecost.pictures.picture import Axis
from truecost.pictures.scales import Place, forward, probit


@pytest.mark.parametrize("domain", [(-2.4, 1.25), (-30, 1.25), (-1300, 1.25), (-5, 500)])
@pytest.mark.parametrize("length", [90.0, 160.0, 440.0])
def test_an_axis_that_is_logarithmic_on_both_sides_shows_0_and_round_numbers(domain, length):
    place = Place(Axis(kind="asinh"), domain, length, 0.0, 26.0)
    at = [place.at(t) for t in place.ticks]
    assert len(at) >= 2
    assert 0.0 in place.ticks or length < 100
    assert np.diff(at).max() <= -26.0
    assert all(domain[0] <= t <= domain[1] for t in place.ticks)
    assert {f"{abs(t):e}"[0] for t in place.ticks} <= set("0125")


def test_it_is_linear_near_0_and_logarithmic_far_from_it():
    near, far = np.array([0.0, 0.01, 0.02]), np.array([-1e3, -1e4, -1e5])
    assert np.ptp(np.diff(forward("asinh", near))) < 1e-5
    assert np.diff(forward("asinh", far)) == pytest.approx(-np.log(10), rel=1e-5)


def test_rates_down_to_1e_10_have_a_place_and_no_exponents():
    from scipy.special import ndtri

    rates = 10.0 ** -np.arange(1, 11)
    assert probit(rates) == pytest.approx(ndtri(rates), rel=1e-8)
    place = Place(Axis(kind="probit", scale="%"), (1e-10, 0.1), 0.0, 900.0, 34.0)
    assert place.texts[0] == "0.00000001%"
    assert place.texts[-1] == "10%"
