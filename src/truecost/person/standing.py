"""How far people are, for a terminal: answered and open questions, and active time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from truecost.person.measured import seconds_by
from truecost.person.seconds import Timing
from truecost.person.store import Store

SHARE = 20  # times as long as measuring all answers took, until they are measured again
LOOK = 0.5  # seconds between two looks
Progress = Callable[[str, int, int], None]  # what there is, how far it is, and all of it


def standing_of(store: Store, timing: Timing) -> Callable[[], tuple[str, int, int]]:
    """A function that gives how far people are now: in words, answered questions, and all."""
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
    """Tell, as long as this is open, how far people are; nothing where nobody listens."""
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
    """What tells how far a run is, in its steps: how far people are is told with it."""
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
