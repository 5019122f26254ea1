"""Alignment of a system's detections with a reference: a list of detections becomes a `Search`.

Within a *group* (query, document, channel) a detection may go with an occurrence when its midpoint
lies at most a tolerance outside of it, edges included. Of all one-to-one alignments those with the
most pairs are taken, and of these the one with the largest sum of

    1 + 1e-6 (score - min) / (max - min) + 1e-8 overlap / duration of the occurrence

with an overlap that is negative where the two are apart, and denominators of at least 1e-5. The min
and max are those that the list states, else those of the group. Decisions play no part.
Times are rounded to whole microseconds first, so a midpoint that is written as exactly 0.5 s behind
an end is 0.5 s behind it, whatever binary fractions make of it. Equal values are told apart by the
order of starts and scores, then by the order of the file: of equal detections of an occurrence the
first is taken. The reference tool draws lots.
In occurrence units a detection counts that lies within an excerpt of the audio as a whole, as the
reference scorer has it. In segment units it belongs to the segment in which its midpoint lies (the
later one where two touch), of which the highest score of a query counts, with its decision; of
equal ones the one that starts first, then the first in the file. In document units the same, with
the audio of a document in place of a segment.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.tasks.terms import stretches as times
from truecost.tasks.terms.options import SearchOptions
from truecost.tasks.terms.records import Codes, Floats, Ints, Mask, Reference, Search
from truecost.tasks.terms.reference import early_note, refuse_outside
from truecost.tasks.terms.scoring import check_decisions

MICRO = 1_000_000
LATEST = 2**58


def micro(seconds: npt.ArrayLike) -> Ints:
    """Whole microseconds; at most `LATEST`, so that sums of some of them fit in 64 bits."""
    return np.rint(np.asarray(seconds, np.float64) * MICRO).clip(-LATEST, LATEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Spoken:
    """Stretches of audio, in microseconds, that belong to groups: occurrences, or detections."""

    group: Codes  # number of a query, document and channel; -1 for a detection without occurrence
    start: Ints
    end: Ints


def align(
    occurrences: Spoken,
    detections: Spoken,
    scores: Floats,
    tolerance: float,
    span: tuple[float, float] | None = None,
) -> Codes:
    """The row of the occurrence of each detection, -1 for none; no two share one.

    Occurrences are sorted by group, then start; the tolerance is in seconds, `span` the least and
    the largest score that the list states.
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
    # Zone and midpoint are what the kernel searches by; start and best score settle ties only.
    near = near[np.lexsort((-scores[near], detections.start[near], middles[near], at[near]))]
    group, start, end = detections.group[near], detections.start[near], detections.end[near]
    shares = _shares(scores[near], *((low[group], high[group]) if span is None else span))
    chosen = np.empty(len(near), np.int64)
    where = at[near].astype(np.int64)
    spoken = (zone, occurrences.start, occurrences.end)
    kernels.align(*spoken, where, start, end, shares, extra, chosen)
    found[near] = chosen
    return found


def _shares(scores: Floats, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """(score - min) / (max - min); by halves, so that the widest span is a number still."""
    from truecost.kernels.alignment import LEAST

    half = np.multiply(low, 0.5)
    span = np.maximum(np.multiply(high, 0.5) - half, LEAST / 2)
    return np.asarray((0.5 * scores - half) / span)


@dataclass(frozen=True, eq=False)
class Places:
    """The stretches of the audio that hold detections: segments, or excerpts."""

    stretches: times.Stretches
    place: Codes  # of each stretch: row of the reference's documents
    names: pl.Series  # the document of each row of the reference's documents
    whole: bool  # a stretch holds a detection as a whole; else its midpoint

    @staticmethod
    def from_reference(reference: Reference) -> "Places":
        """The places of a reference."""
        rows = reference.excerpts if reference.segments is None else reference.segments
        names = reference.documents["document"]
        rows = rows.with_columns(
            names[rows["place"]].alias("document"),
            *(pl.Series(name, times.ticks(rows[name])) for name in ("start", "end")),
        )
        rows = rows.sort("document", "channel", "start", "end")
        place = rows["place"].cast(pl.Int32).to_numpy()
        return Places(
            times.Stretches.from_frame(rows), place, names, reference.trial == "occurrence"
        )

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
        names = ("document", "channel")
        known = {name: self.channels[name].unique(maintain_order=True) for name in names}
        documents = times.rows_of(
            pl.Series(detections.documents, dtype=pl.String), known["document"]
        )
        channels = times.rows_of(pl.Series(detections.channels, dtype=pl.String), known["channel"])
        table = np.full((len(known["document"]) + 1, len(known["channel"]) + 1), -1)
        rows = (times.rows_of(self.channels[name], known[name]) for name in known)
        table[*rows] = np.arange(self.channels.height)
        return table[documents[detections.document], channels[detections.channel]]

    def bounds(self) -> tuple[Ints, Ints]:
        """Start and end of the audio of each channel, in ticks."""
        group, number = self.stretches.group, self.channels.height
        first, last = np.full(number, -times.EARLIEST), np.full(number, times.EARLIEST)
        np.minimum.at(first, group, self.stretches.starts)
        np.maximum.at(last, group, self.stretches.ends)
        return first, last

    def holding(self, detections: DetectionList, channel: Ints) -> Ints:
        """The stretch that holds each detection, -1 for none."""
        if self.whole:
            start, end = detections.start, detections.start + detections.duration
            return self.stretches.holding(channel, times.ticks(start), times.ticks(end))
        twice = 2 * micro(detections.start) + micro(detections.duration)
        middle = twice // (2 * MICRO // times.TICKS)
        return self.stretches.holding(channel, middle, middle)


def _trials(reference: Reference, places: Places, query: Codes, held: Ints) -> tuple[Ints, Ints]:
    """The trials of detections in segment or document units, numbered query by query, and those of
    the targets.
    """
    targets = reference.targets
    if reference.trial == "document":
        cells, cell = reference.documents.height, places.place[held].astype(np.int64)
        at = targets["place"].to_numpy()
    else:
        cells, cell, channel = len(places.place), held, places.channels_of_rows(targets)
        ends = (times.ticks(targets[name]) for name in ("start", "end"))
        at = places.stretches.holding(channel, *ends)
    return query * np.int64(cells) + cell, targets["query"].to_numpy() * np.int64(cells) + at


SPAN = ("min_score", "max_score")  # of all scores, in the head of a list


def load_search(
    detections: DetectionList, reference: Reference, options: SearchOptions | None = None
) -> Search:
    """The detections of a system aligned with the reference, a row for each one that counts."""
    options = options or SearchOptions()
    asked = _query_rows(detections, reference)
    problems = check_decisions(detections, options.compat)
    places = Places.from_reference(reference)
    group = places.channels_of(detections)
    held = places.holding(detections, group)
    problems += _left_out(detections, places, group, held)
    kept = np.flatnonzero(held >= 0)
    query = asked[detections.query[kept]]
    if reference.trial == "occurrence":
        target = _aligned(detections, reference, places, kept, query, group[kept], options)
    else:
        trial, sought = _trials(reference, places, query, held[kept])
        best = _best(trial, detections.score[kept], detections.start[kept])
        target = times.rows_of(pl.Series(trial[best]), pl.Series(sought))
        kept, query = kept[best], query[best]
    answered = np.zeros(reference.queries.height, bool)
    answered[asked] = True
    problems += _unanswered(detections, reference, answered)
    problems += early_note(detections, reference)
    columns = ("score", "accepted", "channel", "start", "duration", "line")
    return Search(
        **{name: getattr(detections, name)[kept] for name in columns},
        name=detections.source,
        reference=reference,
        query=query,
        place=places.place[held[kept]],
        target=target,
        channels=detections.channels,
        answered=answered,
        lowest=float(detections.score.min()) if len(detections) else float("nan"),
        header=detections.header,
        signature=f"tolerance:{options.tolerance:g}" if reference.trial == "occurrence" else "",
        problems=problems,
    )


def _query_rows(detections: DetectionList, reference: Reference) -> Codes:
    """The row of the reference's queries of each query that is listed."""
    listed = detections.answers["query"]
    asked = times.rows_of(listed, reference.queries["query"])
    unknown = np.flatnonzero(asked < 0)
    if len(unknown):
        lines = detections.answers["line"]
        examples = (f"{listed[row]} ({detections.noun} {lines[row]})" for row in unknown.tolist())
        raise InputError(
            f"{detections.source}: {counted(len(unknown), 'query', 'are')} not among the "
            f"{counted(reference.queries.height, 'query')} of the reference: {first_five(examples)}"
            f"{_in_place_of(listed[int(unknown[0])], asked, reference)}"
        )
    return asked


def _in_place_of(unknown: str, asked: Codes, reference: Reference) -> str:
    """A text with names near an unknown query, unlisted queries of the reference, and advice."""
    queries = reference.queries["query"]
    absent = queries.filter(~pl.Series(np.isin(np.arange(len(queries)), asked)))
    others = f"; the list lacks {first_five(absent)} of the reference" if len(absent) else ""
    advice = "score against the list of queries of the system"
    if reference.queries.columns == ["query"]:  # those that occur: no list of queries was given
        advice = (
            "where some queries occur nowhere, give --kwlist FILE with all queries (a table with a "
            "column query is enough)"
        )
    return f"{times.near_name(unknown, absent)}{others}; {advice}"


def _left_out(
    detections: DetectionList, places: Places, group: Ints, held: Ints
) -> tuple[str, ...]:
    """A note on detections that do not count."""
    notes = []
    strange, outside = np.flatnonzero(group < 0), np.flatnonzero((group >= 0) & (held < 0))
    if len(strange):
        names = dict.fromkeys(_channel(detections, row) for row in _few(detections, strange))
        there = times.named_channels(places.channels)
        if len(strange) == len(detections):
            raise InputError(
                f"{detections.source}: no detection is in audio of the reference; detections are "
                f"in {first_five(names)}, the audio has {there}: use the names of documents and "
                f"channels of the ECF"
            )
        notes.append(
            f"{_share(len(strange), detections, 'are')} of audio that is not scored and left out: "
            f"{first_five(names)}; the audio has {there}"
        )
    if len(outside):
        refuse_outside(detections, places.bounds(), group)
        notes.append(
            f"{_share(len(outside), detections, 'lie')} outside the audio that is scored or "
            f"across its edges and {'is' if len(outside) == 1 else 'are'} left out: "
            f"{first_five(detections.where(row) for row in outside[:6].tolist())}"
        )
    return tuple(notes)


def _share(number: int, detections: DetectionList, verb: str) -> str:
    """Some of all detections, with a verb that agrees."""
    agreeing = counted(number, "", verb).split()[-1]
    return f"{number} of {counted(len(detections), 'detection')} {agreeing}"


def _unanswered(detections: DetectionList, reference: Reference, answered: Mask) -> tuple[str, ...]:
    """A note on queries that occur but are missing in the list."""
    if not len(detections):
        return ("nothing was submitted: all targets are missed",)
    if not (reference.targets_by_query[~answered] > 0).any():
        return ()
    absent = reference.queries["query"].filter(pl.Series(~answered))
    count = f"{len(absent)} of {counted(len(answered), 'query')}"
    have, whose = ("has", "its") if len(absent) == 1 else ("have", "their")
    said = f"{count} {have} no detection, so all {whose} targets count as missed"
    return (f"{said}: {first_five(absent)}",)


def _few(detections: DetectionList, rows: Ints) -> list[int]:
    """The first detection of each of the first documents and channels among some rows."""
    code = detections.document[rows].astype(np.int64) * len(detections.channels)
    first = np.unique(code + detections.channel[rows], return_index=True)[1]
    return [int(row) for row in rows[np.sort(first)[:6]]]


def _channel(detections: DetectionList, row: int) -> str:
    document = detections.documents[detections.document[row]]
    return f"{document} (channel {detections.channels[detections.channel[row]]})"


def _aligned(
    detections: DetectionList,
    reference: Reference,
    places: Places,
    kept: Ints,
    query: Codes,
    channel: Ints,
    options: SearchOptions,
) -> Codes:
    """The target of each detection that counts."""
    rows = reference.occurrences
    start, end = micro(rows["start"]), micro(rows["end"])
    count = np.int64(max(1, places.channels.height))
    key = rows["query"].to_numpy() * count + places.channels_of_rows(rows)
    order = np.lexsort((end, start, key))
    keys, group = np.unique(key[order], return_inverse=True)
    occurrences = Spoken(group.astype(np.int32), start[order], end[order])
    mine = query * count + channel
    at = np.searchsorted(keys, mine)
    own = np.where(np.append(keys, -1)[at] == mine, at, -1).astype(np.int32)
    began = micro(detections.start[kept])
    detected = Spoken(own, began, began + micro(detections.duration[kept]))
    scores, span = detections.score[kept], _span(detections)
    found = align(occurrences, detected, scores, options.tolerance, span)
    target = np.append(rows["target"].to_numpy()[order], -1)
    return target[found].astype(np.int32)


def _span(detections: DetectionList) -> tuple[float, float] | None:
    """The least and largest score that a list states."""
    least, largest = (detections.header.get(name, "").strip() for name in SPAN)
    if not (least and largest):
        return None
    try:
        low, high = float(least), float(largest)
    except ValueError:
        low, high = np.nan, np.nan
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise InputError(
            f"{detections.source}: {SPAN[0]} is {least!r} and {SPAN[1]} is {largest!r}; expected "
            f"the least and the largest of all scores: correct them, or leave them out"
        )
    return low, high


def _best(trial: Ints, score: Floats, start: Floats) -> Ints:
    """The detection of each trial that counts, in the order of the file."""
    order = np.argsort(trial, kind="stable")
    for values in (-score, start):
        firsts = _firsts(trial[order])
        least = np.minimum.reduceat(values[order], firsts) if len(order) else values
        order = order[values[order] == np.repeat(least, np.diff(np.append(firsts, len(order))))]
    return np.sort(order[_firsts(trial[order])])


def _firsts(trial: Ints) -> Ints:
    """Index of the first of the sorted entries of each trial."""
    return np.flatnonzero(np.diff(trial, prepend=-1))
