"""What checks of files print, and the exit code that says whether they are valid."""

from typing import TYPE_CHECKING

from truecost.cli.output import Checked
from truecost.errors import UsageError, first_five, message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from truecost.study import Study
    from truecost.study.checks import Check

EXIT_INPUT = 3


def validated(
    study: "Study",
    checks: "Callable[[Study], Mapping[str, Sequence[Check]]]",
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
