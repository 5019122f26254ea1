"""Bad inputs: each is refused with its exit code and a message that helps; nothing is written."""

import gzip
import json

import numpy as np
import pytest

from truecost import cli

GOOD = "id,s,y,spk,w\n" + "".join(
    f"t{i},{(i % 7) + 3 * (i % 2) - 4.5},{i % 2},u{i % 25},1\n" for i in range(100)
)
LINES = GOOD.splitlines(keepends=True)
MAP = "score=s,label=y,unit=spk,id=id"
BASE = ("--type", "llr", "--map", MAP, "--replicates", "50")


def changed(line, text):
    """The good file with one line replaced (numbered from 1, as in messages)."""
    return "".join([*LINES[: line - 1], text, *LINES[line:]])


def flipped(text):
    """The same trials with the labels exchanged."""
    return text.replace(",0,u", ",X,u").replace(",1,u", ",0,u").replace(",X,u", ",1,u")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in an empty folder that holds the given files: (code, output, error)."""
    monkeypatch.chdir(tmp_path)

    def call(files, *arguments):
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name).write_bytes(data)
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


FILES = {  # content of a.csv, what the message must say
    "a score that is no number": (
        changed(5, "t3,abc,1,u3,1\n"),
        ["a.csv", "'abc' at line 5", "is not a number"],
    ),
    "a NaN score": (
        changed(5, "t3,nan,1,u3,1\n"),
        ["1 score is missing or NaN: t3", "--missing"],
    ),
    "an empty score": (
        changed(5, "t3,,1,u3,1\n"),
        ["1 score is missing or NaN: t3", "--missing"],
    ),
    "an infinite score": (changed(5, "t3,inf,1,u3,1\n"), ["1 score is infinite", "line 5"]),
    "an empty label": (changed(5, "t3,1,,u3,1\n"), ["1 label is empty", "line 5"]),
    "a label outside the set": (changed(5, "t3,1,maybe,u3,1\n"), ["maybe", "--target"]),
    "an empty unit": (changed(5, "t3,1,1,,1\n"), ["unit", "'spk'", "line 5"]),
    "a repeated id": (changed(5, "t7,1,1,u3,1\n"), ["1 id occurs more than once: t7"]),
    "an empty id": (changed(5, ",1,1,u3,1\n"), ["1 id is empty", "line 5"]),
    "a line too short": (changed(5, "t3,1,1\n"), ["line 5: 3 fields, but the header has 5"]),
    "a line too long": (changed(5, "t3,1,1,u3,1,9\n"), ["line 5: 6 fields, but the header has 5"]),
    "one class": (
        flipped(GOOD).replace(",0,u", ",1,u"),
        ["all 100 trials are target", "another class"],
    ),
    "reversed scores": (flipped(GOOD), ["look reversed", "AUC below 0.5", "--allow-reversed"]),
    "a repeated column": (GOOD.replace("id,s,y,spk,w", "id,s,y,s,w"), ["column names repeat (s)"]),
    "only a header": (LINES[0], ["a header line (id, s, y, spk, w) but no rows"]),
    "nothing": ("", ["the file is empty"]),
    "text that is not UTF-8": (GOOD.encode() + b"t\xff,1,1,u,1\n", ["line 102", "UTF-8"]),
    "damaged gzip": (gzip.compress(GOOD.encode())[:-20], ["gzip", "ends too early"]),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_file(run, tmp_path, name):
    content, said = FILES[name]
    code, out, err = run({"a.csv": content}, "score", "a.csv", *BASE, "-o", "out")
    assert code == 3, err
    assert out == ""
    assert err.startswith("truecost: ")
    assert "Traceback" not in err
    for part in said:
        assert part in err
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


USAGE = {  # arguments, exit code, what the message must say
    "no such file": (["score", "b.csv", *BASE], 3, ["b.csv: there is no such file"]),
    "no type": (["score", "a.csv", "--map", MAP], 2, ["--type"]),
    "a wrong type": (["score", "a.csv", "--type", "logit"], 2, ["logit", "llr"]),
    "an unknown option": (["score", "a.csv", *BASE, "--priors-of", "2"], 2, ["--priors-of"]),
    "no known format": (["score", "a.dat", *BASE], 3, ["a.dat, line 1", "--input-format"]),
    "an unknown format": (["score", "a.csv", *BASE, "--input-format", "xls"], 2, ["'xls'", "csv"]),
    "a column that is not there": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s,label=y,unit=spka"],
        2,
        ["no column 'spka'", "did you mean 'spk'", "id, s, y, spk, w"],
    ),
    "no score column": (
        ["score", "a.csv", "--type", "llr", "--map", "label=y"],
        2,
        ["no column gives the scores", "--map score=COLUMN"],
    ),
    "no label column": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s"],
        2,
        ["no column gives the labels", "--key"],
    ),
    "an unknown map key": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s,lable=y"],
        2,
        ["lable", "map one of id, score, label"],
    ),
    "a map without =": (["score", "a.csv", "--type", "llr", "--map", "s"], 2, ["KEY=COLUMN"]),
    "a key mapped twice": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s,score=w"],
        2,
        ["twice"],
    ),
    "label and soft": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s,label=y,soft=w"],
        2,
        ["label and soft are both named"],
    ),
    "a prior of one": (["score", "a.csv", *BASE, "--prior", "1"], 2, ["above 0 and below 1"]),
    "a negative cost": (["score", "a.csv", *BASE, "--cost-miss", "-1"], 2, ["above 0"]),
    "preset and prior": (
        ["score", "a.csv", *BASE, "--preset", "equal", "--prior", ".1"],
        2,
        ["leave out"],
    ),
    "an unknown preset": (["score", "a.csv", *BASE, "--preset", "nist"], 2, ["nist-std-2006"]),
    "matrix and cost": (
        ["score", "a.csv", *BASE, "--cost-matrix", "0 1;1 0", "--cost-fa", "2"],
        2,
        ["cannot be combined"],
    ),
    "a matrix of words": (
        ["score", "a.csv", *BASE, "--cost-matrix", "zero one"],
        2,
        ["rows of numbers"],
    ),
    "too many priors": (
        ["score", "a.csv", *BASE, "--priors", ".2,.3,.5"],
        2,
        ["3 priors for 2 classes"],
    ),
    "an unknown measure": (
        ["score", "a.csv", *BASE, "--measure", "minc_dcf"],
        2,
        ["did you mean 'min_dcf'"],
    ),
    "a measure we replace": (
        ["score", "a.csv", *BASE, "--measure", "f1"],
        2,
        ["(--also f1)", "compare by nec"],
    ),
    "ranks only": (
        ["score", "a.csv", "--type", "score", "--map", MAP, "--measure", "cllr"],
        2,
        ["cannot be computed from type score", "use scores of type llr"],
    ),
    "ranks without a threshold": (
        ["score", "a.csv", "--type", "score", "--map", MAP, "--measure", "p_miss"],
        2,
        ["give the threshold in use, --threshold 0.5, or use scores of type decision, llr"],
    ),
    "ranks without a threshold, false alarms per hour": (
        [
            "score",
            "a.csv",
            "--type",
            "score",
            "--map",
            MAP,
            "--measure",
            "fa_per_hour",
            "--hours=2",
        ],
        2,
        ["--threshold 0.5, or use scores of type decision, llr"],
    ),
    "neither hours nor a threshold": (
        ["score", "a.csv", "--type", "score", "--map", MAP, "--measure", "fa_per_hour"],
        2,
        ["--hours 120", "and a threshold, --threshold 0.5"],
    ),
    "log-scores of one column": (
        ["score", "a.csv", "--type", "log-score", "--map", MAP],
        3,
        ["needs one score a class"],
    ),
    "two columns of likelihood ratios": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s+w,label=y"],
        3,
        ["2 scores a trial"],
    ),
    "posteriors outside 0 to 1": (
        ["score", "a.csv", "--type", "posterior", "--map", MAP],
        3,
        ["posteriors lie outside 0 to 1 (likelihood ratios? --type llr", "line 2"],
    ),
    "a decimal comma in a threshold": (
        ["score", "a.csv", "--type", "llr", "--map", MAP, "--threshold", "0,5"],
        2,
        ["--threshold '0,5' is not understood: give a number or bayes; did you mean 0.5?"],
    ),
    "a decimal comma in a prior": (
        ["score", "a.csv", "--type", "llr", "--map", MAP, "--prior", "0,05"],
        2,
        ["--prior '0,05' has two values, 0 and 5; did you mean 0.05?"],
    ),
    "posteriors that sum to more": (
        ["score", "p.csv", "--type", "posterior", "--map", "score=a+b,label=y"],
        3,
        ["sum to 1"],
    ),
    "labels outside the classes": (
        ["score", "p.csv", "--type", "log-score", "--map", "score=a+b,label=y"],
        3,
        ["none of the classes 'a', 'b'", "'1' at line 2"],
    ),
    "an absent target": (
        ["score", "a.csv", *BASE, "--target", "yes"],
        3,
        ["no trial has the label 'yes'"],
    ),
    "an unknown decision": (
        ["score", "a.csv", "--type", "decision", "--map", MAP],
        3,
        ["decisions are none of"],
    ),
    "a soft label of seven": (
        ["score", "a.csv", "--type", "llr", "--map", "score=s,soft=s"],
        3,
        ["soft labels lie outside 0 to 1"],
    ),
    "a negative weight": (
        ["score", "a.csv", "--type", "llr", "--map", MAP + ",weight=s"],
        3,
        ["negative"],
    ),
    "an unknown subset": (
        ["score", "a.csv", *BASE, "--subset", "gender"],
        2,
        ["gender", "columns are"],
    ),
    "an empty subset": (["score", "a.csv", *BASE, "--subset", "w > 5"], 3, ["contains no trial"]),
    "a level in percent": (["score", "a.csv", *BASE, "--level", "95"], 2, ["did you mean 0.95"]),
    "no replicates": (
        ["score", "a.csv", *BASE[:-2], "--replicates", "0"],
        2,
        ["give a number at least 1"],
    ),
    "a negative seed": (["score", "a.csv", *BASE, "--seed", "-1"], 2, ["seed is -1"]),
    "a clip of one": (
        ["score", "a.csv", "--type", "posterior", "--map", MAP, "--clip", "1"],
        2,
        ["clip is 1"],
    ),
    "bca for two factors": (
        ["score", "a.csv", "--type", "llr", "--map", MAP + ",unit2=w", "--method", "bca"],
        2,
        ["not defined for crossed factors"],
    ),
    "two systems of one name": (["score", "a.csv", "a.csv", *BASE], 2, ["NAME=PATH"]),
    "one system to compare": (["compare", "a.csv", *BASE], 2, ["at least two systems"]),
    "a comparison without ids": (
        ["compare", "c.csv", "n.csv", "--type", "llr", "--map", "score=s,label=y"],
        2,
        ["needs ids"],
    ),
    "other trials": (
        ["compare", "a.csv", "d.csv", *BASE],
        3,
        ["2 trials only in a (t98, t99)", "0 only in d (none)"],
    ),
    "other labels": (
        ["compare", "a.csv", "e.csv", *BASE, "--allow-reversed"],
        3,
        ["have a different label for 100 trials: t0, t1"],
    ),
    "other units": (["compare", "a.csv", "g.csv", *BASE], 3, ["a different unit spk"]),
    "an output that is no result": (
        ["score", "a.csv", *BASE, "-o", "a.csv"],
        2,
        ["not a result directory"],
    ),
    "standard input that is closed": (["score", "-", *BASE], 3, ["standard input: cannot be"]),
    "a base below one": (
        ["score", "a.csv", *BASE, "--llr-base", ".5"],
        2,
        ["give a number above 1"],
    ),
    "a wrong list": (["list", "everything"], 2, ["measures"]),
    "a wrong half-width": (["plan", "a.csv", *BASE, "--half-width", "0"], 2, ["above 0"]),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_use(run, tmp_path, name):
    arguments, code, said = USAGE[name]
    files = {
        "a.csv": GOOD,
        "a.dat": "no list, of, trials\n",
        "c.csv": GOOD.replace("id,", "utterance,"),
        "n.csv": GOOD.replace("id,", "utterance,"),
        "d.csv": "".join(LINES[:-2]),
        "e.csv": flipped(GOOD),
        "g.csv": GOOD.replace(",u3,", ",u4,"),
        "p.csv": "a,b,y\n0.9,0.8,1\n0.2,0.3,0\n",
    }
    before = sorted(files)
    found, out, err = run(files, *arguments)
    assert found == code, err
    assert out == ""
    assert err.startswith("truecost: ")
    assert "Traceback" not in err
    for part in said:
        assert part in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


KEYS = {  # scores, key, extra arguments, code, what is said
    "missing scores": (
        "id,s\nt0,1\n",
        "id,y\nt0,1\nt1,0\n",
        [],
        ["1 trial of the key", "t1", "--missing"],
    ),
    "extra scores": ("id,s\nt0,1\nt9,1\n", "id,y\nt0,1\n", [], ["1 id is not in the key", "t9"]),
    "repeated ids of the key": (
        "id,s\nt0,1\n",
        "id,y\nt0,1\nt0,0\n",
        [],
        ["k.csv: 1 id occurs more than once"],
    ),
    "a column in both": ("id,s,y\nt0,1,1\n", "id,y\nt0,0\n", [], ["column 'y' is in both"]),
}


@pytest.mark.parametrize("name", KEYS)
def test_bad_key(run, name):
    scores, key, more, said = KEYS[name]
    mapped = ("--type", "llr", "--map", "id=id,score=s,label=y")
    code, _, err = run(
        {"a.csv": scores, "k.csv": key}, "score", "a.csv", "--key", "k.csv", *mapped, *more
    )
    assert code == 3
    for part in said:
        assert part in err


ARRAYS = {
    "lengths that differ": (
        {"scores": np.zeros((4, 2)), "labels": np.zeros(3)},
        "different lengths",
    ),
    "three dimensions": ({"scores": np.zeros((4, 2, 2)), "labels": np.zeros(4)}, "3 dimensions"),
    "pickled objects": (
        {"scores": np.array([{}, 1], object), "labels": np.zeros(2)},
        "never loaded",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_bad_arrays(run, tmp_path, name):
    arrays, said = ARRAYS[name]
    (tmp_path / "sys").mkdir()
    for key, array in arrays.items():
        np.save(tmp_path / "sys" / f"{key}.npy", array, allow_pickle=True)
    np.savez(tmp_path / "sys.npz", **arrays)
    for path in ("sys", "sys.npz"):
        code, _, err = run({}, "score", path, "--type", "log-score")
        assert code == 3
        assert said in err


def test_an_empty_folder_and_a_file_that_is_no_archive(run, tmp_path):
    (tmp_path / "sys").mkdir()
    assert "without .npy files" in run({}, "score", "sys", "--type", "log-score")[2]
    code, _, err = run({"a.npz": "no archive"}, "score", "a.npz", "--type", "log-score")
    assert code == 3
    assert "a.npz" in err
    code, _, err = run({"a.parquet": "no parquet"}, "score", "a.parquet", *BASE)
    assert code == 3
    assert "cannot be read as parquet" in err


@pytest.mark.parametrize(("missing", "trials"), [("drop", 99), ("worst", 100)])
def test_missing_scores_dropped_or_worst(run, missing, trials):
    files = {"a.csv": changed(5, "t3,,1,u3,1\n")}
    code, out, _ = run(files, "score", "a.csv", *BASE, "--missing", missing, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["rows"][0]["n_trials"] == trials
    assert f"missing:{missing}" in result["rows"][0]["signature"]
    assert "1 of 100 trials had no score" in result["problems"][0]["message"]


def test_reversed_scores_are_accepted_when_said(run):
    code, out, _ = run({"a.csv": flipped(GOOD)}, "score", "a.csv", *BASE, "--allow-reversed",
                       "--measure", "auc", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["rows"][0]["value"] < 0.5


def test_an_earlier_result_is_replaced_and_other_folders_are_not(run, tmp_path):
    for _ in range(2):
        assert run({"a.csv": GOOD}, "score", "a.csv", *BASE, "-o", "out")[0] == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    code, _, err = run({}, "score", "a.csv", *BASE, "-o", "mine")
    assert code == 2
    assert "not a result directory" in err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
