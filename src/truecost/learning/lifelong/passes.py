"""Life cycles: one job of a live lifelong run, from its course to its log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from truecost.learning.jobs import OWN
from truecost.learning.lifelong.acting import part_with
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.helping import NO_HELP, Help
from truecost.learning.lifelong.jobs import (
    FROZEN,
    UNSUPERVISED,
    DomainPerson,
    Job,
    Recipe,
)
from truecost.learning.lifelong.living import Life, Pass, run_lifelong
from truecost.learning.lifelong.sources import course_of
from truecost.learning.log import LogWriter
from truecost.learning.system import Expert, Learner, Task
from truecost.learning.working import Kind, Tell, Telling, about, asking, closing, recorded


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
