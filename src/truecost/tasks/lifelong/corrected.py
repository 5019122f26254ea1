"""What a person corrected: ids of items, or regions of recordings, found among those scored.

A correction says what is right. An answer that only says that an output is wrong puts nothing in
place, so that no corrected score can be computed from it: it is refused (paper 004, section 4).
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl

from truecost.corrections.speech_text import region_name
from truecost.corrections.texts import WHOLE
from truecost.errors import InputError, UsageError, counted, first_five, named, plural
from truecost.formats import Table
from truecost.formats.segments import segments_of
from truecost.formats.table import filled, refuse_repeated
from truecost.outputs.recordings import lasting, rows_of

Rows = list[tuple[str, ...]]  # of each item the parts that were corrected
VERDICTS = ("right", "wrong")
REGIONS = ("start", "end", "duration")
OF_ITEMS = ("id", "part", "verdict", "label")  # the columns that are read
OF_REGIONS = ("recording", "channel", *REGIONS, "part", "verdict", "label")


def corrected_ids(given: Any, ids: pl.Series, noun: str) -> Rows:
    """What was corrected of each item, from ids or from parts by id.

    Parameters
    ----------
    given : iterable of str, or mapping of str to iterable of str
        Ids of items that were corrected as a whole, or the corrected parts of each id.
    ids : polars.Series of str
        Of the items.
    noun : str
        What an item is.

    Raises
    ------
    InputError
        When an id is not known, or stands twice.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"corrected is {given!r}: give a list with the ids of corrected {plural(noun)}, or the "
            f"corrected parts of each id"
        )
    parts: dict[str, tuple[str, ...]] = {}
    for name in given:
        if str(name) in parts:
            raise InputError(f"corrected: {noun} {name} stands twice: each is corrected once")
        own = given[name] if isinstance(given, Mapping) else WHOLE
        parts[str(name)] = (own,) if isinstance(own, str) else tuple(map(str, own))
    _refuse_unknown("corrected", pl.Series([*parts], dtype=pl.String), ids, noun)
    return [parts.get(name, ()) for name in ids]


def corrected_items(table: Table, ids: pl.Series, noun: str) -> Rows:
    """What was corrected of each item that is corrected as a whole.

    Parameters
    ----------
    table : Table
        With a column `id`; a column `part` has to be empty. See `without_verdicts`.
    ids : polars.Series of str
        Of the items.
    noun : str
        What an item is.

    Raises
    ------
    UsageError
        When there is no column `id`, or another that is not read.
    InputError
        When an id is empty, not known, or stands twice, a part is named, or an answer only says
        "wrong".
    """
    if "id" not in table.columns and {*table.columns}.isdisjoint({"recording", *REGIONS}):
        raise UsageError(
            f"{table.source}: there is no column 'id', which says what was corrected; "
            f"{table.listed}: name it so"
        )
    _refuse_columns(table, OF_ITEMS, noun)
    table = without_verdicts(table)
    given = filled(table, "id", "id")
    _refuse_parts(table, f"a {noun} is corrected as a whole")
    refuse_repeated(table.source, given, f"each {noun} is corrected once", table.where)
    _refuse_unknown(table.source, given, ids, noun)
    known = set(given)
    return [(WHOLE,) if name in known else () for name in ids]


def _refuse_parts(table: Table, why: str) -> None:
    """Refuse parts that are named: the column of logs may stand there, but empty."""
    if "part" in table.columns:
        parts = table.texts("part", "part")
        if len(rows := parts.is_not_null().arg_true()):
            raise InputError(
                f"{table.source}: {table.where(rows[0])} names the part {parts[rows[0]]!r}; "
                f"{why}: leave the part empty"
            )


def _refuse_columns(table: Table, known: Sequence[str], noun: str) -> None:
    """Refuse columns that would say something of a correction which is not read."""
    unknown = [name for name in table.columns if name not in known]
    if not unknown:
        return
    if noun != "recording" and {*unknown} & {"recording", *REGIONS}:
        raise UsageError(
            f"{table.source}: {named('column', unknown, 'are')} not read: regions are of "
            f"diarization, and a {noun} is corrected as a whole, by its id; leave them out"
        )
    names = [*dict.fromkeys(("id", *OF_REGIONS))] if noun == "recording" else list(known)
    close = {name: get_close_matches(name.lower(), names, n=1) for name in unknown}
    hints = [f"{name!r} may be {found[0]!r}" for name, found in close.items() if found]
    raise UsageError(
        f"{table.source}: {named('column', unknown, 'are')} not known in a table of corrections"
        f"{f' ({first_five(hints)})' if hints else ''}: it has {', '.join(names)}; rename them, or "
        f"leave them out"
    )


def without_verdicts(table: Table) -> Table:
    """The rows of a table that are corrections.

    Parameters
    ----------
    table : Table
        Where there is a column `verdict`, `right` is an answer that needed no correction, and is
        left out; `wrong` has to come with what is right, in a column `label`.

    Raises
    ------
    InputError
        When a verdict is another word, or says "wrong" without what is right.
    """
    if "verdict" not in table.columns:
        return table
    verdicts = table.texts("verdict", "verdict")
    unknown = (~verdicts.is_in([*VERDICTS])).fill_null(value=False).arg_true()
    if len(unknown):
        raise InputError(
            f"{table.source}: {table.where(unknown[0])} has the verdict "
            f"{verdicts[unknown[0]]!r}: expected {' or '.join(VERDICTS)}, or nothing"
        )
    told = pl.Series([None] * len(table), dtype=pl.String)
    if "label" in table.columns:
        told = table.texts("label", "label")
    bare = ((verdicts == "wrong") & told.is_null()).fill_null(value=False)
    if bare.any():
        raise InputError(
            f"{table.source}: {counted(int(bare.sum()), 'answer')} only said that the output is "
            f"wrong, the first at {table.where(int(bare.arg_true()[0]))}: without the right output "
            f"(a column `label`) nothing is put in place, so that there is no corrected score and "
            f"nothing can be penalised"
        )
    kept = (verdicts != "right").fill_null(value=True)
    lines = np.array([_line(table, row) for row in kept.arg_true()], np.int64)
    frame = table.frame.filter(kept)
    return Table(table.source, frame, lines=lines, format=table.format, noun=table.noun)


def _line(table: Table, row: int) -> int:
    """The line of a row, or its number from 1."""
    if table.lines is not None:
        return int(table.lines[row])
    return row + (table.first_line if table.first_line >= 0 else 1)


def corrected_regions(table: Table, frame: pl.DataFrame, extents: pl.DataFrame) -> Rows:
    """The corrected regions of each recording.

    Parameters
    ----------
    table : Table
        A UEM, or columns `recording`, `start` and `end` (or `duration`), and `channel` where
        recordings have several; or `id` or `recording` alone, of recordings that were corrected
        throughout.
    frame : polars.DataFrame
        The recordings: `id`, `recording` and, where there are several, `channel`.
    extents : polars.DataFrame
        `start` and `end` of each recording in microseconds, as far as anything tells.

    Raises
    ------
    UsageError
        When a column is missing, or there is one that is not read.
    InputError
        When a region is of a recording that is not scored, lies outside of it or overlaps another,
        or an answer only says "wrong".
    """
    if {"id", "recording"} <= {*table.columns}:
        raise UsageError(
            f"{table.source}: there are a column 'id' and a column 'recording': which one says the "
            f"recording? Leave out the other"
        )
    if not any(name in table.columns for name in REGIONS):
        if "recording" in table.columns:
            table = _renamed(table, "recording", "id")
        return corrected_items(table, frame["id"], "recording")
    if table.format in ("rttm", "seglst"):
        raise InputError(
            f"{table.source}: was read as {table.format}, segments of speakers; corrected regions "
            f"are a uem (recording channel start end), or a table of recording, start and end"
        )
    if "id" in table.columns:
        table = _renamed(table, "id", "recording")
    _refuse_columns(table, OF_REGIONS, "recording")
    table = without_verdicts(table)
    _refuse_parts(table, "start and end name the region")
    if table.format != "uem":
        table = segments_of(table)
    rows, _ = lasting(rows_of(table, "region", speaker=False), table.source, "region")
    keys = [name for name in ("recording", "channel") if name in frame.columns]
    known = frame.select(*keys, "id").hstack(extents.rename({"start": "first", "end": "last"}))
    found = rows.select(*keys, "start", "end").join(
        known, on=keys, how="left", maintain_order="left"
    )
    _refuse_strangers(table, found, keys, known)
    _refuse_outside(table, found)
    _refuse_overlaps(table, found)
    by_id = {
        name: tuple(
            region_name(*bounds) for bounds in of.select("start", "end").sort("start").rows()
        )
        for (name,), of in found.group_by("id")
    }
    return [by_id.get(name, ()) for name in frame["id"]]


def _renamed(table: Table, old: str, new: str) -> Table:
    """A table with a column under another name."""
    return Table(
        table.source,
        table.frame.rename({old: new}),
        first_line=table.first_line,
        lines=table.lines,
        format=table.format,
    )


def _refuse_unknown(source: str, named: pl.Series, ids: pl.Series, noun: str) -> None:
    """Refuse ids that nothing else has."""
    extra = named.filter(~named.is_in(ids.implode()))
    if len(extra):
        numbers = "; texts without ids go by their line numbers, from 1" * _numbered(ids)
        raise InputError(
            f"{source}: {counted(len(extra), noun, 'are')} not among the {len(ids)} that are "
            f"scored: {first_five(extra)}; they are {first_five(ids)}{numbers}"
        )


def _numbered(ids: pl.Series) -> bool:
    """Whether ids are line numbers."""
    return set(ids) == {str(k + 1) for k in range(len(ids))}


def _refuse_strangers(
    table: Table, found: pl.DataFrame, keys: Sequence[str], known: pl.DataFrame
) -> None:
    """Refuse regions of recordings that are not scored."""
    lost = found.filter(pl.col("id").is_null()).select(keys).unique(maintain_order=True)
    if len(lost):
        names = [" channel ".join(row) for row in lost.rows()]
        raise InputError(
            f"{table.source}: {counted(len(names), 'recording', 'are')} not among those that are "
            f"scored: {first_five(names)}; they are {first_five(known['id'])}"
        )


def _refuse_outside(table: Table, found: pl.DataFrame) -> None:
    """Refuse regions where a recording is not: there is nothing to correct."""
    start, end = pl.col("start"), pl.col("end")
    none = pl.col("first").is_null() | (end <= pl.col("first")) | (start >= pl.col("last"))
    outside = found.filter((start < 0) | none)
    if len(outside):
        name, first, last, begin, stop = outside.select("id", "start", "end", "first", "last").row(
            0
        )
        there = (
            "nobody speaks there" if begin is None else f"it goes from {_s(begin)} to {_s(stop)}"
        )
        raise InputError(
            f"{table.source}: {counted(len(outside), 'region', 'lie')} outside of the recording: "
            f"{_s(first)} to {_s(last)} s of {name}, but {there}; times are in seconds"
        )


def _refuse_overlaps(table: Table, found: pl.DataFrame) -> None:
    """Refuse regions of a recording that overlap."""
    ordered = found.sort("id", "start", "end")
    before = pl.col("end").shift().over("id")
    twice = ordered.filter(pl.col("start") < before)
    if len(twice):
        name, start, end = twice.select("id", "start", "end").row(0)
        raise InputError(
            f"{table.source}: corrected regions of {name} overlap, the first at {_s(start)} to "
            f"{_s(end)} s: each time is corrected once"
        )


def _s(time: int) -> str:
    """Microseconds as seconds, for messages."""
    return f"{time / 1e6:g}"
