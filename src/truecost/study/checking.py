"""Which parts of a study go with its task: what another task would need is refused, not ignored."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from truecost.errors import UsageError, first_five
from truecost.face import Face, at
from truecost.names import STANDARD_INPUT
from truecost.options import PartialTable
from truecost.study.tables import DataTable
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.task import Live

LIVE = ("source", "loop", "learner", "strategy", "expert", "sweep", "help")  # tables of live runs
ALWAYS = ("file", "files")


def check_task(study: "Study") -> None:
    """Refuse what does not go with the task of a study, and what it lacks.

    Raises
    ------
    UsageError
        When a key is of another task, there is no reference, or a number is out of range.
    """
    face = find(study.task)
    if live := [name for name in LIVE if getattr(study, name).given()]:
        _check_live(study, live, face)
    for name, table in study.own.items():
        if name not in face.tables and _given(table):
            raise UsageError(
                f"[{name}] goes with task {_owner(name)}; the task of the study is {face.name}"
            )
    for table in (study.data, *study.collections.values(), *study.systems.values()):
        _check_data(table, face)
    _refuse_beside(study, face)
    if not face.worst and study.worst is not None:
        raise UsageError(f"worst goes with {_and([n for n in names() if find(n).worst])}")
    if not face.costs and (study.application.given() or study.applications):
        raise UsageError(f"an application has costs and priors of trials; {face.name} has none")
    _check_standard_input(study)
    face.load().check(study)


def _check_live(study: "Study", given: Sequence[str], face: Face) -> None:
    """Refuse tables of a live run where there is none, and what the task does not run."""
    said = f"{', '.join(f'[{name}]' for name in given)}"
    if not face.live:
        runs = [name for name in names() if find(name).live]
        raise UsageError(
            f"{said} {'goes' if len(given) == 1 else 'go'} with task {runs[0]}; the task of the "
            f"study is {face.name}: say task = {' or '.join(map(repr, runs))}"
        )
    if "source" not in given:
        raise UsageError(
            f"{said} without [source]: say where the items come from, such as "
            f"[source] name = 'digits'"
        )
    live: Live = at(face.live)
    live.check(study)


def _owner(table: str) -> str:
    """The task that a table is of: that of its name, where several take it."""
    return table if table in names() else next(n for n in names() if table in find(n).tables)


def _and(words: Sequence[str]) -> str:
    """Words with an "and" before the last."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _given(table: "PartialTable | Mapping[str, object]") -> bool:
    """Whether a table, or one by name, says anything."""
    return bool(table if isinstance(table, Mapping) else table.given())


def _refuse_beside(study: "Study", face: Face) -> None:
    """What only systems of one task have is of no other."""
    for name, system in study.systems.items():
        given = system.given()
        beside = [
            k for k in given if k not in (*DataTable.__struct_fields__, *ALWAYS, *face.systems)
        ]
        for other in map(find, names() if beside else ()):
            own = [key for key in other.systems if key in given and key not in face.systems]
            if own:
                raise UsageError(
                    f"[systems.{name}] has {first_five(own)}, which go with {other.name}; the task "
                    f"of the study is {face.name}"
                )


def _check_standard_input(study: "Study") -> None:
    """Standard input can be read once: not as a reference and an output."""
    found: list[str] = []

    def noted(file: str) -> str:
        found.append(file)
        return file

    study.moved(noted)
    if sum(file in STANDARD_INPUT for file in found) > 1:
        raise UsageError("standard input can be read once only: name a file for all but one")


def _check_data(table: DataTable, face: Face) -> None:
    known = DataTable.__struct_fields__
    wrong = [key for key in table.given() if key in known and key not in face.data]
    if wrong:
        raise UsageError(
            f"{first_five(wrong)} under [data] does not go with {face.name}: it takes "
            f"{', '.join(face.data)}"
        )
