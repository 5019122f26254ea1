"""`Samples`: one table of samples, with its mapped columns read and checked, and their
features.

A sample is what a system is trained or judged on: an utterance, a clip, a document. `group` names
what samples share (a speaker, a session); several group columns are several such ways at once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import read
from truecost.formats.table import Table, filled, mapped_column, refuse_repeated
from truecost.names import PROTOCOL_MAP_KEYS

Texts = npt.NDArray[Any]  # of Python strings


@dataclass(frozen=True, eq=False)
class Samples:
    """A table of samples.

    Attributes
    ----------
    table : Table
        As it was read, with every column.
    ids : ndarray of str, shape (N,)
    labels : ndarray of str, shape (N,), optional
        Class of each sample.
    groups : mapping of str to ndarray of str, shape (N,)
        By column.
    sets : ndarray of str, shape (N,), optional
        Set or fold of each sample.
    origins : ndarray of str, shape (N,), optional
        Sample or recording that it was made from; its own id where that is empty.
    contents : ndarray of str, shape (N,), optional
        What is the same for copies.
    conditions : mapping of str to ndarray of str, shape (N,)
        By column, as text; "" where it is empty.
    columns : mapping of str to str
        Column of each key.
    """

    table: Table
    ids: Texts
    labels: Texts | None = None
    groups: Mapping[str, Texts] = field(default_factory=dict)
    sets: Texts | None = None
    origins: Texts | None = None
    contents: Texts | None = None
    conditions: Mapping[str, Texts] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def of(
        labels: npt.ArrayLike | None = None,
        groups: Mapping[str, npt.ArrayLike] | None = None,
        conditions: Mapping[str, npt.ArrayLike] | None = None,
        ids: npt.ArrayLike | None = None,
        **others: npt.ArrayLike,
    ) -> "Samples":
        """Samples from arrays.

        Parameters
        ----------
        labels : array_like, shape (N,), optional
        groups, conditions : mapping of str to array_like, optional
            By column.
        ids : array_like, shape (N,), optional
            1, 2, ... when left out.
        **others : array_like, shape (N,)
            `set`, `source` or `content`.

        Raises
        ------
        UsageError
            When anything else is given, or two columns have one name.
        InputError
            When lengths differ, a value is missing or an id repeats.
        """
        given = {"id": ids, "label": labels, **others}
        single = {key: np.asarray(v) for key, v in given.items() if v is not None}
        several = {
            k: np.asarray(v) for k, v in (*(groups or {}).items(), *(conditions or {}).items())
        }
        twice = {*single} & {*several}
        if twice or len(several) < len(groups or {}) + len(conditions or {}):
            raise UsageError("a group or condition has the name of another column: rename it")
        columns = {**single, **several}
        lengths = {key: len(v) for key, v in columns.items()}
        if len({*lengths.values()}) > 1:
            said = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise InputError(f"samples: the columns differ in length: {said}")
        count = next(iter(lengths.values()), 0)
        columns = {"id": np.arange(1, count + 1), **columns}
        mapped = {key: key for key in single} | ({"group": "+".join(groups)} if groups else {})
        frame = pl.DataFrame({key: [*v.tolist()] for key, v in columns.items()}, strict=False)
        return samples_of(Table("samples", frame), mapped, tuple(conditions or ()))


def read_samples(
    path: str,
    columns: Mapping[str, str],
    conditions: Sequence[str] = (),
    need: Sequence[str] = (),
    input_format: str | None = None,
) -> Samples:
    """Read a table of samples.

    Parameters
    ----------
    columns : mapping of str to str
        Column for each of `PROTOCOL_MAP_KEYS`; columns named `id` and `label` need no mapping.
    conditions : sequence of str
        Columns of conditions.
    need : sequence of str
        Keys without which it cannot go on.
    input_format : str, optional
        By the file's ending unless given.

    Raises
    ------
    UsageError
        When a key or column is not known, or one that is needed is not mapped.
    InputError
        When the file cannot be read, a cell is empty or an id repeats.
    """
    return samples_of(read(path, input_format), columns, conditions, need)


def samples_of(
    table: Table,
    columns: Mapping[str, str],
    conditions: Sequence[str] = (),
    need: Sequence[str] = (),
) -> Samples:
    """The samples of a table that was read; see `read_samples`."""
    for key in columns:
        if key not in PROTOCOL_MAP_KEYS:
            raise UsageError(
                f"--map {key}=... is not known{near(key, PROTOCOL_MAP_KEYS)}: map one of "
                f"{', '.join(PROTOCOL_MAP_KEYS)}"
            )
    found = {k: c for k in PROTOCOL_MAP_KEYS if (c := mapped_column(columns, k, table))}
    for key in ("id", *need):
        if key not in found:
            raise UsageError(
                f"{table.source}: nothing is mapped to {key} ({PROTOCOL_MAP_KEYS[key]}): say --map "
                f"{key}=COLUMN; {table.listed}"
            )
    if not len(table):
        raise InputError(f"{table.source}: there are no samples in it, only a header")
    ids = filled(table, found["id"], "id")
    refuse_repeated(table.source, ids, "each sample stands once", table.where)
    own = ids.to_numpy()

    def texts(key: str) -> Texts | None:
        return filled(table, found[key], key).to_numpy() if key in found else None

    return Samples(
        table,
        own,
        texts("label"),
        {c: filled(table, c, "group").to_numpy() for c in _listed(found.get("group", ""))},
        texts("set"),
        _origins(table, found, own),
        texts("content"),
        {c: table.texts(c, "condition").fill_null("").to_numpy() for c in conditions},
        found,
    )


def _listed(columns: str) -> list[str]:
    return [*dict.fromkeys(filter(None, columns.split("+")))]


def _origins(table: Table, found: Mapping[str, str], ids: Texts) -> Texts | None:
    """What each sample was made from; its own id where the cell is empty."""
    if "source" not in found:
        return None
    texts = table.texts(found["source"], "source").to_numpy()
    return np.where([t is None for t in texts], ids, texts)


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
    return Features(_feature_numbers(table, names), tuple(names))


def _aside(samples: Samples, name: str) -> bool:
    """Whether a column is no feature unless it is named: mapped, or made by a split."""
    mapped = [part for column in samples.columns.values() for part in column.split("+")]
    return name in mapped or _OF_SPLITS.fullmatch(name) is not None


def _feature_numbers(table: Table, names: Sequence[str]) -> Floats:
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
    values = _feature_numbers(table, names)
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
