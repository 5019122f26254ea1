"""CSV, TSV, Parquet and NDJSON.

Text columns stay text until a task says which are numbers, so that a bad number can be named with
its line. A header with repeated names is refused, and so are blank lines before the end.
"""

import io
import re
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.streams import UNPACKED
from truecost.formats.table import Table
from truecost.formats.text import caught, clean, field_counts, line_at, quoted_field_counts

Parsed = TypeVar("Parsed")
KINDS = ("csv", "tsv", "parquet", "ndjson")
SEPARATORS = {"csv": ",", "tsv": "\t"}
WAYS = {  # to read columns with another separator, the likeliest first
    ";": "Spreadsheets save so where commas are decimal: save it as CSV with commas between "
    "columns and points in numbers",
    "\t": "Say --input-format tsv",
    "|": "Save it with commas or tabs between columns",
    ",": "Say --input-format csv",
}
DECIMAL_COMMA = re.compile(rb"(?<![^;\n\"])-?\d+,\d+(?![^;\n\"])")  # all of a cell
PACKED_BY = 100  # times smaller in the file than in memory: no real Parquet file is
LOOKED_AT = 1 << 20  # bytes, in search of decimal commas
FAULTS = (Exception, pl.exceptions.PanicException)  # what a parser may throw at damaged data


def read_columns(data: bytes, kind: str, source: str) -> Table:
    """A table from the bytes of a file of one of the four formats.

    Parameters
    ----------
    kind : {"csv", "tsv", "parquet", "ndjson"}
    source : str
        Name for messages.

    Returns
    -------
    Table
        CSV and TSV have text columns only.

    Raises
    ------
    InputError
        When it cannot be read, is not UTF-8, repeats column names, has blank lines or lines of
        another width or no rows.
    """
    if kind == "parquet":
        size = _parsed(lambda: _unpacked_size(data), f"{source}: ", kind)
        if size > max(UNPACKED.size, PACKED_BY * len(data)):
            raise InputError(f"{source}: takes, when unpacked, more than {UNPACKED.lifted()}")
        frame = _parsed(lambda: pl.read_parquet(io.BytesIO(data)), f"{source}: ", kind)
        return _filled(frame, source, -1)
    data = clean(data, source)
    return _objects(data, source) if kind == "ndjson" else _separated(data, kind, source)


def _unpacked_size(data: bytes) -> int:
    """About how many bytes a Parquet file takes in memory; values that repeat take none in it."""
    stream = io.BytesIO(data)
    rows: int = pl.scan_parquet(stream).select(pl.len()).collect().item()
    return 8 * rows * len(pl.read_parquet_schema(stream))


def _parsed(parse: Callable[[], Parsed], place: str, kind: str) -> Parsed:
    """What a parser gives; whatever it throws becomes an error of ours."""
    try:
        return parse()
    except FAULTS as error:
        raise InputError(f"{place}cannot be read as {kind}: {caught(error)}") from error


def _objects(data: bytes, source: str) -> Table:
    """NDJSON: an object a line. Lines are looked at one by one only when the whole is refused."""
    if (place := (b"\n" + data).find(b"\n\n")) >= 0:
        raise _blank(source, data.count(b"\n", 0, place) + 1)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except FAULTS as error:
        raise InputError(_bad_object(data, source, caught(error))) from error
    frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))
    lines = data.count(b"\n")
    if frame.width and frame.height != lines:
        raise InputError(
            f"{source}: {lines} lines, but {frame.height} objects; write one object on each line"
        )
    return _filled(frame, source, 1)


def _bad_object(data: bytes, source: str, said: str) -> str:
    """Which line of NDJSON is no object, or changes the type of a column."""
    import json

    kinds: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        try:
            found = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else error
            return f"{source}, line {number}: no JSON object ({why}): {line_at(data, number)!r}"
        if not isinstance(found, dict):
            return f"{source}, line {number}: no JSON object: {line_at(data, number)!r}"
        for name, value in found.items():
            kind = _kind(value)
            before, first = kinds.setdefault(name, (kind, number)) if kind else (kind, 0)
            if before != kind:
                return (
                    f"{source}, line {number}: column {name!r} holds a {kind}, but a {before} in "
                    f"line {first}; a column has one type"
                )
    return f"{source}: cannot be read as ndjson: {said}"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON; write null, or the text {name!r} in quotes")


def _kind(value: object) -> str:
    """The JSON type of a value; empty for null, which every column may hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "truth value"
    names: dict[type, str] = {str: "text", list: "list", dict: "object"}
    return names.get(type(value), "number")


def _separated(data: bytes, kind: str, source: str) -> Table:
    separator = SEPARATORS[kind]
    _check_separator(data, kind, source)
    first_line = _check_widths(data, separator, source)
    frame = _parsed(
        lambda: pl.read_csv(data, separator=separator, has_header=False, infer_schema=False),
        f"{source}: ",
        kind,
    )
    names = [(name or "").strip() for name in frame.row(0)]
    _check_header(names, source)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))[1:]
    return _filled(frame, source, first_line)


def _check_separator(data: bytes, kind: str, source: str) -> None:
    """Refuse a header of one column in whose name another separator stands."""
    header = data.partition(b"\n")[0]
    other = next((s for s in WAYS if s.encode() in header), None)
    if other is None or SEPARATORS[kind].encode() in header:
        return
    decimal = other == ";" and DECIMAL_COMMA.search(data, 0, LOOKED_AT)
    raise InputError(
        f"{source}, line 1: one column in {kind} format, but {other!r} stands in its name: "
        f"columns separated by {other!r}{' and decimal commas' if decimal else ''}? {WAYS[other]}"
    )


def _check_header(names: list[str], source: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"{source}, line 1: column names repeat ({', '.join(repeated)}); "
            f"each needs a name of its own"
        )


def _check_widths(data: bytes, separator: str, source: str) -> int:
    """Every line has as many fields as the header; gives the line of the first row.

    Returns
    -------
    int
        -1 when a field holds a line break, so that rows and lines do not correspond.
    """
    if data.startswith(b"\n"):
        raise _blank(source, 1)
    lines = None
    if b'"' in data:
        counts, lines = quoted_field_counts(data, separator, source)
    else:
        counts = np.concatenate(list(field_counts(data, separator)))
        if counts[0] == 1 and (place := data.find(b"\n\n")) >= 0:  # else its width tells
            raise _blank(source, data.count(b"\n", 0, place + 1) + 1)
    wrong = np.flatnonzero(counts != counts[0])
    if not len(wrong):
        return 2 if lines is None or bool((lines == np.arange(1, len(lines) + 1)).all()) else -1
    row = int(wrong[0])
    line = row + 1 if lines is None else int(lines[row])
    if not line_at(data, line).strip():
        raise _blank(source, line)
    raise InputError(
        f"{source}, line {line}: {counted(counts[row], 'field')}, but the header has "
        f"{counts[0]} ({counted(len(wrong), 'such line')})"
    )


def _blank(source: str, line: int) -> InputError:
    return InputError(
        f"{source}, line {line}: the line is blank; blank lines may only stand at the end: "
        f"remove it"
    )


def _filled(frame: pl.DataFrame, source: str, first_line: int) -> Table:
    if frame.height == 0 or frame.width == 0:
        raise InputError(
            f"{source}: there are no rows, only {', '.join(frame.columns) or 'nothing'}"
        )
    return Table(source, frame, first_line=first_line)
