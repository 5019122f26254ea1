"""Writing to a results ledger: one process at a time, whole lines, what a crash cut off mended."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from truecost.errors import InputError
from truecost.protocol.ledger import Ledger, Line, broken, encoded, line_of, parsed


def keep(path: str | Path, scorings: Sequence[Line]) -> tuple[Ledger, list[int], list[str]]:
    """Write scorings down, those that are not there yet.

    One process writes at a time (`flock`); lines are written whole, and one that a crash cut off
    is taken away first.

    Parameters
    ----------
    path : str or Path
        The ledger; it is made where there is none.
    scorings : sequence of Line
        Without number and hash of the line before, which they get here.

    Returns
    -------
    ledger : Ledger
        With the new lines.
    places : list of int
        Number of the line of each scoring.
    said : list of str
        What was mended, and where the chain is broken.

    Raises
    ------
    InputError
        When the file cannot be read or written, or is no ledger.
    """
    try:
        with _alone(Path(path)) as file:
            found = parsed(file.read(), str(path))
            said = [*found.faults, *_mended(file, found)]
            found = _whole(found)
            known = {line.scoring: place for place, line in reversed([*enumerate(found.lines, 1)])}
            places, new = [], b""
            for scoring in scorings:
                if scoring.scoring not in known:
                    found, text = _with(found, scoring)
                    known[scoring.scoring], new = len(found.lines), new + text
                places.append(known[scoring.scoring])
            if new:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return found, places, said


def _with(ledger: Ledger, scoring: Line) -> tuple[Ledger, bytes]:
    """The ledger with one more line, and its bytes."""
    number = len(ledger.lines) + 1
    line = msgspec.structs.replace(scoring, number=number, previous=ledger.last)
    text = encoded(line)
    last = hashlib.sha256(text[:-1]).hexdigest()
    return Ledger(ledger.name, (*ledger.lines, line), ledger.faults, b"", last), text


def _mended(file: BinaryIO, ledger: Ledger) -> list[str]:
    """Take away a last line that was cut off, or end it where only its line break is lacking."""
    if not ledger.torn:
        return []
    place = len(ledger.lines) + 1
    if _complete(ledger.torn):
        file.write(b"\n")
        return [f"{ledger.name}, line {place}: its line break was missing and is there again"]
    file.truncate(file.tell() - len(ledger.torn))
    file.seek(0, os.SEEK_END)
    return [f"{ledger.name}, line {place}: it was cut off while it was written, and is taken away"]


def _whole(ledger: Ledger) -> Ledger:
    """The ledger after mending."""
    if not ledger.torn or not _complete(ledger.torn):
        return Ledger(ledger.name, ledger.lines, ledger.faults, b"", ledger.last)
    place = len(ledger.lines) + 1
    line = line_of(ledger.torn, ledger.name)
    ok = line.previous == ledger.last and line.number == place
    faults = ledger.faults if ok else (*ledger.faults, broken(ledger.name, place, line))
    last = hashlib.sha256(ledger.torn).hexdigest()
    return Ledger(ledger.name, (*ledger.lines, line), faults, b"", last)


def _complete(text: bytes) -> bool:
    """Whether a last line without line break is one."""
    try:
        msgspec.json.decode(text, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """The file, opened to read and to append, while no other process writes to it."""
    import fcntl

    with path.open("a+b") as file:
        with suppress(
            OSError
        ):  # a file system without locks: lines are appended whole all the same
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file
