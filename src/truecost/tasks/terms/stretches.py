"""Stretches of time of channels: excerpts that are scored, segments, and what tables must hold.

Times are compared in whole ticks of 0.1 ms, as the reference scorer rounds them: what a file writes
as 0.3 ends where 0.1 + 0.2 does.

Made as the reference scorer makes them (OpenKWS 2013), from the SPEAKER turns of an RTTM:

- Turns of a channel that overlap, whoever speaks, are one segment; turns that touch are two. A turn
  without duration is none.
- What lies between the turns, within the audio that is scored, is a segment without speech. A
  channel without turns is one.
- The edges of the audio cut turns.

A target is a query and a segment that holds a whole occurrence of it. An occurrence across the edge
of two segments is in neither, such as `why not` of which `why` ends a turn and `not` begins the
next. These rules give the 8 and the 1916 segments, and the 4 and the 220 targets, of the reference
cases `test9` and `sub2_real`.

Excerpts of one channel that overlap or touch are one, so that no second counts twice; every channel
is audio of its own. The source type `splitcts` is a telephone call of which each side is an audio
file: its seconds count half, as the reference scorer counts them. With the quirk `channels-once` a
second of a document counts once, whatever the number of channels. With `nested-excerpts` excerpts
stay as they are, and each ends where the next one of its document (or channel) begins: of 0 to 100
and 10 to 20 there remain 20 seconds.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import UsageError, first_five, near, the_columns
from truecost.formats.table import refuse_values
from truecost.formats.terms import Listing
from truecost.tasks.terms.records import Codes, Ints


def require(listing: Listing, names: Sequence[str], row: str) -> None:
    """Refuse when a column is missing that a row, which is named so in the message, needs."""
    for name in names:
        if name not in listing.frame.columns:
            raise UsageError(
                f"{listing.source}: {row} needs a column {name!r}; "
                f"{the_columns(listing.frame.columns)}"
            )


def refuse(
    listing: Listing, wrong: pl.Series, what: str, advice: str, columns: Sequence[str]
) -> None:
    """Refuse when rows are wrong: `what` is a noun and its fault, `columns` show the first five."""
    rows, (noun, _, fault) = listing.frame.select(columns), what.partition(" ")
    refuse_values(
        listing, wrong, noun, fault, lambda r: " ".join(map(str, rows.row(r))), f": {advice}"
    )


def rows_of(values: pl.Series, labels: pl.Series) -> Codes:
    """The row of each value among distinct labels, -1 for none."""
    rows = _rows_among(values.alias(labels.name).to_frame(), labels.to_frame())
    return rows.astype(np.int32)


def named_channels(rows: pl.DataFrame) -> str:
    """The first five channels of a frame with `document` and `channel`, for messages."""
    found = rows.select(pl.col("document", "channel").cast(pl.String)).unique(maintain_order=True)
    return first_five(f"{document} (channel {channel})" for document, channel in found.rows())


def near_name(asked: str, known: Iterable[str]) -> str:
    """A hint at the name that is almost the same, but for no number in it; nothing without one."""
    names = [name for name in known if _numbers(name) == _numbers(asked)]
    return f": {asked!r}{hint}" if (hint := near(asked, names)) else ""


def _numbers(name: str) -> list[str]:
    """The numbers in a name: q07 and q08 are no misspellings of each other."""
    return [digits.lstrip("0") for digits in re.findall(r"[0-9]+", name)]


CHANNEL = ["document", "channel"]
SEGMENT_PLACE = ["place", "channel"]
SOURCE = ["document", "source"]
EXCERPT = (*CHANNEL, "source", "start", "duration")
HALVED = "splitcts"
TICKS = 10_000  # in a second
EARLIEST = np.iinfo(np.int64).min // 4  # in ticks; far from overflow


def ticks(seconds: npt.ArrayLike) -> Ints:
    """Seconds as whole ticks; beyond what 64 bits hold they stay the latest tick there is."""
    scaled = np.rint(np.asarray(seconds, np.float64) * TICKS)
    return np.clip(scaled, EARLIEST, -EARLIEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of time in ticks, sorted by channel, then start; several may overlap or touch.

    Each row of `channels` is what names one, `document` and `channel` say; `group` is the row of
    each stretch.
    """

    channels: pl.DataFrame
    group: Ints
    starts: Ints
    ends: Ints

    @staticmethod
    def from_frame(rows: pl.DataFrame, by: Sequence[str] = CHANNEL) -> "Stretches":
        """Stretches of a frame, sorted by the columns that name a channel, then by `start`."""
        channels = rows.select(by).unique(maintain_order=True)
        group = _rows_among(rows, channels)
        return Stretches(channels, group, rows["start"].to_numpy(), rows["end"].to_numpy())

    def groups_of(self, rows: pl.DataFrame) -> Ints:
        """The channel of each row of a frame that names one, -1 for none of these."""
        return _rows_among(rows, self.channels)

    def holding(self, group: Ints, start: Ints, end: Ints) -> Ints:
        """The stretch that holds each span of ticks from start to end, both included.

        Of several the one that ends last; -1 for none.
        """
        if not len(self.group):
            return np.full(len(group), -1)
        low, high = int(self.starts.min()), int(self.ends.max())
        width = high - low + 2
        offsets = self.group * width
        ends = offsets + (self.ends - low)
        reach = np.maximum.accumulate(ends)
        longest = np.maximum.accumulate(np.where(reach == ends, np.arange(len(reach)), 0))
        wanted = group * width + (np.clip(start, low - 1, high + 1) - low)
        last = np.searchsorted(offsets + (self.starts - low), wanted, side="right") - 1
        found = longest[np.maximum(last, 0)]
        held = (
            (last >= 0)
            & (self.group[found] == group)
            & (start >= low)
            & (self.ends[found] >= end)
            & (start <= end)
        )
        return np.where(held, found, -1)


def _rows_among(rows: pl.DataFrame, channels: pl.DataFrame) -> Ints:
    by = channels.columns
    numbered = channels.with_row_index("row").cast({"row": pl.Int64})
    found = rows.select(by).join(numbered, on=by, how="left", maintain_order="left")
    return found["row"].fill_null(-1).to_numpy()


def segments_of(excerpts: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The segments of the audio: `place`, `channel`, `start` and `end` in ticks, sorted by these.

    Between the edges of excerpts (in ticks, sorted by document, channel and start) and merged turns
    (in seconds) nothing begins or ends, so that each stretch from one edge to the next is a
    segment, or not scored.
    """
    audio = Stretches.from_frame(excerpts)
    speech = _merged(turns)
    both = pl.concat([excerpts, speech], how="diagonal").select(*CHANNEL, "start", "end")
    edges = pl.concat([both.drop("end"), both.drop("start").rename({"end": "start"})])
    edges = edges.unique().sort(*CHANNEL, "start")
    rows = edges.with_columns(end=pl.col("start").shift(-1).over(CHANNEL)).drop_nulls("end")
    held = audio.holding(audio.groups_of(rows), rows["start"].to_numpy(), rows["end"].to_numpy())
    inside = np.flatnonzero(held >= 0)
    found = rows[inside].with_columns(excerpts["place"][held[inside]])
    return found.select(*SEGMENT_PLACE, "start", "end").sort(*SEGMENT_PLACE, "start")


def _merged(turns: pl.DataFrame) -> pl.DataFrame:
    """Turns in ticks, those of a channel that overlap as one."""
    rows = _in_ticks(turns.cast(dict.fromkeys(CHANNEL, pl.String)), CHANNEL)
    rows = rows.filter(pl.col("end") > pl.col("start")).sort(*CHANNEL, "start", "end")
    before = pl.col("end").cum_max().shift(1).over(CHANNEL)
    return _as_one(rows, before.is_null() | (pl.col("start") >= before))


def _in_ticks(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of rows, and `start` and `end` in ticks, from seconds."""
    return rows.select(
        *columns,
        pl.Series("start", ticks(rows["start"])),
        pl.Series("end", ticks(rows["start"] + rows["duration"])),
    )


def _as_one(rows: pl.DataFrame, begins: pl.Expr) -> pl.DataFrame:
    """The rows from each that begins to the next one as one, up to the latest of their ends."""
    pieces = rows.with_columns(piece=begins.cum_sum()).group_by("piece", maintain_order=True)
    return pieces.agg(pl.exclude("end").first(), pl.col("end").max()).drop("piece")


def excerpts_of(audio: Listing, compat: frozenset[str]) -> pl.DataFrame:
    """Excerpts, those that overlap or touch merged.

    `document`, `channel`, `source`; `start` and `end` in ticks; sorted by document, channel, start
    and end.
    """
    require(audio, EXCERPT, "an excerpt")
    rows = _in_ticks(audio.frame, EXCERPT[:3]).with_row_index("row")
    rows = rows.sort(*CHANNEL, "start", "end", "source")
    if "nested-excerpts" in compat:
        return rows.drop("row")
    rows = rows.with_columns(before=pl.col("end").cum_max().shift(1).over(CHANNEL))
    _refuse_types(rows, audio)
    of_another = pl.col("source") != pl.col("source").shift(1).over(CHANNEL)
    begins = pl.col("before").is_null() | (pl.col("start") > pl.col("before")) | of_another
    return _as_one(rows, begins).drop("row", "before")


def _refuse_types(rows: pl.DataFrame, audio: Listing) -> None:
    """Refuse a second of a channel that is of several source types."""
    piece = (pl.col("before").is_null() | (pl.col("start") >= pl.col("before"))).cum_sum()
    mixed = pl.col("source").n_unique().over(piece) > 1
    wrong = rows.select("row", wrong=mixed).sort("row")["wrong"]
    fault = "excerpt overlapping one of another source type"
    advice = "each second of a channel has one source type"
    refuse(audio, wrong, fault, advice, EXCERPT[:3])


def documents_of(excerpts: pl.DataFrame, compat: frozenset[str]) -> pl.DataFrame:
    """`seconds` of each `document` and `source` type, sorted by these."""
    whole = ["document"] if "channels-once" in compat else CHANNEL
    rows = excerpts.sort(*whole, "start", "end", maintain_order=True)
    if "nested-excerpts" in compat:
        next_start = pl.col("start").shift(-1).over(whole)
        left = pl.min_horizontal("end", next_start) - pl.col("start")
    else:
        before = pl.col("end").cum_max().shift(1).over(whole)
        left = pl.col("end") - pl.max_horizontal("start", before)
    share = pl.when(pl.col("source") == HALVED).then(0.5).otherwise(1.0)
    seconds = left.clip(lower_bound=0) * share / TICKS
    found = rows.with_columns(seconds=seconds).group_by(SOURCE)
    return found.agg(pl.col("seconds").sum()).sort(SOURCE)
