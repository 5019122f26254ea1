"""Sorting gives one order, whichever way it goes."""

import numpy as np
import pytest

from truecost.kernels import order as kernels
from truecost.kernels.order import sort_trials

RNG = np.random.default_rng(11)


@pytest.fixture(params=["few", "many"], autouse=True)
def road(request, monkeypatch):
    """Few trials are sorted without a kernel."""
    monkeypatch.setattr(kernels, "FEW", 1 << 16 if request.param == "few" else 0)


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("scores", ["whole", "32 bits", "64 bits", "few ties"])
@pytest.mark.parametrize("units", [30, (1 << 24) + 30])
def test_no_order_of_rows_changes_a_byte(weighted, sides, scores, units):
    draws = np.random.default_rng(0)
    plain = draws.normal(size=500)
    made = {"whole": plain.round(), "32 bits": plain.round(1).astype(np.float32).astype(float),
            "64 bits": plain.round(1), "few ties": np.append(plain[:490], plain[:10])}  # fmt: skip
    slots = draws.integers(units - 20, units, (500, sides)).astype(np.int32)
    codes = draws.integers(0, 2, 500).astype(np.uint8)
    extra = draws.integers(1, 4, 500) / 3 if weighted else np.zeros(0)
    rows = made[scores], slots, codes, extra
    order = draws.permutation(500)
    one = sort_trials(*(column.copy() for column in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "FEW", 0 if kernels.FEW else 1 << 16)
        other_road = sort_trials(*(column.copy() for column in rows))
    assert [column.tobytes() for column in one] == [column.tobytes() for column in other_road]
    assert [column.dtype for column in one] == [column.dtype for column in other_road]
    other = sort_trials(*(column[order] if len(column) else column for column in rows))
    assert [column.tobytes() for column in one] == [column.tobytes() for column in other]
    assert (np.diff(one[0]) >= 0).all()
    whole = sorted(zip(*(column.tolist() for column in rows if len(column)), strict=True))
    assert sorted(zip(*(column.tolist() for column in one if len(column)), strict=True)) == whole
