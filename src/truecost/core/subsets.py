"""Subsets, the levels of a column or a condition, and folds that keep together what belongs
together.

A unit (a speaker, a session) lies in one fold as a whole, so that nothing is fitted on a unit and
judged on it too.
"""

import shlex
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five

Ints = npt.NDArray[np.int64]


def folds(
    units: npt.ArrayLike, k: int = 5, seed: int = 0, labels: npt.ArrayLike | None = None
) -> Ints:
    """The fold of each trial: units whole, folds balanced and stratified as far as units allow.

    The largest units are dealt first, those of equal size in an order drawn by the seed over the
    sorted unit labels. Each goes to the fold f where sum_c (n_fc / n_c)^2 grows least, of equal
    ones to the one with the fewest trials: n_fc is the number of trials of class c in the fold,
    n_c that of all. When every trial is a unit, the counts of a class differ by at most one.

    Parameters
    ----------
    units : array_like, shape (N,)
        Unit of each trial: text or numbers.
    k : int
        Number of folds, at least 2.
    seed : int
        Of the order in which equal units are dealt, from 0 up.
    labels : array_like, shape (N,), optional
        Class of each trial; one class when left out.

    Returns
    -------
    ndarray of int64, shape (N,)
        0 to k - 1. It does not depend on the order of the trials.

    Raises
    ------
    UsageError
        When there are fewer than 2 folds, or the seed is below 0.
    InputError
        When there are fewer units than folds, or the lengths differ.

    Examples
    --------
    >>> from truecost.core.subsets import folds
    >>> folds(["ann", "bob", "ann", "cem", "dan"], k=2).tolist()
    [0, 0, 0, 1, 1]
    """
    names, codes = encode(units)
    classes = np.zeros(len(codes), np.int32) if labels is None else encode(labels)[1]
    if len(classes) != len(codes):
        raise InputError(
            f"{counted(len(codes), 'unit')} for {counted(len(classes), 'label')}: each trial needs "
            f"both"
        )
    width = int(classes.max(initial=0)) + 1
    sizes = np.bincount(codes.astype(np.int64) * width + classes, minlength=len(names) * width)
    return deal_units(sizes.reshape(len(names), width), k, seed)[codes]


def deal_units(sizes: Ints, k: int, seed: int) -> Ints:
    """The fold of each unit, from its number of trials of each class.

    Parameters
    ----------
    sizes : ndarray of int64, shape (units, classes)
        In sorted order of the units.
    k, seed : int
        As in `folds`.

    Returns
    -------
    ndarray of int64, shape (units,)
    """
    from truecost.kernels.dealing import deal

    if k < 2:
        raise UsageError(f"{counted(k, 'fold')}: at least 2 are needed")
    if seed < 0:
        raise UsageError(f"seed is {seed}: it must be a whole number from 0 up")
    units = len(sizes)
    if units < k:
        raise InputError(
            f"{counted(units, 'unit')} for {k} folds: a unit lies in one fold "
            f"as a whole; use fewer folds, or other data to train on"
        )
    drawn = np.random.Generator(np.random.Philox(seed)).permutation(units)
    order = drawn[np.argsort(-sizes.sum(axis=1)[drawn], kind="stable")]
    held = np.asarray(sizes, np.int64)
    which, cells = np.nonzero(held)
    starts = np.searchsorted(which, np.arange(units + 1))
    out = np.empty(units, np.int64)
    alike = np.ones(held.shape[1]), np.full(k, 1 / k)
    deal(starts, cells, held[which, cells], order.astype(np.int64), *alike, out)
    return out


def shared_units(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[int, str]:
    """How many labels stand in both columns, and the first five.

    Parameters
    ----------
    one, other : ndarray
        Labels; numbers and text are compared as text.
    """
    both = np.intersect1d(np.unique(one.astype(str)), np.unique(other.astype(str)))
    return len(both), first_five(both)


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
