"""`validate`: all that is wrong with a file of scores, with or without the key."""

from typing import Annotated

from cyclopts import Parameter

from truecost.cli.options import NO_DATA, PLAIN, Data, Output
from truecost.errors import UsageError

EXIT_INVALID = 3


def validate(
    *files: Annotated[str, Parameter(negative=())],
    trials: str | None = None,
    data: Data = NO_DATA,
    output: Output = PLAIN,
) -> int:
    """Check inputs and submissions; every fault is listed, not only the first.

    Example: truecost validate submission.txt --trials trials.txt

    Parameters
    ----------
    files
        Score files; NAME=PATH names a system.
    trials
        File with the trials that have to be scored; labels are not needed, and not looked at.
    """
    import json

    from truecost.cli.options import study_of
    from truecost.formats import read
    from truecost.study.reader import options_of
    from truecost.tasks.validation import Check
    from truecost.tasks.validation import validate as check

    study = study_of(files, data, config=output.config)
    if not study.systems:
        raise UsageError("name at least one file to validate")
    if output.output is not None:
        raise UsageError("validate writes no directory: leave out --output")
    wanted = None if trials is None else read(trials, study.data.key_format)
    key = None if study.data.key is None else read(study.data.key, study.data.key_format)
    found: dict[str, list[Check]] = {}
    for name, system in study.systems.items():
        table = read(system.file or "", study.data.input_format)
        # A list of scores whose format does not state its type is checked as plain scores.
        options = options_of(study.data, table, otherwise="score")
        found[name] = check(table, options, trials=wanted, key=key, name=name)
    valid = all(c.state != "error" for checks in found.values() for c in checks)
    if output.json:
        content = {n: [vars(c) for c in checks] for n, checks in found.items()}
        print(json.dumps({"valid": valid, "systems": content}, indent=2))
        return 0 if valid else EXIT_INVALID
    for checks in found.values():
        for c in checks:
            if not (output.quiet and c.state == "ok"):
                print(f"{c.state}: {c.message}")
    print("valid" if valid else "NOT VALID: mend the errors above")
    return 0 if valid else EXIT_INVALID
