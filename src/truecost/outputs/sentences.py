"""What sentences share with their references: n-grams of words and of characters, and edits.

Words are those of sacrebleu's tokenisers, and its edits are taken as they are. N-grams are counted
by a kernel of our own, as sacrebleu counts them: an n-gram of the output matches at most as often
as the reference has it that has it most often.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError, near
from truecost.extras import need
from truecost.tasks.translation.measures import CHARACTER_ORDER, ORDER, character_f

BLOCK = 20_000  # sentences that are counted together
Ints = npt.NDArray[np.int64]
Statistics = dict[str, npt.NDArray[Any]]
Tokeniser = Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of all sentences, and how they are cut into words.

    Attributes
    ----------
    references : list of list of str
        For each reference its sentences.
    hypothesis : list of str
        The output of the system.
    tokenizer : str
        One of sacrebleu's.
    lowercase : bool
        Whether case is ignored.
    """

    references: list[list[str]]
    hypothesis: list[str]
    tokenizer: str
    lowercase: bool

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.hypothesis)

    @property
    def sides(self) -> list[list[str]]:
        """The output, then each reference."""
        return [self.hypothesis, *self.references]

    @cached_property
    def given(self) -> npt.NDArray[np.bool_]:
        """Which references there are, shape (references, sentences): those that are not empty; the
        first one where all are.
        """
        there = np.array([[text != "" for text in side] for side in self.references])
        there[0] |= ~there.any(axis=0)
        return there

    def references_of(self, sentence: int) -> list[str]:
        """The references that a sentence has; at least one."""
        rows = np.flatnonzero(self.given[:, sentence])
        return [self.references[r][sentence] for r in rows]

    def blocks(self) -> "Iterator[Texts]":
        """The same in blocks of sentences, whose words fit into memory."""
        for start in range(0, len(self), BLOCK):
            rows = slice(start, start + BLOCK)
            references = [side[rows] for side in self.references]
            yield Texts(references, self.hypothesis[rows], self.tokenizer, self.lowercase)

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
    """A tokeniser of sacrebleu; one for all systems, for it remembers texts that come again.

    Returns
    -------
    callable
        From a text to its words, apart by blanks.

    Raises
    ------
    UsageError
        When there is none of that name, or a package or model that it needs is lacking.
    MissingExtraError
        When sacrebleu is not installed.
    """
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
    """What a counter finds, block by block: a sentence is counted by itself, and 300,000 of them
    would hold 0.8 GB of words.
    """
    found = [counter(block) for block in texts.blocks()]
    return {name: np.concatenate([of[name] for of in found]) for name in found[0]}


def count_ngrams(texts: Texts) -> Statistics:
    """What BLEU is made of.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        `matches1` to `matches4`, `totals1` to `totals4`, `hypothesis` and `reference` (words of
        the output and of the reference nearest in length), and `unmatched`, words of the longer of
        the two without a match.
    """
    sides = [texts.words(side) for side in texts.sides]
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(w, len(numbers)) for side in sides for s in side for w in s]
    lengths = np.array([[len(s) for s in side] for side in sides], np.int64)
    matches = _matches(np.array(tokens, np.int32), lengths, ORDER)
    hypothesis, reference = lengths[0], _closest(lengths[0], lengths[1:], texts.given)
    return {
        **{f"matches{n + 1}": matches[:, n] for n in range(ORDER)},
        **{f"totals{n + 1}": np.maximum(hypothesis - n, 0) for n in range(ORDER)},
        "hypothesis": hypothesis,
        "reference": reference,
        "unmatched": np.maximum(hypothesis, reference) - matches[:, 0],
    }


def _matches(tokens: npt.NDArray[np.int32], lengths: Ints, orders: int) -> Ints:
    """Matching n-grams of side 0 with the others, shape (sentences, orders).

    `lengths` (sides x sentences) says how many of the tokens belong to each sentence: those of
    side 0 come first, sentence by sentence.
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


def count_characters(texts: Texts) -> Statistics:
    """What chrF is made of, each sentence against the reference that gives it the highest.

    Returns
    -------
    dict of str to ndarray of int64, shape (N,)
        `matches1` to `matches6`, `hypothesis1` to `hypothesis6`, `reference1` to `reference6`, and
        `unmatched`, characters of the longer side without a match. N-grams of the output count
        only where the reference has any of their order, as in sacrebleu.
    """
    output, *references = (texts.characters(side) for side in texts.sides)
    found = np.array([_against(output, side) for side in references])
    scores = character_f(*found.swapaxes(0, 1))
    best = np.argmax(np.where(texts.given, scores, -1.0), axis=0)
    matches, hypothesis, reference = found[best, :, np.arange(len(texts))].transpose(1, 2, 0)
    return {
        **{f"matches{n}": counts for n, counts in enumerate(matches, 1)},
        **{f"hypothesis{n}": counts for n, counts in enumerate(hypothesis, 1)},
        **{f"reference{n}": counts for n, counts in enumerate(reference, 1)},
        "unmatched": np.maximum(hypothesis[0], reference[0]) - matches[0],
    }


def _against(output: list[str], reference: list[str]) -> Ints:
    """N-grams of characters that match, of the output and of the reference: shape (3, sentences,
    orders).
    """
    sides = [output, reference]
    lengths = np.array([[len(text) for text in side] for side in sides], np.int64)
    codes = "".join("".join(side) for side in sides).encode("utf-32-le")
    matches = _matches(np.frombuffer(codes, np.int32), lengths, CHARACTER_ORDER)
    hypothesis, wanted = np.maximum(lengths[:, :, None] - np.arange(CHARACTER_ORDER), 0)
    return np.stack([matches, np.where(wanted > 0, hypothesis, 0), wanted])


def count_edits(texts: Texts) -> Statistics:
    """What TER is made of, sentence by sentence from sacrebleu; case is ignored.

    Returns
    -------
    dict of str to ndarray, shape (N,)
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
    output = np.array(words_of, np.int64)
    whole = lengths.astype(np.int64)
    words = whole if np.array_equal(whole, lengths) else lengths
    return {
        "edits": np.array([score.num_edits for score in found], np.int64),
        "reference": words,
        "shortest": np.array(shortest, np.int64),
        "hypothesis": output,
        "longest": np.maximum(output, words),
    }
