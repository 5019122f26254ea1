"""Jobs of a live lifelong run: each takes one system through one pass with one seed, and logs
it.

The passes of a system are its baselines beside what is asked for::

    plastic/assisted/seed-0.jsonl.gz       with the person's help, as configured
    plastic/unsupervised/seed-0.jsonl.gz   it adapts to what it sees, and nobody helps
    plastic/frozen/seed-0.jsonl.gz         the initial version says everything (paper 004, Fig. 1-a)
    courses/seed-0.json                    what the course was, so that a resumed run has the same

`unsupervised` is there for systems that offer it. All jobs of a seed see the same course and the
same person, so that systems and passes can be compared item by item.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec

from truecost.learning.jobs import OWN, LoggedJob, Person, Shared
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.helping import NO_HELP, Help
from truecost.learning.lifelong.living import Life, Pass, run_lifelong
from truecost.learning.lifelong.sources import course_of
from truecost.learning.lifelong.telling import part_with
from truecost.learning.log import LogWriter
from truecost.learning.system import Expert, Learner, Task
from truecost.learning.working import Kind, Tell, Telling, about, asking, closing, recorded

ASSISTED, UNSUPERVISED, FROZEN = PASSES = ("assisted", "unsupervised", "frozen")


COURSES = "courses"  # folder of what the course of each seed was


class Helping(msgspec.Struct, frozen=True, kw_only=True):
    """How much a person helps, and where.

    Attributes
    ----------
    questions : int
        The most that a system may ask about a batch (active).
    corrections : int
        The most that the person volunteers on a batch (interactive).
    document : int, optional
        The most of both together on a document.
    seconds : float, optional
        Busy time on a batch after which the person stops.
    rounds : int
        In how many rounds the help with a batch comes, the system adapting after each.
    offline : int, optional
        The most that a system may ask for offline adaptation, after each batch; none unless given.
    test : bool
        The same help with every test batch, from which every version learns for a moment: what the
        penalised score needs.
    """

    questions: int = 0
    corrections: int = 0
    document: int | None = None
    seconds: float | None = None
    rounds: int = 1
    offline: int | None = None
    test: bool = True


class DomainPerson(Person, frozen=True, kw_only=True):
    """Who helps: the settings of `DomainExpert`, or a log to replay.

    Attributes
    ----------
    word_seconds, action_seconds, says
        As `DomainExpert` has them.
    """

    word_seconds: float = 0.0
    action_seconds: float = 0.0
    says: str = "corrections"


class Recipe(Shared, frozen=True, kw_only=True):
    """What decides the logs of all life cycles.

    Attributes
    ----------
    source : str
        Name of the source of the course.
    source_options : dict
        Its settings.
    any_times : bool
        Test times need not spread over those of the lifelong set.
    record_cpu : bool
        Whether CPU seconds are recorded.
    checkpoint : int
        Steps (a batch of a set under a version) from one checkpoint to the next; 0 for none.
    folder : str
        Where programs run and modules are looked for.
    """

    kind: ClassVar[str] = "truecost.learning.lifelong.passes:KIND"
    seen: ClassVar[str] = COURSES

    source: str
    source_options: dict[str, Any] = msgspec.field(default_factory=dict)
    helping: Helping = Helping()
    person: DomainPerson = DomainPerson()
    any_times: bool = False
    record_cpu: bool = False
    checkpoint: int = 0
    folder: str = "."


class Job(LoggedJob, frozen=True, kw_only=True):
    """One pass of a system through the course of a seed.

    Attributes
    ----------
    system : str
        Its name.
    way : {"assisted", "unsupervised", "frozen"}
        The pass.
    strategy : str
        Who asks; `own` for a learner that asks itself, empty where nobody is asked.
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

    def __str__(self) -> str:
        """`plastic, assisted, seed 0`."""
        return f"{self.system}, {self.way}, seed {self.seed}"


def _log(recipe: Recipe, job: Job, course: Course, place: Path, tell: Tell | None) -> bool:
    """Through the life cycle, into the log; nothing for a pass that the system does not offer."""
    with about(str(job)):
        learner = _learner(job, course)
        with closing(learner):
            if job.way == UNSUPERVISED and not part_with(learner, "unsupervised", False):
                return False
            place.parent.mkdir(parents=True, exist_ok=True)
            _lived(recipe, job, course, learner, place, tell)
    return True


def _lived(
    recipe: Recipe, job: Job, course: Course, learner: Learner, place: Path, tell: Tell | None
) -> None:
    """Through the life cycle, into the log."""
    with LogWriter.open(place, resume=True) as log:
        run_lifelong(
            course,
            _system(job, course, learner),
            _expert(recipe, course, job.seed),
            life_of(recipe),
            log,
            passing=cast("Pass", job.way),
            run=job.run,
            record_cpu=recipe.record_cpu,
            checkpoint=recipe.checkpoint,
            progress=Telling(tell),
        )
        log.finish()


def life_of(recipe: Recipe) -> Life:
    """How systems live.

    Raises
    ------
    UsageError
        When a number is out of its range.
    """
    how = recipe.helping
    given = Help(how.questions, how.corrections, how.document, how.seconds, how.rounds)
    test = given if how.test else NO_HELP
    return Life(given, test, offline=how.offline, any_times=recipe.any_times)


def _course(recipe: Recipe, seed: int) -> Course:
    """The course of a seed."""
    return course_of(recipe.source, recipe.source_options, seed)


def _noted(course: Course) -> dict[str, Any]:
    """What is written down of a course."""
    return {
        "kind": course.kind,
        "classes": list(course.classes),
        "signature": course.signature,
        "learnt": course.learnt.tolist(),
        "tested": course.tested.tolist(),
        "items": sum(map(len, (*course.lifelong, *course.test))),
        "digest": course.digest,
    }


def _learner(job: Job, course: Course) -> Learner:
    """A new learner, which knows nothing yet."""
    from truecost.learning.learners import build

    task = Task(course.kind, course.classes, job.seed, job.learner_options)
    return build(job.learner, task)


def _system(job: Job, course: Course, learner: Learner) -> Learner:
    """The learner with the strategy, or as it is where nobody is asked."""
    if job.strategy == "" or job.way == FROZEN:
        return learner
    named = f"[systems.{job.system}]: the strategy is {OWN!r}, but the learner {job.learner}"
    return asking(learner, job.strategy, job.strategy_options, job.seed, course.classes, named)


def _expert(recipe: Recipe, course: Course, seed: int) -> Expert:
    """Who helps."""
    from truecost.learning.lifelong.person import DomainExpert
    from truecost.learning.lifelong.replayed import RecordedPerson

    person = recipe.person
    if person.file is not None:
        return cast("Expert", RecordedPerson(recorded(person.file)))
    names = ("seconds", "cost", "error_rate", "refusal", "delay")
    own = ("word_seconds", "action_seconds", "says")
    settings = {name: getattr(person, name) for name in (*names, *own)}
    name = _named(settings)
    return DomainExpert(
        course.kind, course.references, course.classes, seed=seed, name=name, **settings
    )


def _named(settings: Mapping[str, Any]) -> str:
    """Who helps, in the log: only systems with the same simulation of a person are compared."""
    plain = DomainPerson()
    other = [f"{key}={value}" for key, value in settings.items() if value != getattr(plain, key)]
    return f"reference({', '.join(other)})" if other else "reference"


KIND = Kind(Recipe, Job, _course, _noted, "the course is no longer the one", _log)
