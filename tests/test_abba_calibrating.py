"""Machine scores to probabilities: known truths, weights, folds, the table by cell, bad inputs."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

import truecost as tc
from truecost.calibration import Pav, Spline
from truecost.core.subsets import folds as deal
from truecost.tasks.abba.calibrating import calibrate_machine
from truecost.tasks.abba.records import CELLS, Deployment


def platt(scores):
    return expit((scores - 25) / 5)


def bent(scores):
    """Rises early, rests at 0.4, and rises again: no logistic curve."""
    return 0.05 + 0.35 * expit(scores - 12) + 0.55 * expit(scores - 38)


def gentle(scores):
    """Rises slowly in a straight line, as a polynomial can."""
    return 0.2 + 0.6 * scores / 50


def drawn(count=3000, share=1.0, seed=0, law=platt, units=None, name="log"):
    """A log whose machine scores have a known law; a share of its items has labels."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 50, count)
    labels = (rng.random(count) < law(scores)).astype(float)
    labels[rng.random(count) >= share] = np.nan
    arm, other = rng.integers(0, 2, count).astype(np.uint8), rng.random(count) < 0.8
    of = {}
    if units:
        of["user"] = (np.array([f"{name}-{u:04}" for u in rng.integers(0, units, count)]),)
    ids = np.array([f"{name}{k:05}" for k in range(count)])
    frame = pl.DataFrame({"id": ids})
    return Deployment(name, ids, arm, other, labels, machine=scores, units=of, frame=frame)


# Known truths


@pytest.mark.parametrize(
    ("law", "method", "far"),
    [
        (platt, None, 0.015),
        (platt, "affine", 0.015),
        (platt, "poly3", 0.015),
        (platt, "pav", 0.03),
        (bent, None, 0.02),
        (bent, "pav", 0.03),
    ],
)
def test_the_probability_of_a_known_law_is_found(law, method, far):
    log = drawn(8000, 0.5, law=law)
    found = calibrate_machine(log, method=method)
    assert np.abs(found.probabilities - law(log.machine)).mean() < far
    assert found.labels == int(log.labelled.sum())
    assert not [p for p in found.problems if "differ" in p]
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()


def test_a_wrong_form_is_told():
    log = drawn(8000, 0.5, law=bent)
    found = calibrate_machine(log, method="affine")
    [problem] = [p for p in found.problems if "isotonic" in p]
    assert problem.startswith(
        f"the mapping differs from the isotonic one by {found.mean_difference:.3f}"
    )
    assert found.mean_difference > 0.05


@pytest.mark.parametrize(
    ("count", "method", "logs"),
    [
        (60, "affine", 25),
        (300, "spline", 8),
        pytest.param(300, "spline", 25, marks=pytest.mark.long),
        *(pytest.param(n, "affine", 25, marks=pytest.mark.long) for n in (300, 1000)),
    ],
)
def test_chance_is_no_wrong_form(count, method, logs):
    found = [calibrate_machine(drawn(count, seed=seed), method=method) for seed in range(logs)]
    assert sum("isotonic" in p for one in found for p in one.problems) <= 1


def test_training_data_of_their_own():
    train = drawn(3000, seed=1, name="dev")
    log = drawn(500, 0.3, seed=2)
    found = calibrate_machine(log, train)
    spline = Spline.fit(train.machine, train.label)
    expected = expit(spline(log.machine) + logit(train.label.mean()))
    assert found.probabilities == pytest.approx(expected, abs=1e-12)
    assert (found.trained, found.method, found.labels) == ("train-dev", "spline", 3000)
    assert found.problems == ()
    assert found.parameters == [spline.parameters]


# Weights


@pytest.mark.parametrize("method", ["spline", "affine", "pav", "poly3"])
def test_labels_weigh_the_inverse_of_their_inclusion_probability(method):
    """High scores were labelled four times as often; unweighted, the mean would be far off."""
    log = drawn(6000, law=bent)
    rng = np.random.default_rng(5)
    inclusion = np.where(log.label == 1, 0.8, 0.2)
    chosen = rng.random(6000) < inclusion
    some = replace(log, label=np.where(chosen, log.label, np.nan), inclusion=inclusion)
    found = calibrate_machine(some, method=method)
    plain = calibrate_machine(replace(some, inclusion=None), method=method)
    truth = bent(log.machine).mean()
    assert found.probabilities.mean() == pytest.approx(truth, abs=0.02)
    assert plain.probabilities.mean() > truth + 0.15


def test_a_weight_of_two_is_two_items():
    log = drawn(400, seed=3)
    inclusion = np.where(np.arange(400) % 3 == 0, 0.5, 1.0)
    found = calibrate_machine(drawn(50), replace(log, inclusion=inclusion), "pav")
    rows = np.repeat(np.arange(400), (1 / inclusion).astype(int))
    pav = Pav.fit(log.machine[rows], log.label[rows])
    expected = expit(pav(drawn(50).machine) + logit(log.label[rows].mean()))
    assert found.probabilities == pytest.approx(expected, abs=1e-12)


def test_platts_targets_by_hand():
    log = drawn(60, seed=4)
    found = calibrate_machine(drawn(20, name="new"), log)
    positive = int(log.label.sum())
    high, low = (positive + 1) / (positive + 2), 1 / (60 - positive + 2)
    targets = np.where(log.label == 1, high, low)
    p = expit(found.parameters[0]["scale"] * log.machine + found.parameters[0]["offset"])
    odds = logit(targets.mean())
    p = expit(logit(p) + odds)
    # at the minimum of the logistic loss the residuals are 0, plain and times the score
    assert (targets - p).sum() == pytest.approx(0, abs=1e-9)
    assert ((targets - p) * log.machine).sum() == pytest.approx(0, abs=1e-7)
    assert found.method == "affine"
    assert found.problems[0] == "60 labels: affine (Platt) in place of the spline, below 100"


def test_scores_that_separate_the_labels_can_be_calibrated():
    log = drawn(300)
    log = replace(log, label=(log.machine > 25).astype(float))
    found = calibrate_machine(log)
    assert found.method == "affine"
    assert (
        "in place of the spline, which cannot be fitted: log, without fold 1: " in found.problems[0]
    )
    assert "separate" in found.problems[0]
    assert np.abs(found.probabilities - log.label).mean() < 0.06
    pav = calibrate_machine(log, method="pav").probabilities
    assert np.isin(pav, (0, 1)).all()
    with pytest.raises(
        tc.InputError, match="without fold 1: method spline: the machine scores sep"
    ):
        calibrate_machine(log, method="spline")


# Folds


def test_no_label_of_a_unit_has_a_say_in_its_probabilities():
    log = drawn(1500, 0.4, units=60)
    found = calibrate_machine(log, method="affine", seed=3)
    users = log.units["user"][0]
    known = np.flatnonzero(log.labelled)
    part = deal(users[known], 5, 3, log.label[known].astype(int))
    assert found.trained == "folds5:by-user:seed3"
    own = known[part == 2]
    assert not set(users[own]) & set(users[known[part != 2]])
    moved = log.label.copy()
    rng = np.random.default_rng(0)
    for user in np.unique(users[own]):  # the dealing balances labels by unit: it has to stay
        rows = own[users[own] == user]
        moved[rows] = rng.permutation(moved[rows])
    assert (moved[own] != log.label[own]).any()
    again = calibrate_machine(replace(log, label=moved), method="affine", seed=3)
    assert (again.probabilities[own] == found.probabilities[own]).all()
    others = known[part != 2]
    assert (again.probabilities[others] != found.probabilities[others]).all()


def test_items_without_a_label_get_the_mean_over_the_fits():
    log = drawn(900, 0.5)
    found = calibrate_machine(log, method="affine", folds=3)
    known = np.flatnonzero(log.labelled)
    part = deal(log.ids[known], 3, 0, log.label[known].astype(int))
    each = []
    for k in range(3):
        rows = known[part != k]
        train = replace(log, inclusion=1 / log.label_weights).take(rows)
        each.append(calibrate_machine(replace(log, name="other"), train, "affine").probabilities)
    assert found.probabilities[~log.labelled] == pytest.approx(
        np.mean(each, axis=0)[~log.labelled], abs=1e-12
    )
    expected = np.array(each)[part, known]
    assert found.probabilities[known] == pytest.approx(expected, abs=1e-12)
    assert len(found.calibrators) == 3


def test_the_same_input_gives_the_same_bytes_and_order_has_no_say():
    log = drawn(1200, 0.5, units=200)
    one, two = calibrate_machine(log), calibrate_machine(log)
    assert one.probabilities.tobytes() == two.probabilities.tobytes()
    assert json.dumps(one.summary()) == json.dumps(two.summary())
    order = np.random.default_rng(0).permutation(1200)
    mixed = calibrate_machine(log.take(order))
    assert mixed.probabilities == pytest.approx(one.probabilities[order], abs=1e-6)
    assert (calibrate_machine(log, seed=1).probabilities != one.probabilities).any()


# Checks


def test_the_table_by_cell_by_hand():
    """Two units in 11A, one in 10A, none in 11B; the probabilities are those of the fit."""
    train = drawn(2000, seed=1, name="dev")
    log = Deployment(
        "log",
        np.array(list("abcdefg")),
        np.array([0, 0, 0, 0, 0, 1, 1], np.uint8),
        np.array([True, True, True, True, False, True, True]),
        np.array([1, 0, 1, np.nan, 1, np.nan, np.nan]),
        machine=np.array([30.0, 20, 35, 10, 40, 5, 6]),
        inclusion=np.array([0.5, 1, 0.25, 1, 1, 1, 1]),
        units={"user": (np.array(["u", "u", "v", "w", "x", "y", "y"]),)},
    )
    found = calibrate_machine(log, train)
    table = found.by_cell
    assert table["cell"].to_list() == list(CELLS)
    assert table["items"].to_list() == [4, 1, 2, 0]
    assert table["labels"].to_list() == [3, 1, 0, 0]
    assert table["units"].to_list() == [2, 1, 0, 0]
    p = found.probabilities[:3]
    mean = (2 * p[0] + p[1] + 4 * p[2]) / 7
    row = table.row(0, named=True)
    assert row["mean_probability"] == pytest.approx(mean)
    assert row["share_positive"] == pytest.approx(6 / 7)
    difference = 6 / 7 - mean
    residuals = np.array([2, 1, 4]) * (np.array([1, 0, 1]) - p - difference)
    between = 2 * ((residuals[0] + residuals[1]) ** 2 + residuals[2] ** 2)
    drawn_ = 4 * p[0] * (1 - p[0]) + p[1] * (1 - p[1]) + 16 * p[2] * (1 - p[2])
    error = np.sqrt(max(between, drawn_)) / 7
    assert row["difference"] == pytest.approx(difference)
    assert row["standard_error"] == pytest.approx(error)
    reach = student.ppf(0.975, 1) * error
    assert (row["lower"], row["upper"]) == pytest.approx(
        (max(difference - reach, -1), min(difference + reach, 1))
    )
    one, none = table.row(1, named=True), table.row(2, named=True)
    assert (one["mean_probability"], one["share_positive"]) == (found.probabilities[4], 1)
    assert np.isnan([one["standard_error"], one["lower"], one["upper"]]).all()
    assert np.isnan([none["mean_probability"], none["share_positive"], none["difference"]]).all()
    assert found.summary()["by_cell"][3]["share_positive"] is None


def test_the_interval_of_a_cell_covers():
    """Clustered: the users of a log differ in how often the machine is right."""
    train = drawn(6000, seed=99, name="dev")
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        log = drawn(400, seed=seed, units=60)
        _, user = np.unique(log.units["user"][0], return_inverse=True)
        odds = logit(platt(log.machine)) + rng.normal(0, 1.5, 60)[user % 60]
        labels = (rng.random(400) < expit(odds)).astype(float)
        table = calibrate_machine(replace(log, label=labels), train, "affine").by_cell
        inside += sum((table["lower"] <= 0) & (table["upper"] >= 0))
    assert 0.93 <= inside / 800 <= 0.985


def test_another_mix_of_labels_is_told():
    train = drawn(3000, seed=1, name="dev", law=lambda s: platt(s + 12))
    log = drawn(1500, 0.5, seed=2)
    [problem] = calibrate_machine(log, train).problems
    assert problem.startswith("mean probability and share of true accepts differ in 11A (0.7")
    assert "soft is biased there, corrected is not; the training data may have" in problem
    assert not calibrate_machine(log).problems


def test_a_machine_that_is_wrong_on_one_arm_is_told():
    """Cross-fitted on all cells together, a machine that errs on one arm is biased in each."""
    log = drawn(4000, seed=2)
    wrong = np.where(log.arm == 0, log.machine + 10, log.machine)
    [problem] = calibrate_machine(replace(log, machine=wrong)).problems
    for cell in ("11A", "11B"):
        assert f"{cell} (" in problem
    assert "training data" not in problem


def test_a_difference_by_chance_is_rarely_told():
    train = drawn(6000, seed=99, name="dev")
    told = sum(
        "differ in" in p
        for seed in range(100)
        for p in calibrate_machine(drawn(200, 0.5, seed=seed), train, "affine").problems
    )
    assert told <= 10


def test_a_log_without_labels_cannot_be_checked():
    [problem] = calibrate_machine(drawn(100, 0), drawn(seed=1, name="dev")).problems
    assert problem.startswith("the log has no labels: it is not known whether its mix")


def test_the_curve_and_the_isotonic_check():
    log = drawn(1000, 0.6)
    found = calibrate_machine(log)
    curve = found.curve
    known = log.machine[log.labelled]
    assert curve.columns == ["score", "probability", "isotonic"]
    assert (curve["score"].min(), curve["score"].max()) == (known.min(), known.max())
    assert (np.diff(curve["probability"]) >= 0).all()
    weights = log.label_weights[log.labelled]  # labels of a cell are a sample of it
    pav = Pav.fit(known, log.label[log.labelled], weights=weights)
    odds = logit(np.average(log.label[log.labelled], weights=weights))
    assert curve["isotonic"].to_numpy() == pytest.approx(expit(pav(curve["score"]) + odds))
    assert 0 < found.mean_difference < found.largest_difference < 1
    same = calibrate_machine(drawn(50, seed=9, name="b"), log, "pav")
    assert (same.mean_difference, same.largest_difference) == (0, 0)


def test_what_was_seen_and_what_was_not_is_told():
    train = drawn(400, seed=1, units=20)
    log = drawn(400, seed=2, units=20)
    problems = calibrate_machine(log, train).problems
    assert problems[0].startswith("400 of the items are in both log and log (log00000, ")
    assert problems[1].startswith("20 of the units are in both log and log (log-0000, ")
    low = replace(train.take(train.machine < 40), name="low")
    assert any(
        "items have a machine score beyond those of the labelled items (0." in p
        for p in calibrate_machine(log, low).problems
    )


def test_reversed_scores_are_told():
    log = drawn(600)
    turned = replace(log, machine=-log.machine)
    assert any("reversed" in p for p in calibrate_machine(turned).problems)
    assert any("in 5 of 5 fits" in p for p in calibrate_machine(turned, method="affine").problems)


def test_poly3_falls_back_and_says_so():
    found = calibrate_machine(drawn(1500), method="poly3")
    [problem] = found.problems
    assert problem.startswith("the cubic polynomial falls and leaves [0, 1] at low and high scores")
    assert problem.endswith("a monotone spline is used instead (in 5 of 5 fits)")
    assert (found.probabilities == calibrate_machine(drawn(1500)).probabilities).all()
    assert (found.method, found.fallbacks) == ("spline", 5)
    assert found.fitted == "spline (poly3 was unsuitable in 5 of 5 folds)"


def test_a_spline_in_some_folds_is_told():
    found = calibrate_machine(drawn(120, seed=6, law=gentle), method="poly3")
    assert (found.method, found.fallbacks) == ("poly3", 2)
    assert found.fitted == "poly3 (replaced by a spline in 2 of 5 folds)"


def test_a_summary_is_plain():
    found = calibrate_machine(drawn(400, 0.5), method="pav").summary()
    keys = "method fallbacks trained labels fits isotonic by_cell problems"
    assert list(found) == keys.split()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


# Bad inputs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machine": None}, "log: there are no machine scores to calibrate: name their column"),
        ({"label": np.full(200, np.nan)}, "log: no item has a label to calibrate on"),
        ({"label": np.ones(200)}, r"log: all 200 labels are 1: a calibration needs true accepts"),
        ({"machine": np.full(200, 3.5)}, "log: all labelled items have the machine score 3.5"),
        (
            {"label": np.where(np.arange(200) < 9, np.arange(200) % 2, np.nan)},
            "log: 9 labels: at least 10 are needed",
        ),
        (
            {"machine": np.where(np.arange(200) < 2, np.nan, np.arange(200))},
            r"log: 2 items have no finite machine score \(log00000, log00001\)",
        ),
        (
            {"units": {"user": (np.array(["a", "b", "c", "d"] * 50),)}},
            "log, labelled items: 4 units for 5 folds",
        ),
        (
            {"label": (np.arange(200) == 0).astype(float)},
            "log, without fold .: all 160 labels to train on are 0",
        ),
        (
            {"machine": np.arange(200) % 3, "label": np.arange(200) // 3 % 2.0},
            None,
        ),
    ],
)
def test_data_that_cannot_be_calibrated(change, message):
    log = replace(drawn(200), **change)
    if message is None:
        with pytest.raises(tc.InputError, match="3 different scores"):
            calibrate_machine(log, method="poly3")
        return
    with pytest.raises(tc.InputError, match=message):
        calibrate_machine(log)
    if "units" not in change and "fold" not in message:
        with pytest.raises(tc.InputError, match=message):
            calibrate_machine(replace(drawn(20), name="other"), log)


def test_requests_that_cannot_be_met():
    log = drawn(200, units=20)
    with pytest.raises(tc.UsageError, match="is 'temperature': choose one of spline, poly3"):
        calibrate_machine(log, method="temperature")
    with pytest.raises(tc.UsageError, match="folds is 1: give a number at least 2"):
        calibrate_machine(log, folds=1)
    sides = replace(log, units={"user": (log.ids, log.ids)})
    with pytest.raises(tc.UsageError, match="an item has 2 units"):
        calibrate_machine(sides)
