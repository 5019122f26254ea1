"""Seconds of answers, from the page events of a store: read once, and measured for any choice of
active time; and the progress of people, for a terminal.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from truecost.person.records import Logged, Row
from truecost.person.seconds import Seconds, Timing, seconds_of
from truecost.person.store import Store

MOST = 12  # classes that are told apart


@dataclass(frozen=True)
class History:
    """The events of each session, and the presentations by question and person."""

    sessions: Sequence[Sequence[Logged]] = ()
    shown: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    @staticmethod
    def read(store: Store) -> "History":
        """The whole history of a store."""
        shown = dict[tuple[str, str], list[str]]()
        for one in store.presentations():
            shown.setdefault((one.key, one.person), []).append(one.pid)
        return History(store.history(), shown)

    def seconds(self, timing: Timing) -> Callable[[str, str], Seconds | None]:
        """A function from the key of a question and a person to the seconds of the answer; None
        where nothing is stored of the person's time (`--forget`).
        """
        measured = seconds_of(self.sessions, timing)

        def found(key: str, person: str) -> Seconds | None:
            shown = self.shown.get((key, person))
            return None if shown is None else measured(shown)

        return found


def seconds_by(store: Store, timing: Timing) -> Callable[[str, str], Seconds | None]:
    """The present seconds of a store's answers; see `History.seconds`."""
    return History.read(store).seconds(timing)


@dataclass(frozen=True)
class Answered:
    """Answers with their seconds (None: not known), in the order in which they were given."""

    rows: tuple[Row, ...]
    seconds: tuple[Seconds | None, ...]
    timing: Timing = field(default_factory=Timing)
    history: History = field(default_factory=History, repr=False)

    @staticmethod
    def read(store: Store, timing: Timing) -> "Answered":
        """The current answers of a store."""
        rows = sorted(store.answers(), key=lambda row: row.place)
        return Answered(tuple(rows), (), timing, History.read(store)).timed(timing)

    def timed(self, timing: Timing) -> "Answered":
        """The answers measured with other settings of active time."""
        seconds = self.history.seconds(timing)
        found = tuple(seconds(row.key, row.person) for row in self.rows)
        return replace(self, seconds=found, timing=timing)

    @property
    def known_seconds(self) -> list[Seconds]:
        """Seconds of the answers whose time is known."""
        return [one for one in self.seconds if one is not None]

    @property
    def people(self) -> tuple[str, ...]:
        """Names of the people who answered."""
        return tuple(sorted({row.person for row in self.rows}))

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers, if they are classes: at most `MOST` different ones."""
        found = sorted({row.label for row in self.rows if row.label is not None})
        return tuple(found) if len(found) <= MOST else ()

    def where(self, keep: Callable[[Row], bool]) -> "Answered":
        """The answers that a function accepts."""
        kept = [k for k, row in enumerate(self.rows) if keep(row)]
        rows = tuple(self.rows[k] for k in kept)
        return replace(self, rows=rows, seconds=tuple(self.seconds[k] for k in kept))


SHARE = 20  # times as long as measuring all answers took, until they are measured again
LOOK = 0.5  # seconds between two looks
Progress = Callable[[str, int, int], None]  # what there is, how far it is, and all of it


def standing_of(store: Store, timing: Timing) -> Callable[[], tuple[str, int, int]]:
    """A function that returns the progress of people: in words, answered questions, and all."""
    active, seen, due = 0.0, -1, 0.0

    def standing() -> tuple[str, int, int]:
        nonlocal active, seen, due
        began, latest = time.monotonic(), store.latest()
        if latest != seen and began >= due:
            measured = seconds_by(store, timing)
            each = (measured(row.key, row.person) for row in store.answers())
            active = sum(one.active for one in each if one is not None)
            seen, due = latest, time.monotonic() + SHARE * (time.monotonic() - began)
        total, _, full = store.progress()
        words = f"{full:,} answered, {total - full:,} open, {active / 60:.1f} min active"
        return words, full, total

    return standing


@contextmanager
def shown_standing(path: Path, timing: Timing, progress: Progress | None) -> Iterator[None]:
    """Report the progress of people as long as this context is open; nothing without a callback."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        with Store(path) as store:
            standing = standing_of(store, timing)
            while not over.wait(LOOK):
                progress(*standing())

    thread = threading.Thread(target=watch, name="truecost standing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def standing_beside(
    path: Path, timing: Timing, progress: Progress | None
) -> Iterator[Callable[[int, int], None] | None]:
    """The display of the progress of a run in steps, together with that of people."""
    if progress is None:
        yield None
        return
    tell, words, steps = progress, "", (0, 0)

    def told_of_people(found: str, _: int, __: int) -> None:
        nonlocal words
        words = found
        tell(words, *steps)

    def told_of_run(done: int, total: int) -> None:
        nonlocal steps
        steps = done, total
        tell(words, *steps)

    with shown_standing(path, timing, told_of_people):
        yield told_of_run
