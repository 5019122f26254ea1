"""Intervals: percentile and BCa ends, coverage, flags, schemes, undefined and infinite values."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy import stats

import truecost as tc
from truecost.core.comparison import compare

DETECTION = tc.Application.detection(1, 1, 0.5)


def mean(totals, application):
    """Sum over number."""
    return totals.sums("values", "sum") / totals.sums("values", "n"), 0.0


MEAN = tc.Measure("mean", mean, ("values",), "Mean", "lower", "test", uses=())


def numbers(values, units, strata=None):
    """Evidence of plain numbers."""
    sides = [tc.Factor.encode("unit", units, strata)]
    counts = {"sum": np.asarray(values), "n": np.ones(len(values), int)}
    return tc.Evidence({"values": tc.Tally.count(sides, counts)})


def estimate(evidence, plan=None, **more):
    return tc.estimate(evidence, [MEAN], DETECTION, plan or tc.Plan(), **more)[0]


def ends(found):
    return found.lower, found.upper


@pytest.fixture
def skewed():
    """Numbers of 60 units of unequal size, skewed to the right."""
    rng = np.random.default_rng(0)
    units = rng.integers(0, 60, 300)
    return rng.exponential(rng.exponential(1, 60)[units]), units


def test_percentile_ends_are_quantiles_of_the_replicates(skewed):
    for level in (0.8, 0.95):
        found = estimate(numbers(*skewed), level=level, method="percentile")
        tails = [(1 - level) / 2, (1 + level) / 2]
        assert ends(found) == pytest.approx(np.quantile(found.replicates, tails), rel=1e-12)
        assert found.half_width == pytest.approx((found.upper - found.lower) / 2)


def bca_ends(replicates, point, left_out, level=0.95):
    """Efron (1987), with half of the replicates that equal the estimate counted below it."""
    bias = stats.norm.ppf((replicates < point).mean() + (replicates == point).mean() / 2)
    pull = left_out.mean() - left_out
    skew = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    return np.quantile(replicates, stats.norm.cdf(bias + z / (1 - skew * z)))


def left_out_means(values, groups):
    return np.array([values[groups != g].mean() for g in np.unique(groups)])


def test_bca_ends_from_the_definition(skewed):
    values, units = skewed
    found = estimate(numbers(*skewed), method="bca")
    expected = bca_ends(found.replicates, found.point, left_out_means(values, units))
    assert ends(found) == pytest.approx(expected, rel=1e-9)
    plain = estimate(numbers(*skewed), method="percentile")
    assert found.lower > plain.lower  # it moves towards the long tail
    assert found.upper > plain.upper


def test_bca_against_scipy():
    values = np.random.default_rng(1).lognormal(0, 1, 50)
    found = estimate(numbers(values, np.arange(50)), tc.Plan(30_000), method="bca")
    theirs = stats.bootstrap((values,), np.mean, n_resamples=30_000, method="BCa", rng=0)
    tolerance = 0.02 * 2 * found.half_width
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval), abs=tolerance)


def test_bca_counts_ties_half():
    values = np.tile([-1, 1], 6)  # the median of the replicates is the estimate: no bias
    evidence, plan = numbers(values, np.arange(12)), tc.Plan(4000)
    found = estimate(evidence, plan, method="bca")
    assert (found.replicates == found.point).mean() > 0.1
    assert ends(found) == ends(estimate(evidence, plan, method="percentile"))


def test_bca_deletes_groups_above_2000_units():
    rng = np.random.default_rng(2)
    values = rng.exponential(1, 2203)
    evidence = numbers(values, np.arange(2203))
    factor = evidence.factors["unit"]
    left_out = tc.Weights.leave_out(factor).block()["unit"]
    assert left_out.shape == (1000, 2203)
    assert np.array_equal(left_out.sum(axis=0), np.full(2203, 999))  # each unit is out once
    assert set((left_out == 0).sum(axis=1)) == {2, 3}
    found = estimate(evidence, method="bca")
    groups = (left_out == 0).argmax(axis=0)
    expected = bca_ends(found.replicates, found.point, left_out_means(values, groups))
    assert ends(found) == pytest.approx(expected, rel=1e-9)


def test_bca_is_refused_where_it_is_not_defined(skewed):
    values, units = skewed
    one, two = tc.Factor.encode("unit", units), tc.Factor.encode("session", np.arange(300) % 7)
    for sides in ([one, two], [one, (one[0], np.roll(one[1], 1))]):
        counts = {"sum": values, "n": np.ones(300)}
        crossed = tc.Evidence({"values": tc.Tally.count(sides, counts)})
        with pytest.raises(tc.UsageError, match="crossed"):
            estimate(crossed, method="bca")
    blocks = tc.Plan(schemes={"unit": "blocks"})
    with pytest.raises(tc.UsageError, match="moving blocks"):
        estimate(numbers(*skewed), blocks, method="bca")


# --- coverage -----------------------------------------------------------------------------------


def clustered(rng, units=150):
    """Decisions of speakers with error rates of their own, mean 0.2: entries of a tally."""
    rates = rng.beta(1, 4, units)
    errors = rng.binomial([[10], [5]], rates)  # of 10 nontargets and 5 targets a speaker
    right = np.array([[10], [5]]) - errors
    return np.stack([[right[0], errors[0]], [errors[1], right[1]]])  # class x decision x unit


def decisions(counts, apart=False):
    """Evidence of detections: resampled by speaker, or each trial `apart`."""
    label, decision, speaker = (axis.ravel() for axis in np.indices(counts.shape))
    rows = np.repeat(np.arange(counts.size), counts.ravel() if apart else 1)
    side = tc.Factor.trials(len(rows)) if apart else tc.Factor.encode("speaker", speaker)
    n = np.ones(len(rows), int) if apart else counts.ravel()
    axes = {"class": ("01", label[rows]), "decision": ("01", decision[rows])}
    return tc.Evidence({"decisions": tc.Tally.count([side], {"n": n}, axes)})


def coverage(sets, apart):
    rng = np.random.default_rng(7)
    truth, covered = 0.4, 0  # act_dcf with equal costs and priors: Pmiss + Pfa
    for seed in range(sets):
        plan = tc.Plan(500, seed=seed)
        evidence = decisions(clustered(rng), apart)
        (found,) = tc.estimate(evidence, [tc.find("act_dcf")], DETECTION, plan, jobs=1)
        covered += found.lower <= truth <= found.upper
    return covered / sets


def test_intervals_by_speaker_cover_at_their_level():
    assert 0.93 <= coverage(1000, apart=False) <= 0.97


def test_intervals_by_trial_cover_too_little():
    assert coverage(150, apart=True) < 0.85


def test_published_interval_of_400_trials_in_20_conditions(shared):
    data = np.load(shared / "cases" / "scores" / "ci_toy_400x20.npz")
    labels = data["labels"].astype(int)

    def accuracy(unit):
        trials = tc.Trials.from_arrays(data["dec_sys1"], labels, kind="decision", unit=unit)
        scoring = tc.Scoring(measures=("accuracy",), plan=tc.Plan(200_000), method="percentile")
        return tc.score_system(trials, scoring)[0]

    found = accuracy(data["conditions"])
    assert found.value == pytest.approx(0.855, abs=1e-12)
    assert ends(found) == pytest.approx((0.8103, 0.8943), abs=0.002)
    assert ends(accuracy(None)) == pytest.approx((0.82, 0.89), abs=0.006)  # two digits printed


# --- schemes ------------------------------------------------------------------------------------


def test_strata_keep_the_variance_between_them_out():
    rng = np.random.default_rng(3)
    strata = np.repeat(["a", "b"], [60, 40])
    values = rng.normal(np.where(strata == "a", 0, 10), 1)
    found = estimate(numbers(values, np.arange(100), strata))
    within = [values[strata == s].var() for s in ("a", "b")]
    wanted = np.sqrt(0.6**2 * within[0] / 60 + 0.4**2 * within[1] / 40)
    assert found.replicates.std() == pytest.approx(wanted, rel=0.06)
    assert estimate(numbers(values, np.arange(100))).half_width > 3 * found.half_width


def test_poisson_weights_leave_the_number_of_units_free(skewed):
    plan = tc.Plan(schemes={"unit": "poisson"})
    evidence = numbers(*skewed)
    found = estimate(evidence, plan)
    assert found.half_width == pytest.approx(estimate(evidence).half_width, rel=0.1)
    sums = plan.weights(evidence.factors).block()["unit"].sum(axis=1)
    assert sums.var() == pytest.approx(60, rel=0.15)
    with pytest.raises(tc.UsageError, match="strata"):
        estimate(numbers(*skewed, np.zeros(300)), plan)


# --- undefined, infinite, flagged ---------------------------------------------------------------


def detections(units, targets, **more):
    """Trials of which the first `targets` units hold a target; every unit holds a nontarget."""
    labels = np.concatenate([np.ones(targets, int), np.zeros(units, int)])
    unit = np.concatenate([np.arange(targets), np.arange(units)])
    scores = np.where(np.arange(len(labels)) % 3, 1.0, -1.0) * (2 * labels - 1)
    return tc.Trials.from_arrays(scores, labels, kind="llr", unit=unit, **more)


def test_undefined_replicates_are_counted_and_left_out():
    trials, plan = detections(30, 2), tc.Plan()
    scoring = tc.Scoring(
        DETECTION,
        ("p_miss", "eer"),
        plan,
        method="percentile",
        choices=tc.TrialsScoring(allow_reversed=True),
    )
    weights = plan.weights({"unit": tc.Factor("unit", np.arange(30))}).block()["unit"]
    lost = weights[:, :2].sum(axis=1) == 0
    for found in tc.score_system(trials, scoring):
        assert found.n_undefined == lost.sum() > 0
        assert np.array_equal(np.isnan(found.replicates), lost)
        assert "undefined_replicates" in found.flags
        assert ends(found) == pytest.approx(np.quantile(found.replicates[~lost], [0.025, 0.975]))


def test_a_value_without_its_class_is_undefined_with_a_reason():
    trials = tc.Trials.from_arrays([1.0, 2, 3], [0, 0, 0], kind="llr", unit=[1, 2, 3])
    (found,) = tc.score_system(
        trials, tc.Scoring(DETECTION, ("p_miss",), choices=tc.TrialsScoring(allow_reversed=True))
    )
    row = found.row().to_dict()
    assert (row["value"], row["lower"], row["upper"]) == (None, None, None)
    assert row["reason"].startswith("undefined")
    assert row["n_undefined"] == row["n_replicates"]


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_truth_of_probability_0_costs_infinity(method):
    posteriors, labels = np.tile([[0.8, 0.2], [0.3, 0.7]], (15, 1)), np.tile([0, 1], 15)
    posteriors[4] = [0, 1]
    trials = tc.Trials.from_arrays(posteriors, labels, kind="posterior", unit=np.arange(30))
    (found,) = tc.score_system(trials, tc.Scoring(measures=("nce",), plan=tc.Plan(), method=method))
    assert found.point == np.inf
    assert (found.value, found.upper) == (None, None)
    assert found.reason.startswith("infinite")
    assert found.counts["impossible"] == 1
    assert np.isinf(found.replicates).mean() == pytest.approx(1 - np.exp(-1), abs=0.04)
    assert found.n_undefined == np.isnan(found.replicates).sum() < 5
    if method == "percentile":
        finite = found.replicates[np.isfinite(found.replicates)]
        assert finite.min() <= found.lower <= finite.max()


@pytest.mark.parametrize(("units", "flagged"), [(19, True), (20, False)])
def test_few_units_and_few_errors_are_flagged(units, flagged):
    scoring = tc.Scoring(
        DETECTION, ("act_dcf",), method="percentile", choices=tc.TrialsScoring(allow_reversed=True)
    )
    (found,) = tc.score_system(detections(units, units), scoring)
    assert ("few_units" in found.flags) == flagged
    count = found.counts
    shares = count["misses"] / count["targets"], count["false_alarms"] / count["nontargets"]
    costly = count["misses"] if shares[0] >= shares[1] else count["false_alarms"]
    assert ("few_errors" in found.flags) == (costly < 10)  # equal costs and priors
    (found,) = tc.score_system(
        detections(units, units), dataclasses.replace(scoring, method="auto")
    )
    least = min(count["misses"], count["false_alarms"])  # each class counts for itself
    assert ("few_errors" in found.flags) == (least < 10)
    assert found.n_units == units


def test_estimates_of_other_plans_are_not_paired(skewed):
    evidence = numbers(*skewed)
    found = estimate(evidence)
    for plan in (tc.Plan(seed=1), tc.Plan(schemes={"unit": "poisson"}), tc.Plan(500)):
        with pytest.raises(tc.InputError, match="cannot be paired"):
            compare(found, estimate(evidence, plan))


def test_half_widths_of_shares_are_shares(skewed):
    share = tc.Measure(
        "mean", mean, ("values",), "Mean", "lower", "test", uses=(), shown_in="percent"
    )
    [found] = tc.estimate(numbers(*skewed), [share], DETECTION, tc.Plan(50))
    for width, said in ((5, "5 is 500 pp: did you mean 0.05?"), (1, "1 is 100 pp: did you mean")):
        with pytest.raises(tc.UsageError, match=re.escape(f"of mean is a share, and {said}")):
            found.units_for(width)
    assert found.units_for(0.5) > 0
    # Those at hand are enough for their own width, 1.2 times as many for a smaller one.
    for times, units in ((1, 1), (2, 0.3), (0.5, 4.8), (0.999, 1.2)):
        needed = found.units_for(times * found.half_width)
        assert needed == pytest.approx(units * found.n_units, rel=0.01, abs=1)
    assert found.units_for() == math.ceil(4.8 * found.n_units)
    assert estimate(numbers(*skewed), tc.Plan(50)).units_for(5) > 0


def test_a_difference_spreads_on_its_own_account():
    """One of two systems never varies: the difference does, and is not said to have no width."""
    rng = np.random.default_rng(0)
    labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200), method="percentile")
    systems = (labels, np.where(rng.random(400) < 0.2, 1 - labels, labels))
    right, wrong = (
        tc.Trials.from_arrays(made, labels, kind="decision", unit=speakers) for made in systems
    )
    [sure], [varies] = tc.score_system(right, scoring), tc.score_system(wrong, scoring)
    assert "no_spread" in sure.flags
    assert "no_spread" not in compare(varies, sure).difference.flags
    assert "no_spread" not in compare(sure, sure).difference.flags


def test_a_class_in_which_two_systems_never_differ_leaves_their_costs_uncertain():
    """Only false alarms differ: how far apart the miss rates are, 30 targets do not say."""
    rng = np.random.default_rng(3)
    labels = np.repeat([1, 0], [30, 300])
    old = np.r_[np.ones(24), np.zeros(6), rng.random(300) < 0.1]
    new = np.r_[old[:30], np.maximum(old[30:], rng.random(300) < 0.08)]
    scoring = tc.Scoring(DETECTION, ("act_dcf", "p_miss", "p_fa"))
    first, second, again = (
        tc.score_system(tc.Trials.from_arrays(d, labels, kind="decision"), scoring)
        for d in (old, new, old)
    )
    cost, miss, false_alarm = (compare(b, a).difference for a, b in zip(first, second, strict=True))
    assert miss.value == 0
    assert miss.lower < 0 < miss.upper
    assert cost.value == pytest.approx(false_alarm.value)
    assert cost.lower < false_alarm.lower  # both weigh one
    assert cost.upper > false_alarm.upper
    for a, b in zip(first, again, strict=True):  # one system
        assert compare(a, b).verdict == "same"
        assert ends(compare(a, b).difference) == (0, 0)


def test_what_is_0_lies_in_its_interval_at_every_level():
    labels = np.repeat([1, 0], [8, 60])
    trials = tc.Trials.from_arrays(labels * 2.0 - 1, labels, kind="llr")
    for level in (0.5, 0.8, 0.95):
        measures = ("eer", "miss_at_fa", "fa_at_miss", "min_cllr", "p_miss")
        for row in tc.score_system(trials, tc.Scoring(DETECTION, measures, level=level)):
            assert row.lower is None or row.lower <= row.value <= row.upper
            assert "outside" not in row.flags
