"""Studies of files read in parts: gates, collections, applications, curves, ranks as in memory."""

import json
import pickle
from pathlib import Path

import polars as pl
import pytest

from partitioned import Read
from test_large import MAPPED, TYPED, UNIT, digest, parts
from truecost import cli
from truecost.engines import mapping, partitions
from truecost.tasks.trials import large, work

__all__ = ["parts"]
FEW = ("--replicates", "40")
STUDY = """
measures = ["act_dcf", "eer"]
[data]
type = "llr"
map = {{ unit = "speaker", weight = "w" }}
{head}
[subsets]
noise = "noise"
quiet = "snr >= 10"
[interval]
replicates = 40
{gates}
"""
ONE = "[systems]\nx.file = '{}'\n[application]\nprior = 0.05\n"
GATES = """
[[gate]]
measure = "eer"
{limit}
[[gate]]
measure = "act_dcf"
subset = "quiet"
max_upper = 9.0
"""


def result(out, *words, code=0):
    """The files of a result, without the hashes of its inputs."""
    assert cli.run([*words, "--quiet", "-o", out]) == code, words
    found = json.loads(Path(out, "result.json").read_text())
    found.pop("inputs", None)
    found.pop("configuration", None)
    curves = Path(out, "curves.parquet")
    return found, pl.read_parquet(curves) if curves.exists() else None


def same(one, other):
    """Whether two results are the same, to the last digit of rows and of curves."""
    assert one[0] == other[0]
    assert (one[1] is None) == (other[1] is None)
    assert one[1] is None or one[1].equals(other[1])


@pytest.mark.parametrize(("limit", "code"), [("max_upper = 0.9", 0), ("max_upper = 0.01", 1)])
def test_gates_and_subsets(parts, limit, code, capsys):
    gates = GATES.format(limit=limit)
    for name, file in {"one": "whole.parquet", "many": "parts/*.parquet"}.items():
        Path(f"{name}.toml").write_text(STUDY.format(head=ONE.format(file), gates=gates))
    wanted = result("a", "run", "one.toml", code=code)
    assert wanted[0]["rows"]
    same(result("b", "run", "many.toml", code=code), wanted)


def test_collections_and_applications(parts, capsys):
    head = """
[systems.x.files]
near = '{0}'
far = '{0}'
[collections.near]
[collections.far]
llr_base = 2.0
[applications]
rare.prior = 0.01
often = {{ prior = 0.3, cost_miss = 5 }}
"""
    for name, file in {"one": "whole.parquet", "many": "parts/*.parquet"}.items():
        Path(f"{name}.toml").write_text(STUDY.format(head=head.format(file), gates=""))
    same(result("b", "run", "many.toml"), result("a", "run", "one.toml"))


def test_curves_and_descriptions_of_a_comparison(parts, capsys):
    better = pl.read_parquet("whole.parquet").with_columns(pl.col("score") * 1.5)
    better.sample(fraction=1.0, shuffle=True, seed=9).write_parquet("better.parquet")
    words = (*TYPED, *FEW, "--map", f"{UNIT},id=trial", "--subset", "noise")
    wanted = result("a", "compare", "x=whole.parquet", "y=better.parquet", *words)
    assert wanted[1] is not None
    found = result("b", "compare", "x=parts/*.parquet", "y=better.parquet", *words,
                   "--engine", "serial")  # fmt: skip
    same(found, wanted)


def test_a_leaderboard(parts, capsys):
    for k in range(3):
        other = pl.read_parquet("whole.parquet").with_columns(pl.col("score") * (k + 1))
        other.sample(fraction=1.0, shuffle=True, seed=k).write_parquet(f"s{k}.parquet")
    words = ("leaderboard", *(f"s{k}.parquet" for k in range(3)), *TYPED, *FEW, "--map",
             f"{UNIT},id=trial")  # fmt: skip
    same(result("b", *words, "--engine", "serial"), result("a", *words))


def test_a_plan(parts, capsys):
    told = []
    for file in ("x=whole.parquet", "x=parts/*.parquet"):
        assert cli.run(["plan", file, *TYPED, *FEW, "--map", UNIT]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


@pytest.mark.parametrize(("more", "said"), [
    (("--map", "score=score+snr,label=label,unit=speaker", "--type", "posterior"),
     "several scores a trial"),
    (("--metadata", "whole.parquet"), "--metadata, which is joined in memory"),
    (("--map", "annotators=label+noise,unit=speaker", "--annotators", "votes"),
     "several annotators, or soft labels"),
    (("--type", "number"), "type number does not fit"),
])  # fmt: skip
def test_what_needs_memory_is_refused_before_counting(parts, more, said, capsys, monkeypatch):
    monkeypatch.setattr(large, "sort_partitions", None)  # it would fail
    words = ["score", "x=parts/*.parquet"]
    words += (
        () if "--type" in more else ("--type", "posterior" if "--annotators" in more else "llr")
    )
    words += () if "--map" in more else ("--map", UNIT)
    assert cli.run([*words, *more]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["whole.parquet", "whole.csv"])
def test_files_that_do_not_fit_into_free_memory_are_counted_in_parts(parts, monkeypatch, name):
    pl.read_parquet("whole.parquet").write_csv("whole.csv")
    free = Path("meminfo")
    monkeypatch.setattr(work, "SMALL", 0)
    monkeypatch.setattr(partitions, "Path", lambda p: free if p == "/proc/meminfo" else Path(p))
    found = []
    for said in ("MemAvailable:  1 kB", "MemAvailable:  9999999 kB", "nothing"):
        free.write_text(f"MemTotal:  8 kB\n{said}\n")
        found.append(work._are_large([name]))
    assert found == [True, False, False]


def test_verbose_says_that_files_were_read_in_parts(parts, capsys):
    told = []
    for file in ("parts/*.parquet", "whole.parquet"):
        assert cli.run(["score", file, *MAPPED, "--replicates", "40", "-v"]) == 0
        told.append("trials, read in parts, type llr" in capsys.readouterr().err)
    assert told == [True, False]


def test_parts_without_quotes_are_told_what_they_are(parts, capsys):
    files = [f"parts/{k}.parquet" for k in range(3)]
    assert cli.run(["compare", *files, *TYPED, "--map", f"{UNIT},id=trial"]) == 3
    assert "or give parts of one system as one pattern in quotes" in capsys.readouterr().err
    words = (*TYPED, "--map", f"{UNIT},id=trial", "--replicates", "20")
    assert cli.run(["score", *files, *words, "-o", "refused"]) == 3
    assert "0, 1, 2 have no trial in common: if they are parts of one system, give them as " in (
        hint := " ".join(capsys.readouterr().err.split())
    )
    assert "('parts/*.parquet'); if each is a system, name it in words (NAME=FILE)" in hint
    assert not Path("refused").exists()
    named = [f"{name}={file}" for name, file in zip(("dev", "eval", "test"), files, strict=True)]
    assert cli.run(["score", *named, *words]) == 0  # test sets, side by side
    assert "dev, eval, test have no trial in common" in capsys.readouterr().err
    assert cli.run(["score", "whole.parquet", "parts/1.parquet", *words]) == 0
    assert "no trial in common" not in capsys.readouterr().err
    pl.read_parquet("whole.parquet")[1:].write_parquet("fewer.parquet")
    assert cli.run(["compare", "whole.parquet", "fewer.parquet", *TYPED, "--map",
                    f"{UNIT},id=trial"]) == 3  # fmt: skip
    assert "pattern in quotes" not in capsys.readouterr().err


def test_what_all_ranges_need_is_sent_once(parts, monkeypatch):
    """Jobs do not grow with the number of partitions."""
    jobs = []

    class Seen(mapping.Serial):
        def map(self, function, jobs_, done=None):
            jobs.append([len(pickle.dumps(job)) for job in jobs_])
            return super().map(function, jobs_, done)

    for rows_ in (500, 50):
        monkeypatch.setattr(partitions, "ROWS", rows_)
        digest(f"rows-{rows_}", ["whole.parquet"], Read(), Seen(1))
    assert len(jobs[2]) == 10 * len(jobs[0])
    assert max(jobs[3]) <= max(jobs[1])


@pytest.mark.parametrize("more", [("--type", "log-posterior"), ("--type", "score")])
def test_a_target_among_labels_and_log_posteriors(parts, more, capsys):
    whole = pl.read_parquet("whole.parquet")
    odds = pl.col("score") - (1 + pl.col("score").exp()).log()
    label = pl.when(pl.col("label") == "target").then(pl.lit("seven")).otherwise(pl.col("noise"))
    whole.with_columns(score=odds, label=label).write_parquet("x.parquet")
    words = ("score", "x.parquet", *more, *FEW, "--map", UNIT, "--target", "seven")
    same(result("b", *words, "--engine", "serial"), result("a", *words))


def test_lists_of_trials(parts, capsys, monkeypatch):
    monkeypatch.setattr(partitions, "BYTES", 20_000)
    whole = pl.read_parquet("whole.parquet")
    columns = ("speaker", "trial", "score", "label")
    for name, rows in (
        ("x.txt", whole),
        ("lists/0.txt", whole[:900]),
        ("lists/1.txt", whole[900:]),
    ):
        Path(name).parent.mkdir(exist_ok=True)
        rows.select(columns).write_csv(name, include_header=False, separator=" ")
    words = (*TYPED, *FEW, "--map", "unit=enroll")
    wanted = result("a", "score", "x=x.txt", *words)
    same(result("b", "score", "x=lists/*.txt", *words), wanted)
    same(result("b", "score", "x=x.txt", *words, "--engine", "serial"), wanted)
