"""Who speaks when: RTTM (segments of speakers) and UEM (regions that are scored).

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
"""

import polars as pl

from truecost.formats.field_lines import (
    cut,
    fields_of,
    record_blocks,
    refuse,
    seconds,
    table_of,
)
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
