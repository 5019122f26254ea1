"""Detections and occurrences aligned one to one, and where in the audio detections lie.

Within a *group* (query, document, channel) a detection may go with an occurrence when its midpoint
lies at most a tolerance outside of it, edges included. Of all one-to-one alignments those with the
most pairs are taken, and of these the one with the largest sum of

    1 + 1e-6 (score - min) / (max - min) + 1e-8 overlap / duration of the occurrence

with an overlap that is negative where the two are apart, and both denominators at least 1e-5. The
scores' min and max are those that the list states, else those of the group. Decisions play no part.

Times are rounded to whole microseconds first, so a midpoint that is written as exactly 0.5 s behind
an end is 0.5 s behind it, whatever binary fractions make of it. Equal values are told apart by the
order of starts and scores, then by the order of the file: of equal detections of an occurrence the
first is taken. The reference tool draws lots.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.formats.kwslist import DetectionList
from truecost.tasks.terms.records import Reference
from truecost.tasks.terms.stretches import EARLIEST, TICKS, Stretches, rows_of, ticks

Ints = npt.NDArray[np.int64]


Floats = npt.NDArray[np.float64]


Codes = npt.NDArray[np.int32]


MICRO = 1_000_000


LATEST = 2**58


def micro(seconds: npt.ArrayLike) -> Ints:
    """Whole microseconds.

    Returns
    -------
    ndarray of int64
        At most `LATEST`, so that sums of some of them fit in 64 bits.
    """
    scaled = np.rint(np.asarray(seconds, np.float64) * MICRO)
    return np.clip(scaled, -LATEST, LATEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Spoken:
    """Stretches of audio that belong to groups: occurrences, or detections.

    Attributes
    ----------
    group : ndarray of int32
        The query, document and channel, as a number; -1 where a detection has no occurrence.
    start, end : ndarray of int64
        Microseconds.
    """

    group: Codes
    start: Ints
    end: Ints


def align(
    occurrences: Spoken,
    detections: Spoken,
    scores: Floats,
    tolerance: float,
    span: tuple[float, float] | None = None,
) -> Codes:
    """The occurrence of each detection.

    Parameters
    ----------
    occurrences : Spoken
        Sorted by group, then start.
    detections : Spoken
        In the order of the file.
    scores : ndarray of float64, shape (D,)
    tolerance : float
        Seconds.
    span : tuple of float, optional
        Least and largest score that the list states.

    Returns
    -------
    ndarray of int32, shape (D,)
        Row of the occurrences, -1 for none; no two share one.
    """
    from truecost.kernels import alignment as kernels

    found = np.full(len(scores), -1, np.int32)
    size = len(occurrences.start)
    if not size:
        return found
    extra = round(tolerance * MICRO)
    zone, bounds = np.empty(size, np.int64), np.empty((size, 3), np.int64)
    groups = occurrences.group.astype(np.int64)
    zones = kernels.zones(groups, occurrences.start, occurrences.end, extra, zone, bounds)
    bounds = bounds[:zones]
    count = int(groups[-1]) + 1
    first = np.searchsorted(bounds[:, 0], np.arange(count + 1))
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    at = np.empty(len(scores), np.int32)
    middles = detections.start + detections.end  # twice
    kernels.locate(detections.group, middles, scores, first, bounds, at, low, high)
    near = np.flatnonzero(at >= 0)
    near = near[_order(at[near], middles[near], detections.start[near], scores[near])]
    group, score = detections.group[near], scores[near]
    shares = _shares(score, *((low[group], high[group]) if span is None else span))
    chosen = np.empty(len(near), np.int64)
    kernels.align(
        zone,
        occurrences.start,
        occurrences.end,
        at[near].astype(np.int64),
        detections.start[near],
        detections.end[near],
        shares,
        extra,
        chosen,
    )
    found[near] = chosen
    return found


def _order(zone: Codes, middles: Ints, starts: Ints, scores: Floats) -> Ints:
    """By zone, midpoint, start, best score first; equal ones as they stand in the file.

    Zone and midpoint are what the kernel searches by; the others settle ties only.
    """
    return np.lexsort((-scores, starts, middles, zone))


def _shares(scores: Floats, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """(score - min) / (max - min); by halves, so that the widest span is a number still."""
    from truecost.kernels.alignment import LEAST

    half = np.multiply(low, 0.5)
    span = np.maximum(np.multiply(high, 0.5) - half, LEAST / 2)
    return np.asarray((0.5 * scores - half) / span)


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
