"""A diarization as a grid of times and speakers, and speakers who are nobody.

Systems that put each moment into one cluster, and then add a second speaker where several speak,
may gather such moments in a cluster of their own. A person who corrects a region of it never says
its name. What marks it in a new recording, where nobody has said anything yet, is that others
speak at the same time; from which share of time on is learnt from all that was told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.corrections.speech_text import Turn, region_of, text_of, turns_of
from truecost.speech.spans import MICRO

Ints = npt.NDArray[np.int64]


Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Grid:
    """Who speaks when.

    Attributes
    ----------
    edges : ndarray of int64, shape (stretches + 1,)
        Microseconds, ascending.
    names : tuple of str
        Sorted.
    speaks : ndarray of bool, shape (names, stretches)
    """

    edges: Ints
    names: tuple[str, ...]
    speaks: Marks

    @staticmethod
    def of(turns: Sequence[Turn], more: Iterable[int] = ()) -> "Grid":
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

        Who speaks then anyway is not given it; of two as near, the first name is. Where nobody is
        left, nobody speaks.

        Returns
        -------
        Grid
            Without these speakers.
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
            starts, ends = (
                self.edges[np.flatnonzero(steps > 0)],
                self.edges[np.flatnonzero(steps < 0)],
            )
            found += [Turn(int(a), int(b), name) for a, b in zip(starts, ends, strict=True)]
        return found

    def text(self) -> str:
        """The diarization as text."""
        return text_of(self.turns())


TRUST = 0.05  # of the time of a speaker


NEVER = 2.0  # a share of time that no speaker reaches


@dataclass(frozen=True)
class Evidence:
    """What was told about a speaker of an output.

    Attributes
    ----------
    overlap : float
        Share of his time in which others speak, everywhere in the output.
    all : float
        Seconds that he speaks, everywhere in the output.
    own : float
        Seconds that were told to be his, where he speaks.
    other : float
        Seconds in which he speaks and, as was told, does not.
    name : str
        What the person calls him.
    """

    overlap: float
    all: float
    own: float
    other: float
    name: str


def evidence_of(output: str, told: Mapping[str, str]) -> dict[str, Evidence]:
    """What was told about the speakers of an output.

    A name that none of its speakers has is a new one, and may be his: of his own name and the new
    ones he is called that which was told for most of his time.

    Parameters
    ----------
    output : str
        As the system put it out.
    told : mapping of str to str
        For regions who speaks there.

    Returns
    -------
    dict of str to Evidence
        Of the speakers who speak in one of the regions.
    """
    regions = [region_of(part) for part in told]
    said = [turn for text in told.values() for turn in turns_of(text)]
    edges = [time for region in regions for time in region]
    both = (turns_of(output), said)
    cuts = [*edges, *(time for side in both for turn in side for time in turn[:2])]
    mine, theirs = (Grid.of(side, cuts) for side in both)
    inside = _inside(mine, regions)
    whole = Grid.of(turns_of(output))
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
    """Which stretches lie in a region."""
    marks = np.zeros(grid.speaks.shape[1], np.bool_)
    for start, end in regions:
        first, last = np.searchsorted(grid.edges, [start, end])
        marks[first:last] = True
    return marks


def threshold(told: Sequence[Evidence]) -> float:
    """The share of overlap from which on a speaker is taken for a heap.

    It loses the least time: what was told to be a heap's own, and what of all others is not theirs.
    People correct what is worst, so what was not told counts a little for every speaker: `TRUST`
    of all his time. The highest of several; `NEVER` where no heap is better than none.
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
    turns = Grid.of(turns_of(output)).given_to_others(heaps).turns()
    return [turn._replace(speaker=names.get(turn.speaker, turn.speaker)) for turn in turns]
