"""Sorting gives one order, whichever way it goes."""

import numpy as np
import pytest

from truecost.kernels.order import sort_trials

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("kind", ["plain", "equal as 32-bit floats", "rounded", "constant"])
def test_64_bit_scores_are_sorted_stably(kind):
    scores = RNG.normal(size=5000)
    if kind == "equal as 32-bit floats":
        scores = 1 + 1e-12 * np.round(scores, 1)
    elif kind != "plain":
        scores = np.round(scores, 1) * (kind == "rounded") + 1 / 3
    slots = np.arange(5000, dtype=np.int32).reshape(-1, 1)
    codes = (scores > 0).astype(np.uint8)
    weights = RNG.random(5000)
    found = sort_trials(scores, slots, codes, weights)
    assert np.array_equal(found[0], np.sort(scores))
    order = found[1][:, 0]
    for given, sorted_ in zip((scores, codes, weights), (found[0], *found[2:]), strict=True):
        assert np.array_equal(given[order], sorted_)
