"""CSV, TSV, Parquet and NDJSON.

Text columns stay text until a task says which are numbers, so that a bad number can be named with
its line. A header with repeated names is refused.
"""

import io

import polars as pl

from truecost.errors import InputError
from truecost.formats.table import Table


def read_columns(data: bytes, kind: str, source: str) -> Table:
    """A table from the bytes of a file of one of the four formats.

    Parameters
    ----------
    data : bytes
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
        When it cannot be read, is not UTF-8, repeats column names, has lines of another width or no
        rows.
    """
    try:
        if kind == "parquet":
            return _filled(pl.read_parquet(io.BytesIO(data)), source, -1)
        if kind == "ndjson":
            return _filled(pl.read_ndjson(io.BytesIO(data), infer_schema_length=None), source, 1)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{source}: cannot be read as {kind}: {_first_line(error)}") from error
    return _separated(data, kind, source)


def _separated(data: bytes, kind: str, source: str) -> Table:
    separator = "," if kind == "csv" else "\t"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source}, line {line}: the text is not UTF-8; save the file as UTF-8"
        ) from error
    data = data.rstrip(b"\r\n \t") + b"\n"  # blank lines at the end mean nothing
    header = data.split(b"\n", 1)[0].decode("utf-8-sig").strip("\r").split(separator)
    names = [name.strip().strip('"') for name in header]
    other = next((s for s in (";", "\t", "|", ",") if len(names) == 1 and s in names[0]), None)
    if other is not None:
        raise InputError(
            f"{source}, line 1: one column in {kind} format, but {other!r} stands in its name: "
            f"columns separated by {other!r}? Save them separated by commas, or by tabs with "
            f"--input-format tsv"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"{source}, line 1: column names repeat ({', '.join(repeated)}); "
            f"each needs a name of its own"
        )
    _check_widths(data, separator, len(names), source)
    try:
        frame = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source}: cannot be read as {kind}: {_first_line(error)}") from error
    return _filled(frame.rename(dict(zip(frame.columns, names, strict=True))), source, 2)


def _check_widths(data: bytes, separator: str, expected: int, source: str) -> None:
    """Every line has as many fields as the header (files with quotes are left to the parser)."""
    if b'"' in data:
        return
    lines = pl.Series(data.removesuffix(b"\n").decode("utf-8-sig").split("\n"))
    counts = lines.str.count_matches(separator, literal=True) + 1
    wrong = ((counts != expected) & (lines.str.strip_chars() != "")).arg_true().to_list()
    if wrong:
        first = wrong[0]
        raise InputError(
            f"{source}, line {first + 1}: {counts[first]} fields, but the header has "
            f"{expected} ({len(wrong)} such lines)"
        )


def _filled(frame: pl.DataFrame, source: str, first_line: int) -> Table:
    if frame.height == 0:
        raise InputError(
            f"{source}: there are no rows, only {', '.join(frame.columns) or 'nothing'}"
        )
    return Table(source, frame, first_line=first_line)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
