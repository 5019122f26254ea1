"""One job of a live run, from its streams to its log, in the process that runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import UsageError
from truecost.learning.finishing import complete, unfinished
from truecost.learning.jobs import OWN, Job, Recipe
from truecost.learning.log import LogWriter
from truecost.learning.loop import Budget, run_passive, run_stream
from truecost.learning.stream import Stream
from truecost.learning.streams import Items, Source, divided, read_items
from truecost.learning.system import Expert, Learner, System, Task
from truecost.learning.working import (
    Tell,
    Telling,
    about,
    closing,
    draw_anew,
    recorded,
    same_as_seen,
    seen_by,
    settle,
)


def work(shared: Mapping[str, Any], content: Any, tell: Tell) -> None:
    """Run a job in a worker process: see `truecost.learning.jobs.run_jobs`."""
    recipe = msgspec.convert(shared["recipe"], Recipe)
    settle(recipe.folder)
    folder = Path(shared["folder"])
    _same_as_before(msgspec.json.encode(recipe), tuple(shared["known"]), folder)
    run_job(recipe, msgspec.convert(content, Job), folder, tell)


def run_job(recipe: Recipe, job: Job, folder: Path, tell: Tell | None = None) -> Path:
    """Run one job in this process, or go on with it.

    Parameters
    ----------
    recipe : Recipe
    job : Job
    folder : Path
        Of the logs.
    tell : callable, optional
        Told [batches done, all batches] from time to time.

    Returns
    -------
    Path
        Its log.

    Raises
    ------
    UsageError, InputError
        As `run_jobs` says.
    """
    place = folder / job.path
    if place.exists():
        return place
    draw_anew(job.seed)
    with about(str(job)):
        streams = _streams(msgspec.json.encode(recipe), job.seed)
        _same_streams(streams, seen_by(Recipe, job.seed, folder))
    place.parent.mkdir(parents=True, exist_ok=True)
    count = Telling(tell, sum(len(stream.batches) for stream in streams))
    with LogWriter.open(unfinished(place), resume=True) as log:
        for stream in streams:
            with about(f"{job}, stream {stream.name!r}" if stream.name else str(job)):
                _Pass(recipe, job, stream).run(log, count)
            count.before += len(stream.batches)
        log.finish()
    complete(place)
    return place


@lru_cache(maxsize=2)
def _streams(recipe: bytes, seed: int) -> list[Stream]:
    """The streams of a seed, which one job after the other needs."""
    how = msgspec.json.decode(recipe, type=Recipe)
    drawn = seed if how.source.name == "drift" else 0  # a generator makes new items for each seed
    items = _items(msgspec.json.encode(how.source), drawn)
    return divided(items, how.source, how.batch, seed, how.bootstrap, how.drop_last)


@lru_cache(maxsize=1)
def _items(source: bytes, seed: int) -> Items:
    """The items of a source, read once in a process."""
    return read_items(msgspec.json.decode(source, type=Source), seed)


@lru_cache(maxsize=1)
def _same_as_before(recipe: bytes, seeds: tuple[int, ...], folder: Path) -> None:
    """Refuse data that make other streams of seeds that were run before; once in a process."""
    for seed in seeds:
        with about(f"seed {seed}"):
            _same_streams(_streams(recipe, seed), seen_by(Recipe, seed, folder))


def _same_streams(streams: list[Stream], place: Path) -> None:
    """Write down what the streams are, or refuse others than those that are written down.

    Raises
    ------
    InputError
        When they are others.
    """
    found = [
        {
            "stream": stream.name,
            "kind": stream.kind,
            "classes": list(stream.classes),
            "signature": stream.signature,
            "batches": len(stream.batches),
            "items": sum(map(len, stream.batches)),
            "digest": stream.digest,
        }
        for stream in streams
    ]
    same_as_seen(found, place, "the streams are no longer those")


@dataclass(frozen=True)
class _Pass:
    """One stream of a job."""

    recipe: Recipe
    job: Job
    stream: Stream

    def run(self, log: LogWriter, progress: Callable[[int, int], None]) -> None:
        """Through the stream, with a new learner; what it opened is closed."""
        cpu = self.recipe.record_cpu
        learner = self._learner()
        with closing(learner):
            if self.job.passive:
                run_passive(self.stream, learner, log, record_cpu=cpu, progress=progress)
                return
            run_stream(
                self.stream,
                self._system(learner),
                self._expert(),
                Budget(self.job.budget or 0, self.job.rate),
                log,
                record_cpu=cpu,
                checkpoint=self.recipe.checkpoint,
                progress=progress,
            )

    def _learner(self) -> Learner:
        """A new learner, which knows nothing yet."""
        from truecost.learning.learners import build

        recipe, stream = self.recipe, self.stream
        task = Task(stream.kind, stream.classes, self.job.seed, recipe.learner_options)
        return build(recipe.learner, task)

    def _system(self, learner: Learner) -> System:
        """The learner with the strategy, or one that asks itself."""
        from truecost.learning.asking import Asking
        from truecost.learning.strategies import build

        job = self.job
        if job.strategy != OWN:
            return Asking(learner, build(job.strategy, job.options, job.seed, self.stream.classes))
        if not isinstance(learner, System):
            raise UsageError(
                f"the strategy is {OWN!r}, but the learner {self.recipe.learner} does not ask: "
                f"name a strategy, such as margin"
            )
        return learner

    def _expert(self) -> Expert:
        """Who answers."""
        from truecost.learning.expert import RecordedExpert, ReferenceExpert

        person = self.recipe.person
        if person.file is not None:
            return RecordedExpert(recorded(person.file))
        names = ("seconds", "cost", "error_rate", "refusal", "delay")
        settings = {name: getattr(person, name) for name in names}
        stream = self.stream
        return ReferenceExpert(stream.labels, stream.classes, seed=self.job.seed, **settings)
