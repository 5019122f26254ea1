"""Shares of variance and their intervals, against chi-square draws of their own."""

import numpy as np
import pytest

from test_variance import by_hand, levels_of, method_of
from truecost.core.variance import _degrees, _squares, shares_of_variance

UNITS, COUNT, DRAWS = 4, 40, 200_000


def drawn(seed, runs):
    """Values of runs, and replicates that move them little."""
    random = np.random.default_rng(seed)
    points = random.normal(0, 1, runs)
    return points, points[:, None] + random.normal(0, 0.4, (runs, COUNT))


def moved(replicates):
    """What replicates move, unbiased for few replicates and few units."""
    off = replicates - replicates.mean(axis=1, keepdims=True)
    return off * np.sqrt(COUNT / (COUNT - 1) * UNITS / (UNITS - 1))


def against(found, wanted, draws):
    """Point and ends of every share against those of variances that were drawn."""
    shares = np.maximum(draws, 0)
    shares = shares / shares.sum(axis=0)
    told = shares_of_variance(found).shares
    assert [s.variance for s in told] == pytest.approx(np.maximum(wanted, 0))
    for share, of in zip(told, shares, strict=True):
        ends = np.quantile(of, (0.025, 0.975))
        assert (share.lower, share.upper) == pytest.approx(ends, abs=0.025)


def scales(degrees, seed=0):
    """Degrees of freedom over chi-square: what a mean square is multiplied by."""
    random = np.random.default_rng(seed)
    return [k / random.chisquare(k, DRAWS) for k in degrees]


def test_seeds_on_one_training_set():
    points, replicates = drawn(1, 5)
    off = moved(replicates)
    within, noise, test = points.var(ddof=1), off.var(axis=0, ddof=1).mean(), (off**2).mean()
    one, two = scales((4, UNITS - 1))
    found = method_of(points, replicates, {"seed": tuple("12345")}, units=UNITS)
    against(found, [within - noise, test], np.array([within * one - noise * two, test * two]))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (4, 2, 3)])
def test_seeds_nested_in_training_sets(sizes):
    levels, runs = levels_of(sizes), sum(sizes)
    sets = np.array(levels["training"])
    points, replicates = drawn(2, runs)
    points = points + 1.5 * np.array([int(s) for s in sets])
    replicates = replicates + 1.5 * np.array([int(s) for s in sets])[:, None]
    off = moved(replicates)
    each = (runs - sum(n**2 for n in sizes) / runs) / (len(sizes) - 1)
    within, apart = by_hand(list(points), list(sets))
    noise = np.mean([by_hand(list(column), list(sets)) for column in off.T], axis=0)
    between, test = apart * each + within, (off**2).mean()
    one, two, three = scales((runs - len(sizes), len(sizes) - 1, UNITS - 1))
    draws = [
        within * one - noise[0] * three,
        (between * two - within * one) / each - noise[1] * three,
        test * three,
    ]
    found = method_of(points, replicates, levels, units=UNITS, sets="training")
    against(found, [within - noise[0], apart - noise[1], test], np.array(draws))


def test_one_share_of_seeds_and_sets():
    points, replicates = drawn(3, 6)
    off = moved(replicates)
    every, noise, test = points.var(ddof=1), off.var(axis=0, ddof=1).mean(), (off**2).mean()
    one, two = scales((5, UNITS - 1))
    levels = {"seed": tuple("112233"), "training": tuple("abcdef")}
    found = method_of(points, replicates, levels, units=UNITS, sets="training")
    against(found, [every - noise, test], np.array([every * one - noise * two, test * two]))


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_one_share_where_only_some_sets_have_one_seed(seed):
    """Satterthwaite's degrees of freedom of half the mean squared difference across sets."""
    levels, sizes = levels_of((3, 1, 2)), np.array([3, 1, 2])
    points, replicates = drawn(1, 6)
    points, replicates = 3 * points, replicates + 2 * points[:, None]
    sets = np.array([int(s) for s in levels["training"]])
    pairs = [(i, j) for i in range(6) for j in range(6) if sets[i] != sets[j]]
    one, other = np.array(pairs).T
    off = moved(replicates)
    every, noise = (((v[one] - v[other]) ** 2).mean(axis=0) / 2 for v in (points, off))
    random = np.random.default_rng(0)
    effects = random.normal(0, 1, (sizes.size, DRAWS))[sets]
    values = ((effects[one] - effects[other]) ** 2).mean(axis=0) / 2
    degrees = 2 / values.var() * values.mean() ** 2
    assert degrees == pytest.approx(484 / (81 + 25 + 64 + 98), abs=0.03)
    of_all, of_test = scales((degrees, UNITS - 1))
    test = (off**2).mean()
    draws = np.array([every * of_all - noise.mean() * of_test, test * of_test])
    found = method_of(points, replicates, levels, units=UNITS, seed=seed)
    against(found, [every - noise.mean(), test], draws)


def coverage(sizes, training, seed, count=1500):
    """How often the interval holds the one share of seeds and sets; draws of scipy's quantiles."""
    sets = np.repeat(np.arange(len(sizes)), sizes)
    random = np.random.default_rng([*sizes, seed])
    effects = random.normal(0, np.sqrt(training), (count, len(sizes)))[:, sets]
    values = (effects + random.normal(0, np.sqrt(seed), (count, len(sets)))).T
    [square] = _squares(values, sets).values()
    degrees = _degrees(sets)["all"]
    test = 0.5 * random.chisquare(29, count) / 29
    one = square[:, None] * degrees / random.chisquare(degrees, (count, 800))
    two = test[:, None] * 29 / random.chisquare(29, (count, 800))
    low, high = np.quantile(one / (one + two), (0.025, 0.975), axis=1)
    true = (training + seed) / (training + seed + 0.5)
    return float(((low <= true) & (true <= high)).mean())


@pytest.mark.parametrize("sizes", [(3, 1, 2), (5, 1, 1, 1), (2, 1, 2, 1, 3)])
def test_intervals_of_one_share_cover_at_least_what_they_say(sizes):
    assert 0.935 <= coverage(sizes, 1, 0) <= 0.975
    assert coverage(sizes, 1, 1) >= 0.965
    assert coverage(sizes, 0, 1) >= 0.975


def test_what_the_test_adds_is_taken_off_and_nothing_is_below_0():
    """Runs that differ less than the test makes them differ."""
    replicates = np.random.default_rng(4).normal(0, 1, (6, COUNT))
    points = np.linspace(0, 0.01, 6)
    for levels in ({"seed": tuple("123456")}, levels_of((1,) * 6)):
        found = method_of(points, replicates, {k: v for k, v in levels.items() if len(set(v)) > 1})
        shares = shares_of_variance(found).shares
        assert [s.share for s in shares] == [0, 1]
    lopsided = method_of(points, replicates, levels_of((3, 1, 2)))
    assert [s.share for s in shares_of_variance(lopsided).shares] == [0, 1]
