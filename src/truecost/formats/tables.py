"""Tables (CSV, TSV, Parquet, NDJSON) and NumPy arrays.

Text columns stay text until a task says which are numbers, so that a bad number can be named with
its line. A header with repeated names is refused, and so are blank lines before the end.

`scores` is N or N x K, `labels` (or `targets`) N; every other array of N entries is a column too.
A single .npy file holds `scores` only. Rows of two such systems correspond by position.
"""

import io
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar
from zipfile import ZIP_STORED

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats import text
from truecost.formats.compound import unnested
from truecost.formats.opening import UNPACKED, json_of
from truecost.formats.table import Table
from truecost.names import without_header

Parsed = TypeVar("Parsed")
KINDS = ("csv", "tsv", "parquet", "ndjson")
SEPARATORS = {"csv": ",", "tsv": "\t"}
WAYS = {  # to read columns with another separator, the likeliest first
    ";": "Spreadsheets do this in countries with decimal commas: save the file as CSV with commas "
    "between columns and points in numbers",
    "\t": "Use --input-format tsv",
    "|": "Save the file with commas or tabs between columns",
    ",": "Use --input-format csv",
}
DECIMAL_COMMA = re.compile(rb"(?<![^;\n\"])-?\d+,\d+(?![^;\n\"])")  # all of a cell
PACKED_BY = 100  # times smaller in the file than in memory: no real Parquet file is
LOOKED_AT = 1 << 20  # bytes, in search of decimal commas
FAULTS = (Exception, pl.exceptions.PanicException)  # what a parser may throw at damaged data


def read_columns(data: bytes, kind: str, source: str) -> Table:
    """A table from the bytes of a file of one of the four formats; CSV and TSV have text columns
    only.
    """
    if kind == "parquet":
        from truecost.formats import parquet

        size = _parsed(lambda: _unpacked_size(data), f"{source}: ", kind)
        if size > max(UNPACKED.size, PACKED_BY * len(data)):
            raise InputError(f"{source}: contains, when unpacked, more than {UNPACKED.lifted()}")
        _parsed(lambda: parquet.check(data), f"{source}: ", kind)
        frame = _parsed(lambda: pl.read_parquet(io.BytesIO(data)), f"{source}: ", kind)
        return _filled(frame, source, -1)
    data = text.clean(data, source)
    return _objects(data, source) if kind == "ndjson" else _separated(data, kind, source)


def _unpacked_size(data: bytes) -> int:
    """Approximate size of a Parquet file in memory; repeated values take no space in it."""
    stream = io.BytesIO(data)
    rows: int = pl.scan_parquet(stream).select(pl.len()).collect().item()
    return 8 * rows * len(pl.read_parquet_schema(stream))


def _parsed(parse: Callable[[], Parsed], place: str, kind: str) -> Parsed:
    """The result of a parser; its exceptions become errors of truecost."""
    try:
        return parse()
    except FAULTS as error:
        raise InputError(f"{place}cannot be read as {kind}: {text.caught(error)}") from error


def _objects(data: bytes, source: str) -> Table:
    """NDJSON, with an object a line; lines are read one by one only when the file is refused as a
    whole.
    """
    if (place := (b"\n" + data).find(b"\n\n")) >= 0:
        raise text.blank_line(source, data.count(b"\n", 0, place) + 1)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except FAULTS as error:
        raise InputError(_bad_object(data, source, text.caught(error))) from error
    frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))
    lines = data.count(b"\n")
    if frame.width and frame.height != lines:
        raise InputError(
            f"{source}: {lines} lines, but {frame.height} objects; write one object on each line"
        )
    return _filled(frame, source, 1)


def _bad_object(data: bytes, source: str, said: str) -> str:
    """The first line of NDJSON that is not an object, or changes the type of a column."""
    kinds: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        found = json_object(line, parse_constant=_refuse_constant)
        if isinstance(found, str):
            return f"{source}, line {number}: {found}: {text.line_at(data, number)!r}"
        for name, value in found.items():
            kind = _kind(value)
            before, first = kinds.setdefault(name, (kind, number)) if kind else (kind, 0)
            if before != kind:
                return (
                    f"{source}, line {number}: column {name!r} contains a {kind} here, but a "
                    f"{before} in "
                    f"line {first}; a column has one type"
                )
    return f"{source}: cannot be read as ndjson: {said}"


def json_object(line: bytes, **how: Any) -> dict[str, Any] | str:
    """The object of a line of JSON, or the reason why there is none."""
    try:
        found = json_of(line, **how)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        return f"this is not a JSON object ({why})"
    return found if isinstance(found, dict) else "this is not a JSON object"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null, or the text {name!r} in quotes")


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
    """Refuse a header of one column whose name contains another separator."""
    header = data.partition(b"\n")[0]
    other = next((s for s in WAYS if s.encode() in header), None)
    if other is None or SEPARATORS[kind].encode() in header:
        return
    decimal = other == ";" and DECIMAL_COMMA.search(data, 0, LOOKED_AT)
    raise InputError(
        f"{source}, line 1: the header has no separator of {kind}, but contains {other!r}. Are the "
        f"columns separated by {other!r}{', with decimal commas' if decimal else ''}? {WAYS[other]}"
    )


def _check_header(names: list[str], source: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"{source}, line 1: {without_header(repeated)}column names repeat "
            f"({', '.join(repeated)}): give each a name of its own"
        )


def _check_widths(data: bytes, separator: str, source: str) -> int:
    """Check that every line has as many fields as the header; returns the line of the first row, -1
    when a field contains a line break, so that rows and lines do not correspond.
    """
    if data.startswith(b"\n"):
        raise text.blank_line(source, 1)
    lines = None
    if b'"' in data:
        counts, lines = text.quoted_field_counts(data, separator, source)
    else:
        counts = np.concatenate(list(text.field_counts(data, separator)))
        if counts[0] == 1 and (place := data.find(b"\n\n")) >= 0:  # else its width tells
            raise text.blank_line(source, data.count(b"\n", 0, place + 1) + 1)
    wrong = np.flatnonzero(counts != counts[0])
    if not len(wrong):
        return 2 if lines is None or bool((lines == np.arange(1, len(lines) + 1)).all()) else -1
    row = int(wrong[0])
    line = row + 1 if lines is None else int(lines[row])
    if not text.line_at(data, line).strip():
        raise text.blank_line(source, line)
    more = "write a decimal comma as a point" if separator == "," else "remove a field"
    do = more if counts[row] > counts[0] else "complete the line"
    raise InputError(
        f"{source}, line {line}: {counted(counts[row], 'field')}, but the header has "
        f"{counts[0]} ({counted(len(wrong), 'such line')}): {do}, or quote a field that contains "
        f"the separator"
    )


def _filled(frame: pl.DataFrame, source: str, first_line: int) -> Table:
    if frame.height == 0 or frame.width == 0:
        raise InputError(
            f"{source}: the file has a header line ({', '.join(frame.columns) or 'empty'}) but "
            "no rows"
        )
    return Table(source, unnested(frame), first_line=first_line)


Array = npt.NDArray[Any]
BIGGEST = 1 << 37  # bytes of one unpacked array: more is a damaged or malicious header


def read_archive(stream: IO[bytes], source: str) -> Table:
    """The arrays of an .npz file, each a column of its name."""

    def load() -> Any:
        if stream.read(2) not in (b"PK", b"\x93N"):
            raise ValueError("it does not begin like one")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise ValueError("it contains a single array: use --input-format npy")
            _check_sizes(archive.zip)
            return {name: np.asarray(archive[name]) for name in archive.files}

    return _table(_loaded(load, source, "archive"), source)


def _check_sizes(archive: Any) -> None:
    """Refuse arrays whose header declares more data than the file has, or that exceed the limit of
    compressed files, before memory is allocated.
    """
    packed = (entry for entry in archive.infolist() if entry.compress_type != ZIP_STORED)
    if sum(entry.file_size for entry in packed) > UNPACKED.size:
        raise ValueError(f"it contains, when unpacked, more than {UNPACKED.lifted()}")
    for entry in archive.infolist():
        with archive.open(entry) as member:
            version = np.lib.format.read_magic(member)
            read = getattr(np.lib.format, f"read_array_header_{version[0]}_0", None)
            shape, _, dtype = (read or np.lib.format.read_array_header_2_0)(member)
            size = dtype.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
        if size > min(entry.file_size, BIGGEST) and not dtype.hasobject:
            raise ValueError(
                f"array {entry.filename} declares {size} bytes, but {entry.file_size} follow"
            )


def read_array(stream: IO[bytes], source: str) -> Table:
    """The array of a single .npy file, as the column `scores`."""
    array = _loaded(lambda: np.lib.format.read_array(stream, allow_pickle=False), source, "array")
    return _table({"scores": array}, source)


def _loaded(load: Callable[[], Any], source: str, what: str) -> Any:
    """The result of NumPy's reader; its exceptions become errors of truecost."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # archives of Python 2, say
            return load()
    except Exception as error:
        why = f"cannot be read as a NumPy {what} ({text.caught(error)})"
        if "pickle" in str(error) or "Object arrays" in str(error):
            why = (
                "it contains Python objects, which are never loaded; save text as fixed-width "
                "strings "
                "(array.astype(str)) and numbers as numbers"
            )
        raise InputError(f"{source}: {why}") from error


def _read_file(file: Path) -> Array:
    with file.open("rb") as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def read_folder(folder: Path) -> Table:
    """The .npy files of a folder, each a column of its name."""
    files = sorted(folder.glob("*.npy"))
    if not files:
        raise InputError(
            f"{folder}: this is a folder without .npy files: name a file, or a folder with "
            "scores.npy and labels.npy or targets.npy"
        )
    arrays = {file.stem: _loaded(partial(_read_file, file), str(file), "array") for file in files}
    return _table(arrays, str(folder))


def _table(arrays: dict[str, Array], source: str) -> Table:
    rows = {len(v) for v in arrays.values() if v.ndim}
    if len(rows) != 1:
        sizes = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "none"
        raise InputError(
            f"{source}: the arrays have different lengths ({sizes}): each trial needs one entry "
            "in each array"
        )
    if rows == {0}:
        raise InputError(f"{source}: the arrays {', '.join(arrays)} have no entries")
    flat, matrices = {}, {}
    for name, given in arrays.items():
        array = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
        if array.ndim == 1:
            flat[name] = _series(array, name, source)
        elif array.ndim == 2 and array.shape[1] and array.dtype.kind in "biuf":
            matrices[name] = _plain(array, name, source)
        elif array.ndim:
            raise InputError(
                f"{source}: array {name!r} has {array.ndim} dimensions of {array.dtype}, shape "
                f"{array.shape}; one number or text, or one row of numbers, for each trial was "
                "expected"
            )
    frame = pl.DataFrame(flat) if flat else pl.DataFrame({"row": np.arange(next(iter(rows)))})
    return Table(source, frame, matrices, ordered=True)


def _series(array: Array, name: str, source: str) -> pl.Series:
    try:
        if array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8")
        if array.dtype.kind == "U":
            return pl.Series(array.astype(object), dtype=pl.String)
    except (ValueError, SystemError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{source}: array {name!r} contains text that is not Unicode") from error
    return pl.Series(_plain(array, name, source))


def _plain(array: Array, name: str, source: str) -> Array:
    """Numbers or truth values in a size and byte order that all libraries support."""
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{source}: array {name!r} is of type {array.dtype}; numbers or text were expected"
        )
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
