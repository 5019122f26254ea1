"""Where jobs run: in threads of this process, in processes, or on the workers of Ray.

An engine calls a function for each job and gives the results in the order of the jobs, whatever
finishes first. A job may be done twice: it writes a file under another name and moves it, so that
the second time changes nothing. Processes are spawned, never forked: polars and BLAS have threads.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from truecost.errors import InputError, UsageError, counted, need

R = TypeVar("R")
Done = Callable[[int, int], None]  # jobs that are done, and all of them
NAMES = ("serial", "processes", "ray")
TRIES = 3  # times that workers may be killed before the work is given up
OBJECTS = 200_000_000  # bytes of Ray's store: jobs are small, what they make lies in files


class Engine(Protocol):
    """Runs jobs."""

    def map(
        self,
        function: Callable[..., R],
        jobs: Sequence[tuple[Any, ...]],
        done: Done | None = None,
    ) -> list[R]:
        """What the function gives for each job, in the order of the jobs."""


@dataclass
class Serial:
    """Threads of this process."""

    jobs: int

    def map(
        self,
        function: Callable[..., R],
        jobs: Sequence[tuple[Any, ...]],
        done: Done | None = None,
    ) -> list[R]:
        """What the function gives for each job, in the order of the jobs."""
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                return _gathered([pool.submit(function, *job) for job in jobs], done)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@dataclass
class Processes:
    """Processes of this machine; a killed one is replaced, and what it did is done again."""

    jobs: int
    _pool: ProcessPoolExecutor | None = field(default=None, init=False, repr=False)

    def map(
        self,
        function: Callable[..., R],
        jobs: Sequence[tuple[Any, ...]],
        done: Done | None = None,
    ) -> list[R]:
        """What the function gives for each job, in the order of the jobs."""
        found: dict[int, R] = {}
        for _ in range(TRIES):
            left = [k for k in range(len(jobs)) if k not in found]
            try:
                sent = {self._started().submit(function, *jobs[k]): k for k in left}
                for future in as_completed(sent):
                    found[sent[future]] = future.result()
                    if done is not None:
                        done(len(found), len(jobs))
                return [found[k] for k in range(len(jobs))]
            except BrokenProcessPool:
                self.close()
            except BaseException:
                self.close()
                raise
        raise InputError(
            f"workers were killed {TRIES} times with {counted(len(jobs) - len(found), 'job')} "
            f"left: is there too little memory? Give fewer workers (--jobs)"
        )

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.jobs, spawn)
        return self._pool

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@dataclass
class Ray:
    """The workers of Ray, of this machine or of a cluster that is named by `RAY_ADDRESS`."""

    jobs: int | None

    def __post_init__(self) -> None:
        self._ray: Any = need("ray", "ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if self._ray.is_initialized():
            return
        where = os.environ.get("RAY_ADDRESS")
        own = {} if where else {"num_cpus": self.jobs, "object_store_memory": OBJECTS}
        self._ray.init(
            address=where,
            include_dashboard=None if where else False,
            log_to_driver=False,
            logging_level="ERROR",
            **own,
        )

    def map(
        self,
        function: Callable[..., R],
        jobs: Sequence[tuple[Any, ...]],
        done: Done | None = None,
    ) -> list[R]:
        """What the function gives for each job, in the order of the jobs."""
        remote = self._ray.remote(max_retries=TRIES)(function)
        sent = {remote.remote(*job): k for k, job in enumerate(jobs)}
        left, found = [*sent], dict[int, R]()
        while left:
            ready, left = self._ray.wait(left)
            for one in ready:
                found[sent[one]] = self._ray.get(one)
            if done is not None:
                done(len(found), len(jobs))
        return [found[k] for k in range(len(jobs))]

    def close(self) -> None:
        """Let go of the workers."""
        self._ray.shutdown()


@contextmanager
def engine_of(name: str | None, jobs: int | None = None) -> Iterator[Engine]:
    """An engine by its name, of so many threads, processes or workers; all cores by default.

    UsageError when there is none of that name, or Ray is missing.
    """
    if name not in (None, *NAMES):
        raise UsageError(f"engine {name!r} is not known: choose one of {', '.join(NAMES)}")
    workers = jobs or os.cpu_count() or 1
    if name in (None, "serial"):
        yield Serial(workers)
        return
    engine = Processes(workers) if name == "processes" else Ray(jobs)
    try:
        yield engine
    finally:
        engine.close()


def _gathered(futures: Sequence[Any], done: Done | None) -> list[Any]:
    """The results of futures in their order."""
    for number, future in enumerate(as_completed(futures), 1):
        future.result()  # the first fault ends the rest
        if done is not None:
            done(number, len(futures))
    return [future.result() for future in futures]
