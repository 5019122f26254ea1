"""Resuming: the same bytes wherever a run was killed, and nobody is asked twice."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nursery
from taught import (
    CLASSES,
    Counting,
    Drawn,
    Follower,
    Restorable,
    events,
    run,
    stream_of,
    system_of,
)
from test_learning_loop import runs
from truecost.errors import InputError
from truecost.learning.expert import ReferenceExpert
from truecost.learning.jobs import folder_of, forget
from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking, Budget, run_passive, run_stream

LEARNERS = {"replay": Follower, "snapshot": Restorable}


class Killed(BaseException):
    """The process ends here."""


def killing(after):
    """Let the log die in the middle of a write, when so many bytes are written."""
    left, write = [after], os.write

    def dying(file, data):
        if len(data) > left[0]:
            write(file, data[: left[0]])
            raise Killed
        left[0] -= len(data)
        return write(file, data)

    return mock.patch("truecost.learning.log.os.write", dying)


def answered(path):
    """Items whose answers are in the log."""
    return {event["id"] for event in whole_lines(path) if event["event"] == "answer"}


def whole_lines(path):
    """The events of a log whose last line may be cut short."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def resumed(path, stream, expert, budget, learner=Restorable, **options):
    """Resume; says who was asked, and the learner."""
    counting, system = Counting(expert), system_of(stream, learner)
    recorded = answered(path)
    run(path, stream, counting, budget, system=system, resume=True, **options)
    assert not recorded & set(counting.asked)
    assert len(counting.asked) == len(set(counting.asked))
    return counting.asked, system.learner


@pytest.fixture
def small(tmp_path):
    """A stream, an expert, and the bytes of the uninterrupted run, with all its checkpoints."""
    stream = stream_of([2, 2], bootstrap=1)
    expert = ReferenceExpert(stream.labels, CLASSES, delay=(0, 1), refusal=0.2, seconds=(1.0, 0.5))
    run(tmp_path / "log", stream, expert, 1, checkpoint=1)
    return stream, expert, (tmp_path / "log").read_bytes()


@pytest.fixture
def hasty(monkeypatch):
    """No waiting for the disk at the end of a log: for tests of thousands of them."""
    monkeypatch.setattr("truecost.learning.log.os.fsync", lambda file: None)


@pytest.mark.usefixtures("hasty")
def test_every_cut_of_a_log_is_resumed_to_the_same_bytes(tmp_path, small):
    stream, expert, whole = small
    for end in range(len(whole) + 1):
        path = tmp_path / f"log{end}"  # a new file: some disks are slow to write one anew
        path.write_bytes(whole[:end])
        resumed(path, stream, expert, 1, Follower)
        assert path.read_bytes() == whole


def test_checkpoints_that_know_more_than_the_log_are_not_used(tmp_path, small):
    stream, expert, whole = small
    ends = np.cumsum([len(line) for line in whole.splitlines(keepends=True)])
    for end in sorted({0, *ends, *(ends - 1), *(ends[:-1] + 1)}):
        (tmp_path / "log").write_bytes(whole[:end])
        _, learner = resumed(tmp_path / "log", stream, expert, 1, checkpoint=1)
        assert (tmp_path / "log").read_bytes() == whole
        # the checkpoint stands behind the last event, which may lack its line break
        assert learner.restored == (end >= len(whole) - 1)


@given(runs(), st.sampled_from([0, 1, 2]), st.sampled_from(list(LEARNERS)), st.data())
def test_a_run_killed_again_and_again_writes_the_same_bytes(
    tmp_path_factory, given_run, every, learner, data
):
    stream, expert, budget = given_run
    folder = tmp_path_factory.mktemp("killed")
    options = {"checkpoint": every, "run": "r"}
    run(folder / "whole", stream, expert, budget, **options)
    path, asked, kills = folder / "log", [], 0
    for _ in range(data.draw(st.integers(1, 3))):
        counting, known = Counting(expert), answered(path)
        system = system_of(stream, LEARNERS[learner])
        with killing(data.draw(st.integers(0, (folder / "whole").stat().st_size))):
            try:
                run(path, stream, counting, budget, system=system, resume=True, **options)
            except Killed:
                kills += 1
        assert not known & set(counting.asked)
        asked += counting.asked
    last, _ = resumed(path, stream, expert, budget, LEARNERS[learner], **options)
    assert path.read_bytes() == (folder / "whole").read_bytes()
    # an answer may be lost in the moment when it is written; one that is on its way never is
    again = [*asked, *last]
    assert len(again) - len(set(again)) <= kills


def killed(path, stream, expert, budget, after, learner=Restorable, **options):
    """A run that dies when so many bytes are written."""
    system = system_of(stream, learner)
    with killing(after), pytest.raises(Killed):
        run(path, stream, expert, budget, system=system, **options)


def long_run(tmp_path, **options):
    """A stream, an expert, and the bytes of the uninterrupted run."""
    stream = stream_of([4] * 8, name="de", bootstrap=2)
    expert = ReferenceExpert(stream.labels, CLASSES, delay=(0, 2), **options)
    run(tmp_path / "whole", stream, expert, 2, checkpoint=2)
    return stream, expert, (tmp_path / "whole").read_bytes()


def test_a_checkpoint_spares_what_is_recorded(tmp_path):
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) * 3 // 4, checkpoint=2)
    batch = max(event.get("batch", -1) for event in whole_lines(path))
    _, learner = resumed(path, stream, expert, 2, checkpoint=2)
    assert path.read_bytes() == whole
    assert learner.restored == 1
    assert learner.calls[0] == ("predict", batch - batch % 2)  # the last one that was stored


def test_a_finished_stream_is_not_run_again(tmp_path):
    streams = [stream_of([3] * 3, name=name) for name in ("de", "fr")]

    def go(path, resume=False):
        systems = [system_of(stream) for stream in streams]
        with LogWriter.open(path, resume=resume) as log:
            for stream, system in zip(streams, systems, strict=True):
                expert = ReferenceExpert(stream.labels, CLASSES)
                run_stream(stream, system, expert, Budget(1), log, checkpoint=5)
            log.finish()
        return [system.learner for system in systems]

    go(tmp_path / "whole")
    whole, path = (tmp_path / "whole").read_bytes(), tmp_path / "log"
    with killing(len(whole) * 3 // 4), pytest.raises(Killed):
        go(path)
    first, second = go(path, resume=True)
    assert path.read_bytes() == whole
    assert (first.restored, first.calls) == (1, [])
    assert (second.restored, second.calls[0]) == (0, ("predict", 0))
    again = go(path, resume=True)  # complete: nothing is done and nothing is written
    assert path.read_bytes() == whole
    assert [(one.restored, one.calls) for one in again] == [(1, []), (1, [])]
    forget(path)
    assert not folder_of(path).exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log", "whole", "whole.resume"]


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shorten(path):
    path.write_bytes(path.read_bytes()[:-5])


def mislead(path):
    """Change a digit of what the system stored: it would go back to it, and be another."""
    data = bytearray(path.read_bytes())
    digit = re.search(rb"\d\.\d{9}", data).end() - 1
    data[digit] ^= 1  # 48 to 57 come in pairs
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [damage, mislead, shorten, Path.unlink])
def test_a_damaged_checkpoint_is_ignored(tmp_path, spoil):
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, checkpoint=2)
    [checkpoint] = folder_of(path).glob("*.checkpoint")
    spoil(checkpoint)
    _, learner = resumed(path, stream, expert, 2, checkpoint=2)
    assert path.read_bytes() == whole
    assert learner.restored == 0
    assert learner.calls[0] == ("adapt", -1, learner.calls[0][2])


def test_a_checkpoint_of_another_version_is_ignored(tmp_path):
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, checkpoint=2)
    with mock.patch("truecost.learning.jobs.__version__", "99"):
        _, learner = resumed(path, stream, expert, 2, checkpoint=2)
    assert path.read_bytes() == whole
    assert learner.restored == 0


def test_a_checkpoint_of_other_settings_or_data_is_ignored_and_the_run_refused(tmp_path):
    """The recorded part would not be compared if it were used."""
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, checkpoint=2)
    before = path.read_bytes()
    other = stream_of([4] * 8, name="de", bootstrap=2, seed=1)
    for stream_, budget in ((stream, 3), (stream, 1), (other, 2), (stream, Budget(rate=0.5))):
        person = ReferenceExpert(stream_.labels, CLASSES)
        if budget == Budget(rate=0.5):  # which happens to ask as many in each batch
            assert resumed(path, stream_, expert, budget, checkpoint=2)[1].restored == 0
            continue
        with pytest.raises(InputError, match="the run cannot be resumed"):
            run(path, stream_, person, budget, resume=True, checkpoint=2)
        assert path.read_bytes() == before


def test_a_checkpoint_beside_another_log_is_ignored(tmp_path):
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, checkpoint=2)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"t":', b'"t":1')  # not compared, so that only the hash tells
    path.write_bytes(b"".join(lines))
    _, learner = resumed(path, stream, expert, 2, checkpoint=2)
    assert learner.restored == 0
    forget(path)
    replay = b"".join([*lines[:-1], *whole.splitlines(keepends=True)[len(lines) - 1 :]])
    assert path.read_bytes() == replay


def test_a_learner_that_refuses_its_own_checkpoint_is_named(tmp_path):
    class Picky(Restorable):
        name = "picky"

        def restore(self, state):
            raise KeyError("weights")

    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, checkpoint=2)
    # the checkpoint was made under the name of the other
    Picky.name = Restorable.name
    message = r"\.checkpoint: follower with drawn cannot go back.*KeyError: 'weights'.*delete this"
    with pytest.raises(InputError, match=message):
        run(path, stream, expert, 2, system=system_of(stream, Picky), resume=True, checkpoint=2)
    forget(path)
    run(path, stream, expert, 2, system=system_of(stream, Picky), resume=True)
    assert path.read_bytes() == whole


def test_a_learner_without_snapshots_has_no_checkpoints(tmp_path):
    stream = stream_of([3, 3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    run(tmp_path / "log", stream, expert, 1, system=system_of(stream, Follower), checkpoint=1)
    assert not folder_of(tmp_path / "log").exists()


def test_a_late_answer_on_its_way_is_not_asked_for_again(tmp_path):
    stream = stream_of([3] * 4)
    expert = Counting(ReferenceExpert(stream.labels, CLASSES, delay=9))
    run(tmp_path / "whole", stream, expert.expert, 2)
    path, size = tmp_path / "log", (tmp_path / "whole").stat().st_size
    for share in (0.3, 0.6, 0.9):
        system = system_of(stream)
        written = path.stat().st_size if path.exists() else 0
        with killing(int(size * share) - written), pytest.raises(Killed):
            run(path, stream, expert, 2, system=system, resume=True)
    run(path, stream, expert, 2, resume=True)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(expert.asked) == len(set(expert.asked)) == 8
    assert not [event for event in events(path) if event["event"] == "answer"]


def test_a_late_answer_that_was_cut_short_is_asked_for_again(tmp_path):
    stream = stream_of([3] * 3)
    expert = ReferenceExpert(stream.labels, CLASSES, delay=1)
    run(tmp_path / "whole", stream, expert, 1)
    path, size = tmp_path / "log", (tmp_path / "whole").stat().st_size
    late = folder_of(path) / "late.jsonl"
    killed(path, stream, expert, 1, size // 2)
    late.write_bytes(late.read_bytes()[:-9])
    system = system_of(stream)
    with killing(size // 4), pytest.raises(Killed):
        run(path, stream, expert, 1, system=system, resume=True)
    again, _ = resumed(path, stream, expert, 1)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert set(again) < {event["id"] for event in events(path) if event["event"] == "query"}


class Mortal(Counting):
    """An expert of whom the process dies when so many questions were answered."""

    def __init__(self, expert, answers):
        super().__init__(expert)
        self.left = answers

    def answer(self, question, batch):
        if not self.left:
            raise Killed
        self.left -= 1
        return super().answer(question, batch)


def dying(path, stream, expert, budget, answers):
    """A run that dies at a question, after so many answers; says what was asked before."""
    person = Mortal(expert, answers)
    with pytest.raises(Killed):
        run(path, stream, person, budget, resume=True)
    return person.asked


def test_what_follows_a_line_that_was_cut_short_is_on_its_way_all_the_same(tmp_path):
    stream = stream_of([3] * 4)
    expert = ReferenceExpert(stream.labels, CLASSES, delay=9)
    run(tmp_path / "whole", stream, expert, 1)
    path = tmp_path / "log"
    late = folder_of(path) / "late.jsonl"
    first = dying(path, stream, expert, 1, 1)
    late.write_bytes(late.read_bytes()[:-9])
    again = dying(path, stream, expert, 1, 2)
    assert first == again[:1]  # it had been lost
    last, _ = resumed(path, stream, expert, 1)
    assert not set(last) & set(again)
    assert len(last) == 2
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_question_of_a_new_log_is_not_answered_by_the_log_that_was_there(tmp_path):
    """It dies between question and answer: the log has the question, as the old one had."""
    stream = stream_of([3] * 3)
    path = tmp_path / "log"
    expert = ReferenceExpert(stream.labels, CLASSES, delay=1)
    [item] = dying(path, stream, expert, 1, 1)
    path.unlink()
    assert dying(path, stream, expert, 1, 0) == []
    asked, _ = resumed(path, stream, expert, 1)
    assert item in asked


@pytest.mark.parametrize("known", [0, 1, 2])
def test_an_answer_is_on_its_way_only_when_the_log_has_its_question(tmp_path, known):
    stream = stream_of([3] * 2)
    path = tmp_path / "log"
    expert = ReferenceExpert(stream.labels, CLASSES, delay=1)
    both = dying(path, stream, expert, 2, 2)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: 3 + known]))  # 3 predictions, then the questions
    assert dying(path, stream, expert, 2, 2 - known) == both[known:]


def test_nothing_is_stored_while_the_log_is_followed(tmp_path):
    class Slow(Restorable):
        stored = 0

        def snapshot(self):
            self.stored += 1
            return super().snapshot()

    stream = stream_of([3] * 6)
    expert = ReferenceExpert(stream.labels, CLASSES)
    dying(tmp_path / "log", stream, expert, 1, 4)
    system = system_of(stream, Slow)
    run(tmp_path / "log", stream, expert, 1, system=system, resume=True, checkpoint=1)
    assert system.learner.stored == 2  # of the fifth batch, where it died, and of the sixth


def test_answers_on_their_way_of_a_log_that_is_gone_are_forgotten(tmp_path):
    stream = stream_of([3] * 3)
    path = tmp_path / "log"
    killed(path, stream, ReferenceExpert(stream.labels, CLASSES, delay=1), 1, 600)
    path.unlink()
    changed = {item: "10"[int(label)] for item, label in stream.labels.items()}
    expert = ReferenceExpert(changed, CLASSES, delay=1)
    killed(path, stream, expert, 1, 600)
    resumed(path, stream, expert, 1)
    answers = [event for event in events(path) if event["event"] == "answer"]
    assert answers
    assert all(event["label"] == changed[event["id"]] for event in answers)


def test_a_learner_that_does_not_do_the_same_again_is_refused(tmp_path):
    class Moody(Restorable):
        def predict(self, batch):
            said = super().predict(batch)
            return replace(said, scores=said.scores + np.random.default_rng().random())

    stream = stream_of([3, 3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    path = tmp_path / "log"
    killed(path, stream, expert, 1, 900, Moody)
    before = path.read_bytes()
    message = r"log, line 1: the run cannot be resumed, as the learner, the data or the settings"
    with pytest.raises(InputError, match=message):
        run(path, stream, expert, 1, system=system_of(stream, Moody), resume=True)
    assert path.read_bytes() == before


def test_a_changed_answer_in_the_log_is_what_the_system_learns(tmp_path):
    """Answers are the log's, and what follows from another answer differs."""
    stream = stream_of([3, 3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    path = tmp_path / "log"
    log = run(path, stream, expert, 1)
    place = next(i for i, event in enumerate(log) if event["event"] == "answer")
    lines = path.read_bytes().splitlines(keepends=True)
    label = log[place]["label"]
    lines[place] = lines[place].replace(
        f'"label":"{label}"'.encode(), b'"label":"%d"' % (label == "0")
    )
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=f"line {place + 3}: the run cannot be resumed"):
        run(path, stream, expert, 1, resume=True)
    lines[place] = lines[place].replace(b'"label":"', b'"label":"z')
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"the answer is 'z.', expected one of the classes 0, 1"):
        run(path, stream, expert, 1, resume=True)


@pytest.mark.usefixtures("hasty")
def test_the_passive_baseline_resumes_at_every_cut(tmp_path):
    stream = stream_of([2, 2], pool=3)

    def go(path):
        with LogWriter.open(path, resume=True) as log:
            run_passive(stream, Follower(), log)
            log.finish()
        return path.read_bytes()

    whole = go(tmp_path / "log")
    for end in range(len(whole)):
        path = tmp_path / f"log{end}"
        path.write_bytes(whole[:end])
        assert go(path) == whole


def test_cpu_seconds_do_not_hinder_resuming(tmp_path):
    stream, expert, whole = long_run(tmp_path)
    path = tmp_path / "log"
    killed(path, stream, expert, 2, len(whole) // 2, record_cpu=True, checkpoint=2)
    resumed(path, stream, expert, 2, record_cpu=True, checkpoint=2)
    log = [{k: v for k, v in e.items() if k != "cpu_seconds"} for e in events(path)]
    (tmp_path / "plain").write_bytes(whole)
    assert log == events(tmp_path / "plain")


SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from taught import CLASSES, Drawn, Follower, Restorable, run, stream_of
from truecost.learning.loop import Asking
from truecost.learning.expert import ReferenceExpert

class Slow({learner}):
    def predict(self, batch):
        time.sleep(0.003)
        return super().predict(batch)

class Told(ReferenceExpert):
    def answer(self, question, batch):
        with open(sys.argv[3], "a") as file:
            file.write(question.id + chr(10))
        return super().answer(question, batch)

stream = stream_of([6] * 30, bootstrap=4)
expert = Told(stream.labels, CLASSES, delay=(0, 2), refusal=0.1, seconds=(2.0, 1.0))
run(Path(sys.argv[2]), stream, expert, 2, system=Asking(Slow(), Drawn()), resume=True, checkpoint=4)
"""


@pytest.mark.parametrize("learner", ["Follower", "Restorable"])
def test_processes_that_are_killed(tmp_path, learner):
    """SIGKILL whenever the log has grown past some random size."""
    path, asked = tmp_path / "log", tmp_path / "asked"
    script = SCRIPT.replace("{learner}", learner)
    command = ["-c", script, str(Path(__file__).parent), str(path), str(asked)]
    stream = stream_of([6] * 30, bootstrap=4)
    expert = ReferenceExpert(stream.labels, CLASSES, delay=(0, 2), refusal=0.1, seconds=(2.0, 1.0))
    run(tmp_path / "whole", stream, expert, 2)
    whole = (tmp_path / "whole").read_bytes()
    for size in np.sort(np.random.default_rng(7).integers(1, len(whole), 3)):
        process = nursery.python(command)
        while process.poll() is None and not (path.exists() and path.stat().st_size >= size):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (-signal.SIGKILL, 0)
        known, before = answered(path), set(_lines(asked))
        assert known <= before
    told = _lines(asked)
    assert nursery.python(command).wait() == 0
    assert path.read_bytes() == whole
    assert not known & set(_lines(asked)[len(told) :])
    assert len(_lines(asked)) - len(set(_lines(asked))) <= 3
    assert len(set(_lines(asked))) == 4 + 2 * 30


def _lines(path):
    return path.read_text().split()


def test_systems_join_the_same_way_whoever_runs_them(tmp_path):
    stream = stream_of([3, 3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    one = run(tmp_path / "one", stream, expert, 1, system=Asking(Follower(), Drawn()))
    two = run(tmp_path / "two", stream, expert, 1, system=Asking(Restorable(), Drawn()))
    assert one == two
