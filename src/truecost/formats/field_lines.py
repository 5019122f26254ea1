"""Lines of fields apart by blanks or tabs, with comments: what NIST's speech formats share.

A line that is blank, or begins with a mark of comments, is no record and is left out; every record
keeps the number of its line. Lines are worked on in blocks of `LOOK` bytes, so that memory stays at
a small multiple of the file. A block is a frame with the columns `line` (number in the file) and
`text` (the record, without blanks around it), then one column for each field.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.table import Table
from truecost.formats.text import (
    byte_blocks,
    clean,
    lines_of,
    refuse_carriage_returns,
)

LOOK = 1 << 22
BLANKS = " \t"
LETTERS = bytes(range(33, 256))  # all bytes but blanks and controls
COMMENTS = (";;",)


def record_blocks(
    data: bytes, source: str, comments: Sequence[str] = COMMENTS
) -> Iterator[pl.DataFrame]:
    """The records of a file.

    Parameters
    ----------
    source : str
        Name for messages.
    comments : sequence of str
        What a line that is no record begins with.

    Yields
    ------
    polars.DataFrame
        `line` and `text`.

    Raises
    ------
    InputError
        When it is not UTF-8, holds a carriage return within a line or nothing but blank lines.
    """
    for before, part in parts(data, source):
        yield records(part, before, comments)


def parts(data: bytes, source: str) -> Iterator[tuple[int, bytes]]:
    """Some lines at a time, as bytes, with the number of lines before; InputError likewise."""
    data = clean(data, source, b" \t\r")
    refuse_carriage_returns(data, source)
    return byte_blocks(data, LOOK)


def records(part: bytes, before: int, comments: Sequence[str] = COMMENTS) -> pl.DataFrame:
    """The records of some lines, before which others stand."""
    block = pl.DataFrame({"text": lines_of(part).str.strip_chars(BLANKS)})
    block = block.with_row_index("line", before + 1).cast({"line": pl.Int64})
    record = pl.col("text") != ""
    for mark in comments:
        record = record & ~pl.col("text").str.starts_with(mark)
    return block.filter(record)


def regular_fields(
    part: bytes, before: int, schema: Mapping[str, type[pl.DataType]], least: int
) -> pl.DataFrame | None:
    """The fields of lines of one width, apart by single blanks, which most files have.

    Parameters
    ----------
    part : bytes
        Lines that are all records.
    before : int
        How many lines stand before.
    schema : mapping of str to polars.DataType
        Names of all fields, with the type of each.
    least : int
        How many of them a record must have.

    Returns
    -------
    polars.DataFrame or None
        `line` and the fields, in a third of the time that `records` and `fields_of` take; None
        where these have to look.
    """
    blanks = part.translate(None, LETTERS)
    width = blanks.index(b"\n") + 1
    if not least <= width <= len(schema):
        return None
    if blanks != (b" " * (width - 1) + b"\n") * (len(blanks) // width):
        return None
    fields = pl.read_csv(
        part,
        separator=" ",
        has_header=False,
        quote_char=None,
        schema=dict([*schema.items()][:width]),
    )
    if any(fields.null_count().row(0)):  # two blanks, or one around a line
        return None
    return fields.with_row_index("line", before + 1).cast({"line": pl.Int64})


def fields_of(
    block: pl.DataFrame, names: Sequence[str], least: int, source: str, expected: str
) -> pl.DataFrame:
    """The fields of records.

    Parameters
    ----------
    block : polars.DataFrame
        `line` and `text`.
    names : sequence of str
        Names of all fields.
    least : int
        How many of them a record must have.
    source : str
        Name for messages.
    expected : str
        The layout, for messages.

    Returns
    -------
    polars.DataFrame
        `line`, `text` and the fields as text, null where a record ends before.

    Raises
    ------
    InputError
        When a record has another number of fields; with its line.
    """
    text = block["text"]
    if text.str.contains(r"\t|  ").any():
        text = text.str.replace_all(r"[ \t]+", " ")
    widths = text.str.count_matches(" ", literal=True) + 1

    most = len(names)
    wanted = {0: f"{most}", 1: f"{least} or {most}"}.get(most - least, f"{least} to {most}")

    def why(row: dict[str, Any]) -> str:
        many = counted(row["width"], "field")
        return f"{many} where {wanted} were expected: {cut(row['text'])!r}; {expected}"

    wrong = (widths < least) | (widths > most)
    refuse(source, block.with_columns(widths.alias("width")), wrong, why)
    fields = text.str.split_exact(" ", most - 1).struct.rename_fields(list(names))
    return pl.concat([block, fields.struct.unnest()], how="horizontal")


def seconds(fields: pl.DataFrame, name: str, source: str) -> pl.Series:
    """A field as seconds.

    Parameters
    ----------
    fields : polars.DataFrame
        `line` and the field as text.
    name : str
        The field.
    source : str
        Name for messages.

    Raises
    ------
    InputError
        When one is no finite number, or negative; with its line.
    """
    values = fields[name].cast(pl.Float64, strict=False)

    def why(row: dict[str, Any]) -> str:
        negative = (row["value"] or 0) < 0
        fault = "is negative" if negative else "is no number of seconds"
        return f"the {name} {row[name]!r} {fault}"

    wrong = ~(values.is_finite() & (values >= 0)).fill_null(value=False)
    refuse(source, fields.with_columns(values.alias("value")), wrong, why)
    return values


def refuse(
    source: str, rows: pl.DataFrame, wrong: pl.Series, why: Callable[[dict[str, Any]], str]
) -> None:
    """InputError for the first row that is wrong, with its line."""
    if wrong.any():
        row = rows.row(int(wrong.arg_true()[0]), named=True)
        raise InputError(f"{source}, line {row['line']}: {why(row)}")


def cut(text: str) -> str:
    """A text cut short for a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def table_of(blocks: Iterator[pl.DataFrame], source: str, missing: str) -> Table:
    """The table of all blocks.

    Parameters
    ----------
    blocks : iterator of polars.DataFrame
        `line` and the columns of the table.
    source : str
        Name for messages.
    missing : str
        What there is none of when all blocks are empty, and the layout.

    Raises
    ------
    InputError
        When there are no rows.
    """
    frame = pl.concat(list(blocks))
    if not frame.height:
        raise InputError(f"{source}: there is no {missing}")
    return Table(source, frame.drop("line"), lines=frame["line"].to_numpy())
