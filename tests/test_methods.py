"""Methods: sets of runs over seeds and training sets, told by `run` and `mean`."""

import msgspec
import numpy as np
import pytest
from scipy.special import stdtrit

import truecost as tc
from truecost.core import methods
from truecost.core.claims import scope
from truecost.core.factors import Factor
from truecost.core.methods import weighted_mean
from truecost.core.subsets import LeftOut
from truecost.errors import InputError, UsageError

PLAN = tc.Plan(replicates=400, seed=5)
SCORING = tc.Scoring(measures=("total_error", "nec"), plan=PLAN)
PERCENTILE = tc.Scoring(measures=("total_error", "nec"), plan=PLAN, method="percentile")
UNITS, SIZE = 30, 6
SPEAKERS = np.repeat(np.arange(UNITS), SIZE)
LABELS = np.tile([0, 1, 1], UNITS * SIZE // 3)


def decisions(seed, error=0.2):
    """Decisions of a run that errs now and then."""
    wrong = np.random.default_rng(seed).random(len(LABELS)) < error
    return np.where(wrong, 1 - LABELS, LABELS)


def members(seeds, name="cnn", scoring=SCORING, error=0.2):
    """For each measure the estimates of the runs."""
    rows = [
        tc.score_system(
            tc.Trials.from_arrays(
                decisions(s, error), LABELS, kind="decision", name=name, unit=SPEAKERS
            ),
            scoring,
        )
        for s in seeds
    ]
    return [*zip(*rows, strict=True)]


def runs_of(seeds, name="cnn", hold=()):
    return tc.Runs(name, {"seed": tuple(map(str, seeds))}, hold)


def method(seeds, name="cnn", **kwargs):
    [found, _] = members(seeds, name, **kwargs)
    return tc.estimate_method(found, runs_of(seeds, name), PLAN)


def shares_wrong(seeds, error=0.2):
    """Total error of each run in each replicate, from the weights: (runs, replicates)."""
    factor, codes = Factor.encode("unit", SPEAKERS)
    weights = PLAN.weights({"unit": factor}).block()["unit"][:, codes].astype(float)
    wrong = np.array([decisions(s, error) != LABELS for s in seeds], float)
    # Priors are the shares in the replicate, so the total error is the share of wrong trials.
    return np.array([(weights * row).sum(axis=1) / weights.sum(axis=1) for row in wrong])


def drawn(seeds, name="cnn", column="seed", plan=PLAN):
    """The weights of a run factor, drawn for itself."""
    factor, codes = Factor.encode(f"{column} of {name}", [*map(str, seeds)])
    return plan.weights({factor.name: factor}).block()[factor.name][:, codes].astype(float)


def quantiles(values):
    return np.quantile(values, [0.025, 0.975])


# The two estimators against their definition


def test_mean_weighs_runs_as_an_outer_factor():
    seeds = [3, 1, 2, 7]
    found, x = method(seeds, scoring=PERCENTILE), shares_wrong(seeds)
    v = drawn(seeds)
    brute = [(v[r] * x[:, r]).sum() / v[r].sum() for r in range(PLAN.replicates)]
    np.testing.assert_allclose(found.mean.replicates, brute, rtol=1e-12)
    np.testing.assert_allclose([found.mean.lower, found.mean.upper], quantiles(brute), rtol=1e-12)
    points = [(decisions(s) != LABELS).mean() for s in seeds]
    assert found.mean.value == pytest.approx(np.mean(points), rel=1e-12)
    assert found.mean.counts["lowest_run"] == pytest.approx(min(points))
    assert found.mean.counts["highest_run"] == pytest.approx(max(points))


def test_run_pools_the_replicates_of_all_runs():
    seeds = [3, 1, 2, 7]
    found, x = method(seeds, scoring=PERCENTILE), shares_wrong(seeds)
    assert found.run.n_replicates == 4 * PLAN.replicates
    np.testing.assert_allclose(np.sort(found.run.replicates), np.sort(x.ravel()), rtol=1e-12)
    np.testing.assert_allclose([found.run.lower, found.run.upper], quantiles(x), rtol=1e-12)
    assert found.run.value == found.mean.value


def test_a_ratio_is_weighed_outside():
    """nec of the pooled counts would weigh inside of the ratio: that is another figure."""
    seeds = range(6)
    _, found = members(seeds)
    v, x = drawn(seeds), np.array([e.replicates for e in found])
    mean = tc.estimate_method(found, runs_of(seeds), PLAN).mean
    np.testing.assert_allclose(mean.replicates, (v * x.T).sum(1) / v.sum(1), rtol=1e-12)
    assert mean.naive == 1


def test_two_columns_are_crossed():
    seeds, sets = ("1", "2", "3") * 2, ("a",) * 3 + ("b",) * 3
    [found, _] = members(range(6))
    runs = tc.Runs("cnn", {"seed": seeds, "training": sets})
    mean = tc.estimate_method(found, runs, PLAN).mean
    v = drawn(seeds) * drawn(sets, column="training")
    x = np.array([e.replicates for e in found])
    np.testing.assert_allclose(mean.replicates, (v * x.T).sum(1) / v.sum(1), rtol=1e-12)
    assert mean.units_by_factor == {"unit": UNITS, "seed of cnn": 3, "training of cnn": 2}
    assert mean.n_units == UNITS
    assert "outer:seed of cnn+training of cnn" in mean.signature


def test_a_held_column_is_not_drawn():
    seeds, sets = ("1", "2", "3") * 2, ("a",) * 3 + ("b",) * 3
    [found, _] = members(range(6))
    runs = tc.Runs("cnn", {"seed": seeds, "training": sets}, hold=("seed",))
    mean = tc.estimate_method(found, runs, PLAN).mean
    v, x = drawn(sets, column="training"), np.array([e.replicates for e in found])
    np.testing.assert_allclose(mean.replicates, (v * x.T).sum(1) / v.sum(1), rtol=1e-12)
    assert "held:seed of cnn" in mean.signature
    every = tc.Runs("cnn", {"seed": seeds, "training": sets}, hold=("seed", "training"))
    fixed = tc.estimate_method(found, every, PLAN).mean
    np.testing.assert_allclose(fixed.replicates, x.mean(axis=0), rtol=1e-12)
    assert fixed.factors == ("unit",)
    assert "few_runs" not in fixed.flags


def test_an_empty_combination_makes_a_replicate_undefined():
    """Seeds 1 and 2 with set a, seed 2 with set b: two 1s drawn with two bs hold no run."""
    runs = tc.Runs("cnn", {"seed": ("1", "2", "2"), "training": ("a", "a", "b")})
    [found, _] = members(range(3))
    mean = tc.estimate_method(found, runs, PLAN).mean
    empty = int((runs.weights(PLAN).sum(axis=1) == 0).sum())
    assert 0 < empty == mean.n_undefined
    assert "undefined_replicates" in mean.flags


def test_an_undefined_run_counts_only_where_it_weighs():
    x = np.array([[1.0, np.nan, np.nan, np.inf], [3.0, 3.0, 3.0, 3.0]])
    v = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 1.0], [0.0, 2.0]])
    np.testing.assert_array_equal(weighted_mean(x, v), [2, 3, np.nan, 3])


def test_an_undefined_run_makes_the_value_undefined():
    [found, _] = members([1, 2])
    broken = msgspec.structs.replace(found[0], point=float("nan"), value=None, reason="no targets")
    mean = tc.estimate_method([broken, found[1]], runs_of([1, 2]), PLAN).mean
    assert (mean.value, mean.lower, mean.reason) == (None, None, "no targets")


# What is said


def test_signature_flags_and_words():
    found = method([1, 2, 3])
    assert found.mean.signature.startswith("estimator:mean|runs:3|outer:seed of cnn|total_error|")
    assert found.run.signature.startswith("estimator:run|runs:3|total_error|")
    assert found.mean.dims == {"system": "cnn", "estimator": "mean"}
    assert {"few_runs", "crossed"} <= {*found.mean.flags}
    assert "crossed" not in found.run.flags
    said = scope(found)
    assert said.startswith("cnn: 3 runs; varied: seed (3), units of the test: unit (30); ")
    assert "held fixed: all else that the runs share" in said
    assert scope(found, "run") == said
    assert "few_runs" not in method(range(20)).mean.flags


def test_words_name_what_is_held():
    [found, _] = members(range(4))
    runs = tc.Runs("cnn", {"seed": ("1", "2") * 2, "training": ("a", "a", "b", "b")}, ("training",))
    both = tc.estimate_method(found, runs, PLAN)
    assert scope(both).startswith("cnn, mean of 4 runs; varied: seed (2), units of the test")
    assert "held fixed: training (2), " in scope(both)
    said = scope(both, "run")
    assert said.startswith(
        "cnn, one run, from 4 runs; varied: seed (2), training (2)"
    )  # the pool varies over all runs


def test_one_run_is_the_system():
    found = method([4])
    alone = found.members[0]
    for estimate in (found.run, found.mean):
        assert (estimate.value, estimate.lower, estimate.upper) == (
            *(alone.value, alone.lower, alone.upper),
        )
        assert "few_runs" in estimate.flags
        assert estimate.factors == ("unit",)
    assert "one run does not show the variation over seed" in scope(found)


# Laws


def test_identical_runs_give_the_interval_of_one():
    [found, _] = members([1])
    same = tc.estimate_method([*found] * 5, runs_of(range(5)), PLAN)
    for estimate in (same.run, same.mean):
        assert estimate.lower == pytest.approx(found[0].lower, rel=1e-9)
        assert estimate.upper == pytest.approx(found[0].upper, rel=1e-9)


def test_the_order_of_runs_does_not_matter():
    seeds = [1, 2, 3, 4, 5]
    one, other = method(seeds), method(seeds[::-1])
    for name in ("run", "mean"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(a.replicates, b.replicates)
        assert msgspec.json.encode(a.row()) == msgspec.json.encode(b.row())


def test_equal_seeds_of_two_methods_draw_other_weights():
    a, b = (runs_of(range(6), name).weights(PLAN) for name in ("cnn", "tdnn"))
    assert (a != b).any(axis=1).mean() > 0.9
    independent = np.corrcoef(a.ravel(), b.ravel())[0, 1]
    assert abs(independent) < 4 / np.sqrt(a.size)


def test_methods_are_paired_by_test_units_only():
    seeds = [1, 2, 3]
    new = method(seeds, error=0.1, scoring=PERCENTILE)
    old = method(seeds, "tdnn", scoring=PERCENTILE)
    found = tc.compare_methods(new, old)
    v, w = drawn(seeds), drawn(seeds, "tdnn")
    x, y = shares_wrong(seeds, 0.1).T, shares_wrong(seeds).T
    brute = (v * x).sum(1) / v.sum(1) - (w * y).sum(1) / w.sum(1)
    np.testing.assert_allclose(found.difference.replicates, brute, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        [found.difference.lower, found.difference.upper], quantiles(brute), rtol=1e-9
    )
    assert found.difference.baseline == "tdnn"
    assert found.difference.units_by_factor == {
        "unit": UNITS,
        "seed of cnn": 3,
        "seed of tdnn": 3,
    }
    assert found.difference.signature.startswith(
        "paired difference|estimator:mean|runs:3+3|outer:seed of cnn+seed of tdnn|total_error|"
    )
    assert found.verdict == "better"


def test_the_same_runs_under_two_names_differ_by_chance_only():
    """Were seeds paired, the difference would be 0 in every replicate."""
    found = tc.compare_methods(method(range(5)), method(range(5), "tdnn"))
    assert found.difference.value == 0
    assert found.difference.lower < 0 < found.difference.upper
    assert found.verdict == "inconclusive"


def test_runs_are_compared_all_with_all():
    new, old = method([1, 2], error=0.1), method([3, 4, 5], "tdnn")
    found = tc.compare_methods(new, old, "run")
    x, y = shares_wrong([1, 2], 0.1), shares_wrong([3, 4, 5])
    pairs = np.array([a - b for a in x for b in y])
    assert found.difference.n_replicates == pairs.size
    np.testing.assert_allclose(
        np.sort(found.difference.replicates), np.sort(pairs.ravel()), rtol=1e-9, atol=1e-12
    )
    wider = tc.compare_methods(new, old).difference
    assert found.difference.half_width > wider.half_width


@pytest.mark.parametrize("seeds", [(range(12), range(12)), (range(9), range(12, 26))])
def test_a_part_of_many_pairs_stands_for_all(seeds, monkeypatch):
    """Each run is in as many pairs as the others, and the interval is that of all pairs."""
    new = method(seeds[0], error=0.1, scoring=PERCENTILE)
    old = method(seeds[1], "tdnn", scoring=PERCENTILE)
    every = tc.compare_methods(new, old, "run").difference
    larger = max(len(new.runs), len(old.runs))
    monkeypatch.setattr(methods, "MOST_MET", 4 * larger * PLAN.replicates + 1)
    part = tc.compare_methods(new, old, "run").difference
    assert part.n_replicates == 4 * larger * PLAN.replicates
    assert part.value == every.value
    for end in ("lower", "upper"):
        assert getattr(part, end) == pytest.approx(getattr(every, end), abs=0.01)
    left, right = methods._pairs(new, old)
    for rows, runs in ((left, new.runs), (right, old.runs)):
        often = np.bincount(rows, minlength=len(runs))
        assert often.max() - often.min() <= 4 * (larger % len(runs) > 0)
    again = methods._pairs(new, old)
    assert (left == again[0]).all()
    assert (right == again[1]).all()


# Coverage: runs with an effect of their own


def simulated(rng, n_runs, n_units, plan, way):
    """Estimates of runs whose value is an effect of the seed plus a mean over test units."""
    effects = rng.normal(0, 1, n_runs + 1)  # the last is a new run
    unit = rng.normal(0, 3, n_units)
    factor = Factor("unit", np.arange(n_units))
    w = plan.weights({"unit": factor}).block()["unit"] / n_units
    data = unit[:, None] + effects[:n_runs] + rng.normal(0, 0.5, (n_units, n_runs))
    scoring = tc.Scoring(measures=("total_error",), plan=plan, method=way)
    [template, *_] = members([1], scoring=scoring)[0]
    points = data.mean(axis=0)
    without = (data.sum(axis=0) - data) / (n_units - 1)
    reach = stdtrit(n_units - 1, 0.975) * data.std(axis=0, ddof=1) / np.sqrt(n_units)
    found = [
        msgspec.structs.replace(
            template,
            measure="made",
            point=float(points[j]),
            lower=float(points[j] - reach[j]),
            upper=float(points[j] + reach[j]),
            replicates=w @ data[:, j],
            left_out=(LeftOut("unit", without[:, j], n_units, n_units),),
        )
        for j in range(n_runs)
    ]
    return found, effects[n_runs]


# Percentile ends are compared with quantiles above, to the last digit.
@pytest.mark.parametrize("way", ["auto", pytest.param("percentile", marks=pytest.mark.long)])
def test_coverage_of_mean_and_run(way):
    """30 runs, 40 units, 400 repeats: `mean` covers the expectation, `run` a new run's value.

    The standard error of a coverage of 0.94 is 0.012. Holding the seeds, or giving the mean's
    interval for a new run, covers far less: the bounds would tell.
    """
    rng, repeats = np.random.default_rng(12), 400
    hits = dict.fromkeys(("mean", "run", "held", "mean for a run"), 0)
    for repeat in range(repeats):
        plan = tc.Plan(replicates=400, seed=repeat)
        found, new = simulated(rng, 30, 40, plan, way)
        both = tc.estimate_method(found, runs_of(range(30)), plan)
        held = tc.estimate_method(found, runs_of(range(30), hold=("seed",)), plan)
        hits["mean"] += both.mean.lower <= 0 <= both.mean.upper
        hits["held"] += held.mean.lower <= 0 <= held.mean.upper
        hits["run"] += both.run.lower <= new <= both.run.upper
        hits["mean for a run"] += both.mean.lower <= new <= both.mean.upper
    shares = {name: count / repeats for name, count in hits.items()}
    assert 0.90 <= shares["mean"] <= 0.98
    assert 0.90 <= shares["run"] <= 0.98
    assert shares["held"] < shares["mean"]
    assert shares["mean for a run"] < 0.75


# What is refused


def test_bca_is_refused():
    scoring = tc.Scoring(measures=("total_error",), plan=PLAN, method="bca")
    [found] = members([1, 2], scoring=scoring)
    with pytest.raises(UsageError, match=r"bca intervals are not defined for methods.*percentile"):
        tc.estimate_method(found, runs_of([1, 2]), PLAN)


@pytest.mark.parametrize(
    ("levels", "hold", "kind", "message"),
    [
        ({}, (), UsageError, "has no runs"),
        ({"seed": ()}, (), UsageError, "has no runs"),
        ({"seed": ("1", "2", "1")}, (), InputError, "1 run has the same levels as another run"),
        (
            {"seed": ("1", "2")},
            ("set",),
            UsageError,
            "set cannot be named by hold.*runs are seed",
        ),
        (
            {"seed": ("1", "2"), "set": ("b", "a")},
            (),
            UsageError,
            "seed and set vary together .each of the 2 levels .* name only one of them",
        ),
    ],
)
def test_runs_that_are_no_runs(levels, hold, kind, message):
    with pytest.raises(kind, match=message):
        tc.Runs("cnn", levels, hold)


def test_estimates_that_do_not_belong_together():
    [found, others] = members([1, 2])
    with pytest.raises(InputError, match="has 3 runs but 2 estimates"):
        tc.estimate_method(found, runs_of([1, 2, 3]), PLAN)
    with pytest.raises(InputError, match="measure is total_error against nec"):
        tc.estimate_method([found[0], others[1]], runs_of([1, 2]), PLAN)
    with pytest.raises(InputError, match=r"made with another plan .*replicates:400.*seed 6"):
        tc.estimate_method(found, runs_of([1, 2]), tc.Plan(400, seed=6))
    a = method([1, 2])
    with pytest.raises(InputError, match="two methods of different names"):
        tc.compare_methods(a, a)
    b = method([1, 2], "tdnn", scoring=tc.Scoring(measures=("nec", "total_error"), plan=PLAN))
    with pytest.raises(InputError, match="not two methods on the same test: measure is"):
        tc.compare_methods(b, a)
