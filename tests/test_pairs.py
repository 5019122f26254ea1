"""The area under the curve in two ways: pairs of units that are weighed, against all trials."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.core import ranking as rankings
from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.sweep import Sweep
from truecost.core.weights import Block
from truecost.kernels import pairs


def wins_of(scores, codes, units, size):
    """From the definition: 2 for each pair that a target wins, 1 for each tie."""
    found = np.zeros((size, size), np.int64)
    for score, unit in zip(scores[codes == 1], units[codes == 1], strict=True):
        others = scores[codes == 0]
        np.add.at(found[unit], units[codes == 0], 2 * (score > others) + (score == others))
    return found


@st.composite
def drawn(draw):
    """Scores with and without ties, classes (perhaps one alone), units (perhaps one alone)."""
    trials, units = draw(st.integers(1, 120)), draw(st.sampled_from([1, 2, 7, 255, 256, 257, 600]))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    codes = (rng.random(trials) < draw(st.sampled_from([0, 0.1, 0.5, 0.9, 1]))).astype(np.uint8)
    scores = rng.integers(0, draw(st.sampled_from([1, 4, 10_000])), trials).astype(float)
    rows = rng.integers(0, draw(st.sampled_from([2, 5, 60_000])), (6, units)).astype(np.uint16)
    return scores, codes, rng.integers(0, units, trials).astype(np.int32), rows


@given(drawn())
@settings(deadline=None)
def test_weighed_pairs_of_units_give_the_digits_of_all_trials(trials):
    scores, codes, units, rows = trials
    factor = Factor("unit", np.arange(rows.shape[1]))
    ranking = Ranking.from_scores(scores, codes, [(factor, units)])
    assert np.array_equal(ranking.wins, wins_of(scores, codes, units, len(factor)))
    tiled = np.zeros_like(ranking.wins)
    trials = ranking.slots.codes, ranking.codes, ranking.cut
    pairs.pair_wins(*trials, 1, 100, tiled)  # 100 units at a time
    assert np.array_equal(ranking.wins, tiled)
    block = Block({"unit": rows}, len(rows))
    columns = ranking.slots.columns(block)
    weighed, walked = np.zeros(len(rows)), np.zeros(len(rows))
    pairs.quadratic_forms(ranking.wins, columns, weighed)
    pairs.areas(columns, ranking.slots.codes, ranking.codes, ranking.extra, ranking.cut, walked)
    assert np.array_equal(weighed / 2, walked)
    few = [pairs.pairs_of_few(column, *trials) for column in columns.T]
    assert np.array_equal(few, walked)
    own = rows[:, units].astype(int)
    won = 2 * (scores[:, None] > scores) + (scores[:, None] == scores)
    won = won * (codes[:, None] == 1) * (codes == 0)
    assert weighed.tolist() == [int(w @ won @ w) for w in own]


def sweep_of(trials=3000, units=20, sides=1, own=None, rows=None):
    rng = np.random.default_rng(1)
    factor = Factor("unit", np.arange(units))
    codes = (rng.random(trials) < 0.2).astype(np.uint8)
    scores = np.round(rng.normal(codes, 1), 2)
    places = [(factor, rng.integers(0, units, trials).astype(np.int32)) for _ in range(sides)]
    rows = rng.integers(0, 4, (90, units)).astype(np.uint16) if rows is None else rows
    return Sweep(Ranking.from_scores(scores, codes, places, own), Block({"unit": rows}, len(rows)))


@pytest.fixture
def pairs_pay(monkeypatch):
    """Data need not be large for pairs of units."""
    monkeypatch.setattr(rankings, "LITTLE", 0.0)


def test_a_sweep_counts_pairs_of_units_where_they_pay(pairs_pay):
    few, many = sweep_of(), sweep_of(units=600)
    areas = few.auc(), many.auc()
    assert few.ranking.has_wins
    assert not many.ranking.has_wins  # more pairs of units than trials
    for sweep, found in zip((few, many), areas, strict=True):
        copy = Sweep(Ranking(*sweep_parts(sweep.ranking)), sweep.block)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rankings, "LITTLE", np.inf)
            assert np.array_equal(copy.auc(), found)
        assert not copy.ranking.has_wins


def sweep_parts(ranking):
    return ranking.scores, ranking.slots, ranking.codes, ranking.extra


def test_one_value_of_few_trials_walks_them():
    sweep = sweep_of(rows=np.ones((1, 20), np.uint16))
    assert 0.5 < sweep.auc()[0] < 1
    assert not sweep.ranking.has_wins


@pytest.mark.parametrize("why", ["crossed", "trial weights", "parts of one", "too large"])
def test_what_pairs_of_units_cannot_carry_is_walked(why, pairs_pay):
    rows = np.random.default_rng(2).integers(0, 4, (90, 20))
    large = (rows * 2**20).astype(np.uint32)
    sweep = {
        "crossed": lambda: sweep_of(sides=2),
        "trial weights": lambda: sweep_of(own=np.full(3000, 0.3)),
        "parts of one": lambda: sweep_of(rows=rows / 3),
        "too large": lambda: sweep_of(rows=large),  # above 2^53 sums round
    }[why]()
    assert np.all((sweep.auc() > 0.5) & (sweep.auc() < 1))
    assert not sweep.ranking.has_wins
