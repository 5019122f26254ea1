"""The logs of a live study, of streams or of life cycles: their jobs, their recipe, their score.

    run/logs/recipe.toml                       what decides the logs
    run/logs/courses/seed-0.json               what the course was
    run/logs/plastic/assisted/seed-0.jsonl.gz  a log for each system, pass and seed
    run/result.json, report.html, ...          written last

Of streams there is a system for each strategy and budget. Beside each system of a life cycle there
are its baselines, systems of their own: `plastic-frozen`, whose initial version says everything,
and `plastic-unsupervised`, where the system offers to adapt without help.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

from truecost.errors import InputError, UsageError
from truecost.formats import sha256
from truecost.learning.corpora import fingerprints, joined_digest
from truecost.learning.learners.building import flat
from truecost.learning.lifelong.course import files_of, outputs_of
from truecost.learning.live.checks import (
    budgets_of,
    options_of,
    seeds_of,
    strategies_of,
    strategy_of,
    with_folder,
)
from truecost.learning.live.studies import HASH, Logged, check_recipe, noted
from truecost.learning.options import FILES, OF_PERSON, LearnerTable, StrategyTable
from truecost.learning.passes import (
    ASSISTED,
    OWN,
    PASSES,
    PASSIVE,
    Helping,
    LifelongJob,
    LifelongRecipe,
    StreamJob,
    StreamRecipe,
)
from truecost.learning.people import DomainPerson, Person
from truecost.learning.source import Source, checked
from truecost.learning.strategies.mixtures import FOLDER, build
from truecost.names import AnnotationSet
from truecost.person.expert import LivePerson
from truecost.person.views import Views
from truecost.study.checking import convert
from truecost.study.config import Study
from truecost.study.outcome import Outcome
from truecost.study.settings import Progress
from truecost.study.tables import SystemTable
from truecost.tasks.lifelong.kinds import kinds
from truecost.tasks.lifelong.options import LifelongTable
from truecost.tasks.lifelong.scoring import AFTER, OF_HELP, ON_TEST, of_help, score_of_kind
from truecost.tasks.lifelong.settings import refuse_others
from truecost.tasks.lifelong.work import without_rows
from truecost.tasks.streams.asked import OF_DETECTION, measures_named, refuse_of_detection
from truecost.tasks.streams.options import StreamTable

WITH_FOLDER = ("callable", "sklearn", "river", "program")  # learners that look for something
COUNTED: tuple[AnnotationSet, ...] = ("queries", "bootstrap", "training")  # with a passive baseline
QUESTIONS = 4  # that a system may ask about a batch, where no help is said
UNLABELLED = (
    "the run is complete. Its items have no labels: score the answers of people with truecost "
    "annotate OUTPUT --report; for errors and costs, write the labels into a table (id, label; 1 "
    "is a target) and use truecost streams score OUTPUT/logs/STRATEGY/BUDGET --labels FILE"
)
HELP_KEYS = ("questions", "corrections", "document", "seconds", "rounds", "offline", "test")


def absolute(path: str) -> str:
    """A path from the root."""
    return str(Path(path).absolute())


def learner_of(study: Study, learner: LearnerTable) -> tuple[str, dict[str, Any]]:
    """Name and options of a learner."""
    name = learner.settled("name")
    options = {key: value for key, value in learner.given().items() if key != "name"}
    if name in WITH_FOLDER:
        options["folder"] = absolute(study.loop.folder or ".")
    return name, options


def person_of(study: Study) -> dict[str, Any]:
    """Settings of the person, with the path of a log that is replayed."""
    person = study.expert.given()
    if person.pop("name", None) == "person":
        return {"live": live_person(study)}
    return person | ({"file": absolute(person["file"])} if "file" in person else {})


def live_person(study: Study) -> LivePerson:
    """The people who answer on a page."""
    table = study.expert
    seen = {key: getattr(table, key) for key in ("audio", "image", "text", "gold")}
    settings = {key: table.settled(key) for key in ("overlap", "idle", "tail")}
    return LivePerson(
        people=table.people or ("me",),
        shown=None if table.guess is None else table.guess == "shown",
        ask=table.ask or "",
        views=Views(**seen, folder=absolute(study.loop.folder or ".")),
        port=table.port,
        **settings,
    )


def common_settings(study: Study) -> dict[str, Any]:
    """The part that all recipes share."""
    loop = study.loop
    return {
        "record_cpu": bool(loop.record_cpu),
        "checkpoint": loop.checkpoint or 0,
        "folder": absolute(loop.folder or "."),
    }


def _check_baseline(study: Study, jobs: Iterable[StreamJob | LifelongJob]) -> None:
    """Refuse a baseline that is none of the systems (UsageError)."""
    names = dict.fromkeys(job.result_name for job in jobs)
    if study.baseline is not None and study.baseline not in names:
        raise UsageError(
            f"baseline {study.baseline!r} is not one of the systems: {', '.join(names)}"
        )


def _check_strategy(name: str, options: Mapping[str, Any], seed: int) -> None:
    """Refuse a strategy or options that there are not; it is empty where nobody is asked."""
    if name not in ("", OWN):
        build(name, options, seed)


@dataclass(frozen=True)
class Streams(Logged):
    """The logs of streams; over budgets, with advice."""

    def make(self, folder: Path, lock: int, progress: Progress | None) -> Outcome:
        """The function that makes a log; see `Logged.make`."""
        from truecost.tasks.streams.sweep import advice_of, judged_by

        asked = [m for m in measures_named(self.study.measures) if m.name in OF_DETECTION]
        for stream in self.recipe.see(self.jobs[0].seed) if asked else ():
            refuse_of_detection(asked, stream.kind, "the source")
        outcome = super().make(folder, lock, progress)
        table, rows = self.study.sweep, outcome.estimates
        sweeps = advice_of(rows, table.objective) if table.given() else ()
        remarks = (*outcome.remarks, *judged_by(sweeps, rows), *(advice.text for advice in sweeps))
        return replace(outcome, described=(*outcome.described, *sweeps), remarks=remarks)


def streams_of(study: Study) -> Streams:
    """The logs of a study of streams; faults are refused before anything runs."""
    check_recipe(study)
    measures_named(study.measures)
    recipe, jobs = stream_recipe(study), stream_jobs(study)
    for job in jobs:
        _check_strategy("" if job.passive else job.strategy, job.options, job.seed)
    _check_baseline(study, jobs)
    return Streams(study, recipe, jobs, _streams_decisive, "strategies", _streams_scored)


def stream_recipe(study: Study) -> StreamRecipe:
    """The settings that decide the logs, with absolute paths and the defaults filled in."""
    source = {"name": study.source.settled("name"), **study.source.given()}
    for key in FILES:
        path = Path(source.get(key, ""))  # a tsv may be a name below the folder
        if key in source and (key != "tsv" or path.is_file() or path.is_absolute()):
            source[key] = absolute(source[key])
    checked(Source(**source))
    name, options = learner_of(study, study.learner)
    return StreamRecipe(
        source=Source(**source),
        batch=study.loop.settled("batch"),
        bootstrap=study.loop.settled("bootstrap"),
        learner=name,
        learner_options=options,
        person=Person(**person_of(study)),
        drop_last=bool(study.loop.drop_last),
        **common_settings(study),
    )


def stream_jobs(study: Study) -> list[StreamJob]:
    """Every strategy with every budget, and the passive baseline; those of a seed together."""
    found = []
    for seed in seeds_of(study):
        for strategy in strategies_of(study):
            job = StreamJob(strategy=strategy, seed=seed, options=options_of(study, strategy))
            if study.loop.rate is not None:
                found.append(structs.replace(job, rate=study.loop.rate))
            found += [structs.replace(job, budget=budget) for budget in budgets_of(study)]
        if study.loop.passive:
            found.append(StreamJob(strategy=PASSIVE, seed=seed))
    return found


def _streams_decisive(study: Study, recipe: StreamRecipe) -> dict[str, Any]:
    """The settings that affect the logs, for TOML: without paths, with hashes of the data."""
    source = to_builtins(recipe.source)
    source |= {key: Path(source[key]).name for key in FILES if source[key] is not None}
    source[HASH] = fingerprints(recipe.source, recipe.folder) or None
    options = {key: value for key, value in recipe.learner_options.items() if key != "folder"}
    strategies = {
        name: {key: value for key, value in options_of(study, name).items() if key != FOLDER}
        for name in strategies_of(study)
    }
    return noted(recipe, source=source, learner_options=options, strategies=strategies)


def _streams_scored(study: Study, seen: list[dict[str, Any]]) -> Study:
    """The study of the logs of such streams; InputError where nothing says what is right."""
    data, stream, first = study.data, study.table(StreamTable), seen[0]
    if not first.get("labelled", True):
        raise InputError(UNLABELLED)
    if first["kind"] == "numbers" and data.type is None:
        data = structs.replace(data, type="number")
    if first["kind"] == "classes":
        data = structs.replace(data, classes=data.classes or tuple(first["classes"]))
    if study.loop.passive and stream.annotations is None:
        stream = structs.replace(stream, annotations=COUNTED)
    return structs.replace(study, data=data).with_table(stream)


def lives_of(study: Study) -> Logged:
    """The logs of a study of life cycles; faults are refused before anything runs."""
    check_recipe(study)
    recipe = life_recipe(study)
    _ = recipe.life  # checked
    jobs = life_jobs(study)
    for job in jobs:
        _check_strategy(job.strategy, job.strategy_options, job.seed)
    _check_measures(study, recipe, [job.result_name for job in jobs if job.way != ASSISTED])
    _check_baseline(study, jobs)
    return Logged(study, recipe, jobs, _life_decisive, "systems", _life_scored)


def life_recipe(study: Study) -> LifelongRecipe:
    """The settings that decide the logs."""
    asked, name = study.help.given(), study.source.settled("name")
    person = person_of(study) | {key: asked[key] for key in OF_PERSON if key in asked}
    return LifelongRecipe(
        source=name,
        source_options=_source_options(study, name),
        helping=Helping(**_helping(study)),
        person=DomainPerson(**person),
        any_times=bool(study.help.any_times),
        **common_settings(study),
    )


def _helping(study: Study) -> dict[str, Any]:
    """The amount of help; with questions by default."""
    asked = study.help.given()
    helping = {key: asked[key] for key in HELP_KEYS if key in asked}
    if not helping.keys() & {"questions", "corrections", "offline"}:
        helping["questions"] = QUESTIONS
    return helping


def _source_options(study: Study, name: str) -> dict[str, Any]:
    """The settings of the source, flat, with absolute paths; checked."""
    given = {key: value for key, value in study.source.given().items() if key != "name"}
    options = flat(given, "[source]")
    for key in files_of(name, options):  # those under options: from the folder of the study
        folder = Path("." if key in given else study.loop.folder or ".")
        named = options[key]
        if isinstance(named, str):
            options[key] = absolute(str(folder / named))
        else:
            options[key] = [absolute(str(folder / path)) for path in named]
    return options


def life_jobs(study: Study) -> list[LifelongJob]:
    """Every system in every pass; those of a seed together, as they share their course."""
    settings = {name: system_of(study, name) for name in names_of(study)}
    return [
        LifelongJob(system=name, seed=seed, way=way, **how)
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
    other = own.name not in (None, study.learner.name)  # its settings are no defaults
    learner, options = learner_of(study, own if other else own.over(study.learner))
    asks = _helping(study).get("questions")  # otherwise a system needs no strategy
    usual = StrategyTable().settled("name") if asks else ""
    named = study.strategy.python or study.strategy.name
    strategy = table.strategy or named or usual
    shared = study.strategy.options if strategy == strategy_of(study) else {}
    return {
        "learner": learner,
        "learner_options": options,
        "strategy": strategy,
        "strategy_options": with_folder(study, strategy, table.strategy_options or shared),
    }


def _life_decisive(study: Study, recipe: LifelongRecipe) -> dict[str, Any]:
    """The settings that affect the logs, for the recipe file."""
    source, hashes = {"name": recipe.source, **recipe.source_options}, {}
    for key, paths in files_of(recipe.source, recipe.source_options).items():
        hashes[key] = [_hash(path) for path in paths]
        source[key] = [Path(path).name for path in paths]
    systems = {name: system_of(study, name) for name in names_of(study)}
    for how in systems.values():
        how["learner_options"].pop("folder", None)
        how["strategy_options"].pop(FOLDER, None)
    source[HASH] = hashes or None
    return noted(recipe, source=source, task="lifelong", systems=systems)


def _hash(path: str) -> str:
    """SHA-256 of a file, or of the names and bytes of all files of a folder."""
    if not Path(path).is_dir():
        return sha256(path)
    inside = sorted(p for p in Path(path).rglob("*") if p.is_file())
    return joined_digest((p.relative_to(path).as_posix(), sha256(str(p))) for p in inside)


def _life_scored(study: Study, course: dict[str, Any]) -> Study:
    """The study of the logs of such a course."""
    data, lifelong = study.data, study.table(LifelongTable)
    if course["classes"] and not data.classes:
        data = structs.replace(data, classes=tuple(course["classes"]))
    if lifelong.kind is None:
        lifelong = structs.replace(lifelong, kind=course["kind"])
    if lifelong.kind != course["kind"]:
        raise InputError(
            f"the outputs of the source are {course['kind']}, but kind under [lifelong] is "
            f"{lifelong.kind!r}: leave kind out"
        )
    return structs.replace(study, data=data).with_table(lifelong)


def _check_measures(study: Study, recipe: LifelongRecipe, unhelped_names: Sequence[str]) -> None:
    """Refuse measures and scores that a run by this recipe cannot have.

    Of the names of baselines that nobody helps, `unhelped_names`, none may be held against others
    by measures of help alone.
    """
    table = study.table(LifelongTable)
    if table.factors not in (None, "item") and len(seeds_of(study)) < 2:
        raise UsageError(
            f"factors under [lifelong] is {table.factors!r}, and this run has one seed: give "
            f"[loop] seeds = 2 or more, or factors = 'item'"
        )
    asked = [(text, *text.partition(":")[::2]) for text in study.measures]
    for text, name, _ in asked:
        if why := _lacks(name, recipe):
            raise UsageError(f"measure {text!r} needs {why}")
    only_help = bool(asked) and all(of_help(name) for _, name, _ in asked)
    if study.baseline in unhelped_names and only_help:
        raise UsageError(without_rows(str(study.baseline), study.measures))
    made = outputs_of(recipe.source, recipe.source_options)
    if not made:
        return
    if table.kind not in (None, made):
        raise UsageError(
            f"the outputs of the source are {made}, but kind under [lifelong] is {table.kind!r}: "
            f"leave kind out"
        )
    refuse_others(study, made)
    for score in (*(score for _, _, score in asked), table.score):
        if score:
            score_of_kind(score, kinds()[made])


def _lacks(name: str, recipe: LifelongRecipe) -> str:
    """The data that a run lacks for a measure; empty when nothing is missing."""
    how = recipe.helping
    if name in (*OF_HELP, *ON_TEST):
        if not how.test or not (how.questions or how.corrections):
            return (
                "help with the test set: give questions or corrections under [help], and no test = "
                "false; or use policy_score"
            )
        if recipe.person.says == "verdicts" and name in OF_HELP and name != AFTER:
            return (
                "the right outputs, and the person gives only verdicts (says = 'verdicts' under "
                "[help]): use adapted_score or policy_score (Prokopalo et al. 2020, section 2.2)"
            )
    elif of_help(name) and not how.offline:
        return "offline help, and this run has none: give offline under [help]"
    return ""
