"""`truecost abba` from the command line: what must work as written, and what is refused."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import accepted
from described import of_type
from truecost import cli
from truecost.core.digits import uncertain
from truecost.options import declared
from truecost.tasks import find
from truecost.tasks.abba.commands import CalibratedFile, ChosenFile
from truecost.tasks.abba.options import MachineTable, SelectionTable
from truecost.verbs import options_of

MAP = accepted.MAP
AT = "--threshold-a 0.5 --threshold-b 0.6"
FAST = "--replicates 200"
VERBS = ("score", "threshold", "select", "calibrate", "simulate", "validate", "plan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log with labels, one with machine scores and few labels, their users, and a test set."""
    place = tmp_path_factory.mktemp("abba")
    accepted.written(place)
    accepted.written(place, "few.csv", machine=True, labelled=0.3)
    test = accepted.streams(seed=9).select("utt", "user", "sa", "sb", y="truth")
    test.write_csv(place / "test.csv")
    return place


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder of the logs."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")  # a worker of the tests may have a narrow one

    def call(line):
        code = cli.run(shlex.split(line))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def result(run):
    """What `--json` prints, where all goes well."""

    def call(line):
        code, out, err = run(f"{line} --json")
        assert code == 0, err
        return json.loads(out)

    return call


def by_name(rows):
    """Rows of the whole by measure and estimator."""
    return {(r["measure"], r["dims"]["estimator"]): r for r in rows if "subset" not in r["dims"]}


def test_score_as_written(result):
    found = result(
        "abba score log.csv --map id=utt,collected_by=arm,score_a=sa,score_b=sb,label=y,unit=user "
        "--threshold-a 0.5 --threshold-b 0.6"
    )
    assert found["task"] == "abba"
    assert {*by_name(found["rows"])} == {
        (measure, estimator)
        for measure in ("rrecall", "rfpr")
        for estimator in ("direct", "pooled")
    }
    for row in found["rows"]:
        assert (row["naive"], row["factors"], row["item"]) == (1, ["user"], "item")
        assert row["lower"] < row["value"] < row["upper"]
    [held] = of_type(found, "deployment")
    assert held["thresholds"] == [0.5, 0.6]
    assert sum(cell["items"] for cell in held["cells"]) == held["items"] == row["n_trials"]
    assert "planes" not in found


def test_the_direct_ratios_are_near_the_truth(result, folder):
    true = accepted.truth(accepted.streams())
    found = by_name(result(f"abba score log.csv --map {MAP} {AT}")["rows"])
    for measure, value in true.items():
        row = found[measure, "direct"]
        assert row["lower"] <= value <= row["upper"]


def test_the_direct_ratio_is_that_of_the_cells(result, folder):
    log = pl.read_csv(folder / "log.csv").with_columns(a=pl.col("sa") >= 0.5, b=pl.col("sb") >= 0.6)
    found = by_name(result(f"abba score log.csv --map {MAP} {AT} {FAST}")["rows"])
    for measure, label in (("rrecall", 1), ("rfpr", 0)):
        own = log.filter(pl.col("y") == label)
        a, b = (own.filter(pl.col("arm") == arm) for arm in "AB")
        both = [(side["a"] & side["b"]).sum() for side in (a, b)]
        value = both[0] / len(a) * len(b) / both[1]
        assert found[measure, "direct"]["value"] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "estimators"),
    [
        ("", {"corrected", "direct", "pooled", "soft"}),
        ("--exposure-a 10 --exposure-b 12", {"corrected", "direct", "pooled", "ab", "soft"}),
        ("--estimator direct,soft", {"direct", "soft"}),
        ("--estimator direct --estimator corrected", {"direct", "corrected"}),
        ("--users 'users of few.csv' --estimator ab", {"ab"}),
        ("--units-a 60 --units-b 60 --split 0.5 --estimator ab", {"ab"}),
    ],
)
def test_estimators(result, more, estimators):
    found = result(f"abba score few.csv --map {MAP},machine=m {AT} {FAST} {more}")
    assert {e for _, e in by_name(found["rows"])} == estimators


def test_thresholds_as_written(result):
    found = result(f"abba threshold log.csv --map {MAP} --max-rfpr 1.0")
    for row in found["rows"]:
        assert row["parameters"] == {"variant": "max-rfpr=1"}
        assert row["threshold"] >= 0.6
    [plane] = of_type(found, "plane")
    assert (plane["system"], plane["estimator"]) == ("log", "direct")
    assert [rule["rule"] for rule in plane["chosen"]] == ["max-rfpr=1"]
    assert any("was not given. The lowest score" in p["message"] for p in found["problems"])


def test_thresholds_of_a_grid_with_both_rules_and_a_test_set(result):
    found = result(
        f"abba threshold log.csv --map {MAP} {AT} {FAST} --max-rfpr 0.4 --min-rrecall 0.9 "
        f"--grid 0.6,0.65,0.7 --by upper --test-set test.csv --subset room"
    )
    planes = {(p.get("subset"), p["estimator"]): p for p in of_type(found, "plane")}
    assert len(planes) == 5  # the whole, three rooms, the test set
    assert planes[None, "direct"]["thresholds"] == [0.6, 0.65, 0.7]
    variants = {r["parameters"]["variant"] for r in found["rows"]}
    assert variants == {"max-rfpr=0.4,by=upper", "min-rrecall=0.9,by=upper"}
    assert [i["file"] for i in found["inputs"]] == ["log.csv", "test.csv"]
    assert (
        "log (direct): no threshold of B gives an rrecall of at least 1 and an rfpr of at most 1 "
        "(by their values; their intervals are not considered)" in found["remarks"]
    )


def test_the_chosen_threshold_is_shown(run):
    code, out, err = run(f"abba threshold log.csv --map {MAP} {AT} {FAST} --max-rfpr 0.4")
    assert code == 0
    assert "threshold of B" in out
    assert "max-rfpr=0.4  0." in out
    assert "rfpr of at most 1 (by their values; their intervals are not considered)" in err


def test_a_number_of_thresholds(result):
    found = result(f"abba threshold log.csv --map {MAP} {AT} {FAST} --grid 5")
    assert 2 <= len(of_type(found, "plane")[0]["thresholds"]) <= 6


def test_select_as_written(run, folder):
    line = f"abba select few.csv --map {MAP},machine=m --budget 400 --target rfpr -o to_label.csv"
    code, out, err = run(line)
    assert code == 0
    assert "to label" in out
    assert "standard error of" in out
    assert "items: to_label.csv" in err
    every = pl.read_csv(folder / "to_label.csv", infer_schema_length=None)
    assert every.columns == ["id", "cell", "state", "inclusion_probability", "label"]
    found = every.filter(pl.col("state") == "chosen")
    assert found["label"].null_count() == found.height
    log = pl.read_csv(folder / "few.csv")
    earlier = every.filter(pl.col("state") == "labelled").select(utt="id", y="label")
    assert earlier.sort("utt").equals(log.filter(pl.col("y").is_not_null()).select("utt", "y"))
    open_ = set(log.filter(pl.col("y").is_null())["utt"])
    assert set(found["id"]) <= open_
    assert found.height == found["id"].n_unique() == min(400, len(open_))
    assert found["inclusion_probability"].is_between(0, 1, closed="right").all()
    assert run(line)[0] == 2  # not over what is there
    assert run(f"{line} --force")[1] == out


def test_select_from_a_log_that_is_labelled_already(run, folder):
    line = f"abba select log.csv --map {MAP} --budget 400 --target rfpr -o like_it.csv"
    code, _, err = run(line)
    assert code == 0
    assert "every item has a label already" in err
    assert pl.read_csv(folder / "like_it.csv").height == 400


def test_select_without_labels_prints_the_allocation(result, folder):
    pl.read_csv(folder / "log.csv").drop("y").write_csv(folder / "bare.csv")
    mapped = MAP.replace("label=y,", "")
    rates = "--rates 11A=0.1,10A=0.6,11B=0.1,01B=0.4"
    found = result(f"abba select bare.csv --map {mapped} {AT} --budget 100 --floor 5 {rates}")
    assert [stratum["stratum"] for stratum in found["strata"]] == ["11A", "10A", "11B", "01B"]
    assert sum(stratum["chosen"] for stratum in found["strata"]) == len(found["items"]) == 100
    assert [stratum["rate"] for stratum in found["strata"]] == [0.1, 0.6, 0.1, 0.4]
    assert {row["measure"] for row in found["expected"]} == {"rrecall", "rfpr", "fpr"}


def test_select_has_the_label_in_the_study_file_and_the_result_as_target(run, result, folder):
    named = pl.col("y").replace_strict({1: "stop", 0: "other"}, return_dtype=pl.String)
    pl.read_csv(folder / "few.csv").with_columns(named).write_csv(folder / "named.csv")
    (folder / "named.toml").write_text('task = "abba"\n[data]\ntarget = "stop"\n')
    line = f"--map {MAP} {AT} --budget 50 --target both"
    found = result(f"abba select named.csv --config named.toml {line}")
    assert found["items"] == result(f"abba select few.csv {line}")["items"]
    code, _, error = run(f"abba select named.csv {line} -o x.csv")
    assert code == 3
    assert "for abba select, target under [data] of a study file" in error
    explained = run("abba select --help")[1]
    assert "--target CHOICE" in explained
    assert "--target NAME" not in explained


def test_select_writes_every_item_and_to_standard_output(run, folder):
    log = pl.read_csv(folder / "few.csv")
    code, out, err = run(
        f"abba select few.csv --map {MAP} {AT} --budget 50 --seed 3 --every -o - --quiet"
    )
    assert (code, err) == (0, "")
    found = pl.read_csv(out.encode())
    assert found.height == log.height
    assert (found["state"] == "chosen").sum() == 50
    assert (found["state"] == "labelled").sum() == log["y"].count()


def test_calibrate_adds_a_column(run, folder):
    line = f"abba calibrate few.csv --map {MAP},machine=m {AT} --method affine -o"
    code, out, err = run(f"{line} calibrated.csv --force")
    assert code == 0
    assert "true accepts" in out
    assert "fitted: affine on 354 labels (folds5:by-user:seed0)" in err
    found, log = pl.read_csv(folder / "calibrated.csv"), pl.read_csv(folder / "few.csv")
    assert found.drop("probability").equals(log)
    known = found.filter(pl.col("y").is_not_null())
    assert abs((known["probability"] - known["y"]).mean()) < 0.03
    code, _, err = run(
        f"abba calibrate calibrated.csv --map {MAP},machine=m {AT} --method affine -o again.csv"
    )
    assert code == 2
    assert "has a column 'probability' already: rename it" in err


def test_calibrate_keeps_the_order_of_a_log_without_ids(run, folder):
    log = pl.read_csv(folder / "few.csv").drop("utt").reverse()
    log.write_csv(folder / "nameless.csv")
    mapped = MAP.replace("id=utt,", "")
    code, out, _ = run(
        f"abba calibrate nameless.csv --map {mapped},machine=m --method affine -o - --quiet"
    )
    assert code == 0
    found = pl.read_csv(out.encode())
    assert found.drop("probability").equals(log)
    scores = found.filter(pl.col("y").is_null()).sort("m", "probability")
    assert scores["probability"].is_sorted()


def test_calibrate_on_training_data_that_no_model_collected(result, folder):
    train = accepted.streams(seed=4).select("m", y="truth")
    train.write_csv(folder / "train.csv")
    line = f"abba calibrate few.csv --map {MAP},machine=m {AT} --train train.csv --method poly3"
    found = result(line)
    assert found["trained"] == "train-train"
    assert found["labels"] == train.height
    assert [cell["cell"] for cell in found["by_cell"]] == ["11A", "10A", "11B", "01B"]
    assert found["column"] == "probability"


def test_folds_go_with_cross_fitting(run):
    line = f"abba calibrate few.csv --map {MAP},machine=m {AT} --train few.csv --folds 3 -o c.csv"
    code, _, err = run(line)
    assert (code, "--folds is for cross-fitting, without --train" in err) == (2, True)


@pytest.mark.parametrize("name", ["table1", "table2", "correction"])
def test_simulate(result, run, name):
    found = result(f"abba simulate {name} --datasets 3 --seed 1 --replicates 50")
    assert (found["simulation"], found["datasets"], found["seed"]) == (name, 3, 1)
    assert found["rows"]
    code, out, err = run(f"abba simulate {name} --datasets 3 --seed 1 --replicates 50")
    assert code == 0
    assert "truth" in out
    assert "ours" in out
    assert ("paper" in out) == (name != "correction")
    assert err
    assert result(f"abba simulate {name} --datasets 3 --seed 1 --replicates 50") == found


def test_plan(result, run):
    rows = result(f"abba plan log.csv --map {MAP} {AT} {FAST}")["rows"]
    assert [(r["measure"], r["estimator"]) for r in rows][:2] == [
        ("rrecall", "direct"),
        ("rrecall", "pooled"),
    ]
    assert all(r["units_needed"] > r["n_units"] for r in rows)
    code, out, _ = run(f"abba plan log.csv --map {MAP} {AT} {FAST} --half-width 0.1")
    assert code == 0
    assert "estimator" in out


def test_validate(run, folder, result):
    code, out, _ = run(f"abba validate log.csv few.csv --map {MAP} {AT}")
    assert (code, out.splitlines()[-1]) == (0, "valid")
    assert "ok: log.csv: 11A (collected by A, accepted by both)" in out
    log = pl.read_csv(folder / "log.csv", infer_schema=False)
    bad = log.with_columns(
        y=pl.lit("2"), arm=pl.Series(["C", *log["arm"][1:]]), sb=pl.Series(["", *log["sb"][1:]])
    )
    bad.write_csv(folder / "bad.csv")
    code, out, _ = run(f"abba validate bad.csv --map {MAP} {AT}")
    assert (code, out.splitlines()[-1]) == (3, "NOT VALID")
    assert out.count("error: bad.csv: ") >= 3
    code, out, _ = run("abba validate missing.csv")
    assert code == 3
    assert "error: missing.csv" in out
    code, out, _ = run(f"abba validate log.csv --map {MAP} --strict")
    assert code == 3  # thresholds that were not given are a warning


def test_several_deployments_and_metadata(result, folder):
    log = pl.read_csv(folder / "log.csv")
    log.select("utt", home=pl.col("room") + "!").write_csv(folder / "homes.csv")
    line = f"abba score D1=log.csv D2=few.csv --map {MAP} {AT} {FAST} --estimator direct"
    found = result(f"{line} --metadata homes.csv --subset home")
    assert {r["dims"]["system"] for r in found["rows"]} == {"D1", "D2"}
    subsets = {r["dims"].get("subset") for r in found["rows"]}
    assert subsets == {None, "home=car!", "home=hall!", "home=kitchen!"}
    assert [d["system"] for d in of_type(found, "deployment")] == ["D1", "D2"]


def test_a_result_directory_and_its_gate(run, folder):
    code, _, err = run(f"abba score log.csv --map {MAP} {AT} {FAST} -o out --quiet")
    assert (code, err) == (0, "")
    assert (folder / "out" / "report.html").is_file()
    assert run("report out")[0] == 0
    gate = "gate out --gate rfpr:max_upper={},estimator=direct"
    assert run(gate.format("1.0"))[0] == 0
    assert run(gate.format("0.1"))[0] == 1
    assert run(gate.format("0.5"))[0] == 4
    code, _, err = run("gate out --gate rfpr:max_upper=1.0")
    assert code == 2
    assert "choose one with estimator=NAME" in err


def test_the_table_reads_well(run):
    _, out, _ = run(f"abba score log.csv --map {MAP} {AT} {FAST} --subset room")
    head, first, second = out.splitlines()[:3]
    names = ["system", "subset", "measure", "estimator", "value", "95%", "interval", "no", "change"]
    assert head.split() == [*names, "items", "users" if "users" in head else "units"]
    assert first.split()[:4] == ["log", "all", "rrecall", "direct"]
    assert second.split()[0] == "pooled"  # what repeats is said once


def test_cite(run):
    _, out, _ = run(f"abba score log.csv --map {MAP} --cite")
    assert "petegrosso-2022-abba" in out
    assert "angelopoulos-2023-prediction-powered" in out
    _, out, _ = run(f"abba score log.csv --map {MAP} --cite --estimator direct")
    assert "petegrosso-2022-abba" in out
    assert "angelopoulos" not in out


def test_print_config_and_back(run, folder, result):
    line = f"abba threshold log.csv --map {MAP} {AT} {FAST} --max-rfpr 0.5 --grid 0.6,0.7"
    code, out, _ = run(f"{line} --estimator direct --mismatch drop --print-config")
    assert code == 0
    (folder / "printed.toml").write_text(out)
    assert 'task = "abba"' in out
    assert result("run printed.toml") == result(f"{line} --estimator direct --mismatch drop")


def test_settings_of_a_file(run, result, folder):
    (folder / "base.toml").write_text(
        'task = "abba"\n[data]\nthreshold_a = 0.5\nthreshold_b = 0.6\n[data.map]\n'
        'id = "utt"\ncollected_by = "arm"\nscore_a = "sa"\nscore_b = "sb"\nlabel = "y"\n'
        'unit = "user"\n[interval]\nreplicates = 100\n'
    )
    found = result("abba score log.csv --config base.toml --estimator pooled")
    assert {r["n_replicates"] for r in found["rows"]} == {100}
    assert {r["dims"]["estimator"] for r in found["rows"]} == {"pooled"}
    _, out, _ = run("abba select few.csv --config base.toml --budget 20 --json")
    assert len(json.loads(out)["items"]) == 20


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("score", 2, "no system is named"),
        ("score missing.csv", 3, "missing.csv"),
        (f"score log.csv --map {MAP} --estimator best", 2, "estimator 'best' is not known"),
        (f"score log.csv --map {MAP} --estimator soft", 2, "estimator soft needs machine scores"),
        (f"score log.csv --map {MAP} --estimator ab", 2, "needs the exposure of each arm"),
        (f"score log.csv --map {MAP} --exposure-a 3", 2, "--exposure-a and --exposure-b go togeth"),
        (f"score log.csv --map {MAP} --units-b 90", 2, "--units-a and --units-b go together"),
        (f"score log.csv --map {MAP} --units-a 1.5 --units-b 9", 2, "1.5"),
        (f"score log.csv --map {MAP} --measure eer", 2, "measure 'eer' is not for AB/BA"),
        (f"score log.csv --map {MAP} --measure rrecall:soft", 2, "--estimator soft"),
        (f"score log.csv --map {MAP} --method bca", 2, "Unknown option"),
        (f"plan log.csv --map {MAP} --hold user", 2, "Unknown option"),
        (
            f"score log.csv --map {MAP} --resample blocks",
            2,
            "choose one of multinomial, poisson",
        ),
        (f"score log.csv --map {MAP},score=sa", 2, "--map score=... is not known"),
        (f"score log.csv --map {MAP} --subset rom", 2, "did you mean 'room'?"),
        (f"score log.csv --map {MAP} --threshold-a 0.7", 3, "below its threshold 0.7"),
        ("score log.csv --collected-by arms", 2, "--map collected_by=COLUMN"),
        (f"score log.csv --map {MAP} --max-rfpr 1", 2, "--max-rfpr"),
        (f"threshold log.csv --map {MAP} {AT} --grid 0.5,0.7", 2, "below the deployed 0.6"),
        (f"threshold log.csv --map {MAP} {AT} --grid many", 2, "--grid 'many' is not understood"),
        (f"threshold log.csv --map {MAP} {AT} --max-rfpr 0", 2, "give a ratio above 0"),
        (f"threshold log.csv --map {MAP} {AT} --test-set no.csv", 3, "no.csv"),
        (f"select log.csv --map {MAP} {AT}", 2, "--budget"),
        (f"select log.csv --map {MAP} {AT} --budget 0", 2, "budget is 0"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --rates 10A", 2, "write CELL=RATE"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --rates 10A=x", 2, "write CELL=RATE"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --rates 10A=2", 2, "10A"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --rates 10C=0.2", 2, "10C"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --floor -1", 2, "floor is -1"),
        (f"select few.csv --map {MAP} {AT} --budget 9 -o few.csv --force", 2, "the input file"),
        (f"select few.csv --map {MAP} {AT} --budget 9 -o x.zip", 2, "no output format ends in"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --json -o -", 2, "both write standard out"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --print-config", 2, "nothing is scored here"),
        (f"calibrate few.csv --map {MAP} {AT}", 3, "there are no machine scores"),
        (
            f"calibrate few.csv --map {MAP},machine=m {AT} --folds 1",
            2,
            "folds is 1: give a number at least 2",
        ),
        (f"calibrate few.csv --map {MAP},machine=m {AT} --cite", 2, "nothing is scored here"),
        (f"calibrate few.csv --map {MAP},machine=m {AT} --train no.csv", 3, "no.csv"),
        (f"select few.csv --map {MAP} {AT} --budget 1.5", 2, "--budget"),
        (f"select few.csv --map {MAP} {AT} --budget 9 --seed -1", 2, "seed is -1"),
        (f"calibrate few.csv --map {MAP},machine=m {AT} --seed 1.5", 2, "--seed"),
        ("simulate table1 --seed 1.5", 2, "--seed"),
        ("simulate table1 --seed -1 --datasets 2", 2, "seed is -1"),
        ("simulate table3", 2, "table3"),
        ("simulate table1 --datasets 1", 2, "--datasets is 1"),
        ("simulate table1 --datasets 1000000000", 2, "at most 1,000,000"),
        ("compare log.csv few.csv", 2, "compare"),
        ("leaderboard log.csv few.csv", 2, "leaderboard"),
    ],
)
def test_wrong_usage(run, line, code, said):
    found, out, err = run(f"abba {line}")
    assert (found, out) == (code, "")
    assert said in err
    assert "bug in truecost" not in err


@pytest.mark.parametrize("verb", VERBS)
def test_help(run, verb):
    code, out, _ = run(f"abba {verb} --help")
    assert code == 0
    assert f"truecost abba {verb}" in out


def test_the_help_imports_nothing_slow():
    slow = "numba,scipy,polars,numpy,matplotlib"
    script = (
        "import sys; from truecost import cli; cli.run(['abba', '--help']); "
        f"print([m for m in '{slow}'.split(',') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_help_of_the_verbs_imports_nothing_slow():
    """Of all in one process, which is looked at after each."""
    script = f"""
import sys
from truecost import cli
for verb in {VERBS}:
    cli.run(["abba", verb, "--help"])
    found = [m for m in ("numba", "scipy", "matplotlib") if m in sys.modules]
    print(verb, found, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines() == [f"{verb} []" for verb in VERBS]


def test_lists_name_what_abba_has(run, result):
    measures = {m["name"]: m for m in result("list measures")}
    assert measures["rrecall"]["tasks"] == measures["rfpr"]["tasks"] == ["abba"]
    keys = {k["name"] for k in result("list map")}
    assert {"collected_by", "score_a", "accept_b", "machine", "inclusion"} <= keys
    texts = {k["name"]: k["text"] for k in result("list map")}
    assert texts["label"].startswith("true class (or true number); abba: 1 for a true accept")
    assert texts["machine"].endswith("(abba)")
    formats = {f["name"]: f["tasks"] for f in result("list formats")}
    assert "abba" in formats["csv"]
    assert "abba" not in formats["rttm"]


def test_the_picture_of_a_calibration(run, folder):
    line = f"abba calibrate few.csv --map {MAP},machine=m {AT} --method affine"
    code, _, _ = run(f"{line} --picture mapping.svg")
    assert code == 0
    assert "probability of a true accept" in (folder / "mapping.svg").read_text()
    code, _, err = run(f"{line} --picture mapping.gif")
    assert code == 2
    assert "name a file that ends in .svg, .png or .pdf" in err
    assert not (folder / "mapping.gif").exists()


def test_a_fresh_log_is_valid_and_told_what_to_do(run, folder):
    pl.read_csv(folder / "few.csv").drop("y", "m").write_csv(folder / "fresh.csv")
    bare = MAP.replace(",label=y", "")
    code, out, _ = run(f"abba validate fresh.csv --map {bare} {AT}")
    assert code == 0
    assert "nor machine scores yet: choose items to label with truecost abba select" in out
    pl.read_csv(folder / "few.csv").with_columns(pl.col("m") * 50).write_csv(folder / "raw.csv")
    code, out, _ = run(f"abba validate raw.csv --map {MAP},machine=m {AT}")
    assert code == 0
    assert "are not probabilities yet: calibrate them with truecost abba calibrate" in out


# what a table says at every width


def test_subsets_show_both_ratios(run):
    line = f"abba score few.csv --map {MAP} {AT} {FAST} --estimator direct --subset room"
    _, out, err = run(line)
    assert [out.count(name) for name in ("rrecall", "rfpr")] == [4, 4]  # the whole, three rooms
    assert "-v shows every measure" not in err
    _, out, err = run(f"{line} --measure rfpr,rrecall,rfdr")
    assert [out.count(name) for name in ("rrecall", "rfpr", "rfdr")] == [4, 4, 4]  # asked for
    assert "-v shows every measure" not in err


SHOWN = {  # commands, and what their tables say at every width
    "score": (
        f"score few.csv --map {MAP},machine=m {AT} {FAST} --subset room",
        ("rrecall", "rfpr", "some replicates undefined, few labels, delta method"),
    ),
    "threshold": (
        f"threshold few.csv --map {MAP},machine=m {AT} {FAST} --min-rrecall 0.8 "
        "--test-set test.csv --grid 0.6,0.65,0.7",
        ("threshold of B", "rrecall", "rfpr", "few labels", "small cells"),
    ),
    "plan": (
        f"plan few.csv --map {MAP},machine=m {AT} {FAST} --half-width 0.0001",
        ("half-width", "wanted", "more"),
    ),
    "select": (
        f"select few.csv --map {MAP},machine=m {AT} --budget 100",
        ("false accepts", "to label", "probability", "proportional"),
    ),
    "calibrate": (
        f"calibrate few.csv --map {MAP},machine=m {AT} --method affine",
        ("probability", "true accepts", "difference", "lower", "upper"),
    ),
    "simulate": ("simulate table1 --datasets 2 --replicates 20", ("truth", "paper", "ours")),
}


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("verb", SHOWN)
def test_nothing_is_cut(run, monkeypatch, verb, width):
    line, said = SHOWN[verb]
    _, wide, _ = run(f"abba {line} -q")
    monkeypatch.setenv("COLUMNS", str(width))
    _, narrow, _ = run(f"abba {line} -q")
    assert max(map(len, narrow.splitlines())) <= width
    assert all(cell.startswith("room") for cell in narrow.split() if "\u2026" in cell)  # a name
    words = " ".join(narrow.split())  # a note goes on in the next line
    for text in said:
        assert text in " ".join(wide.split())
        assert text in words


def test_notes_that_do_not_fit_are_numbered(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    line = f"abba score few.csv --map {MAP},machine=m {AT} {FAST} --estimator corrected,soft"
    _, out, _ = run(f"{line} --subset room -q")
    lines = out.splitlines()
    [mark] = [text.split()[-1] for text in lines if "room=hall" in text and "rrecall" in text]
    [note] = [text for text in lines if text.startswith(mark)]
    assert note == f"{mark} some replicates undefined, few labels, delta method"
    assert "no change" in out  # nothing is left out for the sake of the notes


def test_what_more_users_bring_rests_on_labels(run, monkeypatch):
    line = f"abba plan few.csv --map {MAP} {AT} {FAST}"
    _, _, err = run(line)
    bare = pl.read_csv("few.csv")["y"].null_count()
    assert (
        "few: the plan assumes more units with the present share of labels; label the other "
        f"{bare} items first (truecost abba select)\n"
    ) in err
    _, _, err = run(line.replace("few.csv", "log.csv"))
    assert "the plan assumes" not in err


# what is said beside the tables


def test_a_polynomial_that_fell_back_is_no_polynomial(run, result, folder):
    log = pl.read_csv(folder / "few.csv")
    loose = np.random.default_rng(0).normal(0, 0.3, log.height)
    log.with_columns(m=pl.col("m") + loose).write_csv(folder / "loose.csv")
    line = f"abba calibrate loose.csv --map {MAP},machine=m {AT} --method poly3"
    found = result(line)
    assert (found["method"], found["fallbacks"]) == ("spline", 5)
    _, out, err = run(line)
    assert (
        "fitted: spline (poly3 was unsuitable in 5 of 5 folds) on 354 labels (folds5:by-user:seed0)"
        in err
    )
    figures = [cell for row in out.splitlines()[1:] for cell in row.split()[3:]]
    assert all(len(cell.partition(".")[2]) == 4 for cell in figures)


def test_a_limit_that_decides_nothing_is_told(result):
    def said(line):
        return result(f"abba threshold log.csv --map {MAP} {AT} {FAST} {line}")["remarks"]

    more = "deploy B with a lower one to learn more"
    kept = f"log (direct): max-rfpr=1.2 is met at every threshold that the log can evaluate: {more}"
    assert kept in said("--max-rfpr 1.2")
    assert not any("at every threshold" in text for text in said("--max-rfpr 0.3"))
    tried = "is met at every threshold of the grid: try"
    assert f"log (direct): max-rfpr=1 {tried} lower thresholds, from the deployed 0.6 up" in said(
        "--grid 0.7,0.8"
    )
    assert f"log (direct): min-rrecall=0.1 {tried} higher thresholds" in said(
        "--min-rrecall 0.1 --grid 0.6,0.7"
    )
    # By its upper end the limit decides where it does not by the value.
    assert not any("at every threshold" in text for text in said("--max-rfpr 0.5 --by upper"))


def test_a_limit_that_only_the_value_keeps_is_told_once(result):
    line = f"abba threshold log.csv --map {MAP} {AT} {FAST} --max-rfpr 0.4 --min-rrecall 0.9"
    found = result(f"{line} --estimator direct,pooled")
    row = next(
        r
        for r in found["rows"]
        if (r["measure"], r["dims"]["estimator"], r["parameters"]["variant"])
        == ("rfpr", "direct", "max-rfpr=0.4")
    )
    ends = uncertain(row["value"], row["lower"], row["upper"])[1]
    [told] = [text for text in found["remarks"] if "--by upper" in text]
    assert told == (
        f"log (direct): rfpr meets max-rfpr=0.4, but its interval ({ends}) does not; --by upper "
        "chooses a threshold at which the interval meets the limit too"
    )
    bound = result(f"{line} --by upper --estimator direct,pooled")
    assert not any("--by upper" in text for text in bound["remarks"])


def test_a_threshold_that_a_bound_chose_says_that_its_interval_ignores_the_choice(run, result):
    line = f"abba threshold log.csv --map {MAP} {AT} {FAST} --estimator direct,pooled --grid 12"
    for rule, measure, end in (
        ("max-rfpr 0.5", "rfpr", "upper"),
        ("min-rrecall 0.5", "rrecall", "lower"),
    ):
        found = result(f"{line} --{rule} --by upper")
        row = next(r for r in found["rows"] if r["measure"] == measure)
        [told] = [text for text in found["remarks"] if "account for the choice" in text]
        assert told == (
            f"log (direct): the threshold was chosen on these data so that the {end} end of the "
            f"interval of {measure} meets {rule.replace(' ', '=')}; that interval "
            f"({uncertain(row['value'], row['lower'], row['upper'])[1]}) does not account for the "
            f"choice: check the threshold on other data"
        )
        assert not any("account" in text for text in result(f"{line} --{rule}")["remarks"])
    code, _, _ = run(f"{line} --max-rfpr 0.5 --by upper -o bound")
    assert code == 0
    page = Path("bound/report.html").read_text()
    assert "it does not account for the choice, so check the threshold on other data" in page


@pytest.mark.parametrize("verb", ["score", "threshold", "plan"])
def test_options_that_do_not_go_with_abba_are_not_offered(run, verb):
    _, out, _ = run(f"abba {verb} --help")
    assert "--replicates" in out
    for option in ("--method", "--block-length", "--hold", "bca"):
        assert option not in out
    assert ("1 if no other limit is given" in " ".join(out.replace("│", " ").split())) == (
        verb == "threshold"
    )


def test_every_option_is_explained():
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text()
    verbs = (options_of(find("abba"), verb) for verb in ("score", "threshold"))
    names = {o.name for options in verbs for o in options if o.table != "map"}
    names |= {o.name for table in (SelectionTable, MachineTable) for o in declared(table)}
    groups = (ChosenFile, CalibratedFile)
    names |= {name for group in groups for name in group.__annotations__}
    options = {f"--{name.replace('_', '-')}" for name in names}
    assert {name for name in options if name not in page} == set()
