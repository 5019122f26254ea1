"""Every rule of the default intervals beside the slow version of `slow_rules`, on small data."""

import math
from dataclasses import replace

import numpy as np
import pytest

import slow_rules as slow
import truecost as tc
from truecost.core.comparison import compare
from truecost.core.measure import Rule

TIGHT = {"rel": 1e-9, "abs": 1e-12}
FEW = tc.Plan(200, seed=3)


def records_of(seed, units=9, trials=6, *, both=True, weighted=False):
    """Records of units of unequal size, each with a quality of its own.

    Every unit has both classes unless `both` is false: then some have one only.
    """
    rng = np.random.default_rng(seed)
    found = []
    for u in range(units):
        quality = rng.normal(1.2, 0.8)
        for k in range(int(rng.integers(2, trials))):
            label = k % 2 if both else int(rng.random() < 0.4)
            score = float(rng.normal(quality if label else -quality))
            found.append(
                {
                    "score": score,
                    "label": label,
                    "unit": f"u{u:02d}",
                    "session": f"s{int(rng.integers(0, 7))}",
                    "stratum": f"h{u % 3}",
                    "weight": float(rng.integers(1, 4)) if weighted else 1.0,
                }
            )
    return found


def trials_of(records, kind="llr", factors=("unit",), *, stratum=False, weighted=False):
    """Trials of these records, resampled by these factors."""
    scores = [r["score"] for r in records]
    if kind == "decision":
        scores = [int(s >= 0) for s in scores]
    columns = {"weight": [r["weight"] for r in records]} if weighted else {}
    found = tc.Trials.from_arrays(scores, [r["label"] for r in records], kind=kind, **columns)
    units = {f: (np.array([r[f] for r in records]),) for f in factors}
    strata = np.array([r["stratum"] for r in records]) if stratum else None
    return replace(found, units=units, strata=strata)


def score(records, measures, application=None, plan=FEW, *, kind="llr", icc=0.1, **more):
    scoring = tc.Scoring(
        application or tc.Application.detection(1, 1, 0.5),
        measures=tuple(measures),
        plan=plan,
        icc=icc,
        jobs=1,
        choices=tc.TrialsScoring(allow_reversed=True),
    )
    return tc.score_system(trials_of(records, kind, **more), scoring)


def ends(row):
    return row.lower, row.upper


def of_class(records, label):
    return [r for r in records if r["label"] == label]


def missed(r):
    return float(r["score"] < 0)


def accepted(r):
    return float(r["score"] >= 0)


def wrong(r):
    return float((r["score"] >= 0) != r["label"])


# --- A: smooth ----------------------------------------------------------------------------------


def cllr(records):
    """Mean log loss of both classes in bits, by the definition."""
    sides = []
    for label, sign in ((1, -1), (0, 1)):
        own = of_class(records, label)
        loss = [r["weight"] * math.log2(1 + math.exp(sign * r["score"])) for r in own]
        sides.append(sum(loss) / sum(r["weight"] for r in own))
    return sum(sides) / 2


def auc(records):
    pairs = won = 0.0
    for a in of_class(records, 1):
        for b in of_class(records, 0):
            w = a["weight"] * b["weight"]
            pairs += w
            won += w * ((a["score"] > b["score"]) + (a["score"] == b["score"]) / 2)
    return won / pairs


@pytest.mark.parametrize("seed", range(5))
def test_smooth_figures(seed):
    records = records_of(seed, both=seed < 3)
    first, second = score(records, ["cllr", "auc"])
    assert ends(first) == pytest.approx(slow.smooth(records, cllr, "log"), **TIGHT)
    assert ends(second) == pytest.approx(slow.smooth(records, auc, "-logit"), **TIGHT)


def test_smooth_figures_of_weighted_trials():
    records = records_of(11, weighted=True)
    [row] = score(records, ["cllr"], weighted=True)
    assert ends(row) == pytest.approx(slow.smooth(records, cllr, "log"), **TIGHT)


def test_smooth_figures_of_many_units_pass_over_into_percentiles():
    records = records_of(1, units=200, trials=5)
    [row] = score(records, ["cllr"])
    expected = slow.smooth(records, cllr, "log", replicates=row.replicates)
    assert ends(row) == pytest.approx(expected, **TIGHT)
    alone = slow.smooth(records[:300], cllr, "log", replicates=row.replicates)
    assert ends(row) != pytest.approx(alone, rel=1e-3)


def test_smooth_figures_of_crossed_factors_and_of_strata():
    records = records_of(2, units=10, trials=9)
    [crossed] = score(records, ["cllr"], factors=("unit", "session"))
    expected = slow.smooth(records, cllr, "log", ("unit", "session"))
    assert ends(crossed) == pytest.approx(expected, **TIGHT)
    [strata] = score(records, ["cllr"], stratum=True)
    expected = slow.smooth(records, cllr, "log", stratum="stratum")
    assert ends(strata) == pytest.approx(expected, **TIGHT)
    [plain] = score(records, ["cllr"])
    assert ends(plain) != pytest.approx(ends(strata), rel=1e-3)


def test_figures_that_were_chosen_lose_their_bias():
    records = records_of(3, units=18, trials=14)
    low, loss, whole = score(records, ["min_cllr", "cllr_loss", "cllr"])
    without = low.left_out[0].values
    named = dict(zip(slow.units_of(records, "unit"), without, strict=True))
    values = values_by_units(records, low.point, named)
    lower, upper = slow.smooth(records, values, "log", replicates=low.replicates, chosen=True)
    expected = lower, min(upper, 1.0)  # no calibration need cost more than saying nothing
    assert ends(low) == pytest.approx(expected, **TIGHT)
    assert np.mean(low.replicates) < low.point  # the bias is there
    losses = dict(zip(named, whole.left_out[0].values - without, strict=True))
    values = values_by_units(records, loss.point, losses)
    expected = slow.smooth(records, values, "identity", replicates=loss.replicates, excess=True)
    assert ends(loss) == pytest.approx(expected, **TIGHT)


def values_by_units(records, point, without):
    """A figure that is known for all records and for those without one unit."""
    everyone = {r["unit"] for r in records}

    def value(rest):
        gone = everyone - {r["unit"] for r in rest}
        return without[gone.pop()] if gone else point

    return value


@pytest.mark.parametrize("scale", ["log1m", "identity"])
def test_scales_of_a_measure_of_ones_own(scale):
    rng = np.random.default_rng(4)
    numbers, codes = rng.beta(2, 3, 40), rng.integers(0, 8, 40)
    records = [{"x": x, "unit": u, "weight": 1.0} for x, u in zip(numbers, codes, strict=True)]

    def mean(rest):
        return sum(r["x"] for r in rest) / len(rest)

    def function(totals, application):
        return totals.sums("values", "sum") / totals.sums("values", "n"), 0.0

    direction = "higher" if scale == "log1m" else "lower"
    measure = tc.Measure(
        "mean", function, ("values",), "Mean", direction, "test", uses=(), interval=Rule(scale)
    )
    sides = [tc.Factor.encode("unit", codes)]
    evidence = tc.Evidence({"values": tc.Tally.count(sides, {"sum": numbers, "n": np.ones(40)})})
    [row] = tc.estimate(evidence, [measure], tc.Application(), FEW, jobs=1)
    assert ends(row) == pytest.approx(slow.smooth(records, mean, scale), **TIGHT)


# --- B: rates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("icc", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_rates_of_one_class(seed, icc):
    records = records_of(seed, units=12, both=False)
    targets, rest = of_class(records, 1), of_class(records, 0)
    rows = score(records, ["p_miss", "recall", "p_fa", "fpr"], kind="decision", icc=icc)
    assert ends(rows[0]) == pytest.approx(slow.rate(targets, missed, icc=icc)[1:3], **TIGHT)
    assert ends(rows[1]) == pytest.approx(slow.rate(targets, accepted, icc=icc)[1:3], **TIGHT)
    for row in rows[2:]:
        assert ends(row) == pytest.approx(slow.rate(rest, accepted, icc=icc)[1:3], **TIGHT)


def test_rates_without_errors_and_with_errors_only():
    records = [r | {"score": abs(r["score"]) * (2 * r["label"] - 1)} for r in records_of(5)]
    miss, recall = score(records, ["p_miss", "recall"], kind="decision")
    expected = slow.rate(of_class(records, 1), missed)
    assert (miss.point, recall.point) == (0, 1)
    assert ends(miss) == pytest.approx((0.0, expected[2]), **TIGHT)
    assert ends(recall) == pytest.approx((1 - expected[2], 1.0), **TIGHT)
    assert expected[2] > 0.05


def test_rates_of_weighted_trials_and_of_trials_alone():
    records = records_of(6, weighted=True)
    [row] = score(records, ["p_miss"], kind="decision", weighted=True)
    assert ends(row) == pytest.approx(slow.rate(of_class(records, 1), missed)[1:3], **TIGHT)
    alone = [r | {"unit": f"{k:03d}"} for k, r in enumerate(records_of(6))]
    [row] = score(alone, ["p_fa"], kind="decision")
    assert ends(row) == pytest.approx(slow.rate(of_class(alone, 0), accepted)[1:3], **TIGHT)


def test_rates_of_crossed_factors_and_of_strata():
    records = records_of(7, units=12, trials=9)
    targets = of_class(records, 1)
    [crossed] = score(records, ["p_miss"], kind="decision", factors=("unit", "session"))
    expected = slow.rate(targets, missed, ("unit", "session"))
    assert ends(crossed) == pytest.approx(expected[1:3], **TIGHT)
    [strata] = score(records, ["p_miss"], kind="decision", stratum=True)
    expected = slow.rate(targets, missed, stratum="stratum")
    assert ends(strata) == pytest.approx(expected[1:3], **TIGHT)


# --- C: costs -----------------------------------------------------------------------------------


def of_cost(records, weights, factors=("unit",)):
    """MOVER over misses and false alarms."""
    kinds = [slow.rate(of_class(records, 1), missed, factors)]
    kinds.append(slow.rate(of_class(records, 0), accepted, factors))
    r = slow.correlated(
        records,
        [
            lambda rest: slow.share(of_class(rest, 1), missed),
            lambda rest: slow.share(of_class(rest, 0), accepted),
        ],
        factors,
    )
    return slow.mover(weights, kinds, {(0, 1): r}), r


@pytest.mark.parametrize(("seed", "both"), [(0, True), (1, True), (2, False), (3, False)])
def test_costs(seed, both):
    """Also where some units have one class only: without them the other's rate stays."""
    records = records_of(seed, units=12, both=both)
    application = tc.Application.detection(10, 1, 0.2)
    rows = score(records, ["expected_cost", "act_dcf"], application, kind="decision")
    expected, _ = of_cost(records, (2.0, 0.8))
    assert ends(rows[0]) == pytest.approx(expected, **TIGHT)
    assert ends(rows[1]) == pytest.approx([e / 0.8 for e in expected], **TIGHT)
    rows = score(records, ["total_error", "accuracy", "nte"], application, kind="decision")
    expected, _ = of_cost(records, (0.2, 0.8))
    assert ends(rows[0]) == pytest.approx(expected, **TIGHT)
    assert ends(rows[1]) == pytest.approx([1 - e for e in expected[::-1]], **TIGHT)
    assert ends(rows[2]) == pytest.approx([e / 0.2 for e in expected], **TIGHT)


def test_costs_of_rates_that_correlate():
    """Units differ in quality, so that both rates rise and fall together."""
    records = records_of(23, units=14, trials=12)
    [row] = score(records, ["balanced_error"], kind="decision")
    expected, r = of_cost(records, (0.5, 0.5))
    assert r > 0.2
    assert ends(row) == pytest.approx(expected, **TIGHT)
    [crossed] = score(records, ["balanced_error"], kind="decision", factors=("unit", "session"))
    expected, _ = of_cost(records, (0.5, 0.5), ("unit", "session"))
    assert ends(crossed) == pytest.approx(expected, **TIGHT)


def test_costs_at_the_shares_of_the_data_are_rates_of_all_trials():
    records = records_of(8, units=10, both=False)
    rows = score(records, ["total_error", "nte"], tc.Application(), kind="decision")
    expected = slow.rate(records, wrong)[1:3]
    naive = min(len(of_class(records, k)) for k in (0, 1)) / len(records)
    assert ends(rows[0]) == pytest.approx(expected, **TIGHT)
    assert ends(rows[1]) == pytest.approx([e / naive for e in expected], **TIGHT)


def test_negative_weights_exchange_the_ends():
    """What a class costs above its cheapest decision may pay for another: accuracy counts down."""
    kinds = [(0.2, 0.1, 0.5), (0.3, 0.25, 0.4)]
    low, high = slow.mover((1.0, -1.0), kinds, {(0, 1): 0.9})
    assert low == pytest.approx(-0.1 - math.hypot(0.1, 0.1))
    assert high == pytest.approx(-0.1 + math.hypot(0.3, 0.05))
    from truecost.core.intervals.rates import Limits, summed

    limits = [Limits(*kind) for kind in kinds]
    errors = [None, None]  # correlations of weights of different sign are not asked for
    found = summed(-0.1, (1.0, -1.0), errors, limits)
    assert (found.lower, found.upper) == pytest.approx((low, high), **TIGHT)


def test_precision():
    records = records_of(9, units=12, both=False)
    taken = [r for r in records if r["score"] >= 0]
    precision, fdr = score(records, ["precision", "fdr"], tc.Application(), kind="decision")
    assert ends(precision) == pytest.approx(slow.rate(taken, lambda r: r["label"])[1:3], **TIGHT)
    assert ends(fdr) == pytest.approx(slow.rate(taken, lambda r: 1 - r["label"])[1:3], **TIGHT)
    stated = tc.Application.detection(1, 1, 0.2)
    precision, fdr = score(records, ["precision", "fdr"], stated, kind="decision")
    false = slow.rate(of_class(records, 0), accepted)
    true = slow.rate(of_class(records, 1), accepted)
    sides = [lambda rest, k=k: slow.share(of_class(rest, k), accepted) for k in (0, 1)]
    odds = slow.quotient(false, true, slow.correlated(records, sides))
    expected = [4 * o / (1 + 4 * o) for o in odds]
    assert ends(fdr) == pytest.approx(expected, **TIGHT)
    assert ends(precision) == pytest.approx([1 - e for e in expected[::-1]], **TIGHT)


# --- D: differences -----------------------------------------------------------------------------


def another(records, seed, noise=0.8):
    """The same trials by another system."""
    rng = np.random.default_rng(seed)
    return [r | {"score": r["score"] + float(rng.normal(0.3, noise))} for r in records]


@pytest.mark.parametrize(("units", "seed"), [(9, 0), (15, 1), (60, 2)])
def test_differences_and_ratios(units, seed):
    ours = records_of(seed, units=units)
    theirs = another(ours, 100 + seed)
    [a], [b] = (score(side, ["cllr"]) for side in (ours, theirs))
    found = compare(a, b)
    lo = [x - y for x, y in zip(*(slow.leave_out(s, cllr) for s in (ours, theirs)), strict=True)]
    carried = slow.carried([x - sum(lo) / len(lo) for x in lo])
    if units == 60:
        assert carried >= 10
        expected = np.quantile(a.replicates - b.replicates, [0.025, 0.975])
        assert ends(found.difference) == pytest.approx(tuple(expected), **TIGHT)
        expected = np.quantile(a.replicates / b.replicates, [0.025, 0.975])
        assert ends(found.ratio) == pytest.approx(tuple(expected), **TIGHT)
        return
    lows = [slow.leave_out(side, cllr) for side in (ours, theirs)]
    r = max(0.0, float(np.corrcoef(*lows)[0, 1]))
    sides = [(row.point, row.lower, row.upper) for row in (a, b)]
    assert ends(found.difference) == pytest.approx(slow.apart(*sides, r), **TIGHT)
    assert ends(found.ratio) == pytest.approx(slow.quotient(*sides, r), **TIGHT)


def test_ratios_of_a_rate_without_errors():
    ours = records_of(4, units=8)
    theirs = another(ours, 5, 3.0)
    clean = [r | {"score": abs(r["score"]) * (2 * r["label"] - 1)} for r in ours]
    [a], [b] = (score(side, ["p_miss"], kind="decision") for side in (clean, theirs))
    assert a.point == 0 < b.lower
    found = compare(a, b).ratio
    sides = [(row.point, row.lower, row.upper) for row in (a, b)]
    assert ends(found) == pytest.approx(slow.quotient(*sides, 0.0), **TIGHT)
    assert found.lower == 0 < found.upper


# --- E and F: thresholds ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_figures_at_a_chosen_threshold(seed):
    records = records_of(seed, units=14, trials=9, both=seed < 2)
    rows = score(records, ["eer", "miss_at_fa:0.1", "fa_at_miss:0.2"])
    assert ends(rows[0]) == pytest.approx(slow.equal_errors(records), **TIGHT)
    assert ends(rows[1]) == pytest.approx(slow.misses_at(records, 0.1), **TIGHT)
    # False alarms at misses: classes and the direction of the scores exchanged; a threshold just
    # above a score is one at it then.
    turned = [r | {"score": -r["score"], "label": 1 - r["label"]} for r in records]
    assert ends(rows[2]) == pytest.approx(slow.misses_at(turned, 0.2), **TIGHT)


@pytest.mark.parametrize("seed", range(4))
def test_figures_at_a_threshold_between_grades(seed):
    records = [
        r | {"score": float(round(r["score"]))} for r in records_of(seed, units=14, trials=9)
    ]
    rows = score(records, ["miss_at_fa:0.1", "fa_at_miss:0.2"])
    assert ends(rows[0]) == pytest.approx(slow.misses_at(records, 0.1), **TIGHT)
    turned = [r | {"score": -r["score"], "label": 1 - r["label"]} for r in records]
    assert ends(rows[1]) == pytest.approx(slow.misses_at(turned, 0.2), **TIGHT)


def test_intervals_at_a_chosen_threshold_cover_where_scores_are_grades():
    # Five grades: cumulative shares of targets and nontargets below each grade.
    below = np.array([0, 0.006, 0.067, 0.309, 0.691, 1])
    p_targets, p_others = np.diff(below), np.diff(below)[::-1]
    # By hand: the step from (miss 0.067, fa 0.309) to (0.309, 0.067) is crossed by equal errors in
    # its middle; at most 20% false alarms leave 30.9% misses.
    true = {"eer": 0.188, "miss_at_fa:0.2": 0.309}
    missed = dict.fromkeys(true, 0)
    for seed in range(60):
        draw = np.random.default_rng(seed)
        grades = [draw.choice(5, 100, p=p) for p in (p_targets, p_others)]
        rows = tc.score(
            scores=np.concatenate(grades).astype(float), labels=np.repeat([1, 0], 100),
            type="score", measures=list(true), replicates=100,
        ).rows  # fmt: skip
        for (name, value), row in zip(true.items(), rows, strict=True):
            missed[name] += not row.lower <= value <= row.upper
    assert max(missed.values()) <= 7  # 5% of 60 are 3; without the rule for ties about 40


def test_costs_and_equal_errors_of_weighted_trials():
    records = records_of(12, units=12, weighted=True)
    cost, eer = score(records, ["balanced_error", "eer"], weighted=True)
    assert ends(cost) == pytest.approx(of_cost(records, (0.5, 0.5))[0], **TIGHT)
    assert ends(eer) == pytest.approx(slow.equal_errors(records), **TIGHT)


@pytest.mark.parametrize("seed", range(3))
def test_minimum_costs(seed):
    records = records_of(seed, units=14, trials=9)
    [row] = score(records, ["min_dcf"], tc.Application.detection(4, 1, 0.3))
    every = slow.at_every_threshold(records)
    costs = [(1.2 * m + 0.7 * f, t) for t, m, f in every]
    threshold = min(costs)[1]
    shifted = [r | {"score": r["score"] - threshold} for r in records]
    expected, _ = of_cost(shifted, (1.2 / 0.7, 1.0))
    bias = min(0.0, float(np.mean(row.replicates)) - row.point)
    assert bias < 0
    upper = min(1.0, expected[1] - bias)  # no threshold need cost more than the naive baseline
    assert ends(row) == pytest.approx((expected[0], upper), **TIGHT)


# --- G: batches in order ------------------------------------------------------------------------


def test_batches_in_order():
    rng = np.random.default_rng(8)
    level = 1 + np.cumsum(rng.normal(0, 0.15, 40))
    records = []
    for t in range(40):
        for _ in range(int(rng.integers(2, 5))):
            label = int(rng.random() < 0.5)
            score_ = float(rng.normal(level[t] if label else -level[t]))
            records.append({"score": score_, "label": label, "unit": f"b{t:02d}", "weight": 1.0})
    [row] = score(records, ["cllr"], plan=tc.Plan(200, seed=0, scheme="blocks"))
    se, nu = slow.in_order(records, cllr, "unit")
    point, reach = math.log(row.point), slow.t_quantile(nu) * se
    assert nu == 3
    assert row.lower == pytest.approx(math.exp(point - reach), **TIGHT)
    assert row.upper == pytest.approx(math.exp(point + reach), **TIGHT)
    [alone] = score(records, ["cllr"])
    assert row.upper > alone.upper
