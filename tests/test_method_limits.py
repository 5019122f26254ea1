"""Limits of a method by `auto`: of the mean over runs and of one more run, and of differences."""

import msgspec
import numpy as np
import pytest
from scipy.special import stdtrit

import truecost as tc
from truecost.core.runs import limits_of_mean, limits_of_one

PLAN = tc.Plan(replicates=200, seed=5)
UNITS, SIZE = 30, 6
SPEAKERS = np.repeat(np.arange(UNITS), SIZE)
LABELS = np.tile([0, 1, 1], UNITS * SIZE // 3)


def runs_of(count, name="cnn", **kept):
    return tc.Runs(name, {"seed": tuple(f"{k:02d}" for k in range(count))}, **kept)


def members(errors, measure="total_error", units=UNITS, first=0):
    """The estimates of runs that err in these shares of their trials."""
    found = []
    for k, error in enumerate(errors):
        wrong = np.random.default_rng(first + k).random(units * SIZE) < error
        labels, speakers = LABELS[: units * SIZE], SPEAKERS[: units * SIZE]
        decided = np.where(wrong, 1 - labels, labels)
        trials = tc.Trials.from_arrays(decided, labels, kind="decision", unit=speakers)
        found += tc.score_system(trials, tc.Scoring(measures=(measure,), plan=PLAN))
    return found


def numbers(offsets, units=UNITS, seed=0):
    """The mean absolute errors of runs, each above those of the test by its own offset."""
    rng = np.random.default_rng(seed)
    hard = rng.gamma(4, 1, units)
    found = []
    for offset in offsets:
        predicted = hard + offset + 0.2 * rng.random(units)
        trials = tc.Trials.from_arrays(
            predicted, np.zeros(units), kind="number", unit=np.arange(units)
        )
        found += tc.score_system(trials, tc.Scoring(measures=("mae",), plan=PLAN))
    return found


def test_with_one_run_both_are_the_interval_of_that_run():
    [member] = members([0.2])
    found = tc.estimate_method([member], runs_of(1), PLAN)
    for row in (found.run, found.mean):
        assert (row.lower, row.upper) == (member.lower, member.upper)
        assert row.left_out == member.left_out


def test_of_the_mean_each_unit_and_each_run_is_left_out():
    found = members([0.1, 0.2, 0.3, 0.2])
    told = limits_of_mean(found, runs_of(4))
    unit, seed = told.left_out
    assert (unit.factor, seed.factor) == ("unit", "seed of cnn")
    np.testing.assert_allclose(unit.values, np.mean([e.left_out[0].values for e in found], axis=0))
    points = [e.point for e in found]
    wanted = [np.mean(points[:k] + points[k + 1 :]) for k in range(4)]
    np.testing.assert_allclose(seed.values, wanted)
    assert (seed.units, seed.kish) == (4, 4)


def test_held_runs_are_not_left_out_and_crossed_ones_by_their_levels():
    found = members([0.1, 0.2, 0.3, 0.2])
    [unit] = limits_of_mean(found, runs_of(4, hold=("seed",))).left_out
    assert unit.factor == "unit"
    crossed = tc.Runs("cnn", {"seed": ("1", "2", "1", "2"), "set": ("a", "a", "b", "b")})
    _, seed, sets = limits_of_mean(found, crossed).left_out
    points = np.array([e.point for e in found])
    np.testing.assert_allclose(seed.values, [points[[1, 3]].mean(), points[[0, 2]].mean()])
    np.testing.assert_allclose(sets.values, [points[2:].mean(), points[:2].mean()])


def test_limits_of_a_smooth_measure_by_hand():
    """On the logarithm: squares of the standard errors of test and runs add, as said in words."""
    found = numbers([0.0, 1.0, 2.5])
    told = limits_of_mean(found, runs_of(3))
    logs, at = np.log([e.point for e in found]), np.log(np.mean([e.point for e in found]))
    down = np.mean(logs - np.log([e.lower for e in found]))
    tests = np.array([e.left_out[0].values for e in found])
    points = np.array([e.point for e in found])

    def error(values, value):
        return np.sqrt((UNITS - 1) / UNITS * ((values - value) ** 2).sum())

    own = [error(tests[j], points[j]) for j in range(3)]
    down *= error(tests.mean(axis=0), points.mean()) / np.mean(own)
    d = tests.mean(axis=0) - tests.mean()
    fourth, second = (d**4).sum(), (d**2).sum()
    freedom = min(UNITS - 1, 2 * second**2 / (fourth - second**2 / UNITS))
    without = np.log((points.sum() - points) / 2)
    runs = 2 / 3 * ((without - at) ** 2).sum()
    test = (down / stdtrit(freedom, 0.975)) ** 2
    nu = (test + runs) ** 2 / (test**2 / freedom + runs**2 / 2)
    assert told.lower == pytest.approx(
        np.exp(at - stdtrit(nu, 0.975) * np.sqrt(test + runs)), rel=1e-9
    )
    assert told.upper / points.mean() > points.mean() / told.lower  # one more run like the worst


def test_one_more_run_is_never_told_better_than_a_single_run():
    for errors in ([0.2] * 4, [0.05, 0.3, 0.1, 0.2]):
        found = members(errors)
        told, mean = limits_of_one(found, runs_of(4)), limits_of_mean(found, runs_of(4))
        points, lower = np.array([(e.point, e.lower) for e in found]).T
        assert told.lower <= points.mean() * np.exp(np.mean(np.log(lower / points))) + 1e-12
        assert told.upper - told.lower > mean.upper - mean.lower


def test_runs_without_errors_leave_room_for_some():
    found = members([0.0, 0.0, 0.0], measure="p_miss")
    for told in (limits_of_mean(found, runs_of(3)), limits_of_one(found, runs_of(3))):
        assert told.lower == 0
        assert told.upper == pytest.approx(found[0].upper)
        assert told.upper > 0.02


def test_a_share_never_leaves_its_range():
    found = members([0.0, 0.0, 0.6], measure="p_miss", units=4)
    told = limits_of_one(found, runs_of(3))
    assert told.lower == 0
    perfect = members([0.0, 0.0, 0.6], measure="accuracy", units=4)
    assert limits_of_one(perfect, runs_of(3)).upper == 1


def test_a_run_without_interval_says_why():
    found = numbers([0.5, 1.0])
    found[1] = msgspec.structs.replace(found[1], lower=None, upper=None, reason="no interval: why")
    for limits in (limits_of_mean, limits_of_one):
        told = limits(found, runs_of(2))
        assert (told.lower, told.upper, told.reason) == (None, None, "no interval: why")


def test_rows_say_auto_and_the_correlation_assumed():
    found = tc.estimate_method(members([0.1, 0.2, 0.3]), runs_of(3), PLAN)
    for row in (found.run, found.mean):
        assert row.method == "auto"
        assert "|auto:0.95|icc:0.1|" in row.signature
        assert row.lower < row.value < row.upper
    assert found.run.half_width > found.mean.half_width


@pytest.mark.parametrize("estimator", ["mean", "run"])
def test_few_runs_widen_a_difference(estimator):
    """The same errors by ten times the runs: the difference is surer."""
    new, old = [0.1, 0.2, 0.15], [0.3, 0.25, 0.35]
    few, many = (
        tc.compare_methods(
            tc.estimate_method(members(new * times), runs_of(3 * times, "new"), PLAN),
            tc.estimate_method(members(old * times, first=90), runs_of(3 * times, "old"), PLAN),
            estimator,
        ).difference
        for times in (1, 10)
    )
    assert few.lower < few.value < few.upper
    assert few.half_width > 1.3 * many.half_width
    assert {"seed of new", "seed of old"} <= set(few.factors)


def test_the_mean_of_a_difference_takes_percentiles_where_runs_and_units_are_many():
    new, old = (
        tc.estimate_method(members([share] * 25, first=first), runs_of(25, name), PLAN)
        for name, share, first in (("new", 0.15, 0), ("old", 0.3, 50))
    )
    found = tc.compare_methods(new, old).difference
    wanted = np.quantile(found.replicates, (0.025, 0.975))
    np.testing.assert_allclose([found.lower, found.upper], wanted)


def test_training_sets_with_other_names_are_drawn_apart():
    """Methods share the column of training sets, but not the sets."""
    found = members([0.1, 0.2, 0.3, 0.2, 0.1])
    a = tc.Runs("new", {"set": ("a", "b")}, sets="set")
    b = tc.Runs("old", {"set": ("c", "d", "e")}, sets="set")
    methods = [
        tc.estimate_method(found[:2], a, PLAN),
        tc.estimate_method(found[2:], b, PLAN),
    ]
    row = tc.compare_methods(*methods).difference
    assert row.lower < row.value < row.upper
