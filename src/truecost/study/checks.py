"""One validator for every task: each file as scoring would read it, and every fault listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from truecost.errors import InputError, TruecostError
from truecost.formats import Table
from truecost.names import STANDARD_INPUT
from truecost.options import refuse_idle
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.settings import Source, sources_of
from truecost.tasks import DEFAULT, find

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """One check of a file.

    Attributes
    ----------
    name : str
        What was checked.
    state : {"ok", "warning", "error"}
    message : str
        What was found, and what to do about it.
    """

    name: str
    state: State
    message: str


def validate(
    study: Study, wanted: str | None = None, held: Mapping[str, Table] | None = None
) -> dict[str, Sequence[Check]]:
    """All checks of all files of a study.

    Parameters
    ----------
    study : Study
        Its systems are checked with the settings that scoring would take.
    wanted : str, optional
        File with what has to be there: trials, ids.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that the study has for them.

    Returns
    -------
    dict of str to sequence of Check
        By name of the system, after its collection where there are several.

    Raises
    ------
    UsageError
        When the study contradicts itself.
    InputError
        When a file that all systems share cannot be read.
    """
    work = find(study.task).load()
    judged = work.unjudged(study, wanted)
    judged.check()
    for path in sorted({*_beside(judged)} & {*_beside(study)} - {*(held or {})}):
        if not Path(path).exists():
            raise InputError(f"{path}: there is no such file")
    reader = Reader(study.task or DEFAULT, held)
    found: dict[str, Sequence[Check]] = {}
    for collection in study.collections or ("",):
        for source in sources_of(study, collection):
            name = f"{collection}, {source.name}" if collection else source.name
            found[name] = [*work.checks(source, reader, study, wanted)]
    if not study.collections:
        refuse_idle(reader.facts)
    return found


def _beside(study: Study) -> list[str]:
    """The files that a study names beside those of its systems."""
    named: list[str] = []
    own = {path for of in study.systems.values() for path in (of.file, *of.files.values())}

    def noted(path: str) -> str:
        named.append(path)
        return path

    study.moved(noted)
    return [path for path in dict.fromkeys(named) if path not in {*own, *STANDARD_INPUT}]


def read_alone(source: Source, reader: Reader, study: Study, wanted: str | None) -> Sequence[Check]:
    """The check of a task that has no others: whether scoring can read the file."""
    del wanted
    try:
        record = find(study.task).load().read(source, reader, study)
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    notes = [Check("file", "warning", text) for text in record.problems]
    return [Check("file", "ok", f"{source.file}: {record.summary}"), *notes]
