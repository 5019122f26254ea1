"""Texts against their references: errors and alignments of words, n-grams, edits.

Edit distances come from rapidfuzz. The number of errors of a minimal alignment is unique; how it
splits into substitutions, deletions and insertions is not: of several minimal alignments that of
rapidfuzz is taken, as jiwer does. Every unit has a column of its own, wide enough for both sides;
`***` stands where a side has none. Words are never changed.

Words are those of sacrebleu's tokenisers, and its edits are taken as they are. N-grams are counted
by a kernel of our own, as sacrebleu counts them: an n-gram of the output matches at most as often
as the reference has it that has it most often.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from string import punctuation
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.digits import width
from truecost.core.measure import Array, Floats, share
from truecost.errors import UsageError, counted, near, need

Counts = npt.NDArray[np.int64]
Step = tuple[str, str | None, str | None]
Cut = Callable[[str], Sequence[str]]
KINDS = ("replace", "delete", "insert")  # rapidfuzz's names


def count_words(reference: pl.Series, hypothesis: pl.Series) -> dict[str, Counts]:
    """Statistics of the words of each pair of texts, words apart by single blanks; int64 (N,) each.

    `reference`, `hypothesis` (words on each side), `hits`, `substitutions`, `deletions`,
    `insertions` and `longest` (the longer side).

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
    """Counts of characters (code points), blanks included."""
    return _aligned(reference, hypothesis, str)


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Step]:
    """The alignment that is counted, unit by unit: `equal`, `replace`, `delete` or `insert`; the
    unit of the reference, that of the hypothesis.

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
    counts = np.zeros((len(reference), 2 + len(KINDS)), np.int64)
    for row, right, found in zip(counts, reference, hypothesis, strict=True):
        units, others = cut(right), cut(found)
        row[:2] = len(units), len(others)
        if right != found:
            kinds = [step.tag for step in editops(units, others)]
            row[2:] = [kinds.count(kind) for kind in KINDS]
    here, there, substitutions, deletions, insertions = np.ascontiguousarray(counts.T)
    return {
        "reference": here,
        "hypothesis": there,
        "hits": here - substitutions - deletions,
        "substitutions": substitutions,
        "deletions": deletions,
        "insertions": insertions,
        "longest": np.maximum(here, there),
    }


WIDTH = 96  # of a line, without its label
GAP = "***"
MOST = 20  # groups of lines
MARKS = {"equal": "", "replace": "S", "delete": "D", "insert": "I"}


def alignment_lines(reference: str, hypothesis: str) -> tuple[tuple[str, str], ...]:
    """Labelled lines of an alignment: `REF`, `HYP` and an empty label for the line of marks, S, D
    and I below substitutions, deletions and insertions. Of an utterance of more than 20 groups of
    lines those with errors, 20 at most, and how many were left out.

    Examples
    --------
    >>> from truecost.outputs.aligning import alignment_lines
    >>> for label, line in alignment_lines("it is a long way", "it was long way home"):
    ...     print(f"{label:4}{line}")
    REF it is  a   long way ***
    HYP it was *** long way home
           S   D            I
    """
    lines: list[tuple[str, str]] = []
    groups = list(_groups(align(words_of(reference), words_of(hypothesis))))
    shown = groups
    if len(groups) > MOST:
        shown = [group for group in groups if any(MARKS[kind] for kind, *_ in group)][:MOST]
    for group in shown:
        columns = [_padded((r or GAP, h or GAP, MARKS[kind])) for kind, r, h in group]
        for label, row in zip(("REF", "HYP", ""), zip(*columns, strict=True), strict=True):
            lines.append((label, " ".join(row).rstrip()))
    if len(shown) < len(groups):
        left = counted(len(groups) - len(shown), "further line", "are")
        lines.append(("", f"({left} not shown)"))
    return tuple(lines)


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that fit on a line together; at least one."""
    group: list[Step] = []
    used = 0
    for step in steps:
        wide = _wide((step[1] or GAP, step[2] or GAP)) + 1
        if group and used + wide > WIDTH:
            yield group
            group, used = [], 0
        group.append(step)
        used += wide
    if group:
        yield group


def _padded(cells: Sequence[str]) -> list[str]:
    """Cells of one column, all as wide as the widest."""
    return [cell + " " * (_wide(cells) - width(cell)) for cell in cells]


def _wide(cells: Sequence[str]) -> int:
    return max(map(width, cells))


ORDER = 4  # longest n-gram of BLEU
BLOCK = 20_000  # sentences that are counted together
Ints = npt.NDArray[np.int64]
Statistics = dict[str, npt.NDArray[Any]]
Tokeniser = Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of all sentences, for each reference and of the output, and how they are cut into
    words.
    """

    references: list[list[str]]
    hypothesis: list[str]
    tokenizer: str
    lowercase: bool

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.hypothesis)

    @property
    def all_texts(self) -> list[list[str]]:
        """The output, then each reference."""
        return [self.hypothesis, *self.references]

    @cached_property
    def given(self) -> npt.NDArray[np.bool_]:
        """Whether each reference counts, shape (references, sentences): those that are not empty;
        the first one where all are empty.
        """
        there = np.array([[text != "" for text in side] for side in self.references])
        there[0] |= ~there.any(axis=0)
        return there

    def references_of(self, sentence: int) -> list[str]:
        """The references that a sentence has; at least one."""
        rows = np.flatnonzero(self.given[:, sentence])
        return [self.references[r][sentence] for r in rows]

    def blocks(self) -> "Iterator[Texts]":
        """Blocks of sentences, whose words fit into memory."""
        for start in range(0, len(self), BLOCK):
            yield self.rows(slice(start, start + BLOCK))

    def rows(self, rows: slice) -> "Texts":
        """The data of some sentences."""
        references = [side[rows] for side in self.references]
        return replace(self, references=references, hypothesis=self.hypothesis[rows])

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        """The words of each text, as sacrebleu cuts it."""
        if self.lowercase:
            texts = (text.lower() for text in texts)
        tokenise = tokeniser(self.tokenizer)
        return [tokenise(text.rstrip()).split() for text in texts]

    def characters(self, texts: Iterable[str]) -> list[str]:
        """Each text without blanks, which chrF leaves out."""
        bare = ("".join(text.split()) for text in texts)
        return [text.lower() for text in bare] if self.lowercase else [*bare]

    def split_words(self, texts: Iterable[str]) -> list[list[str]]:
        """The words of each text as chrF++ takes them: a mark at an end of a word stands alone."""
        lowered = (text.lower() for text in texts) if self.lowercase else texts
        return [[part for word in text.split() for part in _parted(word)] for text in lowered]


def _parted(word: str) -> list[str]:
    """A word and the mark at its end, or else at its begin, as sacrebleu parts them."""
    if len(word) > 1 and word[-1] in punctuation:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in punctuation:
        return [word[0], word[1:]]
    return [word]


def check_tokeniser(name: str) -> Any:
    """The class of sacrebleu that has a tokeniser; UsageError when there is none of that name."""
    metric = need("sacrebleu", "translation").BLEU
    if name not in metric.TOKENIZERS:
        raise UsageError(
            f"tokenizer {name!r} is not known{near(name, metric.TOKENIZERS)}: choose one of "
            f"{', '.join(metric.TOKENIZERS)}"
        )
    return metric


@cache
def tokeniser(name: str) -> Tokeniser:
    """A tokeniser of sacrebleu; one for all systems, for it remembers texts that come again."""
    metric = check_tokeniser(name)
    log = logging.getLogger("sacrebleu")
    silent, log.disabled = log.disabled, True
    try:
        made: Tokeniser = metric(tokenize=name).tokenizer
    except Exception as error:  # each tokeniser raises its own when something is lacking
        raise UsageError(
            f"tokenizer {name!r} cannot be used here: {' '.join(str(error).split())}"
        ) from error
    finally:
        log.disabled = silent
    return made


def in_blocks(counter: Callable[[Texts], Statistics], texts: Texts) -> Statistics:
    """The counts of a counter, block by block: 300,000 sentences would hold 0.8 GB of words."""
    found = [counter(block) for block in texts.blocks()]
    return {name: np.concatenate([of[name] for of in found]) for name in found[0]}


def count_ngrams(texts: Texts) -> Statistics:
    """The parts of BLEU; int64 (N,) each.

    `matches1` to `matches4`, `totals1` to `totals4`, `hypothesis` and `reference` (words of the
    output and of the reference nearest in length), and `unmatched`, words of the longer of the two
    without a match.
    """
    sides = [texts.words(side) for side in texts.all_texts]
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(w, len(numbers)) for side in sides for s in side for w in s]
    lengths = np.array([[len(s) for s in side] for side in sides], np.int64)
    matches = matches_of(np.array(tokens, np.int32), lengths, ORDER)
    hypothesis, reference = lengths[0], _closest(lengths[0], lengths[1:], texts.given)
    return {
        **{f"matches{n + 1}": matches[:, n] for n in range(ORDER)},
        **{f"totals{n + 1}": np.maximum(hypothesis - n, 0) for n in range(ORDER)},
        "hypothesis": hypothesis,
        "reference": reference,
        "unmatched": np.maximum(hypothesis, reference) - matches[:, 0],
    }


def matches_of(tokens: npt.NDArray[np.int32], lengths: Ints, orders: int) -> Ints:
    """Matching n-grams of side 0 with the others, shape (sentences, orders).

    `lengths` (sides x sentences) says how many of the tokens belong to each sentence: those of side
    0 come first, sentence by sentence.
    """
    from truecost.kernels.texts import ngram_matches

    ends = np.cumsum(lengths).reshape(lengths.shape)
    bounds = np.ascontiguousarray(np.stack([ends - lengths, ends]).T)
    matches = np.zeros((lengths.shape[1], orders), np.int64)
    ngram_matches(tokens, bounds, matches)
    return matches


def _closest(hypothesis: Ints, references: Ints, given: npt.NDArray[np.bool_]) -> Ints:
    """The length of the reference nearest to that of the output, the shorter of two as near."""
    most = np.iinfo(np.int64).max
    away = np.where(given, np.abs(references - hypothesis), most)
    return np.asarray(np.where(away == away.min(axis=0), references, most).min(axis=0))


def share_or_zero(part: Array, whole: Array) -> Floats:
    """Part / whole, 0 of nothing."""
    return np.asarray(np.nan_to_num(share(part, whole)))


def count_edits(texts: Texts) -> Statistics:
    """The parts of TER, sentence by sentence from sacrebleu; case is ignored.

    `edits`, `reference` (words, their mean over several references), `shortest` (words of the
    shortest reference: the edits of an empty output), `hypothesis` (words of the output) and
    `longest` (of output and reference: the edits of an output that is wrong throughout).
    """
    metric = need("sacrebleu", "translation").TER()
    references = [texts.references_of(k) for k in range(len(texts))]
    found = [metric.sentence_score(*s) for s in zip(texts.hypothesis, references, strict=True)]
    lengths = np.array([score.ref_length for score in found], np.float64)
    shortest = [metric.sentence_score("", r).num_edits for r in references]
    # An empty output lacks every word of its reference, so that its edits are their number.
    words_of = [metric.sentence_score("", [text]).num_edits for text in texts.hypothesis]
    output, whole = np.array(words_of, np.int64), lengths.astype(np.int64)
    words = whole if np.array_equal(whole, lengths) else lengths
    return {
        "edits": np.array([score.num_edits for score in found], np.int64),
        "reference": words,
        "shortest": np.array(shortest, np.int64),
        "hypothesis": output,
        "longest": np.maximum(output, words),
    }
