"""Event logs as JSON lines: an object a line, as it was written.

The whole file is read at once; which line is no event is looked for only when polars refuses it.
"""

import codecs
import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeGuard

import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.event_rows import WORDS, unknown_word
from truecost.formats.tables import FAULTS
from truecost.formats.text import byte_blocks, caught, decoded

NONE = pl.Null()
LOOKED_AT = 1 << 16  # bytes, in search of names of columns
TRUTH = {"true": "1", "false": "0"}
WRITTEN = ("decision", "label")  # may be true or false
NUMBERS = ("t", "score", "active_seconds", "cpu_seconds")
WHOLE = ("batch", "count", "version", "words", "actions")
EXPECTED = "expected one JSON object a line, an event each"


def read_lines(data: bytes, source: str) -> tuple[pl.DataFrame, list[str], tuple[str, ...]]:
    """The events of JSON lines.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    frame : polars.DataFrame
        The columns of `events.SCHEMA`.
    seen : list of str
        Names of columns, at least those of the first and last lines.
    problems : tuple of str
        A last line that was cut short.

    Raises
    ------
    InputError
        When a line is no JSON object, is blank, or holds a value of another type; with the line.
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
        raise InputError(f"{source}: the file is empty but for blank lines; {EXPECTED}")
    if frame.height != data.count(b"\n"):
        _refuse_blank_lines(data, source, frame.height)
    frame = frame.with_columns(_without_truth(frame[name], data) for name in WRITTEN)
    return frame, seen, problems


def _with_seen(
    data: bytes, schema: dict[str, pl.DataType], seen: Iterable[str]
) -> pl.DataFrame | None:
    """The events, faster where most columns never occur; None when that cannot be relied on.

    Polars looks for a column of no type in no time, and refuses values in it.
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
    """Whether this version of polars does so, and does not drop the values."""
    try:
        pl.read_ndjson(b'{"a":1}\n', schema={"a": NONE})
    except FAULTS:
        return True
    return False


def _without_cut_line(data: bytes, source: str) -> tuple[bytes, tuple[str, ...]]:
    """The lines without a last one that lacks its end, and what is said of that."""
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
                f"{source}, line 1: no JSON object, or one that was cut short: {_shown(last)}; "
                f"{EXPECTED}"
            ) from None
        return data[:end], (
            f"{source}, line {number}: the last line was cut short ({_shown(last)}): it is left "
            f"out",
        )
    return data + b"\n", ()


def _refuse_blank_lines(data: bytes, source: str, events: int) -> None:
    """Blank lines may stand at the end only."""
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
    """What the line of a row holds."""
    start = 0
    for _ in range(row):
        start = data.index(b"\n", start) + 1
    return _loaded(data[start : data.index(b"\n", start)])


def _columns(data: bytes) -> list[str]:
    """The names that occur in the first and in the last lines, in order."""
    first, last = data[:LOOKED_AT], data[max(len(data) - LOOKED_AT, 0) :]
    found: dict[str, None] = {}
    for line in (first + b"\n" + last).split(b"\n"):  # lines that are cut say nothing
        found |= dict.fromkeys(_loaded(line))
    return list(found)


def _loaded(line: bytes) -> dict[str, Any]:
    """The object of a line; nothing of one that holds none."""
    try:
        found = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _fault(data: bytes, source: str, schema: dict[str, pl.DataType], said: str) -> str:
    """Which line is no event, of lines that polars refused."""
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
    """What is wrong with a line; empty when nothing is."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        return f"no JSON object ({why}): {_shown(line)}; {EXPECTED}"
    if not isinstance(found, dict):
        return f"no JSON object: {_shown(line)}; {EXPECTED}"
    return next((said for name in found if (said := _wrong_value(name, found))), "")


def _wrong_value(name: str, event: dict[str, Any]) -> str:
    """What is wrong with a value; empty when nothing is."""
    value = event[name]
    if value is None:
        return ""
    of = f" of item {event['id']!r}" if event.get("id") is not None and name != "id" else ""
    if name in WORDS:
        return unknown_word(name, value) if value not in WORDS[name] else ""
    if name in WHOLE and not _is_whole(value):
        return f"the {name}{of} is {value!r}; a whole number was expected"
    if name in NUMBERS and not _is_number(value):
        return f"the {name}{of} is {value!r}; a number was expected"
    if name in NUMBERS and not abs(value) < float("inf"):
        return f"the {name}{of} is {value}; a finite number was expected"
    return ""


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return _is_number(value) and abs(value) < 2**63 and value == int(value)


def _shown(line: bytes) -> str:
    """A line for a message, cut short."""
    text = line.decode("utf-8", "replace").rstrip()
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
