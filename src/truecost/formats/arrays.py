"""NumPy archives (.npz) and folders of .npy files.

`scores` is N or N x K, `labels` (or `targets`) N; every other array of N entries is a column too.
Rows of two such systems correspond by position. Pickled objects are refused.
"""

from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError
from truecost.formats.table import Table


def read_archive(stream: IO[bytes], source: str) -> Table:
    """The arrays of an .npz file, each a column of its name.

    Parameters
    ----------
    stream : binary file
    source : str
        Name for messages.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        When it is no archive, holds Python objects, or the arrays have different lengths.
    """
    from zipfile import BadZipFile

    try:
        with np.load(stream, allow_pickle=False) as archive:
            return _table({name: archive[name] for name in archive.files}, source)
    except (ValueError, OSError, EOFError, AttributeError, TypeError, BadZipFile) as error:
        raise InputError(_unreadable(source, "archive", error)) from error


def _unreadable(source: str, what: str, error: Exception) -> str:
    """Why an array cannot be read, and what to do about pickled objects."""
    if "pickle" in str(error):
        return (
            f"{source}: holds Python objects, which are never loaded; save text as fixed-width "
            f"strings (array.astype(str)) and numbers as numbers"
        )
    return f"{source}: cannot be read as a NumPy {what} ({error})"


def read_folder(folder: Path) -> Table:
    """The .npy files of a folder, each a column of its name.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Table

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
    arrays: dict[str, npt.NDArray[Any]] = {}
    for file in files:
        try:
            arrays[file.stem] = np.load(file, allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise InputError(_unreadable(str(file), "array", error)) from error
    return _table(arrays, str(folder))


def _table(arrays: dict[str, npt.NDArray[Any]], source: str) -> Table:
    rows = {len(v) for v in arrays.values() if v.ndim}
    if len(rows) != 1:
        sizes = ", ".join(f"{k} {v.shape}" for k, v in arrays.items())
        raise InputError(
            f"{source}: the arrays have different lengths ({sizes}); each needs one entry a trial"
        )
    flat, matrices = {}, {}
    for name, given in arrays.items():
        array = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
        if array.ndim == 1:
            flat[name] = pl.Series(array)
        elif array.ndim == 2:
            matrices[name] = array
        elif array.ndim > 2:
            raise InputError(
                f"{source}: array {name!r} has {array.ndim} dimensions; one number "
                f"or one row of numbers a trial was expected"
            )
    frame = pl.DataFrame(flat) if flat else pl.DataFrame({"row": np.arange(next(iter(rows)))})
    return Table(source, frame, matrices, ordered=True)
