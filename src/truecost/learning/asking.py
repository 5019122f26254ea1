"""A learner that cannot ask, joined with a strategy that decides what to ask: a system."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import msgspec

from truecost.errors import InputError, first_five
from truecost.learning.checking import described, name_of
from truecost.learning.system import (
    Answered,
    Batch,
    Learner,
    Outputs,
    Question,
    Restorable,
)


class Strategy(Protocol):
    """Decides which items of a batch a person is asked about.

    A strategy that follows what was answered has a second method
    `learn(batch, outputs, answered)`, called after each adaptation with the outputs that the
    strategy chose from (None before the stream, where nothing was chosen).

    One that keeps anything from batch to batch, be it only a count of its calls, may have
    `snapshot` and `restore` as learners have. One that keeps nothing may say `stateless = True`.
    Checkpoints are made of these two kinds alone; with any other strategy a run resumes by
    replaying its log, which takes longer and needs nothing of the strategy.
    """

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> Sequence[int]:
        """Places of exactly min(count, len(batch)) different items of the batch."""
        ...


@dataclass(eq=False)
class Asking:
    """A system made of a learner and a strategy.

    Attributes
    ----------
    strategy : Strategy
        Chooses from what the learner said of the batch before it adapted to it.
    """

    learner: Learner
    strategy: Strategy

    def __post_init__(self) -> None:
        self._seen: tuple[Batch, Outputs] | None = None  # the last prediction

    @property
    def name(self) -> str:
        """Both names, for messages."""
        return f"{name_of(self.learner)} with {name_of(self.strategy)}"

    def predict(self, batch: Batch) -> Outputs:
        """What the learner says."""
        outputs = self.learner.predict(batch)
        self._seen = (batch, outputs)
        return outputs

    def ask(self, batch: Batch, budget: int) -> Sequence[Question]:
        """What the strategy chooses from the last prediction on this batch.

        Raises
        ------
        InputError
            When the strategy does not choose exactly min(budget, len(batch)) different items.
        """
        outputs = self._outputs(batch) or self.predict(batch)
        count = min(budget, len(batch))
        rows = [int(row) for row in self.strategy.choose(batch, outputs, count)]
        if len(rows) != count or len(set(rows)) != count or not set(rows) <= {*range(len(batch))}:
            raise InputError(
                f"the strategy {name_of(self.strategy)} chose the places {first_five(rows)} "
                f"({len(rows)} of them) in {described(batch)} of {len(batch)} items: expected "
                f"{count} different places from 0 to {len(batch) - 1}"
            )
        return [Question(batch.ids[row]) for row in rows]

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """The learner adapts, then the strategy learns from what was answered."""
        outputs = self._outputs(batch)
        self.learner.adapt(batch, answered)
        learn = getattr(self.strategy, "learn", None)
        if learn is not None:
            learn(batch, outputs, answered)

    def _outputs(self, batch: Batch) -> Outputs | None:
        """The last prediction, where it was made on this batch."""
        return self._seen[1] if self._seen is not None and self._seen[0] is batch else None

    @property
    def restorable(self) -> bool:
        """Whether `snapshot` and `restore` work: learner and strategy must have them.

        A strategy that says `stateless = True` keeps nothing and needs none.
        """
        return restorable(self.learner) and can_keep(self.strategy)

    def snapshot(self) -> bytes:
        """What learner and strategy have learnt."""
        parts = [stored(part) if restorable(part) else b"" for part in self._parts()]
        return msgspec.msgpack.encode(parts)

    def restore(self, state: bytes) -> None:
        """Both go back to a snapshot."""
        self._seen = None
        for part, kept in zip(
            self._parts(), msgspec.msgpack.decode(state, type=list[bytes]), strict=True
        ):
            if restorable(part):
                part.restore(kept)

    def _parts(self) -> tuple[Learner | Strategy, ...]:
        return self.learner, self.strategy


def stored(part: Restorable) -> bytes:
    """The snapshot of a learner, a strategy or both.

    Raises
    ------
    InputError
        When it gives anything else: nothing else can be written down.
    """
    return checked_state(part.snapshot(), part)


def checked_state(state: object, part: object) -> bytes:
    """What a snapshot gave, where it is bytes; InputError as `stored` says."""
    if not isinstance(state, bytes):
        kind = "nothing" if state is None else f"a value of type {type(state).__name__}"
        raise InputError(
            f"{name_of(part)}: snapshot must give bytes, it gave {kind}: write down what it has "
            f"learnt, as json.dumps(...).encode() does; restore gets these bytes back"
        )
    return state


def can_keep(strategy: Strategy) -> bool:
    """Whether a strategy can be put back: it has snapshots, or says that it keeps nothing."""
    return restorable(strategy) or getattr(strategy, "stateless", False) is True


def restorable(part: object) -> TypeGuard[Restorable]:
    """Whether it can be put back to a snapshot: it has both methods, and does not deny it."""
    return isinstance(part, Restorable) and bool(getattr(part, "restorable", True))
