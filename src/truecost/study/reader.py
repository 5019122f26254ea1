"""Reading the files of a study: each once, its hash taken, and how it was read remembered."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truecost.errors import UsageError
from truecost.formats import Table, read, sha256
from truecost.names import STANDARD_INPUT
from truecost.options import PartialTable
from truecost.study.outcome import Input
from truecost.study.tables import DataTable

if TYPE_CHECKING:
    from truecost.formats.events import EventLog

Joined = tuple[Table | None, list[tuple[str, Table]]]
Made = TypeVar("Made")


class Reader:
    """Reads tables, and remembers what a result says of its inputs.

    Parameters
    ----------
    task : str
        Whose formats are recognised.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that stand for them. Like standard input they are no inputs
        of a result: nothing of theirs is hashed.

    Attributes
    ----------
    inputs : list of Input
        Files with their hashes, in the order in which they were asked for.
    readings : list of str
        How files without a stated format were read.
    facts : list of (PartialTable, dict)
        Tables of the study, and what the files that they are for turned out to hold: options that
        apply to none of these are refused.
    """

    def __init__(self, task: str = "trials", held: Mapping[str, Table] | None = None) -> None:
        self.task = task
        self.held = held or {}
        self.inputs: list[Input] = []
        self.readings: list[str] = []
        self.facts: list[tuple[PartialTable, dict[str, set[str]]]] = []
        self._seen: list[str] = []
        self._made: dict[Hashable, Any] = {}
        self._table = cache(self._read)
        self._hash = cache(sha256)

    def table(
        self,
        path: str,
        input_format: str | None = None,
        task: str | None = None,
        *,
        empty: bool = False,
    ) -> Table:
        """The table of a file of a task, which may be `empty` where its format allows it; one that
        is asked for again is read once.
        """
        return self._table(path, input_format, task or self.task, empty)

    def given(self, path: str) -> str | Table:
        """The table in memory that a path stands for; any other path itself."""
        return self.held.get(path, path)

    def events(self, path: str, input_format: str | None = None) -> "EventLog":
        """The event log of a file, or of a table in memory."""
        from truecost.formats import events

        if path in self.held:
            return events.of_table(self.held[path])
        return events.read_events(path, input_format)

    def learn(self, table: PartialTable, **facts: Iterable[str]) -> None:
        """Note what a file holds, of which options of a table depend; all files of it count."""
        known = next((has for other, has in self.facts if other == table), None)
        if known is None:
            self.facts.append((table, known := {}))
        for kind, found in facts.items():
            known.setdefault(kind, set()).update(found)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once for a key: a reference that all systems share."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    def same(self, path: str, other: str) -> bool:
        """Whether two files hold the same bytes."""
        if path in STANDARD_INPUT or other in STANDARD_INPUT:
            return False
        if path in self.held or other in self.held:
            return self.held.get(path) is self.held.get(other)
        return self._hash(path) == self._hash(other)

    def _read(self, path: str, input_format: str | None, task: str, empty: bool) -> Table:
        if path in self.held:
            return self.held[path]
        if path in STANDARD_INPUT and any(p in STANDARD_INPUT for p in self._seen):
            raise UsageError("standard input can be read once only")
        self._seen.append(path)
        table = read(path, input_format, task, empty=empty)
        if table.layout:
            self.readings.append(f"{table.source}: read as {table.layout}")
        return table

    def digest(self, path: str) -> str:
        """The hash of a file."""
        return self._hash(path)

    def note(self, path: str, system: str = "", collection: str = "") -> None:
        """Take the hash of a file that gives a system (a key or metadata when none is named)."""
        if path in STANDARD_INPUT or path in self.held:
            return
        digest = self._hash(path)
        entry = Input(system=system, file=Path(path).name, sha256=digest, collection=collection)
        if entry not in self.inputs:
            self.inputs.append(entry)

    def joined(self, data: DataTable, collection: str = "") -> Joined:
        """The key, and each metadata table with the column of the trials that it joins by."""
        key = None if data.key is None else self.table(data.key, data.key_format)
        if data.key is not None:
            self.note(data.key, collection=collection)
        metadata = []
        for given in data.metadata:
            column, _, file = given.rpartition("=")
            metadata.append((column or "id", self.table(file, task="trials")))
            self.note(file, collection=collection)
        return key, metadata
