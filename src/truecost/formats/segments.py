"""Tables of segments: who speaks from when to when, in columns with names.

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
from truecost.formats.table import Table

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
