"""Thresholds near a distance: the buckets that are looked at hold all that a full scan finds."""

import numpy as np
import pytest

import truecost as tc
from truecost.core.comparison import compare
from truecost.core.subsets import Deferred


def ranking(rng, trials, units, weighted, crossed):
    """Random trials, many of them tied."""
    labels = np.r_[0, 1, rng.random(trials - 2) < 0.2].astype(np.int64)
    scores = np.round(rng.normal(labels * 1.5, 1), 2 if trials > 100 else 0)
    sides = [tc.Factor.encode(name, rng.integers(units, size=trials)) for name in ("a", "b")]
    own = rng.uniform(0.5, 2, trials) if weighted else None
    return tc.Ranking.from_scores(scores, labels, sides[: 1 + crossed], own)


def scanned(ranked):
    """Position, Pmiss and Pfa of every threshold, by plain sums."""
    own = ranked.extra if len(ranked.extra) else np.ones(len(ranked.codes))
    at = [0, *(np.flatnonzero(np.diff(ranked.scores)) + 1), len(own)]
    target, other = own * (ranked.codes == 1), own * (ranked.codes == 0)
    miss = [target[:k].sum() / target.sum() for k in at]
    return np.array(at), np.array(miss), np.array([other[k:].sum() / other.sum() for k in at])


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trials", [2, 5, 60, 900, 9000])
@pytest.mark.parametrize("most", [0.0, 0.02, 0.3, 5.0])
def test_near_thresholds_are_those_of_a_full_scan(trials, most, weighted, crossed):
    rng = np.random.default_rng(trials)
    ranked = ranking(rng, trials, 30, weighted, crossed)
    evidence = tc.Evidence({"ranking": ranked})
    sweep = tc.totals(evidence, tc.Weights.ones(evidence.factors).block()).sweep("ranking")
    for distance in (np.subtract, lambda miss, fa: miss - 0.1, lambda miss, fa: 0.05 - fa):
        near = sweep.near(distance, most)
        at, miss, fa = scanned(ranked)
        there = np.isin(at, near.positions)
        np.testing.assert_allclose(near.miss, miss[there], atol=1e-12)
        np.testing.assert_allclose(near.fa, fa[there], atol=1e-12)
        far = np.abs(distance(miss, fa))
        assert there[far <= most].all()
        assert there[far <= far.min() + 1e-15].all()
    at, miss, fa = scanned(ranked)
    here = int(np.flatnonzero(at == sweep.nearest())[0])
    assert abs(miss - fa)[here] == pytest.approx(abs(miss - fa).min(), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_decisions_at_a_position_are_a_tally(weighted):
    ranked = ranking(np.random.default_rng(1), 500, 20, weighted, crossed=False)
    own = ranked.extra if weighted else np.ones(500)
    tally = ranked.decided(200)
    evidence = tc.Evidence({"decided": tally})
    seen = tc.totals(evidence, tc.Weights.ones(evidence.factors).block()).sums("decided", "n")[0]
    accepted = np.arange(500) >= 200
    for code in (0, 1):
        for decision in (0, 1):
            held = own[(ranked.codes == code) & (accepted == decision)]
            assert seen[code, decision] == pytest.approx(held.sum())
            if weighted:
                assert tally.squares[2 * code + decision] == pytest.approx((held**2).sum())


def test_what_comes_later_is_made_once_and_forgets_what_it_was_made_of():
    made = []
    later = Deferred(lambda: made.append(1) or np.arange(3.0))
    assert made == []
    assert later() is later()
    assert made == [1]
    assert later._make is None


def test_an_equal_error_rate_alone_is_not_computed_without_its_units(monkeypatch):
    asked = []
    whole = tc.Weights.leave_out
    monkeypatch.setattr(tc.Weights, "leave_out", lambda *a: asked.append(1) or whole(*a))
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=400)
    trials = [
        tc.Trials.from_arrays(rng.normal(labels), labels, unit=np.arange(400) // 4, kind="llr")
        for _ in range(2)
    ]
    rows = [tc.score_system(one, tc.Scoring(measures=("eer", "p_miss")))[0] for one in trials]
    assert asked == []
    found = compare(*rows).difference
    assert len(asked) == 2
    assert found.lower < found.value < found.upper
