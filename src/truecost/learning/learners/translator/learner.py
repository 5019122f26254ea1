"""The translator: the pairs that it remembers, and what it says by them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError
from truecost.learning.learners.options import settings_of
from truecost.learning.learners.translator.decoding import Said, translate
from truecost.learning.learners.translator.phrases import Knowledge, learnt
from truecost.learning.learners.translator.words import (
    as_given,
    capitals,
    source_words,
    target_words,
    without_capital,
    written,
)
from truecost.learning.system import Answered, Batch, Outputs, Question, Task

Count = Annotated[int, msgspec.Meta(ge=1)]


class TranslatorSettings(msgspec.Struct, frozen=True):
    """Options of `translator`.

    Attributes
    ----------
    keep : int
        Pairs that it remembers, the last ones; 0 for all.
    longest : int
        Words of the longest phrase.
    rounds : int
        Of the alignment of words.
    """

    keep: Annotated[int, msgspec.Meta(ge=0)] = 0
    longest: Count = 6
    rounds: Count = 6


class Translator:
    """A translation memory with a table of phrases."""

    name = "translator"

    def __init__(self, settings: TranslatorSettings) -> None:
        self._settings = settings
        self._pairs: dict[str, str] = {}  # by source sentence, the last one last

    def predict(self, batch: Batch) -> Outputs:
        """Translations; the score says how sure it is, from 0 to 1."""
        said = [self._said(text) for text in _texts(batch)]
        return Outputs(tuple(one for one, _ in said), np.array([sure for _, sure in said]))

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """The sentences that it is least sure of and was never told, the first of equals."""
        texts = _texts(batch)
        open_rows = [row for row, text in enumerate(texts) if text not in self._pairs]
        unsure = sorted(open_rows, key=lambda row: self._said(texts[row])[1])
        return [Question(batch.ids[row]) for row in unsure[:budget]]

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Remember the translations that it was given."""
        del batch  # sentences without a translation teach it nothing
        for source, answer in zip(_texts(answered.items), answered.answers, strict=True):
            if answer.label is not None:
                self._pairs.pop(source, None)
                self._pairs[source] = answer.label
        keep = self._settings.keep or len(self._pairs)
        self._pairs = dict([*self._pairs.items()][-keep:]) if keep else {}

    def snapshot(self) -> bytes:
        """All pairs that it remembers."""
        return msgspec.msgpack.encode([*self._pairs.items()])

    def restore(self, state: bytes) -> None:
        """Go back to the pairs of a snapshot."""
        try:
            self._pairs = dict(msgspec.msgpack.decode(state, type=list[tuple[str, str]]))
        except msgspec.MsgspecError as error:
            raise InputError(
                f"learner translator: this snapshot cannot be used ({error}); delete the "
                "checkpoint, and the run resumes from its log"
            ) from error

    def _said(self, text: str) -> tuple[str, float]:
        """The translation of a sentence, and how sure it is."""
        if not self._pairs:
            return text, 0.0
        settings = self._settings
        knowledge = _known(tuple(self._pairs.items()), settings.rounds, settings.longest)
        said = _translated(text, knowledge, settings.longest)
        return written(as_given(said.words, text, knowledge.words)), said.sure


def _texts(batch: Batch) -> list[str]:
    """The sentences of a batch."""
    if batch.features.ndim != 1 or not all(isinstance(text, str) for text in batch.features):
        raise InputError(
            f"learner translator: the features of batch {batch.index} are no texts: it "
            f"translates one text an item"
        )
    return [str(text) for text in batch.features]


@lru_cache(maxsize=4)  # a snapshot is gone back to again and again
def _known(pairs: tuple[tuple[str, str], ...], rounds: int, longest: int) -> Knowledge:
    """What can be learnt from pairs of sentences."""
    targets = [target_words(target) for _, target in pairs]
    known = capitals(targets)
    words = [
        (source_words(source), without_capital(target, known))
        for (source, _), target in zip(pairs, targets, strict=True)
    ]
    return learnt(words, rounds, longest)


@lru_cache(maxsize=4096)
def _translated(text: str, knowledge: Knowledge, longest: int) -> Said:
    """What is said of a sentence; knowledge is told apart by its identity."""
    return translate(source_words(text), knowledge, longest)


def translator(task: Task) -> Translator:
    """A translator that knows nothing yet.

    Parameters
    ----------
    task : Task
        Of the kind `translation`; options as `TranslatorSettings`.

    Raises
    ------
    UsageError
        When the task is another, or an option is wrong.
    """
    if task.kind != "translation":
        raise UsageError(f"learner translator: it translates, but the task is {task.kind}")
    return Translator(settings_of(TranslatorSettings, "translator", task))
