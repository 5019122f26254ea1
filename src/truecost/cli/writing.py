"""Commands that write tables; `convert`: from one file format to another; `resources`: run a
program and measure its use of resources.
"""

import sys
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, ClassVar

from cyclopts import Parameter

from truecost.cli.options import Given, Output, Quiet, Switch, Target, keys_of, panel, parsed
from truecost.errors import InputError, UsageError, counted, message, near
from truecost.names import COLUMNS, STANDARD_INPUT, ScoreType, pairs
from truecost.options import Option, PartialTable, declared, picked
from truecost.study.paths import files_of_study
from truecost.study.tables import DataTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecost.formats import Table
    from truecost.resources import Resources
    from truecost.study import Study


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class ToFile(Output):
    """Output of commands that write a table: `output` names its file."""

    output_format: str | None = None
    """Format of the output (truecost list formats). Default: by its ending, csv for -."""
    force: Switch = False
    """Replace an existing output."""


def check_file(output: ToFile, study: "Study") -> str | None:
    """The format to write, if the target is valid (UsageError otherwise); None without a file."""
    from truecost.formats.writers import check_target

    if output.output is None:
        return None
    kind = format_for(output.output, output.output_format)
    if not to_standard_output(output.output):
        check_target(output.output, files_of_study(study), force=output.force)
    else:
        refuse_both(output)
    return kind


def refuse_both(output: ToFile) -> None:
    """Refuse JSON where standard output is used for the table."""
    if output.json:
        raise UsageError("--json and --output - both write standard output: give --output a file")


@contextmanager
def aside(output: ToFile) -> "Iterator[None]":
    """A context in which tables are printed on standard error, where standard output is used for
    data.
    """
    if output.output is None or not to_standard_output(output.output):
        yield
        return
    with redirect_stdout(StringIO() if output.quiet else sys.stderr):
        yield


def to_standard_output(path: str) -> bool:
    """Whether a path is a single hyphen, for which the parser returns standard input."""
    return path in STANDARD_INPUT


def format_for(path: str, output_format: str | None) -> str:
    """The format to write: the given one, that of the ending, or CSV for standard output."""
    from truecost.formats.writers import format_of

    plain = output_format is None and to_standard_output(path)
    return format_of(path, "csv" if plain else output_format)


def write_table(table: "Table", path: str, kind: str, *, force: bool) -> str:
    """Write a table in a format; prints the columns that it could not store, if any."""
    from truecost.formats import write

    if to_standard_output(path):
        left_out = _printed(table, kind)
    else:
        left_out = write(table, path, kind, force=force)
    columns = f"column{'s' * (len(left_out) != 1)} {', '.join(left_out)}"
    return f"note: {kind} has no place for the {columns}" if left_out else ""


def _printed(table: "Table", kind: str) -> tuple[str, ...]:
    """Write to standard output; returns the columns that the format could not store."""
    from truecost.formats.writers import encode

    encoded = encode(table, kind)
    if isinstance(encoded.content, dict):
        raise UsageError(
            "a folder of arrays cannot be written to standard output: use --output-format npz"
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded.content)
    return encoded.left_out


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class TableOutput:
    """Options of the table file and of messages."""

    output: Annotated[str, Parameter(name=["--output", "-o"])]
    """File to write (gzipped with the ending .gz), folder of arrays, or - for standard output."""
    output_format: str | None = None
    """Format of the output (truecost list formats). Default: by its ending, csv for -."""
    force: Switch = False
    """Replace an existing output."""
    quiet: Quiet = False
    """Print nothing."""
    debug: Switch = False
    """Show tracebacks."""

    def say(self, text: str) -> None:
        """One line on standard error, unless quiet."""
        if not self.quiet:
            print(message(text), file=sys.stderr)


class ConvertTable(PartialTable, frozen=True, kw_only=True):
    """The changes made by a conversion."""

    __group__: ClassVar[str] = "Data"

    map: Annotated[
        dict[str, str] | None,
        Option(
            "New names of columns, as NEW=COLUMN,...; score=a+b+c joins columns to a matrix of "
            "scores (npz, npy).",
            read=pairs,
        ),
    ] = None
    set: Annotated[
        tuple[str, ...],
        Option(
            "Add a column with one value in all rows, as COLUMN=VALUE (side=a for nist-sre); "
            "may be repeated."
        ),
    ] = ()


_TARGET = "Label of the class to detect: written as target, every other one as nontarget."
_TYPE = "Type of the scores, for formats that store it (nist-sre)."


@parsed(
    *picked(DataTable, "input_format"),
    *declared(ConvertTable),
    *picked(DataTable, "type", help=_TYPE),
    *picked(DataTable, "target", help=_TARGET),
)
def convert(file: str, /, *, written: TableOutput, given: Given) -> None:
    """Convert a file to another format; a note names the columns that this format cannot store.

    Example: truecost convert network.csv -o network.parquet

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    file
        Scores, labels or metadata: a file, a folder of arrays, or - for standard input.
    """
    from truecost.formats import read

    kind = format_for(written.output, written.output_format)  # before the work, not after it
    how = keys_of(given)
    if "type" in how and kind != "nist-sre":
        raise UsageError(
            "--type is for --output-format nist-sre: other formats do not store it. Leave it out"
        )
    table = read(file, how.pop("input_format", None))
    layout = f"read as {table.layout}; " if table.layout else ""
    rows = f"{counted(len(table), 'row')}, columns {', '.join(table.columns)}"
    written.say(f"{table.source}: {layout}{rows}")
    changed, dropped = _changed(table, **how)
    left_out = write_table(changed, written.output, kind, force=written.force)
    if not to_standard_output(written.output):
        written.say(f"{written.output}: written as {kind}")
    if dropped:
        written.say(f"note: --map replaces {', '.join(dropped)} of {table.source}")
    if left_out:
        written.say(left_out)


def _changed(
    table: "Table",
    *,
    map: Mapping[str, str] = MappingProxyType({}),  # noqa: A002
    set: tuple[str, ...] = (),  # noqa: A002
    type: ScoreType | None = None,  # noqa: A002
    target: str | None = None,
) -> tuple["Table", list[str]]:
    """The table with the given names, kind and labels, and the columns that were replaced."""
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
    """The table with columns of one constant value."""
    import polars as pl

    for text in given:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise UsageError(f"--set {text!r} is not understood: write COLUMN=VALUE")
        if name in table.columns:
            raise UsageError(
                f"--set {text}: {table.source} has a column {name!r} already: choose another name"
            )
        table = replace(table, frame=table.frame.with_columns(pl.lit(value).alias(name)))
    return table


def _renamed(table: "Table", names: Mapping[str, str]) -> "Table":
    """The table with columns under new names, all at once; columns that had these names are
    removed.
    """
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
    """The table with several columns of numbers joined to a matrix."""
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
    if texts.null_count():
        raise InputError(f"{table.source}: a label is empty (column {name!r}): fill in all labels")
    if target not in texts:
        raise InputError(
            f"{table.source}: no trial has the label {target!r}{near(target, texts.unique())}: "
            f"--target names one of the labels of column {name!r}"
        )
    words = pl.select(
        pl.when(texts == target).then(pl.lit("target")).otherwise(pl.lit("nontarget"))
    ).to_series()
    return replace(table, frame=table.frame.with_columns(words.alias(name)))


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Options of the record file."""

    output: Target = None
    """File for the record (JSON)."""
    force: Switch = False
    """Replace an existing output."""
    json: Switch = False
    """Print the record as JSON; the program's standard output then goes to standard error."""
    quiet: Quiet = False
    """Print nothing."""
    debug: Switch = False
    """Show tracebacks."""


RECORDED = Recorded()


def resources(*program: str, phase: str = "", recorded: Recorded = RECORDED) -> int:
    """Run a program and measure the CPU time and the peak memory of all its processes.

    Exit code: 0 if the program ended with 0, else 3.

    Example: truecost resources -o used.json -- truecost list measures

    Parameters
    ----------
    program
        Program and its arguments; write -- before them, so that they are passed unchanged.
    phase
        Phase for the record: indexing or searching.
    """
    from truecost.resources import record

    if not program:
        raise UsageError("no program is named: write truecost resources -- PROGRAM ARGUMENTS")
    if recorded.output is not None:
        _check(recorded.output, force=recorded.force)
    sys.stdout.flush()
    found = record(program, phase=phase, aside=recorded.json)
    if recorded.json:
        print(found.to_json(), end="", flush=True)
    if not recorded.quiet:
        print(message(_summary(found)), file=sys.stderr)
    if recorded.output is not None:
        _write(recorded.output, found)
    if found.status:
        raise InputError(_failed(found, recorded))
    return 0


def _check(output: str, *, force: bool) -> None:
    """Refuse an invalid file for the record before the work, not after it."""
    from truecost.formats.publishing import refused
    from truecost.formats.writers import check_target

    if to_standard_output(output):
        raise UsageError("resources: --output takes a file; --json prints the record")
    if why := refused(Path(output).absolute()):
        raise UsageError(f"{output}: no file can be written there ({why}): choose another place")
    check_target(output, force=force)


def _write(output: str, found: "Resources") -> None:
    """Write the record; it is printed where this fails, as the work may have been long."""
    from truecost.formats.publishing import publish

    try:
        publish({Path(output): found.to_json()})
    except InputError:
        print(found.to_json(), end="", file=sys.stderr)
        raise


def _summary(found: "Resources") -> str:
    """The measured resources in a line, and those that were not measured."""
    from truecost.core.digits import figure

    said = [
        f"{found.phase or 'resources'}: {figure(found.cpu_s)} s of CPU "
        f"(user {figure(found.user_s)}, system {figure(found.system_s)}) in "
        f"{figure(found.wall_s)} s; peak memory {figure(found.peak_gb)} GB"
    ]
    if found.running:
        said.append(
            f"note: {counted(found.running, 'process')} continued after the program had ended: "
            f"{'its' if found.running == 1 else 'their'} later resources do not count"
        )
    return "\n".join(said)


def _failed(found: "Resources", recorded: Recorded) -> str:
    """A message: the program failed, with the place of its record."""
    from truecost.resources.records import ending

    kept = f"; {recorded.output} records this and is refused as a measurement" * bool(
        recorded.output
    )
    return f"{found.command[0]}: the program failed ({ending(found.status)}){kept}"
