"""What strategies keep: snapshots as plain data, and where items lie that were asked about."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from truecost.errors import InputError
from truecost.learning.asking import Strategy, can_keep, restorable
from truecost.learning.strategies.settings import numeric
from truecost.learning.system import Answered, Batch, Floats, Outputs

__all__ = ["Keeping", "can_keep", "part_states", "put_back_parts"]


class Keeping:
    """A strategy that keeps something from batch to batch, and can be put back to where it was.

    Who inherits it says what is kept in `state` and takes it back in `put_back`.
    """

    name: str

    def state(self) -> dict[str, Any]:
        """What it keeps: numbers, texts, bytes, lists and tables of them."""
        raise NotImplementedError

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Keep this instead."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """Everything that it keeps, as MessagePack."""
        return msgspec.msgpack.encode({"strategy": self.name, "state": self.state()})

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot of the same strategy.

        Raises
        ------
        InputError
            When it is no such snapshot.
        """
        try:
            kept = msgspec.msgpack.decode(state, type=_Snapshot)
            if kept.strategy != self.name:
                raise ValueError(f"it is one of {kept.strategy!r}")
            self.put_back(kept.state)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"strategy {self.name}: this snapshot cannot be used ({error}); delete the "
                "checkpoint, and the run resumes from its log"
            ) from error


class _Snapshot(msgspec.Struct):
    strategy: str
    state: dict[str, Any]


def part_states(parts: Mapping[str, Strategy]) -> dict[str, bytes]:
    """Snapshots of the parts of a mixture, those that keep something."""
    return {key: part.snapshot() for key, part in parts.items() if restorable(part)}


def put_back_parts(parts: Mapping[str, Strategy], states: Mapping[str, bytes]) -> None:
    """The parts of a mixture go back to their snapshots."""
    for key, part in parts.items():
        if restorable(part):
            part.restore(states[key])


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
        """From now on vectors are of this kind."""
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
        """What was remembered at a snapshot."""
        ids = list(state["ids"])
        flat = np.frombuffer(state["vectors"], "<f8").astype(np.float64)
        self.kind = str(state["kind"])
        self.vectors = dict(zip(ids, flat.reshape(len(ids), -1) if ids else (), strict=True))
