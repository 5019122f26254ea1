"""The validator of every task: each file read as for scoring, and a list of every fault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from truecost.errors import InputError, TruecostError, first_five
from truecost.formats import Table
from truecost.names import STANDARD_INPUT
from truecost.study.checking import refuse_idle
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Problem
from truecost.study.paths import files_of_study
from truecost.study.settings import Reader, Source, sources_of
from truecost.tasks import DEFAULT, find

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """Result of one check of a file.

    Attributes
    ----------
    name : str
        Subject of the check, such as `scores` or `trials`.
    state : {"ok", "warning", "error"}
        Outcome of the check.
    message : str
        Description of the problem, and what to do.
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
        Study; its systems are checked with the settings of scoring.
    wanted : str, optional
        File with the required trials or ids.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that the study has for them.

    Returns
    -------
    dict of str to sequence of Check
        Checks by system name, after the collection where there are several.
    """
    work = find(study.task).load()
    judged = work.unjudged(study, wanted)
    judged.check()
    for path in sorted({*_named_files(judged)} & {*_named_files(study)} - {*(held or {})}):
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


def checked(checks: Mapping[str, Sequence[Check]], strict: bool, task: str | None) -> Outcome:
    """The outcome of checks; if strict, warnings make it invalid too."""
    bad = {"error", "warning"} if strict else {"error"}
    wrong = [name for name, of in checks.items() if any(one.state in bad for one in of)]
    of = f": {len(wrong)} of {len(checks)} ({first_five(wrong)})" if len(checks) > 1 else ""
    return Outcome(
        (),
        tuple(
            Problem(kind="data", message=one.message)
            for every in checks.values()
            for one in every
            if one.state != "ok"
        ),
        remarks=(f"NOT VALID{of}" if wrong else "valid",),
        task=task or DEFAULT,
        checks=checks,
        valid=not wrong,
    )


def _named_files(study: Study) -> list[str]:
    """The files that a study names beside those of its systems."""
    own = {path for of in study.systems.values() for path in (of.file, *of.files.values())}
    named = dict.fromkeys(files_of_study(study))
    return [path for path in named if path not in {*own, *STANDARD_INPUT}]


def read_alone(source: Source, reader: Reader, study: Study, wanted: str | None) -> Sequence[Check]:
    """The check of a task without others: whether scoring can read the file."""
    del wanted
    try:
        record = find(study.task).load().read(source, reader, study)
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    notes = [Check("file", "warning", text) for text in record.problems]
    return [Check("file", "ok", f"{source.file}: {record.summary}"), *notes]
