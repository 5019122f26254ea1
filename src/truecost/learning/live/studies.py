"""Studies that make what they score: logs of streams and of life cycles, and runs of methods.

Streams and life cycles differ in what a job is, what decides its log and how logs are scored; see
`learning/live/logs.py`.

An output directory holds what is needed to go on, and in the end the result::

    run/logs/recipe.toml                 what decides the logs
    run/logs/streams/seed-0.json         what the streams were
    run/logs/margin/4/seed-0.jsonl.gz    a log for each strategy, budget and seed
    run/result.json, report.html, ...    written last

A killed study continues with `resume`; so does one that gets more seeds, budgets, strategies,
systems, training sets or methods. The settings that decide it must be the same. See
`study/directory.py` and `protocol/study/trainings.py`.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from truecost.errors import TruecostError, UsageError
from truecost.face import at
from truecost.formats import sha256
from truecost.formats.opening import read_toml
from truecost.formats.publishing import publish, tidy
from truecost.learning.checking import error_context, read_noted
from truecost.learning.jobs import LOG, LoggedJob, Recipe
from truecost.learning.options import TABLES
from truecost.learning.parallel import run_jobs
from truecost.learning.people import Shown, check_shown
from truecost.study.config import Study
from truecost.study.directory import LOGS, TRAINED, work_of
from truecost.study.outcome import Input, Outcome
from truecost.study.running import check_study, configuration, run
from truecost.study.settings import Progress, doing
from truecost.study.tables import SystemTable
from truecost.task import Live
from truecost.tasks import find

DECISIVE = ("source", "loop", "learner", "strategy", "expert", "help")  # tables of a live study
HASH = "sha256"  # key of the recipe


@dataclass(frozen=True)
class Logged:
    """Logs that a study makes.

    `recipe`: what the jobs share; `decisive`: what decides the logs, as the recipe file holds it;
    reads and hashes the data; `joining`: key of it under which others may join when a run goes on;
    `scored`: the study with what the first seed tells of the data, as it was noted.
    """

    study: Study
    recipe: Any
    jobs: Sequence[LoggedJob]
    decisive: Callable[[Study, Any], dict[str, Any]]
    joining: str
    scored: Callable[[Study, Any], Study]

    @cached_property
    def noted(self) -> dict[str, Any]:
        """The settings that decide the logs."""
        return self.decisive(self.study, self.recipe)

    def files(self) -> Iterable[tuple[str, str]]:
        """Names and hashes of the files that streams or courses, and answers, come from."""
        source, person = self.noted["source"], self.noted["person"]
        for key, found in source.get(HASH, {}).items():
            if isinstance(found, list):
                yield from zip(source[key], found, strict=True)
            elif key in ("file", "tsv"):
                yield source[key], found
        if HASH in person:
            yield person["file"], person[HASH]

    def make(self, folder: Path, lock: int, progress: Progress | None) -> Outcome:
        """Run the jobs that are not done, and score the logs.

        Nobody else works in the folder; `lock` is a file descriptor for workers to hold open.
        """
        begun = (folder / LOGS.note).exists()
        logs = (folder / LOGS.place).absolute()
        tidy(logs / self.recipe.seen)
        same_recipe(folder / LOGS.note, self.noted, self.joining)
        count = self.study.interval.jobs
        try:
            with self._asked(folder, progress) as (recipe, doing_so):
                shared = recipe.shared(logs)
                run_jobs(LOG, shared, self.jobs, logs, count, doing_so, keep=(lock,))
            made = {table.__table__: table() for table in TABLES}  # made the logs that are there
            return run(structs.replace(self._logged(folder / LOGS.place), **made), progress)
        except TruecostError as error:
            if not begun and not any(logs.rglob("*.jsonl*")):
                shutil.rmtree(logs, ignore_errors=True)  # it can begin anew
                raise
            where = folder / LOGS.place
            raise type(error)(f"{error} (logs are in {where}: continue with --resume)") from error

    @contextmanager
    def _asked(self, folder: Path, progress: Progress | None) -> Iterator[tuple[Any, Any]]:
        """The recipe, while the people whom it asks have a page to answer on, and what is told how
        far the jobs are.
        """
        live, doing_so = self.recipe.person.live, doing("running", progress)
        left = [job for job in self.jobs if not job.done(folder / LOGS.place)]
        if live is None:
            yield self.recipe, doing_so
            return
        from truecost.person.live import answering, say_answered

        if not left:
            say_answered(folder)
            yield self.recipe, doing_so
            return
        with _within(self.recipe.folder):  # what cannot be asked is refused before the page opens
            check_shown(self._tried(left))
        from truecost.person.measured import standing_beside
        from truecost.person.web import Settings

        settings = Settings(title="truecost", ask=live.ask, live=True)
        with (
            answering(live, folder, settings) as ready,
            standing_beside(Path(ready.store), live.timing, progress) as telling,
        ):
            person = structs.replace(self.recipe.person, live=ready)
            yield structs.replace(self.recipe, person=person), telling

    def _tried(self, left: Sequence[LoggedJob]) -> Iterator[Shown]:
        """The data that people see, for each seed, after building the first job of each system as a
        trial.
        """
        tried = set[str]()
        for seed in dict.fromkeys(job.seed for job in left):
            seen = self.recipe.see(seed)
            yield from self.recipe.shown(seen)
            for job in left:
                system = job.folder.partition("/")[0]
                if job.seed == seed and system not in tried:
                    tried.add(system)
                    with error_context(str(job)):
                        self.recipe.try_system(job, seen)

    def _logged(self, logs: Path) -> Study:
        """The study of the logs that there are: what no system offers has none."""
        jobs = [job for job in self.jobs if (logs / job.path).exists()]
        runs = tuple(dict.fromkeys(job.run for job in jobs))
        place = logs / self.recipe.seen / f"{runs[0]}.json"
        seen = read_noted(place, self.recipe.note)
        batch = self.study.loop.settled("batch")
        systems = {
            job.result_name: SystemTable(
                file=str(logs / job.folder), runs=runs, **job.settings(batch)
            )
            for job in jobs
        }
        return structs.replace(self.scored(self.study, seen), systems=systems)


@contextmanager
def _within(folder: str) -> Iterator[None]:
    """A context for jobs: their folder is the current one, and modules are searched there too."""
    known = [*sys.path]
    with chdir(folder):
        if folder not in sys.path:
            sys.path.append(folder)
        try:
            yield
        finally:
            sys.path[:] = known


def check_recipe(study: Study) -> None:
    """Refuse values that a recipe cannot hold and that cannot be sent to workers."""
    tables = {name: getattr(study, name).given() for name in DECISIVE}
    tables |= {f"systems.{name}": system.given() for name, system in study.systems.items()}
    for name, given in tables.items():
        for key, value in _leaves(given, lists=True):
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"[{name}] {key} is {value}: a finite number was expected")
    folder = study.loop.folder
    if folder and not Path(folder).is_dir():
        raise UsageError(
            f"[loop] folder {folder}: there is no such folder; name the one that your learners, "
            f"data and programs are in, or leave it out"
        )


def _leaves(
    content: Mapping[str, Any], place: str = "", lists: bool = False
) -> Iterator[tuple[str, Any]]:
    """All values in nested tables, by their keys; `lists`: those in lists one by one."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{place}{key}.", lists)
        elif lists and isinstance(value, list | tuple):
            for inner in value:
                yield from _leaves({key: inner}, place, lists)
        else:
            yield f"{place}{key}", value


def same_recipe(place: Path, now: Mapping[str, Any], joining: str) -> None:
    """Write down what decides the logs, or refuse another recipe than the one that is there.

    `place`: where it is written down; `now`: what `decisive` gives; `joining`: its key under which
    others may join, by name.
    """
    import tomli_w

    then: Mapping[str, Any] = read_toml(str(place)) if place.exists() else now
    joined = {**then.get(joining, {}), **now[joining]}
    shared = {name: now[joining].get(name, how) for name, how in then.get(joining, {}).items()}
    differ = [*_differences(then, {**now, joining: shared})]
    if differ:
        raise UsageError(
            f"{place}: the run there is of another study: {'; '.join(differ)}. Resume the run "
            f"with the study and data that it began with, or choose another --output"
        )
    text = tomli_w.dumps({**now, joining: joined})
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        publish({place: text})


def noted(recipe: Recipe, **other: Any) -> dict[str, Any]:
    """A recipe as TOML can hold it, with some keys said otherwise.

    Without the paths of this machine: a file of answers is recorded by its name and hash.
    """
    content: dict[str, Any] = msgspec.to_builtins(recipe)
    for name in ("folder", "checkpoint", "source_options"):
        content.pop(name, None)
    person = content["person"]
    if person["live"] is not None:
        for name in ("store", "port"):
            del person["live"][name]
        del person["live"]["views"]["folder"]
        person = content["person"] = {"file": None, "live": person["live"]}
    if person["file"] is not None:
        person[HASH] = sha256(person["file"])
        person["file"] = Path(person["file"]).name
    found: dict[str, Any] = _without_none(content | other)
    return found


def _without_none(content: Any) -> Any:
    """TOML has no word for nothing."""
    if isinstance(content, Mapping):
        return {k: _without_none(v) for k, v in content.items() if v is not None}
    return [_without_none(v) for v in content] if isinstance(content, list | tuple) else content


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The differences of two settings, a text for each."""
    before, after = dict(_leaves(then)), dict(_leaves(now))
    for place in dict.fromkeys((*before, *after)):
        old, new = before.get(place), after.get(place)
        *outer, key = place.split(".")
        if old == new:
            continue
        if HASH in (key, *outer[-1:]):  # a hash tells a reader nothing
            named = ".".join([*outer[:-1], key] if key != HASH else [*outer, "file"])
            how = "names data that have changed since"
            if old is None or new is None:
                how = f"is {'no longer' if new is None else 'now'} part of it"
            yield f"{named} {how}"
        else:
            said = ["nothing" if value is None else repr(value) for value in (old, new)]
            yield f"{place} was {said[0]} and is now {said[1]}"


def run_live(
    study: Study,
    directory: str | Path,
    *,
    resume: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Run a live study: produce its event logs, or train its methods, and score the results.

    Parameters
    ----------
    study : Study
        Study with a table `[source]` (streams, lifelong learning) or `[training]` (methods).
    directory : str or Path
        Output folder for logs and trained runs: new or empty, or with `resume` the folder of an
        earlier run of the study. If the run fails, the folder is kept. `truecost.study.write`
        writes the result.
    resume : bool
        Whether to continue the run in `directory`.
    progress : callable, optional
        Function that is called with the current activity as text, the number of finished steps and
        the number of all steps.

    Returns
    -------
    Outcome
        Result rows, warnings and inputs of the study.

    Raises
    ------
    UsageError
        If settings of the study contradict each other, or the folder contains other files or the
        run of another study.
    InputError
        If data, a system, an expert or a program fails, or another process uses the folder.

    Examples
    --------
    >>> import tempfile
    >>> import truecost as tc
    >>> from truecost.learning.live.studies import run_live
    >>> study = tc.Study.from_tables({
    ...     "task": "streams",
    ...     "measures": ["imlm"],
    ...     "source": {"name": "digits", "targets": ["3"], "items": 300},
    ...     "loop": {"budget": 2},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_live(study, folder)
    >>> [(row.measure, row.dims["phase"]) for row in outcome.estimates]
    [('imlm', 'pre'), ('imlm', 'post')]
    """
    folder, work = Path(directory), work_of(study)
    making = _making(study)
    work.check(folder, resume, study.loop.folder)
    read = [Input(system="", file=name, sha256=digest) for name, digest in making.files()]
    with work.alone(folder) as lock:
        for place in (folder, folder / work.place):
            tidy(place)
        outcome: Outcome = making.make(folder, lock, progress)
    return replace(outcome, inputs=(*read, *outcome.inputs), configuration=configuration(study))


def _making(study: Study) -> Any:
    """The maker of the files of a study (`Logged`, say), with all checks that are possible before
    anything runs.
    """
    if work_of(study) is TRAINED:
        from truecost.protocol.study.trainings import trainings_of

        return trainings_of(study)
    if not study.source.given():
        raise UsageError("the study has no [source]: only live runs make logs, and can be resumed")
    check_study(study)
    live: Live = at(find(study.task).live)
    return at(live.make)(study)
