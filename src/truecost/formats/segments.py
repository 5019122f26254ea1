"""Tables of segments: who speaks from when to when, in columns with names.

The columns `recording`, `start` and either `end` or `duration` (seconds) make a row a segment;
`speaker` is its speaker, and `type`, when there is one, says what it is as in RTTM. All other
columns stay. CSV, TSV, Parquet, NDJSON and SegLST come here.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.table import Table

TEXTS = ("recording", "speaker")


def segments_of(table: Table) -> Table:
    """A table with `start` and `end` as seconds, `recording` and `speaker` as text.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Table
        The table itself when it lacks a column that a segment needs: then whoever asks for the
        column says so. A `duration` gives way to `end`.

    Raises
    ------
    InputError
        When a time is missing, negative or no number, an end is before its start, a recording or a
        speaker is missing, or there are both ends and durations; with the first five lines.
    """
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
    texts = [_filled(table, name) for name in TEXTS if name in table.columns]
    times = pl.Series("start", start), pl.Series("end", end)
    frame = table.frame.with_columns(*texts, *times).drop("duration", strict=False)
    return replace(table, frame=frame)


def _seconds(table: Table, name: str) -> npt.NDArray[np.float64]:
    """A column of finite numbers that are not negative."""
    values = table.numbers(name, name)
    wrong = ~(np.isfinite(values) & (values >= 0))
    _refuse(table, wrong, lambda r: str(values[r]), f"whose {name} is no number of seconds from 0")
    return values


def _filled(table: Table, name: str) -> pl.Series:
    """A column of text without gaps."""
    texts = table.texts(name, name)
    _refuse(table, texts.is_null().to_numpy(), lambda _: "empty", f"without a {name}")
    return texts


def _refuse(
    table: Table, wrong: npt.NDArray[np.bool_], value: Callable[[int], str], what: str
) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        examples = first_five(f"{value(int(r))} at {table.where(int(r))}" for r in rows[:6])
        raise InputError(f"{table.source}: {counted(len(rows), 'segment')} {what}: {examples}")
