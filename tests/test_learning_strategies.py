"""Strategies: their counts, order, state, chance and errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import (
    CASES,
    PARTS,
    answers,
    everything,
    items,
    named,
    said,
    told,
)
from truecost.errors import InputError, UsageError
from truecost.learning.loop import Asking
from truecost.learning.snapshots import restorable
from truecost.learning.strategies.mixtures import build, kinds
from truecost.learning.system import Batch, Outputs, generator

KEEPING = [case for case in CASES if hasattr(build(*case), "snapshot")]
UNORDERED = [  # whose choice does not depend on the order of the items, but for ties
    *[(name, {}) for name in ("least-confidence", "margin", "entropy", "density", "k-centre")],
    ("energy", {"temperature": 0.5}),
    ("committee", {"disagreement": "divergence"}),
    ("committee", {"disagreement": "variance"}),
    ("split", {"first": "entropy", "second": "k-centre", "share": 0.4}),
]


# What holds for every strategy


@pytest.mark.parametrize("case", CASES, ids=named)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    count=st.integers(0, 11),
    seed=st.integers(0, 99),
)
def test_each_strategy_gives_exactly_that_many_different_rows(case, sizes, count, seed):
    strategy = build(*case, seed)
    for index, size in enumerate(sizes):
        batch, outputs = everything(size, seed, index)
        rows = strategy.choose(batch, outputs, count)
        assert all(type(row) is int for row in rows)
        assert len(rows) == len(set(rows)) == min(count, size)
        assert set(rows) <= set(range(size))
        told(strategy, batch, outputs, rows, "012"[seed % 3] * len(rows))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_same_input_and_seed_give_the_same_rows_and_the_input_stays(case):
    def chosen():
        strategy, rows = build(*case, 7), []
        for index in range(4):
            batch, outputs = everything(8, 1, index)
            before = [batch.features.copy(), outputs.probabilities.copy(), outputs.members.copy()]
            rows.append(strategy.choose(batch, outputs, 3))
            told(strategy, batch, outputs, rows[-1], "000")
            after = [batch.features, outputs.probabilities, outputs.members]
            assert all(map(np.array_equal, before, after))
        return rows

    assert chosen() == chosen()


@pytest.mark.parametrize("case", UNORDERED, ids=named)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
def test_a_permuted_batch_has_a_permuted_choice(case, seed, count):
    batch, outputs = everything(9, seed)
    order = generator(seed, "order").permutation(9).tolist()
    moved = said(
        outputs.probabilities[order],
        logits=outputs.logits[order],
        embedding=outputs.embedding[order],
        members=outputs.members[:, order],
    )
    first = build(*case).choose(batch, outputs, count)
    second = build(*case).choose(batch.take(order), moved, count)
    assert [order[row] for row in second] == first


@pytest.mark.parametrize("case", KEEPING, ids=named)
@given(seed=st.integers(0, 99), cut=st.integers(0, 5))
def test_a_strategy_goes_on_from_its_snapshot(case, seed, cut):
    def step(strategy, index):
        batch, outputs = everything(7, seed, index)
        rows = strategy.choose(batch, outputs, 3)
        told(strategy, batch, outputs, rows, "012")
        return rows

    whole, kept = build(*case, seed), None
    for index in range(6):
        kept = whole.snapshot() if index == cut else kept
        step(whole, index)
    first, again = build(*case, seed), build(*case, seed)
    before = [step(first, index) for index in range(cut)]
    assert len(before) == cut
    assert first.snapshot() == kept
    again.restore(kept)
    assert again.snapshot() == kept
    later = [step(again, index) for index in range(cut, 6)]
    assert later == [step(first, index) for index in range(cut, 6)]
    assert again.snapshot() == whole.snapshot()


@pytest.mark.parametrize("case", KEEPING, ids=named)
@pytest.mark.parametrize("state", [b"", b"nonsense", b"\x80", b"\x82\xa8strategy\xa5other"])
def test_what_is_no_snapshot_is_refused(case, state):
    with pytest.raises(
        InputError,
        match=rf"strategy {case[0]}: this snapshot cannot be used .*"
        "delete the checkpoint, and the run resumes",
    ):
        build(*case).restore(state)


def test_the_snapshot_of_another_strategy_is_refused():
    state = build("k-centre").snapshot()
    with pytest.raises(InputError, match="it is one of 'k-centre'"):
        build("variable-threshold").restore(state)


class Learner:
    """Says what `everything` says."""

    def predict(self, batch):
        return everything(len(batch), 3, batch.index)[1]

    def adapt(self, batch, answered):
        pass

    def snapshot(self):
        return b"learner"

    def restore(self, state):
        assert state == b"learner"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_strategy_serves_in_a_system_from_the_bootstrap_set_on(case):
    system, again = (Asking(Learner(), build(*case, 5)) for _ in range(2))
    assert restorable(system)

    def step(one, index):
        batch = everything(6, 3, index)[0]
        one.predict(batch)
        questions = one.ask(batch, 2)
        rows = [batch.ids.index(question.id) for question in questions]
        one.adapt(batch, answers(batch.take(rows), "01"))
        return questions

    start = items(4, index=-1, prefix="b")
    system.adapt(start, answers(start, "0101"))
    asked = [step(system, index) for index in range(2)]
    assert [len(questions) for questions in asked] == [2, 2]
    again.restore(system.snapshot())
    assert step(again, 2) == step(system, 2)


# Chance and order


def test_random_draws_depend_on_seed_stream_and_batch_and_on_nothing_before():
    chosen = {}
    for seed, stream, index in itertools.product((0, 1), ("", "de"), (0, 1, 2)):
        batch = items(30, index=index, stream=stream)
        chosen[seed, stream, index] = build("random", {}, seed).choose(batch, said([[1]] * 30), 10)
    assert len({tuple(rows) for rows in chosen.values()}) == 12
    strategy = build("random", {}, 1)
    for index in (2, 0, 2):
        batch = items(30, index=index, stream="de")
        assert strategy.choose(batch, said([[1]] * 30), 10) == chosen[1, "de", index]
        assert strategy.choose(batch, said([[1]] * 30), 4) == chosen[1, "de", index][:4]


@pytest.mark.parametrize("case", [
    ("random", {}),
    ("split", {"first": "random", "second": "random"}),  # two that must not draw the same
    ("split", {"first": "random", "second": {"name": "plateau", "first": "random",
                                             "second": "random"}}),
], ids=["alone", "split", "deeper"])  # fmt: skip
def test_random_pairs_are_drawn_equally_often(case):
    strategy, drawn = build(*case), {}
    for index in range(3000):
        pair = tuple(sorted(strategy.choose(items(5, index=index), said([[1]] * 5), 2)))
        drawn[pair] = drawn.get(pair, 0) + 1
    assert len(drawn) == 10
    deviations = [(count - 300) ** 2 / 300 for count in drawn.values()]
    assert sum(deviations) < 27.9  # chi-squared of 9 degrees of freedom: 1 in 1000


@given(n=st.integers(1, 200), count=st.integers(1, 200))
def test_periodic_takes_the_middle_of_equal_parts(n, count):
    rows = build("periodic").choose(items(n), said([[1]] * n), count)
    m = min(n, count)
    assert rows == [math.floor((i + Fraction(1, 2)) * Fraction(n, m)) for i in range(m)]
    gaps = np.diff(rows)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


def test_periodic_by_hand():
    assert build("periodic").choose(items(12), said([[1]] * 12), 3) == [2, 6, 10]


# What is refused


def test_names_and_options_are_told():
    assert all(kind.text for kind in kinds().values())
    with pytest.raises(UsageError, match=r"'entrophy' \(did you mean 'entropy'\?\): choose one of"):
        build("entrophy")
    with pytest.raises(UsageError, match=r"margin has no option 'beta': it has no options"):
        build("margin", {"beta": 1})
    with pytest.raises(UsageError, match=r"option 'temprature' .did you mean 'temperature'"):
        build("energy", {"temprature": 1})


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in kinds() for key in kinds()[name].options if ":" not in name],
)
def test_every_option_is_read_and_says_what_it_expects(name, key):
    good = {"first": "margin", "second": "random"} if "first" in kinds()[name].options else {}
    for bad in ([], -1, True, math.nan, None):
        with pytest.raises(UsageError, match=rf"strategy {name}: {key} = .*; expected ."):
            build(name, {**good, key: bad})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("energy", {"temperature": 0}, r"temperature = 0; expected a number above 0$"),
        ("variable-threshold", {"step": 1}, "step = 1; expected a number above 0 and below 1"),
        ("k-centre", {"memory": 2.5}, r"memory = 2\.5; expected a whole number of at least 1"),
        ("density", {"beta": math.inf}, "beta = inf; expected a number of at least 0"),
        (
            "density",
            {"uncertainty": "energy"},
            "uncertainty = 'energy'; expected one of least",
        ),
        ("committee", {"disagreement": "kl"}, "expected one of vote-entropy, divergence, variance"),
        ("split", {**PARTS, "share": 1.5}, r"share = 1\.5; expected a number from 0 to 1"),
        ("split", {"first": "margin"}, "second is missing; expected the name of a strategy, or a"),
        ("split", {**PARTS, "second": {"beta": 1}}, "second = {'beta': 1}; expected the name"),
        ("split", {**PARTS, "second": "margn"}, "did you mean 'margin'"),
        (
            "plateau",
            {**PARTS, "first": {"name": "density", "beta": -1}},
            r"strategy plateau\.first\.density: beta = -1; expected a number of at least 0",
        ),
        (
            "plateau",
            {**PARTS, "shar": 1},
            "no option 'shar': choose one of first, second, window, lim",
        ),
    ],
)
def test_a_wrong_option_says_what_was_given_and_what_is_valid(name, options, message):
    with pytest.raises(UsageError, match=message):
        build(name, options)


BARE = Outputs(("0", "1"), np.array([0.1, 0.9]))
NEEDING = [
    *[(name, "probabilities of the classes") for name in ("least-confidence", "margin", "entropy")],
    ("density", "probabilities of the classes"),
    ("variable-threshold", "probabilities of the classes"),
    ("energy", "logits"),
    ("committee", r"committee \(members\)"),
]


@pytest.mark.parametrize(("name", "what"), NEEDING)
def test_a_strategy_says_what_the_learner_lacks(name, what):
    with pytest.raises(
        UsageError,
        match=rf"strategy {name} cannot choose: the learner gives no "
        rf"{what}; use another learner, or a strategy that needs none",
    ):
        build(name).choose(items(2), BARE, 1)


@pytest.mark.parametrize("name", ["random", "periodic", "k-centre"])
def test_scores_alone_are_enough_for_strategies_that_do_not_look_at_them(name):
    assert len(build(name).choose(items(2), BARE, 1)) == 1


def test_features_that_are_no_numbers_need_an_embedding():
    batch = Batch(0, ("a", "b"), np.array(["x", "y"], object))
    with pytest.raises(UsageError, match="k-centre cannot choose: the learner gives no embedding"):
        build("k-centre").choose(batch, BARE, 1)
    strategy = build("k-centre")
    strategy.learn(batch, None, answers(batch, "01"))  # of a bootstrap set: nothing to remember
    outputs = Outputs(BARE.decisions, BARE.scores, embedding=np.array([[0.0], [1.0]]))
    assert strategy.choose(batch, outputs, 2) == [0, 1]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("case", CASES[2:], ids=named)
def test_no_item_is_chosen_or_left_out_for_being_undefined(case, bad):
    batch, outputs = everything(4, 0, index=3)
    for values in (outputs.probabilities, outputs.logits, outputs.embedding):
        values[2] = bad
    outputs.members[1, 2] = bad
    with pytest.raises(
        InputError,
        match=rf"strategy {case[0]}.*, batch 3, outputs of the learner, item 'i3\.2': its .* are "
        r"-?(nan|inf).*, expected finite numbers",
    ):
        build(*case).choose(batch, outputs, 2)


def test_what_does_not_fit_the_batch_is_refused():
    batch = items(3, index=5, stream="de")
    with pytest.raises(
        InputError,
        match=r"batch 5 of stream 'de', outputs of the learner: the shape of its "
        r"probabilities is \(2, 2\), expected 3 x any",
    ):
        build("margin").choose(batch, said([[0.5, 0.5]] * 2), 1)
    members = np.ones((4, 2, 2))
    with pytest.raises(InputError, match=r"is \(4, 2, 2\), expected any x 3 x any"):
        build("committee").choose(batch, said([[0.5, 0.5]] * 3, members=members), 1)
    with pytest.raises(
        InputError, match=r"probabilities are 1.5, -0.5 \(sum 1\), expected 0 or more"
    ):
        build("margin").choose(batch, said([[0.5, 0.5], [1.5, -0.5], [1, 0]]), 1)
    flat = said([[0.5, 0.5]] * 3, embedding=np.ones((3, 2, 2)))
    with pytest.raises(InputError, match=r"the shape of its embedding is \(3, 2, 2\)"):
        build("k-centre").choose(batch, flat, 1)
