"""Corrections of diarizations by region, and how outputs are corrected, by their kind.

Errors are those of DER without a collar: T (max(Nref, Nsys) - Ncorrect) of each stretch of time
(Prokopalo et al. 2020, Eq. 4), under the one-to-one mapping of speakers that have the most time in
common. A part is a region of stretches with errors between stretches without. A person who puts it
in place keeps the system's names: a speaker of the reference gets the name of the speaker whom he
is mapped to, or a new one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import polars as pl

from truecost.corrections.texts import (
    Corrector,
    Part,
    References,
    Turn,
    Whole,
    nearest_text,
    region_name,
    region_of,
    right_class,
    text_of,
    turns_of,
)
from truecost.errors import InputError, UsageError, counted, near
from truecost.speech.spans import MICRO, NOWHERE, Ints, Marks, Scene, Spans, Speech, mapped

SCHEMA = {"start": pl.Int64, "end": pl.Int64, "speaker": pl.String}


@dataclass(frozen=True, eq=False)
class Compared:
    """An output beside its reference.

    `names` says what each speaker of the reference is called in the output: who is mapped to nobody
    gets his own name, with as many "+" as make it new.
    """

    edges: Ints  # microseconds, ascending; between one and the next nobody begins or ends
    reference: Marks  # who speaks, (speakers, stretches)
    output: Marks
    reference_names: tuple[str, ...]  # sorted
    output_names: tuple[str, ...]
    names: Mapping[str, str]
    errors: Ints  # of each stretch T (max(Nref, Nsys) - Ncorrect) in microseconds


@lru_cache(maxsize=64)
def compared(output: str, reference: str) -> Compared:
    """Output and reference, as `speech_text` has them, stretch by stretch."""
    right, found = sides = [_speech(turns_of(text)) for text in (reference, output)]
    scene = Scene(right, found, _all_of(sides), NOWHERE)
    edges, speaks, said, _ = scene.states(0)
    rows, columns = mapped(scene.swept().table(0)[:-1, :-1])
    correct = (speaks[rows] & said[columns]).sum(axis=0)
    errors = (np.maximum(speaks.sum(axis=0), said.sum(axis=0)) - correct) * np.diff(edges)
    theirs, own = (tuple(side.names.tolist()) for side in sides)
    names = {theirs[r]: own[c] for r, c in zip(rows, columns, strict=True)}
    return Compared(edges, speaks, said, theirs, own, _named(names, theirs, own), errors)


def _speech(turns: tuple[Turn, ...]) -> Speech:
    """Turns of one recording."""
    rows = pl.DataFrame(turns, schema=SCHEMA, orient="row")
    return Speech.from_rows(rows, np.zeros(len(turns), np.int64), 1)


def _all_of(sides: list[Speech]) -> Spans:
    """Start of the first and end of the last turn of both sides."""
    starts, ends = (
        np.concatenate([getattr(side.spans, name) for side in sides]) for name in ("starts", "ends")
    )
    if not len(starts):
        return NOWHERE
    return Spans(np.zeros(1, np.int64), starts.min(keepdims=True), ends.max(keepdims=True))


def _named(
    names: dict[str, str], reference: tuple[str, ...], output: tuple[str, ...]
) -> dict[str, str]:
    """Names for those too who are mapped to nobody; none that anybody has."""
    taken = set(output)
    for speaker in reference:
        if speaker not in names:
            name = speaker
            while name in taken:
                name += "+"
            names[speaker] = name
            taken.add(name)
    return names


class Regions:
    """Parts of a diarization."""

    def parts(self, output: str, reference: References) -> tuple[Part, ...]:
        """The regions that are wrong; their errors, in seconds, add up to the numerator of DER."""
        found = compared(output, the_only(reference))
        firsts, lasts = _runs(found.errors > 0)
        sums = np.append(0, np.cumsum(found.errors))
        errors = (sums[lasts] - sums[firsts]) / MICRO
        words, actions = _turns(found, firsts, lasts)
        ends = zip(found.edges[firsts].tolist(), found.edges[lasts].tolist(), strict=True)
        names = [region_name(*bounds) for bounds in ends]
        columns = (names, errors.tolist(), words.tolist(), actions.tolist())
        return tuple(Part(*of) for of in zip(*columns, strict=True))

    def correct(
        self, output: str, reference: References, part: str, base: str | None = None
    ) -> str:
        """The output with the region as in the reference, under the names of `base`."""
        right = the_only(reference)
        names = compared(output if base is None else base, right).names
        start, end = region_of(part)
        turns = put_in_place(turns_of(output), _put(right, names, start, end), start, end)
        return text_of(turns)

    def answer(self, output: str, reference: References, part: str) -> str:
        """The speakers in the region, under the names that the output has for them.

        A person who sees the output says "here it is speaker 2, not 6". With an empty output these
        are the names of the reference.
        """
        right = the_only(reference)
        names = compared(output, right).names
        return text_of(joined(_put(right, names, *region_of(part))))

    def is_right(self, output: str, reference: References) -> bool:
        """Whether nobody is missed, invented or taken for another."""
        return not compared(output, the_only(reference)).errors.any()


def the_only(reference: References, what: str = "diarization") -> str:
    """The only reference: InputError where there are others."""
    if isinstance(reference, str):
        return reference
    if len(reference) != 1:
        raise InputError(
            f"a {what} has one reference, but {counted(len(reference), 'reference', 'are')} "
            f"given: leave one"
        )
    return reference[0]


def _runs(wrong: Marks) -> tuple[Ints, Ints]:
    """First stretch of each run of wrong ones, and the first after it."""
    steps = np.diff(np.concatenate([[0], wrong.astype(np.int8), [0]]))
    return np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)


def _turns(found: Compared, firsts: Ints, lasts: Ints) -> tuple[Ints, Ints]:
    """Turns that are put into each region, and turns that are added, taken away or changed.

    A turn that both sides have alike within the region, under the same name, stays.
    """
    right = _pieces(found.reference, firsts, lasts)
    said = _pieces(found.output, firsts, lasts)
    own = {name: k for k, name in enumerate(found.output_names)}
    places = [own.get(found.names[name], -1) for name in found.reference_names]
    same = {(region, places[who], a, b) for region, who, a, b in right} & set(said)
    alike, inside, there = (
        np.bincount([piece[0] for piece in pieces] or firsts[:0], minlength=len(firsts))
        for pieces in (same, right, said)
    )
    return inside, np.maximum(inside, there) - alike


def _pieces(speaks: Marks, firsts: Ints, lasts: Ints) -> list[tuple[int, int, int, int]]:
    """Turns cut to the regions: region, speaker, first stretch, first stretch after it."""
    region = np.full(speaks.shape[1], -1, np.int64)
    for k, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        region[first:last] = k
    found = []
    for who, marks in enumerate(speaks):
        state = np.where(marks, region, -1)
        change = np.flatnonzero(np.diff(np.concatenate([[-1], state, [-1]])))
        found += [(int(state[a]), who, a, b) for a, b in pairwise(change.tolist()) if state[a] >= 0]
    return found


def _cut(turn: Turn, start: int, end: int) -> Turn | None:
    """The part of a turn within a region."""
    first, last = max(turn.start, start), min(turn.end, end)
    return Turn(first, last, turn.speaker) if first < last else None


def _put(text: str, names: Mapping[str, str], start: int, end: int) -> list[Turn]:
    """The turns of a region, cut to it and renamed."""
    pieces = [piece for turn in turns_of(text) if (piece := _cut(turn, start, end))]
    return [piece._replace(speaker=names[piece.speaker]) for piece in pieces]


def put_in_place(turns: Iterable[Turn], right: Iterable[Turn], start: int, end: int) -> list[Turn]:
    """Turns with a region, in microseconds, exchanged for those that are right there."""
    pieces = [piece for t in turns for piece in (_cut(t, 0, start), _cut(t, end, t.end))]
    return joined([*filter(None, pieces), *right])


def joined(turns: Iterable[Turn]) -> list[Turn]:
    """Turns of a speaker that overlap or touch as one; by speaker and start."""
    found: list[Turn] = []
    for turn in sorted(turns, key=lambda turn: (turn.speaker, turn.start)):
        last = found[-1] if found else None
        if last is not None and last.speaker == turn.speaker and turn.start <= last.end:
            found[-1] = last._replace(end=max(last.end, turn.end))
        else:
            found.append(turn)
    return found


CORRECTORS: dict[str, Corrector] = {
    "classes": Whole("class", right_class, least=1),
    "transcripts": Whole("transcript", nearest_text),
    "translation": Whole("translation", nearest_text),
    "diarization": Regions(),
}


def corrector(kind: str) -> Corrector:
    """The corrector of outputs of a kind.

    Examples
    --------
    >>> from truecost.corrections import corrector
    >>> corrector("transcripts").parts("the cat sat", "the cat sat down")
    (Part(name='', errors=1.0, words=4, actions=1),)
    """
    if kind not in CORRECTORS:
        raise UsageError(
            f"no outputs of kind {kind!r} can be corrected{near(kind, CORRECTORS)}: known are "
            f"{', '.join(CORRECTORS)}"
        )
    return CORRECTORS[kind]
