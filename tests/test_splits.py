"""Folds: units whole, balanced, stratified, and the same whatever the order of the trials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.core.subsets import folds, shared_units
from truecost.errors import InputError, UsageError

TRIALS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=30, max_size=120
).filter(lambda rows: len({u for u, _ in rows}) >= 5)


@given(TRIALS, st.integers(2, 5), st.integers(0, 3))
def test_units_are_whole_and_no_fold_is_empty(rows, k, seed):
    units, labels = np.array(rows).T
    found = folds(units, k, seed, labels)
    assert set(found) == set(range(k))
    for unit in np.unique(units):
        assert len(set(found[units == unit])) == 1


@given(TRIALS, st.integers(2, 5), st.randoms())
def test_the_order_of_the_trials_means_nothing(rows, k, random):
    units, labels = np.array(rows).T
    order = np.array(random.sample(range(len(units)), len(units)))
    names = np.array([f"unit {u:02}" for u in units])
    assert (folds(names, k, 1, labels)[order] == folds(names[order], k, 1, labels[order])).all()


@given(st.integers(10, 200), st.integers(2, 5), st.integers(0, 5))
def test_trials_as_units_are_stratified(count, k, seed):
    labels = np.random.default_rng(seed).integers(0, 3, count)
    found = folds(np.arange(count), k, seed, labels)
    for label in np.unique(labels):
        sizes = np.bincount(found[labels == label], minlength=k)
        assert sizes.max() - sizes.min() <= 1


def test_units_of_many_sizes_are_balanced():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(60), rng.integers(1, 30, 60))
    labels = (rng.random(len(units)) < 0.2).astype(int)
    found = folds(units, 5, 0, labels)
    for label in (0, 1):
        sizes = np.bincount(found[labels == label])
        assert sizes.max() <= 1.1 * sizes.mean()


def dealt_slowly(sizes, order, shares):
    """Each unit to the set where sum_c (n_fc / n_c)^2 / s_f grows least, by computing all of it."""
    shares, totals = np.array(shares), sizes.sum(axis=0)
    held, out = np.zeros((len(shares), sizes.shape[1])), np.full(len(sizes), -1)
    there = totals > 0
    for left, u in zip(range(len(sizes), 0, -1), order, strict=True):
        empty = [f for f in range(len(shares)) if not (out == f).any()]
        parts = (held / np.maximum(totals, 1))[:, there]
        after = ((held + sizes[u]) / np.maximum(totals, 1))[:, there]
        growth = ((after**2 - parts**2).sum(axis=1) / shares).round(9)
        allowed = empty if left <= len(empty) else range(len(shares))
        out[u] = min(allowed, key=lambda f: (growth[f], (held[f].sum() / shares[f]).round(9), f))
        held[out[u]] += sizes[u]
    return out


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=5, max_size=30),
    st.sampled_from([[0.5, 0.5], [0.8, 0.1, 0.1], [0.25] * 4, [0.5, 0.3, 0.2], [0.2] * 5]),
)
def test_dealing_equals_a_slow_version(rows, shares):
    from truecost.kernels.dealing import deal

    sizes = np.array(rows)
    which, cells = np.nonzero(sizes)
    starts = np.searchsorted(which, np.arange(len(sizes) + 1))
    order, out = np.argsort(-sizes.sum(axis=1), kind="stable"), np.empty(len(sizes), np.int64)
    deal(starts, cells, sizes[which, cells], order, np.ones(2), np.array(shares), out)
    assert out.tolist() == dealt_slowly(sizes, order, shares).tolist()


def test_the_seed_deals_other_folds():
    units = np.arange(100)
    assert (folds(units, 5, 0) == folds(units, 5, 0)).all()
    assert (folds(units, 5, 0) != folds(units, 5, 1)).any()


def test_rare_classes_do_not_all_go_to_one_fold():
    found = folds(np.arange(50), 5, 0, np.arange(50))
    assert np.bincount(found).tolist() == [10] * 5


def test_bad_requests():
    with pytest.raises(UsageError, match="1 fold: at least 2"):
        folds([1, 2, 3], 1)
    with pytest.raises(UsageError, match="seed is -1: it must be a whole number from 0 up"):
        folds([1, 2, 3], 2, seed=-1)
    with pytest.raises(InputError, match="1 unit for 2 labels"):
        folds([1], 2, labels=[0, 1])
    with pytest.raises(InputError, match="2 units for 3 folds"):
        folds(["a", "b", "a"], 3)
    with pytest.raises(InputError, match="3 units for 2 labels"):
        folds([1, 2, 3], 2, labels=[0, 1])


def test_shared_units_compare_numbers_and_text():
    assert shared_units(np.array([1, 2, 3]), np.array(["3", "1", "x"])) == (2, "1, 3")
