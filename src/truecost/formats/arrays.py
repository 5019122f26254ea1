"""NumPy archives and folders of files read as one, and files in which a system found nothing.

`scores` is N or N x K, `labels` (or `targets`) N; every other array of N entries is a column too.
A single .npy file holds `scores` only. Rows of two such systems correspond by position. Pickled
objects are refused.

The files are taken by name; they may be gzipped, and hidden ones do not matter. All of them must
be of one ending, so that nothing that lies there is passed over in silence. A file without records
is a recording in which nothing was found.

An empty file is mostly a mistake, so that it is read only by those who ask for it. Without an
ending that says the format, it stands for the plainest one.
"""

import codecs
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import segments as rttm
from truecost.formats.field_lines import COMMENTS
from truecost.formats.streams import UNPACKED
from truecost.formats.table import Table
from truecost.formats.text import caught

Array = npt.NDArray[Any]


BIGGEST = 1 << 37  # bytes of one unpacked array: more is a damaged or malicious header


def read_archive(stream: IO[bytes], source: str) -> Table:
    """The arrays of an .npz file, each a column of its name.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        When it is no archive, holds Python objects, or the arrays have different lengths.
    """

    def load() -> dict[str, Array]:
        if stream.read(2) not in (b"PK", b"\x93N"):
            raise ValueError("it does not begin as one does")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds a single array: --input-format npy")
            _check_sizes(archive.zip)
            return {name: np.asarray(archive[name]) for name in archive.files}

    return _table(_loaded(load, source, "archive"), source)


def _check_sizes(archive: Any) -> None:
    """Refuse arrays whose header promises more than there is, or that unpack to more than the limit
    of compressed files, before memory is asked for.
    """
    packed = (entry for entry in archive.infolist() if entry.compress_type != ZIP_STORED)
    if sum(entry.file_size for entry in packed) > UNPACKED.size:
        raise ValueError(f"it holds, when unpacked, more than {UNPACKED.lifted()}")
    for entry in archive.infolist():
        with archive.open(entry) as member:
            version = np.lib.format.read_magic(member)
            read = getattr(np.lib.format, f"read_array_header_{version[0]}_0", None)
            shape, _, dtype = (read or np.lib.format.read_array_header_2_0)(member)
            size = dtype.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
        if size > min(entry.file_size, BIGGEST) and not dtype.hasobject:
            raise ValueError(f"array {entry.filename} says {size} bytes, {entry.file_size} follow")


def read_array(stream: IO[bytes], source: str) -> Table:
    """The array of a single .npy file, as the column `scores`.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    array = _loaded(lambda: np.lib.format.read_array(stream, allow_pickle=False), source, "array")
    return _table({"scores": array}, source)


def _loaded(load: Callable[[], Any], source: str, what: str) -> Any:
    """What NumPy reads; whatever it throws at damaged data becomes an error of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # archives of Python 2, say
            return load()
    except Exception as error:
        raise InputError(_unreadable(source, what, error)) from error


def _unreadable(source: str, what: str, error: Exception) -> str:
    """Why an array cannot be read, and what to do about pickled objects."""
    if "pickle" in str(error) or "Object arrays" in str(error):
        return (
            f"{source}: holds Python objects, which are never loaded; save text as fixed-width "
            f"strings (array.astype(str)) and numbers as numbers"
        )
    return f"{source}: cannot be read as a NumPy {what} ({caught(error)})"


def read_folder(folder: Path) -> Table:
    """The .npy files of a folder, each a column of its name.

    Raises
    ------
    InputError
        When there are none, one cannot be read, or the arrays have different lengths.
    """
    files = sorted(folder.glob("*.npy"))
    if not files:
        raise InputError(
            f"{folder}: no .npy files there; expected scores.npy and labels.npy or targets.npy"
        )
    arrays: dict[str, Array] = {}
    for file in files:

        def load(file: Path = file) -> Array:
            with file.open("rb") as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)

        arrays[file.stem] = _loaded(load, str(file), "array")
    return _table(arrays, str(folder))


def _table(arrays: dict[str, Array], source: str) -> Table:
    rows = {len(v) for v in arrays.values() if v.ndim}
    if len(rows) != 1:
        sizes = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "none"
        raise InputError(
            f"{source}: the arrays have different lengths ({sizes}); each needs one entry a trial"
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
                f"{array.shape}; one number or text, or one row of numbers a trial was expected"
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
        raise InputError(f"{source}: array {name!r}: text that is not Unicode") from error
    return pl.Series(_plain(array, name, source))


def _plain(array: Array, name: str, source: str) -> Array:
    """Numbers or truth values in a size and byte order that every tool takes."""
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{source}: array {name!r} is of type {array.dtype}; numbers or text were expected"
        )
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


GZIPPED = ".gz"


def files_of(folder: Path) -> list[Path]:
    """What a folder holds but for hidden files, sorted by name; of arrays, the arrays alone."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [path for path in found if path.suffix == ".npy"] or found


def listed(path: str, stated: str | None, kinds: Sequence[str]) -> tuple[str, list[Path]]:
    """The format of the files of a folder, and the files in their order.

    Parameters
    ----------
    stated : str, optional
        The format that an option says.
    kinds : sequence of str
        The formats of which folders are read.

    Raises
    ------
    UsageError
        When the format that is stated is not one of which folders are read.
    InputError
        When there are no files, files of several endings, or one file twice.
    """
    if stated is not None and stated not in kinds:
        raise UsageError(
            f"{path}: is a folder; folders are read of {' or '.join(kinds)} files, not of {stated}"
        )
    kinds = kinds if stated is None else (stated,)
    wanted = " or ".join(f".{kind}" for kind in kinds)
    files = files_of(Path(path))
    if not files:
        raise InputError(f"{path}: the folder is empty; expected {wanted} files")
    kind = next((kind for kind in kinds if any(_is_of(file, kind) for file in files)), kinds[0])
    others = [file.name for file in files if not _is_of(file, kind)]
    if others:
        raise InputError(
            f"{path}: {counted(len(others), 'file', 'do')} not end in .{kind}: "
            f"{first_five(others)}; a folder is read as one file when all in it end in {wanted}, "
            f"gzipped or not"
        )
    names = [file.name.removesuffix(GZIPPED) for file in files]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(
            f"{path}: {first_five(twice)} is there twice, gzipped and not: leave one out"
        )
    return kind, files


def _is_of(path: Path, kind: str) -> bool:
    """Whether a file has the ending of a format."""
    name = path.name.lower().removesuffix(GZIPPED)
    return name.endswith(f".{kind}") and path.is_file()


def joined(tables: Sequence[Table], source: str) -> Table:
    """One table of the tables of files, each row with the place where it stands.

    Parameters
    ----------
    tables : sequence of Table
        Of one format, with the lines of their rows.
    source : str
        Name for messages.
    """
    filled = [table for table in tables if len(table)] or [*tables[:1]]
    starts = accumulate((len(table) for table in filled[:-1]), initial=0)
    lines = [table.lines for table in filled if table.lines is not None]
    return replace(
        filled[0],
        source=source,
        frame=pl.concat([table.frame for table in filled], how="diagonal_relaxed"),
        lines=np.concatenate(lines) if lines else None,
        files=[(at, Path(table.source).name) for at, table in zip(starts, filled, strict=True)],
    )


_TEXTS: dict[str, type[pl.DataType]] = {"id": pl.String, "text": pl.String}


COLUMNS: dict[str, dict[str, type[pl.DataType]]] = {
    "kaldi-text": _TEXTS,
    "trn": _TEXTS,
    "ctm": {
        "recording": pl.String,
        "channel": pl.String,
        "start": pl.Float64,
        "duration": pl.Float64,
        "word": pl.String,
    },
    "rttm": {
        "type": pl.String,
        "recording": pl.String,
        "channel": pl.String,
        "speaker": pl.String,
        "start": pl.Float64,
        "end": pl.Float64,
    },
}


MARKS: dict[str, tuple[str, ...]] = {"trn": COMMENTS, "ctm": COMMENTS, "rttm": rttm.COMMENTS}


def may_be_empty(stated: str | None, plainest: str) -> str | None:
    """The format of a file without records; None where there has to be one.

    Parameters
    ----------
    stated : str, optional
        The format that an option or the file's ending says.
    plainest : str
        The format where nothing says it; empty for none.

    Returns
    -------
    str or None
    """
    kind = stated or plainest
    return kind if kind in COLUMNS else None


def read_nothing(data: bytes, source: str, kind: str) -> Table | None:
    """The table of a file that holds nothing but blank lines and comments.

    Parameters
    ----------
    source : str
        Name for messages.
    kind : str
        As `may_be_empty` gives it.

    Returns
    -------
    Table or None
        With the columns of the format and no rows; None when there is a record.
    """
    marks = tuple(mark.encode() for mark in MARKS.get(kind, ()))
    for line in io.BytesIO(data.removeprefix(codecs.BOM_UTF8)):
        said = line.strip(b" \t\r\n")
        if said and not said.startswith(marks):
            return None
    return Table(source, pl.DataFrame(schema=COLUMNS[kind]), format=kind)
