"""Strategies of scikit-activeml through the adapter, against the library itself and ours."""

import inspect
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, MissingExtraError, UsageError
from truecost.learning.loop import Asking
from truecost.learning.snapshots import restorable
from truecost.learning.strategies.mixtures import build
from truecost.learning.system import Answer, Answered, Batch, Outputs, generator

pytest.importorskip("skactiveml")

from skactiveml import pool, stream  # after the check that it is there
from skactiveml.classifier import ParzenWindowClassifier
from skactiveml.stream.budgetmanager import (
    RandomVariableUncertaintyBudgetManager,
    VariableUncertaintyBudgetManager,
)

CLASSES = ("a", "b", "c")


def batch_of(n, seed, index=0, classes=3, dimensions=4):
    """A batch and outputs with all that any strategy reads."""
    random = generator(seed, "test", index)
    probabilities = random.dirichlet(np.ones(classes), n)
    outputs = Outputs(
        tuple(CLASSES[k] for k in probabilities.argmax(axis=1)),
        probabilities.max(axis=1),
        probabilities,
        members=random.dirichlet(np.ones(classes), (5, n)),
    )
    ids = tuple(f"i{index}.{row}" for row in range(n))
    return Batch(index, ids, random.normal(size=(n, dimensions))), outputs


def answered(batch, classes=CLASSES):
    """Answers that depend on the ids only."""
    labels = [classes[int(name.partition(".")[2]) % len(classes)] for name in batch.ids]
    return Answered(
        batch, tuple(Answer(i, label) for i, label in zip(batch.ids, labels, strict=True))
    )


def run(strategy, batches=3, n=20, count=4, seed=0, start=9, classes=CLASSES):
    """Rows of each batch, after a bootstrap set."""
    if start:
        first, _ = batch_of(start, seed, -1, len(classes))
        strategy.learn(first, None, answered(first, classes))
    chosen = []
    for index in range(batches):
        batch, outputs = batch_of(n, seed, index, len(classes))
        rows = strategy.choose(batch, outputs, count)
        assert len(rows) == len(set(rows)) == count
        assert set(rows) <= set(range(n))
        strategy.learn(batch, outputs, answered(batch.take(rows), classes))
        chosen.append(rows)
    return chosen


# Against strategies of ours that must choose the same


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (("UncertaintySampling", {}), ("least-confidence", {})),
        (("UncertaintySampling", {"method": "margin_sampling"}), ("margin", {})),
        (("UncertaintySampling", {"method": "entropy"}), ("entropy", {})),
        (("QueryByCommittee", {}), ("committee", {"disagreement": "divergence"})),
        (("CoreSet", {}), ("k-centre", {})),
        (("CoreSet", {"memory": 10}), ("k-centre", {"memory": 10})),
    ],
    ids=str,
)
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 8))
def test_pool_strategies_choose_what_ours_choose(theirs, ours, seed, count):
    one, other = build(f"activeml:{theirs[0]}", theirs[1], seed), build(*ours)
    start, _ = batch_of(5, seed, -1)
    one.learn(start, None, answered(start))
    if hasattr(other, "learn"):
        other.learn(start, None, answered(start))
    for index in range(3):
        batch, outputs = batch_of(12, seed, index)
        rows = one.choose(batch, outputs, count)
        assert rows == other.choose(batch, outputs, count)
        one.learn(batch, outputs, answered(batch.take(rows)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), step=st.sampled_from([0.01, 0.2, 0.5]))
def test_our_variable_threshold_moves_as_theirs_while_the_budget_lasts(seed, step):
    ours = build("variable-threshold", {"step": step})
    theirs = VariableUncertaintyBudgetManager(theta=1.0, s=step, budget=1.0)
    for index in range(5):
        batch, outputs = batch_of(15, seed, index, 2)
        found = theirs.query_by_utility(1 - outputs.probabilities.max(axis=1))
        theirs.update(batch.features, found)
        rows = ours.choose(batch, outputs, len(batch))
        assert rows[: len(found)] == list(found)
        assert sorted(rows) == [*range(15)]
        assert ours.threshold == pytest.approx(theirs.theta_, rel=1e-12)


def test_our_random_threshold_asks_as_often_as_theirs():
    ours, asked = build("variable-threshold", {"spread": 1.0}, 1), []
    theirs = RandomVariableUncertaintyBudgetManager(budget=1.0, random_state=1)
    for index in range(60):
        batch, outputs = batch_of(50, 0, index, 2)
        found = theirs.query_by_utility(1 - outputs.probabilities.max(axis=1))
        theirs.update(batch.features, found)
        before = ours.threshold
        ours.choose(batch, outputs, len(batch))
        steps = np.log(ours.threshold / before)
        ours_found = (50 * np.log(1.01) - steps) / (np.log(1.01) - np.log(0.99))
        asked.append((ours_found, len(found)))
    mean, their_mean = np.mean(asked[20:], axis=0)
    assert mean == pytest.approx(25, abs=1.5)
    assert their_mean == pytest.approx(25, abs=1.5)


# Against the library called by hand


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ProbabilisticAL", {}),
        ("UncertaintySampling", {"method": "margin_sampling"}),
        ("Quire", {}),
    ],
)
def test_a_pool_strategy_sees_the_answers_the_batch_and_a_classifier(name, options):
    chosen = run(build(f"activeml:{name}", {**options, "classifier": "parzen"}, 3, CLASSES))
    first, _ = batch_of(9, 0, -1)
    X, y = [*first.features], [row % 3 for row in range(9)]
    for index, rows in enumerate(chosen):
        batch, _ = batch_of(20, 0, index)
        draws = generator(3, "strategy", f"activeml:{name}", "", index)
        kind, given_ = getattr(pool, name), {"random_state": int(draws.integers(2**31 - 1))}
        if name == "Quire":
            given_["classes"] = [0, 1, 2]
        else:
            model = {"clf": ParzenWindowClassifier(classes=[0, 1, 2], random_state=0)}
        found = kind(**options, **given_).query(
            np.array([*X, *batch.features]),
            np.array([*y, *[np.nan] * 20], float),
            candidates=np.arange(len(X), len(X) + 20),
            batch_size=4,
            **({} if name == "Quire" else model),
        )
        assert rows == [int(row) - len(X) for row in found]
        X += [*batch.features[rows]]
        y += [row % 3 for row in rows]


@pytest.mark.parametrize("memory", [1000, 7])
def test_only_items_of_the_batch_are_candidates_and_none_of_them_is_answered(monkeypatch, memory):
    shown, query = [], pool.RandomSampling.query

    def watched(self, X, y, candidates=None, batch_size=1):  # noqa: N803
        shown.append((len(X), np.flatnonzero(np.isnan(y)).tolist(), np.asarray(candidates)))
        return query(self, X, y, candidates=candidates, batch_size=batch_size)

    monkeypatch.setattr(pool.RandomSampling, "query", watched)
    strategy = build("activeml:RandomSampling", {"memory": memory}, 3, CLASSES)
    run(strategy)
    assert strategy.labels.keys() <= strategy.memory.vectors.keys()  # others are forgotten
    assert [size - 20 for size, _, _ in shown] == [min(known, memory) for known in (9, 13, 17)]
    for size, unknown, candidates in shown:
        assert candidates.tolist() == unknown == [*range(size - 20, size)]


def test_a_stream_strategy_is_asked_told_and_completed():
    chosen = run(build("activeml:VariableUncertainty", {"budget": 0.9}, 3, CLASSES), 6)
    theirs, sizes = stream.VariableUncertainty(budget=0.9, random_state=0), []
    for index, rows in enumerate(chosen):
        batch, outputs = batch_of(20, 0, index)
        model = ParzenWindowClassifier(classes=[0, 1, 2]).fit(np.zeros((1, 4)), [0])
        model.predict_proba = lambda _, told=outputs.probabilities: told
        found = [int(row) for row in theirs.query(batch.features, model)][:4]
        theirs.update(batch.features, np.array(found, int))
        sizes.append(len(found))
        left = [row for row in range(20) if row not in found]
        left.sort(key=lambda row, p=outputs.probabilities: p[row].max())
        assert rows == (found + left)[:4]
    assert 4 in sizes


def test_a_gap_is_filled_with_the_least_confident():
    strategy = build("activeml:PeriodicSampling", {"budget": 0.05}, 0)
    chosen = run(strategy)
    least = [build("least-confidence").choose(*batch_of(20, 0, index), 4) for index in range(3)]
    assert [rows[0] for rows in chosen] == [19, 19, 19]  # one of twenty is its own
    for rows, unsure in zip(chosen, least, strict=True):
        assert rows[1:] == [row for row in unsure if row != 19][:3]


def test_a_stream_strategy_takes_its_budget_from_the_first_batch():
    strategy = build("activeml:PeriodicSampling", {}, 0)
    assert run(strategy) == [[4, 9, 14, 19]] * 3  # 4 of 20: every fifth


# What all of them do

NEED = {  # what the strategies need that are not served
    **dict.fromkeys(
        [
            "ExpectedModelChangeMaximization",
            "ExpectedModelOutputChange",
            "ExpectedModelVarianceReduction",
            "KLDivergenceMaximization",
            "GreedySamplingTarget",
            "RegressionTreeBasedAL",
        ],
        "needs reg, which truecost cannot give it",
    ),
    "SubSamplingWrapper": "needs another strategy to wrap",
    "ParallelUtilityEstimationWrapper": "needs another strategy to wrap",
    "ExpectedErrorReduction": "needs the option enforce_mapping",
    "UncertaintyZliobaite": "has no strategy 'UncertaintyZliobaite'",
}
MODELS = {
    **dict.fromkeys(
        [
            "ProbabilisticAL",
            "EpistemicUncertaintySampling",
            "MonteCarloEER",
            "ValueOfInformationEER",
            "DropQuery",
            "ContrastiveAL",
            "StreamProbabilisticAL",
        ],
        "parzen",
    ),
    "FourDs": "mixture",
}


@pytest.mark.parametrize(
    "name",
    [name for m in (pool, stream) for name in m.__all__ if inspect.isclass(getattr(m, name))],
)
def test_every_strategy_of_the_library_serves_or_says_what_it_needs(name):
    if name in NEED:
        with pytest.raises(UsageError, match=NEED[name]):
            build(f"activeml:{name}")
        return
    options = {"classifier": MODELS[name]} if name in MODELS else {}
    for start in (4, 0):  # without answers too
        chosen = [
            run(build(f"activeml:{name}", options, 1, CLASSES[:2]), 2, 9, 3, 0, start, CLASSES[:2])
            for _ in range(2)
        ]
        assert chosen[0] == chosen[1]


@pytest.mark.parametrize("classifier", ["learner", "parzen", "logistic", "mixture"])
@pytest.mark.parametrize("name", ["UncertaintySampling", "FixedUncertainty"])
def test_each_classifier_serves_with_and_without_the_names_of_the_classes(name, classifier):
    for classes in (CLASSES, ()):
        assert len(run(build(f"activeml:{name}", {"classifier": classifier}, 1, classes))) == 3


def test_classes_that_have_not_come_up_yet_count_when_they_are_known():
    options = {"classifier": "parzen", "budget": 0.1}  # a limit of 1/K + budget (1 - 1/K)
    known = build("activeml:FixedUncertainty", options, 1, (*"uvwxyz", *CLASSES))
    assert run(known) != run(build("activeml:FixedUncertainty", options, 1, CLASSES))
    assert len(known.strategy.classes) == 9


def test_the_global_random_numbers_of_numpy_go_on_as_before():
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.random(3).tolist()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    first = np.random.random()  # noqa: NPY002
    run(build("activeml:Clue", {}, 1))
    with pytest.raises(UsageError):
        build("activeml:ProbabilisticAL").choose(*batch_of(6, 0), 2)
    assert [first, *np.random.random(2)] == expected  # noqa: NPY002


def test_a_pool_strategy_does_not_depend_on_what_was_drawn_before():
    first, second = (build("activeml:RandomSampling", {}, 5) for _ in range(2))
    late = batch_of(20, 0, 7)
    first.choose(*batch_of(20, 0, 0), 4)
    assert first.choose(*late, 4) == second.choose(*late, 4)
    other = build("activeml:RandomSampling", {}, 6)
    assert other.choose(*late, 4) != second.choose(*late, 4)


def test_its_warnings_stay_inside():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(build("activeml:UncertaintySampling", {"classifier": "logistic"}), start=0)


# State


class Learner:
    """Says what `batch_of` says."""

    def predict(self, batch):
        return batch_of(len(batch), 0, batch.index)[1]

    def adapt(self, batch, answered):
        pass

    def snapshot(self):
        return b""

    def restore(self, state):
        pass


def test_a_pool_strategy_goes_on_from_its_snapshot():
    options = {"classifier": "parzen", "memory": 12}
    whole, again = (build("activeml:ProbabilisticAL", options, 2, CLASSES) for _ in range(2))
    assert restorable(Asking(Learner(), whole))
    run(whole, 3)
    again.restore(whole.snapshot())
    assert again.snapshot() == whole.snapshot()
    later = batch_of(20, 0, 9)
    assert again.choose(*later, 4) == whole.choose(*later, 4)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("activeml:VariableUncertainty", {}, False),
        ("split", {"first": "activeml:VariableUncertainty", "second": "random"}, False),
        ("plateau", {"first": "k-centre", "second": "activeml:Split"}, False),
        ("split", {"first": "activeml:CoreSet", "second": "random"}, True),
    ],
)
def test_only_what_can_be_put_back_says_so(name, options, expected):
    strategy = build(name, options)
    assert len(run(strategy)) == 3
    assert restorable(Asking(Learner(), strategy)) == expected


def test_late_answers_count_with_the_place_where_the_item_lay():
    strategy = build("activeml:CoreSet")
    batch, outputs = batch_of(20, 0, 0)
    rows = strategy.choose(batch, outputs, 4)
    later, _ = batch_of(20, 0, 1)
    strategy.learn(later, outputs, answered(batch.take(rows)))
    seen = strategy.seen(*batch_of(20, 0, 2))
    assert np.array_equal(seen.known, batch.features[rows])
    assert seen.labels == [CLASSES[row % 3] for row in rows]


def test_late_answers_count_with_the_embedding_that_the_item_was_chosen_with():
    """Later the learner embeds other items; where it put these is known from the choice only."""

    def embedded(index):
        batch, outputs = batch_of(20, 0, index)
        return batch, replace(outputs, embedding=generator(index, "embedding").normal(size=(20, 2)))

    strategy = build("activeml:CoreSet")
    batch, outputs = embedded(0)
    rows = strategy.choose(batch, outputs, 4)
    strategy.learn(*embedded(1), answered(batch.take(rows)))
    seen = strategy.seen(*embedded(2))
    assert np.array_equal(seen.known, outputs.embedding[rows])
    assert seen.labels == [CLASSES[row % 3] for row in rows]


# What is refused


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("CoreSett", {}, r"scikit-activeml has no strategy 'CoreSett' .did you mean 'CoreSet'"),
        ("CoreSet", {"metrc": "l1"}, r"CoreSet has no option 'metrc' \(did you mean 'metric'\?\)"),
        ("CoreSet", {"random_state": 1}, "no option 'random_state'"),
        ("Quire", {"classes": [0, 1]}, "no option 'classes'"),
        ("CoreSet", {"classifier": "svm"}, "expected one of learner, parzen, logistic, mixture"),
        ("CoreSet", {"memory": 0}, "memory = 0; expected a whole number of at least 1"),
    ],
)
def test_a_wrong_name_or_option_says_what_is_valid(name, options, message):
    with pytest.raises(UsageError, match=message):
        build(f"activeml:{name}", options)


def test_what_the_library_refuses_is_told_with_the_batch():
    batch, outputs = batch_of(6, 0, 3)
    with pytest.raises(
        UsageError,
        match=r"activeml:ProbabilisticAL, batch 3: scikit-activeml "
        r"refuses \(TypeError: clf has no predict_freq.*another classifier",
    ):
        build("activeml:ProbabilisticAL").choose(batch, outputs, 2)
    with pytest.raises(UsageError, match=r"refuses \(.*method"):
        build("activeml:UncertaintySampling", {"method": "guess"}).choose(batch, outputs, 2)


def test_a_learner_says_nothing_of_items_outside_the_batch():
    strategy = build("activeml:ContrastiveAL")
    start, _ = batch_of(5, 0, -1)
    strategy.learn(start, None, answered(start))
    with pytest.raises(UsageError, match=r"items outside the batch.* set classifier = 'parzen'"):
        strategy.choose(*batch_of(6, 0), 2)


def test_what_the_learner_lacks_is_told():
    batch, _ = batch_of(6, 0)
    bare = Outputs(("a",) * 6, np.zeros(6))
    for name, what in [("UncertaintySampling", "probabilities"), ("QueryByCommittee", "committee")]:
        with pytest.raises(UsageError, match=f"activeml:{name} cannot choose.*gives no {what}"):
            build(f"activeml:{name}").choose(batch, bare, 2)
    with pytest.raises(UsageError, match=r"PeriodicSampling cannot choose.*no probabilities"):
        build("activeml:PeriodicSampling", {"budget": 0.1}).choose(batch, bare, 2)  # to fill
    assert len(build("activeml:CoreSet").choose(batch, bare, 2)) == 2


def test_an_answer_outside_the_classes_is_refused():
    strategy = build("activeml:CoreSet", {}, 0, ("a", "b"))
    start, _ = batch_of(5, 0, -1)
    strategy.learn(start, None, answered(start))
    with pytest.raises(InputError, match="answers c are not among the classes a, b"):
        strategy.choose(*batch_of(6, 0), 2)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    for name in ("skactiveml", "skactiveml.pool"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'truecost\[activeml\]'"):
        build("activeml:CoreSet")
