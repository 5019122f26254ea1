"""A system in a life cycle: its calls, checked and logged with version, set and time label."""

from dataclasses import dataclass
from typing import Any

from truecost.errors import InputError
from truecost.learning.asking import Asking
from truecost.learning.checking import check_outputs, described
from truecost.learning.log import Event
from truecost.learning.stepping import Learning
from truecost.learning.system import Answered, Batch, Outputs

MISSING = object()


@dataclass(eq=False)
class Acting(Learning):
    """Calls of a system through its life.

    Attributes
    ----------
    version : int
        Of the model now: i after it has adapted to the data of l_i, 0 before all.
    where : str or None
        The set that it works on: None is the lifelong set.
    """

    version: int = 0
    where: str | None = None
    _time: float | None = None
    _plain: str = ""

    def at(self, version: int, time: float | None, where: str | None) -> None:
        """Go to a set at a time, with a version."""
        self.version, self.where, self._time = version, where, time
        place = {None: "on the lifelong set", "test": "on the test set", "offline": "offline"}
        self.who = f"{self._plain} (version {version}, {place[where]})"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._plain = self.who

    def event(self, kind: str, batch: Batch, **columns: Any) -> Event:
        """An event of a batch: its time is the label of the batch."""
        return Event(
            t=self._time,
            batch=batch.index if batch.index >= 0 else None,
            event=kind,
            stream=self.stream.name or None,
            run=self.run or None,
            **({"version": self.version, "set": self.where} | columns),
        )

    def say(self, batch: Batch) -> Outputs:
        """What the system says of a batch, checked; it is not logged."""
        said = self.call(batch, self.learner.predict, batch)
        return check_outputs(said, self.stream, batch, self.who)

    def learn(self, batch: Batch, answered: Answered, version: int) -> None:
        """The system adapts; the version that comes out."""
        self.call(batch, self.learner.adapt, batch, answered)
        self.log.emit(self.event("adapt", batch, version=version, cpu_seconds=self.cpu()))

    def refuse_change(self, batch: Batch, before: Outputs, why: str) -> None:
        """Refuse a system that no longer says of a batch what it said.

        Parameters
        ----------
        why : str
            What follows when it does.

        Raises
        ------
        InputError
        """
        now = self.say(batch)
        self.cpu()
        same = now.decisions == before.decisions and bool((now.scores == before.scores).all())
        if same:
            return
        row = next(
            row
            for row in range(len(batch))
            if now.decisions[row] != before.decisions[row] or now.scores[row] != before.scores[row]
        )
        raise InputError(
            f"{self.who}, {described(batch)}, item {batch.ids[row]!r}: it said "
            f"{before.decisions[row]!r:.80} (score {before.scores[row]:g}), and says "
            f"{now.decisions[row]!r:.80} (score {now.scores[row]:g}) when it is asked again: {why}"
        )


def part_with(system: Any, name: str, without: Any = MISSING) -> Any:
    """What a system has of this name; that of its learner, where a strategy asks for it.

    Parameters
    ----------
    without : object, optional
        What there is otherwise; an `AttributeError` unless given.
    """
    inner = system.learner if isinstance(system, Asking) else system
    if hasattr(system, name):
        return getattr(system, name)
    if without is MISSING:
        return getattr(inner, name)
    return getattr(inner, name, without)
