"""The writer of the event log: append-only JSON lines that a killed run goes on with.

A run does everything again when it resumes. As long as the log holds events that the run emitted
before it was killed, an emitted event must equal the next recorded one, and nothing is written; a
run that no longer does the same is refused before the file is touched. From then on events are
appended. Answers of people are taken from the log, so that no question is asked twice::

    with LogWriter.open(path, resume=True) as log:
        log.emit_many(predictions)  # a batch is one write
        known = log.recorded_answer(question)  # None: ask the person
        log.emit(answer)
        log.finish()

Each line reaches the operating system at once: a killed process loses no more than the line
that it was writing. The columns are described in `truecost.formats.events`.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Self

import msgspec

from truecost.errors import InputError, UsageError, counted

FREE = ("t", "cpu_seconds", "gpu_seconds")  # may differ when a run does everything again


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
    gpu_seconds: float | None = None
    stream: str | None = None
    run: str | None = None
    set: str | None = None
    count: int | None = None
    part: str | None = None
    version: int | None = None
    words: int | None = None
    actions: int | None = None
    verdict: str | None = None
    timing: str | None = None
    asked: str | None = None
    wall_seconds: float | None = None
    heard_seconds: float | None = None
    waited_seconds: float | None = None
    guess: str | None = None

    @property
    def key(self) -> "Key":
        """The key that a question and its answer share."""
        where = self.set if self.set in LIFELONG_SETS else None
        return self.run, self.stream, self.id, self.part, self.version, where


NUMBERS = tuple(f.name for f in msgspec.structs.fields(Event) if f.type == float | None)
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
                f"{path}, line {number}: this is not an event ({error}): {shortened(line)}; only "
                f"a log that truecost wrote can be resumed"
            ) from error
    return events


def refuse_change(path: Path, position: int, known: Event, event: Event) -> None:
    """Refuse an event that differs from the recorded one in what a run decides."""
    if event == known:
        return
    parts = [name for name in COMPARED if getattr(known, name) != getattr(event, name)]
    if parts:
        raise InputError(
            f"{path}, line {position + 1}: the run cannot be resumed, as the learner, the data or "
            f"the settings have changed: the log has {shortened(msgspec.json.encode(known))}, "
            f"but the run now makes {shortened(msgspec.json.encode(event))} (they differ in "
            f"{', '.join(parts)}); restore what was changed, or start a new run in another folder"
        )


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


def shortened(line: bytes) -> str:
    """A line for a message, cut short."""
    text = line.decode("utf-8", "replace")
    return text if len(text) <= 200 else f"{text[:197]}..."


__all__ = ["Event", "LogWriter"]
_BINARY = getattr(os, "O_BINARY", 0)  # Windows has it


class LogWriter:
    """Writer of an event log; create it with `LogWriter.open`.

    A resumed run repeats its steps, from the start or from a checkpoint (see `skip`). The writer
    compares each event with the recorded event in the file; after the last recorded event, it
    appends new events. The writer is a context manager that closes the file. Call `finish` at the
    end of a complete run. An `Event` (`truecost.learning.log`) has a field for each column of an
    event log.

    Attributes
    ----------
    path : Path
        Path of the log.
    recorded : sequence of Event
        Events in the file when it was opened, in their order.
    position : int
        Number of events so far: written, compared or skipped.
    problems : tuple of str
        A warning if the file ended in an incomplete line when it was opened; otherwise empty.
    """

    def __init__(self, path: Path, lines: Sequence[bytes], tail: bytes, size: int) -> None:
        self.path = path
        self.position = 0
        self.recorded: Sequence[Event] = understood(path, lines)
        self.problems: tuple[str, ...] = ()
        if tail:
            where = f"{path}, line {len(lines) + 1}"
            said = f"the last line was cut short and is written anew: {shortened(tail)}"
            self.problems = (f"{where}: {said}",)
        self._lines, self._tail, self._size = lines, tail, size
        answers = (event for event in reversed(self.recorded) if event.event == "answer")
        self._answers = {event.key: event for event in answers}  # the first one to each question
        self._encoder = msgspec.json.Encoder()
        self._digest = hashlib.sha256()
        self._file: int | None = None
        self._closed = False

    @classmethod
    def open(cls, path: str | Path, resume: bool = False) -> Self:
        """Open a new log, or an existing log to continue it.

        The file stays unchanged until the first new event.

        Parameters
        ----------
        path : str or Path
            Path of the log, in an existing folder.
        resume : bool
            Whether to continue an existing log. If there is no log, a new one starts.

        Raises
        ------
        UsageError
            If the log exists and `resume` is False.
        InputError
            If the file cannot be read, or a line is not an event. The message contains the line
            number.
        """
        place = Path(path)
        data = _stored(place)
        if data and not resume:
            raise UsageError(f"{place}: there is a log already: resume it, or name another file")
        *lines, tail = data.split(b"\n")
        if is_event(tail):  # it only lacks the line break
            return cls(place, [*lines, tail], b"", len(data))
        return cls(place, lines, tail, len(data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def replaying(self) -> bool:
        """Whether the run still repeats recorded events."""
        return self.position < len(self.recorded)

    @property
    def next_recorded(self) -> Event | None:
        """Recorded event that the next event must equal; None after the last recorded event."""
        return self.recorded[self.position] if self.replaying else None

    def recorded_answer(self, question: Event) -> Event | None:
        """Recorded answer to a question; None if there is no recorded answer.

        The field `batch` of the answer is the batch in which the answer arrived; `label` is None if
        the person refused.
        """
        return self._answers.get(question.key)

    def emit(self, event: Event) -> None:
        """Write one event, or compare it with the recorded event. Errors: see `emit_many`."""
        self.emit_many((event,))

    def emit_many(self, events: Iterable[Event]) -> None:
        """Write events together; events that are already recorded are compared, not written.

        Raises
        ------
        InputError
            If an event differs from the recorded event (the time `t` and seconds of CPU and GPU may
            differ), a number is not finite, or the file cannot be written.
        """
        new = list(events)
        if self.replaying:
            known = len(self.recorded) - self.position
            for event in new[:known]:
                self._follow(event)
            new = new[known:]
        if new:
            self._append(new)

    def digest(self) -> str:
        """SHA-256 hash, in hexadecimal, of the first `position` lines of the file."""
        return self._digest.hexdigest()

    def skip(self, count: int, digest: str) -> bool:
        """Skip the recorded events before a checkpoint.

        Parameters
        ----------
        count : int
            Number of events from the start of the log to the checkpoint.
        digest : str
            Result of the method `digest` at the checkpoint.

        Returns
        -------
        bool
            False if the recorded lines differ from those at the checkpoint; then nothing is
            skipped.
        """
        if not self.position <= count <= len(self._lines):
            return False
        ahead = self._digest.copy()
        for line in self._lines[self.position : count]:
            ahead.update(line + b"\n")
        if ahead.hexdigest() != digest:
            return False
        self._digest, self.position = ahead, count
        return True

    def finish(self) -> None:
        """Check that the run is complete, and close the file.

        Raises
        ------
        InputError
            If the log contains more events than the run.
        """
        left = len(self.recorded) - self.position
        if left > 0 or (self._tail and self.position <= len(self.recorded)):
            raise InputError(
                f"{self.path}, line {self.position + 1}: the log continues after the end of this "
                f"run ({counted(max(left, 1), 'event')} more); it belongs to another run: write to "
                "another place"
            )
        file = self._begin() if self._file is None else self._file
        os.fsync(file)
        self.close()

    def close(self) -> None:
        """Close the file without a check. Nothing can be written afterwards."""
        self._closed = True
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _follow(self, event: Event) -> None:
        """Take a recorded event as emitted."""
        refuse_change(self.path, self.position, self.recorded[self.position], event)
        self._digest.update(self._lines[self.position] + b"\n")
        self.position += 1

    def _append(self, events: Sequence[Event]) -> None:
        """Write events that are new."""
        data = self._encoder.encode_lines(events)
        if b":null" in data:  # what is None is left out, so this is no number, or part of a text
            refuse_not_finite(self.path, events)
        if self._file is None:
            self._refuse_foreign(data)
        self._write(self._begin() if self._file is None else self._file, data)
        self._digest.update(data)
        self.position += len(events)

    def _refuse_foreign(self, data: bytes) -> None:
        """A beginning that is less than a line must be the beginning of what is written."""
        if self._tail and not self._lines and not data.startswith(self._tail):
            raise InputError(
                f"{self.path}, line 1: the log of this run does not begin with this line: "
                f"{shortened(self._tail)}; name another file"
            )

    def _begin(self) -> int:
        """Open the file for appending behind the recorded lines, and cut off what is no line."""
        if self._closed:
            raise UsageError(f"{self.path}: the log is closed; open it again to continue it")
        with writing(self.path):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        try:
            self._cut(file)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return file

    def _cut(self, file: int) -> None:
        """Make the file end where the recorded lines end."""
        end = sum(len(line) + 1 for line in self._lines)
        size = os.fstat(file).st_size
        if size != self._size:
            raise InputError(
                f"{self.path}: the log has changed since it was opened ({self._size} bytes then, "
                f"{size} now): does another process write to it?"
            )
        if size > end:
            os.ftruncate(file, end)
        elif size < end:  # the last line break is missing
            self._write(file, b"\n")

    def _write(self, file: int, data: bytes) -> None:
        """All of it, whatever the system takes at a time."""
        left = memoryview(data)
        with writing(self.path):
            while left:
                left = left[os.write(file, left) :]


def _stored(path: Path) -> bytes:
    """The content of the file; empty when it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An InputError where a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
