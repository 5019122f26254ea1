"""`Samples`: one table of samples, with its mapped columns read and checked, and their features.

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
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Samples:
    """Table of the samples of a data set: utterances, clips, documents.

    Attributes
    ----------
    table : Table
        Table with all columns of the file.
    ids : ndarray of str, shape (N,)
        Id of each sample; all ids are different.
    labels : ndarray of str, shape (N,), optional
        Class of each sample.
    sets : ndarray of str, shape (N,), optional
        Set or fold of each sample.
    groups : mapping of str to ndarray of str, shape (N,)
        Values of each group column. Samples of a group, such as a speaker, stay together in a
        split.
    conditions : mapping of str to ndarray of str, shape (N,)
        Values of each column of conditions, such as noise or device; "" if a cell is empty.
    origins : ndarray of str, shape (N,), optional
        Id of the sample or recording from which the sample was cut or made; its own id if the cell
        is empty.
    contents : ndarray of str, shape (N,), optional
        Text or hash that identifies the content of each sample; copies have the same value.
    columns : mapping of str to str
        Column of the table for each key (``id``, ``label``, ``group``, ...).
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
    def from_arrays(
        labels: npt.ArrayLike | None = None,
        groups: Mapping[str, npt.ArrayLike] | None = None,
        conditions: Mapping[str, npt.ArrayLike] | None = None,
        ids: npt.ArrayLike | None = None,
        **others: npt.ArrayLike,
    ) -> "Samples":
        """Samples from arrays; each array has one value for each of the N samples.

        Parameters
        ----------
        labels : array_like, shape (N,), optional
            Class of each sample.
        groups, conditions : mapping of str to array_like, shape (N,), optional
            Group columns and columns of conditions, by name.
        ids : array_like, shape (N,), optional
            Id of each sample. Default: 1, 2, 3, ...
        **others : array_like, shape (N,)
            ``set``, ``source`` or ``content`` of each sample; these arguments become the attributes
            ``sets``, ``origins`` and ``contents``.

        Raises
        ------
        UsageError
            If another argument is given, or two columns have the same name.
        InputError
            If the arrays differ in length, a value is missing, or two samples have the same id.
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
    """Read the samples of a data set from a file.

    Parameters
    ----------
    path : str
        Path of the table.
    columns : mapping of str to str
        Column of the table for each of the keys ``id``, ``label``, ``group`` (`a+b` for several
        columns), ``set``, ``source`` and ``content``. Default for ``id`` and ``label``: the columns
        with these names.
    conditions : sequence of str
        Columns of conditions, such as noise or device.
    need : sequence of str
        Keys that must be present in addition to ``id``.
    input_format : str, optional
        Format of the file. Default: derived from the file extension.

    Raises
    ------
    UsageError
        If a key or column does not exist, or a needed key has no column.
    InputError
        If the file cannot be read, a cell is empty, or two samples have the same id.
    """
    return samples_of(read(path, input_format), columns, conditions, need)


def samples_of(
    table: Table,
    columns: Mapping[str, str],
    conditions: Sequence[str] = (),
    need: Sequence[str] = (),
) -> Samples:
    """The samples of a table that was read with ``truecost.read``.

    Parameters and errors are those of :func:`truecost.protocol.read_samples`.
    """
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
                f"{table.source}: no column is named for {key} ({PROTOCOL_MAP_KEYS[key]}): "
                f"use --map {key}=COLUMN; {table.listed}"
            )
    if not len(table):
        raise InputError(f"{table.source}: there are no samples in it, only a header")
    ids = filled(table, found["id"], "id")
    refuse_repeated(table.source, ids, "each sample occurs once", table.where)
    own = ids.to_numpy()
    groups = dict.fromkeys(filter(None, found.get("group", "").split("+")))

    def texts(key: str) -> Texts | None:
        return filled(table, found[key], key).to_numpy() if key in found else None

    return Samples(
        table,
        own,
        texts("label"),
        {c: filled(table, c, "group").to_numpy() for c in groups},
        texts("set"),
        _origins(table, found, own),
        texts("content"),
        {c: table.texts(c, "condition").fill_null("").to_numpy() for c in conditions},
        found,
    )


def _origins(table: Table, found: Mapping[str, str], ids: Texts) -> Texts | None:
    """The original of each sample; its own id where the cell is empty."""
    if "source" not in found:
        return None
    texts = table.texts(found["source"], "source").to_numpy()
    return np.where([t is None for t in texts], ids, texts)


_OF_SPLITS = re.compile(r"set|fold|inner_\d+")  # columns that `protocol split` writes


def features_of(samples: Samples, given: str) -> Floats:
    """The features of the samples as an array, shape (N, features).

    Parameters
    ----------
    samples : Samples
    given : str
        Names of columns, separated by commas, or the path of a file. In a name, ``*`` stands for
        any characters and ``?`` for one character; such patterns skip the mapped columns (``id``,
        ``label``, ...) and the columns that a split adds (``set``, ``fold``, ``inner_1``, ...). A
        file is a table with a column of ids, a .npz file with a matrix and an array of ids, or a
        .npz or .npy matrix with one row for each sample, in the same order.

    Raises
    ------
    UsageError
        If a column does not exist, or a file does not identify the samples.
    InputError
        If a cell is empty or not a finite number, a file does not exist, or a sample has no
        features.
    """
    if Path(given).is_file() or Path(given).is_dir():
        return _features_of_file(samples, given)
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
                f"{table.source}{near(pattern, table.columns)}; {table.listed}"
            )
        names += matched
    if not names:
        raise UsageError("--features names no column: give columns, such as f*, or a file")
    return _feature_numbers(table, [*dict.fromkeys(names)])


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
            f"{table.source}: {counted(len(bad), 'feature', 'are')} empty or not finite: "
            f"{examples}; fill them in, or leave the column or the sample out"
        )
    return values


def _features_of_file(samples: Samples, path: str) -> Floats:
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
        raise InputError(f"{path}: no column has numbers; {table.listed}")
    values = _feature_numbers(table, names)
    if column is not None:
        return np.asarray(values[_joined(samples, table, column)])
    if not table.ordered:
        wanted = " or ".join(map(repr, dict.fromkeys((samples.columns["id"], "id"))))
        raise UsageError(
            f"{path}: there is no column {wanted}, which names the sample "
            f"of each row; {table.listed}"
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
    return values


def _parses(table: Table, column: str) -> bool:
    """Whether a column of text holds numbers."""
    try:
        table.numbers(column, "feature")
    except InputError:
        return False
    return True


def _joined(samples: Samples, table: Table, column: str) -> Ints:
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


def equal_rows(values: Floats) -> Ints:
    """A code for each row that equal rows share."""
    whole = np.ascontiguousarray(values + 0.0)  # -0.0 becomes 0.0
    packed = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize)))[:, 0]
    return np.unique(packed, return_inverse=True)[1].astype(np.int64)


def equal_texts(texts: Texts) -> Ints:
    """A code for each text that equal texts share."""
    return encode(texts)[1].astype(np.int64)
