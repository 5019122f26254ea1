"""`truecost lifelong`: systems that learn across time, with a person's help.

Files are score matrices (tables of scores by version and time), learning curves (by cost), or event
logs of whole life cycles; what a file is shows in its columns.
"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.lifelong_options import (
    NO_HELD,
    NO_HELPED,
    NO_RESAMPLED,
    NO_SCORED,
    Held,
    Helped,
    Resampled,
    Scored,
    lifelong_table,
)
from truecost.cli.options import CHECKED, KEPT, PLAIN, Checked, Kept, Output, laid_over
from truecost.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study import Outcome, Study

Files = Annotated[str, Parameter(negative=())]
Names = Annotated[tuple[str, ...], Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]
AREA = "area_under_curve"


def score(
    *files: Files,
    held: Held = NO_HELD,
    scored: Scored = NO_SCORED,
    helped: Helped = NO_HELPED,
    measure: Names = (),
    subset: Names = (),
    interval: Resampled = NO_RESAMPLED,
    output: Kept = KEPT,
) -> int:
    """Score versions across time: what they are worth to a user, forgetting, what help costs.

    Example: truecost lifelong score matrix.csv --lower --policy recent --half-life 3

    Parameters
    ----------
    files
        Tables of scores (version, time, score; or version and a column for each time), learning
        curves, event logs, or folders of logs, one a run. NAME=PATH names a system.
    measure
        NAME, or NAME:SCORE for another score; repeat or separate by commas. See: truecost list
        measures
    subset
        A column of the items (each level is a subset), or a condition on columns; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (scored, helped, interval, measure, subset, output.config)
    return execute(study_of(files, held, *given), output)


def compare(
    *files: Files,
    held: Held = NO_HELD,
    scored: Scored = NO_SCORED,
    helped: Helped = NO_HELPED,
    measure: Names = (),
    subset: Names = (),
    interval: Resampled = NO_RESAMPLED,
    output: Kept = KEPT,
) -> int:
    """Compare systems across time with the first: intervals of difference and ratio.

    Example: truecost lifelong compare old=old.csv new=new.csv --higher --policy recent:3

    Parameters
    ----------
    files
        Tables of scores or event logs of the same tests; the first is the baseline. NAME=PATH
        names a system.
    measure
        NAME, or NAME:SCORE for another score; repeat or separate by commas. See: truecost list
        measures
    subset
        A column of the items, or a condition on columns; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (scored, helped, interval, measure, subset, output.config)
    study = study_of(files, held, *given, compare=True)
    if len(study.systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    return execute(study, output)


def curve(
    *files: Files,
    held: Held = NO_HELD,
    scored: Scored = NO_SCORED,
    helped: Helped = NO_HELPED,
    measure: Names = (AREA,),
    subset: Names = (),
    interval: Resampled = NO_RESAMPLED,
    output: Output = PLAIN,
) -> int:
    """Area under the curve of the score against the cost of offline help.

    The curve is a step function; its last value holds up to the largest cost, and the area is
    divided by the range of costs. Lower is better, of errors.

    Example: truecost lifelong curve curve.csv --lower --max-cost 100

    Parameters
    ----------
    files
        Tables with cost (or seconds, words, actions, answers) and score (or errors and n), perhaps
        seed, id and weight; or event logs. NAME=PATH names a system.
    measure
        NAME, or NAME:SCORE for another score; repeat or separate by commas.
    subset
        A column of the items, or a condition on columns; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (scored, helped, interval, measure, subset, output.config)
    return execute(study_of(files, held, *given), output)


def plan(
    *files: Files,
    half_width: float | None = None,
    held: Held = NO_HELD,
    scored: Scored = NO_SCORED,
    helped: Helped = NO_HELPED,
    measure: Names = (),
    interval: Resampled = NO_RESAMPLED,
    output: Output = PLAIN,
) -> None:
    """How many more test items, or runs, narrow the interval.

    Parameters
    ----------
    files
        Tables of scores or event logs; NAME=PATH names a system.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    measure
        NAME, or NAME:SCORE for another score; repeat or separate by commas.
    """
    from truecost.cli.trials import planned

    given = (scored, helped, interval, measure, (), output.config)
    planned(study_of(files, held, *given), half_width, output, _units)


def validate(
    *files: Files,
    strict: Switch = False,
    held: Held = NO_HELD,
    scored: Scored = NO_SCORED,
    output: Checked = CHECKED,
) -> int:
    """Check tables of scores and event logs, and say what is odd about them.

    Example: truecost lifelong validate matrix.csv --higher

    Parameters
    ----------
    files
        Tables of scores or event logs; NAME=PATH names a system.
    strict
        Warnings make a file invalid too.
    """
    from truecost.cli.validate import validated
    from truecost.study.lifelong_checks import validate_lifelong

    study = study_of(files, held, scored, config=output.config)
    return validated(study, validate_lifelong, strict, output)


def study_of(
    files: "Sequence[str]",
    held: Held,
    scored: Scored = NO_SCORED,
    helped: Helped = NO_HELPED,
    interval: Resampled = NO_RESAMPLED,
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
        task="lifelong",
        measures=tuple(m for given in measure for m in given.split(",")),
        baseline=next(iter(named), None) if compare else None,
        data=held.table(),
        systems={name: SystemTable(file=path) for name, path in named.items()},
        application=held.application(),
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
        lifelong=lifelong_table(held, scored, helped, interval),
    )
    return laid_over(study, config, compare=compare)


def _units(outcome: "Outcome") -> list[str]:
    """What the units of a plan are."""
    from truecost.report.words import listed

    names = dict.fromkeys(name for e in outcome.estimates for name in e.factors)
    more = {"item": "items of the test set", "seed": "runs with seeds of their own"}
    said = [more.get(name, name) for name in names]
    return [f"units are {listed(said)}"] if said else []
