"""Passes over streams: one job of a live run, from its streams to its log."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from truecost.learning.jobs import OWN, Job, Recipe
from truecost.learning.log import LogWriter
from truecost.learning.loop import Budget, run_passive, run_stream
from truecost.learning.streams import Items, Source, divided, read_items
from truecost.learning.system import Expert, Learner, Stream, System, Task
from truecost.learning.working import Kind, Tell, Telling, about, asking, closing, recorded


def _log(recipe: Recipe, job: Job, streams: list[Stream], place: Path, tell: Tell | None) -> bool:
    """One pass after the other, a stream each, into one log."""
    place.parent.mkdir(parents=True, exist_ok=True)
    count = Telling(tell, sum(len(stream.batches) for stream in streams))
    with LogWriter.open(place, resume=True) as log:
        for stream in streams:
            with about(f"{job}, stream {stream.name!r}" if stream.name else str(job)):
                _Pass(recipe, job, stream).run(log, count)
            count.before += len(stream.batches)
        log.finish()
    return True


def streams_seen(recipe: Recipe, seed: int) -> list[Stream]:
    """The streams of a seed."""
    drawn = seed if recipe.source.name == "drift" else 0  # a generator makes new items each time
    items = _items(msgspec.json.encode(recipe.source), drawn)
    return divided(items, recipe.source, recipe.batch, seed, recipe.bootstrap, recipe.drop_last)


@lru_cache(maxsize=1)
def _items(source: bytes, seed: int) -> Items:
    """The items of a source, read once in a process."""
    return read_items(msgspec.json.decode(source, type=Source), seed)


def _noted(streams: list[Stream]) -> list[dict[str, Any]]:
    """What is written down of streams."""
    return [
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
        job, stream = self.job, self.stream
        named = f"the strategy is {OWN!r}, but the learner {self.recipe.learner}"
        return asking(learner, job.strategy, job.options, job.seed, stream.classes, named)

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


KIND = Kind(Recipe, Job, streams_seen, _noted, "the streams are no longer those", _log)
