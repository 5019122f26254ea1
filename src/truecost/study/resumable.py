"""Work that stays in an output directory beside the result: logs of live runs, runs of methods.

What was killed goes on from there with `resume`, and so does what shall have more of it. Before any
work a note is written of what decides it; nobody goes on from another one.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, UsageError
from truecost.formats.publishing import ASIDE, tidy

if TYPE_CHECKING:
    from truecost.study.config import Study

WAIT = 10.0  # seconds that the workers of a killed run may take to be gone


@dataclass(frozen=True)
class Work:
    """A kind of work that stays.

    Attributes
    ----------
    place : str
        Its folder, below the output directory.
    note : str
        File of what decides it, below the output directory.
    there, none : str
        For messages: that there is some already, and what there is none of.
    wanted : str
        What is said when no output directory is named.
    what : str
        What stays when a run is interrupted.
    """

    place: str
    note: str
    there: str
    none: str
    wanted: str
    what: str

    def check(self, folder: Path, resume: bool) -> None:
        """Refuse an output directory in which something else is (UsageError)."""
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder}: this is a file; choose another --output")
        tidy(folder)
        if not folder.exists() or self._bare(folder):
            return
        begun = (folder / self.note).exists()
        if begun and not resume:
            raise UsageError(f"{folder}: {self.there} (--resume), or choose another --output")
        if not begun:
            hint = f"; there {self.none} to resume" if resume else ""
            raise UsageError(f"{folder}: exists and is not empty{hint}: choose another --output")

    def _bare(self, folder: Path) -> bool:
        """Whether there is nothing, or what was killed before it began to work."""
        place = folder / self.place
        inside = place.iterdir() if place.is_dir() else ()
        return all(path == place and place.is_dir() for path in folder.iterdir()) and all(
            path.name.startswith(ASIDE) for path in inside
        )

    @contextmanager
    def alone(self, folder: Path) -> Iterator[int]:
        """Hold a lock on the work, which workers inherit: no two runs ever write the same.

        Folders made for it do not stay empty.

        Raises
        ------
        InputError
            When another process holds it, or the folder cannot be made.
        """
        import fcntl

        place = folder / self.place
        made = [path for path in (place, folder) if not path.exists()]
        try:
            place.mkdir(parents=True, exist_ok=True)
            lock = os.open(place, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{place}: cannot be written ({error.strerror})") from error
        try:
            end = time.monotonic() + WAIT
            while not _locked(fcntl, lock):
                if time.monotonic() > end:
                    raise InputError(f"{place}: another process works there: wait until it is done")
                time.sleep(0.1)
            try:
                yield lock
            finally:
                for path in made:
                    if path.is_dir() and not any(path.iterdir()):
                        path.rmdir()
        finally:
            os.close(lock)


def _locked(fcntl: Any, lock: int) -> bool:
    """Whether the lock was free."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system that has no locks
    return True


LOGS = Work(
    place="logs",
    note="logs/recipe.toml",
    there="there is a run already: go on with it",
    none="is no run",
    wanted="a live run writes event logs",
    what="logs",
)
TRAINED = Work(
    place="trained",
    note="trained/trainings.json",
    there="there are runs already: go on with them",
    none="are no runs",
    wanted="runs of methods are kept",
    what="finished runs",
)
KEPT = (LOGS, TRAINED)


def work_of(study: "Study") -> Work:
    """What a study makes before it is scored: runs where it has `[training]`, logs otherwise."""
    return TRAINED if study.training.given() else LOGS
