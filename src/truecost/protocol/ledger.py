"""The results ledger: an append-only file with every scoring of an evaluation set.

Choosing by a figure of the evaluation data makes that figure optimistic (Ferrer et al. 2024,
section 2.3: the golden rule). So every scoring leaves a line: what was scored (a hash of ids and
labels), which systems (hashes of their scores) and what came out. A line holds the hash of the line
before, so that a changed or removed one is found; the last ones can be removed unseen. A scoring
that gives the same systems the same figures again adds no line.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import structs

from truecost.errors import InputError, named
from truecost.formats.opening import opened, why_undecoded

SCHEMA_VERSION = 1
BEGIN = b'{"schema_version":'  # of every line, so that no other file is taken for a torn one
Purpose = Literal["evaluation", "development"]
Seen = tuple[str, str]  # a figure, and the hash of the system that has it


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A system that was scored, and the hash of what it put out, whatever its file and order of
    rows.
    """

    name: str
    sha256: str


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure (`NAME` or `NAME:VARIANT`) of all systems on the whole evaluation set.

    `parameters` are costs and priors that enter it; `dims` what it is about besides: application,
    phase, estimator, version, policy; `choices` those made while reading and counting, of tasks
    where they are no part of the system; `values` stand by system, None where undefined or
    infinite.
    """

    measure: str
    parameters: dict[str, Any] = {}
    dims: dict[str, str] = {}
    choices: str = ""
    direction: Literal["lower", "higher"]
    values: dict[str, float | None]

    @property
    def key(self) -> str:
        """The facts that must agree for values to be of the same kind."""
        about = (self.measure, self.parameters, self.dims, self.choices)
        return msgspec.json.encode(about, order="deterministic").decode()


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One scoring. `number` is 1 for the first line, and `previous` the sha256 of the line before,
    without its line break.

    `evaluation` is the sha256 of what was scored: sorted ids with their labels or references;
    `collection` how the study calls it; `items` how many trials, utterances or whatever `item` says
    were scored. Choices may be made on data whose `purpose` is development. `configuration` is the
    sha256 of the study that was run first of all that give these figures.
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
        """The facts that make two scorings the same: systems, figures and values, whatever their
        names.
        """
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
    """Content of a results ledger: a file that lists every scoring of an evaluation set.

    Attributes
    ----------
    name : str
        Path of the file, for messages.
    lines : tuple of Line
        Scorings, one for each line of the file.
    faults : tuple of str
        Descriptions of the lines that were changed or removed. The ledger detects them because each
        line contains the hash of the line before.
    torn : bytes
        Incomplete last line, left by a program that was stopped while it wrote the line; empty if
        there is none.
    last : str
        SHA-256 of the last complete line; empty if there is none.
    """

    name: str
    lines: tuple[Line, ...] = ()
    faults: tuple[str, ...] = ()
    torn: bytes = b""
    last: str = ""

    def scorings(self, evaluation: str, upto: int | None = None) -> list[Line]:
        """The scorings of the evaluation set with the hash ``evaluation``, in the order of the
        file; with ``upto``, only those in the first ``upto`` lines of the ledger.
        """
        lines = self.lines if upto is None else self.lines[:upto]
        return [line for line in lines if line.evaluation == evaluation]


def read_ledger(path: str | Path) -> Ledger:
    """Read a results ledger, and check that no line was changed or removed.

    Changed and removed lines are not errors: ``Ledger.faults`` lists them.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not the line of a ledger.
    """
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
    if not torn.startswith(BEGIN[: len(torn)]):
        line_of(torn, f"{name}, line {len(whole) + 1}")
    return Ledger(name, tuple(lines), tuple(faults), torn, last)


def broken(name: str, place: int, line: Line) -> str:
    """The places where the chain is broken."""
    if place == 1:
        return f"{name}, line 1: lines before it were removed (it is number {line.number})"
    numbered = "" if line.number == place else f"; it is number {line.number}"
    return (
        f"{name}, line {place}: the hash of the line before it is not that of line {place - 1}: "
        f"line {place - 1} was changed, or lines between them were removed{numbered}"
    )


def line_of(text: bytes, where: str) -> Line:
    """One line; InputError where it is none."""
    try:
        version = msgspec.json.decode(text, type=_Versioned).schema_version
        if version > SCHEMA_VERSION:
            raise InputError(
                f"{where}: layout {version} is newer than {SCHEMA_VERSION}, which this truecost "
                "reads: install a newer truecost"
            )
        line = msgspec.json.decode(text, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{where}: this line is not from a ledger of results ({why_undecoded(error)}): "
            "name a ledger that truecost wrote (ledger.jsonl), or a new file"
        ) from error
    unknown = sorted({name for found in line.figures for name in found.values} - {*line.hashes})
    if unknown:
        raise InputError(
            f"{where}: {named('system', unknown, 'have')} figures and no hash among the systems: "
            f"the line was changed; restore it"
        )
    return line


class _Versioned(msgspec.Struct):
    """The one key that every layout has."""

    schema_version: int


def encoded(line: Line) -> bytes:
    """A line as it is written, with its line break."""
    return msgspec.json.encode(line, order="deterministic") + b"\n"


def keep(path: str | Path, scorings: Sequence[Line]) -> tuple[Ledger, list[int], list[str]]:
    """Write scorings down, those that are not there yet; `said` is what was mended, and where the
    chain is broken, and `places` the number of the line of each scoring.

    One process writes at a time (`flock`); lines are written whole, and one that a crash cut off is
    taken away first. Scorings come without number and hash of the line before.
    """
    try:
        with _locked_file(Path(path)) as file:
            content = file.read()
            found = parsed(content, str(path))
            content, mended = _mended(file, content, found)
            said, found = [*found.faults, *mended], parsed(content, str(path))
            known = {line.scoring: place for place, line in reversed([*enumerate(found.lines, 1)])}
            places, lines, last, new = [], [*found.lines], found.last, b""
            for scoring in scorings:
                if scoring.scoring not in known:
                    known[scoring.scoring] = place = len(lines) + 1
                    lines.append(structs.replace(scoring, number=place, previous=last))
                    text = encoded(lines[-1])
                    last, new = hashlib.sha256(text[:-1]).hexdigest(), new + text
                places.append(known[scoring.scoring])
            if new:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return replace(found, lines=tuple(lines), last=last), places, said


def _mended(file: BinaryIO, content: bytes, ledger: Ledger) -> tuple[bytes, list[str]]:
    """Take away a last line that was cut off, or end it where only its line break is lacking."""
    if not ledger.torn:
        return content, []
    where = f"{ledger.name}, line {len(ledger.lines) + 1}"
    try:
        msgspec.json.decode(ledger.torn, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        whole = content[: -len(ledger.torn)]
        file.truncate(len(whole))
        file.seek(0, os.SEEK_END)
        return whole, [f"{where}: it was cut off while it was written, and is removed"]
    file.write(b"\n")
    return content + b"\n", [f"{where}: its missing line break is restored"]


@contextmanager
def _locked_file(path: Path) -> Iterator[BinaryIO]:
    """The file, opened to read and to append, while no other process writes to it."""
    import fcntl

    with path.open("a+b") as file:
        # A file system may have no locks: lines are appended whole all the same.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The best value of a measure on an evaluation set: the system by the name in its first line,
    and the number of that line; `of` systems have a value.
    """

    measure: str
    parameters: dict[str, Any]
    dims: dict[str, str]
    value: float
    system: str
    line: int
    of: int


class EvaluationSet(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a ledger for one evaluation set: how many different scorings there are, how
    many of them of development data, the systems, each once by the hash of what it put out, the
    best of each measure, and the numbers of its first and last line.
    """

    evaluation: str
    task: str
    collection: str
    items: int
    item: str
    scored: int
    as_development: int
    systems: tuple[Scored, ...]
    best: tuple[Best, ...]
    first: int
    last: int


def evaluation_sets(ledger: Ledger) -> list[EvaluationSet]:
    """A summary of each evaluation set of a ledger (number of scorings, systems, best values), in
    the order of their first lines.
    """
    found = dict.fromkeys(line.evaluation for line in ledger.lines)
    return [_set(ledger.scorings(evaluation)) for evaluation in found]


def _set(lines: list[Line]) -> EvaluationSet:
    """The content of the lines of one evaluation set."""
    first, last = lines[0], lines[-1]
    systems: dict[str, Scored] = {}
    for system in (system for line in lines for system in line.systems):
        systems.setdefault(system.sha256, system)
    return EvaluationSet(
        evaluation=first.evaluation,
        task=first.task,
        collection=first.collection,
        items=first.items,
        item=first.item,
        scored=len(lines),
        as_development=sum(line.purpose == "development" for line in lines),
        systems=tuple(systems.values()),
        best=_best(lines),
        first=first.number,
        last=last.number,
    )


def by_figure(lines: Sequence[Line]) -> dict[str, list[tuple[Line, Figure]]]:
    """The lines that have a figure, with it, by its key."""
    found: dict[str, list[tuple[Line, Figure]]] = {}
    for line in lines:
        for figure in line.figures:
            found.setdefault(figure.key, []).append((line, figure))
    return found


def _best(lines: Sequence[Line]) -> tuple[Best, ...]:
    """The best value of each figure: the first of those that tie."""
    told = [
        [
            (value, name, *both)
            for both in of
            for name, value in both[1].values.items()
            if value is not None
        ]
        for of in by_figure(lines).values()
    ]
    return tuple(map(_best_of, filter(None, told)))


def _best_of(values: list[tuple[float, str, Line, Figure]]) -> Best:
    """The best of the values of one figure."""
    choose = min if values[0][3].direction == "lower" else max
    value, name, line, figure = choose(values, key=lambda told: told[0])
    return Best(
        measure=figure.measure,
        parameters=figure.parameters,
        dims=figure.dims,
        value=value,
        system=name,
        line=line.number,
        of=len({own.hashes[system] for _, system, own, _ in values}),
    )


def chosen(lines: Sequence[Line]) -> bool:
    """Whether scorings of one evaluation set may have decided something.

    There are two of them at least, and several systems, or one in several ways, or choices were
    made on the same data when they were development data.
    """
    if len(lines) < 2:
        return False
    if any(line.purpose == "development" for line in lines[:-1]):
        return True
    if len({sha for line in lines for sha in line.hashes.values()}) > 1:
        return True
    values: dict[object, object] = {}
    return any(values.setdefault(k, v) != v for line in lines for k, v in line.seen.items())
