"""Figures that tools which we did not write gave for real systems (cases/MANIFEST.md, scores)."""

import numpy as np
import pytest

import truecost as tc

CASES = {  # raw NEC with 0/1 costs, abstaining at 0.1, last class x 10; NCE; NBS
    "ec_sst2_gpt2": (0.828, 0.818, 1.000, 0.917, 0.9204),
    "ec_fvcaus_plda": (3.915, 1.992, 1.049, 1.966, 2.9438),
    "ec_pneumoniamnist_resnet50": (0.278, 0.736, 0.479, 0.802, 0.3760),
    "ec_iemocap_wav2vec_pt": (0.504, 1.056, 0.607, 0.635, 0.6464),
    "ec_cifar10_resnet-20": (0.082, 0.406, 0.121, 0.122, 0.1319),
}
EXPECTED_COSTS = {
    "ec_sst2_gpt2": 0.414,
    "ec_fvcaus_plda": 0.067,
    "ec_iemocap_wav2vec_pt": 0.349,
    "ec_cifar10_resnet-20": 0.074,
}
DETECTION = {  # EER rocch, EER mean at nearest, AUC, Cllr, min-Cllr, minDCF(.01), actDCF(.01)
    "ec_fvcaus_plda": (0.000975, 0.001107, 0.999995, 0.688258, 0.002632, 0.014734, 5.010579),
    "ec_sst2_gpt2": (0.149105, 0.152664, 0.928312, 0.917222, 0.477725, 0.957096, 0.998900),
    "ec_pneumoniamnist_resnet50": (
        *(0.087308, 0.093162, 0.967050, 0.912842, 0.303969),
        *(0.797436, 11.505128),
    ),
}
POINT = tc.Plan(replicates=1)


def trials_of(shared, case, target=None):
    folder = shared / "cases" / "scores" / case
    return tc.trials.load(tc.read(str(folder)), tc.trials.Options("log-score", target=target), case)


def values(trials, measures, application):
    scoring = tc.Scoring(application, measures=measures, plan=POINT)
    return [row.point for row in tc.score_system(trials, scoring)]


def matrices(classes):
    """0/1 costs, with abstaining at 0.1, and with the last class ten times as costly."""
    plain = 1 - np.eye(classes)
    abstain = np.column_stack([plain, np.full(classes, 0.1)])
    skewed = plain * np.where(np.arange(classes) == classes - 1, 10, 1)[:, None]
    return [tuple(map(tuple, m.tolist())) for m in (plain, abstain, skewed)]


@pytest.mark.parametrize("case", CASES)
def test_normalised_costs_of_published_notebooks(shared, case):
    trials = trials_of(shared, case)
    costs = [values(trials, ("nec",), tc.Application(m))[0] for m in matrices(len(trials.classes))]
    entropy, brier = values(trials, ("nce", "nbs"), tc.Application())
    assert costs == pytest.approx(CASES[case][:3], abs=6e-4)
    assert entropy == pytest.approx(CASES[case][3], abs=6e-4)
    assert brier == pytest.approx(CASES[case][4], abs=2e-4)


@pytest.mark.parametrize("case", EXPECTED_COSTS)
def test_expected_cost(shared, case):
    found = values(trials_of(shared, case), ("expected_cost",), tc.Application())
    assert found[0] == pytest.approx(EXPECTED_COSTS[case], abs=6e-4)


@pytest.mark.parametrize("case", DETECTION)
def test_detection_measures_of_independent_tools(shared, case):
    names = ("eer", "eer:nearest", "auc", "cllr", "min_cllr", "min_dcf", "act_dcf")
    found = values(trials_of(shared, case, "1"), names, tc.Application.detection(prior=0.01))
    assert found == pytest.approx(DETECTION[case], abs=6e-7)


def test_definitions_of_the_equal_error_rate_differ(shared):
    trials = trials_of(shared, "ec_sst2_gpt2", "1")
    names = ("eer:rocch", "eer:nearest", "eer:nearest-pfa")
    assert values(trials, names, tc.Application()) == pytest.approx(
        [0.1491, 0.1527, 0.152], abs=5e-4
    )


def test_likelihood_ratios_in_base_ten(shared):
    folder = shared / "cases" / "scores" / "lir_tables"
    targets, others = (np.loadtxt(folder / f) for f in ("LLR_KM.csv", "LLR_KNM.csv"))
    assert (len(targets), len(others)) == (188, 477)
    scores = np.concatenate([targets, others]) * np.log(10)
    labels = np.repeat([1, 0], [188, 477])
    trials = tc.Trials.from_arrays(scores, labels, kind="llr")
    found = values(trials, ("eer", "cllr", "min_cllr"), tc.Application())
    assert found == pytest.approx([0.138332, 0.648787, 0.474572], abs=6e-7)


@pytest.mark.parametrize(
    ("nontarget", "target", "expected"),
    [
        ([3, 3], [1 / 3, 1 / 3], 2.0),
        ([1 / 3, 1 / 3], [3, 3], 0.4150374992788437),
        ([8], [8] * 8, 1.6699250014423126),
        ([0.01] * 100 + [100] * 2, [1], 0.5723134914863265),
    ],
)
def test_small_cllr(nontarget, target, expected):
    scores = np.log(np.concatenate([nontarget, target]))
    labels = np.repeat([0, 1], [len(nontarget), len(target)])
    trials = tc.Trials.from_arrays(scores, labels, kind="llr")
    scoring = tc.Scoring(
        measures=("cllr",), plan=POINT, choices=tc.TrialsScoring(allow_reversed=True)
    )
    assert tc.score_system(trials, scoring)[0].point == pytest.approx(expected, rel=1e-14)


def test_accuracy_and_cluster_interval_of_the_toy_case(shared):
    with np.load(shared / "cases" / "scores" / "ci_toy_400x20.npz") as case:
        decisions, labels, conditions = (case[k] for k in ("dec_sys1", "labels", "conditions"))
    trials = tc.Trials.from_arrays(decisions, labels.astype(int), kind="decision", unit=conditions)
    plan = tc.Plan(replicates=200_000)
    scoring = tc.Scoring(measures=("accuracy",), plan=plan, method="percentile")
    (row,) = tc.score_system(trials, scoring)
    assert row.value == pytest.approx(0.855, abs=1e-12)
    assert (row.lower, row.upper) == pytest.approx((0.8103, 0.8943), abs=6e-4)
    alone = tc.Trials.from_arrays(decisions, labels.astype(int), kind="decision")
    (row,) = tc.score_system(alone, scoring)
    assert (row.lower, row.upper) == pytest.approx((0.82, 0.89), abs=3e-3)
