"""Every kernel against a brute-force version written from its definition."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score

from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.sweep import Sweep
from truecost.core.weights import Block, Plan
from truecost.kernels import draws, order, sums

KEY = np.uint64(0x1234), np.uint64(0x9876)
ONES, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)


def philox_python(counter, key):
    """Philox4x32-10 in whole numbers (Salmon et al., SC 2011, section 3.3)."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & ONES, (p >> 32) ^ d ^ m, p & ONES
        k, m = (k + 0x9E3779B9) & ONES, (m + 0xBB67AE85) & ONES
    return a, b, c, d


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # kat_vectors of Random123
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI, (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_philox_published_vectors(counter, key, words):
    got = draws.philox_words(np.array(counter, np.uint64), np.array(key, np.uint64))
    assert tuple(int(w) for w in got) == words
    assert tuple(philox_python(counter, key)) == words


def multinomial(units, replicates, strata=None, first=0, draw=draws.multinomial_rows):
    strata = np.zeros(units, int) if strata is None else strata
    members = np.argsort(strata, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(strata))])
    rows = np.empty((replicates, units), np.uint16)
    draw(rows, first, members, start, *KEY)
    return rows


@pytest.mark.parametrize("units", [11, 70_001])  # above 65536 units 64 bits choose the unit
def test_multinomial_counts_the_draws_of_the_generator(units):
    drawn = []
    for call in range(units // 2 + 1):
        w = philox_python((call, 0, 5, 0), map(int, KEY))
        wide = (w[0] << 32) + w[1], (w[2] << 32) + w[3]
        drawn += [x * units >> 32 for x in w] if units == 11 else [x * units >> 64 for x in wide]
    expected = np.bincount(drawn[:units], minlength=units)
    assert np.array_equal(multinomial(units, 1, first=5)[0], expected)
    few = draws.multinomial_few
    assert units > 11 or np.array_equal(multinomial(units, 1, first=5, draw=few)[0], expected)


def test_multinomial_sums_to_the_size_of_each_stratum():
    strata = np.array([0, 2, 1, 0, 0, 2, 2, 2, 1, 0, 3])
    rows = multinomial(11, 500, strata)
    assert np.array_equal(rows, multinomial(11, 500, strata, draw=draws.multinomial_few))
    for s, size in enumerate(np.bincount(strata)):
        assert np.all(rows[:, strata == s].sum(axis=1) == size)


@pytest.mark.parametrize(("units", "replicates"), [(7, 20000), (1000, 300), (70_001, 12)])
def test_multinomial_moments_and_uniformity(units, replicates):
    rows = multinomial(units, replicates).astype(float)
    assert np.all(rows.sum(axis=1) == units)
    assert rows.var() == pytest.approx(1 - 1 / units, rel=0.03)
    edges = np.arange(min(units, 64) + 1) * units // min(units, 64)
    wanted = replicates * np.diff(edges)
    misfit = (np.add.reduceat(rows.sum(axis=0), edges[:-1]) - wanted) ** 2 / wanted
    assert misfit.sum() < chi2.ppf(0.999, len(wanted) - 1)
    assert units < 100 or abs(np.corrcoef(rows[0], rows[1])[0, 1]) < 4 / math.sqrt(units)


def test_poisson_mean_variance_and_probabilities():
    rows, error = np.empty((200, 1003), np.uint16), 4 / math.sqrt(200 * 1003)
    draws.poisson_rows(rows, 0, draws.POISSON_TABLE, draws.POISSON_GUIDE, *KEY)
    assert (rows.mean(), rows.var()) == pytest.approx((1, 1), abs=error * math.sqrt(3))
    for k in range(6):
        p = math.exp(-1) / math.factorial(k)
        assert (rows == k).mean() == pytest.approx(p, abs=error * math.sqrt(p))


def blocks(sizes, length, replicates):
    rows = np.empty((replicates, sum(sizes)), np.uint16)
    start = np.concatenate([[0], np.cumsum(sizes)])
    draws.block_rows(rows, 0, np.arange(sum(sizes)), start, np.minimum(length, sizes), *KEY)
    return rows


@pytest.mark.parametrize("length", [1, 3, 4, 50])
def test_moving_blocks_cover_from_the_drawn_starts(length):
    sizes = np.array([10, 4, 1])
    rows = blocks(sizes, length, 20)
    for r, s in itertools.product(range(20), range(3)):
        size, span, covered = int(sizes[s]), int(min(length, sizes[s])), []
        for draw in range(-(-size // span)):
            high, low, *_ = philox_python((draw, 0, r, s), [int(k) for k in KEY])
            begin = ((high << 32) + low) * (size - span + 1) >> 64
            covered += list(range(begin, begin + span))
        found = np.split(rows[r], np.cumsum(sizes)[:-1])[s]
        assert np.array_equal(found, np.bincount(covered[:size], minlength=size))


def test_moving_blocks_expected_coverage():
    size, length, replicates = 20, 5, 40_000
    rows = blocks(np.array([size]), length, replicates)
    reach = np.zeros(size)  # number of blocks of 5 that cover each place
    for begin in range(size - length + 1):
        reach[begin : begin + length] += 1
    expected = size // length * reach / (size - length + 1)
    assert np.allclose(rows.mean(axis=0), expected, atol=4 * rows.std() / math.sqrt(replicates))
    assert np.allclose(expected[length - 1 : -length + 1], 20 / 16)


@pytest.mark.parametrize("sides", [1, 2, 3])
def test_entry_sums(sides):
    rng = np.random.default_rng(sides)
    columns = rng.integers(0, 4, (9, 5)).astype(np.float32)
    slots = rng.integers(0, 9, (40, sides)).astype(np.int32)
    cells, values = rng.integers(0, 6, 40), rng.integers(-3, 9, (40, 2)).astype(float)
    out = np.zeros((6, 2, 5))
    sums.entry_sums(columns, slots, cells, values, out)
    expected = np.zeros_like(out)
    for e, s, r in itertools.product(range(40), range(2), range(5)):
        weight = math.prod(columns[slot, r] for slot in slots[e])
        expected[cells[e], s, r] += weight * values[e, s]
    assert np.array_equal(out, expected)
    values, one, few = rng.normal(size=(40, 2)), np.zeros_like(out), np.zeros_like(out)
    values[rng.random(values.shape) < 0.2] = 0
    sums.entry_sums(columns, slots, cells, values, one)
    sums.sums_of_few(columns, slots, cells, values, few)
    assert one.tobytes() == few.tobytes()


def test_transpose_block():
    rows = np.random.default_rng(0).integers(0, 60_000, (70, 130)).astype(np.uint16)
    columns = np.full((140, 70), -1, np.float32)
    sums.transpose_block(rows, columns, 5)
    assert np.array_equal(columns, np.pad(rows.T.astype(int), [(5, 5), (0, 0)], constant_values=-1))


@pytest.mark.parametrize("weighted", [False, True])
def test_bucket_entries(weighted):
    rng = np.random.default_rng(1)
    edges = np.array([0, 3, 4, 20, 50])
    slots, codes = rng.integers(0, 5, 50).astype(np.int32), rng.integers(0, 2, 50).astype(np.uint8)
    extra = rng.integers(1, 9, 50) / 4 if weighted else np.zeros(0)
    out = np.empty(50, np.int32), np.empty(50, np.int64), np.empty(50)
    n = sums.bucket_entries(edges, slots, codes, extra, 5, *out)
    expected = {}
    for i in range(50):
        key = slots[i], 2 * (np.searchsorted(edges, i, "right") - 1) + codes[i]
        expected[key] = expected.get(key, 0) + (extra[i] if weighted else 1)
    found = {(slot, cell): value for slot, cell, value in zip(*(o[:n] for o in out), strict=True)}
    assert (found, n) == (expected, len(expected))


SCORES = {
    "float32": np.float32([3, -0.1, 2.5, -7, 0, 2.5, 1e-40, -np.inf, np.inf, 3]).astype(float),
    "float64": np.array([0.1, 0.1 + 1e-12, -0.1, -0.1 - 1e-12, 5, 0.1, 1e-300, 0, 1, 2]),
    "huge": np.array([1e300, -1e300, 2e300, 1, 0, 1e39, -1e39, 1e300, 3, 4]),
}


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("few", [0, 1 << 16])
def test_sort_trials_keeps_rows_together_and_makes_no_ties(
    scores, weighted, sides, few, monkeypatch
):
    rng = np.random.default_rng(2)
    slots = rng.integers(0, 1 << 24, (10, sides)).astype(np.int32)
    codes = rng.integers(0, 2, 10).astype(np.uint8)
    extra = rng.random(10) if weighted else np.zeros(0)
    monkeypatch.setattr(order, "FEW", few)
    got = order.sort_trials(scores, slots, codes, extra)

    def table(scores, slots, codes, extra):
        own = extra if weighted else np.ones(10)
        return sorted(np.column_stack([scores, slots, codes, own]).tolist())

    assert np.array_equal(got[0], np.sort(scores))
    assert table(*got) == table(scores, slots, codes, extra)


def test_edges_trial_weights_and_curve(swept):
    sweep, scans = swept
    assert np.array_equal(sweep.targets, [s.T for s in scans])
    assert np.array_equal(sweep.nontargets, [s.N for s in scans])
    assert np.all(sweep.ranking.cut[sweep.ranking.edges[:-1]])
    assert np.array_equal(np.sort(sweep.trial_weights()), np.sort([s.weights for s in scans]))


def turning(miss, fa):
    """Points of a full scan without repeats and without those on a straight run along an axis."""
    points = [
        p
        for k, p in enumerate(zip(miss, fa, strict=True))
        if k == 0 or p != (miss[k - 1], fa[k - 1])
    ]
    return [
        p
        for k, p in enumerate(points)
        if k in (0, len(points) - 1)
        or not any(points[k - 1][a] == p[a] == points[k + 1][a] for a in (0, 1))
    ]


def test_curve_turns_where_the_full_scan_does(swept):
    sweep, scans = swept
    thresholds, miss, fa = sweep.curve()
    found = list(zip(miss.tolist(), fa.tolist(), strict=True))
    assert found == turning(scans[0].pmiss.tolist(), scans[0].pfa.tolist())
    at = np.searchsorted(scans[0].thresholds, thresholds)
    assert np.array_equal(scans[0].pmiss[at], miss)
    assert np.array_equal(scans[0].pfa[at], fa)


@pytest.mark.parametrize("trials", [1, 40, 10_000])
def test_a_curve_in_pieces_is_the_curve(swept, trials):
    sweep, scans = swept
    whole, pieces = sweep.curve(), [*sweep.curve_parts(trials)]
    assert len(pieces) == 1 if trials == 10_000 else len(pieces) > 2 or len(sweep.ranking.edges) < 9
    found = np.array([*map(np.concatenate, zip(*pieces, strict=True))])
    assert set(zip(*np.array(whole), strict=True)) <= set(zip(*found, strict=True))
    assert (np.diff(found[0]) > 0).all()
    at = np.searchsorted(scans[0].thresholds, found[0])  # what is more lies on the curve too
    assert np.array_equal(found[1:], [scans[0].pmiss[at], scans[0].pfa[at]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_of_thresholds_are_those_of_64_bits(dtype):
    scores = np.array([-np.inf, -3e38, 0, 0.1, 0.1, 0.3, 1, np.inf], dtype)
    near = scores.astype(float)
    wanted = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf),
                             [0.1, 0.3, 1e300, -1e300, 1e-300]])  # fmt: skip
    ranking = Ranking.from_scores(scores, np.zeros(8, int), [Factor.trials(8)])
    assert np.array_equal(ranking.positions(wanted), np.searchsorted(near, wanted))
    assert ranking.finite == slice(1, 7)
    assert Ranking.from_scores(scores[:1], [0], [Factor.trials(1)]).finite == slice(1, 1)


def test_rates_at_any_threshold(swept):
    sweep, scans = swept
    wanted = np.append(np.linspace(scans[0].scores.min() - 1, scans[0].scores.max() + 1, 9), np.inf)
    miss, fa = sweep.rates_at(wanted)
    for r, scan in enumerate(scans):
        rejected = scan.scores[None, :] < wanted[:, None]
        assert np.array_equal(miss[r], (rejected * scan.targets) @ scan.weights / scan.T)
        assert np.array_equal(fa[r], (~rejected * ~scan.targets) @ scan.weights / scan.N)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trials_of_a_single_unit_are_sorted_by_class(dtype):
    rng = np.random.default_rng(0)
    scores, codes = rng.integers(-9, 9, 300).astype(dtype) / 7, rng.integers(0, 2, 300)
    scores[:3] = [-0.0, 0.0, np.inf]
    factor = Factor("all", np.zeros(1))
    ranking = Ranking.from_scores(scores, codes, [(factor, np.zeros(300, np.int32))])
    assert ranking.scores.dtype == dtype
    assert np.array_equal(ranking.scores, np.sort(scores))
    pairs = sorted(zip(scores.tolist(), codes.tolist(), strict=True))
    assert sorted(zip(ranking.scores.tolist(), ranking.codes.tolist(), strict=True)) == pairs
    several = Ranking.from_scores(scores, codes, [Factor.encode("unit", rng.integers(0, 5, 300))])
    block = Block({"all": np.ones((1, 1), np.uint16), "unit": np.ones((1, 5), np.uint16)}, 1)
    a, b = Sweep(ranking, block), Sweep(several, block)
    assert np.array_equal(a.eer(), b.eer())
    assert np.array_equal(ranking.knots, several.knots)
    assert all(map(np.array_equal, a.curve(), b.curve()))


@pytest.mark.parametrize("costs", [(1, 1), (0.01, 0.99), (0.9, 0.1), (1, 0), (0, 1)])
def test_lowest_costs_equal_the_full_scan(swept, costs):
    sweep, scans = swept
    found, thresholds = sweep.minimum_at(*costs, ties=True)
    assert np.array_equal(found, sweep.minimum(*costs))
    for r, scan in enumerate(scans):
        every = costs[0] / scan.T * scan.miss + costs[1] / scan.N * scan.fa
        assert found[r] == every.min()  # weights are whole or quarters: bit for bit
        assert thresholds[r] == scan.thresholds[every.argmin()]


def test_hull_crossings_are_the_lowest_chord(swept):
    sweep, scans = swept
    for got, scan in zip(sweep.eer("rocch"), scans, strict=True):
        above = (scan.pfa - scan.pmiss)[:, None]
        left, right = above[:, 0] >= 0, above[:, 0] <= 0
        gaps = above[left] - above[right].T
        share = np.divide(above[left], gaps, out=np.zeros_like(gaps), where=gaps > 0)
        m0, m1 = scan.pmiss[left][:, None], scan.pmiss[right]
        assert got == pytest.approx((m0 + share * (m1 - m0)).min(), abs=1e-13)
        p = np.linspace(0, 1, 3001)[:, None]  # EER = max_p min_t p Pmiss + (1-p) Pfa
        dual = (p * scan.pmiss + (1 - p) * scan.pfa).min(axis=1).max()
        assert dual - 1e-13 <= got <= dual + 1 / 3000


def test_crossings(swept):
    sweep, scans = swept
    kinds = {k: sweep.eer(k) for k in ("nearest", "nearest-pfa", "nearest-pmiss", "interpolated")}
    for r, scan in enumerate(scans):
        last = np.nonzero(scan.miss * scan.N <= scan.fa * scan.T)[0].max()
        (m0, m1), (f0, f1) = scan.pmiss[last : last + 2], scan.pfa[last : last + 2]
        near = last if f0 - m0 <= m1 - f1 else last + 1
        assert kinds["nearest-pfa"][r] == scan.pfa[near]
        assert kinds["nearest-pmiss"][r] == scan.pmiss[near]
        assert kinds["nearest"][r] == (scan.pfa[near] + scan.pmiss[near]) / 2
        share = (f0 - m0) / (f0 - m0 + m1 - f1)  # on the straight line, where Pmiss = Pfa
        assert kinds["interpolated"][r] == pytest.approx(f0 + share * (f1 - f0), abs=1e-12)


def test_misses_and_false_alarms_at(swept):
    sweep, scans = swept
    limits = [0, 0.01, 0.1, 0.25, 0.5, 1]
    (miss, at_fa), (fa, at_miss) = sweep.miss_at(limits), sweep.fa_at(limits)
    for (r, scan), (g, limit) in itertools.product(enumerate(scans), enumerate(limits)):
        fits = np.nonzero(scan.pfa <= limit)[0][0]
        assert (miss[r, g], at_fa[r, g]) == (scan.pmiss[fits], scan.thresholds[fits])
        fits = np.nonzero(scan.pmiss <= limit)[0][-1]
        assert (fa[r, g], at_miss[r, g]) == (scan.pfa[fits], scan.thresholds[fits])


def test_misses_at_zero_with_weights_that_round(monkeypatch):
    monkeypatch.setattr("truecost.core.ranking.BUCKETS", 1)
    own = [0.1, 0.2, 0.3, 0.7, 0.1, 0.3, 0.3, 0.3]
    ranking = Ranking.from_scores(np.arange(8.0), np.arange(8) >= 5, [Factor.trials(8)], own)
    sweep = Sweep(ranking, Block({"trial": np.ones((1, 8), np.uint16)}, 1))
    assert sweep.miss_at([0.0])[0][0, 0] == 0  # separable at score 5, 0 misses there


def test_areas_against_all_pairs(swept):
    sweep, scans = swept
    for got, scan in zip(sweep.auc(), scans, strict=True):
        up, down = scan.scores[scan.targets][:, None], scan.scores[~scan.targets]
        won = ((up > down) + (up == down) / 2) * scan.weights[~scan.targets]
        pairs = scan.weights[scan.targets] @ won.sum(axis=1)
        assert got == pytest.approx(pairs / (scan.T * scan.N), rel=1e-12)
        theirs = roc_auc_score(scan.targets, scan.scores, sample_weight=scan.weights)
        assert got == pytest.approx(theirs, rel=1e-9)


def bits(parts, posteriors):  # those of 0 left out
    return -(parts[parts > 0] * np.log2(posteriors[parts > 0])).sum()


@pytest.mark.parametrize("prior", [0.5, 0.01])
def test_pooled_entropies_against_isotonic_regression(swept, prior):
    sweep, scans = swept
    for got, scan in zip(sweep.pav_entropy(prior), scans, strict=True):
        groups = [scan.scores == score for score in np.unique(scan.scores)]
        t = prior * np.array([scan.weights[g & scan.targets].sum() for g in groups]) / scan.T
        n = (1 - prior) * np.array([scan.weights[g & ~scan.targets].sum() for g in groups]) / scan.N
        t, n = t[t + n > 0], n[t + n > 0]  # tied trials are one group; those left out are none
        x = np.arange(len(t))
        fit = IsotonicRegression().fit(x, t / (t + n), sample_weight=t + n).predict(x)
        assert got == pytest.approx(bits(t, fit) + bits(n, 1 - fit), abs=1e-9)


def test_weighted_medians_minimise_the_distances(swept):
    sweep, scans = swept
    for median, distance, scan in zip(*sweep.median(), scans, strict=True):
        expanded = np.repeat(scan.scores, np.round(4 * scan.weights).astype(int))
        assert median == np.median(expanded)
        assert distance == pytest.approx(abs(expanded - np.median(expanded)).sum() / 4, rel=1e-12)


@pytest.mark.parametrize("trials", [4, 0])
def test_undefined_without_a_class_or_a_trial(trials):
    ranking = Ranking.from_scores(
        np.arange(4.0)[:trials], [0, 0, 1, 1][:trials], [Factor.trials(trials)]
    )
    weights = np.array([[1, 1, 0, 0]], np.uint16)[:, :trials]
    sweep = Sweep(ranking, Block({"trial": weights}, 1))
    rates = (sweep.miss_at([0.1])[0], sweep.fa_at([0.1])[0], sweep.minimum(1, 1))
    for value in (*rates, sweep.eer(), sweep.eer("nearest"), sweep.auc(), sweep.pav_entropy(0.5)):
        assert np.isnan(value).all()


def test_kernels_compile_where_nothing_can_be_written(tmp_path):
    """A read-only install and home, as in containers: no place for numba's cache."""
    source = tmp_path / "readonly.py"
    source.write_text(
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from truecost.kernels import kernel\n"
        "@kernel\n"
        "def twice(x):\n"
        "    return 2 * x\n"
        "print(twice(21))\n"
    )
    found = subprocess.run([sys.executable, source], capture_output=True, text=True, check=False)
    assert found.stdout == "42\n", found.stderr


def test_buckets_grow_with_the_trials_and_change_no_digit(monkeypatch):
    rng = np.random.default_rng(3)
    codes = (rng.random(20_000) < 0.1).astype(np.uint8)
    side = Factor.encode("unit", rng.integers(0, 30, 20_000))
    scores = rng.normal(2 * codes, 1)
    block = Plan(replicates=9).weights({"unit": side[0]}).block()
    found = []
    for many, wanted in ((20_000, 16), (5_000, 32), (200, 160)):
        monkeypatch.setattr("truecost.core.ranking.BUCKETS", 16)
        monkeypatch.setattr("truecost.core.ranking.MANY", many)
        sweep = Sweep(Ranking.from_scores(scores, codes, [side]), block)
        assert len(sweep.ranking.edges) - 1 == pytest.approx(wanted, rel=0.1)
        found.append([sweep.eer(), sweep.minimum(0.05, 0.95), sweep.miss_at([0.01])[0][:, 0]])
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
