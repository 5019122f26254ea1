"""Laws that hold for all data: merging, permuting, weighting, pairing, scaling, equal bytes."""

import itertools
from dataclasses import astuple, dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.core.comparison import compare
from truecost.formats import Table
from truecost.prices import COSTS
from truecost.tasks.measures import registry
from truecost.tasks.trials.measures.thresholds import AT_RATES

PLAN = tc.Plan(replicates=25, seed=3)
DETECTION = tc.Application.detection(10, 1, 0.2)
PARTS = {"decisions", "losses", "llr", "ranking"}
EVERY = (  # but what needs prices: tests/test_prices.py
    *(
        f"{n}:target" if m.parameter == "" else n  # of a class
        for n, m in registry().items()
        if m.parts and PARTS.issuperset(m.parts) and m.name not in COSTS
    ),
    "eer:nearest",
)
SWEPT = [tc.find(m) for m in ("min_dcf", "eer", "eer:nearest", "auc", "min_cllr", "miss_at_fa:0.3")]


@dataclass(frozen=True)
class Rows:
    """Detection trials: scores, labels, the speaker on each side, whole trial weights."""

    scores: np.ndarray
    labels: np.ndarray
    enroll: np.ndarray
    test: np.ndarray
    times: np.ndarray

    def __getitem__(self, places):
        return Rows(*(column[places] for column in astuple(self)))

    def __len__(self):
        return len(self.scores)

    def sides(self, count):
        factor, codes = tc.Factor.encode(
            "speaker", np.concatenate([self.enroll, self.test][:count])
        )
        return [(factor, part) for part in np.split(codes, count)]

    def tally(self, count, weights=None):
        axes = {"class": (("0", "1"), self.labels), "decision": (("no", "yes"), self.scores > 0)}
        stats = {"n": np.ones(len(self), int), "score": np.round(4 * self.scores).astype(int)}
        return tc.Tally.count(self.sides(count), stats, axes, weights)

    def ranking(self, count, weights=None):
        return tc.Ranking.from_scores(self.scores, self.labels, self.sides(count), weights)

    def trials(self, **more):
        return tc.Trials.from_arrays(self.scores, self.labels, kind="llr", unit=self.enroll, **more)


@st.composite
def rows(draw, least=8):
    """Trials of few speakers with heavy ties; both classes occur."""
    size, seed = draw(st.integers(least, 60)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, size - 2)])
    fine = draw(st.sampled_from([0.5, 0.25, 2**-20]))  # the last makes no ties
    scores = np.round(rng.normal(labels, 1) / fine) * fine
    speakers = np.array([f"s{k}" for k in rng.permutation(12)])[: draw(st.integers(3, 12))]
    enroll, test = rng.choice(speakers, (2, size))
    return Rows(scores, labels, enroll, test, rng.integers(1, 4, size))


def weighed(part):
    """Everything that a part says under the weights of a plan."""
    evidence = tc.Evidence({"ranking": part})
    if isinstance(part, tc.Tally):
        return list(part.sums(PLAN.weights(evidence.factors).block()).values())
    return [e.replicates for e in tc.estimate(evidence, SWEPT, DETECTION, PLAN)]


def points(trials, measures=EVERY, application=DETECTION, **more):
    scoring = tc.Scoring(
        application, measures, PLAN, choices=tc.TrialsScoring(allow_reversed=True), **more
    )
    return tc.score_system(trials, scoring)


def values(estimates):
    return [np.append(e.replicates, e.point) for e in estimates]


def same(left, right, rtol=0.0):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("count", [1, 2])
@given(whole=rows(), cut=st.integers(0, 8))
def test_merge_equals_whole(count, whole, cut):
    left, right = whole[:cut], whole[cut:]  # their speakers overlap
    same(weighed(left.tally(count) + right.tally(count)), weighed(whole.tally(count)))
    same(weighed(right.tally(count) + left.tally(count)), weighed(whole.tally(count)))
    same(weighed(left.ranking(count) + right.ranking(count)), weighed(whole.ranking(count)))


@given(whole=rows(), cut=st.integers(1, 7))
def test_merge_equals_whole_with_trial_weights(whole, cut):
    left, right, half = whole[:cut], whole[cut:], whole.times / 2
    merged = left.tally(2, half[:cut]) + right.tally(2, half[cut:])
    same(weighed(merged), weighed(whole.tally(2, half)))
    own = np.concatenate([np.ones(cut), half[cut:]])  # the left part has none of its own
    merged = left.ranking(2) + right.ranking(2, half[cut:])
    same(weighed(merged), weighed(whole.ranking(2, own)))


def test_merged_fixed_rows_add():
    sides = [tc.Factor.encode("batch", ["a", "b"])]
    tally = tc.Tally.count(sides, {"n": [1, 2]}, fixed=[5])
    assert (tally + tally).sums(tc.Weights.ones({"batch": sides[0][0]}).block())["n"] == [16]


@pytest.mark.parametrize("count", [1, 2])
@given(whole=rows(), seed=st.integers(0, 99))
def test_permutation_changes_nothing(count, whole, seed):
    mixed = whole[np.random.default_rng(seed).permutation(len(whole))]
    same(weighed(mixed.tally(count)), weighed(whole.tally(count)))
    same(weighed(mixed.ranking(count)), weighed(whole.ranking(count)))
    same(values(points(mixed.trials())), values(points(whole.trials())), 1e-12)


@given(whole=rows())
def test_weights_of_one_give_the_naive_value(whole):
    target, accept = whole.labels == 1, whole.scores >= DETECTION.threshold
    miss, fa = (~accept)[target].mean(), accept[~target].mean()
    bits = np.log2(1 + np.exp(np.where(target, -1, 1) * whole.scores))
    odds = whole.scores + np.log(0.2 / 0.8)
    losses = np.log1p(np.exp(np.where(target, -odds, odds)))
    entropy = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
    least = min(
        2 * (whole.scores[target] < t).mean() + 0.8 * (whole.scores[~target] >= t).mean()
        for t in [*whole.scores, np.inf]
    )
    wanted = {
        "p_miss": miss,
        "p_fa": fa,
        "act_dcf": (2 * miss + 0.8 * fa) / 0.8,
        "min_dcf": least / 0.8,
        "cllr": (bits[target].mean() + bits[~target].mean()) / 2,
        "nce": (0.2 * losses[target].mean() + 0.8 * losses[~target].mean()) / entropy,
    }
    same([e.point for e in points(whole.trials(), tuple(wanted))], wanted.values(), 1e-12)


@given(whole=rows(least=20), seed=st.integers(0, 99))
def test_a_subset_is_a_filter(whole, seed):
    band = np.random.default_rng(seed).integers(0, 3, len(whole))
    trials = whole.trials(band=band)
    anew = tuple(name for name in EVERY if name not in AT_RATES)  # at the threshold of the whole
    found = points(trials, anew, subsets=("band", "band > 0"))[len(anew) :]
    kept = [*(band == level for level in np.unique(band)), band > 0]
    expected = [e for keep in kept for e in points(trials.take(keep), anew)]
    same(values(found), values(expected))
    for a, b in zip(found, expected, strict=True):
        assert {**a.row().to_dict(), "dims": {}} == {**b.row().to_dict(), "dims": {}}


@given(whole=rows())
def test_a_system_paired_with_itself(whole):
    trials = whole.trials(ids=np.arange(len(whole)))
    scoring = tc.Scoring(DETECTION, EVERY, PLAN, choices=tc.TrialsScoring(allow_reversed=True))
    for pair in tc.compare_systems([trials, trials], scoring)[1][0]:
        defined = np.isfinite(pair.system.replicates)
        assert np.all(pair.difference.replicates[defined] == 0)
        if (pair.system.replicates[defined] >= 0).all():  # no correlation has a ratio
            assert np.all(pair.ratio.replicates[defined & (pair.system.replicates != 0)] == 1)
        if defined.any() and np.isfinite(pair.system.point):
            assert pair.difference.value == 0
            drawn = pair.system.replicates[defined]
            if (drawn == pair.system.point).all():  # no errors, say: nobody knows how far apart
                assert pair.verdict in ("inconclusive", "same")
                continue
            assert (pair.difference.lower, pair.difference.upper) == (0, 0)
            lost = pair.difference.n_undefined > 0.05 * pair.difference.n_replicates
            assert pair.verdict == ("inconclusive" if lost else "same")


def all_one(estimate):
    defined = np.isfinite(estimate.replicates)
    return estimate.replicates[defined] == pytest.approx(np.ones(defined.sum()), abs=1e-12)


@given(shares=st.lists(st.integers(1, 9), min_size=2, max_size=4))
def test_the_priors_alone_get_1(shares):
    labels = np.repeat(np.arange(len(shares)), shares)
    priors = np.array(shares) / sum(shares)
    trials = tc.Trials.from_arrays(np.tile(priors, (len(labels), 1)), labels, kind="posterior")
    same([e.point for e in points(trials, ("nce", "nbs"), tc.Application())], [1, 1], 1e-12)
    given_priors = tc.Application(priors=tuple(priors[::-1].tolist()))
    assert all(all_one(e) for e in points(trials, ("nce", "nbs"), given_priors))


def test_numbers_from_numpy_are_numbers():
    trials = tc.Trials.from_arrays([1.0, -1, 2, 0], [1, 0, 1, 0], kind="llr")
    prior = np.array([1, 0, 1, 0]).mean()
    (found,) = points(trials, ("act_dcf",), tc.Application.detection(np.float64(1), 1, prior))
    assert found.row().to_dict()["parameters"] == {"costs": {"miss": 1, "fa": 1}, "prior": 0.5}


@given(labels=st.lists(st.integers(0, 3), min_size=9, max_size=30), seed=st.integers(0, 99))
def test_the_best_constant_gets_1(labels, seed):
    costs = np.random.default_rng(seed).uniform(0.1, 10, (4, 4))
    best = (np.bincount(labels, minlength=4) @ costs).argmin()
    frame = {"score": [str(best)] * len(labels), "label": [str(k) for k in labels]}
    options = tc.trials.Options("decision", classes=("0", "1", "2", "3"))
    trials = tc.trials.load(Table("constant", pl.DataFrame(frame)), options, "constant")
    (found,) = points(trials, ("nec",), tc.Application(tuple(map(tuple, costs.tolist()))))
    assert found.point == pytest.approx(1, abs=1e-12)
    assert np.all(found.replicates >= 1 - 1e-12)  # another constant may be best there


@given(whole=rows())
def test_llr_0_gets_1(whole):
    idle = replace(whole, scores=np.zeros(len(whole))).trials()
    found = points(idle, ("cllr", "min_cllr", "cnxe", "nce"))
    assert all(all_one(e) and e.point == pytest.approx(1, abs=1e-12) for e in found)
    empirical = points(idle, ("cnxe", "nce"), tc.Application.detection(10, 1))
    same([e.point for e in empirical], [1, 1], 1e-12)


@given(whole=rows())
def test_a_whole_weight_is_a_repetition(whole):
    repeated = whole[np.repeat(np.arange(len(whole)), whole.times)]
    weighted = whole.trials(weight=whole.times)
    same(values(points(weighted)), values(points(repeated.trials())), 1e-11)


@given(whole=rows(), seed=st.integers(0, 99))
def test_a_soft_label_is_a_trial_counted_twice(whole, seed):
    p = np.random.default_rng(seed).choice([0, 0.25, 0.5, 0.9, 1], len(whole))
    frame = pl.DataFrame({"score": whole.scores, "p": p, "unit": whole.enroll})
    soft = tc.trials.load(Table("soft", frame), tc.trials.Options("llr", {"soft": "p"}), "soft")
    twice = whole[np.tile(np.arange(len(whole)), 2)]
    twice = replace(twice, labels=np.repeat([1, 0], len(whole)))
    counted = twice.trials(weight=np.concatenate([p, 1 - p]))
    same(values(points(soft)), values(points(counted)), 1e-11)


@given(whole=rows(), factor=st.sampled_from([2.0**-9, 3.0, 1e6]))
def test_scaling_costs_leaves_normalised_costs(whole, factor):
    scaled = tc.Application.detection(10 * factor, factor, 0.2)
    names = ("nec", "act_dcf", "min_dcf", "cnxe")
    found = points(whole.trials(), names, scaled)
    same(values(found), values(points(whole.trials(), names)), 1e-12)


@given(whole=rows(), slope=st.floats(0.01, 100), offset=st.floats(-5, 5))
def test_sweeps_see_ranks_only(whole, slope, offset):
    scores = whole.scores
    for mapped in (np.arctan(scores), scores**3, np.exp(scores * 9), scores * slope + offset):
        same(weighed(replace(whole, scores=mapped).ranking(1)), weighed(whole.ranking(1)))


@given(whole=rows())
def test_a_unit_on_both_sides_counts_once(whole):
    (factor, enroll), (_, test) = whole.sides(2)
    block = PLAN.weights({"speaker": factor}).block()
    w = block["speaker"].astype(int)
    weights = w[:, enroll] * np.where(enroll == test, 1, w[:, test])
    for k, j in itertools.product(range(2), range(2)):
        cell = (whole.labels == k) & ((whole.scores > 0) == j)
        assert np.array_equal(whole.tally(2).sums(block)["n"][:, k, j], weights[:, cell].sum(1))
    targets = tc.Sweep(whole.ranking(2), block).targets
    assert np.array_equal(targets, weights[:, whole.labels == 1].sum(1))


@given(whole=rows(), jobs=st.sampled_from([1, 2, 4]), size=st.sampled_from([1, 2000, 1 << 26]))
def test_same_bytes_for_any_threads_and_blocks(whole, jobs, size):
    trials = whole.trials(weight=whole.times / 3)
    expected = b"".join(v.tobytes() for v in values(points(trials, jobs=1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truecost.core.weights._BLOCK_BYTES", size)
        found = b"".join(v.tobytes() for v in values(points(trials, jobs=jobs)))
    assert found == expected


@given(seed=st.integers(0, 99), first=st.integers(0, 20))
def test_a_weight_depends_on_seed_name_replicate_and_place_only(seed, first):
    column = np.random.default_rng(seed).permutation(np.repeat([f"d{k}" for k in range(9)], 3))
    plan, other = tc.Plan(30, seed), tc.Factor.encode("other", range(5))[0]
    alone = tc.Factor.encode("document", np.sort(column))[0]
    mixed = tc.Factor.encode("document", column)[0]
    whole = plan.weights({"document": alone}).block()["document"]
    part = plan.weights({"other": other, "document": mixed}).block(first, 30)["document"]
    assert np.array_equal(part, whole[first:])
    renamed = tc.Factor("speaker", alone.labels)
    assert not np.array_equal(plan.weights({"speaker": renamed}).block()["speaker"], whole)


def test_many_units_on_three_sides_keep_their_codes():
    factors = [tc.Factor(name, np.arange(2_000_000)) for name in "abc"]
    codes = np.array([[1_999_999, 7, 5], [1_999_999, 7, 5], [3, 1, 2]], np.int32).T
    tally = tc.Tally.count(list(zip(factors, codes, strict=True)), {"n": [1, 1, 1]})
    wanted = [[3, 2_000_001, 4_000_002], [1_999_999, 2_000_007, 4_000_005]]
    assert sorted(tally.slots.codes.tolist()) == wanted


@pytest.mark.parametrize(("unit", "class_"), [(0, 2), (0, -1), (3, 0), (-1, 0)])
def test_codes_that_name_nothing_are_refused(unit, class_):
    factor = tc.Factor("unit", np.arange(3))
    with pytest.raises(tc.InputError):
        tc.Tally.count([(factor, np.array([unit]))], {"n": [1]}, {"class": ("01", [class_])})


def test_a_measure_may_say_more_than_its_value():
    factor, codes = tc.Factor.encode("unit", [0, 0, 1, 2])
    evidence = tc.Evidence({"n": tc.Tally.count([(factor, codes)], {"n": [1, 1, 1, 1]})})

    def size(totals, application):
        n = totals.sums("n", "n")
        return n, np.nan, {"large": n > 4}

    measure = tc.Measure("size", size, ("n",), "", "lower", "test")
    (found,) = tc.estimate(evidence, [measure], tc.Application())
    assert found.counts["large"] == 0
    assert found.counts["large_mean"] == pytest.approx((found.replicates > 4).mean())
    assert 0.2 < found.counts["large_mean"] < 0.5


def test_a_soft_label_is_one_trial_in_every_count():
    table = {"score": [2.0, -1.0, 0.5], "soft": [0.9, 0.2, 0.5]}
    frame = pl.DataFrame(table)
    options = tc.trials.Options("llr", {"soft": "soft", "score": "score"})
    loaded = tc.trials.load(Table("memory", frame), options, "system")
    (row,) = tc.score_system(loaded, tc.Scoring(measures=("act_dcf",)))
    assert (row.n_trials, row.n_units) == (3, 3)
    assert row.counts["targets"] == pytest.approx(1.6)
    assert "trials_as_units" in row.flags
    assert "labels:soft" in row.signature


def test_what_does_not_fit_is_refused():
    factor, codes = tc.Factor.encode("unit", ["a", "b"])
    numbers, places = tc.Factor.encode("unit", [1, 2])
    tally = tc.Tally.count([(factor, codes)], {"n": [1, 1]})
    refused = [
        lambda: tc.Ranking.from_scores([1.0, 2], [0, 2], [(factor, codes)]),
        lambda: tc.Ranking.from_scores([1.0, 2], [0, 1], [(factor, codes)], [1.0]),
        lambda: tc.Tally.count([(factor, codes)], {"n": [1, 1]}, weights=[1.0]),
        lambda: tally + tc.Tally.count([(numbers, places)], {"n": [1, 1]}),
        lambda: tc.Evidence({"n": tally}).factors and tc.totals(
            tc.Evidence({"n": tally}), tc.Weights.ones({"unit": factor}).block()
        ).weights("query"),
        lambda: tc.Evidence(
            {"n": tc.Tally.count([(factor, codes)], {"n": [1, 1]}, {"q": ("yx", [0, 1])})},
            outer=(tc.Factor("q", np.array(["x", "y"])),),
        ).factors,
    ]  # fmt: skip
    for call in refused:
        with pytest.raises(tc.InputError):
            call()
    for plan in (tc.Plan(schemes={"typo": "blocks"}), tc.Plan(hold=("typo",))):
        with pytest.raises(tc.UsageError, match=r"typo.* is not resampled"):
            plan.weights({"unit": factor})


def test_held_factors_allow_bca_and_stay_at_one():
    rng = np.random.default_rng(0)
    factor, codes = tc.Factor.encode("unit", np.arange(30))
    query = tc.Factor("q", np.array(["x", "y"]))
    axes = {"q": (("x", "y"), rng.integers(0, 2, 30))}
    tally = tc.Tally.count([(factor, codes)], {"n": rng.integers(0, 9, 30)}, axes)
    evidence = tc.Evidence({"n": tally}, outer=(query,))

    def mean(totals, application):
        return (totals.weights("q") * totals.sums("n", "n")).sum(axis=1), np.nan

    measure = tc.Measure("mean", mean, ("n",), "", "lower", "test")
    plan = tc.Plan(hold=("q",))
    (found,) = tc.estimate(evidence, [measure], tc.Application(), plan, method="bca")
    assert found.lower < found.value < found.upper
    assert found.factors == ("unit",)
    difference = compare(found, found).difference
    assert (difference.method, difference.lower, difference.upper) == ("bca", 0, 0)


def test_a_replicate_without_any_weight_is_undefined():
    trials = tc.Trials.from_arrays([1.0, 0.0], [1, 0], kind="decision", unit=["a", "b"])
    plan = tc.Plan(1000, scheme="poisson")
    for name in ("expected_cost", "total_error", "accuracy", "nec"):
        (row,) = tc.score_system(trials, tc.Scoring(measures=(name,), plan=plan))
        weights = plan.weights({"unit": tc.Factor("unit", np.array(["a", "b"]))}).block()["unit"]
        assert row.n_undefined >= (weights.sum(axis=1) == 0).sum() > 50


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_prior_of_nothing_leaves_no_naive_cost(prior):
    application = tc.Application(((0, 1), (1, 0)), (1 - prior, prior))
    assert application.threshold == (np.inf if prior == 0 else -np.inf)
    trials = tc.Trials.from_arrays([1.0, -1.0], [1, 0], kind="llr")
    (row,) = tc.score_system(trials, tc.Scoring(application, measures=("nec",)))
    assert row.value is None
