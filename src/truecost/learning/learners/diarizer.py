"""The diarizer: an output of a system that is corrected, and what its corrections teach.

Systems that put each moment into one cluster, and then add a second speaker where several speak,
may gather such moments in a cluster of their own. A person who corrects a region of it never says
its name. It is recognised in a new recording, before any correction, by speech of others at the
same time; the least share of such time is learnt from all corrections.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.corrections import corrector
from truecost.corrections.kinds import joined, put_in_place
from truecost.corrections.texts import Turn, region_of, text_of, turns_of
from truecost.errors import InputError, UsageError
from truecost.learning.learners.building import settings_of
from truecost.learning.snapshots import restored
from truecost.learning.system import Answered, Array, Batch, Outputs, Question, Task
from truecost.speech.spans import MICRO

Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Grid:
    """The speech segments.

    `edges` (shape (stretches + 1,)): microseconds, ascending; `names`: sorted; `speaks` (shape
    (names, stretches)).
    """

    edges: Ints
    names: tuple[str, ...]
    speaks: Marks

    @staticmethod
    def from_turns(turns: Sequence[Turn], more: Iterable[int] = ()) -> "Grid":
        """The grid of turns, cut at some more edges too."""
        times = [time for turn in turns for time in (turn.start, turn.end)]
        edges = np.unique(np.array([*times, *more], np.int64))
        names = tuple(sorted({turn.speaker for turn in turns}))
        place = {name: row for row, name in enumerate(names)}
        speaks = np.zeros((len(names), max(len(edges) - 1, 0)), np.bool_)
        for turn in turns:
            first, last = np.searchsorted(edges, [turn.start, turn.end])
            speaks[place[turn.speaker], first:last] = True
        return Grid(edges, names, speaks)

    @property
    def lengths(self) -> Ints:
        """Microseconds of each stretch."""
        return np.diff(self.edges)

    def overlaps(self) -> dict[str, float]:
        """For each speaker the share of the time in which others speak too."""
        many = self.speaks.sum(axis=0) > 1
        own = self.speaks @ self.lengths
        both = (self.speaks & many) @ self.lengths
        return {n: float(b / t) for n, b, t in zip(self.names, both, own, strict=True)}

    def given_to_others(self, gone: Iterable[str]) -> "Grid":
        """Each moment of some speakers given to whom of the others speaks nearest in time.

        A speaker who is speaking then is not chosen; of two equally near, the first name is. Where
        nobody is left, nobody speaks. The grid is one without these speakers.
        """
        left = np.array([name not in {*gone} for name in self.names], np.bool_)
        kept = self.speaks[left]
        names = tuple(name for name, stays in zip(self.names, left, strict=True) if stays)
        if left.all() or not left.any():
            return replace(self, names=names, speaks=kept)
        away = np.stack([self._distances(row) for row in kept])
        nearest = away.argmin(axis=0)
        places = np.arange(len(nearest))
        taken = np.isfinite(away[nearest, places])
        filled = kept.copy()
        for row in self.speaks[~left]:  # one for each who is gone: several may speak at once
            give = row & taken
            filled[nearest[give], places[give]] = True
        return replace(self, names=names, speaks=filled)

    def _distances(self, row: Marks) -> npt.NDArray[np.float64]:
        """Time from the middle of each stretch to a speaker's nearest speech; infinite in it."""
        on = np.flatnonzero(row)
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        if not len(on):
            return np.full(len(row), np.inf)
        after = np.searchsorted(on, np.arange(len(row)))
        last, following = np.clip(after - 1, 0, None), np.clip(after, None, len(on) - 1)
        back = np.where(after > 0, middle - self.edges[on[last] + 1], np.inf)
        ahead = np.where(after < len(on), self.edges[on[following]] - middle, np.inf)
        return np.where(row, np.inf, np.minimum(back, ahead))

    def turns(self) -> list[Turn]:
        """The turns, speaker by speaker."""
        found = []
        for name, row in zip(self.names, self.speaks, strict=True):
            steps = np.diff(np.concatenate([[0], row.astype(np.int8), [0]]))
            starts, ends = (self.edges[np.flatnonzero(steps == step)] for step in (1, -1))
            found += [Turn(int(a), int(b), name) for a, b in zip(starts, ends, strict=True)]
        return found


TRUST = 0.05  # of the time of a speaker
NEVER = 2.0  # a share of time that no speaker reaches


@dataclass(frozen=True)
class Evidence:
    """The corrections of a speaker of an output.

    `overlap`: share of his time in which others speak, everywhere in the output; `all`: seconds
    that he speaks, everywhere in the output; `own`: seconds that were corrected to be his, where he
    speaks; `other`: seconds in which he speaks and, as corrected, should not; `name`: what the
    person calls him.
    """

    overlap: float
    all: float
    own: float
    other: float
    name: str


def evidence_of(output: str, told: Mapping[str, str]) -> dict[str, Evidence]:
    """The corrections of the speakers of an output in one of the regions.

    A name that none of its speakers has is a new one, and may be his: of his own name and the new
    ones he gets the corrected name of most of his time. `told` says for regions who speaks
    there.
    """
    regions = [region_of(part) for part in told]
    said = [turn for text in told.values() for turn in turns_of(text)]
    edges = [time for region in regions for time in region]
    both = (turns_of(output), said)
    cuts = [*edges, *(time for side in both for turn in side for time in turn[:2])]
    mine, theirs = (Grid.from_turns(side, cuts) for side in both)
    inside = _inside(mine, regions)
    whole = Grid.from_turns(turns_of(output))
    overlaps, sums = whole.overlaps(), whole.speaks @ whole.lengths / MICRO
    seconds = dict(zip(whole.names, sums.tolist(), strict=True))
    new = [name for name in theirs.names if name not in mine.names]
    found = {}
    for name, row in zip(mine.names, mine.speaks, strict=True):
        here = (row & inside) * mine.lengths / MICRO
        if not here.any():
            continue
        called = {
            other: float(here[theirs.speaks[theirs.names.index(other)]].sum())
            for other in (name, *new)
            if other in theirs.names
        }
        best = max(called, key=lambda other: called[other], default=name)
        own = called.get(best, 0.0)
        other = float(here.sum()) - own
        found[name] = Evidence(overlaps[name], seconds[name], own, other, best if own else name)
    return found


def _inside(grid: Grid, regions: Iterable[tuple[int, int]]) -> np.ndarray:
    """Whether each stretch is within a region."""
    marks = np.zeros(grid.speaks.shape[1], np.bool_)
    for start, end in regions:
        first, last = np.searchsorted(grid.edges, [start, end])
        marks[first:last] = True
    return marks


def threshold(told: Sequence[Evidence]) -> float:
    """The share of overlap from which on a speaker is taken for a heap.

    It loses the least time: time corrected to be a heap's own, and what of all others is not
    theirs. People correct what is worst, so what was not told counts a little for every speaker:
    `TRUST` of all his time. The highest of several; `NEVER` where no heap is better than none.
    """
    ordered = sorted(told, key=lambda one: -one.overlap)
    lost = best = sum(one.other for one in ordered)
    chosen = NEVER
    for place, one in enumerate(ordered):
        lost += one.own + TRUST * one.all - one.other
        last = place + 1 == len(ordered)
        following = 0.0 if last else ordered[place + 1].overlap
        if lost < best and (last or following < one.overlap):
            best, chosen = lost, (one.overlap + following) / 2
    return chosen


def without_heaps(output: str, heaps: Iterable[str], names: Mapping[str, str]) -> list[Turn]:
    """An output with the time of heaps given to others, and speakers renamed."""
    turns = Grid.from_turns(turns_of(output)).given_to_others(heaps).turns()
    return [turn._replace(speaker=names.get(turn.speaker, turn.speaker)) for turn in turns]


Told = dict[str, str]  # of a recording: who speaks in each region that was told


class DiarizerSettings(msgspec.Struct, frozen=True):
    """Options of `diarizer`.

    `output`: which of the outputs in the features it starts from, from 0; `heaps`: learn which
    speakers are nobody; otherwise it keeps only the corrections.
    """

    output: Annotated[int, msgspec.Meta(ge=0)] = 0
    heaps: bool = True


class Diarizer:
    """An output that is corrected, and what was learnt from it."""

    name = "diarizer"

    def __init__(self, settings: DiarizerSettings) -> None:
        self._settings = settings
        self._told: dict[str, Told] = {}
        self._evidence: dict[str, list[Evidence]] = {}

    def predict(self, batch: Batch) -> Outputs:
        """The segments; the score is the share of speech in which one person speaks."""
        said = tuple(text for text, _ in self._outputs(batch))
        return Outputs(said, np.array([_single_speaker_share(text) for text in said], np.float64))

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """The regions with most difference to the next output that the features have."""
        found = []
        for row, (said, others) in enumerate(self._outputs(batch)):
            told = [region_of(part) for part in self._told.get(batch.ids[row], {})]
            for other in others[:1]:
                for part in corrector("diarization").parts(said, other):
                    start, end = region_of(part.name)
                    if not any(start < last and first < end for first, last in told):
                        found.append((-part.errors, row, start, part.name))
        return [Question(batch.ids[row], part) for _, row, _, part in sorted(found)[:budget]]

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Store the corrections, and the resulting facts about the speakers of the output."""
        del batch  # recordings of which nothing was told teach it nothing
        rows = _rows(answered.items, self._settings.output)
        for output, answer in zip(rows, answered.answers, strict=True):
            if answer.label is None:
                continue
            told = self._told.setdefault(answer.id, {})
            told[answer.part or _everything(output[0], answer.label)] = answer.label
            found = evidence_of(output[0], told)
            self._evidence[answer.id] = [found[name] for name in sorted(found)]

    def snapshot(self) -> bytes:
        """The corrections, and the resulting facts about the speakers."""
        return msgspec.msgpack.encode((self._told, self._evidence))

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot."""
        kind = tuple[dict[str, Told], dict[str, list[Evidence]]]
        self._told, self._evidence = restored(state, kind, "learner diarizer")

    def _outputs(self, batch: Batch) -> Iterator[tuple[str, tuple[str, ...]]]:
        """For each recording what it says, and what other systems say."""
        heap = NEVER
        if self._settings.heaps:
            heap = threshold([one for known in self._evidence.values() for one in known])
        for item, (output, *others) in zip(
            batch.ids, _rows(batch, self._settings.output), strict=True
        ):
            told = tuple(self._told.get(item, {}).items())
            yield _corrected(output, heap, told), tuple(others)


def _rows(batch: Batch, first: int) -> list[tuple[str, ...]]:
    """The outputs of each recording, the chosen one first."""
    features: Array = batch.features if batch.features.ndim > 1 else batch.features[:, None]
    width = features.shape[1]
    if first >= width:
        raise InputError(
            f"learner diarizer: output = {first}, but the number of outputs in batch "
            f"{batch.index} is {width}: outputs are numbered from 0"
        )
    order = [first, *(place for place in range(width) if place != first)]
    return [tuple(str(row[place]) for place in order) for row in features]


def _everything(output: str, told: str) -> str:
    """The region of a whole recording."""
    last = max((turn.end for text in (output, told) for turn in turns_of(text)), default=1)
    return f"0-{last / 1_000_000:.6f}"


def _single_speaker_share(text: str) -> float:
    """Share of the time with speech in which one person speaks; 1 for silence."""
    grid = Grid.from_turns(turns_of(text))
    speakers = grid.speaks.sum(axis=0)
    time = int(grid.lengths[speakers > 0].sum())
    return float(grid.lengths[speakers == 1].sum() / time) if time else 1.0


@lru_cache(maxsize=256)
def _corrected(output: str, heap: float, told: tuple[tuple[str, str], ...]) -> str:
    """An output with what was learnt and told."""
    known = evidence_of(output, dict(told))
    overlaps = Grid.from_turns(turns_of(output)).overlaps()
    heaps = [name for name, share in overlaps.items() if share >= heap]
    heaps = heaps if len(heaps) < len(overlaps) else []  # somebody must be left
    names: Mapping[str, str] = {name: one.name for name, one in known.items()}
    turns = joined(without_heaps(output, heaps, names))
    for part, text in told:
        turns = put_in_place(turns, turns_of(text), *region_of(part))
    return text_of(turns)


def diarizer(task: Task) -> Diarizer:
    """A diarizer without corrections.

    `task`: of the kind `diarization`; options as `DiarizerSettings`.
    """
    if task.kind != "diarization":
        raise UsageError(
            f"learner diarizer: this learner is for diarization, but the task is {task.kind}"
        )
    return Diarizer(settings_of(DiarizerSettings, "learner diarizer", task.options))
