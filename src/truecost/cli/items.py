"""The verbs of the tasks that hold outputs against a reference; one task a module beside this one.

Every task has the same verbs with options of its own, so they are made here once: `verbs` gives
functions whose signatures the parser reads as it does those of trials.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.item_options import NO_RECORDS, Records, TaskOptions
from truecost.cli.options import (
    CHECKED,
    KEPT,
    NO_INTERVAL,
    PLAIN,
    Checked,
    Interval,
    Kept,
    Output,
)
from truecost.errors import UsageError
from truecost.names import Task

if TYPE_CHECKING:
    from truecost.study import Study

Names = Annotated[tuple[str, ...], Parameter(negative=())]
Files = Annotated[str, Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]
Command = Callable[..., Any]


@dataclass(frozen=True)
class Words:
    """What the help of a task says.

    Attributes
    ----------
    task : str
    reference, outputs : str
        What the files are.
    example : str
        Arguments of `score` after its name.
    baseline : str
        Two outputs, as `compare` takes them.
    """

    task: Task
    reference: str
    outputs: str
    example: str
    baseline: str


def verbs(words: Words, kind: type[TaskOptions]) -> tuple[Command, ...]:
    """`score`, `compare`, `plan`, `validate` and `leaderboard` of a task.

    Parameters
    ----------
    words : Words
    kind : type
        Options of the task.

    Returns
    -------
    tuple of callable
    """
    none = kind()

    def score(
        reference: str | None = None,
        /,
        *files: Files,
        further: Names = (),
        records: Records = NO_RECORDS,
        options: TaskOptions = none,
        measure: Names = (),
        subset: Names = (),
        interval: Interval = NO_INTERVAL,
        output: Kept = KEPT,
    ) -> int:
        from truecost.cli.trials import execute

        given = (records, options, interval, measure, subset, output.config)
        return execute(study_of(words.task, _all(reference, further), files, *given), output)

    def compare(
        reference: str | None = None,
        /,
        *files: Files,
        further: Names = (),
        records: Records = NO_RECORDS,
        options: TaskOptions = none,
        measure: Names = (),
        subset: Names = (),
        interval: Interval = NO_INTERVAL,
        output: Kept = KEPT,
    ) -> int:
        from truecost.cli.trials import execute

        given = (records, options, interval, measure, subset, output.config)
        study = study_of(words.task, _all(reference, further), files, *given, compare=True)
        if len(study.systems) < 2:
            raise UsageError("a comparison needs a reference and at least two systems")
        return execute(study, output)

    def plan(
        reference: str | None = None,
        /,
        *files: Files,
        further: Names = (),
        half_width: float | None = None,
        records: Records = NO_RECORDS,
        options: TaskOptions = none,
        measure: Names = (),
        interval: Interval = NO_INTERVAL,
        output: Output = PLAIN,
    ) -> None:
        from truecost.cli.trials import planned

        given = (records, options, interval, measure, (), output.config)
        planned(study_of(words.task, _all(reference, further), files, *given), half_width, output)

    def validate(
        *files: Files,
        further: Names = (),
        ids: str | None = None,
        strict: Switch = False,
        records: Records = NO_RECORDS,
        options: TaskOptions = none,
        output: Checked = CHECKED,
    ) -> int:
        from truecost.cli.validate import validated
        from truecost.study.validating import validate_items

        given = (records, options, NO_INTERVAL, (), (), output.config)
        study = study_of(words.task, further, files, *given)
        return validated(study, lambda chosen: validate_items(chosen, ids), strict, output)

    def leaderboard(
        reference: str | None = None,
        /,
        *files: Files,
        further: Names = (),
        records: Records = NO_RECORDS,
        options: TaskOptions = none,
        measure: Names = (),
        interval: Interval = NO_INTERVAL,
        keep_going: Switch = False,
        output: Output = PLAIN,
    ) -> int:
        from truecost.cli.leaderboard import ranked

        given = (records, options, interval, measure, (), output.config)
        return ranked(
            study_of(words.task, _all(reference, further), files, *given), keep_going, output
        )

    made: tuple[Command, ...] = (score, compare, plan, validate, leaderboard)
    for command in made:
        command.__annotations__["options"] = kind
        shown = command is validate or words.task == "translation"
        command.__annotations__["further"] = Annotated[
            tuple[str, ...], Parameter(name="--reference", negative=(), show=shown)
        ]
        command.__doc__ = _HELP[command.__name__].format(**vars(words))
    return made


def _all(reference: str | None, further: tuple[str, ...]) -> tuple[str, ...]:
    """The first reference and further ones."""
    if reference is None and further:
        raise UsageError("--reference gives further references: name the first one before them")
    return () if reference is None else (reference, *further)


_COMMON = """    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
"""
_SUBSET = """    subset
        A column (each level is a subset) or a condition on columns; may be repeated.
"""
_FILES = """
    Parameters
    ----------
    reference
        {reference}
    files
        {outputs}; NAME=PATH names a system.
    further
        A further reference; may be repeated.
"""
_HELP = {
    "score": "Score systems against a reference, with intervals.\n\n"
    "    Example: truecost {task} score {example}\n" + _FILES + _COMMON + _SUBSET,
    "compare": "Compare systems with the first: paired intervals of difference and ratio.\n\n"
    "    Example: truecost {task} compare {baseline}\n" + _FILES + _COMMON + _SUBSET,
    "plan": "How many units halve the interval, or reach a wanted half-width.\n"
    + _FILES
    + "    half_width\n        Wanted half-width as a share, 0.01 for 1 pp; half the present one "
    "unless given.\n" + _COMMON,
    "validate": """Check outputs, with or without the reference.

    Parameters
    ----------
    files
        {outputs}; NAME=PATH names a system.
    further
        {reference}
    ids
        File with the ids that outputs have to have, one a line, or any file of the task: in place
        of a reference, which participants lack.
    strict
        Warnings make a file invalid too.
""",
    "leaderboard": "Rank systems by the first measure; those that the data do not tell apart "
    "share a rank.\n"
    + _FILES
    + "    measure\n        NAME or NAME:PARAMETER; the first one ranks.\n"
    + "    keep_going\n        Leave out invalid submissions and say so.\n",
}


def study_of(
    task: Task,
    references: tuple[str, ...],
    files: tuple[str, ...],
    records: Records,
    options: TaskOptions,
    interval: Interval,
    measure: tuple[str, ...],
    subset: tuple[str, ...],
    config: str | None,
    *,
    compare: bool = False,
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.cli.options import laid_over
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.tables import SystemTable

    named = name_systems(files)
    study = Study.of(
        {task: options.table(), "task": task, "worst": records.worst}, source="the command line"
    )
    import msgspec

    filled = msgspec.structs.replace(
        study,
        measures=tuple(m for given in measure for m in given.split(",")),
        baseline=named[0][0] if compare and named else None,
        data=records.table(references, options),
        systems={name: SystemTable(file=path) for name, path in named},
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
    )
    return laid_over(filled, config, compare=compare)
