"""Training lists drawn with replacement, and trainings side by side until all are done.

Paper 003, section 4.2: what a method owes to its training data shows when it is trained on
bootstraps of them. A set depends on the seed, its number and which groups the list has, not on the
order of the list nor on how many sets are drawn.
"""

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, counted
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table, filled
from truecost.formats.tables import SEPARATORS
from truecost.formats.writers import content_of
from truecost.protocol.training_processes import Ended, Group, check_platform
from truecost.protocol.training_runs import Training

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingList:
    """A training list and what is drawn from it.

    Attributes
    ----------
    table : Table
        All columns as text.
    sha256 : str
        Of its bytes.
    group : str
        Column whose groups are drawn whole; empty for single rows.
    """

    path: Path
    table: Table
    sha256: str
    group: str

    @property
    def units(self) -> int:
        """Number of groups, or of rows."""
        return len(set(self._names()))

    def _names(self) -> list[str]:
        """The group of each row; a row is its own, however the list is ordered."""
        if self.group:
            return [str(g) for g in filled(self.table, self.group, "group").to_list()]
        rows = ["\x1f".join("" if c is None else c for c in row) for row in self.table.frame.rows()]
        seen: dict[str, int] = {}
        names = []
        for row in rows:  # rows that are equal are told apart by number
            seen[row] = seen.get(row, 0) + 1
            names.append(f"{row}\x1e{seen[row]:09d}")
        return names

    def counts(self, number: int, seed: int) -> Counts:
        """How often each row of the list stands in a set.

        Parameters
        ----------
        number : int
            Of the set, from 1.

        Returns
        -------
        ndarray of int64, shape (rows,)
            As many groups are drawn as there are.
        """
        groups, codes = np.unique(np.array(self._names()), return_inverse=True)
        text = "\x00".join(("truecost training set", str(seed), str(number)))
        key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], np.uint64)
        random = np.random.Generator(np.random.Philox(key=key))
        drawn = np.bincount(random.integers(0, len(groups), len(groups)), minlength=len(groups))
        found: Counts = drawn[codes].astype(np.int64)
        return found

    def drawn(self, number: int, seed: int) -> bytes:
        """The file of a set: header, columns and order of the list, all rows once more for each
        further time that they were drawn, so that copies do not stand side by side.
        """
        counts = self.counts(number, seed)
        passes = [np.flatnonzero(counts > k) for k in range(int(counts.max()))]
        frame = self.table.frame[np.concatenate(passes)]
        return content_of(Table(self.table.source, frame), str(self.path))


def read_list(path: str, group: str | None = None) -> TrainingList:
    """Read a training list.

    Parameters
    ----------
    path : str
        CSV or TSV with a header.
    group : str, optional
        Column whose groups are drawn whole.

    Raises
    ------
    UsageError
        When it is of another format, has no such column, or too few groups to draw from.
    InputError
        When it cannot be read, or a group is empty.
    """
    if Path(path).suffix.lower().lstrip(".") not in SEPARATORS:
        raise UsageError(
            f"{path}: training sets are drawn from a list in CSV or TSV with a header (.csv, .tsv)"
        )
    table = read(path)
    if group is not None:
        table.require(group, "group of [training]")
    found = TrainingList(Path(path), table, sha256(path), group or "")
    if found.units < 2:
        raise UsageError(
            f"{path}: {counted(found.units, 'group')} of {group}: sets are drawn from two or more"
            if group
            else f"{path}: one row only: sets are drawn from two or more"
        )
    return found


def place_of(folder: Path, number: int, suffix: str) -> Path:
    """Where a set lies; all methods are trained on the same file."""
    return folder / f"set-{number:02d}" / f"train{suffix}"


def write_sets(found: TrainingList, numbers: range, seed: int, folder: Path) -> Mapping[int, Path]:
    """Write the sets that are not there yet, and give the place of each.

    Raises
    ------
    UsageError
        When a set is there that would be drawn otherwise now.
    """
    places = {}
    for number in numbers:
        place = place_of(folder, number, found.path.suffix.lower())
        content = found.drawn(number, seed)
        if not place.exists():
            publish({place: content})
        elif place.read_bytes() != content:
            raise UsageError(
                f"{place}: this training set was drawn from another list, group or seed than "
                f"{found.path} with seed {seed} now gives: choose another --output, or put back "
                f"what changed"
            )
        places[number] = place
    return places


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
