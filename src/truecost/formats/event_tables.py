"""Event logs as tables: Parquet, CSV and TSV."""

import polars as pl

from truecost.errors import InputError
from truecost.formats.event_rows import WORDS, unknown_word
from truecost.formats.table import Table

NOT_SAID = ("", "na", "null", "none")  # in lower case: cells of numbers that are empty


def events_of(table: Table) -> pl.DataFrame:
    """The columns of `events.SCHEMA` of a table.

    Raises
    ------
    InputError
        When a cell is not what its column should hold; with the line.
    """
    from truecost.formats.events import SCHEMA

    return pl.DataFrame([_column(table, name, kind) for name, (kind, _) in SCHEMA.items()])


def _column(table: Table, name: str, kind: pl.DataType) -> pl.Series:
    """One column of the schema; null where the table has none."""
    if name not in table.columns:
        return pl.repeat(None, len(table), dtype=kind, eager=True).alias(name)
    column = table.frame[name]
    if column.dtype == kind or (kind == pl.String and column.dtype == pl.Categorical):
        return column
    if name in WORDS:
        return _words(table, name, kind)
    if kind.is_numeric():
        numbers = _numbers(table, name)
        return _whole(table, numbers) if kind == pl.Int64 else numbers
    return _texts(table, name)


def _texts(table: Table, name: str) -> pl.Series:
    kind = table.frame[name].dtype
    if kind in (pl.Categorical, pl.Enum):
        return table.frame[name].cast(pl.String)
    return table.texts(name, name)


def _words(table: Table, name: str, kind: pl.DataType) -> pl.Series:
    """A column of a few words."""
    texts = _texts(table, name)
    wrong = texts.is_not_null() & ~texts.is_in(list(WORDS[name]))
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InputError(f"{table.source}, {_where(table, row)}: {unknown_word(name, texts[row])}")
    return texts.cast(kind)


def _numbers(table: Table, name: str) -> pl.Series:
    """A column of numbers; null where nothing is said, NaN where that is said."""
    column = table.frame[name]
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    values = pl.Series(name, table.numbers(name, name))
    if column.dtype != pl.String:
        return values
    empty = column.is_null() | column.str.strip_chars().str.to_lowercase().is_in(list(NOT_SAID))
    return values.set(empty, None)


def _whole(table: Table, numbers: pl.Series) -> pl.Series:
    """Whole numbers; NaN says nothing, as where a table has no empty cells for whole numbers."""
    values = numbers.fill_nan(None)
    wrong = (values != values.round()) | (values.abs() >= 2.0**53)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InputError(
            f"{table.source}, {_where(table, row)}: the {numbers.name} is {numbers[row]:g}; a "
            f"whole number was expected"
        )
    return values.cast(pl.Int64)


def _where(table: Table, row: int) -> str:
    return f"line {row + table.first_line}" if table.first_line >= 0 else f"row {row + 1}"
