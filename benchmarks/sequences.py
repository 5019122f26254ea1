"""Transcripts: errors of words and characters, from texts to counts; jiwer does the same work."""

from collections.abc import Callable
from typing import Any

import jiwer
import numpy as np
import polars as pl

from benchmarks.measuring import Row, side_by_side
from truecost.formats import Table
from truecost.outputs.items import Items
from truecost.tasks.transcripts import TextOptions, count

KINDS = ("hits", "substitutions", "deletions", "insertions")
EVEN = jiwer.Compose(
    [
        jiwer.ToLowerCase(),
        jiwer.RemovePunctuation(),
        jiwer.RemoveMultipleSpaces(),
        jiwer.Strip(),
        jiwer.ReduceToListOfListOfWords(),
    ]
)
Texts = list[str]


def make(sentences: int, seed: int = 1) -> tuple[Texts, Texts]:
    """References of 5 to 35 words of a skewed vocabulary, and outputs with 16% of them wrong."""
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.exponential(500, 40 * sentences).astype(int), 4999)
    words = iter([f"{'etaoinshr'[r % 9]}w{r}" for r in ranks])
    right, found = [], []
    for length, chances in zip(
        rng.integers(5, 36, sentences), rng.random((sentences, 35)), strict=True
    ):
        said = [next(words) for _ in range(length)]
        heard: Texts = []
        for word, chance in zip(said, chances, strict=False):
            if chance >= 0.04:
                heard.append(next(words) if chance < 0.12 else word)
            if chance > 0.96:
                heard.append(next(words))
        right.append(" ".join(said))
        found.append(" ".join(heard))
    return right, found


def ours(right: Texts, found: Texts, parts: tuple[str, ...], *steps: str) -> Items:
    """Tables from the texts, and all that `truecost transcripts` counts."""
    ids = [f"u{k}" for k in range(len(right))]
    tables = [Table("texts", pl.DataFrame({"id": ids, "text": side})) for side in (right, found)]
    return count(*tables, TextOptions(normalise=steps), "mine", frozenset(parts))


def rows(sentences: int, repeats: int) -> tuple[list[Row], list[str]]:
    """Rows of times, and lines about what was checked."""
    right, found = make(sentences)
    written = [f"{text.capitalize()}." for text in right]
    both = ("words", "characters")
    sides: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "words": (
            lambda: ours(right, found, ("words",)),
            lambda: jiwer.process_words(right, found),
        ),
        "words, lower case, no punctuation": (
            lambda: ours(written, found, ("words",), "lower", "no-punctuation"),
            lambda: jiwer.process_words(written, found, EVEN, EVEN),
        ),
        "words and characters": (
            lambda: ours(right, found, both),
            lambda: (jiwer.process_words(right, found), jiwer.process_characters(right, found)),
        ),
    }
    times = []
    for name, (mine, peer) in sides.items():
        mine(), peer()
        times.append(Row(f"errors of {name}", *side_by_side([mine, peer], repeats)))
    return times, [_same_counts(right, written, found)]


def _same_counts(right: Texts, written: Texts, found: Texts) -> str:
    """Both sides count the same."""
    even = ("lower", "no-punctuation")
    for texts, steps, transform in ((right, (), jiwer.wer_default), (written, even, EVEN)):
        words = ours(texts, found, ("words",), *steps).parts["words"]
        peer = jiwer.process_words(texts, found, transform, transform)
        assert [words[kind].sum() for kind in KINDS] == [getattr(peer, kind) for kind in KINDS]
    characters = ours(right, found, ("characters",)).parts["characters"]
    same = jiwer.process_characters(right, found)
    assert [characters[kind].sum() for kind in KINDS] == [getattr(same, kind) for kind in KINDS]
    return (
        f"{len(right):,} sentences: hits, substitutions, deletions and insertions of words and "
        f"characters all equal jiwer's"
    )
