"""Methods from files: runs told apart by columns, `methods score` and `methods compare`."""

import json

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost.cli import run as command
from truecost.errors import InputError, UsageError
from truecost.formats import Table
from truecost.tasks.trials.methods import RunColumns, against_first, load_methods, score_methods

UNITS, SIZE = 30, 6
SPEAKERS = np.repeat(np.arange(UNITS), SIZE)
LABELS = np.tile([0, 1, 1], UNITS * SIZE // 3)
HEAD = "trial,spk,y,snr,seed,training,method,s"


def table_of(seeds, sets=("a",), names=("cnn",), *, shift=0.0, spoil=None):
    """Rows of runs; `spoil` may change each row before it is written."""
    rows = []
    for name in names:
        for training in sets:
            for seed in seeds:
                key = [7 + names.index(name), sets.index(training), int(seed)]
                scores = np.random.default_rng(key).normal(3 * LABELS - 1.5 + shift, 1.5)
                rows += [
                    [f"t{k}", f"u{SPEAKERS[k]}", LABELS[k], k % 4, seed, training, name, f"{s:.6f}"]
                    for k, s in enumerate(scores)
                ]
    return rows if spoil is None else [r for row in rows if (r := spoil(row)) is not None]


def write(path, rows, head=HEAD):
    path.parent.mkdir(exist_ok=True)
    lines = [head, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


MAPPED = ["--type", "llr", "--map", "score=s,label=y,unit=spk,id=trial", "--replicates", "200"]
SEED = [*MAPPED, "--runs", "seed"]


def told(capsys, *arguments, code=0):
    """What a command prints, after its exit code was checked."""
    found = command([*arguments])
    said = capsys.readouterr()
    assert found == code, said.err
    return said.out if code == 0 else said.err


def rows_of(text, **dims):
    rows = json.loads(text)["rows"]
    return [r for r in rows if all(r["dims"].get(k) == v for k, v in dims.items())]


def test_score_tells_both_estimators(place, capsys):
    for seed in (1, 2, 3):
        write(place / "runs" / f"{seed}.csv", table_of([seed]))
    many = [f"runs/{k}.csv" for k in (3, 1, 2)]  # as a shell expands a pattern, in any order
    out = told(capsys, "methods", "score", *many, *SEED, "--json")
    mean, run = (rows_of(out, estimator=e) for e in ("mean", "run"))
    assert [r["measure"] for r in mean] == [r["measure"] for r in run]
    assert mean[0]["dims"] == {"system": "method", "estimator": "mean"}
    assert mean[0]["n_units"] == UNITS
    assert mean[0]["units_by_factor"] == {"spk": UNITS, "seed of method": 3}
    assert run[0]["n_replicates"] == 600
    assert mean[0]["counts"]["runs"] == 3
    singles = []
    for seed in (1, 2, 3):
        alone = told(capsys, "score", f"runs/{seed}.csv", *MAPPED, "--json")
        singles.append(json.loads(alone)["rows"][0]["value"])
    assert mean[0]["value"] == pytest.approx(np.mean(singles), rel=1e-12)
    assert mean[0]["counts"]["lowest_run"] == pytest.approx(min(singles), rel=1e-12)


def test_files_may_hold_one_run_or_many_in_any_order(place, capsys):
    for seed in (1, 2, 3):
        write(place / "runs" / f"{seed}.csv", table_of([seed]))
    rows = table_of([1, 2, 3])
    write(place / "one.csv", [rows[k] for k in np.random.default_rng(0).permutation(len(rows))])
    outs = [
        json.loads(told(capsys, "methods", "score", *files, *SEED, "--json"))["rows"]
        for files in (["runs/*.csv"], ["runs/2.csv", "runs/3.csv", "runs/1.csv"], ["one.csv"])
    ]
    assert outs[0] == outs[1]
    for a, b in zip(outs[0], outs[2], strict=True):  # other row order: equal but for rounding
        assert a["value"] == pytest.approx(b["value"], rel=1e-12)
        assert a["lower"] == pytest.approx(b["lower"], rel=1e-9)


def test_each_file_a_run(place, capsys):
    head = HEAD.replace("seed", "other")
    for seed in (1, 2, 3):
        write(place / "runs" / f"{seed}.csv", table_of([seed]), head)
    out = told(capsys, "methods", "score", "runs/*.csv", *MAPPED, "--runs", "file", "--json")
    assert rows_of(out, estimator="mean")[0]["units_by_factor"]["file of method"] == 3
    said = told(capsys, "methods", "score", "runs/*.csv", *SEED, code=2)
    assert "runs/1.csv: there is no column 'seed' to distinguish runs" in said
    assert "--runs file when each file is a run" in said


def test_seed_and_training_set(place, capsys):
    write(place / "r.csv", table_of([1, 2, 3], ("a", "b")))
    both = [*MAPPED, "--runs", "seed+training", "--json"]
    [first, *_] = rows_of(told(capsys, "methods", "score", "r.csv", *both), estimator="mean")
    assert first["units_by_factor"] == {"spk": 30, "seed of method": 3, "training of method": 2}
    out = told(capsys, "methods", "score", "r.csv", *both, "--hold", "training")
    [held, *_] = rows_of(out, estimator="mean")
    assert held["units_by_factor"] == {"spk": 30, "seed of method": 3}
    assert held["value"] == first["value"]
    assert "held fixed: training (2), " in json.loads(out)["remarks"][0]
    repeated = told(capsys, "methods", "score", "r.csv", *SEED, code=3)
    assert "ids occur more than once" in repeated


def test_compare_by_patterns_and_by_column(place, capsys):
    for name, shift in (("a", 0.0), ("b", 1.0)):
        for seed in (1, 2):
            write(place / "runs" / f"{name}-{seed}.csv", table_of([seed], shift=shift))
    rows = [
        [*row[:6], name, *row[7:]]
        for name, shift in (("A", 0.0), ("B", 1.0))
        for row in table_of([1, 2], shift=shift)
    ]
    write(place / "both.csv", rows)
    named = told(capsys, "methods", "compare", "A=runs/a-*.csv", "B=runs/b-*.csv", *SEED, "--json")
    column = told(capsys, "methods", "compare", "both.csv", *SEED, "--methods", "method", "--json")
    assert json.loads(named)["rows"] == json.loads(column)["rows"]
    difference = next(r for r in json.loads(named)["rows"] if r["kind"] == "difference")
    assert difference["dims"] == {"system": "B", "estimator": "mean"}
    assert difference["baseline"] == "A"
    assert difference["units_by_factor"] == {"spk": 30, "seed of A": 2, "seed of B": 2}
    assert "runs of two methods with equal seeds are not a pair" in json.loads(named)["remarks"][-1]
    one = told(
        *(capsys, "methods", "compare", "both.csv", *SEED, "--methods", "method"),
        *("--estimator", "run", "--json"),
    )
    run = next(r for r in json.loads(one)["rows"] if r["kind"] == "difference")
    assert run["dims"]["estimator"] == "run"
    assert run["n_replicates"] == 200 * 4
    assert run["value"] == pytest.approx(difference["value"])


def test_subsets_and_tables(place, capsys):
    write(place / "r.csv", table_of([1, 2]))
    arguments = ["methods", "score", "r.csv", *SEED, "--measure", "act_dcf", "--subset", "snr < 2"]
    out = told(capsys, *arguments, "--json")
    assert [r["dims"].get("subset") for r in rows_of(out)] == [None, "snr < 2"] * 2
    table = told(capsys, *arguments)
    assert table.splitlines()[0].split()[:4] == ["estimator", "system", "subset", "measure"]
    told(capsys, *arguments[:-1], "seed", code=2)  # the column of the runs is none of the trials


def test_a_result_directory(place, capsys):
    write(place / "r.csv", table_of([1, 2]))
    arguments = ["methods", "score", "r.csv", *SEED, "-o", "out", "--measure", "act_dcf"]
    told(capsys, *arguments)
    stored = (place / "out" / "result.json").read_text()
    assert rows_of(stored, estimator="run")
    assert (place / "out" / "report.html").exists()
    told(capsys, *arguments)
    assert (place / "out" / "result.json").read_text() == stored


def test_a_key_and_a_config(place, capsys):
    rows = table_of([1, 2])
    write(place / "r.csv", [[r[0], r[4], r[7]] for r in rows], "trial,seed,s")
    write(place / "key.csv", [[r[0], r[1], r[2]] for r in rows[: len(LABELS)]], "trial,spk,y")
    (place / "s.toml").write_text('measures = ["act_dcf"]\n[interval]\nhold = ["seed"]\n')
    arguments = ["methods", "score", "r.csv", *SEED, "--key", "key.csv", "--config", "s.toml"]
    out = told(capsys, *arguments, "--json")
    assert [r["measure"] for r in rows_of(out)] == ["act_dcf", "act_dcf"]
    assert rows_of(out, estimator="mean")[0]["factors"] == ["spk"]
    assert [i["file"] for i in json.loads(out)["inputs"]] == ["r.csv", "key.csv"]
    (place / "s.toml").write_text('[systems.a]\nfile = "r.csv"\n')
    said = told(capsys, *arguments, code=2)
    assert "the study names systems or collections" in said


def drop_one(row):
    return None if row[4] == 2 and row[0] in ("t3", "t4") else row


def swap_label(row):
    return [*row[:2], 1 - row[2], *row[3:]] if row[4] == 2 and row[0] == "t3" else row


def no_seed(row):
    return [*row[:4], "", *row[5:]] if row[0] == "t3" else row


def no_number(row):
    return [*row[:7], "much"] if row[4] == 2 and row[0] == "t3" else row


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            drop_one,
            "method seed 1 and method seed 2 are not scored on the same trials: 2 trials "
            "only in method seed 1 (t3, t4)",
        ),
        (swap_label, "have a different label for 1 trial: t3"),
        (
            no_seed,
            "column 'seed' is empty in 2 rows (line 5, line 185): fill in the run of every row",
        ),
        (no_number, "not a number: 'much' at line 185"),
    ],
)
def test_runs_that_do_not_agree(place, capsys, spoil, message):
    write(place / "r.csv", table_of([1, 2], spoil=spoil))
    said = told(capsys, "methods", "score", "r.csv", *SEED, "-o", "out", code=3)
    assert message in said
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["score", "r.csv", *MAPPED], 2, "--runs"),
        (["score", *SEED], 2, "give files of runs"),
        (["score", "r.csv", *SEED, "--key-format", "csv"], 2, "--key-format is for --key"),
        (["score", "none-*.csv", *SEED], 3, "none-*.csv: no file matches this pattern"),
        (["score", "none.csv", *SEED], 3, "none.csv: there is no such file"),
        (["score", "r.csv", "r.csv", *SEED], 2, "r.csv is given twice"),
        (["score", "r.csv", "copy.csv", *SEED], 3,
         "method seed 1: its rows are in r.csv and in copy.csv"),
        (["score", "A=r.csv", "copy.csv", *SEED], 2, "name the method of every file"),
        (["score", "=r.csv", *SEED], 2, "names no method"),
        (["score", "A=r.csv", *SEED, "--methods", "method"], 2, "name the method of every file"),
        (["score", "r.csv", *SEED, "--methods", "seed"], 2, "cannot name the method"),
        (["score", "r.csv", *SEED, "--methods", "metod"], 2, "did you mean 'method'?"),
        (["score", "r.csv", *MAPPED, "--runs", "sead"], 2, "did you mean 'seed'?"),
        (["score", "r.csv", *MAPPED, "--runs", "a+b+c"], 2, "name one column or two"),
        (["score", "r.csv", *MAPPED, "--runs", "seed+"], 2, "name one column or two"),
        (["score", "r.csv", *SEED, "--method", "bca"], 2, "bca intervals are not defined for met"),
        (["score", "r.csv", *SEED, "--hold", "sedd"], 2, "names sedd, which is not resampled"),
        (["compare", "r.csv", *SEED], 2, "at least two methods, and there is only 'method'"),
        (["score", "r.csv", "--type", "llr", "--map", "score=s,label=y", "--runs", "seed"], 2,
         "--map id=COLUMN"),
    ],
)  # fmt: skip
def test_wrong_usage(place, capsys, arguments, code, message):
    for name in ("r.csv", "copy.csv"):
        write(place / name, table_of([1, 2]))
    assert message in " ".join(told(capsys, "methods", *arguments, code=code).split())


def test_tables_of_arrays_and_an_empty_one():
    frame = pl.DataFrame({"id": [1, 2] * 2, "label": [1, 0] * 2, "seed": [1, 1, 2, 2]})
    posteriors = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    table = Table("runs.npz", frame, {"score": posteriors}, ordered=True)
    options = tc.trials.Options("posterior")
    [found] = load_methods([("", "runs", table)], options, RunColumns())
    assert found.runs.method == "method"
    assert [len(t) for t in found.trials] == [2, 2]
    np.testing.assert_array_equal([*found.trials[0].scores, *found.trials[1].scores], posteriors)
    with pytest.raises(InputError, match=r"e\.csv: there are no trials"):
        load_methods([("", "e", Table("e.csv", frame[:0]))], options)
    rows = score_methods([found], tc.Scoring(measures=("nec",), plan=tc.Plan(20)))
    with pytest.raises(UsageError, match="at least two methods"):
        against_first(rows)
