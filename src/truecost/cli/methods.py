"""`methods score` and `methods compare`: sets of runs over seeds and training sets."""

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from truecost.cli.options import (
    NO_COSTS,
    NO_DATA,
    NO_INTERVAL,
    PLAIN,
    Costs,
    Data,
    Interval,
    Output,
    study_of,
)

if TYPE_CHECKING:
    from truecost.study.methods import MethodStudy

Names = Annotated[tuple[str, ...], Parameter(negative=())]


def score(
    *files: Annotated[str, Parameter(negative=())],
    runs: str,
    methods: str | None = None,
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Output = PLAIN,
) -> int:
    """Score methods: what one run gives, and what runs give on average.

    Example: truecost methods score "runs/*.csv" --runs seed --type llr --map id=trial,unit=speaker

    Parameters
    ----------
    files
        Files of runs on the same trials: PATH, or a pattern in quotes; NAME=PATTERN names a method.
    runs
        Column that tells runs apart, or two crossed ones: seed or seed+training. "file" when each
        file is a run. --hold COLUMN holds one of them fixed in the mean.
    methods
        Column that names the method of each row.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    from truecost.study.methods import MethodStudy

    study = study_of((), data, costs, interval, measure, subset, output.config)
    given = MethodStudy(tuple(files), study, tuple(runs.split("+")), methods)
    return execute(given, output, compare=False)


def compare(
    *files: Annotated[str, Parameter(negative=())],
    runs: str,
    methods: str | None = None,
    estimator: Literal["mean", "run"] = "mean",
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Output = PLAIN,
) -> int:
    """Compare methods with the first: the same test units, independent runs.

    Example: truecost methods compare A="runs/a-*.csv" B="runs/b-*.csv" --runs seed --type llr

    Parameters
    ----------
    files
        Files of runs on the same trials, NAME=PATH or NAME="PATTERN"; the first is the baseline.
    runs
        Column that tells runs apart, or two crossed ones: seed or seed+training. "file" when each
        file is a run. --hold COLUMN holds one of them fixed in the mean.
    methods
        Column that names the method of each row, in place of NAME=.
    estimator
        Compare the means of the methods, or one run of each.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    from truecost.study.methods import MethodStudy

    study = study_of((), data, costs, interval, measure, subset, output.config)
    given = MethodStudy(tuple(files), study, tuple(runs.split("+")), methods, estimator)
    return execute(given, output, compare=True)


def execute(given: "MethodStudy", output: Output, *, compare: bool) -> int:
    """Run, print and write; returns the exit code that gates ask for."""
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report, said_instead
    from truecost.study import check_target
    from truecost.study.methods import run_methods

    if said_instead(given.study, output):
        return 0
    if output.output is not None:
        check_target(output.output)  # before the work, not after it
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = run_methods(given, compare=compare, progress=progress)
    return report(outcome, output, screen)
