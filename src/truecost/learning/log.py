"""The writer of the event log: append-only JSON lines that a killed run goes on with.

A run does everything again when it resumes. As long as the log holds events that the run emitted
before it was killed, an emitted event must equal the next recorded one, and nothing is written; a
run that no longer does the same is refused before the file is touched. From then on events are
appended. Answers of people are taken from the log, so that no question is asked twice::

    with LogWriter.open(path, resume=True) as log:
        log.emit_many(predictions)  # a batch is one write
        known = log.recorded_answer("item 3")  # None: ask the person
        log.emit(answer)
        log.finish()

What is written reaches the operating system at once: a killed process loses no more than the line
that it was writing. What the columns mean stands in `truecost.formats.events`.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from truecost.errors import InputError, UsageError, counted
from truecost.learning.recorded import (
    Event,
    answers_of,
    is_event,
    refuse_change,
    refuse_not_finite,
    shown,
    understood,
)

__all__ = ["Event", "LogWriter"]
_BINARY = getattr(os, "O_BINARY", 0)  # Windows has it


class LogWriter:
    """Appends events to a log, or follows what is recorded there first.

    Open one with `LogWriter.open`. It is a context manager that closes the file; `finish` says that
    the run is complete.

    Attributes
    ----------
    recorded : sequence of Event
        What was in the file when it was opened, in order.
    position : int
        Number of events emitted (or skipped) so far.
    problems : tuple of str
        What was found when it was opened: a last line that was cut short.
    """

    def __init__(self, path: Path, lines: Sequence[bytes], tail: bytes, size: int) -> None:
        self.path = path
        self.position = 0
        self.recorded: Sequence[Event] = understood(path, lines)
        self.problems = _reported(path, lines, tail)
        self._lines, self._tail, self._size = lines, tail, size
        self._answers = answers_of(self.recorded)
        self._encoder = msgspec.json.Encoder()
        self._digest = hashlib.sha256()
        self._file: int | None = None
        self._closed = False

    @classmethod
    def open(cls, path: str | Path, resume: bool = False) -> Self:
        """A writer for a new log, or for one that goes on.

        Nothing is written or cut before the first event that is new.

        Parameters
        ----------
        path : str or Path
            Where the log is, or shall be; its folder must exist.
        resume : bool
            Go on with what is there; where nothing is there, begin.

        Raises
        ------
        UsageError
            When there is something already and `resume` was not said.
        InputError
            When it cannot be read or written, or a line is no event; with the line.
        """
        place = Path(path)
        data = _stored(place)
        if data and not resume:
            raise UsageError(
                f"{place}: there is a log already; resume it, or write to another place"
            )
        *lines, tail = data.split(b"\n")
        if is_event(tail):  # it only lacks the line break
            return cls(place, [*lines, tail], b"", len(data))
        return cls(place, lines, tail, len(data))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def replaying(self) -> bool:
        """Whether recorded events remain to be emitted again."""
        return self.position < len(self.recorded)

    @property
    def next_recorded(self) -> Event | None:
        """The recorded event that must be emitted next; None when all that comes is new."""
        return self.recorded[self.position] if self.replaying else None

    def recorded_answer(
        self,
        item: str,
        part: str = "",
        *,
        stream: str = "",
        run: str = "",
        version: int | None = None,
        where: str | None = None,
    ) -> Event | None:
        """The recorded answer to a question, so that the person need not be asked again.

        Parameters
        ----------
        item : str
            Its id.
        part : str
            Of the item, where one was asked about.
        stream, run : str
            As they are written to the log; empty where they are left out.
        version : int, optional
            Of the model that asked, in a lifelong run.
        where : {"test", "offline"}, optional
            The set of the question, in a lifelong run.

        Returns
        -------
        Event or None
            Its `batch` says when the answer arrived, its `label` is None when the person refused.
        """
        return self._answers.get((run or None, stream or None, item, part or None, version, where))

    def emit(self, event: Event) -> None:
        """Write one event, or compare it with the recorded one.

        Raises
        ------
        InputError
            As `emit_many` says.
        """
        self.emit_many((event,))

    def emit_many(self, events: Iterable[Event]) -> None:
        """Write events in one go; those that are recorded are compared instead.

        Raises
        ------
        InputError
            When a recorded event differs in more than `t` and `cpu_seconds`; when a number is not
            finite; when the file cannot be written.
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
        """SHA-256 in hexadecimal of the lines up to `position`, as they stand in the file."""
        return self._digest.hexdigest()

    def skip(self, count: int, digest: str) -> bool:
        """Jump over recorded events that a checkpoint has behind it.

        Parameters
        ----------
        count : int
            How many events the checkpoint has seen from the beginning.
        digest : str
            What `digest` gave there.

        Returns
        -------
        bool
            False, and nothing is skipped, when the recorded lines are others or fewer.
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
        """Say that the run is complete, and close the file.

        Raises
        ------
        InputError
            When the log holds events that the run did not come to.
        """
        left = len(self.recorded) - self.position
        if left > 0 or (self._tail and self.position <= len(self.recorded)):
            raise InputError(
                f"{self.path}, line {self.position + 1}: the log goes on where this run ends "
                f"({counted(max(left, 1), 'event')} more); it is of another run: write to another "
                f"place"
            )
        file = self._begin() if self._file is None else self._file
        os.fsync(file)
        self.close()

    def close(self) -> None:
        """Close the file; nothing is checked, and nothing can be written any more."""
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
                f"{self.path}, line 1: this is no beginning of the log of this run: "
                f"{shown(self._tail)}; write to another place"
            )

    def _begin(self) -> int:
        """Open the file for appending behind the recorded lines, and cut off what is no line."""
        if self._closed:
            raise UsageError(f"{self.path}: the log is closed; open it again to go on with it")
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        except OSError as error:
            raise _unwritable(self.path, error) from error
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
        try:
            while left:
                left = left[os.write(file, left) :]
        except OSError as error:
            raise _unwritable(self.path, error) from error


def _stored(path: Path) -> bytes:
    """What is in the file; nothing when it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _reported(path: Path, lines: Sequence[bytes], tail: bytes) -> tuple[str, ...]:
    if not tail:
        return ()
    return (
        f"{path}, line {len(lines) + 1}: the last line was cut short and is written anew: "
        f"{shown(tail)}",
    )


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error})")
