"""Live runs: logs, the result made of them, resuming, what is refused, what fails."""

import gzip
import json
import os
import random
import signal
import time
from hashlib import sha256

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lived import result_of, tables_of, tree, unfinished, write_study
from processes import alive, children, end, gone, started, wait_for
from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.learning.live.studies import run_live
from truecost.learning.passes import StreamJob as Job


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def start():
    """Start a command; it is over when the test is."""
    processes = []

    def call(*arguments, **options):
        processes.append(started(*arguments, **options))
        return processes[-1]

    yield call
    for process in processes:
        end(process)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that was run at one go: its folder with `run`."""
    folder = tmp_path_factory.mktemp("whole")
    study = write_study(folder)
    assert cli.run(["run", str(study), "-o", str(folder / "run"), "-q"]) == 0
    return folder


def events(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


# What a run makes


def test_a_run_writes_logs_and_then_the_result(whole):
    found = tree(whole / "run")
    assert {name for name in found if name.startswith("logs")} == {
        "logs/recipe.toml",
        *(f"logs/streams/seed-{seed}.json" for seed in (0, 1)),
        *(f"logs/margin/2/seed-{seed}.jsonl.gz" for seed in (0, 1)),
    }
    result = result_of(whole / "run")
    rows = {(r.measure, r.dims["phase"]): r for r in result.rows if "phase" in r.dims}
    for name in ("imlm", "act_dcf", "p_miss", "p_fa", "n_annotations"):
        for phase in ("pre", "post"):
            row = rows[name, phase]
            assert (
                row.dims | {"system": "margin-2", "strategy": "margin", "budget": "2"} == row.dims
            )
    log = events(whole / "run" / "logs" / "margin" / "2" / "seed-0.jsonl.gz")
    batches = {e["batch"] for e in log if "batch" in e}
    asked = [e for e in log if e["event"] == "query"]
    assert batches == set(range(10))  # 60 items, 4 of them before the stream
    assert len(asked) == 2 * 10
    # By hand, from the logs: both seeds have 4 + 20 annotations, 24 on average.
    assert rows["n_annotations", "post"].value == 24
    assert rows["n_annotations", "pre"].value == 22


def test_the_result_is_what_the_logs_score(whole, run):
    logs = whole / "run" / "logs" / "margin" / "2"
    code, out, _ = run("streams", "score", logs, "--replicates", "50", "--json")
    assert code == 0
    alone = [r for r in json.loads(out)["rows"] if "phase" in r["dims"]]
    stored = json.loads((whole / "run" / "result.json").read_bytes())
    assert [(r["measure"], r["value"], r["lower"], r["upper"]) for r in alone] == [
        (r["measure"], r["value"], r["lower"], r["upper"])
        for r in stored["rows"]
        if "phase" in r["dims"]
    ]


def test_the_configuration_names_no_paths_and_can_be_read_again(whole):
    result = result_of(whole / "run")
    assert str(whole) not in result.configuration
    assert str(whole).encode() not in b"".join(tree(whole / "run").values())
    import tomllib

    tables = tomllib.loads(result.configuration)
    assert tables == {**tables_of(), "source": {**tables_of()["source"], "file": "items.csv"}}
    hashes = {i.file: i.sha256 for i in result.inputs}
    logs = whole / "run" / "logs" / "margin" / "2"
    assert hashes == {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in (whole / "items.csv", *sorted(logs.iterdir()))
    }


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("jobs", [1, 3])
def test_any_number_of_processes_gives_the_same_bytes(whole, tmp_path, jobs, run):
    code, *_ = run("run", whole / "stream.toml", "-o", tmp_path / "run", "--jobs", jobs)
    assert code == 0
    assert tree(tmp_path / "run") == tree(whole / "run")


def test_generators_of_the_process_do_not_carry_over_from_job_to_job(tmp_path):
    study = write_study(tmp_path, learner={"options": {"drawn": True}}, loop={"seeds": 3})
    found = []
    for jobs in (1, 3):
        target = tmp_path / str(jobs)
        assert cli.run(["run", str(study), "-o", str(target), "--jobs", str(jobs), "-q"]) == 0
        found.append(tree(target))
    assert found[0] == found[1]


@pytest.mark.usefixtures("workers")
def test_what_a_learner_prints_is_no_answer_of_its_process(tmp_path, run):
    study = write_study(tmp_path, learner={"options": {"printed": "{}\n"}}, loop={"seeds": 1})
    code, out, err = run("run", study, "-o", tmp_path / "run", "--json")
    assert code == 0
    assert json.loads(out)["rows"]
    assert "{}\n{}\n" in err


def test_a_passive_baseline_counts_its_training_labels(tmp_path, run):
    study = write_study(tmp_path, loop={"passive": True}, source={"pool": 20})
    code, out, _ = run("run", study, "-o", tmp_path / "run", "--json")
    assert code == 0
    rows = {
        (r["dims"]["system"], r["measure"]): r
        for r in json.loads(out)["rows"]
        if r["dims"].get("phase") == "post"
    }
    assert rows["passive", "n_annotations"]["value"] == 20
    assert rows["passive", "imlm"]["dims"]["strategy"] == "passive"
    assert "budget" not in rows["passive", "imlm"]["dims"]
    assert rows["margin-2", "n_annotations"]["value"] == 4 + 2 * 6


def test_a_rate_of_the_items_in_place_of_a_budget(tmp_path, run):
    study = write_study(tmp_path, loop={"budget": None, "rate": 0.25, "seeds": 1})
    code, out, _ = run("run", study, "-o", tmp_path / "run", "--json")
    assert code == 0
    row = next(r for r in json.loads(out)["rows"] if r["measure"] == "n_annotations")
    assert row["dims"]["budget"] == "1.5"  # of 6 items
    log = events(tmp_path / "run" / "logs" / "margin" / "rate-0.25" / "seed-0.jsonl.gz")
    assert sum(e["event"] == "query" for e in log) == 56 // 4


def test_rates_that_are_close_have_logs_of_their_own():
    found = {Job(strategy="margin", seed=0, rate=rate).path for rate in (0.1234567, 0.1234568)}
    assert found == {
        "margin/rate-0.1234567/seed-0.jsonl.gz",
        "margin/rate-0.1234568/seed-0.jsonl.gz",
    }


def test_what_a_person_is_like_enters_the_log(tmp_path):
    person = {"seconds": [3, 1], "delay": 2, "refusal": 0.3, "error_rate": 0.2}
    study = tc.Study.read(str(write_study(tmp_path, expert=person, loop={"seeds": 1})))
    run_live(study, tmp_path / "run")
    log = events(tmp_path / "run" / "logs" / "margin" / "2" / "seed-0.jsonl.gz")
    queried = {e["id"]: e["batch"] for e in log if e["event"] == "query"}
    answers = [e for e in log if e["event"] == "answer" and "batch" in e]
    assert {e["batch"] - queried[e["id"]] for e in answers} == {2}
    assert any("label" not in e for e in answers)
    assert len({e["active_seconds"] for e in answers}) > 3


def test_a_recorded_person_answers_as_in_the_log(tmp_path):
    study = write_study(tmp_path, loop={"seeds": 1}, expert={"error_rate": 0.3, "seconds": 2})
    run_live(tc.Study.read(str(study)), tmp_path / "first")
    log = tmp_path / "first" / "logs" / "margin" / "2" / "seed-0.jsonl.gz"
    other = write_study(tmp_path, "again.toml", loop={"seeds": 1}, expert={"file": str(log)})
    run_live(tc.Study.read(str(other)), tmp_path / "second")
    again = tmp_path / "second" / "logs" / "margin" / "2" / "seed-0.jsonl.gz"
    assert again.read_bytes() == log.read_bytes()


def test_numbers_and_classes_are_scored_as_such(tmp_path):
    write_study(tmp_path)
    draws = np.random.default_rng(1)
    x = draws.normal(size=50)
    table = {"x": x, "y": draws.normal(size=50), "number": (2 * x).round(2)}
    pl.DataFrame({**table, "name": np.where(x > 0.5, "b", np.where(x < -0.5, "c", "a"))}).write_csv(
        tmp_path / "items.csv"
    )
    for kind, label, learner, measure in (
        ("numbers", "number", "sklearn.linear_model:LinearRegression", "mean_loss"),
        ("classes", "name", "sklearn.linear_model:LogisticRegression", "error_rate"),
    ):
        study = {
            "task": "streams",
            "source": {
                "file": str(tmp_path / "items.csv"),
                "label": label,
                "kind": kind,
                "features": ["x", "y"],
            },
            "loop": {"batch": 10, "budget": 3, "bootstrap": 6},
            "learner": {"name": "sklearn", "model": learner},
            "strategy": {"name": "random"},
            "streams": {"tolerance": 1.0} if kind == "numbers" else {},
            "interval": {"replicates": 20},
        }
        outcome = run_live(tc.Study.from_tables(study), tmp_path / kind)
        assert measure in {row.measure for row in outcome.estimates}


# Resuming


@pytest.mark.parametrize(
    ("checkpoint", "kills"),
    [(None, 1), (2, 1), *(pytest.param(every, 4, marks=pytest.mark.long) for every in (None, 2))],
)
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path, checkpoint, kills, start):
    moments = random.Random(checkpoint or 0)
    # Late answers are the hardest: those on their way are not in the log yet.
    more = {"loop": {"checkpoint": checkpoint}, "learner": {"options": {"pause": 0.01}}}
    study = write_study(tmp_path, expert={"delay": [0, 2], "seconds": [3, 1]}, **more)
    command = ("run", study, "--jobs", "2", "-q", "-o")
    alone = ("run", study, "--jobs", "1", "-q", "-o", tmp_path / "whole")
    assert cli.run([*map(str, alone)]) == 0
    expected = tree(tmp_path / "whole")
    for k in range(kills):
        target = tmp_path / f"killed-{k}"
        process = start(*command, target)
        wait_for(lambda t=target: unfinished(t), process)
        time.sleep(moments.random() * 0.5)  # on a busy machine all may be done by then
        process.kill()
        process.communicate()
        assert cli.run([str(a) for a in (*command, target, "--resume")]) == 0
        assert tree(target) == expected


def test_resume_of_every_stage_of_a_directory(whole, tmp_path, run):
    expected = tree(whole / "run")
    half = gzip.decompress(expected["logs/margin/2/seed-1.jsonl.gz"])
    stages = [
        {},
        {"logs/recipe.toml": expected["logs/recipe.toml"], "logs/.truecost-x/new/a": b"killed"},
        {"logs/recipe.toml": expected["logs/recipe.toml"]},
        {n: c for n, c in expected.items() if n.startswith("logs") and "seed-1" not in n}
        | {"logs/margin/2/seed-1.jsonl.part": half[: len(half) // 2]},
        {n: c for n, c in expected.items() if n.startswith("logs")},
        expected,
        # killed while it compressed, and before it removed what it compressed
        {n: c for n, c in expected.items() if n.startswith("logs") and "seed-1" not in n}
        | {"logs/margin/2/seed-1.jsonl.part": half, "logs/margin/2/.seed-1.jsonl.gz": half[:99]},
        expected
        | {"logs/margin/2/seed-1.jsonl.part": half, "logs/margin/2/.seed-1.jsonl.gz": b"x"},
    ]
    for k, stage in enumerate(stages):
        target = tmp_path / f"{k}"
        target.mkdir()
        for name, content in stage.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content)
        code, *_ = run("run", whole / "stream.toml", "-o", target, "--resume")
        assert code == 0
        assert tree(target) == expected


def test_ctrl_c_keeps_the_logs_and_leaves_no_process(tmp_path, run, start):
    study = write_study(tmp_path, learner={"options": {"pause": 0.05}})
    target = tmp_path / "run"
    process = start("run", study, "-o", target, "--jobs", "2", start_new_session=True)
    wait_for(lambda: len(unfinished(target)) == 2, process)
    workers = children(process.pid)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"logs are in {target / 'logs'}: continue with --resume\ntruecost: interrupted" in said
    assert "Traceback" not in said
    assert not (target / "result.json").exists()
    assert not [pid for pid in workers if alive(pid)]
    assert run("run", study, "-o", target, "--resume")[0] == 0


def test_workers_end_when_their_parent_is_killed(tmp_path, start):
    study = write_study(tmp_path, learner={"options": {"pause": 0.05}})
    target = tmp_path / "run"
    process = start("run", study, "-o", target, "--jobs", "2")
    wait_for(lambda: len(unfinished(target)) == 2, process)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert gone(workers)


def test_more_seeds_join_a_run(tmp_path, run):
    few = write_study(tmp_path, "few.toml", loop={"seeds": 1})
    more = write_study(tmp_path, "more.toml", loop={"seeds": 3})
    assert run("run", few, "-o", tmp_path / "grown")[0] == 0
    assert run("run", more, "-o", tmp_path / "grown", "--resume")[0] == 0
    assert run("run", more, "-o", tmp_path / "whole")[0] == 0
    assert tree(tmp_path / "grown") == tree(tmp_path / "whole")


def test_runs_of_a_system_are_those_named(whole):
    logs = str(whole / "run" / "logs" / "margin" / "2")

    def items(**keys):
        table = {"task": "streams", "systems": {"a": {"file": logs, **keys}}}
        [found, *_] = tc.run({**table, "interval": {"replicates": 20}}).estimates
        return found.n_trials

    assert items() == 2 * items(runs=["seed-1"])
    with pytest.raises(InputError, match=r"has no log of seed-7, named under runs; the logs there"):
        items(runs=["seed-0", "seed-7"])


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"source": {"order": "given"}}, "source.order was 'shuffled' and is now 'given'"),
        ({"loop": {"batch": 5}}, "batch was 6 and is now 5"),
        ({"loop": {"bootstrap": 2}}, "bootstrap was 4 and is now 2"),
        (
            {"learner": {"options": {"pause": 0}}},
            "learner_options.options.pause was nothing and is now 0",
        ),
        ({"expert": {"error_rate": 0.5}}, "person.error_rate was 0.0 and is now 0.5"),
        ({"learner": {"name": "logistic", "python": None}}, "learner was 'callable' and is now"),
    ],
)
def test_another_study_is_not_resumed(whole, tmp_path, tables, said, run):
    target = tmp_path / "run"
    other = write_study(tmp_path / "study", **tables)
    (target / "logs").mkdir(parents=True)
    (target / "logs" / "recipe.toml").write_bytes(tree(whole / "run")["logs/recipe.toml"])
    code, _, err = run("run", other, "-o", target, "--resume")
    assert code == 2
    assert f"{target}/logs/recipe.toml: the run there is of another study: " in err
    assert said in err


def test_options_of_a_strategy_are_part_of_the_recipe(tmp_path, run):
    study = write_study(tmp_path, strategy={"name": "density"}, loop={"seeds": 1})
    assert run("run", study, "-o", tmp_path / "run")[0] == 0
    study = write_study(tmp_path, strategy={"name": "density", "options": {"beta": 2}})
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 2
    assert "strategies.density.beta was nothing and is now 2" in err


@pytest.mark.parametrize("seeds", [1, 2])
def test_changed_data_are_not_resumed(tmp_path, run, seeds):
    study = write_study(tmp_path, loop={"seeds": 1})
    assert run("run", study, "-o", tmp_path / "run")[0] == 0
    before = tree(tmp_path / "run")
    study = write_study(tmp_path, loop={"seeds": seeds})
    items = tmp_path / "items.csv"
    lines = items.read_text().splitlines()
    items.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 2
    assert "of another study: source.file names data that have changed since. Resume the run" in err
    assert tree(tmp_path / "run") == before  # which also names the data that the logs saw


def test_a_changed_recorded_person_is_not_resumed(tmp_path, run):
    study = write_study(tmp_path, loop={"seeds": 1})
    run_live(tc.Study.read(str(study)), tmp_path / "first")
    log = tmp_path / "first" / "logs" / "margin" / "2" / "seed-0.jsonl.gz"
    other = write_study(tmp_path, "again.toml", loop={"seeds": 1}, expert={"file": str(log)})
    run_live(tc.Study.read(str(other)), tmp_path / "second")
    log.write_bytes(gzip.decompress(log.read_bytes()))
    code, _, err = run("run", other, "-o", tmp_path / "second", "--resume")
    assert code == 2
    assert "person.file names data that have changed since" in err


def test_a_list_of_clips_named_in_a_folder_is_an_input(tmp_path):
    clips = tmp_path / "corpus" / "clips"
    clips.mkdir(parents=True)
    names = [f"{language}{k}.mp3" for k in range(12) for language in ("or", "hi")]
    for name in names:
        (clips / name).write_bytes(b"x" * (len(name) + 40 * name.startswith("or")))
    lines = ["path\tlocale", *(f"{name}\t{name[:2]}" for name in names)]
    (tmp_path / "corpus" / "test.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "lengths.py").write_text(
        "import os\n\n\ndef length(path):\n    return [os.path.getsize(path), 1]\n"
    )
    source = {"name": "common-voice", "file": None, "tsv": "test.tsv", "target": "or"}
    study = tc.Study.from_tables(
        tables_of(
            source={**source, "folder": str(tmp_path / "corpus"), "extractor": "lengths:length"},
            loop={"folder": str(tmp_path), "seeds": 1},
            learner={"name": "logistic", "python": None},
        )
    )
    inputs = {i.file: i.sha256 for i in run_live(study, tmp_path / "run").inputs}
    listed = (tmp_path / "corpus" / "test.tsv").read_bytes()
    assert inputs["test.tsv"] == sha256(listed).hexdigest()


@pytest.mark.parametrize("done", [True, False])
def test_seeds_of_other_streams_are_not_pooled(tmp_path, run, done):
    """As when a library gives other data than then; no file says so."""
    study = write_study(tmp_path, loop={"seeds": 1})
    assert run("run", study, "-o", tmp_path / "run")[0] == 0
    logs = tmp_path / "run" / "logs"
    said = json.loads((logs / "streams" / "seed-0.json").read_text())
    said[0]["digest"] = "0" * 16
    (logs / "streams" / "seed-0.json").write_text(json.dumps(said))
    if not done:
        (logs / "margin" / "2" / "seed-0.jsonl.gz").unlink()
    study = write_study(tmp_path, loop={"seeds": 2})
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 3
    assert "seed-0.json: the streams are not those with which this run began" in err
    assert not [*logs.rglob("seed-1.*")]


def test_a_learner_that_changed_is_not_resumed(whole, tmp_path, run):
    expected = tree(whole / "run")
    study = write_study(tmp_path / "study")
    learner = tmp_path / "study" / "means.py"
    learner.write_text(learner.read_text().replace("np.ones(2)", "2 * np.ones(2)"))
    part = tmp_path / "run" / "logs" / "margin" / "2" / "seed-0.jsonl.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(gzip.decompress(expected["logs/margin/2/seed-0.jsonl.gz"])[:5000])
    before = part.read_bytes()
    (tmp_path / "run" / "logs" / "recipe.toml").write_bytes(expected["logs/recipe.toml"])
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 3
    assert "margin, 2 questions a batch, seed 0" in err
    assert "the run cannot be resumed" in err
    assert part.read_bytes() == before


def test_two_runs_never_write_the_same_logs(whole, tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("truecost.study.directory.WAIT", 0.2)
    logs = tmp_path / "run" / "logs"
    logs.mkdir(parents=True)
    held = os.open(logs, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    study = tc.Study.read(str(whole / "stream.toml"))
    with pytest.raises(InputError, match="another process is using it: wait until it has finished"):
        run_live(study, tmp_path / "run", resume=True)
    os.close(held)


# What is refused before anything runs


def test_where_a_run_may_go(whole, tmp_path, run):
    study = whole / "stream.toml"
    code, _, err = run("run", study)
    assert code == 2
    assert "a live run writes event logs: name a directory for them, -o FOLDER" in err
    code, _, err = run("run", study, "-o", whole / "run")
    assert code == 2
    assert "there is a run already: continue it (--resume), or choose another --output" in err
    (tmp_path / "notes.txt").write_text("mine")
    code, _, err = run("run", study, "-o", tmp_path)
    assert code == 2
    assert f"{tmp_path}: exists and is not empty: choose another --output" in err
    code, _, err = run("run", study, "-o", tmp_path, "--resume")
    assert code == 2
    assert "is not empty; there is no run to resume: choose another" in err
    code, _, err = run("run", study, "-o", tmp_path / "notes.txt")
    assert code == 2
    assert "this is a file" in err


def test_only_live_runs_resume(tmp_path, run):
    (tmp_path / "scores.csv").write_text("id,score,label\na,1,1\nb,0,0\nc,1,1\nd,0,0\n")
    study = tmp_path / "study.toml"
    study.write_text('data.type = "llr"\nsystems.a.file = "scores.csv"\n')
    code, _, err = run("run", study, "-o", tmp_path / "out", "--resume")
    assert code == 2
    assert "nothing to resume: only a study with [source]" in err
    assert not (tmp_path / "out").exists()


def test_python_is_told_to_run_live():
    with pytest.raises(UsageError, match="makes event logs first: truecost run STUDY -o FOLDER"):
        tc.run(tables_of())
    with pytest.raises(UsageError, match=r"the study has no \[source\]: only live runs make logs"):
        run_live(
            tc.Study.from_tables({"task": "streams", "systems": {"a": {"file": "a.jsonl"}}}),
            "nowhere",
        )


REFUSED = {
    "[loop] batches": (
        {"loop": {"batches": 5}},
        "loop.batches is not known (did you mean 'batch'?)",
    ),
    "[sorce]": ({"sorce": {"a": 1}}, "sorce is not known (did you mean 'source'?)"),
    "word": ({"loop": {"batch": "six"}}, "loop.batch is 'six' (str): give a whole number"),
    "batch": ({"loop": {"batch": 0}}, "[loop] batch is 0: give a number at least 1"),
    "seeds": ({"loop": {"seeds": 0}}, "[loop] seeds is 0: give a number at least 1 and at most"),
    "many": (
        {"loop": {"seeds": 10**9}},
        "[loop] seeds is 1,000,000,000: give a number at least 1 and",
    ),
    "rate": (
        {"loop": {"rate": 1.5, "budget": None}},
        "[loop] rate is 1.5: give a number",
    ),
    "rate and budget": ({"loop": {"rate": 0.5}}, "rate and budget are both given"),
    "negative": ({"loop": {"budget": -1}}, "[loop] budget is -1: give a number at least 0"),
    "above": (
        {"loop": {"budget": 7}},
        "budget 7 is above the batch size: a batch has 6 items, and each can be asked about once",
    ),
    "no source": ({"source": dict.fromkeys(tables_of()["source"])}, "without [source]: name"),
    "task": ({"task": "trials"}, "are for task streams; the task of the study is trials"),
    "systems": ({"systems": {"a": {"file": "a.jsonl"}}}, "has [source] and [systems]"),
    "labels": ({"data": {"labels": "l.csv"}}, "labels under [data] does not fit [source]"),
    "strategy": ({"strategy": {"name": "margn"}}, "there is no strategy 'margn' (did you mean"),
    "passive": ({"strategy": {"name": "passive"}}, "'passive' is not a strategy"),
    "who asks": (
        {"strategy": {"name": None}},
        "the learner callable may ask by itself: name the strategy",
    ),
    "option": ({"strategy": {"options": {"beta": 1}}}, "strategy margin has no option 'beta'"),
    "order": ({"source": {"order": "sorted"}}, "source.order is 'sorted': choose one of"),
    "baseline": ({"baseline": "old"}, "baseline 'old' is not one of the systems: margin-2"),
    "measure": ({"measures": ["imlmm"]}, "imlmm"),
    "source": ({"source": {"file": None}}, "[source] name = 'table' needs file = ..."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_runs(tmp_path, run, case):
    tables, said = REFUSED[case]
    study = write_study(tmp_path, **{k: v for k, v in tables.items() if k != "task"})
    if "task" in tables:
        study.write_text(study.read_text().replace('"streams"', '"trials"'))
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 2
    assert said in err
    assert not (tmp_path / "run").exists()


# What fails while it runs


FAULTS = {
    "shape": "expected",
    "nan": "nan",
    "raise": "predict failed (RuntimeError: no more)",
    "killed": "the process of this job was ended from outside (SIGKILL)",
}


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_learner_is_named_and_logs_stay(tmp_path, run, fault):
    study = write_study(tmp_path, learner={"options": {"fault": fault}})
    target = tmp_path / "run"
    code, _, err = run("run", study, "-o", target)
    assert code == 3
    assert FAULTS[fault] in err
    if fault != "killed":
        assert "margin, 2 questions a batch, seed " in err
        assert "batch 1" in err
    assert f"(logs are in {target / 'logs'}: continue with --resume)" in err
    assert not (target / "result.json").exists()
    assert [*target.rglob("*.part")]


def test_what_fails_before_the_first_event_leaves_nothing_behind(tmp_path, run):
    study = write_study(tmp_path, learner={"python": "means:maker"})
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 2
    assert "means has no 'maker' (did you mean 'make'?)" in err
    assert not (tmp_path / "run").exists()
    study = write_study(tmp_path)
    (tmp_path / "items.csv").write_text("id,label,x,y\na,1,0,nan\nb,0,1,1\n")
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 3
    assert "items.csv" in err
    assert "logs are in" not in err
    assert not (tmp_path / "run").exists()
    write_study(tmp_path)
    assert run("run", study, "-o", tmp_path / "run")[0] == 0  # mended: nothing is in the way


# A shell answers at once, however busy the machine is.
PROGRAM = """
read message
echo '{"ready": 1, "name": "p", "asks": false, "snapshots": false}'
read message
"""


@pytest.mark.parametrize(
    ("fault", "timeout", "said"),
    [
        ("exec sleep 60", 2.0, "did not"),
        ("exit 4", 60.0, "exit code 4"),
        ("echo 'what?'; exec cat", 60.0, "what?"),
    ],
)
def test_a_program_that_hangs_dies_or_babbles(tmp_path, run, fault, timeout, said):
    learner = {"name": "program", "python": None, "command": ["sh", "p.sh"], "timeout": timeout}
    study = write_study(tmp_path, learner=learner)
    (tmp_path / "p.sh").write_text(f"{PROGRAM}{fault}\n")
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 3
    assert "program p, message adapt (the items before the stream)" in err
    assert said in err
    assert "margin, 2 questions a batch, seed " in err
    assert not (tmp_path / "run" / "result.json").exists()


def test_own_strategy_needs_a_learner_that_asks(tmp_path, run):
    study = write_study(tmp_path, strategy={"name": "own"})
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 2
    assert "the strategy is 'own', but the learner callable does not ask" in err


def test_a_learner_that_asks_itself(tmp_path, run):
    study = write_study(tmp_path, strategy={"name": "own"}, loop={"seeds": 1})
    with (tmp_path / "means.py").open("a") as file:
        file.write(
            "\n\nfrom truecost.learning.system import Question\n\n\n"
            "def ask(self, batch, budget):\n    return [Question(i) for i in batch.ids[:budget]]\n"
            "\n\nMeans.ask = ask\n"
        )
    assert run("run", study, "-o", tmp_path / "run")[0] == 0
    log = events(tmp_path / "run" / "logs" / "own" / "2" / "seed-0.jsonl.gz")
    first = [e["id"] for e in log if e["event"] == "predict" and e["phase"] == "pre"]
    assert [e["id"] for e in log if e["event"] == "query"][:2] == first[:2]


# The tables


def test_the_table_of_the_source_has_the_keys_of_the_source():
    from truecost.learning.options import SourceTable
    from truecost.learning.source import Source

    of_courses = {"text"}  # lifelong learning reads its courses from the same table
    assert set(SourceTable.__struct_fields__) == set(Source.__struct_fields__) | of_courses


def test_paths_are_meant_from_the_folder_of_the_study(tmp_path):
    study = tc.Study.read(str(write_study(tmp_path, expert={"file": "old.jsonl"})))
    assert study.source.file == str(tmp_path / "items.csv")
    assert study.expert.file == str(tmp_path / "old.jsonl")
    assert study.loop.folder == str(tmp_path)


def test_the_command_line_is_laid_over_the_tables(tmp_path):
    base = tc.Study.from_tables(tables_of(learner={"options": {"a": 1}}))
    over = tc.Study.from_tables(
        {"task": "streams", "loop": {"seeds": 5}, "learner": {"options": {"b": 2}}}
    )
    found = over.over(base)
    assert (found.loop.seeds, found.loop.batch) == (5, 6)
    assert found.learner.options == {"a": 1, "b": 2}
    assert found.source == base.source


# What there is to choose from


def test_strategies_learners_and_sources_are_listed(run):
    from truecost.learning.learners.building import NAMES as LEARNERS
    from truecost.learning.lifelong.course import kinds
    from truecost.learning.source import NAMES as SOURCES
    from truecost.learning.strategies.mixtures import kinds as strategies

    sources = dict.fromkeys((*SOURCES, *kinds()))
    listed = {"strategies": strategies(), "learners": LEARNERS, "sources": sources}
    for kind, names in listed.items():
        code, out, _ = run("list", kind, "--json")
        assert code == 0
        assert [entry["name"] for entry in json.loads(out)] == [*names]
    _, out, _ = run("list", "strategies")
    [energy] = [line for line in out.splitlines() if line.startswith("energy")]
    assert energy.endswith("; temperature: above 0 (1)")


def test_gates_of_a_live_run_decide_the_exit_code(tmp_path, run):
    study = write_study(tmp_path, loop={"seeds": 1})
    with study.open("a") as file:
        file.write('\n[[gate]]\nmeasure = "imlm"\nphase = "post"\nmax_upper = 0.01\n')
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 1
    assert "gate fail" in err
    assert len(result_of(tmp_path / "run").gates) == 1
