"""Measures of help beside baselines without, what a run says of its own logs, help to the end."""

import gzip
import json
import shutil

import numpy as np
import polars as pl
import pytest
import tomli_w

from described import of_type
from lifelong_studies import write_study
from truecost import cli
from truecost.errors import InputError
from truecost.learning import Batch, LogWriter, Outputs
from truecost.learning.checking import check_outputs
from truecost.learning.lifelong import Course, DomainExpert, Help, Life, run_lifelong
from truecost.learning.live.logs import life_jobs as jobs_of
from truecost.learning.passes import COURSES, PASSES
from truecost.learning.system import Stream
from truecost.study import Study
from truecost.study import paths as lifelong_runs

OF_HELP = ["penalised_score", "adapted_score", "penalty", "n_corrections", "help_words"]
LISTENER = '''
"""Replaces words, or whole texts, that were put right before; asks offline about the first items.

`Speller` learns words from texts, `Copier` learns texts as a whole.
"""

import json

from truecost.learning import Outputs, Question


class Copier:
    def __init__(self, task):
        self.words, self.texts, self.held = {}, {}, []

    def predict(self, batch):
        return Outputs(tuple(map(self.say, batch.features)))

    def say(self, heard):
        return self.texts.get(heard, heard)

    def adapt(self, batch, answered):
        self.held += [name for name in batch.ids if name not in self.held]
        for heard, right in zip(answered.items.features, answered.labels, strict=True):
            self.learn(heard, right)

    def learn(self, heard, right):
        self.texts[heard] = right

    def ask_offline(self, budget):
        return [Question(name) for name in self.held[-budget:]]

    def adapt_offline(self, answered):
        for heard, right in zip(answered.items.features, answered.labels, strict=True):
            self.learn(heard, right)

    def snapshot(self):
        return json.dumps([self.words, self.texts, self.held]).encode()

    def restore(self, state):
        self.words, self.texts, self.held = json.loads(state)


class Speller(Copier):
    def say(self, heard):
        return self.texts.get(heard, " ".join(self.words.get(w, w) for w in heard.split()))

    def learn(self, heard, right):
        super().learn(heard, right)
        self.words |= {h: r for h, r in zip(heard.split(), right.split(), strict=True) if h != r}


class Keeper(Copier):
    def snapshot(self):
        return {"texts": self.texts}
'''


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that asks for measures of help, run at one go."""
    folder = tmp_path_factory.mktemp("whole")
    study = write_study(folder, measures=["policy_score", *OF_HELP, "msr"], loop={"seeds": 1})
    assert cli.run(["run", str(study), "-o", str(folder / "run"), "-q"]) == 0
    return folder


def rows_of(folder):
    return json.loads((folder / "result.json").read_bytes())["rows"]


def measured(rows, system):
    return {r["measure"] for r in rows if r["dims"]["system"] == system}


def calls(seed=0):
    """Utterances in which words are heard wrong: 5 weeks to learn from, 5 to be tested on."""
    draws = np.random.default_rng(seed)
    words = ["leeds", "derby", "crewe", "thame", "looe"]
    rows = []
    for name, first in (("lifelong", 1.0), ("test", 1.5)):
        for week in range(4):
            for k in range(6):
                said = [str(w) for w in draws.choice(words, 3)]
                heard = [w[:-1] if w != "leeds" else w for w in said]
                rows.append((f"{name}{week}-{k}", name, first + week, heard, said))
    text = {"heard": pl.String, "said": pl.String}
    frame = pl.DataFrame(rows, ["id", "set", "time", "heard", "said"], orient="row")
    return frame.with_columns(pl.col("heard", "said").list.join(" ")).cast(text)


def listening(folder, who="Speller", measures=(), **tables):
    """A live study of transcripts; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    calls().write_csv(folder / "calls.csv")
    (folder / "listener.py").write_text(LISTENER)
    content = {
        "task": "lifelong",
        "measures": list(measures),
        "source": {"file": "calls.csv", "label": "said", "kind": "transcripts", "text": "heard"},
        "help": {"corrections": 1},
        "interval": {"replicates": 50},
        "systems": {"it": {"learner": {"name": "callable", "python": f"listener:{who}"}}},
        **tables,
    }
    path = folder / "calls.toml"
    path.write_text(tomli_w.dumps({k: v for k, v in content.items() if v not in ([], {})}))
    return path


# Measures of help, and baselines without


def test_baselines_have_no_rows_of_help_that_they_did_not_have(whole):
    rows = rows_of(whole / "run")
    for system in ("means", "own"):
        assert measured(rows, system) == {"policy_score", *OF_HELP, "msr"}
    for system in ("means-frozen", "own-frozen", "own-unsupervised"):
        assert measured(rows, system) == {"policy_score"}


def test_what_is_left_out_changes_nothing_of_what_is_there(whole, run):
    logs = whole / "run/logs/means/assisted"
    asked = ",".join(["policy_score", *OF_HELP, "msr"])
    policies = ("--policy", "recent:1", "--policy", "uniform", "--replicates", "50")
    code, out, err = run("lifelong", "score", logs, "--measure", asked, *policies, "--json")
    assert code == 0, err
    alone = [(r["measure"], r["value"], r["upper"]) for r in json.loads(out)["rows"]]
    stored = [r for r in rows_of(whole / "run") if r["dims"]["system"] == "means"]
    assert alone == [(r["measure"], r["value"], r["upper"]) for r in stored]


def test_only_measures_of_help_leave_baselines_without_rows(tmp_path, run):
    study = write_study(tmp_path, measures=OF_HELP, loop={"seeds": 1})
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    found = json.loads((tmp_path / "run/result.json").read_bytes())
    assert {r["dims"]["system"] for r in found["rows"]} == {"means", "own"}
    described = {of["dims"]["system"] for of in of_type(found, "system")}
    assert described == {"means", "own", "means-frozen", "own-frozen", "own-unsupervised"}


def test_systems_with_help_are_compared_and_others_where_they_can_be(tmp_path, run):
    measures = ["policy_score", "penalised_score"]
    study = write_study(tmp_path, measures=measures, baseline="means", loop={"seeds": 1})
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    rows = rows_of(tmp_path / "run")
    against = {(r["dims"]["system"], r["measure"]) for r in rows if r.get("baseline")}
    assert ("own", "penalised_score") in against
    assert not {who for who, measure in against if "-" in who and measure == "penalised_score"}


def test_files_beside_each_other_are_scored_alike(whole, run):
    logs = whole / "run/logs/means"
    asked = ("--measure", "policy_score,penalised_score", "--json", "--replicates", "50")
    code, out, err = run("lifelong", "score", logs / "assisted", logs / "frozen", *asked)
    assert code == 0, err
    rows = json.loads(out)["rows"]
    assert measured(rows, "means") == {"policy_score", "penalised_score"}
    assert measured(rows, "means-frozen") == {"policy_score"}
    code, _, err = run("lifelong", "score", logs / "frozen", *asked)
    assert code == 2  # no system has it
    assert "needs a person's help on the test set; means-frozen has outputs before help" in err
    code, _, err = run("lifelong", "compare", logs / "frozen", logs / "assisted", *asked)
    assert code == 0, err


def test_a_baseline_without_any_row_is_refused(whole, run):
    logs = whole / "run/logs/means"
    code, _, err = run(
        "lifelong", "compare", logs / "frozen", logs / "assisted", "--measure", "penalised_score"
    )
    assert code == 2
    assert "the baseline means-frozen had no help of a person" in err


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"measures": ["penalised_score"], "help": {"test": False}},
            "measure 'penalised_score' needs help with the test set: give questions",
        ),
        (
            {"measures": ["msr"], "help": {"questions": 0, "corrections": 0}},
            "measure 'msr' needs help with the test set",
        ),
        (
            {"measures": ["policy_score", "penalty"], "help": {"says": "verdicts"}},
            "measure 'penalty' needs the right outputs",
        ),
        (
            {"loop": {"seeds": 1}, "lifelong": {"factors": "item,seed"}},
            "factors under [lifelong] is 'item,seed', and this run has one seed",
        ),
        ({"measures": ["offline_answers"]}, "'offline_answers' needs offline help"),
        ({"measures": ["area_under_curve"]}, "'area_under_curve' needs offline help"),
        ({"measures": ["policy_score:wer"]}, "score 'wer' is not for classes"),
        ({"lifelong": {"score": "bleu"}}, "score 'bleu' is not for classes"),
        ({"lifelong": {"kind": "translation"}}, "the outputs of the source are classes"),
        (
            {"measures": ["penalty"], "baseline": "own-frozen"},
            "the baseline own-frozen had no help of a person, but all measures are about help",
        ),
    ],
)
def test_what_no_system_can_have_is_refused_before_anything_runs(tables, said, tmp_path, run):
    code, _, err = run("run", write_study(tmp_path, **tables), "-o", tmp_path / "run")
    assert code == 2
    assert said in err
    assert not (tmp_path / "run").exists()


# What a run says of its logs


def test_names_of_folders_are_those_of_live_runs():
    assert (lifelong_runs.COURSES, lifelong_runs.PASSES) == (
        COURSES,
        ("assisted", "unsupervised", "frozen"),
    )
    assert PASSES == lifelong_runs.PASSES


def test_logs_of_a_run_say_their_kind_and_their_name(whole, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # names are whole
    logs = whole / "run/logs"
    code, out, err = run("lifelong", "score", logs / "own/assisted", logs / "own/unsupervised")
    assert code == 0, err
    assert f"{logs}/own/assisted: kind classes, from courses/seed-0.json of its run" in err
    assert "own-unsupervised" in out
    code, out, err = run("lifelong", "score", f"x={logs}/own/assisted/seed-0.jsonl.gz", "--json")
    assert code == 0, err
    assert {r["dims"]["system"] for r in json.loads(out)["rows"]} == {"x"}


def test_the_classes_of_a_run_are_those_of_its_course(tmp_path, run):
    """Of the class that nobody says and nothing is, too: the course knows it."""
    study = write_study(tmp_path, loop={"seeds": 1}, measures=["policy_score"])
    assert run("run", study, "-o", tmp_path / "run", "-q")[0] == 0
    place = tmp_path / "run/logs/courses/seed-0.json"
    course = json.loads(place.read_bytes())
    assert course["classes"] == ["c0", "c1", "c2"]
    logs = tmp_path / "run/logs/own/assisted"
    place.write_text(json.dumps(course | {"classes": ["c0", "c1"]}))
    code, _, err = run("lifelong", "score", logs)
    assert code == 3
    assert "c2" in err


def test_a_kind_that_contradicts_the_run_is_refused(whole, run):
    logs = whole / "run/logs/own/assisted"
    code, _, err = run("lifelong", "score", logs, "--kind", "transcripts")
    assert code == 2
    assert "--output-kind transcripts" in err
    assert "by courses/seed-0.json of its run it is classes; leave the kind out" in err
    assert run("lifelong", "score", logs, "--kind", "classes", "-q")[0] == 0


def test_logs_elsewhere_need_a_kind(whole, tmp_path, run):
    shutil.copytree(whole / "run/logs/own/assisted", tmp_path / "own/assisted")
    code, _, err = run("lifelong", "score", tmp_path / "own/assisted")
    assert code == 2
    assert (
        "is an event log: give the kind of its outputs, --output-kind classes, transcripts" in err
    )


def test_a_course_that_cannot_be_read_is_said(whole, tmp_path, run):
    shutil.copytree(whole / "run/logs", tmp_path / "logs")
    (tmp_path / "logs/courses/seed-0.json").write_text("{}")
    code, _, err = run("lifelong", "score", tmp_path / "logs/own/assisted")
    assert code == 3
    assert "logs/courses/seed-0.json: this file does not state the kind of the outputs of" in err


# Learners


def test_texts_need_no_scores_and_classes_do():
    batch = Batch(0, ("a", "b"), np.array(["x", "y"], dtype=object))
    text = Stream("", "transcripts", (), (batch,), {"a": "x", "b": "y"})
    said = check_outputs(Outputs(("x", "z")), text, batch, "me")
    assert said.scores.tolist() == [0.0, 0.0]
    classes = Stream("", "classes", ("x", "y"), (batch,), {"a": "x", "b": "y"})
    with pytest.raises(InputError, match="me: it gave no scores, expected one for each"):
        check_outputs(Outputs(("x", "y")), classes, batch, "me")


@pytest.mark.parametrize("checkpoint", [0, 1])
def test_a_snapshot_that_is_no_bytes_is_refused_when_it_is_made(checkpoint, tmp_path, run):
    study = listening(tmp_path, "Keeper", loop={"checkpoint": checkpoint} if checkpoint else {})
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 3
    assert "Keeper: snapshot must return bytes, but it returned a value of type dict" in err


def test_a_strategy_is_joined_where_something_is_asked_only(tmp_path):
    def strategies(**tables):
        found = jobs_of(Study.read(str(listening(tmp_path, **tables))))
        return {job.strategy for job in found}

    assert strategies() == {""}
    assert strategies(help={}) == {"margin"}  # questions, where nothing is said of help
    assert strategies(help={"questions": 1, "corrections": 1}) == {"margin"}
    assert strategies(strategy={"name": "own"}) == {"own"}
    assert strategies(help={"offline": 2}) == {""}


def test_kind_and_text_are_keys_of_a_source_by_task(tmp_path, run):
    study = listening(tmp_path, measures=["policy_score"])
    assert run("run", study, "-o", tmp_path / "run", "-q")[0] == 0
    stated = json.loads((tmp_path / "run/result.json").read_bytes())["configuration"]
    assert 'kind = "transcripts"' in stated
    text = study.read_text().replace('kind = "transcripts"', 'kind = "detection"')
    study.write_text(text)
    code, _, err = run("run", study, "-o", tmp_path / "other")
    assert code == 2
    assert (
        "[source] kind = 'detection' is for task streams; in a life cycle, kind is classes" in err
    )
    study.write_text(
        'task = "streams"\n[source]\nfile = "calls.csv"\nlabel = "said"\nkind = "translation"\n'
    )
    assert "kind = 'translation' is for task lifelong" in run("run", study, "-o", "other")[2]
    study.write_text('task = "streams"\n[source]\nfile = "calls.csv"\ntext = "heard"\n')
    assert "[source] text is for task lifelong" in run("run", study, "-o", "other")[2]


def test_sources_of_life_cycles_are_listed(run):
    listed = run("list", "sources", "--json")[1]
    found = {one["name"]: one["text"] for one in json.loads(listed)}
    assert found["diarization"].endswith("(lifelong)")
    assert "lifelong: handwritten digits: two new classes" in found["digits"]
    assert "lifelong" not in found["fsdd"]


# Offline help (paper 004, Fig. 2-a), and help until the output is right (Fig. 2-b)

OFFLINE = '''
from truecost.learning import Question
from truecost.learning.learners.building import build
from truecost.learning.system import Batch


class Studious:
    """A logistic regression that learns in the evening, from the newest items that it saw."""

    unsupervised = False

    def __init__(self, task):
        self.inner, self.seen, self.batch = build("logistic", task), [], None

    def predict(self, batch):
        return self.inner.predict(batch)

    def adapt(self, batch, answered):
        self.batch = batch
        if answered.answers:
            self.inner.adapt(batch, answered)

    def ask_offline(self, budget):
        return [Question(name) for name in self.batch.ids[:budget]]

    def adapt_offline(self, answered):
        self.inner.adapt(self.batch, answered)
'''


def test_offline_help_ends_in_a_learning_curve_and_its_area(tmp_path, run):
    (tmp_path / "studious.py").write_text(OFFLINE)
    content = {
        "task": "lifelong",
        "source": {
            "name": "digits",
            "options": {"phases": 2, "days": 2, "items": 12, "test_items": 12, "initial": 6},
        },
        "help": {"offline": 6},
        "expert": {"seconds": 2.0},
        "interval": {"replicates": 50},
        "systems": {"it": {"learner": {"name": "callable", "python": "studious:Studious"}}},
    }
    study = tmp_path / "offline.toml"
    study.write_text(tomli_w.dumps(content))
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    rows = {r["measure"]: r for r in rows_of(tmp_path / "run") if r["dims"]["system"] == "it"}
    assert rows["offline_answers"]["value"] == 6 * 4
    assert rows["offline_seconds"]["value"] == 6 * 4 * 2.0
    errors = errors_by_version(tmp_path / "run/logs/it/assisted/seed-0.jsonl.gz")
    # Costs 0, 6, ..., 24: a step function up to 24, so that the last version has no width.
    assert rows["area_under_curve"]["value"] == pytest.approx(np.mean(errors[:4]))
    assert errors[4] < errors[0]
    page = (tmp_path / "run/report.html").read_text()
    assert "area under" in page.lower()
    curve = next(
        of["curve"]
        for of in of_type(json.loads((tmp_path / "run/result.json").read_bytes()), "system")
        if of["dims"]["system"] == "it"
    )
    assert [point["cost"] for point in curve["points"]] == [0, 6, 12, 18, 24]
    assert [point["value"] for point in curve["points"]] == pytest.approx(errors)
    frozen = measured(rows_of(tmp_path / "run"), "it-frozen")
    assert not {name for name in frozen if name.startswith(("offline", "area"))}


def errors_by_version(log):
    """Share of all test items that each version gets wrong."""
    events = [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
    said = [e for e in events if e["event"] == "predict" and e.get("set") == "test"]
    wrong = {}
    for e in said:
        wrong.setdefault(e["version"], []).append(e["decision"] != e["label"])
    return [np.mean(of) for _, of in sorted(wrong.items())]


@pytest.mark.parametrize(("who", "least"), [("Copier", 0.5), ("Speller", 0.0)])
def test_corrections_until_the_output_is_right_have_a_supervision_rate(who, least, tmp_path, run):
    """Rate by hand: words put in / words of all that M_4 has wrong in the times up to then."""
    study = listening(
        tmp_path,
        who,
        measures=["policy_score", "msr", "adapted_score", "n_corrections"],
        help={"corrections": 99, "rounds": 99},
        lifelong={"cost": "words", "factors": "item"},
    )
    code, _, err = run("run", study, "-o", tmp_path / "run", "-q")
    assert code == 0, err
    rows = {r["measure"]: r for r in rows_of(tmp_path / "run") if r["dims"]["system"] == "it"}
    log = tmp_path / "run/logs/it/assisted/seed-0.jsonl.gz"
    events = [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
    here = [e for e in events if e.get("set") == "test" and e.get("version") == 0]
    assert rows["adapted_score"]["value"] == 0.0
    last = [e for e in events if e.get("set") == "test" and e.get("version") == 4]
    put = sum(e["words"] for e in last if e["event"] == "answer")
    pre = [e for e in last if e["event"] == "predict" and e["phase"] == "pre"]
    whole = sum(len(e["label"].split()) for e in pre if e["decision"] != e["label"])
    assert {e["event"] for e in here} == {"predict", "answer", "adapt"}
    if who == "Speller":  # it knows all words by then: nothing is left to correct
        assert (put, whole) == (0, 0)
        assert rows["msr"]["value"] is None
    else:
        assert rows["msr"]["value"] == pytest.approx(put / whole)
        assert least < rows["msr"]["value"] <= 1


def test_a_learner_that_generalises_needs_less_than_all_corrections(tmp_path):
    """One batch of texts with the same wrong word: one correction puts all of them right."""
    said = {f"i{k}": f"we met {name} in leeds" for k, name in enumerate(("ann", "bob", "cyd"))}
    heard = {name: text.replace("leeds", "leed") for name, text in said.items()}
    place, space = tmp_path / "log.jsonl", {}
    exec(LISTENER, space)
    tests = [(t, (f"y{t}",), np.array(["x"], dtype=object)) for t in (1.5, 3.5)]
    batch = (2.5, tuple(said), np.array([*heard.values()], dtype=object))
    lifelong = [(t, (f"x{t}",), np.array(["x"], dtype=object)) for t in (1.0, 3.0)]
    right = said | {f"{s}{t}": "x" for s, ts in (("y", (1.5, 3.5)), ("x", (1.0, 3.0))) for t in ts}
    course = Course.from_parts("transcripts", lifelong, [tests[0], batch, tests[1]], right)
    expert = DomainExpert("transcripts", right, (), seed=0)
    life = Life(stream=Help(0, 9, rounds=9), test=Help(0, 9, rounds=9))
    with LogWriter.open(place) as log:
        run_lifelong(course, space["Speller"](None), expert, life, log)
        log.finish()
    from truecost.core.scoring import Scoring
    from truecost.running import score
    from truecost.tasks.lifelong.counting import read_lifelong
    from truecost.tasks.lifelong.options import LifelongScoring

    lifelong = read_lifelong(place, "transcripts")
    scoring = Scoring(measures=("msr", "n_corrections"), choices=LifelongScoring(cost="answers"))
    rate, made = score(lifelong, scoring)
    assert made.value == 1
    assert rate.value == pytest.approx(1 / 3)


def test_a_person_who_remembers_what_was_told_says_what_a_new_one_says():
    """Many corrections, with the output changing in between: nothing of before is mixed in."""
    draws = np.random.default_rng(3)

    def turns(shift):
        starts = np.arange(0, 40, 2) + draws.uniform(0, shift, 20).round(2)
        ends = starts + draws.uniform(1, 3, 20).round(2)
        who = draws.choice(["a", "b"], 20)
        return "|".join(f"{s:.2f} {e:.2f} {w}" for s, e, w in zip(starts, ends, who, strict=True))

    right, outputs = {"x": turns(0.5), "y": turns(0.5)}, [(turns(1.0), turns(1.0)) for _ in "ab"]
    batch = Batch(0, ("x", "y"), np.array(["", ""], dtype=object))
    keeps, given, told = DomainExpert("diarization", right), [], 0
    for said in (outputs[0], outputs[1], outputs[0]):
        for _ in range(6):
            fresh = DomainExpert("diarization", right)
            answer = keeps.volunteer(batch, Outputs(said), given)
            assert answer == fresh.volunteer(batch, Outputs(said), given)
            if answer is None:
                break
            given, told = [*given, answer], told + 1
    assert told > 6


def test_tables_of_scores_say_why_no_score_can_be_computed(tmp_path, run):
    path = tmp_path / "m.csv"
    path.write_text("version,time,score\n0,1,0.2\n1,1,0.1\n")
    code, _, err = run("lifelong", "score", path, "--score", "wer")
    assert code == 2
    assert "score 'wer' cannot be computed: the table has scores, but no outputs" in err
    assert "leave the score out (it is mean_score), or give event logs" in err
