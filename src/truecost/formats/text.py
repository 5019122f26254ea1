"""Text before it has columns: its encoding, its lines, their fields separated by blanks.

All functions work on the bytes as a whole: the time for a list of ten million trials grows only
with its size. Lines are counted from 1, as in editors.

A line that is blank, or begins with a comment mark, is not a record and is left out; every record
has the number of its line. Lines are processed in blocks of `LOOK` bytes, so that memory stays a
small multiple of the file. A block is a frame with the columns `line` (number in the file) and
`text` (the record, without blanks around it), then one column for each field.
"""

import codecs
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, share_of
from truecost.formats.table import Table
from truecost.names import LATEST

BLOCK = 1 << 24  # bytes looked at together, so that memory does not grow with the file
NEWLINE, QUOTE = 10, 34
Counts = npt.NDArray[np.int64]
LOOK = 1 << 22
BLANKS = " \t"
LETTERS = bytes(range(33, 256))  # all bytes but blanks and controls
COMMENTS = (";;",)


def clean(data: bytes, source: str, blank: bytes = b" \r") -> bytes:
    r"""UTF-8 text with `\n` at the end of every line and no blank lines at its end.

    `blank` is what blank lines may hold; tabs are not among it where they separate cells: a line of
    them is a row of empty cells.
    """
    data = _without_blank_end(decoded(data, source), blank)
    if not data:
        raise InputError(f"{source}: the file has only blank lines")
    return data


def decoded(data: bytes, source: str) -> bytes:
    r"""UTF-8 text whose lines end with `\n`, after a byte order mark and `\r\n` perhaps."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{source}: the text is UTF-16, not UTF-8; save the file as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    if (place := data.find(b"\0")) >= 0:
        raise InputError(
            f"{source}, line {_line_number(data, place)}: a NUL byte, but text was expected (a "
            f"binary file, or UTF-16? save text as UTF-8)"
        )
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}, line {_line_number(data, error.start)}: the text is not UTF-8; save the "
            f"file as UTF-8"
        ) from error
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
    return data


def refuse_carriage_returns(data: bytes, source: str) -> None:
    """InputError where a carriage return stands within a line of decoded text; with the line."""
    if (place := data.find(b"\r")) >= 0:
        where = f"{source}, line {_line_number(data, place)}"
        raise InputError(f"{where}: a carriage return is inside the line; remove it")


def line_blocks(data: bytes) -> Iterator[tuple[int, pl.Series]]:
    """The lines of decoded text, some at a time, with the number of lines before them."""
    for before, part in byte_blocks(data, LOOK):
        yield before, lines_of(part)


def byte_blocks(data: bytes, size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """The lines as bytes with their line breaks, some at a time, with the number of lines before
    them.
    """
    start = before = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + size) + 1 or data.index(b"\n", start) + 1
        part = data[start:end]
        yield before, part
        start, before = end, before + part.count(b"\n")


def lines_of(part: bytes) -> pl.Series:
    """The lines of bytes that end with a line break, as text."""
    return pl.Series([part[:-1].decode("utf-8")]).str.split("\n").explode()


def _line_number(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def _without_blank_end(data: bytes, blank: bytes) -> bytes:
    """The text without blank lines at its end."""
    end = len(data)
    while end:
        start = data.rfind(b"\n", 0, end) + 1
        if data[start:end].strip(blank):
            whole = end == len(data) - 1  # as most files are: not copied
            return data if whole else data[:end] + b"\n"
        end = max(start - 1, 0)
    return b""


def line_at(data: bytes, number: int) -> str:
    """The text of a line, counted from 1, shortened for a message."""
    start, left = 0, number - 1
    while start < len(data) and (ends := data.count(b"\n", start, start + BLOCK)) < left:
        start, left = start + BLOCK, left - ends
    for _ in range(left):
        start = data.index(b"\n", start) + 1
    end = data.find(b"\n", start)
    return cut(data[start : None if end < 0 else end].decode("utf-8", "replace"))


def cut(text: str) -> str:
    """A text shortened for a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def blank_line(source: str, line: int) -> InputError:
    """The error for a blank line that is not at the end."""
    rule = "blank lines may only be at the end: remove it"
    return InputError(f"{source}, line {line}: the line is blank; {rule}")


def field_counts(data: bytes, separator: str) -> Iterator[Counts]:
    """Number of fields of each line, 1 for a blank one, in blocks of lines; quotes are ignored."""
    for _, part in byte_blocks(data):
        block = np.frombuffer(part, np.uint8)
        marks = np.flatnonzero((block == ord(separator)) | (block == NEWLINE))
        yield _between(block[marks] == NEWLINE)


def _between(ends: npt.NDArray[np.bool_]) -> Counts:
    """Number of marks between one line end and the next."""
    return np.diff(np.flatnonzero(ends), prepend=-1)


def quoted_field_counts(data: bytes, separator: str, source: str) -> tuple[Counts, Counts]:
    """Number of fields of each record of text with quotes, and the first line of each.

    Parameters
    ----------
    data : bytes
        Ends with a line break.
    separator : str
        One character.

    Notes
    -----
    RFC 4180: a field is quoted as a whole, and a quote inside it is written twice. So every quote
    that opens follows a separator, a line break or a quote, every one that closes precedes one.
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    opens, closes = quotes[0::2], quotes[1::2]
    if len(quotes) % 2:
        where = f"{source}, line {_line_number(data, int(opens[-1]))}"
        raise InputError(f"{where}: a quote is opened and never closed")
    around = np.zeros(256, bool)
    around[[ord(separator), NEWLINE, QUOTE]] = True
    wrong = np.union1d(
        opens[(opens > 0) & ~around[text[opens - 1]]], closes[~around[text[closes + 1]]]
    )
    if len(wrong):
        raise InputError(
            f"{source}, line {_line_number(data, int(wrong[0]))}: a quote in the middle of a "
            f'field; quote the whole field and write quotes inside it twice ("")'
        )
    inside = (np.cumsum(text == QUOTE, dtype=np.uint8) & 1).astype(bool)
    newline = text == NEWLINE
    marks = np.flatnonzero(((text == ord(separator)) | newline) & ~inside)
    ends = newline[marks]
    begins = np.concatenate([[0], marks[ends][:-1] + 1])
    lines = np.searchsorted(np.flatnonzero(newline), begins) + 1
    return _between(ends), lines


def caught(error: object) -> str:
    """First line of another library's error, or the name of its type."""
    said = str(error).strip()
    return said.splitlines()[0][:200] if said else type(error).__name__


def record_blocks(
    data: bytes, source: str, comments: Sequence[str] = COMMENTS
) -> Iterator[pl.DataFrame]:
    """The records of a file, `line` and `text`; `comments` are the marks at the beginning of
    comment lines.
    """
    for before, part in parts(data, source):
        yield records(part, before, comments)


def parts(data: bytes, source: str) -> Iterator[tuple[int, bytes]]:
    """Some lines at a time, as bytes, with the number of lines before; InputError as in
    `record_blocks`.
    """
    data = clean(data, source, b" \t\r")
    refuse_carriage_returns(data, source)
    return byte_blocks(data, LOOK)


def records(part: bytes, before: int, comments: Sequence[str] = COMMENTS) -> pl.DataFrame:
    """The records of some lines; `before` is the number of lines before them."""
    block = pl.DataFrame({"text": lines_of(part).str.strip_chars(BLANKS)})
    block = block.with_row_index("line", before + 1).cast({"line": pl.Int64})
    record = pl.col("text") != ""
    for mark in comments:
        record = record & ~pl.col("text").str.starts_with(mark)
    return block.filter(record)


def regular_fields(
    part: bytes, before: int, schema: Mapping[str, type[pl.DataType]], least: int
) -> pl.DataFrame | None:
    """The fields of lines of one width, separated by single blanks, the usual form.

    All lines are records. The schema has the names of all fields, of which a record needs at least
    `least`. Returns `line` and the fields, in a third of the time of `records` and `fields_of`;
    None where these are needed.
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
    """The fields of records as text; a record needs at least `least` of the names.

    `line`, `text` and the fields, null after the end of a record; `expected` is for messages.
    """
    text = block["text"]
    if text.str.contains(r"\t|  ").any():
        text = text.str.replace_all(r"[ \t]+", " ")
    widths = text.str.count_matches(" ", literal=True) + 1

    most = len(names)
    wanted = {0: f"{most}", 1: f"{least} or {most}"}.get(most - least, f"{least} to {most}")
    wrong = (widths < least) | (widths > most)
    many = counted(widths.filter(wrong)[0], "field") if wrong.any() else ""
    refuse(source, block, wrong, f"{many} where {wanted} were expected: {{cut!r}}; {expected}")
    fields = text.str.split_exact(" ", most - 1).struct.rename_fields(list(names))
    return block.hstack(fields.struct.unnest())


def seconds(fields: pl.DataFrame, name: str, source: str) -> pl.Series:
    """A text field as seconds."""
    values = fields[name].cast(pl.Float64, strict=False)
    wrong = ~(values.is_between(0, LATEST)).fill_null(value=False)
    first = (values.filter(wrong)[0] or 0.0) if wrong.any() else 0.0
    large = f"is beyond {LATEST:g} s" if LATEST < first < math.inf else "is not a number of seconds"
    fault = "is negative" if first < 0 else large
    comma = share_of(str(fields[name].filter(wrong)[0])) if wrong.any() else ""
    refuse(source, fields, wrong, f"the {name} {{{name}!r}} {fault}{comma}")
    return values


def refuse(
    source: str, rows: pl.DataFrame, wrong: pl.Series, why: str | Callable[[str], str]
) -> None:
    """InputError for the first wrong row, with its line.

    `why`: a text with the names of columns in braces (`cut` is the shortened `text`), or a function
    that makes it.
    """
    if wrong.any():
        row = rows.row(int(wrong.arg_true()[0]), named=True)
        record = row.get("text", "")
        text = why.format(**row, cut=cut(record)) if isinstance(why, str) else why(record)
        raise InputError(f"{source}, line {row['line']}: {text}")


def read_records(
    data: bytes,
    source: str,
    columns: Callable[[pl.DataFrame, str], pl.DataFrame],
    missing: str,
    comments: Sequence[str] = COMMENTS,
) -> Table:
    """The table of all records, from a function that makes `line` and the columns of the table.

    `missing`: noun for the records, and their layout, in the error for a file without any.
    """
    blocks = record_blocks(data, source, comments)
    frame = pl.concat([columns(block, source) for block in blocks])
    if not frame.height:
        raise InputError(f"{source}: there is no {missing}")
    return Table(source, frame.drop("line"), lines=frame["line"].to_numpy())


UNNAMED = "(no name)"  # the second column of a file whose own name does not tell it


def refuse_unnamed(table: Table, column: str = "") -> None:
    """Refuse a list of two fields whose second column has no name: UsageError.

    `column`: column by which metadata are looked up, empty where the table is not metadata.
    """
    if UNNAMED not in table.frame.columns:
        return
    source, line = table.source, " ".join(table.frame.row(0))
    stem = Path(source).name.partition(".")[0]
    name = stem if stem.isidentifier() else "NAME"
    how = f"write --metadata {column or 'id'}.{name}={source} (COLUMN.NAME=FILE)"
    if not column:
        how = (
            f"use --input-format utt2spk for speakers or --input-format utt-scores for scores, "
            f"give it as --metadata id.{name}={source}, write a table with a header"
        )
    raise UsageError(
        f"{source}: two fields on a line and no header (line 1: {cut(line)!r}), so that the "
        f"second column has no name: {how}, or call the file utt2{name}"
    )
