"""Uncertainty, committees and the variable threshold, against plain sums and by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import (
    assert_greatest,
    best,
    items,
    said,
    shares,
)
from truecost.errors import UsageError
from truecost.learning.strategies.mixtures import build, mean_divergence, variance, vote_entropy
from truecost.learning.strategies.uncertainty import energy, entropy
from truecost.learning.system import Outputs, generator

# Uncertainty


@given(table=shares(), count=st.integers(0, 10))
def test_least_confidence_and_margin_equal_fractions_sorted(table, count):
    exact = [sorted(map(Fraction, row), reverse=True) for row in table]
    batch, outputs = items(len(table)), said(table)
    unsure = [1 - row[0] for row in exact]
    assert build("least-confidence").choose(batch, outputs, count) == best(unsure, count)
    near = [row[1] - row[0] for row in exact]
    assert build("margin").choose(batch, outputs, count) == best(near, count)


@given(table=shares(), count=st.integers(0, 10))
def test_entropy_equals_a_plain_sum(table, count):
    values = [math.fsum(-p * math.log(p) for p in row if p) for row in table]
    rows = build("entropy").choose(items(len(table)), said(table), count)
    assert_greatest(rows, values, count)
    assert entropy(np.array(table)) == pytest.approx(values, abs=1e-12)


@given(row=shares(rows=1, classes=4), count=st.integers(1, 24))
def test_the_order_of_the_classes_changes_nothing_so_the_lowest_rows_come_first(row, count):
    table = [*itertools.permutations(row[0])]
    for name in ("least-confidence", "margin", "entropy"):
        assert build(name).choose(items(24), said(table), count) == [*range(count)]


@given(table=shares(classes=2), count=st.integers(0, 10))
def test_of_two_classes_all_three_choose_what_is_nearest_to_one_half(table, count):
    batch, outputs = items(len(table)), said(table)
    expected = best([-abs(row[1] - 0.5) for row in table], count)
    for name in ("least-confidence", "margin", "entropy"):
        assert build(name).choose(batch, outputs, count) == expected


def test_uncertainty_by_hand():
    table = [[0.5, 0.3, 0.2], [0.45, 0.45, 0.1], [0.4, 0.31, 0.29], [0.9, 0.05, 0.05]]
    batch, outputs = items(4), said(table)
    assert build("least-confidence").choose(batch, outputs, 4) == [2, 1, 0, 3]
    assert build("margin").choose(batch, outputs, 4) == [1, 2, 0, 3]
    assert build("entropy").choose(batch, outputs, 4) == [2, 0, 1, 3]


def test_one_class_leaves_nothing_to_ask_about_so_rows_are_taken_in_order():
    for name in ("least-confidence", "margin", "entropy"):
        assert build(name).choose(items(4), said([[1.0]] * 4), 2) == [0, 1]


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from([0.1, 1, 3.5]),
    st.integers(0, 9),
)
def test_energy_equals_a_plain_sum_and_softmax_stands_in_for_probabilities(
    rows, temperature, count
):
    batch = items(len(rows))
    outputs = Outputs(("0",) * len(rows), np.zeros(len(rows)), logits=np.array(rows, float))
    values = [-temperature * math.log(sum(math.exp(z / temperature) for z in row)) for row in rows]
    chosen = build("energy", {"temperature": temperature}).choose(batch, outputs, count)
    assert_greatest(chosen, values, count)
    totals = [sum(map(math.exp, row)) for row in rows]
    unsure = [1 - max(map(math.exp, row)) / total for row, total in zip(rows, totals, strict=True)]
    assert_greatest(build("least-confidence").choose(batch, outputs, count), unsure, count)


def test_energy_by_hand():
    values = energy(np.array([[0.0, 0.0], [1000.0, 0.0], [-1000.0, -np.inf]]), 2.0)
    assert values == pytest.approx([-2 * math.log(2), -1000, 1000])
    outputs = said([[0.5, 0.5]] * 3, logits=np.array([[0.0, 0.0], [9.0, 0.0], [-9.0, -8.0]]))
    assert build("energy").choose(items(3), outputs, 2) == [2, 0]


@given(table=shares(), count=st.integers(0, 10))
def test_logarithms_of_probabilities_stand_in_below_a_temperature_of_one(table, count):
    values = [-math.log(math.fsum(p * p for p in row)) / 2 for row in table]
    rows = build("energy", {"temperature": 0.5}).choose(items(len(table)), said(table), count)
    assert_greatest(rows, values, count)


@pytest.mark.parametrize("temperature", [1, 4])
def test_probabilities_have_no_energy_at_one_and_the_wrong_order_above(temperature):
    strategy = build("energy", {"temperature": temperature})
    with pytest.raises(UsageError, match=f"energy at temperature {temperature} needs logits"):
        strategy.choose(items(2), said([[0.5, 0.5], [0.9, 0.1]]), 1)


# Committees


def _divergence(rows):
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return sum(
        p * math.log(p / m) for row in rows for p, m in zip(row, mean, strict=True) if p
    ) / len(rows)


def _votes(rows):
    votes = [row.index(max(row)) for row in rows]
    share = [votes.count(k) / len(rows) for k in set(votes)]
    return -sum(s * math.log(s) for s in share)


def _spread(rows):
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return sum((p - m) ** 2 for row in rows for p, m in zip(row, mean, strict=True)) / len(rows)


@given(st.data(), st.integers(1, 5), st.integers(1, 6), st.integers(0, 7))
def test_disagreement_equals_plain_sums(data, size, n, count):
    committee = [data.draw(shares(rows=n, classes=3)) for _ in range(size)]
    outputs = said(committee[0], members=np.array(committee))
    slow = {"vote-entropy": _votes, "divergence": _divergence, "variance": _spread}
    for name, value in slow.items():
        values = [value([member[row] for member in committee]) for row in range(n)]
        strategy = build("committee", {"disagreement": name})
        assert_greatest(strategy.choose(items(n), outputs, count), values, count)
        assert max(values) < math.log(min(size, 3)) + 1e-12 or name == "variance"


@given(st.integers(0, 10**6))
def test_the_divergence_is_the_entropy_of_the_mean_less_the_mean_entropy(seed):
    members = generator(seed, "members").dirichlet(np.ones(4), (3, 6))
    mean = np.mean([entropy(member) for member in members], axis=0)
    assert mean_divergence(members) == pytest.approx(entropy(members.mean(axis=0)) - mean)


def test_committees_by_hand():
    members = np.array(
        [[[1.0, 0.0], [0.6, 0.4]], [[0.0, 1.0], [0.6, 0.4]], [[0.0, 1.0], [0.4, 0.6]]]
    )
    two_to_one = math.log(3) - 2 / 3 * math.log(2)
    assert vote_entropy(members) == pytest.approx([two_to_one, two_to_one])
    assert mean_divergence(members)[0] == pytest.approx(two_to_one)
    assert variance(members)[0] == pytest.approx(4 / 9)
    assert mean_divergence(members[:, 1:])[0] < 0.03
    outputs = said(members.mean(axis=0), members=members)
    assert build("committee").choose(items(2), outputs, 1) == [0]  # tied: the lowest row
    swapped = said(members.mean(axis=0)[::-1], members=members[:, ::-1])
    apart = build("committee", {"disagreement": "divergence"})
    assert apart.choose(items(2), swapped, 1) == [1]


def test_members_that_predict_numbers_disagree_by_their_variance():
    numbers = np.array([[10.0, -5.0, 3.0], [12.0, -5.0, 9.0]])[:, :, None]
    outputs = Outputs(("11", "-5", "6"), np.array([11.0, -5, 6]), members=numbers)
    assert build("committee", {"disagreement": "variance"}).choose(items(3), outputs, 2) == [2, 0]
    positive = Outputs(outputs.decisions, outputs.scores, members=np.abs(numbers))
    with pytest.raises(UsageError, match=r"one number an item.* disagreement = 'variance'"):
        build("committee").choose(items(3), positive, 1)


# Variable threshold


def _thresholds(tables, count, step, grow, threshold, factors):
    """VarUncertainty, row by row, with the gap filled at the end of each batch."""
    chosen = []
    for table, eta in zip(tables, factors, strict=True):
        rows = []
        for row, shares_ in enumerate(table):
            if len(rows) == count:
                break
            if max(shares_) < threshold * eta[row]:
                rows.append(row)
                threshold = threshold * (1 - step)
            else:
                threshold = threshold * (1 + grow)
        rest = [row for row in range(len(table)) if row not in rows]
        rest.sort(key=lambda row: (max(table[row]), row))
        chosen.append((rows + rest)[: min(count, len(table))])
    return chosen, threshold


@given(
    st.lists(shares(), min_size=1, max_size=4),
    st.integers(0, 5),
    st.sampled_from([0.01, 0.1, 0.5]),
    st.sampled_from([None, 0.02]),
    st.sampled_from([1.0, 0.6]),
    st.sampled_from([0, 1]),
)
def test_the_threshold_equals_a_plain_run_of_the_paper(tables, count, step, grow, start, spread):
    options = {"step": step, "threshold": start, "spread": spread}
    options |= {} if grow is None else {"grow": grow}
    factors = [
        generator(3, "strategy", "variable-threshold", "", index).normal(1, 1, len(table))
        if spread
        else [1.0] * len(table)
        for index, table in enumerate(tables)
    ]
    strategy = build("variable-threshold", options, 3)
    rows = [
        strategy.choose(items(len(table), index=index), said(table), count)
        for index, table in enumerate(tables)
    ]
    expected, threshold = _thresholds(tables, count, step, grow or step, start, factors)
    assert rows == expected
    assert strategy.threshold == pytest.approx(threshold, rel=1e-12)


def test_the_threshold_by_hand():
    strategy = build("variable-threshold", {"step": 0.5})
    sure = [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.7, 0.3], [0.55, 0.45]]
    # 1: .9 is below, .5: .6 is not, .75: .5 is below and the second of two
    assert strategy.choose(items(5), said(sure), 2) == [0, 2]
    assert strategy.threshold == 0.375
    # .375, .5625: neither of .9 and .6 is; .84375: .5; .421875: neither of .7 and .55; gap: .55
    assert strategy.choose(items(5, index=1), said(sure), 2) == [2, 4]
    assert strategy.threshold == pytest.approx(0.421875 * 1.5 * 0.5)


def test_the_threshold_at_its_edges():
    certain = said([[1.0, 0.0]] * 4)
    strategy = build("variable-threshold", {"step": 0.5, "grow": 0.01})
    assert strategy.choose(items(4), certain, 1) == [1]  # 1 is not below 1, but below 1.01
    assert strategy.threshold == pytest.approx(0.505)
    strategy = build("variable-threshold", {"step": 0.5, "grow": 0.01, "threshold": 2})
    # 2: below, 1: not, 1.01: below, .505: not; the gap: the lowest row of two that are as certain
    assert strategy.choose(items(4), certain, 3) == [0, 2, 1]


@pytest.mark.parametrize(("count", "grow", "last"), [(5, None, (8, 14)), (5, 0.01 / 19, (70, 100))])
def test_growing_as_fast_as_falling_asks_early_in_the_batch(count, grow, last):
    strategy = build("variable-threshold", {} if grow is None else {"grow": grow})
    random, ends = generator(0, "beta"), []
    for index in range(400):
        p = random.uniform(0.5, 1, 100)
        ends.append(max(strategy.choose(items(100, index=index), said(np.c_[p, 1 - p]), count)))
    assert last[0] <= np.mean(ends[200:]) <= last[1]  # of 100 rows, and 2 x 5 = 10
