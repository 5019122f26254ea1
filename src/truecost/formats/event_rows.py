"""What one event must be like, and event logs as tables: Parquet, CSV and TSV.

All rules are looked at in one pass over the columns; rows are looked for only where one is broken.
"""

from collections.abc import Callable
from typing import Any

import polars as pl

from truecost.errors import InputError
from truecost.formats.table import Table

EVENTS = ("predict", "query", "answer", "adapt")


PHASES = ("pre", "post")


SETS = ("bootstrap", "development", "training", "pretraining")


LIFELONG_SETS = ("test", "offline")  # of a lifelong run


VERDICTS = ("right", "wrong")


# columns that hold one of a few words
WORDS = {"event": EVENTS, "phase": PHASES, "set": (*SETS, *LIFELONG_SETS), "verdict": VERDICTS}


SECONDS = ("active_seconds", "cpu_seconds")


AMOUNTS = ("version", "words", "actions")  # whole numbers from 0


Row = dict[str, Any]


Rule = tuple[pl.Expr, Callable[[Row], str]]  # where it is broken, and what to say then


_EVENT, _BATCH, _ID = pl.col("event"), pl.col("batch"), pl.col("id")


_PREDICT, _ANSWER = _EVENT == "predict", _EVENT == "answer"


_ASKING = _EVENT.is_in(["predict", "query"])


_NAMELESS = _ID.is_null() | (_ID == "")


_BEFORE = _ANSWER & _BATCH.is_null()


def refuse_rows(frame: pl.DataFrame, source: str, where: Callable[[int], str]) -> None:
    """Refuse an event that is none.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of an event log.
    source : str
        Name for messages.
    where : callable
        How a row (from 0) is named.

    Raises
    ------
    InputError
        When an event, a batch, an id, a phase or a score is missing that the event needs; a number
        is not finite; a batch, seconds, a version, words or actions are negative; a count is
        below 1 or belongs to no answer before the stream; a verdict belongs to no answer, or stands
        beside a label.
    """
    rules = _rules()
    broken = frame.select(mask.any().alias(str(at)) for at, (mask, _) in enumerate(rules)).row(0)
    if True not in broken:
        return
    mask, said = rules[broken.index(True)]
    rows = frame.select(mask.fill_null(False).arg_true()).to_series()
    row = int(rows[0])
    more = f" ({len(rows)} such events)" if len(rows) > 1 else ""
    raise InputError(f"{source}, {where(row)}: {said(frame.row(row, named=True))}{more}")


def unknown_word(column: str, word: str) -> str:
    """What is wrong with a word of a column that has a few."""
    *most, last = WORDS[column]
    return f"the {column} is {word!r}; expected {', '.join(most)} or {last}"


def _rules() -> list[Rule]:
    """In the order in which they are reported."""
    return [
        (_EVENT.is_null(), lambda _: f"there is no event; expected {', '.join(EVENTS)}"),
        (_BATCH < 0, lambda row: f"the batch is {row['batch']}; batches are numbered from 0"),
        (_ASKING & _BATCH.is_null(), lambda row: f"there is no batch {_of(row)}"),
        (
            (_ASKING | (_ANSWER & _BATCH.is_not_null())) & _NAMELESS,
            lambda row: f"there is no id; every {row['event']} of a batch is about an item",
        ),
        (
            _PREDICT & pl.col("phase").is_null(),
            lambda row: f"there is no phase {_of(row)}; expected pre or post",
        ),
        (
            ~pl.col("score").is_finite(),
            lambda row: f"the score {_of(row)} is {row['score']}; a finite number was expected",
        ),
        (
            _PREDICT & pl.col("score").is_null() & pl.col("decision").is_null(),
            lambda row: f"there is no score and no decision {_of(row)}",
        ),
        *(_seconds(name) for name in SECONDS),
        *(_amount(name) for name in AMOUNTS),
        (
            pl.col("verdict").is_not_null() & (~_ANSWER | pl.col("label").is_not_null()),
            lambda row: (
                f"there is a verdict ({row['verdict']}) {_of(row)}; only answers that say nothing "
                f"but right or wrong have one, and they have no label"
            ),
        ),
        (
            ~pl.col("t").is_finite(),
            lambda row: f"the time t {_of(row)} is {row['t']}; finite seconds were expected",
        ),
        (
            pl.col("count") < 1,
            lambda row: f"the count is {row['count']}; an answer stands for 1 label or more",
        ),
        (
            (pl.col("count") > 1) & ~_BEFORE,
            lambda row: (
                f"the count {_of(row)} is {row['count']}; only answers without a batch stand for "
                f"many labels"
            ),
        ),
    ]


def _seconds(name: str) -> Rule:
    """Seconds that something took."""
    value = pl.col(name)
    return (
        (value < 0) | ~value.is_finite(),
        lambda row: f"the {name} {_of(row)} are {row[name]}; 0 or more were expected",
    )


def _amount(name: str) -> Rule:
    """A whole number from 0."""
    return (
        pl.col(name) < 0,
        lambda row: f"the number {name} {_of(row)} is {row[name]}; 0 or more was expected",
    )


def _of(row: Row) -> str:
    """Which event it is."""
    item = "" if row["id"] is None else f" of item {row['id']!r}"
    batch = "" if row["batch"] is None else f" in batch {row['batch']}"
    return f"of {row['event']}{item}{batch}"


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
