"""Tables that commands write, and `convert`: one file format into another."""

from collections.abc import Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import Flag, Flags, Output, flags_of
from truecost.errors import InputError, UsageError, message
from truecost.names import COLUMNS, STANDARD_INPUT, ScoreType, pairs
from truecost.options import Option, PartialTable, declared, picked
from truecost.study.paths import files_of_study
from truecost.study.tables import DataTable

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


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Written:
    """Where the table goes, and what is said about it."""

    output: Annotated[str, Parameter(name=["--output", "-o"])]
    """File to write (gzipped with the ending .gz), folder of arrays, or - for standard output."""
    output_format: str | None = None
    """Format of the output (truecost list formats). Default: by its ending, csv for -."""
    force: Annotated[bool, Parameter(negative=())] = False
    """Replace the output when it is there already."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Say nothing."""
    debug: Annotated[bool, Parameter(negative=())] = False
    """Show tracebacks."""

    def say(self, text: str) -> None:
        """One line on standard error, unless quiet."""
        if not self.quiet:
            import sys

            print(message(text), file=sys.stderr)


class ConvertTable(PartialTable, frozen=True, kw_only=True):
    """What is changed on the way."""

    map: Annotated[
        dict[str, str] | None,
        Option(
            help="New names of columns, as NEW=COLUMN,...; score=a+b+c is a matrix of scores "
            "(npz, npy).",
            read=pairs,
        ),
    ] = None
    set: Annotated[
        tuple[str, ...],
        Option(
            help="COLUMN=VALUE: a further column with one value everywhere (side=a for nist-sre, "
            "say); may be repeated."
        ),
    ] = ()


if TYPE_CHECKING:

    class Given(Flags):
        """What is read."""

else:
    _TARGET = "Label of the class to detect: written as target, every other one as nontarget."
    _TYPE = "What the scores are, for formats that state it (nist-sre)."
    Given = flags_of(
        "Data",
        (
            *picked(DataTable, "input_format"),
            *declared(ConvertTable),
            *picked(DataTable, "type", help=_TYPE),
            *picked(DataTable, "target", help=_TARGET),
        ),
    )


GIVEN = Given()


def convert(file: str, /, *, written: Written, given: Given = GIVEN) -> None:
    """Convert a file to another format, without loss as far as the format goes.

    Example: truecost convert scores.txt -o scores.parquet

    Parameters
    ----------
    file
        Scores, labels or metadata: a file, a folder of arrays, or - for standard input.
    """
    from truecost.formats import read

    kind = format_for(written.output, written.output_format)  # before the work, not after it
    how = given.keys()
    table = read(file, how.pop("input_format", None))
    written.say(f"{table.source}: {_as(table)}{_rows(table)}")
    changed, dropped = _changed(table, **how)
    left_out = put(changed, written.output, kind, force=written.force)
    if not to_standard_output(written.output):
        written.say(f"{written.output}: written as {kind}")
    if dropped:
        written.say(f"note: {', '.join(dropped)} of {table.source} made way for --map")
    if left_out:
        written.say(left_out)


def _as(table: "Table") -> str:
    return f"read as {table.layout}; " if table.layout else ""


def _rows(table: "Table") -> str:
    from truecost.errors import counted

    return f"{counted(len(table), 'row')}, columns {', '.join(table.columns)}"


def _changed(
    table: "Table",
    *,
    map: Mapping[str, str] = MappingProxyType({}),  # noqa: A002
    set: tuple[str, ...] = (),  # noqa: A002
    type: ScoreType | None = None,  # noqa: A002
    target: str | None = None,
) -> tuple["Table", list[str]]:
    """The table with the names, the kind and the labels asked for; columns that made way."""
    sums = {new: old for new, old in map.items() if "+" in old}
    names = {new: old for new, old in map.items() if "+" not in old}
    dropped = [c for c in table.columns if c in map and c not in map.values()]
    for new, old in sums.items():
        table = _matrix(table, new, old)
    table = _with_constants(_renamed(table, names), set)
    if type is not None:
        if table.kind not in (None, type):
            raise UsageError(
                f"{table.source}: the scores are of type {table.kind}: leave out --type"
            )
        table = replace(table, kind=type)
    return (table if target is None else _labelled(table, target)), dropped


def _with_constants(table: "Table", given: tuple[str, ...]) -> "Table":
    """The table with columns that hold one value everywhere."""
    import polars as pl

    for text in given:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise UsageError(f"--set {text!r} is not understood: write COLUMN=VALUE")
        if name in table.columns:
            raise UsageError(f"--set {text}: {table.source} has a column {name!r} already")
        table = replace(table, frame=table.frame.with_columns(pl.lit(value).alias(name)))
    return table


def _renamed(table: "Table", names: Mapping[str, str]) -> "Table":
    """The table with columns under new names, all at once; those that had them make way."""
    import polars as pl

    for new, old in names.items():
        table.require(old, new)

    def new_names(column: str) -> list[str]:
        found = [new for new, old in names.items() if old == column]
        return found or [column] * (column not in names)

    columns = [table.frame[c].alias(n) for c in table.frame.columns for n in new_names(c)]
    matrices = {n: m for c, m in table.matrices.items() for n in new_names(c)}
    return replace(table, frame=pl.DataFrame(columns), matrices=matrices)


def _matrix(table: "Table", new: str, old: str) -> "Table":
    """The table with several columns of numbers put side by side."""
    import numpy as np

    names = old.split("+")
    numbers = np.stack([table.numbers(name, new) for name in names], axis=1)
    frame = table.frame.drop(*names, new, strict=False)
    return replace(table, frame=frame, matrices=table.matrices | {new: numbers})


def _labelled(table: "Table", target: str) -> "Table":
    """The table with the labels target and nontarget."""
    import polars as pl

    name = next((n for n in COLUMNS["label"] if n in table.frame.columns), "label")
    texts = table.texts(name, "label")
    if texts.null_count() or target not in texts:
        raise InputError(
            f"{table.source}: no trial has the label {target!r}, or a label is empty; "
            f"--target names one of the labels of column {name!r}"
        )
    words = pl.select(
        pl.when(texts == target).then(pl.lit("target")).otherwise(pl.lit("nontarget"))
    ).to_series()
    return replace(table, frame=table.frame.with_columns(words.alias(name)))
