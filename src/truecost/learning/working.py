"""What any job of a live run does in a worker process: passes over streams, and life cycles."""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, TruecostError, UsageError
from truecost.learning.jobs import Shared
from truecost.publishing import publish

if TYPE_CHECKING:
    from truecost.formats.events import EventLog

Tell = Callable[[Any], None]
PAUSE = 0.2  # seconds between two messages on how far a job is


def settle(folder: str) -> None:
    """Work in the folder in which programs run and modules are looked for."""
    os.chdir(folder)
    if folder not in sys.path:
        sys.path.append(folder)  # behind all others: nothing is shadowed


def draw_anew(seed: int) -> None:
    """Of learners that draw without a seed of their own: no job depends on what was before it."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  these learners draw from it


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say in errors of the data what they are about; settings are the same everywhere."""
    try:
        yield
    except UsageError:
        raise
    except TruecostError as error:
        raise type(error)(f"{what}: {error}") from error


@contextmanager
def closing(learner: object) -> Iterator[None]:
    """Close what a learner opened."""
    try:
        yield
    finally:
        close = getattr(learner, "close", None)
        if close is not None:
            close()


class Telling:
    """Tells how far a job is, not too often.

    Parameters
    ----------
    tell : callable, optional
        Told [steps done, all steps].
    total : int, optional
        All steps of the job, where it comes in parts.
    """

    def __init__(self, tell: Tell | None, total: int | None = None) -> None:
        self.tell = tell
        self.total = total
        self.before = 0  # steps of the parts that are done
        self.told = 0.0

    def __call__(self, done: int, total: int) -> None:
        """After each step of a part."""
        now = time.monotonic()
        if self.tell is not None and now - self.told > PAUSE:
            self.told = now
            self.tell([self.before + done, self.total or total])


def seen_by(recipe: type[Shared], seed: int, folder: Path) -> Path:
    """Where it is written down what the jobs of a seed see, below the folder of the logs."""
    return folder / recipe.seen / f"seed-{seed}.json"


def same_as_seen(found: Any, place: Path, other: str) -> None:
    """Write down what the jobs of a seed see, or refuse another than is written down.

    Parameters
    ----------
    found : object
        JSON can hold it.
    place : Path
        As `seen_by` gives it.
    other : str
        What is said of another: "the streams are no longer those".

    Raises
    ------
    InputError
        When it is another.
    """
    if not place.exists():
        publish({place: json.dumps(found, indent=2) + "\n"})
        return
    if json.loads(place.read_bytes()) != found:
        raise InputError(
            f"{place}: {other} that this run began with: the data or the libraries changed; "
            f"restore them, or start a new run at another place"
        )


@lru_cache(maxsize=1)
def recorded(file: str) -> "EventLog":
    """A log to replay, read once in a process."""
    from truecost.formats.events import read_events

    return read_events(file)
