"""Labels that stand for many equal units are drawn as the units themselves would be."""

import math

import numba
import numpy as np
import pytest
from scipy import stats

import truecost as tc
from truecost.core.unit_index import UnitIndex
from truecost.kernels import sums as counts

KEY = np.uint64(0x1234), np.uint64(0x9876)
DRAWS = 100_000
REPLICATES = 20_000
ALMOST_ONE = 1 - 2.0**-53


@numba.njit
def poisson(mean, out):
    """A count for each place."""
    for i in range(len(out)):
        at = (i, np.uint64(3), np.uint64(0), KEY[0], KEY[1])
        u, v = counts.uniforms(at, 1)
        out[i] = counts.poisson(mean, u, v, at)


@numba.njit
def share(draws, size, units, out):
    """A count for each place."""
    for i in range(len(out)):
        at = (i, np.uint64(3), np.uint64(1), KEY[0], KEY[1])
        u, v = counts.uniforms(at, 1)
        out[i] = counts.share_of(draws, size, units, u, v, at)


def misfit(found, law):
    """Chi-square of counts in up to 40 bins of nearly equal probability, as a p-value."""
    edges = np.unique(law.ppf(np.arange(1, 40) / 40))
    wanted = np.diff(np.concatenate([[0], law.cdf(edges), [1]])) * len(found)
    seen = np.bincount(np.searchsorted(edges, found), minlength=len(wanted))
    kept = wanted > 5
    return stats.chi2.sf(((seen - wanted)[kept] ** 2 / wanted[kept]).sum(), kept.sum() - 1)


def tails(found, law):
    """Chi-square of what lies outside the central 99%, and further out, as a p-value."""
    at = law.ppf([0.0005, 0.005, 0.995, 0.9995])
    wanted = np.diff(np.concatenate([[0], law.cdf(at), [1]])) * len(found)
    seen = np.bincount(np.searchsorted(at, found), minlength=5)
    kept = wanted > 5
    return stats.chi2.sf(((seen - wanted)[kept] ** 2 / wanted[kept]).sum(), kept.sum() - 1)


def follows(found, law):
    """Mean, variance, middle and tails as the law says."""
    found = found.astype(float)
    excess = float(law.stats("k"))
    assert found.mean() == pytest.approx(law.mean(), abs=4 * law.std() / math.sqrt(len(found)))
    error = 4 * law.var() * math.sqrt((2 + excess) / len(found))
    assert found.var() == pytest.approx(law.var(), abs=error)
    assert misfit(found, law) > 0.001
    assert tails(found, law) > 0.001


@pytest.mark.parametrize("mean", [0.3, 1, 4, 9.9, 10.1, 14, 40, 1000, 1e6, 1e9])
def test_poisson_counts_follow_their_law(mean):
    found = np.empty(DRAWS, np.int64)
    poisson(float(mean), found)
    follows(found, stats.poisson(mean))


@pytest.mark.parametrize(
    ("draws", "size", "units"),
    [
        (1, 1, 3),
        (5, 3, 10),
        (19, 1, 2),
        (20, 1, 2),
        (99, 1, 10),
        (101, 1, 10),
        (24, 9, 10),
        (99, 9, 10),
        (103, 9, 10),
        (60, 1, 3),
        (1000, 3, 10),
        (100_000, 99, 100),
        (10**6, 1, 10**5),
        (10**6 + 7, 500_000, 10**6),
        (4 * 10**9, 9, 4 * 10**9),
        (4 * 10**9, 11, 4 * 10**9),
        (4 * 10**9, 10**9, 4 * 10**9),
    ],
)
def test_binomial_counts_follow_their_law(draws, size, units):
    found = np.empty(DRAWS, np.int64)
    share(draws, size, units, found)
    assert found.min() >= 0
    assert found.max() <= draws
    follows(found, stats.binom(draws, size / units))


def test_the_ends_of_shares_are_exact():
    found = np.empty(100, np.int64)
    share(17, 5, 5, found)
    assert np.all(found == 17)
    share(0, 5, 9, found)
    assert np.all(found == 0)


def test_uniform_numbers_are_never_zero_or_one():
    none, full = np.uint64(0), np.uint64(0xFFFFFFFF)
    assert counts.uniform(none, none) == 2.0**-53
    assert counts.uniform(full, full) == ALMOST_ONE


@pytest.mark.parametrize("n", [1, 3, 19])
def test_the_largest_uniform_number_gives_a_possible_count(n):
    at = (0, np.uint64(0), np.uint64(0), *KEY)
    assert counts.binomial(n, 0.5, ALMOST_ONE, 0.5, at) <= n
    assert counts.poisson(9.99, ALMOST_ONE, 0.5, at) < 60


SIZES = np.array([1, 40, 3, 1, 9, 2, 300, 1])
STRATA = np.array([0, 0, 1, 0, 1, 0, 1, 2])


def sized(strata=None, sizes=SIZES, name="user"):
    return tc.Factor(name, np.arange(len(sizes)), strata, sizes)


def expanded(strata=None):
    """The same units, each with its own label, and the sized label of each."""
    labels = np.repeat(np.arange(len(SIZES)), SIZES)
    own = None if strata is None else np.asarray(strata)[labels]
    return tc.Factor("user", np.arange(len(labels)), own), labels


def rows_of(factor, scheme, start=0, stop=REPLICATES):
    plan = tc.Plan(replicates=REPLICATES, seed=5, scheme=scheme)
    return plan.weights({"user": factor}).block(start, stop)["user"]


def covariance_of(scheme, strata):
    """Of the weights: Poisson, or multinomial within strata."""
    expected = np.diag(SIZES).astype(float)
    if scheme == "multinomial":
        together = np.equal.outer(strata, strata)
        totals = np.array([SIZES[strata == s].sum() for s in strata])
        expected -= together * np.outer(SIZES, SIZES) / totals
    return expected


@pytest.mark.parametrize(
    ("scheme", "strata"), [("multinomial", None), ("multinomial", STRATA), ("poisson", None)]
)
def test_sized_labels_weigh_as_their_units_together(scheme, strata):
    groups = np.zeros(8, int) if strata is None else strata
    expected = covariance_of(scheme, groups)
    alone, labels = expanded(strata)
    units = rows_of(alone, scheme).astype(float)
    together = np.stack([units[:, labels == u].sum(axis=1) for u in range(8)], axis=1)
    for rows in (rows_of(sized(strata), scheme).astype(float), together):
        spread = np.sqrt(np.diag(expected))
        error = 4 * spread / math.sqrt(REPLICATES)
        assert np.all(abs(rows.mean(axis=0) - SIZES) <= error + 1e-12)
        error = 5 * np.sqrt((np.outer(spread, spread) ** 2 + expected**2) / REPLICATES)
        error += np.diag(5 * spread / math.sqrt(REPLICATES))  # counts of small mean vary more
        assert np.all(abs(np.cov(rows.T) - expected) <= error + 1e-12)
        for u in range(7):
            total = SIZES[groups == groups[u]].sum()
            law = stats.poisson(SIZES[u])
            if scheme == "multinomial":
                law = stats.binom(total, SIZES[u] / total)
            assert misfit(rows[:, u], law) > 0.001


@pytest.mark.parametrize("most", [5, 12, 10**9])
def test_weights_sum_to_the_units_of_each_stratum(most):
    rng = np.random.default_rng(most % 97)
    sizes, strata = rng.integers(1, most, 3), rng.integers(0, 3, 700)
    sizes = np.concatenate([sizes, rng.integers(1, min(most, 10**6), 697)])
    rows = rows_of(sized(strata, sizes), "multinomial", 0, 40)
    assert rows.dtype == np.uint32
    for s in range(3):
        sums = rows[:, strata == s].sum(axis=1, dtype=np.int64)
        assert np.all(sums == sizes[strata == s].sum())


def test_large_labels_beside_many_single_ones():
    sizes = np.append(np.ones(100_000, int), 900_000)
    rows = rows_of(sized(sizes=sizes), "multinomial", 0, 50).astype(float)
    assert np.all(rows.sum(axis=1) == 1_000_000)
    assert rows[:, -1].std() == pytest.approx(math.sqrt(90_000), rel=0.3)
    assert rows[:, :-1].var() == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("scheme", ["multinomial", "poisson"])
def test_sizes_of_one_draw_the_same_digits(scheme):
    strata = STRATA if scheme == "multinomial" else None
    plain = tc.Factor("user", np.arange(8), strata)
    ones = sized(strata, np.ones(8, int))
    assert np.array_equal(rows_of(ones, scheme, 0, 500), rows_of(plain, scheme, 0, 500))


@pytest.mark.parametrize("scheme", ["multinomial", "poisson"])
def test_a_replicate_is_the_same_in_every_block(scheme):
    sizes = np.random.default_rng(0).integers(1, 60, 1500)  # more labels than words at a time
    whole = rows_of(sized(sizes=sizes), scheme, 0, 30)
    assert np.array_equal(whole[7:19], rows_of(sized(sizes=sizes), scheme, 7, 19))
    assert len(np.unique(whole, axis=0)) == 30


@pytest.mark.parametrize("scheme", ["multinomial", "poisson"])
def test_replicates_and_labels_do_not_hang_together(scheme):
    rows = rows_of(sized(sizes=np.full(2000, 25)), scheme, 0, 40).astype(float)
    limit = 4 / math.sqrt(rows.size)
    apart = rows - rows.mean()
    assert abs((apart[:-1] * apart[1:]).mean() / rows.var()) < limit
    for gap in (1, 2, 512):
        assert abs((apart[:, :-gap] * apart[:, gap:]).mean() / rows.var()) < limit


def test_seeds_names_and_strata_draw_apart():
    sizes = np.full(4000, 30)
    drawn = [
        tc.Plan(replicates=1, seed=seed).weights({n: sized(sizes=sizes, name=n)}).block()[n][0]
        for seed, n in ((0, "user"), (1, "user"), (0, "device"))
    ]
    halves = rows_of(sized(np.repeat([0, 1], 2000), sizes), "multinomial", 0, 1)[0]
    drawn += [np.concatenate([halves[2000:], halves[:2000]]), halves]
    pairs = np.corrcoef(drawn)[np.triu_indices(5, 1)]
    assert np.all(abs(pairs) < 4 / math.sqrt(4000))


def mean(totals, application):
    """Sum over number."""
    return totals.sums("values", "sum") / totals.sums("values", "n"), 0.0


MEAN = tc.Measure("mean", mean, ("values",), "Mean", "lower", "test", uses=())
VALUES = np.array([3, 0, -2, 7, 1, 5, 0, 11])


def evidence(factor, labels):
    table = {"sum": VALUES[labels], "n": np.ones(len(labels), int)}
    codes = np.arange(len(labels), dtype=np.int32)
    return tc.Evidence({"values": tc.Tally.count([(factor, codes)], table)})


def estimate(found, plan=None, **more):
    return tc.estimate(found, [MEAN], tc.preset("equal"), plan or tc.Plan(4000), **more)[0]


@pytest.mark.parametrize("scheme", ["multinomial", "poisson"])
def test_an_estimate_equals_that_of_the_single_units(scheme):
    plan = tc.Plan(REPLICATES, scheme=scheme)
    few = estimate(evidence(sized(), np.arange(8)), plan)
    many = estimate(evidence(*expanded()), plan)
    assert few.value == many.value
    assert (few.n_units, few.factors) == (many.n_units, many.factors)
    assert few.flags == many.flags
    assert (few.lower, few.upper) == pytest.approx((many.lower, many.upper), abs=0.005)
    again = estimate(evidence(sized(), np.arange(8)), plan, jobs=1)
    assert np.array_equal(few.replicates, again.replicates)


def test_sums_are_exact_beyond_what_32_bits_hold():
    sizes = np.array([2**24 + 1, 10**9 + 1])
    tally = tc.Tally.count([(sized(sizes=sizes), np.arange(2))], {"n": [1, 3]})
    ones = tc.Weights.ones({"user": sized(sizes=sizes)}).block()
    assert tally.sums(ones)["n"].tolist() == [2**24 + 1 + 3 * (10**9 + 1)]


def test_crossed_factors_multiply_exactly():
    users, queries = sized(sizes=np.array([2**24 + 1, 5])), tc.Factor("query", np.arange(2))
    crossed = tc.Tally.count([(users, np.arange(2)), (queries, np.arange(2))], {"n": [1, 1]})
    rows = {"user": users.sizes.astype(np.uint32)[None], "query": np.array([[3, 7]], np.uint16)}
    assert crossed.sums(tc.Block(rows, 1))["n"].tolist() == [3 * (2**24 + 1) + 35]


def test_a_held_factor_weighs_its_sizes():
    plan = tc.Plan(replicates=2, hold=("user",))
    rows = plan.weights({"user": sized()}).block()["user"]
    assert rows.tolist() == [SIZES.tolist()] * 2


def test_rankings_sweep_sized_labels_as_their_units():
    classes = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    alone, labels = expanded()
    places = np.arange(len(labels), dtype=np.int32)
    single = tc.Ranking.from_scores(VALUES[labels], classes[labels], [(alone, places)])
    few = tc.Ranking.from_scores(VALUES, classes, [(sized(), np.arange(8, dtype=np.int32))])
    found = []
    for ranking, factor in ((single, alone), (few, sized())):
        block = tc.Weights.ones({"user": factor}).block()
        sweep = tc.totals(tc.Evidence({"ranking": ranking}), block).sweep("ranking")
        entropy = sweep.pav_entropy(0.3)
        found.append([sweep.auc(), sweep.minimum(2.0, 1.0), sweep.eer(), entropy, *sweep.median()])
    assert np.array_equal(found[0], found[1])


def test_factors_of_other_sizes_are_other_factors():
    plain, ones = tc.Factor("user", np.arange(8)), sized(sizes=np.ones(8, int))
    assert (plain.count, ones.count, sized().count, len(sized())) == (8, 8, 357, 8)
    assert sized().same_units(sized())
    assert not sized().same_units(plain)
    assert not plain.same_units(sized())
    assert not sized().same_units(ones)
    assert len({plain.digest, ones.digest, sized().digest, sized(STRATA).digest}) == 4
    parts = {"a": evidence(sized(), np.arange(8)), "b": evidence(ones, np.arange(8))}
    both = tc.Evidence({name: found.parts["values"] for name, found in parts.items()})
    with pytest.raises(tc.InputError, match=r"different units in two parts .* \(357 and 8\)"):
        _ = both.factors


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (np.array([1, 2]), r"shape \(2,\) and type int64: one whole number for each of 3 labels"),
        (np.array([1.0, 2.0, 3.0]), "type float64: one whole number for each of 3 labels"),
        (np.array([4, 0, 2]), "label 1 of factor 'user' represents 0 units: leave out"),
        (np.array([10**9, 10**9, 3 * 10**9]), "has 5000000000 units: at most 4000000000"),
    ],
)
def test_bad_sizes_are_refused(sizes, message):
    with pytest.raises(tc.InputError, match=message):
        tc.Factor("user", np.arange(3), sizes=sizes)


def test_what_needs_single_units_is_refused():
    blocks = tc.Plan(replicates=3, scheme="blocks").weights({"user": sized()})
    with pytest.raises(tc.UsageError, match="moving blocks join single units, but labels of"):
        blocks.block()
    found = evidence(sized(), np.arange(8))
    with pytest.raises(tc.UsageError, match="not defined for labels that represent several"):
        estimate(found, method="bca")
    with pytest.raises(tc.UsageError, match="has strata: Poisson weights ignore strata"):
        rows_of(sized(STRATA), "poisson", 0, 2)
    sides = [(sized(), np.arange(8, dtype=np.int32))] * 2
    with pytest.raises(tc.InputError, match="'user' occurs on several sides, but each label"):
        UnitIndex.join(sides)
