"""What a system found, held against a reference: a list of detections becomes a `Search`.

What a detection counts for depends on the unit:

- `occurrence`: it lies within an excerpt of the audio, as a whole; what crosses the edge is left
  out, as the reference scorer does. `aligning` says which occurrence it goes with.
- `segment`: it belongs to the segment in which its midpoint lies, to the later one where two touch.
  The highest score of a query in a segment counts, with its decision.
- `document`: the same, with the audio of a document in place of a segment.

Of equal scores the one that starts first counts, then the one that stands first in the file.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.options import check_fields
from truecost.tasks.terms.aligning import Ints, Places, Spoken, Trials, align, micro
from truecost.tasks.terms.options import TermsTable, parse_compat
from truecost.tasks.terms.records import Codes, Floats, Reference, Search
from truecost.tasks.terms.scoring import check_decisions
from truecost.tasks.terms.sought import early_note, refuse_outside
from truecost.tasks.terms.stretches import meant, named_channels, rows_of

WIDEST = 60  # seconds of tolerance; beyond are milliseconds
SPAN = ("min_score", "max_score")  # of all scores, in the head of a list


@dataclass(frozen=True)
class SearchOptions:
    """How detections go with what should be found.

    Attributes
    ----------
    tolerance : float
        Seconds that the midpoint of a detection may lie outside of an occurrence.
    compat : frozenset of str
        Quirks of the reference scorer that are followed: names, `f4de` for all of them; any
        iterable of these will do.

    Raises
    ------
    UsageError
        When the tolerance is negative, no finite number or in milliseconds, or a quirk is not
        known.
    """

    tolerance: float = 0.5
    compat: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", parse_compat(self.compat))
        check_fields(self, TermsTable)


def load_search(
    detections: DetectionList, reference: Reference, options: SearchOptions | None = None
) -> Search:
    """What a system found, aligned with the reference.

    Returns
    -------
    Search
        One row for each detection within the audio, in the order of the file; in segment and
        document units one for each query and segment or document.

    Raises
    ------
    InputError
        When a query is listed that the reference does not have, when no detection is of audio that
        the reference has, or nearly all lie before or behind it, when the list states a span of
        scores that is none, or when decisions are inconsistent and that is refused.
    """
    options = options or SearchOptions()
    asked = _asked(detections, reference)
    problems = check_decisions(detections, options.compat)
    places = Places.of(reference)
    group = places.channels_of(detections)
    held = places.holding(detections, group)
    problems += _left_out(detections, places, group, held)
    kept = np.flatnonzero(held >= 0)
    query = asked[detections.query[kept]]
    if reference.unit == "occurrence":
        target = _aligned(detections, reference, places, kept, query, group[kept], options)
    else:
        trials = Trials.of(reference, places)
        trial = trials.of_detections(query, held[kept])
        best = _best(trial, detections.score[kept], detections.start[kept])
        kept, query, target = kept[best], query[best], trials.targets(trial[best])
    answered = np.zeros(reference.queries.height, bool)
    answered[asked] = True
    problems += _unanswered(detections, reference, answered)
    problems += early_note(detections, reference)
    return Search(
        name=detections.source,
        reference=reference,
        query=query,
        place=places.place[held[kept]],
        score=detections.score[kept],
        accepted=detections.accepted[kept],
        target=target,
        channel=detections.channel[kept],
        start=detections.start[kept],
        duration=detections.duration[kept],
        channels=detections.channels,
        answered=answered,
        lowest=float(detections.score.min()) if len(detections) else float("nan"),
        line=detections.line[kept],
        header=detections.header,
        signature=f"tolerance:{options.tolerance:g}" if reference.unit == "occurrence" else "",
        problems=problems,
    )


def _asked(detections: DetectionList, reference: Reference) -> Codes:
    """The row of the reference's queries of each query that is listed."""
    listed = detections.answers["query"]
    asked = rows_of(listed, reference.queries["query"])
    unknown = np.flatnonzero(asked < 0)
    if len(unknown):
        lines = detections.answers["line"]
        examples = (f"{listed[row]} ({detections.noun} {lines[row]})" for row in unknown.tolist())
        raise InputError(
            f"{detections.source}: {counted(len(unknown), 'query', 'are')} not among the "
            f"{reference.queries.height} of the reference: {first_five(examples)}"
            f"{_in_place_of(listed[int(unknown[0])], asked, reference)}"
        )
    return asked


def _in_place_of(unknown: str, asked: Codes, reference: Reference) -> str:
    """What the reference has in place of a query that it does not know, and what to do."""
    queries = reference.queries["query"]
    absent = queries.filter(~pl.Series(np.isin(np.arange(len(queries)), asked)))
    others = f"; it has {first_five(absent)}, not listed here" if len(absent) else ""
    advice = "score against the list of queries that the system was given"
    if reference.queries.columns == ["query"]:  # those that occur: no list of queries was given
        advice = (
            "where some queries occur nowhere, give --kwlist FILE with all queries (a table with a "
            "column query is enough)"
        )
    return f"{meant(unknown, absent)}{others}; {advice}"


def _left_out(
    detections: DetectionList, places: Places, group: Ints, held: Ints
) -> tuple[str, ...]:
    """What is said of detections that do not count."""
    notes = []
    strange, outside = np.flatnonzero(group < 0), np.flatnonzero((group >= 0) & (held < 0))
    if len(strange):
        names = dict.fromkeys(_channel(detections, row) for row in _few(detections, strange))
        there = named_channels(places.channels)
        if len(strange) == len(detections):
            raise InputError(
                f"{detections.source}: no detection is in audio of the reference; the list has "
                f"{first_five(names)}, the audio {there}: documents and channels are called as in "
                f"the ECF"
            )
        notes.append(
            f"{_share(len(strange), detections, 'are')} of audio that is not scored and left out: "
            f"{first_five(names)}; the audio has {there}"
        )
    if len(outside):
        refuse_outside(detections, places, group)
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


def _unanswered(
    detections: DetectionList, reference: Reference, answered: npt.NDArray[np.bool_]
) -> tuple[str, ...]:
    """What is said of queries that occur and that the list does not have."""
    if not len(detections):
        return ("nothing was submitted: all targets are missed",)
    if not (reference.targets_by_query[~answered] > 0).any():
        return ()
    absent = reference.queries["query"].filter(pl.Series(~answered))
    count = f"{len(absent)} of {counted(len(answered), 'query')}"
    verb, whose = ("is", "its") if len(absent) == 1 else ("are", "their")
    return (f"{count} {verb} not answered, and all {whose} targets missed: {first_five(absent)}",)


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
    count = max(1, places.channels.height)
    key = rows["query"].to_numpy() * np.int64(count) + places.channels_of_rows(rows)
    order = np.lexsort((end, start, key))
    keys, group = np.unique(key[order], return_inverse=True)
    occurrences = Spoken(group.astype(np.int32), start[order], end[order])
    mine = query * np.int64(count) + channel
    at = np.searchsorted(keys, mine)
    known = np.append(keys, -1)[at] == mine
    began = micro(detections.start[kept])
    found = align(
        occurrences,
        Spoken(
            np.where(known, at, -1).astype(np.int32),
            began,
            began + micro(detections.duration[kept]),
        ),
        detections.score[kept],
        options.tolerance,
        _span(detections),
    )
    target = np.append(rows["target"].to_numpy()[order], -1)
    return target[found].astype(np.int32)


def _span(detections: DetectionList) -> tuple[float, float] | None:
    """The least and largest score that a list states."""
    said = [detections.header.get(name, "").strip() for name in SPAN]
    if not all(said):
        return None
    try:
        low, high = map(float, said)
    except ValueError:
        low, high = np.nan, np.nan
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise InputError(
            f"{detections.source}: {SPAN[0]} is {said[0]!r} and {SPAN[1]} is {said[1]!r}; expected "
            f"the least and the largest of all scores: mend them, or leave them out"
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
    """Where each trial begins among sorted ones."""
    return np.flatnonzero(np.diff(trial, prepend=-1))
