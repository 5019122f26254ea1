"""Checks of a study: strict reading of its tables, and the tables that its task accepts.

msgspec checks types. Before that, a walk over all tables reports every unknown key with its place
and the nearest valid keys; a converter would stop at the first one.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from truecost.errors import UsageError, first_five, near, shown_as
from truecost.face import Face, at
from truecost.gates.verdict import refuse_twice
from truecost.names import COLUMNS, ITEM_MAP_KEYS, STANDARD_INPUT
from truecost.options import KINDS, Declared, PartialTable, certain, check, declared
from truecost.prices import prices_of
from truecost.study.paths import files_of_study
from truecost.study.tables import DataTable, SystemTable
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.task import Live


Table = TypeVar("Table", bound=msgspec.Struct)
OF_MAP = {*ITEM_MAP_KEYS, *COLUMNS} - {"id"}  # keys that are no options of a study themselves
_COMMANDS = ".commands."  # the tables in which a text is likely a whole command


@contextmanager
def naming_file(source: str) -> Iterator[None]:
    """A context in which a UsageError begins with the name of the study."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error


def refuse_task(task: object, source: str) -> None:
    """Refuse a task that does not exist, or whose distribution is broken."""
    if isinstance(task, str):
        with naming_file(source):
            find(task).table_types()


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
    """
    unknown = [*_unknown(content, kind, "", names)]
    if unknown:
        raise UsageError(f"{source}: {'; '.join(unknown)}")
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_plain(str(error))}") from error


WORDS = {  # of a parser, in the words of TOML
    "str": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _plain(said: str) -> str:
    """A fault of the parser: `application.prior is a text: give a number or a list`."""
    said, _, place = said.replace("`", "").partition(" - at $")
    found = re.fullmatch(r"Expected (.+), got (\w+)", said)
    if not found or not place:
        return said + f", in {place.removeprefix('.')}" * bool(place)
    wanted = [WORDS.get(kind, kind) for kind in found[1].split(" | ") if kind != "null"]
    is_ = WORDS.get(found[2], found[2])
    return f"{place.removeprefix('.')} is {is_}: give {' or '.join(wanted)}"


def _wanted(kind: Any, content: Any) -> str:
    """The words for a value of this type; empty where its content is checked instead, or there are
    no words.
    """
    if kind in KINDS:
        return KINDS[kind].lower()
    struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    if isinstance(content, Mapping) or not (struct or get_origin(kind) is dict):
        return ""
    first = content[0] if isinstance(content, list) and content else content
    text = json.dumps(first, ensure_ascii=False) if isinstance(first, str) else "VALUE"
    if fields := getattr(kind if struct else get_args(kind)[1], "__struct_fields__", ()):
        text = f"{{ file = {text} }}" if "file" in fields else "{ KEY = VALUE }"
    return f"a table, such as {text if struct else f'{{ NAME = {text} }}'}"


def _fits(content: Any, kind: Any) -> bool:
    try:
        msgspec.convert(content, kind)
    except msgspec.ValidationError:
        return False
    return True


def _unknown(content: Any, kind: Any, place: str, names: Collection[str] = ()) -> Iterator[str]:
    """Faults of the keys of a table and its nested tables, and of texts in place of lists."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(content, Mapping):
        hints = get_type_hints(kind)
        known = {f.encode_name: hints[f.name] for f in msgspec.structs.fields(kind)}
        names = names or known
        for key, value in content.items():
            if key in known and key in names:
                yield from _unknown(value, known[key], f"{place}{key}.")
                continue
            if "map" in names and key in OF_MAP:
                where = f" under [{place[:-1]}]" * bool(place)
                yield f'{place}{key} is a key of the map: write map = {{ {key} = "COLUMN" }}{where}'
                continue
            inner = next(iter(value), "") if isinstance(value, Mapping) else ""  # of a table
            sought, said = (inner, inner) if inner else (key, "it")
            own = [n for n, t in known.items() if sought in getattr(t, "__struct_fields__", ())]
            hint = f": {said} is a key of {' or '.join(f'[{n}]' for n in own)}" if own else ""
            hint = (near(key, names) if inner else "") or hint or near(key, names)
            hint = hint or f": the keys are {', '.join(names)}"
            yield f"{place}{key} is not known{hint}"
    elif get_origin(only := certain(kind)) is Literal:
        choices = get_args(only)
        if isinstance(content, str) and content not in choices:
            said = f"{place[:-1]} is {content!r}{near(content, choices)}"
            yield f"{said}: choose one of {', '.join(choices)}"
    elif (wanted := _wanted(only, content)) and not _fits(content, kind):
        single = f", or {place[:-2]} for a single one" * place.endswith(".files.")
        yield f"{place[:-1]} is {shown_as(content)}: give {wanted}{single}"
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


Facts = Mapping[str, Collection[str]]  # what is known beside a table, by kind


def idle(table: "PartialTable", facts: Facts = MappingProxyType({})) -> dict[Declared, str]:
    """The options that a table gives although they cannot apply, and what each needs.

    Parameters
    ----------
    facts : mapping of str to collection of str
        Known values of what is not in the table, such as the measures that are asked for.
    """
    kind: Any = type(table)
    given, found = table.given(), {}
    known = {option.key: option for option in declared(kind)}
    for option in (known[key] for key in given if key in known):
        for key, values in option.option.needs.items():
            if key not in known:
                if not {*facts.get(key, values)} & {*values}:
                    said = " or ".join(values)
                    found[option] = f"measure {said}" if key == "measure" else said
                continue
            there = known[key].option
            other = given.get(key, there.default)
            if values and other not in (None, *values):
                found[option] = f"{known[key].flag} {'|'.join(map(str, values))}"
            elif not values and key not in given:
                found[option] = known[key].flag
    return found


def refuse_idle(tables: "Iterable[tuple[PartialTable, Facts]]") -> None:
    """Refuse an option that applies to none of the tables which give it: UsageError.

    Parameters
    ----------
    tables : iterable of (PartialTable, mapping)
        Tables, such as those of several systems, and what is known beside each.
    """
    found = [(table.given(), idle(table, facts)) for table, facts in tables]
    for option, needed in (one for _, every in found for one in every.items()):
        giving = [(given[option.key], every) for given, every in found if option.key in given]
        if all(option in every for _, every in giving):
            keys = giving[0][0] if isinstance(giving[0][0], dict) else {}
            said = f"{option.flag} {next(iter(keys))}=..." if keys else option.flag
            raise UsageError(f"{said} is for {needed}: leave it out")


def _named_else(study: "Study", name: str) -> str:
    """Advice on how to name a system whose file has a name that cannot be shown."""
    file = study.systems[name].file
    return "" if file is None else f"; its file is {file!r}: name the system, NAME=FILE"


def check_names(study: "Study") -> None:
    """Refuse names that cannot be shown or are not unique, and systems without a file."""
    named = {n: getattr(study, n) for n in ("systems", "collections", "applications", "subsets")}
    named |= {name: table for name, table in study.own.items() if isinstance(table, dict)}
    for what, name in ((what, name) for what, tables in named.items() for name in tables):
        if not name.strip() or not name.isprintable():
            raise UsageError(
                f"a name under [{what}] is {name!r}: it needs letters that can be printed"
                f"{_named_else(study, name) if what == 'systems' else ''}"
            )
        if what == "subsets" and name == "all":
            raise UsageError(
                "a subset cannot be named 'all', which is the name of the whole data: rename it"
            )
    if not study.systems and not study.source.given() and not study.own:
        behind = " after the reference" if study.data.reference else ""
        raise UsageError(
            f"no system is named: give at least one file{behind}, or a study file with "
            "[systems.NAME] (--config)"
        )
    if study.application.given() and study.applications:
        raise UsageError("the study has [application] and [applications.NAME]: keep one of the two")
    live = find(study.task).live if study.source.given() and study.task in names() else ""
    if live and at(live).systems:  # it makes the files of its systems
        return
    if study.systems and study.baseline not in (None, *study.systems):
        raise UsageError(
            f"baseline {study.baseline!r} is not a system: the systems are "
            f"{', '.join(study.systems)}"
        )
    for name, system in study.systems.items():
        _check_files(name, system, study.collections)


def _check_files(name: str, system: SystemTable, collections: Collection[str]) -> None:
    """Refuse a system that lacks the file of a collection, or has one of an unknown collection."""
    known = ", ".join(collections)
    if not collections and (system.files or system.file is None):
        more = " (files is for studies with [collections.NAME])" if system.files else ""
        raise UsageError(f"[systems.{name}] needs file = PATH{more}")
    if collections and system.file is not None:
        raise UsageError(
            f"[systems.{name}] has one file, but the study has the collections {known}: give "
            f"files = {{ NAME = PATH, ... }}"
        )
    if {*system.files} ^ {*collections}:
        raise UsageError(
            f"[systems.{name}] gives files for {', '.join(system.files) or 'no collection'}; the "
            f"collections are {known}: give one for each"
        )


def check_ranges(study: "Study", source: str = "") -> None:
    """Refuse numbers outside the ranges of their options; `source` is the file of the study."""
    head = f"{source}: " if source else ""
    for option in declared(type(study)):
        if (value := getattr(study, option.key)) is not None:
            option.check(value, f"{head}{option.key}" if source else option.flag)
    fields = {name: getattr(study, name) for name in study.__struct_fields__ if name != "own"}
    for name, table in {**fields, **study.own}.items():
        several = table if isinstance(table, dict) else {"": table}
        for key, one in several.items():
            if isinstance(one, PartialTable):
                check(one, place=f"{head}[{name}.{key}]" if key else f"{head}[{name}]")


def check_idle(study: "Study") -> None:
    """Refuse options that cannot apply; of systems, those that apply to none."""
    every = [system.over(study.data) for system in study.systems.values()]
    own = ([table] for table in study.own.values() if not isinstance(table, dict))
    tables: list[list[Any]] = [[*every] or [study.data], [study.interval], *own]
    for of in tables if not study.collections else tables[1:]:
        refuse_idle((table, {}) for table in of)


LIVE = ("source", "loop", "learner", "strategy", "expert", "sweep", "help")  # tables of live runs
ALWAYS = ("file", "files")


def check_task(study: "Study") -> None:
    """Refuse settings that do not fit the task of a study, and missing ones."""
    face = find(study.task)
    if live := [name for name in LIVE if getattr(study, name).given()]:
        _check_live(study, live, face)
    for name, table in study.own.items():
        if name not in face.tables and (table if isinstance(table, dict) else table.given()):
            # Where several tasks take a table, the one of its name.
            owner = name if name in names() else next(n for n in names() if name in find(n).tables)
            raise UsageError(f"[{name}] is for task {owner}; the task of the study is {face.name}")
    for table in (study.data, *study.collections.values(), *study.systems.values()):
        _check_data(table, face)
    _refuse_beside(study, face)
    _refuse_deployed(study, face)
    refuse_twice(study.gate, [f"[[gate]] {k + 1}" for k in range(len(study.gate))])
    if study.prices.given():
        prices_of(study.prices.given(), face.prices, face.name)
    if lost := [key for key in study.engine.given() if key not in face.engine]:
        own = f"its keys are {', '.join(face.engine)}" if face.engine else "leave out [engine]"
        raise UsageError(f"{first_five(lost)} under [engine] is not for {face.name}: {own}")
    for key, given in {"worst": study.worst is not None, "also": bool(study.also)}.items():
        if given and key not in face.beside:
            *others, last = (name for name in names() if key in find(name).beside)
            also = f"{', '.join(others)} and " if others else ""
            raise UsageError(f"{key} is for {also}{last}")
    if not face.application and (study.application.given() or study.applications):
        raise UsageError(f"an application has costs and priors of trials; {face.name} has none")
    if sum(file in STANDARD_INPUT for file in files_of_study(study)) > 1:
        raise UsageError("standard input can be read once only: name a file for all but one")
    face.load().check(study)


def _check_live(study: "Study", given: Sequence[str], face: Face) -> None:
    """Refuse tables of a live run where the task has none, or where `[source]` is missing."""
    said = ", ".join(f"[{name}]" for name in given)
    if not face.live:
        runs = [name for name in names() if find(name).live]
        raise UsageError(
            f"{said} {'is' if len(given) == 1 else 'are'} for task {runs[0]}; the task of the "
            f"study is {face.name}: write task = {' or '.join(map(repr, runs))}"
        )
    if "source" not in given:
        raise UsageError(
            f"{said} without [source]: name the source of the items, such as [source] name = "
            f"'digits'"
        )
    live: Live = at(face.live)
    live.check(study)


def _refuse_deployed(study: "Study", face: Face) -> None:
    """Refuse settings that only scoring reads where thresholds are chosen instead."""
    name, _, key = face.choosing.partition(".")
    given = study.given(name)
    if not (given if name != face.name else given.get(key)):
        return
    takes = {o.key: o.option.verbs or ("threshold",) for o in declared(DataTable)}
    for data in (study.data, *study.collections.values(), *study.systems.values()):
        lost = [name for name in data.given() if "threshold" not in takes.get(name, ("threshold",))]
        if lost:
            raise UsageError(
                f"{first_five(lost)} under [data] {'is' if len(lost) == 1 else 'are'} for scoring, "
                f"and this study chooses thresholds: leave {'it' if len(lost) == 1 else 'them'} out"
            )


def _refuse_beside(study: "Study", face: Face) -> None:
    """Refuse settings that only systems of another task have."""
    for name, system in study.systems.items():
        given = system.given()
        beside = [
            k for k in given if k not in (*DataTable.__struct_fields__, *ALWAYS, *face.systems)
        ]
        for other in map(find, names() if beside else ()):
            own = [key for key in other.systems if key in given and key not in face.systems]
            if own:
                raise UsageError(
                    f"[systems.{name}] has {first_five(own)}, which are for {other.name}; the task "
                    f"of the study is {face.name}"
                )


def _check_data(table: DataTable, face: Face) -> None:
    known = DataTable.__struct_fields__
    wrong = [key for key in table.given() if key in known and key not in face.data]
    if wrong:
        raise UsageError(
            f"{first_five(wrong)} under [data] is not for {face.name}: its keys are "
            f"{', '.join(face.data)}"
        )
