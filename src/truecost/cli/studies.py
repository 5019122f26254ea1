"""`run` and `report`: study files, and result directories written again."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from truecost.cli.options import NO_INTERVAL, PLAIN, Interval, Output
from truecost.errors import UsageError


def run(study: str, /, *, interval: Interval = NO_INTERVAL, output: Output = PLAIN) -> int:
    """Run a study file: several systems, applications, subsets and collections in one.

    Its gates decide the exit code: 1 when one failed, 4 when one is undecided.

    Example: truecost run study.toml -o out

    Parameters
    ----------
    study
        TOML file; paths in it are meant from its folder. See: truecost schema study
    """
    from truecost.cli.trials import execute
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("run takes its settings from the study file: leave out --config")
    return execute(Study(interval=interval.table()).over(Study.read(study)), output)


def report(
    result: str,
    /,
    *,
    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Draw report.html again from a stored result, without computing anything anew.

    Parameters
    ----------
    result
        A result directory, or its result.json.
    output
        The page to write; report.html of the result directory unless given.
    """
    from truecost.study.directory import render_again

    target = render_again(result, None if output is None else Path(output))
    print(target)
