"""What a source holds before anything is put in order, and items from a table of features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table, read
from truecost.learning.streams.source import Source
from truecost.learning.system import Array, Floats


@dataclass(frozen=True, eq=False)
class Items:
    """Everything that is known of the items of a source, in the order of the source.

    Attributes
    ----------
    source : str
        Name for messages.
    ids : tuple of str
        Each once in its part.
    features : ndarray of float64, shape (items, features)
        Finite.
    labels : tuple of str
        Classes as the source has them, or numbers as text.
    times : ndarray of float64, shape (items,), optional
        Seconds; for instants since 1970.
    parts : tuple of str
        The stream that each item belongs to, where the source says so; else empty.
    said : tuple of str
        What the signature says of the source.
    """

    source: str
    ids: tuple[str, ...]
    features: Floats
    labels: tuple[str, ...]
    times: Floats | None = None
    parts: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __post_init__(self) -> None:
        keys = list(zip(self.parts, self.ids, strict=True)) if self.parts else list(self.ids)
        if len(set(keys)) == len(keys):
            return
        repeated = sorted({str(key) for key, number in _counts(keys) if number > 1})
        raise InputError(
            f"{self.source}: {counted(len(repeated), 'id')} of several items "
            f"({first_five(repeated)}); each item needs an id of its own"
        )


def _counts(keys: Sequence[object]) -> list[tuple[object, int]]:
    from collections import Counter

    return list(Counter(keys).items())


def sorted_classes(labels: Sequence[str]) -> tuple[str, ...]:
    """Each label once: whole numbers by value, anything else as text."""
    names = set(labels)
    if all(name.isascii() and name.removeprefix("-").isdigit() for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def stacked(vectors: Sequence[Array], ids: Sequence[str], what: str) -> Floats:
    """Vectors of single items as a matrix.

    Parameters
    ----------
    vectors : sequence of ndarray, shape (features,)
    ids : sequence of str
        For messages.
    what : str
        Who made them, for messages.

    Returns
    -------
    ndarray of float64, shape (items, features)

    Raises
    ------
    InputError
        When one is no vector of finite numbers, or of another length than the first.
    """
    rows: list[Array] = []
    for name, vector in zip(ids, vectors, strict=True):
        row = np.asarray(vector)
        expected = rows[0].shape if rows else (row.size,)
        if row.dtype.kind not in "biuf" or row.ndim != 1 or row.shape != expected or not row.size:
            raise InputError(
                f"{what} gave for {name} {row.dtype} of shape {row.shape}; expected a vector of "
                + (f"{expected[0]} numbers, as for {ids[0]}" if rows else "numbers")
            )
        if not np.isfinite(row).all():
            raise InputError(
                f"{what} gave for {name} numbers that are not finite: {first_five(row)}"
            )
        rows.append(row)
    return np.asarray(rows, np.float64)


IDS = ("id", "ids", "path", "paths")  # columns that hold ids unless another is named


LABELS = ("label", "labels", "y")


MATRICES = ("X", "features")


def read_table(source: Source) -> Items:
    """The items of a table.

    Parameters
    ----------
    source : Source
        Checked; `file`, columns and features of it.

    Raises
    ------
    UsageError
        When a column is not there.
    InputError
        When a label is missing, or a feature is no finite number; with column and line.
    """
    table = replace(read(str(source.file)), mapped_by="[source]")
    key = source.id or first_of(table, IDS)
    ids = ids_of(table, key)
    label = source.label or first_of(table, LABELS)
    if label is None:
        raise UsageError(
            f"{table.source}: there is no column of right labels (label, labels or y); "
            f'{table.listed}: name it under [source], label = "NAME"{_other_names(key)}'
        )
    labels = filled(table, label, "label", ids)
    parts = filled(table, source.stream, "stream", ids) if source.stream else ()
    used = {key, label, source.time, source.stream}
    names = _feature_names(table, source, used)
    said = ("table", *([f"lookahead:{','.join(source.context)}"] if source.context else []))
    times = _times(table, source.time) if source.time else None
    return Items(table.source, ids, matrix(table, names), labels, times, parts, said)


def _other_names(key: str | None) -> str:
    """How else columns are named that are not found by themselves."""
    of_ids = "" if key else ', that of the ids by id = "NAME" (id, ids, path and paths are found)'
    return f"{of_ids}; all others are features, unless features = [...] names them"


def first_of(table: Table, names: tuple[str, ...]) -> str | None:
    """The first of these columns that there is."""
    return next((name for name in names if name in table.columns), None)


def ids_of(table: Table, key: str | None) -> tuple[str, ...]:
    """Ids of all rows; their numbers from 1 where there is no column of ids."""
    if key is None:
        return tuple(str(row + 1) for row in range(len(table)))
    column = table.texts(key, "id")
    if column.null_count():
        rows = column.is_null().arg_true()
        raise InputError(
            f"{table.source}: {counted(len(rows), 'item', 'have')} no id (column {key!r}): "
            f"{first_five(table.where(row) for row in rows)}"
        )
    return tuple(column)


def filled(table: Table, name: str, meaning: str, ids: tuple[str, ...]) -> tuple[str, ...]:
    """A column of text without gaps."""
    column = table.texts(name, meaning)
    if column.null_count():
        rows = column.is_null().arg_true()
        raise InputError(
            f"{table.source}: {counted(len(rows), 'item', 'have')} no {meaning} (column {name!r}): "
            f"{first_five(f'{ids[row]} ({table.where(row)})' for row in rows)}; every item of a "
            f"simulated run needs one: fill it in, or leave the item out"
        )
    return tuple(column)


def _feature_names(table: Table, source: Source, used: set[str | None]) -> list[str]:
    """Columns that are features; those of the context belong to them."""
    if source.features:
        return list(dict.fromkeys([*source.features, *source.context]))
    matrices = [name for name in MATRICES if name in table.matrices][:1] or list(table.matrices)
    names = matrices or [name for name in table.columns if name not in used]
    if not names:
        raise InputError(
            f"{table.source}: no features are left beside {', '.join(sorted(filter(None, used)))}; "
            f"{table.listed}"
        )
    return list(dict.fromkeys([*names, *source.context]))


def matrix(table: Table, names: list[str]) -> Floats:
    """Columns and matrices side by side, as finite numbers.

    Returns
    -------
    ndarray of float64, shape (rows, features)

    Raises
    ------
    UsageError
        When one is not there.
    InputError
        When one holds anything but finite numbers; with column and line.
    """
    return np.hstack([_block(table, name) for name in names])


def _block(table: Table, name: str) -> Floats:
    table.require(name, "features")
    if name in table.matrices:
        block = np.asarray(table.matrices[name], np.float64)
    else:
        block = _numbers(table, name)[:, None]
    bad = ~np.isfinite(block)
    if bad.any():
        raise InputError(
            f"{table.source}: {counted(int(bad.sum()), 'value')} of the features that "
            f"{'is' if bad.sum() == 1 else 'are'} missing, NaN or infinite: "
            f"{first_five(_places(table, name, bad))}; fill them in, or name other columns: "
            f"features = [...]"
        )
    return block


def _numbers(table: Table, name: str) -> Floats:
    """A column of features as numbers; where it is none, what else it may be."""
    try:
        return table.numbers(name, "features")
    except InputError as error:
        column = table.frame[name]
        if column.dtype.is_temporal() or (column.dtype == pl.String and _are_dates(column)):
            hint = f'if it says when the items came: time = "{name}"'
        else:
            hint = f'if it names the items: id = "{name}"; if it is what is right: label = "{name}"'
        raise InputError(
            f"{error}; every column that is not named otherwise is taken for a feature: {hint}; "
            f"else name the features under [source], features = [...]; {table.listed}"
        ) from error


def _are_dates(column: pl.Series) -> bool:
    """Whether all of a column of text begins like a date (ISO 8601)."""
    return bool(column.str.contains(r"^\s*\d{4}-\d\d-\d\d").all())


def _places(table: Table, name: str, bad: Array) -> Iterator[str]:
    """Where values are bad."""
    several = bad.shape[1] > 1
    for row, column in np.argwhere(bad):
        of = f"column {column + 1} of {name!r}" if several else f"column {name!r}"
        yield f"{of}, {table.where(int(row))}"


def _times(table: Table, name: str) -> Floats:
    """A column of times in seconds: numbers, or dates and times of day (ISO 8601)."""
    table.require(name, "time")
    if name in table.matrices:
        return table.numbers(name, "time")  # which says why not
    column = table.frame[name]
    if column.dtype == pl.String and _are_dates(column):
        column = column.str.strip_chars().str.to_datetime(strict=False, time_zone="UTC")
    if column.dtype.is_temporal() and column.dtype != pl.Time:
        microseconds = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64)
        values = (microseconds / 1e6).fill_null(float("nan")).to_numpy()
    else:
        values = table.numbers(name, "time")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(
            f"{table.source}: {counted(len(bad), 'item', 'have')} no time (column {name!r}): "
            f"{first_five(table.where(int(row)) for row in bad)}; expected seconds, or ISO 8601"
        )
    return np.asarray(values, np.float64)
