"""`methods run`: programs that train methods over seeds and training sets, scored at the end."""

from typing import Annotated

from truecost.cli.flags import Flag, Whole
from truecost.cli.options import NO_INTERVAL, Interval
from truecost.cli.output import KEPT, Kept
from truecost.errors import UsageError


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
        Trainings at the same time; the result does not depend on it. Default: one a core.
    """
    import msgspec

    from truecost.cli.studies import live
    from truecost.protocol.study.training_checks import check_training
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("methods run takes its settings from the study file: leave out --config")
    chosen = Study(interval=interval.table()).over(Study.read(study))
    if workers is not None:
        training = msgspec.structs.replace(chosen.training, workers=workers)
        chosen = msgspec.structs.replace(chosen, training=training)
    check_training(chosen)
    return live(chosen, output, resume=resume, beside=study)
