"""Snapshots of learners and strategies: taken, checked and read back."""

from typing import Any, TypeGuard

import msgspec

from truecost.errors import InputError
from truecost.learning.system import Restorable, Strategy, name_of


def stored(part: Restorable) -> bytes:
    """The snapshot of a learner, a strategy or both."""
    return checked_state(part.snapshot(), part)


def checked_state(state: object, part: object) -> bytes:
    """The result of a snapshot, if it is bytes; InputError as for `stored`."""
    if not isinstance(state, bytes):
        kind = "nothing" if state is None else f"a value of type {type(state).__name__}"
        raise InputError(
            f"{name_of(part)}: snapshot must return bytes, but it returned {kind}: encode what it "
            f"has learnt, as json.dumps(...).encode() does; restore gets these bytes back"
        )
    return state


def unusable(who: str, error: Exception) -> InputError:
    """The error of a snapshot that is of no use."""
    return InputError(
        f"{who}: this snapshot cannot be used ({error}); delete the checkpoint, and the run "
        "resumes from its log"
    )


def restored(state: bytes, kind: Any, who: str) -> Any:
    """The content of a snapshot, as MessagePack of this type; InputError if it cannot be used."""
    try:
        return msgspec.msgpack.decode(state, type=kind)
    except msgspec.MsgspecError as error:
        raise unusable(who, error) from error


def can_keep(strategy: Strategy) -> bool:
    """Whether a strategy can be put back: it has snapshots, or says that it keeps nothing."""
    return restorable(strategy) or getattr(strategy, "stateless", False) is True


def restorable(part: object) -> TypeGuard[Restorable]:
    """Whether it can be put back to a snapshot: it has both methods, and does not deny it."""
    return isinstance(part, Restorable) and bool(getattr(part, "restorable", True))
