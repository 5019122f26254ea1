"""BLEU and chrF of a corpus with 95% intervals; the peer is sacrebleu's own bootstrap.

Both sides cut words with sacrebleu's tokeniser 13a, which remembers the texts that it has seen:
each work here starts with a new one. truecost starts with tables of ids and texts, which it joins
by id; sacrebleu starts with its lists of texts.
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import sacrebleu
from sacrebleu.significance import _bootstrap_resample

import truecost as tc
from benchmarks.measuring import Row, side_by_side
from truecost.core.scoring import Scoring
from truecost.formats import Table
from truecost.outputs.aligning import tokeniser
from truecost.outputs.items import Items
from truecost.running import score
from truecost.tasks.translation import TranslationOptions, count

REPLICATES = 1000
WORDS, LETTERS = 20_000, "etaoinshrdlucmfwypvbgk"
Corpus = tuple[list[str], list[str]]  # references and outputs


def rows(sentences: int, repeats: int) -> tuple[list[Row], list[str]]:
    """Rows of times, and a line about what was checked."""
    corpus = _make(sentences)
    tables = [_table(texts) for texts in corpus]
    small = [_table(texts[:100]) for texts in corpus]
    _scored(_counted(small, "chrf"), "chrf")
    _scored(_counted(small, "ngrams"), "bleu")
    items = _counted(tables, "ngrams")
    bleu = sacrebleu.BLEU(force=True)
    statistics = bleu._extract_corpus_statistics(corpus[1], [corpus[0]])
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "BLEU with its interval": (
            lambda: _scored(_counted(tables, "ngrams"), "bleu"),
            lambda: _peer(sacrebleu.BLEU(force=True), corpus, REPLICATES),
        ),
        "BLEU alone": (
            lambda: _counted(tables, "ngrams"),
            lambda: _peer(sacrebleu.BLEU(force=True), corpus, 1),
        ),
        "the interval alone": (
            lambda: _scored(items, "bleu"),
            lambda: _bootstrap_resample(statistics, bleu, REPLICATES),
        ),
        "chrF with its interval": (
            lambda: _scored(_counted(tables, "chrf"), "chrf"),
            lambda: _peer(sacrebleu.CHRF(), corpus, REPLICATES),
        ),
    }
    found = []
    for work, sides in pairs.items():
        found.append(Row(work, *side_by_side(sides, repeats)))
    return found, [_same(items, corpus)]


def _make(sentences: int) -> Corpus:
    """Made sentences with commas, numbers and full stops, and outputs with a fifth of the words
    lost, exchanged or put in.
    """
    rng = np.random.default_rng(1)
    letters, lengths = np.array([*LETTERS]), rng.integers(2, 11, WORDS)
    words = np.array(["".join(rng.choice(letters, n)) for n in lengths])
    words[::50] = [f"{n:,}" for n in range(1000, 1000 + len(words[::50]))]

    def drawn(number: int) -> list[str]:
        found: list[str] = words[(rng.zipf(1.3, number) - 1) % WORDS].tolist()
        return found

    def written(found: Sequence[str]) -> str:
        return (", ".join(" ".join(p) for p in (found[:9], found[9:]) if p) + ".").capitalize()

    pairs = []
    for length in rng.integers(5, 40, sentences).tolist():
        right = drawn(length)
        kept = rng.choice(3, length, p=(0.07, 0.86, 0.07)).tolist()  # lost, as it is, with another
        other = drawn(length)
        said = [w for n, word in enumerate(right) for w in (word, other[n])[: kept[n]]]
        pairs.append((written(right), written(said)))
    references, outputs = ([*side] for side in zip(*pairs, strict=True))
    return references, outputs


def _table(texts: list[str]) -> Table:
    return Table(
        "texts", pl.DataFrame({"id": [f"s{k:06d}" for k in range(len(texts))], "text": texts})
    )


def _counted(tables: list[Table], part: str) -> Items:
    tokeniser.cache_clear()
    return count([tables[0]], tables[1], TranslationOptions(), "system", frozenset({part}))


def _scored(items: Items, measure: str) -> tc.Estimate:
    return score(items, Scoring(measures=(measure,), plan=tc.Plan(REPLICATES)))[0]


def _peer(metric: sacrebleu.BLEU | sacrebleu.CHRF, corpus: Corpus, replicates: int) -> float:
    return float(metric.corpus_score(corpus[1], [corpus[0]], n_bootstrap=replicates).score)


def _same(items: Items, corpus: Corpus) -> str:
    """Both sides give the same BLEU and much the same interval."""
    row = _scored(items, "bleu")
    score = sacrebleu.BLEU(force=True).corpus_score(corpus[1], [corpus[0]], n_bootstrap=REPLICATES)
    assert np.isclose(row.point, score.score, rtol=1e-12)
    assert 0.8 < row.half_width / score._ci < 1.25
    return (
        f"BLEU of {len(items):,} sentences: both give {row.value:.6f}; intervals "
        f"[{row.lower:.3f}, {row.upper:.3f}] and {score._mean:.3f} ± {score._ci:.3f}"
    )
