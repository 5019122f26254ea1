"""Input of strategies: their options, read strictly, and outputs of a learner, checked first; the
state of those that learn, for a checkpoint (`Keeping`, `Memory`).

Of outputs, everything has one row an item, in the order of the batch. A missing output is a
`UsageError` that names the strategy and the output; a value that is not a number is an `InputError`
that names the items, so that no item is chosen, or left out, for being undefined.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec
import numpy as np

from truecost.errors import UsageError, near
from truecost.learning.checking import checked_array, softmax
from truecost.learning.snapshots import unusable
from truecost.learning.system import Answered, Array, Batch, Floats, Outputs, Strategy, described

CONFIDENT = "least-confidence, margin and entropy"  # strategies that need probabilities alone


@dataclass(frozen=True)
class Settings:
    """The input for building a strategy.

    `strategy`: its name, for messages and for its random numbers; in a mixture with its place in
    it: `split.second.random`; `options`: as the study gives them; `classes`: of the learner, in
    their order; empty when they are not known.
    """

    strategy: str
    options: Mapping[str, Any]
    seed: int
    classes: tuple[str, ...] = ()

    def refuse_others(self, known: Sequence[str]) -> None:
        """An error that names an option which is not one of these."""
        for key in self.options:
            if key not in known:
                raise UsageError(
                    f"strategy {self.strategy} has no option {key!r}{listed(key, known)}"
                )

    def number(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number from `low` to `high`."""
        value = self._finite(key, default)
        if not low <= value <= high:
            limit = f" of at least {low:g}" if high == math.inf else f" from {low:g} to {high:g}"
            raise self.wrong(key, f"a number{limit}")
        return value

    def between(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number above `low` and below `high`."""
        value = self._finite(key, default)
        if not low < value < high:
            limit = "" if high == math.inf else f" and below {high:g}"
            raise self.wrong(key, f"a number above {low:g}{limit}")
        return value

    def _finite(self, key: str, default: float) -> float:
        """A finite number, else NaN; true and false are none."""
        value = self.options.get(key, default)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if number and math.isfinite(value) else math.nan

    def whole(self, key: str, default: int, low: int) -> int:
        """A whole number of at least `low`."""
        value = self.options.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(key, f"a whole number of at least {low}")
        return value

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of these words."""
        value = self.options.get(key, default)
        if value not in choices:
            raise self.wrong(key, f"one of {', '.join(choices)}{near(value, choices)}")
        return str(value)

    def wrong(self, key: str, expected: str) -> UsageError:
        """The error for a value that an option cannot have."""
        given = f"{key} = {self.options[key]!r}" if key in self.options else f"{key} is missing"
        return UsageError(f"strategy {self.strategy}: {given}; expected {expected}")


def listed(word: str, known: Sequence[str]) -> str:
    """Behind a word the nearest of some, and all of them."""
    return (
        f"{near(word, known)}: choose one of {', '.join(known)}" if known else ": it has no options"
    )


@dataclass(frozen=True)
class Kind:
    """One strategy.

    `text`: what it does, in a line; `make`: builds it from its settings; `options`: its options,
    with what they mean and their defaults.
    """

    text: str
    make: Callable[[Settings], Strategy]
    options: Mapping[str, str] = field(default_factory=dict)


def highest_rows(utilities: Floats, count: int) -> list[int]:
    """Rows of the greatest utilities, the greatest first; of equal ones the lowest row first.

    `utilities` (shape (items,)); `count`: all rows when there are fewer.
    """
    order = np.argsort(-utilities, kind="stable")[: max(count, 0)]
    return [int(row) for row in order]


def probabilities(strategy: str, batch: Batch, outputs: Outputs) -> Floats:
    """Probabilities of the classes, (items, classes): the learner's, or its logits' softmax."""
    if outputs.probabilities is None and outputs.logits is not None:
        return softmax(logits(strategy, batch, outputs))
    others = "random, periodic and k-centre"
    return _given(strategy, batch, outputs, "probabilities", "probabilities of the classes", others)


def logits(strategy: str, batch: Batch, outputs: Outputs) -> Floats:
    """Unnormalised log-probabilities, shape (items, classes)."""
    return _given(strategy, batch, outputs, "logits", "logits", CONFIDENT)


def members(strategy: str, batch: Batch, outputs: Outputs) -> Floats:
    """Probabilities of each member of a committee, shape (members, items, classes), or predicted
    numbers, shape (members, items, 1).
    """
    return _given(strategy, batch, outputs, "members", "committee (members)", CONFIDENT)


def places(strategy: str, batch: Batch, outputs: Outputs) -> tuple[str, Floats]:
    """Positions of items, shape (items, dimensions): the learner's embedding, otherwise the
    features.

    Distances are taken between places of one kind only, which stands before them.
    """
    if outputs.embedding is not None:
        return "embedding", _given(strategy, batch, outputs, "embedding", "", "")
    if not numeric(batch.features):
        raise lacking_error(
            strategy, "embedding, and features are not numbers", "random and margin"
        )
    flat = np.asarray(batch.features).reshape(len(batch.features), -1)
    return "features", checked_array(
        flat, (len(batch), None), "features", f"strategy {strategy}, {described(batch)}", batch.ids
    )


def _given(
    strategy: str, batch: Batch, outputs: Outputs, name: str, what: str, others: str
) -> Floats:
    """Predictions of the learner for the items, checked as in the loop; their rows have one order
    of sums. An error if the learner has none.
    """
    values = getattr(outputs, name)
    if values is None:
        raise lacking_error(strategy, what, others)
    where = f"strategy {strategy}, {described(batch)}, outputs of the learner"
    shape = (*([None] if name == "members" else []), len(batch), None)
    if name == "members" and np.shape(values)[2:] == (1,):
        name = "numbers of members"
    return checked_array(values, shape, name, where, batch.ids)


def numeric(features: Array) -> bool:
    """Whether features are numbers, one or more for each item."""
    values = np.asarray(features)
    return bool(values.size) and (values.dtype.kind in "biuf")


def part_of(outputs: Outputs, rows: Sequence[int]) -> Outputs:
    """The learner's outputs for some of the items, in this order."""
    at = list(rows)
    taken: dict[str, Any] = {"scores": np.asarray(outputs.scores)[at]}
    for name in ("probabilities", "logits", "embedding", "members"):
        if (values := getattr(outputs, name)) is not None:
            taken[name] = np.asarray(values)[..., at, :]  # members stand before the items
    return Outputs(tuple(outputs.decisions[row] for row in at), **taken)


def lacking_error(strategy: str, what: str, others: str) -> UsageError:
    """The error for a learner that does not give what a strategy reads."""
    return UsageError(
        f"strategy {strategy} cannot choose: the learner gives no {what}; use another learner, or "
        f"a strategy that needs none, such as {others}"
    )


class Keeping:
    """A strategy that keeps something from batch to batch, and can be put back to where it was.

    A subclass names in `kept` the attributes that it keeps: numbers, texts, lists and tables
    of them, or a `Memory`; what keeps anything else says it in `state` and takes it back in
    `put_back`.
    """

    name: str
    kept: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """The state that it keeps: numbers, texts, bytes, lists and tables of them."""
        found = {name: getattr(self, name) for name in self.kept}
        return {k: v.state() if isinstance(v, Memory) else v for k, v in found.items()}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Keep this instead."""
        for name in self.kept:
            if isinstance(memory := getattr(self, name), Memory):
                memory.put_back(state[name])
            else:
                setattr(self, name, state[name])

    def snapshot(self) -> bytes:
        """Everything that it keeps, as MessagePack."""
        return msgspec.msgpack.encode({"strategy": self.name, "state": self.state()})

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot of the same strategy."""
        try:
            kept = msgspec.msgpack.decode(state, type=_Snapshot)
            if kept.strategy != self.name:
                raise ValueError(f"it is one of {kept.strategy!r}")
            self.put_back(kept.state)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            raise unusable(f"strategy {self.name}", error) from error


class _Snapshot(msgspec.Struct):
    strategy: str
    state: dict[str, Any]


class Memory:
    """Vectors of items by id, oldest first; at most `limit` of earlier batches.

    All are of one kind, `embedding` or `features`: when the learner starts to give the other, or
    one of other dimensions, what is remembered lies in another space and is forgotten.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kind = ""
        self.vectors: dict[str, Floats] = {}

    def open(self, kind: str, dimensions: int) -> None:
        """Before a choice: of this kind, and the oldest give way."""
        self.settle(kind, dimensions)
        for name in [*self.vectors][: max(len(self.vectors) - self.limit, 0)]:
            del self.vectors[name]

    def settle(self, kind: str, dimensions: int) -> None:
        """Accept only vectors of this kind from now on."""
        if f"{kind} {dimensions}" != self.kind:
            self.kind = f"{kind} {dimensions}"
            self.vectors.clear()

    def keep(self, ids: Sequence[str], vectors: Floats) -> None:
        """Remember items that are not known yet."""
        for name, vector in zip(ids, vectors, strict=True):
            self.vectors.setdefault(name, np.array(vector, np.float64))

    def without(self, ids: Collection[str]) -> Floats:
        """Vectors of all but these items, shape (items, dimensions)."""
        others = set(ids)
        kept = [vector for name, vector in self.vectors.items() if name not in others]
        return np.array(kept, np.float64).reshape(len(kept), -1 if kept else 0)

    def note(self, batch: Batch, outputs: Outputs | None, answered: Answered) -> None:
        """Remember answered items that another strategy, or nobody, asked about.

        Where the learner has an embedding, those of earlier batches are left out: it is not known
        any more where they lay.
        """
        items = answered.items
        if outputs is not None and outputs.embedding is not None:
            at = {name: row for row, name in enumerate(batch.ids)}
            here = [name for name in items.ids if name in at]
            self._note("embedding", here, outputs.embedding[[at[name] for name in here]])
        elif numeric(items.features):
            self._note("features", items.ids, np.asarray(items.features).reshape(len(items), -1))

    def _note(self, kind: str, ids: Sequence[str], vectors: Floats) -> None:
        if len(ids) and np.isfinite(vectors).all():
            self.settle(kind, vectors.shape[1])
            self.keep(ids, vectors)

    def state(self) -> dict[str, Any]:
        """Everything remembered, as plain data."""
        return {
            "kind": self.kind,
            "ids": [*self.vectors],
            "vectors": self.without(()).astype("<f8").tobytes(),
        }

    def put_back(self, state: Mapping[str, Any]) -> None:
        """The state at a snapshot."""
        ids = list(state["ids"])
        flat = np.frombuffer(state["vectors"], "<f8").astype(np.float64)
        self.kind = str(state["kind"])
        self.vectors = dict(zip(ids, flat.reshape(len(ids), -1) if ids else (), strict=True))
