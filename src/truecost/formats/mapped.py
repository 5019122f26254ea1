"""Mapped columns of a table: found by their key, refused where a cell is empty or an id repeats."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.table import Table
from truecost.names import COLUMNS


def mapped_column(columns: Mapping[str, str], key: str, table: Table) -> str | None:
    """The column that is mapped to a key, or the one that has its name; None without either."""
    if key in columns:
        return columns[key]
    return next((n for n in COLUMNS.get(key, ()) if n in table.columns), None)


def refuse_repeated(
    source: str,
    ids: pl.Series,
    rule: str = "each trial is scored once",
    where: Callable[[int], str] | None = None,
) -> None:
    """Refuse ids that stand more than once, with the places of their rows where these are told."""
    if ids.n_unique() == len(ids):
        return
    repeated = ids.filter(ids.is_duplicated()).unique().sort()
    stand = counted(len(repeated), "id", "stand")
    shown = repeated if where is None else _placed(ids, repeated, where)
    raise InputError(f"{source}: {stand} more than once: {first_five(shown)}; {rule}")


def _placed(ids: pl.Series, repeated: pl.Series, where: Callable[[int], str]) -> Iterator[str]:
    """Each id with the places of its first two rows."""
    for name in repeated:
        rows = (ids == name).arg_true()
        more = " and more" if len(rows) > 2 else ""
        yield f"{name} ({where(rows[0])}, {where(rows[1])}{more})"


def refuse_rows(
    table: Table,
    bad: npt.NDArray[np.bool_],
    said: tuple[str, str, str],
    ids: npt.NDArray[Any] | None,
    values: npt.NDArray[Any] | None = None,
) -> None:
    """Refuse when any row is bad: how many (noun, verb in the plural and what is wrong), and the
    first five with their lines.
    """
    if not bad.any():
        return
    rows = np.flatnonzero(bad)
    shown = [
        table.where(int(r))
        + (f" ({np.round(values[r], 6)})" if values is not None else "")
        + (f" (id {ids[r]})" if ids is not None else "")
        for r in rows[:6]
    ]
    told = f"{counted(len(rows), *said[:2])} {said[2]}"
    raise InputError(f"{table.source}: {told}: {first_five(shown)}")


def unit_columns(
    table: Table, columns: Mapping[str, str]
) -> dict[str, tuple[npt.NDArray[Any], ...]]:
    """Unit labels of each side, shape (N,), by factor name; InputError when one is empty."""
    units: dict[str, tuple[npt.NDArray[Any], ...]] = {}
    for meaning in ("unit", "unit2"):
        mapped = mapped_column(columns, meaning, table)
        if mapped is None:
            continue
        texts = [filled(table, column, meaning) for column in mapped.split("+")]
        # Numbers only when all sides are: one factor has one kind of label.
        whole = all(is_whole(side) for side in texts)
        units[mapped] = tuple((s.cast(pl.Int64) if whole else s).to_numpy() for s in texts)
    return units


def is_whole(texts: pl.Series) -> bool:
    """Whether every label is a whole number, so that batch 10 comes after batch 9."""
    numbers = texts.cast(pl.Int64, strict=False)
    return numbers.null_count() == 0 and bool((numbers.cast(pl.String) == texts).all())


def optional_texts(table: Table, columns: Mapping[str, str], key: str) -> npt.NDArray[Any] | None:
    """The mapped column of a key as text, if one is mapped."""
    mapped = columns.get(key)
    return None if mapped is None else filled(table, mapped, key).to_numpy()


def filled(table: Table, column: str, meaning: str) -> pl.Series:
    """A column as text, refused when a cell is empty."""
    texts = table.texts(column, meaning)
    if texts.null_count():
        raise InputError(
            f"{table.source}: {counted(texts.null_count(), 'empty cell')} of {meaning} (column "
            f"{column!r}), the first at {table.where(int(texts.is_null().arg_true()[0]))}: fill in "
            f"{'it' if texts.null_count() == 1 else 'all of them'}, or leave such rows out"
        )
    return texts
