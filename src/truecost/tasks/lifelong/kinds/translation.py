"""Translations: n-grams and edits of sentences, each corrected as a whole.

A corrected sentence made strictly wrong has as many words (or characters) as before, none of which
matches: clipped matches are 0, totals and lengths stay, and the edits are as many as the longer of
output and reference has words. Put in place it has the statistics of its reference against itself
(paper 004, appendix A); of several references that one is put in place which was counted against,
the nearest in length for BLEU.
"""

from collections.abc import Sequence

import numpy as np

from truecost.outputs.sentences import Texts, in_blocks
from truecost.outputs.translation import COUNTERS, TranslationOptions, signature
from truecost.tasks.lifelong.kinds.base import (
    Both,
    Kind,
    Reference,
    References,
    Statistics,
    exchange_whole,
    once,
)
from truecost.tasks.translation.measures import CHARACTER_ORDER, ORDER


def count(
    outputs: Sequence[str], references: References, options: TranslationOptions, part: str
) -> Statistics:
    """Statistics of each sentence, as `truecost translation` counts them.

    Parameters
    ----------
    references : sequence of tuple of str
        One or several of each sentence.
    options : TranslationOptions
        Of which `tokenizer` and `lowercase` enter.
    part : {"ngrams", "chrf", "edits"}

    Returns
    -------
    mapping of str to ndarray, shape (rows,)
        As `truecost.outputs.sentences` says.
    """

    def found(texts: list[str], right: list[Reference]) -> Statistics:
        if not texts:  # counters take what they find: a sentence of nothing, left out again
            return {name: of[:0] for name, of in found([""], [("",)]).items()}
        sides = range(max(len(several) for several in right))
        lists = [[s[side] if side < len(s) else "" for s in right] for side in sides]
        return in_blocks(COUNTERS[part], Texts(lists, texts, options.tokenizer, options.lowercase))

    return once(outputs, references, found)


def swap(statistics: Statistics, part: str) -> Both:
    """Statistics of sentences that are wrong throughout, and of right ones."""
    return {"ngrams": _ngrams, "chrf": _characters, "edits": _edits}[part](statistics)


def _ngrams(statistics: Statistics) -> Both:
    """BLEU: no matches; the reference against itself."""
    right, said = statistics["reference"], statistics["hypothesis"]
    none, orders = np.zeros_like(right), range(1, ORDER + 1)
    own = {n: np.maximum(right - n + 1, 0) for n in orders}
    impaired = {f"matches{n}": none for n in orders} | {"unmatched": np.maximum(right, said)}
    corrected = {f"{name}{n}": own[n] for name in ("matches", "totals") for n in orders}
    return impaired, {**corrected, "hypothesis": right, "unmatched": none}


def _characters(statistics: Statistics) -> Both:
    """chrF: no matches; the reference against itself."""
    none, orders = np.zeros_like(statistics["matches1"]), range(1, CHARACTER_ORDER + 1)
    longer = np.maximum(statistics["hypothesis1"], statistics["reference1"])
    impaired = {f"matches{n}": none for n in orders} | {"unmatched": longer}
    corrected = {
        f"{name}{n}": statistics[f"reference{n}"]
        for name in ("matches", "hypothesis")
        for n in orders
    }
    return impaired, {**corrected, "unmatched": none}


def _edits(statistics: Statistics) -> Both:
    """TER: every word edited, of the longer side; none."""
    right, said = statistics["reference"], statistics["hypothesis"]
    # The edits are those of the nearest reference; inserting more words would worsen them without
    # end, so that the length of the output stays as it is (paper 004, section 4).
    impaired = {"edits": np.maximum(statistics["shortest"], said)}
    return impaired, {"edits": np.zeros_like(said), "hypothesis": right, "longest": right}


KIND = Kind(
    name="translation",
    item="sentence",
    parts=dict.fromkeys(COUNTERS, 1.0),
    scores=("bleu", "chrf", "ter"),
    count=count,
    exchange=exchange_whole(count, swap, "sentence"),
    signature=signature,
    options=TranslationOptions,
    swap=swap,
)
