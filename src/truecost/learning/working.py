"""What any job of a live run does in a worker process: passes over streams, and life cycles.

What the jobs of seeds that were run before saw is made again before the first job of a process, and
has to be the same. A log is written aside, and complete when it has its name.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import numpy as np

from truecost.errors import InputError, TruecostError, UsageError
from truecost.face import at
from truecost.formats.publishing import publish
from truecost.learning.checkpoint import complete, unfinished
from truecost.learning.jobs import OWN, AnyJob, LoggedJob, Shared
from truecost.learning.system import Learner, System

if TYPE_CHECKING:
    from truecost.formats.events import EventLog

Tell = Callable[[Any], None]
PAUSE = 0.2  # seconds between two messages on how far a job is
AnyRecipe = TypeVar("AnyRecipe", bound=Shared)
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Kind(Generic[AnyRecipe, AnyJob, Seen]):
    """What a job is.

    Attributes
    ----------
    see : callable
        From the recipe and a seed to what all jobs of the seed see: streams, or a course.
    noted : callable
        What is written down of it, as JSON can hold it.
    other : str
        What is said of another: "the streams are no longer those".
    log : callable
        From the recipe, a job, what it sees, the file of the log, which may be begun, and what is
        told to whether there is a log: a system may not offer what the job is.
    """

    recipe: type[AnyRecipe]
    job: type[AnyJob]
    see: Callable[[AnyRecipe, int], Seen]
    noted: Callable[[Seen], Any]
    other: str
    log: "Callable[[AnyRecipe, AnyJob, Seen, Path, Tell | None], bool]"


def work(shared: Mapping[str, Any], content: Any, tell: Tell) -> None:
    """Run a job in a worker process: see `truecost.learning.jobs.run_jobs`."""
    kind: Kind[Any, Any, Any] = at(shared["kind"])
    recipe = msgspec.convert(shared["recipe"], kind.recipe)
    settle(recipe.folder)
    folder = Path(shared["folder"])
    _same_as_before(shared["kind"], recipe_text(recipe), tuple(shared["known"]), folder)
    run_job(recipe, msgspec.convert(content, kind.job), folder, tell)


def run_job(
    recipe: Shared, job: LoggedJob, folder: Path, tell: "Tell | None" = None
) -> Path | None:
    """Run one job in this process, or go on with it.

    Parameters
    ----------
    folder : Path
        Of the logs.
    tell : callable, optional
        Told [steps done, all steps] from time to time.

    Returns
    -------
    Path or None
        Its log; None where the system does not offer what the job is.

    Raises
    ------
    UsageError, InputError
        As `run_jobs` says.
    """
    place = folder / job.path
    if place.exists():
        return place
    kind: Kind[Any, Any, Any] = at(recipe.kind)
    draw_anew(job.seed)
    with about(str(job)):
        seen = _seen(recipe.kind, recipe_text(recipe), job.seed, folder)
    if not kind.log(recipe, job, seen, unfinished(place), tell):
        return None
    complete(place)
    return place


def recipe_text(recipe: Shared) -> bytes:
    """A recipe as what is made once in a process is kept by."""
    return msgspec.json.encode(recipe)


@lru_cache(maxsize=2)
def _made(kind: str, recipe: bytes, seed: int) -> Any:
    """What the jobs of a seed see, which one job after the other needs."""
    of: Kind[Any, Any, Any] = at(kind)
    return of.see(msgspec.json.decode(recipe, type=of.recipe), seed)


def _seen(kind: str, recipe: bytes, seed: int, folder: Path) -> Any:
    """What the jobs of a seed see; it is written down, or refused where it is another."""
    of: Kind[Any, Any, Any] = at(kind)
    made = _made(kind, recipe, seed)
    same_as_seen(of.noted(made), folder / of.recipe.seen / f"seed-{seed}.json", of.other)
    return made


@lru_cache(maxsize=1)
def _same_as_before(kind: str, recipe: bytes, seeds: tuple[int, ...], folder: Path) -> None:
    """Refuse data that make something else of seeds that were run before; once in a process."""
    for seed in seeds:
        with about(f"seed {seed}"):
            _seen(kind, recipe, seed, folder)


def asking(
    learner: Learner,
    strategy: str,
    options: Mapping[str, Any],
    seed: int,
    classes: tuple[str, ...],
    named: str,
) -> System:
    """A learner with a strategy, or one that asks itself.

    Parameters
    ----------
    strategy : str
        `own` for one that asks itself.
    options : mapping
        Of the strategy.
    named : str
        Learner and strategy, for the message: "the strategy is 'own', but the learner x".

    Raises
    ------
    UsageError
        When a learner has to ask and does not, or there is no such strategy or option.
    """
    from truecost.learning.asking import Asking
    from truecost.learning.strategies import build

    if strategy != OWN:
        return Asking(learner, build(strategy, options, seed, classes))
    if not isinstance(learner, System):
        raise UsageError(f"{named} does not ask: name a strategy, such as margin")
    return learner


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


def same_as_seen(found: Any, place: Path, other: str) -> None:
    """Write down what the jobs of a seed see, or refuse another than is written down.

    Parameters
    ----------
    found : object
        JSON can hold it.
    place : Path
        File of the seed, below the folder of the logs.
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
