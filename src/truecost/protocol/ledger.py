"""The results ledger: an append-only file that says how often an evaluation set was scored.

Who looks at a figure of the evaluation data and chooses by it makes that figure optimistic (paper
003, section 2.3: the golden rule). So every scoring leaves a line: what was scored (a hash of ids
and labels), which systems (hashes of their scores) and what came out. A line holds the hash of the
line before, so that a changed or removed one is found; the last ones can be removed unseen.

A scoring that gives the same systems the same figures again adds no line.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from truecost.errors import InputError

SCHEMA_VERSION = 1


Purpose = Literal["evaluation", "development"]


Seen = tuple[str, str]  # a figure, and the hash of the system that has it


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A system that was scored.

    Attributes
    ----------
    sha256 : str
        Of what it put out, whatever its file and the order of its rows.
    """

    name: str
    sha256: str


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure of all systems on the whole evaluation set.

    Attributes
    ----------
    measure : str
        `NAME` or `NAME:VARIANT`.
    parameters : dict
        Costs and priors that enter it.
    dims : dict of str to str
        What it is about besides: application, phase, estimator, version, policy.
    choices : str
        Choices made while reading and counting, of tasks where they are no part of the system.
    direction : {"lower", "higher"}
        Which values are better.
    values : dict of str to float or None
        By name of the system; None where undefined or infinite.
    """

    measure: str
    parameters: dict[str, Any] = {}
    dims: dict[str, str] = {}
    choices: str = ""
    direction: Literal["lower", "higher"]
    values: dict[str, float | None]

    @property
    def key(self) -> str:
        """What must agree for values to be of the same kind."""
        about = (self.measure, self.parameters, self.dims, self.choices)
        return msgspec.json.encode(about, order="deterministic").decode()


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One scoring.

    Attributes
    ----------
    schema_version : int
        Of this layout.
    number : int
        1 for the first line.
    previous : str
        Sha256 of the line before, without its line break; empty for the first.
    evaluation : str
        Sha256 of what was scored: sorted ids with their labels or references.
    task, collection : str
        What the systems do, and how the study calls this evaluation set.
    items : int
        Trials, utterances or whatever was scored.
    item : str
        What they are called.
    purpose : {"evaluation", "development"}
        Choices may be made on development data.
    configuration : str
        Sha256 of the study that was run first of all that give these figures.
    truecost : str
        Version that wrote it.
    """

    schema_version: int
    number: int = msgspec.field(default=0)
    previous: str = msgspec.field(default="")
    evaluation: str
    task: str
    collection: str = ""
    items: int
    item: str = "trial"
    purpose: Purpose = "evaluation"
    systems: tuple[Scored, ...]
    figures: tuple[Figure, ...]
    configuration: str
    truecost: str

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of each system by its name."""
        return {system.name: system.sha256 for system in self.systems}

    @property
    def seen(self) -> dict[Seen, float | None]:
        """Every value by figure and hash of its system."""
        own = self.hashes
        return {(f.key, own[name]): v for f in self.figures for name, v in f.values.items()}

    @property
    def scoring(self) -> tuple[object, ...]:
        """What makes two scorings the same: systems, figures and values, whatever their names."""
        values = {key: None if v is None else f"{v:.12g}" for key, v in self.seen.items()}
        hashes = tuple(sorted(self.hashes.values()))
        return (
            self.evaluation,
            self.purpose,
            self.task,
            hashes,
            tuple(sorted(values.items(), key=repr)),
        )


@dataclass(frozen=True)
class Ledger:
    """What a file holds.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    faults : tuple of str
        Where the chain is broken.
    torn : bytes
        A last line that was not written to its end.
    last : str
        Sha256 of the last whole line; empty when there is none.
    """

    name: str
    lines: tuple[Line, ...] = ()
    faults: tuple[str, ...] = ()
    torn: bytes = b""
    last: str = ""

    def of(self, evaluation: str, upto: int | None = None) -> list[Line]:
        """The scorings of an evaluation set, those up to a line when it is given."""
        lines = self.lines if upto is None else self.lines[:upto]
        return [line for line in lines if line.evaluation == evaluation]


def read_ledger(path: str | Path) -> Ledger:
    """What a ledger holds, its chain verified.

    Returns
    -------
    Ledger
        Its `faults` name the lines at which the chain is broken.

    Raises
    ------
    InputError
        When it cannot be read, or a line is none of a ledger.
    """
    from truecost.formats.streams import opened

    try:
        with opened(path) as file:
            content = file.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return parsed(content, str(path))


def parsed(content: bytes, name: str) -> Ledger:
    """The lines of a ledger."""
    *whole, torn = content.split(b"\n")
    lines: list[Line] = []
    faults, last = [], ""
    for place, text in enumerate(whole, 1):
        line = line_of(text, f"{name}, line {place}")
        if line.previous != last or line.number != place:
            faults.append(broken(name, place, line))
        lines.append(line)
        last = hashlib.sha256(text).hexdigest()
    return Ledger(name, tuple(lines), tuple(faults), torn, last)


def broken(name: str, place: int, line: Line) -> str:
    """What does not follow what."""
    if place == 1:
        return f"{name}, line 1: lines before it were removed (it is number {line.number})"
    numbered = "" if line.number == place else f"; it is number {line.number}"
    return (
        f"{name}, line {place}: it was not written after line {place - 1}, of which it holds "
        f"another hash: line {place - 1} was changed, or lines between them removed{numbered}"
    )


def line_of(text: bytes, where: str) -> Line:
    """One line; InputError where it is none."""
    try:
        version = msgspec.json.decode(text, type=_Versioned).schema_version
        if version > SCHEMA_VERSION:
            raise InputError(
                f"{where}: layout {version} is newer than {SCHEMA_VERSION}, which this truecost "
                f"reads: take a newer truecost"
            )
        return msgspec.json.decode(text, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{where}: this is no line of a results ledger ({error}): name a file that truecost "
            f"wrote, or a new one"
        ) from error


class _Versioned(msgspec.Struct):
    """The one key that every layout has."""

    schema_version: int


def encoded(line: Line) -> bytes:
    """A line as it is written, with its line break."""
    return msgspec.json.encode(line, order="deterministic") + b"\n"


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
