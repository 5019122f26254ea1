"""Metrics that people must report: equal to scikit-learn's, with intervals, beside other measures;
nothing is decided by them.
"""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from processes import resident
from test_reference_cases import trials_of

CASES = ("ec_cifar10_resnet-20", "ec_iemocap_wav2vec_pt")
NAMES = ("macro_f1", "mcc", "kappa", "balanced_accuracy", "top_k:2", "ece")


def also(trials, *names, application=None, **how):
    """Rows of metrics beside one measure."""
    scoring = tc.Scoring(application or tc.Application(), ("nec",), also=names, **how)
    return {row.label: row for row in tc.score_system(trials, scoring)[1:]}


@pytest.mark.parametrize("case", CASES)
def test_metrics_equal_scikit_learn(shared, case):
    from sklearn import metrics
    from sklearn.calibration import calibration_curve

    trials = trials_of(shared, case)
    found = also(trials, *NAMES, plan=tc.Plan(50))
    chosen, truths = trials.scores.argmax(axis=1), trials.labels
    posteriors = np.exp(trials.scores - np.logaddexp.reduce(trials.scores, axis=1, keepdims=True))
    confidence = posteriors.max(axis=1)
    seen, said = calibration_curve(chosen == truths, confidence, n_bins=15)
    sizes = np.bincount(np.ceil(15 * confidence).astype(int), minlength=16)
    sizes = sizes[sizes > 0]
    right = {
        "macro_f1": metrics.f1_score(truths, chosen, average="macro"),
        "mcc": metrics.matthews_corrcoef(truths, chosen),
        "kappa": metrics.cohen_kappa_score(truths, chosen),
        "balanced_accuracy": metrics.balanced_accuracy_score(truths, chosen),
        "top_k:2": metrics.top_k_accuracy_score(truths, trials.scores, k=2),
        "ece": float(sizes / sizes.sum() @ np.abs(seen - said)),
    }
    assert {name: row.value for name, row in found.items()} == pytest.approx(right, abs=1e-12)
    assert all(row.lower < row.value < row.upper for row in found.values())


def test_metrics_of_detection_equal_scikit_learn(shared):
    from sklearn import metrics

    trials = trials_of(shared, "ec_sst2_gpt2", "1")
    found = also(trials, "f1", "mcc", "ece")
    chosen = trials.scores >= 0  # log posterior odds
    assert found["f1"].value == pytest.approx(metrics.f1_score(trials.labels, chosen), abs=1e-12)
    right = metrics.matthews_corrcoef(trials.labels, chosen)
    assert found["mcc"].value == pytest.approx(right, abs=1e-12)
    assert found["f1"].naive == pytest.approx(metrics.f1_score(trials.labels, np.ones(len(chosen))))


def test_no_errors_never_mean_certainty():
    perfect = tc.Trials.from_arrays(list("abcabcab"), list("abcabcab"), kind="decision")
    found = also(perfect, "macro_f1", "mcc", "kappa", "balanced_accuracy")
    for row in found.values():
        assert (row.value, row.upper) == (1, 1)
        assert row.lower < 0.9, row.label
    two = tc.Trials.from_arrays([1, 1, 1, 0, 0], [1, 1, 1, 0, 0], kind="decision")
    assert also(two, "f1")["f1"].lower < 0.7


def test_metrics_move_with_stated_priors_as_repeated_classes_do():
    """At stated priors as on data of which each class is repeated so often."""
    posteriors = np.array([[0.8, 0.15, 0.05], [0.1, 0.3, 0.6], [0.2, 0.45, 0.35], [0.3, 0.1, 0.6]])
    labels, times = np.array([0, 0, 1, 2]), np.array([1, 1, 2, 4])
    few = tc.Trials.from_arrays(posteriors, labels, kind="posterior")
    more = tc.Trials.from_arrays(
        posteriors.repeat(times, 0), labels.repeat(times), kind="posterior"
    )
    flat = tc.TrialsScoring(training_prior=(0.25, 0.25, 0.5))
    stated = tc.Application(priors=(0.25, 0.25, 0.5))
    one = also(few, *NAMES[:4], "ece", application=stated, plan=tc.Plan(5), choices=flat)
    other = also(more, *NAMES[:4], "ece", plan=tc.Plan(5), choices=flat)
    for name, row in one.items():
        assert row.value == pytest.approx(other[name].value, abs=1e-12), name


@pytest.mark.parametrize("name", ["mcc", "kappa", "macro_f1"])
def test_intervals_of_metrics_cover(name):
    """Of 100 samples of 80 trials few intervals miss the truth."""
    random = np.random.default_rng(3)
    rates = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    shares = np.array([0.6, 0.3, 0.1])

    def sampled(n):
        labels = random.choice(3, n, p=shares)
        chosen = (random.random(n)[:, None] > rates[labels].cumsum(axis=1)).sum(axis=1)
        trials = tc.Trials.from_arrays(chosen.astype(str), labels.astype(str), kind="decision")
        return also(trials, name, plan=tc.Plan(100, seed=1))[name]

    truth = sampled(400_000).value
    missed = sum(not row.lower <= truth <= row.upper for row in (sampled(80) for _ in range(200)))
    assert missed <= 14  # 10 were expected at .95


def test_metrics_decide_nothing(tmp_path):
    table = pl.DataFrame({"trial": range(8), "label": [*"abababab"], "score": [*"abababba"]})
    table.write_csv(tmp_path / "one.csv")
    table.with_columns(score=pl.col("label")).write_csv(tmp_path / "two.csv")
    (tmp_path / "gated.toml").write_text('[[gate]]\nmeasure = "mcc"\nmin_lower = 0.1\n')
    how = ("--type", "decision", "--id", "trial")
    with resident(tmp_path, COLUMNS="160") as run:
        shown = run("score", "one.csv", *how, "--also", "mcc,kappa", "-o", "out")
        asked = run("score", "one.csv", *how, "--measure", "mcc")
        board = run("leaderboard", "one.csv", "two.csv", *how, "--measure", "macro_f1")
        beside = run("leaderboard", "one.csv", "two.csv", *how, "--also", "macro_f1")
        gate = run("gate", "out", "--gate", "mcc:min_lower=0.1")
        gated = run("score", "one.csv", *how, "--also", "mcc", "--config", "gated.toml")
        own = run("score", "one.csv", *how, "--also", "nec")
        always = run("score", "one.csv", *how, "--also", "top_k")
        other = run("wer", "score", "--also", "mcc")
    assert shown.returncode == 0
    assert "mcc" in shown.stdout
    assert "advice: mcc: corresponds to no cost in use" in shown.stderr
    for refused in (asked, board, gate, gated):
        assert refused.returncode == 2, refused.stderr
        assert "only a further metric" in refused.stderr
    assert "a gate does not decide by it" in gate.stderr
    assert "a gate does not decide by it" in gated.stderr
    assert beside.returncode == 0, beside.stderr
    assert beside.stdout.split("\n")[0].split()[3] == "nec"
    assert "macro_f1" in beside.stdout
    assert (own.returncode, "use --measure nec" in own.stderr) == (2, True)
    assert always.returncode == 2
    assert "cannot be computed from type decision" in always.stderr
    assert other.returncode == 2


def test_the_first_k_classes_need_a_score_of_each_class():
    with pytest.raises(tc.errors.UsageError, match="here each trial has one score"):
        tc.score(scores=[0.9, 0.2, 0.8], labels=[1, 0, 1], type="posterior", also="top_k:2")
