"""Where detections lie: channels and stretches of the audio, and the trials that these make."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.formats.kwslist import DetectionList
from truecost.tasks.terms.aligning import MICRO, micro
from truecost.tasks.terms.records import Codes, Reference
from truecost.tasks.terms.sources import rows_of
from truecost.tasks.terms.stretches import EARLIEST, TICKS, Stretches, ticks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Places:
    """The stretches of the audio that hold detections: segments, or excerpts.

    Attributes
    ----------
    place : ndarray of int32, shape (stretches,)
        Row of the reference's documents.
    names : polars.Series
        The document of each row of the reference's documents.
    whole : bool
        A stretch holds a detection as a whole; else its midpoint.
    """

    stretches: Stretches
    place: Codes
    names: pl.Series
    whole: bool

    @staticmethod
    def of(reference: Reference) -> "Places":
        """The places of a reference."""
        rows = reference.excerpts if reference.segments is None else reference.segments
        names = reference.documents["document"]
        rows = rows.with_columns(
            names[rows["place"]].alias("document"),
            *(pl.Series(name, ticks(rows[name])) for name in ("start", "end")),
        )
        rows = rows.sort("document", "channel", "start", "end")
        place = rows["place"].cast(pl.Int32).to_numpy()
        return Places(Stretches.of(rows), place, names, reference.unit == "occurrence")

    @property
    def channels(self) -> pl.DataFrame:
        """Document and channel of each number that stands for a channel."""
        return self.stretches.channels

    def channels_of_rows(self, rows: pl.DataFrame) -> Ints:
        """The channel of each row of a frame with `place` and `channel`, -1 for none."""
        named = rows.select(self.names[rows["place"]].alias("document"), "channel")
        return self.stretches.groups_of(named)

    def channels_of(self, detections: DetectionList) -> Ints:
        """The channel of each detection, -1 for none; each name is looked up once."""
        known = {
            name: self.channels[name].unique(maintain_order=True)
            for name in ("document", "channel")
        }
        documents = rows_of(pl.Series(detections.documents, dtype=pl.String), known["document"])
        channels = rows_of(pl.Series(detections.channels, dtype=pl.String), known["channel"])
        table = np.full((len(known["document"]) + 1, len(known["channel"]) + 1), -1)
        rows = (rows_of(self.channels[name], known[name]) for name in known)
        table[*rows] = np.arange(self.channels.height)
        return table[documents[detections.document], channels[detections.channel]]

    def bounds(self) -> tuple[Ints, Ints]:
        """Where the audio of each channel begins and ends, in ticks."""
        group, number = self.stretches.group, self.channels.height
        first, last = np.full(number, -EARLIEST), np.full(number, EARLIEST)
        np.minimum.at(first, group, self.stretches.starts)
        np.maximum.at(last, group, self.stretches.ends)
        return first, last

    def holding(self, detections: DetectionList, channel: Ints) -> Ints:
        """The stretch that holds each detection, -1 for none."""
        if self.whole:
            start, end = detections.start, detections.start + detections.duration
            return self.stretches.holding(channel, ticks(start), ticks(end))
        twice = 2 * micro(detections.start) + micro(detections.duration)
        middle = twice // (2 * MICRO // TICKS)
        return self.stretches.holding(channel, middle, middle)


@dataclass(frozen=True, eq=False)
class Trials:
    """The trials of segments or documents, numbered query by query.

    Attributes
    ----------
    cells : int
        Trials of a query.
    cell : ndarray of int64, shape (stretches,)
        The trial of a query that each stretch belongs to.
    sought : ndarray of int64, shape (targets,)
        The trials that are targets, in the order of the reference.
    """

    cells: int
    cell: Ints
    sought: Ints

    @staticmethod
    def of(reference: Reference, places: Places) -> "Trials":
        """The trials of a reference in segment or document units."""
        targets = reference.targets
        if reference.unit == "document":
            cells, cell = reference.documents.height, places.place.astype(np.int64)
            at = targets["place"].to_numpy()
        else:
            cells = len(places.place)
            cell = np.arange(cells)
            channel = places.channels_of_rows(targets)
            at = places.stretches.holding(channel, ticks(targets["start"]), ticks(targets["end"]))
        return Trials(cells, cell, targets["query"].to_numpy() * np.int64(cells) + at)

    def of_detections(self, query: Codes, stretch: Ints) -> Ints:
        """The trial of detections of queries in stretches."""
        return query * np.int64(self.cells) + self.cell[stretch]

    def targets(self, trial: Ints) -> Codes:
        """The row of the targets of each trial, -1 where nothing is to be found."""
        order = np.argsort(self.sought)
        at = np.searchsorted(self.sought, trial, sorter=order)
        row = np.append(order, -1)[at]
        return np.where(np.append(self.sought, -1)[row] == trial, row, -1).astype(np.int32)
