"""Columns with several values in a cell, and values from several columns: a list of scores in each
row, an id made of several columns, or the name of a file without its folders.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.table import Table, filled, refuse_values
from truecost.names import full_name

JOINED = "+"  # between columns, and between their values
STEM = ":stem"  # behind a column of paths: the names of the files alone
FOLDERS, ENDING = r"^.*[/\\]", r"\.[A-Za-z][A-Za-z0-9]{2,4}$"  # what a path has beside the name


def matrix_of(table: Table, name: str) -> npt.NDArray[Any] | None:
    """The numbers of a column with several in each row, shape (rows, numbers): an array, or lists
    of one length. NaN where a number or a whole list is missing; None for any other column.
    """
    if name in table.matrices:
        return table.matrices[name]
    if name not in table.frame.columns:
        return None
    column = table.frame[name]
    inner = getattr(column.dtype, "inner", None)
    if inner is None or not (inner.is_numeric() or inner == pl.Null):
        return None
    lists = column.cast(pl.List(pl.Float64))
    lengths = lists.list.len()
    width = int(lengths.drop_nulls().mode().max() or 0)  # type: ignore[arg-type]
    other = lengths.is_not_null() & (lengths != width)
    fault = f"another length than {width} (column {name!r})"
    advice = "; each row needs one number for each class"
    shown = lambda row: counted(lengths[row], "number")  # noqa: E731
    refuse_values(table, other, "list", fault, shown, advice, "have")
    if not width:
        raise InputError(f"{table.source}: the lists of column {name!r} contain no numbers")
    empty = pl.Series([[None] * width], dtype=pl.List(pl.Float64))
    whole = lists.zip_with(lists.is_not_null(), empty) if lists.null_count() else lists
    flat = whole.explode().fill_null(float("nan")).to_numpy()
    return np.asarray(flat.reshape(len(table), width))


def listed_cells(values: Any) -> pl.Series | None:
    """A column of pandas whose cells are lists or structures; None for anything else."""
    if not hasattr(values, "iloc") or str(getattr(values, "dtype", "")) != "object":
        return None
    first = next((one for one in values if one is not None and not isinstance(one, float)), None)
    if not isinstance(first, list | tuple | np.ndarray | Mapping):
        return None
    cells = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in values]
    try:
        return pl.Series([cell if hasattr(cell, "__len__") else None for cell in cells])
    except (TypeError, pl.exceptions.PolarsError):
        return None


def unnested(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose structures are replaced by a column for each field, named with a point:
    `metric.acc`.

    A structure stays where a column of that name exists already.
    """
    if not any(isinstance(kind, pl.Struct) for kind in frame.dtypes):
        return frame
    columns: list[pl.Series] = []
    for column in frame.get_columns():
        if isinstance(column.dtype, pl.Struct) and column.dtype.fields:
            fields = unnested(column.struct.unnest())
            fields = fields.rename({field: f"{column.name}.{field}" for field in fields.columns})
            if {*fields.columns}.isdisjoint(frame.columns):
                columns += fields.get_columns()
                continue
        columns.append(column)
    return pl.DataFrame({column.name: column for column in columns})


def resolved(columns: Mapping[str, str], table: Table) -> dict[str, str]:
    """Mapped columns by their full names: the end of a name is enough where one column has it.

    UsageError where several columns have it.
    """
    found = {}
    for key, column in columns.items():
        parts = [full_name(part, table.columns) or part for part in column.split(JOINED)]
        if key == "score":
            parts = [name for part in parts for name in fitting(part, table.columns)]
        found[key] = column if column in table.columns else JOINED.join(parts)
    return found


def fitting(pattern: str, columns: Sequence[str]) -> Sequence[str]:
    """The columns that match a pattern with `*`, in their order; another text as one name."""
    known = pattern in columns or "*" not in pattern
    return [pattern] if known else [n for n in columns if fnmatchcase(n, pattern)] or [pattern]


def identified(table: Table, columns: Mapping[str, str], key: str = "id") -> Table:
    """A table with an id column from several columns, `id=doc_id+prompt_id`, or from the names of
    files without folders and ending, `id=audio_filepath:stem`.

    Raises
    ------
    InputError
        When a value is empty, or two ids are the same text.
    """
    joined = columns.get(key, "")
    names = joined.split(JOINED)
    if joined in table.columns or not (len(names) > 1 or joined.endswith(STEM)):
        return table
    plain = [name.removesuffix(STEM) for name in names]
    parts = pl.DataFrame([filled(table, name, key).alias(str(k)) for k, name in enumerate(plain)])
    stems = [_stem(str(k)) for k, name in enumerate(names) if name.endswith(STEM)]
    ids = parts.with_columns(stems).select(pl.concat_str(pl.all(), separator=JOINED).alias(joined))
    if ids.n_unique() != parts.n_unique():
        why = f"{', '.join(plain)} are joined by {JOINED}, which occurs in their values"
        why = f"folders and endings of {plain[0]} are left out" if stems else why
        raise InputError(
            f"{table.source}: two rows get the same id when {why}: write the ids into a column of "
            f"their own"
        )
    return replace(table, frame=table.frame.hstack(ids))


def _stem(column: str) -> pl.Expr:
    """Names of files without folders and ending, from a column of paths."""
    return pl.col(column).str.replace(FOLDERS, "").str.replace(ENDING, "")


def stem_hint(
    here: Collection[str], there: Collection[str], columns: Mapping[str, str], key: str = "id"
) -> str:
    """A hint for two files whose ids do not match although their file names do, or which differ in
    capital letters only; otherwise empty.
    """
    small, other = ({str(name).casefold() for name in ids} for ids in (here, there))
    if 2 * len(small & other) >= max(min(len(small), len(other)), 1):
        return "; ids that differ in capital letters only are different ids: write them alike"
    sides = (pl.DataFrame({key: [*ids]}, {key: pl.String}).drop_nulls() for ids in (here, there))
    left, right = ({*side.select(_stem(key)).to_series()} for side in sides)
    if len(left) < len({*here} - {None}) or len(right) < len({*there} - {None}):
        return ""  # several ids would become one
    if 2 * len(left & right) < max(min(len(left), len(right)), 1):
        return ""
    column = columns.get(key, key)
    return f"; without folders and endings of files they match: --map {key}={column}{STEM}"


def without_prefix(columns: tuple[str, ...], present: Sequence[str]) -> tuple[str, ...]:
    """Class names from columns of scores. A common prefix (`p_cat`, `p_dog`) is removed if each
    label is then a class, and no label was one before.
    """
    letters = zip(*columns, strict=False)
    shared = len([*takewhile(lambda at: len({*at}) == 1, letters)])
    ends = (tuple(name[k:] for name in columns) for k in range(shared, 0, -1))
    if not {*present} & {*columns}:
        return next((rest for rest in ends if {*present} <= {*rest} - {""}), columns)
    return columns
