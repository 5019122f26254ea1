"""The messages between truecost and a program that learns: what is told, and what may be said."""

import math
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from truecost.errors import InputError, counted, first_five
from truecost.learning.checking import described
from truecost.learning.learners.pool import of_texts, proper
from truecost.learning.system import (
    Answer,
    Answered,
    Array,
    Batch,
    Floats,
    Outputs,
    Question,
    Task,
)

VERSION = 1
SHORT = 150  # letters of a line that is shown as a whole
AROUND = 40  # letters before and after a fault
Matrix = list[list[float]]


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program says first."""

    ready: int
    name: str = ""
    asks: bool = False
    snapshots: bool = False
    unsupervised: bool = False
    offline: bool = False
    verdicts: bool = False


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To `adapt` and `restore`."""

    n: int


class Predicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To `predict`."""

    n: int
    ids: list[str]
    scores: list[float]
    decisions: list[str] | None = None
    probabilities: Matrix | None = None
    logits: Matrix | None = None
    embedding: Matrix | None = None
    members: list[Matrix] | None = None


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To `predict`, where texts are put out."""

    n: int
    ids: list[str]
    decisions: list[str]
    scores: list[float] | None = None


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To `ask` and `ask_offline`."""

    n: int
    ids: list[str]
    parts: list[str] | None = None


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To `snapshot`."""

    n: int
    state: str


Numbered = TypeVar("Numbered", Done, Predicted, Written, Asked, Stored)
Said = TypeVar("Said", Ready, Done, Predicted, Written, Asked, Stored)


def read(line: bytes, kind: type[Said]) -> Said:
    """What a program said.

    Parameters
    ----------
    kind : type of msgspec.Struct
        What was expected.

    Raises
    ------
    InputError
        When it is no JSON, no such message, or says itself that something went wrong.
    """
    try:
        said = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        hint = "; NaN and Infinity are no JSON" if b"NaN" in line or b"Infinity" in line else ""
        raise InputError(f"what it said is no JSON ({error}{_near(line, error)}{hint})") from error
    if isinstance(said, dict) and "error" in said:
        raise InputError(f"it refused: {str(said['error'])[:1000]}")
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        path = str(error).partition(" - at `$")[2].rstrip("`")
        told = str(error).replace("`", "'").replace(" - at '$.", ", in '").replace(" - at '$'", "")
        there = _at(said, path)
        raise InputError(f"what it said is not what was expected ({told}{there})") from error


def _near(line: bytes, error: Exception) -> str:
    """The text around the byte where a long line is no JSON any more."""
    place = re.search(r"\(byte (\d+)\)", str(error))
    if place is None or len(line) <= SHORT:
        return ""
    first = max(0, int(place[1]) - AROUND)
    text = line[first : int(place[1]) + AROUND].decode("utf-8", "replace")
    return f", within {text!r}"


def _at(said: Any, path: str) -> str:
    """What stands at a path such as `.scores[17]`; nothing where the path is of no use."""
    for key, place in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            said = said[key] if key else said[int(place)]
        except (KeyError, IndexError, TypeError):
            return ""
    return f", where it says {str(said)[:AROUND]!r}" if path else ""


def head(batch: Batch) -> dict[str, Any]:
    """Which batch a message is about."""
    said: dict[str, Any] = {"batch": batch.index, "stream": batch.stream, "ids": batch.ids}
    if batch.times is not None:
        said["times"] = batch.times.tolist()
    return said


def features_of(batch: Batch) -> list[Any]:
    """Features as JSON holds them.

    Raises
    ------
    InputError
        When one is not finite, which JSON cannot say.
    """
    features: Array = np.asarray(batch.features)
    if features.dtype.kind == "f" and not np.isfinite(features).all():
        row = int(np.argwhere(~np.isfinite(features))[0, 0])
        raise InputError(
            f"{described(batch)}, item {batch.ids[row]!r}: a feature is not finite, which a "
            "program cannot be told: fill it before"
        )
    listed: list[Any] = features.tolist()
    return listed


def answers_of(answered: Answered) -> list[dict[str, Any]]:
    """Answers with the features of their items."""
    features = features_of(answered.items)
    return [
        {
            "id": answer.id,
            "label": answer.label,
            "seconds": answer.seconds,
            "expert": answer.expert,
            "delay": answer.delay,
            **_more(answer),
            "features": row,
        }
        for answer, row in zip(answered.answers, features, strict=True)
    ]


def _more(answer: Answer) -> dict[str, Any]:
    """What answers of a life cycle have beside those of a stream, where they have it."""
    said = {name: getattr(answer, name) for name in ("part", "words", "actions", "verdict")}
    return {name: value for name, value in said.items() if value not in ("", None)}


def questions_of(said: Asked, budget: int) -> tuple[Question, ...]:
    """What a program asks, checked.

    Raises
    ------
    InputError
        When it asks too much, twice, or names other parts than items.
    """
    parts = said.parts or [""] * len(said.ids)
    if len(parts) != len(said.ids):
        raise InputError(
            f"it asked about {counted(len(said.ids), 'item')} and {counted(len(parts), 'part')}; "
            "name one part for each item, or none at all"
        )
    asked = tuple(Question(name, part) for name, part in zip(said.ids, parts, strict=True))
    different = len(set(asked))
    if len(asked) > budget or different < len(asked):
        raise InputError(
            f"it asked about {len(asked)} items, of which {different} are different; at most "
            f"{budget} different ones are allowed"
        )
    return asked


def texts_of(said: Written, batch: Batch) -> Outputs:
    """What a program put out as texts, checked.

    Raises
    ------
    InputError
        When it is about other items, or there are not as many texts or scores.
    """
    check_ids(said.ids, batch)
    size = len(batch)
    if len(said.decisions) != size:
        raise InputError(f"it said {counted(len(said.decisions), 'text')} on {size} items")
    return of_texts(said.decisions, _optional(said.scores, (size,), "scores"))


def outputs_of(said: Predicted, batch: Batch, task: Task) -> Outputs:
    """What a program predicted, checked.

    Raises
    ------
    InputError
        When it is about other items, has another shape, or decides what is no class.
    """
    check_ids(said.ids, batch)
    size, classes = len(batch), len(task.classes)
    shape = (size, classes)
    return Outputs(
        decisions=_decisions(said, size, task),
        scores=_array(said.scores, (size,), "scores"),
        probabilities=_optional(said.probabilities, shape, "probabilities"),
        logits=_optional(said.logits, shape, "logits"),
        embedding=_optional(said.embedding, (size, _width(said.embedding)), "embedding"),
        members=_optional(said.members, (len(said.members or ()), *shape), "probabilities"),
    )


def check_ids(ids: Sequence[str], batch: Batch) -> None:
    """Refuse other items than those of the batch, in their order."""
    if len(ids) != len(batch):
        raise InputError(
            f"it said something of {counted(len(ids), 'item')}, and {len(batch)} were told"
        )
    wrong = [
        f"{said!r} for {told!r}" for said, told in zip(ids, batch.ids, strict=True) if said != told
    ]
    if wrong:
        raise InputError(
            f"its ids are not those that it was told, in their order: {first_five(wrong)}"
        )


def _decisions(said: Predicted, size: int, task: Task) -> tuple[str, ...]:
    """Its decisions; for numbers the scores as text."""
    if said.decisions is None:
        if task.kind == "numbers":
            return tuple(repr(score) for score in said.scores)
        raise InputError("it said no decisions; only where numbers are predicted may it leave them")
    if len(said.decisions) != size:
        raise InputError(
            f"it said {counted(len(said.decisions), 'decision')} on {counted(size, 'item')}"
        )
    for key, decision in zip(said.ids, said.decisions, strict=True):
        if not _is_decision(decision, task):
            wanted = f"one of {first_five(task.classes)}" if task.classes else "a number as text"
            raise InputError(f"its decision {decision!r} on {key!r} is not {wanted}")
    return tuple(said.decisions)


def _is_decision(text: str, task: Task) -> bool:
    if task.kind != "numbers":
        return text in task.classes
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _width(embedding: Matrix | None) -> int:
    return len(embedding[0]) if embedding else 0


def _optional(values: Any, shape: tuple[int, ...], what: str) -> Floats | None:
    return None if values is None else _array(values, shape, what)


def _array(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """An array of this shape; rows of different lengths are refused like another shape."""
    return proper(values, shape, what, "what it said")
