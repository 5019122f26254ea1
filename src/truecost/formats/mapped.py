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


def refuse_repeated_rows(
    table: Table, keys: pl.DataFrame, noun: str, rows: pl.Series | None = None
) -> None:
    """Refuse rows of which all keys are those of another row; names both places of the first.

    Parameters
    ----------
    keys : polars.DataFrame
        What makes two rows the same.
    noun : str
        What a row is, in the singular.
    rows : polars.Series of int, optional
        Row of the table of each row of the keys; all of them in their order when left out.

    Raises
    ------
    InputError
        When there are such rows.
    """
    again = ~keys.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    if not again.any():
        return
    second = int(again.arg_true()[0])
    same = keys.select(pl.all().eq_missing(pl.all().get(second))).select(pl.all_horizontal("*"))
    places = [int(same.to_series().arg_true()[0]), second]
    lines = [table.where(p if rows is None else int(rows[p])) for p in places]
    count = int(again.sum())
    raise InputError(
        f"{table.source}: {counted(count, noun, 'repeat')} another one (same "
        f"{', '.join(keys.columns)}): {'' if count == 1 else 'the first, '}{lines[1]}, repeats "
        f"{lines[0]}: was a file joined to itself? Leave {'it' if count == 1 else 'them'} out, or "
        f"say --allow-duplicates"
    )


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
