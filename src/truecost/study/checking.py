"""What a study may say: strict reading of its tables, and which of them go with its task.

msgspec checks types; the walk before it names every unknown key with its place and nearest valid
neighbours, which a converter that stops at the first cannot.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from truecost.errors import UsageError, first_five, near
from truecost.face import Face, at
from truecost.names import COLUMNS, ITEM_MAP_KEYS, STANDARD_INPUT
from truecost.options import PartialTable
from truecost.study.tables import DataTable
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.task import Live


Table = TypeVar("Table", bound=msgspec.Struct)


OF_MAP = {*ITEM_MAP_KEYS, *COLUMNS} - {"id"}  # keys that are no options of a study themselves


_COMMANDS = ".commands."  # the tables in which a text is likely a whole command


def convert(
    content: Mapping[str, Any], kind: type[Table], source: str, names: Collection[str] = ()
) -> Table:
    """Tables as a struct.

    Parameters
    ----------
    content : mapping
        Builtins, as TOML gives them.
    source : str
        Name for messages.
    names : collection of str, optional
        The keys that may stand at the top, where these are not the fields of the struct.

    Raises
    ------
    UsageError
        When a key is not known (with the nearest one) or a value is of another type.
    """
    unknown = [*_unknown(content, kind, "", names)]
    if unknown:
        raise UsageError(f"{source}: {'; '.join(unknown)}")
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", in ").replace(" - at $", "")
        raise UsageError(f"{source}: {said}") from error


def _words(kind: Any) -> tuple[str, ...]:
    """The words that a key may be; empty where it may be anything else."""
    kinds = (
        [k for k in get_args(kind) if k is not NoneType]
        if get_origin(kind) in (Union, UnionType)
        else []
    )
    only = kinds[0] if len(kinds) == 1 else kind
    return get_args(only) if get_origin(only) is Literal else ()


def _unknown(content: Any, kind: Any, place: str, names: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with the keys of a table and of the tables in it; lists given as a text."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(content, Mapping):
        hints = get_type_hints(kind)
        known = {f.encode_name: hints[f.name] for f in msgspec.structs.fields(kind)}
        names = names or known
        for key, value in content.items():
            if key in known and key in names:
                yield from _unknown(value, known[key], f"{place}{key}.")
                continue
            if "map" in names and key in OF_MAP:
                yield f"{place}{key} is a key of the map: write {place}map.{key} = COLUMN"
                continue
            close = get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
            yield f"{place}{key} is not known: {hint}"
    elif isinstance(content, str) and (choices := _words(kind)) and content not in choices:
        said = f"{place[:-1]} is {content!r}{near(content, choices)}"
        yield f"{said}: choose one of {', '.join(choices)}"
    elif get_origin(kind) is tuple and get_args(kind)[0] is str and isinstance(content, str):
        words = content.split() or ["python", "train.py"] if _COMMANDS in place else [content]
        what = "words" if _COMMANDS in place else "texts"
        said = json.dumps(words, ensure_ascii=False)
        yield f"{place[:-1]} is a text: write a list of {what}, such as {said}"
    elif get_origin(kind) is dict and isinstance(content, Mapping):
        for key, value in content.items():
            yield from _unknown(value, get_args(kind)[1], f"{place}{key}.")
    elif get_origin(kind) is tuple and isinstance(content, list | tuple):
        for number, value in enumerate(content, 1):
            yield from _unknown(value, get_args(kind)[0], f"{place[:-1]}[{number}].")


def columns_joined(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with columns that a map lists (`unit = ["enrol", "test"]`) joined by +."""
    return {
        name: columns_joined(value) if isinstance(value, Mapping) else value
        for name, value in tables.items()
    } | {name: _map_joined(tables[name]) for name in ("map", "reference_map") if name in tables}


def _map_joined(columns: Any) -> Any:
    if not isinstance(columns, Mapping):
        return columns
    return {
        key: "+".join(of) if isinstance(of, list) and all(isinstance(c, str) for c in of) else of
        for key, of in columns.items()
    }


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
    said = ", ".join(f"[{name}]" for name in given)
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
