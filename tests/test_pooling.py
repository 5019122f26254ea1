"""Minimum Cllr in two ways: buckets of small whole weights against a look at every trial."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.sweep import Sweep
from truecost.core.weights import Block, Plan
from truecost.kernels import pooling

NONE = np.zeros(0)


def knots_of(codes, cut):
    knots = np.empty(len(codes) + 1, np.int64)
    found = knots[: pooling.pooling_knots(codes, cut, knots)].copy()
    assert found.tolist() == pooling.knots_of_few(codes, cut).tolist()
    return found


def in_buckets(columns, slots, codes, cut, prior=0.5, bucket=64, slab=1024):
    """What the buckets give: (replicates,)."""
    heaviest = int(columns.max(initial=1)) ** slots.shape[1]
    out = np.empty(columns.shape[1])
    priors = np.full(len(out), prior)
    most = pooling.LARGEST // heaviest
    knots = knots_of(codes, cut)
    weights = np.ascontiguousarray(columns, np.uint8)
    pooling.pooled_counts(priors, weights, most, slots, codes, knots, out, bucket, slab)
    return out


def by_trial(columns, slots, codes, cut, prior=0.5):
    """What a look at every trial gives: (replicates,)."""
    out = np.empty(columns.shape[1])
    knots, priors = knots_of(codes, cut), np.full(len(out), prior)
    weights = np.ascontiguousarray(columns, np.float32)
    pooling.pooled_entropies(priors, weights, slots, codes, NONE, knots, out)
    return out


def exactly(weights, codes, cut, prior):
    """From the definition in fractions: pool tie groups until the share of targets rises."""
    groups = np.cumsum(cut) - 1
    blocks = []
    for g in range(groups[-1] + 1):
        own = weights[groups == g].astype(int), codes[groups == g]
        t, n = int(own[0][own[1] == 1].sum()), int(own[0][own[1] == 0].sum())
        if t + n == 0:
            continue
        while blocks and Fraction(blocks[-1][0], sum(blocks[-1])) >= Fraction(t, t + n):
            t, n = t + blocks[-1][0], n + blocks.pop()[1]
        blocks.append((t, n))
    all_t, all_n = (sum(b[k] for b in blocks) for k in (0, 1))
    if not all_t or not all_n:
        return np.nan
    bits = 0.0
    for block in blocks:
        t, n = prior * block[0] / all_t, (1 - prior) * block[1] / all_n
        if t and n:
            bits += t * np.log2((t + n) / t) + n * np.log2((t + n) / n)
    return bits


@st.composite
def drawn(draw):
    """Trials in order of score, with ties, classes and units; weights of up to a byte."""
    trials, units, sides = (
        draw(st.integers(1, 300)),
        draw(st.integers(1, 9)),
        draw(st.integers(1, 2)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    share, tied = draw(st.sampled_from([0, 0.02, 0.5, 1])), draw(st.sampled_from([0, 0.3, 0.95, 1]))
    rising = draw(st.booleans())
    chance = np.linspace(0, 2 * share, trials).clip(0, 1) if rising else share
    codes = (rng.random(trials) < chance).astype(np.uint8)
    cut = rng.random(trials) >= tied
    cut[0] = True
    slots = rng.integers(0, units, (trials, sides)).astype(np.int32)
    if draw(st.booleans()):  # long intervals of one class
        codes = np.sort(codes)
    most = draw(st.sampled_from([1, 3, 255]))
    columns = rng.integers(0, most + 1, (units, draw(st.sampled_from([1, 5, 64]))))
    return columns, slots, codes, cut


@given(
    drawn(), st.sampled_from([(1, 3), (4, 2), (64, 1024), (1000, 1)]), st.sampled_from([0.5, 0.01])
)
@settings(deadline=None)
def test_buckets_give_the_digits_of_a_look_at_every_trial(trials, sizes, prior):
    columns, slots, codes, cut = trials
    found = in_buckets(*trials, prior, *sizes)
    assert np.array_equal(found, by_trial(*trials, prior), equal_nan=True)
    weights = columns[slots].prod(axis=1)
    wanted = [exactly(own, codes, cut, prior) for own in weights.T[:3]]
    assert np.allclose(found[:3], wanted, rtol=1e-13, atol=0, equal_nan=True)


@pytest.mark.parametrize("weight", [1, 15, 16, 17, 254, 255])
def test_long_intervals_of_heavy_units_do_not_overflow(weight):
    """50,484 trials lay between two knots of a list; 258 of weight 255 are too many for 16 bits."""
    rng = np.random.default_rng(weight)
    codes = np.concatenate([rng.integers(0, 2, 500), np.zeros(60_000), rng.integers(0, 2, 500)])
    codes, cut = codes.astype(np.uint8), np.ones(61_000, np.bool_)
    slots = rng.integers(0, 2, (61_000, 1)).astype(np.int32)
    columns = np.array([[weight, 0, weight, 1], [weight, weight, 1, 0]])
    found = in_buckets(columns, slots, codes, cut)
    assert np.array_equal(found, by_trial(columns, slots, codes, cut))
    assert 0 < found[0] < 1


def test_very_many_blocks_find_room():
    """Each pair of intervals is a block of its own: the share of targets rises all the way."""
    codes = np.concatenate([[0] * (60 - k) + [1] * k for k in range(1, 60)]).astype(np.uint8)
    codes = np.concatenate([codes, np.zeros(1, np.uint8), np.ones(3, np.uint8)])
    cut = np.ones(len(codes), np.bool_)
    cut[1:] = codes[1:] < codes[:-1]  # groups of nontargets and targets tie
    slots, columns = np.zeros((len(codes), 1), np.int32), np.ones((1, 3))
    found = in_buckets(columns, slots, codes, cut, bucket=1, slab=2)
    assert np.array_equal(found, by_trial(columns, slots, codes, cut))
    assert found[0] == pytest.approx(exactly(np.ones(len(codes)), codes, cut, 0.5))


WAYS = {  # trial weights, sides, largest weight of a unit, whether all weights are whole
    "plain": (False, 1, 3, True),
    "crossed": (False, 2, 3, True),
    "three crossed sides of 60": (False, 3, 60, True),
    "trial weights": (True, 1, 3, True),
    "a byte is full": (False, 1, 255, True),
    "more than a byte": (False, 1, 256, True),
    "parts of one": (False, 1, 3, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_sweep_takes_either_way_to_the_same_entropy(way, monkeypatch):
    weighted, sides, most, whole = WAYS[way]
    rng = np.random.default_rng(0)
    trials, factor = 4000, Factor("unit", np.arange(40))
    codes = (rng.random(trials) < 0.3).astype(np.uint8)
    codes[:1500] = 0
    scores = np.round(rng.normal(codes, 1), 2)
    scores[:1500] -= 10  # one long interval: 1,500 trials of weight 255 are more than 16 bits hold
    own = rng.integers(1, 9, trials) / 4 if weighted else None
    places = [rng.integers(0, 40, trials).astype(np.int32) for _ in range(sides)]
    ranking = Ranking.from_scores(scores, codes, [(factor, p) for p in places], own)
    rows = rng.integers(0, most + 1, (70, 40)).astype(np.uint16)
    rows[:, 0] = most
    block = Block({"unit": rows if whole else rows / 2}, 70)
    monkeypatch.setattr("truecost.kernels.FEW", 0)
    called = []
    real = pooling.pooled_counts
    monkeypatch.setattr(pooling, "pooled_counts", lambda *a: (called.append(1), real(*a)))
    found = Sweep(ranking, block).pav_entropy(0.3)
    assert bool(called) == (way in ("plain", "crossed", "a byte is full"))
    weights = (rows if whole else rows / 2)[:, places[0]].astype(float)
    for k in range(1, sides):
        repeated = np.any([places[k] == places[j] for j in range(k)], axis=0)
        weights = weights * np.where(repeated, 1, rows[:, places[k]])
    weights = weights * (1 if own is None else own)
    order = np.argsort(scores, kind="stable")
    cut = np.append(True, np.diff(scores[order]) > 0)
    for r in (0, 13, 64, 69):
        whole_numbers = np.rint(weights[r, order] * 8)
        wanted = exactly(whole_numbers, codes[order], cut, 0.3)
        assert found[r] == pytest.approx(wanted, rel=1e-12)


def test_a_point_and_its_replicates_are_compiled_once(monkeypatch):
    monkeypatch.setattr("truecost.kernels.FEW", 0)
    factor = Factor("unit", np.arange(4))
    places = np.arange(40, dtype=np.int32) % 4
    ranking = Ranking.from_scores(np.arange(40.0), np.arange(40) % 3 == 0, [(factor, places)])
    weights = Plan(replicates=70).weights({"unit": factor})
    ones = Block({"unit": np.ones((1, 4), np.uint16)}, 1)
    for block in (ones, weights.block()):
        Sweep(ranking, block).pav_entropy(0.5)
        Sweep(ranking, block).pav_entropy(np.full(block.count, 0.1))
    plain = [s for s in pooling.pooled_counts.signatures if "omitted" in str(s)]
    assert len(plain) == 1


def test_few_trials_need_no_second_kernel(monkeypatch):
    """Where kernels are compiled for the first time that takes longer than all replicates."""
    ranking = Ranking.from_scores(np.arange(40.0), np.arange(40) % 3 == 0, [Factor.trials(40)])
    block = Plan(replicates=70).weights({"trial": ranking.slots.factors[0]}).block()
    few = Sweep(ranking, block)
    monkeypatch.setattr(pooling, "pooled_counts", None)
    found = few.pav_entropy(0.5)
    monkeypatch.undo()
    monkeypatch.setattr("truecost.kernels.FEW", 0)
    assert np.array_equal(Sweep(ranking, block).pav_entropy(0.5), found)
