"""The records of the systems of a study: read and counted here, or by the workers of an engine.

Of several systems each is a job; of a single one each of its files, where these are read one by one
(`Reader.each`). A worker gives back the record of a system, which is small beside its files, with
what the result says of its inputs. These are put together in the order of the study, so that no
byte of a result depends on the engine.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from truecost.errors import TruecostError
from truecost.names import STANDARD_INPUT
from truecost.options import PartialTable
from truecost.study.config import Study
from truecost.study.outcome import Input
from truecost.study.settings import Reader, Source, sources_of
from truecost.task import Record
from truecost.tasks import DEFAULT, find

SMALL = 1 << 25  # bytes of all systems, below which starting workers takes longer than counting


@dataclass(frozen=True, eq=False)
class Found:
    """What a worker found in the files of a system: its record, or what is wrong with it."""

    record: Record | TruecostError
    inputs: list[Input]
    readings: list[str]
    facts: list[tuple[PartialTable, dict[str, set[str]]]]


def found_in(source: Source, study: Study) -> Found:
    """The record of a system, read by itself: the job of a worker."""
    reader = Reader(study.task or DEFAULT)
    record: Record | TruecostError
    try:
        record = find(study.task).load().read(source, reader, study)
    except TruecostError as error:  # which of several is told does not depend on who is first
        record = error
    return Found(record, reader.inputs, reader.readings, reader.facts)


@contextmanager
def reading(study: Study, reader: Reader) -> Iterator[Callable[[Source], Record]]:
    """From a source to its record; UsageError and InputError as reading it here would raise."""
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
    """Whether workers are asked for, can open the files, and have enough to do."""
    if study.engine.engine in (None, "serial") or reader.held:
        return False
    if any(source.file in STANDARD_INPUT for source in sources):
        return False
    return sum(_bytes_of(Path(source.file)) for source in sources) >= SMALL


def _bytes_of(path: Path) -> int:
    """The size of a file, or of the files of a folder; 0 where there is none."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _taken_over(found: Found, reader: Reader) -> Record:
    """The record that a worker found, and what the result says of its inputs."""
    reader.inputs += [entry for entry in found.inputs if entry not in reader.inputs]
    reader.readings += found.readings
    for table, facts in found.facts:
        reader.learn(table, **facts)
    if isinstance(found.record, TruecostError):
        raise found.record
    return found.record
