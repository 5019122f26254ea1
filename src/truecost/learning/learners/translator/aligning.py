"""Which word is the translation of which: IBM Model 1 with a leaning to the diagonal.

The probability that a word of the translation comes from source word i of I is
t(word | source word) exp(-LEAN |i/I - j/J|) / Z, or that of the empty word with `EMPTY`; t is found
by expectation maximisation from equal probabilities (Brown et al. 1993; the leaning: Dyer,
Chahuneau and Smith 2013). Both directions are joined by "grow-diag" (Koehn, Och and Marcu 2003).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

LEAN = 4.0
EMPTY = 0.08  # probability that a word comes from no word
Links = set[tuple[int, int]]  # places of source word and word of the translation
Pair = tuple[tuple[str, ...], tuple[str, ...]]  # words of a source sentence and its translation
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Every source word (or the empty one) beside every word of the translation, flat.

    Attributes
    ----------
    pair, word, position, place : ndarray of int64, shape (cells,)
        Number of the pair of words; of the source word; of the word of the translation among all
        of them; and the place of the source word in its sentence, -1 for the empty word.
    prior : ndarray of float64, shape (cells,)
    """

    pair: Ints
    word: Ints
    position: Ints
    place: Ints
    prior: npt.NDArray[np.float64]


def aligned(pairs: Sequence[Pair], rounds: int) -> list[Links]:
    """The links of each pair of sentences.

    Parameters
    ----------
    rounds : int
        Of expectation maximisation, for each direction.

    Returns
    -------
    list of set of (int, int)
        Places in the source and in the translation, from 0.
    """
    forth = _best(pairs, rounds)
    back = _best([(target, source) for source, target in pairs], rounds)
    return [
        _grown(
            {(i, j) for j, i in enumerate(f) if i >= 0}, {(i, j) for i, j in enumerate(b) if j >= 0}
        )
        for f, b in zip(forth, back, strict=True)
    ]


def _best(pairs: Sequence[Pair], rounds: int) -> list[list[int]]:
    """For each word of each translation the place of its most probable source word, or -1."""
    if not any(target for _, target in pairs):
        return [[] for _ in pairs]
    cells = _cells(pairs)
    posterior = cells.prior
    for _ in range(rounds):
        sums = np.bincount(cells.pair, posterior)
        totals = np.bincount(cells.word, posterior)
        weights = cells.prior * sums[cells.pair] / totals[cells.word]
        posterior = weights / np.bincount(cells.position, weights)[cells.position]
    order = np.lexsort((cells.place, -posterior, cells.position))
    first = np.flatnonzero(np.diff(cells.position[order], prepend=-1))
    places = iter(cells.place[order][first].tolist())
    return [[next(places) for _ in target] for _, target in pairs]


def _cells(pairs: Sequence[Pair]) -> _Cells:
    """All cells, sentence by sentence; the empty word is the source word 0."""
    numbers: dict[str, int] = {"": 0}
    words: dict[str, int] = {}
    parts: list[list[Any]] = []
    seen = 0
    for source, target in pairs:
        rows = np.array([0, *(numbers.setdefault(w, len(numbers)) for w in source)], np.int64)
        columns = np.array([words.setdefault(w, len(words)) for w in target], np.int64)
        place = np.arange(-1, len(source))
        here = (place[1:, None] + 0.5) / max(len(source), 1)
        there = (np.arange(len(target)) + 0.5) / max(len(target), 1)
        lean = np.exp(-LEAN * np.abs(here - there))
        prior = np.vstack([np.full((1, len(target)), EMPTY), (1 - EMPTY) * lean / lean.sum(axis=0)])
        position = seen + np.arange(len(target))
        shape = prior.shape
        parts.append(
            [
                np.broadcast_to(one, shape).ravel()
                for one in (rows[:, None], columns, position, place[:, None], prior)
            ]
        )
        seen += len(target)
    word, column, position, place, prior = (np.concatenate(p) for p in zip(*parts, strict=True))
    _, pair = np.unique(word * len(words) + column, return_inverse=True)
    return _Cells(pair, word, position, place, prior)


def _grown(forth: Links, back: Links) -> Links:
    """Links of both directions, and those of either that touch one of them and link a new word."""
    links, union = forth & back, forth | back
    near = [step for step in product((-1, 0, 1), repeat=2) if any(step)]
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    added = True
    while added:
        added = False
        for i, j in sorted(links):
            for k, m in ((i + a, j + b) for a, b in near):
                new = (k, m) in union and (k, m) not in links
                if new and not (k in rows and m in columns):
                    links.add((k, m))
                    rows.add(k)
                    columns.add(m)
                    added = True
    return links
