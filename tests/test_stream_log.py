"""The writer of event logs: what it writes, and how a killed run goes on with it."""

import hashlib
import json
import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats.events import read_events
from truecost.learning.log import Event, LogWriter


def run(log, batches=3, change=None):
    """Emit what a small run emits."""
    for batch in range(batches):
        items = [f"i{batch}-{place}" for place in range(3)]
        for phase in ("pre", "post"):
            log.emit_many(
                Event(
                    t=float(batch),
                    batch=batch,
                    id=item,
                    event="predict",
                    phase=phase,
                    score=1 / (3 + batch) if item != change else 9.0,
                    decision="ü\n0",
                )
                for item in items
            )
            if phase == "pre":
                log.emit(Event(batch=batch, id=items[0], event="query", stream="s"))
                log.emit(
                    Event(batch=batch, id=items[0], event="answer", label="1", stream="s", t=2.0)
                )
                log.emit(Event(batch=batch, event="adapt", cpu_seconds=0.25))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of the small run."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with LogWriter.open(path) as log:
        run(log)
        log.finish()
    return path.read_bytes()


def resumed(path, data, **how):
    """The bytes after a run resumed on these."""
    path.write_bytes(data)
    with LogWriter.open(path, resume=True) as log:
        run(log, **how)
        log.finish()
    return path.read_bytes()


def test_lines_hold_what_was_emitted_and_nothing_else(whole):
    lines = [json.loads(line) for line in whole.splitlines()]
    assert lines[0] == {
        "t": 0.0,
        "batch": 0,
        "id": "i0-0",
        "event": "predict",
        "phase": "pre",
        "score": 1 / 3,
        "decision": "ü\n0",
    }
    assert list(lines[0]) == ["t", "batch", "id", "event", "phase", "score", "decision"]
    assert lines[5] == {"batch": 0, "event": "adapt", "cpu_seconds": 0.25}
    assert len(lines) == 27


def test_a_written_log_reads_back(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole)
    frame = read_events(str(path)).frame
    with LogWriter.open(path, resume=True) as log:
        for name in frame.columns:
            assert frame[name].to_list() == [getattr(event, name) for event in log.recorded]


def test_resuming_at_every_byte_gives_the_same_bytes(tmp_path, whole, monkeypatch):
    monkeypatch.setattr("truecost.learning.log.os.fsync", lambda file: None)  # seconds, of a disk
    for cut in range(len(whole) + 1):
        path = tmp_path / f"{cut}.jsonl"  # a new file: some disks are slow to write one anew
        assert resumed(path, whole[:cut]) == whole, cut


def test_what_was_cut_is_reported(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:9])
    with LogWriter.open(path, resume=True) as log:
        assert len(log.recorded) == 4
        assert log.problems == (
            f"{path}, line 5: the last line was cut short and is written anew: "
            f"{lines[4][:9].decode()}",
        )
    assert path.read_bytes() == b"".join(lines[:4]) + lines[4][:9]  # nothing was emitted


def test_another_run_is_refused_and_its_log_stays(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    data = whole[:-30]
    with pytest.raises(
        InputError, match=r"log\.jsonl, line 11: the run cannot be resumed"
    ) as caught:
        resumed(path, data, change="i1-1")
    assert "(they differ in score); restore what was changed, or start a new" in str(caught.value)
    assert "i1-1" in str(caught.value)
    assert path.read_bytes() == data


def test_clocks_may_differ(tmp_path, whole):
    other = whole.replace(b'"cpu_seconds":0.25', b'"cpu_seconds":7.5')
    kept = other.replace(b'"t":2.0', b'"t":2.5').splitlines(keepends=True)[:16]
    new = whole.splitlines(keepends=True)[16:]
    assert resumed(tmp_path / "log.jsonl", b"".join(kept)) == b"".join([*kept, *new])


def test_a_longer_log_is_refused_at_the_end(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    with pytest.raises(
        InputError, match=r"line 19: the log continues after the end of this run \(9 event"
    ):
        resumed(path, whole, batches=2)
    cut = whole.index(b'{"t":2.0,"batch":2,') + 5  # half a line more than the run
    with pytest.raises(
        InputError, match=r"line 19: the log continues after the end of this run \(1 event"
    ):
        resumed(path, whole[:cut], batches=2)
    assert path.read_bytes() == whole[:cut]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"t,batch,id\n0,1,a\n", "line 1: this is not an event"),
        (
            b"important notes",
            "line 1: the log of this run does not begin with this line: important not",
        ),
        (b'{"event":"adapt"}\n{"batch":"x","event":"adapt"}\n', "line 2: this is not an event"),
        (b'{"event":"adapt"}\n{"event":"adapt"', "line 1: the run cannot be resumed"),
        (
            b'{"event":"adapt","model":"m"}\n',
            "line 1: this is not an event .*only a log that truecost wrote",
        ),
        (b'{"event":"adapt"}\n\n', "line 2: this is not an event"),
    ],
)
def test_files_that_are_not_ours_stay_as_they_are(tmp_path, data, said):
    path = tmp_path / "log.jsonl"
    with pytest.raises(InputError, match=said):
        resumed(path, data)
    assert path.read_bytes() == data


def test_a_log_is_never_overwritten(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole)
    with pytest.raises(UsageError, match="there is a log already: resume it, or name another"):
        LogWriter.open(path)
    assert path.read_bytes() == whole


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        LogWriter.open(tmp_path)
    log = LogWriter.open(tmp_path / "none" / "log.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        log.emit(Event(event="adapt"))


def test_a_log_that_someone_else_writes_is_left_alone(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole[:-1])
    with LogWriter.open(path, resume=True) as log:
        path.write_bytes(whole)
        with pytest.raises(InputError, match="has changed since it was opened"):
            run(log, batches=4)
    assert path.read_bytes() == whole


def test_a_closed_log_takes_nothing_more(tmp_path):
    log = LogWriter.open(tmp_path / "log.jsonl")
    log.emit(Event(event="adapt"))
    log.finish()
    with pytest.raises(UsageError, match="the log is closed"):
        log.emit(Event(event="adapt"))
    assert (tmp_path / "log.jsonl").read_bytes() == b'{"event":"adapt"}\n'


def test_a_run_without_events_leaves_an_empty_log(tmp_path):
    with LogWriter.open(tmp_path / "log.jsonl", resume=True) as log:
        log.emit_many([])
        log.finish()
    assert (tmp_path / "log.jsonl").read_bytes() == b""


@pytest.mark.parametrize("name", ["score", "t", "active_seconds", "cpu_seconds"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, name):
    path = tmp_path / "log.jsonl"
    log = LogWriter.open(path)
    log.emit(Event(id='a":null,"b', event="query", batch=0))  # only text: no fault
    kept = path.read_bytes()
    with pytest.raises(
        InputError, match=rf"the {name} of a predict event \(batch 3, id x\) is nan"
    ):
        log.emit(Event(event="predict", id="x", batch=3, **{name: float("nan")}))
    log.close()
    assert path.read_bytes() == kept


def _answer_to(log, item, **columns):
    """The recorded answer to a question about an item."""
    return log.recorded_answer(Event(event="query", id=item, **columns))


def test_answers_are_found_before_they_are_emitted_again(tmp_path):
    path = tmp_path / "log.jsonl"
    answers = [
        Event(id="a", event="answer", label="1", expert="anna"),
        Event(id="b", event="answer", batch=2, active_seconds=3.5),  # refused
        Event(id="a", event="answer", label="0", stream="fr", run="7", part="end"),
    ]
    with LogWriter.open(path) as log:
        log.emit_many(answers)
        assert _answer_to(log, "a") is None  # was not there when the log was opened
    with LogWriter.open(path, resume=True) as log:
        assert _answer_to(log, "a") == answers[0]
        assert _answer_to(log, "b") == answers[1]
        assert _answer_to(log, "a", part="end", stream="fr", run="7") == answers[2]
        assert _answer_to(log, "a", part="end", stream="fr") is None
        assert _answer_to(log, "c") is None
        assert log.next_recorded == answers[0]
        log.emit_many(answers)
        assert (log.next_recorded, log.replaying, log.position) == (None, False, 3)


def test_the_first_answer_to_a_question_counts(tmp_path):
    """A log that someone put together: what was learnt from is what came first."""
    path = tmp_path / "log.jsonl"
    lines = [Event(id="a", event="answer", label=label, batch=0) for label in ("1", "0", "1")]
    with LogWriter.open(path) as log:
        log.emit_many(lines)
    with LogWriter.open(path, resume=True) as log:
        assert _answer_to(log, "a") == lines[0]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    with LogWriter.open(path, resume=True) as log:
        assert _answer_to(log, "a") == lines[1]


def test_a_complete_log_is_on_the_disk_before_it_is_closed(tmp_path, monkeypatch):
    done, path = [], tmp_path / "log.jsonl"

    def watch(name):
        call = getattr(os, name)

        def noted(file):
            done.append((name, os.fstat(file).st_size))
            call(file)

        monkeypatch.setattr(f"truecost.learning.log.os.{name}", noted)

    watch("fsync")
    watch("close")
    with LogWriter.open(path) as log:
        run(log)
        log.finish()
    size = path.stat().st_size
    assert done == [("fsync", size), ("close", size)]


def test_each_event_is_in_the_file_before_the_next(tmp_path):
    path = tmp_path / "log.jsonl"
    with LogWriter.open(path) as log:
        for count in range(1, 4):
            log.emit(Event(id=str(count), event="answer"))
            assert path.read_bytes().count(b"\n") == count


def test_a_killed_process_loses_nothing_that_it_wrote(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from truecost.learning.log import Event, LogWriter\n"
        "log = LogWriter.open(sys.argv[1])\n"
        "log.emit_many(Event(id=str(i), event='query', batch=0) for i in range(100))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "log.jsonl"
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -9
    with LogWriter.open(path, resume=True) as log:
        assert [event.id for event in log.recorded] == [str(i) for i in range(100)]
        assert log.problems == ()


@settings(deadline=None)
@given(st.data())
def test_checkpoints_skip_what_they_have_seen(tmp_path_factory, whole, data):
    path = tmp_path_factory.getbasetemp() / "skipped.jsonl"
    lines = whole.splitlines(keepends=True)
    kept = data.draw(st.integers(0, len(lines)))
    seen = data.draw(st.integers(0, len(lines)))
    path.write_bytes(b"".join(lines[:kept]))
    digest = hashlib.sha256(b"".join(lines[:seen])).hexdigest()
    with LogWriter.open(path, resume=True) as log:
        assert log.skip(seen, digest) == (seen <= kept)
        assert log.position == (seen if seen <= kept else 0)
        events = msgspec.json.Decoder(Event).decode_lines(whole)
        log.emit_many(events[log.position :])
        assert log.digest() == hashlib.sha256(whole).hexdigest()
        log.finish()
    assert path.read_bytes() == whole


def test_checkpoints_of_other_logs_are_not_trusted(tmp_path, whole):
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole)
    with LogWriter.open(path, resume=True) as log:
        assert not log.skip(3, hashlib.sha256(b"other").hexdigest())
        run(log, batches=1)
        assert not log.skip(1, log.digest())  # behind what was emitted
        assert log.position == 9


@pytest.mark.skipif(os.name != "posix", reason="a full device is a file on POSIX only")
def test_a_full_disk_is_said(tmp_path):
    path = tmp_path / "log.jsonl"
    path.symlink_to("/dev/full")
    log = LogWriter.open("/dev/null")
    log.path = path
    with log, pytest.raises(InputError, match="cannot be written \\(No space left on device\\)"):
        log.emit(Event(event="adapt"))
