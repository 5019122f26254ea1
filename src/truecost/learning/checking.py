"""What passes between a loop, its system and its expert, refused where it cannot be right;
probabilities.

Each message names who said it and in which batch.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.learning.system import (
    NO_SCORES,
    Answer,
    Array,
    Batch,
    Floats,
    Outputs,
    Question,
    Stream,
)

ROUNDING = 1e-4  # by which a sum may differ from 1: learners with 32-bit numbers


def improper(values: Array) -> Array:
    """Which rows are no probabilities: one is negative or NaN, or |sum - 1| is above 1e-4.

    Parameters
    ----------
    values : ndarray, shape (..., classes)

    Returns
    -------
    ndarray of bool, shape (...)
    """
    near = np.abs(values.sum(axis=-1) - 1) <= ROUNDING
    bad: Array = ~(near & (values >= 0).all(axis=-1))
    return bad


def softmax(logits: Floats) -> Floats:
    """Probabilities whose logarithms differ as the logits do: exp(logit) / sum of exp(logits).

    Parameters
    ----------
    logits : ndarray of float64, shape (items, classes)
        -inf for what cannot be; not for every class of an item.

    Returns
    -------
    ndarray of float64, shape (items, classes)
        In [0, 1]; each row adds up to 1.
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


TEXTS = ("transcripts", "translation", "diarization")  # kinds whose outputs are texts


def name_of(part: object) -> str:
    """The name of a learner, system or strategy in messages: its `name`, or its class."""
    name = getattr(part, "name", None)
    return name if isinstance(name, str) and name else type(part).__name__


def described(batch: Batch) -> str:
    """A batch in messages: `batch 3 of stream 'de'`."""
    which = f"batch {batch.index}" if batch.index >= 0 else "the items before the stream"
    return f"{which} of stream {batch.stream!r}" if batch.stream else which


def check_stream(stream: Stream, beside: Batch | None) -> None:
    """Refuse a stream that cannot be run.

    Parameters
    ----------
    beside : Batch, optional
        What is learnt before it: the bootstrap set or the training pool.

    Raises
    ------
    InputError
        When batches are empty or out of order, an item occurs twice, or times are not finite.
    """
    batches = [*stream.batches, *([] if beside is None else [beside])]
    for place, batch in enumerate(stream.batches):
        if batch.index != place:
            raise InputError(
                f"{described(batch)} stands at place {place}: batches are numbered from 0"
            )
    for batch in batches:
        if not len(batch) or len(batch.features) != len(batch):
            raise InputError(
                f"{described(batch)} has {counted(len(batch), 'item')} and features of "
                f"{len(batch.features)}: both must be the same and not 0"
            )
        if batch.times is not None and not np.isfinite(batch.times).all():
            raise InputError(f"{described(batch)}: a time is not finite; give seconds")
    if len({name for batch in batches for name in batch.ids}) < sum(map(len, batches)):
        twice = Counter(name for batch in batches for name in batch.ids)
        names = first_five(repr(name) for name, times in twice.items() if times > 1)
        raise InputError(
            f"{_stream(stream)}item {names} occurs twice in the stream and what is learnt before "
            "it: an item may be asked about once; remove the copy, or give it an id of its own"
        )


def check_outputs(outputs: object, stream: Stream, batch: Batch, who: str) -> Outputs:
    """What a system said of a batch, when it can be what it should be.

    Parameters
    ----------
    outputs : object
        As it came.
    stream : Stream
        Says what kinds of decision there are.
    who : str
        Name of the system.

    Raises
    ------
    InputError
        When scores are not finite, decisions are no classes (or numbers), probabilities do not
        add up to 1, or anything has not the shape that it should have.
    """
    where = f"{who}, {described(batch)}"
    if not isinstance(outputs, Outputs):
        raise InputError(f"{where}: it returned {type(outputs).__name__}, expected Outputs")
    size, classes = len(batch), len(stream.classes)
    _check_decisions(outputs.decisions, stream, batch, where)
    if outputs.scores is NO_SCORES:
        if stream.kind not in TEXTS:
            raise InputError(f"{where}: it gave no scores, expected one for each item")
        outputs = replace(outputs, scores=np.zeros(size))
    _check_array(outputs.scores, (size,), "scores", where, batch)
    for name in ("probabilities", "logits"):
        _check_array(getattr(outputs, name), (size, classes), name, where, batch)
    _check_array(outputs.embedding, (size, None), "embedding", where, batch)
    _check_members(outputs.members, (size, classes), where)
    _check_sums(outputs.probabilities, where, batch)
    return outputs


def check_questions(
    questions: object, allowed: int, batch: Batch, who: str
) -> tuple[Question, ...]:
    """The questions of a system, when they may be asked.

    Raises
    ------
    InputError
        When there are more than allowed, one is about no item of the batch, or one comes twice.
    """
    where = f"{who}, {described(batch)}"
    if not isinstance(questions, Sequence) or not all(isinstance(q, Question) for q in questions):
        raise InputError(f"{where}: it asked {questions!r:.200}, expected a list of Question")
    if len(questions) > allowed:
        raise InputError(
            f"{where}: it asked {counted(len(questions), 'question')} where the budget leaves "
            f"{allowed}; a system may ask fewer, never more"
        )
    known = set(batch.ids)
    strange = [question.id for question in questions if question.id not in known]
    if strange:
        raise InputError(
            f"{where}: it asked about {first_five(map(repr, strange))}, which is no item of this "
            f"batch ({first_five(batch.ids)}): only items of the batch can be asked about"
        )
    if len(set(questions)) < len(questions):
        twice = [question.id for question, times in Counter(questions).items() if times > 1]
        raise InputError(
            f"{where}: it asked twice about {first_five(map(repr, twice))}; a question is asked "
            "once"
        )
    return tuple(questions)


def check_answer(answer: Answer, question: Question, stream: Stream, batch: Batch) -> Answer:
    """An answer, when it can be one to this question.

    Raises
    ------
    InputError
        When it is about something else, its label is no class (or number), or its seconds or
        delay are negative.
    """
    where = f"expert {answer.expert}, {described(batch)}, item {question.id!r}"
    if (answer.id, answer.part) != (question.id, question.part):
        raise InputError(f"{where}: the answer is about {answer.id!r} {answer.part}".rstrip())
    if not (math.isfinite(answer.seconds) and answer.seconds >= 0):
        raise InputError(f"{where}: it took {answer.seconds} seconds, expected 0 or more")
    if not (isinstance(answer.delay, int) and answer.delay >= 0):
        raise InputError(f"{where}: the delay is {answer.delay}, expected batches, 0 or more")
    if answer.label is not None and not _is_label(answer.label, stream):
        raise InputError(f"{where}: the answer is {answer.label!r}, expected {_wanted(stream)}")
    if answer.verdict not in ("", "right", "wrong") or (answer.verdict and answer.label):
        raise InputError(
            f"{where}: the verdict is {answer.verdict!r} beside the label {answer.label!r}, "
            "expected right or wrong without a label, or none"
        )
    for name in ("words", "actions"):
        amount = getattr(answer, name)
        if amount is not None and not (isinstance(amount, int) and amount >= 0):
            raise InputError(f"{where}: the {name} are {amount!r}, expected a number, 0 or more")
    return answer


def check_budget(count: int, stream: Stream) -> None:
    """Refuse more questions than a batch has items.

    Raises
    ------
    UsageError
    """
    size = max(map(len, stream.batches), default=count)
    if count > size:
        raise UsageError(
            f"{_stream(stream)}the budget of {counted(count, 'question')} a batch is above the "
            f"batch size of {size}: ask at most {size}, or make the batches larger"
        )


def _stream(stream: Stream) -> str:
    return f"stream {stream.name!r}: " if stream.name else ""


def _is_label(label: object, stream: Stream) -> bool:
    """Whether it is a class, a number as text, or where texts are put out a text."""
    if stream.kind == "diarization":
        return isinstance(label, str) and not _wrong_turns(label)
    if stream.kind in TEXTS:
        return isinstance(label, str)
    if stream.kind != "numbers":
        return label in stream.classes
    try:
        return isinstance(label, str) and math.isfinite(float(label))
    except ValueError:
        return False


def _wrong_turns(text: str) -> str:
    """What is wrong with a diarization; empty when nothing is."""
    from truecost.corrections.speech_text import turns_of

    try:
        turns_of(text)
    except InputError as error:
        return str(error)
    return ""


def _wanted(stream: Stream) -> str:
    if stream.kind == "diarization":
        return "a diarization as text: START END SPEAKER in seconds, turns apart by |"
    if stream.kind in TEXTS:
        return "a text"
    if stream.kind == "numbers":
        return "a finite number as text"
    return f"one of the classes {first_five(stream.classes)}"


def _check_decisions(decisions: object, stream: Stream, batch: Batch, where: str) -> None:
    """Refuse what is no decision on each item."""
    if not isinstance(decisions, Sequence) or len(decisions) != len(batch):
        said = len(decisions) if isinstance(decisions, Sequence) else type(decisions).__name__
        raise InputError(
            f"{where}: its decisions are {said}, expected one for each of the "
            f"{counted(len(batch), 'item')}"
        )
    wrong = {one for one in set(decisions) if not _is_label(one, stream)}
    if wrong:
        place = next(place for place, one in enumerate(decisions) if one in wrong)
        raise InputError(
            f"{where}, item {batch.ids[place]!r}: the decision is {decisions[place]!r}, expected "
            f"{_wanted(stream)}"
        )


def _check_array(
    array: object, shape: tuple[int | None, ...], name: str, where: str, batch: Batch
) -> None:
    """Refuse arrays of another shape, or with values that are not finite."""
    if array is None and name != "scores":
        return
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        said = f"{array.dtype} array" if isinstance(array, np.ndarray) else type(array).__name__
        raise InputError(f"{where}: its {name} are a {said}, expected an array of float64")
    if array.ndim != len(shape) or any(
        wanted not in (None, got) for wanted, got in zip(shape, array.shape, strict=True)
    ):
        words = " x ".join("any" if n is None else str(n) for n in shape)
        raise InputError(f"{where}: its {name} have the shape {array.shape}, expected {words}")
    if not np.isfinite(array).all():
        place = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InputError(
            f"{where}, item {batch.ids[place]!r}: its {name} hold {array[place]}, expected "
            "finite numbers"
        )


def _check_members(members: object, shape: tuple[int, int], where: str) -> None:
    """Refuse what is no probabilities of a committee."""
    if members is None:
        return
    if not isinstance(members, np.ndarray) or members.ndim != 3 or members.shape[1:] != shape:
        said = members.shape if isinstance(members, np.ndarray) else type(members).__name__
        raise InputError(
            f"{where}: its members are {said}, expected members x {shape[0]} x {shape[1]}"
        )
    if not len(members) or improper(members).any():
        raise InputError(
            f"{where}: the probabilities of a member are negative, or do not add up to 1"
        )


def _check_sums(probabilities: Array | None, where: str, batch: Batch) -> None:
    """Refuse rows that are no probabilities."""
    if probabilities is None:
        return
    bad = improper(probabilities)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{where}, item {batch.ids[place]!r}: its probabilities are "
            f"{first_five(probabilities[place])} (sum {probabilities[place].sum():g}), expected 0 "
            "or more with the sum 1"
        )
