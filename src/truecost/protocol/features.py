"""Features of samples: columns of their table, or an array or table of its own, joined by id."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import read
from truecost.formats.mapped import filled, refuse_repeated
from truecost.formats.table import Table
from truecost.protocol.samples import Samples

Floats = npt.NDArray[np.float64]

_OF_SPLITS = re.compile(r"set|fold|inner_\d+")  # columns that `protocol split` writes


@dataclass(frozen=True, eq=False)
class Features:
    """One row of finite numbers for each sample.

    Attributes
    ----------
    values : ndarray of float64, shape (N, features)
    source : str
        File they are from, empty for columns of the samples' own table.
    """

    values: Floats
    names: tuple[str, ...]
    source: str = ""


def features_of(samples: Samples, given: str) -> Features:
    """The features that an option names.

    Parameters
    ----------
    given : str
        Columns of the samples, separated by commas, `*` and `?` standing for anything but what is
        no feature: mapped columns and those of a split (f* is not meant to be `fold`, which would
        keep copies in several folds apart); or a file: a matrix in .npz or .npy whose rows are
        those of the samples, or a table with their ids.

    Raises
    ------
    UsageError
        When no column has such a name.
    InputError
        When a cell holds no finite number, or rows do not match; with the first five places.
    """
    if Path(given).is_file() or Path(given).is_dir():
        return _of_file(samples, given)
    if Path(given).suffix in (".npz", ".npy", ".csv", ".tsv", ".parquet", ".ndjson"):
        raise InputError(f"{given}: there is no such file for --features")
    table = samples.table
    names: list[str] = []
    for pattern in filter(None, (part.strip() for part in given.split(","))):
        matched = [
            name
            for name in table.columns
            if fnmatchcase(name, pattern) and (name == pattern or not _aside(samples, name))
        ]
        if not matched:
            raise UsageError(
                f"--features {pattern!r} is neither a file nor a column of "
                f"{table.source}{near(pattern, table.columns)}; "
                f"{table.listed}"
            )
        names += matched
    if not names:
        raise UsageError("--features names nothing: give columns, such as f*, or a file")
    names = [*dict.fromkeys(names)]
    return Features(_numbers(table, names), tuple(names))


def _aside(samples: Samples, name: str) -> bool:
    """Whether a column is no feature unless it is named: mapped, or made by a split."""
    mapped = [part for column in samples.columns.values() for part in column.split("+")]
    return name in mapped or _OF_SPLITS.fullmatch(name) is not None


def _numbers(table: Table, names: Sequence[str]) -> Floats:
    """Columns as one array; refused where a cell holds no finite number."""
    columns = [
        np.asarray(table.matrices[name], np.float64)
        if name in table.matrices
        else table.numbers(name, "feature")[:, None]
        for name in names
    ]
    values = np.concatenate(columns, axis=1)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        wide = [name for name, c in zip(names, columns, strict=True) for _ in range(c.shape[1])]
        examples = first_five(f"{table.where(int(r))} ({wide[int(k)]})" for r, k in bad[:6])
        raise InputError(
            f"{table.source}: {counted(len(bad), 'feature', 'are')} empty or no finite number: "
            f"{examples}; fill them in, or leave the column or the sample out"
        )
    return values


def _of_file(samples: Samples, path: str) -> Features:
    """Features out of a file of their own."""
    table = read(path)
    column = next((c for c in (samples.columns["id"], "id") if c in table.frame.columns), None)
    names = [*table.matrices]
    if not names:
        others = [
            c for c in table.frame.columns if c not in (column, "row") and not _aside(samples, c)
        ]
        names = [c for c in others if table.frame[c].dtype.is_numeric() or _parses(table, c)]
    if len(table.matrices) > 1:
        raise UsageError(
            f"{path}: there are several arrays ({', '.join(table.matrices)}): keep the one with "
            f"the features, and the ids"
        )
    if not names:
        raise InputError(f"{path}: there are no numbers in it; {table.listed}")
    values = _numbers(table, names)
    if column is not None:
        return Features(values[_joined(samples, table, column)], tuple(names), path)
    if not table.ordered:
        raise UsageError(
            f"{path}: there is no column {samples.columns['id']!r} or 'id' that says which sample "
            f"a row is of; {table.listed}"
        )
    if samples.table.files:
        raise UsageError(
            f"{path}: the samples are of several files, so rows cannot match by position: add an "
            f"array id"
        )
    if len(values) != len(samples):
        raise InputError(
            f"{path}: {counted(len(values), 'row')} of features for "
            f"{counted(len(samples), 'sample')} of {samples.table.source}: rows match by position "
            f"unless there is an array id"
        )
    return Features(values, tuple(names), path)


def _parses(table: Table, column: str) -> bool:
    """Whether a column of text holds numbers."""
    try:
        table.numbers(column, "feature")
    except InputError:
        return False
    return True


def _joined(samples: Samples, table: Table, column: str) -> npt.NDArray[Any]:
    """For each sample its row in the table of features."""
    ids = filled(table, column, "id")
    refuse_repeated(table.source, ids, "each sample has one row of features", table.where)
    rows = dict(zip(ids.to_list(), range(len(ids)), strict=True))
    lacking = [str(i) for i in samples.ids if i not in rows]
    if lacking:
        raise InputError(
            f"{table.source}: there are no features of {counted(len(lacking), 'sample')} of "
            f"{samples.table.source}: {first_five(lacking)}"
        )
    return np.array([rows[i] for i in samples.ids], np.int64)


def equal_rows(values: Floats) -> npt.NDArray[np.int64]:
    """A code for each row that equal rows share."""
    whole = np.ascontiguousarray(values + 0.0)  # -0.0 becomes 0.0
    packed = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize)))[:, 0]
    return np.unique(packed, return_inverse=True)[1].astype(np.int64)


def equal_texts(texts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A code for each text that equal texts share."""
    return encode(texts)[1].astype(np.int64)
