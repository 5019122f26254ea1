"""Laws of the default intervals, the cases in which resampled ones failed, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import truecost as tc
from truecost.core import subsets as jackknife
from truecost.core.comparison import compare
from truecost.core.digits import uncertain
from truecost.core.flags import detailed

EQUAL = tc.Application.detection(1, 1, 0.5)
TIGHT = {"rel": 1e-9, "abs": 1e-12}
EVERY = ("act_dcf", "total_error", "p_miss", "p_fa", "precision", "eer", "auc", "min_dcf", "cllr",
         "min_cllr", "cllr_loss", "miss_at_fa:0.1", "fa_at_miss:0.1", "brier", "nce")  # fmt: skip


def score(trials, *measures, application=EQUAL, plan=None, **more):
    """Rows by measure."""
    plan = plan or tc.Plan(200, seed=1)
    scoring = tc.Scoring(
        application,
        measures=measures,
        plan=plan,
        jobs=1,
        choices=tc.TrialsScoring(allow_reversed=True),
        **more,
    )
    return {row.label.removesuffix(":rocch"): row for row in tc.score_system(trials, scoring)}


def ends(row):
    return row.lower, row.upper


def decided(errors, sizes, nontargets=0, false_alarms=0):
    """Decisions of targets, so many of so many wrong in each unit, and of nontargets alone."""
    decision, label, unit = [], [], []
    for u, (x, m) in enumerate(zip(errors, sizes, strict=True)):
        decision += [0] * x + [1] * (m - x)
        label += [1] * m
        unit += [f"u{u:05d}"] * m
    decision += [1] * false_alarms + [0] * (nontargets - false_alarms)
    label += [0] * nontargets
    unit += [f"v{k:05d}" for k in range(nontargets)]
    if not nontargets:
        decision, label, unit = [*decision, 0, 0], [*label, 0, 0], [*unit, "x", "y"]
    return tc.Trials.from_arrays(decision, label, kind="decision", unit=unit)


def scored(seed, units=30, most=8, apart=1.5):
    """Log-likelihood ratios of units of unequal size and quality."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), rng.integers(2, most, units))
    label = np.arange(len(unit)) % 2
    scores = (2 * label - 1) * (apart + rng.normal(0, 0.7, units)[unit]) + rng.normal(
        0, 1.2, len(unit)
    )
    return tc.Trials.from_arrays(scores, label, kind="llr", unit=unit)


# --- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 40])
def test_one_trial_a_unit_lies_between_clopper_pearson_and_jeffreys(size):
    for k in range(size + 1):
        low, high = ends(score(decided([1] * k + [0] * (size - k), [1] * size), "p_miss")["p_miss"])
        exact = stats.binomtest(k, size).proportion_ci(method="exact")
        mild = stats.beta.ppf([0.025, 0.975], k + 0.5, size - k + 0.5)
        if k > 0:
            assert exact.low - 1e-12 <= low <= min(mild[0], k / size) + 1e-12
        if k < size:
            assert max(mild[1], k / size) - 1e-12 <= high <= exact.high + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_ends_enclose_the_value(seed):
    trials = scored(seed, units=4 + 2 * seed, apart=0.4 * (seed % 5))
    for row in score(trials, *EVERY).values():
        if row.lower is not None and row.upper is not None:
            assert row.lower - 1e-12 <= row.point <= row.upper + 1e-12, row


@pytest.mark.parametrize(("units", "size"), [(10, 1), (10, 6), (200, 3), (1000, 1)])
def test_no_errors_say_what_the_rate_may_be(units, size):
    """Of n_e trials: as n_e falls by what units of `icc` have in common and by t quantiles."""
    row = score(decided([0] * units, [size] * units), "p_miss")["p_miss"]
    t = stats.norm.ppf(0.975) / stats.t.ppf(0.975, units - 1)
    effective = max(units, units * size / (1 + 0.1 * (size - 1)) * t**2)
    assert row.lower == 0
    assert 2.5 / effective < row.upper < 3.7 / effective


def test_scales_of_costs_leave_the_interval_as_it_is():
    trials = scored(1)
    names = ("expected_cost", "act_dcf", "min_detection_cost", "min_dcf")
    once, tenfold = (
        score(trials, *names, application=tc.Application.detection(4 * c, c, 0.2)) for c in (1, 10)
    )
    for name, times in zip(names, (10, 1, 10, 1), strict=True):
        expected = [times * end for end in ends(once[name])]
        assert ends(tenfold[name]) == pytest.approx(expected, rel=1e-9)


def test_names_of_units_and_the_order_of_rows_change_nothing():
    trials = scored(2)
    first = score(trials, *EVERY)
    order = np.random.default_rng(0).permutation(len(trials))
    again = score(trials.take(order), *EVERY)
    for name, row in first.items():
        assert ends(again[name]) == pytest.approx(ends(row), **TIGHT), name
    [(name, (labels,))] = trials.units.items()
    renamed = replace(trials, units={name: (np.array([f"z{97 * int(u) % 101}" for u in labels]),)})
    exact = [m for m in EVERY if m not in ("min_dcf", "min_cllr", "cllr_loss")]  # replicates enter
    again = score(renamed, *exact)
    for name in exact:
        assert ends(again[name]) == pytest.approx(ends(first[name]), **TIGHT), name


@pytest.mark.parametrize("seed", range(6))
def test_more_errors_in_the_one_unit_that_has_any_never_lower_an_end(seed):
    """Where several have some, one more also tells how alike they are: an end may turn."""
    sizes = np.random.default_rng(seed).integers(1, 14, 10)
    sizes[0] = 14
    last = (0.0, 0.0)
    for more in range(15):
        found = ends(score(decided([more] + [0] * 9, sizes), "p_miss")["p_miss"])
        assert found >= last
        assert found[1] >= last[1]
        last = found


def test_a_higher_level_gives_a_wider_interval():
    trials = scored(6)
    rows = [score(trials, *EVERY, level=level) for level in (0.8, 0.95, 0.99)]
    for name in EVERY:
        inner, middle, outer = (ends(row[name]) for row in rows)
        assert outer[0] <= middle[0] <= inner[0] < inner[1] < middle[1] < outer[1], name


def test_more_units_narrow_the_interval():
    widths = []
    for times in (1, 2, 4, 8):
        rng = np.random.default_rng(5)
        unit = np.repeat(np.arange(8), rng.integers(2, 7, 8))
        label = np.arange(len(unit)) % 2
        scores = (2 * label - 1) * rng.normal(0.5, 0.3, 8)[unit] + rng.normal(0, 1, len(unit))
        trials = tc.Trials.from_arrays(
            np.tile(scores, times), np.tile(label, times), kind="llr",
            unit=np.concatenate([unit + 8 * k for k in range(times)]),
        )  # fmt: skip
        rows = score(trials, *EVERY)
        widths.append([rows[m].upper - rows[m].lower for m in EVERY if m != "cllr_loss"])
    assert (np.diff(widths, axis=0) < 0).all()


# --- cases in which resampling claimed too much -------------------------------------------------


def test_no_misses_of_eight_targets_beside_fifty_false_alarms():
    """Percentiles end where misses are none; 8 targets allow a miss rate of a third."""
    trials = decided([0] * 8, [1] * 8, 500, 50)
    rows = score(trials, "act_dcf", "balanced_error", "p_miss", "p_fa")
    reach = rows["p_miss"].upper
    assert 0.25 < reach < 0.37
    assert rows["act_dcf"].upper > rows["act_dcf"].point + reach
    assert rows["balanced_error"].upper > rows["balanced_error"].point + reach / 2
    resampled = score(trials, "act_dcf", method="percentile")["act_dcf"]
    assert resampled.upper < rows["act_dcf"].point + 0.1 * reach
    assert ends(rows["p_fa"])[0] > 0.07


def test_twenty_targets():
    """The bad end of each figure lies further out than that of its replicates."""
    rng = np.random.default_rng(3)
    label = np.arange(520) < 20
    scores = rng.normal(np.where(label, 2.0, -2.0), 2.0)
    trials = tc.Trials.from_arrays(scores, label.astype(int), kind="llr")
    names = ("eer", "act_dcf", "cllr", "min_dcf", "auc")
    wide, narrow = (score(trials, *names, method=m) for m in ("auto", "percentile"))
    for name in names:
        a, b = wide[name], narrow[name]
        assert a.lower < b.lower if name == "auc" else a.upper > b.upper, name


def test_targets_of_one_speaker_say_next_to_nothing():
    """However many there are: another speaker may be missed all the time."""
    decision, label = [1] * 200 + [0] * 40, [1] * 200 + [0] * 40
    trials = tc.Trials.from_arrays(
        decision, label, kind="decision", unit=[0] * 200 + [*range(1, 41)]
    )
    rows = score(trials, "p_miss", "act_dcf", "p_fa")
    assert rows["p_miss"].lower == 0
    assert rows["p_miss"].upper > 0.9
    assert rows["act_dcf"].upper > 0.9
    assert rows["p_fa"].upper < 0.1


@pytest.mark.parametrize("apart", [False, True])
def test_units_of_very_unequal_size(apart):
    """Speakers of 1 to 500 trials: one holds most, so few say something."""
    sizes = np.round(500 / (1 + np.arange(30)) ** 2).astype(int).clip(1)
    errors = sizes // 10
    errors[0] = 150 if apart else 50
    row = score(decided(errors, sizes), "p_miss")["p_miss"]
    resampled = score(decided(errors, sizes), "p_miss", method="percentile")["p_miss"]
    assert row.left_out[0].kish < 3
    assert row.upper > resampled.upper
    assert row.upper > 0.5 if apart else row.upper > 0.2


def test_groups_of_units_are_as_wide_as_units_alone(monkeypatch):
    rng = np.random.default_rng(1)
    units = 2500
    unit = np.repeat(np.arange(units), 4)
    label = np.tile([0, 1, 0, 1], units)
    scores = (2 * label - 1) * (1.5 + rng.normal(0, 0.7, units)[unit]) + rng.normal(0, 1.5, 10_000)
    trials = tc.Trials.from_arrays(scores, label, kind="llr", unit=unit)
    names = ("cllr", "auc", "eer", "act_dcf", "p_miss")
    grouped = score(trials, *names)
    assert len(grouped["cllr"].left_out[0].values) == 1000
    monkeypatch.setattr(jackknife, "MOST_ALONE", 10_000)
    alone = score(trials, *names)
    assert len(alone["cllr"].left_out[0].values) == units
    for name in ("eer", "act_dcf", "p_miss"):  # counted by unit, whatever is left out together
        assert ends(grouped[name]) == ends(alone[name])
    for name in ("cllr", "auc"):
        a, b = (row[name].upper - row[name].lower for row in (grouped, alone))
        assert a == pytest.approx(b, rel=0.05)


def test_scores_that_claim_no_more_than_they_know_have_no_loss():
    """Perfectly calibrated scores lose by chance alone, and more than their replicates show."""
    held = {"auto": 0, "percentile": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        label = np.arange(600) % 2
        trials = tc.Trials.from_arrays(2 * rng.normal(2 * label - 1), label, kind="llr")
        for method in held:
            row = score(trials, "cllr_loss", method=method)["cllr_loss"]
            held[method] += row.lower == 0
    assert held["auto"] >= 11
    assert held["percentile"] == 0


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("icc", [-0.1, 1.01, float("nan")])
def test_no_such_correlation(icc):
    with pytest.raises(tc.UsageError, match="icc"):
        score(scored(0), "act_dcf", icc=icc)


def test_one_unit_has_no_interval():
    trials = tc.Trials.from_arrays(
        [1, 0, 1, 0, 1], [1, 0, 0, 0, 1], kind="decision", unit=["a"] * 5
    )
    for row in score(trials, "act_dcf", "p_miss", "p_fa").values():
        assert (row.lower, row.upper) == (None, None)
        assert "one unit" in row.reason


def test_strata_of_one_unit_have_no_interval():
    trials = scored(3, units=9)
    [(name, (labels,))] = trials.units.items()
    alone = replace(trials, strata=np.array([f"h{min(int(u), 5) // 2}" for u in labels]))
    strata = {int(u): min(int(u), 5) // 2 for u in labels}
    assert sorted(strata.values()).count(2) == 5
    for row in score(alone, "act_dcf", "cllr").values():
        assert row.lower is not None
    lonely = replace(trials, strata=np.array([f"h{min(int(u), 1)}" for u in labels]))
    for row in score(lonely, "act_dcf", "cllr", "eer").values():
        assert (row.lower, row.upper) == (None, None)
        assert "stratum have one unit" in row.reason or "one unit" in row.reason
    assert name in tc.score_system(lonely, tc.Scoring(EQUAL, plan=tc.Plan(10)))[0].factors


def test_held_factors():
    trials = scored(4, units=12)
    [(name, (labels,))] = trials.units.items()
    session = np.array([f"s{k % 5}" for k in range(len(labels))])
    crossed = replace(trials, units={name: (labels,), "session": (session,)})
    held = tc.Plan(200, seed=1, hold=("session",))
    both, one = score(crossed, "act_dcf", "cllr", plan=held), score(trials, "act_dcf", "cllr")
    for measure in ("act_dcf", "cllr"):
        assert ends(both[measure]) == pytest.approx(ends(one[measure]), **TIGHT)
    everything = tc.Plan(200, seed=1, hold=("session", name))
    row = score(crossed, "act_dcf", plan=everything)["act_dcf"]
    assert row.lower is None
    assert "held" in row.reason


# --- labels that stand for several units, and units of several labels ---------------------------


def evidence_of(factor, codes, label, decision):
    """Detections of units that hold each other's place in a factor."""
    axes = {
        "class": (("nontarget", "target"), label),
        "decision": (("reject", "accept"), decision),
    }
    counts = {"n": np.ones(len(codes), np.int64)}
    return tc.Evidence({"decisions": tc.Tally.count([(factor, codes)], counts, axes)})


def rows_of(evidence, names=("p_miss", "act_dcf", "total_error", "precision")):
    application = tc.Application.detection(2, 1, 0.3)
    measures = [tc.find(name) for name in names]
    return tc.estimate(evidence, measures, application, tc.Plan(50), jobs=1)


def test_labels_that_stand_for_several_units_are_those_units():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(12), 4)
    label, decision = np.tile([0, 1, 1, 0], 12), rng.integers(0, 2, 48)
    sizes = rng.integers(1, 5, 12)
    few = tc.Factor("unit", np.arange(12), sizes=sizes)
    copies = np.repeat(np.arange(12), sizes)
    rows = np.concatenate([np.flatnonzero(codes == c) for c in copies])
    many, places = tc.Factor.encode("unit", np.repeat(np.arange(len(copies)), 4))
    short = rows_of(evidence_of(few, codes, label, decision))
    long = rows_of(evidence_of(many, places, label[rows], decision[rows]))
    for a, b in zip(short, long, strict=True):
        assert a.point == pytest.approx(b.point)
        assert ends(a) == pytest.approx(ends(b), **TIGHT), a.measure


def test_labels_that_are_tied_are_one_unit():
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(20), 5)
    label, decision = rng.integers(0, 2, 100), rng.integers(0, 2, 100)
    tied = tc.Factor("unit", np.arange(20), tied=np.arange(20) // 2)
    whole, places = tc.Factor.encode("unit", codes // 2)
    alone, _ = tc.Factor.encode("unit", codes)
    first = rows_of(evidence_of(tied, codes, label, decision))
    second = rows_of(evidence_of(whole, places, label, decision))
    apart = rows_of(evidence_of(alone, codes, label, decision))
    for a, b, c in zip(first, second, apart, strict=True):
        assert ends(a) == pytest.approx(ends(b), **TIGHT), a.measure
        assert ends(a) != ends(c)


def pair_of_systems(seed):
    """Rows of two systems on the same 40 units at a small prior, so that costs far exceed 1."""
    rng = np.random.default_rng(seed)
    unit, label = np.repeat(np.arange(40), 10), (np.arange(400) % 5 == 0).astype(int)
    side = 2 * label - 1
    base = 2.5 * side + rng.normal(0, 1, 40)[unit]
    noisy = [base + more * side + rng.normal(0, 1, 400) for more in (0.6, 0)]
    kinds = [tc.Trials.from_arrays(s, label, kind="llr", unit=unit) for s in noisy]
    application = tc.Application.detection(1, 1, 0.01)
    return [score(k, "act_dcf", "min_dcf", "cllr", application=application) for k in kinds]


@pytest.mark.parametrize("seed", range(4))
def test_a_difference_reaches_no_further_than_the_two_intervals_lie_apart(seed):
    ours, theirs = pair_of_systems(seed)
    for a, b in zip(ours.values(), theirs.values(), strict=True):
        lower, upper = ends(compare(a, b).difference)
        assert a.lower - b.upper - 1e-12 <= lower <= a.point - b.point
        assert a.point - b.point <= upper <= a.upper - b.lower + 1e-12


def test_it_is_said_where_combined_intervals_hide_what_pairing_shows():
    ours, theirs = pair_of_systems(3)
    found = compare(ours["act_dcf"], theirs["act_dcf"]).difference
    paired = np.quantile(found.replicates, [0.025, 0.975])
    assert found.lower < 0 < found.upper
    assert paired[1] < 0
    assert "combined" in found.flags
    assert found.counts["carrying"] < 10
    assert [found.counts[f"paired_{end}"] for end in ("lower", "upper")] == pytest.approx(paired)
    text = detailed("combined", [found.row()])
    shown = uncertain(found.value, *paired, apart=0.0)[1]
    assert f"--method percentile gives the paired interval {shown}" in text
    assert "at most one unit" in text
    # Where the combined interval decides, too, or pairing does not, nothing is said.
    clear = compare(ours["cllr"], theirs["cllr"]).difference
    assert "combined" not in clear.flags
    assert not clear.counts
