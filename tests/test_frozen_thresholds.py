"""A subset keeps the threshold that an operating point chose on all trials."""

import numpy as np
import pytest

import truecost as tc
from truecost.core.intervals.smooth import ONE_UNIT

RNG = np.random.default_rng(5)
ROOM = np.arange(600) // 300
LABELS = np.arange(600) % 2
SCORES = RNG.normal(2.0 * LABELS) + 1.5 * ROOM  # the second room has higher scores
TRIALS = tc.Trials.from_arrays(
    *(SCORES, LABELS), kind="score", unit=np.arange(600) // 6, room=np.array(["a", "b"])[ROOM]
)
PLAN = tc.Plan(40, seed=1)


def rows_of(*measures, trials=TRIALS, **more):
    how = tc.TrialsScoring(**more)
    scoring = tc.Scoring(measures=measures, plan=PLAN, subsets=("room",), choices=how)
    return {
        (row.dims.get("subset", ""), row.label): row for row in tc.score_system(trials, scoring)
    }


def threshold_of(name, rate):
    """The slow way: the best threshold of all trials."""
    right, wrong = SCORES[LABELS == 1], SCORES[LABELS == 0]
    found = [(np.mean(right < t), np.mean(wrong >= t), t) for t in np.sort(SCORES)]
    if name == "miss_at_fa":
        return min((miss, t) for miss, fa, t in found if fa <= rate)[1]
    return min((fa, -t) for miss, fa, t in found if miss <= rate)[1] * -1


def rate_of(name, room, threshold):
    chosen = (room == ROOM) & ((name == "miss_at_fa") == LABELS)
    accepted = SCORES[chosen] >= threshold
    return np.mean(~accepted if name == "miss_at_fa" else accepted)


@pytest.mark.parametrize(("name", "rate"), [("miss_at_fa", 0.1), ("fa_at_miss", 0.2)])
def test_a_subset_is_judged_at_the_threshold_of_the_whole(name, rate):
    found = rows_of(f"{name}:{rate}")
    threshold = threshold_of(name, rate)
    for k, room in enumerate("ab"):
        row = found[f"room={room}", f"{name}:{rate}"]
        assert row.value == pytest.approx(rate_of(name, k, threshold))
        low = np.max(SCORES[threshold > SCORES])
        assert low < row.threshold <= threshold + 1e-12
        assert "threshold-of:whole" in row.signature
        assert row.naive == pytest.approx(1 - rate)
        assert {"misses", "false_alarms"} <= row.counts.keys()
    whole = found["", f"{name}:{rate}"]
    assert "threshold-of" not in whole.signature
    both = [rate_of(name, k, threshold) for k in (0, 1)]
    assert whole.value == pytest.approx(np.mean(both))  # as many trials of each class in each room


def test_its_own_threshold_is_chosen_when_asked_for():
    found = rows_of("miss_at_fa:0.1", "eer", threshold_by="subset")
    alone = TRIALS.take(ROOM == 1)
    (expected,) = tc.score_system(alone, tc.Scoring(measures=("miss_at_fa:0.1",), plan=PLAN))
    own = found["room=b", "miss_at_fa:0.1"]
    assert own.value == expected.value
    assert own.replicates.tolist() == expected.replicates.tolist()
    assert (own.lower, own.upper) == (expected.lower, expected.upper)
    assert "threshold-of:subset" in own.signature
    assert "threshold-of" not in found["room=b", "eer:rocch"].signature
    kept = rows_of("miss_at_fa:0.1")
    assert kept["room=b", "miss_at_fa:0.1"].value < own.value
    assert kept["", "miss_at_fa:0.1"].value == found["", "miss_at_fa:0.1"].value


@pytest.mark.parametrize(("name", "rate"), [("miss_at_fa", 0.1), ("fa_at_miss", 0.2)])
def test_the_threshold_is_that_of_the_whole_in_each_replicate(name, rate):
    found = rows_of(f"{name}:{rate}")
    units, codes = tc.Factor.encode("unit", np.arange(600) // 6)
    drawn = PLAN.weights({"unit": units}).block()["unit"]
    for k, room in enumerate("ab"):
        expected = []
        for weights in drawn[:, codes]:
            there = (room == np.array(["a", "b"])[ROOM]) & (weights > 0)
            threshold = weighed_threshold(name, rate, weights)
            of = there & ((name == "miss_at_fa") == LABELS)
            wrong = (threshold <= SCORES) != (name == "miss_at_fa")
            expected.append(np.average(wrong[of], weights=weights[of]))
        row = found[f"room={room}", f"{name}:{rate}"]
        assert row.replicates == pytest.approx(np.array(expected))
        assert row.n_units == 50  # its own, though all 100 are drawn
        assert row.lower < row.value < row.upper, k


def weighed_threshold(name, rate, weights):
    """The slow way: the best threshold of all trials, each with its weight."""
    right, wrong = LABELS == 1, LABELS == 0
    found = [
        (
            np.average(SCORES[right] < t, weights=weights[right]),
            np.average(SCORES[wrong] >= t, weights=weights[wrong]),
            t,
        )
        for t in np.sort(SCORES)
    ]
    if name == "miss_at_fa":
        return min((miss, t) for miss, fa, t in found if fa <= rate + 1e-12)[1]
    return -min((fa, -t) for miss, fa, t in found if miss <= rate + 1e-12)[1]


def test_a_subset_at_the_threshold_of_a_whole_of_its_kind_is_the_whole():
    """A subset that holds every trial has the value and the interval of the whole."""
    scoring = tc.Scoring(
        measures=("miss_at_fa:0.1", "fa_at_miss:0.1"), plan=PLAN, subsets=("score > -100",)
    )
    rows = tc.score_system(TRIALS, scoring)
    for whole, same in zip(rows[:2], rows[2:], strict=True):
        assert (whole.value, whole.lower, whole.upper) == (same.value, same.lower, same.upper)
        assert whole.replicates.tolist() == same.replicates.tolist()


def test_a_subset_of_one_unit_has_no_interval():
    one = np.where(np.arange(600) // 6 == 3, "one", "rest")
    trials = tc.Trials.from_arrays(SCORES, LABELS, kind="score", unit=np.arange(600) // 6, part=one)
    scoring = tc.Scoring(measures=("miss_at_fa:0.1",), plan=PLAN, subsets=("part",))
    row = next(r for r in tc.score_system(trials, scoring) if r.dims.get("subset") == "part=one")
    assert (row.lower, row.upper, row.n_units) == (None, None, 1)
    assert row.reason == ONE_UNIT


def test_rows_keep_the_order_of_the_measures_and_are_compared():
    names = ("miss_at_fa:0.1", "eer", "fa_at_miss:0.1", "auc")
    scoring = tc.Scoring(measures=names, plan=PLAN, subsets=("room",))
    labels = [row.label for row in tc.score_system(TRIALS, scoring)]
    assert labels == ["miss_at_fa:0.1", "eer:rocch", "fa_at_miss:0.1", "auc"] * 3
    _, [compared] = tc.compare_systems([TRIALS, TRIALS], scoring)
    assert [c.difference.value for c in compared] == [0.0] * 12


def test_posteriors_keep_the_training_prior_of_the_whole():
    posteriors = 1 / (1 + np.exp(-SCORES))
    trials = tc.Trials.from_arrays(
        *(posteriors, LABELS),
        kind="posterior",
        unit=np.arange(600) // 6,
        room=np.array(["a", "b"])[ROOM],
    )
    some = trials.take(np.arange(600) % 3 != 1)
    of_scores = rows_of("miss_at_fa:0.1", trials=TRIALS.take(np.arange(600) % 3 != 1))
    found = rows_of("miss_at_fa:0.1", trials=some)
    for key, row in found.items():
        assert row.value == of_scores[key].value


def test_rejecting_everything_stays_so_in_subsets():
    scores = np.where(LABELS == 1, np.arange(600) % 7, 100.0)
    room = np.array(["a", "b"])[ROOM]
    trials = tc.Trials.from_arrays(
        scores, LABELS, kind="score", room=room, unit=np.arange(600) // 6
    )
    found = rows_of("miss_at_fa:0.01", trials=trials, allow_reversed=True)
    assert {row.value for row in found.values()} == {1.0}
