"""Events as they are recorded: one line of the log, what makes two of them the same."""

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path

import msgspec

from truecost.errors import InputError

FREE = ("t", "cpu_seconds")  # may differ when a run does everything again
NUMBERS = ("t", "score", "active_seconds", "cpu_seconds")


class Event(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One line of the log; None where a column does not apply, which is not written.

    The fields are the columns of `truecost.formats.events.SCHEMA`, which says what they mean.
    """

    t: float | None = None
    batch: int | None = None
    id: str | None = None
    event: str
    phase: str | None = None
    score: float | None = None
    decision: str | None = None
    label: str | None = None
    expert: str | None = None
    active_seconds: float | None = None
    cpu_seconds: float | None = None
    stream: str | None = None
    run: str | None = None
    set: str | None = None
    count: int | None = None
    part: str | None = None
    version: int | None = None
    words: int | None = None
    actions: int | None = None
    verdict: str | None = None


COMPARED = tuple(name for name in Event.__struct_fields__ if name not in FREE)
Key = tuple[str | int | None, ...]
LIFELONG_SETS = ("test", "offline")  # in which an item may be asked about once more
_DECODER = msgspec.json.Decoder(Event)


def is_event(line: bytes) -> bool:
    """Whether a line is an event as a whole."""
    try:
        _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def understood(path: Path, lines: Sequence[bytes]) -> list[Event]:
    """The events of whole lines."""
    events = []
    for number, line in enumerate(lines, 1):
        try:
            events.append(_DECODER.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}, line {number}: no event ({error}): {shown(line)}; only a log that "
                f"truecost wrote can be resumed"
            ) from error
    return events


def answers_of(events: Iterable[Event]) -> dict[Key, Event]:
    """The first answer to each question."""
    found: dict[Key, Event] = {}
    for event in events:
        if event.event == "answer":
            found.setdefault(question_of(event), event)
    return found


def question_of(event: Event) -> Key:
    """What tells the question of an answer apart from all others."""
    where = event.set if event.set in LIFELONG_SETS else None
    return event.run, event.stream, event.id, event.part, event.version, where


def refuse_change(path: Path, position: int, known: Event, event: Event) -> None:
    """Refuse an event that differs from the recorded one in what a run decides."""
    if event == known:
        return
    parts = [name for name in COMPARED if getattr(known, name) != getattr(event, name)]
    if parts:
        raise InputError(
            f"{path}, line {position + 1}: the run cannot be resumed, as the learner, the data or "
            f"the settings no longer do the same: {_said(known)} was recorded, now comes "
            f"{_said(event)} (they differ in {', '.join(parts)}); restore what was changed, or "
            f"start a new run at another place"
        )


def _said(event: Event) -> str:
    return shown(msgspec.json.encode(event))


def refuse_not_finite(path: Path, events: Iterable[Event]) -> None:
    """Refuse numbers that JSON cannot hold."""
    for event in events:
        for name in NUMBERS:
            value = getattr(event, name)
            if value is not None and not isfinite(value):
                raise InputError(
                    f"{path}: the {name} of a {event.event} event (batch {event.batch}, id "
                    f"{event.id}) is {value}; a finite number was expected"
                )


def shown(line: bytes) -> str:
    """A line for a message, cut short."""
    text = line.decode("utf-8", "replace")
    return text if len(text) <= 200 else f"{text[:197]}..."
