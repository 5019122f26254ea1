"""`protocol ledger`: how often evaluation sets were scored, and whether the ledger is whole."""

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.flags import Flag
from truecost.cli.output import PLAIN
from truecost.errors import message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.cli.columns import Columns
    from truecost.protocol.ledger_sets import Best, EvaluationSet

SHORT = 12  # letters of a hash that are shown
OF_SET = ("evaluation set", "scored", "systems", "items")
EXIT_INPUT = 3


def ledger(
    file: str,
    /,
    *,
    json: Annotated[bool, Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
    debug: Annotated[bool, Flag] = False,
) -> int:
    """How often each evaluation set was scored, by how many systems, and the best of each measure.

    The exit code is 3 when a line was changed or removed.

    Example: truecost protocol ledger ledger.jsonl

    Parameters
    ----------
    file
        The ledger, which truecost run keeps beside its study.
    json
        Print the sets as JSON on standard output.
    quiet
        Print nothing but the result.
    debug
        Show tracebacks.
    """
    from dataclasses import replace

    import msgspec

    from truecost.cli.terminal import Screen
    from truecost.protocol.ledger import read_ledger
    from truecost.protocol.ledger_sets import evaluation_sets
    from truecost.study.outcome import json_text

    del debug
    screen, found = Screen(replace(PLAIN, quiet=quiet)), read_ledger(file)
    sets = evaluation_sets(found)
    if json:
        content = {"schema_version": 1, "lines": len(found.lines), "last": found.last}
        content |= {"sets": msgspec.to_builtins(sets), "faults": [*found.faults]}
        print(json_text(content), end="")
    elif sets:
        screen.show([_table(sets)])
    else:
        screen.say(f"{file}: nothing was scored yet")
    if found.torn:
        screen.say(f"note: {file}: the last line was cut off; the next scoring mends it")
    for fault in found.faults:
        print(message(f"error: {fault}"), file=sys.stderr)
    return EXIT_INPUT if found.faults else 0


def _table(sets: "Sequence[EvaluationSet]") -> "Columns":
    """A line for each measure of each set."""
    from truecost.cli.columns import Columns

    names = (*OF_SET, "measure", "best", "of", "system", "lines")
    rows = []
    for found in sets:
        name = found.evaluation[:SHORT] + (f" ({found.collection})" if found.collection else "")
        sizes = (found.scored, len(found.systems), found.items)
        lines = f"{found.first}-{found.last}" if found.last > found.first else f"{found.first}"
        cells = [_told(best, found.task) for best in found.best] or [("", "", "", "")]
        rows += [(name, *map(str, sizes), *best, lines) for best in cells]
    left = frozenset({"measure", "system"})
    return Columns(names, tuple(rows), left=left, spare=("lines", "items"), about=OF_SET)


def _told(best: "Best", task: str) -> tuple[str, str, str, str]:
    """A measure with what it is about, its best value, of how many systems, and whose it is."""
    from truecost.core.digits import figure, scale_of
    from truecost.errors import UsageError
    from truecost.tasks.measures import find_of_any_task

    try:
        shown_in = find_of_any_task(best.measure, task).shown_in
    except UsageError:  # a measure of another version, or one's own
        shown_in = ""
    label = " ".join([best.measure, *best.dims.values()])
    return label, figure(best.value, scale_of(shown_in)), str(best.of), best.system
