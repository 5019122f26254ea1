"""SegLST: a JSON list of segments, each an object (segment-wise long-form speech transcription).

    [{"session_id": "s1", "speaker": "A", "start_time": 1.5, "end_time": 3, "words": "yes"}]

Times are seconds, as numbers or as text. A transcript needs `session_id` and `words`, a diarization
`session_id`, `speaker`, `start_time` and `end_time`. These become the columns `recording`,
`speaker`, `start`, `end` and `text`; any further key that holds single values is a column of its
name. A transcript without a key `id` has an `id` made of recording, speaker, start and end, as far
as they are known; a second one of the same gets -2.
Source: CHiME-7/8 challenges; MeetEval, "SegLST".
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from truecost.errors import InputError
from truecost.formats.segments import segments_of
from truecost.formats.table import Table
from truecost.formats.text import clean
from truecost.formats.transcripts import numbered

RENAMED = {
    "session_id": "recording",
    "speaker": "speaker",
    "start_time": "start",
    "end_time": "end",
    "words": "text",
}
TYPES: dict[str, tuple[type, ...]] = {
    "words": (str,),
    "start_time": (int, float, str),
    "end_time": (int, float, str),
}
LINE_BREAK = b"\n"
SPOKEN = ("session_id", "words")
TURNS = ("session_id", "speaker", "start_time", "end_time")
_SEGMENT = '{session_id: "NAME", start_time: .start, end_time: .end, words: .text}'
_WHISPER = "; for Whisper's segments: jq '[{}]' {} > new.json, with the recording for NAME"
EXPECTED = "seglst is a JSON list of objects with session_id, speaker, start_time, end_time, words"


def read_seglst(data: bytes, source: str, needed: Sequence[str]) -> Table:
    """A table of segments from the bytes of a SegLST file.

    Parameters
    ----------
    source : str
        Name for messages.
    needed : sequence of str
        Keys that every segment must have: `SPOKEN` or `TURNS`.

    Returns
    -------
    Table
        `id` for transcripts, the keys under their names as columns, further keys.

    Raises
    ------
    InputError
        When it is no JSON list of objects, a needed key is missing, a value is a list or an object,
        or a time is negative, no number, or an end before its start; with the segment, from 1.
    """
    found = _objects(clean(data, source, b" \t\r"), source)
    _check(found, needed, source)
    keys = list(dict.fromkeys(key for segment in found for key in segment))
    names = [RENAMED.get(key, key) for key in keys]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"{source}: the keys {repeated[0]} and "
            f"{next(k for k, v in RENAMED.items() if v == repeated[0])} mean the same column; "
            f"leave one out"
        )
    columns = {n: _column([s.get(k) for s in found]) for k, n in zip(keys, names, strict=True)}
    frame = pl.DataFrame([c.alias(n) for n, c in columns.items() if c.null_count() < len(found)])
    table = segments_of(Table(source, frame, first_line=1, noun="segment"))
    if needed == SPOKEN and "id" not in table.columns:
        parts = [n for n in ("recording", "speaker", "start", "end") if n in table.columns]
        table = replace(table, frame=table.frame.select(numbered(table.frame, parts), pl.all()))
    return table


def read_spoken(data: bytes, source: str) -> Table:
    """A table of what is said: every segment has words."""
    return read_seglst(data, source, SPOKEN)


def read_turns(data: bytes, source: str) -> Table:
    """A table of who speaks when: every segment has a speaker and times."""
    return read_seglst(data, source, TURNS)


def _objects(data: bytes, source: str) -> list[dict[str, Any]]:
    """The segments as they stand."""
    import msgspec

    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        place = re.search(r"\(byte (\d+)\)", str(error))
        line = f", line {data.count(LINE_BREAK, 0, int(place[1])) + 1}" if place else ""
        lines = "; one object a line? Say --input-format ndjson" if data[:1] == b"{" else ""
        raise InputError(f"{source}{line}: no JSON ({error}); {EXPECTED}{lines}") from error
    if not isinstance(found, list):
        whisper = isinstance(found, dict) and isinstance(found.get("segments"), list)
        raise InputError(
            f"{source}: {_kind(found)} where a list was expected; {EXPECTED}"
            + (_WHISPER.format(f".segments[] | {_SEGMENT}", source) if whisper else "")
        )
    if not found:
        raise InputError(f"{source}: the list has no segments; {EXPECTED}")
    return found


def _check(found: list[Any], needed: Sequence[str], source: str) -> None:
    """Refuse the first segment that is no object of single values with the keys needed."""
    for number, segment in enumerate(found, 1):
        where = f"{source}, segment {number}"
        if not isinstance(segment, dict):
            raise InputError(f"{where}: {_kind(segment)} where an object was expected; {EXPECTED}")
        for key in needed:
            if segment.get(key) is None:
                raise InputError(f"{where}: there is no {key}; {EXPECTED}{_hint(segment, source)}")
        for key, value in segment.items():
            if isinstance(value, list | dict):
                raise InputError(f"{where}: {key} holds {_kind(value)}, not a single value")
        for key, kinds in TYPES.items():
            value = segment.get(key)
            if value is not None and type(value) not in kinds:
                raise InputError(f"{where}: {key} holds {_kind(value)} of another type")


def _hint(segment: dict[str, Any], source: str) -> str:
    """What to do with lists of other objects than segments that hold texts."""
    if {"start", "end", "text"} <= segment.keys():
        return _WHISPER.format(f".[] | {_SEGMENT}", source)
    if "text" not in segment:
        return ""
    return f"; objects with an id and a text stand one a line: jq -c '.[]' {source} > new.jsonl"


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", type(None): "null"}
    return kinds.get(type(value), "a single value")


def _column(values: list[Any]) -> pl.Series:
    """A column of numbers, truth values or text; text when they are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        try:
            return pl.Series(values, dtype=pl.Float64 if float in kinds else pl.Int64)
        except (OverflowError, pl.exceptions.PolarsError):
            kinds = {object}
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)
