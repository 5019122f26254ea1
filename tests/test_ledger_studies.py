"""Studies and commands that keep a ledger: every task, when it warns, and when it stays silent."""

import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tomli_w

import accepted
import lifelogs
import searched
import streaming
import truecost as tc
from truecost import cli
from truecost.protocol.ledger import read_ledger
from truecost.protocol.options import LedgerTable
from truecost.protocol.study.ledger import Hasher
from truecost.study.directory import read_result

RULE, FLAG = "choices-on-evaluation-data", "best_of_many"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def run(capfd):
    """A command, which must succeed: what it printed."""

    def call(*arguments, code=0):
        found = cli.run([*map(str, arguments)])
        said = capfd.readouterr()
        assert found == code, said.err
        return said

    return call


def study(name="study.toml", **tables):
    """Write a study, quick to run."""
    Path(name).write_text(tomli_w.dumps({"interval": {"replicates": 30}, **tables}))
    return name


def lines(name="ledger.jsonl"):
    return read_ledger(name).lines if Path(name).exists() else ()


def shuffle_rows(source, target):
    """The same table with its rows in another order."""
    pl.read_csv(source, infer_schema=False).sample(fraction=1, shuffle=True, seed=1).write_csv(
        target
    )


def shuffle_lines(source, target):
    kept = Path(source).read_text().splitlines()
    order = np.random.default_rng(1).permutation(len(kept))
    Path(target).write_text("".join(kept[k] + "\n" for k in order))


def write_trials(name, seed, noise):
    label = np.arange(200) % 4 == 0
    score = 2.0 * label - 1 + np.random.default_rng(seed).normal(0, noise, 200)
    frame = {"id": [f"t{k}" for k in range(200)], "label": label.astype(int), "score": score}
    pl.DataFrame({**frame, "unit": np.arange(200) // 10}).write_csv(name)


TRIALS = {"type": "llr", "map": {"id": "id", "unit": "unit"}}


def of_trials():
    write_trials("a.csv", 0, 1.0)
    write_trials("b.csv", 1, 2.0)
    shuffle_rows("a.csv", "same.csv")
    return {"measures": ["act_dcf", "auc"], "data": TRIALS}, ("a.csv", "b.csv", "same.csv"), "a"


def of_classes():
    label = np.arange(120) % 3
    for name, sharp in (("a", 2.0), ("b", 0.3)):
        logits = sharp * np.eye(3)[label] + np.random.default_rng(0).normal(0, 1, (120, 3))
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        columns = {f"score_{c}": shares[:, k] for k, c in enumerate("xyz")}
        frame = {"id": np.arange(120), "label": np.array([*"xyz"])[label], **columns}
        pl.DataFrame(frame).write_csv(f"{name}.csv")
    shuffle_rows("a.csv", "same.csv")
    mapped = {"id": "id", "score": "score_x+score_y+score_z"}
    data = {"type": "posterior", "classes": ["x", "y", "z"], "map": mapped}
    return {"measures": ["nce"], "data": data}, ("a.csv", "b.csv", "same.csv"), "a"


def of_numbers():
    true = np.linspace(0, 1, 60)
    for name, noise in (("a", 0.1), ("b", 0.5)):
        said = true + np.random.default_rng(0).normal(0, noise, 60)
        frame = {"id": np.arange(60), "label": true, "score": said}
        pl.DataFrame(frame).write_csv(f"{name}.csv")
    shuffle_rows("a.csv", "same.csv")
    data = {"type": "number", "map": {"id": "id"}}
    return {"measures": ["mse"], "data": data}, ("a.csv", "b.csv", "same.csv"), "a"


def of_transcripts():
    said = {f"u{k:02}": f"one two three w{k}" for k in range(30)}
    errors = {"a.txt": 9, "b.txt": 3}
    for name, every in errors.items():
        texts = (f"{k} {t if i % every else 'no'}\n" for i, (k, t) in enumerate(said.items()))
        Path(name).write_text("".join(texts))
    Path("ref.txt").write_text("".join(f"{k} {t}\n" for k, t in said.items()))
    shuffle_lines("a.txt", "same.txt")
    tables = {"task": "transcripts", "measures": ["wer"], "data": {"reference": ["ref.txt"]}}
    return tables, ("a.txt", "b.txt", "same.txt"), "a"


def of_translation():
    said = [f"the cat number {k} sat on the mat again" for k in range(12)]
    for name, every in (("a.txt", 6), ("b.txt", 2)):
        texts = (t if k % every else "a dog ran away from the house" for k, t in enumerate(said))
        Path(name).write_text("".join(f"{t}\n" for t in texts))
    Path("ref.txt").write_text("".join(f"{t}\n" for t in said))
    Path("same.txt").write_text(Path("a.txt").read_text())
    tables = {"task": "translation", "measures": ["chrf"], "data": {"reference": ["ref.txt"]}}
    return tables, ("a.txt", "b.txt", "same.txt"), "a"


def of_diarization():
    def write(name, late):
        turns = [(f"r{k}", 4 * j + late, "AB"[j % 2]) for k in range(6) for j in range(5)]
        rows = (f"SPEAKER {r} 1 {s:.2f} 3.50 <NA> <NA> {w} <NA> <NA>\n" for r, s, w in turns)
        Path(name).write_text("".join(rows))

    for name, late in (("ref.rttm", 0), ("a.rttm", 0.2), ("b.rttm", 1)):
        write(name, late)
    shuffle_lines("a.rttm", "same.rttm")
    tables = {"task": "diarization", "measures": ["der"], "data": {"reference": ["ref.rttm"]}}
    return tables, ("a.rttm", "b.rttm", "same.rttm"), "a"


def of_abba():
    accepted.written(Path(), "a.csv")
    log = pl.read_csv("a.csv")
    worse = pl.when(pl.col("arm") == "A").then(1 - pl.col("sb")).otherwise(pl.col("sb"))
    log.with_columns(sb=worse).write_csv("b.csv")
    shuffle_rows("a.csv", "same.csv")
    mapped = dict(pair.split("=") for pair in accepted.MAP.split(","))
    data = {"map": mapped, "threshold_a": 0.5, "threshold_b": 0.6}
    tables = {"task": "abba", "measures": ["rrecall"], "data": data}
    return tables, ("a.csv", "b.csv", "same.csv"), None


def of_terms():
    searched.written(Path())
    tables = {
        "task": "terms",
        "measures": ["atwv"],
        "data": {"ecf": "e.ecf.xml", "rttm": "r.rttm", "kwlist": "t.kwlist.xml"},
        "application": {"preset": "nist-std-2006"},
    }
    good, poor = (f"submissions/{n}.kwslist.xml" for n in ("good", "poor"))
    rows = searched.detections(separation=6.0)
    Path("same.kwslist.xml").write_text(searched.kwslist([*reversed(rows)]))
    return tables, (good, poor, "same.kwslist.xml"), "a"


def of_stream():
    streaming.written(Path())
    shown = Path("events.jsonl").read_text().replace('"cpu_seconds": 0.5', '"cpu_seconds": 0.7')
    Path("same.jsonl").write_text(shown)
    tables = {"task": "streams", "measures": ["imlm"], "data": {"labels": "labels.csv"}}
    return tables, ("events.jsonl", "other.jsonl", "same.jsonl"), "a"


def of_lifelong():
    for name, seed in (("a", 0), ("b", 1)):
        lifelogs.write(Path(f"{name}.jsonl"), lifelogs.life("transcripts", seed=seed))
    Path("same.jsonl").write_text(Path("a.jsonl").read_text())
    tables = {"task": "lifelong", "lifelong": {"kind": "transcripts"}}
    return tables, ("a.jsonl", "b.jsonl", "same.jsonl"), None


KINDS = (
    *(of_trials, of_classes, of_numbers, of_transcripts, of_translation, of_diarization),
    *(of_abba, of_terms, of_stream, of_lifelong),
)


@pytest.mark.parametrize("made", KINDS, ids=lambda made: made.__name__)
def test_every_task_knows_its_evaluation_set_and_its_systems(made, folder, run):
    tables, (first, second, same), better = made()
    one = study(**tables, systems={"a": {"file": first}})
    said = run("run", one, "--json")
    [line] = lines()
    found = json.loads(said.out)
    assert RULE not in {p.get("rule") for p in found["problems"]}
    told = {v for f in line.figures for v in f.values.values()}
    assert told <= {r["value"] for r in found["rows"]}
    assert told

    # Neither files, their order nor names make it another scoring of another set.
    assert run("run", one, "--json").out == said.out
    again = run("run", study("same.toml", **tables, systems={"other": {"file": same}}))
    assert len(lines()) == 1
    assert "was scored" not in said.err + again.err

    other = run("run", study("b.toml", **tables, systems={"b": {"file": second}}), "--json")
    assert [line.evaluation for line in lines()] == [line.evaluation] * 2
    assert len({s.sha256 for line in lines() for s in line.systems}) == 2
    assert "this evaluation set was scored 2 times with 2 systems (ledger.jsonl)" in other.err
    found = json.loads(other.out)
    assert RULE in {p.get("rule") for p in found["problems"]}
    if better == "a":
        assert not any(FLAG in r["flags"] for r in found["rows"])

    # The first one again: its line is where it was, and so is what it says.
    assert run("run", one, "--json").out == said.out

    both = {"a": {"file": first}, "b": {"file": second}}
    found = json.loads(run("run", study("both.toml", **tables, systems=both), "--json").out)
    assert len(lines()) == 3
    flagged = [r for r in found["rows"] if FLAG in r["flags"]]
    assert flagged
    assert {r["counts"]["best_of"] for r in flagged} == {2}
    if better is not None:
        assert {r["dims"]["system"] for r in flagged} == {better}
    assert not read_ledger("ledger.jsonl").faults


def three(folder):
    """Trials of three systems, a study of each, and one of all."""
    for k, name in enumerate("abc"):
        write_trials(f"{name}.csv", k, 1.0 + k / 2)
    tables = {"measures": ["act_dcf"], "data": TRIALS}
    for name in "abc":
        study(f"{name}.toml", **tables, systems={name: {"file": f"{name}.csv"}})
    return tables


def test_the_best_of_a_study_is_marked_when_it_is_scored_alone(folder, run):
    tables = three(folder)
    systems = {name: {"file": f"{name}.csv"} for name in "abc"}
    first = run("run", study("all.toml", **tables, systems=systems), "-o", "all")
    assert "best of several" not in first.out
    assert not any(FLAG in r.flags for r in read_result("all").rows)
    said = run("run", "a.toml", "-o", "a")
    assert "best of several" in said.out
    assert "act_dcf of a is the best of 3: on average, such a best value is too good by" in said.err
    [row] = read_result("a").rows
    assert row.flags[-1] == FLAG
    assert row.counts["best_of"] == 3
    assert 0 < row.counts["best_of_optimism"] < 0.85 * 3 * (row.upper - row.lower) / 4
    assert "the best of several on this evaluation set" in Path("a/report.html").read_text()
    said = run("run", "b.toml")
    assert "best of several" not in said.out
    assert "was scored 3 times with 3 systems" in said.err


def test_further_measures_of_one_system_choose_nothing(folder, run):
    tables = three(folder)
    run("run", "a.toml")
    more = tables | {"measures": ["act_dcf", "eer"]}
    said = run("run", study("more.toml", **more, systems={"a": {"file": "a.csv"}}))
    assert len(lines()) == 2
    assert "was scored" not in said.err
    shifted = {"a": {"file": "a.csv", "threshold": 1.0}}
    said = run("run", study("shifted.toml", **tables, systems=shifted))
    assert "was scored 3 times with 1 system" in said.err
    assert "best of several" not in said.out


def test_intervals_seeds_and_gates_do_not_make_another_scoring(folder, run):
    tables = three(folder)
    systems = {"a": {"file": "a.csv"}}
    run("run", "a.toml")
    other = {"interval": {"replicates": 50, "seed": 9, "level": 0.9}, "subsets": {"u": "unit < 9"}}
    gate = {"gate": [{"measure": "act_dcf", "max_upper": 2.0}]}
    run("run", study("again.toml", **tables, **other, **gate, systems=systems))
    assert len(lines()) == 1


def test_development_data_are_counted_and_not_warned_of(folder, run):
    tables = three(folder)
    for name in "abc":
        dev = {**tables, "ledger": {"purpose": "development"}}
        said = run("run", study("dev.toml", **dev, systems={name: {"file": f"{name}.csv"}}))
        assert "was scored" not in said.err
        assert "best of several" not in said.out
    assert [line.purpose for line in lines()] == ["development"] * 3
    said = run("run", "a.toml")
    assert "scored 4 times with 3 systems, 3 times as development data" in said.err
    assert "best of several" in said.out


def test_gates_say_that_their_value_is_the_best_of_several(folder, run):
    tables = three(folder)
    run("run", "b.toml")
    gate = {"gate": [{"measure": "act_dcf", "max_upper": 2.0}]}
    both = {name: {"file": f"{name}.csv"} for name in "ab"}
    run("run", study("gate.toml", **tables, **gate, systems=both), "-o", "out")
    marked, plain = Path("out/gates.md").read_text().splitlines()[-2:]
    assert "the best of several on this evaluation set" in marked
    assert "the best of several" not in plain


def test_applications_are_figures_of_one_line_and_collections_lines_of_their_own(folder, run):
    three(folder)
    tables = {
        "measures": ["act_dcf"],
        "data": TRIALS,
        "applications": {"x": {"prior": 0.1}, "y": {"prior": 0.5}},
    }
    run("run", study("two.toml", **tables, systems={"a": {"file": "a.csv"}}))
    [line] = lines()
    assert [f.dims for f in line.figures] == [{"application": "x"}, {"application": "y"}]
    pl.read_csv("a.csv").head(150).write_csv("half.csv")
    places = {"whole": "a.csv", "half": "half.csv"}
    collected = {**tables, "collections": {name: {} for name in places}}
    run("run", study("places.toml", **collected, systems={"a": {"files": places}}))
    assert [(line.collection, line.items) for line in lines()[1:]] == [("half", 150)]
    mismatched = {"matched": "a.csv", "mismatched": "b.csv"}  # the same trials, recorded anew
    collected = {**tables, "collections": {name: {} for name in mismatched}}
    said = run("run", study("twice.toml", **collected, systems={"a": {"files": mismatched}}))
    assert len({line.evaluation for line in lines()}) == 4
    assert "was scored" not in said.err


def test_hashes_are_the_same_whatever_was_hashed_before():
    """One sort of ids serves several systems; systems without ids have rows."""

    def trials(ids, scores):
        return tc.Trials.from_arrays(scores, [1, 0, 1, 0], kind="llr", ids=ids)

    systems = [
        trials(["b", "a", "d", "c"], [1, 2, 3, 4]),
        trials(["b", "a", "d", "c"], [1, 2, 3, 5]),
        trials(["c", "d", "a", "b"], [5, 3, 2, 1]),
        trials(["b", "c", "a", "e"], [1, 2, 3, 4]),
        trials(None, [1, 2, 3, 4]),
        trials(["b", "a", "d", "c"], [1, 2, 3, 4]),
    ]
    one = Hasher()
    both = [(one.evaluation_of(s), one.output_of(s)) for s in systems]
    assert both == [(Hasher().evaluation_of(s), Hasher().output_of(s)) for s in systems]
    assert len({of for of, _ in both}) == 4
    assert both[0] == both[5]
    assert both[1] != both[0]


def test_trials_without_ids_are_told_apart_by_their_rows(folder, run):
    three(folder)
    data = {"type": "llr", "map": {"unit": "unit"}}
    pl.read_csv("a.csv").drop("id").write_csv("plain.csv")
    other = pl.read_csv("b.csv").drop("id")
    other.write_csv("plain b.csv")
    other.with_columns(label=other["label"].reverse()).write_csv("other.csv")
    for k, name in enumerate(("plain", "plain b", "other")):
        tables = {"data": {**data, "allow_reversed": True}, "measures": ["act_dcf"]}
        run("run", study(f"{k}.toml", **tables, systems={"a": {"file": f"{name}.csv"}}))
    found = [line.evaluation for line in lines()]
    assert found[0] == found[1] != found[2]


def test_methods_are_scored_too(folder, run):
    for seed in range(4):
        for k, name in enumerate("ab"):
            write_trials(f"{name}-{seed}.csv", [k, seed], 1.0 + k)
    methods = {"runs": ["file"], "files": ["A=a-*.csv"]}
    tables = {"measures": ["act_dcf"], "data": TRIALS, "methods": methods}
    run("run", study("a.toml", **tables))
    tables["methods"] = {"runs": ["file"], "files": ["B=b-*.csv"]}
    said = run("run", study("b.toml", **tables))
    first, second = lines()
    assert first.evaluation == second.evaluation
    assert [f.dims for f in first.figures] == [{"estimator": "mean"}, {"estimator": "run"}]
    assert "was scored 2 times with 2 systems" in said.err
    command = ["methods", "score", "A=a-*.csv", "--runs", "file", "--type", "llr"]
    more = ["--map", "id=id,unit=unit", "--measure", "act_dcf", "--ledger", "ledger.jsonl"]
    run(*command, *more, "--replicates", "30")
    assert len(lines()) == 2


SCORE = ["score", "a.csv", "--type", "llr", "--map", "id=id,unit=unit", "--replicates", "30"]


def test_commands_keep_a_ledger_that_is_named_and_no_other(folder, run):
    three(folder)
    run(*SCORE)
    assert not Path("ledger.jsonl").exists()
    run(*SCORE, "--ledger", "mine.jsonl")
    run("compare", "a.csv", "b.csv", *SCORE[2:], "--ledger", "mine.jsonl")
    assert [len(line.systems) for line in lines("mine.jsonl")] == [1, 2]
    Path("config.toml").write_text('[ledger]\nfile = "mine.jsonl"\n')
    run("score", "c.csv", *SCORE[2:], "--config", "config.toml")
    assert len(lines("mine.jsonl")) == 3
    run("score", "c.csv", *SCORE[2:], "--config", "config.toml", "--measure", "eer", "--no-ledger")
    assert len(lines("mine.jsonl")) == 3
    said = run(*SCORE, "--ledger", "mine.jsonl", "--no-ledger", code=2)
    assert "leave one out" in said.err


def test_what_scores_nothing_writes_nothing(folder, run):
    three(folder)
    printed = run("run", "a.toml", "--print-config").out
    assert "ledger" not in printed
    run("run", "a.toml", "--cite")
    run("run", "a.toml", "--no-ledger")
    run("plan", *SCORE[1:])
    tables = {"measures": ["act_dcf"], "data": TRIALS, "systems": {"a": {"file": "a.csv"}}}
    run("run", study("kept.toml", **tables, ledger={"kept": False}), "-o", "out")
    run("gate", "out", "--gate", "act_dcf:max_upper=2")
    run("report", "out")
    assert not Path("ledger.jsonl").exists()


def test_the_result_says_nothing_of_where_the_ledger_is(folder, run):
    tables = three(folder)
    Path("deep").mkdir()
    one = run("run", "a.toml", "--json")
    kept = {"ledger": {"file": "deep/other.jsonl"}}
    two = run(
        "run", study("kept.toml", **tables, **kept, systems={"a": {"file": "a.csv"}}), "--json"
    )
    none = run("run", "a.toml", "--json", "--no-ledger")
    assert len(lines("deep/other.jsonl")) == 1
    assert one.out == two.out == none.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(folder, run):
    three(folder)
    folder.chmod(0o500)
    try:
        said = run("run", "a.toml")
    finally:
        folder.chmod(0o700)
    assert said.err.count("no ledger is kept") == 1


def test_a_ledger_that_nobody_asked_for_stops_nothing(folder, run):
    tables = three(folder)
    Path("ledger.jsonl").write_text("notes of someone else\n")
    said = run("run", "a.toml")
    assert said.err.count("note: no ledger is kept") == 1
    assert "line 1: this line is not from a ledger of results" in said.err
    assert Path("ledger.jsonl").read_text() == "notes of someone else\n"
    asked = {"ledger": {"file": "ledger.jsonl"}, "systems": {"a": {"file": "a.csv"}}}
    run("run", study("asked.toml", **tables, **asked), code=3)
    run(*SCORE, "--ledger", "ledger.jsonl", code=3)
    Path("ledger.jsonl").unlink()
    Path("ledger.jsonl").mkdir()
    said = run("run", "a.toml")
    assert "no ledger is kept" in said.err
    said = run(*SCORE, "--ledger", "ledger.jsonl", code=3)
    assert said.out == ""


def test_a_broken_chain_is_said_and_counting_goes_on(folder, run):
    three(folder)
    run("run", "a.toml")
    run("run", "b.toml")
    kept = Path("ledger.jsonl").read_text().splitlines(keepends=True)
    Path("ledger.jsonl").write_text(kept[0].replace('"a"', '"z"') + kept[1])
    said = run("run", "c.toml")
    assert (
        "note: ledger.jsonl, line 2: the hash of the line before it is not that of line 1"
        in said.err
    )
    assert "was scored 3 times with 3 systems" in said.err
    run("protocol", "ledger", "ledger.jsonl", code=3)


def test_a_live_run_is_a_scoring(folder, run):
    tables = {
        "task": "streams",
        "measures": ["imlm"],
        "source": {"name": "digits", "targets": ["3"], "items": 60, "order": "shuffled"},
        "loop": {"budget": 2},
    }
    for name in ("one", "two"):
        run("run", study("live.toml", **tables), "-o", name)
    assert len(lines()) == 1
    tables["loop"] = {"budget": 4}
    said = run("run", study("more.toml", **tables), "-o", "three")
    first, second = lines()
    assert first.evaluation == second.evaluation
    assert "was scored 2 times with 2 systems" in said.err


def test_every_key_is_explained():
    page = Path(__file__).parents[1] / "docs" / "protocol-ledger.md"
    table = page.read_text(encoding="utf-8").partition("| key of `[ledger]` |")[2].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == {*LedgerTable.__struct_fields__}
