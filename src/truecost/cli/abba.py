"""`truecost abba`: two models compared of which only what they accept is ever collected."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.abba_options import (
    NO_DEPLOYED,
    NO_LIMITS,
    NO_LOGS,
    RESAMPLING,
    Deployed,
    Limits,
    Logs,
    Resampling,
)
from truecost.cli.options import (
    CHECKED,
    KEPT,
    PLAIN,
    Checked,
    Kept,
    Output,
    laid_over,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study import Outcome, Study

Files = Annotated[str, Parameter(negative=())]
Names = Annotated[tuple[str, ...], Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]


def score(
    *files: Files,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    estimator: Names = (),
    measure: Names = (),
    subset: Names = (),
    interval: Resampling = RESAMPLING,
    output: Kept = KEPT,
) -> int:
    """Relative recall and false-positive rate of the candidate B over the deployed model A.

    Example: truecost abba score log.csv --map id=utt,collected_by=arm,score_a=sa,score_b=sb,label=y

    Parameters
    ----------
    files
        Logs, one row for each collected item; several are deployments of their own. NAME=PATH names
        a deployment.
    estimator
        corrected, direct, pooled, ab or soft; repeat or separate by commas (those that the log
        allows unless given).
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition on columns; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (estimator, measure, subset, interval, output.config)
    return execute(study_of(files, logs, deployed, *given), output)


def thresholds(
    *files: Files,
    limits: Limits = NO_LIMITS,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    estimator: Names = (),
    subset: Names = (),
    interval: Resampling = RESAMPLING,
    output: Kept = KEPT,
) -> int:
    """Choose a threshold of B at or above the deployed one; every replicate chooses anew.

    Example: truecost abba thresholds log.csv --map ... --max-rfpr 1.0

    Parameters
    ----------
    files
        Logs, one row for each collected item; NAME=PATH names a deployment.
    estimator
        corrected, direct, pooled, ab or soft; repeat or separate by commas.
    subset
        A column (each level is a subset) or a condition on columns; may be repeated.
    """
    from truecost.cli.trials import execute

    given = (estimator, (), subset, interval, output.config)
    return execute(study_of(files, logs, deployed, *given, limits=limits), output)


def plan(
    *files: Files,
    half_width: float | None = None,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    estimator: Names = (),
    measure: Names = (),
    interval: Resampling = RESAMPLING,
    output: Output = PLAIN,
) -> None:
    """How many more units narrow the interval of a ratio.

    Parameters
    ----------
    files
        Logs, one row for each collected item; NAME=PATH names a deployment.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    estimator
        corrected, direct, pooled, ab or soft; repeat or separate by commas.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas.
    """
    from truecost.cli.trials import planned

    given = (estimator, measure, (), interval, output.config)
    planned(study_of(files, logs, deployed, *given), half_width, output, _labels_first)


def _labels_first(outcome: "Outcome") -> list[str]:
    """What more users of a deployment have to bring, where labels of some items are missing."""
    from truecost.errors import counted
    from truecost.tasks.abba.records import Deployment

    logs = [log for log in outcome.systems if isinstance(log, Deployment)]
    bare = {log.name: len(log) - int(log.labelled.sum()) for log in logs if log.labelled.any()}
    return [
        f"{name}: units as they are now, labels in the same share; labelling the other "
        f"{counted(number, 'item')} comes first: truecost abba select"
        for name, number in bare.items()
        if number
    ]


def validate(
    *files: Files,
    strict: Switch = False,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    output: Checked = CHECKED,
) -> int:
    """Check logs; every fault is listed, not only the first.

    Parameters
    ----------
    files
        Logs, one row for each collected item; NAME=PATH names a deployment.
    strict
        Warnings make a log invalid too.
    """
    from truecost.cli.validate import validated
    from truecost.study.validating import validate_logs

    study = study_of(files, logs, deployed, config=output.config)
    return validated(study, validate_logs, strict, output)


def study_of(
    files: "Sequence[str]",
    logs: Logs,
    deployed: Deployed,
    estimator: "Sequence[str]" = (),
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    interval: Resampling = RESAMPLING,
    config: str | None = None,
    *,
    limits: Limits | None = None,
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.tables import AbbaTable, SystemTable

    chosen = AbbaTable(
        estimators=_parts(estimator),
        mismatch=deployed.mismatch,
        **({} if limits is None else limits.table()),
    )
    study = Study(
        task="abba",
        measures=_parts(measure),
        data=deployed.table(logs),
        systems={name: SystemTable(file=path) for name, path in name_systems(files)},
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
        abba=chosen,
    )
    return laid_over(study, config)


def _parts(given: "Sequence[str]") -> tuple[str, ...]:
    """Names that were repeated or separated by commas."""
    return tuple(name for text in given for name in text.split(","))
