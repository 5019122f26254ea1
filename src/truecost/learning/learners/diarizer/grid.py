"""A diarization as a grid: who speaks between one edge of time and the next."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.corrections.speech_text import Turn, text_of

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
