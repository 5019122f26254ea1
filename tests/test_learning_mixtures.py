"""Mixtures of strategies, against plain counts and by hand."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from choosing import answers, everything, items, said, told
from truecost.learning.strategies.mixtures import build


@given(
    share=st.sampled_from([0, 0.1, 0.29, 1 / 3, 0.5, 0.7, 1]),
    counts=st.lists(st.integers(0, 9), min_size=1, max_size=9),
)
def test_a_split_gives_the_first_its_share_of_all_and_the_second_what_is_left(share, counts):
    strategy = build("split", {"first": "margin", "second": "k-centre", "share": share})
    second, total, by_first = build("k-centre"), 0, 0
    for index, count in enumerate(counts):
        batch, outputs = everything(8, 4, index)
        rows = strategy.choose(batch, outputs, count)
        total += min(count, 8)
        due = math.floor(Fraction(share).limit_denominator(100) * total)
        own, by_first = due - by_first, due
        assert rows[:own] == build("margin").choose(batch, outputs, own)
        left = [row for row in range(8) if row not in rows[:own]]
        if len(rows) > own:
            some = said(np.ones((len(left), 1)), embedding=outputs.embedding[left])
            rest = second.choose(batch.take(left), some, len(rows) - own)
            assert rows[own:] == [left[row] for row in rest]
        told(strategy, batch, outputs, rows, "0" * len(rows))
        told(second, batch, outputs, rows, "0" * len(rows))


def test_shares_add_up_whatever_their_digits():
    strategy = build("split", {"first": "margin", "second": "periodic", "share": 0.29})
    for index in range(100):  # .29 x 100 is 28.999999999999996
        strategy.choose(*everything(3, 0, index), 1)
    assert (strategy.asked, strategy.by_first) == (100, 29)


def _asked(strategy, index, label, *, late=False):
    """One batch of two items, of which margin asks the first, random either."""
    batch, outputs = items(2, index=index), said([[0.5, 0.5], [0.1, 0.9]])
    rows = strategy.choose(batch, outputs, 1)
    if not late:
        told(strategy, batch, outputs, rows, label)
    return rows, batch, outputs


def test_a_plateau_switches_when_the_answers_are_no_news():
    strategy = build(
        "plateau", {"first": "margin", "second": "periodic", "window": 3, "limit": 0.5}
    )
    start = items(3, index=-1, prefix="b")
    strategy.learn(start, None, answers(start, "000"))  # no questions: they do not count
    for index, label in enumerate("11000"):  # the decision is 0: wrong, wrong, right, right, right
        assert _asked(strategy, index, label)[0] == [0]
        assert strategy.switched == (index >= 3)  # the shares are 2/3, 1/3
        if strategy.switched:
            break
    for index, label in enumerate("111", 4):  # periodic asks the second, and it stays so
        assert _asked(strategy, index, label)[0] == [1]


def test_a_plateau_waits_for_late_answers_and_leaves_out_refused_ones():
    strategy = build("plateau", {"first": "margin", "second": "periodic", "window": 1})
    _, refused, _ = _asked(strategy, 0, "", late=True)
    rows, batch, outputs = _asked(strategy, 1, "", late=True)
    none = answers(refused.take([]), "")
    strategy.learn(refused, outputs, none)
    assert not strategy.switched
    later = items(2, index=2)
    strategy.learn(later, outputs, answers(batch.take(rows), "0"))
    assert strategy.switched
    assert strategy.decided == {refused.ids[0]: "0"}


@given(
    st.lists(st.lists(st.booleans(), max_size=4), max_size=12),
    st.integers(1, 4),
    st.sampled_from([0.05, 0.3, 0.5]),
)
def test_a_plateau_equals_a_plain_count(news, window, limit):
    options = {"first": "periodic", "second": "random", "window": window, "limit": limit}
    strategy, history, switched = build("plateau", options), [], False
    for index, wrong in enumerate(news):
        batch, outputs = items(5, index=index), said([[1.0, 0.0]] * 5)
        rows = strategy.choose(batch, outputs, len(wrong))
        told(strategy, batch, outputs, rows, ["01"[w] for w in wrong])
        history += [wrong] if wrong else []
        last = [w for batch_ in history[-window:] for w in batch_]
        if len(history) >= window and last:
            switched = switched or sum(last) / len(last) < limit
        assert strategy.switched == switched


def test_a_share_at_the_limit_is_not_below_it_and_late_news_change_nothing():
    options = {"first": "margin", "second": "periodic", "window": 1, "limit": 0.5}
    strategy = build("plateau", options)
    late, outputs = items(2), said([[0.6, 0.4]] * 2)
    assert strategy.choose(late, outputs, 2) == [0, 1]
    half = items(2, index=1)
    told(strategy, half, outputs, strategy.choose(half, outputs, 2), "01")
    assert not strategy.switched
    none = items(2, index=2)
    told(strategy, none, outputs, strategy.choose(none, outputs, 2), "00")
    assert strategy.switched
    strategy.learn(items(2, index=3), None, answers(late, "11"))
    assert strategy.switched
