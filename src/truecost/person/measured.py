"""Seconds of answers, measured from what a store keeps of the page."""

from collections.abc import Callable

from truecost.person.seconds import Event, Seconds, Timing, seconds_of
from truecost.person.store import Store


def seconds_by(store: Store, timing: Timing) -> Callable[[str, str], Seconds | None]:
    """From the key of a question and a person to the seconds of the answer; None where nothing is
    kept of the person's time (`--forget`).
    """
    sessions = [
        [Event(one.kind, one.pid, one.mono, one.wall, one.t) for one in session]
        for session in store.history()
    ]
    measured, pids = seconds_of(sessions, timing), dict[tuple[str, str], list[str]]()
    for one in store.presentations():
        pids.setdefault((one.key, one.person), []).append(one.pid)

    def found(key: str, person: str) -> Seconds | None:
        shown = pids.get((key, person))
        return None if shown is None else measured(shown)

    return found
