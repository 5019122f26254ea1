"""`run` and `report`: study files, and result directories written again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.flags import Flag
from truecost.cli.options import NO_INTERVAL, Interval
from truecost.cli.output import KEPT, Kept, Output
from truecost.errors import UsageError, message
from truecost.phrasing import key, phrased

if TYPE_CHECKING:
    from truecost.study import Study


def run(
    study: str,
    /,
    *,
    resume: Annotated[bool, Flag] = False,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Run a study file: several systems, applications, subsets and collections in one.

    A study with [training] trains methods first, as truecost methods run does (--resume goes on).
    A study that names a [source] is a live run: it makes event logs in the output directory first,
    and goes on with them when it was killed (--resume). --jobs is then the number of processes too.

    What was scored is written to ledger.jsonl beside the study, which warns of evaluation data that
    are scored again and again (truecost protocol ledger); --no-ledger leaves that out.

    Its gates decide the exit code: 1 when one failed, 4 when one is undecided.

    Example: truecost run study.toml -o out

    Parameters
    ----------
    study
        TOML file; paths in it are meant from its folder. See: truecost schema study
    resume
        Go on with a live run or trainings that were killed, or that shall have more seeds, budgets,
        strategies or training sets.
    """
    from truecost.study import Study
    from truecost.tasks import find
    from truecost.verbs import arguments_of

    if output.config is not None:
        raise UsageError("run takes its settings from the study file: leave out --config")
    chosen = Study(interval=interval.table()).over(Study.read(study))
    with phrased(arguments_of(find(chosen.task), "score"), key):
        return _run(chosen, output, resume=resume, file=study)


def _run(study: "Study", output: Output, *, resume: bool, file: str) -> int:
    """Run what a file says: a live run, trainings, or the scoring of files."""
    from truecost.cli.trials import execute

    if study.training.given():
        from truecost.protocol.study.training_checks import check_training

        check_training(study)
    if study.source.given() or study.training.given():
        return live(study, output, resume=resume, beside=file)
    if resume:
        raise UsageError(
            f"{file}: nothing to resume: only a live run, which has [source], makes logs to go "
            f"on with, and only [training] makes runs; leave out --resume"
        )
    return execute(study, output, beside=file)


def live(study: "Study", output: Output, *, resume: bool, beside: str | None = None) -> int:
    """Run a study that makes what it scores into its directory; the exit code of its gates.

    A ledger is kept `beside` the file of a study.
    """
    from truecost.cli.ledgers import ledger_of, noted
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report as say
    from truecost.cli.trials import said_instead
    from truecost.learning.live.live import run_live
    from truecost.study.given_paths import named_as_given
    from truecost.study.resumable import work_of

    if said_instead(study, output):
        return 0
    work = work_of(study)
    if output.output is None:
        raise UsageError(f"{work.wanted}: name a directory for them, -o FOLDER")
    place = ledger_of(study, output, beside)
    screen = Screen(output)
    try:
        with screen.progress() as progress, named_as_given(study):
            outcome = run_live(study, output.output, resume=resume, progress=progress)
    except KeyboardInterrupt:
        screen.say(f"{work.what} stay in {Path(output.output) / work.place}: --resume goes on")
        raise
    return say(noted(outcome, study, place, screen), output, screen)


def report(
    result: str,
    /,
    *,
    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Draw report.html again from a stored result, without computing anything anew.

    Example: truecost report out

    Parameters
    ----------
    result
        A result directory, or its result.json.
    output
        The page to write. Default: report.html of the result directory.
    """
    from truecost.study.directory import render_again

    target = render_again(result, None if output is None else Path(output))
    print(message(str(target)))
