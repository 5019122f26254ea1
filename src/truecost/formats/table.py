"""Columns as they were read, before anyone says what they mean."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.names import NO_NUMBER, ScoreType

_OF_OPTIONS = ("condition", "audio", "feature")  # columns that an option names, not a map
WITHOUT_TEXT = (pl.Binary, pl.Object, pl.Duration)  # besides lists and structures


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length from one source.

    Attributes
    ----------
    source : str
        File name for messages.
    frame : polars.DataFrame
        One-dimensional columns.
    matrices : mapping of str to ndarray
        Two-dimensional columns (arrays only).
    first_line : int
        Line number of the first row in the file, or -1 when rows have no lines.
    lines : ndarray of int64, shape (rows,), optional
        Line number of each row, for formats in which other lines stand between rows.
    files : sequence of (int, str)
        Of a folder that is read as one file: the first row of each file, and its name.
    noun : str
        What is numbered in messages: lines, or objects of a list.
    ordered : bool
        Whether rows of two tables of this format correspond by position (arrays).
    format : str
        Name of the format that it was read as, `trn` say; empty for tables that were made.
    layout : str
        What was decided from the content, such as "wespeaker: enroll test score label"; empty
        when the file's ending said it.
    kind : str, optional
        What the scores are ("llr", say), for formats that state it.
    ids : str
        Column that names rows in messages where there are no lines (after a join); empty for none.
    mapped_by : str
        The option that maps its columns, for messages.
    """

    source: str
    frame: pl.DataFrame
    matrices: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    first_line: int = -1
    lines: npt.NDArray[np.int64] | None = None
    files: Sequence[tuple[int, str]] = ()
    noun: str = "line"
    ordered: bool = False
    format: str = ""
    layout: str = ""
    kind: ScoreType | None = None
    ids: str = ""
    mapped_by: str = "--map"

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [*self.frame.columns, *self.matrices]

    @property
    def in_memory(self) -> bool:
        """Whether it is of arrays, and of no file."""
        return self.ordered and not self.format

    @property
    def listed(self) -> str:
        """The columns there are, for messages, and how they were read."""
        read = f" (read as {self.layout})" if self.layout else ""
        return f"the columns are {', '.join(self.columns)}{read}"

    def where(self, row: int) -> str:
        """How a row (from 0) is named in messages: by its line in the file, or by its id."""
        if self.lines is not None:
            at = bisect_right(self.files, row, key=lambda file: file[0])
            file = f"{self.files[at - 1][1]}, " if at else ""
            return f"{file}{self.noun} {self.lines[row]}"
        if self.first_line >= 0:
            return f"{self.noun} {row + self.first_line}"
        return f"id {self.frame[self.ids][row]}" if self.ids else f"row {row}"

    def require(self, name: str, meaning: str) -> None:
        """Refuse when a column is missing, naming those there are.

        Parameters
        ----------
        name : str
            The column.
        meaning : str
            What it is mapped to, such as "score".

        Raises
        ------
        UsageError
            When there is no such column.
        """
        if name in self.columns:
            return
        raise UsageError(
            f"{self.source}: there is no column {name!r} for the "
            f"{meaning}{near(name, self.columns)}; "
            f"{self.listed}: "
            + (
                "name one of these"
                if meaning in _OF_OPTIONS or " " in meaning
                else f"map one with {self.mapped_by} {meaning}=COLUMN"
            )
        )

    def numbers(self, name: str, meaning: str) -> npt.NDArray[np.float64]:
        """A column as numbers.

        Parameters
        ----------
        name : str
            The column.
        meaning : str
            What it is mapped to, such as "score".

        Returns
        -------
        ndarray of float64, shape (rows,)
            NaN where it is empty or says NA, NaN, null or none.

        Raises
        ------
        UsageError
            When there is no such column.
        InputError
            When it is a matrix or holds anything else; with the first five lines.
        """
        self.require(name, meaning)
        if name in self.matrices:
            raise InputError(
                f"{self.source}: column {name!r} is a matrix; the {meaning} needs one number a row"
            )
        column = self.frame[name]
        if column.dtype == pl.String:
            stripped = column.str.strip_chars()
            parsed = stripped.cast(pl.Float64, strict=False)
            bad = (
                parsed.is_null()
                & stripped.is_not_null()
                & (stripped != "")
                & ~stripped.str.to_lowercase().is_in(list(NO_NUMBER))
            )
            if bad.any():
                rows = bad.arg_true().head(6)
                examples = first_five(f"{column[r]!r} at {self.where(r)}" for r in rows)
                raise InputError(
                    f"{self.source}: {counted(int(bad.sum()), 'value')} of the {meaning} (column "
                    f"{name!r}) where numbers were expected: {examples}"
                    + (" (a decimal comma? write a point)" if _commas(column[rows]) else "")
                )
            column = parsed
        elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            raise InputError(
                f"{self.source}: the {meaning} (column {name!r}) is of type "
                f"{column.dtype}; numbers were expected"
            )
        return column.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)

    def texts(self, name: str, meaning: str) -> pl.Series:
        """A column as text; whole numbers are written without a point, truth values as 1 and 0.

        Parameters
        ----------
        name : str
            The column.
        meaning : str
            What it is mapped to, such as "label".

        Returns
        -------
        polars.Series of str, length rows
            Null where it is empty.

        Raises
        ------
        UsageError
            When there is no such column.
        """
        self.require(name, meaning)
        kind = None if name in self.matrices else self.frame[name].dtype
        if kind is None or kind.is_nested() or kind in WITHOUT_TEXT:
            raise InputError(
                f"{self.source}: the {meaning} (column {name!r}) needs one text or number a row"
                + (f"; it holds {kind}" if kind else "")
            )
        column = self.frame[name]
        if column.dtype.is_float():
            column = column.fill_nan(None)
            whole = (column == column.round()) & (column.abs() < 2.0**53)
            if bool((column.is_null() | whole).all()):
                column = column.cast(pl.Int64)
        if column.dtype == pl.Boolean:
            column = column.cast(pl.Int8)
        text = column.cast(pl.String).str.strip_chars()
        return text.set(text == "", None)


def _commas(bad: pl.Series) -> bool:
    """Whether bad numbers look like numbers with a decimal comma."""
    return bool(bad.head(5).str.contains(r"^\s*-?\d+,\d+\s*$").all())
