"""Tables that commands write: into a file, a folder of arrays, or standard output."""

from typing import TYPE_CHECKING

from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT

if TYPE_CHECKING:
    from truecost.formats import Table


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
