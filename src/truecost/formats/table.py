"""`Table`: columns as they were read, which a task reads as texts, numbers or times."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, near, the_columns
from truecost.names import COLUMNS, LARGEST, NO_NUMBER, ScoreType, without_header

UNITS = ("unit", "unit2")  # keys of what is resampled, which may stand in metadata too
_OF_OPTIONS = ("condition", "audio", "feature")  # columns that an option names, not a map
WITHOUT_TEXT = (pl.Binary, pl.Object, pl.Duration)  # besides lists and structures
Way = Literal["number", "date"]
DAY = 86400.0  # seconds


@dataclass(frozen=True, eq=False)
class Table:
    """Table: named columns of equal length from one source.

    Attributes
    ----------
    source : str
        Name of the file or other source, for messages.
    frame : polars.DataFrame
        One-dimensional columns.
    matrices : mapping of str to ndarray
        Two-dimensional columns (only for arrays).
    first_line : int
        Line number of the first row in the file; -1 if rows have no lines.
    lines : ndarray of int64, shape (rows,), optional
        Line number of each row, for formats with other lines between rows.
    files : sequence of (int, str)
        For a folder that is read as one file: index of the first row and name of each file.
    noun : str
        Name of the numbered parts in messages, such as `line` or `object`.
    ordered : bool
        Whether rows of two tables in this format correspond by position (arrays).
    format : str
        Name of the format of the file, such as `trn`; empty for other tables.
    layout : str
        Layout that was recognised from the content, such as "wespeaker: enroll test score label";
        empty if the extension of the file determines it.
    kind : str, optional
        Type of the scores, such as "llr", for formats that state it.
    ids : str
        Column whose values name the rows in messages if rows have no lines; empty for none.
    mapped_by : str
        Option that maps columns, for messages; empty if each column has its own option.
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
        """Whether the table contains arrays of the caller, not the content of a file."""
        return self.ordered and not self.format

    @property
    def listed(self) -> str:
        """List of the columns for messages, and how the file was read."""
        return the_columns(self.columns) + f" (read as {self.layout})" * bool(self.layout)

    @property
    def headless(self) -> str:
        """First words of a message on a missing column if the file has no header; else empty."""
        return "" if self.in_memory else without_header(self.columns)

    def where(self, row: int) -> str:
        """Name for messages of the row at an index (from 0): its line in the file, or its id."""
        if self.lines is not None:
            at = bisect_right(self.files, row, key=lambda file: file[0])
            file = f"{self.files[at - 1][1]}, " if at else ""
            return f"{file}{self.noun} {self.lines[row]}"
        if self.first_line >= 0:
            return f"{self.noun} {row + self.first_line}"
        return f"id {self.frame[self.ids][row]}" if self.ids else f"row {row}"

    @property
    def places(self) -> tuple[str, npt.NDArray[np.int64]]:
        """The noun of a row in messages, such as `line`, and the number of each row in the file."""
        if self.lines is not None:
            return self.noun, self.lines
        rows = np.arange(len(self), dtype=np.int64)
        return (self.noun, rows + self.first_line) if self.first_line >= 0 else ("row", rows)

    def require(self, name: str, meaning: str) -> None:
        """Raise UsageError if a column is missing; the message lists the existing ones.

        Parameters
        ----------
        name, meaning : str
            Name of the column, and its key, such as "score".
        """
        if name in self.columns:
            return
        joined = [name.replace(",", "+")] * ({*name.split(",")} <= {*self.columns})
        how = f"map one with {self.mapped_by} {meaning}=COLUMN"
        how += ", or join it with --metadata FILE (utt2spk, or a table)" * (meaning in UNITS)
        if not self.mapped_by:
            how = f"name one of these with --{meaning}"
        elif meaning in _OF_OPTIONS or " " in meaning:
            how = "name one of these"
        raise UsageError(
            f"{self.source}: {self.headless}there is no column {name!r} for the "
            f"{meaning}{near(name, joined or self.columns)}; {self.listed}: {how}"
        )

    def numbers(self, name: str, meaning: str) -> npt.NDArray[np.float64]:
        """Convert a column to numbers.

        Parameters
        ----------
        name, meaning : str
            Name of the column, and its key for messages, such as "score".

        Returns
        -------
        ndarray of float64, shape (rows,)
            Numbers; NaN for an empty cell, NA, NaN, null or none.

        Raises
        ------
        UsageError
            If the column does not exist.
        InputError
            If the column is a matrix, or contains other text or absolute values above 1e70.
        """
        self.require(name, meaning)
        if name in self.matrices:
            raise InputError(
                f"{self.source}: column {name!r} is a matrix; the {meaning} needs a number per row"
            )
        column = self.frame[name]
        if column.dtype == pl.String:
            stripped = column.str.strip_chars()
            parsed = stripped.cast(pl.Float64, strict=False)
            none = stripped.fill_null("").str.to_lowercase().is_in(["", *NO_NUMBER])
            bad = parsed.is_null() & ~none
            said = "is not a number" if bad.sum() == 1 else "are not numbers"
            fault = f"of the {meaning} (column {name!r}) {said}"
            first = column.filter(bad).head(5).str
            hint = " (a decimal comma? write a point)" * first.contains(r"^\s*-?\d+,\d+\s*$").all()
            hint = hint or " (percent? write 5% as 0.05)" * first.contains(r"^[\s\d.]+%\s*$").all()
            refuse_values(self, bad, "value", fault, lambda r: repr(column[r]), hint)
            column = parsed
        elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            raise InputError(
                f"{self.source}: the {meaning} (column {name!r}) is of type "
                f"{column.dtype}; numbers were expected"
            )
        found = column.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
        large = np.isfinite(found) & (np.abs(found) > LARGEST)
        fault = f"of the {meaning} (column {name!r}) beyond {LARGEST:g}, the largest that is read"
        refuse_values(self, large, "value", fault, lambda r: f"{found[r]:g}")
        return found

    def texts(self, name: str, meaning: str) -> pl.Series:
        """Convert a column to text: whole numbers without a point, truth values as 1 and 0.

        Parameters
        ----------
        name, meaning : str
            Name of the column, and its key for messages, such as "label".

        Returns
        -------
        polars.Series of str, length rows
            Texts; null for an empty cell.

        Raises
        ------
        UsageError, InputError
            If the column does not exist (UsageError) or contains lists or a matrix (InputError).
        """
        self.require(name, meaning)
        kind = None if name in self.matrices else self.frame[name].dtype
        if kind is None or kind.is_nested() or kind in WITHOUT_TEXT:
            raise InputError(
                f"{self.source}: the {meaning} (column {name!r}) needs one text or number per row"
                + (f", not {kind}" if kind else "")
            )
        column = self.frame[name]
        if column.dtype.is_float():
            column = column.fill_nan(None)
            whole = (column == column.round()) & (column.abs() < 2.0**53)
            if bool((column.is_null() | whole).all()):
                column = column.cast(pl.Int64)
        text = (column.cast(pl.Int8) if column.dtype == pl.Boolean else column).cast(pl.String)
        bare = (stripped := text.str.strip_chars()).set(stripped == "", None)
        return text if text.equals(bare) else bare  # no copy of a column that stays as it is


class Placed(Protocol):
    """Rows of a source with names for messages."""

    @property
    def source(self) -> str:
        """The source of the rows, for messages."""

    def where(self, row: int) -> str:
        """The name of a row (from 0)."""


def examples_of(table: Placed, rows: npt.NDArray[np.int64], value: Callable[[int], object]) -> str:
    """Up to five rows for messages: value and place of each."""
    return first_five(f"{value(r)} at {table.where(r)}" for r in rows[:6].tolist())


def refuse_values(
    table: Placed,
    wrong: npt.NDArray[np.bool_] | pl.Series,
    noun: str,
    fault: str,
    value: Callable[[int], object],
    advice: str = "",
    verb: str = "",
) -> None:
    """Refuse wrong rows: InputError with their number, their fault, five of them, and advice."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        found = f"{counted(len(rows), noun, verb)} {fault}"
        raise InputError(f"{table.source}: {found}: {examples_of(table, rows, value)}{advice}")


def mapped_column(columns: Mapping[str, str], key: str, table: Table) -> str | None:
    """The column mapped to a key, otherwise the column with its name; None without either."""
    return columns.get(key) or next((n for n in COLUMNS.get(key, ()) if n in table.columns), None)


def refuse_repeated(
    source: str,
    ids: pl.Series,
    rule: str = "each trial has one row: keep one of them",
    where: Callable[[int], str] | None = None,
    mapped: bool = True,  # by --map id=COLUMN
) -> None:
    """Refuse ids that occur more than once, with the places of their rows where these are known."""
    hashes = np.sort(ids.hash(seed=0).to_numpy())  # as many hashes are as many ids: most often
    if not (hashes[1:] == hashes[:-1]).any() or ids.n_unique() == len(ids):
        return
    repeated = ids.filter(ids.is_duplicated()).unique().sort()
    occur = counted(len(repeated), "id", "occur")
    shown = repeated if where is None else _placed(ids, repeated, where)
    if mapped and len(ids) >= 3 * (distinct := ids.n_unique()):
        rule = f"{rule.partition(':')[0]}, but {len(ids)} rows have {counted(distinct, 'id')}: if "
        rule += "these are units, such as speakers, name another column with --map id=COLUMN"
    raise InputError(f"{source}: {occur} more than once: {first_five(shown)}; {rule}")


def refuse_repeated_rows(
    table: Table, keys: pl.DataFrame, noun: str, rows: pl.Series | None = None
) -> None:
    """Refuse rows with the same keys as another row, with both places of the first such pair.

    `noun`: noun for a row; `rows`: rows of the table to which the keys belong. Default: all rows.
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
        f"{table.source}: {counted(count, noun, 'repeat')} another one (equal "
        f"{', '.join(keys.columns)}): {'' if count == 1 else 'the first, '}{lines[1]}, repeats "
        f"{lines[0]}: was a file joined to itself? Leave {'it' if count == 1 else 'them'} out, or "
        f"use --allow-duplicates"
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
    """Refuse bad rows: their number (noun, verb in the plural, fault), and the first five with
    their lines.
    """
    if not bad.any():
        return
    rows = np.flatnonzero(bad)
    shown = [
        table.where(int(r))
        + (f" ({values[r]:.12g})" if values is not None else "")
        + (f" (id {ids[r]})" if ids is not None else "")
        for r in rows[:6]
    ]
    fault = f"{counted(len(rows), *said[:2])} {said[2]}"
    raise InputError(f"{table.source}: {fault}: {first_five(shown)}")


def unit_columns(
    table: Table, columns: Mapping[str, str]
) -> dict[str, tuple[npt.NDArray[Any], ...]]:
    """Unit labels of each side, shape (N,), by factor name; InputError for an empty cell."""
    units: dict[str, tuple[npt.NDArray[Any], ...]] = {}
    for meaning in UNITS:
        if (mapped := mapped_column(columns, meaning, table)) is None:
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
    """The column mapped to a key as text; None without one."""
    return filled(table, columns[key], key).to_numpy() if columns.get(key) else None


def filled(table: Table, column: str, meaning: str) -> pl.Series:
    """A column as text; an empty cell is refused."""
    texts = table.texts(column, meaning)
    if texts.null_count():
        raise InputError(
            f"{table.source}: {counted(texts.null_count(), 'empty cell')} of {meaning} (column "
            f"{column!r}), the first at {table.where(int(texts.is_null().arg_true()[0]))}: fill in "
            f"{'it' if texts.null_count() == 1 else 'all of them'}, or leave such rows out"
        )
    return texts


def place_of(text: str) -> tuple[Way, float] | None:
    """The form of a time, number or date, and its number; None for any other text.

    Returns
    -------
    (str, float) or None
        Dates as days since 1970-01-01, in UTC where they have a zone. 2026-03 is its first day.

    Examples
    --------
    >>> from truecost.formats.table import place_of
    >>> place_of("2.5"), place_of("1970-01-02T12:00"), place_of("spring")
    (('number', 2.5), ('date', 1.5), None)
    """
    try:
        number = float(text)
    except ValueError:
        return _date(text)
    return ("number", number) if math.isfinite(number) else None


def _date(text: str) -> tuple[Way, float] | None:
    """A date as a number of days."""
    year, mark, month = text.partition("-")
    whole = f"{text}-01" if mark and len(year) == 4 and len(month) == 2 else text
    try:
        found = datetime.fromisoformat(whole)
    except ValueError:
        return None
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return "date", zoned.timestamp() / DAY
