"""People who help a life cycle: seconds that end the help, regions answered with more than was
asked, and numbers of streams.
"""

import gzip
import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from person_studies import of_meetings, write_meetings
from robots import Robot
from truecost.corrections.texts import region_of
from truecost.learning.lifelong.helping import Help
from truecost.learning.system import Answer, Batch, Outputs, Question
from truecost.person.expert import LiveExpert, LivePerson
from truecost.person.records import Asked, VisibleQuestion
from truecost.person.regions import changed
from truecost.person.store import Store
from truecost.person.views import View
from truecost.person.web import Settings, serve


def log(pattern):
    [path] = Path("out/logs").glob(pattern)
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def meetings(tmp_path, monkeypatch):
    """Four recordings in which a system hears one of two speakers too long."""
    monkeypatch.chdir(tmp_path)
    write_meetings(20, reference=4, one=5, two=7)
    helped = "questions = 1\ncorrections = 3\ntest = false"
    Path("study.toml").write_text(of_meetings(helped, "one.rttm", "two.rttm"))
    return tmp_path


def test_more_than_was_asked_is_volunteered(meetings, running):
    """Somebody says of every region, and of five seconds around it, what the reference says."""
    run = running("run", "study.toml", "-o", "out")

    def decide(question, hear):
        if question["kind"] == "verdict":
            return {"verdict": "wrong"} if question["output"] else {"verdict": "right"}
        sound = hear()
        first, last = question["wide"]
        assert (len(sound) - 44) / 16000 == pytest.approx(min(last, 20) - first, abs=0.01)
        assert question["start"] == first == max(0, question["base"] - 5)
        return {"label": f"{first:g} 4 x" if first < 4 else ""}

    robot = Robot(run.links()["me"], decide).start()
    code, _, err = run.end()
    assert robot.failure is None
    assert code == 0, err
    events = log("memory/assisted/seed-0.jsonl.gz")
    asked = {(e["id"], e.get("part")) for e in events if e["event"] == "query"}
    answers = [e for e in events if e["event"] == "answer" and e.get("part")]
    beyond = [e for e in answers if (e["id"], e["part"]) not in asked]
    assert beyond
    assert all(e["active_seconds"] == 0 < e["actions"] for e in beyond)
    assert all("label" in e and not e["words"] for e in beyond)  # turns are taken away alone
    for item in "ac":
        spans = sorted(region_of(e["part"]) for e in answers if e["id"] == item)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert spans[0][0] <= 4_000_000 <= spans[-1][1]


def test_a_killed_run_has_volunteered_the_same(meetings, running):
    """What was changed beyond a region is read from the store, where the run goes on."""
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], answer_of, think=0.05).start()
    while not any(q["kind"] == "region" for q in robot.questions) or not robot.given:
        time.sleep(0.01)
    run.kill()
    run = running("run", "study.toml", "-o", "out", "--resume")
    code, _, err = run.end()
    assert code == 0, err
    killed = log("memory/assisted/seed-0.jsonl.gz")
    run = running("run", "study.toml", "-o", "again")
    Robot(run.links()["me"], answer_of).start()
    assert run.end()[0] == 0
    Path("out").rename("first")
    Path("again").rename("out")
    whole = log("memory/assisted/seed-0.jsonl.gz")
    assert [said(e) for e in killed] == [said(e) for e in whole]


def answer_of(question, *_):
    if question["kind"] == "verdict":
        return {"verdict": "right"}
    first = question["wide"][0]
    return {"label": f"{first:g} 4 x" if first < 4 else ""}


def said(event):
    """An event without its times."""
    return {k: v for k, v in event.items() if k != "t" and not k.endswith("_seconds")}


@pytest.mark.parametrize(
    ("output", "label", "told", "expected"),
    [
        ("0 3 a", "0 3 a", [(1, 2)], []),
        ("0 3 a", "0 2.3 a", [(1, 2)], [(2.3, 3)]),
        ("0 3 a", "1 2 a", [(1, 2)], [(0, 1), (2, 3)]),
        ("0 3 a", "0 3 b", [(1, 2)], [(0, 1), (2, 3)]),
        ("0 3 a", "0 3 b", [(1, 2), (2.5, 9)], [(0, 1), (2, 2.5)]),
        ("1 2 a", "1 2 a|2 3 b|2 2.5 c", [(1, 2)], [(2, 3)]),
        ("0 3 a", "0 2.9995 a", [(1, 2)], []),  # the page rounds
        ("0 3 a|5 6 b", "0 3 a", [(1, 2)], []),  # beyond what could be corrected
        ("0 3 a", None, [(1, 2)], []),
    ],
)
def test_changes_beyond_a_region(output, label, told, expected):
    def micro(spans):
        return [tuple(round(1e6 * edge) for edge in span) for span in spans]

    assert changed(output, label, (0.0, 4.0), micro(told)) == micro(expected)


LIMITED = """
task = "lifelong"

[source]
name = "table"
file = "texts.csv"
label = "right"
kind = "translation"
text = "source"

[help]
{help}
seconds = 20
test = false
any_times = true

[expert]
name = "person"

[systems.memory]
learner = {{ name = "translator" }}
strategy = "own"
"""


class Slow(Robot):
    """Somebody who thinks for twelve seconds, by the clocks of the page."""

    ahead = 0.0

    def event(self, kind, pid=None):
        self.ahead += 12 * (kind == "key")
        found = super().event(kind, pid)
        return found | {name: found[name] + self.ahead for name in ("mono", "wall")}

    def answer(self, pid, label=None, **more):
        now = {"mono": time.monotonic() + self.ahead, "wall": time.time() + self.ahead}
        return super().answer(pid, label, **now, **more)


@pytest.mark.parametrize("helped", ["questions = 4", "corrections = 4"])
def test_help_ends_after_its_seconds_which_are_in_view(tmp_path, monkeypatch, running, helped):
    monkeypatch.chdir(tmp_path)
    lines = ["id,source,right,time,set"]
    lines += [f"s{k},w{k},r{k},{k // 8},{'test' if k > 15 else 'lifelong'}" for k in range(24)]
    Path("texts.csv").write_text("\n".join(lines) + "\n")
    Path("study.toml").write_text(LIMITED.format(help=helped))
    run = running("run", "study.toml", "-o", "out")

    def decide(question, *_):
        return {"label": question["source"].replace("w", "r")}

    robot = Slow(run.links()["me"], decide).start()
    code, _, err = run.end()
    assert robot.failure is None
    assert code == 0, err
    of_batches = {}
    for event in log("memory/assisted/seed-0.jsonl.gz"):
        if event["event"] == "answer" and not event.get("count"):
            of_batches.setdefault(event["batch"], []).append(event["active_seconds"])
    assert [len(of) for of in of_batches.values()] == [2, 2]  # 12 and 24 seconds
    assert [q["budget"][1] for q in robot.questions] == [20] * 4  # nobody is asked in vain
    spent = [q["budget"][0] for q in robot.questions]
    assert spent == pytest.approx([0, 12, 0, 12], abs=2)
    assert spent[0] == spent[2] == 0


def live(folder, kind, people=("me",), **more):
    """An expert of outputs of a kind, and its store."""
    place = folder / "answers.sqlite"
    person = LivePerson(store=str(place), people=people, **more)
    return LiveExpert(person, kind, (), lambda _: View(), corrects=True)


def test_without_corrections_regions_stay_as_they_are_asked(tmp_path):
    expert = live(tmp_path, "diarization")
    batch = Batch(0, ("a",), np.zeros((1, 1)))
    for corrections, wide in ((0, None), (1, (0.0, 8.0))):
        expert.note_help(Help(questions=1, corrections=corrections), ())
        asked = expert._asked(Question("a", "2-3"), batch, "0 9 ann")
        assert asked.seen.wide == wide
        assert asked.span == (wide or (2.0, 3.0))
        assert asked.seen.output == ("0 8 ann" if wide else "2 3 ann")
    hidden = live(tmp_path, "diarization", shown=False)
    hidden.note_help(Help(questions=1, corrections=1), ())
    seen = hidden._asked(Question("a", "2-3"), batch, "0 9 ann").seen
    assert (seen.output, seen.wide) == (None, None)
    given = [Answer("a", "", part="2-3")]
    assert expert._beyond(given[0], batch, Outputs(("0 9 ann",)), given) is None  # never answered


NUMBERS = """
task = "streams"

[source]
name = "table"
file = "items.csv"
kind = "numbers"
order = "given"

[loop]
batch = 10
budget = 2
bootstrap = 4

[learner]
name = "sklearn"
model = "sklearn.linear_model:Ridge"

[strategy]
name = "random"

[streams]
tolerance = 1.0

[expert]
name = "person"
ask = "How many?"
text = "seen"
people = ["ann", "bob"]
overlap = 2
"""


def test_numbers_are_answered_and_the_median_holds(tmp_path, monkeypatch, running):
    monkeypatch.chdir(tmp_path)
    lines = ["id,label,x,seen", *(f"i{k},{k / 2},{k},{k / 2} things" for k in range(34))]
    Path("items.csv").write_text("\n".join(lines) + "\n")
    Path("study.toml").write_text(NUMBERS.replace("[loop]", 'features = ["x"]\n\n[loop]'))
    run = running("run", "study.toml", "-o", "out")
    links = run.links(2)

    def counts(off):
        return lambda q, *_: {"label": f"{float(q['source'].split()[0]) + off:e}"}

    robots = [Robot(links["ann"], counts(0)).start(), Robot(links["bob"], counts(1)).start()]
    code, out, err = run.end()
    assert [robot.failure for robot in robots] == [None, None]
    assert code == 0, err
    assert "imlm" in out
    answers = [e for e in log("random/2/seed-0.jsonl.gz") if e["event"] == "answer"]
    assert len(answers) == 4 + 3 * 2
    for event in answers:
        assert float(event["label"]) == int(event["id"][1:]) / 2 + 0.5
        assert event["expert"] == "ann+bob"
    with Store("out/answers.sqlite") as store:
        assert {(row.words, row.actions) for row in store.answers()} == {(1, 1)}
        assert "7.5" in {row.label for row in store.answers()}


def test_only_finite_numbers_are_taken(tmp_path):
    place = tmp_path / "answers.sqlite"
    with Store(place) as store, serve(place, Settings()) as page:
        store.put([Asked(key="k", kind="number")])
        robot = Robot(page.links["me"])
        pid = robot.ask()["question"]["pid"]
        for said in ("nan", "inf", "-Infinity", "1e400", "1_0", "3,5", " 3", "0x10", "\u0663", ""):
            assert robot.answer(pid, said)[0] == 422, said
        assert robot.answer(pid, float("nan"))[0] == 422  # no text
        assert robot.answer(pid, "+.5E1")[0] == 200
        assert [row.label for row in store.answers()] == ["5"]


def test_what_is_asked_about_is_answered(tmp_path):
    assert VisibleQuestion(base=1.0, length=2.0).answered == (1.0, 3.0)
    assert VisibleQuestion(base=1.0, length=2.0, wide=(0.0, 5.0)).answered == (0.0, 5.0)
