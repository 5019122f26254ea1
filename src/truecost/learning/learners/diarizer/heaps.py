"""Heaps: speakers of an output who are nobody, but what remains of people speaking at once.

Systems that put each moment into one cluster, and then add a second speaker where several speak,
may gather such moments in a cluster of their own. A person who corrects a region of it never says
its name. What marks it in a new recording, where nobody has said anything yet, is that others
speak at the same time; from which share of time on is learnt from all that was told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truecost.corrections.speech_text import Turn, region_of, turns_of
from truecost.learning.learners.diarizer.grid import Grid
from truecost.speech.spans import MICRO

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
