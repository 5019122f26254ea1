"""`truecost terms`: searches for terms in audio, held against where these occur."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import CHECKED, KEPT, PLAIN, Checked, Kept, Output, laid_over
from truecost.cli.terms_options import (
    NO_DETECTING,
    NO_MATCHING,
    NO_SOUGHT,
    NO_SUBMITTED,
    NO_TABLES,
    NO_TALLYING,
    RESAMPLING,
    Detecting,
    Matching,
    Resampling,
    Sought,
    Submitted,
    Tables,
    Tallying,
    records_of,
)
from truecost.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study import Study

Files = Annotated[str, Parameter(negative=())]
Names = Annotated[tuple[str, ...], Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]


def score(
    *files: Files,
    sought: Sought = NO_SOUGHT,
    submitted: Submitted = NO_SUBMITTED,
    matching: Matching = NO_MATCHING,
    tallying: Tallying = NO_TALLYING,
    measure: Names = (),
    subset: Names = (),
    costs: Detecting = NO_DETECTING,
    interval: Resampling = RESAMPLING,
    tables: Tables = NO_TABLES,
    output: Kept = KEPT,
) -> int:
    """Score searches: term-weighted values, error rates and cross-entropy, with intervals.

    Example: truecost terms score --ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml s.kwslist.xml
    --preset nist-std-2006

    Parameters
    ----------
    files
        Lists of detections (kwslist, stdlist or tables); a folder stands for the files in it.
        NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        An attribute of the queries, or source (each level is a subset), or a condition on these;
        may be repeated.
    """
    from truecost.cli.searches import execute

    given = (submitted, matching, tallying, costs, interval, measure, subset, output.config)
    return execute(study_of(files, sought, *given), output, tables)


def compare(
    *files: Files,
    sought: Sought = NO_SOUGHT,
    submitted: Submitted = NO_SUBMITTED,
    matching: Matching = NO_MATCHING,
    tallying: Tallying = NO_TALLYING,
    measure: Names = (),
    subset: Names = (),
    costs: Detecting = NO_DETECTING,
    interval: Resampling = RESAMPLING,
    tables: Tables = NO_TABLES,
    output: Kept = KEPT,
) -> int:
    """Compare searches with the first: paired intervals of difference and ratio.

    Example: truecost terms compare --ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml
    old.kwslist.xml new.kwslist.xml --preset nist-std-2006

    Parameters
    ----------
    files
        Lists of detections; the first is the baseline. NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        An attribute of the queries, or source, or a condition on these; may be repeated.
    """
    from truecost.cli.searches import execute

    given = (submitted, matching, tallying, costs, interval, measure, subset, output.config)
    study = study_of(files, sought, *given, compare=True)
    if len(study.systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    return execute(study, output, tables)


def plan(
    *files: Files,
    half_width: float | None = None,
    sought: Sought = NO_SOUGHT,
    submitted: Submitted = NO_SUBMITTED,
    matching: Matching = NO_MATCHING,
    tallying: Tallying = NO_TALLYING,
    measure: Names = (),
    costs: Detecting = NO_DETECTING,
    interval: Resampling = RESAMPLING,
    output: Output = PLAIN,
) -> None:
    """How many more queries, or documents, narrow the interval.

    Parameters
    ----------
    files
        Lists of detections; NAME=PATH names a system.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas.
    """
    from truecost.cli.trials import planned

    given = (submitted, matching, tallying, costs, interval, measure, (), output.config)
    planned(study_of(files, sought, *given), half_width, output)


def validate(
    *files: Files,
    strict: Switch = False,
    sought: Sought = NO_SOUGHT,
    submitted: Submitted = NO_SUBMITTED,
    matching: Matching = NO_MATCHING,
    output: Checked = CHECKED,
) -> int:
    """Check submissions without the reference: against the queries and the audio alone.

    Example: truecost terms validate --ecf e.ecf.xml --kwlist t.kwlist.xml s.kwslist.xml

    Parameters
    ----------
    files
        Lists of detections; a folder stands for the files in it. NAME=PATH names a system.
    strict
        Warnings make a list invalid too.
    """
    from truecost.cli.validate import validated
    from truecost.study.submissions import validate_searches

    study = study_of(files, sought, submitted, matching, config=output.config)
    return validated(study, validate_searches, strict, output)


def leaderboard(
    *files: Files,
    sought: Sought = NO_SOUGHT,
    submitted: Submitted = NO_SUBMITTED,
    matching: Matching = NO_MATCHING,
    tallying: Tallying = NO_TALLYING,
    measure: Names = (),
    costs: Detecting = NO_DETECTING,
    interval: Resampling = RESAMPLING,
    keep_going: Switch = False,
    output: Output = PLAIN,
) -> int:
    """Rank submissions by the first measure; those that the data do not tell apart share a rank.

    Example: truecost terms leaderboard --ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml
    submissions/ --preset nist-std-2006 -o board

    Parameters
    ----------
    files
        Lists of detections, or a folder of them; NAME=PATH names a submission.
    measure
        NAME or NAME:PARAMETER; the first one ranks. See: truecost list measures
    keep_going
        Leave out invalid submissions and say so, in place of stopping at them.
    """
    from truecost.cli.leaderboard import ranked

    given = (submitted, matching, tallying, costs, interval, measure, (), output.config)
    return ranked(study_of(files, sought, *given), keep_going, output)


def study_of(
    files: "Sequence[str]",
    sought: Sought,
    submitted: Submitted,
    matching: Matching,
    tallying: Tallying = NO_TALLYING,
    costs: Detecting = NO_DETECTING,
    interval: Resampling = RESAMPLING,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
    *,
    compare: bool = False,
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.tables import SystemTable, TermsTable

    named = dict(name_systems(files, folders=True))
    indexing, searching = (
        records_of(getattr(tallying, phase), list(named), f"--{phase}")
        for phase in ("indexing", "searching")
    )
    study = Study(
        task="terms",
        measures=tuple(m for given in measure for m in given.split(",")),
        baseline=next(iter(named), None) if compare else None,
        data=submitted.table(sought),
        systems={
            name: SystemTable(
                file=path, indexing=indexing.get(name, ()), searching=searching.get(name, ())
            )
            for name, path in named.items()
        },
        application=costs.table(),
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
        terms=TermsTable(**(matching.keys() | tallying.keys() | interval.keys())),
    )
    return laid_over(study, config, compare=compare)
