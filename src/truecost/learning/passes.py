"""Jobs of a live run: a pass of a strategy over streams, a pass of a system through life.

A pass over streams is one of a strategy with a budget; its log holds all streams, one after the
other. The passes of a system through a life cycle are its baselines beside what is asked for::

    plastic/assisted/seed-0.jsonl.gz       with the person's help, as configured
    plastic/unsupervised/seed-0.jsonl.gz   it adapts to what it sees, and nobody helps
    plastic/frozen/seed-0.jsonl.gz         the initial version says everything (Prokopalo et al.
    2020, Fig. 1-a) courses/seed-0.json                    what the course was, so that a resumed
    run has the same

`unsupervised` is there for systems that offer it. `truecost.learning.parallel` runs the jobs.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypedDict, cast

import msgspec

from truecost.errors import UsageError, counted
from truecost.formats import Table, read
from truecost.learning.checking import error_context
from truecost.learning.expert import ReferenceExpert
from truecost.learning.jobs import LoggedJob, Recipe
from truecost.learning.learners.building import build
from truecost.learning.lifelong.course import Course, course_of
from truecost.learning.lifelong.helping import NO_HELP, Help
from truecost.learning.lifelong.life_cycle import Life, Pass, run_lifelong
from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking, Budget, run_passive, run_stream
from truecost.learning.parallel import Progress, Tell, telling
from truecost.learning.people import DomainPerson, Person, Shown, helper, recorded, view_of
from truecost.learning.source import IDS, Items, Source, first_of, ids_of
from truecost.learning.strategies.mixtures import build as build_strategy
from truecost.learning.streams import divided, read_items
from truecost.learning.system import Expert, Learner, Stream, System, Task
from truecost.person.expert import LiveExpert, known_answer
from truecost.person.views import View, Views, viewed

PASSIVE = "passive"
STREAMS = "streams"  # folder of what the streams of each seed were
COURSES = "courses"  # folder of what the course of each seed was
OWN = "own"  # the strategy of learners that ask themselves
ASSISTED, UNSUPERVISED, FROZEN = PASSES = ("assisted", "unsupervised", "frozen")


class Note(TypedDict):
    """The record of a stream or a course, as far as scores need it."""

    kind: str
    classes: list[str]


class StreamNote(Note, total=False):
    """A note about a stream: whether it has labels, by default true."""

    labelled: bool


class StreamJob(LoggedJob, frozen=True, kw_only=True):
    """One pass over the streams of a seed.

    `strategy`: its name; `own` for a learner that asks itself, `passive` for one that never asks;
    `budget`: questions a batch; `rate`: share of the items that is asked about, in place of a
    budget.
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
    def result_name(self) -> str:
        """The name in results."""
        return self.folder.replace("/", "-")

    def settings(self, batch: int) -> dict[str, Any]:
        """The strategy, and its questions per batch on average; none for the passive baseline."""
        budget = self.budget if self.rate is None else self.rate * batch
        return {"strategy": self.strategy, "budget": budget}

    def __str__(self) -> str:
        """`margin, 4 questions a batch, seed 0`."""
        asked = f"rate {self.rate!r}, "
        if self.rate is None:
            asked = f"{counted(self.budget or 0, 'question')} a batch, "
        return f"{self.strategy}, {'' if self.passive else asked}seed {self.seed}"


class LifelongJob(LoggedJob, frozen=True, kw_only=True):
    """One pass of a system through the course of a seed.

    `strategy`: who asks; `own` for a learner that asks itself, empty where nobody is asked.
    """

    system: str
    way: str = ASSISTED
    learner: str
    learner_options: dict[str, Any] = msgspec.field(default_factory=dict)
    strategy: str = ""
    strategy_options: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of its log: that of all seeds of a pass."""
        return f"{self.system}/{self.way}"

    @property
    def result_name(self) -> str:
        """The name in results."""
        return self.system if self.way == ASSISTED else f"{self.system}-{self.way}"

    def settings(self, batch: int) -> dict[str, Any]:  # noqa: ARG002
        """The pass, where nobody helps."""
        return {"strategy": None if self.way == ASSISTED else self.way}

    def __str__(self) -> str:
        """`plastic, assisted, seed 0`."""
        return f"{self.system}, {self.way}, seed {self.seed}"


@contextmanager
def _learner(
    name: str, seen: Stream | Course, seed: int, options: Mapping[str, Any]
) -> Iterator[Learner]:
    """A learner that knows nothing yet, for a stream or a course; what it opened is closed."""
    learner = build(name, Task(seen.kind, seen.classes, seed, options))
    try:
        yield learner
    finally:
        close = getattr(learner, "close", None)
        if close is not None:
            close()


def _asking(
    learner: Learner,
    name: str,
    strategy: str,
    options: Mapping[str, Any],
    seed: int,
    classes: tuple[str, ...],
    where: str = "",
) -> System:
    """A learner with a strategy, or one that asks itself; `where` stands before the error."""
    if strategy != OWN:
        return Asking(learner, build_strategy(strategy, options, seed, classes))
    if not isinstance(learner, System):
        raise UsageError(
            f"{where}the strategy is {OWN!r}, but the learner {name} does not ask: name a "
            "strategy, such as margin"
        )
    return learner


@lru_cache(maxsize=1)
def _table(file: str) -> Table:
    """The table of a source, read once in a process."""
    return read(file)


@lru_cache(maxsize=1)
def _items(source: bytes, seed: int, labelled: bool) -> Items:
    """The items of a source, read once in a process."""
    return read_items(msgspec.json.decode(source, type=Source), seed, labelled=labelled)


class StreamRecipe(Recipe, frozen=True, kw_only=True):
    """The settings that decide the logs of all passes over streams.

    `batch`: items that arrive together; `bootstrap`: items whose labels are given before the
    stream; `drop_last`: whether a short last batch is left out.
    """

    seen: ClassVar[str] = STREAMS
    note: ClassVar[Any] = Annotated[list[StreamNote], msgspec.Meta(min_length=1)]
    other: ClassVar[str] = "the streams are not those"
    job: ClassVar[type[LoggedJob]] = StreamJob

    source: Source
    batch: int
    bootstrap: int
    learner: str
    learner_options: dict[str, Any]
    person: Person = Person()
    drop_last: bool = False

    def see(self, seed: int) -> list[Stream]:
        """The streams of a seed; people and what they said before need no labels."""
        labelled = self.person.live is None and self.person.file is None
        drawn = seed if self.source.name == "drift" else 0  # a generator makes new items each time
        items = _items(msgspec.json.encode(self.source), drawn, labelled)
        return divided(items, self.source, self.batch, seed, self.bootstrap, self.drop_last)

    def shown(self, seen: list[Stream]) -> Iterator[Shown]:
        """The items of each stream, and the content of each that people see."""
        for stream in seen:
            batches = filter(None, (stream.bootstrap, *stream.batches))
            yield self._view(stream), stream.kind, [item for one in batches for item in one.ids]

    def noted(self, seen: list[Stream]) -> list[dict[str, Any]]:
        """The record of streams."""
        return [
            {
                "stream": stream.name,
                "kind": stream.kind,
                "classes": list(stream.classes),
                "signature": stream.signature,
                "batches": len(stream.batches),
                "items": sum(map(len, stream.batches)),
                "digest": stream.digest,
                **({} if stream.labels else {"labelled": False}),
            }
            for stream in seen
        ]

    def log(self, job: StreamJob, seen: list[Stream], place: Path, tell: Tell | None) -> bool:
        """One pass after the other, a stream each, into one log."""
        place.parent.mkdir(parents=True, exist_ok=True)
        before, total = 0, sum(len(stream.batches) for stream in seen)
        with LogWriter.open(place, resume=True) as log:
            for stream in seen:
                with error_context(f"{job}, stream {stream.name!r}" if stream.name else str(job)):
                    self._pass(job, stream, log, telling(tell, before, total))
                before += len(stream.batches)
            log.finish()
        return True

    def _pass(self, job: StreamJob, stream: Stream, log: LogWriter, progress: Progress) -> None:
        """Through a stream, with a new learner."""
        cpu = self.record_cpu
        with self._system(job, stream) as system:
            if job.passive:
                run_passive(stream, system, log, record_cpu=cpu, progress=progress)
                return
            run_stream(
                stream,
                system,
                self._expert(stream, job.seed),
                Budget(job.budget or 0, job.rate),
                log,
                record_cpu=cpu,
                checkpoint=self.checkpoint,
                progress=progress,
            )

    @contextmanager
    def _system(self, job: StreamJob, stream: Stream) -> Iterator[Any]:
        """A new learner, and who asks; what it opened is closed."""
        with _learner(self.learner, stream, job.seed, self.learner_options) as learner:
            how = (job.strategy, job.options, job.seed, stream.classes)
            yield learner if job.passive else _asking(learner, self.learner, *how)

    def try_system(self, job: StreamJob, seen: list[Stream]) -> None:
        """Build what a pass needs."""
        with self._system(job, seen[0]):
            pass

    def _expert(self, stream: Stream, seed: int) -> Expert:
        """The expert who answers."""
        person = self.person
        if person.live is not None:
            return LiveExpert(person.live, stream.kind, stream.classes, self._view(stream))
        if person.file is not None:
            return recorded(person.file)
        return ReferenceExpert(stream.labels, stream.classes, seed=seed, **person.settings)

    def _view(self, stream: Stream) -> Callable[[str], View]:
        """The content of items that people see; for a table also from its columns."""
        views = self.person.live.views if self.person.live is not None else Views()
        if self.source.name != "table":
            return viewed(views, None, ())
        table = _table(str(self.source.file))
        ids = ids_of(table, self.source.id or first_of(table, IDS))
        return viewed(views, table, ids, partial(known_answer, stream))


@dataclass(frozen=True)
class Helping(Help):
    """The amount of help by a person, and its places.

    `offline`: the most that a system may ask for offline adaptation, after each batch; default
    none; `test`: the same help with every test batch, from which every version learns for a moment:
    what the penalised score needs.
    """

    offline: int | None = None
    test: bool = True


class LifelongRecipe(Recipe, frozen=True, kw_only=True):
    """The settings that decide the logs of all life cycles; a step is a batch of a set under a
    version.

    `source`: name of the source of the course; `any_times`: test times need not spread over those
    of the lifelong set.
    """

    seen: ClassVar[str] = COURSES
    note: ClassVar[Any] = Note
    other: ClassVar[str] = "the course is not the one"
    job: ClassVar[type[LoggedJob]] = LifelongJob

    source: str
    source_options: dict[str, Any] = msgspec.field(default_factory=dict)
    helping: Helping = Helping()
    person: DomainPerson = DomainPerson()
    any_times: bool = False

    @property
    def life(self) -> Life:
        """The life of each system."""
        how = self.helping
        return Life(how, how if how.test else NO_HELP, how.offline, self.any_times)

    def see(self, seed: int) -> Course:
        """The course of a seed."""
        return course_of(self.source, self.source_options, seed)

    def shown(self, seen: Course) -> Iterator[Shown]:
        """The items that help may be about, and what people see of them."""
        sets = (*seen.lifelong, *(seen.test if self.helping.test else ()))
        yield view_of(self.person), seen.kind, [item for batch in sets for item in batch.ids]

    def noted(self, seen: Course) -> dict[str, Any]:
        """The record of a course."""
        return {
            "kind": seen.kind,
            "classes": list(seen.classes),
            "signature": seen.signature,
            "learnt": seen.learnt.tolist(),
            "tested": seen.tested.tolist(),
            "items": sum(map(len, (*seen.lifelong, *seen.test))),
            "digest": seen.digest,
        }

    def log(self, job: LifelongJob, seen: Course, place: Path, tell: Tell | None) -> bool:
        """Through the life cycle, into the log; no log of a pass that the system lacks."""
        with error_context(str(job)), self._system(job, seen) as system:
            if system is None:
                return False
            place.parent.mkdir(parents=True, exist_ok=True)
            with LogWriter.open(place, resume=True) as log:
                run_lifelong(
                    seen,
                    system,
                    helper(self.person, seen, job.seed),
                    self.life,
                    log,
                    passing=cast("Pass", job.way),
                    run=job.run,
                    record_cpu=self.record_cpu,
                    checkpoint=self.checkpoint,
                    progress=telling(tell),
                )
                log.finish()
        return True

    @contextmanager
    def _system(self, job: LifelongJob, seen: Course) -> Iterator[Any]:
        """A new learner, with who asks; None where it lacks the pass. What it opened is closed."""
        with _learner(job.learner, seen, job.seed, job.learner_options) as learner:
            if job.way == UNSUPERVISED and not getattr(learner, "unsupervised", False):
                yield None
            elif job.strategy and job.way != FROZEN:
                how = (job.strategy, job.strategy_options, job.seed, seen.classes)
                yield _asking(learner, job.learner, *how, f"[systems.{job.system}]: ")
            else:
                yield learner

    def try_system(self, job: LifelongJob, seen: Course) -> None:
        """Build what a pass needs."""
        with self._system(job, seen):
            pass
