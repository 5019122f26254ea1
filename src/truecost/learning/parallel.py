"""Jobs in processes of their own: equal results for any number of them, nothing left behind.

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

import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Self

from truecost import errors
from truecost.errors import InputError, TruecostError

GRACE = 5.0  # seconds in which a worker that is told to stop may close what it opened


def main() -> None:
    """Work until the input ends, or whoever gives the jobs is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints is no answer
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored
    with suppress(KeyboardInterrupt, BrokenPipeError):
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
        module, _, name = start["call"].partition(":")
        function = getattr(importlib.import_module(module), name)
        function(start["shared"], job, lambda told: _answer(answers, {"told": told}))
    except Exception as error:  # it is raised again on the other side
        return {
            "error": type(error).__name__,
            "message": str(error),
            "trace": traceback.format_exc(),
        }
    return {"done": True}


def _answer(answers: IO[bytes], content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content).encode() + b"\n")
    answers.flush()


Heard = Callable[[int, Any], None]


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
) -> None:
    """Run jobs in worker processes; the first failure stops them all.

    Parameters
    ----------
    call : str
        `module:function`, called as `function(shared, job, tell)` for each job, where `tell` sends
        something back.
    shared : object
        For all jobs; JSON can hold it.
    jobs : sequence of object
        JSON can hold them. They are started in their order.
    processes : int
        How many run at a time; at most one for each job.
    heard : callable, optional
        Told the place of the job and what it tells, and None when it is done; called in one thread
        at a time.
    keep : sequence of int
        File descriptors that workers hold open as long as they live (locks).

    Raises
    ------
    TruecostError
        As a job raised it.
    WorkerError
        When a job raised anything else.
    InputError
        When a worker was ended from outside.
    """
    if not jobs:
        return
    crew = _Crew(call, shared, jobs, heard or _ignore, keep)
    with crew:
        crew.run(min(max(1, processes), len(jobs)))


def _ignore(place: int, said: Any) -> None:
    """Nobody listens."""


class _Crew:
    """Workers, each with a thread that gives it jobs and listens to it."""

    def __init__(
        self, call: str, shared: Any, jobs: Sequence[Any], heard: Heard, keep: Sequence[int]
    ) -> None:
        self.start = {"call": call, "shared": shared}
        self.jobs = jobs
        self.heard = heard
        self.keep = tuple(keep)
        self.left: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(len(jobs)):
            self.left.put(place)
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.failures: dict[int, BaseException] = {}  # by place of the job: the first one is said
        self.workers: list[_Worker] = []
        self.threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """However it ended, no worker stays."""
        self.stopped.set()
        _end(self.workers)
        for thread in self.threads:
            thread.join()
        for worker in self.workers:
            worker.output.close()

    def run(self, processes: int) -> None:
        """All jobs; raises what the first of those that failed raised."""
        for _ in range(processes):
            worker = _Worker(self.start, self.keep)
            self.workers.append(worker)
            thread = threading.Thread(target=self._serve, args=(worker,), daemon=True)
            self.threads.append(thread)
            thread.start()
        for thread in self.threads:
            while thread.is_alive():
                thread.join(0.2)  # a bare join would not hear Ctrl-C everywhere
        if self.failures:
            raise self.failures[min(self.failures)]

    def _serve(self, worker: "_Worker") -> None:
        """Give jobs to a worker while there are any, and nothing failed."""
        while not self.stopped.is_set():
            try:
                place = self.left.get_nowait()
            except queue.Empty:
                return
            try:
                for said in worker.do(self.jobs[place]):
                    with self.lock:
                        self.heard(place, said)
                with self.lock:
                    self.heard(place, None)
            except Exception as error:
                if not self.stopped.is_set():  # what is said while all are ended is no reason
                    with self.lock:
                        self.failures[place] = error
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
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input: IO[bytes] = self.process.stdin
        self.output: IO[bytes] = self.process.stdout
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
        """How a worker ended that should not have."""
        code = self.process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            hint = "; the memory may be too small: take fewer --jobs" if name == "SIGKILL" else ""
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
