"""Live lifelong runs: a study of task `lifelong` that names a source makes the logs that it scores.

    run/logs/recipe.toml                       what decides the logs
    run/logs/courses/seed-0.json               what the course was
    run/logs/plastic/assisted/seed-0.jsonl.gz  a log for each system, pass and seed
    run/result.json, report.html, ...          written last

Beside each system there are its baselines, systems of their own: `plastic-frozen`, whose initial
version says everything, and `plastic-unsupervised`, where the system offers to adapt without help.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from truecost.errors import InputError
from truecost.study.config import Study
from truecost.study.lifelong_live_tables import HelpTable
from truecost.study.live import as_asked, check_baseline, made_in
from truecost.study.live_folders import check_folder
from truecost.study.loop_tables import LearnerTable, LoopTable, SourceTable, StrategyTable
from truecost.study.outcome import Outcome
from truecost.study.recipes import LOGS
from truecost.study.tables import SystemTable

if TYPE_CHECKING:
    from truecost.learning.lifelong.jobs import Job
    from truecost.study.settings import Progress

JOINING = "systems"  # of the recipe: others may join when a run goes on


def run_lifelong(
    study: Study,
    directory: str | Path,
    *,
    resume: bool = False,
    progress: "Progress | None" = None,
) -> Outcome:
    """Make the logs of a live lifelong study, and score them.

    Parameters
    ----------
    study : Study
        Of task lifelong, with `[source]`.
    directory : str or Path
        New or empty; with `resume` also one that a run of this study began. Logs are written below
        it, and stay whatever happens.
    resume : bool
        Go on with what is there.
    progress : callable, optional
        Told what is being done, how far it is, and all of it.

    Returns
    -------
    Outcome

    Raises
    ------
    UsageError
        When the study contradicts itself, there is something in the directory already, or what is
        there was made otherwise.
    InputError
        When data, system or expert fail, or another process works there.
    """
    from truecost.learning.lifelong.jobs import COURSES
    from truecost.study.lifelong_recipes import decisive, inputs_of

    _check(study)
    folder = Path(directory)
    check_folder(folder, resume)
    recipe, courses = decisive(study), folder / LOGS / COURSES
    outcome = made_in(
        folder, recipe, lambda lock: _made(study, folder, lock, progress), courses, JOINING
    )
    return as_asked(outcome, study, inputs_of(recipe))


def _made(study: Study, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
    """Run what is left to run, and score the logs."""
    from truecost.learning.lifelong.jobs import run_jobs
    from truecost.study.lifelong_recipes import jobs_of, recipe_of
    from truecost.study.running import run

    logs = folder / LOGS
    tell = None if progress is None else lambda done, total: progress("running", done, total)
    jobs = run_jobs(recipe_of(study), jobs_of(study), logs, study.interval.jobs, tell, keep=(lock,))
    return run(_scored(study, jobs, logs), progress)


def _check(study: Study) -> None:
    """Refuse what can be refused before anything runs."""
    from truecost.learning.lifelong.passes import life_of
    from truecost.study.lifelong_baselines import check_measures
    from truecost.study.lifelong_recipes import jobs_of, recipe_of
    from truecost.study.recipes import check_recipe
    from truecost.study.running import check_study

    check_study(study)
    check_recipe(study)
    recipe = recipe_of(study)
    life_of(recipe)
    jobs = jobs_of(study)
    _check_strategies(jobs)
    check_measures(study, recipe, [name_of(job) for job in jobs if _said(job) is not None])
    check_baseline(study, map(name_of, jobs))


def _check_strategies(jobs: "Sequence[Job]") -> None:
    """Refuse strategies and options that there are not."""
    from truecost.learning.jobs import OWN
    from truecost.learning.strategies import build

    for job in jobs:
        if job.strategy not in (OWN, ""):
            build(job.strategy, job.strategy_options, job.seed)


def name_of(job: "Job") -> str:
    """What results call a system in a pass.

    Parameters
    ----------
    job : Job

    Returns
    -------
    str
        Its name with the person's help, `NAME-frozen` and `NAME-unsupervised` without.
    """
    from truecost.learning.lifelong.jobs import ASSISTED

    return job.system if job.way == ASSISTED else f"{job.system}-{job.way}"


def _scored(study: Study, jobs: "Sequence[Job]", logs: Path) -> Study:
    """The study of the logs: a system for each system and pass."""
    runs = tuple(dict.fromkeys(job.run for job in jobs))
    course = _course_of(logs, runs[0])
    data, lifelong = study.data, study.lifelong
    if course["classes"] and not data.classes:
        data = structs.replace(data, classes=tuple(course["classes"]))
    if lifelong.kind is None:
        lifelong = structs.replace(lifelong, kind=course["kind"])
    if lifelong.kind != course["kind"]:
        raise InputError(
            f"the source makes a course of {course['kind']}, and [lifelong] kind is "
            f"{lifelong.kind!r}: leave it out"
        )
    return structs.replace(
        study,
        data=data,
        lifelong=lifelong,
        systems={
            name_of(job): SystemTable(file=str(logs / job.folder), runs=runs, strategy=_said(job))
            for job in jobs
        },
        source=SourceTable(),
        loop=LoopTable(),
        learner=LearnerTable(),
        strategy=StrategyTable(),
        expert=type(study.expert)(),
        help=HelpTable(),
    )


def _said(job: "Job") -> str | None:
    """The strategy of the rows: the pass, where nobody helps."""
    from truecost.learning.lifelong.jobs import ASSISTED

    return None if job.way == ASSISTED else job.way


def _course_of(logs: Path, run: str) -> dict[str, Any]:
    """What is written down of a course."""
    from truecost.learning.lifelong.jobs import COURSES

    found: dict[str, Any] = json.loads((logs / COURSES / f"{run}.json").read_bytes())
    return found
