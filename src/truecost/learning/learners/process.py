"""A program that gets one line and answers with one line, in numbered messages, and never outlives
us.

It runs in a process group of its own, which a small shell leads: the shell waits until a pipe
closes, and then kills the group. So program and helpers end with us, even when we are killed.
"""

import os
import re
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec

from truecost.errors import InputError, UsageError, counted
from truecost.learning.system import Batch, described

SHORT = 150  # letters of a line that is shown as a whole
AROUND = 40  # letters before and after a fault


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first message of a program."""

    ready: int
    name: str = ""
    asks: bool = False
    snapshots: bool = False
    unsupervised: bool = False
    offline: bool = False
    verdicts: bool = False


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a numbered message."""

    n: int


Numbered = TypeVar("Numbered", bound=Reply)
Said = TypeVar("Said", bound=Ready | Reply)


def read(line: bytes, kind: type[Said]) -> Said:
    """A message of a program, of the expected kind."""
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        hint = "; JSON has no NaN and no Infinity" if b"NaN" in line or b"Infinity" in line else ""
        raise InputError(
            f"its line is not JSON ({error}{_text_around(line, error)}{hint})"
        ) from error
    if isinstance(said, dict) and "error" in said:
        raise InputError(f"it reports an error: {str(said['error'])[:1000]}")
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        path = str(error).partition(" - at `$")[2].rstrip("`")
        told = str(error).replace("`", "'").replace(" - at '$.", ", in '").replace(" - at '$'", "")
        there = _at(said, path)
        raise InputError(f"its line is not as expected ({told}{there})") from error


def _text_around(line: bytes, error: Exception) -> str:
    """The text around the byte where a long line is no JSON any more."""
    place = re.search(r"\(byte (\d+)\)", str(error))
    if place is None or len(line) <= SHORT:
        return ""
    first = max(0, int(place[1]) - AROUND)
    text = line[first : int(place[1]) + AROUND].decode("utf-8", "replace")
    return f", within {text!r}"


def _at(said: Any, path: str) -> str:
    """The value at a path such as `.scores[17]`; nothing for an invalid path."""
    for key, place in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            said = said[key] if key else said[int(place)]
        except (KeyError, IndexError, TypeError):
            return ""
    return f", where it has {str(said)[:AROUND]!r}" if path else ""


LONGEST_LINE = 2**26  # bytes: 720 items with embeddings of 1,024 numbers take 15 MB
TAIL = 2000  # bytes kept of standard error
GRACE = 1.0  # seconds in which a program that closed its output may end, so that its code is known
CHUNK = 2**20
LOOK = 0.1  # seconds between two looks at whether it still runs: a helper may hold its pipes open
NOTHING = memoryview(b"")
Pipe = IO[bytes]
WATCH = ("/bin/sh", "-c", "read line; kill -KILL 0")


class Failure(Exception):  # noqa: N818
    """A program did not do what it should have.

    `said`: what it said, as far as it came.
    """

    def __init__(self, reason: str, said: bytes = b"") -> None:
        super().__init__(reason)
        self.said = said


class Process:
    """A running program.

    `command`: program and arguments; `folder`: where it runs; empty for the current one.
    """

    def __init__(self, command: Sequence[str], folder: str = "") -> None:
        self._program, self._watcher = _start(command, folder)
        self._end = weakref.finalize(self, _end, self._program, self._watcher, os.getpid())
        pipes = (self._program.stdin, self._program.stdout, self._program.stderr)
        self._input, self._output, self._errors = cast("tuple[Pipe, Pipe, Pipe]", pipes)
        for pipe in (self._input, self._output, self._errors):
            os.set_blocking(pipe.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(self._errors, selectors.EVENT_READ)
        self._said, self._tail = bytearray(), b""
        self._line = False  # whether a whole line was said
        self._closed = False  # its output, or its input

    def exchange(self, message: bytes, seconds: float) -> bytes:
        """Tell it a line and hear the line that it answers, both without their end.

        `seconds` are for all of it.
        """
        deadline = time.monotonic() + seconds
        self._turn(0)
        if self._said:
            raise Failure("it wrote a line without being asked", bytes(self._said))
        left = memoryview(message + b"\n")
        while left or not self._line:
            over = self._program.poll() is not None  # before its last words are read
            wait = self._patience(deadline, seconds, bool(left))
            left = self._turn(0 if over else min(wait, LOOK), left)
            self._closed = self._closed or over
        line, _, rest = bytes(self._said).partition(b"\n")
        self._said, self._line = bytearray(rest), b"\n" in rest
        return line

    def _patience(self, deadline: float, seconds: float, unread: bool) -> float:
        """Seconds that it still has; raises when it can no longer answer as it should."""
        left = deadline - time.monotonic()
        if self._line:
            reason = "it answered before it had read the message"
        elif self._closed:
            reason = self._ending()
        elif len(self._said) > LONGEST_LINE:
            reason = f"its line is longer than {LONGEST_LINE:,} bytes"
        elif left <= 0:
            what = "did not read the message" if unread else "did not end its line"
            reason = (
                f"it {what} within {counted(seconds, 'second')} (timeout); is its output flushed?"
            )
        else:
            return left
        raise Failure(reason, bytes(self._said))

    def leave(self, message: bytes, seconds: float) -> None:
        """Tell it a last line, close its input, wait until it closes its output, and end it."""
        deadline = time.monotonic() + seconds
        left = memoryview(message + b"\n")
        while left and not self._closed and time.monotonic() < deadline:
            left = self._turn(deadline - time.monotonic(), left)
            self._said.clear()
        with suppress(OSError):
            self._input.close()
        while not self._closed and time.monotonic() < deadline:
            self._closed = self._program.poll() is not None
            self._turn(min(LOOK, deadline - time.monotonic()))
            self._said.clear()
        with suppress(subprocess.TimeoutExpired):
            self._program.wait(GRACE if self._closed else 0)
        self.kill()

    def kill(self) -> None:
        """End it and all processes that it started; what it still says to standard error is kept.

        Nothing happens when it has ended.
        """
        if not self._end.detach():
            return
        _kill(self._program, self._watcher)
        with suppress(OSError):
            for _ in range(64):  # what a pipe holds is less
                self._tail = (self._tail + os.read(self._errors.fileno(), CHUNK))[-TAIL:]
        self._selector.close()
        _close(self._program)

    @property
    def tail(self) -> str:
        """The end of its standard error."""
        return self._tail.decode("utf-8", "replace").strip()

    def _turn(self, seconds: float, left: memoryview = NOTHING) -> memoryview:
        """Hear what it says, and tell it what is left; returns what is left afterwards."""
        if left:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        ready = [key.fileobj for key, _ in self._selector.select(max(0.0, seconds))]
        if left:
            self._selector.unregister(self._input)
        if self._output in ready:
            self._hear()
        if self._errors in ready:
            self._note()
        return self._tell(left) if self._input in ready else left

    def _hear(self) -> None:
        """Read its output."""
        chunk = os.read(self._output.fileno(), CHUNK)
        self._said += chunk
        self._line = self._line or b"\n" in chunk
        if not chunk:
            self._selector.unregister(self._output)
            self._closed = True

    def _note(self) -> None:
        """Read its standard error."""
        chunk = os.read(self._errors.fileno(), CHUNK)
        self._tail = (self._tail + chunk)[-TAIL:]
        if not chunk:
            self._selector.unregister(self._errors)

    def _tell(self, left: memoryview) -> memoryview:
        """Write to its input."""
        try:
            return left[os.write(self._input.fileno(), left) :]
        except BrokenPipeError:
            self._closed = True
            return left

    def _ending(self) -> str:
        """The way in which the process ended, when it closed a stream."""
        try:
            code = self._program.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its input or output and did not end"
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended (exit code {code})"


def _start(
    command: Sequence[str], folder: str
) -> tuple["subprocess.Popen[bytes]", "subprocess.Popen[bytes]"]:
    """The program, and the shell that leads its group."""
    if folder and not Path(folder).is_dir():
        raise UsageError(f"learner program: there is no folder {folder}")
    # output of a Python program arrives at once, and its sets have one order in every run
    variables = {"PYTHONHASHSEED": "0", **os.environ, "PYTHONUNBUFFERED": "1"}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    watcher = subprocess.Popen(WATCH, stdin=pipe, stdout=null, stderr=null, process_group=0)
    try:
        program = subprocess.Popen(
            list(command),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            cwd=folder or None,
            env=variables,
            process_group=watcher.pid,
        )
    except BaseException as error:
        _finish(watcher)
        if not isinstance(error, OSError | ValueError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"learner program: {command[0]} cannot be run: {reason}; command is the "
            "program and its arguments, such as ['python3', 'program.py']"
        ) from error
    return program, watcher


def _end(
    program: "subprocess.Popen[bytes]", watcher: "subprocess.Popen[bytes]", owner: int
) -> None:
    """End a program that nobody uses any more."""
    if os.getpid() == owner:  # a copy of us that was forked has no say
        _kill(program, watcher)
        _close(program)


def _kill(program: "subprocess.Popen[bytes]", watcher: "subprocess.Popen[bytes]") -> None:
    """End the group, and the program if it left it."""
    program.kill()
    _finish(watcher)
    program.wait()


def _close(program: "subprocess.Popen[bytes]") -> None:
    """Close our ends of its streams."""
    for pipe in (program.stdin, program.stdout, program.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _finish(watcher: "subprocess.Popen[bytes]") -> None:
    """End the shell and its group; nobody has waited for it, so its number is still its own."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses when all have ended
        os.killpg(watcher.pid, signal.SIGKILL)
    watcher.wait()
    assert watcher.stdin is not None
    watcher.stdin.close()


SHOWN = 200  # letters of what a program said
FAREWELL = 5.0  # seconds in which it may end


class Channel:
    """Messages to a process and back; whatever is wrong ends it.

    `seconds`: that it may take for an answer; `folder`: where it runs.
    """

    def __init__(self, command: Sequence[str], seconds: float, folder: str) -> None:
        self.name = f"program {' '.join(Path(word).name for word in command):.80}"
        self._seconds = seconds
        self._process = Process(command, folder)
        self._ended = ""  # why
        self._count = 0

    def send(
        self, message: str, batch: Batch | None, content: Mapping[str, Any], kind: type[Numbered]
    ) -> Numbered:
        """Tell a numbered message; returns what was said."""
        where = "" if batch is None else described(batch)
        self._count += 1
        said = self.exchange(
            message, where, {"message": message, "n": self._count, **content}, kind
        )
        if said.n != self._count:
            raise self.fault(
                message, where, f"it answered message {said.n}, but message {self._count} was sent"
            )
        return said

    def exchange(
        self, message: str, where: str, content: Mapping[str, Any], kind: type[Said]
    ) -> Said:
        """Tell something and read what is said."""
        if self._ended:
            raise InputError(f"{self.name} ended earlier: {self._ended}")
        try:
            line = self._process.exchange(_encoded(content), self._seconds)
        except Failure as failure:
            raise self.fault(message, where, str(failure), failure.said) from None
        except BaseException:  # interrupted: it would answer the wrong message next
            self._process.kill()
            self._ended = "it was interrupted"
            raise
        try:
            return read(line, kind)
        except InputError as error:
            raise self.fault(message, where, str(error), line) from error

    def fault(self, message: str, where: str, reason: str, said: bytes = b"") -> InputError:
        """End the program; the error that tells why."""
        self._process.kill()
        self._ended = reason
        about = f"message {message} ({where})" if where else f"message {message}"
        came = said[: 4 * SHOWN].decode("utf-8", "replace")[:SHOWN]
        shown = f"; it wrote {came!r}" if came else ""
        tail = self._process.tail
        errors = (
            f"; its standard error ends with:\n{tail}"
            if tail
            else "; it wrote nothing to standard error"
        )
        return InputError(f"{self.name}, {about}: {reason}{shown}{errors}")

    def close(self) -> None:
        """Say goodbye; the program and all that it started have ended then."""
        if not self._ended:
            self._ended = "the connection was closed"
            last = {"message": "bye", "n": self._count + 1}
            self._process.leave(msgspec.json.encode(last), min(FAREWELL, self._seconds))


def _encoded(content: Mapping[str, Any]) -> bytes:
    """A message as JSON."""
    try:
        return msgspec.json.encode(content)
    except TypeError as error:
        raise InputError(
            f"this cannot be sent to a program: {error}; JSON has no such value"
        ) from error
