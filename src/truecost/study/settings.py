"""From a study to the library's own objects: the sources of its systems, their reader, and their
records, read and counted here or by the workers of an engine.

Each of several systems is a job; of a single system each file, where files are read independently
(`Reader.each`). A worker returns the record of a system, which is small compared with its files,
and facts about its inputs for the result. Results are combined in the order of the study, so that
no byte of a result depends on the engine.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from truecost.core.application import Application, preset
from truecost.core.scoring import Scoring
from truecost.core.weights import Plan
from truecost.errors import TruecostError, UsageError
from truecost.formats import Table, read, sha256
from truecost.names import STANDARD_INPUT, in_store
from truecost.options import PartialTable
from truecost.study.config import Study
from truecost.study.options import directions_of
from truecost.study.outcome import Input
from truecost.study.tables import ApplicationTable, DataTable, IntervalTable, SystemTable
from truecost.task import Record
from truecost.tasks import DEFAULT, find

if TYPE_CHECKING:
    from truecost.engines.mapping import Engine
    from truecost.formats.events import EventLog


Joined = tuple[Table | None, list[tuple[str, Table]]]
Made = TypeVar("Made")
Progress = Callable[[str, int, int], None]  # what is being done, how far it is, and all of it


class Reader:
    """A reader of tables that records facts about its inputs for the result.

    Parameters
    ----------
    task : str
        Task whose formats are recognised.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that stand for them. Like standard input they are not listed
        as inputs of a result, and not hashed.
    progress : callable, optional
        Progress callback.

    Attributes
    ----------
    inputs : list of Input
        Files with their hashes, in the order in which they were asked for.
    readings : list of str
        Notes on the formats that were recognised in files without a stated format.
    facts : list of (PartialTable, dict)
        Tables of the study, with facts about the files that they are for; an option that applies to
        none of these files is refused.
    engine : Engine, optional
        Engine whose workers read files independently (`each`).
    """

    def __init__(
        self,
        task: str = DEFAULT,
        held: Mapping[str, Table] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.task = task
        self.held = held or {}
        self.progress = progress
        self.inputs: list[Input] = []
        self.readings: list[str] = []
        self.facts: list[tuple[PartialTable, dict[str, set[str]]]] = []
        self.engine: Engine | None = None
        self._seen: list[str] = []
        self._made: dict[Hashable, Any] = {}
        self._table = cache(self._read)
        self.digest = cache(sha256)  # of a file

    def table(
        self,
        path: str,
        input_format: str | None = None,
        task: str | None = None,
        *,
        empty: bool = False,
        metadata: bool = False,
    ) -> Table:
        """The table of a file, for a task, or as `metadata`; `empty`: whether it may have no rows,
        where its format allows this. A file is read once.
        """
        return self._table(path, input_format, task or self.task, empty, metadata)

    def given(self, path: str) -> str | Table:
        """The table in memory behind a path; for any other path, the path."""
        return self.held.get(path, path)

    def events(self, path: str, input_format: str | None = None) -> "EventLog":
        """The event log of a file, or of a table in memory."""
        from truecost.formats import events

        if path in self.held:
            return events.of_table(self.held[path])
        return events.read_events(path, input_format)

    def learn(self, table: PartialTable, **facts: Iterable[str]) -> None:
        """Record facts about a file on which options of a table depend; all files of the table
        count.
        """
        known = next((has for other, has in self.facts if other == table), None)
        if known is None:
            self.facts.append((table, known := {}))
        for kind, found in facts.items():
            known.setdefault(kind, set()).update(found)

    def each(self, function: Callable[..., Made], jobs: Sequence[tuple[Any, ...]]) -> list[Made]:
        """The results of a function for each job, such as a file, in order."""
        if self.engine is None:
            return [function(*job) for job in jobs]
        return self.engine.map(function, jobs)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The result of `make`, computed once for a key: a reference that all systems use, say."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    def progress_on(self, what: str) -> Callable[[int, int], None] | None:
        """The progress callback for reading, if there is one."""
        return doing(what, self.progress)

    def scratch(self) -> str:
        """A new folder for data that do not fit into memory. It is removed with the reader, or by
        the next one where the process was killed.
        """
        held = ExitStack()
        from truecost.formats.publishing import aside

        folder = held.enter_context(aside(Path(gettempdir())))
        finalize(self, held.close)
        return str(folder)

    def same(self, path: str, other: str) -> bool:
        """Whether two files have the same bytes."""
        if path in STANDARD_INPUT or other in STANDARD_INPUT:
            return False
        if path in self.held or other in self.held:
            return self.held.get(path) is self.held.get(other)
        return self.digest(path) == self.digest(other)

    def _read(
        self, path: str, input_format: str | None, task: str, empty: bool, metadata: bool
    ) -> Table:
        if path in self.held:
            return self.held[path]
        if path in STANDARD_INPUT and any(p in STANDARD_INPUT for p in self._seen):
            raise UsageError("standard input can be read once only")
        self._seen.append(path)
        table = read(path, input_format, task, empty=empty, metadata=metadata)
        if table.layout:
            self.readings.append(f"{table.source}: read as {table.layout}")
        return table

    def note(self, path: str, system: str = "", collection: str = "") -> None:
        """Record the hash of a file of a system (of a key or metadata when no system is named);
        files of an object store are left out, as they would be read once more.
        """
        if path in STANDARD_INPUT or path in self.held or in_store(path):
            return
        digest = self.digest(path)
        entry = Input(system=system, file=Path(path).name, sha256=digest, collection=collection)
        if entry not in self.inputs:
            self.inputs.append(entry)

    def joined(self, data: DataTable, collection: str = "") -> Joined:
        """The key, and each metadata table with the trial column that it is joined by."""
        key = None if data.key is None else self.table(data.key, data.key_format)
        if data.key is not None:
            self.note(data.key, collection=collection)
        metadata = []
        for given in data.metadata:
            column, _, file = given.rpartition("=")
            metadata.append((column or "id", self.table(file, task=DEFAULT, metadata=True)))
            self.note(file, collection=collection)
        return key, metadata


def doing(what: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    """The progress callback, if there is one."""
    return None if progress is None else partial(progress, what)


def application_of(table: ApplicationTable) -> Application:
    """The application of a table; 0/1 costs and the priors of the data when it is empty."""
    given = table.given()
    if isinstance(table.prior, tuple):
        listed = ", ".join(f"{p:g}" for p in table.prior)
        raise UsageError(
            f"--prior, or prior of [application] in a study, is {listed}: give one here. Only "
            f"score, compare, plan and run take several priors; to calibrate for several, use "
            f"truecost run STUDY with [calibration] train"
        )
    if table.preset is not None:
        known = preset(table.preset)
        if len(given) > 1:
            raise UsageError(
                f"preset {table.preset} sets costs and prior: leave out "
                f"{_flags(k for k in given if k != 'preset')}"
            )
        return known
    single = [k for k in ("cost_miss", "cost_fa", "prior") if k in given]
    if not table.cost_matrix and not table.priors:
        costs = table.settled("cost_miss"), table.settled("cost_fa")
        return Application.detection(*costs, table.prior) if single else Application()
    clash = [k for k in single if k != "prior" or table.priors]
    if clash:
        raise UsageError(
            f"{_flags(clash)} cannot be combined with --cost-matrix or --priors: leave one out"
        )
    priors = table.priors or None
    if table.prior is not None:
        priors = (1 - table.prior, table.prior)
    return Application(table.cost_matrix or None, priors)


def plan_of(table: IntervalTable, *, always: bool = False) -> Plan:
    """The resampling plan of `[interval]`; `always`: moving blocks are drawn in any case."""
    blocks = always or table.resample == "blocks"
    if table.block_length is not None and not blocks:
        raise UsageError("a block length is for moving blocks: use --resample blocks")
    return Plan(
        table.settled("replicates"),
        table.settled("seed"),
        table.settled("resample"),
        block_length=table.block_length,
        hold=table.hold,
    )


def scoring_of(
    study: Study,
    application: ApplicationTable,
    data: DataTable,
    progress: Progress | None = None,
    reader: Reader | None = None,
) -> Scoring:
    """The scoring of one system and application; `reader` reads files that choices name."""
    face, interval = find(study.task), study.interval
    work = face.load()
    return Scoring(
        replace(application_of(work.application(application)), prices=study.prices),
        study.measures,
        plan_of(interval, always=face.blocks),
        interval.settled("level"),
        interval.settled("method"),
        interval.settled("icc"),
        subsets=tuple(e if name == e else (name, e) for name, e in study.subsets.items()),
        jobs=interval.jobs,
        progress=progress,
        choices=work.choices(study, data, reader),
        also=study.also,
        directions=directions_of(data),
    )


def _flags(keys: Iterable[str]) -> str:
    """Keys as flags of the command line, and as keys of a file."""
    return ", ".join(f"--{k.replace('_', '-')}" for k in keys)


@dataclass(frozen=True)
class Source:
    """A system's file and what it holds.

    Attributes
    ----------
    data : DataTable
        The system's own table over that of its collection over `[data]`.
    shared : dict of str to str
        The map without that of the system, whose own map is of its file and of no other.
    collection : str
        Empty when there is one.
    table : SystemTable
        The system's own table, with what is said of it beside its file.
    """

    name: str
    file: str
    data: DataTable
    shared: dict[str, str]
    collection: str = ""
    table: SystemTable = field(default_factory=SystemTable)


def sources_of(study: "Study", collection: str = "") -> list[Source]:
    """The sources of the systems of a collection.

    Parameters
    ----------
    collection : str
        Empty when the study has one.
    """
    below = study.collections.get(collection, DataTable()).over(study.data)
    found = []
    for name, table in study.systems.items():
        own = {k: v for k, v in table.given().items() if k in DataTable.__struct_fields__}
        file = table.files[collection] if collection else table.file
        data = DataTable(**own).over(below)
        found.append(Source(name, file or "", data, below.map, collection, table))
    return found


SMALL = 1 << 25  # bytes of all systems, below which starting workers takes longer than counting


@dataclass(frozen=True, eq=False)
class WorkerFindings:
    """The result of a worker for a system: its record, or its error."""

    record: Record | TruecostError
    inputs: list[Input]
    readings: list[str]
    facts: list[tuple[PartialTable, dict[str, set[str]]]]


def found_in(source: Source, study: Study) -> WorkerFindings:
    """The record of a system, read by itself: the job of a worker."""
    reader = Reader(study.task or DEFAULT)
    record: Record | TruecostError
    try:
        record = find(study.task).load().read(source, reader, study)
    except TruecostError as error:  # which of several is told does not depend on who is first
        record = error
    return WorkerFindings(record, reader.inputs, reader.readings, reader.facts)


@contextmanager
def reading(study: Study, reader: Reader) -> Iterator[Callable[[Source], Record]]:
    """A function that returns the record of a source; it raises the UsageError and InputError of
    reading here.
    """
    work = find(study.task).load()
    sources = [s for name in study.collections or ("",) for s in sources_of(study, name)]
    if not (work.apart and _pays(study, reader, sources)):
        yield lambda source: work.read(source, reader, study)
        return
    from truecost.engines.mapping import engine_of

    with engine_of(study.engine.engine, study.interval.jobs) as engine:
        if len(sources) == 1:
            reader.engine = engine
            yield lambda source: work.read(source, reader, study)
            return
        jobs = [(source, study) for source in sources]
        every = engine.map(found_in, jobs, reader.progress_on("reading systems"))
    known = {(s.collection, s.name): found for s, found in zip(sources, every, strict=True)}
    yield lambda source: _taken_over(known[source.collection, source.name], reader)


def _pays(study: Study, reader: Reader, sources: list[Source]) -> bool:
    """Whether to use workers: they are asked for, can open the files, and have enough to do."""
    if study.engine.engine in (None, "serial") or reader.held:
        return False
    if any(source.file in STANDARD_INPUT for source in sources):
        return False
    return sum(_bytes_of(Path(source.file)) for source in sources) >= SMALL


def _bytes_of(path: Path) -> int:
    """The size of a file, or of the files of a folder; 0 for a missing one."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _taken_over(found: WorkerFindings, reader: Reader) -> Record:
    """The record found by a worker; its inputs are added to the reader."""
    reader.inputs += [entry for entry in found.inputs if entry not in reader.inputs]
    reader.readings += found.readings
    for table, facts in found.facts:
        reader.learn(table, **facts)
    if isinstance(found.record, TruecostError):
        raise found.record
    return found.record
