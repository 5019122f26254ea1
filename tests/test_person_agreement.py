"""Agreement of people: published figures, brute force, and the laws of the coefficients."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.core.weights import Plan
from truecost.person.records import majority
from truecost.person.summary import agreement

# Krippendorff (2011), section C: four observers, twelve units; 0 stands for no answer.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def rows(table):
    return [(f"u{u}", f"p{p}", str(value)) for p, of in enumerate(table)
            for u, value in enumerate(of) if value]  # fmt: skip


def test_the_published_example():
    found = agreement(rows(KRIPPENDORFF))
    assert found[0].value == pytest.approx(0.743, abs=5e-4)
    assert found[0].n_units == 11  # one unit has a single answer
    assert found[0].lower < 0.743 < found[0].upper
    [numbers] = agreement(rows(KRIPPENDORFF), numbers=True)
    assert numbers.value == pytest.approx(0.849, abs=5e-4)
    assert [row.dims["system"] for row in found[1:]] == [
        f"p{a} and p{b}" for a, b in itertools.combinations(range(4), 2)
    ]


def test_kappa_of_a_known_table():
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: 0.4 (a textbook example of Cohen's kappa)."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    labels = [(str(k), who, answer) for k, pair in enumerate(pairs)
              for who, answer in zip("ab", pair, strict=True)]  # fmt: skip
    _, found = agreement(labels)
    assert found.value == pytest.approx(0.4)
    assert found.naive == 0


def slow_alpha(table, distance):
    """All pairs of labels of an item, over all pairs of labels."""
    units = [[v for v in of if v is not None] for of in zip(*table, strict=True)]
    units = [of for of in units if len(of) > 1]
    every = [v for of in units for v in of]
    n = len(every)
    observed = sum(
        distance(a, b) / (len(of) - 1) for of in units for a, b in itertools.permutations(of, 2)
    )
    expected = sum(distance(a, b) for a, b in itertools.permutations(every, 2))
    return 1 - (n - 1) * observed / expected if expected else None


tables = st.integers(2, 6).flatmap(lambda width: st.lists(
    st.lists(st.sampled_from([None, 1, 2, 3]), min_size=width, max_size=width),
    min_size=2, max_size=4))  # fmt: skip


@given(tables)
def test_alpha_is_that_of_all_pairs(table):
    labels = [(f"{u:02}", f"p{p}", str(value)) for p, of in enumerate(table)
              for u, value in enumerate(of) if value is not None]  # fmt: skip
    for numbers, distance in ((False, lambda a, b: a != b), (True, lambda a, b: (a - b) ** 2)):
        found = agreement(labels, Plan(20), numbers=numbers)
        if any(sum(v is not None for v in of) > 1 for of in zip(*table, strict=True)):
            wanted = slow_alpha(table, distance)
            assert found[0].value == (None if wanted is None else pytest.approx(wanted))
        else:
            assert found == []


def test_who_always_agrees_and_who_never():
    same = [(str(k), who, "yn"[k % 2]) for k in range(20) for who in "ab"]
    assert [row.value for row in agreement(same)] == [1, 1]
    against = [(str(k), who, "yn"[(k + (who == "b")) % 2]) for k in range(20) for who in "ab"]
    assert agreement(against)[1].value == -1
    one_class = [(str(k), who, "y") for k in range(5) for who in "ab"]
    assert all(row.value is None for row in agreement(one_class))


def test_the_interval_covers_chance():
    """People who guess: alpha is near 0, and the interval says so."""
    rng = np.random.default_rng(0)
    labels = [(str(k), who, str(rng.integers(3))) for k in range(200) for who in "abc"]
    alpha, *kappas = agreement(labels)
    for row in (alpha, *kappas):
        assert row.lower < 0 < row.upper
        assert row.upper - row.lower < 0.3


@pytest.mark.parametrize(("answers", "wanted"), [
    ([], None), (["a"], "a"), (["a", "b"], None), (["a", "b", "a"], "a"), ([*"aabb"], None),
])  # fmt: skip
def test_majority(answers, wanted):
    assert majority(answers) == wanted
