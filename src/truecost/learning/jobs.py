"""Jobs that write the logs of a live run, and what only resuming needs.

A pass over streams or through a life cycle writes one log. All jobs of a seed see the same data and
the same person, so that systems can be compared in pairs. A log is written as `NAME.jsonl.part`,
and compressed when it is complete: complete ones are never run again, others go on where they
stopped::

    margin/4/seed-0.jsonl.gz
    margin/8/seed-0.jsonl.part
    passive/seed-0.jsonl.gz
    streams/seed-0.json       what the streams were, so that a resumed run has the same ones

Before a process runs its first pass, it makes again what those of seeds that were run before saw,
which has to be the same, so that logs of other data never come together.

A run resumes from its log alone, by doing everything again. Where that takes long, checkpoints
shorten it: every few batches the system is stored together with the number of events so far and
their SHA-256, so that a run that comes back jumps over them. A checkpoint that does not belong to
the log beside it, to this stream or to these settings is ignored, and so is one that is damaged.
One is written aside and takes the place of the last one, without waiting for the disk: 0.2 to 0.5
ms for 66 kB, beside the snapshot itself (0.2 ms for a logistic regression of 64 features).

An answer that arrives late is in the log only from then on. Until then it is kept here, so that a
run that is killed in between does not ask for it again.

Draws of a learner from generators of the whole process (`numpy.random.seed`) is in no snapshot:
one that does so has to store their state too, or to go without snapshots.

All of it lies in one folder beside the log, `LOG.resume`, which `forget` removes. It holds what
learners store of themselves (often pickles), which is loaded again: resume your own runs only.

The events of a log repeat their words, so that gzip makes a seventh of them in a few milliseconds;
its result holds neither name nor time, and is the same whenever the same log is compressed. A log
that is complete has its name from one moment to the next; what it was made from is removed then.
"""

import gzip
import hashlib
import json
import os
import random
import shutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from truecost.errors import InputError
from truecost.face import at
from truecost.formats.publishing import publish
from truecost.learning.checking import error_context, read_noted
from truecost.learning.log import Event, Key, LogWriter, writing
from truecost.learning.parallel import Tell
from truecost.learning.snapshots import restorable, stored
from truecost.learning.system import State, name_of
from truecost.version import __version__

if TYPE_CHECKING:
    from truecost.learning.people import Shown

LOG = "truecost.learning.jobs:log_job"  # what a worker process does to write a log


class Recipe(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The settings that decide the logs of all jobs, and how a log is made.

    `seen`: folder, below that of the logs, of what the jobs of each seed saw; `note`: type of that;
    `other`: what is said of another: "the streams are no longer those"; `job`: what is run at a
    time; `record_cpu`: whether CPU seconds are recorded; `checkpoint`: steps from one checkpoint to
    the next; 0 for none; `folder`: where programs run and modules are looked for. Paths are
    absolute, or hold from there.
    """

    seen: ClassVar[str]
    note: ClassVar[Any]
    other: ClassVar[str]
    job: ClassVar[type["LoggedJob"]]

    record_cpu: bool = False
    checkpoint: int = 0
    folder: str = "."

    def shared(self, folder: Path) -> dict[str, Any]:
        """The message to workers that write logs into a folder."""
        return {
            "kind": f"{type(self).__module__}:{type(self).__name__}",
            "recipe": msgspec.to_builtins(self),
            "folder": str(folder),
            "known": _known_seeds(folder / self.seen),
        }

    def see(self, seed: int) -> Any:
        """The data of all jobs of a seed: streams, or a course."""
        raise NotImplementedError

    def shown(self, seen: Any) -> "Iterable[Shown]":
        """The views of it for people on a page."""
        raise NotImplementedError

    def try_system(self, job: Any, seen: Any) -> None:
        """Build what a job needs: the learner, and who asks; what it opened is closed."""
        raise NotImplementedError

    def noted(self, seen: Any) -> Any:
        """The record of the job, in a form that JSON can store."""
        raise NotImplementedError

    def log(self, job: Any, seen: Any, place: Path, tell: Tell | None) -> bool:
        """Write the log of a job, which may be begun; whether there is one: a system may not offer
        what the job is.
        """
        raise NotImplementedError


class LoggedJob(msgspec.Struct, frozen=True, kw_only=True):
    """The job that writes one log."""

    seed: int

    @property
    def folder(self) -> str:
        """Folder of its log, below that of all logs: one for all seeds of a system."""
        raise NotImplementedError

    @property
    def result_name(self) -> str:
        """The name of its system in results."""
        raise NotImplementedError

    def settings(self, batch: int) -> dict[str, Any]:
        """The description of its system in results, which has so many items a batch."""
        raise NotImplementedError

    @property
    def run(self) -> str:
        """Its name in results among those of its system: the name of its log without ending."""
        return f"seed-{self.seed}"

    @property
    def path(self) -> str:
        """Path of the log, below the folder of all logs."""
        return f"{self.folder}/{self.run}.jsonl.gz"

    def done(self, folder: Path) -> bool:
        """Whether its log is complete; then nothing is left beside it that only resuming needs."""
        if (log := folder / self.path).exists():
            clear(log)
            return True
        return False


def log_job(shared: Mapping[str, Any], content: Any, tell: Tell) -> None:
    """Write the log of a job in a worker process, or go on with it.

    `tell` gets [steps done, all steps] from time to time.
    """
    os.chdir(shared["recipe"]["folder"])
    folder = Path(shared["folder"])
    text = msgspec.json.encode(shared["recipe"])
    recipe = _opened(shared["kind"], text, tuple(shared["known"]), folder)
    job = msgspec.convert(content, recipe.job)
    place = folder / job.path
    if place.exists():
        return
    random.seed(job.seed)  # of learners that draw without a seed of their own
    np.random.seed(job.seed % 2**32)  # noqa: NPY002  these learners draw from it
    with error_context(str(job)):
        seen = _checked_view(recipe, job.seed, folder)
    if recipe.log(job, seen, unfinished(place), tell):
        complete(place)


def _known_seeds(folder: Path) -> list[int]:
    """Seeds whose data are written down in a folder, whether they are run now or not."""
    names = [path.stem for path in folder.glob("seed-*.json")]
    numbers = (name.removeprefix("seed-") for name in names)
    return sorted(int(number) for number in numbers if number.isdecimal())


@lru_cache(maxsize=1)
def _opened(kind: str, text: bytes, seeds: tuple[int, ...], folder: Path) -> Recipe:
    """The recipe, once in a process; refuses data that make something else of earlier seeds."""
    recipe: Recipe = msgspec.json.decode(text, type=at(kind))
    if recipe.folder not in sys.path:
        sys.path.append(recipe.folder)  # behind all others: nothing is shadowed
    for seed in seeds:
        with error_context(f"seed {seed}"):
            _checked_view(recipe, seed, folder)
    return recipe


@lru_cache(maxsize=2)
def _view(recipe: Recipe, seed: int) -> Any:
    """The data that the jobs of a seed see, which all of its jobs need."""
    return recipe.see(seed)


def _checked_view(recipe: Recipe, seed: int, folder: Path) -> Any:
    """The data that the jobs of a seed see; recorded once, and refused where they differ later."""
    made = _view(recipe, seed)
    found, place = recipe.noted(made), folder / recipe.seen / f"seed-{seed}.json"
    if not place.exists():
        publish({place: json.dumps(found, indent=2) + "\n"})
    elif read_noted(place) != found:
        raise InputError(
            f"{place}: {recipe.other} with which this run began: the data or the libraries "
            f"changed; restore them, or start a new run with another --output"
        )
    return made


LATE = "late.jsonl"
ENDING = ".checkpoint"
ASIDE = ".new"  # of a checkpoint that is being written


class _Stored(msgspec.Struct):
    """The content of a checkpoint."""

    version: str
    belongs: str  # stream, run and settings
    position: int
    digest: str
    state: State
    system: bytes


class Keeper:
    """Stores and finds what helps one stream of a run to resume.

    `run`, `stream`: as they stand in the log; `belongs`: what must be the same when a checkpoint is
    used: the digest of the stream and the settings; `every`: batches between two checkpoints; 0 for
    none. `late`: answers that were on their way when the run was killed, by their keys; in a
    lifelong run one may be a `query`: the person stopped there.
    """

    def __init__(self, log: LogWriter, run: str, stream: str, belongs: str, every: int) -> None:
        self.log, self.every = log, every
        self.belongs = "\n".join((run, stream, belongs))
        self.folder = folder_of(log.path)
        name = hashlib.sha256(f"{run}\n{stream}".encode()).hexdigest()[:16]
        self.path = self.folder / f"{name}{ENDING}"
        if not log.recorded and not log.position:
            forget(log.path)  # of a log that is gone
        self.late = _read_late(self.folder / LATE) if log.recorded else {}

    def resume(self, system: object) -> State:
        """The state in which the run continues; the system is restored to it.

        The state is a new one where there is no checkpoint that fits.
        """
        found = _read(self.path) if restorable(system) else None
        if (
            found is None
            or not restorable(system)
            or (found.version, found.belongs) != (__version__, self.belongs)
            or not self.log.skip(found.position, found.digest)
        ):
            return State()
        try:
            system.restore(found.system)
        except Exception as error:
            raise InputError(
                f"{self.path}: {name_of(system)} cannot go back to what it stored "
                f"({type(error).__name__}: {error}); delete this file and resume again: then the "
                "run is replayed from its log"
            ) from error
        return found.state

    def keep(self, state: State, system: object, last: bool) -> None:
        """Store a checkpoint when it is time, and at the end of the stream.

        `last`: whether the stream ends here.
        """
        due = self.every and (last or state.batch % self.every == 0)
        if not due or self.log.replaying or not restorable(system):
            return
        kept = _Stored(
            version=__version__,
            belongs=self.belongs,
            position=self.log.position,
            digest=self.log.digest(),
            state=state,
            system=stored(system),
        )
        data = msgspec.msgpack.encode(kept)
        self._put(hashlib.sha256(data).digest() + data)

    def _put(self, data: bytes) -> None:
        """Take the place of the last checkpoint, as a whole; one that is lost costs time only."""
        aside = self.path.with_suffix(ASIDE)
        with writing(self.path):
            self.folder.mkdir(exist_ok=True)
            aside.write_bytes(data)
            aside.replace(self.path)

    def put_late(self, event: Event) -> None:
        """Keep an answer that is known but arrives later; `event` is its line in the log."""
        place = self.folder / LATE
        with writing(place):
            self.folder.mkdir(exist_ok=True)
            with place.open("ab") as file:
                file.write(b"\n" + msgspec.json.encode(event) + b"\n")  # after a line cut short


def folder_of(log: str | Path) -> Path:
    """The folder of what only resuming needs, beside a log."""
    path = Path(log)
    return path.with_name(f"{path.name}.resume")


def forget(log: str | Path) -> None:
    """Remove what only resuming needs, as when a run is complete.

    `log`: the log that it lies beside.
    """
    folder = folder_of(log)
    if not folder.is_dir():
        return
    for path in (*folder.glob(f"*{ENDING}"), *folder.glob(f"*{ASIDE}"), folder / LATE):
        path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _read(path: Path) -> _Stored | None:
    """A checkpoint; None where there is none, or one that is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, content = data[:32], data[32:]
    if hashlib.sha256(content).digest() != digest:
        return None
    try:
        return msgspec.msgpack.decode(content, type=_Stored)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # of another version


def _read_late(path: Path) -> dict[Key, Event]:
    """Answers that were on their way; a last line that was cut short is none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return {}
    found: dict[Key, Event] = {}
    for line in lines:
        try:
            event = msgspec.json.decode(line, type=Event)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        found[event.key] = event
    return found


LEVEL = 1  # 2.1 MB of events: 6 ms for 296 kB; level 3 takes 11 ms for 288 kB
PACKED = ".gz"


def unfinished(log: Path) -> Path:
    """Path of the log until it is complete: `seed-0.jsonl.part`."""
    return log.with_name(f"{log.name.removesuffix(PACKED)}.part")


def complete(log: Path) -> None:
    """Compress what is in `unfinished(log)`, put it in its place, and tidy up.

    `log`: its name ends in `.gz`.
    """
    aside = _aside(log)
    with writing(log):
        try:
            with unfinished(log).open("rb") as events, aside.open("wb") as file:
                with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
                    shutil.copyfileobj(events, packed, 1 << 20)
                file.flush()
                os.fsync(file.fileno())  # what it was made from is removed next
            aside.replace(log)
        finally:
            aside.unlink(missing_ok=True)
    clear(log)


def clear(log: Path) -> None:
    """Remove what stands beside a complete log: its events unpacked, and what resuming needs."""
    part = unfinished(log)
    for path in (part, _aside(log)):
        path.unlink(missing_ok=True)
    forget(part)


def _aside(log: Path) -> Path:
    """Path of the log while it is compressed: a hidden file, never taken for a log."""
    return log.with_name(f".{log.name}")
