"""`Samples`: one table of samples, with its mapped columns read and checked.

A sample is what a system is trained or judged on: an utterance, a clip, a document. `group` names
what samples share (a speaker, a session); several group columns are several such ways at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, near
from truecost.formats import read
from truecost.formats.mapped import filled, mapped_column, refuse_repeated
from truecost.formats.table import Table
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
