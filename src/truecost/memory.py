"""Data in memory: frames, arrays and mappings of them become tables that stand in for files.

A table is held under a path that no file has; the reader of a study finds it there. Nothing is
written. Copies are allowed; missing values are treated as in a CSV file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError, counted, shown_as
from truecost.formats import Table
from truecost.study.arguments import column_in

MARK = "memory:"  # how the path of a held table begins
WHAT = (
    "a path, a frame (polars, pandas, pyarrow, DuckDB, Hugging Face datasets) or a mapping of "
    "column names to arrays"
)


@dataclass(frozen=True)
class Held:
    """The tables in memory of one call, by the paths that stand for them.

    Attributes
    ----------
    ids : str
        The column by which a task joins rows, where it needs one: tables that lack it have the
        numbers of their rows there, from 1, as texts with one a line have.
    mapped : str
        The column that is named in its place.
    """

    ids: str = ""
    mapped: str = ""
    tables: dict[str, Table] = field(default_factory=dict)

    def add(self, name: str, given: Any, columns: Mapping[str, Any] | None = None) -> str:
        """Hold what was given, with further columns; returns its path.

        Parameters
        ----------
        name : str
            What messages call it.
        columns : mapping of str to array_like, optional
            Further columns, in place of those of the same names.

        Raises
        ------
        InputError
            When it is no table, or its columns have not the same length.
        """
        path = f"{MARK}{name}"
        while path in self.tables:
            path += "'"
        table = table_of(name, given)
        table = with_columns(table, columns) if columns else table
        read = isinstance(given, Table)  # what a reader made knows its ids
        self.tables[path] = table if read or not self.ids else self._identified(table)
        return path

    def _identified(self, table: Table) -> Table:
        """A table of a task that joins by ids: rows correspond by position where it has none."""
        if self.mapped or self.ids in table.columns:
            return replace(table, ordered=False)
        ids = pl.Series(self.ids, range(1, len(table) + 1)).cast(pl.String)
        return replace(table, frame=table.frame.with_columns(ids), ordered=True)


def is_path(given: Any) -> bool:
    """Whether something is the path of a file."""
    return isinstance(given, str | Path)


def is_frame(given: Any) -> bool:
    """Whether something has named columns, other than a mapping."""
    if isinstance(given, Table | pl.LazyFrame) or _names_of_array(given):
        return True
    if any(hasattr(given, name) for name in ("columns", "column_names")):
        return True
    stream = hasattr(given, "__arrow_c_stream__")  # a column has one too, and a length
    return stream and (hasattr(given, "schema") or not hasattr(given, "__len__"))


def is_table(given: Any) -> bool:
    """Whether something is a table as a whole: a frame, or a mapping of columns."""
    return is_frame(given) or isinstance(given, Mapping)


def table_of(name: str, given: Any) -> Table:
    """A table from what is in memory.

    Parameters
    ----------
    name : str
        What messages call it.

    Returns
    -------
    Table
        Rows of two such tables correspond by position.

    Raises
    ------
    InputError
        When it is no table, or its columns have not the same length.
    """
    if isinstance(given, Table):
        return given
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return Table(name, given, ordered=True)
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # pandas, with or without pyarrow
        heads = [*map(str, given.columns)]
        if repeated := {head for head in heads if heads.count(head) > 1}:
            raise InputError(f"{name}: column names repeat ({', '.join(sorted(repeated))})")
        table = of_columns(name, {str(key): given[key] for key in given.columns})
        floats = pl.selectors.float()  # pandas has NaN where a file has an empty cell
        return replace(table, frame=table.frame.with_columns(floats.fill_nan(None)))
    if names := _names_of_array(given):
        return of_columns(name, {key: given[key] for key in names})
    if isinstance(given, Mapping):
        return of_columns(name, given)
    if hasattr(given, "to_polars"):  # Hugging Face: its Arrow table ignores a selection
        return Table(name, _named_classes(given.to_polars(), given), ordered=True)
    if hasattr(given, "__arrow_c_stream__") and is_frame(given):
        return Table(name, pl.DataFrame(given), ordered=True)
    raise InputError(f"{name} is {shown_as(given)}: give {WHAT}")


def of_columns(name: str, columns: Mapping[Any, Any]) -> Table:
    """A table of columns: arrays of one dimension, or matrices of numbers."""
    flat: dict[str, pl.Series] = {}
    matrices: dict[str, Any] = {}
    for key, given in columns.items():
        values = plain(given)
        array = np.asarray(values) if _is_matrix(values) else None
        if array is None:
            flat[str(key)] = column_in(f"{name}[{key!r}]", values)
        else:
            matrices[str(key)] = array
    sizes = {key: len(values) for key, values in (*flat.items(), *matrices.items())}
    if len({*sizes.values()}) > 1:
        said = ", ".join(f"{key} {size}" for key, size in sizes.items())
        raise InputError(f"{name} has columns of several lengths: {said}")
    return Table(name, pl.DataFrame(flat), matrices, ordered=True)


def with_columns(table: Table, columns: Mapping[str, Any]) -> Table:
    """A table with further columns, in place of those of the same names.

    Raises
    ------
    InputError
        When one has not a value for each row.
    """
    more = of_columns(table.source, columns)
    if not table.columns:
        return more
    size = len(next(iter(table.matrices.values()))) if table.matrices else len(table)
    for key in more.columns:
        found = len(more.matrices[key] if key in more.matrices else more.frame[key])
        if found != size:
            raise InputError(
                f"{key} has {counted(found, 'value')}, but {table.source} has "
                f"{counted(size, 'row')}: give one for each; columns are named in a tuple"
            )
    frame = table.frame.drop([key for key in more.columns if key in table.frame.columns])
    kept = {key: of for key, of in table.matrices.items() if key not in more.columns}
    joined = pl.concat([frame, more.frame], how="horizontal")
    return replace(table, frame=joined, matrices={**kept, **more.matrices})


def plain(given: Any) -> Any:
    """An array as numpy or polars has it: a tensor leaves its graph and its device, as double."""
    if not hasattr(given, "detach"):
        return given
    tensor = given.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def _is_matrix(values: Any) -> bool:
    """Whether values have two dimensions, as scores of several classes have."""
    if isinstance(values, list | tuple):
        return bool(values) and isinstance(values[0], list | tuple | np.ndarray)
    return getattr(values, "ndim", 1) > 1


def _names_of_array(given: Any) -> tuple[str, ...]:
    """The fields of a structured array of numpy; none of anything else."""
    names: tuple[str, ...] = getattr(getattr(given, "dtype", None), "names", None) or ()
    return names if isinstance(given, np.ndarray) else ()


def _named_classes(frame: pl.DataFrame, dataset: Any) -> pl.DataFrame:
    """Columns of class numbers (ClassLabel of Hugging Face) with the names of the classes."""
    features: Any = getattr(dataset, "features", None) or {}
    for key, feature in features.items():
        names = getattr(feature, "names", None)
        if names and key in frame.columns and frame[key].dtype.is_integer():
            found = pl.Series([*names], dtype=pl.String).gather(frame[key].cast(pl.Int64))
            frame = frame.with_columns(found.alias(key))
    return frame
