"""Segments of the audio, speech or not: the trials of a search for which terms a segment holds.

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
"""

import numpy as np
import polars as pl

from truecost.tasks.terms.stretches import Stretches, ticks

CHANNEL = ["document", "channel"]
PLACE = ["place", "channel"]


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
    return found.select(*PLACE, "start", "end").sort(*PLACE, "start")


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
