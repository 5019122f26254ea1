"""Logs of live runs: made by jobs in processes of their own, and scored as a study of files.

Streams and life cycles differ in what a job is, what decides its log and how logs are scored; see
`learning/live/streams.py` and `learning/live/lifelong_live.py`.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from msgspec import structs

from truecost.errors import TruecostError, UsageError
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
from truecost.study.outcome import Outcome
from truecost.study.resumable import LOGS

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
