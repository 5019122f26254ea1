"""File readers: one module per format; every error names the file and, where it can, the line.

`read(path)` gives a `Table`: named columns, and for arrays a matrix of scores. What a column means
is not decided here but by the task that maps it.
"""

import hashlib
import io
import sys
from pathlib import Path

from truecost.errors import InputError, UsageError
from truecost.formats.table import Table
from truecost.names import FORMATS

__all__ = ["STANDARD_INPUT", "Table", "read", "read_bytes", "sha256"]

STANDARD_INPUT = ("-", "/dev/stdin")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
}


def read(path: str, input_format: str | None = None) -> Table:
    """Read a file, a folder of arrays, or standard input.

    Parameters
    ----------
    path : str
        A file, gzipped or not, a folder of .npy files, or `-` for standard input.
    input_format : {"csv", "tsv", "parquet", "ndjson", "npz", "npy"}, optional
        Taken from the file's ending when left out; standard input needs it.

    Returns
    -------
    Table
        Named columns; nothing is decided yet about what they mean.

    Raises
    ------
    UsageError
        When the format is not known or the ending does not say it.
    InputError
        When there is no such file, or it is empty, damaged or malformed; names the line where it
        can.
    """
    from truecost.formats import arrays, tables

    kind = input_format or _sniff(path)
    if kind not in FORMATS:
        raise UsageError(f"input format {kind!r} is not known: choose one of {', '.join(FORMATS)}")
    if kind == "npy":
        return arrays.read_folder(Path(path))
    data = read_bytes(path)
    if not data:
        raise InputError(f"{shown(path)}: the file is empty; expected {FORMATS[kind]}")
    if kind == "npz":
        return arrays.read_archive(io.BytesIO(data), shown(path))
    return tables.read_columns(data, kind, shown(path))


def shown(path: str) -> str:
    """How a path is named in messages."""
    return "standard input" if path in STANDARD_INPUT else path


def read_bytes(path: str) -> bytes:
    """The bytes of a file or of standard input, unpacked when gzipped.

    Parameters
    ----------
    path : str

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        When it cannot be read, or the gzip data are damaged.
    """
    import gzip

    try:
        data = sys.stdin.buffer.read() if path in STANDARD_INPUT else Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise InputError(
            f"{shown(path)}: the gzip data are damaged or cut short ({error})"
        ) from error


def _sniff(path: str) -> str:
    if path in STANDARD_INPUT:
        raise UsageError(
            "standard input has no file name: say what it is with --input-format, "
            f"one of {', '.join(k for k in FORMATS if k != 'npy')}"
        )
    if Path(path).is_dir():
        return "npy"
    suffixes = [s for s in Path(path).suffixes if s != ".gz"]
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    if not Path(path).exists():
        raise InputError(f"{path}: there is no such file or folder")
    raise UsageError(
        f"{path}: the ending does not say which format this is: give --input-format, "
        f"one of {', '.join(FORMATS)}"
    )


def sha256(path: str) -> str:
    """Hash of a file's bytes, or of the names and bytes of all .npy files of a folder.

    Parameters
    ----------
    path : str

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    digest = hashlib.sha256()
    files = sorted(Path(path).glob("*.npy")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        if len(files) > 1:
            digest.update(file.name.encode() + b"\0")
        digest.update(file.read_bytes())
    return digest.hexdigest()
