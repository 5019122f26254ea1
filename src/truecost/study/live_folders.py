"""The folder of a live run: what may be in it, who writes there, and what is removed."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truecost.errors import InputError, UsageError
from truecost.study.recipes import LOGS, RECIPE

WAIT = 10.0  # seconds that the workers of a killed run may take to be gone


def remove_logs(folder: Path, stood: bool) -> None:
    """Leave nothing of a run that logged nothing: it can begin anew."""
    shutil.rmtree(folder / LOGS, ignore_errors=True)
    if not stood and not any(folder.iterdir()):
        folder.rmdir()


def check_folder(folder: Path, resume: bool) -> None:
    """Refuse a directory in which something else is."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is a file; choose another --output")
    if not folder.exists() or not any(folder.iterdir()):
        return
    begun = (folder / RECIPE).exists() or (folder / LOGS).is_dir()
    if begun and not resume:
        raise UsageError(
            f"{folder}: there is a run already: go on with it (--resume), or choose another "
            f"--output"
        )
    if not begun:
        hint = "; there is no run to resume" if resume else ""
        raise UsageError(f"{folder}: exists and is not empty{hint}: choose another --output")


@contextmanager
def alone(folder: Path) -> Iterator[int]:
    """Hold a lock on a folder, which workers inherit: two runs never write the same logs.

    Raises
    ------
    InputError
        When another process holds it, or the folder cannot be made.
    """
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        end = time.monotonic() + WAIT
        while not _locked(fcntl, lock):
            if time.monotonic() > end:
                raise InputError(f"{folder}: another process works there: wait until it is done")
            time.sleep(0.1)
        yield lock
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
