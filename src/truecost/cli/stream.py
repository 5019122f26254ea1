"""`truecost stream`: event logs of systems that learn with a person's help."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import CHECKED, KEPT, PLAIN, Checked, Kept, Output, laid_over
from truecost.cli.stream_options import (
    DRAWN,
    NO_COUNTED,
    NO_JUDGED,
    NO_PRICED,
    NO_WEIGHED,
    Counted,
    Drawn,
    Judged,
    Priced,
    Weighed,
    stream_table,
)
from truecost.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study import Outcome, Study

Files = Annotated[str, Parameter(negative=())]
Names = Annotated[tuple[str, ...], Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]


def score(
    *files: Files,
    judged: Judged = NO_JUDGED,
    counted: Counted = NO_COUNTED,
    priced: Priced = NO_PRICED,
    measure: Names = (),
    subset: Names = (),
    costs: Weighed = NO_WEIGHED,
    interval: Drawn = DRAWN,
    output: Kept = KEPT,
) -> int:
    """Score event logs: errors and the person's time in one, before and after adaptation.

    Example: truecost stream score events.jsonl --labels labels.csv --q prevalence

    Parameters
    ----------
    files
        Event logs (JSON lines, Parquet or CSV); a folder is one system, each log in it a run.
        NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        stream, seed or a column of the labels (each level is a subset), or a condition on these;
        may be repeated.
    """
    from truecost.cli.trials import execute

    given = (counted, priced, costs, interval, measure, subset, output.config)
    return execute(study_of(files, judged, *given), output)


def compare(
    *files: Files,
    judged: Judged = NO_JUDGED,
    counted: Counted = NO_COUNTED,
    priced: Priced = NO_PRICED,
    measure: Names = (),
    subset: Names = (),
    costs: Weighed = NO_WEIGHED,
    interval: Drawn = DRAWN,
    output: Kept = KEPT,
) -> int:
    """Compare event logs of the same streams with the first: intervals of difference and ratio.

    Example: truecost stream compare random.jsonl margin.jsonl --labels labels.csv

    Parameters
    ----------
    files
        Event logs, or folders of them, of the same items in the same batches; the first is the
        baseline. NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        stream, seed or a column of the labels, or a condition on these; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (counted, priced, costs, interval, measure, subset, output.config)
    study = study_of(files, judged, *given, compare=True)
    if len(study.systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    return execute(study, output)


def plan(
    *files: Files,
    half_width: float | None = None,
    judged: Judged = NO_JUDGED,
    counted: Counted = NO_COUNTED,
    priced: Priced = NO_PRICED,
    measure: Names = (),
    costs: Weighed = NO_WEIGHED,
    interval: Drawn = DRAWN,
    output: Output = PLAIN,
) -> None:
    """How many more batches, or runs, narrow the interval.

    Parameters
    ----------
    files
        Event logs, or folders of them; NAME=PATH names a system.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas.
    """
    from truecost.cli.trials import planned

    given = (counted, priced, costs, interval, measure, (), output.config)
    planned(study_of(files, judged, *given), half_width, output, _units)


def validate(
    *files: Files,
    strict: Switch = False,
    judged: Judged = NO_JUDGED,
    output: Checked = CHECKED,
) -> int:
    """Check event logs, with or without labels: every fault is listed, not only the first.

    Example: truecost stream validate events.jsonl

    Parameters
    ----------
    files
        Event logs, or folders of them; NAME=PATH names a system.
    strict
        Warnings make a log invalid too.
    """
    from truecost.cli.validate import validated
    from truecost.study.stream_checks import validate_streams

    study = study_of(files, judged, config=output.config)
    return validated(study, validate_streams, strict, output)


def study_of(
    files: "Sequence[str]",
    judged: Judged,
    counted: Counted = NO_COUNTED,
    priced: Priced = NO_PRICED,
    costs: Weighed = NO_WEIGHED,
    interval: Drawn = DRAWN,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
    *,
    compare: bool = False,
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.tables import SystemTable

    named = dict(name_systems(files))
    study = Study(
        task="stream",
        measures=tuple(m for given in measure for m in given.split(",")),
        baseline=next(iter(named), None) if compare else None,
        data=judged.table(),
        systems={name: SystemTable(file=path) for name, path in named.items()},
        application=costs.table(),
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
        stream=stream_table(counted, priced, interval),
    )
    return laid_over(study, config, compare=compare)


def _units(outcome: "Outcome") -> list[str]:
    """What the units of a plan are."""
    from truecost.report.words import listed

    names = dict.fromkeys(name for e in outcome.estimates for name in e.factors)
    more = {"batch": "batches", "seed": "runs with seeds of their own", "stream": "streams"}
    said = [more.get(name, name) for name in names]
    return [f"units are {listed(said)}"] if said else []
