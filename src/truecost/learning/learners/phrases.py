"""Words, their translations (IBM Model 1) and phrases that were translated together.

The probability that a word of the translation comes from source word i of I is
t(word | source word) exp(-LEAN |i/I - j/J|) / Z, or that of the empty word with `EMPTY`; t is found
by expectation maximisation from equal probabilities (Brown et al. 1993; the leaning: Dyer,
Chahuneau and Smith 2013). Both directions are joined by "grow-diag" (Koehn, Och and Marcu 2003).

A punctuation mark that touches the word before it starts with `JOINED`, so that it is written as it
was. The first word of a sentence is written small unless it was seen with a capital elsewhere.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

LEAN = 4.0
EMPTY = 0.08  # probability that a word comes from no word
Links = set[tuple[int, int]]  # places of source word and word of the translation
Pair = tuple[tuple[str, ...], tuple[str, ...]]  # words of a source sentence and its translation
Ints = npt.NDArray[np.int64]


def aligned(pairs: Sequence[Pair], rounds: int) -> list[Links]:
    """The links of each pair of sentences: places in the source and in the translation, from 0.

    `rounds` are those of expectation maximisation, for each direction.
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
    pair, word, position, place, prior = _cells(pairs)
    posterior = prior
    for _ in range(rounds):
        sums, totals = np.bincount(pair, posterior), np.bincount(word, posterior)
        weights = prior * sums[pair] / totals[word]
        posterior = weights / np.bincount(position, weights)[position]
    order = np.lexsort((place, -posterior, position))
    first = np.flatnonzero(np.diff(position[order], prepend=-1))
    places = iter(place[order][first].tolist())
    return [[next(places) for _ in target] for _, target in pairs]


def _cells(pairs: Sequence[Pair]) -> tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.float64]]:
    """Every source word (or the empty one, 0) beside every word of the translation, flat.

    All have the shape (cells,): number of the pair of words; of the source word; of the word of the
    translation among all of them; the place of the source word in its sentence, -1 for the empty
    word; and the prior. Sentence by sentence.
    """
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
    return pair, word, position, place, prior


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


JOINED = "\u2581"  # the mark of what touches the word before it
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]")  # don't is one word
Words = tuple[str, ...]


def source_words(text: str) -> Words:
    """Words and marks of a source sentence, all small.

    Examples
    --------
    >>> from truecost.learning.learners.phrases import source_words
    >>> source_words("Where is it?")
    ('where', 'is', 'it', '?')
    """
    return tuple(found.group().lower() for found in _TOKEN.finditer(text))


def target_words(text: str) -> Words:
    """Words of a translation, marked where they touch the one before."""
    found, end = [], -1
    for match in _TOKEN.finditer(text):
        found.append(f"{JOINED}{match.group()}" if match.start() == end else match.group())
        end = match.end()
    return tuple(found)


def capitals(sentences: Iterable[Words]) -> set[str]:
    """Words that stand with a capital inside sentences at least as often as without."""
    inside = Counter(word for words in sentences for word in words[1:])
    return {w for w in inside if w != w.lower() and inside[w] >= inside[w.lower()]}


def as_given(words: Sequence[str], text: str, known: Container[str]) -> list[str]:
    """Words that are not known get the letters back that they have in a source sentence.

    `text`: the source sentence; `known`: words of the other language.
    """
    given = {found.group().lower(): found.group() for found in _TOKEN.finditer(text)}
    return [word if word in known else given.get(word, word) for word in words]


def without_capital(words: Words, known: set[str]) -> Words:
    """The sentence with its first word small, unless that is known to have a capital."""
    if not words or words[0] in known:
        return words
    return (words[0].lower(), *words[1:])


def sentence_of(words: Sequence[str]) -> str:
    """The sentence of words, with a capital at its start.

    Examples
    --------
    >>> from truecost.learning.learners.phrases import sentence_of, target_words
    >>> sentence_of(target_words("wo ist es?"))
    'Wo ist es?'
    """
    text = "".join(w[1:] if w.startswith(JOINED) else f" {w}" for w in words).strip()
    return text[:1].upper() + text[1:]


START, END = "<s>", "</s>"
MOST = 8  # translations of a phrase that are kept
DISCOUNT = 0.5  # what was seen once is less certain than its share says


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The stored knowledge about translations.

    `pairs`: source sentences and translations, as words; the memory; `links`: which words belong
    together; `phrases`: for a source phrase its translations with their log-probabilities, the best
    first; `bigrams`: how often one word followed another in translations; `words`: how often a word
    stood in translations.
    """

    pairs: tuple[Pair, ...]
    links: tuple[Links, ...]
    phrases: dict[Words, list[tuple[Words, float]]]
    bigrams: Counter[tuple[str, str]]
    words: Counter[str]

    def follows(self, one: str, other: str) -> float:
        """Log-probability that a word follows another in a translation.

        (c(one other) + c(other) / N) / (c(one) + 1), with one more unknown word in N.
        """
        share = (self.words[other] + 1) / (self.words.total() + len(self.words) + 1)
        return log((self.bigrams[one, other] + share) / (self.words[one] + 1))


def learnt(pairs: Sequence[Pair], rounds: int, longest: int) -> Knowledge:
    """Knowledge from pairs of sentences, all of them at once.

    `rounds`: of the alignment; `longest`: words of the longest phrase.
    """
    links = aligned(pairs, rounds)
    counts: Counter[tuple[Words, Words]] = Counter()
    for (source, target), linked in zip(pairs, links, strict=True):
        counts.update(_extracted(source, target, linked, longest))
    sentences = [(START, *target, END) for _, target in pairs]
    return Knowledge(
        tuple(pairs),
        tuple(links),
        _probable(counts),
        Counter(two for words in sentences for two in pairwise(words)),
        Counter(word for words in sentences for word in words),
    )


def _extracted(
    source: Words, target: Words, links: Links, longest: int
) -> Iterator[tuple[Words, Words]]:
    """Phrases whose words are linked to each other only; with and without neighbours of no link."""
    linked = {j for _, j in links}
    for first in range(len(source)):
        for last in range(first, min(first + longest, len(source))):
            inside = [j for i, j in links if first <= i <= last]
            if not inside:
                continue
            low, high = min(inside), max(inside)
            if any(low <= j <= high and not first <= i <= last for i, j in links):
                continue
            for start in _outwards(low, -1, linked, len(target)):
                for end in _outwards(high, 1, linked, len(target)):
                    if end - start < longest + 2:
                        yield source[first : last + 1], target[start : end + 1]


def _outwards(place: int, step: int, linked: set[int], size: int) -> Iterator[int]:
    """A place, and those beside it while no word there is linked."""
    yield place
    place += step
    while 0 <= place < size and place not in linked:
        yield place
        place += step


def _probable(counts: Counter[tuple[Words, Words]]) -> dict[Words, list[tuple[Words, float]]]:
    """The translations of each phrase with the logarithm of (count - DISCOUNT) / all."""
    totals: Counter[Words] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count
    found: dict[Words, list[tuple[Words, float]]] = {}
    for (source, target), count in counts.items():
        chance = log((count - DISCOUNT) / totals[source])
        found.setdefault(source, []).append((target, chance))
    for translations in found.values():
        translations.sort(key=lambda one: (-one[1], one[0]))
        del translations[MOST:]
    return found
