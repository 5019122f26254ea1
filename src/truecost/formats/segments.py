"""Who speaks when: RTTM, UEM (regions that are scored), and tables of segments.

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
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.field_lines import cut, fields_of, record_blocks, refuse, seconds, table_of
from truecost.formats.table import Table

COMMENTS = (";", "#")


RTTM = "type file chnl tbeg tdur ortho stype name conf [slat]"


UEM = "file chnl tbeg tend"


FIELDS = (
    "type",
    "recording",
    "channel",
    "start",
    "duration",
    "orthography",
    "subtype",
    "speaker",
    "confidence",
    "lookahead",
)


ROWS = ("SPEAKER", "NOSCORE", "NON-LEX")


LEFT_OUT = (
    "SPKR-INFO",
    "SEGMENT",
    "LEXEME",
    "NON-SPEECH",
    "NO_RT_METADATA",
    "A/P",
    "SU",
    "CB",
    "IP",
    "EDIT",
    "FILLER",
)


def read_rttm(data: bytes, source: str) -> Table:
    """A table of segments from the bytes of an RTTM file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `type`, `recording`, `channel`, `speaker`; `start` and `end` in seconds.

    Raises
    ------
    InputError
        When a line has another number of fields, a type that there is not, or a begin or duration
        that is negative or no number; when there are no segments.
    """
    blocks = record_blocks(data, source, COMMENTS)
    missing = f"SPEAKER line, and no NOSCORE line; rttm is {RTTM}"
    return table_of((_segments(block, source) for block in blocks), source, missing)


def _segments(block: pl.DataFrame, source: str) -> pl.DataFrame:
    fields = fields_of(block, FIELDS, 9, source, f"rttm is {RTTM}")
    fields = fields.with_columns(pl.col("type").str.to_uppercase())
    known = fields["type"].is_in([*ROWS, *LEFT_OUT])
    refuse(source, fields, ~known, lambda row: _unknown(row["text"]))
    untimed = (pl.col("type") == "NON-LEX") & (pl.col("start").is_in(["<NA>"]))
    fields = fields.filter(pl.col("type").is_in(ROWS) & ~untimed)
    fields = fields.with_columns(pl.col("start", "duration").str.strip_chars_end("*"))
    start, duration = (seconds(fields, name, source) for name in ("start", "duration"))
    return fields.select(
        "line", "type", "recording", "channel", "speaker", start, (start + duration).alias("end")
    )


def _unknown(text: str) -> str:
    return (
        f"the type is none of {', '.join((*ROWS, *LEFT_OUT))}: {cut(text)!r}; rttm is {RTTM}; "
        f"comments begin with ;;"
    )


def read_uem(data: bytes, source: str) -> Table:
    """A table of regions from the bytes of a UEM file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `recording`, `channel`; `start` and `end` in seconds.

    Raises
    ------
    InputError
        When a line has another number of fields, a time that is negative or no number, or an end
        that is not after its start; when there are no regions.
    """
    blocks = record_blocks(data, source, COMMENTS)
    missing = f"region; uem is {UEM}"
    return table_of((_regions(block, source) for block in blocks), source, missing)


def _regions(block: pl.DataFrame, source: str) -> pl.DataFrame:
    names = ("recording", "channel", "start", "end")
    fields = fields_of(block, names, len(names), source, f"uem is {UEM}")
    start, end = (seconds(fields, name, source) for name in ("start", "end"))
    refuse(
        source,
        fields,
        end <= start,
        lambda row: f"the end {row['end']} is not after the start {row['start']}; uem is {UEM}",
    )
    return fields.select("line", "recording", "channel", start, end)


KEYS = ("recording", "channel", "speaker", "start", "end", "duration")


FIXED = ("rttm", "uem", "seglst")  # formats whose columns have one meaning


TEXTS = ("recording", "channel", "speaker")


OTHER = {"end": "duration", "duration": "end"}


SPEECH = "SPEAKER"  # type of the rows that need a speaker


def segments_of(table: Table, columns: Mapping[str, str] | None = None) -> Table:
    """A table with `start` and `end` as seconds, `recording` and `speaker` as text.

    Parameters
    ----------
    columns : mapping of str to str, optional
        Column of `recording`, `channel`, `speaker`, `start` and `end` or `duration`, for those
        that have other names; further keys do not matter.

    Returns
    -------
    Table
        When it lacks a column that a segment needs, the table as far as it goes: then whoever asks
        for the column says so. A `duration` gives way to `end`.

    Raises
    ------
    UsageError
        When a mapped column is missing, or both `end` and `duration` are mapped.
    InputError
        When a time is missing, negative or no number, an end is before its start, a recording or a
        speaker is missing, or there are both ends and durations; with the first five lines.
    """
    table = _mapped(table, columns or {})
    ends = [name for name in ("end", "duration") if name in table.columns]
    if not {"recording", "start"} <= set(table.columns) or not ends:
        return table
    if len(ends) > 1:
        raise InputError(
            f"{table.source}: there are a column 'end' and a column 'duration'; leave one out"
        )
    start, stated = _seconds(table, "start"), _seconds(table, ends[0])
    end = stated if ends == ["end"] else start + stated
    _refuse(table, end < start, lambda r: f"{start[r]} to {end[r]}", "with an end before its start")
    texts = [_filled(table, name) for name in ("recording", "speaker") if name in table.columns]
    times = pl.Series("start", start), pl.Series("end", end)
    frame = table.frame.with_columns(*texts, *times).drop("duration", strict=False)
    return replace(table, frame=frame)


def _mapped(table: Table, columns: Mapping[str, str]) -> Table:
    """The table with the mapped columns under the names of what they are mapped to."""
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
    _refuse(table, wrong, lambda r: str(values[r]), f"whose {name} is no number of seconds from 0")
    return values


def _filled(table: Table, name: str) -> pl.Series:
    """A column of text without gaps; only speech needs a speaker."""
    texts = table.texts(name, name)
    gaps = texts.is_null()
    if name == "speaker" and "type" in table.columns:
        kinds = table.texts("type", "type").fill_null(SPEECH)
        gaps = gaps & (kinds.str.to_uppercase() == SPEECH)
    _refuse(table, gaps.to_numpy(), lambda _: "empty", f"without a {name}")
    return texts


def _refuse(
    table: Table, wrong: npt.NDArray[np.bool_], value: Callable[[int], str], what: str
) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        examples = first_five(f"{value(int(r))} at {table.where(int(r))}" for r in rows[:6])
        raise InputError(f"{table.source}: {counted(len(rows), 'segment')} {what}: {examples}")
