"""Jobs in worker processes: what they tell, how they fail, that none is left."""

import os
import time

import pytest

from truecost.errors import InputError, MissingExtraError
from truecost.learning.parallel import THREADS, WorkerError, run_parallel

JOBS = """
import os
import sys
import time

from truecost import errors


def told(shared, job, tell):
    tell({"job": job, "shared": shared, "pid": os.getpid()})


def settings(shared, job, tell):
    tell({name: os.environ.get(name) for name in shared})


def printed(shared, job, tell):
    print("{}")
    os.write(1, b"not for you\\n")
    tell("said")


def failing(shared, job, tell):
    if job == shared["at"]:
        raise {"input": errors.InputError, "extra": errors.MissingExtraError}.get(
            shared["error"], ZeroDivisionError
        )("because")
    tell(os.getpid())
    time.sleep(shared.get("pause", 0))


def closing(shared, job, tell):
    tell(os.getpid())
    try:
        if job == 0:
            time.sleep(0.5)
            raise errors.InputError("stop")
        time.sleep(60)
    finally:
        open(f"{shared}/closed-{job}", "w").close()


def stubborn(shared, job, tell):
    tell(os.getpid())
    if job == 0:
        raise errors.InputError("stop")
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass


def leaving(shared, job, tell):
    os._exit(5)


def held(shared, job, tell):
    tell(os.fstat(shared).st_ino)


def session(shared, job, tell):
    tell([os.getsid(0), os.getpid()])
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run jobs of a module that only we know: what was heard, in order."""
    (tmp_path / "parallel_jobs.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)

    def call(name, shared, jobs, processes, **options):
        heard = []
        run_parallel(
            f"parallel_jobs:{name}",
            shared,
            jobs,
            processes,
            lambda place, said: heard.append((place, said)),
            **options,
        )
        return heard

    return call


@pytest.mark.parametrize("processes", [0, 1, 2, 5])
def test_every_job_is_done_once(run, processes):
    heard = run("told", {"a": [1, 2]}, ["x", "y", "z"], processes)
    told = [(place, said["job"], said["shared"]) for place, said in heard if said]
    assert sorted(told) == [(k, name, {"a": [1, 2]}) for k, name in enumerate("xyz")]
    assert sorted(place for place, said in heard if said is None) == [0, 1, 2]
    pids = {said["pid"] for _, said in heard if said}
    assert os.getpid() not in pids
    assert len(pids) <= max(1, min(processes, 3))


def test_no_jobs_start_nothing(run):
    assert run("nothing of this name", None, [], 2) == []


def test_libraries_have_one_thread_and_hashes_are_the_same(run):
    [(_, said), _] = run("settings", [*THREADS, "PYTHONHASHSEED"], [0], 1)
    assert said == {**dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}
    assert os.environ.get("OMP_NUM_THREADS") != "1"  # here nothing changed


def test_what_is_printed_goes_to_standard_error(run, capfd):
    assert run("printed", None, [0], 1) == [(0, "said"), (0, None)]
    out, err = capfd.readouterr()
    assert out == ""
    assert "{}" in err
    assert "not for you" in err


@pytest.mark.parametrize(("error", "kind"), [("input", InputError), ("extra", MissingExtraError)])
def test_our_errors_come_back_as_they_are(run, error, kind):
    with pytest.raises(kind, match=r"^because$"):
        run("failing", {"at": 1, "error": error}, [0, 1, 2], 2)


def test_other_errors_come_with_their_traceback(run):
    with pytest.raises(WorkerError, match="ZeroDivisionError") as caught:
        run("failing", {"at": 0, "error": "other"}, [0], 1)
    assert str(caught.value) == "ZeroDivisionError: because"  # no traceback for users
    [note] = caught.value.__notes__
    assert "in failing" in note


def test_a_failure_ends_the_others_who_close_what_they_opened(run, tmp_path):
    begin = time.monotonic()
    with pytest.raises(InputError, match=r"^stop$"):
        run("closing", str(tmp_path), [0, 1, 2], 3)
    assert time.monotonic() - begin < 30
    assert len([*tmp_path.glob("closed-*")]) == 3


def test_where_failures_can_wait_the_others_end_and_none_is_begun(run):
    heard, shared = [], {"at": 0, "error": "input", "pause": 1}
    options = {"heard": lambda place, said: heard.append((place, said)), "patient": True}
    failed = run_parallel("parallel_jobs:failing", shared, [1, 0], 2, **options)
    assert {place: str(error) for place, error in failed.items()} == {1: "because"}
    assert (0, None) in heard
    assert [*run_parallel("parallel_jobs:failing", shared, [0, 1], 1, **options)] == [0]
    assert (1, None) not in heard
    with pytest.raises(WorkerError):  # no fault of the data: it ends them all
        run_parallel("parallel_jobs:failing", {"at": 0, "error": "other"}, [0], 1, **options)


def test_what_does_not_heed_is_ended(run, monkeypatch):
    monkeypatch.setattr("truecost.learning.parallel.GRACE", 1.0)
    heard = []
    with pytest.raises(InputError, match=r"^stop$"):
        run_parallel("parallel_jobs:stubborn", None, [1, 0], 2, lambda _, said: heard.append(said))
    for pid in filter(None, heard):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_that_leaves_is_no_success(run):
    with pytest.raises(InputError, match=r"ended by itself \(exit code 5\)"):
        run("leaving", None, [0], 1)


def test_workers_hold_what_they_shall_hold(run, tmp_path):
    lock = os.open(tmp_path, os.O_RDONLY)
    try:
        [(_, inode), _] = run("held", lock, [0], 1, keep=(lock,))
        assert inode == os.fstat(lock).st_ino
    finally:
        os.close(lock)


def test_ctrl_c_at_the_terminal_does_not_reach_the_workers(run):
    """It goes to the session of the terminal; each worker has one of its own."""
    [(_, (session, pid)), _] = run("session", None, [0], 1)
    assert session == pid != os.getsid(0)


def test_a_fault_of_the_listener_ends_the_workers(run):
    def listen(place, said):
        raise ValueError("no screen")

    with pytest.raises(ValueError, match="no screen"):
        run_parallel("parallel_jobs:told", None, [0, 1], 2, listen)
