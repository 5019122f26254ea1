"""`truecost calibrate`: what is printed, written, cited and refused, and its exit codes."""

import json
import re

import numpy as np
import pytest

import truecost as tc
from described import of_type
from truecost.calibration import METHODS, Affine, AffineClasses


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in a folder with dev.csv and eval.csv: (exit code, out, err)."""
    import polars as pl

    for seed, name in enumerate(("dev", "eval")):
        rng = np.random.default_rng(seed)
        labels, speaker = rng.integers(0, 2, 400), rng.integers(0, 40, 400)
        scores = (5 + 3 * rng.normal(labels)).round(4)
        columns = {"spk": [f"{name}{s}" for s in speaker], "y": labels, "s": scores}
        pl.DataFrame(columns | {"part": speaker % 3}).write_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        from truecost import cli

        code = cli.run([str(a) for a in ("calibrate", *arguments)])
        return code, *capfd.readouterr()

    return call


GIVEN = ("--map", "score=s,label=y,unit=spk", "--replicates", "50")


def test_calibrate_as_written(run, tmp_path):
    out = "eval.calibrated.csv"
    given_ = ("--type", "score", "--method", "affine", "--map", "score=s,label=y,unit=spk")
    code, printed, err = run("dev.csv", "eval.csv", *given_, "-o", out)
    assert code == 0
    assert "eval+affine" in printed
    assert "cllr" in printed
    assert f"calibrated scores: {out}" in err
    table = tc.read(out)
    before, dev = tc.read("eval.csv"), tc.read("dev.csv")
    assert table.columns == ["spk", "y", "s", "part", "score"]
    assert table.frame["s"].equals(before.frame["s"])
    labels = dev.numbers("y", "label").astype(int)
    expected = Affine.fit(dev.numbers("s", "score"), labels)(before.numbers("s", "score"))
    assert table.numbers("score", "score") == pytest.approx(expected, rel=1e-12)
    again, _, err = run("dev.csv", "eval.csv", *given_, "-o", out)
    assert (again, "--force" in err) == (2, True)
    first = (tmp_path / out).read_bytes()
    assert run("dev.csv", "eval.csv", *given_, "-o", out, "--force")[0] == 0
    assert (tmp_path / out).read_bytes() == first


@pytest.fixture
def bare(run, tmp_path):
    """The command, with bare.csv: the trials of eval.csv without their labels."""
    tc.read("eval.csv").frame.drop("y").write_csv(tmp_path / "bare.csv")
    return run


def test_trials_without_labels_are_calibrated_and_not_scored(bare, tmp_path):
    given_ = ("--type", "score", *GIVEN)
    code, printed, err = bare("dev.csv", "bare.csv", *given_, "-o", "out.csv")
    assert (code, printed) == (0, "")
    assert err.splitlines()[0].startswith("fitted: affine, train-dev: scale 0.30")
    assert "note: bare: no labels (column 'y'): nothing scored" in err
    assert "calibrated scores: out.csv" in err
    assert "optimistic" not in err
    assert bare("dev.csv", "eval.csv", *given_, "-o", "labelled.csv")[0] == 0
    labelled = tc.read("labelled.csv").frame
    assert tc.read("out.csv").frame.equals(labelled.drop("y"))
    assert bare("dev.csv", "bare.csv", *given_, "-o", "out.csv")[0] == 2
    code, printed, err = bare("dev.csv", "bare.csv", *given_, "-q", "-o", "-")
    assert (code, err) == (0, "")
    assert printed.encode() == (tmp_path / "out.csv").read_bytes()
    code, printed, err = bare("dev.csv", "bare.csv", *given_, "-v", "--method", "spline")
    assert (code, printed) == (0, "")
    assert "coefficients (23 values)" in err


def test_json_without_labels_is_the_calibration_alone(bare):
    given_ = ("dev.csv", "bare.csv", "--type", "score", *GIVEN, "--json")
    code, printed, err = bare(*given_)
    found, labelled = json.loads(printed), json.loads(bare("dev.csv", "eval.csv", *given_[2:])[1])
    assert code == 0
    assert (
        of_type(found, "calibration")[0]["summary"]
        == of_type(labelled, "calibration")[0]["summary"]
    )
    assert found["rows"] == []
    assert set(found) <= set(labelled)
    assert [i["file"] for i in found["inputs"]] == ["dev.csv", "bare.csv"]
    assert "no labels" in err


def test_classes_without_labels_are_calibrated(run):
    import polars as pl

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    scores = rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels]
    frame = pl.DataFrame({n: scores[:, k] for k, n in enumerate("abc")})
    frame.with_columns(y=pl.Series([("a", "b", "c")[k] for k in labels])).write_csv("many.csv")
    frame.write_csv("new.csv")
    given_ = ("--type", "log-score", "--map", "score=a+b+c,label=y")
    assert run("many.csv", "new.csv", *given_, "-o", "out.csv")[0] == 0
    table = tc.read("out.csv")
    assert table.columns == ["raw_a", "raw_b", "raw_c", "a", "b", "c"]
    logs = np.stack([table.numbers(n, "score") for n in "abc"], axis=1)
    assert logs == pytest.approx(AffineClasses.fit(scores, labels)(scores), abs=1e-9)


@pytest.mark.parametrize(
    ("study", "arguments", "code", "message"),
    [
        ('[[gate]]\nmeasure = "cllr"\nmax_upper = 1\n', (), 2, "no gate can be checked"),
        ("", ("--missing", "worst"), 2, "--missing worst needs labels"),
        ("", ("--key", "key.csv"), 3, "key.csv: there is no such file"),
        ("", ("--in-sample",), 2, "give one file"),
    ],
)
def test_without_labels_some_requests_cannot_be_met(
    bare, tmp_path, study, arguments, code, message
):
    (tmp_path / "study.toml").write_text(study)
    given_ = ("--type", "score", *GIVEN, "--config", "study.toml")
    found, printed, err = bare("dev.csv", "bare.csv", *given_, *arguments)
    assert (found, printed) == (code, "")
    assert message in err


def test_missing_scores_without_labels(run, tmp_path):
    (tmp_path / "holes.csv").write_text("s,n\n4,a\n,b\n5,c\n")
    given_ = ("dev.csv", "holes.csv", "--type", "score", *GIVEN, "-o", "out.csv")
    code, _, err = run(*given_)
    assert (code, "holes.csv: 1 score is missing or NaN: line 3" in err) == (3, True)
    code, _, err = run(*given_, "--missing", "drop")
    assert code == 0
    assert "note: holes: 1 of 3 trials had no score: left out (--missing drop)" in err
    assert tc.read("out.csv").frame["n"].to_list() == ["a", "c"]


def test_a_file_to_fit_needs_labels(bare):
    code, printed, err = bare("bare.csv", "eval.csv", "--type", "score", *GIVEN)
    assert (code, printed) == (2, "")
    assert "bare.csv: there is no column 'y' for the label" in err


def test_a_calibration_has_no_study_file(run):
    code, printed, err = run("eval.csv", "--type", "score", *GIVEN, "--print-config")
    assert (code, printed) == (2, "")
    assert "a calibration has no study file" in err


def test_calibrated_and_raw_are_compared(run):
    code, printed, _ = run("eval.csv", "--type", "llr", *GIVEN, "--measure", "cllr", "--json")
    found = json.loads(printed)
    assert code == 0
    rows = {(r["dims"]["system"], r["kind"]): r["value"] for r in found["rows"]}
    gain = rows["eval", "value"] - rows["eval+affine", "value"]
    assert rows["eval+affine", "difference"] == pytest.approx(-gain)
    assert gain > 0
    assert of_type(found, "calibration")[0]["summary"]["trained"] == "folds5:by-spk:seed0"
    assert (
        sum(fit["n_trials"] for fit in of_type(found, "calibration")[0]["summary"]["fits"]) == 400
    )
    assert [i["file"] for i in found["inputs"]] == ["eval.csv"]


def test_infinite_ratios_are_told_and_laplace_keeps_them_finite(run):
    code, printed, err = run("eval.csv", "--type", "score", "--method", "pav", *GIVEN, "--json")
    assert code == 0
    assert '"inf"' in printed
    assert "--laplace" in err
    code, printed, err = run(
        "eval.csv", "--type", "score", "--method", "pav", "--laplace", "--fold", "part", *GIVEN,
        "--json",
    )  # fmt: skip
    assert code == 0
    assert '"inf"' not in printed
    assert len(of_type(json.loads(printed), "calibration")[0]["summary"]["fits"]) == 3
    assert "infinite" not in err


def test_classes_get_a_column_each(run, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    import polars as pl

    scores = rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels]
    frame = pl.DataFrame({"y": [("a", "b", "c")[k] for k in labels]})
    frame = frame.with_columns(*(pl.Series(n, scores[:, k]) for k, n in enumerate("abc")))
    frame.write_csv(tmp_path / "many.csv")
    given_ = ("--type", "log-score", "--map", "score=a+b+c,label=y", "--replicates", 50)
    assert run("many.csv", *given_, "-o", "out.csv")[0] == 0
    table = tc.read("out.csv")
    assert table.columns == ["y", "raw_a", "raw_b", "raw_c", "a", "b", "c"]
    logs = np.stack([table.numbers(n, "score") for n in "abc"], axis=1)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("eval.csv", "--type", "score", "--method", "platt"),
            2,
            "is 'platt': choose one of affine",
        ),
        (("eval.csv", "--type", "score", "--fold", "spkr"), 2, "did you mean 'spk'"),
        (("eval.csv", "--type", "score", "--fold", "y"), 3, "no trials of"),
        (("dev.csv", "eval.csv", "--type", "score", "--fold", "part"), 2, "give one file"),
        (("dev.csv", "eval.csv", "--type", "score", "--in-sample"), 2, "give one file"),
        (("--type", "score"), 2, "one file"),
        (("none.csv", "--type", "score"), 3, "none.csv: there is no such file"),
        (("eval.csv", "--type", "score", "-o", "out.xyz"), 2, "out.xyz"),
        (("eval.csv", "--type", "score", "-o", "dev.csv"), 2, "--force"),
        (("eval.csv", "--type", "score", "-o", "eval.csv", "--force"), 2, "the input file"),
        (("eval.csv", "--type", "score", "-o", "-", "--json"), 2, "both write standard output"),
        (("eval.csv", "--type", "score", "-o", "-", "--output-format", "npy"), 2, "npz"),
        (("eval.csv", "--type", "score", "--seed", -1), 2, "seed is -1"),
        (("eval.csv", "--type", "score", "--laplace"), 2, "laplace is for method pav"),
    ],
)
def test_bad_commands(run, tmp_path, arguments, code, message):
    found, printed, err = run(*arguments, *GIVEN)
    assert (found, printed) == (code, "")
    assert message in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dev.csv", "eval.csv"]


def test_scores_on_standard_output_are_csv_and_tables_go_to_standard_error(run, tmp_path):
    given_ = ("--type", "score", *GIVEN)
    code, printed, err = run("eval.csv", *given_, "-o", "-")
    assert code == 0
    assert printed.splitlines()[0] == "spk,y,s,part,score"
    assert len(printed.splitlines()) == 401
    assert "eval+affine" in err
    assert "calibrated scores" not in err
    assert run("eval.csv", *given_, "-o", "out.csv")[0] == 0
    assert printed.encode() == (tmp_path / "out.csv").read_bytes()
    code, lines, err = run("eval.csv", *given_, "-o", "-", "--output-format", "ndjson", "-q")
    assert (code, err, len(lines.splitlines())) == (0, "", 400)
    assert json.loads(lines.splitlines()[0])["spk"].startswith("eval")


def test_columns_without_a_place_are_told(run):
    given_ = ("--map", "score=s,label=y,unit=spk,id=id", "--type", "score", "--replicates", 50)
    frame = tc.read("eval.csv").frame.with_row_index("id")
    frame.write_csv("ids.csv")
    code, _, err = run("ids.csv", *given_, "-o", "out.npy")
    assert code == 0
    assert "note: npy has no place for the columns id, spk, y, s, part" in err


ENTRIES = {
    "affine": {"brummer-2006-cllr"},
    "temperature": {"guo-2017-calibration"},
    "pav": {"brummer-2006-cllr", "ayer-1955-pav"},
    "spline": {"eilers-1996-p-splines"},
    "poly3": {"petegrosso-2022-abba", "eilers-1996-p-splines"},
}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_cited_follows_the_method(run, method):
    code, printed, _ = run(
        "eval.csv", "--type", "score", "--method", method, "--measure", "eer", "--cite"
    )
    assert code == 0
    keys = set(re.findall(r"@\w+\{([^,]+),", printed))
    assert {k for k in keys if any(k in own for own in ENTRIES.values())} == ENTRIES[method]


def test_without_measures_those_of_the_calibrated_scores_are_cited(run):
    code, printed, _ = run("eval.csv", "--type", "score", "--method", "spline", "--cite")
    assert code == 0
    assert "eilers-1996-p-splines" in printed
    assert "brummer-2006-cllr" in printed  # Cllr
    assert "guo-2017" not in printed


@pytest.mark.parametrize(("limit", "state", "code"), [(2, "pass", 0), (0.01, "fail", 1)])
def test_gates_of_a_study_are_checked(run, tmp_path, limit, state, code):
    gate = f'[[gate]]\nmeasure = "cllr"\nmax_upper = {limit}\nsystem = "eval+affine"\n'
    (tmp_path / "study.toml").write_text(gate)
    given_ = ("--type", "score", *GIVEN, "--measure", "cllr", "--config", "study.toml")
    found, _, err = run("eval.csv", *given_)
    assert f"gate {state}: " in err
    assert found == code
    found, printed, _ = run("eval.csv", *given_, "--json")
    assert [g["verdict"] for g in json.loads(printed)["gates"]] == [state]
    assert found == code


def test_a_study_of_several_applications_is_refused(run, tmp_path):
    (tmp_path / "study.toml").write_text("[applications.one]\nprior = 0.1\n")
    code, printed, err = run("eval.csv", "--type", "score", *GIVEN, "--config", "study.toml")
    assert (code, printed) == (2, "")
    assert "one application" in err


def test_methods_are_listed(capfd):
    from truecost import cli

    assert cli.run(["list", "methods"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*METHODS]
    for line, kind in zip(lines, METHODS.values(), strict=True):
        assert kind.text in line
        assert all(f"--{option}" in line for option in kind.options)


@pytest.mark.parametrize("over", [False, True])
def test_train_and_eval_may_have_keys_and_metadata_of_their_own(run, tmp_path, over):
    import polars as pl

    for name, seed in (("dev", 1), ("eval", 2)):
        rng = np.random.default_rng(seed)
        ids = [f"{name}{k}" for k in range(300)]
        label = np.arange(300) % 3 == 0
        score = np.where(label, 1.0, -1.0) + rng.normal(size=300)
        pl.DataFrame({"id": ids, "score": score}).write_csv(f"{name}.csv")
        pl.DataFrame({"id": ids, "label": label.astype(int)}).write_csv(f"{name}.key.csv")
        pl.DataFrame({"id": ids, "spk": np.arange(300) // 10}).write_csv(f"{name}.meta.csv")
    train = ["--train-key", "dev.key.csv", "--train-metadata", "dev.meta.csv"]
    common = ["--type", "score", "--map", "unit=spk", "--measure", "cllr", "--replicates", "5"]
    if over:  # each option lies over the other setting of a study
        (tmp_path / "s.toml").write_text(
            '[systems.dev]\nfile = "dev.csv"\nkey = "dev.key.csv"\n'
            '[systems.eval]\nfile = "eval.csv"\n'
            '[data]\nkey = "eval.key.csv"\nmetadata = ["eval.meta.csv"]\n'
        )
        code, out, err = run("--config", "s.toml", *train[2:], *common)
    else:
        own = ["--key", "eval.key.csv", "--metadata", "eval.meta.csv"]
        code, out, err = run("dev.csv", "eval.csv", *own, *train, *common)
    assert code == 0, err
    assert "eval+affine" in out
    code, _, err = run("dev.csv", "--key", "dev.key.csv", *train, *common)
    assert code == 2
    assert "need two files: TRAIN and EVAL" in err
