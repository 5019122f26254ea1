"""Studies that make what they score: logs of streams (`[source]`) or of life cycles, and runs of
methods (`[training]`).

An output directory holds what is needed to go on, and in the end the result::

    run/logs/recipe.toml                 what decides the logs
    run/logs/streams/seed-0.json         what the streams were
    run/logs/margin/4/seed-0.jsonl.gz    a log for each strategy, budget and seed
    run/result.json, report.html, ...    written last

What was killed goes on with `resume`; so does what is to have more seeds, budgets, strategies,
systems, training sets or methods. What decides it must be the same. See `study/resumable.py`,
`learning/live/logged.py` and `protocol/study/trainings.py`.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from truecost.errors import UsageError
from truecost.face import at
from truecost.formats.publishing import tidy
from truecost.study.config import Study
from truecost.study.outcome import Input, Outcome
from truecost.study.resumable import TRAINED, work_of
from truecost.task import Live
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.study.settings import Progress


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
