"""Strategies that look at where items lie, against plain searches and by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from choosing import (
    answers,
    assert_greatest,
    items,
    said,
    shares,
    told,
)
from truecost.kernels.points import lower
from truecost.learning.strategies.mixtures import build
from truecost.learning.strategies.settings import Memory
from truecost.learning.system import Batch, generator

POINTS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=9)


def _apart(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _centres(points, centres, count):
    """Greedy k-centre in plain Python, on whole numbers: exact, ties to the lowest row."""
    rows = []
    if not centres and count:
        mean = [Fraction(sum(column), len(points)) for column in zip(*points, strict=True)]
        rows = [min(range(len(points)), key=lambda row: (_apart(points[row], mean), row))]
    while len(rows) < min(count, len(points)):
        known = [*centres, *[points[row] for row in rows]]
        left = [row for row in range(len(points)) if row not in rows]
        rows.append(max(left, key=lambda r: (min(_apart(points[r], c) for c in known), -r)))
    return rows


@given(
    st.lists(POINTS, min_size=1, max_size=4),
    POINTS,
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from([2, 5, 1000]),
)
def test_k_centre_equals_a_plain_search_beside_what_it_remembers(
    batches, start, count, bootstrap, memory
):
    strategy, known = build("k-centre", {"memory": memory}), []
    if bootstrap:
        before = items(len(start), np.array(start, float), -1)
        strategy.learn(before, None, answers(before, "0" * len(start)))
        known = start[-memory:]
    for index, drawn in enumerate(batches):
        points = [(len(drawn) * x, len(drawn) * y) for x, y in drawn]  # whole means: exact
        batch, outputs = items(len(points), np.array(points), index), said([[1.0]] * len(points))
        rows = strategy.choose(batch, outputs, count)
        assert rows == _centres(points, known, count)
        if memory == 1000:  # nothing is forgotten, and nothing of this batch counts
            assert strategy.choose(batch, outputs, count) == rows
        known = [*known, *[points[row] for row in rows]][-memory:]
        told(strategy, batch, outputs, rows, "0" * len(rows))


@given(POINTS, st.integers(1, 3))
def test_k_centre_covers_at_most_twice_as_wide_as_the_best_choice(points, count):
    assume(len(points) >= count)

    def radius(rows):
        return max(min(math.dist(p, points[row]) for row in rows) for p in points)

    batch = items(len(points), np.array(points, float))
    rows = build("k-centre").choose(batch, said([[1.0]] * len(points)), count)
    optimum = min(map(radius, itertools.combinations(range(len(points)), count)))
    assert radius(rows) <= 2 * optimum + 1e-9


def test_k_centre_by_hand():
    outputs = said([[1.0]] * 5, embedding=np.array([[0.0], [1], [5], [6], [10]]))
    strategy = build("k-centre")
    assert strategy.choose(items(5), outputs, 3) == [2, 0, 4]  # nearest to the mean 4.4, then ends
    again = said([[1.0]] * 3, embedding=np.array([[5.0], [7], [10]]))
    assert strategy.choose(items(3, index=1), again, 3) == [1, 0, 2]  # 5 and 10 are known


def test_items_that_somebody_else_asked_about_are_centres_too_also_late_ones():
    strategy = build("k-centre")
    old, new = items(3, [[0.0], [4], [9]], 0), items(2, [[9.0], [1.0]], 1)
    mixed = Batch(1, (old.ids[2], new.ids[1]), np.array([[9.0], [1.0]]))
    strategy.learn(new, said([[1.0]] * 2), answers(mixed, "00"))
    later = items(4, [[9.0], [1.0], [5.5], [4.5]], 2)
    assert strategy.choose(later, said([[1.0]] * 4), 2) == [2, 3]


def test_they_lie_where_the_embedding_put_them():
    strategy, places = build("k-centre"), np.array([[0.0], [4], [9]])
    batch, outputs = items(3), said([[1.0]] * 3, embedding=places)
    assert strategy.choose(batch, outputs, 1) == [1]
    mixed = Batch(0, ("late", *batch.ids[1:]), np.zeros((3, 1)))  # of "late" nobody knows
    strategy.learn(batch, outputs, answers(mixed, "000"))
    later = said([[1.0]] * 4, embedding=np.array([[9.0], [4], [6.5], [2]]))
    assert strategy.choose(items(4, index=1), later, 2) == [2, 3]
    assert len(strategy.memory.vectors) == 4


@given(st.lists(st.integers(1, 5), max_size=5), st.integers(1, 6))
def test_a_memory_holds_the_latest_and_no_more_than_its_limit(sizes, limit):
    memory, names = Memory(limit), []
    for index, size in enumerate(sizes):
        memory.open("features", 1)
        assert [*memory.vectors] == names[-limit:]
        new = [f"{index}.{row}" for row in range(size)]
        memory.keep(new, np.zeros((size, 1)))
        names = names[-limit:] + new
        assert [*memory.vectors] == names  # those of this batch come on top
    memory.open("features", 1)
    assert len(memory.vectors) == min(sum(sizes), limit)


def test_a_memory_keeps_where_an_item_lay_first_and_its_age():
    memory = Memory(2)
    memory.open("features", 1)
    memory.keep(["a", "b"], np.array([[1.0], [2.0]]))
    memory.keep(["a", "c"], np.array([[7.0], [3.0]]))
    assert {name: float(place[0]) for name, place in memory.vectors.items()} == {
        "a": 1.0,
        "b": 2.0,
        "c": 3.0,
    }
    memory.open("features", 1)
    assert [*memory.vectors] == ["b", "c"]  # a is the oldest


def test_a_memory_has_vectors_of_its_own():
    memory, places = Memory(2), np.array([[1.0]])
    memory.keep(["a"], places)
    places[0, 0] = 9.0
    assert memory.without(()).tolist() == [[1.0]]


def test_k_centre_forgets_when_the_space_becomes_another():
    strategy = build("k-centre")
    strategy.choose(items(2, [[0.0], [100.0]]), said([[1.0]] * 2), 2)
    embedding = np.array([[0.0], [100.0], [49.0]])
    chosen = strategy.choose(items(3, index=1), said([[1.0]] * 3, embedding=embedding), 1)
    assert chosen == [2]  # nearest to the mean, as if nothing had been asked
    wider = np.array([[0.0, 0.0], [100.0, 0.0], [49.0, 0.0]])
    chosen = strategy.choose(items(3, index=2), said([[1.0]] * 3, embedding=wider), 1)
    assert chosen == [2]  # other dimensions are another space


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_items_that_lie_nowhere_are_no_centres(bad):
    strategy, before = build("k-centre"), items(2, [[0.0], [bad]], -1)
    strategy.learn(before, None, answers(before, "01"))
    assert not strategy.memory.vectors
    assert strategy.choose(items(3, [[0.0], [100.0], [49.0]]), said([[1.0]] * 3), 1) == [2]


def test_k_centre_looks_at_features_of_any_shape():
    pictures = np.zeros((3, 2, 2), np.uint8)
    pictures[1] = 1
    pictures[2, 0, 0] = 255
    batch = Batch(0, ("a", "b", "c"), pictures)
    assert build("k-centre").choose(batch, said([[1.0]] * 3), 3) == [1, 2, 0]


@given(n=st.integers(1, 150), c=st.integers(1, 6), d=st.integers(1, 9), seed=st.integers(0, 9))
def test_the_kernel_of_distances_equals_a_plain_minimum(n, c, d, seed):
    random = generator(seed, "kernel")
    points, centres = random.normal(size=(n, d)), random.normal(size=(c, d))
    centres[0] = points[-1]
    nearest = np.full(n, np.inf)
    nearest[0] = 0.25
    lower(np.ascontiguousarray(points.T), centres, np.empty(n), nearest)
    slow = [min(_apart(point, centre) for centre in centres) for point in points]
    slow[0] = min(slow[0], 0.25)
    assert nearest == pytest.approx(slow, rel=1e-12)
    assert nearest[-1] == 0.0


def _density(points):
    def cosine(a, b):
        lengths = math.hypot(*a) * math.hypot(*b)
        return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0

    return [sum((1 + cosine(a, b)) / 2 for b in points) / len(points) for a in points]


@given(
    st.data(),
    POINTS,
    st.integers(0, 9),
    st.sampled_from([0, 0.5, 1, 3]),
    st.sampled_from(["least-confidence", "margin", "entropy"]),
)
def test_density_equals_a_plain_sum(data, points, count, beta, measure):
    table = data.draw(shares(rows=len(points)))
    unsure = {
        "least-confidence": [1 - max(row) for row in table],
        "margin": [1 - sorted(row)[-1] + sorted(row)[-2] for row in table],
        "entropy": [-sum(p * math.log(p) for p in row if p) for row in table],
    }[measure]
    values = [u * max(d, 0) ** beta for u, d in zip(unsure, _density(points), strict=True)]
    batch = items(len(points), np.array(points))
    strategy = build("density", {"beta": beta, "uncertainty": measure})
    assert_greatest(strategy.choose(batch, said(table), count), values, count)
    far = items(len(points), np.array(points) * 1e200)
    assert_greatest(strategy.choose(far, said(table), count), values, count)


def test_density_prefers_what_stands_for_many():
    places = np.array([[1.0, 0], [1, 0.1], [1, -0.1], [-1, 0]])
    outputs = said([[0.5, 0.5]] * 3 + [[0.48, 0.52]], embedding=places)
    assert build("density").choose(items(4), outputs, 4) == [0, 1, 2, 3]
    assert build("density", {"beta": 0}).choose(items(4), outputs, 4) == [0, 1, 2, 3]
    outputs = said([[0.4, 0.6]] * 3 + [[0.5, 0.5]], embedding=places)
    assert build("density", {"beta": 0}).choose(items(4), outputs, 1) == [3]
    assert build("density").choose(items(4), outputs, 1) == [0]
