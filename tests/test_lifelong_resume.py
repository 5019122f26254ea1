"""Resuming a life cycle: the same bytes wherever it was killed, and nobody is asked twice."""

import json
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nursery
from lifecycles import course_of, expert_of, live, system_of
from test_learning_resume import Killed, hasty, killing, whole_lines
from truecost.errors import InputError
from truecost.learning.jobs import folder_of, forget
from truecost.learning.lifelong.helping import Help
from truecost.learning.lifelong.life_cycle import Life
from truecost.learning.recorded import RecordedExpert

__all__ = ["hasty"]
RICH = Life(stream=Help(2, 2, rounds=2), test=Help(1, 1), offline=1)
TEXT = replace(RICH, offline=None)


class Asked:
    """A real person: notes what reaches them, and may not be asked twice."""

    def __init__(self, expert):
        self.expert, self.said, self.where = expert, [], None

    def visit(self, version, where):
        self.where = (version, where)

    def answer(self, question, batch):
        self.said.append((self.where, question.id, question.part))
        return self.expert.answer(question, batch)

    def correct(self, question, batch, output):
        self.said.append((self.where, question.id, question.part))
        return self.expert.correct(question, batch, output)

    def volunteer(self, batch, outputs, given_):
        said = self.expert.volunteer(batch, outputs, given_)
        if said is not None:
            self.said.append((self.where, said.id, said.part))
        return said


class Quitter(Asked):
    """Stops at every third question."""

    def correct(self, question, batch, output):
        draw = sum(map(ord, question.id)) % 3
        return None if draw == 0 else super().correct(question, batch, output)


def recorded(path):
    """What is answered in a log, as `Asked` notes it."""
    return {
        ((e["version"], e.get("set")), e["id"], e.get("part", ""))
        for e in whole_lines(path)
        if e["event"] == "answer" and "batch" in e
    }


def goes_on(path, course, person, life, **options):
    """Resume; nobody was asked for what is in the log."""
    known = recorded(path)
    live(path, course, life, expert=person, resume=True, **options)
    assert not known & set(person.said)
    assert len(person.said) == len(set(person.said))


@pytest.fixture
def small(tmp_path):
    """A short life, its person, and the bytes of the log."""
    course = course_of((2, 2), (2, 1), bootstrap=1)
    life = Life(stream=Help(1, 1), test=Help(1), offline=1)
    expert = expert_of(course, delay=(0, 1), refusal=0.2, seconds=(1.0, 0.5))
    live(tmp_path / "log", course, life, expert=expert, checkpoint=1)
    return course, life, expert, (tmp_path / "log").read_bytes()


@pytest.mark.usefixtures("hasty")
def test_every_cut_of_a_log_is_resumed_to_the_same_bytes(tmp_path, small):
    course, life, expert, whole = small
    for end in range(0, len(whole) + 1, 29):
        path = tmp_path / f"log{end}"
        path.write_bytes(whole[:end])
        goes_on(path, course, Asked(expert), life)
        assert path.read_bytes() == whole


def test_every_line_of_a_log_is_resumed_from_checkpoints(tmp_path, small):
    """Those of the whole run lie beside the log: they are used only when they are of its past."""
    course, life, expert, whole = small
    ends = np.cumsum([len(line) for line in whole.splitlines(keepends=True)])
    for end in sorted({0, *ends, *(ends - 1), *(ends[:-1] + 1)}):
        (tmp_path / "log").write_bytes(whole[:end])
        goes_on(tmp_path / "log", course, Asked(expert), life, checkpoint=1)
        assert (tmp_path / "log").read_bytes() == whole


@st.composite
def lives(draw):
    """A course, a life, and a person."""
    kind = draw(st.sampled_from(["classes", "transcripts", "diarization"]))
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    course = course_of(
        sizes,
        [draw(st.integers(1, 3)) for _ in sizes],
        kind=kind,
        bootstrap=draw(st.integers(0, 2)),
        name=draw(st.sampled_from(["", "de"])),
        seed=draw(st.integers(0, 3)),
    )
    most = 3 if kind == "diarization" else min(map(len, (*course.lifelong, *course.test)))
    helps = st.builds(
        Help,
        st.integers(0, most),
        st.integers(0, 2),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, 2.5]),
        st.integers(1, 2),
    )
    life = Life(
        stream=draw(helps),
        test=draw(helps),
        offline=draw(st.sampled_from([None, 0, 2])) if kind == "classes" else None,
    )
    expert = expert_of(
        course,
        delay=draw(st.sampled_from([0, 1, (0, 2)])),
        refusal=0.1,
        error_rate=0.1,
        seconds=(1.0, 0.5),
    )
    return course, life, expert


@given(lives(), st.sampled_from([0, 1, 3]), st.sampled_from([Asked, Quitter]), st.data())
def test_a_life_killed_again_and_again_writes_the_same_bytes(
    tmp_path_factory, given_life, every, person, data
):
    course, life, expert = given_life
    folder = tmp_path_factory.mktemp("killed")
    options = {"checkpoint": every, "run": "seed-0"}
    live(folder / "whole", course, life, expert=person(expert), **options)
    whole = (folder / "whole").read_bytes()
    path, asked, kills = folder / "log", [], 0
    for _ in range(data.draw(st.integers(1, 3))):
        mine, known = person(expert), recorded(path)
        with killing(data.draw(st.integers(0, len(whole)))):
            try:
                live(path, course, life, expert=mine, resume=True, **options)
            except Killed:
                kills += 1
        assert not known & set(mine.said)
        asked += mine.said
    last = person(expert)
    goes_on(path, course, last, life, **options)
    assert path.read_bytes() == whole
    again = [*asked, *last.said]
    assert len(again) - len(set(again)) <= kills  # the one that was lost while it was written


@given(lives(), st.sampled_from(["unsupervised", "frozen"]), st.data())
def test_baselines_resume_too(tmp_path_factory, given_life, passing, data):
    course, life, _ = given_life
    if course.kind != "classes":
        passing = "frozen"
    folder = tmp_path_factory.mktemp("killed")
    live(folder / "whole", course, life, passing=passing)
    whole = (folder / "whole").read_bytes()
    with killing(data.draw(st.integers(0, len(whole) - 1))), pytest.raises(Killed):
        live(folder / "log", course, life, passing=passing, checkpoint=2)
    live(folder / "log", course, life, passing=passing, checkpoint=2, resume=True)
    assert (folder / "log").read_bytes() == whole


def test_a_checkpoint_spares_what_is_recorded(tmp_path):
    course = course_of((3,) * 5, (2,) * 5)
    live(tmp_path / "whole", course, RICH)
    whole = (tmp_path / "whole").read_bytes()
    with killing(len(whole) * 3 // 4), pytest.raises(Killed):
        live(tmp_path / "log", course, RICH, checkpoint=1)
    system = system_of(course)
    live(tmp_path / "log", course, RICH, checkpoint=1, resume=True, system=system)
    assert (tmp_path / "log").read_bytes() == whole
    plain = system_of(course)
    live(tmp_path / "plain", course, RICH, system=plain)
    assert len(system.learner.calls) < len(plain.learner.calls) / 2
    forget(tmp_path / "log")
    assert not folder_of(tmp_path / "log").exists()


SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from lifecycles import Whole, course_of, expert_of, live
from taught import Drawn
from test_lifelong_resume import RICH, Asked
from truecost.learning.loop import Asking

class Slow(Whole):
    def predict(self, batch):
        time.sleep(0.002)
        return super().predict(batch)

class Told(Asked):
    def correct(self, question, batch, output):
        with open(sys.argv[3], "a") as file:
            file.write(f"{self.where} {question.id}\\n")
        return super().correct(question, batch, output)

course = course_of((4,) * 6, (3,) * 6)
expert = Told(expert_of(course, delay=(0, 2), refusal=0.1, seconds=(2.0, 1.0)))
system = Asking(Slow(course.classes), Drawn())
live(sys.argv[2], course, RICH, system=system, expert=expert, resume=True, checkpoint=4)
"""


def test_processes_that_are_killed(tmp_path):
    """SIGKILL whenever the log has grown past some random size."""
    path, asked = tmp_path / "log", tmp_path / "asked"
    command = ["-c", SCRIPT, str(Path(__file__).parent), str(path), str(asked)]
    course = course_of((4,) * 6, (3,) * 6)
    expert = expert_of(course, delay=(0, 2), refusal=0.1, seconds=(2.0, 1.0))
    live(tmp_path / "whole", course, RICH, expert=expert)
    whole = (tmp_path / "whole").read_bytes()
    for size in np.sort(np.random.default_rng(7).integers(1, len(whole), 3)):
        process = nursery.python(command)
        while process.poll() is None and not (path.exists() and path.stat().st_size >= size):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (-signal.SIGKILL, 0)
    known, told = recorded(path), asked.read_text().splitlines()
    assert nursery.python(command).wait() == 0
    assert path.read_bytes() == whole
    later = asked.read_text().splitlines()[len(told) :]
    active = {f"{where} {item}" for where, item, _ in known}
    assert not active & set(later)
    every = told + later
    assert len(every) - len(set(every)) <= 3  # lost while they were written


def test_progress_and_a_finished_life(tmp_path):
    course, done = course_of((2, 2), (1, 1)), []
    live(tmp_path / "log", course, RICH, progress=lambda *told: done.append(told))
    assert done == [(step, 9) for step in range(1, 10)]
    whole = (tmp_path / "log").read_bytes()
    live(tmp_path / "log", course, RICH, resume=True)
    assert (tmp_path / "log").read_bytes() == whole


def cut(tmp_path, course, life, expert):
    """A log that ends in the middle of a life."""
    path = tmp_path / "log"
    live(path, course, life, expert=expert)
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"\n", 0, len(data) // 2) + 1])
    return path


OTHERS = [
    {"seconds": 2.0},
    {"error_rate": 0.9},
    {"refusal": 0.9},
    {"name": "bob"},
    {"word_seconds": 1.0},
    {"delay": 1},
    {"says": "verdicts"},
]


@pytest.mark.parametrize("settings", OTHERS, ids=str)
@pytest.mark.parametrize("how", [Help(2), Help(0, 2)], ids=["active", "interactive"])
def test_another_expert_is_refused(tmp_path, settings, how):
    course = course_of((4,) * 3)
    if how.corrections and "delay" in settings:
        return  # what is volunteered is never late
    path = cut(tmp_path, course, Life(stream=how), expert_of(course))
    before = path.read_bytes()
    other = expert_of(course, **settings)
    with pytest.raises(InputError, match="cannot be resumed with another expert"):
        live(path, course, Life(stream=how), expert=other, resume=True)
    assert path.read_bytes() == before


def test_a_system_that_does_something_else_is_refused(tmp_path):
    course, life = course_of(), Life(stream=Help(1))
    path = cut(tmp_path, course, life, expert_of(course))
    before = path.read_bytes()
    system = system_of(course)
    system.learner.told.append("more")
    with pytest.raises(InputError, match="the learner, the data or the settings have changed"):
        live(path, course, life, system=system, resume=True)
    for other in (course_of(seed=1), course_of((2, 3, 3))):
        with pytest.raises(InputError, match=r"cannot be resumed|log goes on"):
            live(path, other, life, resume=True)
    with pytest.raises(InputError, match="cannot be resumed"):
        live(path, course, life, passing="frozen", resume=True)
    assert path.read_bytes() == before


@given(lives(), st.sampled_from([Asked, Quitter]))
def test_a_replayed_person_says_the_same(tmp_path_factory, given_life, person):
    """Late answers that never arrive and people who stop included."""
    from truecost.formats.events import read_events

    course, life, expert = given_life
    folder = tmp_path_factory.mktemp("replayed")
    life = replace(life, stream=replace(life.stream, seconds=None))  # open answers took no time
    live(folder / "log.jsonl", course, life, expert=person(expert))
    log = read_events(str(folder / "log.jsonl"))
    live(folder / "again.jsonl", course, life, expert=RecordedExpert(log))
    assert (folder / "again.jsonl").read_bytes() == (folder / "log.jsonl").read_bytes()


def test_times_of_the_log_do_not_depend_on_the_clock(tmp_path):
    """Byte for byte, but for CPU seconds, which are there when they are asked for."""
    course = course_of()
    live(tmp_path / "a", course, RICH)
    live(tmp_path / "b", course, RICH, record_cpu=True)
    lines = [json.loads(line) for line in (tmp_path / "b").read_text().splitlines()]
    assert any("cpu_seconds" in line for line in lines)
    for line in lines:
        line.pop("cpu_seconds", None)
    assert lines == [json.loads(line) for line in (tmp_path / "a").read_text().splitlines()]
    assert not re.search(r"cpu_seconds", (tmp_path / "a").read_text())
