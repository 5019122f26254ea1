"""Stretches of time of channels, and which of them holds what.

Times are compared in whole ticks of 0.1 ms, as the reference scorer rounds them: what a file writes
as 0.3 ends where 0.1 + 0.2 does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

CHANNEL = ("document", "channel")
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
    def of(rows: pl.DataFrame, by: Sequence[str] = CHANNEL) -> "Stretches":
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
