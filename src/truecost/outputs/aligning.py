"""Aligning texts: hits, substitutions, deletions and insertions of words and of characters.

Edit distances come from rapidfuzz. The number of errors of a minimal alignment is unique; how it
splits into substitutions, deletions and insertions is not: of several minimal alignments that of
rapidfuzz is taken, as jiwer does.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.extras import need

Counts = npt.NDArray[np.int64]
Step = tuple[str, str | None, str | None]
Cut = Callable[[str], Sequence[str]]
KINDS = ("replace", "delete", "insert")  # rapidfuzz's names


def count_words(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the words of each pair of texts.

    Parameters
    ----------
    reference, hypothesis : polars.Series of str, length N
        Words apart by single blanks, as `normalise` leaves them.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        `reference`, `hypothesis` (words on each side), `hits`, `substitutions`, `deletions`,
        `insertions` and `longest` (the longer side).

    Raises
    ------
    MissingExtraError
        When rapidfuzz is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.outputs.aligning import count_words
    >>> counts = count_words(pl.Series(["a b c"]), pl.Series(["a x c d"]))
    >>> {name: int(of[0]) for name, of in counts.items() if name not in ("hypothesis", "longest")}
    {'reference': 3, 'hits': 2, 'substitutions': 1, 'deletions': 0, 'insertions': 1}
    """
    return _aligned(reference, hypothesis, words_of)


def words_of(text: str) -> list[str]:
    """The words of a text in which they stand apart by single blanks."""
    return text.split(" ") if text else []


def count_characters(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the characters (code points) of each pair of texts, blanks among them.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        As `count_words`.
    """
    return _aligned(reference, hypothesis, str)


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Step]:
    """The alignment that is counted, unit by unit.

    Parameters
    ----------
    reference, hypothesis : sequence of str
        Units, such as words.

    Returns
    -------
    list of (str, str or None, str or None)
        `equal`, `replace`, `delete` or `insert`; the unit of the reference, that of the hypothesis.

    Examples
    --------
    >>> from truecost.outputs.aligning import align
    >>> align(["a", "b"], ["a", "c", "b"])
    [('equal', 'a', 'a'), ('insert', None, 'c'), ('equal', 'b', 'b')]
    """
    steps: list[Step] = []
    levenshtein = need("rapidfuzz.distance", "speech").Levenshtein
    for kind, a, b, c, d in levenshtein.opcodes(reference, hypothesis).as_list():
        here: list[str | None] = [*reference[a:b]] or [None] * (d - c)
        there: list[str | None] = [*hypothesis[c:d]] or [None] * (b - a)
        steps += [(kind, r, h) for r, h in zip(here, there, strict=True)]
    return steps


def _aligned(reference: pl.Series, hypothesis: pl.Series, cut: Cut) -> dict[str, Counts]:
    """Statistics of pairs of texts, each cut into units."""
    editops = need("rapidfuzz.distance", "speech").Levenshtein.editops
    here, there, errors = (np.zeros((len(reference), n), np.int64) for n in (1, 1, len(KINDS)))
    for k, (right, found) in enumerate(zip(reference, hypothesis, strict=True)):
        units, others = cut(right), cut(found)
        here[k], there[k] = len(units), len(others)
        if right != found:
            kinds = [step.tag for step in editops(units, others)]
            errors[k] = [kinds.count(kind) for kind in KINDS]
    substitutions, deletions, insertions = errors.T
    return {
        "reference": here[:, 0],
        "hypothesis": there[:, 0],
        "hits": here[:, 0] - substitutions - deletions,
        "substitutions": substitutions,
        "deletions": deletions,
        "insertions": insertions,
        "longest": np.maximum(here, there)[:, 0],
    }
