"""N-grams of characters, and of words beside them, as chrF and chrF++ of translations take them."""

import numpy as np
import numpy.typing as npt

from truecost.core.measure import Array, Floats, share
from truecost.outputs.aligning import Ints, Statistics, Texts, matches_of, share_or_zero

CHARACTER_ORDER = 6  # longest n-gram of chrF
WORD_ORDER = 2  # longest n-gram of words that chrF++ adds
BETA = 2  # how much more recall weighs than precision in chrF2


def count_character_ngrams(texts: Texts, word_order: int = 0) -> Statistics:
    """What chrF is made of, each sentence against the reference that gives it the highest; int64
    (N,).

    `matches1` to `matches6`, `hypothesis1` to `hypothesis6`, `reference1` to `reference6`, and
    `unmatched`, characters of the longer side without a match. N-grams of the output count only
    where the reference has any of their order, as in sacrebleu. Orders of words follow, as 7 and 8.
    """
    output, *references = (texts.characters(side) for side in texts.sides)
    found = np.array([_against(output, side) for side in references])
    if word_order:
        words = [texts.split_words(side) for side in texts.sides]
        more = [_words_against(words[0], side, word_order) for side in words[1:]]
        found = np.concatenate([found, more], axis=-1)
    scores = character_f(*found.swapaxes(0, 1))
    best = np.argmax(np.where(texts.given, scores, -1.0), axis=0)
    matches, hypothesis, reference = found[best, :, np.arange(len(texts))].transpose(1, 2, 0)
    return {
        **{f"matches{n}": counts for n, counts in enumerate(matches, 1)},
        **{f"hypothesis{n}": counts for n, counts in enumerate(hypothesis, 1)},
        **{f"reference{n}": counts for n, counts in enumerate(reference, 1)},
        "unmatched": np.maximum(hypothesis[0], reference[0]) - matches[0],
    }


def count_characters_and_words(texts: Texts) -> Statistics:
    """What chrF++ is made of: the n-grams of chrF and those of one and two words."""
    return count_character_ngrams(texts, WORD_ORDER)


def character_f(matches: Array, hypothesis: Array, reference: Array) -> Floats:
    """chrF2, or chrF++, of counts of n-grams, shape (..., orders): from 0 to 100, 0 without any
    match.
    """
    both = (hypothesis > 0) & (reference > 0)
    precision, recall = (
        share(np.where(both, share_or_zero(matches, side), 0.0).sum(axis=-1), both.sum(axis=-1))
        for side in (hypothesis, reference)
    )
    return 100 * share_or_zero((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def _against(output: list[str], reference: list[str]) -> Ints:
    """N-grams of characters that match, of output and reference; (3, sentences, orders)."""
    sides = [output, reference]
    lengths = np.array([[len(text) for text in side] for side in sides], np.int64)
    codes = "".join("".join(side) for side in sides).encode("utf-32-le")
    return _three(np.frombuffer(codes, np.int32), lengths, CHARACTER_ORDER)


def _words_against(output: list[list[str]], reference: list[list[str]], orders: int) -> Ints:
    """The same of words."""
    sides = [output, reference]
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(w, len(numbers)) for side in sides for s in side for w in s]
    lengths = np.array([[len(words) for words in side] for side in sides], np.int64)
    return _three(np.array(tokens, np.int32), lengths, orders)


def _three(tokens: npt.NDArray[np.int32], lengths: Ints, orders: int) -> Ints:
    """N-grams that match, of output and reference, by order."""
    matches = matches_of(tokens, lengths, orders)
    hypothesis, wanted = np.maximum(lengths[:, :, None] - np.arange(orders), 0)
    return np.stack([matches, np.where(wanted > 0, hypothesis, 0), wanted])
