"""Systems that workers read and count, each by itself: the same results, to the last byte."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lifelogs
import streaming
from partitioned import Killing
from spoken import heard, sentences, spoken, written
from truecost import cli
from truecost.engines import mapping
from truecost.errors import UsageError
from truecost.formats import Table
from truecost.study import settings
from truecost.study.config import Study
from truecost.study.settings import Reader

FEW = ("--replicates", "40")
WORKERS = ("--engine", "processes", "--jobs", "2")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One folder for all tests: workers that stay are in it."""
    return tmp_path_factory.mktemp("apart")


@pytest.fixture
def folder(place, monkeypatch):
    """The folder to work in, where nothing is too small for workers."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(settings, "SMALL", 0)
    return place


def said(folder, longest):
    """A reference and two systems, with a unit and a column for subsets."""
    rng = np.random.default_rng(0)
    ids = [f"u{k:03}" for k in range(60)]
    right = sentences(len(ids), rng, longest=longest)
    about = {"who": [f"s{k // 5}" for k in range(60)], "room": ["car", "hall"] * 30}
    written(folder, "right", ids, right, **about)
    for name, rate in {"a": 0.2, "b": 0.1}.items():
        written(folder, name, ids, [heard(words, rng, rate) for words in right])


def transcripts(folder):
    said(folder, 14)
    return "transcripts", "compare", "right.csv", "a.csv", "b.csv", "--map", "unit=who", \
        "--subset", "room", "--normalise", "lower"  # fmt: skip


def translation(folder):
    said(folder, 30)
    return "translation", "compare", "right.csv", "a.csv", "b.csv", "--map", "unit=who", \
        "--measure", "bleu,chrf,ter"  # fmt: skip


def turns(rng, late):
    """Turns of four speakers in six meetings."""
    return [
        (f"m{r}", f"s{rng.integers(4)}", 5.0 * t + late * rng.random(), 5.0 * t + 4 + late)
        for r in range(6)
        for t in range(12)
    ]


def diarization(folder):
    for name, late in {"right": 0.0, "a": 0.7, "b": 0.3}.items():
        spoken(folder, name, turns(np.random.default_rng(3), late))
    return "diarization", "compare", "right.rttm", "a.rttm", "b.rttm", "--collar", "0.1", \
        "--measure", "der,jer,speech_error"  # fmt: skip


def streams(folder):
    streaming.written(folder)
    return "streams", "compare", "events.jsonl", "other.jsonl", "--labels", "marked.csv", \
        "--subset", "parity"  # fmt: skip


def lifelong(folder):
    for name, seed in {"a": 0, "b": 5}.items():
        (folder / name).mkdir(exist_ok=True)
        for run in range(2):
            events = lifelogs.life("transcripts", seed=seed + run)
            lifelogs.write(folder / name / f"seed-{run}.jsonl", events)
    return "lifelong", "compare", "a", "b", "--output-kind", "transcripts"


def matrices(folder):
    for name, shift in {"a": 0.0, "b": 0.1}.items():
        with Path(f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["version", "time", "learnt", "id", "score"])
            rows.writerows(
                [v, t, v, f"i{k}", (v * 7 + t * 3 + k) % 10 / 10 + shift]
                for v in range(3) for t in range(3) for k in range(5)
            )  # fmt: skip
    return "lifelong", "compare", "a.csv", "b.csv", "--higher"


TASKS = (transcripts, translation, diarization, streams, lifelong, matrices)


def result(out, *words):
    """The bytes of result.json."""
    assert cli.run([*words, *FEW, "--quiet", "-o", out]) == 0, words
    return Path(out, "result.json").read_bytes()


class Kept(mapping.Processes):
    """Workers that stay for the next test: they take seconds to start."""

    def close(self):
        """They stay."""

    def map(self, function, jobs, done=None):
        self.done = [*getattr(self, "done", []), function.__name__]
        return super().map(function, jobs, done)


@pytest.fixture(scope="module")
def started(place):
    """Two workers for all tests."""
    engine = Kept(2)
    yield engine
    mapping.Processes.close(engine)


@pytest.fixture
def workers(started, monkeypatch):
    """Two workers, and what they did in this test."""
    started.done = []
    monkeypatch.setitem(mapping.ENGINES, "processes", lambda jobs: started)
    return started


@pytest.mark.parametrize("task", TASKS, ids=lambda of: of.__name__)
def test_two_workers_give_the_same_bytes(task, folder, workers):
    words = task(folder)
    wanted = result("here", *words)
    assert json.loads(wanted)["rows"]
    assert result("apart", *words, *WORKERS) == wanted
    assert workers.done == ["found_in"]


def test_a_killed_worker_changes_no_byte(folder, monkeypatch):
    words = transcripts(folder)
    wanted = result("here", *words)
    monkeypatch.setitem(mapping.ENGINES, "processes", Killing)
    assert result("apart", *words, *WORKERS) == wanted
    Path("killed-found_in").unlink()  # there was a worker, and it was killed


@pytest.mark.parametrize("task", [streams, lifelong], ids=lambda of: of.__name__)
def test_the_logs_of_one_system_are_read_one_by_one(task, folder, workers):
    words = task(folder)
    several = {"streams": ("runs", "--labels", "labels.csv"), "lifelong": ("a", *words[4:])}
    words = (words[0], "score", *several[words[0]])
    wanted = result("here", *words)
    assert result("apart", *words, *WORKERS) == wanted
    assert workers.done == ["read_log"]


def test_a_worker_that_is_killed_over_a_log_changes_no_byte(folder, monkeypatch):
    streams(folder)
    words = ("streams", "score", "runs", "--labels", "labels.csv")
    wanted = result("here", *words)
    monkeypatch.setitem(mapping.ENGINES, "processes", Killing)
    assert result("apart", *words, *WORKERS) == wanted
    Path("killed-read_log").unlink()


def test_meetings_of_the_ami_corpus(shared, folder, workers):
    for name, short in {"ref_rttm_test": "ref", "rttm_test_vb": "vb", "rttm_test_sc": "sc"}.items():
        data = (shared / "data" / "ami_diarization" / f"{name}.gz").read_bytes()
        Path(f"{short}.rttm").write_bytes(gzip.decompress(data))
    words = ("diarization", "compare", "ref.rttm", "vb.rttm", "sc.rttm")
    assert result("apart", *words, *WORKERS) == result("here", *words)


def test_sentences_of_a_shared_task(shared, folder, workers):
    data = shared / "data" / "mlqe_pe_critical_errors" / "ende_majority_dev.tsv.gz"
    lines = gzip.decompress(data.read_bytes()).decode().splitlines()[1:200]
    found = [line.split("\t")[1:3] for line in lines]  # a source, and its translation
    Path("right.txt").write_text("".join(f"{one}\n" for one, _ in found))
    Path("a.txt").write_text("".join(f"{other}\n" for _, other in found))
    Path("b.txt").write_text("".join(f"{other.lower()}\n" for _, other in found))
    words = ("translation", "compare", "right.txt", "a.txt", "b.txt")
    assert result("apart", *words, *WORKERS) == result("here", *words)


def test_several_collections(folder, workers):
    said(folder, 14)
    tables = {
        "task": "transcripts", "baseline": "a", "measures": ["wer"],
        "data": {"reference": ["right.csv"]},
        "collections": {"one": {}, "two": {"missing": "drop"}},
        "systems": {n: {"files": {"one": f"{n}.csv", "two": f"{n}.csv"}} for n in ("a", "b")},
    }  # fmt: skip
    Path("study.toml").write_text(Study.from_tables(tables).to_toml())
    wanted = result("here", "run", "study.toml")
    tables |= {"engine": {"engine": "processes"}, "interval": {"jobs": 2}}
    Path("study.toml").write_text(Study.from_tables(tables).to_toml())
    assert result("apart", "run", "study.toml") == wanted


def test_a_leaderboard(folder, workers):
    words = ("transcripts", "leaderboard", *transcripts(folder)[2:5])
    wanted = result("here", *words)
    assert result("apart", *words, *WORKERS) == wanted
    Path("b.csv").write_text("id,text\nother,words\n")
    for more in ((), WORKERS):
        assert cli.run([*words, *more, "-o", "none"]) == 3


@pytest.mark.parametrize("task", [transcripts, streams, diarization], ids=lambda of: of.__name__)
def test_the_first_fault_is_told_whoever_finds_one_first(task, folder, workers, capsys):
    words = task(folder)
    files = [word for word in words[2:5] if word.startswith(("a.", "b.", "events", "other"))]
    for name in files:
        Path(name).write_text("nothing that anybody reads\n")
    told = []
    for more in ((), WORKERS):
        assert cli.run([*words, *more]) == 3
        told.append(capsys.readouterr().err)
    assert told[0] == told[1]
    assert files[0] in told[0]


def test_what_is_said_of_files_and_refused_of_options_is_the_same(folder, workers, capsys):
    said(folder, 14)
    for name in ("right", "a", "b"):
        rows = pl.read_csv(f"{name}.csv").rows(named=True)
        Path(name + ".txt").write_text("".join(f"{r['id']} {r['text']}\n" for r in rows))
    streams(folder)
    for words, code, part in (
        (("transcripts", "compare", "right.txt", "a.txt", "b.txt"), 0, "a.txt: read as"),
        (("streams", "compare", "events.jsonl", "other.jsonl", "--labels", "labels.csv",
          "--pooling", "macro"), 2, "several streams"),
    ):  # fmt: skip
        told = []
        for more in ((), WORKERS):
            assert cli.run([*words, *FEW, *more]) == code
            told.append(capsys.readouterr().err)
        assert told[0] == told[1]
        assert part in told[0]


def test_little_is_counted_here(folder, monkeypatch):
    """Workers take seconds to start; an engine that may not be used fails."""
    words = transcripts(folder)
    monkeypatch.setattr(mapping, "engine_of", None)
    monkeypatch.setattr(settings, "SMALL", sum(Path(n).stat().st_size for n in ("a.csv", "b.csv")))
    assert cli.run([*words, *WORKERS]) == 70
    monkeypatch.setattr(settings, "SMALL", settings.SMALL + 1)
    assert result("apart", *words, *WORKERS) == result("here", *words)


def test_what_cannot_travel_is_counted_here(folder, monkeypatch, capsys):
    """Tables in memory and standard input are of this process."""
    monkeypatch.setattr(mapping, "engine_of", None)
    for name, held in (("-", {}), ("a", {"a": Table("a", pl.DataFrame())})):
        study = Study.from_tables({"task": "streams", "engine": {"engine": "processes"},
                          "systems": {"a": {"file": name}}})  # fmt: skip
        with settings.reading(study, Reader("streams", held)) as read:
            assert callable(read)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("transcripts", r"cache under \[engine\] is not for transcripts: its keys are engine"),
        ("abba", r"engine, cache under \[engine\] is not for abba: leave out \[engine\]"),
    ],
)
def test_what_an_engine_is_of_no_use_for(task, said):
    keys = {"engine": "processes", "cache": "kept"}
    study = Study.from_tables({"engine": keys, "systems": {"a": {"file": "a"}}, "task": task})
    with pytest.raises(UsageError, match=said):
        study.check()
