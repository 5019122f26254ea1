"""Diarization for tests: tables of turns, and scores by frames of a millisecond, nothing clever."""

from itertools import permutations

import numpy as np
import polars as pl

from truecost.formats import Table
from truecost.outputs.items import Items
from truecost.tasks.diarization import DiarizationOptions, count

COLUMNS = {"recording": pl.String, "speaker": pl.String, "start": pl.Float64, "end": pl.Float64}


def turns(*rows: tuple, source: str = "turns", **columns: list) -> Table:
    """A table of (recording, speaker, start, end) in seconds."""
    frame = pl.DataFrame(list(rows), schema=COLUMNS, orient="row")
    return Table(source, frame.with_columns(pl.Series(k, v) for k, v in columns.items()))


def regions(*rows: tuple) -> Table:
    """A table of (recording, start, end) in seconds."""
    schema = {name: kind for name, kind in COLUMNS.items() if name != "speaker"}
    return Table("regions", pl.DataFrame(list(rows), schema=schema, orient="row"))


def random_turns(rng, recordings=3, speakers=4, n=12, length=30.0, prefix="s", digits=3) -> Table:
    """Turns anywhere; those of a speaker may overlap."""
    rows = []
    for k in range(recordings):
        starts = np.round(rng.uniform(0, length, n), digits)
        ends = starts + np.round(rng.gamma(2, length / 20, n), digits) + 10.0**-digits
        who = rng.integers(0, speakers, n)
        rows += [(f"r{k}", f"{prefix}{w}", s, e) for w, s, e in zip(who, starts, ends, strict=True)]
    return turns(*rows, source=prefix)


def told(reference, output, name="system", uem=None, parts=("speech",), **options) -> Items:
    """Items of a system."""
    return count(reference, output, DiarizationOptions(**options), name, uem, parts)


def everywhere(table, others=()) -> Table:
    """The table, and a UEM that has all of its recordings."""
    return regions(*((r, 0.0, 100.0) for r in sorted({*table.frame["recording"], *others})))


def counts(reference, output, parts=("speech",), uem=None, **options) -> dict:
    """Sums of all parts, times in seconds."""
    found = told(reference, output, uem=uem, parts=parts, **options)
    factors = found.counting.parts
    return {k: float(v.sum() * factors[p]) for p, of in found.parts.items() for k, v in of.items()}


class Frames:
    """One recording in frames of a millisecond; times in whole milliseconds."""

    def __init__(self, reference, output, start=0, stop=1, collar=0, skip_overlap=False):
        every = [t for side in (reference, output) for _, s, e in side for t in (s, e)]
        self.first = min([*every, start]) - 1
        self.size = max([*every, stop]) + 1 - self.first
        self.reference, self.output = self.marks(reference), self.marks(output)
        self.scored = np.zeros(self.size, bool)
        self.scored[start - self.first : stop - self.first] = True
        if collar:
            for row in self.reference:
                for at in np.flatnonzero(np.diff(row.astype(int))) + 1:
                    self.scored[max(at - collar, 0) : at + collar] = False
        if skip_overlap:
            self.scored &= self.reference.sum(axis=0) < 2

    def marks(self, side):
        """Speakers x frames."""
        names = sorted({name for name, _, _ in side})
        found = np.zeros((len(names), self.size), bool)
        for name, start, end in side:
            found[names.index(name), start - self.first : end - self.first] = True
        return found

    def speech(self):
        """Milliseconds of each kind, with the best of all mappings."""
        reference, output = self.reference[:, self.scored], self.output[:, self.scored]
        heard, said = reference.sum(axis=0), output.sum(axis=0)
        common = int(np.minimum(heard, said).sum())
        correct = max(
            sum(int((reference[r] & output[s]).sum()) for r, s in pairs)
            for pairs in _mappings(len(reference), len(output))
        )
        return {
            "reference": int(heard.sum()),
            "correct": correct,
            "missed": int(np.maximum(heard - said, 0).sum()),
            "false_alarm": int(np.maximum(said - heard, 0).sum()),
            "confusion": common - correct,
        }

    def jaccard(self):
        """Speakers, and the least sum of their errors over all mappings."""
        reference, output = self.reference[:, self.scored], self.output[:, self.scored]
        reference = reference[reference.any(axis=1)]
        least = min(
            sum(
                1 - (reference[r] & output[s]).sum() / (reference[r] | output[s]).sum()
                for r, s in pairs
            )
            + len(reference)
            - len(pairs)
            for pairs in _mappings(len(reference), len(output))
        )
        return len(reference), float(least)


def _mappings(rows, columns):
    """Every one-to-one mapping of as many as there can be."""
    if rows <= columns:
        return [list(enumerate(chosen)) for chosen in permutations(range(columns), rows)]
    return [[(r, c) for c, r in enumerate(chosen)] for chosen in permutations(range(rows), columns)]
