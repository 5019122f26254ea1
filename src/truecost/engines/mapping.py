"""Engines: jobs in threads of this process, in processes, or on the workers of Ray.

An engine calls a function for each job and returns the results in the order of the jobs, whatever
finishes first. A job may run twice: it writes a file under a temporary name and renames it, so that
a second run has no effect. Processes are spawned, never forked: polars and BLAS have threads.
"""

import multiprocessing
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from truecost.errors import InputError, UsageError, counted, need

R = TypeVar("R")
Done = Callable[[int, int], None]  # jobs that are done, and all of them
TRIES = 3  # times that workers may be killed before the work is given up
SHORT = 40  # letters of a folder, beyond which the names of Ray's sockets are too long
OBJECTS = 200_000_000  # bytes of Ray's store: jobs are small, what they make lies in files


class Engine:
    """A runner of jobs; a subclass defines where they run (`_completed`)."""

    def map(
        self,
        function: Callable[..., R],
        jobs: Sequence[tuple[Any, ...]],
        done: Done | None = None,
    ) -> list[R]:
        """The results of the function, in the order of the jobs."""
        found: dict[int, R] = {}
        for place, result in self._completed(function, jobs):
            found[place] = result
            if done is not None:
                done(len(found), len(jobs))
        return [found[k] for k in range(len(jobs))]

    def _completed(
        self, function: Callable[..., R], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, R]]:
        """Index and result of each job, in the order in which jobs end."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the workers."""


@dataclass
class Serial(Engine):
    """An engine in threads of this process."""

    jobs: int

    def _completed(
        self, function: Callable[..., R], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, R]]:
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                sent = {pool.submit(function, *job): k for k, job in enumerate(jobs)}
                yield from ((sent[one], one.result()) for one in as_completed(sent))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@dataclass
class Processes(Engine):
    """An engine in processes of this machine; a killed process is replaced, its job repeated."""

    jobs: int
    _pool: ProcessPoolExecutor | None = field(default=None, init=False, repr=False)

    def _completed(
        self, function: Callable[..., R], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, R]]:
        left = dict(enumerate(jobs))
        for _ in range(TRIES):
            try:
                sent = {self._started().submit(function, *job): k for k, job in left.items()}
                for future in as_completed(sent):
                    result = future.result()
                    del left[sent[future]]
                    yield sent[future], result
                return
            except BrokenProcessPool:
                self.close()
            except BaseException:
                self.close()
                raise
        raise InputError(_given_up(len(left)))

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            how = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.jobs, how, initializer=_end_with_parent)
        return self._pool

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _end_with_parent() -> None:
    """End this worker when its parent is killed; otherwise it would wait for jobs forever."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@dataclass
class Ray(Engine):
    """An engine on the workers of Ray, on this machine or on a cluster named by `RAY_ADDRESS`."""

    jobs: int
    _folder: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ray: Any = need("ray", "ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if self._ray.is_initialized():
            return
        where = os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = {
            "num_cpus": self.jobs,
            "object_store_memory": OBJECTS,
            "include_dashboard": False,
        }
        if len(tempfile.gettempdir()) > SHORT and os.name == "posix":
            self._folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
            own["_temp_dir"] = self._folder
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        self._ray.init(address=where, **quiet, **({} if where else own))

    def _completed(
        self, function: Callable[..., R], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, R]]:
        remote = self._ray.remote(max_retries=TRIES)(_called)
        sent = {remote.remote(function, *job): k for k, job in enumerate(jobs)}
        left = [*sent]
        while left:
            ready, left = self._ray.wait(left)
            yield from ((sent[one], self._result(one, len(left) + 1)) for one in ready)

    def _result(self, one: Any, left: int) -> Any:
        """The result of a job; its error is raised without the traceback of Ray."""
        try:
            return self._ray.get(one)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.WorkerCrashedError:
            raise InputError(_given_up(left)) from None

    def close(self) -> None:
        """Release the workers."""
        self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _called(function: Callable[..., R], *job: Any) -> R:
    """The result of a function of any kind: Ray itself accepts plain functions only."""
    return function(*job)


def _given_up(left: int) -> str:
    """The message where workers are killed again and again."""
    return (
        f"workers were killed {TRIES} times with {counted(left, 'job')} left: is there too little "
        f"memory? Use fewer workers (--jobs)"
    )


ENGINES: dict[str, type[Serial | Processes | Ray]] = {
    "serial": Serial,
    "processes": Processes,
    "ray": Ray,
}


@contextmanager
def engine_of(name: str | None, jobs: int | None = None) -> Iterator[Engine]:
    """An engine by its name, with a number of threads, processes or workers. Default: one for each
    core.

    UsageError when there is no such engine, or Ray is missing.
    """
    if name not in (None, *ENGINES):
        raise UsageError(f"engine {name!r} is not known: choose one of {', '.join(ENGINES)}")
    engine = ENGINES[name or "serial"](jobs or os.cpu_count() or 1)
    try:
        yield engine
    finally:
        engine.close()
