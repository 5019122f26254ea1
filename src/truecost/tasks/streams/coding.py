"""Names as codes: few different texts, many rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[Any]
NONE = -1


def texts_of(column: pl.Series) -> list[str]:
    """The different texts of a column, sorted."""
    return sorted(column.drop_nulls().unique().cast(pl.String).to_list())


def code_of(column: pl.Series, codes: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """The code of each text of a column; -1 where there is none.

    Only the different texts are looked at as texts where the column holds categories.
    """
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    found = column.unique().drop_nulls()
    places = found.to_physical().to_numpy().astype(np.int64)
    table = np.full(int(places.max(initial=-1)) + 2, NONE, np.int32)
    table[places] = [codes.get(text, NONE) for text in found.cast(pl.String)]
    physical = column.to_physical().fill_null(len(table) - 1).to_numpy()
    return np.asarray(table[physical])


def numbered(column: pl.Series, unnamed: str) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """The sorted names of a column and the place of each row's; `unnamed` where it has none."""
    names = texts_of(column)
    if not column.null_count():
        return tuple(names), code_of(column, {text: place for place, text in enumerate(names)})
    every = sorted({*names, unnamed})
    codes = code_of(column, {text: place for place, text in enumerate(every)})
    return tuple(every), np.where(codes == NONE, every.index(unnamed), codes).astype(np.int32)


def runs_of(columns: Sequence[Array]) -> tuple[npt.NDArray[np.int64], Array]:
    """Where each stretch of equal rows starts, and the number of its stretch for each row."""
    rows = len(columns[0])
    changes = np.zeros(rows, bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes), np.cumsum(changes) - 1
