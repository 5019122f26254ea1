"""Speech segments: RTTM, UEM (regions that are scored), and tables of segments.

RTTM, Rich Transcription Time Marked, has 9 or 10 fields a line, apart by blanks or tabs:

    type file chnl tbeg tdur ortho stype name conf [slat]

`tbeg` and `tdur` are seconds; an asterisk behind them (an estimate) means nothing here; what does
not apply is `<NA>`. Of the types only these become rows, with the columns `type`, `recording`,
`channel`, `speaker`, `start` and `end`:

- SPEAKER: a turn of the speaker `name`; one without duration stays, for the task to count;
- NOSCORE: a region that is left out of scoring;
- NON-LEX: a laugh, breath or cough, for the task to count.

SPKR-INFO, SEGMENT, LEXEME, NON-SPEECH, NO_RT_METADATA, A/P, SU, CB, IP, EDIT and FILLER say nothing
of turns and are left out. Any other type is refused. Types may be in small letters.
Source: NIST, RT-09 meeting recognition evaluation plan, appendix A; before, v1.3 without `slat`.

UEM, Un-partitioned Evaluation Map, has 4 fields a line, `file chnl tbeg tend`, which become
`recording`, `channel`, `start` and `end`. Regions may overlap.
Source: the same plans; NIST `md-eval`.

In both, a line that begins with `;` or `#` is a comment, as it is for `md-eval`, never a recording.

The columns `recording`, `start` and either `end` or `duration` (seconds) make a row a segment;
`speaker` is its speaker, and `type`, when there is one, says what it is as in RTTM. Columns of
other names can be mapped to these. All other columns stay. SegLST comes here when it is read; CSV,
TSV, Parquet and NDJSON when a task knows what is mapped.

    [{"session_id": "s1", "speaker": "A", "start_time": 1.5, "end_time": 3, "words": "yes"}]

Times are seconds, as numbers or as text. A transcript needs `session_id` and `words`, a diarization
`session_id`, `speaker`, `start_time` and `end_time`. These become the columns `recording`,
`speaker`, `start`, `end` and `text`; any further key that holds single values is a column of its
name. A transcript without a key `id` has an `id` made of recording, speaker, start and end, as far
as they are known; a second one of the same gets -2.
Source: CHiME-7/8 challenges; MeetEval, "SegLST".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError
from truecost.formats.table import Table, refuse_values
from truecost.formats.text import clean, fields_of, read_records, refuse, seconds

COMMENTS = (";", "#")
RTTM = "type file chnl tbeg tdur ortho stype name conf [slat]"
UEM = "file chnl tbeg tend"
FIELDS = (
    *("type", "recording", "channel", "start", "duration"),
    *("orthography", "subtype", "speaker", "confidence", "lookahead"),
)
ROWS = ("SPEAKER", "NOSCORE", "NON-LEX")
LEFT_OUT = (
    *("SPKR-INFO", "SEGMENT", "LEXEME", "NON-SPEECH", "NO_RT_METADATA"),
    *("A/P", "SU", "CB", "IP", "EDIT", "FILLER"),
)


def read_rttm(data: bytes, source: str) -> Table:
    """A table of the segments of an RTTM file.

    `type`, `recording`, `channel`, `speaker`; `start` and `end` in seconds.
    """
    missing = f"SPEAKER line, and no NOSCORE line; fields of rttm: {RTTM}"
    return read_records(data, source, _segments, missing, COMMENTS)


def _segments(block: pl.DataFrame, source: str) -> pl.DataFrame:
    types = [*ROWS, *LEFT_OUT]
    fields = typed(block, source, types, ", ".join(types), "; comments begin with ;;")
    untimed = (pl.col("type") == "NON-LEX") & (pl.col("start").is_in(["<NA>"]))
    fields = fields.filter(pl.col("type").is_in(ROWS) & ~untimed)
    fields = fields.with_columns(pl.col("start", "duration").str.strip_chars_end("*"))
    start, duration = (seconds(fields, name, source) for name in ("start", "duration"))
    return fields.select(
        "line", "type", "recording", "channel", "speaker", start, (start + duration).alias("end")
    )


def typed(
    block: pl.DataFrame, source: str, types: Sequence[str], named: str, hint: str = ""
) -> pl.DataFrame:
    """The fields of lines of RTTM, all of one of the types; `named` is their noun in messages."""
    fields = fields_of(block, FIELDS, 9, source, f"fields of rttm: {RTTM}")
    fields = fields.with_columns(pl.col("type").str.to_uppercase())
    why = f"the type is none of {named}: {{cut!r}}; fields of rttm: {RTTM}{hint}"
    refuse(source, fields, ~fields["type"].is_in(types), why)
    return fields


def read_uem(data: bytes, source: str) -> Table:
    """A table of the regions of a UEM file: `recording`, `channel`; `start`, `end` in seconds."""
    return read_records(data, source, _regions, f"region; fields of uem: {UEM}", COMMENTS)


def _regions(block: pl.DataFrame, source: str) -> pl.DataFrame:
    names = ("recording", "channel", "start", "end")
    fields = fields_of(block, names, len(names), source, f"fields of uem: {UEM}")
    start, end = (seconds(fields, name, source) for name in ("start", "end"))
    why = f"the end {{end}} is not after the start {{start}}; fields of uem: {UEM}"
    refuse(source, fields, end <= start, why)
    return fields.select("line", "recording", "channel", start, end)


TEXTS = ("recording", "channel", "speaker")
KEYS = (*TEXTS, "start", "end", "duration")
FIXED = ("rttm", "uem", "seglst")  # formats whose columns have one meaning
OTHER = {"end": "duration", "duration": "end"}
SPEECH = "SPEAKER"  # type of the rows that need a speaker


def segments_of(table: Table, columns: Mapping[str, str] | None = None) -> Table:
    """A table with `start` and `end` as seconds, `recording` and `speaker` as text.

    `columns`: the column of each of `KEYS` with another name; further keys are ignored. A table
    without a required column is returned unchanged: the error comes when the column is read.
    `duration` is replaced by `end`.
    """
    table = _mapped(table, columns or {})
    ends = [name for name in ("end", "duration") if name in table.columns]
    if not {"recording", "start"} <= set(table.columns) or not ends:
        return table
    if len(ends) > 1:
        raise InputError(
            f"{table.source}: there are a column 'end' and a column 'duration': remove one of "
            "them, or name one with --end or --duration"
        )
    start, stated = _seconds(table, "start"), _seconds(table, ends[0])
    end = stated if ends == ["end"] else start + stated
    fault = "with an end before its start"
    refuse_values(table, end < start, "segment", fault, lambda r: f"{start[r]} to {end[r]}")
    texts = [_filled(table, name) for name in ("recording", "speaker") if name in table.columns]
    times = pl.Series("start", start), pl.Series("end", end)
    frame = table.frame.with_columns(*texts, *times).drop("duration", strict=False)
    return replace(table, frame=frame)


def _mapped(table: Table, columns: Mapping[str, str]) -> Table:
    """The table with mapped columns renamed to their keys."""
    chosen = {key: name for key, name in columns.items() if key in KEYS}
    if {"end", "duration"} <= set(chosen):
        raise UsageError("--map: a segment has an end or a duration; map one of them")
    found = [
        pl.Series(key, (table.texts if key in TEXTS else table.numbers)(name, key))
        for key, name in chosen.items()
    ]
    # Of an end and a duration the one that is mapped counts.
    unused = [other for key, other in OTHER.items() if key in chosen]
    return replace(table, frame=table.frame.drop(unused, strict=False).with_columns(found))


def _seconds(table: Table, name: str) -> npt.NDArray[np.float64]:
    """A column of finite numbers that are not negative."""
    values = table.numbers(name, name)
    wrong = ~(np.isfinite(values) & (values >= 0))
    fault = f"whose {name} is not a number of seconds from 0"
    refuse_values(table, wrong, "segment", fault, lambda r: str(values[r]))
    return values


def _filled(table: Table, name: str) -> pl.Series:
    """A text column without gaps; only speech needs a speaker."""
    texts = table.texts(name, name)
    gaps = texts.is_null()
    if name == "speaker" and "type" in table.columns:
        kinds = table.texts("type", "type").fill_null(SPEECH)
        gaps = gaps & (kinds.str.to_uppercase() == SPEECH)
    refuse_values(table, gaps.to_numpy(), "segment", f"without a {name}", lambda _: "empty")
    return texts


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
    needed : sequence of str
        Keys that every segment must have: `SPOKEN` or `TURNS`.

    Returns
    -------
    Table
        `id` for transcripts, the keys under their names as columns, further keys.
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
        from truecost.formats.transcripts import numbered

        parts = [n for n in ("recording", "speaker", "start", "end") if n in table.columns]
        table = replace(table, frame=table.frame.select(numbered(table.frame, parts), pl.all()))
    return table


read_spoken = partial(read_seglst, needed=SPOKEN)  # what is said: every segment has words
read_turns = partial(read_seglst, needed=TURNS)  # who speaks when: each has a speaker and times


def _objects(data: bytes, source: str) -> list[dict[str, Any]]:
    """The segments as JSON objects."""
    import msgspec

    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        place = re.search(r"\(byte (\d+)\)", str(error))
        line = f", line {data.count(LINE_BREAK, 0, int(place[1])) + 1}" if place else ""
        lines = "; one object a line? Use --input-format ndjson" if data[:1] == b"{" else ""
        raise InputError(
            f"{source}{line}: this is not JSON ({error}); {EXPECTED}{lines}"
        ) from error
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
    """Refuse the first segment that is not an object of single values with the required keys."""
    for number, segment in enumerate(found, 1):
        where = f"{source}, segment {number}"
        if not isinstance(segment, dict):
            raise InputError(f"{where}: this is {_kind(segment)}, not an object; {EXPECTED}")
        for key in needed:
            if segment.get(key) is None:
                raise InputError(f"{where}: there is no {key}; {EXPECTED}{_hint(segment, source)}")
        for key, value in segment.items():
            if isinstance(value, list | dict):
                raise InputError(f"{where}: {key} is {_kind(value)}, not a single value")
        for key, kinds in TYPES.items():
            value = segment.get(key)
            if value is not None and type(value) not in kinds:
                raise InputError(f"{where}: {key} is {_kind(value)} of another type")


def _hint(segment: dict[str, Any], source: str) -> str:
    """Advice for lists of other objects that contain texts."""
    if {"start", "end", "text"} <= segment.keys():
        return _WHISPER.format(f".[] | {_SEGMENT}", source)
    if "text" not in segment:
        return ""
    return f"; write objects with an id and a text one a line: jq -c '.[]' {source} > new.jsonl"


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
