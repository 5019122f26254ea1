"""Live runs: a study that names a source of streams makes the event logs that it scores.

A run directory holds what is needed to go on with it, and in the end the result::

    run/logs/recipe.toml                 what decides the logs
    run/logs/streams/seed-0.json         what the streams were
    run/logs/margin/4/seed-0.jsonl.gz    a log for each strategy, budget and seed
    run/result.json, report.html, ...    written last

A run that was killed goes on with `resume`; so does one that is to have more seeds, budgets or
strategies. What decides the logs must be the same.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from truecost.errors import TruecostError, UsageError
from truecost.names import AnnotationSet
from truecost.publishing import tidy
from truecost.study.config import Study
from truecost.study.live_checks import batch_of
from truecost.study.live_folders import alone, check_folder, remove_logs
from truecost.study.loop_tables import LearnerTable, LoopTable, SourceTable, StrategyTable
from truecost.study.outcome import Input, Outcome
from truecost.study.recipes import LOGS, RECIPE, STREAMS, decisive, inputs_of, same_recipe
from truecost.study.tables import SystemTable

if TYPE_CHECKING:
    from truecost.learning.jobs import Job
    from truecost.study.settings import Progress

COUNTED: tuple[AnnotationSet, ...] = ("queries", "bootstrap", "training")  # with a passive baseline


def run_live(
    study: Study,
    directory: str | Path,
    *,
    resume: bool = False,
    progress: "Progress | None" = None,
) -> Outcome:
    """Make the logs of a live study, and score them.

    Parameters
    ----------
    study : Study
        With `[source]`.
    directory : str or Path
        New or empty; with `resume` also one that a run of this study began. Logs are written below
        it, and stay whatever happens; the result itself is for `truecost.study.write`.
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
        When data, learner or expert fail, or another process works there.

    Examples
    --------
    >>> import tempfile
    >>> import truecost as tc
    >>> from truecost.study.live import run_live
    >>> study = tc.Study.of({
    ...     "task": "stream",
    ...     "measures": ["imlm"],
    ...     "source": {"name": "digits", "targets": ["3"], "items": 300},
    ...     "loop": {"budget": 2},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_live(study, folder)
    >>> [(row.measure, row.dims["phase"]) for row in outcome.estimates]
    [('imlm', 'pre'), ('imlm', 'post')]
    """
    from truecost.study.sweep import advice_of

    if study.task == "lifelong":
        from truecost.study.lifelong_live import run_lifelong

        return run_lifelong(study, directory, resume=resume, progress=progress)
    _check(study)
    folder = Path(directory)
    check_folder(folder, resume)
    recipe = decisive(study)
    outcome = made_in(
        folder, recipe, lambda lock: _made(study, folder, lock, progress), folder / STREAMS
    )
    sweeps = advice_of(outcome.estimates) if study.sweep.given() else ()
    remarks = (*outcome.remarks, *(advice.text for advice in sweeps))
    return replace(as_asked(outcome, study, inputs_of(recipe)), sweeps=sweeps, remarks=remarks)


def made_in(
    folder: Path,
    recipe: Mapping[str, Any],
    make: Callable[[int], Outcome],
    streams: Path,
    joining: str = "strategies",
) -> Outcome:
    """What comes of a run that nobody else works at, of the same recipe as before.

    Parameters
    ----------
    folder : Path
        The run directory.
    recipe : mapping
        What decides the logs.
    make : callable
        Gets the lock of the folder; runs what is left to run, and scores the logs.
    streams : Path
        Where it is written down what the streams were.
    joining : str
        Key of the recipe under which others may join.

    Returns
    -------
    Outcome

    Raises
    ------
    UsageError, InputError
        As `make` does: logs stay, and the message says so, unless there are none.
    """
    stood, begun = folder.exists(), (folder / RECIPE).exists()
    with alone(folder / LOGS) as lock:
        for place in (folder, folder / LOGS, streams):
            tidy(place)
        same_recipe(folder, recipe, joining)
        try:
            return make(lock)
        except TruecostError as error:
            if not begun and not any((folder / LOGS).rglob("*.jsonl*")):
                remove_logs(folder, stood)
                raise
            left = f"(logs stay in {folder / LOGS}: --resume goes on)"
            raise type(error)(f"{error} {left}") from error


def as_asked(outcome: Outcome, study: Study, files: Iterable[tuple[str, str]]) -> Outcome:
    """An outcome of logs with the study that made them, and names and hashes of what it read."""
    from truecost.study.running import configuration

    read = (Input(system="", file=name, sha256=digest) for name, digest in files)
    return replace(outcome, inputs=(*read, *outcome.inputs), configuration=configuration(study))


def _made(study: Study, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
    """Run what is left to run, and score the logs."""
    from truecost.learning.jobs import run_jobs
    from truecost.study.recipes import jobs_of, recipe_of
    from truecost.study.running import run

    jobs, logs = jobs_of(study), folder / LOGS
    tell = None if progress is None else lambda done, total: progress("running", done, total)
    run_jobs(recipe_of(study), jobs, logs, study.interval.jobs, tell, keep=(lock,))
    return run(_scored(study, jobs, logs), progress)


def _check(study: Study) -> None:
    """Refuse what can be refused before anything runs."""
    from truecost.study.recipes import check_recipe, jobs_of, recipe_of
    from truecost.study.running import check_study

    if not study.source.given():
        raise UsageError("the study has no [source]: only live runs make logs, and can be resumed")
    check_study(study)
    check_recipe(study)
    recipe_of(study)
    jobs = jobs_of(study)
    _check_strategies(jobs)
    check_baseline(study, (job.system for job in jobs))


def check_baseline(study: Study, systems: Iterable[str]) -> None:
    """Refuse a baseline that is none of the systems; UsageError."""
    names = dict.fromkeys(systems)
    if study.baseline is not None and study.baseline not in names:
        raise UsageError(
            f"baseline {study.baseline!r} is no system: this run makes {', '.join(names)}"
        )


def _check_strategies(jobs: "Sequence[Job]") -> None:
    """Refuse strategies and options that there are not."""
    from truecost.learning.jobs import OWN
    from truecost.learning.strategies import build

    for job in jobs:
        if not job.passive and job.strategy != OWN:
            build(job.strategy, job.options, job.seed)


def _scored(study: Study, jobs: "Sequence[Job]", logs: Path) -> Study:
    """The study of the logs: a system for each strategy and budget, and the passive baseline."""
    source = json.loads((logs.parent / STREAMS / f"seed-{jobs[0].seed}.json").read_bytes())[0]
    data, stream = study.data, study.stream
    if source["kind"] == "numbers" and data.type is None:
        data = structs.replace(data, type="number")
    if source["kind"] == "classes":
        data = structs.replace(data, classes=data.classes or tuple(source["classes"]))
    if study.loop.passive and stream.annotations is None:
        stream = structs.replace(stream, annotations=COUNTED)
    batch = batch_of(study)
    runs = tuple(dict.fromkeys(job.run for job in jobs))
    return structs.replace(
        study,
        data=data,
        stream=stream,
        systems={
            job.system: SystemTable(
                file=str(logs / job.folder),
                runs=runs,
                strategy=job.strategy,
                budget=job.questions(batch),
            )
            for job in jobs
        },
        source=SourceTable(),
        loop=LoopTable(),
        learner=LearnerTable(),
        strategy=StrategyTable(),
        expert=type(study.expert)(),
        sweep=type(study.sweep)(),
    )
