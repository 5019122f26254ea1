"""`validate`: all that is wrong with a file of scores, with or without the key."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import CHECKED, NO_DATA, Checked, Data
from truecost.errors import UsageError, first_five, message

if TYPE_CHECKING:
    from collections.abc import Callable

    from truecost.study import Study
    from truecost.tasks.validation import Check

EXIT_INPUT = 3


def validate(
    *files: Annotated[str, Parameter(negative=())],
    trials: str | None = None,
    strict: Annotated[bool, Parameter(negative=())] = False,
    data: Data = NO_DATA,
    output: Checked = CHECKED,
) -> int:
    """Check inputs and submissions; every fault is listed, not only the first.

    Example: truecost validate submission.txt --trials trials.txt

    Parameters
    ----------
    files
        Score files; NAME=PATH names a system.
    trials
        File with the trials that have to be scored; labels are not needed, and not looked at.
    strict
        Warnings make a file invalid too.
    """
    from truecost.cli.options import study_of
    from truecost.study.validating import validate_study

    study = study_of(files, data, config=output.config)
    return validated(study, lambda chosen: validate_study(chosen, trials), strict, output)


def validated(
    study: "Study",
    checks: "Callable[[Study], dict[str, list[Check]]]",
    strict: bool,
    output: Checked,
) -> int:
    """Print the checks of the files of a study; the exit code says whether they are valid."""
    import json

    from truecost.cli.trials import said_instead

    if output.output is not None:
        raise UsageError("validate writes no directory: leave out --output")
    if said_instead(study, output):
        return 0
    found = checks(study)
    bad = {"error", "warning"} if strict else {"error"}
    wrong = [n for n, of in found.items() if any(c.state in bad for c in of)]
    if output.json:
        content = {n: [vars(c) for c in of] for n, of in found.items()}
        print(json.dumps({"valid": not wrong, "systems": content}, indent=2))
        return EXIT_INPUT if wrong else 0
    for listed in found.values():
        for c in listed:
            if not (output.quiet and c.state == "ok"):
                print(message(f"{c.state}: {c.message}"))
    of = f": {len(wrong)} of {len(found)} ({first_five(wrong)})" if len(found) > 1 else ""
    print(message(f"NOT VALID{of}") if wrong else "valid")
    return EXIT_INPUT if wrong else 0
