"""What users of streams read: ratios to what may be 0, tables, messages, help, stored curves."""

import json

import numpy as np
import polars as pl
import pytest

import streaming
from lived import result_of, write_study
from truecost import cli
from truecost.core.comparison import compare
from truecost.core.results import Estimate
from truecost.errors import InputError, UsageError
from truecost.learning.learners.process import read
from truecost.learning.learners.program import Predicted
from truecost.learning.source import Source, read_table
from truecost.study.directory import read_result, render_again
from truecost.tasks.streams.advice import SweepAdvice
from truecost.tasks.streams.describing import OnlineDescription


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Event logs and labels, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return streaming.written(tmp_path)


# ratios to a baseline that may be 0


def estimate(point, replicates, system="mine"):
    """An estimate of a gap made by hand."""
    values = np.asarray(replicates, float)
    return Estimate(
        measure="imlm_gap",
        dims={"system": system},
        point=point,
        value=point,
        lower=float(values.min()),
        upper=float(values.max()),
        level=0.95,
        method="percentile",
        naive=None,
        direction="higher",
        factors=("batch",),
        n_units=20,
        n_trials=100,
        n_replicates=len(values),
        n_undefined=0,
        flags=(),
        signature="imlm_gap",
        replicates=values,
    )


@pytest.mark.parametrize(
    ("point", "replicates"),
    [(0.1, [0.2, -0.1, 0.1]), (-0.1, [0.2, 0.1, 0.3]), (0.1, [-0.2, -0.1])],
)
def test_there_is_no_ratio_to_a_baseline_on_both_sides_of_0(point, replicates):
    base = estimate(point, replicates, "base")
    found = compare(estimate(0.2, np.full(len(replicates), 0.2)), base)
    ratio = found.ratio
    assert (ratio.value, ratio.lower, ratio.upper) == (None, None, None)
    assert ratio.reason == "undefined: no ratio: the baseline has replicates on both sides of 0"
    assert ratio.n_undefined == len(replicates)
    assert "undefined_replicates" not in ratio.flags
    assert found.difference.value == pytest.approx(0.2 - point)


@pytest.mark.parametrize("sign", [1, -1])
def test_there_is_one_to_a_baseline_on_one_side(sign):
    base = estimate(0.1 * sign, np.array([0.1, 0.2, 0.4]) * sign, "base")
    ratio = compare(estimate(0.2, [0.2, 0.2, 0.2]), base).ratio
    assert ratio.value == pytest.approx(2 * sign)
    assert sorted(ratio.replicates) == pytest.approx(sorted(sign * np.array([2, 1, 0.5])))


def test_replicates_of_0_alone_leave_the_ratio_to_the_others():
    """As before: a cost that is 0 in some replicates has a sign."""
    ratio = compare(estimate(0.2, [0.2, 0.2]), estimate(0.1, [0.0, 0.1], "base")).ratio
    assert (ratio.value, ratio.n_undefined) == (2, 1)
    assert "undefined_replicates" in ratio.flags
    none = compare(estimate(0.2, [0.2, 0.2]), estimate(0.0, [0.0, 0.1], "base")).ratio
    assert none.reason == "undefined: the baseline is 0"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ([0.1, 0.3], "same"),
        ([0.1, 0.31], "inconclusive"),
        ([0.2, 0.42], "better"),
        ([0.2, 0.4], "no width"),
    ],
)
def test_equal_in_every_replicate_is_the_same(other, said):
    base = estimate(0.2, [0.1, 0.3], "base")
    point = {"better": 0.31, "no width": 0.3}.get(said, 0.2)
    verdict = compare(estimate(point, other), base).verdict
    assert verdict == ("inconclusive" if said == "no width" else said)


# tables of features whose columns have other names


def table(path, **columns):
    pl.DataFrame(columns).write_csv(path)
    return Source(name="table", file=str(path))


def test_a_table_without_labels_says_how_to_name_them(tmp_path):
    source = table(tmp_path / "own.csv", name=["x"], a=[1.0], truth=["yes"])
    with pytest.raises(UsageError) as caught:
        read_table(source)
    said = str(caught.value)
    assert "own.csv: there is no column of right labels (label, labels or y); " in said
    assert "the columns are name, a, truth" in said
    assert 'label = "NAME"' in said
    assert 'id = "NAME"' in said
    assert "features = [...]" in said


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        (["x0", "x1"], 'if it is the id of the items: id = "extra"'),
        (["2024-01-01 10:00:00", "2024-01-02"], 'if it is the time of the items: time = "extra"'),
    ],
)
def test_a_column_that_is_no_feature_says_what_it_may_be(tmp_path, column, hint):
    source = table(tmp_path / "own.csv", extra=column, a=[1.0, 2.0], y=["yes", "no"])
    with pytest.raises(InputError) as caught:
        read_table(source)
    said = str(caught.value)
    assert "(column 'extra') are not numbers" in said
    assert hint in said
    assert said.endswith("features = [...]; the columns are extra, a, y")


def test_dates_of_a_parquet_are_told_too(tmp_path):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 2), eager=True)
    pl.DataFrame({"day": days, "a": [1, 2], "y": ["0", "1"]}).write_parquet(
        tmp_path / "own.parquet"
    )
    with pytest.raises(
        InputError, match=r"of type Date; .*the items: time = \"day\"; else name the"
    ):
        read_table(Source(name="table", file=str(tmp_path / "own.parquet")))


# what a program said


def test_nonsense_is_shown_around_the_fault():
    ids = ",".join(f'"i{k}"' for k in range(300))
    line = f'{{"n":5,"ids":[{ids}],"scores":[0.25,oops,0.5]}}'.encode()
    with pytest.raises(InputError) as caught:
        read(line, Predicted)
    said = str(caught.value)
    assert "within '" in said
    assert '"scores":[0.25,oops,0.5]}' in said
    assert '"i100"' not in said


def test_a_short_line_is_shown_as_a_whole_elsewhere():
    with pytest.raises(InputError) as caught:
        read(b"hello", Predicted)
    assert "within" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "shown"),
    [("scores", [0.1, "high", 0.2], "where it has 'high'"), ("ids", 7, "where it has '7'")],
)
def test_a_wrong_value_is_shown(place, value, shown):
    right = {"n": 1, "ids": ["a", "b", "c"], "scores": [0.0, 0.0, 0.0]}
    with pytest.raises(InputError, match=shown):
        read(json.dumps({**right, place: value}).encode(), Predicted)


# the terminal


def test_at_80_columns_items_and_units_stand_above(folder, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    score = ("streams", "score", "events.jsonl", "--labels", "labels.csv", "--replicates", "50")
    _, out, _ = run(*score)
    assert out.splitlines()[0] == "system events, items 120, units 12"
    assert all(len(line) <= 80 for line in out.splitlines())


def test_what_is_left_out_for_want_of_width_is_said(folder, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    given = ("--labels", "marked.csv", "--replicates", "50", "--subset", "parity")
    given += ("--method", "percentile")
    _, out, _ = run("streams", "score", "events.jsonl", *given)
    tables = [table.splitlines() for table in out.split("\n\n")]
    levels = ("all", "parity=even", "parity=odd")
    for (above, head, *_, last), level in zip(tables, levels, strict=False):
        assert above.startswith(f"system events, subset {level}, items ")
        assert "naive" not in head
        assert last == "columns left out, because the terminal is too narrow: naive"
    assert len(tables) == 4
    assert "naive" in tables[3][1]
    assert "left out" not in "".join(tables[3])
    monkeypatch.setenv("COLUMNS", "150")
    assert "left out" not in run("streams", "score", "events.jsonl", *given)[1]


def test_items_are_those_of_a_run_in_every_row(folder, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    given = ("--labels", "labels.csv", "--replicates", "50")
    _, out, _ = run("streams", "score", "runs", *given)
    head, *lines = out.splitlines()
    assert "  items a run  units" in head
    [counted] = [line.split() for line in lines if "n_annotations" in line]
    assert counted.count("120") == 2  # the naive value and the items: all of a run
    for line in lines:
        if "imlm" in line or "act_dcf" in line:
            assert " 120 " in line


def test_help_says_what_is_read_and_written(run):
    for verb in ("score", "compare", "plan"):
        said = " ".join(run("streams", verb, "--help")[1].replace("│", " ").split())
        assert "(JSON lines, Parquet or CSV)" in said
        if verb != "plan":
            assert "items.parquet" not in said
    said = " ".join(run("demo", "--help")[1].replace("│", " ").split())
    assert "learn" in said
    assert "Evaluate and compare two" not in said


def test_the_settings_of_the_demo_name_no_place(run):
    code, out, _ = run("demo", "streams", "--print-config")
    assert code == 0
    assert "/" not in out
    assert 'name = "digits"' in out


def test_relative_paths_stay_relative_in_errors(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    study = write_study(tmp_path / "own", source={"label": "lable"})
    code, _, err = run("run", study.relative_to(tmp_path), "-o", "out")
    assert code == 2
    assert "own/" in err
    assert str(tmp_path) not in err


# curves.parquet


def test_curves_are_stored_and_the_page_is_drawn_again(folder, run):
    how = ("--labels", "labels.csv", "--replicates", "50", "-o", "out", "-q")
    assert run("streams", "score", "events.jsonl", *how)[0] == 0
    frame = pl.read_parquet("out/curves.parquet")
    [described] = result_of(folder / "out").described_as(OnlineDescription)
    for curve in described.curves:
        rows = frame.filter(
            measure=curve.measure, phase=curve.phase, kind="so far" if curve.so_far else "window"
        )
        assert tuple(rows["batch"]) == described.ends
        for name in ("value", "lower", "upper"):
            stored = curve.values if name == "value" else getattr(curve, name)
            assert tuple(rows[name]) == stored
    assert len(frame) == len(described.curves) * len(described.ends)
    page = (folder / "out" / "report.html").read_bytes()
    assert render_again("out").read_bytes() == page


def test_budgets_and_streams_are_stored(tmp_path, run):
    study = write_study(tmp_path)
    given = ("--budgets", "1,2", "--seeds", "2", "-o", tmp_path / "out", "-q")
    assert run("streams", "sweep", study, *given)[0] == 0
    frame = pl.read_parquet(tmp_path / "out" / "curves.parquet")
    result = read_result(str(tmp_path / "out"))
    rows = [r for r in result.rows if r.measure == "imlm" and r.dims["phase"] == "post"]
    swept = frame.filter(kind="budget", measure="imlm", phase="post")
    assert swept["budget"].to_list() == [float(r.dims["budget"]) for r in rows] == [1, 2]
    assert swept["value"].to_list() == [r.value for r in rows]
    [advice] = [a for a in result.described_as(SweepAdvice) if a.measure == "imlm"]
    assert swept["best"].to_list() == [p.best for p in advice.points]
