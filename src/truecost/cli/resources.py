"""`resources`: run a program and say what it took."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.errors import InputError, UsageError, message

if TYPE_CHECKING:
    from truecost.resources import Resources

Flag = Parameter(negative=())


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Where the record goes."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for the record (JSON)."""
    force: Annotated[bool, Flag] = False
    """Replace the output when it is there already."""
    json: Annotated[bool, Flag] = False
    """Print the record as JSON; the program's standard output then goes to standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Say nothing."""
    debug: Annotated[bool, Flag] = False
    """Show tracebacks."""


RECORDED = Recorded()


def resources(*command: str, phase: str = "", recorded: Recorded = RECORDED) -> int:
    """Run a program and measure the CPU time and the peak memory of all its processes.

    Exits with 0 when the program did, and with 3 when it failed.

    Example: truecost resources --phase searching -o searching.json -- python search.py --fast

    Parameters
    ----------
    command
        Program and arguments; behind -- they are left as they are.
    phase
        What the program does, for the record: indexing, searching.
    """
    from truecost.resources import record

    if not command:
        raise UsageError("resources needs a program: truecost resources -- PROGRAM ARGUMENTS")
    if recorded.output is not None:
        _check(recorded.output, force=recorded.force)
    sys.stdout.flush()
    found = record(command, phase=phase, aside=recorded.json)
    if recorded.json:
        print(found.to_json(), end="", flush=True)
    if not recorded.quiet:
        print(message(_said(found)), file=sys.stderr)
    if recorded.output is not None:
        _write(recorded.output, found)
    if found.status:
        raise InputError(_failed(found, recorded))
    return 0


def _check(output: str, *, force: bool) -> None:
    """Refuse a place for the record before the work, not after it."""
    from pathlib import Path

    from truecost.cli.writing import to_standard_output
    from truecost.formats.publishing import refused

    if to_standard_output(output):
        raise UsageError("resources: --output takes a file; --json prints the record")
    path = Path(output)
    if why := refused(path.absolute()):
        raise UsageError(f"{output}: no file can be written there ({why}): choose another place")
    if path.exists() and not force:
        raise UsageError(
            f"{output}: there already: choose another name, or replace it with --force"
        )


def _write(output: str, found: "Resources") -> None:
    """Write the record; it is printed where that cannot be done, as the work may have been long."""
    from pathlib import Path

    from truecost.formats.publishing import publish

    try:
        publish({Path(output): found.to_json()})
    except InputError:
        print(found.to_json(), end="", file=sys.stderr)
        raise


def _said(found: "Resources") -> str:
    """What was measured in a line, and what was not."""
    from truecost.core.digits import figure
    from truecost.errors import counted

    said = [
        f"{found.phase or 'resources'}: {figure(found.cpu_s)} s of CPU "
        f"(user {figure(found.user_s)}, system {figure(found.system_s)}) in "
        f"{figure(found.wall_s)} s; peak memory {figure(found.peak_gb)} GB"
    ]
    if found.running:
        said.append(
            f"note: {counted(found.running, 'process')} went on when the program had ended: what "
            f"they took after it does not count"
        )
    return "\n".join(said)


def _failed(found: "Resources", recorded: Recorded) -> str:
    """That the program failed, and where its record is."""
    from truecost.resources.records import ending

    kept = f"; {recorded.output} says so and is refused as a measurement" * bool(recorded.output)
    return f"{found.command[0]}: the program failed ({ending(found.status)}){kept}"
