"""What characteristics say of the class: encoding, cross-fitting by group, what chance gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.kernels.calibrating import softmax_pass
from truecost.protocol import predicting
from truecost.protocol.grouping import MOST, Levels, Numbers, alike, by_text, column_of, encoded
from truecost.protocol.predicting import (
    MODELS,
    PENALTIES,
    Predicting,
    alone_in_units,
    boosting,
    logistic,
    predict,
    shares,
)


def drawn(seed, groups=40, each=8, classes=2, effect=0.0, of_group=False):
    """Device, duration, class and group of samples; a share `effect` of devices is the class."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), each)
    labels = rng.integers(0, classes, groups)[group] if of_group else None
    labels = rng.integers(0, classes, len(group)) if labels is None else labels
    device = rng.integers(0, 3, groups)[group]
    device = np.where(rng.random(len(group)) < effect, labels, device)
    seconds = rng.gamma(2, 1, len(group)) * np.exp(0.3 * rng.normal(size=groups))[group]
    columns = [
        column_of("device", [f"d{d}" for d in device]),
        column_of("duration", [f"{s:.3f}" for s in seconds]),
    ]
    return columns, labels, group


def judged(posteriors, labels, group, replicates=200):
    trials = tc.Trials.from_arrays(posteriors, labels, kind="posterior", unit=group)
    plan = tc.Plan(replicates, seed=1)
    return tc.score_system(trials, tc.Scoring(measures=("nce", "nec"), plan=plan))


# Columns as numbers.


def test_one_very_long_cell_takes_no_memory_of_its_length_for_each_row():
    texts = [*(f"d{k % 3}" for k in range(100_000)), "z" * 1_000_000]  # 373 GiB at a fixed width
    assert len(column_of("device", texts).levels) == 4
    assert by_text(np.array(texts, dtype=object))[-1] == 100_000


@pytest.mark.parametrize("ids", [["b", "é", "a", "B", ""], ["u10", "u9", "u1"], [1, 10, 9]])
def test_ids_are_ordered_as_texts(ids):
    expected = sorted(range(len(ids)), key=lambda k: str(ids[k]))
    assert by_text(np.array(ids)).tolist() == expected
    assert by_text(np.array(ids, dtype=object)).tolist() == expected


def test_a_column_of_levels_has_a_number_a_level():
    column = column_of("device", ["b", "a", "", "b"])
    assert isinstance(column, Levels)
    assert column.levels == ("", "a", "b")  # what is missing is a level
    np.testing.assert_array_equal(
        column.encoded(np.ones(4, bool)), [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    )


def test_a_level_that_was_not_trained_on_tells_nothing():
    column = column_of("device", ["a", "b", "c"])
    train = np.array([True, True, False])
    np.testing.assert_array_equal(column.encoded(train)[2], [0, 0])


def test_the_most_frequent_levels_are_told_apart():
    texts = [f"d{k:03}" for k in range(MOST + 50)] + ["d240"]
    matrix = column_of("device", texts).encoded(np.ones(len(texts), bool))
    assert matrix.shape[1] == MOST
    assert matrix[240].sum() == matrix[-1].sum() == 1


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ([str(k) for k in range(11)], Numbers),
        ([str(k % 10) for k in range(100)], Levels),  # a session of 0 to 9
        ([*(str(k) for k in range(20)), "", "NA", "nan"], Numbers),
        ([*(str(k) for k in range(20)), "long"], Levels),
        ([*(str(k) for k in range(20)), "inf"], Levels),
        ([f"{k:02}" for k in range(20)], Levels),  # 07 is the name of a room
        ([f"0.{k:02}" for k in range(20)], Numbers),
    ],
)
def test_numbers_are_told_from_levels(texts, kind):
    assert isinstance(column_of("c", texts), kind)


def test_numbers_are_standardised_by_the_training_samples_and_cut_in_fifths():
    values = np.arange(20.0)
    train = values < 15
    column = column_of("c", [*map(str, values), ""])
    matrix = column.encoded(np.append(train, False))
    standard = (values - 7) / np.arange(15).std()
    np.testing.assert_allclose(matrix[:20, 0], standard)
    np.testing.assert_array_equal(matrix[:15, 1:].sum(axis=0), [3, 3, 3, 3, 3])
    np.testing.assert_array_equal(matrix[:20, 1:].sum(axis=1), 1)
    assert not matrix[20].any()  # missing, and never seen so


@pytest.mark.parametrize("size", [1e308, 1e-300, 2.0**-40])
def test_huge_and_tiny_numbers_are_standardised_as_others(size):
    values = np.array([-1.5, -1, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.625, 1.75])
    train = np.ones(12, bool)
    found = Numbers("c", size * values[:, None]).encoded(train)
    np.testing.assert_allclose(found, Numbers("c", values[:, None]).encoded(train), rtol=1e-12)
    train[-1] = False
    far = Numbers("c", np.append(values[:-1] * 1e-300, 1e308)[:, None]).encoded(train)
    assert far[-1, 0] == 4


def test_far_numbers_are_no_farther_than_four_deviations():
    column = column_of("c", [*map(str, range(20)), "1e9"])
    matrix = column.encoded(np.arange(21) < 20)
    assert matrix[20, 0] == 4


def test_no_columns_are_refused():
    with pytest.raises(UsageError, match="no characteristics to predict from"):
        encoded([], np.ones(3, bool))


def test_levels_that_lie_in_one_group_each_are_known():
    groups = ["a", "a", "b", "c"]
    assert alone_in_units(column_of("session", ["1", "1", "2", "3"]), groups)
    assert not alone_in_units(column_of("session", ["1", "2", "2", "3"]), groups)
    assert not alone_in_units(column_of("session", ["1", "1", "1", "1"]), groups)


# The predictors.


def test_the_softmax_pass_is_the_loss_with_its_gradient():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(7, 3)) * (rng.random((7, 3)) < 0.7), rng.integers(0, 4, 7)
    weights, parameters = rng.random(7), rng.normal(size=(4, 4))

    def loss(flat):
        p = flat.reshape(4, 4)
        logits = x @ p[:-1] + p[-1]
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -(weights * logs[np.arange(7), labels]).sum()

    gradient = np.empty((4, 4))
    value = softmax_pass(x, labels, weights, parameters, gradient)
    assert value == pytest.approx(loss(parameters.ravel()))
    steps = 1e-6 * np.eye(16)
    slopes = [(loss(parameters.ravel() + h) - loss(parameters.ravel() - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-8)


@pytest.mark.parametrize("penalty", [0, 3, len(PENALTIES) - 1])
def test_logistic_is_that_of_scikit_learn(penalty):
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    x, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    labels[:20] = (x[:20, 0] > 0).astype(int)
    weights = rng.random(60) + 0.5
    found = logistic(x, labels, weights, x, 3)[1 + penalty]
    strength = 1 / (PENALTIES[penalty] * weights.sum())
    model = linear.LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)
    expected = model.fit(x, labels, sample_weight=weights).predict_proba(x)
    np.testing.assert_allclose(found, expected, atol=5e-4)


@pytest.mark.parametrize("model", MODELS)
def test_the_first_candidate_knows_the_class_shares_only(model):
    if model == "boosting":
        pytest.importorskip("sklearn")
    rng = np.random.default_rng(2)
    x, labels, weights = rng.normal(size=(50, 2)), rng.choice([0, 2], 50), np.ones(50)
    every = MODELS[model](x, labels, weights, x[:4], 3)
    np.testing.assert_allclose(every[0], np.tile(shares(labels, weights, 3), (4, 1)))
    for posteriors in every:
        np.testing.assert_allclose(posteriors.sum(axis=1), 1)
        assert not posteriors[:, 1].any()  # nobody was taught class 1


def test_boosting_follows_an_interaction_that_logistic_regression_cannot():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 2, (2, 400))
    columns = [column_of("room", one.astype(str)), column_of("device", two.astype(str))]
    group, labels = np.arange(400) // 4, one ^ two
    values = [
        judged(predict(columns, labels, group, "ab", Predicting(m)).posteriors, labels, group)[0]
        for m in ("logistic", "boosting")
    ]
    assert values[0].value > 0.98
    assert values[1].value < 0.2


def test_boosting_is_the_same_for_any_number_of_threads(monkeypatch):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(4)
    x, labels = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(boosting(x, labels, np.ones(200), x, 2)[-1])
    np.testing.assert_array_equal(*found)


# Across folds of whole groups.


@given(seed=st.integers(0, 50), groups=st.integers(6, 12), k=st.integers(2, 3))
@settings(max_examples=10)
def test_no_group_is_trained_on_and_predicted(seed, groups, k):
    seen = []

    def spy(self, train, test):
        seen.append((train.copy(), test.copy()))
        return [np.full((test.sum(), self.classes), 1 / self.classes)] * 2

    columns, labels, group = drawn(seed, groups, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicting._Case, "candidates", spy)
        predict(columns, labels, group, "ab", Predicting(folds=k, seed=seed))
    outer = [test for train, test in seen if (train | test).all()]
    assert np.sum(outer, axis=0).tolist() == [1] * len(labels)  # each sample once
    for train, test in seen:
        assert not {*group[train]} & {*group[test]}
    for fold in outer:  # what is chosen for a fold never saw a sample of it
        used = [t | e for t, e in seen if not (t | e).all() and not ((t | e) & fold).any()]
        assert used


def test_rows_in_another_order_of_equal_ids_give_the_same_bytes():
    columns, labels, group = drawn(5, effect=0.3)
    one = predict(columns, labels, group, "ab")
    two = predict(columns, labels, np.array([f"g{g:02}" for g in group]), "ab")  # renamed
    np.testing.assert_array_equal(one.posteriors, two.posteriors)


def test_probabilities_are_never_below_the_floor():
    labels = np.arange(200) % 2
    columns = [column_of("device", labels.astype(str))]
    found = predict(columns, labels, np.arange(200) // 5, "ab").posteriors
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found.min() >= 1 / (160 + 2) / (1 + 1 / 162)
    assert found.min() < 0.05


def test_a_class_of_one_group_is_predicted_with_the_least_probability_and_said():
    columns, labels, group = drawn(6)
    labels = np.where(group == 0, 2, labels)
    found = predict(columns, labels, group, ("a", "b", "rare"))
    [said] = found.problems
    assert said.startswith("all groups of class rare are in fold ")
    rows = group == 0
    floor = 1 / (len(labels) * 0.8 + 3)
    np.testing.assert_allclose(found.posteriors[rows, 2], floor, rtol=0.1)


def test_samples_without_characteristics_get_the_class_shares():
    columns, labels, group = drawn(7, effect=0.9)
    known = np.arange(len(labels)) % 3 > 0
    found = predict(columns, labels, group, "ab", known=known).posteriors
    of_folds = {tuple(row) for row in np.round(found[~known], 9)}
    assert len(of_folds) <= 5
    assert len({tuple(row) for row in np.round(found[known], 9)}) > 5


def test_alike_samples_are_trained_on_as_one_of_their_weight(monkeypatch):
    columns, labels, group = drawn(4, classes=3, effect=0.3)
    weights = np.where(labels == 1, 2.0, 1.0)
    given = (columns[:1], labels, group, ["a", "b", "c"], None, weights)
    assert alike(columns[:1]).max() == 2
    found = predict(*given)
    rows = []
    monkeypatch.setattr(predicting, "alike", rows.append)
    each = predict(*given)
    assert rows == [columns[:1]]
    np.testing.assert_allclose(found.posteriors, each.posteriors, rtol=1e-9)
    assert found.chosen == each.chosen


def test_kinds_of_samples_are_told_where_it_pays():
    levels = column_of("device", ["b", "a", "b", "a", "b", "b"])
    number = Numbers("seconds", np.array([[1.0], [np.nan], [1.0], [np.nan], [1.0], [0.5]]))
    assert alike([levels]).tolist() == [1, 0, 1, 0, 1, 1]
    assert alike([levels, number]).tolist() == [2, 0, 2, 0, 2, 1]
    assert alike([Numbers("seconds", np.arange(6.0)[:, None])]) is None
    assert alike([Numbers("audio", np.zeros((6, 2)))]) is None


def test_weights_are_those_of_training():
    columns, labels, group = drawn(8)
    weights = np.where(labels == 1, 3.0, 1.0)
    heavy = predict(columns, labels, group, "ab", weights=weights).posteriors
    assert heavy[:, 1].mean() == pytest.approx((weights * labels).sum() / weights.sum(), abs=0.03)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (9, "9 groups for 5 folds: at least 10 are needed.*use folds=4"),
        (4, "use folds=2"),
        (3, "3 groups for 5 folds.*use a finer group"),
    ],
)
def test_too_few_groups_are_refused(groups, said):
    columns, labels, group = drawn(9, groups)
    with pytest.raises(InputError, match=said):
        predict(columns, labels, group, "ab")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "forest"}, "model is 'forest': choose one of logistic, boosting"),
        ({"folds": 1}, "folds is 1: give a number at least 2"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        Predicting(**given)


# What chance gives, and what a planted correlation gives.


def chances(seeds, **given):
    """Normalised cross entropy, and both upper ends, of predictors that can know nothing."""
    found = []
    for seed in range(seeds):
        columns, labels, group = drawn(seed, **given)
        rows = judged(
            predict(columns, labels, group, "abcd"[: labels.max() + 1]).posteriors, labels, group
        )
        found.append([rows[0].value, rows[0].upper, rows[1].upper])
    return np.array(found)


def test_what_knows_nothing_costs_what_the_class_shares_cost():
    found = chances(6)
    assert 0.999 < found[:, 0].mean() < 1.02
    assert (found[:, 1] < 1).sum() <= 1


@pytest.mark.long
@pytest.mark.parametrize(
    "given",
    [{}, {"classes": 4}, {"of_group": True}, {"of_group": True, "groups": 20}, {"each": 1}],
    ids=lambda g: " ".join(g) or "plain",
)
def test_false_alarms_are_rare(given):
    found = chances(100, **given)
    assert found[:, 0].mean() > 0.995
    assert (found[:, 1] < 1).mean() <= 0.05  # nce; one-sided 2.5% are meant
    assert (found[:, 2] < 1).mean() <= 0.05  # nec


@pytest.mark.parametrize("of_group", [False, True])
def test_a_planted_device_is_found(of_group):
    columns, labels, group = drawn(10, 60, effect=0.6, of_group=of_group)
    nce, nec = judged(predict(columns, labels, group, "ab").posteriors, labels, group)
    assert nce.upper < 0.9
    assert nec.upper < 0.9


def test_a_bend_of_a_number_is_found():
    rng = np.random.default_rng(11)
    seconds = rng.uniform(0, 1, 600)
    labels = (np.abs(seconds - 0.5) < 0.2).astype(int)  # neither short nor long
    columns = [column_of("duration", [f"{s:.4f}" for s in seconds])]
    group = np.arange(600) // 10
    nce, _ = judged(predict(columns, labels, group, "ab").posteriors, labels, group)
    assert nce.upper < 0.5
