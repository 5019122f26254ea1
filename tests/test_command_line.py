"""The command line: what must work as written, exit codes, output streams, determinism."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from truecost import cli
from truecost.study import ResultFile
from truecost.tasks import names


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A.csv and B.csv: two systems on 600 trials of 40 speakers; the working folder."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    speaker = rng.integers(0, 40, 600)
    columns = {"trial": [f"t{i:03}" for i in range(600)], "spk": [f"s{s}" for s in speaker]}
    for name, noise in (("A", 1.0), ("B", 1.6)):
        s = 3 * label - 1.5 + noise * rng.normal(size=600)
        frame = pl.DataFrame({**columns, "y": label, "s": s.round(4), "snr": speaker - 20})
        frame.write_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_measure(text, kind="value"):
    return {r["measure"]: r for r in json.loads(text)["rows"] if r["kind"] == kind}


MAP = "score=s,label=y,unit=spk"


def test_folder_of_arrays_as_written(run, shared):
    folder = shared / "cases" / "scores" / "ec_sst2_gpt2"
    code, out, _ = run(
        *("score", folder, "--type", "log-score", "--measure", "nec", "--measure", "nce", "--json")
    )
    rows = by_measure(out)
    assert code == 0
    assert rows["nec"]["value"] == pytest.approx(0.828, abs=6e-4)
    assert rows["nce"]["value"] == pytest.approx(0.917, abs=6e-4)


def test_detection_from_log_scores_as_written(run, shared):
    folder = shared / "cases" / "scores" / "ec_fvcaus_plda"
    measures = ("min_dcf", "act_dcf", "eer", "cllr", "min_cllr")
    asked = [a for m in measures for a in ("--measure", m)]
    code, out, _ = run(
        *("score", folder, "--type", "log-score", "--target", "1", "--prior", "0.01"),
        *(*asked, "--replicates", "50", "--json"),
    )
    rows = by_measure(out)
    expected = (0.014734, 5.010579, 0.000975, 0.688258, 0.002632)
    assert code == 0
    assert [rows[m]["value"] for m in measures] == pytest.approx(expected, abs=6e-7)
    assert rows["eer"]["parameters"] == {"variant": "rocch"}


def test_costs_and_prior_as_written(run, files):
    code, out, _ = run(
        *("score", "A.csv", "--type", "llr", "--map", MAP),
        *("--cost-miss", "10", "--cost-fa", "1", "--prior", "0.01", "--json"),
    )
    row = by_measure(out)["act_dcf"]
    assert code == 0
    assert row["parameters"] == {"costs": {"miss": 10, "fa": 1}, "prior": 0.01}
    assert row["factors"] == ["spk"]
    assert row["n_units"] == 40
    assert row["naive"] == 1.0
    assert row["lower"] < row["value"] < row["upper"]
    assert row["threshold"] == pytest.approx(np.log(9.9))


def test_comparison_as_written(run, files):
    code, out, _ = run(
        *("compare", "A.csv", "B.csv", "--type", "llr", "--map", MAP + ",id=trial"),
        *("--prior", "0.01", "--json"),
    )
    difference, ratio = by_measure(out, "difference"), by_measure(out, "ratio")
    values = [r for r in json.loads(out)["rows"] if r["kind"] == "value"]
    a, b = (next(r["value"] for r in values if r["dims"]["system"] == s and r["measure"] == "cllr")
            for s in "AB")  # fmt: skip
    assert code == 0
    assert difference["cllr"]["baseline"] == "A"
    assert difference["cllr"]["value"] == pytest.approx(b - a)
    assert ratio["cllr"]["value"] == pytest.approx(b / a)
    assert difference["cllr"]["lower"] > 0


def test_demo_as_written(run, files):
    code, out, err = run("demo", "-o", "out/")
    assert code == 0
    assert "report: out/report.html" in err
    assert "logistic" in out
    assert {p.name for p in (files / "out").iterdir()} == {
        *("result.json", "report.html", "curves.parquet")
    }


@pytest.mark.parametrize("mapped", [(), ("--map", "score=loudness")])
def test_a_file_of_unknown_columns_is_refused_with_its_columns(run, files, mapped):
    code, out, err = run("score", "A.csv", *mapped)
    assert (code, out) == (2, "")
    assert "A.csv: the type of the scores is not stated: use --type llr, posterior, " in err
    assert "no column gives the scores; the columns are trial, spk, y, s, snr: name it with" in err
    err = run("score", "A.csv", "--map", "score=s")[2]
    assert "--type llr or --type score" in err
    assert "columns" not in err
    (files / "log.csv").write_text("trial,collected_by,score_a\n1,A,2\n")
    said = "name it with --map score=COLUMN, or use truecost abba, whose files have such columns"
    assert said in run("threshold", "log.csv")[2]


def test_json_follows_the_schema(run, files):
    _, out, _ = run(
        "compare", "A.csv", "B.csv", "--type", "llr", "--map", MAP + ",id=trial", "--json"
    )
    result = msgspec.json.decode(out, type=ResultFile, strict=True)
    assert result.schema_version == 2
    assert [i.file for i in result.inputs] == ["A.csv", "B.csv"]
    _, schema, _ = run("schema")
    assert json.loads(schema)["$ref"] == "#/$defs/ResultFile"
    assert "----" not in schema  # no sections of docstrings: each key has its own text
    [row, file] = (
        json.loads(schema)["$defs"][name]["properties"] for name in ("Row", "ResultFile")
    )
    assert all("description" in key for key in (*row.values(), *file.values()))
    assert row["naive"]["description"].startswith("Value of the naive baseline (")


def test_rows_leave_out_what_does_not_apply(run, files):
    _, out, _ = run("score", "A.csv", "--type", "llr", "--map", MAP, "--json")
    row = by_measure(out)["cllr"]
    assert not {"threshold", "baseline", "reason", "units_by_factor"} & set(row)
    assert {"value", "lower", "upper", "naive", "flags", "signature", "n_undefined"} <= set(row)


def test_result_directory_has_the_same_bytes_every_time(run, files):
    for out, jobs in (("one", 1), ("two", 4), ("one", 2)):
        run("compare", "A.csv", "B.csv", "--type", "llr", "--map", MAP + ",id=trial",
            "--subset", "snr < 0", "-o", out, "--jobs", jobs)  # fmt: skip
    for name in ("result.json", "report.html", "curves.parquet"):
        assert (files / "one" / name).read_bytes() == (files / "two" / name).read_bytes()


def test_every_way_of_giving_the_same_trials(run, files):
    frame = pl.read_csv("A.csv")
    frame.write_csv("A.tsv", separator="\t")
    frame.write_parquet("A.parquet")
    frame.write_ndjson("A.ndjson")
    np.savez(
        "A.npz",
        s=frame["s"].to_numpy(),
        y=frame["y"].to_numpy(),
        spk=frame["spk"].to_numpy().astype(str),
    )
    with_gz = __import__("gzip").compress((files / "A.csv").read_bytes())
    (files / "A.csv.gz").write_bytes(with_gz)
    found = set()
    for name in ("A.csv", "A.tsv", "A.parquet", "A.ndjson", "A.npz", "A.csv.gz"):
        code, out, err = run("score", f"A={name}", "--type", "llr", "--map", MAP, "--json")
        assert code == 0, err
        found.add(json.dumps(json.loads(out)["rows"]))
    assert len(found) == 1


def test_standard_input_and_streams(files):
    process = subprocess.run(
        [sys.executable, "-m", "truecost", "score", "-", "--type", "llr", "--map", MAP,
         "--input-format", "csv", "--measure", "auc", "--json"],
        input=(files / "A.csv").read_bytes(), capture_output=True, check=True)  # fmt: skip
    assert json.loads(process.stdout)["rows"][0]["measure"] == "auc"
    assert process.stderr.decode().startswith("advice: auc: it sweeps all thresholds")


def test_key_is_joined_by_id(run, files):
    frame = pl.read_csv("A.csv")
    frame.select("trial", "s").sample(fraction=1, shuffle=True, seed=1).write_csv("scores.csv")
    frame.select("trial", "y", "spk").write_csv("key.csv")
    _, whole, _ = run("score", "x=A.csv", "--type", "llr", "--map", MAP + ",id=trial", "--json")
    code, joined, _ = run("score", "x=scores.csv", "--key", "key.csv", "--type", "llr",
                          "--map", MAP + ",id=trial", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(joined)["rows"] == json.loads(whole)["rows"]


def test_subsets_of_columns_and_conditions(run, files):
    _, out, _ = run("score", "A.csv", "--type", "llr", "--map", MAP, "--measure", "nec",
                    "--subset", "snr < 0", "--subset", "spk", "--json")  # fmt: skip
    rows = json.loads(out)["rows"]
    assert len(rows) == 1 + 1 + 40
    assert rows[1]["dims"] == {"system": "A", "subset": "snr < 0"}
    assert rows[1]["n_units"] == 20
    assert rows[2]["reason"].startswith("no interval: there is only one unit")
    told = [problem["message"] for problem in json.loads(out)["problems"]]
    assert not [text for text in told if "may cover" in text]


def test_columns_of_classes_are_joined_by_plus(run, files):
    words = ("--type", "posterior", "--label", "y", "--score", "s,snr")
    code, _, err = run("score", "A.csv", *words)
    assert (code, "no column 's,snr' for the score (did you mean 's+snr'?)" in err) == (2, True)


def test_scores_in_percent_are_told(run, files):
    Path("percent.csv").write_text("id,score,label\n1,91.8%,1\n2,5%,0\n")
    code, _, err = run("score", "percent.csv", "--type", "posterior")
    assert (code, "(percent? write 5% as 0.05)" in err) == (3, True)


def test_two_crossed_factors_and_two_sides(run, files):
    frame = pl.read_csv("A.csv").with_columns(other=pl.col("spk").reverse())
    frame.write_csv("C.csv")
    for mapped, factors in (
        ("unit=spk+other", ["spk+other"]),
        ("unit=spk,unit2=other", ["spk", "other"]),
    ):
        _, out, err = run("score", "C.csv", "--type", "llr", "--measure", "nec", "--json",
                          "--map", f"score=s,label=y,{mapped}",
                          "--method", "percentile")  # fmt: skip
        row = by_measure(out)["nec"]
        assert row["factors"] == factors
        assert "crossed" in row["flags"]
        assert "conservative" in err


def test_plan_says_how_many_more_units(run, files):
    code, out, _ = run("plan", "A.csv", "--type", "llr", "--map", MAP, "--measure", "nec", "--json")
    row = json.loads(out)["rows"][0]
    assert code == 0
    assert (row["units_needed"], row["more_units"]) == (192, 152)  # 1.2 times 4 times 40
    _, out, _ = run("plan", "A.csv", "--type", "llr", "--map", MAP, "--measure", "nec", "--json",
                    "--half-width", row["half_width"] / 3)  # fmt: skip
    assert json.loads(out)["rows"][0]["units_needed"] == 432
    _, _, err = run("plan", "A.csv", "--type", "llr", "--map", MAP, "--measure", "nec",
                    "--half-width", 1)  # fmt: skip
    assert "the data have enough units for the wanted half-widths: no more are needed" in err


@pytest.mark.parametrize("kind", ["measures", "formats", "presets", "types", "map"])
def test_lists(run, kind):
    code, out, _ = run("list", kind)
    assert code == 0
    assert len(out.splitlines()) >= 6
    names = [e["name"] for e in json.loads(run("list", kind, "--json")[1])]
    assert all(line.startswith(name) for line, name in zip(out.splitlines(), names, strict=True))


def test_help_needs_no_heavy_import():
    heavy = ("numpy", "polars", "numba", "matplotlib", "scipy")
    code = f"""if True:
        import sys
        from truecost import cli
        cli.run(["--help"])
        cli.run(["score", "--help"])
        print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert process.stderr.strip() == "[]"
    assert "--cost-miss" in process.stdout


def test_a_fault_of_ours_is_said_to_be_one(run, files, monkeypatch):
    monkeypatch.setattr("truecost.study.run", lambda *_, **__: 1 / 0)
    code, _, err = run("score", "A.csv", "--type", "llr", "--map", MAP)
    assert code == 70
    assert "bug in truecost (ZeroDivisionError" in err
    assert "Traceback" not in err
    code, _, err = run("score", "A.csv", "--type", "llr", "--map", MAP, "--debug")
    assert "Traceback" in err


def test_interruption(run, files, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("truecost.study.run", interrupt)
    assert run("score", "A.csv", "--type", "llr", "--map", MAP)[0] == 130


def test_no_half_written_directory(run, files, monkeypatch):
    monkeypatch.setattr("truecost.report.page.render", lambda *_: 1 / 0)
    assert run("score", "A.csv", "--type", "llr", "--map", MAP, "-o", "out")[0] == 70
    assert sorted(p.name for p in files.iterdir()) == ["A.csv", "B.csv"]


LOOKED_FOR = {  # what people write, and what tells them where it is
    "{} gate out": "truecost gate FOLDER --gate MEASURE:max_upper=LIMIT",
    "{} score a b --gate wer:max_upper=1": "truecost gate FOLDER --gate MEASURE:max_upper=LIMIT",
    "{} score a b --gates=wer": "store it with -o FOLDER, then use truecost gate FOLDER",
    "{} score a b --html": "-o FOLDER writes report.html",
    "{} convert a": "convert is a command for all tasks: truecost convert (see",
}


@pytest.mark.parametrize("line", LOOKED_FOR)
def test_what_is_elsewhere_is_found_from_every_task(run, line):
    for task in names():
        code, out, err = run(*line.format(task).split())
        assert (code, out) == (2, "")
        assert LOOKED_FOR[line] in err, task


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--verison", "there is no option --verison here (did you mean '--version'?)"),
        ("A.csv --type llr", "write a command before A.csv: truecost score A.csv --type llr"),
        ("transcripts a.txt b.txt", "truecost transcripts score a.txt b.txt"),
        ("protocol A.csv", "write a command before A.csv. Available commands: split, check"),
        ("transcripts score b.txt --reference a.txt", "truecost transcripts score a.txt b.txt"),
        ("score bare.csv --type llr", "the header line is probably missing, as line 1 contains"),
        ("score A.csv --type decision --map score=s,label=y", "use --type llr, posterior or score"),
        ("score A.csv --type llr --map score=s,label=y --subset snr=<5", "write <= in place of =<"),
        (
            "score A.csv --type llr --map score=s,label=y --subset snr<<5",
            "an operator in it is not",
        ),
    ],
)
def test_a_slip_is_answered_with_what_to_type(run, files, line, said):
    Path("bare.csv").write_text("a,1.5,1\nb,0.5,0\n")
    code, _, err = run(*line.split())
    assert code in (2, 3)
    assert said in err
