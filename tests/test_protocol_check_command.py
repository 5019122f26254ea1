"""`truecost protocol check`: what it prints, its exit codes and its JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from truecost.cli import run

MAP = "id=utt,label=y,group=spk,set=fold"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def write(path="split.csv", change=None, folds=True):
    """A table of 40 speakers in 5 folds, or in train, dev and eval."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(400):
        speaker = k % 40
        name = speaker % 5 + 1 if folds else ("train", "train", "dev", "eval", "eval")[speaker % 5]
        row = {"utt": f"u{k}", "y": int(rng.random() < 0.3), "spk": f"s{speaker}", "fold": name}
        row |= {f"f{j}": round(float(rng.normal()), 4) for j in range(12)}
        rows.append(row)
    if change:
        change(rows)
    lines = [",".join(map(str, row.values())) for row in rows]
    Path(path).write_text("\n".join([",".join(rows[0]), *lines]) + "\n", encoding="utf-8")


def check(capsys, *arguments):
    code = run(["protocol", "check", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_as_in_the_issue(capsys):
    write()
    code, out, err = check(capsys, "split.csv", "--map", MAP)
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "set  role  samples  spk   0   1",
        "1    fold       80    8  59  21",
        "2    fold       80    8  52  28",
    ]
    assert "no leak found; checked: groups (spk); classes" in out
    assert "not checked: copies (--map content=COLUMN, " in out
    assert out.splitlines()[-1].startswith("check|map:id=utt+label=y+group=spk+set=fold|")


def leaking(rows):
    rows[48]["fold"] = 1
    rows[28] |= {key: rows[5][key] for key in rows[5] if key.startswith("f") and key != "fold"}
    rows[28]["f0"] += 0.01


def test_leaks_end_with_3(capsys):
    write(change=leaking)
    code, out, _ = check(capsys, "split.csv", "--map", MAP, "--features", "f?,f1?")
    assert code == 3
    assert "leak shared-groups: 1 spk is in several sets (folds 1 and 4; 10 samples)" in out
    assert "s8 (fold 4, line 10; fold 1, line 50)" in out
    assert "u5 (fold 1, line 7) and u28 (fold 4, line 30; 0.00" in out
    assert "2 leaks; checked" in out
    code, out, _ = check(capsys, "split.csv", "--map", MAP, "--shared", "spk")
    assert code == 0
    assert "note shared-groups" in out
    code, out, _ = check(capsys, "split.csv", "--map", MAP, "--shared", "spk", "--no-advice")
    assert "note shared-groups" not in out


def test_json_is_the_same_for_any_number_of_threads(capsys):
    write(change=leaking)
    arguments = ["split.csv", "--map", MAP, "--features", "f?,f1?", "--json", "--prior", "0.5"]
    code, out, err = check(capsys, *arguments, "--jobs", "1")
    assert (code, err) == (3, "")
    assert check(capsys, *arguments, "--jobs", "3")[1] == out
    found = json.loads(out)
    assert found["schema_version"] == 1
    assert [s["role"] for s in found["sets"]] == ["fold"] * 5
    assert [(f["rule"], f["kind"]) for f in found["findings"]] == [
        ("shared-groups", "leak"),
        ("near-copies", "leak"),
        ("prevalence-shift", "warning"),
    ]
    first = found["findings"][0]
    assert {*first} == {"rule", "kind", "message", "sets", "count", "examples"}
    assert (first["sets"], first["count"]) == (["1", "4"], 1)
    assert first["examples"] == ["s8 (fold 4, line 10; fold 1, line 50)"]
    [given] = found["inputs"]
    assert given["file"] == "split.csv"
    assert len(given["sha256"]) == 64
    assert found["signature"].startswith("check|")


def test_a_file_for_each_set(capsys):
    write("whole.csv", folds=False)
    header, *lines = Path("whole.csv").read_text(encoding="utf-8").splitlines()
    for name in ("train", "eval"):
        kept = [line for line in lines if f",{name}," in line]
        Path(f"{name}.csv").write_text("\n".join([header, *kept]) + "\n", encoding="utf-8")
    both = ("eval=eval.csv", "train=train.csv")
    code, out, _ = check(capsys, *both, "--map", "id=utt,label=y,group=spk")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [["train"] * 2, ["eval"] * 2]
    code, out, _ = check(capsys, "train=train.csv", "test=train.csv", "--map", "id=utt,group=spk")
    assert code == 3
    assert "s0 (train, train.csv, line 2; test, train.csv, line 2)" in out
    assert "make the ids different" in out


def test_the_plan_beside_a_split_is_held_against_it(capsys):
    write("samples.csv")
    split = ["protocol", "split", "samples.csv", "--map", "id=utt,label=y,group=spk", "-o"]
    assert run([*split, "s.csv", "--shares", "train=0.5,eval=0.5"]) == 0
    capsys.readouterr()
    columns = "id=utt,label=y,group=spk,set=set"
    code, out, _ = check(capsys, "s.csv", "--map", columns)
    assert code == 0
    assert "s.csv is as it was written: split|" in out
    text = Path("s.csv").read_text(encoding="utf-8")
    more = text.splitlines()[1].replace("u0,", "new,")
    Path("s.csv").write_text(f"{text}{more}\n", encoding="utf-8")
    code, out, _ = check(capsys, "s.csv", "--map", columns)
    assert code == 0
    assert "warning split-changed: s.csv is not the file that truecost protocol split wrote" in out
    Path("s.csv.json").write_text("{}", encoding="utf-8")
    code, _, err = check(capsys, "s.csv", "--map", columns)
    assert (code, "is not the plan of a split" in err) == (3, True)


def test_a_nested_plan_of_split_is_clean(capsys):
    write("samples.csv")
    split = ["protocol", "split", "samples.csv", "--map", "id=utt,label=y,group=spk"]
    lines = Path("samples.csv").read_text(encoding="utf-8").replace(",fold,", ",old,", 1)
    Path("samples.csv").write_text(lines, encoding="utf-8")
    assert run([*split, "--folds", "4", "--inner", "3", "-o", "n.csv"]) == 0
    assert run([*split, "--folds", "3", "--eval", "0.25", "-o", "h.csv"]) == 0
    capsys.readouterr()
    code, out, _ = check(capsys, "n.csv", "--map", MAP, "--nested")
    assert (code, "inner folds" in out) == (0, True)
    code, out, _ = check(capsys, "h.csv", "--map", MAP)
    assert (code, "eval  eval" in out) == (0, True)
    code, out, _ = check(capsys, "h.csv", "--map", MAP.replace("set=fold", "set=set"))
    assert (code, "inner folds" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name the table of samples"),
        (["split.csv"], 2, "no column is named for id"),
        (["split.csv", "--map", "id=utt"], 2, "the column of the sets is not named"),
        (["split.csv", "--map", "id=utt,set=flod"], 2, "did you mean 'fold'"),
        (["split.csv", "--map", "id=utt,sett=fold"], 2, "did you mean 'set'"),
        (["split.csv", "split.csv", "--map", MAP], 2, "each of several files"),
        (["a=split.csv", "a=split.csv", "--map", "id=utt"], 2, "two files are called a"),
        (["a=split.csv", "--map", "id=utt"], 2, "there is one file (a)"),
        (["a=split.csv", "b=split.csv", "--map", MAP], 2, "is for one table"),
        (["split.csv", "--map", MAP, "--seed", "2"], 2, "--seed is for --prior or --priors"),
        (["split.csv", "--map", MAP, "--near", "2", "--audio", "y"], 2, "at least 0 and below 1"),
        (["split.csv", "--map", MAP, "--priors", "0=x,1=1"], 2, "write CLASS=P, such as"),
        (["split.csv", "--map", MAP, "--nested"], 2, "a nested plan has a column inner_F"),
        (["split.csv", "--map", MAP, "--features", "fold,y"], 0, ""),
        (["split.csv", "--map", MAP, "--features", "spk"], 3, "not numbers"),
        (["split.csv", "--map", MAP, "--conditions", "device"], 2, "no column 'device'"),
        (["split.csv", "--map", MAP, "--audio", "spk"], 3, "cannot be found"),
        (["split.csv", "--map", MAP, "-o", "full"], 2, "is not a result directory"),
        (["split.csv", "--map", MAP, "--cite"], 2, "this command scores nothing"),
        (["missing.csv", "--map", MAP], 3, "missing.csv"),
    ],
)
def test_what_cannot_be_checked(capsys, arguments, code, said):
    write()
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine", encoding="utf-8")
    ended, _, err = check(capsys, *arguments)
    assert (ended, said in err) == (code, True), err
    assert "bug in truecost" not in err


def test_options_that_do_nothing_are_refused(capsys):
    write()
    for arguments, said in (
        (("--near", "0.2"), "add --features COLUMNS (or a file), or --audio COLUMN"),
        (("--jobs", "0"), "jobs is 0: give a number at least 1"),
    ):
        code, out, err = check(capsys, "split.csv", "--map", MAP, *arguments)
        assert (code, out) == (2, "")
        assert said in err
    assert check(capsys, "split.csv", "--map", MAP, "--near", "0.2", "--features", "f?")[0] == 0
