"""Misuse of the command line: nothing read is overwritten, nothing odd passes in silence."""

import polars as pl
import pytest

from truecost import cli


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in a folder with a.csv and the result directory `out`."""
    monkeypatch.chdir(tmp_path)
    rows = {
        "score": [1.0, -1.0, 2.0, -0.5] * 30,
        "label": [1, 0] * 60,
        "snr": list(range(120)),
        "none": [0] * 120,
        "light": [0, 1] * 60,
    }
    pl.DataFrame(rows).write_csv("a.csv")
    pl.DataFrame(rows | {"list": [[1]] * 120}).write_parquet("list.parquet")

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    assert call("score", "a.csv", "--type", "llr", "--replicates", "20", "-o", "out", "-q")[0] == 0
    return call


SCORE = ["score", "a.csv", "--type", "llr", "--replicates", "2"]
CASES = {
    "rounded replicates": ([*SCORE[:-1], "1.5"], 2, "--replicates is '1.5': give a whole number"),
    "rounded seed": ([*SCORE, "--seed", "1.7"], 2, "--seed is '1.7': give a whole number"),
    "half a number": ([*SCORE, "--prior", "x"], 2, "--prior 'x' is not understood: write numbers"),
    "options without a file": (["lifelong", "score", "--higher"], 2, "no system is named: give at"),
    "nothing behind a flag": ([*SCORE, "--measure"], 2, "--measure needs a value"),
    "no half-width": (["plan", *SCORE[1:], "--half-width", "0"], 2, "--half-width is 0: it must"),
    "replicates without end": ([*SCORE[:-1], "9223372036854775808"], 2, "must lie between 1 and"),
    "sum as a condition": (
        [*SCORE, "--subset", "max(snr) > 3"],
        2,
        "is not a condition that is true",
    ),
    "number as a condition": (
        [*SCORE, "--subset", "snr + 1"],
        2,
        "is not a condition that is true",
    ),
    "list as a subset": (
        ["score", "list.parquet", "--type", "llr", "--subset", "list"],
        3,
        "needs one value, not List",
    ),
    "tiny half-width": (
        ["plan", *SCORE[1:], "--half-width", "1e-300"],
        2,
        "give a larger half-width",
    ),
    "long name": (["score", "x" * 300, "--type", "llr"], 3, "File name too long"),
    "no weight": ([*SCORE, "--map", "weight=none"], 3, "all trials of nontarget have weight 0"),
    "light targets": ([*SCORE, "--map", "weight=light"], 3, "all trials of target have weight 0"),
    "no archive": (
        ["score", "a.csv", "--type", "llr", "--input-format", "npz"],
        3,
        "begin like one",
    ),
    "empty name": (["score", "=a.csv", "--type", "llr"], 2, "a name under [systems] is ''"),
    "page over a result": (["report", "out", "-o", "out/result.json"], 2, "ends in .html"),
    "page to standard output": (["report", "out", "-o", "-"], 2, "ends in .html"),
    "gates over the result": (
        ["gate", "out", "--gate", "act_dcf<=1", "--markdown", "out/result.json"],
        2,
        "this is an input file of the command",
    ),
    "gates over a device": (
        ["gate", "out", "--gate", "act_dcf<=1", "--markdown", "/dev/null"],
        3,
        "it is a device, not a file",
    ),
    "weighted bca": (
        [*SCORE, "--map", "weight=snr,unit=snr", "--method", "bca"],
        2,
        "not defined for weighted samples",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_misuse_is_refused_and_changes_nothing(run, tmp_path, name):
    arguments, code, said = CASES[name]
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    found, _, err = run(*arguments)
    assert found == code, err
    assert said in err
    assert "bug in truecost" not in err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", ["all", "", "a\tb", "a\x1b[31m"])
def test_names_that_could_not_be_shown_or_told_apart(run, tmp_path, name):
    import tomli_w

    tables = {"systems": {"a": {"file": "a.csv"}}, "data": {"type": "llr"}}
    (tmp_path / "s.toml").write_text(tomli_w.dumps(tables | {"subsets": {name: "snr < 50"}}))
    code, _, err = run("run", "s.toml")
    assert code == 2
    assert repr(name) in err


def test_a_nul_in_a_path_is_refused(run, tmp_path):
    (tmp_path / "s.toml").write_text(
        '[systems.a]\nfile = "a.csv"\n[data]\ntype = "llr"\nkey = "a\\u0000b"\n'
    )
    code, _, err = run("run", "s.toml")
    assert code == 2
    assert "contains a NUL" in err


def test_a_measure_asked_for_twice_is_given_once(run):
    import json

    _, out, _ = run(*SCORE, "--measure", "act_dcf,act_dcf", "--json")
    assert len(json.loads(out)["rows"]) == 1


def test_debug_is_for_every_command(run):
    for arguments in (["list", "types"], ["schema"], ["report", "out"]):
        assert run(*arguments, "--debug")[0] == 0
