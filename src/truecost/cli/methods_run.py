"""`methods run`: programs that train methods over seeds and training sets, scored at the end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from truecost.cli.options import KEPT, NO_INTERVAL, Flag, Interval, Kept, Whole
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.study import Study


def run(
    study: str,
    /,
    *,
    resume: Annotated[bool, Flag] = False,
    workers: Whole = None,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Train methods over seeds and training sets, score every run, and compare the methods.

    Each run is a program of yours: [training] of the study says how it is called, with {train},
    {seed} and {out} in its words. Runs that are done stay done, whatever is killed (--resume).

    Example: truecost methods run methods.toml -o out

    Parameters
    ----------
    study
        TOML file; paths in it are meant from its folder. See: truecost schema study
    resume
        Go on where runs are: after a fault, or with more seeds, training sets or methods.
    workers
        Trainings at the same time; as many as there are cores unless given. The result does not
        depend on it.
    """
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("methods run takes its settings from the study file: leave out --config")
    chosen = Study(interval=interval.table()).over(Study.read(study))
    return trained(chosen, output, resume=resume, workers=workers, beside=study)


def trained(
    study: "Study",
    output: Kept,
    *,
    resume: bool,
    workers: int | None = None,
    beside: str | None = None,
) -> int:
    """Train and score into a directory; returns the exit code that the gates ask for."""
    import msgspec

    from truecost.cli.ledgers import ledger_of, noted
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report, said_instead
    from truecost.study.directory import TRAINED
    from truecost.study.given_paths import named_as_given
    from truecost.study.training_checks import check_training
    from truecost.study.trainings import run_trained

    if workers is not None:
        training = msgspec.structs.replace(study.training, workers=workers)
        study = msgspec.structs.replace(study, training=training)
    check_training(study)
    if said_instead(study, output):
        return 0
    if output.output is None:
        raise UsageError("runs of methods are kept: name a directory for them, -o FOLDER")
    place = ledger_of(study, output, beside)
    screen = Screen(output)
    try:
        with screen.progress() as progress, named_as_given(study):
            outcome = run_trained(study, output.output, resume=resume, progress=progress)
    except KeyboardInterrupt:
        screen.say(f"finished runs stay in {Path(output.output) / TRAINED}: --resume goes on")
        raise
    return report(noted(outcome, study, place, screen), output, screen)
