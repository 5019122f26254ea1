"""Sums that no order changes: equal to exact fractions rounded once, for any numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.kernels import exact
from truecost.kernels.exact import exact_sums

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)


def nearest(values):
    """The exact sum, rounded once."""
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@pytest.fixture(params=["few", "many"], autouse=True, scope="module")
def road(request):
    """Few numbers are added without a kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "FEW", 1 << 16 if request.param == "few" else 0)
        yield


@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), max_size=30), st.randoms())
def test_sums_are_exact_and_rounded_once(rows, random):
    keys = np.array([key for key, _ in rows], np.int32)
    values = np.array([value for _, value in rows], np.float64)
    found = exact_sums(keys, values, 4)
    wanted = [nearest([v for k, v in rows if k == key]) for key in range(4)]
    assert found.tolist() == pytest.approx(wanted, rel=0, abs=0)
    random.shuffle(rows)
    again = exact_sums(np.array([k for k, _ in rows], np.int32), np.array([v for _, v in rows]), 4)
    assert found.tobytes() == again.tobytes()


@pytest.mark.parametrize("values", [
    [1e308, 1e308, -1e308], [1.0, 1e-320, -1.0], [2.0**53, 1.0, 2.0**-40], [2.0**53, 1.0],
    [2.0**53, 1.0, -(2.0**-60)], [0.1] * 10, [-0.1] * 10, [5e-324, 5e-324], [], [1e16, 1.0, -1e16],
    [3.0**33, 2.0**-30, 2.0**-90], [-(2.0**60), 2.0**7, 1e-300],
])  # fmt: skip
def test_hard_cases(values):
    assert exact_sums(np.zeros(len(values), np.int32), np.array(values), 1)[0] == nearest(values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_as_python_sums_them(values):
    assert exact_sums(np.zeros(len(values), np.int32), np.array(values), 1)[0] == math.fsum(values)


@pytest.mark.parametrize("first", [1e299, 1e301])
def test_few_numbers_become_many(first, monkeypatch):
    """Pieces that were kept are among the digits in the end, however large the next ones are."""
    draws = np.random.default_rng(1)
    keys, values = draws.integers(0, 3, 90), draws.normal(size=90)
    values[60] = first
    wanted = [nearest(values[keys == key]) for key in range(3)]
    for few in (0, 10, 50, 89, 90):
        monkeypatch.setattr(exact, "FEW", few)
        found = exact.ExactSums(4)
        for start in range(0, 90, 30):
            found.add(keys[start : start + 30], values[start : start + 30])
        assert found.sums().tolist() == [*wanted, 0.0]


def test_very_many_keys_and_what_is_not_finite_do_not_depend_on_order(monkeypatch):
    draws = np.random.default_rng(0)
    keys, values = draws.integers(0, 50, 2000), draws.normal(size=2000)
    order = draws.permutation(2000)
    whole = exact_sums(keys, values, 50)
    monkeypatch.setattr(exact, "MOST", 0)
    one, other = exact_sums(keys, values, 50), exact_sums(keys[order], values[order], 50)
    assert one.tobytes() == other.tobytes()
    assert np.allclose(one, whole, rtol=1e-12)
    values[7] = np.inf
    assert np.isinf(exact_sums(keys, values, 50)[keys[7]])


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(1, 7))
def test_carries_between_pieces_change_nothing(values, between):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "BETWEEN_CARRIES", between)
        patch.setattr(exact, "FEW", 0)
        found = exact_sums(np.zeros(len(values), np.int32), np.array(values), 1)[0]
    assert found == nearest(values)


@pytest.mark.parametrize("value", [math.nextafter(2.0, 0), -math.nextafter(2.0, 0), 3e-310])
def test_digits_hold_the_numbers_between_two_carries(value):
    """As many as are added before a carry, all at once: the digits of one, times their number."""
    digits = np.zeros((1, exact.DIGITS), np.int64)
    one = np.zeros((1, exact.DIGITS), np.int64)
    exact.add_exact(np.zeros(1, np.int32), np.array([value]), one)
    found, rounds = np.zeros(1), 20  # ten billion numbers
    for _ in range(rounds):
        exact.carry(digits)
        digits += one * exact.BETWEEN_CARRIES
    exact.round_exact(digits, found)
    assert found[0] == nearest([Fraction(value) * exact.BETWEEN_CARRIES * rounds])
