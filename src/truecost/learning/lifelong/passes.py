"""One job of a live lifelong run, from its course to its log, in the process that runs it."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from truecost.errors import UsageError
from truecost.learning.finishing import complete, unfinished
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
    """Run a job in a worker process: see `truecost.learning.lifelong.jobs.run_jobs`."""
    recipe = msgspec.convert(shared["recipe"], Recipe)
    settle(recipe.folder)
    folder = Path(shared["folder"])
    _same_as_before(msgspec.json.encode(recipe), tuple(shared["known"]), folder)
    run_job(recipe, msgspec.convert(content, Job), folder, tell)


def run_job(recipe: Recipe, job: Job, folder: Path, tell: Tell | None = None) -> Path | None:
    """Run one job in this process, or go on with it.

    Parameters
    ----------
    recipe : Recipe
    job : Job
    folder : Path
        Of the logs.
    tell : callable, optional
        Told [steps done, all steps] from time to time.

    Returns
    -------
    Path or None
        Its log; None for an unsupervised pass that the system does not offer.

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
        course = _course(msgspec.json.encode(recipe), job.seed)
        _same_course(course, seen_by(Recipe, job.seed, folder))
        learner = _learner(job, course)
        with closing(learner):
            if job.way == UNSUPERVISED and not part_with(learner, "unsupervised", False):
                return None
            place.parent.mkdir(parents=True, exist_ok=True)
            _lived(recipe, job, course, learner, place, tell)
    complete(place)
    return place


def _lived(
    recipe: Recipe, job: Job, course: Course, learner: Learner, place: Path, tell: Tell | None
) -> None:
    """Through the life cycle, into the log."""
    with LogWriter.open(unfinished(place), resume=True) as log:
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

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Life

    Raises
    ------
    UsageError
        When a number is out of its range.
    """
    how = recipe.helping
    given = Help(how.questions, how.corrections, how.document, how.seconds, how.rounds)
    test = given if how.test else NO_HELP
    return Life(given, test, offline=how.offline, any_times=recipe.any_times)


@lru_cache(maxsize=2)
def _course(recipe: bytes, seed: int) -> Course:
    """The course of a seed, which one job after the other needs."""
    how = msgspec.json.decode(recipe, type=Recipe)
    return course_of(how.source, how.source_options, seed)


@lru_cache(maxsize=1)
def _same_as_before(recipe: bytes, seeds: tuple[int, ...], folder: Path) -> None:
    """Refuse data that make other courses of seeds that were run before; once in a process."""
    for seed in seeds:
        with about(f"seed {seed}"):
            _same_course(_course(recipe, seed), seen_by(Recipe, seed, folder))


def _same_course(course: Course, place: Path) -> None:
    """Write down what the course is, or refuse another than the one that is written down.

    Raises
    ------
    InputError
        When it is another.
    """
    found = {
        "kind": course.kind,
        "classes": list(course.classes),
        "signature": course.signature,
        "learnt": course.learnt.tolist(),
        "tested": course.tested.tolist(),
        "items": sum(map(len, (*course.lifelong, *course.test))),
        "digest": course.digest,
    }
    same_as_seen(found, place, "the course is no longer the one")


def _learner(job: Job, course: Course) -> Learner:
    """A new learner, which knows nothing yet."""
    from truecost.learning.learners import build

    task = Task(course.kind, course.classes, job.seed, job.learner_options)
    return build(job.learner, task)


def _system(job: Job, course: Course, learner: Learner) -> Learner:
    """The learner with the strategy, or as it is where it asks itself or nobody is asked."""
    from truecost.learning.asking import Asking
    from truecost.learning.strategies import build

    if job.strategy in (OWN, "") or job.way == FROZEN:
        if job.strategy == OWN and job.way != FROZEN and not isinstance(learner, System):
            raise UsageError(
                f"[systems.{job.system}]: the strategy is {OWN!r}, but the learner {job.learner} "
                f"does not ask: name a strategy, such as margin"
            )
        return learner
    return Asking(learner, build(job.strategy, job.strategy_options, job.seed, course.classes))


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
