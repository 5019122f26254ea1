"""Phrases: runs of words that were translated together, and how often (Koehn, Och, Marcu 2003)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from truecost.learning.learners.translator.aligning import Links, Pair, aligned
from truecost.learning.learners.translator.words import Words

START, END = "<s>", "</s>"
MOST = 8  # translations of a phrase that are kept
DISCOUNT = 0.5  # what was seen once is less certain than its share says


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of how sentences are translated.

    Attributes
    ----------
    pairs : tuple of (tuple of str, tuple of str)
        Source sentences and translations, as words; the memory.
    links : tuple of set of (int, int)
        Which words belong together.
    phrases : dict of tuple of str to list of (tuple of str, float)
        For a source phrase its translations with their log-probabilities, the best first.
    bigrams : dict of (str, str) to int
        How often one word followed another in translations.
    words : dict of str to int
        How often a word stood in translations.
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

    Parameters
    ----------
    rounds : int
        Of the alignment.
    longest : int
        Words of the longest phrase.
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
