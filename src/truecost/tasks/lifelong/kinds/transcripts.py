"""Transcripts: words and characters of utterances, each corrected as a whole.

A corrected utterance made strictly wrong has max(reference, output) errors, the most that a minimal
alignment can have; put in place it has none (paper 004, section 2.2). Of several references the one
with the fewest errors counts.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from truecost.outputs.aligning import Counts
from truecost.outputs.normalising import checked_steps, normalise
from truecost.outputs.transcripts import PARTS, counts_of
from truecost.outputs.utterances import TextOptions
from truecost.tasks.lifelong.kinds.base import (
    Both,
    Kind,
    Reference,
    References,
    Statistics,
    exchange_whole,
    once,
)

ERRORS = ("substitutions", "deletions", "insertions")


def count(
    outputs: Sequence[str], references: References, options: TextOptions, part: str
) -> Statistics:
    """Statistics of the words or characters of each output, as `truecost transcripts` counts them.

    Parameters
    ----------
    options : TextOptions
        Of which `normalise` enters.
    part : {"words", "characters"}

    Returns
    -------
    mapping of str to ndarray of int64, shape (rows,)
        `reference`, `hypothesis`, `hits`, `substitutions`, `deletions`, `insertions`, `longest`.
    """
    steps = checked_steps(options.normalise)

    def found(texts: list[str], right: list[Reference]) -> Statistics:
        rows = np.repeat(np.arange(len(texts)), [len(several) for several in right])
        said = normalise(pl.Series(texts, dtype=pl.String), steps).gather(rows)
        flat = pl.Series([text for several in right for text in several], dtype=pl.String)
        counts = counts_of(part, normalise(flat, steps), said, steps)
        best = _best(rows, np.sum([counts[kind] for kind in ERRORS], axis=0))
        return {name: values[best] for name, values in counts.items()}

    return once(outputs, references, found)


def _best(rows: Counts, errors: Counts) -> Counts:
    """Of each row the place with the fewest errors, the first of equal ones."""
    order = np.lexsort((np.arange(len(rows)), errors, rows))
    first = np.diff(rows[order], prepend=-1) > 0
    return np.asarray(order[first])


def swap(statistics: Statistics, part: str) -> Both:
    """Statistics of utterances that are wrong throughout, and of right ones.

    Wrong ones have as many words as before, none of them right: max(reference, hypothesis) errors.
    """
    del part
    right, said = statistics["reference"], statistics["hypothesis"]
    none = np.zeros_like(right)
    impaired = {
        "hits": none,
        "substitutions": np.minimum(right, said),
        "deletions": np.maximum(right - said, 0),
        "insertions": np.maximum(said - right, 0),
    }
    corrected = {"hypothesis": right, "hits": right, "longest": right}
    return impaired, {**corrected, **dict.fromkeys(ERRORS, none)}


def signature(options: TextOptions, part: str) -> str:
    """The steps that make texts comparable."""
    del part
    return f"normalise:{','.join(checked_steps(options.normalise)) or 'none'}"


KIND = Kind(
    name="transcripts",
    item="utterance",
    parts=dict.fromkeys(PARTS, 1.0),
    scores=("wer", "cer", "per", "mer", "bounded_wer", "unit_accuracy"),
    count=count,
    exchange=exchange_whole(count, swap, "utterance"),
    signature=signature,
    options=TextOptions,
    swap=swap,
)
