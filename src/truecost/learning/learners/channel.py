"""Numbered messages to a program and what it says to them; whatever is wrong ends the program."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError
from truecost.learning.checking import described
from truecost.learning.learners.messages import Numbered, Said, read
from truecost.learning.learners.process import Failure, Process
from truecost.learning.system import Batch

SHOWN = 200  # letters of what a program said
FAREWELL = 5.0  # seconds in which it may end


class Channel:
    """Messages to a process and back; whatever is wrong ends it.

    Parameters
    ----------
    seconds : float
        That it may take for an answer.
    folder : str
        Where it runs.

    Attributes
    ----------
    name : str
        Of the program, for messages.
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
                message, where, f"it answered message {said.n}, and was told message {self._count}"
            )
        return said

    def exchange(
        self, message: str, where: str, content: Mapping[str, Any], kind: type[Said]
    ) -> Said:
        """Tell something and read what is said."""
        if self._ended:
            raise InputError(f"{self.name} has ended before: {self._ended}")
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
        shown = f"; it said {came!r}" if came else ""
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
            self._ended = "it was told goodbye"
            last = {"message": "bye", "n": self._count + 1}
            self._process.leave(msgspec.json.encode(last), min(FAREWELL, self._seconds))


def _encoded(content: Mapping[str, Any]) -> bytes:
    """A message as JSON."""
    try:
        return msgspec.json.encode(content)
    except TypeError as error:
        raise InputError(
            f"a program cannot be told this: {error}; JSON does not hold it"
        ) from error
