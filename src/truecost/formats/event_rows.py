"""Events from tables and from JSON lines: checks of the type of every value and the rules of every
row.

All rules are checked in one pass over the columns; single rows are read only where a rule is
broken. A file of JSON lines is parsed at once; an invalid line is looked for only when polars
refuses the file.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeGuard

import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.table import Table
from truecost.formats.tables import FAULTS, json_object
from truecost.formats.text import byte_blocks, caught, cut, decoded

EVENTS = ("predict", "query", "answer", "adapt")
SETS = ("bootstrap", "development", "training", "pretraining")
VERDICTS = ("right", "wrong")
WORDS = {  # columns that hold one of a few words
    "event": EVENTS,
    "phase": ("pre", "post"),
    "set": (*SETS, "test", "offline"),  # the last two of a lifelong run
    "verdict": VERDICTS,
    "guess": ("hidden", "shown"),
}
SECONDS = (
    *("active_seconds", "wall_seconds", "heard_seconds", "waited_seconds"),
    *("cpu_seconds", "gpu_seconds"),
)
AMOUNTS = ("version", "words", "actions")  # whole numbers from 0
_EVENT, _BATCH, _ID = pl.col("event"), pl.col("batch"), pl.col("id")
_PREDICT, _ANSWER = _EVENT == "predict", _EVENT == "answer"
_ASKING = _EVENT.is_in(["predict", "query"])

# Where a rule is broken, and what to say then of the row, `{about}` which event it is; in the order
# in which they are reported.
RULES: tuple[tuple[pl.Expr, str], ...] = (
    (_EVENT.is_null(), f"there is no event; expected {', '.join(EVENTS)}"),
    (_BATCH < 0, "the batch is {batch}; batches are numbered from 0"),
    (_ASKING & _BATCH.is_null(), "there is no batch {about}"),
    (
        (_ASKING | (_ANSWER & _BATCH.is_not_null())) & (_ID.is_null() | (_ID == "")),
        "there is no id; every {event} of a batch is about an item",
    ),
    (_PREDICT & pl.col("phase").is_null(), "there is no phase {about}; expected pre or post"),
    (~pl.col("score").is_finite(), "the score {about} is {score}; a finite number was expected"),
    (
        _PREDICT & pl.col("score").is_null() & pl.col("decision").is_null(),
        "there is no score and no decision {about}",
    ),
    *(
        (
            (pl.col(name) < 0) | ~pl.col(name).is_finite(),
            f"the {name} {{about}} are {{{name}}}; 0 or more were expected",
        )
        for name in SECONDS
    ),
    *(
        (pl.col(name) < 0, f"the number {name} {{about}} is {{{name}}}; 0 or more was expected")
        for name in AMOUNTS
    ),
    (
        pl.col("verdict").is_not_null() & (~_ANSWER | pl.col("label").is_not_null()),
        "there is a verdict ({verdict}) {about}; only an answer without a label may have a "
        "verdict (right or wrong)",
    ),
    (~pl.col("t").is_finite(), "the time t {about} is {t}; finite seconds were expected"),
    (pl.col("count") < 1, "the count is {count}; an answer counts for 1 label or more"),
    (
        (pl.col("count") > 1) & ~(_ANSWER & _BATCH.is_null()),
        "the count {about} is {count}; only answers without a batch count for many labels",
    ),
)
NOT_SAID = ("", "na", "null", "none")  # in lower case: cells of numbers that are empty
NONE = pl.Null()
LOOKED_AT = 1 << 16  # bytes, in search of names of columns
TRUTH = {"true": "1", "false": "0"}
WRITTEN = ("decision", "label")  # may be true or false
EXPECTED = "expected one JSON object a line, an event each"


def refuse_rows(frame: pl.DataFrame, source: str, where: Callable[[int], str]) -> None:
    """Refuse invalid events; `where` names a row (from 0)."""
    broken = frame.select(mask.any().alias(str(at)) for at, (mask, _) in enumerate(RULES)).row(0)
    if True not in broken:
        return
    mask, text = RULES[broken.index(True)]
    rows = frame.select(mask.fill_null(False).arg_true()).to_series()
    row = int(rows[0])
    event = frame.row(row, named=True)
    more = f" ({len(rows)} such events)" if len(rows) > 1 else ""
    fault = text.format(about=_event_name(event), **event)
    raise InputError(f"{source}, {where(row)}: {fault}{more}")


def unknown_word(column: str, word: str) -> str:
    """The fault of a word in a column that allows only some words."""
    *most, last = WORDS[column]
    return f"the {column} is {word!r}; expected {', '.join(most)} or {last}"


def _event_name(event: dict[str, Any]) -> str:
    """The name of an event in messages."""
    item = "" if event["id"] is None else f" of item {event['id']!r}"
    batch = "" if event["batch"] is None else f" in batch {event['batch']}"
    return f"of {event['event']}{item}{batch}"


def events_of(table: Table) -> pl.DataFrame:
    """The columns of `events.SCHEMA` of a table."""
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
    """A column with a few allowed words."""
    texts = _texts(table, name)
    wrong = texts.is_not_null() & ~texts.is_in(list(WORDS[name]))
    _refuse(table, wrong, lambda row: unknown_word(name, texts[row]))
    return texts.cast(kind)


def _numbers(table: Table, name: str) -> pl.Series:
    """A column of numbers; null for a missing value, NaN for a stated NaN."""
    column = table.frame[name]
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    values = pl.Series(name, table.numbers(name, name))
    if column.dtype != pl.String:
        return values
    empty = column.is_null() | column.str.strip_chars().str.to_lowercase().is_in(list(NOT_SAID))
    return values.set(empty, None)


def _whole(table: Table, numbers: pl.Series) -> pl.Series:
    """Whole numbers; NaN counts as missing, for tables whose whole numbers cannot have empty
    cells.
    """
    values = numbers.fill_nan(None)
    wrong = (values != values.round()) | (values.abs() >= 2.0**53)
    expected = "a whole number was expected"
    _refuse(table, wrong, lambda row: f"the {numbers.name} is {numbers[row]:g}; {expected}")
    return values.cast(pl.Int64)


def _refuse(table: Table, wrong: pl.Series, why: Callable[[int], str]) -> None:
    """InputError for the first wrong row."""
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        where = f"line {row + table.first_line}" if table.first_line >= 0 else f"row {row + 1}"
        raise InputError(f"{table.source}, {where}: {why(row)}")


def read_lines(data: bytes, source: str) -> tuple[pl.DataFrame, list[str], tuple[str, ...]]:
    """The events of JSON lines.

    Returns
    -------
    frame : polars.DataFrame
        The columns of `events.SCHEMA`.
    seen : list of str
        Names of columns, at least those of the first and last lines.
    problems : tuple of str
        A last line that was cut short.
    """
    from truecost.formats.events import SCHEMA

    data, problems = _without_cut_line(data.removeprefix(codecs.BOM_UTF8), source)
    schema = {name: kind for name, (kind, _) in SCHEMA.items()}
    seen = _columns(data)
    frame = _with_seen(data, schema, seen)
    try:
        frame = pl.read_ndjson(data, schema=schema) if frame is None else frame
    except FAULTS as error:
        raise InputError(_fault(data, source, schema, caught(error))) from error
    if not frame.height:
        raise InputError(f"{source}: the file has only blank lines; {EXPECTED}")
    if frame.height != data.count(b"\n"):
        _refuse_blank_lines(data, source, frame.height)
    frame = frame.with_columns(_without_truth(frame[name], data) for name in WRITTEN)
    return frame, seen, problems


def _with_seen(
    data: bytes, schema: dict[str, pl.DataType], seen: Iterable[str]
) -> pl.DataFrame | None:
    """The events, read faster where most columns never occur; None when this is not reliable.

    Polars spends no time on a column without a type, and refuses values in it.
    """
    if not _refuses_values_of_no_type():
        return None
    try:
        frame = pl.read_ndjson(data, schema={n: schema[n] if n in seen else NONE for n in schema})
    except FAULTS:
        return None  # a column that begins late, or a fault, which is looked for afterwards
    return frame.cast({name: kind for name, kind in schema.items() if name not in seen})


@cache
def _refuses_values_of_no_type() -> bool:
    """Whether this version of polars refuses values in a column without a type, instead of ignoring
    them.
    """
    try:
        pl.read_ndjson(b'{"a":1}\n', schema={"a": NONE})
    except FAULTS:
        return True
    return False


def _without_cut_line(data: bytes, source: str) -> tuple[bytes, tuple[str, ...]]:
    """The lines without an incomplete last one, and a note about it."""
    end = data.rfind(b"\n") + 1
    last = data[end:]
    if not last.strip():
        return (data[:end] or b"\n") if last else data, ()
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        number = data.count(b"\n") + 1
        if not end:
            raise InputError(
                f"{source}, line 1: this is not a JSON object, or one that was cut short: "
                f"{_shortened(last)}; "
                f"{EXPECTED}"
            ) from None
        return data[:end], (
            f"{source}, line {number}: the last line was cut short ({_shortened(last)}): it is "
            f"left out",
        )
    return data + b"\n", ()


def _refuse_blank_lines(data: bytes, source: str, events: int) -> None:
    """Refuse blank lines before the end."""
    data = data.rstrip(b" \t\r\n") + b"\n"
    lines = data.count(b"\n")
    if lines == events:
        return
    if found := re.search(rb"(?:\A|\n)[ \t\r]*\n", data):
        number = data.count(b"\n", 0, found.end())
        raise InputError(f"{source}, line {number}: the line is blank; remove it")
    raise InputError(f"{source}: {lines} lines, but {counted(events, 'event')}; {EXPECTED}")


def _without_truth(texts: pl.Series, data: bytes) -> pl.Series:
    """Texts in which true and false are 1 and 0 where the file holds truth values."""
    places = texts.is_in(list(TRUTH)).fill_null(False)
    first = places.arg_max() if places.any() else None
    if first is None or not isinstance(_object(data, first).get(texts.name), bool):
        return texts
    return texts.replace(TRUTH)


def _object(data: bytes, row: int) -> dict[str, Any]:
    """The object in the line of a row."""
    start = 0
    for _ in range(row):
        start = data.index(b"\n", start) + 1
    return _loaded(data[start : data.index(b"\n", start)])


def _columns(data: bytes) -> list[str]:
    """The keys in the first and in the last lines, in order."""
    first, last = data[:LOOKED_AT], data[max(len(data) - LOOKED_AT, 0) :]
    found: dict[str, None] = {}
    for line in (first + b"\n" + last).split(b"\n"):  # lines that are cut say nothing
        found |= dict.fromkeys(_loaded(line))
    return list(found)


def _loaded(line: bytes) -> dict[str, Any]:
    """The object of a line; an empty one for a line without one."""
    found = json_object(line, strict=False)
    return {} if isinstance(found, str) else found


def _fault(data: bytes, source: str, schema: dict[str, pl.DataType], said: str) -> str:
    """The first invalid line, for a file that polars refused."""
    data = decoded(data, source)
    for before, part in byte_blocks(data):
        try:
            pl.read_ndjson(part, schema=schema)
        except FAULTS:
            for number, line in enumerate(part.split(b"\n"), before + 1):
                if line.strip() and (wrong := _wrong(line)):
                    return f"{source}, line {number}: {wrong}"
    return f"{source}: cannot be read as JSON lines: {said}"


def _wrong(line: bytes) -> str:
    """The fault of a line; empty without one."""
    found = json_object(line)
    if isinstance(found, str):
        return f"{found}: {_shortened(line)}; {EXPECTED}"
    return next((fault for name in found if (fault := _wrong_value(name, found))), "")


def _wrong_value(name: str, event: dict[str, Any]) -> str:
    """The fault of a value; empty without one."""
    from truecost.formats.events import SCHEMA

    value, (kind, _) = event[name], SCHEMA.get(name, (pl.String(), ""))
    if value is None:
        return ""
    of = f" of item {event['id']!r}" if event.get("id") is not None and name != "id" else ""
    if name in WORDS:
        return unknown_word(name, value) if value not in WORDS[name] else ""
    if kind.is_integer() and not _is_whole(value):
        return f"the {name}{of} is {value!r}; a whole number was expected"
    if kind.is_float() and not _is_number(value):
        return f"the {name}{of} is {value!r}; a number was expected"
    if kind.is_float() and not abs(value) < float("inf"):
        return f"the {name}{of} is {value}; a finite number was expected"
    return ""


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return _is_number(value) and abs(value) < 2**63 and value == int(value)


def _shortened(line: bytes) -> str:
    """A line shortened for a message."""
    return repr(cut(line.decode("utf-8", "replace").rstrip()))
