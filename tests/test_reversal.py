"""Reversed scores are refused, and those of systems that know nothing are not."""

import numpy as np
import pytest

import truecost as tc
from truecost.core.factors import Factor
from truecost.tasks.trials.validation import beyond_chance

PLAN = tc.Plan(10, seed=0)


def refused(scores, targets, *columns, weights=None):
    """Whether scores are refused, with a factor for each column of units; trials without."""
    given = columns or (np.arange(len(scores)),)
    sides = [Factor.encode(f"f{k}", np.asarray(units)) for k, units in enumerate(given)]
    return beyond_chance(np.asarray(scores, float), np.asarray(targets) == 1, sides, weights)


def test_systems_that_know_nothing_are_scored():
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(40):
        labels = np.arange(200) % 2
        trials = tc.Trials.from_arrays(rng.normal(size=200), labels, kind="score")
        (row,) = tc.score_system(trials, tc.Scoring(measures=("auc",), plan=PLAN))
        below += row.value < 0.5
    assert below > 10


@pytest.mark.parametrize("size", [40, 200, 2000])
def test_chance_is_refused_in_one_of_a_thousand_at_most(size):
    rng = np.random.default_rng(size)
    draws = 1500
    found = sum(refused(rng.normal(size=size), rng.random(size) < 0.3) for _ in range(draws))
    assert found <= 4  # expected: 0.0005 of them


def test_chance_of_trials_that_hang_together_is_not_refused():
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(20), 50)
    speakers, sides = 0, 0
    for _ in range(300):
        labels = rng.random(1000) < 0.5
        own = rng.normal(size=(2, 20))[labels.astype(int), units]  # of a speaker and a class
        scores = own + rng.normal(size=1000)
        speakers += refused(scores, labels, units)
        sides += refused(scores, labels)
    assert sides > 30  # a rule that knows no speakers would refuse these
    assert speakers <= 2


def test_crossed_factors_add_up():
    rng = np.random.default_rng(4)
    first, second = (side.ravel() for side in np.indices((30, 30)))
    found = 0
    for _ in range(300):
        labels = rng.random(900) < 0.5
        own = rng.normal(size=(2, 2, 30))
        classes = labels.astype(int)
        scores = own[0, classes, first] + own[1, classes, second] + rng.normal(size=900)
        found += refused(scores, labels, first, second)
    assert found <= 2


def test_reversed_systems_are_refused():
    rng = np.random.default_rng(1)
    labels = np.arange(200) % 2
    for _ in range(100):
        scores = rng.normal(-1.0 * labels)  # an AUC of 0.24
        assert refused(scores, labels)
        assert refused(scores, labels, weights=np.full(200, 3.0))
        assert not refused(-scores, labels)


def test_all_pairs_the_wrong_way_need_enough_trials_and_units():
    """The variance of the placements is 0 then."""
    assert not refused([1.0, 0.0], [0, 1])
    assert not refused([3.0, 2.0, 1.0, 0.0], [0, 0, 1, 1])
    assert refused(-(np.arange(60) % 2.0), np.arange(60) % 2)
    assert refused(-(np.arange(60) % 2.0), np.arange(60) % 2, np.arange(60) // 3)
    assert not refused(-(np.arange(60) % 2.0), np.arange(60) % 2, np.arange(60) // 20)
    assert not refused(-(np.arange(60) % 2.0), np.arange(60) % 2, np.zeros(60))


def test_one_target_is_too_few_to_tell():
    trials = tc.Trials.from_arrays([0.0, *np.arange(1.0, 500)], [1, *[0] * 499], kind="score")
    (row,) = tc.score_system(trials, tc.Scoring(measures=("auc",), plan=PLAN))
    assert row.value == 0


def test_the_message_says_what_to_do():
    labels = np.arange(100) % 2
    trials = tc.Trials.from_arrays(-1.0 * labels, labels, kind="score", name="turned")
    with pytest.raises(tc.InputError, match=r"turned: .*0\.0% of the pairs .*allow_reversed"):
        tc.score_system(trials, tc.Scoring(plan=PLAN))
    tc.score_system(trials, tc.Scoring(plan=PLAN, choices=tc.TrialsScoring(allow_reversed=True)))
