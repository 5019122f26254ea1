"""Checks of the data between a loop, its system and its expert; probabilities.

Each message names who said it and in which batch.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from truecost.errors import InputError, TruecostError, UsageError, counted, first_five
from truecost.formats.opening import json_of
from truecost.formats.text import caught
from truecost.learning.system import (
    NO_SCORES,
    Answer,
    Array,
    Batch,
    Floats,
    Outputs,
    Question,
    Stream,
    Task,
    described,
    number_of,
)

V = TypeVar("V")
FINITE = "finite numbers"
ROUNDING = 1e-4  # by which a sum may differ from 1: learners with 32-bit numbers


def improper(values: Array) -> Array:
    """Whether each row, along the last axis, is not a distribution of probabilities.

    One is negative or NaN, or |sum - 1| is above 1e-4.
    """
    near = np.abs(values.sum(axis=-1) - 1) <= ROUNDING
    bad: Array = ~(near & (values >= 0).all(axis=-1))
    return bad


def softmax(logits: Floats) -> Floats:
    """Probabilities whose logarithms differ as the logits do: exp(logit) / sum of exp(logits).

    Both have the shape (items, classes). A logit is -inf for what cannot be, not for every class of
    an item. Each row adds up to 1.
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


@contextmanager
def error_context(what: str) -> Iterator[None]:
    """Say in errors of the data what they are about; settings are the same everywhere."""
    try:
        yield
    except UsageError:
        raise
    except TruecostError as error:
        raise type(error)(f"{what}: {error}") from error


def repeated(values: Iterable[V]) -> list[V]:
    """The entries that occur more than once."""
    return [value for value, times in Counter(values).items() if times > 1]


TEXTS = ("transcripts", "translation", "diarization")  # kinds whose outputs are texts


def check_stream(stream: Stream, beside: Batch | None) -> None:
    """Refuse a stream that cannot be run.

    `beside`: what is learnt before it: the bootstrap set or the training pool.
    """
    batches = [*stream.batches, *([] if beside is None else [beside])]
    check_batches(stream.batches)
    if beside is not None:
        _check_size(beside)
    for batch in batches:
        if batch.times is not None and not np.isfinite(batch.times).all():
            raise InputError(f"{described(batch)}: a time is not finite; give seconds")
    if twice := repeated(name for batch in batches for name in batch.ids):
        raise InputError(
            f"{_stream(stream)}item {first_five(map(repr, twice))} occurs twice in the stream, or "
            "in the stream and its bootstrap set or pool: remove the copy, or give it another id"
        )


def check_batches(batches: Sequence[Batch], where: str = "") -> None:
    """Refuse batches without data, or out of order; `where` stands before messages."""
    for place, batch in enumerate(batches):
        if batch.index != place:
            raise InputError(
                f"{where}{described(batch)} must have the number {place}: batches are numbered "
                "from 0 in their order"
            )
        _check_size(batch, where)


def _check_size(batch: Batch, where: str = "") -> None:
    """Refuse a batch without items, or with features of others."""
    if not len(batch) or len(batch.features) != len(batch):
        raise InputError(
            f"{where}{described(batch)} has {counted(len(batch), 'item')} and "
            f"{counted(len(batch.features), 'row')} of features: give one row of features for each "
            "item, and at least one item"
        )


def check_outputs(outputs: object, told: Stream | Task, batch: Batch, where: str) -> Outputs:
    """The outputs of a system for a batch, checked.

    `told`: says what kinds of decision there are; `where`: stands before messages.
    """
    if not isinstance(outputs, Outputs):
        raise InputError(f"{where}: it returned {type(outputs).__name__}, expected Outputs")
    size, each = len(batch), (len(batch), len(told.classes))
    _check_decisions(outputs.decisions, told, batch, where)
    if outputs.scores is NO_SCORES:
        if told.kind not in TEXTS:
            raise InputError(f"{where}: it gave no scores, expected one for each item")
        outputs = replace(outputs, scores=np.zeros(size))
    for name, shape in (
        ("scores", (size,)),
        ("probabilities", each),
        ("logits", each),
        ("embedding", (size, None)),
        ("members", (None, *each)),
    ):
        array = getattr(outputs, name)
        if array is None and name != "scores":
            continue
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
            said = f"{array.dtype} array" if isinstance(array, np.ndarray) else type(array).__name__
            raise InputError(
                f"{where}: the type of its {name} is {said}, expected an array of float64"
            )
        checked_array(array, shape, name, where, batch.ids)
    return outputs


def checked_array(
    values: object, shape: tuple[int | None, ...], what: str, where: str, ids: Sequence[str] = ()
) -> Floats:
    """Finite numbers of this shape, in which None is any size above 0, of items where they have
    ids; refused are others, and `probabilities` and `members` that do not sum to 1.
    """
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: the values of its {what} are not numbers ({error})") from error
    if array.ndim != len(shape) or any(
        got == 0 if wanted is None else got != wanted
        for wanted, got in zip(shape, array.shape, strict=True)
    ):
        words = " x ".join("any" if n is None else str(n) for n in shape)
        raise InputError(f"{where}: the shape of its {what} is {array.shape}, expected {words}")
    rows = array if array.ndim > 1 else array[:, None]
    bad, expected = ~np.isfinite(rows).all(axis=-1), FINITE
    if what in ("probabilities", "members") and not bad.any():
        bad, expected = improper(rows), "0 or more with the sum 1"
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        item = f", item {ids[place[-1]]!r}" if ids else ""
        found = first_five(rows[place])
        if expected != FINITE:
            found += f" (sum {rows[place].sum():g})"
        raise InputError(f"{where}{item}: its {what} are {found}, expected {expected}")
    return array


def check_questions(
    questions: object, allowed: int, batch: Batch, who: str
) -> tuple[Question, ...]:
    """The questions of a system, when they may be asked."""
    where = f"{who}, {described(batch)}"
    only = f"which is not in this batch ({first_five(batch.ids)}): only items of the batch can"
    return check_asked(questions, allowed, batch.ids, where, f"{only} be asked about")


def check_asked(
    questions: object, allowed: int, known: Iterable[str], where: str, only: str
) -> tuple[Question, ...]:
    """Questions about known items, when they may be asked; `only` says what may be asked about."""
    if not isinstance(questions, Sequence) or not all(isinstance(q, Question) for q in questions):
        raise InputError(f"{where}: it asked {questions!r:.200}, expected a list of Question")
    if len(questions) > allowed:
        raise InputError(
            f"{where}: it asked {counted(len(questions), 'question')}, but the budget allows "
            f"only {allowed} more"
        )
    known = set(known)
    strange = [question.id for question in questions if question.id not in known]
    if strange:
        raise InputError(f"{where}: it asked about {first_five(map(repr, strange))}, {only}")
    if twice := [question.id for question in repeated(questions)]:
        raise InputError(
            f"{where}: it asked twice about {first_five(map(repr, twice))}: ask each question once"
        )
    return tuple(questions)


def check_answer(answer: Answer, question: Question, stream: Stream, batch: Batch) -> Answer:
    """An answer, when it can be one to this question."""
    where = f"expert {answer.expert}, {described(batch)}, item {question.id!r}"
    if (answer.id, answer.part) != (question.id, question.part):
        other = f"{answer.id!r} {answer.part}".rstrip()
        raise InputError(f"{where}: the answer is about {other}, which was not asked")
    if not (math.isfinite(answer.seconds) and answer.seconds >= 0):
        raise InputError(f"{where}: the answer took {answer.seconds} seconds, expected 0 or more")
    if not (isinstance(answer.delay, int) and answer.delay >= 0):
        raise InputError(
            f"{where}: the delay is {answer.delay}, expected a number of batches, 0 or more"
        )
    if answer.label is not None and not is_label(answer.label, stream):
        raise InputError(
            f"{where}: the answer is {answer.label!r}, expected {expected_answer(stream)}"
        )
    if answer.verdict not in ("", "right", "wrong") or (answer.verdict and answer.label):
        raise InputError(
            f"{where}: the verdict is {answer.verdict!r} and the label {answer.label!r}: give "
            "a label without a verdict, or the verdict right or wrong without a label"
        )
    for name in ("words", "actions"):
        amount = getattr(answer, name)
        if amount is not None and not (isinstance(amount, int) and amount >= 0):
            raise InputError(f"{where}: the {name} are {amount!r}, expected a number, 0 or more")
    return answer


def check_budget(count: int, stream: Stream) -> None:
    """Refuse more questions than a batch has items."""
    size = max(map(len, stream.batches), default=count)
    if count > size:
        raise UsageError(
            f"{_stream(stream)}the budget of {counted(count, 'question')} a batch is above the "
            f"batch size of {size}: ask at most {size}, or make the batches larger"
        )


def _stream(stream: Stream) -> str:
    return f"stream {stream.name!r}: " if stream.name else ""


def is_label(label: object, stream: Stream | Task) -> bool:
    """Whether it is a class, a number as text, or where texts are put out a text."""
    if stream.kind in TEXTS:
        return isinstance(label, str) and (stream.kind != "diarization" or _has_turns(label))
    if stream.kind != "numbers":
        return label in stream.classes
    return not math.isnan(number_of(label))


def _has_turns(text: str) -> bool:
    """Whether a text is a diarization."""
    from truecost.corrections.texts import turns_of

    try:
        turns_of(text)
    except InputError:
        return False
    return True


def expected_answer(stream: Stream | Task) -> str:
    """The kind of a label, in words."""
    if stream.kind == "diarization":
        return "a diarization as text: START END SPEAKER in seconds, turns separated by |"
    if stream.kind in TEXTS:
        return "a text"
    if stream.kind == "numbers":
        return "a finite number as text"
    return f"one of the classes {first_five(stream.classes)}"


def _check_decisions(decisions: object, told: Stream | Task, batch: Batch, where: str) -> None:
    """Refuse what is no decision on each item."""
    if not isinstance(decisions, Sequence) or len(decisions) != len(batch):
        said = len(decisions) if isinstance(decisions, Sequence) else type(decisions).__name__
        raise InputError(
            f"{where}: the {'type' if isinstance(said, str) else 'number'} of its decisions is "
            f"{said}, expected one for each of the {counted(len(batch), 'item')}"
        )
    wrong = {one for one in set(decisions) if not is_label(one, told)}
    if wrong:
        place = next(place for place, one in enumerate(decisions) if one in wrong)
        raise InputError(
            f"{where}, item {batch.ids[place]!r}: the decision is {decisions[place]!r}, expected "
            f"{expected_answer(told)}"
        )


def read_noted(place: Path, kind: Any = Any) -> Any:
    """The JSON record of a run; InputError if it is damaged."""
    try:
        return msgspec.convert(json_of(place.read_bytes()), kind)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
        raise InputError(
            f"{place}: is damaged, or was not written by a run ({caught(error)}): restore it, "
            "or start a new run in another folder"
        ) from error
