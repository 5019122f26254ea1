"""Live runs of streams: the logs of each strategy with each budget, and of the passive baseline."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from truecost.learning.jobs import STREAMS, Job
from truecost.learning.live.live import Logged, check_baseline, check_strategies
from truecost.learning.live.recipes import check_recipe, decisive, inputs_of, jobs_of, recipe_of
from truecost.names import AnnotationSet
from truecost.study.config import Study
from truecost.study.outcome import Outcome
from truecost.study.tables import SystemTable
from truecost.tasks.streams.options import StreamTable

if TYPE_CHECKING:
    from truecost.study.settings import Progress

COUNTED: tuple[AnnotationSet, ...] = ("queries", "bootstrap", "training")  # with a passive baseline


@dataclass(frozen=True)
class Streams(Logged[Job]):
    """The logs of streams; over budgets, with advice."""

    def make(self, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
        """As of all logs; see `Logged.make`."""
        from truecost.tasks.streams.sweep import advice_of, judged_by

        outcome = super().make(folder, lock, progress)
        table = self.study.sweep
        sweeps = advice_of(outcome.estimates, table.objective) if table.given() else ()
        texts = (advice.text for advice in sweeps)
        remarks = (*outcome.remarks, *judged_by(sweeps, outcome.estimates), *texts)
        return replace(outcome, described=(*outcome.described, *sweeps), remarks=remarks)


def streams_of(study: Study) -> Streams:
    """What a study of streams makes; refuses what can be refused before anything runs.

    Raises
    ------
    UsageError
    """
    check_recipe(study)
    recipe, jobs = recipe_of(study), jobs_of(study)
    check_strategies((job.strategy, job.options, job.seed) for job in jobs if not job.passive)
    check_baseline(study, (job.system for job in jobs))
    return Streams(study, recipe, jobs, decisive, "strategies", inputs_of, _scored)


def _scored(study: Study, jobs: Sequence[Job], logs: Path) -> Study:
    """The study of the logs: a system for each strategy and budget, and the passive baseline."""
    source = json.loads((logs / STREAMS / f"{jobs[0].run}.json").read_bytes())[0]
    data, stream = study.data, study.table(StreamTable)
    if source["kind"] == "numbers" and data.type is None:
        data = structs.replace(data, type="number")
    if source["kind"] == "classes":
        data = structs.replace(data, classes=data.classes or tuple(source["classes"]))
    if study.loop.passive and stream.annotations is None:
        stream = structs.replace(stream, annotations=COUNTED)
    batch = study.loop.settled("batch")
    runs = tuple(dict.fromkeys(job.run for job in jobs))
    systems = {
        job.system: SystemTable(
            file=str(logs / job.folder),
            runs=runs,
            strategy=job.strategy,
            budget=job.questions(batch),
        )
        for job in jobs
    }
    return structs.replace(study, data=data, systems=systems).with_table(stream)
