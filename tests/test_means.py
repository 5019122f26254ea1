"""Means of columns: a metric in each row, no label; intervals, comparison, direction, refusals."""

import json

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli

ROWS = """question,document,accuracy,latency,lang
q1,d1,1,0.52,en
q2,d1,0,0.91,en
q3,d2,1,0.33,de
q4,d2,1,0.40,de
q5,d3,1,0.71,en
q6,d3,0,0.65,de
"""
BOTH = "--map id=question,unit=document -q --no-advice"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "b.csv").write_text(ROWS.replace("0.91", "0.21").replace("q2,d1,0", "q2,d1,1"))
    return tmp_path


def run(line, capsys):
    """What a command gives: exit code, standard out, standard error."""
    code = cli.run(line.split())
    return code, *capsys.readouterr()


def frame(n=400, units=40, seed=3):
    rng = np.random.default_rng(seed)
    own = rng.normal(size=units)
    unit = np.arange(n) % units
    score = 70 + 5 * own[unit] + rng.normal(scale=8, size=n)
    right = (rng.random(n) < 1 / (1 + np.exp(-own[unit]))).astype(int)
    columns = {"id": np.arange(n), "doc": unit, "judge": score, "right": right}
    return pl.DataFrame(columns)


def test_a_mean_by_hand_with_its_direction():
    data = {"latency": [1.0, 2.0, 6.0], "cost": [2, 2, 2], "doc": ["a", "b", "c"]}
    rows = tc.score(
        data,
        measures=["mean:latency", "mean:cost"],
        direction={"latency": "lower", "cost": "higher"},
        unit="doc",
    ).rows
    assert [(r.label, r.value, r.direction, r.naive) for r in rows] == [
        ("mean:latency", 3.0, "lower", None),
        ("mean:cost", 2.0, "higher", None),
    ]
    assert rows[0].n_units == rows[0].n_trials == 3


def test_weights_enter_the_mean():
    data = {"x": [1.0, 4.0], "w": [3.0, 1.0], "unit": ["a", "b"]}
    [row] = tc.score(data, measures="mean:x", higher=True, weight="w").rows
    assert row.value == pytest.approx((3 * 1 + 4) / 4)


def test_the_interval_is_that_of_units():
    """A t interval of 40 document means, as all documents have as many trials."""
    data = frame()
    [row] = tc.score(data, measures="mean:judge", direction="higher", unit="doc").rows
    means = data.group_by("doc").agg(pl.col("judge").mean())["judge"].to_numpy()
    half = 2.0227 * means.std(ddof=1) / np.sqrt(40)
    assert row.value == pytest.approx(means.mean())
    assert 1 <= (row.upper - row.lower) / 2 / half < 1.3  # fewer degrees of freedom than 39
    alone = tc.score(data, measures="mean:judge", direction="higher").rows[0]
    assert row.upper - row.lower > 1.3 * (alone.upper - alone.lower)


def test_a_share_of_ones_has_the_interval_of_a_rate():
    """Eight of eight right: no spread, and still an interval below 1."""
    data = {"right": [1] * 8, "unit": [*"abcdefgh"]}
    [row] = tc.score(data, measures="mean:right", higher=True).rows
    assert row.value == row.upper == 1
    assert 0.5 < row.lower < 0.9


def test_systems_are_compared_in_pairs_subsets_and_gates(here, capsys):
    code, out, _ = run(
        f"compare a.csv b.csv --measure mean:accuracy,mean:latency {BOTH} --json "
        "--direction accuracy=higher,latency=lower --subset lang",
        capsys,
    )
    assert code == 0
    rows = json.loads(out)["rows"]
    differences = {
        (r["measure"], r["parameters"]["variant"], r["dims"].get("subset")): r["value"]
        for r in rows
        if r.get("kind") == "difference"
    }
    assert differences["mean", "accuracy", None] == pytest.approx(1 / 6)
    assert differences["mean", "latency", None] == pytest.approx(-0.7 / 6)
    assert differences["mean", "latency", "lang=en"] == pytest.approx(-0.7 / 3)
    (here / "s.toml").write_text(
        'measures = ["mean:accuracy"]\n[data]\nhigher = true\nmap = { unit = "document" }\n'
        '[systems]\na.file = "a.csv"\n[[gate]]\nmeasure = "mean:accuracy"\nmin_lower = 0.99\n'
    )
    assert run("run s.toml -q", capsys)[0] in (1, 4)


def test_a_leaderboard_ranks_by_the_better_direction(here, capsys):
    line = f"leaderboard a.csv b.csv --measure mean:latency {BOTH}"
    for flag, first in (("--lower", "b"), ("--higher", "a")):
        code, out, _ = run(f"{line} {flag}", capsys)
        assert code == 0
        assert out.splitlines()[1].split()[2] == first


def test_the_page_says_which_values_are_better(here, capsys):
    code, _, _ = run(f"score a.csv --measure mean:accuracy --higher {BOTH} -o out", capsys)
    assert code == 0
    assert "Mean of a column; higher is better" in (here / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--measure mean:accuracy", 2, "whether higher values are better (--higher) or lower"),
        ("--measure mean:accuracy --higher --direction lower", 2, "keep one of them"),
        (
            "--measure mean:accuracy --direction better",
            2,
            "--direction better: name the better values",
        ),
        ("--measure mean:accuracy --direction latency=lower", 2, "mean:accuracy: state whether"),
        ("--measure mean:accurcy --higher", 2, "did you mean 'accuracy'?"),
        ("--measure mean:lang --higher", 3, "are not numbers: 'en' at line 2"),
        ("--measure mean:accuracy --higher --cost-miss 3", 2, "--cost-miss"),
        ("--measure mean:accuracy --higher --target 1", 2, "--target is for"),
        ("--measure mean:accuracy --higher --engine serial", 2, "counted in memory"),
        ("--measure mean:accuracy,eer --higher", 2, "the type of the scores is not stated"),
        ("--type values", 2, "no column 'value' for mean:value"),
        (
            "--measure eer --type values",
            2,
            "eer needs scores: use --measure mean:COLUMN",
        ),
        (
            "--measure auc --type score --map score=latency,label=accuracy --allow-reversed "
            "--higher",
            2,
            "--higher is for measure mean",
        ),
    ],
)
def test_what_is_refused_says_what_to_do(here, capsys, line, code, message):
    found, _, said = run(f"score a.csv {line} -o out", capsys)
    assert found == code
    assert message in said
    assert not (here / "out").exists()


def test_missing_values_are_refused_or_dropped_with_a_note(here, capsys):
    (here / "c.csv").write_text(ROWS.replace("0.91", ""))
    line = "score c.csv --measure mean:latency --lower"
    code, _, said = run(line, capsys)
    assert (code, "line 3; fill them in, use --missing drop" in said) == (3, True)
    code, out, said = run(f"{line} --missing drop --json", capsys)
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(
        (0.52 + 0.33 + 0.4 + 0.71 + 0.65) / 5
    )
    assert "1 of 6 trials had no score" in said


def test_a_column_beside_scores_and_labels(here, capsys):
    (here / "d.csv").write_text(
        "score,label,latency\n2.0,target,1\n-1.0,nontarget,2\n1.0,target,3\n-2,nontarget,6\n"
    )
    code, out, _ = run("score d.csv --type llr --measure eer,mean:latency --lower --json", capsys)
    assert code == 0
    assert [r["value"] for r in json.loads(out)["rows"]] == [0, 3]
