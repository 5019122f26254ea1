"""User policies: what weighs which time, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lives import (
    lived,
    one_of,
    scoring,
    value_of,
)
from truecost.errors import InputError, UsageError
from truecost.tasks.lifelong.settings import Policy

TIMES = st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True).map(sorted)


@settings(max_examples=60, deadline=None)
@given(TIMES, TIMES, st.sampled_from(["recent", "uniform", "conservative"]), st.floats(0.1, 40))
def test_weights_sum_to_one_inside_the_window_and_are_nothing_outside(learnt, at, name, half):
    policy = Policy(name, None if name == "uniform" else half)
    learnt, at = np.array([-np.inf, *learnt]), np.array(at, float)
    weights = policy.weights(learnt, at)
    raw = replace(policy, normalise=False).weights(learnt, at)
    for i, row in enumerate(weights):
        inside = (at >= learnt[1]) & (at <= learnt[i])
        assert (row[~inside] == 0).all()
        assert (raw[i][inside] > 0).all()
        assert row.sum() == pytest.approx(1.0 if inside.any() else 0.0)
        if name == "recent":
            assert (np.diff(row[inside]) >= 0).all()
        if name == "conservative":
            assert (np.diff(row[inside]) <= 0).all()


def test_a_half_life_halves():
    learnt, at = np.array([0.0, 6.0]), np.array([0.0, 3.0, 6.0])
    recent = Policy("recent", 3, normalise=False).weights(learnt, at)[1]
    assert recent.tolist() == [0.25, 0.5, 1.0]
    kept = Policy("conservative", 3, normalise=False).weights(learnt, at)[1]
    assert kept.tolist() == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("name", ["recent", "conservative"])
def test_thousands_of_half_lives_leave_the_weight_to_what_matters_most(name):
    learnt, at = np.array([-np.inf, 0.0, 9000.0]), np.array([2000.0, 2001.0, 7000.0])
    weights = Policy(name, 1).weights(learnt, at)
    assert weights[:2].tolist() == [[0.0] * 3] * 2
    wanted = [0.0, 0.0, 1.0] if name == "recent" else [2 / 3, 1 / 3, 0.0]
    assert weights[2] == pytest.approx(wanted, abs=1e-300)
    raw = Policy(name, 1, normalise=False).weights(learnt, at)
    assert not raw.any()  # as the formula says: below the least number that there is


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recent", "needs a half-life"),
        ("recent:-1", "above 0"),
        ("recent:x", "not a number"),
        ("conservative:0", "above 0"),
        ("uniform:3", "has no half-life"),
        ("newest", "choose one of recent, uniform"),
    ],
)
def test_policies_that_make_no_sense_are_refused(text, said):
    with pytest.raises(UsageError, match=said):
        Policy.parse(text)


def test_a_table_of_weights_needs_every_time_and_no_other():
    policy = Policy("table", table={"a": 1.0, "b": 3.0}, label="mine")
    at, learnt = np.array([1.0, 2.0]), np.array([0.0, 3.0])
    assert policy.weights(learnt, at, ("a", "b"))[1].tolist() == [0.25, 0.75]
    with pytest.raises(InputError, match="no weight for c"):
        policy.weights(learnt, at, ("a", "c"))
    with pytest.raises(InputError, match="no test at b"):
        policy.weights(learnt, at[:1], ("a",))
    with pytest.raises(UsageError, match="must be 0 or more"):
        Policy("table", table={"a": -1.0})


def test_weights_as_given_are_those_of_the_formulas():
    learnt, at = np.array([1.0, 7.0]), np.array([0.0, 2.0, 4.0])
    kept = Policy.parse("conservative:1", normalise=False)
    assert kept.weights(learnt, at)[1].tolist() == [0.0, 2**-1, 2**-3]
    recent = Policy.parse("recent", 1, normalise=False)
    assert recent.weights(learnt, at)[1].tolist() == [0.0, 2**-5, 2**-3]
    alike = Policy.parse("uniform", normalise=False)
    assert alike.weights(learnt, at)[1].tolist() == [0.0, 1.0, 1.0]
    lifelong, told = lived()
    row = one_of(lifelong, scoring(alike), "policy_score")
    assert row.value == pytest.approx(sum(value_of(told, 4, t, "base") for t in range(4)))
    assert "weights:as-given" in row.signature
    assert "weights:as-given" not in one_of(lifelong, scoring(), "policy_score").signature
