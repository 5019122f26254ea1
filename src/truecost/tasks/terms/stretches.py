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
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.terms import Listing


def require(listing: Listing, names: Sequence[str], row: str) -> None:
    """Refuse when a column is missing.

    Parameters
    ----------
    names : sequence of str
        The columns that are needed.
    row : str
        What a row is, for the message.

    Raises
    ------
    UsageError
    """
    for name in names:
        if name not in listing.frame.columns:
            raise UsageError(
                f"{listing.source}: {row} needs a column {name!r}; the columns are "
                f"{', '.join(listing.frame.columns)}"
            )


def refuse(
    listing: Listing, wrong: pl.Series, what: str, advice: str, columns: Sequence[str]
) -> None:
    """Refuse when rows are wrong.

    Parameters
    ----------
    what : str
        What a wrong row is: a noun and what is wrong with it.
    advice : str
        What to do.
    columns : sequence of str
        What the message shows of the first five.

    Raises
    ------
    InputError
    """
    at = wrong.arg_true()
    if len(at):
        shown = listing.frame[at.head(6)].select(columns).rows()
        examples = first_five(
            f"{' '.join(map(str, values))} at {listing.where(row)}"
            for values, row in zip(shown, at.head(6).to_list(), strict=True)
        )
        noun, _, fault = what.partition(" ")
        raise InputError(
            f"{listing.source}: {counted(len(at), noun)} {fault}: {examples}: {advice}"
        )


def rows_of(values: pl.Series, labels: pl.Series) -> npt.NDArray[np.int32]:
    """The row of each value among distinct labels, -1 for none."""
    name = labels.name
    numbered = labels.to_frame().with_row_index("row").cast({"row": pl.Int32})
    found = values.alias(name).to_frame().join(numbered, on=name, how="left", maintain_order="left")
    return found["row"].fill_null(-1).to_numpy()


def named_channels(rows: pl.DataFrame) -> str:
    """The first five channels of a frame with `document` and `channel`, for messages."""
    found = rows.select(pl.col("document", "channel").cast(pl.String)).unique(maintain_order=True)
    return first_five(f"{document} (channel {channel})" for document, channel in found.rows())


def meant(asked: str, known: Iterable[str]) -> str:
    """A hint at the name that is almost the same, but for no number in it; nothing without one."""
    names = [name for name in known if _numbers(name) == _numbers(asked)]
    folded = {name.casefold(): name for name in names}
    if (same := folded.get(asked.casefold())) is not None:
        return f" ({asked!r}: did you mean {same!r}? case counts)"
    close = get_close_matches(asked, names, n=1)
    return f" ({asked!r}: did you mean {close[0]!r}?)" if close else ""


def _numbers(name: str) -> list[str]:
    """The numbers in a name: q07 and q08 are no misspellings of each other."""
    return [digits.lstrip("0") for digits in re.findall(r"[0-9]+", name)]


Ints = npt.NDArray[np.int64]


CHANNEL_KEY = ("document", "channel")


TICKS = 10_000  # in a second


EARLIEST = np.iinfo(np.int64).min // 4  # in ticks; far from overflow


def ticks(seconds: npt.ArrayLike) -> Ints:
    """Seconds as whole ticks.

    Parameters
    ----------
    seconds : array_like of float, shape (N,)
        Beyond what 64 bits hold they stay the latest tick there is.

    Returns
    -------
    ndarray of int64, shape (N,)
    """
    scaled = np.rint(np.asarray(seconds, np.float64) * TICKS)
    return np.clip(scaled, EARLIEST, -EARLIEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of time, sorted by channel, then start; several may overlap or touch.

    Attributes
    ----------
    channels : polars.DataFrame
        What names a channel, `document` and `channel` say: each row is one.
    group : ndarray of int64, shape (N,)
        The channel of each stretch: a row of `channels`.
    starts, ends : ndarray of int64, shape (N,)
        Ticks.
    """

    channels: pl.DataFrame
    group: Ints
    starts: Ints
    ends: Ints

    @staticmethod
    def of(rows: pl.DataFrame, by: Sequence[str] = CHANNEL_KEY) -> "Stretches":
        """Stretches of a frame.

        Parameters
        ----------
        rows : polars.DataFrame
            `start` and `end` in ticks; sorted by what names a channel, then by `start`.
        by : sequence of str
            The columns that name a channel.
        """
        channels = rows.select(by).unique(maintain_order=True)
        group = _rows_among(rows, channels)
        return Stretches(channels, group, rows["start"].to_numpy(), rows["end"].to_numpy())

    def groups_of(self, rows: pl.DataFrame) -> Ints:
        """The channel of each row of a frame that names one, -1 for none of these.

        Parameters
        ----------
        rows : polars.DataFrame, shape (M, ...)

        Returns
        -------
        ndarray of int64, shape (M,)
        """
        return _rows_among(rows, self.channels)

    def holding(self, group: Ints, start: Ints, end: Ints) -> Ints:
        """The stretch that holds each span of time from start to end, both included.

        Parameters
        ----------
        group, start, end : ndarray of int64, shape (M,)
            Channels and ticks.

        Returns
        -------
        ndarray of int64, shape (M,)
            Of several the one that ends last; -1 for none.
        """
        if not len(self.group):
            return np.full(len(group), -1)
        low, high = int(self.starts.min()), int(self.ends.max())
        width = high - low + 2
        offsets = self.group * width
        reach = np.maximum.accumulate(offsets + (self.ends - low))
        longest = np.maximum.accumulate(
            np.where(reach == offsets + (self.ends - low), np.arange(len(reach)), 0)
        )
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


CHANNEL = ["document", "channel"]


SEGMENT_PLACE = ["place", "channel"]


def segments_of(excerpts: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The segments of the audio.

    Between the edges of excerpts and merged turns nothing begins or ends, so that each stretch from
    one edge to the next is a segment, or not scored.

    Parameters
    ----------
    excerpts : polars.DataFrame
        `document`, `channel`, `place`; `start` and `end` in ticks; sorted by document, channel and
        start.
    turns : polars.DataFrame
        `document`, `channel`; `start` and `duration` in seconds.

    Returns
    -------
    polars.DataFrame
        `place`, `channel`; `start` and `end` in ticks; sorted by these.
    """
    audio = Stretches.of(excerpts)
    speech = _merged(turns)
    edges = pl.concat(
        [
            rows.select(*CHANNEL, pl.col(name).alias("start"))
            for rows in (excerpts, speech)
            for name in ("start", "end")
        ]
    )
    edges = edges.unique().sort(*CHANNEL, "start")
    rows = edges.with_columns(end=pl.col("start").shift(-1).over(CHANNEL)).drop_nulls("end")
    held = audio.holding(audio.groups_of(rows), rows["start"].to_numpy(), rows["end"].to_numpy())
    inside = np.flatnonzero(held >= 0)
    found = rows[inside].with_columns(excerpts["place"][held[inside]])
    return found.select(*SEGMENT_PLACE, "start", "end").sort(*SEGMENT_PLACE, "start")


def _merged(turns: pl.DataFrame) -> pl.DataFrame:
    """Turns in ticks, those of a channel that overlap as one."""
    rows = turns.select(
        pl.col(CHANNEL).cast(pl.String),
        pl.Series("start", ticks(turns["start"])),
        pl.Series("end", ticks(turns["start"] + turns["duration"])),
    )
    rows = rows.filter(pl.col("end") > pl.col("start")).sort(*CHANNEL, "start", "end")
    before = pl.col("end").cum_max().shift(1).over(CHANNEL)
    begins = before.is_null() | (pl.col("start") >= before)
    return (
        rows.with_columns(turn=begins.cum_sum())
        .group_by("turn", maintain_order=True)
        .agg(pl.col(*CHANNEL, "start").first(), pl.col("end").max())
    )


HALVED = "splitcts"


EXCERPT = (*CHANNEL, "source", "start", "duration")


SOURCE = ["document", "source"]


def excerpts_of(audio: Listing, compat: frozenset[str]) -> pl.DataFrame:
    """Excerpts in whole ticks, those that overlap or touch merged.

    Parameters
    ----------
    audio : Listing
        `document`, `channel`, `source`; `start` and `duration` in seconds.

    Returns
    -------
    polars.DataFrame
        `document`, `channel`, `source`; `start` and `end` in ticks; sorted by document, channel,
        start and end.

    Raises
    ------
    InputError
        When excerpts of several source types overlap.
    """
    require(audio, EXCERPT, "an excerpt")
    given = audio.frame
    rows = given.select(
        *(*CHANNEL, "source"),
        pl.Series("start", ticks(given["start"])),
        pl.Series("end", ticks(given["start"] + given["duration"])),
    ).with_row_index("row")
    rows = rows.sort(*CHANNEL, "start", "end", "source")
    if "nested-excerpts" in compat:
        return rows.drop("row")
    rows = rows.with_columns(before=pl.col("end").cum_max().shift(1).over(CHANNEL))
    _refuse_types(rows, audio)
    of_another = pl.col("source") != pl.col("source").shift(1).over(CHANNEL)
    begins = pl.col("before").is_null() | (pl.col("start") > pl.col("before")) | of_another
    return (
        rows.with_columns(piece=begins.cum_sum())
        .group_by("piece", maintain_order=True)
        .agg(pl.col(*CHANNEL, "source", "start").first(), pl.col("end").max())
        .drop("piece")
    )


def _refuse_types(rows: pl.DataFrame, audio: Listing) -> None:
    """Refuse a second of a channel that is of several source types."""
    piece = (pl.col("before").is_null() | (pl.col("start") >= pl.col("before"))).cum_sum()
    mixed = pl.col("source").n_unique().over(piece) > 1
    bad = rows.filter(mixed)["row"].to_numpy()
    wrong = np.zeros(audio.frame.height, bool)
    wrong[bad] = True
    refuse(
        audio,
        pl.Series(wrong),
        "excerpt overlapping one of another source type",
        "each second of a channel has one source type",
        (*CHANNEL, "source"),
    )


def documents_of(excerpts: pl.DataFrame, compat: frozenset[str]) -> pl.DataFrame:
    """Seconds of each document and source type.

    Parameters
    ----------
    excerpts : polars.DataFrame
        As `excerpts_of` gives them.

    Returns
    -------
    polars.DataFrame
        `document`, `source` and `seconds`, sorted by document and source.
    """
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
    return (
        rows.with_columns(seconds=seconds)
        .group_by(SOURCE)
        .agg(pl.col("seconds").sum())
        .sort(SOURCE)
    )
