"""Jobs of a live run: each is one pass of a strategy with a budget and a seed, and writes one log.

All jobs of a seed see the same streams in the same order, with the same bootstrap set and the same
person, so that strategies and budgets can be compared in pairs. A log holds all streams, one after
the other. It is written as `NAME.jsonl.part`, and compressed when it is complete: complete ones are
never run again, others go on where they stopped::

    margin/4/seed-0.jsonl.gz
    margin/8/seed-0.jsonl.part
    passive/seed-0.jsonl.gz
    streams/seed-0.json       what the streams were, so that a resumed run has the same ones
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec

from truecost.learning.checkpoint import clear
from truecost.learning.parallel import run_parallel
from truecost.learning.streams import Source

Progress = Callable[[int, int], None]
PASSIVE = "passive"
STREAMS = "streams"  # folder of what the streams of each seed were
WORK = "truecost.learning.working:work"  # what a worker process does for a job
OWN = "own"  # the strategy of learners that ask themselves


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers: the settings of `ReferenceExpert`, or a log to replay.

    Attributes
    ----------
    file : str, optional
        Log whose answers are replayed; the labels answer when left out.
    seconds, cost, error_rate, refusal, delay
        As `ReferenceExpert` has them.
    """

    file: str | None = None
    seconds: float | tuple[float, float] = 1.0
    cost: dict[str, float | tuple[float, float]] = msgspec.field(default_factory=dict)
    error_rate: float = 0.0
    refusal: float = 0.0
    delay: int | tuple[int, int] = 0


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the logs of all jobs alike.

    Attributes
    ----------
    kind : str
        What a job is, a `truecost.learning.working.Kind`: `MODULE:NAME`.
    seen : str
        Folder, below that of the logs, of what the jobs of each seed saw.
    """

    kind: ClassVar[str]
    seen: ClassVar[str]


class Recipe(Shared, frozen=True, kw_only=True):
    """What decides the logs of all passes over streams.

    Attributes
    ----------
    batch : int
        Items that arrive together.
    bootstrap : int
        Items whose labels are given before the stream.
    drop_last : bool
        Whether a short last batch is left out.
    record_cpu : bool
        Whether CPU seconds are recorded.
    checkpoint : int
        Batches from one checkpoint to the next; 0 for none.
    folder : str
        Where programs run and modules are looked for.
    """

    kind: ClassVar[str] = "truecost.learning.passes:KIND"
    seen: ClassVar[str] = STREAMS

    source: Source
    batch: int
    bootstrap: int
    learner: str
    learner_options: dict[str, Any]
    person: Person = Person()
    drop_last: bool = False
    record_cpu: bool = False
    checkpoint: int = 0
    folder: str = "."


class LoggedJob(msgspec.Struct, frozen=True, kw_only=True):
    """What writes one log."""

    seed: int

    @property
    def folder(self) -> str:
        """Folder of its log, below that of all logs: one for all seeds of a system."""
        raise NotImplementedError

    @property
    def run(self) -> str:
        """What results call it among those of its system: the name of its log without ending."""
        return f"seed-{self.seed}"

    @property
    def path(self) -> str:
        """Its log, below the folder of all logs."""
        return f"{self.folder}/{self.run}.jsonl.gz"


AnyJob = TypeVar("AnyJob", bound=LoggedJob)


class Job(LoggedJob, frozen=True, kw_only=True):
    """One pass over the streams of a seed.

    Attributes
    ----------
    strategy : str
        Its name; `own` for a learner that asks itself, `passive` for one that never asks.
    budget : int, optional
        Questions a batch.
    rate : float, optional
        Share of the items that is asked about, in place of a budget.
    options : dict
        Of the strategy.
    """

    strategy: str
    budget: int | None = None
    rate: float | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def passive(self) -> bool:
        """Whether it trains once on the pool and asks nothing."""
        return self.strategy == PASSIVE

    @property
    def folder(self) -> str:
        """Folder of its log: that of all seeds of a strategy and budget."""
        if self.passive:
            return PASSIVE
        asked = f"{self.budget}" if self.rate is None else f"rate-{self.rate!r}"
        return f"{self.strategy.replace(':', '-')}/{asked}"

    @property
    def system(self) -> str:
        """What results call it: `margin-4`."""
        return self.folder.replace("/", "-")

    def questions(self, batch: int) -> float | None:
        """Questions a batch of this size, on average; None for the passive baseline."""
        return self.budget if self.rate is None else self.rate * batch

    def __str__(self) -> str:
        """`margin, 4 questions a batch, seed 0`."""
        asked = f"{self.budget} questions a batch, "
        if self.rate is not None:
            asked = f"rate {self.rate!r}, "
        return f"{self.strategy}, {'' if self.passive else asked}seed {self.seed}"


def run_jobs(
    recipe: Shared,
    jobs: Sequence[AnyJob],
    folder: str | Path,
    processes: int | None = None,
    progress: Progress | None = None,
    keep: Sequence[int] = (),
) -> list[AnyJob]:
    """Run the jobs that have no complete log yet, in processes of their own.

    The logs are the same for any number of processes, and whether they were written at one go or a
    killed run was resumed. Before a process runs its first job, it makes sure that what the jobs of
    seeds that were run before saw is the same as then, so that logs of other data never come
    together.

    Parameters
    ----------
    recipe : Shared
        Its paths hold from its folder, or are absolute.
    folder : str or Path
        Of the logs.
    processes : int, optional
        All cores unless given.
    progress : callable, optional
        Told the batches done and all of them.
    keep : sequence of int
        File descriptors that workers hold open.

    Returns
    -------
    list of LoggedJob
        Those that have a log now: all but what a system does not offer.

    Raises
    ------
    UsageError
        When a setting makes no sense, or does not go with another.
    InputError
        When data, learner or expert fail; names the job. Logs stay as far as they came.
    """
    place = Path(folder).absolute()
    left = [job for job in jobs if not completed(place / job.path)]
    count = Count(len(left), progress)
    run_parallel(
        WORK,
        {
            "kind": recipe.kind,
            "recipe": msgspec.to_builtins(recipe),
            "folder": str(place),
            "known": known_seeds(place / recipe.seen),
        },
        [msgspec.to_builtins(job) for job in left],
        processes or os.cpu_count() or 1,
        count.hear,
        keep=keep,
    )
    return [job for job in jobs if (place / job.path).exists()]


def completed(log: Path) -> bool:
    """Whether a log is complete; then nothing is left beside it that only resuming needs."""
    if log.exists():
        clear(log)
        return True
    return False


def known_seeds(folder: Path) -> list[int]:
    """Seeds whose data are written down in a folder, whether they are run now or not."""
    names = [path.stem for path in folder.glob("seed-*.json")]
    numbers = (name.removeprefix("seed-") for name in names)
    return sorted(int(number) for number in numbers if number.isdecimal())


class Count:
    """Batches done by all jobs, which have as many each as the first that tells."""

    def __init__(self, jobs: int, progress: Progress | None) -> None:
        self.jobs, self.progress = jobs, progress
        self.done: dict[int, int] = {}
        self.each = 0

    def hear(self, place: int, told: Any) -> None:
        """What a job tells: batches done, and all of them; None at its end."""
        if told is not None:
            self.done[place], self.each = told
        elif self.each:
            self.done[place] = self.each
        if self.progress is not None and self.each:
            self.progress(sum(self.done.values()), self.each * self.jobs)
