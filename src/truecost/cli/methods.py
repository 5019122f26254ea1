"""`methods score` and `methods compare`: sets of runs over seeds and training sets."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import NO_COSTS, NO_DATA, NO_INTERVAL, Costs, Data, Interval, study_of
from truecost.cli.output import KEPT, Kept, Output
from truecost.cli.trials import execute
from truecost.names import Estimator

if TYPE_CHECKING:
    from truecost.study import Study

Names = Annotated[tuple[str, ...], Parameter(negative=())]


def score(
    *files: Annotated[str, Parameter(negative=())],
    runs: str | None = None,
    methods: str | None = None,
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
    runs
        Column that tells runs apart, or two: seed, or seed+training. Name the training sets last:
        shares of variance take the first as nested in them. "file" when each file is a run. --hold
        COLUMN holds one of them fixed in the mean.
    methods
        Column that names the method of each row.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    study = study_of((), data, costs, interval, measure, subset, output.config)
    return _execute(study, output, files, runs, methods)


def compare(
    *files: Annotated[str, Parameter(negative=())],
    runs: str | None = None,
    methods: str | None = None,
    estimator: Estimator | None = None,
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
    runs
        Column that tells runs apart, or two: seed, or seed+training. Name the training sets last:
        shares of variance take the first as nested in them. "file" when each file is a run. --hold
        COLUMN holds one of them fixed in the mean.
    methods
        Column that names the method of each row, in place of NAME=.
    estimator
        Compare the means of the methods, or one run of each. Default: mean.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    study = study_of((), data, costs, interval, measure, subset, output.config)
    return _execute(study, output, files, runs, methods, estimator, compare=True)


def _execute(
    study: "Study",
    output: Output,
    files: tuple[str, ...],
    runs: str | None,
    column: str | None,
    estimator: Estimator | None = None,
    *,
    compare: bool = False,
) -> int:
    """Lay what was given over [methods] of the study, and run it."""
    from truecost.study.tables import MethodsTable

    given = MethodsTable(
        files=files,
        runs=() if runs is None else tuple(runs.split("+")),
        column=column,
        compare=compare or None,
        estimator=estimator,
    )
    return execute(study.with_table(given.over(study.table(MethodsTable))), output)
