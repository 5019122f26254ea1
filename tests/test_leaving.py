"""Leaving units out: the one pass over the entries gives what weights of each unit give."""

import numpy as np
import pytest

import truecost as tc
from truecost.core.subsets import Groups
from truecost.core.weights import Block


def tally(rng, units, *, crossed, whole, sized, strata):
    """Sums of 300 rows by unit; a cell that one unit alone fills, one that none does."""
    sizes = rng.integers(1, 4, units) if sized else None
    of = np.sort(rng.integers(3, size=units)) if strata else None
    factor = tc.Factor("unit", np.arange(units), sizes=sizes, strata=of)
    codes = rng.integers(units, size=300).astype(np.int32)
    cells = np.where(codes == 3, rng.integers(3, size=300), rng.integers(2, size=300))
    values = rng.integers(-3, 9, 300) if whole else rng.normal(size=300)
    sides = [(factor, codes)]
    if crossed:
        other = tc.Factor("other", np.arange(7))
        sides.append((other, rng.integers(7, size=300).astype(np.int32)))
    axes = {"cell": (("a", "b", "c", "d"), cells)}
    return factor, tc.Tally.count(sides, {"x": values, "n": np.ones(300, np.int64)}, axes)


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("units", [12, 1300])
def test_sums_without_units_are_those_of_their_weights(
    units, crossed, whole, sized, strata, monkeypatch
):
    rng = np.random.default_rng(units)
    factor, counted = tally(rng, units, crossed=crossed, whole=whole, sized=sized, strata=strata)
    evidence = tc.Evidence({"counted": counted})
    groups = Groups.deal(factor)
    weights = tc.Weights.leave_out(factor, groups, evidence.factors)
    for start, stop in ((0, min(9, weights.count)), (5, weights.count)):
        block = weights.block(start, stop)
        plain = Block({name: block[name].astype(np.float64) for name in block.rows}, block.count)
        with monkeypatch.context() as patch:
            few = counted.sums(block)
            patch.setattr("truecost.kernels.FEW", 0)
            many = counted.sums(block)
        for name in ("x", "n"):
            assert few[name].tobytes() == many[name].tobytes()
            found, known = (counted.sums(one)[name] for one in (block, plain))
            np.testing.assert_allclose(found, known, rtol=1e-10, atol=1e-10)
            if not strata:
                assert (found[np.abs(known) < 1e-13] == 0).all()  # nothing is left of nothing


def test_what_one_unit_alone_holds_is_gone_without_it():
    factor = tc.Factor("unit", np.arange(4))
    sides = [(factor, np.array([0, 1, 2, 3, 3], np.int32))]
    axes = {"cell": (("a", "b"), np.array([0, 0, 0, 0, 1]))}
    counted = tc.Tally.count(sides, {"x": np.array([0.1, 0.2, 0.7, 0.1, 0.3])}, axes)
    sums = counted.sums(tc.Weights.leave_out(factor).block())["x"]
    assert sums[3, 1] == 0.0
    assert sums[:3, 1].tolist() == [0.3, 0.3, 0.3]
