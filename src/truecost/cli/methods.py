"""`methods score` and `methods compare`: sets of runs over seeds and training sets."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.flags import Flags, of_table
from truecost.cli.options import NO_COSTS, NO_DATA, NO_INTERVAL, Costs, Data, Interval, study_of
from truecost.cli.output import KEPT, Kept, Output
from truecost.cli.trials import execute
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
