"""NumPy archives (.npz), folders of .npy files, and single .npy files.

`scores` is N or N x K, `labels` (or `targets`) N; every other array of N entries is a column too.
A single .npy file holds `scores` only. Rows of two such systems correspond by position. Pickled
objects are refused.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError
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
