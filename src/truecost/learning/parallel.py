"""Jobs in processes of their own: equal results for any number of them, nothing left behind.

`run_jobs` runs passes over streams, passes through life cycles and trainings; what is done already
stays.

When the input ends while a job runs, the job is interrupted as Ctrl-C would, so that it closes what
it opened; what does not heed that is ended after a while. See `parallel` for the other side.

Each worker is a fresh interpreter whose numerical libraries have one thread, so that a job computes
the same in whichever worker it falls, beside however many others. A worker reads jobs from its
standard input, one JSON object a line, and answers on its standard output. It ends when its input
does: when all is done, when something failed, and also when whoever started it was killed. Ctrl-C
reaches the one who started it only, who then ends them all.

(`multiprocessing` imports the main module anew in every process, which a script without a guard
does not stand, and leaves workers behind when their parent is killed; these would go on writing.)
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol, cast

import msgspec

from truecost import errors
from truecost.errors import InputError, TruecostError, counted, phrased
from truecost.face import at

GRACE = 5.0  # seconds in which a worker that is told to stop may close what it opened


def main() -> None:
    """Work until the input ends, or whoever gives the jobs is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints is no answer
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored
    with suppress(KeyboardInterrupt, BrokenPipeError), phrased(str):
        _work(json.loads(sys.stdin.readline()), answers)
    sys.stderr.flush()
    os._exit(0)  # a thread that still reads would break an orderly end


def _work(start: Mapping[str, Any], answers: IO[bytes]) -> None:
    """Job after job."""
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(jobs, busy), daemon=True).start()
    while (job := jobs.get()) is not None:
        busy.set()
        said = _outcome(start, job["job"], answers)
        busy.clear()
        _answer(answers, said)


def _listen(jobs: "queue.SimpleQueue[Any]", busy: threading.Event) -> None:
    """Take jobs in; at the end of the input, stop what is being done."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    jobs.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(GRACE)
        os._exit(1)


def _outcome(start: Mapping[str, Any], job: Any, answers: IO[bytes]) -> dict[str, Any]:
    """Run a job; what is said of it."""
    try:
        at(start["call"])(start["shared"], job, lambda told: _answer(answers, {"told": told}))
    except Exception as error:  # it is raised again on the other side
        trace = traceback.format_exc()
        return {"error": type(error).__name__, "message": str(error), "trace": trace}
    return {"done": True}


def _answer(answers: IO[bytes], content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content).encode() + b"\n")
    answers.flush()


Heard = Callable[[int, Any], None]
Progress = Callable[[int, int], None]
Tell = Callable[[Any], None]
PAUSE = 0.2  # seconds between two messages on how far a job is
THREADS = (  # what numerical libraries call the number of their threads
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
    *("POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT"),
)
SETTINGS = {**dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}  # of every worker
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from truecost.learning.parallel import main; main()"
)


class WorkerError(Exception):
    """A fault in a worker that is not the user's; its traceback is noted."""


def run_parallel(
    call: str,
    shared: Any,
    jobs: Sequence[Any],
    processes: int,
    heard: Heard | None = None,
    *,
    keep: Sequence[int] = (),
    patient: bool = False,
) -> dict[int, Exception]:
    """Run jobs in worker processes; the first failure stops them all, and is raised.

    `call`: `module:function`, called as `function(shared, job, tell)` for each job, where `tell`
    sends something back; `shared`: for all jobs; JSON can hold it. `jobs`: JSON can hold them. They
    are started in their order. `processes`: how many run at a time; at most one for each job;
    `heard`: told the place of the job and what it tells, and None when it is done; called in one
    thread at a time; `keep`: file descriptors that workers hold open as long as they live (locks);
    `patient`: after an `InputError` no job is begun and those that run may end. Gives what was
    raised then, by the place of the job.
    """
    crew = _Crew(jobs, heard or (lambda *_: None), patient)
    try:
        for _ in range(min(max(1, processes), len(jobs))):
            crew.hire(_Worker({"call": call, "shared": shared}, keep))
        return crew.outcome()
    finally:
        crew.dismiss()


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Crew:
    """Workers, each with a thread that gives it jobs and listens to it."""

    def __init__(self, jobs: Sequence[Any], heard: Heard, patient: bool) -> None:
        self.jobs, self.heard, self.patient = jobs, heard, patient
        self.left = iter(range(len(jobs)))
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.failures: dict[int, Exception] = {}  # by place of the job: the first one is said
        self.workers: list[_Worker] = []
        self.threads: list[threading.Thread] = []

    def hire(self, worker: "_Worker") -> None:
        """Begin to give a worker jobs."""
        thread = threading.Thread(target=self._serve, args=(worker,), daemon=True)
        self.workers.append(worker)
        self.threads.append(thread)
        thread.start()

    def dismiss(self) -> None:
        """However it ended, no worker stays."""
        self.stopped.set()
        _end(self.workers)
        for thread in self.threads:
            thread.join()
        for worker in self.workers:
            worker.output.close()

    def outcome(self) -> dict[int, Exception]:
        """The failures of all jobs by index, after their end; the first is raised unless it can
        wait.
        """
        for thread in self.threads:
            while thread.is_alive():
                thread.join(0.2)  # a bare join would not hear Ctrl-C everywhere
        if self.stopped.is_set():
            raise self.failures[min(p for p, e in self.failures.items() if not self._waits(e))]
        return self.failures

    def _waits(self, error: Exception) -> bool:
        """Whether the other jobs may end first."""
        return self.patient and isinstance(error, InputError)

    def _serve(self, worker: "_Worker") -> None:
        """Give jobs to a worker while there are any, and nothing failed."""
        while not self.stopped.is_set():
            with self.lock:
                place = next(self.left, None)
            if place is None:
                return
            try:
                for said in chain(worker.do(self.jobs[place]), (None,)):
                    with self.lock:
                        self.heard(place, said)
            except Exception as error:
                if self.stopped.is_set():  # what is said while all are ended is no reason
                    return
                with self.lock:
                    self.failures[place], self.left = error, iter(())
                if not self._waits(error):
                    self.stopped.set()
                    _end(self.workers)  # the other threads hear that the output closed
                return


def _end(workers: Sequence["_Worker"]) -> None:
    """End workers, all at once rather than one after the other."""
    for worker in workers:
        worker.hang_up()
    for worker in workers:
        worker.end()


class _Worker:
    """One process, seen from outside."""

    def __init__(self, start: Mapping[str, Any], keep: Sequence[int]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **SETTINGS},
            start_new_session=True,  # Ctrl-C is not for it
            pass_fds=tuple(keep),
        )
        pipes = (self.process.stdin, self.process.stdout)
        self.input, self.output = cast("tuple[IO[bytes], IO[bytes]]", pipes)
        self.ending = threading.Lock()
        self._send(sys.path)
        self._send(start)

    def do(self, job: Any) -> Iterator[Any]:
        """Run a job; yields what it tells, raises what it raises."""
        self._send({"job": job})
        for line in self.output:
            message = json.loads(line)
            if "told" in message:
                yield message["told"]
            elif "error" in message:
                raise _raised(message)
            else:
                return
        raise InputError(self._gone())

    def _send(self, content: Any) -> None:
        with suppress(OSError, ValueError):  # a worker that is gone is noticed when it is heard
            self.input.write(json.dumps(content).encode() + b"\n")
            self.input.flush()

    def _gone(self) -> str:
        """A message about a worker that ended unexpectedly."""
        code = self.process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            hint = "; the memory may be too small: use fewer --jobs" if name == "SIGKILL" else ""
            return f"the process of this job was ended from outside ({name}){hint}"
        return f"the process of this job ended by itself (exit code {code})"

    def hang_up(self) -> None:
        """Close its input, upon which it ends."""
        with suppress(OSError, ValueError):
            self.input.close()

    def end(self) -> None:
        """Wait until it is gone, and help after a while."""
        with self.ending:
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def _raised(message: Mapping[str, str]) -> Exception:
    """The exception that a worker met."""
    kind = getattr(errors, message["error"], None)
    if isinstance(kind, type) and issubclass(kind, TruecostError):
        return kind(message["message"])
    fault = WorkerError(f"{message['error']}: {message['message']}")
    fault.add_note(message["trace"])  # shown with the traceback
    return fault


class Job(Protocol):
    """A job of a worker; its text names it in messages, and a worker gets it as JSON."""

    def done(self, folder: Path) -> bool:
        """Whether it was run, as it would be now; what it made lies in the folder."""


def run_jobs(
    work: str,
    shared: Mapping[str, Any],
    jobs: Sequence[Job],
    folder: Path,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    keep: Sequence[int] = (),
    patient: bool = False,
) -> None:
    """Run the jobs that are not done yet, in processes of their own.

    Their results are the same for any number of processes, and whether they were run at one go or
    a killed run was resumed. `work`, `shared`, `keep`: as of `run_parallel`; `processes`: default
    all cores; `progress`: gets the steps done, and all of them; `patient`: where the data of a job
    are at fault no other one is begun, those that run may end, and all failures are counted;
    otherwise the first failure ends all jobs.
    """
    left = [job for job in jobs if not job.done(folder)]
    before, each = len(jobs) - len(left), 0
    done: dict[int, int] = {}

    def hear(place: int, told: Any) -> None:
        """Record the progress of a job: steps done, and all steps, equal for all jobs; None at its
        end.
        """
        nonlocal each
        if told is not None:
            done[place], each = told
        elif each:
            done[place] = each
        if progress is not None and each:
            progress(before * each + sum(done.values()), each * len(jobs))

    failed = run_parallel(
        work,
        shared,
        [msgspec.to_builtins(job) for job in left],
        processes or cores(),
        hear,
        keep=keep,
        patient=patient,
    )
    if failed:
        first, others = min(failed), len(failed) - 1
        head, line, rest = str(failed[first]).partition("\n")
        more = f"; {counted(others, 'other run')} failed too" if others else ""
        raise InputError(
            f"{left[first]}: {head}{more}; {sum(job.done(folder) for job in jobs)} of "
            f"{counted(len(jobs), 'run')} are finished and kept: continue with --resume{line}{rest}"
        )


def telling(tell: Tell | None, before: int = 0, total: int | None = None) -> Progress:
    """The report of a job's progress, not too often.

    `tell`: told [steps done, all steps]; `before`, `total`: steps before this part of the job, and
    of all of it, where it comes in parts.
    """
    told = 0.0

    def progress(done: int, steps: int) -> None:
        nonlocal told
        now = time.monotonic()
        if tell is not None and now - told > PAUSE:
            told = now
            tell([before + done, total or steps])

    return progress
