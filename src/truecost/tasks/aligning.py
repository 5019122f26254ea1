"""Aligning texts: hits, substitutions, deletions and insertions of words and of characters.

Edit distances come from rapidfuzz. The number of errors of a minimal alignment is unique; how it
splits into substitutions, deletions and insertions is not: of several minimal alignments that of
rapidfuzz is taken, as jiwer does. Words become single characters first, one for each distinct word
of a block of utterances, so that rapidfuzz compares them without Python objects.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.extras import need

Counts = npt.NDArray[np.int64]
Step = tuple[str, str | None, str | None]

BLOCK = 1 << 22  # bytes of text that are aligned together, so that memory does not grow with files
SURROGATES, HIGH = 0x800, 0xD800  # code points from HIGH on that no text may hold
ROOM = 0x110000 - SURROGATES  # distinct words that single characters can stand for


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
    >>> from truecost.tasks.aligning import count_words
    >>> counts = count_words(pl.Series(["a b c"]), pl.Series(["a x c d"]))
    >>> {name: int(of[0]) for name, of in counts.items() if name not in ("hypothesis", "longest")}
    {'reference': 3, 'hits': 2, 'substitutions': 1, 'deletions': 0, 'insertions': 1}
    """
    return _joined(
        _aligned(*_coded(reference[rows], hypothesis[rows]))
        for rows in _blocks(reference, hypothesis)
    )


def count_characters(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the characters (code points) of each pair of texts, blanks among them.

    Parameters
    ----------
    reference, hypothesis : polars.Series of str, length N

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        As `count_words`.
    """
    return _joined(
        _aligned(reference[rows].to_list(), hypothesis[rows].to_list())
        for rows in _blocks(reference, hypothesis)
    )


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
    >>> from truecost.tasks.aligning import align
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


def _blocks(reference: pl.Series, hypothesis: pl.Series) -> Iterator[slice]:
    """Rows that are aligned together: at least one pair, and about `BLOCK` bytes."""
    sizes = (reference.str.len_bytes() + hypothesis.str.len_bytes()).to_numpy().astype(np.int64)
    block = np.cumsum(sizes) // BLOCK
    edges = np.flatnonzero(np.diff(block)) + 1
    for start, stop in zip([0, *edges.tolist()], [*edges.tolist(), len(sizes)], strict=True):
        yield slice(start, stop)


def _joined(blocks: Iterator[dict[str, Counts]]) -> dict[str, Counts]:
    found = list(blocks)
    return {name: np.concatenate([block[name] for block in found]) for name in found[0]}


def _coded(reference: pl.Series, hypothesis: pl.Series) -> tuple[list[Any], list[Any]]:
    """Both sides as texts in which one character stands for each word."""
    texts = pl.concat([reference, hypothesis])
    lists = texts.str.split(" ")
    lengths = np.where(texts == "", 0, lists.list.len().to_numpy()).astype(np.int64)
    words = lists.explode()
    codes = _codes(words.filter(words != ""))
    ends = np.cumsum(lengths).tolist()
    whole = _as_text(codes)
    coded = [whole[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return coded[: len(reference)], coded[len(reference) :]


def _codes(words: pl.Series) -> npt.NDArray[np.uint32]:
    """A number for each distinct word, from 0."""
    codes = words.cast(pl.Enum(words.unique())).to_physical()
    return codes.cast(pl.UInt32).to_numpy()


def _as_text(codes: npt.NDArray[np.uint32]) -> "str | array[int]":
    """Codes as characters; as numbers, which take twice as long, where there are too many."""
    if codes.max(initial=0) >= ROOM:
        return array("I", codes.tobytes())
    points = np.where(codes < HIGH, codes, codes + SURROGATES)
    return points.astype("<u4").tobytes().decode("utf-32-le")


def _aligned(reference: Sequence[Any], hypothesis: Sequence[Any]) -> dict[str, Counts]:
    """Statistics of pairs of sequences.

    Substitutions + 2 min(deletions, insertions) = errors - the difference of the lengths, so that
    an excess of 0 or 1 decides all counts; only other pairs need their alignment.
    """
    levenshtein = need("rapidfuzz.distance", "speech").Levenshtein
    cpdist = need("rapidfuzz.process", "speech").cpdist
    here, there = (np.array([*map(len, side)], np.int64) for side in (reference, hypothesis))
    errors = cpdist(reference, hypothesis, scorer=levenshtein.distance, dtype=np.int64)
    substitutions = errors - abs(here - there)
    for k in np.flatnonzero(substitutions >= 2).tolist():
        steps = levenshtein.editops(reference[k], hypothesis[k]).as_list()
        substitutions[k] = [step[0] for step in steps].count("replace")
    deletions = (errors - substitutions + here - there) // 2
    return {
        "reference": here,
        "hypothesis": there,
        "hits": here - substitutions - deletions,
        "substitutions": substitutions,
        "deletions": deletions,
        "insertions": errors - substitutions - deletions,
        "longest": np.maximum(here, there),
    }
