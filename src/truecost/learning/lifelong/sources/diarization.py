"""Recordings with a time each, what real diarization systems put out for them, and who speaks.

A table names the recordings: `recording`, `time` (a number, or an ISO date) and `set` (`lifelong`,
`test`, or `initial` for what the initial version learns from). Segments come in any format of
diarizations (RTTM, SegLST, tables). What a learner sees of a recording are the outputs, each a text
as `truecost.corrections.speech_text` writes it. Recordings of a set with the same time are one
batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from truecost.corrections.speech_text import Turn, text_of
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table, read
from truecost.formats.segments import FIXED, SPEECH, segments_of
from truecost.learning.lifelong.course import Course, Timed, moment
from truecost.learning.lifelong.sources.finding import Kind
from truecost.learning.streams.items import filled, ids_of
from truecost.speech.spans import MICRO

SETS = ("lifelong", "test", "initial")
Texts = dict[str, str]  # who speaks when, by recording


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "diarization".

    Attributes
    ----------
    recordings : str
        Table with the columns `recording`, `time` and `set`, and `document` if budgets of documents
        go over several recordings.
    reference : str
        Segments of the speakers.
    outputs : tuple of str
        Segments that systems put out; a learner may start from any of them.
    """

    recordings: str
    reference: str
    outputs: tuple[str, ...]


def make(settings: Settings, seed: int) -> Course:
    """The course of recordings; the same for every seed.

    Parameters
    ----------
    seed : int
        Draws nothing.

    Raises
    ------
    UsageError
        When there is no output, or a column is missing.
    InputError
        When a recording has no time or set, or is in the table twice; when segments are not as they
        should be, or a file has none of the recordings.
    """
    del seed
    if not settings.outputs:
        raise UsageError("[source] outputs = [] names no output: give one file at least")
    table = replace(read(settings.recordings), mapped_by="[source]")
    table.texts("recording", "recording")
    ids = ids_of(table, "recording")
    reference, *outputs = (_texts(path, ids) for path in (settings.reference, *settings.outputs))
    features = np.array([[side[name] for side in outputs] for name in ids], dtype=object)
    sets, times = _sets(table, ids), _times(table, ids)
    parts = {
        name: [*_batches(ids, features, [one == name for one in sets], times)] for name in SETS
    }
    first = parts["initial"]
    documents = "document" in table.columns
    return Course.of(
        "diarization",
        parts["lifelong"],
        parts["test"],
        reference,
        bootstrap=_joined(first) if first else None,
        documents=dict(zip(ids, filled(table, "document", "document", ids), strict=True))
        if documents
        else None,
        signature=f"diarization|outputs:{len(outputs)}",
    )


def _texts(path: str, ids: Sequence[str]) -> Texts:
    """Who speaks in each recording, by one file."""
    table = read(path, task="diarization")
    segments = table if table.format in FIXED else segments_of(table)
    columns = [segments.texts("recording", "recording"), segments.texts("speaker", "speaker")]
    times = [segments.numbers(name, name) for name in ("start", "end")]
    kinds = (
        segments.texts("type", "type").fill_null(SPEECH).to_list()
        if "type" in segments.columns
        else [SPEECH] * len(segments)
    )
    turns: dict[str, list[Turn]] = {name: [] for name in ids}
    for row, (name, who, start, end, kind) in enumerate(zip(*columns, *times, kinds, strict=True)):
        begin, stop = round(start * MICRO), round(end * MICRO)
        if name not in turns or kind.upper() != SPEECH or begin == stop:
            continue
        if who is None or begin < 0 or stop < begin or len(who.split()) != 1 or "|" in who:
            raise InputError(
                f"{table.source}, {segments.where(row)}: speaker {who!r} from {start:g} to {end:g} "
                f"s: expected a name without blanks and |, and a start from 0 before the end"
            )
        turns[name].append(Turn(begin, stop, who))
    if not any(turns.values()):
        known = first_five(columns[0].unique().sort())
        raise InputError(
            f"{table.source}: has none of the recordings ({first_five(ids)}); it has {known}: "
            f"names must be the same"
        )
    return {name: text_of(found) for name, found in turns.items()}


def _sets(table: Table, ids: tuple[str, ...]) -> tuple[str, ...]:
    """The set of each recording."""
    sets = filled(table, "set", "set", ids)
    wrong = [row for row, name in enumerate(sets) if name not in SETS]
    if wrong:
        raise InputError(
            f"{table.source}: {counted(len(wrong), 'recording', 'are')} of another set than "
            f"{', '.join(SETS)}: {first_five(f'{sets[r]!r} ({table.where(r)})' for r in wrong)}"
        )
    return sets


def _times(table: Table, ids: tuple[str, ...]) -> list[float]:
    """The time of each recording."""
    found = []
    for row, text in enumerate(filled(table, "time", "time", ids)):
        try:
            found.append(moment(text))
        except InputError as error:
            raise InputError(f"{table.source}, {table.where(row)}: {error}") from error
    return found


def _batches(
    ids: Sequence[str], features: np.ndarray, inside: Sequence[bool], times: Sequence[float]
) -> Iterator[Timed]:
    """The recordings of a set by time, in the order of the table."""
    for time in sorted({time for time, one in zip(times, inside, strict=True) if one}):
        rows = [r for r, one in enumerate(inside) if one and times[r] == time]
        yield time, tuple(ids[row] for row in rows), features[rows]


def _joined(first: Sequence[Timed]) -> tuple[tuple[str, ...], np.ndarray]:
    """What the initial version learns from, all at once."""
    ids = tuple(name for _, names, _ in first for name in names)
    return ids, np.concatenate([features for _, _, features in first])


SOURCES = {
    "diarization": Kind(
        "recordings with times: who speaks, and what systems put out (RTTM, SegLST, tables)",
        Settings,
        make,
        files=("recordings", "reference", "outputs"),
        outputs="diarization",
    )
}
