"""`methods score`, `compare` and `run`: sets of runs over seeds and training sets, and their
training.
"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import (
    KEPT,
    NO_COSTS,
    NO_DATA,
    NO_INTERVAL,
    Costs,
    Data,
    Flag,
    Flags,
    Interval,
    Kept,
    Output,
    Whole,
    of_table,
    study_of,
)
from truecost.cli.trials import execute
from truecost.errors import UsageError
from truecost.study.tables import MethodsTable

if TYPE_CHECKING:
    from truecost.study import Study

    class Runs(Flags):
        """What the runs of methods are."""

    class Compared(Runs):
        """What is compared besides."""

else:
    Runs = of_table(MethodsTable, "runs", "column")
    Compared = of_table(MethodsTable, "runs", "column", "estimator")


RUNS, COMPARED = Runs(), Compared()


Names = Annotated[tuple[str, ...], Parameter(negative=())]


def score(
    *files: Annotated[str, Parameter(negative=())],
    runs: Runs = RUNS,
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Score methods: what one run gives, and what runs give on average.

    Example: truecost methods score "runs/*.csv" --runs seed --type llr --map id=trial,unit=speaker

    Parameters
    ----------
    files
        Files of runs on the same trials: PATH, or a pattern in quotes; NAME=PATTERN names a method.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    study = study_of((), data, costs, interval, measure, subset, output.config)
    return _execute(study, output, files, runs)


def compare(
    *files: Annotated[str, Parameter(negative=())],
    runs: Compared = COMPARED,
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Compare methods with the first: the same test units, independent runs.

    Example: truecost methods compare A="runs/a-*.csv" B="runs/b-*.csv" --runs seed --type llr

    Parameters
    ----------
    files
        Files of runs on the same trials, NAME=PATH or NAME="PATTERN"; the first is the baseline.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    study = study_of((), data, costs, interval, measure, subset, output.config)
    return _execute(study, output, files, runs, compare=True)


def _execute(
    study: "Study", output: Output, files: tuple[str, ...], runs: Runs, *, compare: bool = False
) -> int:
    """Lay what was given over [methods] of the study, and run it."""
    given = MethodsTable(files=files, compare=compare or None, **runs.keys())
    return execute(study.with_table(given.over(study.table(MethodsTable))), output)


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
    from truecost.protocol.study.trainings import check_training
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("methods run takes its settings from the study file: leave out --config")
    chosen = Study(interval=interval.table()).over(Study.read(study))
    if workers is not None:
        training = msgspec.structs.replace(chosen.training, workers=workers)
        chosen = msgspec.structs.replace(chosen, training=training)
    check_training(chosen)
    return live(chosen, output, resume=resume, beside=study)
