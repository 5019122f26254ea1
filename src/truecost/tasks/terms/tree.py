"""Terms as the paths of a tree of words, in which many terms share a beginning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
NONE = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """Terms by their words; a node stands for the words from the root to it.

    Attributes
    ----------
    first, later : mapping of str to int
        Codes of words that begin terms, and of words within. The nodes of single words are the
        codes of `first`.
    keys : ndarray of int64, shape (M,)
        Sorted: node * number of later words + code of the later word.
    below : ndarray of int64, shape (M,)
        The node that each key leads to.
    starts, terms : ndarray of int64, shape (nodes + 1,) and (terms that have words,)
        The terms that end at node n are `terms[starts[n]]` to `terms[starts[n + 1] - 1]`.
    """

    first: Mapping[str, int]
    later: Mapping[str, int]
    keys: Ints
    below: Ints
    starts: Ints
    terms: Ints

    @staticmethod
    def of(terms: Sequence[Sequence[str]], later: Sequence[Sequence[str]]) -> "Tree":
        """The tree of terms.

        Parameters
        ----------
        terms : sequence of sequence of str
            Words of each term, the first one as it is compared; a term without words is nowhere.
        later : sequence of sequence of str
            The same words, as they are compared within a term.
        """
        firsts = _numbered(words[0] for words in terms if words)
        laters = _numbered(word for words in later for word in words[1:])
        found: dict[int, int] = {}
        ends = np.full(len(terms), NONE, np.int64)
        for k, words in enumerate(terms):
            if words:
                node = firsts[words[0]]
                for word in later[k][1:]:
                    key = node * len(laters) + laters[word]
                    node = found.setdefault(key, len(firsts) + len(found))
                ends[k] = node
        keys = np.fromiter(found, np.int64, len(found))
        order = np.argsort(keys)
        below = np.arange(len(firsts), len(firsts) + len(found))[order]
        by_end = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[by_end], np.arange(len(firsts) + len(found) + 1))
        skipped = int(starts[0])
        return Tree(firsts, laters, keys[order], below, starts - skipped, by_end[skipped:])

    def step(self, nodes: Ints, words: Ints) -> Ints:
        """The node below each node by a later word (its code, -1 for others); -1 for none."""
        if not len(self.keys):
            return np.full(len(nodes), NONE)
        wanted = nodes * len(self.later) + words
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((words >= 0) & (self.keys[at] == wanted), self.below[at], NONE)

    def ending(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Terms that end at nodes.

        Parameters
        ----------
        nodes : ndarray of int64, shape (N,)

        Returns
        -------
        rows, terms : ndarray of int64
            A pair for each term that ends at the node of a row.
        """
        counts = self.starts[nodes + 1] - self.starts[nodes]
        rows = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.terms[self.starts[nodes][rows] + within]


def _numbered(words: Iterable[str]) -> dict[str, int]:
    return {word: k for k, word in enumerate(sorted(set(words)))}
