"""The translator: the pairs that it remembers, and how it translates by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from math import exp, log
from typing import Annotated

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError
from truecost.learning.learners.building import settings_of
from truecost.learning.learners.phrases import (
    END,
    JOINED,
    START,
    Knowledge,
    Words,
    as_given,
    capitals,
    learnt,
    sentence_of,
    source_words,
    target_words,
    without_capital,
)
from truecost.learning.snapshots import restored
from truecost.learning.system import Answered, Batch, Outputs, Question, Task

BEAM = 10  # unfinished translations that are kept at each place
NEW_PHRASE = -0.7  # one long phrase is better than two short ones
UNKNOWN = log(1e-3)  # a word that is left as it is
FLUENCY = 0.8  # weight of what follows what
LIKE = 0.6  # similarity from which on a sentence of the memory is patched
FEW = 2  # words that it may be longer or shorter
SAME = 0.9  # how sure a word of it is that stays


@dataclass(frozen=True)
class Translation:
    """A translation, and how sure of it one may be: the geometric mean over source words."""

    words: Words
    sure: float


@dataclass(frozen=True)
class _Partial:
    """The translation of the words so far."""

    score: float  # by which the best is chosen
    chance: float  # log-probability of its phrases
    words: Words


def translate(source: Words, knowledge: Knowledge, longest: int) -> Translation:
    """The translation of a sentence.

    `longest`: words of the longest phrase.
    """
    return (
        _remembered(source, knowledge)
        or _patched(source, knowledge, longest)
        or _by_phrases(source, knowledge, longest)
    )


def _remembered(source: Words, knowledge: Knowledge) -> Translation | None:
    """The last translation of the very sentence."""
    for known, target in reversed(knowledge.pairs):
        if known == source:
            return Translation(target, 1.0)
    return None


def _patched(source: Words, knowledge: Knowledge, longest: int) -> Translation | None:
    """A known sentence that differs in one place, with the translation of that place exchanged.

    All new words must be known, and what stands there now be known as a translation of the old. The
    surest is taken, the last of several.
    """
    best: Translation | None = None
    for known, target in knowledge.pairs:
        change = _one_change(known, source)
        if change is None:
            continue
        a, b, c, d = change
        place = _place_of(known[a:b], target, knowledge)
        if place is None or not all((word,) in knowledge.phrases for word in source[c:d]):
            continue
        new = _by_phrases(source[c:d], knowledge, longest)
        same, other = len(source) - (d - c), d - c
        sure = exp((same * log(SAME) + other * log(new.sure)) / len(source))
        if best is None or sure >= best.sure:
            best = Translation((*target[: place.start], *new.words, *target[place.stop :]), sure)
    return best


def _one_change(known: Words, source: Words) -> tuple[int, int, int, int] | None:
    """The change between two similar sentences: first and last index on both sides."""
    if abs(len(known) - len(source)) > FEW or not set(known) & set(source):
        return None
    matcher = SequenceMatcher(None, known, source, autojunk=False)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    if len(steps) != 1 or steps[0][0] != "replace":
        return None
    _, a, b, c, d = steps[0]
    alike = 1 - max(b - a, d - c) / max(len(source), len(known))
    return (a, b, c, d) if alike >= LIKE else None


def _place_of(phrase: Words, target: Words, knowledge: Knowledge) -> slice | None:
    """Position of the most probable known translation of a phrase in a sentence."""
    for words, _ in knowledge.phrases.get(phrase, []):
        for start in range(len(target) - len(words) + 1):
            if target[start : start + len(words)] == words:
                return slice(start, start + len(words))
    return None


def _by_phrases(source: Words, knowledge: Knowledge, longest: int) -> Translation:
    """The best translation phrase by phrase, in the order of the source; beam search."""
    beams: list[list[_Partial]] = [[] for _ in range(len(source) + 1)]
    beams[0] = [_Partial(0.0, 0.0, ())]
    for start in range(len(source)):
        for partial in _best_partials(beams[start]):
            for end in range(start + 1, min(start + longest, len(source)) + 1):
                for words, chance in _options(source[start:end], knowledge):
                    beams[end].append(_longer(partial, words, chance, knowledge))
    best = _best_partials(beams[-1], knowledge)[0]
    return Translation(best.words, exp(best.chance / max(len(source), 1)))


def _options(phrase: Words, knowledge: Knowledge) -> list[tuple[Words, float]]:
    """Translations of a phrase; a single word or mark that is unknown stays as it is."""
    known = knowledge.phrases.get(phrase, [])
    if known or len(phrase) > 1:
        return known
    [word] = phrase
    return [((word if word.isalnum() else JOINED + word,), UNKNOWN)]


def _longer(partial: _Partial, words: Words, chance: float, knowledge: Knowledge) -> _Partial:
    """A translation with one more phrase."""
    fluent, last = 0.0, partial.words[-1] if partial.words else START
    for word in words:
        fluent, last = fluent + knowledge.follows(last, word), word
    score = partial.score + chance + NEW_PHRASE + FLUENCY * fluent
    return _Partial(score, partial.chance + chance, partial.words + words)


def _best_partials(partials: list[_Partial], finished: Knowledge | None = None) -> list[_Partial]:
    """The best few, one for each last word; of finished ones with the end of the sentence."""

    def score(one: _Partial) -> float:
        last = one.words[-1] if one.words else START
        return one.score + (FLUENCY * finished.follows(last, END) if finished else 0.0)

    best: dict[str, _Partial] = {}
    for one in sorted(partials, key=lambda one: (-score(one), one.words)):
        best.setdefault(one.words[-1] if one.words else START, one)
    return list(best.values())[:BEAM]


Count = Annotated[int, msgspec.Meta(ge=1)]


class TranslatorSettings(msgspec.Struct, frozen=True):
    """Options of `translator`.

    `keep`: pairs that it remembers, the last ones; 0 for all; `longest`: words of the longest
    phrase; `rounds`: of the alignment of words.
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
        """Translations; the score is the certainty, from 0 to 1."""
        said = [self._translation(text) for text in _texts(batch)]
        return Outputs(tuple(one for one, _ in said), np.array([sure for _, sure in said]))

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """The sentences that it is least sure of and was never told, the first of equals."""
        texts = _texts(batch)
        open_rows = [row for row, text in enumerate(texts) if text not in self._pairs]
        unsure = sorted(open_rows, key=lambda row: self._translation(texts[row])[1])
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
        self._pairs = dict(restored(state, list[tuple[str, str]], "learner translator"))

    def _translation(self, text: str) -> tuple[str, float]:
        """The translation of a sentence, and how sure it is."""
        if not self._pairs:
            return text, 0.0
        settings = self._settings
        knowledge = _knowledge(tuple(self._pairs.items()), settings.rounds, settings.longest)
        said = _translated(text, knowledge, settings.longest)
        return sentence_of(as_given(said.words, text, knowledge.words)), said.sure


def _texts(batch: Batch) -> list[str]:
    """The sentences of a batch."""
    if batch.features.ndim != 1 or not all(isinstance(text, str) for text in batch.features):
        raise InputError(
            f"learner translator: the features of batch {batch.index} are not texts: "
            f"the learner translates one text for each item"
        )
    return [str(text) for text in batch.features]


@lru_cache(maxsize=4)  # a snapshot is gone back to again and again
def _knowledge(pairs: tuple[tuple[str, str], ...], rounds: int, longest: int) -> Knowledge:
    """The knowledge from pairs of sentences."""
    targets = [target_words(target) for _, target in pairs]
    known = capitals(targets)
    words = [
        (source_words(source), without_capital(target, known))
        for (source, _), target in zip(pairs, targets, strict=True)
    ]
    return learnt(words, rounds, longest)


@lru_cache(maxsize=4096)
def _translated(text: str, knowledge: Knowledge, longest: int) -> Translation:
    """The translation of a sentence; cached by the identity of the knowledge."""
    return translate(source_words(text), knowledge, longest)


def translator(task: Task) -> Translator:
    """A translator that knows nothing yet.

    `task`: of the kind `translation`; options as `TranslatorSettings`.
    """
    if task.kind != "translation":
        raise UsageError(
            f"learner translator: this learner is for translation, but the task is {task.kind}"
        )
    return Translator(settings_of(TranslatorSettings, "learner translator", task.options))
