"""Scores that were computed elsewhere: nothing is counted, values are averaged by their weights."""

from collections.abc import Sequence
from typing import Any, NoReturn

from truecost.errors import UsageError
from truecost.tasks.lifelong.kinds.base import Kind, References

PART = "scored"


def _count(outputs: Sequence[str], references: References, options: Any, part: str) -> NoReturn:
    """Refuse: there are no outputs."""
    del outputs, references, options, part
    raise UsageError(_NO_OUTPUTS)


def _exchange(
    outputs: Sequence[str],
    references: References,
    corrected: Sequence[tuple[str, ...]],
    options: Any,
    part: str,
) -> NoReturn:
    """Refuse: there are no outputs whose parts could be exchanged."""
    del outputs, references, corrected, options, part
    raise UsageError(_NO_OUTPUTS)


def _signature(options: Any, part: str) -> str:
    """Nothing was chosen here: who computed the scores knows how."""
    del options, part
    return "scores:as-given"


_NO_OUTPUTS = (
    "scores of a table came ready-made: there are no outputs to count, and none to correct; name "
    "what the outputs are (classes, transcripts, translation, diarization), or give columns "
    "adapted, impaired and corrected beside base"
)
KIND = Kind(
    name="scores",
    item="item",
    parts={PART: 1.0},
    scores=("mean_score",),
    count=_count,
    exchange=_exchange,
    signature=_signature,
    options=dict,
)
