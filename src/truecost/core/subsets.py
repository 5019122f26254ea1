"""Subsets: the levels of a column, or a condition on columns."""

import shlex
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError

MOST_LEVELS = 50  # of a column that is asked for as subsets
Masks = list[tuple[str, npt.NDArray[np.bool_]]]


def masks_of(
    frame: pl.DataFrame, subset: str | tuple[str, str], system: str, item: str = "trial"
) -> Masks:
    """Name and rows of each subset that a column or a condition gives.

    Parameters
    ----------
    subset : str or (str, str)
        Name of a column, or an SQL condition on columns; or a name and one of these.
    system, item : str
        For messages: the system, and what a row is.

    Raises
    ------
    UsageError
        When it is neither, or a column with very many levels.
    InputError
        When a condition holds for no trial.
    """
    name, expression = (subset, subset) if isinstance(subset, str) else subset
    column = _unquoted(expression)
    if column in frame.columns:
        return _levels(frame[column], column if name == expression else name, item)
    close = get_close_matches(expression, frame.columns, n=1)
    if close and expression.isidentifier():
        raise UsageError(f"subset {expression!r} is no column: did you mean {close[0]!r}?")
    try:
        seen = typed(frame)
        mask = seen.select(pl.sql_expr(expression)).to_series()
    except pl.exceptions.PolarsError as error:
        raise UsageError(
            f"subset {expression!r} is neither a column nor a condition on columns "
            f"({_why(error)}); the columns are "
            f"{', '.join(frame.columns) or 'none'}; texts stand in single quotes, such as "
            f"noise = 'babble', and names with dots in double ones"
        ) from error
    if mask.dtype != pl.Boolean or len(mask) != frame.height:
        raise UsageError(
            f"subset {expression!r} is no condition that holds or does not hold for each {item}: "
            f"compare columns with values, such as snr < 10"
        )
    chosen = mask.fill_null(False).to_numpy()
    if not chosen.any():
        raise InputError(f"subset {expression!r} holds no {item} of {system}")
    return [(name, chosen)]


def _why(error: pl.exceptions.PolarsError) -> str:
    """What polars says, without the structures of its parser."""
    said = str(error).splitlines()[0].split(";")[0]
    if said.startswith("dot-notation"):
        return "a name with dots is not quoted"
    return said.split(": ")[0] if "span: " in said else said


def _levels(column: pl.Series, name: str, item: str) -> Masks:
    """A subset for each level of a column as it is written; numbers in order of their size."""
    if column.dtype.is_nested():
        raise InputError(
            f"subset {name!r}: the column holds {column.dtype}, not one value a {item}"
        )
    if column.dtype.is_float():
        column = column.fill_nan(None)
    texts = column.cast(pl.String).str.strip_chars()
    texts = texts.set(texts == "", None)
    levels = texts.drop_nulls().unique().sort()
    sizes = levels.cast(pl.Float64, strict=False)
    if sizes.null_count() == 0:
        levels = levels[sizes.arg_sort()]
    if len(levels) > MOST_LEVELS:
        raise UsageError(
            f"subset {name!r} has {len(levels)} levels, more than {MOST_LEVELS}: give conditions, "
            f"such as {_condition(column.name, levels[len(levels) // 2], sizes)}"
        )
    return [(f"{name}={level}", (texts == level).fill_null(False).to_numpy()) for level in levels]


def _unquoted(expression: str) -> str:
    """A column that is quoted as SQL has it, in double quotes, without them."""
    quoted = len(expression) > 2 and expression[0] == expression[-1] == '"'
    return expression[1:-1].replace('""', '"') if quoted else expression


def _condition(column: str, level: str, sizes: pl.Series) -> str:
    """A condition on a column, as a shell takes it: numbers are compared, texts are equal."""
    named = column if column.isidentifier() else '"{}"'.format(column.replace('"', '""'))
    value = f"= {_quoted(level)}" if sizes.null_count() else f"< {level}"
    condition = f"{named} {value}"
    return shlex.quote(condition) if '"' in condition else f'"{condition}"'


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def empty_cells(frame: pl.DataFrame, column: str) -> int:
    """How many rows have nothing in a column (0 when it is no column)."""
    return typed(frame.select(column))[column].null_count() if column in frame.columns else 0


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns as a condition sees them: empty cells and NaN are missing, numbers are numbers.

    A text column whose every filled cell is a number becomes one; whole numbers stay whole.
    """
    columns = []
    for column in frame:
        if column.dtype == pl.String:
            filled = column.set(column.str.strip_chars() == "", None)
            for kind in (pl.Int64, pl.Float64):
                number = filled.str.strip_chars().cast(kind, strict=False)
                if number.null_count() == filled.null_count():
                    filled = number
                    break
            column = filled  # noqa: PLW2901
        columns.append(column.fill_nan(None) if column.dtype.is_float() else column)
    return pl.DataFrame(columns)
