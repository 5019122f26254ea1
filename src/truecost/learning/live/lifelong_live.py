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

from msgspec import structs

from truecost.errors import InputError
from truecost.learning.lifelong.jobs import ASSISTED, COURSES, Job
from truecost.learning.live.lifelong_recipes import decisive, inputs_of, jobs_of, recipe_of
from truecost.learning.live.logged import Logged, check_baseline, check_strategies
from truecost.learning.live.recipes import check_recipe
from truecost.study.config import Study
from truecost.study.tables import SystemTable
from truecost.tasks.lifelong.lifelong_baselines import check_measures
from truecost.tasks.lifelong.options import LifelongTable


def lives_of(study: Study) -> Logged[Job]:
    """What a study of life cycles makes; refuses what can be refused before anything runs.

    Raises
    ------
    UsageError
    """
    from truecost.learning.lifelong.passes import life_of

    check_recipe(study)
    recipe = recipe_of(study)
    life_of(recipe)
    jobs = jobs_of(study)
    check_strategies((j.strategy, j.strategy_options, j.seed) for j in jobs if j.strategy)
    check_measures(study, recipe, [name_of(job) for job in jobs if job.way != ASSISTED])
    check_baseline(study, map(name_of, jobs))
    return Logged(study, recipe, jobs, decisive, "systems", inputs_of, _scored)


def name_of(job: Job) -> str:
    """What results call a system in a pass: without help, `NAME-frozen`, `NAME-unsupervised`."""
    return job.system if job.way == ASSISTED else f"{job.system}-{job.way}"


def _scored(study: Study, jobs: Sequence[Job], logs: Path) -> Study:
    """The study of the logs: a system for each system and pass."""
    runs = tuple(dict.fromkeys(job.run for job in jobs))
    course = json.loads((logs / COURSES / f"{runs[0]}.json").read_bytes())
    data, lifelong = study.data, study.table(LifelongTable)
    if course["classes"] and not data.classes:
        data = structs.replace(data, classes=tuple(course["classes"]))
    if lifelong.kind is None:
        lifelong = structs.replace(lifelong, kind=course["kind"])
    if lifelong.kind != course["kind"]:
        raise InputError(
            f"the source makes a course of {course['kind']}, and [lifelong] kind is "
            f"{lifelong.kind!r}: leave it out"
        )
    systems = {
        name_of(job): SystemTable(
            file=str(logs / job.folder),
            runs=runs,
            strategy=None if job.way == ASSISTED else job.way,  # the pass, where nobody helps
        )
        for job in jobs
    }
    return structs.replace(study, data=data, systems=systems).with_table(lifelong)
