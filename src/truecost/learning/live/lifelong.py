"""Live lifelong runs: the jobs of a study, the recipe of their logs, and the run.

    run/logs/recipe.toml                       what decides the logs
    run/logs/courses/seed-0.json               what the course was
    run/logs/plastic/assisted/seed-0.jsonl.gz  a log for each system, pass and seed
    run/result.json, report.html, ...          written last

Beside each system there are its baselines, systems of their own: `plastic-frozen`, whose initial
version says everything, and `plastic-unsupervised`, where the system offers to adapt without help.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from truecost.errors import InputError, UsageError
from truecost.formats import sha256
from truecost.learning.lifelong.passes import ASSISTED, COURSES, Job
from truecost.learning.live.checks import seeds_of
from truecost.learning.live.live import Logged, check_baseline, check_strategies
from truecost.learning.live.recipes import HASH, WITH_FOLDER, check_recipe, name_file, without_none
from truecost.learning.options import OF_PERSON, LearnerTable, StrategyTable
from truecost.study.checking import convert
from truecost.study.config import Study
from truecost.study.tables import SystemTable
from truecost.tasks.lifelong.options import LifelongTable
from truecost.tasks.lifelong.work import check_measures

if TYPE_CHECKING:
    from truecost.learning.lifelong.passes import Recipe


QUESTIONS = 4  # that a system may ask about a batch, where no help is said


OF_HELP = ("questions", "corrections", "document", "seconds", "rounds", "offline", "test")


def recipe_of(study: Study) -> "Recipe":
    """What decides the logs; as `recipes.recipe_of` has it of streams."""
    from truecost.learning.lifelong.passes import DomainPerson, Helping, Recipe

    asked, loop = study.help.given(), study.loop
    person = study.expert.given() | {key: asked[key] for key in OF_PERSON if key in asked}
    if "file" in person:
        person["file"] = str(Path(person["file"]).absolute())
    helping = _helping(study)
    folder = Path(loop.folder or ".").absolute()
    name = source_of(study)
    return Recipe(
        source=name,
        source_options=_source_options(study, name, folder),
        helping=Helping(**helping),
        person=DomainPerson(**person),
        any_times=bool(study.help.any_times),
        record_cpu=bool(loop.record_cpu),
        checkpoint=loop.checkpoint or 0,
        folder=str(folder),
    )


def _helping(study: Study) -> dict[str, Any]:
    """How much help there is, with questions where nothing else is said."""
    asked = study.help.given()
    helping = {key: asked[key] for key in OF_HELP if key in asked}
    if not helping.keys() & {"questions", "corrections", "offline"}:
        helping["questions"] = QUESTIONS
    return helping


def _asks(study: Study) -> bool:
    """Whether systems may ask about a batch."""
    return bool(_helping(study).get("questions"))


def source_of(study: Study) -> str:
    """Name of the source; a table of one's own unless given."""
    name: str = study.source.settled("name")
    return name


def _source_options(study: Study, name: str, folder: Path) -> dict[str, Any]:
    """The settings of the source, flat, with absolute paths; checked."""
    from truecost.learning.lifelong.sources import files_of

    given = {key: value for key, value in study.source.given().items() if key != "name"}
    nested = given.pop("options", {})
    if twice := sorted(given.keys() & nested.keys()):
        raise UsageError(f"[source]: {twice[0]} is given twice; once is enough")
    flat = {**given, **nested}
    for key in files_of(name, flat):  # those under options are meant from the folder of the study
        flat[key] = _absolute(flat[key], folder if key in nested else Path())
    return flat


def _absolute(named: Any, folder: Path) -> Any:
    """A path, or several."""
    if isinstance(named, str):
        return str((folder / named).absolute())
    return [str((folder / path).absolute()) for path in named]


def jobs_of(study: Study) -> "list[Job]":
    """Every system in every pass; those of a seed together, as they share their course."""
    from truecost.learning.lifelong.passes import PASSES, Job

    settings = {name: system_of(study, name) for name in names_of(study)}
    return [
        Job(system=name, seed=seed, way=way, **how)
        for seed in seeds_of(study)
        for name, how in settings.items()
        for way in PASSES
    ]


def names_of(study: Study) -> tuple[str, ...]:
    """Names of the systems: those of `[systems.NAME]`, or the learner."""
    return tuple(study.systems) or (study.learner.settled("name"),)


def system_of(study: Study, name: str) -> dict[str, Any]:
    """Learner and strategy of a system: its own over those of `[learner]` and `[strategy]`."""
    table = study.systems.get(name, SystemTable())
    own = convert(table.learner, LearnerTable, f"[systems.{name}] learner")
    other = own.name not in (
        None,
        study.learner.name,
    )  # settings of another learner are no defaults
    learner = own if other else own.over(study.learner)
    options = {key: value for key, value in learner.given().items() if key != "name"}
    if learner.settled("name") in WITH_FOLDER:
        options["folder"] = str(Path(study.loop.folder or ".").absolute())
    usual = (
        StrategyTable().settled("name") if _asks(study) else ""
    )  # who asks nothing needs no strategy
    strategy = table.strategy or study.strategy.name or usual
    shared = study.strategy.options if strategy == study.strategy.settled("name") else {}
    return {
        "learner": learner.settled("name"),
        "learner_options": options,
        "strategy": strategy,
        "strategy_options": table.strategy_options or shared,
    }


def decisive(study: Study) -> dict[str, Any]:
    """What decides the logs, for the recipe file; as `recipes.decisive` has it of streams."""
    from truecost.learning.lifelong.sources import files_of

    recipe = recipe_of(study)
    content: dict[str, Any] = msgspec.to_builtins(recipe)
    for name in ("folder", "checkpoint", "source_options"):
        del content[name]
    content["task"] = "lifelong"
    source = {"name": recipe.source, **recipe.source_options}
    hashes = {}
    for key, paths in files_of(recipe.source, recipe.source_options).items():
        hashes[key] = [_hash(path) for path in paths]
        source[key] = [Path(path).name for path in paths]
    content["source"] = {**source, HASH: hashes or None}
    name_file(content["person"])
    content["systems"] = {name: _without_folder(study, name) for name in names_of(study)}
    found: dict[str, Any] = without_none(content)
    return found


def _hash(path: str) -> str:
    """SHA-256 of a file, or of the names and bytes of all files of a folder."""
    if not Path(path).is_dir():
        return sha256(path)
    inside = sorted(p for p in Path(path).rglob("*") if p.is_file())
    parts = [f"{p.relative_to(path).as_posix()}\0{sha256(str(p))}\0" for p in inside]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _without_folder(study: Study, name: str) -> dict[str, Any]:
    """A system without the folder in which its modules are looked for."""
    how = system_of(study, name)
    options = {key: value for key, value in how["learner_options"].items() if key != "folder"}
    return {**how, "learner_options": options}


def inputs_of(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and hashes of the files that courses and answers come from, as `decisive` has them."""
    source, person = content["source"], content["person"]
    read = [
        pair
        for key, hashes in source.get(HASH, {}).items()
        for pair in zip(source[key], hashes, strict=True)
    ]
    return [*read, (person["file"], person[HASH])] if HASH in person else read


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
