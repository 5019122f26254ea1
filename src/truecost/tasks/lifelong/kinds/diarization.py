"""Diarizations: speaker time of recordings, of which a person corrects regions.

In a corrected region E = T (max(Nref, Nsys) - Ncorrect) is exchanged: made strictly wrong, speech
stays speech and Nsys stays, but all of it is on speakers that do not exist, so that Ncorrect is 0;
put in place, E is 0. The mapping of speakers is that of the output before the correction in both
(paper 004, appendix B, whose text sets E to zero where it makes the output wrong: that is the
corrected case).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from truecost.corrections.speech_text import region_of, turns_of
from truecost.errors import InputError, counted
from truecost.options import check_fields
from truecost.outputs.diarization import SECONDS, DiarizationOptions, scene_of, speaker_time
from truecost.outputs.recordings import Recordings
from truecost.speech.spans import Ints, Spans, Speech
from truecost.tasks.lifelong.kinds.base import (
    WHOLE,
    Both,
    Kind,
    Reference,
    References,
    Statistics,
    distinct,
    once,
)
from truecost.tasks.lifelong.options import LifelongTable

ImpairedSpeakers = Literal["each", "one"]
ERRORS = ("missed", "false_alarm", "confusion")
SCHEMA = {"start": pl.Int64, "end": pl.Int64, "speaker": pl.String}
ALWAYS = 10**16  # microseconds, beyond any clock
MOVED = (
    "it is a part of der, and a strictly wrong output moves errors between the parts (speech stays "
    "speech, of speakers that do not exist), so that no part alone is at its worst"
)
KEPT = (
    "a strictly wrong output keeps its speech and is wrong about the speakers alone (paper 004, "
    "appendix B)"
)


@dataclass(frozen=True)
class PenalisedDiarization(DiarizationOptions):
    """Which times are scored, how speakers are mapped, and what strictly wrong speech is.

    Parameters
    ----------
    impaired_speakers : {"each", "one"}
        On whom the speech of an impaired region is: each speaker of the system on one that does
        not exist, or all of them on one, as the paper has it.

    Raises
    ------
    UsageError
        When a choice is not known, as those of `DiarizationOptions`.
    """

    impaired_speakers: ImpairedSpeakers = "each"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self, LifelongTable)


def count(
    outputs: Sequence[str], references: References, options: PenalisedDiarization, part: str
) -> Statistics:
    """Speaker time of each recording, as `truecost diarization` counts it.

    Parameters
    ----------
    outputs : sequence of str
        `START END SPEAKER|...` (`truecost.corrections.speech_text`).
    references : sequence of tuple of str
        One of each recording.
    part : str
        `speech`.

    Returns
    -------
    mapping of str to ndarray of int64, shape (rows,)
        Microseconds: `reference`, `correct`, `missed`, `false_alarm`, `confusion`.

    Raises
    ------
    InputError
        When a text is no diarization, or a recording has several references.
    """
    del part

    def found(texts: list[str], right: list[Reference]) -> Statistics:
        recordings = _recordings(texts, right)
        _, swept, pairs = scene_of(recordings, *_sides(recordings), options)
        return speaker_time(swept, pairs)

    return once(outputs, references, found)


def _recordings(outputs: Sequence[str], references: References) -> Recordings:
    """Recordings that are scored throughout, from texts."""
    size = len(outputs)
    items = np.arange(size)
    every = Spans(items, np.full(size, -ALWAYS), np.full(size, ALWAYS))
    right = [_only(several) for several in references]
    sides = [_rows(texts) for texts in (right, outputs)]
    return Recordings(items, pl.DataFrame(), sides[0], sides[1], every, nowhere(), ())


def _only(references: Reference) -> str:
    """The reference of a recording."""
    if len(references) != 1:
        raise InputError(
            f"a recording has one reference, but {counted(len(references), 'reference', 'are')} "
            f"given: leave one"
        )
    return references[0]


def _rows(texts: Sequence[str]) -> tuple[pl.DataFrame, Ints]:
    """Turns of all texts, and the recording of each."""
    turns = [turns_of(text) for text in texts]
    rows = pl.DataFrame([turn for of in turns for turn in of], schema=SCHEMA, orient="row")
    return rows, np.repeat(np.arange(len(turns)), [len(of) for of in turns])


def _sides(found: Recordings) -> tuple[Speech, Speech]:
    """Speech of the reference and of the output."""
    size = len(found.ids)
    return Speech.of(*found.reference, size), Speech.of(*found.output, size)


def nowhere() -> Spans:
    """No stretch of time."""
    return Spans(*(np.zeros(0, np.int64) for _ in range(3)))


def exchange(
    outputs: Sequence[str],
    references: References,
    corrected: Sequence[tuple[str, ...]],
    options: PenalisedDiarization,
    part: str,
) -> Both:
    """Speaker time with corrected regions made strictly wrong, and put in place.

    Parameters
    ----------
    outputs : sequence of str
        As they were before the corrections.
    corrected : sequence of tuple of str
        Regions `START-END` of each recording in seconds; "" for all of it.
    part : str
        `speech`.

    Returns
    -------
    impaired, corrected : mapping of str to ndarray of int64, shape (rows,)

    Raises
    ------
    InputError
        When regions of a recording overlap, or one is no region.
    """
    del part
    rows, places = distinct(zip(outputs, references, corrected, strict=True))
    recordings = _recordings([output for output, _, _ in rows], [right for _, right, _ in rows])
    both = exchange_regions(recordings, regions_of([names for _, _, names in rows]), options)
    impaired, right = ({name: v[places] for name, v in side.items()} for side in both)
    return impaired, right


def regions_of(corrected: Sequence[tuple[str, ...]]) -> Spans:
    """Named regions as stretches of time.

    Parameters
    ----------
    corrected : sequence of tuple of str
        Of each recording.

    Raises
    ------
    InputError
        When two of a recording overlap, or one is no region.
    """
    items, bounds = list[int](), list[tuple[int, int]]()
    for item, names in enumerate(corrected):
        found = sorted((-ALWAYS, ALWAYS) if n == WHOLE else region_of(n) for n in names)
        for (_, end), (start, _) in pairwise(found):
            if start < end:
                raise InputError(
                    f"recording {item + 1} of those that are counted: corrected regions overlap "
                    f"({', '.join(repr(name) for name in names)}): each time is corrected once"
                )
        items += [item] * len(found)
        bounds += found
    starts, ends = np.array(bounds, np.int64).reshape(-1, 2).T
    return Spans(np.array(items, np.int64), starts, ends)


def exchange_regions(found: Recordings, regions: Spans, options: PenalisedDiarization) -> Both:
    """Speaker time with regions made strictly wrong, and put in place.

    Parameters
    ----------
    found : Recordings
        With the output before the corrections.
    regions : Spans
        What was corrected; those of a recording do not overlap.

    Returns
    -------
    impaired, corrected : mapping of str to ndarray of int64, shape (recordings,)
    """
    reference, output = _sides(found)
    scene, swept, pairs = scene_of(found, reference, output, options)
    whole = speaker_time(swept, pairs)
    inside = replace(scene, regions=intersection(scene.regions, regions))
    before = speaker_time(inside.swept(), pairs)
    wrong = inside if options.impaired_speakers == "each" else replace(inside, output=one(output))
    nobody = [(np.zeros(0, np.int64), np.zeros(0, np.int64))] * len(pairs)
    impaired = speaker_time(wrong.swept(), nobody)
    right = before["reference"]
    corrected = {"reference": right, "correct": right, **dict.fromkeys(ERRORS, 0 * right)}
    return _moved(whole, before, impaired), _moved(whole, before, corrected)


def _moved(whole: Statistics, before: Statistics, after: Statistics) -> Statistics:
    """Sums of which some rows are exchanged."""
    return {name: whole[name] - before[name] + after[name] for name in whole}


def one(output: Speech) -> Speech:
    """All speakers of each recording as one."""
    return output.joined(0)


def intersection(spans: Spans, others: Spans) -> Spans:
    """The time that two sets of stretches share; those of one set do not overlap."""
    items, starts, ends = list[Ints](), list[Ints](), list[Ints]()
    for k in range(len(spans)):
        here = others.of(int(spans.items[k]))
        first = np.maximum(others.starts[here], spans.starts[k])
        last = np.minimum(others.ends[here], spans.ends[k])
        kept = first < last
        items.append(np.full(int(kept.sum()), spans.items[k]))
        starts.append(first[kept])
        ends.append(last[kept])
    if not items:
        return nowhere()
    return Spans(*(np.concatenate(side) for side in (items, starts, ends)))


def signature(options: PenalisedDiarization, part: str) -> str:
    """Which times are scored, how speakers are mapped, and what strictly wrong speech is."""
    said = options.signature(part, uem=False)
    return said if options.impaired_speakers == "each" else f"{said}|impaired-speakers:one"


KIND = Kind(
    name="diarization",
    item="recording",
    parts={"speech": SECONDS},
    scores=("der",),
    count=count,
    exchange=exchange,
    signature=signature,
    options=PenalisedDiarization,
    refused={
        "jer": "its mapping of speakers is that of the whole recording, so that it is no sum over "
        "regions",
        **dict.fromkeys(("missed", "false_alarm", "confusion"), MOVED),
        **dict.fromkeys(("speech_miss", "speech_fa", "speech_error"), KEPT),
    },
)
