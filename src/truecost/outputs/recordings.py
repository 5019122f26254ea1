"""Recordings: who speaks when in whole microseconds, which are scored, and in which regions.

Tables have the columns `recording`, `start` and `end` (seconds); who speaks has `speaker`; there
may be a `channel` and a `type`. Of the types only SPEAKER is speech, and NOSCORE in the reference
is left out of scoring; NON-LEX (a laugh, a breath) is counted and scored as the rest is, where
md-eval leaves it out; the others of RTTM say nothing of speech.

Without a UEM (the map of what is to be evaluated) every recording of the reference is scored, from
the first to the last segment of reference and output together. With one, the recordings and
regions that it names are: a recording in which nobody speaks is silence, where every output is
a false alarm, and what it does not name is not scored. A recording that neither side has is
silence too, and said: an output that is silent there is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.segments import FIXED, KEYS, LEFT_OUT, ROWS, segments_of
from truecost.formats.table import filled, refuse_repeated_rows, refuse_rows
from truecost.names import LATEST, Missing
from truecost.outputs.files import lacking_warning, refuse_unknown
from truecost.speech.spans import MICRO, Ints, Spans

SPEECH, UNSCORED, NOISES = "SPEAKER", "NOSCORE", "NON-LEX"  # types of RTTM
NO_NAME = "<NA>"
WHOLE = ("recording", "channel", "speaker", "start", "end")  # what makes two turns the same


def turns_of(table: Table, columns: Mapping[str, str]) -> Table:
    """A reference or an output as segments of speakers, its mapped columns under their names; RTTM
    and SegLST have their own.
    """
    if table.format == "uem":
        raise InputError(
            f"{table.source}: is a uem, regions that are scored, without speakers: give it with "
            f"--uem, and here segments of speakers (such as rttm)"
        )
    return table if table.format in FIXED else segments_of(table, columns)


def rows_of(table: Table, noun: str = "segment", speaker: bool = True) -> pl.DataFrame:
    """The checked rows of a table (each is a `noun` in messages), times in whole microseconds:
    recording, channel, type, start, end and, if asked for, speaker.
    """
    columns = {"recording": filled(table, "recording", "recording")}
    columns["channel"] = _texts(table, "channel", "")
    columns["type"] = _texts(table, "type", SPEECH).str.to_uppercase()
    unknown = ~columns["type"].is_in([*ROWS, *LEFT_OUT])
    refuse_rows(table, unknown.to_numpy(), (noun, "have", "a type that RTTM does not have"), None)
    if speaker:
        names = table.texts("speaker", "speaker")
        nobody = names.is_null() & (columns["type"] == SPEECH)
        refuse_rows(table, nobody.to_numpy(), (noun, "have", "no speaker"), None)
        columns["speaker"] = names
    starts, ends = (table.numbers(name, name) for name in ("start", "end"))
    for times in (starts, ends):
        said = (noun, "have", "a time that is missing, is not a number of seconds, or is too large")
        refuse_rows(table, ~(np.abs(times) <= LATEST), said, None, times)
    refuse_rows(table, ends < starts, (noun, "end", "before its start"), None)
    micro = {k: np.rint(v * MICRO).astype(np.int64) for k, v in (("start", starts), ("end", ends))}
    return pl.DataFrame({**columns, **micro})


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


DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, eq=False)
class Recordings:
    """The recordings that are scored, with what reference and output say of them.

    `ids` are sorted: the recording, with its channel where any recording has several, as in
    `frame`. `reference` and `output` are rows of speech, and the recording of each; `unscored` is
    what the reference excludes from the regions (NOSCORE).
    """

    ids: npt.NDArray[Any]
    frame: pl.DataFrame
    reference: tuple[pl.DataFrame, Ints]
    output: tuple[pl.DataFrame, Ints]
    regions: Spans
    unscored: Spans
    problems: tuple[str, ...]


def gather(
    reference: Table,
    hypothesis: Table,
    uem: Table | None,
    missing: Missing,
    columns: Mapping[str, str],
    reference_columns: Mapping[str, str] | None = None,
    *,
    allow_duplicates: bool = True,
) -> Recordings:
    """The recordings to score; the reference has the columns of the output or its own."""
    theirs = columns if reference_columns is None else reference_columns
    tables = _as_segments((reference, hypothesis), columns, theirs)
    tables += [] if uem is None else [uem]
    rows = [rows_of(table) for table in tables[:2]] + [
        rows_of(table, "region", speaker=False) for table in tables[2:]
    ]
    if not allow_duplicates:
        for table, found in zip(tables[:2], rows[:2], strict=True):
            refuse_repeated_turns(table, found)
    rows, several = _identified(rows)
    kept, problems = [], []
    for table, found, noun in zip(tables, rows, ("segment", "segment", "region"), strict=False):
        left, said = lasting(found, table.source, noun)
        kept.append(left)
        problems += said
    spoken = [side.filter(pl.col("type") == SPEECH) for side in kept[:2]]
    ids, said = _chosen(tables, rows, spoken[0], missing)
    problems += said + _looks_long(tables, rows) + _odd_turns(tables, kept)
    sides = [_placed(side, ids) for side in spoken]
    excluded = _placed(kept[0].filter(pl.col("type") == UNSCORED), ids)
    regions = _spans(*_placed(kept[2], ids)) if uem is not None else _extents(sides, len(ids))
    return Recordings(
        np.array(ids),
        _recording_names(rows, ids, several),
        sides[0],
        sides[1],
        regions,
        _spans(*excluded),
        tuple(problems),
    )


def _as_segments(
    sides: Sequence[Table], columns: Mapping[str, str], theirs: Mapping[str, str]
) -> list[Table]:
    """Reference and output as segments; refuses a mapping when both have columns of their own."""
    mapped = [key for key in {**columns, **theirs} if key in KEYS]
    if mapped and all(table.format in FIXED for table in sides):
        formats = " and ".join(f"{table.source} is {table.format}" for table in sides)
        raise UsageError(
            f"--map {mapped[0]}=... is for tables of columns (csv, tsv, parquet, ndjson); {formats}"
        )
    return [turns_of(table, own) for table, own in zip(sides, (theirs, columns), strict=True)]


def _odd_turns(tables: Sequence[Table], rows: Sequence[pl.DataFrame]) -> list[str]:
    """Turns without a name, and noises of the reference, which other tools treat otherwise."""
    said = []
    if noises := int((rows[0]["type"] == NOISES).sum()):
        said.append(
            f"{tables[0].source}: {counted(noises, 'NON-LEX line')} (laughs, breaths): scored "
            "like other segments; md-eval leaves them out"
        )
    for table, side in zip(tables[:2], rows[:2], strict=True):
        unnamed = side.filter((pl.col("type") == SPEECH) & (pl.col("speaker") == NO_NAME))
        if len(unnamed):
            said.append(
                f"{table.source}: {counted(len(unnamed), 'turn', 'have')} no name ({NO_NAME}): "
                "all such turns of a recording count as one speaker"
            )
    return said


def _identified(rows: Sequence[pl.DataFrame]) -> tuple[list[pl.DataFrame], bool]:
    """Rows with an `id`: the recording, and the channel where any recording has several."""
    several = any(
        len(table.select("recording", "channel").unique()) > table["recording"].n_unique()
        for table in rows
    )
    name = pl.format("{} channel {}", "recording", "channel") if several else pl.col("recording")
    return [table.with_columns(id=name) for table in rows], several


def _chosen(
    tables: Sequence[Table], rows: Sequence[pl.DataFrame], speech: pl.DataFrame, missing: Missing
) -> tuple[list[str], list[str]]:
    """Ids of the recordings that are scored, sorted, and what to say about the others."""
    there, given = (set(table["id"].unique()) for table in rows[:2])
    named = set(rows[2]["id"].unique()) if len(rows) > 2 else there
    lacking = (set(speech["id"].unique()) & named) - given
    if there and there.isdisjoint(named):
        raise InputError(
            f"{tables[2].source}: names no recording of {tables[0].source}; it has "
            f"{first_five(sorted(named))}, the reference has {first_five(sorted(there))}; names "
            f"must be the same"
        )
    known = (tables[0], *tables[2:])
    refuse_unknown(tables[1], known, given - there - named, lacking, "recording")
    problems = []
    if silent := named - there - given:
        problems.append(
            f"{counted(len(silent), 'recording', 'are')} only in {tables[2].source}, not in the "
            f"reference or the output, and scored as silence: {first_five(sorted(silent))}"
        )
    if there - named:
        problems.append(
            f"{counted(len(there - named), 'recording', 'have')} no region in {tables[2].source}, "
            f"so no time of {'it' if len(there - named) == 1 else 'them'} is scored: "
            f"{first_five(sorted(there - named))}"
        )
    problems += lacking_warning(tables[1], tables[0], lacking, missing, "recording")
    scored = named - lacking if missing == "drop" else named
    if not scored:
        raise InputError(
            f"{tables[1].source}: no recording is left to score; "
            f"{'; '.join(problems) or f'{tables[0].source} has none'}"
        )
    return sorted(scored), problems


def _looks_long(tables: Sequence[Table], rows: Sequence[pl.DataFrame]) -> list[str]:
    """A hint where the times of a recording span more than a day."""
    for table, found in zip(tables, rows, strict=True):
        spans = found.group_by("id").agg(pl.col("end").max() - pl.col("start").min()).sort("id")
        long = spans.filter(pl.col("end") > DAY)
        if len(long):
            return [
                f"{counted(len(long), 'recording', 'are')} longer than a day in {table.source} "
                f"(as {long['id'][0]}); times are in seconds: did you give milliseconds?"
            ]
    return []


def _placed(rows: pl.DataFrame, ids: list[str]) -> tuple[pl.DataFrame, Ints]:
    """The rows of the recordings that are scored, and the recording of each."""
    kept = rows.filter(pl.col("id").is_in(ids))
    places = kept["id"].cast(pl.Enum(ids)).to_physical()
    return kept, places.to_numpy().astype(np.int64)


def _spans(rows: pl.DataFrame, items: Ints) -> Spans:
    """Merged stretches of time of the recordings."""
    return Spans(items, rows["start"].to_numpy(), rows["end"].to_numpy()).merged()


def _extents(sides: Sequence[tuple[pl.DataFrame, Ints]], size: int) -> Spans:
    """Start of the first and end of the last segment of either side, for each recording with
    speech.
    """
    latest = np.iinfo(np.int64).max
    starts, ends = np.full(size, latest), np.full(size, -latest)
    for rows, items in sides:
        np.minimum.at(starts, items, rows["start"].to_numpy())
        np.maximum.at(ends, items, rows["end"].to_numpy())
    spoken = np.flatnonzero(starts < ends)
    return Spans(spoken, starts[spoken], ends[spoken])


def _recording_names(rows: Sequence[pl.DataFrame], ids: list[str], several: bool) -> pl.DataFrame:
    """The names of the recordings, one row each."""
    columns = ["recording", "channel"] if several else ["recording"]
    every = pl.concat([table.select("id", *columns) for table in rows]).unique("id")
    order = pl.DataFrame({"id": ids})
    return order.join(every, on="id", how="left", maintain_order="left").select(columns)
