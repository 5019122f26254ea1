"""A person as the expert of live runs: questions, answers, seconds, what a kill loses (nothing)."""

import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import person_studies
from person_studies import STREAM, of_meetings, write_meetings
from robots import Robot, write_sound
from truecost import cli
from truecost.errors import UsageError
from truecost.formats.events import read_events
from truecost.learning.live.studies import Logged
from truecost.learning.source import Source
from truecost.learning.streams import streams_of
from truecost.person.store import Store
from truecost.person.timing import TimingTable, retimed
from truecost.study.paths import PASSES

STUDY = (
    STREAM.replace("[source]", 'measures = ["imlm", "imlm_seconds"]\n\n[source]')
    + 'ask = "Is it a seven?"\naudio = "sounds/{id}.wav"\n'
)


@pytest.fixture
def items(tmp_path, monkeypatch):
    """Forty sounds whose first sample says what they are, with two features."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    Path("sounds").mkdir()
    lines = ["id,label,x,y"]
    for k in range(40):
        label = "7" if k % 3 == 0 else "1"
        x, y = draws.normal(size=2) + (2 if label == "7" else 0)
        lines.append(f"clip{k:02},{label},{x:.4f},{y:.4f}")
        write_sound(f"sounds/clip{k:02}.wav", np.full(80, int(label)))
    Path("items.csv").write_text("\n".join(lines) + "\n")
    Path("study.toml").write_text(STUDY)
    return tmp_path


def listener(_, hear):
    """Somebody who hears what the sound is."""
    return {"label": "yes" if np.frombuffer(hear()[-2:], "<i2")[0] == 7 else "no"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_how_far_people_and_the_run_are(items):
    """Read as it comes: what is answered and open, the active time, and batches in the bar."""
    import pty

    near, far = pty.openpty()
    words = [sys.executable, "-m", "truecost", "run", "study.toml", "-o", "out"]
    place = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=far, env=place)
    os.close(far)
    seen = []

    def read():
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while data := os.read(near, 4096):
                seen.append(data.decode())

    def wait_for(pattern):
        end = time.monotonic() + 60
        while not (found := re.search(pattern, "".join(seen))):
            assert time.monotonic() < end, "".join(seen)
            time.sleep(0.02)
        return found

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        robot = Robot(wait_for(r"to answer as .+, open (http://[!-~]+)")[1], listener)
        for _ in range(4 + 2):  # the bootstrap set, and two of three of the first batch
            robot.answer(robot.ask(wait=20)["question"]["pid"], "yes")
        wait_for(r"6 answered, 1 open, \d+\.\d min active")
        robot.start()
        out, _ = run.communicate(timeout=120)
    finally:
        run.kill()
        run.wait()
    reader.join(10)
    os.close(near)
    assert run.returncode == 0, "".join(seen)
    assert robot.failure is None
    assert "imlm_seconds" in out.decode()
    assert "answered" not in out.decode()  # the bar is on standard error, and goes again


def log(folder):
    [path] = (folder / "logs" / "margin" / "3").glob("seed-0.jsonl.gz")
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def same_when_measured_again(folder):
    """The log has the seconds that its store tells, by the choices of the run."""
    helped = [p for p in folder.glob("logs/*/*/seed-0.jsonl.gz") if p.parent.name not in PASSES[1:]]
    [path] = helped
    log = read_events(str(path))
    again = retimed(log, TimingTable(idle=30))
    assert log.frame.equals(again.frame)
    assert again.frame["asked"].drop_nulls().len() > 0
    none = retimed(log, TimingTable(idle=0)).frame["active_seconds"].drop_nulls()
    assert none.sum() < log.frame["active_seconds"].drop_nulls().sum()


def test_a_stream_is_answered_and_scored(items, running):
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], listener, think=0.02).start()
    code, out, err = run.end()
    assert code == 0, err
    assert robot.failure is None
    assert "imlm_seconds" in out
    events = log(items / "out")
    answers = [e for e in events if e["event"] == "answer"]
    assert len(answers) == len(robot.given) == 4 + 3 * 3  # bootstrap and three batches of three
    assert {e["expert"] for e in answers} == {"me"}
    right = {e["id"]: e["label"] for e in events if e["event"] == "predict"}
    assert all(e["label"] == right[e["id"]] for e in answers if e["id"] in right)
    assert all(0.02 <= e["active_seconds"] < 60 for e in answers)
    same_when_measured_again(items / "out")
    assert {q["kind"] for q in robot.questions} == {"classes"}
    assert robot.questions[0]["ask"] == "Is it a seven?"
    assert not any("clip" in str(q) for q in robot.questions)  # no name reaches the page
    recipe = (items / "out" / "logs" / "recipe.toml").read_text()
    assert str(items) not in recipe
    assert "Is it a seven?" in recipe


def test_kills_lose_no_answer_and_nothing_is_asked_twice(items, running):
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], listener, think=0.05).start()
    for number in (3, 6, 9):
        robot.wait_for(number)
        run.kill()
        run = running("run", "study.toml", "-o", "out", "--resume")
    code, _, err = run.end()
    assert code == 0, err
    with Store(items / "out" / "answers.sqlite") as store:
        rows = store.answers()
    assert len(rows) == len({row.key for row in rows}) == 13
    answers = [e["id"] for e in log(items / "out") if e["event"] == "answer"]
    assert len(answers) == len({*answers}) == 13


def test_stop_on_the_page_ends_the_run_and_resume_goes_on(items, running):
    run = running("run", "study.toml", "-o", "out")
    told = iter(range(100))
    first = Robot(run.links()["me"], lambda *q: listener(*q) if next(told) < 6 else None).start()
    code, _, err = run.end()
    assert code == 3
    assert "the person has stopped" in err
    assert "--resume" in err
    assert len(first.given) == 6
    run = running("run", "study.toml", "-o", "out", "--resume")
    Robot(run.links()["me"], listener).start()
    code, _, err = run.end()
    assert code == 0, err
    assert len([e for e in log(items / "out") if e["event"] == "answer"]) == 13


@pytest.mark.long
def test_another_seed_is_answered_from_what_was_answered(items, running):
    Path("study.toml").write_text(STUDY.replace("bootstrap = 4", "bootstrap = 4\nseeds = 2"))
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], listener).start()
    assert run.end()[0] == 0
    with Store(items / "out" / "answers.sqlite") as store:
        keys = [row.key for row in store.answers()]
    assert len(keys) == len({*keys}) == len(robot.given)
    assert len(keys) <= 26


@pytest.mark.long
def test_people_who_disagree_are_joined_by_another(items, running):
    people = STUDY + 'people = ["ann", "bob", "cid"]\noverlap = 2\n'
    Path("study.toml").write_text(people)
    run = running("run", "study.toml", "-o", "out")
    links = run.links(3)
    for name in ("ann", "cid"):
        Robot(links[name], listener).start()
    Robot(links["bob"], lambda *_: {"label": "yes"}).start()
    code, _, err = run.end()
    assert code == 0, err
    answers = [e for e in log(items / "out") if e["event"] == "answer"]
    right = {line.split(",")[0]: str(int(line.split(",")[1] == "7"))
             for line in Path("items.csv").read_text().splitlines()[1:]}  # fmt: skip
    assert all(e["label"] == right[e["id"]] for e in answers)  # two of three are right
    assert all("+" in e["expert"] for e in answers)


@pytest.mark.long
def test_who_refuses_gives_no_label(items, running):
    run = running("run", "study.toml", "-o", "out")
    told, refusal = iter(range(100)), {"refusal": "cannot tell"}
    Robot(run.links()["me"], lambda *q: listener(*q) if next(told) < 4 else refusal).start()
    assert run.end()[0] == 0
    answers = [e for e in log(items / "out") if e["event"] == "answer"]
    assert [e.get("label") is None for e in answers].count(True) == 9


@pytest.mark.parametrize(("old", "new", "said"), [
    ('ask = "Is it a seven?"', "seconds = 2.0", "leave it out"),
    ('ask = "Is it a seven?"', "error_rate = 0.1\nrefusal = 0.2", "leave them out"),
    ('name = "person"\n', "", "is for name = 'person'|are for name = 'person'"),
    ('ask = "Is it a seven?"', "overlap = 2", "overlap = 2"),
    ('ask = "Is it a seven?"', 'people = ["a", "a"]', "name each once"),
    ('ask = "Is it a seven?"', 'text = "nix"', "no column 'nix'"),
    ("{id}.wav", "{id}.mp3", "no such file"),
    ('ask = "Is it a seven?"', 'guess = "maybe"', "maybe"),
])  # fmt: skip
def test_bad_settings_are_refused(items, capsys, old, new, said):
    Path("study.toml").write_text(STUDY.replace(old, new))
    assert cli.run(["run", "study.toml", "-o", "out"]) in (2, 3)
    assert re.search(said, capsys.readouterr().err)


# Life cycles: outputs are corrected


SENTENCES = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four"}
TEXTS = """
task = "lifelong"

[source]
name = "table"
file = "texts.csv"
label = "right"
kind = "translation"
text = "source"

[help]
{help}

[expert]
name = "person"

[systems.memory]
learner = {{ name = "translator" }}
strategy = "own"
"""


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["id,source,right,time,set"]
    words = [*SENTENCES]
    for k in range(8):
        pair = words[k % 4], words[(k + 1) % 4]
        right = " ".join(SENTENCES[w] for w in pair)
        where = "test" if k % 2 else "lifelong"
        lines.append(f"s{k},{' '.join(pair)},{right},{k // 2 * 2 + k % 2},{where}")
    Path("texts.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def translator(question, _):
    """Somebody who knows the words, and leaves what is right as it is."""
    right = " ".join(SENTENCES[word] for word in question["source"].split())
    if question["kind"] == "verdict" and question["output"] == right:
        return {"verdict": "right"}
    return {"label": right}


def life(folder):
    [path] = folder.glob("out/logs/memory/assisted/seed-0.jsonl.gz")
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(
    "helped", ["corrections = 1", pytest.param("questions = 1", marks=pytest.mark.long)]
)
def test_sentences_are_corrected_with_the_output_in_view(texts, running, helped):
    Path("study.toml").write_text(TEXTS.format(help=helped))
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], translator, think=0.01).start()
    code, _, err = run.end()
    assert code == 0, err
    assert robot.failure is None
    kind = "text" if helped.startswith("questions") else "verdict"
    assert {q["kind"] for q in robot.questions} == {kind}
    assert all("output" in q for q in robot.questions)
    answers = [e for e in life(texts) if e["event"] == "answer"]
    assert len(answers) >= 6
    right = {line.split(",")[0]: line.split(",")[2]
             for line in Path("texts.csv").read_text().splitlines()[1:]}  # fmt: skip
    for event in answers:
        assert event["label"] == right[event["id"]]
        assert event["words"] in (0, 2)
        assert event["actions"] <= 4
    assert any(event["actions"] > 0 for event in answers)
    same_when_measured_again(texts / "out")


def test_regions_of_recordings_are_corrected(tmp_path, monkeypatch, running):
    monkeypatch.chdir(tmp_path)
    write_meetings(6, reference=4, one=5, two=4)
    Path("study.toml").write_text(of_meetings("questions = 1", "one.rttm", "two.rttm"))
    run = running("run", "study.toml", "-o", "out")
    lengths = []

    def decide(question, hear):
        lengths.append((len(hear()) - 44) / 16000)
        first, last = question["base"], question["base"] + question["length"]
        end = min(last, 4.0)
        return {"label": f"{first:g} {end:g} x" if end > first else ""}

    robot = Robot(run.links()["me"], decide).start()
    code, _, err = run.end()
    assert code == 0, err
    assert robot.failure is None
    assert {q["kind"] for q in robot.questions} == {"region"}
    for question, length in zip(robot.questions, lengths, strict=True):
        assert length == pytest.approx(question["length"], abs=0.01)  # no more than is asked about
    answers = [e for e in life(tmp_path) if e["event"] == "answer"]
    assert answers
    assert all(e["part"] for e in answers)


def refused(running):
    """Exit code and message of a run that ends before it prints a link."""
    run = running("run", "study.toml", "-o", "out")
    with pytest.raises(AssertionError) as ended:
        run.links()
    assert not Path("out").exists()
    return run.end()[0], str(ended.value)


def test_the_items_of_every_seed_are_looked_at_before_anybody_is_asked(items, running):
    drawn = STUDY.replace('order = "given"', 'order = "shuffled"\nitems = 12')
    Path("study.toml").write_text(drawn.replace("[loop]", "[loop]\nseeds = 3"))
    source = Source(name="table", file="items.csv", target="7", order="shuffled", items=12)
    seen = []
    for seed in range(3):
        [stream] = streams_of(source, 12, seed, bootstrap=4)
        seen.append({*stream.bootstrap.ids, *(i for batch in stream.batches for i in batch.ids)})
    late = min(seen[2] - seen[0] - seen[1])
    Path(f"sounds/{late}.wav").unlink()
    code, err = refused(running)
    assert code == 3
    assert f"sounds/{late}.wav: there is no such file; it is the audio of item '{late}'" in err
    unasked = min({path.stem for path in Path("sounds").iterdir()} - set().union(*seen))
    write_sound(f"sounds/{late}.wav", np.zeros(80))
    Path(f"sounds/{unasked}.wav").unlink()  # nobody will be asked about it
    run = running("run", "study.toml", "-o", "out")
    assert run.links()


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda: Path("d.wav").unlink(), 3, "d.wav: there is no such file"),
        (lambda: Path("d.wav").write_bytes(b"fLaC" + bytes(80)), 3, "d.wav: .* uncompressed wav"),
        (lambda: Path("a.wav").write_bytes(b"RIFFxxxxWAVE"), 3, "a.wav: .* uncompressed wav"),
        (
            lambda: Path("study.toml").write_text(
                Path("study.toml").read_text().replace('"{id}.wav"', '"{id}.wav"\ntext = "said"')
            ),
            2,
            "text = 'said' is a column, but these items do not come from a table",
        ),
    ],
)
def test_recordings_of_a_life_are_looked_at_before_anybody_is_asked(
    tmp_path, monkeypatch, running, change, code, said
):
    """The last test recording too, of which regions must be cut."""
    monkeypatch.chdir(tmp_path)
    write_meetings(6, reference=4, one=5, two=4)
    Path("study.toml").write_text(of_meetings("questions = 1", "one.rttm", "two.rttm"))
    change()
    found, err = refused(running)
    assert found == code
    assert re.search(said, err)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ('{ name = "sklearn", model = "nix:Nix" }', "learner sklearn: nix cannot be imported"),
        ('{ name = "nix" }', "'nix'"),
        ('{ name = "logistic", options = { nix = 1 } }', "option 'nix' is not known"),
        ('{ name = "logistic" }\nstrategy = "own"', "second.*does not ask: name a strategy"),
    ],
)
def test_all_systems_are_built_before_anybody_is_asked(
    tmp_path, monkeypatch, running, learner, said
):
    """The second one too, whose turn would come when people have helped the first."""
    monkeypatch.chdir(tmp_path)
    study = person_studies.life('name = "digits"', "questions = 1", "logistic").replace(
        '"own"', '"margin"'
    )
    Path("study.toml").write_text(f"{study}\n[systems.second]\nlearner = {learner}\n")
    code, err = refused(running)
    assert code == 2
    assert re.search(said, err)


def test_what_people_see_is_looked_at_where_jobs_run(tmp_path, monkeypatch):
    """Files and modules of a source lie in the folder of the loop, not where the command runs."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "own_extractor.py").write_text("NAME = 'own'")
    (there / "items.txt").write_text("one")
    monkeypatch.chdir(tmp_path)
    seen = []

    def see(seed):
        seen.append((seed, __import__("own_extractor").NAME, Path("items.txt").read_text()))
        raise UsageError("enough")

    recipe = SimpleNamespace(person=SimpleNamespace(live=object()), folder=str(there), see=see)
    job = SimpleNamespace(seed=7, done=lambda _: False)
    asked = Logged(None, recipe, [job], None, "", None)._asked(tmp_path, None)
    path = [*sys.path]
    with pytest.raises(UsageError, match="enough"), asked:
        pass
    assert seen == [(7, "own", "one")]
    assert (Path.cwd(), sys.path) == (tmp_path, path)
