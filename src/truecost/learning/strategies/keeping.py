"""Snapshots of strategies: plain data in bytes, nothing that runs when it is read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from truecost.errors import InputError
from truecost.learning.asking import Strategy, can_keep, restorable

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
