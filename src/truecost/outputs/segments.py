"""Segments: who speaks when, in whole microseconds, from tables of recordings and times.

Tables have the columns `recording`, `start` and `end` (seconds); who speaks has `speaker`; there
may be a `channel` and a `type`. Of the types only SPEAKER is speech, and NOSCORE in the reference
is left out of scoring; NON-LEX (a laugh, a breath) is counted and scored as the rest is, where
md-eval leaves it out; the others of RTTM say nothing of speech.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats import Table
from truecost.formats.mapped import filled, refuse_repeated_rows, refuse_rows
from truecost.formats.rttm import LEFT_OUT, ROWS
from truecost.formats.segments import FIXED, segments_of
from truecost.speech.spans import MICRO

LATEST = 1e10  # seconds; beyond any clock, and sums of such times still fit into 64 bits
SPEECH, UNSCORED, NOISES = "SPEAKER", "NOSCORE", "NON-LEX"  # types of RTTM
NO_NAME = "<NA>"
WHOLE = ("recording", "channel", "speaker", "start", "end")  # what makes two turns the same


def turns_of(table: Table, columns: Mapping[str, str]) -> Table:
    """A reference or an output as segments of speakers, its mapped columns under their names.

    Parameters
    ----------
    columns : mapping of str to str
        Column of each of `truecost.formats.segments.KEYS` that is mapped; RTTM and SegLST have
        their own.

    Raises
    ------
    UsageError
        When a mapped column is missing.
    InputError
        When it is a UEM, or a row is invalid.
    """
    if table.format == "uem":
        raise InputError(
            f"{table.source}: is a uem, regions that are scored, and says nothing of speakers: "
            f"give it with --uem, and segments of speakers (rttm, say) in its place"
        )
    return table if table.format in FIXED else segments_of(table, columns)


def rows_of(table: Table, noun: str = "segment", speaker: bool = True) -> pl.DataFrame:
    """The checked rows of a table, times in whole microseconds.

    Parameters
    ----------
    noun : str
        What a row is, for messages.
    speaker : bool
        Whether rows have a speaker.

    Returns
    -------
    polars.DataFrame
        recording, channel, type, start, end and, if asked for, speaker.

    Raises
    ------
    UsageError
        When a column is missing.
    InputError
        When a cell is empty, a time is no number, or a row ends before it starts; with lines.
    """
    columns = {"recording": filled(table, "recording", "recording")}
    columns["channel"] = _texts(table, "channel", "")
    columns["type"] = _texts(table, "type", SPEECH).str.to_uppercase()
    unknown = ~columns["type"].is_in([*ROWS, *LEFT_OUT])
    refuse_rows(table, unknown.to_numpy(), (noun, "have", "a type that RTTM has not"), None)
    if speaker:
        names = table.texts("speaker", "speaker")
        nobody = names.is_null() & (columns["type"] == SPEECH)
        refuse_rows(table, nobody.to_numpy(), (noun, "have", "no speaker"), None)
        columns["speaker"] = names
    starts, ends = (table.numbers(name, name) for name in ("start", "end"))
    for times in (starts, ends):
        bad = ~(np.abs(times) <= LATEST)
        refuse_rows(
            table,
            bad,
            (noun, "have", "a time that is missing or no number of seconds"),
            None,
            times,
        )
    refuse_rows(table, ends < starts, (noun, "end", "before its start"), None)
    for name, times in (("start", starts), ("end", ends)):
        columns[name] = pl.Series(np.rint(times * MICRO).astype(np.int64))
    return pl.DataFrame(columns)


def refuse_repeated_turns(table: Table, rows: pl.DataFrame) -> None:
    """Refuse a turn that stands twice, with both lines: InputError."""
    turns = rows.with_row_index("row").filter(
        (pl.col("type") == SPEECH) & (pl.col("end") > pl.col("start"))
    )
    refuse_repeated_rows(table, turns.select(*WHOLE), "turn", turns["row"])


def _texts(table: Table, name: str, default: str) -> pl.Series:
    """A column that need not be there, nor be filled."""
    if name not in table.columns:
        return pl.repeat(default, len(table), dtype=pl.String, eager=True)
    return table.texts(name, name).fill_null(default)


def lasting(rows: pl.DataFrame, source: str, noun: str) -> tuple[pl.DataFrame, list[str]]:
    """Rows that last, and what to say about the others."""
    kept = rows.filter(pl.col("end") > pl.col("start"))
    lost = len(rows) - len(kept)
    said = f"{counted(lost, noun)} of {source} {'has' if lost == 1 else 'have'} no length: left out"
    return kept, [said] if lost else []
