"""Live lifelong runs: logs of every pass, the result made of them, resuming, what is refused."""

import gzip
import json
import random
import shutil
import sys
import time
import tomllib
from hashlib import sha256

import polars as pl
import pytest

from lifelong_studies import table, tables_of, tree, write_study
from processes import being_written, end, started, wait_for
from truecost import cli
from truecost.learning.live.logs import life_jobs as jobs_of
from truecost.learning.live.logs import life_recipe as recipe_of
from truecost.study import Study

LOGS = {
    *(
        f"logs/{who}/{way}/seed-{k}.jsonl.gz"
        for who in ("means", "own")
        for way in ("assisted", "frozen")
        for k in (0, 1)
    ),
    *(f"logs/own/unsupervised/seed-{k}.jsonl.gz" for k in (0, 1)),
}


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that was run at one go: its folder with `run`."""
    folder = tmp_path_factory.mktemp("whole")
    study = write_study(folder)
    assert cli.run(["run", str(study), "-o", str(folder / "run"), "-q"]) == 0
    return folder


def events(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def rows_of(folder):
    return json.loads((folder / "result.json").read_bytes())["rows"]


# What a run makes


def test_every_system_has_its_baselines(whole):
    found = tree(whole / "run")
    assert {name for name in found if name.startswith("logs")} == {
        "logs/recipe.toml",
        *(f"logs/courses/seed-{seed}.json" for seed in (0, 1)),
        *LOGS,  # `means` does not adapt without answers: there is no such pass of it
    }
    named = {(r["dims"]["system"], r["dims"].get("strategy")) for r in rows_of(whole / "run")}
    assert named == {
        ("means", None),
        ("means-frozen", "frozen"),
        ("own", None),
        ("own-frozen", "frozen"),
        ("own-unsupervised", "unsupervised"),
    }


def test_a_log_tells_the_whole_life(whole):
    log = events(whole / "run/logs/means/assisted/seed-0.jsonl.gz")
    told = [e for e in log if e["event"] == "predict" and e.get("set") == "test"]
    cells = {(e["version"], e["t"]) for e in told if e["phase"] == "pre"}
    assert cells == {(version, at + 1.5) for version in range(5) for at in range(4)}
    assert len([e for e in log if e["event"] == "query" and "set" not in e]) == 2 * 4
    assert len([e for e in log if e["event"] == "query" and e.get("set") == "test"]) == 2 * 5 * 4
    frozen = events(whole / "run/logs/means/frozen/seed-0.jsonl.gz")
    assert {e["event"] for e in frozen} == {"answer", "adapt", "predict"}
    said = {}
    for e in frozen:
        if e["event"] == "predict" and e.get("set") == "test":
            said.setdefault(e["id"], set()).add(e["decision"])
    assert {len(decisions) for decisions in said.values()} == {1}  # M_0 says everything


def test_scores_are_those_of_the_logs_by_hand(whole):
    """Eq. 2 and Eq. 3 from the events alone."""
    stored = {
        (r["measure"], r["dims"]["policy"]): r["value"]
        for r in rows_of(whole / "run")
        if r["dims"]["system"] == "means" and "policy" in r["dims"] and "version" in r["dims"]
    }
    last, window = 4, [1.5, 2.5, 3.5]  # l_4 = 4: the test data of 4.5 are still to come
    weights = {"now": [2.0 ** -(4 - t) for t in window], "always": [1.0] * 3}
    for policy, given in weights.items():
        base, penalised = [], []
        for t in window:
            pairs = [_cell(whole, seed, last, t) for seed in (0, 1)]
            base.append(sum(b for b, _ in pairs) / 2)
            penalised.append(sum(p for _, p in pairs) / 2)
        total = sum(given)
        for measure, values in (("policy_score", base), ("penalised_score", penalised)):
            want = sum(w * v for w, v in zip(given, values, strict=True)) / total
            assert stored[f"{measure}", policy] == pytest.approx(want)


def _cell(folder, seed, version, t):
    """Base error, and adapted error plus what is impaired minus what is corrected."""
    log = events(folder / f"run/logs/means/assisted/seed-{seed}.jsonl.gz")
    here = [e for e in log if e.get("set") == "test" and e["version"] == version and e["t"] == t]
    wrong = {
        phase: {e["id"]: e["decision"] != e["label"] for e in here if e.get("phase") == phase}
        for phase in ("pre", "post")
    }
    asked = {e["id"] for e in here if e["event"] == "answer"}
    n = len(wrong["pre"])
    base = sum(wrong["pre"].values()) / n
    return base, sum(wrong["post"].values()) / n + len(asked) / n


def test_the_result_is_what_the_logs_score(whole, run):
    logs = whole / "run/logs/own/assisted"
    code, out, _ = run(
        "lifelong", "score", logs, "--kind", "classes", "--policy", "uniform",
        "--replicates", "50", "--json",
    )  # fmt: skip
    assert code == 0
    alone = {
        (r["measure"], r["value"], r["lower"])
        for r in json.loads(out)["rows"]
        if r["dims"].get("policy") == "uniform"
    }
    stored = {
        (r["measure"], r["value"], r["lower"])
        for r in rows_of(whole / "run")
        if r["dims"]["system"] == "own" and r["dims"].get("policy") == "always"
    }
    assert alone == stored
    assert stored


def test_the_configuration_names_no_paths_and_can_be_read_again(whole):
    stored = json.loads((whole / "run/result.json").read_bytes())
    assert str(whole).encode() not in b"".join(tree(whole / "run").values())
    assert tomllib.loads(stored["configuration"]) == tables_of()
    hashes = {i["file"]: i["sha256"] for i in stored["inputs"] if i["file"] == "items.csv"}
    assert hashes == {"items.csv": sha256((whole / "items.csv").read_bytes()).hexdigest()}


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_bytes_are_the_same_for_any_number_of_processes(whole, jobs, tmp_path, run):
    code, _, err = run("run", whole / "lifelong.toml", "-o", tmp_path / "run", "--jobs", jobs, "-q")
    assert code == 0, err
    assert tree(tmp_path / "run") == tree(whole / "run")


# Resuming


def test_a_run_that_is_killed_at_any_moment_goes_on_to_the_same_bytes(whole, tmp_path, run):
    moments = random.Random(4)
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        killed = 0
        for _ in range(2):
            process = started(
                "run", whole / "lifelong.toml", "-o", folder, "--resume", "-q", "--jobs", "2"
            )
            try:
                wait_for(lambda: being_written(folder), process)  # noqa: B023
                time.sleep(moments.random() * 0.3)
                killed += process.poll() is None
            finally:
                end(process)
        code, _, err = run("run", whole / "lifelong.toml", "-o", folder, "--resume", "-q")
        assert code == 0, err
        assert tree(folder) == tree(whole / "run"), killed


def test_checkpoints_change_nothing(whole, tmp_path, run):
    study = write_study(tmp_path, loop={"checkpoint": 1})
    assert run("run", study, "-o", tmp_path / "run", "-q")[0] == 0
    for name in LOGS:
        assert (tmp_path / "run" / name).read_bytes() == (whole / "run" / name).read_bytes()


def test_seeds_and_systems_may_join(whole, tmp_path, run):
    one = tables_of()["systems"]["own"]
    study = write_study(tmp_path, loop={"seeds": 1}, systems={"own": one})
    again = ("-o", tmp_path / "run", "-q", "--no-ledger")  # which counts both scorings
    assert run("run", study, *again)[0] == 0
    assert run("run", write_study(tmp_path), *again, "--resume")[0] == 0
    made, want = tree(tmp_path / "run"), tree(whole / "run")
    assert {name: made[name] for name in LOGS} == {name: want[name] for name in LOGS}
    assert made["result.json"] == want["result.json"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"help": {"questions": 1}}, "helping.questions was 2 and is now 1"),
        ({"expert": {"error_rate": 0.1}}, "person.error_rate was 0.0 and is now 0.1"),
        ({"help": {"test": False}}, "helping.test was True and is now False"),
        (
            {"systems": {"means": {"learner": {"name": "logistic"}}}},
            "systems.means.learner was 'callable' and is now 'logistic'",
        ),
        ({"source": {"label": "set"}}, "source.label was nothing and is now 'set'"),
    ],
    ids=["questions", "expert", "test", "learner", "source"],
)
def test_a_run_goes_on_with_the_same_recipe_only(whole, changed, said, tmp_path, run):
    shutil.copytree(whole / "run" / "logs", tmp_path / "run" / "logs")
    study = write_study(tmp_path, **changed)
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 2
    assert said in err
    assert "the run there is of another study" in err


def test_a_run_goes_on_with_the_same_data_only(whole, tmp_path, run):
    shutil.copytree(whole / "run" / "logs", tmp_path / "run" / "logs")
    study = write_study(tmp_path, table(seed=1))
    code, _, err = run("run", study, "-o", tmp_path / "run", "--resume")
    assert code == 2
    assert "source.file names data that have changed since" in err


def test_another_run_in_the_folder_has_to_be_resumed(whole, run):
    code, _, err = run("run", whole / "lifelong.toml", "-o", whole / "run")
    assert code == 2
    assert "there is a run already" in err
    assert "--resume" in err


def test_a_fault_names_the_job_and_keeps_what_there_is(whole, tmp_path, run):
    good = tables_of()["systems"]
    bad = {"name": "callable", "python": "means:make", "options": {"fault": True}}
    study = write_study(tmp_path, systems={**good, "zealous": {"learner": bad}})
    code, _, err = run("run", study, "-o", tmp_path / "run", "--jobs", "1")
    assert code == 3
    assert "zealous, assisted, seed 0" in err
    assert "no more" in err
    assert "continue with --resume" in err
    assert (tmp_path / "run/logs/own/assisted/seed-0.jsonl.gz").exists()
    assert not (tmp_path / "run/result.json").exists()
    code, _, err = run("run", write_study(tmp_path), "-o", tmp_path / "run", "--resume", "-q")
    assert code == 0, err  # the faulty system is left out
    assert rows_of(tmp_path / "run") == rows_of(whole / "run")


def test_other_simulations_of_a_person_are_not_compared(tmp_path, run):
    """The log names the settings that are not plain."""
    one = {"means": tables_of()["systems"]["means"]}
    people = {
        "plain": ({"seconds": None}, "reference"),
        "again": ({"seconds": 1.0}, "reference"),
        "errs": ({"seconds": None, "error_rate": 0.1}, "reference(error_rate=0.1)"),
    }
    logs = {}
    for name, (expert, called) in people.items():
        study = write_study(tmp_path / name, expert=expert, loop={"seeds": 1}, systems=one)
        code, _, err = run("run", study, "-o", tmp_path / name / "run", "-q")
        assert code == 0, err
        logs[name] = tmp_path / name / "run/logs/means/assisted"
        log = events(logs[name] / "seed-0.jsonl.gz")
        told = {e["expert"] for e in log if e["event"] == "answer" and "batch" in e}
        assert told == {called}
    compare = ("lifelong", "compare", "--replicates", "20")
    code, _, err = run(*compare, f"a={logs['plain']}", f"b={logs['again']}")
    assert code == 0, err
    code, out, err = run(*compare, f"a={logs['plain']}", f"b={logs['errs']}")
    assert (code, out) == (3, "")
    assert "different people helped a and b (reference against reference(error_rate=0.1))" in err
    code, _, err = run("lifelong", "score", *compare[2:], *logs.values())  # side by side
    assert code == 0, err


# Learners of users


def test_learners_of_all_makes_live_through_a_course(tmp_path, run):
    pytest.importorskip("river")
    learners = {
        "sklearn": {"name": "sklearn", "model": "sklearn.naive_bayes:GaussianNB"},
        "river": {"name": "river", "model": "river.naive_bayes:GaussianNB"},
        "program": {"name": "program", "command": [sys.executable, "signs.py"]},
    }
    systems = {name: {"learner": how} for name, how in learners.items()}
    study = write_study(tmp_path, systems=systems, loop={"seeds": 1})
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    logs = sorted(
        str(p.relative_to(tmp_path / "run/logs")) for p in (tmp_path / "run").rglob("*.gz")
    )
    assert logs == sorted(
        f"{who}/{way}/seed-0.jsonl.gz" for who in learners for way in ("assisted", "frozen")
    )
    known = {
        r["dims"]["system"]: r["value"]
        for r in rows_of(tmp_path / "run")
        if r["measure"] == "lifelong_score"
    }
    assert known["sklearn"] < known["sklearn-frozen"] or known["river"] < known["river-frozen"]


def test_a_learner_that_remembers_test_data_is_refused(tmp_path, run):
    how = {"name": "callable", "python": "means:forgetful"}
    study = write_study(tmp_path, systems={"cheat": {"learner": how}})
    code, _, err = run("run", study, "-o", tmp_path / "run", "--jobs", "1")
    assert code == 3
    assert "cheat, assisted, seed 0" in err
    assert "restore of version" in err


def test_a_person_can_volunteer_in_place_of_being_asked(tmp_path, run):
    study = write_study(
        tmp_path, help={"questions": None, "corrections": 3, "rounds": 2, "word_seconds": 0.5}
    )
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    log = events(tmp_path / "run/logs/means/assisted/seed-0.jsonl.gz")
    assert "query" not in {e["event"] for e in log}
    given = [e for e in log if e["event"] == "answer" and e.get("set") != "bootstrap"]
    assert given
    assert {e["active_seconds"] for e in given} == {3.0 + 0.5}  # of a class one word is put in


# What is refused


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"loop": {"batch": 4}}, "[loop] batch is for task streams"),
        ({"loop": {"seeds": 0}}, "[loop] seeds is 0: give a number at least 1"),
        (
            {"loop": {"seeds": 10**9}},
            "[loop] seeds is 1,000,000,000: give a number at least 1 and at most",
        ),
        ({"sweep": {"budgets": [1, 2]}}, "[sweep] is for task streams"),
        ({"data": {"labels": "x.csv"}}, "labels under [data] does not fit [source]"),
        ({"systems": {"a": {"file": "x"}}}, "[systems.a] has file, and the study has [source]"),
        ({"systems": {"a/b": {}}}, "[systems.a/b]: the name of a system is also that of a folder"),
        (
            {"systems": {"courses": {}}},
            "[systems.courses]: the name of a system is also that of a folder",
        ),
        ({"systems": {"a-frozen": {}}}, "names that end in -frozen or -unsupervised"),
        ({"systems": {"a": {"learner": {"nam": "x"}}}}, "nam is not known (did you mean 'name'?)"),
        ({"systems": {"a": {"learner": {"name": "logistik"}}}}, "did you mean 'logistic'?"),
        ({"systems": {"a": {"strategy": "margn"}}}, "there is no strategy 'margn'"),
        ({"baseline": "b"}, "baseline 'b' is not one of the systems: means,"),
        ({"help": {"questions": -1}}, "[help] questions is -1: give a number at least 0"),
        ({"help": {"questions": 6}}, "above the batch size of 5"),
        ({"help": {"rounds": 0}}, "[help] rounds is 0: give a number at least 1"),
        ({"help": {"offline": 3}}, "does not adapt offline"),
        ({"source": {"nam": 1}}, "source.nam is not known"),
        ({"source": {"chunks": 3}}, "name = 'table': option 'chunks' is not known"),
        ({"source": {"name": "digit"}}, "name = 'digit' is not known (did you mean 'digits'?)"),
        ({"source": {"options": {"file": "a"}}}, "[source]: file is given twice"),
        (
            {"source": {"file": None, "label": "l"}},
            "[source] name = 'table': option 'file' is needed",
        ),
        (
            {"lifelong": {"kind": "translation"}},
            "kind under [lifelong] is 'translation': leave kind out",
        ),
        ({"policies": {"now": {"kind": "recent"}}}, "half"),
        (
            {"expert": {"error_rate": float("nan")}},
            "[expert] error_rate is nan: give a finite",
        ),
        ({"source": {"options": {"a": [float("inf")]}}}, "[source] options.a is inf: a finite"),
        (
            {"systems": {"a": {"strategy_options": {"b": float("-inf")}}}},
            "[systems.a] strategy_options.b is -inf: a finite number",
        ),
        ({"loop": {"folder": "nowhere"}}, "nowhere: there is no such folder"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_left(tables, said, tmp_path, run):
    study = write_study(tmp_path, **tables)
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code in (2, 3)
    assert said in err
    assert not list((tmp_path / "run").rglob("result.json"))


def test_help_and_learners_of_systems_belong_to_live_lifelong_runs(tmp_path, run):
    study = tmp_path / "study.toml"
    study.write_text('task = "streams"\n[help]\nquestions = 1\n[source]\nname = "digits"\n')
    assert "[help] is for task lifelong" in run("run", study, "-o", tmp_path / "o")[2]
    study.write_text('task = "lifelong"\n[systems.a]\nfile = "x"\nlearner = {name = "logistic"}\n')
    code, _, err = run("run", study, "-o", tmp_path / "o")
    assert code == 2
    assert "[systems.a] has learner, which are for live lifelong runs" in err
    study.write_text('task = "lifelong"\n[help]\nquestions = 1\n[systems.a]\nfile = "x"\n')
    assert "[help] without [source]" in run("run", study, "-o", tmp_path / "o")[2]


def test_the_defaults(tmp_path):
    study = Study.from_tables(
        {"task": "lifelong", "source": {"name": "digits"}, "learner": {"name": "logistic"}}
    )
    recipe, jobs = recipe_of(study), jobs_of(study)
    assert (recipe.source, recipe.helping.questions, recipe.helping.test) == ("digits", 4, True)
    assert [(j.system, j.way, j.strategy) for j in jobs] == [
        ("logistic", way, "margin") for way in ("assisted", "unsupervised", "frozen")
    ]


def test_a_systems_learner_takes_what_is_left_from_the_table_of_all(tmp_path):
    study = Study.from_tables(
        {
            "task": "lifelong",
            "source": {"name": "digits"},
            "learner": {"name": "logistic", "options": {"C": 2.0}},
            "systems": {
                "a": {"learner": {"options": {"scale": "none"}}},
                "b": {"learner": {"name": "sklearn", "model": "m:C"}, "strategy": "random"},
            },
        }
    )
    a, b = (next(j for j in jobs_of(study) if j.system == name) for name in "ab")
    assert (a.learner, a.learner_options) == ("logistic", {"options": {"C": 2.0, "scale": "none"}})
    assert b.learner == "sklearn"
    assert b.learner_options["model"] == "m:C"
    assert "options" not in b.learner_options  # those are of another learner
    assert (a.strategy, b.strategy) == ("margin", "random")


# A table of one's own


def test_dates_are_days_and_items_of_a_time_are_a_batch(tmp_path, run):
    frame = table().with_columns(
        time=(pl.date(2026, 1, 1) + pl.duration(days=(pl.col("time") * 2).cast(pl.Int64))).cast(
            pl.String
        )
    )
    study = write_study(tmp_path, frame, loop={"seeds": 1})
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    course = json.loads((tmp_path / "run/logs/courses/seed-0.json").read_bytes())
    # 2026-01-01 is 20,454 days after 1970-01-01.
    assert course["learnt"] == [20456.0, 20458.0, 20460.0, 20462.0]
    assert course["tested"] == [20457.0, 20459.0, 20461.0, 20463.0]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda t: t.with_columns(set=pl.lit("train")), "another set than lifelong, test, initial"),
        (lambda t: t.with_columns(time=pl.lit("soon")), "line 2: the time 'soon' cannot be read"),
        (lambda t: t.drop("set"), "there is no column 'set' for the set"),
        (lambda t: t.rename({"label": "right"}), "there is no column of right labels"),
        (lambda t: t.with_columns(id=pl.lit("a")), "occurs twice: no item may be in two sets"),
        (
            lambda t: t.with_columns(time=pl.col("time") * (pl.col("set") != "test")),
            "the first test time must lie between",
        ),
        (lambda t: t.filter(pl.col("set") != "test"), "the test set has no batches"),
        (lambda t: t.with_columns(u=pl.lit("far")), "column 'u'"),
        (
            lambda t: t.with_columns(
                label=pl.when(pl.col("id") == "y1-1").then(None).otherwise("label")
            ),
            "1 empty cell of label (column 'label')",
        ),
    ],
    ids=["set", "time", "no set", "no label", "ids", "spread", "no test", "feature", "label"],
)
def test_a_table_that_is_no_course_is_refused_with_its_place(damage, said, tmp_path, run):
    study = write_study(tmp_path, damage(table()))
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code in (2, 3)
    assert said in err
    assert not (tmp_path / "run").exists()
