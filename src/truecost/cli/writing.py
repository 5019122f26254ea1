"""Tables that commands write: into a file, a folder of arrays, or standard output."""

from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.flags import Flag
from truecost.cli.output import Output
from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT
from truecost.study.given_paths import files_of_study

if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecost.formats import Table
    from truecost.study import Study


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class ToFile(Output):
    """Output of commands that write a table: `output` names its file."""

    output_format: str | None = None
    """Format of the output (truecost list formats). Default: by its ending, csv for -."""
    force: Annotated[bool, Flag] = False
    """Replace the output when it is there already."""


def check_file(output: ToFile, study: "Study") -> str | None:
    """The format to write, once nothing stands against it (UsageError); None without a file."""
    from truecost.formats.writers import check_target

    if output.output is None:
        return None
    kind = format_for(output.output, output.output_format)
    if not to_standard_output(output.output):
        check_target(output.output, files_of_study(study), force=output.force)
    elif output.json:
        raise UsageError("--json and --output - both write standard output: give --output a file")
    return kind


@contextmanager
def aside(output: ToFile) -> "Iterator[None]":
    """Tables go to standard error while standard output takes what is written."""
    import sys

    if output.output is None or not to_standard_output(output.output):
        yield
        return
    with redirect_stdout(StringIO() if output.quiet else sys.stderr):
        yield


def to_standard_output(path: str) -> bool:
    """Whether a path is a lone hyphen, in place of which the parser gives the file of the input."""
    return path in STANDARD_INPUT


def format_for(path: str, output_format: str | None) -> str:
    """The format to write: as asked for, by the ending, or CSV for standard output."""
    from truecost.formats.writers import format_of

    plain = output_format is None and to_standard_output(path)
    return format_of(path, "csv" if plain else output_format)


def put(table: "Table", path: str, kind: str, *, force: bool) -> str:
    """Write a table in a format; says which columns had no place there, if any."""
    from truecost.formats import write

    if to_standard_output(path):
        left_out = _printed(table, kind)
    else:
        left_out = write(table, path, kind, force=force)
    columns = f"column{'s' * (len(left_out) != 1)} {', '.join(left_out)}"
    return f"note: {kind} has no place for the {columns}" if left_out else ""


def _printed(table: "Table", kind: str) -> tuple[str, ...]:
    """Write to standard output; what has no place there."""
    import sys

    from truecost.formats.encoding import encode

    encoded = encode(table, kind)
    if isinstance(encoded.content, dict):
        raise UsageError("a folder of arrays cannot go to standard output: write npz")
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded.content)
    return encoded.left_out
