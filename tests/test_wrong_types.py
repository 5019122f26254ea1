"""What public functions say to what they cannot take, and the inputs that lie near."""

from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import truecost as tc

LABELS = np.arange(40) % 2
SCORES = np.random.default_rng(0).normal(2.0 * LABELS)
FRAME = pl.DataFrame({"score": SCORES, "label": LABELS})
TRIALS = tc.Trials.from_arrays(SCORES, LABELS, kind="llr")
SCORING = tc.Scoring(measures=("auc",), plan=tc.Plan(10))


@pytest.mark.parametrize("wrong", [None, 3, "x", FRAME], ids=["None", "number", "text", "frame"])
@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda x: tc.score_system(TRIALS, x), "scoring is"),
        (lambda x: tc.score_system(x, SCORING), "cannot be scored"),
        (lambda x: tc.compare_systems(x, SCORING), "systems is"),
        (lambda x: tc.compare_systems([x, TRIALS], SCORING), "cannot be scored"),
        (lambda x: tc.compare_systems([TRIALS, x, TRIALS], SCORING), "cannot be scored"),
        (lambda x: tc.compare_systems([TRIALS, TRIALS], x), "scoring is"),
        (tc.calibrate, "trials is"),
        (tc.decompose, "trials is"),
        (lambda x: tc.write(x, "out"), "outcome is"),
        (lambda x: tc.trials.load(FRAME, x, "s"), "options is"),
        (tc.Scoring, "application is"),
        (lambda x: tc.Scoring(plan=x), "plan is"),
        (tc.preset, "is not known"),
    ],
)
def test_what_is_of_another_type_is_named(call, parameter, wrong):
    with pytest.raises(tc.UsageError, match=parameter):
        call(wrong)


@pytest.mark.parametrize("wrong", [None, 3, FRAME], ids=["None", "number", "frame"])
def test_what_is_no_path_is_named(wrong):
    with pytest.raises(tc.UsageError, match="path of a file; frames and arrays need no reading"):
        tc.read(wrong)
    with pytest.raises(tc.UsageError, match=r"study is .*: give the path of a study file"):
        tc.run(wrong)


@pytest.mark.parametrize("wrong", [None, 3, "scores.csv"])
def test_what_is_no_table_is_named(wrong):
    with pytest.raises(tc.InputError, match=r"table is .*truecost\.read makes it of a file"):
        tc.trials.load(wrong, tc.trials.Options("llr"), "s")


@pytest.mark.parametrize("made", [FRAME, FRAME.to_dict(as_series=False)], ids=["frame", "columns"])
def test_a_frame_is_loaded(made):
    trials = tc.trials.load(made, tc.trials.Options("llr"), "s")
    assert trials.scores.tolist() == SCORES.tolist()
    assert trials.labels.tolist() == LABELS.tolist()


def test_a_frame_of_pandas_is_loaded():
    pandas = pytest.importorskip("pandas")
    made = pandas.DataFrame({"score": SCORES, "label": LABELS})
    assert tc.trials.load(made, tc.trials.Options("llr"), "s").scores.tolist() == SCORES.tolist()


def test_a_study_runs_from_its_path(tmp_path):
    scores = files("truecost") / "data" / "demo" / "network.csv"
    path = tmp_path / "study.toml"
    path.write_text(
        f"measures = ['act_dcf']\n[interval]\nreplicates = 5\n"
        f"[data]\ntype = 'llr'\nmap = {{ id = 'trial', unit = 'speaker' }}\n"
        f"[application]\nprior = 0.05\n[systems.network]\nfile = '{scores}'\n"
    )
    found = tc.run(path)
    assert [row.measure for row in found.estimates] == ["act_dcf"]
    assert tc.run(str(path)).estimates[0].value == found.estimates[0].value
    with pytest.raises(tc.InputError, match="there is no such file"):
        tc.run(tmp_path / "other.toml")


def test_an_unknown_argument_is_told_what_is_near_and_where_all_are():
    with pytest.raises(
        tc.UsageError, match=r"'prios' \(did you mean 'priors'\?\).* like it are prior"
    ):
        tc.score(scores=SCORES, labels=LABELS, prios=0.1)
    with pytest.raises(tc.UsageError, match="truecost list options trials lists all of them"):
        tc.score(scores=SCORES, labels=LABELS, zzz=0.1)


def test_arrays_of_several_lengths_are_named_with_their_lengths():
    with pytest.raises(tc.InputError, match="several lengths: scores has 40, labels has 39: give"):
        tc.score(scores=SCORES, labels=LABELS[1:])


def test_a_number_of_a_study_file_is_named_by_file_table_and_key(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("[systems.a]\nfile = 'a.csv'\n[systems.b]\nfile = 'b.csv'\nclip = 3\n")
    with pytest.raises(tc.UsageError, match=r"study\.toml: \[systems\.b\] clip is 3: "):
        tc.run(path)


def test_a_half_width_of_nothing_is_refused_before_anything_is_read():
    with pytest.raises(tc.UsageError, match="half_width is 0: it must"):
        tc.plan("missing.csv", half_width=0)


def test_an_unknown_policy_is_told_what_policies_there_are():
    with pytest.raises(tc.UsageError, match="uniform"):
        tc.score(FRAME, task="lifelong", policy="foo")
