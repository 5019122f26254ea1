"""A made search for terms: audio, words, queries and detections, as the files of an evaluation.

Speech is drawn word by word: in files of half an hour two speakers take turns of 5 to 40 words, and
words follow Zipf's law over 50,000 of them. Queries are runs of one to three words that were said;
how often is lognormal, half of them seven times or less; a twentieth of the queries do not occur.
Three of four occurrences are found, some hundredths of a second beside; the other detections are
false alarms all over the audio, more of some queries than of others. Decisions are YES from the
Bayes threshold of the NIST pilot on, as if scores were log-likelihood ratios, which they are only
roughly. The same seed gives the same files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Term = tuple[int, ...]
FILE = 1800.0  # seconds
WORDS = 5000  # in a file
VOCABULARY = 50_000
SPREAD = 1.4  # of the logarithm of how often queries occur
LENGTHS = ((3, 0.1), (2, 0.3))  # words of queries, and their share; the others have one
UNSAID = 0.05  # of the queries
FOUND = 0.75  # of the occurrences
THRESHOLD = 6.9  # log of beta, 999.9
SCORES = (8.0, 3.0), (-1.0, 2.9)  # mean and deviation where an occurrence is, and elsewhere
BLOCK = 500_000  # detections that are written at once
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True)
class Collection:
    """What is searched, and for what.

    Attributes
    ----------
    folder : Path
    ecf, rttm, kwlist : str
        Files.
    files, queries : int
    words : int
        LEXEME lines.
    occurrences : polars.DataFrame
        `query` (number), `file` (number), `start` and `end`, sorted.
    """

    folder: Path
    ecf: str
    rttm: str
    kwlist: str
    files: int
    queries: int
    words: int
    occurrences: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Speech:
    """Words in the order of files and times."""

    word: Ints
    turn: Ints
    file: Ints
    start: Floats
    end: Floats


def write_collection(
    folder: Path, files: int = 600, queries: int = 2000, occurrences: int = 40_000, seed: int = 1
) -> Collection:
    """Write the audio's list, the words and the queries of a collection.

    Parameters
    ----------
    folder : Path
    files : int
        Of half an hour.
    queries : int
    occurrences : int
        Of all queries together; what is written has so many, or a few more or less.
    seed : int

    Returns
    -------
    Collection
    """
    rng = np.random.default_rng(seed)
    speech = _speak(rng, files)
    terms, first, last, query = _choose(rng, speech, queries, occurrences)
    ecf, rttm, kwlist = (str(folder / name) for name in ("e.ecf.xml", "r.rttm", "t.kwlist.xml"))
    _write_ecf(ecf, files)
    _write_rttm(rttm, speech)
    _write_kwlist(kwlist, terms)
    where = {"file": speech.file[first], "start": speech.start[first], "end": speech.end[last]}
    found = pl.DataFrame({"query": query, **where}).sort("query", "file", "start", "end")
    return Collection(folder, ecf, rttm, kwlist, files, queries, len(speech.word), found)


def write_detections(collection: Collection, detections: int, seed: int = 1) -> tuple[str, pl.DataFrame]:
    """Write what a system found.

    Parameters
    ----------
    collection : Collection
    detections : int
    seed : int

    Returns
    -------
    path : str
        Of the kwslist.
    rows : polars.DataFrame
        `query`, `score`, `true` (whether it was made from an occurrence) of each detection.
    """
    rng = np.random.default_rng([seed, detections])
    rows = pl.concat(_detect(rng, collection, detections)).sort("query", "file", "start")
    path = str(collection.folder / f"s{detections}.kwslist.xml")
    _write_kwslist(path, rows, collection.queries)
    return path, rows.select("query", "score", "true")


def _speak(rng: np.random.Generator, files: int) -> _Speech:
    """Words, turns and times."""
    weights = 1 / (np.arange(VOCABULARY) + 2.7)
    word = rng.choice(VOCABULARY, files * WORDS, p=weights / weights.sum())
    lengths = rng.integers(5, 41, len(word) // 5 + 1)
    file = np.repeat(np.arange(files), WORDS)
    turn = np.repeat(np.arange(len(lengths)), lengths)[: len(word)] + file  # a file begins a turn
    pause = rng.uniform(0.0, 0.1, len(word)) + np.where(np.diff(turn, prepend=-1) != 0, 0.6, 0.0)
    taken = rng.gamma(8, 0.28 / 8, len(word)) + 0.02
    passed = (pause + taken).reshape(files, WORDS).cumsum(axis=1)
    scale = np.repeat((FILE - 1) / passed[:, -1], WORDS)  # near 1: the words fill the file
    end = passed.ravel() * scale
    return _Speech(word, turn, file, (end - taken * scale).round(2), end.round(2))


def _choose(
    rng: np.random.Generator, speech: _Speech, queries: int, occurrences: int
) -> tuple[list[Term], Ints, Ints, Ints]:
    """Terms, and the first and last word and the number of the term of every occurrence."""
    said = queries - round(queries * UNSAID)
    wanted = rng.lognormal(0, SPREAD, said)
    wanted = np.maximum(1, wanted * occurrences / wanted.sum())
    sizes = [(words, round(share * said)) for words, share in LENGTHS]
    sizes.append((1, said - sum(many for _, many in sizes)))
    terms: list[Term] = []
    found: list[tuple[Ints, Ints, Ints]] = []
    lacking = 0.0  # occurrences that the terms so far have too few
    for words, many in sizes:
        begins = np.flatnonzero(speech.turn[words - 1 :] == speech.turn[: len(speech.turn) - words + 1])
        key = sum(speech.word[begins + k] * VOCABULARY**k for k in range(words))
        keys, counts = np.unique(key, return_counts=True)
        order = np.argsort(counts, kind="stable")
        chosen, lacking = _near(rng, counts[order], wanted[len(terms) :][:many], lacking)
        own = keys[order[chosen]]
        place = np.argsort(own)
        at = np.minimum(np.searchsorted(own[place], key), many - 1)
        hit = np.flatnonzero(own[place][at] == key)
        found.append((begins[hit], begins[hit] + words - 1, place[at[hit]] + len(terms)))
        terms += [tuple(int(k) // VOCABULARY**i % VOCABULARY for i in range(words)) for k in own]
    terms += [(VOCABULARY + k,) for k in range(queries - said)]
    shuffled = rng.permutation(queries)  # so that the number of a query tells nothing
    first, last, term = (np.concatenate(part) for part in zip(*found, strict=True))
    return [terms[k] for k in np.argsort(shuffled)], first, last, shuffled[term]


def _near(
    rng: np.random.Generator, counts: Ints, wanted: Floats, lacking: float
) -> tuple[list[int], float]:
    """Places in ascending counts that come near to those that are wanted, each taken once."""
    taken: set[int] = set()
    for want in wanted:
        lacking += want
        low, high = np.searchsorted(counts, [round(lacking), round(lacking) + 1])
        at = int(rng.integers(low, high)) if low < high else min(int(low), len(counts) - 1)
        while at in taken:
            at = (at or len(counts)) - 1
        taken.add(at)
        lacking -= float(counts[at])
    return [*taken], lacking
