"""`truecost protocol split` as users type it."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from truecost.cli import run

MAP = "id=utt,label=y,group=spk"


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """200 utterances of 25 speakers, in samples.csv of a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    rng = np.random.default_rng(0)
    speaker = rng.integers(0, 25, 200)
    lines = [
        f"u{k:03},{'yes' if rng.random() < 0.3 else 'no'},s{s:02},"
        f"{['phone', 'web'][s % 2]},{rng.random() * 5:.2f}"
        for k, s in enumerate(speaker)
    ]
    (tmp_path / "samples.csv").write_text("utt,y,spk,device,duration\n" + "\n".join(lines) + "\n")
    return tmp_path


def refused(capsys, code, text, *arguments):
    assert run(["protocol", "split", *arguments]) == code
    said = capsys.readouterr().err
    assert text in said
    assert "bug in truecost" not in said


def test_the_command_of_the_issue(capsys):
    command = f"protocol split samples.csv --map {MAP} --folds 5 -o split.csv"
    assert run(command.split()) == 0
    said = capsys.readouterr()
    before, after = pl.read_csv("samples.csv"), pl.read_csv("split.csv")
    assert after.drop("fold").equals(before)  # every column, in the same order of rows
    assert set(after["fold"]) == {1, 2, 3, 4, 5}
    assert after.group_by("spk").agg(pl.col("fold").n_unique())["fold"].max() == 1
    assert "split|folds:5|group:spk|strata:label|seed:0|truecost:" in said.out
    assert said.err == "split: split.csv; its plan: split.csv.json\n"
    plan = json.loads(Path("split.csv.json").read_text())
    assert plan["signature"] in said.out
    for key, name in (("input", "samples.csv"), ("output", "split.csv")):
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        assert plan[key] == {"file": name, "sha256": digest}


def test_the_same_again_and_from_rows_in_another_order(capsys):
    command = ["protocol", "split", "samples.csv", "--map", MAP, "--folds", "4"]
    assert run([*command, "-o", "a.csv"]) == 0
    assert run([*command, "-o", "b.csv"]) == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    pl.read_csv("samples.csv").sort("duration").write_csv("sorted.csv")
    assert run(["protocol", "split", "sorted.csv", *command[3:], "-o", "c.csv"]) == 0
    a, c = pl.read_csv("a.csv").sort("utt"), pl.read_csv("c.csv").sort("utt")
    assert a["fold"].equals(c["fold"])


def test_sets_with_conditions_as_json(capsys):
    command = ["protocol", "split", "samples.csv", "--map", MAP, "--conditions", "device,duration"]
    assert run([*command, "--shares", "train=0.7,test=0.3", "--json", "--seed", "3"]) == 0
    said = capsys.readouterr()
    plan = json.loads(said.out)
    assert plan["plan"] == {
        "shares": {"train": 0.7, "test": 0.3},
        "seed": 3,
        "strata": ["device", "duration"],
    }
    assert [part["set"] for part in plan["columns"]["set"]["sets"]] == ["train", "test"]
    axes = {level["axis"] for level in plan["columns"]["set"]["levels"]}
    assert axes == {"samples", "label", "device", "duration"}
    assert "the split was not written: name a file with -o" in said.err


def test_held_out_and_nested_folds(capsys):
    command = ["protocol", "split", "samples.csv", "--map", MAP, "--folds", "3", "--inner", "2"]
    assert run([*command, "--eval", "0.2", "-o", "split.csv"]) == 0
    out = capsys.readouterr().out
    found = pl.read_csv("split.csv")
    assert found.columns[-5:] == ["set", "fold", "inner_1", "inner_2", "inner_3"]
    assert set(found["set"]) == {"train", "eval"}
    assert set(found["fold"]) == {"1", "2", "3", "eval"}
    outer = found.filter(pl.col("fold") == "2")
    assert outer["inner_2"].null_count() == len(outer)
    assert "\ninner folds: " in out
    assert "split|eval:0.2|folds:3|inner:2|group:spk|" in out


@pytest.mark.parametrize("name", ["s.tsv", "s.parquet", "s.ndjson", "s.csv.gz", "s.npz"])
def test_other_formats(name, capsys):
    assert run(["protocol", "split", "samples.csv", "--map", MAP, "--folds", "2", "-o", name]) == 0
    assert (
        run(["protocol", "split", "samples.csv", "--map", MAP, "--folds", "2", "-o", "s.csv"]) == 0
    )
    if name.endswith(".gz"):
        assert gzip.decompress(Path(name).read_bytes()) == Path("s.csv").read_bytes()
    plan = json.loads(Path(f"{name}.json").read_text())
    assert plan["output"]["sha256"] == hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_standard_output_is_the_table_alone(capfdbinary):
    command = ["protocol", "split", "samples.csv", "--map", MAP, "--folds", "2", "-o", "-"]
    assert run(command) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"utt,y,spk,device,duration,fold\n")
    assert out.count(b"\n") == 201
    assert b"split|folds:2|" in err


def test_what_stands_there_is_not_replaced_unless_forced(table, capsys):
    command = ["samples.csv", "--map", MAP, "--folds", "2", "-o"]
    refused(capsys, 2, "this is the input file", *command, "samples.csv", "--force")
    (table / "split.csv").write_text("mine")
    refused(capsys, 2, "split.csv: the file exists", *command, "split.csv")
    assert run(["protocol", "split", *command, "split.csv", "--force"]) == 0
    (table / "other.csv.json").write_text("mine")
    refused(capsys, 2, "other.csv.json: the file exists", *command, "other.csv")
    assert not (table / "other.csv").exists()
    refused(capsys, 2, "choose one of csv, tsv, parquet", *command, "x", "--output-format", "npy")
    refused(capsys, 2, "no output format ends in .txt", *command, "split.txt")
    refused(capsys, 3, "cannot be written", *command, "samples.csv/split.csv")
    assert sorted(p.name for p in table.iterdir()) == [
        *("other.csv.json", "samples.csv", "split.csv", "split.csv.json")
    ]


@pytest.mark.parametrize(
    ("code", "text", "options"),
    [
        (2, "folds is 1: give a number at least 2", "--folds 1"),
        (2, "--folds is '2.5': give a whole number", "--folds 2.5"),
        (3, "25 units (spk) cannot fill 26 folds: use at most 25", "--folds 26"),
        (3, "25 units (spk) cannot fill 1000000000 folds: use", "--folds 1000000000"),
        (3, "25 units (spk) cannot fill 1000000000 inner folds", "--folds 5 --inner 1000000000"),
        (
            2,
            "sum to 0.9, not to 1: change them, such as train=0.888889,eval=0.111111",
            "--shares train=.8,eval=.1",
        ),
        (2, "--shares train=x is not understood: write NAME=SHARE", "--shares train=x,eval=0.2"),
        (2, "--shares '0.8' is not understood", "--shares 0.8"),
        (2, "exclude each other", "--shares a=0.5,b=0.5 --folds 2"),
        (2, "--eval needs --folds", "--eval 0.2"),
        (2, "--inner needs --folds", "--inner 2"),
        (2, "no column 'devise' for the condition (did you mean 'device'?)", "--conditions devise"),
        (2, "write names separated by commas", "--conditions device,,duration"),
        (2, "seed is -1", "--seed -1"),
        (2, "leave out --config", "--config x.toml"),
        (2, "--json and --output - both", "--json -o -"),
    ],
)
def test_wrong_options(capsys, code, text, options):
    refused(capsys, code, text, "samples.csv", "--map", MAP, *options.split())


def test_wrong_maps(capsys):
    refused(capsys, 2, "no column is named for id", "samples.csv", "--folds", "2")
    refused(capsys, 2, "no column 'sp' for the group", "samples.csv", "--map", "id=utt,group=sp")
    refused(capsys, 2, "did you mean 'group'", "samples.csv", "--map", "id=utt,groups=spk")
    refused(capsys, 2, "a split makes new ones", "samples.csv", "--map", "id=utt,set=device")
    refused(
        capsys,
        3,
        "is different in each",
        "samples.csv",
        "--map",
        "id=utt,label=utt",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("utt,y,spk\n", "the file has a header line (utt, y, spk) but no rows"),
        ("utt,y,spk\na,1,s\nb,,t\n", "1 empty cell of label (column 'y'), the first at line 3"),
        ("utt,y,spk\na,1,s\nb,0,\n", "1 empty cell of group (column 'spk'), the first at line 3"),
        ("utt,y,spk\na,1,s\na,0,t\n", "1 id occurs more than once: a (line 2, line 3)"),
        ("utt,y,spk\na,1,s\n,0,t\n", "1 empty cell of id"),
        ("utt,y,spk\na,1,s\nb,0,s\n", "1 unit (spk) cannot fill 2 folds"),
    ],
)
def test_broken_tables(table, capsys, text, said):
    (table / "broken.csv").write_text(text)
    refused(capsys, 3, said, "broken.csv", "--map", MAP, "--folds", "2", "-o", "split.csv")
    assert not (table / "split.csv").exists()


def test_a_column_that_is_there_already(table, capsys):
    assert (
        run(["protocol", "split", "samples.csv", "--map", MAP, "--folds", "2", "-o", "a.csv"]) == 0
    )
    again = ["a.csv", "--map", MAP, "--folds", "2", "-o", "b.csv"]
    refused(capsys, 2, "truecost convert a.csv -o FILE --map old_fold=fold", *again)
    assert run(["convert", "a.csv", "--map", "old_fold=fold", "-o", "c.csv"]) == 0
    assert run(["protocol", "split", "c.csv", *again[1:]]) == 0
    found = pl.read_csv("b.csv")
    assert found["fold"].equals(found["old_fold"].alias("fold"))


def test_advice_says_what_is_missing(capsys):
    command = ["protocol", "split", "samples.csv", "--map", "id=utt,label=y", "--folds", "2"]
    assert run(command) == 0
    assert "advice: no groups are named" in capsys.readouterr().err
    assert run([*command, "--no-advice"]) == 0
    assert "advice" not in capsys.readouterr().err


def test_messages_name_what_the_option_takes(table, capsys):
    shares = ["samples.csv", "--map", MAP, "--shares", "train:0.8"]
    refused(capsys, 2, "write NAME=SHARE, such as --shares train=0.8,dev=0.1,eval=0.1", *shares)
    percent = [*shares[:-1], "train=80%,eval=20%"]
    refused(capsys, 2, "--shares train=80% is not understood: write NAME=SHARE", *percent)
    refused(capsys, 2, "; did you mean 0.8?", *percent)
    wrong = ["samples.csv", "--map", MAP, "--folds", "2", "--conditions", "nothing"]
    refused(capsys, 2, "name one of these", *wrong)
