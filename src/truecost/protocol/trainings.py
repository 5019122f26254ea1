"""Running trainings side by side, until all are done or one has failed."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from truecost.errors import InputError, UsageError, counted
from truecost.protocol.training_processes import Ended, Group, check_platform
from truecost.protocol.training_runs import Training

Progress = Callable[[int, int], None]


def run_trainings(
    trainings: Sequence[Training],
    folder: Path,
    check: Callable[[str], Any],
    *,
    workers: int | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> None:
    """Run those that are not done yet.

    Parameters
    ----------
    folder : Path
        Where the commands run.
    check : callable
        Reads a file of scores; raises what is wrong with it.
    workers : int, optional
        How many at the same time; as many as there are cores unless given.
    timeout : float, optional
        Seconds that one may take.
    progress : callable, optional
        Told how many are done, and of how many.

    Raises
    ------
    InputError
        When a program fails, or a finished run was made otherwise. No further ones are started
        then, those that run are let finish, and all that are done stay.
    UsageError
        When a program cannot be started.
    KeyboardInterrupt
        Everything that runs is ended first, with the processes that it started.
    """
    check_platform()
    left = [training for training in trainings if not training.done()]
    count = len(trainings) - len(left)
    group, failed = Group(), dict[int, str]()

    def run(place: int, training: Training) -> int:
        if failed or group.stopped:
            return 0
        start = partial(_start, group, training, folder, timeout)
        try:
            said = training.attempt(start, check)
        except OSError as error:
            said = f"{error.filename or training.folder}: cannot be written ({error.strerror})"
        if said and not group.stopped:
            failed[place] = said
        return 0 if said else 1

    with ThreadPoolExecutor(min(workers or cores(), len(left)) or 1) as pool, ending(group):
        pending: set[Future[int]] = {pool.submit(run, k, one) for k, one in enumerate(left)}
        try:
            while pending:
                # In short waits: polars has an interruption restart one that would never end.
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                count += sum(future.result() for future in done)
                if progress is not None:
                    progress(count, len(trainings))
        except BaseException:
            group.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if failed:
        _refuse(failed, left, trainings)


def _start(
    group: Group,
    training: Training,
    folder: Path,
    timeout: float | None,
    command: tuple[str, ...],
    logs: tuple[Path, Path],
) -> Ended:
    ended = group.run(command, folder, logs, timeout)
    if ended.errno:
        raise UsageError(
            f"[training] commands.{training.command.method}: {command[0]}: cannot be run "
            f"({os.strerror(ended.errno)}): name a program that is there, or its interpreter "
            f"before it"
        )
    return ended


def _refuse(failed: dict[int, str], left: Sequence[Training], all_: Sequence[Training]) -> None:
    first = min(failed)
    done = sum(training.done() for training in all_)
    others = len(failed) - 1
    head, line, rest = failed[first].partition("\n")
    more = f"; {counted(others, 'other run')} failed too" if others else ""
    raise InputError(
        f"{left[first].about}: {head}{more}; {done} of {counted(len(all_), 'run')} are done and "
        f"stay: --resume goes on{line}{rest}"
    )


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def ending(group: Group) -> Iterator[None]:
    """A request to end is an interruption: the programs must not outlive this process."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()  # no other may have handlers
    asking = (signal.SIGTERM, signal.SIGHUP) if main else ()
    numbers = [n for n in asking if signal.getsignal(n) is not signal.SIG_IGN]  # nohup ignores
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except BaseException:
        group.stop()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
