"""Applications and measures: figures of the papers, presets, special cases."""

import math

import numpy as np
import pytest

import truecost as tc
from truecost.core.measure import difference

POINT = tc.Plan(replicates=1)


def value(trials, name, application=None, **options):
    how = tc.TrialsScoring(**options)
    scoring = tc.Scoring(application or tc.Application(), (name,), POINT, choices=how)
    return tc.score_system(trials, scoring)[0]


PRESETS = {  # effective prior, beta, Bayes threshold, naive cost
    "nist-std-2006": (1e-3 / (1e-3 + 0.9999), 999.9, math.log(999.9), 1e-3),
    "sws-2013": (0.0148, 66.66, math.log(0.99985 / 0.015), 0.015),
    "quesst-2014": (0.08 / (0.08 + 0.9992), 12.49, math.log(12.49), 0.08),
    "opensad": (0.75, 1 / 3, -math.log(3), 0.25),
    "sre-2010": (0.001, 999.0, math.log(999), 0.001),
    "equal": (0.5, 1.0, 0.0, 0.5),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    application = tc.preset(name)
    prior, beta, threshold, naive = PRESETS[name]
    assert application.effective_prior == pytest.approx(prior, abs=5e-5)
    assert application.beta == pytest.approx(beta, rel=1e-3)
    assert application.threshold == pytest.approx(threshold, abs=1e-9)
    assert application.naive_cost == pytest.approx(naive, abs=1e-12)
    assert application.beta == pytest.approx(
        (1 - application.effective_prior) / application.effective_prior
    )


def test_preset_of_2012_takes_the_prior_from_the_data():
    assert tc.preset("sws-2012").priors is None
    trials = tc.Trials.from_arrays([0.0, 1, 2, 3], [0, 0, 0, 1], kind="llr")
    row = value(trials, "act_dcf", tc.preset("sws-2012"))
    assert row.threshold == pytest.approx(math.log(3))
    assert row.parameters == {
        "preset": "sws-2012",
        "costs": {"miss": 1, "fa": 1},
        "prior": "empirical",
    }


def test_opensad_cost():
    decisions, labels = [0] * 2 + [1] * 8 + [1] * 3 + [0] * 7, [1] * 10 + [0] * 10
    trials = tc.Trials.from_arrays(decisions, labels, kind="decision")
    row = value(trials, "detection_cost", tc.preset("opensad"))
    assert row.value == pytest.approx(0.75 * 0.2 + 0.25 * 0.3)
    assert row.naive == pytest.approx(0.25)


def test_total_error_with_a_large_majority():
    """Accuracy 90% where always the majority gets 95%: NTE 2.0 (paper 003, section 3.5)."""
    labels = [0] * 95 + [1] * 5
    decisions = [1] * 10 + [0] * 85 + [1] * 5
    trials = tc.Trials.from_arrays(decisions, labels, kind="decision")
    assert value(trials, "accuracy").value == pytest.approx(0.90)
    assert value(trials, "accuracy").naive == pytest.approx(0.95)
    assert value(trials, "nte").value == pytest.approx(2.0)
    assert value(trials, "balanced_error").naive == pytest.approx(0.5)


def test_always_accepting_ninety_percent_targets():
    """Recall 100, precision 90, FPR 100, FDR 10% (paper 001, A.1)."""
    trials = tc.Trials.from_arrays([1] * 10, [1] * 9 + [0], kind="decision")
    found = [value(trials, name).value for name in ("recall", "precision", "fpr", "fdr")]
    assert found == pytest.approx([1.0, 0.9, 1.0, 0.1])


def test_twv_is_one_minus_the_normalised_cost():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    trials = tc.Trials.from_arrays(rng.normal(size=400) + 3 * labels, labels, kind="llr")
    application = tc.preset("sws-2013")
    miss, fa = (value(trials, name, application).value for name in ("p_miss", "p_fa"))
    twv = 1 - (miss + application.beta * fa)
    assert value(trials, "act_dcf", application).value == pytest.approx(1 - twv, rel=1e-12)


def test_a_class_without_trials_makes_the_cost_undefined():
    trials = tc.Trials.from_arrays([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], [0, 1], kind="posterior")
    row = value(trials, "nec", tc.Application(priors=(0.4, 0.3, 0.3)))
    assert row.value is None
    assert "undefined" in row.reason
    assert value(trials, "nec", tc.Application(priors=(0.4, 0.6, 0.0))).value == pytest.approx(0)


def test_abstaining():
    posteriors = [[0.95, 0.05], [0.6, 0.4], [0.1, 0.9], [0.5, 0.5]]
    trials = tc.Trials.from_arrays(posteriors, [0, 0, 1, 1], kind="posterior")
    application = tc.Application(((0, 1, 0.2), (1, 0, 0.2)))
    assert value(trials, "abstained", application).value == pytest.approx(0.5)
    row = value(trials, "expected_cost", application)
    assert (row.value, row.naive) == pytest.approx((0.1, 0.2))


def test_decisions_may_abstain_only_with_a_column_for_it():
    trials = tc.Trials.from_arrays(["accept", "abstain", "reject"], [1, 1, 0], kind="decision")
    with pytest.raises(tc.UsageError, match="one more column"):
        value(trials, "nec")


def test_impossible_truth_costs_infinity_and_is_counted():
    trials = tc.Trials.from_arrays(
        [[1.0, 0.0], [0.3, 0.7], [0.2, 0.8]], [1, 0, 1], kind="posterior"
    )
    row = value(trials, "nce")
    assert row.value is None
    assert math.isinf(row.point)
    assert row.counts["impossible"] == 1
    assert "infinite" in row.reason
    clipped = value(trials, "nce", clip=0.01)
    assert math.isfinite(clipped.point)
    assert "clip:0.01" in clipped.signature


def test_threshold_in_place_of_the_bayes_threshold():
    trials = tc.Trials.from_arrays([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], kind="score")
    row = value(trials, "p_miss", threshold=0.5)
    assert (row.value, row.threshold) == (0.5, 0.5)
    assert value(trials, "p_miss", threshold=0.4).value == 0.0  # accept when score >= threshold
    assert "threshold:0.5" in row.signature


def test_posteriors_move_to_the_priors_of_the_application():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    llr = rng.normal(size=300) + 2 * labels - 1
    shares = np.bincount(labels) / 300
    posterior = 1 / (1 + np.exp(-(llr + np.log(shares[1] / shares[0]))))
    two = tc.Trials.from_arrays(np.stack([1 - posterior, posterior], 1), labels, kind="posterior")
    one = tc.Trials.from_arrays(posterior, labels, kind="posterior")
    direct = tc.Trials.from_arrays(llr, labels, kind="llr")
    application = tc.Application.detection(5, 1, 0.1)
    for name in ("nec", "nce", "nbs"):
        expected = value(direct, name, application).point
        assert value(one, name, application).point == pytest.approx(expected, rel=1e-9)
        assert value(two, name, application).point == pytest.approx(expected, rel=1e-9)


def test_normalised_cross_entropy_at_the_effective_prior():
    """Cnxe with equal costs is NCE; with other costs it is NCE at Ptar (paper 002, Eq. 38-43)."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 200)
    trials = tc.Trials.from_arrays(rng.normal(size=200) + 2 * labels - 1, labels, kind="llr")
    application = tc.Application.detection(10, 1, 0.01)
    flat = tc.Application.detection(1, 1, application.effective_prior)
    expected = value(trials, "nce", flat).point
    assert value(trials, "cnxe", application).point == pytest.approx(expected, rel=1e-12)


def test_regression_references_are_the_best_constants():
    rng = np.random.default_rng(3)
    truth = rng.exponential(size=101)
    trials = tc.Trials.from_arrays(truth + rng.normal(size=101), truth, kind="number")
    mae, mse, r2 = (value(trials, name) for name in ("mae", "mse", "r2"))
    assert mae.naive == pytest.approx(np.abs(truth - np.median(truth)).mean())
    assert mse.naive == pytest.approx(truth.var())
    assert r2.value == pytest.approx(1 - mse.value / truth.var())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tc.Application.detection(prior=1.0), "between 0 and 1"),
        (lambda: tc.Application.detection(prior=5), "did you mean a percentage"),
        (lambda: tc.Application.detection(cost_miss=0), "above 0"),
        (lambda: tc.Application(((0, 1), (1,))), "rows of lengths"),
        (lambda: tc.Application(((0, 1, 2, 3), (1, 0, 2, 3))), "one more column to abstain"),
        (lambda: tc.Application(((0, -1), (1, 0))), "below 0"),
        (lambda: tc.Application(priors=(0.5, 0.6)), "sum to 1"),
        (lambda: tc.Application(((0, 1), (1, 0)), (0.2, 0.3, 0.5)), "one prior per class"),
        (lambda: tc.preset("sre"), "choose one of"),
        (lambda: tc.find("necc"), "did you mean 'nec'"),
        (lambda: tc.find("micro_f1"), "use nec"),
        (lambda: tc.find("nec:3"), "takes no parameter"),
        (lambda: tc.find("eer:middle"), "choose one of rocch"),
        (lambda: tc.find("miss_at_fa:2"), "between 0 and 1"),
    ],
)
def test_wrong_applications_and_measures_are_refused(call, message):
    with pytest.raises(tc.UsageError, match=message):
        call()


def test_equal_figures_that_were_rounded_otherwise_do_not_differ():
    assert 0.1 + 0.2 != 0.3
    found = difference([0.1 + 0.2, 0.5, np.nan, 1.0, 0.0], [0.3, 0.5, 1.0, 1.0 - 1e-12, -0.0])
    assert found.tolist() == [
        0.0,
        0.0,
        pytest.approx(np.nan, nan_ok=True),
        1.0 - (1.0 - 1e-12),
        0.0,
    ]
    assert not np.signbit(found[[0, 1, 4]]).any()
