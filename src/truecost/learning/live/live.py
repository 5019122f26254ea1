"""Studies that make what they score: logs of streams and of life cycles, and runs of methods.

Streams and life cycles differ in what a job is, what decides its log and how logs are scored; see
`learning/live/streams.py` and `learning/live/lifelong.py`.

An output directory holds what is needed to go on, and in the end the result::

    run/logs/recipe.toml                 what decides the logs
    run/logs/streams/seed-0.json         what the streams were
    run/logs/margin/4/seed-0.jsonl.gz    a log for each strategy, budget and seed
    run/result.json, report.html, ...    written last

What was killed goes on with `resume`; so does what is to have more seeds, budgets, strategies,
systems, training sets or methods. What decides it must be the same. See `study/resumable.py`,
`learning/live/live.py` and `protocol/study/trainings.py`.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from msgspec import structs

from truecost.errors import TruecostError, UsageError
from truecost.face import at
from truecost.formats.publishing import tidy
from truecost.learning.jobs import OWN, AnyJob, Shared, run_jobs
from truecost.learning.live.recipes import same_recipe
from truecost.learning.options import (
    ExpertTable,
    HelpTable,
    LearnerTable,
    LoopTable,
    SourceTable,
    StrategyTable,
    SweepTable,
)
from truecost.study.config import Study
from truecost.study.outcome import Input, Outcome
from truecost.study.resumable import LOGS, TRAINED, work_of
from truecost.task import Live
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.study.settings import Progress


@dataclass(frozen=True)
class Logged(Generic[AnyJob]):
    """Logs that a study makes.

    Attributes
    ----------
    recipe : Shared
        What the jobs share.
    decisive : callable
        What decides the logs, as the recipe file holds it; reads and hashes the data.
    joining : str
        Key of it under which others may join when a run goes on.
    read : callable
        Names and hashes of the files that it names.
    scored : callable
        The study of the logs, from the jobs that have one, and their folder.
    """

    study: Study
    recipe: Shared
    jobs: Sequence[AnyJob]
    decisive: Callable[[Study], dict[str, Any]]
    joining: str
    read: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]
    scored: Callable[[Study, Sequence[AnyJob], Path], Study]

    @cached_property
    def noted(self) -> dict[str, Any]:
        """What decides the logs."""
        return self.decisive(self.study)

    def files(self) -> Iterable[tuple[str, str]]:
        """Names and hashes of the files that streams or courses, and answers, come from."""
        return self.read(self.noted)

    def make(self, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
        """Run the jobs that are not done, and score the logs.

        Raises
        ------
        UsageError, InputError
            Logs stay, and the message says so, unless there are none.
        """
        begun = (folder / LOGS.note).exists()
        logs = folder / LOGS.place
        tidy(logs / self.recipe.seen)
        same_recipe(folder / LOGS.note, self.noted, self.joining)
        try:
            return self._made(logs, lock, progress)
        except TruecostError as error:
            if not begun and not any(logs.rglob("*.jsonl*")):
                shutil.rmtree(logs, ignore_errors=True)  # it can begin anew
                raise
            raise type(error)(f"{error} (logs stay in {logs}: --resume goes on)") from error

    def _made(self, logs: Path, lock: int, progress: "Progress | None") -> Outcome:
        from truecost.study.running import run
        from truecost.study.settings import doing

        count = self.study.interval.jobs
        jobs = run_jobs(self.recipe, self.jobs, logs, count, doing("running", progress), (lock,))
        return run(_without_tables(self.scored(self.study, jobs, logs)), progress)


def _without_tables(study: Study) -> Study:
    """The study of logs that are there: without the tables that made them."""
    return structs.replace(
        study,
        source=SourceTable(),
        loop=LoopTable(),
        learner=LearnerTable(),
        strategy=StrategyTable(),
        expert=ExpertTable(),
        sweep=SweepTable(),
        help=HelpTable(),
    )


def check_baseline(study: Study, systems: Iterable[str]) -> None:
    """Refuse a baseline that is none of the systems (UsageError)."""
    names = dict.fromkeys(systems)
    if study.baseline is not None and study.baseline not in names:
        raise UsageError(
            f"baseline {study.baseline!r} is no system: this run makes {', '.join(names)}"
        )


def check_strategies(asked: Iterable[tuple[str, Mapping[str, Any], int]]) -> None:
    """Refuse strategies and options that there are not; each with its options and seed."""
    from truecost.learning.strategies import build

    for name, options, seed in asked:
        if name != OWN:
            build(name, options, seed)


class Making(Protocol):
    """What a study makes, checked as far as it can be before any work."""

    def make(self, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
        """Do what is not done yet below a folder that nobody else works in, and score all.

        `lock` is a file descriptor for other processes to hold open.
        """

    def files(self) -> Iterable[tuple[str, str]]:
        """Names and hashes of the files that it is made of."""


def run_live(
    study: Study,
    directory: str | Path,
    *,
    resume: bool = False,
    progress: "Progress | None" = None,
) -> Outcome:
    """Make what a study scores, the logs of a live run or the runs of methods, and score it.

    Parameters
    ----------
    study : Study
        With `[source]` or `[training]`.
    directory : str or Path
        New or empty; with `resume` also one that a run of this study began. Logs and runs are
        written below it, and stay whatever happens; the result itself is for
        `truecost.study.write`.
    resume : bool
        Go on with what is there.
    progress : callable, optional
        Told what is being done, how far it is, and all of it.

    Raises
    ------
    UsageError
        When the study contradicts itself, there is something in the directory already, or what is
        there was made otherwise.
    InputError
        When data, a system, an expert or a program fail, or another process works there.

    Examples
    --------
    >>> import tempfile
    >>> import truecost as tc
    >>> from truecost.learning.live.live import run_live
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
    from truecost.study.running import configuration

    folder, work = Path(directory), work_of(study)
    making = _making(study)
    work.check(folder, resume)
    read = [Input(system="", file=name, sha256=digest) for name, digest in making.files()]
    with work.alone(folder) as lock:
        for place in (folder, folder / work.place):
            tidy(place)
        outcome = making.make(folder, lock, progress)
    return replace(outcome, inputs=(*read, *outcome.inputs), configuration=configuration(study))


def _making(study: Study) -> Making:
    """What a study makes; refuses what can be refused before anything runs."""
    from truecost.study.running import check_study

    if work_of(study) is TRAINED:
        from truecost.protocol.study.trainings import trainings_of

        return trainings_of(study)
    if not study.source.given():
        raise UsageError("the study has no [source]: only live runs make logs, and can be resumed")
    check_study(study)
    live: Live = at(find(study.task).live)
    making: Making = at(live.make)(study)
    return making
