"""The audio that is scored: excerpts of channels, their seconds, and the trials in them.

Excerpts of one channel that overlap or touch are one, so that no second counts twice; every channel
is audio of its own. The source type `splitcts` is a telephone call of which each side is an audio
file: its seconds count half, as the reference scorer counts them. With the quirk `channels-once` a
second of a document counts once, whatever the number of channels. With `nested-excerpts` excerpts
stay as they are, and each ends where the next one of its document (or channel) begins: of 0 to 100
and 10 to 20 there remain 20 seconds.
"""

import numpy as np
import polars as pl

from truecost.formats.terms import Listing
from truecost.tasks.terms.sources import refuse, require
from truecost.tasks.terms.stretches import TICKS, ticks

HALVED = "splitcts"
CHANNEL = ["document", "channel"]
EXCERPT = (*CHANNEL, "source", "start", "duration")
PLACE = ["document", "source"]


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
        rows.with_columns(seconds=seconds).group_by(PLACE).agg(pl.col("seconds").sum()).sort(PLACE)
    )
