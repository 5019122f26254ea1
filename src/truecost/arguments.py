"""Arguments of the verbs in Python, and their allowed values.

A text names a column or a file, an array contains values, a tuple of texts names several columns. A
table in memory gets a path that no file has, under which the reader of a study finds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, near, shown_as
from truecost.face import Face
from truecost.formats import Table
from truecost.names import COLUMNS, ITEM_MAP_KEYS
from truecost.options import KINDS, Declared
from truecost.study.arguments import is_frame, is_table, names_in, table_of, with_columns

MARK = "memory:"  # how the path of a held table begins
SYSTEM = "system"  # the name of the only one in memory
OF_ITEMS = {*ITEM_MAP_KEYS} - {"id"}
HOW = (
    "give a path, several, a frame, a mapping of columns to arrays, or a mapping of names of "
    "systems to paths or frames; give arrays of scores and labels as scores= and labels="
)


@dataclass(frozen=True)
class MemoryTables:
    """The tables in memory of one call, by the paths that stand for them.

    Attributes
    ----------
    ids : str
        Column by which the task joins rows, or empty. A table without it gets row numbers from 1.
    mapped : str
        Column that the caller named as the ids, in place of `ids`.
    """

    ids: str = ""
    mapped: str = ""
    tables: dict[str, Table] = field(default_factory=dict)

    def add(self, name: str, given: Any, columns: Mapping[str, Any] | None = None) -> str:
        """Hold a table in memory, and return the path that stands for it.

        Parameters
        ----------
        name : str
            Name of the table in messages.
        columns : mapping of str to array_like, optional
            Columns to add; one of a name that the table has replaces that column.
        """
        path = f"{MARK}{name}"
        while path in self.tables:
            path += "'"
        table = table_of(name, given)
        table = with_columns(table, columns) if columns else table
        read = isinstance(given, Table)  # what a reader made knows its ids
        self.tables[path] = table if read or not self.ids else self._identified(table)
        return path

    def _identified(self, table: Table) -> Table:
        """A table for a task that joins by ids; rows correspond by position where the table has no
        ids.
        """
        if self.mapped or self.ids in table.columns:
            return replace(table, ordered=False)
        ids = pl.Series(self.ids, range(1, len(table) + 1)).cast(pl.String)
        return replace(table, frame=table.frame.with_columns(ids), ordered=True)


@dataclass(frozen=True)
class Request:
    """A call of a verb in the terms of a study.

    Attributes
    ----------
    systems : dict of str to str
        Files by system name.
    wanted : str, optional
        File with the ids that an output must have.
    """

    held: MemoryTables
    given: dict[Declared, Any]
    systems: dict[str, str]
    references: tuple[str, ...] = ()
    wanted: str | None = None


@dataclass(frozen=True)
class _Columns:
    """The arguments for keys of the map: names of columns, and values.

    Attributes
    ----------
    map : dict of str to str
        Column names by key.
    values : dict of str to array_like
        Values of all systems, by column.
    beside : dict of str to array_like
        Values of the reference, by column, for units and subsets of items.
    scores : dict of str to array_like
        Scores by system.
    parameters : dict of str to str
        Argument names by column, for messages.
    leads : bool
        Whether the task has a reference.
    """

    leads: bool = False

    map: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)

    def take(self, key: str, given: Any, parameter: str) -> None:
        """Store the argument for a key: a column, several in a tuple, or values."""
        several = isinstance(given, tuple) and bool(given)
        if key in self.map or (key == "score" and self.scores):
            raise UsageError(f"{key} is given twice: by its own name, by another one, or in map")
        if isinstance(given, Mapping) and key != "score":
            raise UsageError(
                f"{key} is a mapping, but only scores of several systems may be one: name a "
                f"column, or put the values into the table of each system"
            )
        values = self.beside if self.leads and key in OF_ITEMS else self.values
        if isinstance(given, str):
            self.map[key] = given
        elif several and all(isinstance(one, str) or np.ndim(one) > 0 for one in given):
            sides = {f"{key}_{place}": side for place, side in enumerate(given, 1)}
            values |= {name: side for name, side in sides.items() if not isinstance(side, str)}
            self.map[key] = "+".join(s if isinstance(s, str) else n for n, s in sides.items())
        elif isinstance(given, Mapping):
            self.scores.update(given)
        else:
            column = _called(key, given, values)
            values[column] = given
            self.map[key] = column
            self.parameters[column] = parameter

    def refuse_lengths(self, values: Mapping[str, Any], system: str = "") -> None:
        """Refuse arrays of different lengths that are the whole data of a system."""
        called = self.parameters | {"score": f"scores[{system!r}]"} if system else self.parameters
        sizes = {called.get(c, c): len(v) for c, v in values.items() if np.ndim(v) > 0}
        if len({*sizes.values()}) > 1:
            said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            raise InputError(f"arrays have several lengths: {said}: give one entry for each trial")


def _called(key: str, given: Any, taken: Mapping[str, Any]) -> str:
    """The name of a series, which becomes that of the factor; otherwise the key."""
    own = getattr(given, "name", None)
    series = isinstance(own, str) and own and hasattr(given, "to_numpy")
    return str(own) if series and own not in taken else key


def asked_of(
    face: Face,
    verb: str,
    known: Sequence[Declared],
    data: Any,
    arguments: Mapping[str, Any],
    others: Sequence[str] = (),
) -> Request:
    """The request that a call of a verb makes.

    Parameters
    ----------
    known : sequence of Declared
        Options of the verb.
    arguments : mapping of str to object
        Values by name; None for an argument that was not given.
    others : sequence of str
        Names of further arguments, for the error message.
    """
    said = {key: value for key, value in arguments.items() if value is not None}
    names = names_of(known)
    leads = {"reference"} & {*face.leading}
    wanted = {face.wanted} - {""} if verb == "validate" else set()
    columns, rest = _Columns(leads=bool(leads)), {}
    for key, value in said.items():
        option = names.get(key)
        if option is None and key not in (*leads, *wanted):
            raise UsageError(_unknown(verb, face, key, {*names, *leads, *wanted, *others}))
        if option is None:
            continue
        if option.table == "map":
            columns.take(option.key, value, key)
        elif option.key == "map" and isinstance(value, Mapping):
            for meaning, column in value.items():
                columns.take(str(meaning), column, str(meaning))
        else:
            rest[option] = value
    held = MemoryTables("id" if "id" in face.formats.columns else "", columns.map.get("id", ""))
    how = {"folders": face.folders, "in_parts": verb in face.in_parts}
    if data is not None and "matrix" in face.formats.texts:
        from truecost.formats.matrices import in_memory

        data = in_memory(data)
    systems = _systems(data, columns, held, how)
    given = {option: value_of(option, value, held) for option, value in rest.items()}
    if columns.map:
        option = next(one for one in known if one.key == "map")
        given[option] = {**given.get(option, {}), **columns.map}
    references = _references(said.get("reference"), columns.beside, held)
    lists = [_listed(said[name], name, held) for name in wanted & {*said}]
    return Request(held, given, systems, references, lists[0] if lists else None)


def names_of(known: Sequence[Declared]) -> dict[str, Declared]:
    """The arguments of options: their flags and keys, and other names of columns."""
    found = {option.name: option for option in known}
    for option in known:
        found.setdefault(option.key, option)
    for key, others in COLUMNS.items():
        if key in found and found[key].table == "map":
            for other in others:
                found.setdefault(other, found[key])
    return found


def texts_of(name: str, given: Any) -> tuple[str, ...]:
    """Texts of an argument; a single text is one name. UsageError for any other value."""
    return () if given is None else names_in(name, given)


def _unknown(verb: str, face: Face, key: str, names: set[str]) -> str:
    """A message: there is no such argument, with the nearest ones."""
    nearest = get_close_matches(key.casefold(), sorted(names), n=5, cutoff=0.5)[1:]
    others = f"; others like it are {', '.join(nearest)}" if nearest else ""
    said = f"{verb} has no argument {key!r}{near(key, names, 0.5)}{others}"
    return f"{said}; truecost list options {face.name} lists all of them"


def _systems(
    data: Any, columns: _Columns, held: MemoryTables, how: Mapping[str, bool]
) -> dict[str, str]:
    """The files of the systems by name; tables in memory are held. `how`: options of
    `name_systems`.
    """
    from truecost.study.paths import name_systems

    if isinstance(data, Mapping) and data and all(map(_is_file, data.values())):
        systems = {str(name): of for name, of in data.items()}
    elif is_path(data) or _are_paths(data):
        paths = [data] if is_path(data) else [*data]
        systems = dict(name_systems([str(path) for path in paths], **how))
    elif data is not None and is_table(data):
        systems = {SYSTEM: data}
    elif data is not None:
        empty = isinstance(data, list | tuple | Mapping) and not data
        first = data[0] if isinstance(data, list | tuple) and not empty else data
        if isinstance(getattr(first, "task", None), str):  # a record, counted already
            raise UsageError(
                f"data is {_kind_of_data(data)}, a record: use tc.score_system(record, scoring), "
                f"or tc.compare_systems"
            )
        raise UsageError(f"data is {'empty' if empty else _kind_of_data(data)}: {HOW}")
    elif columns.scores:
        systems = {str(name): {} for name in columns.scores}
    else:
        systems = {SYSTEM: {}} if columns.values else {}
    if wrong := {*columns.scores} - {*systems}:
        raise UsageError(
            f"score names {', '.join(sorted(wrong))}, but the systems are {', '.join(systems)}"
        )
    found = {}
    for name, of in systems.items():
        own = {"score": columns.scores[name]} if name in columns.scores else {}
        values = {**columns.values, **own}
        if isinstance(of, Mapping) and not of:
            columns.refuse_lengths(values, name if own else "")
        found[name] = _place(name, of, values, held)
    return found


def _kind_of_data(data: Any) -> str:
    """A description of an object that is not data."""
    first = next(iter(data), None) if isinstance(data, list | tuple) else None
    shown = shown_as(data if first is None else first)
    return shown if first is None else f"a {type(data).__name__} whose first element is {shown}"


def is_path(given: Any) -> bool:
    """Whether an object is the path of a file."""
    return isinstance(given, str | Path)


def _are_paths(data: Any) -> bool:
    return isinstance(data, list | tuple) and bool(data) and all(map(is_path, data))


def _place(name: str, of: Any, values: Mapping[str, Any], held: MemoryTables) -> str:
    """The path of a system: that of its file, or the one that stands for its table."""
    if not is_path(of):
        return held.add(name, of, values)
    if values:
        raise UsageError(
            f"{next(iter(values))} is an array, but {of} is a file: name a column of this file"
        )
    return str(of)


def _references(given: Any, values: Mapping[str, Any], held: MemoryTables) -> tuple[str, ...]:
    """The files of references; the first one in memory gets the values of further arguments."""
    found = () if given is None else _files(given, "reference", held)
    if values and (not found or found[0] not in held.tables):
        raise UsageError(
            f"{next(iter(values))} is an array, which needs a reference in memory: name a column"
        )
    if values:
        held.tables[found[0]] = with_columns(held.tables[found[0]], values)
    return found


def value_of(option: Declared, given: Any, held: MemoryTables) -> Any:
    """The value of an option in the form of its table."""
    known = option.option
    if known.file and option.table != "systems":
        given = _named(given, option) if callable(known.file) else given
        files = _files(given, option.name, held, sided=bool(known.sided))
        return files if option.many else files[0]
    if option.table == "systems" and isinstance(given, Mapping):
        given = [f"{name}={file}" for name, file in given.items()]
    if isinstance(given, str) and known.read is not None:
        return known.read(given, option.flag)
    if isinstance(given, str) and option.many:
        given = given.split(",") if known.split else [given]
    try:
        return msgspec.convert(_plain(given), option.kind)
    except msgspec.ValidationError as error:
        raise UsageError(_misfit(option, given)) from error


def _named(given: Any, option: Declared) -> Any:
    """Words or files of an option, each text read like that of a flag; other values unchanged."""
    read = option.option.read
    texts = [given] if isinstance(given, str) else given
    if read is None or not isinstance(texts, list | tuple):
        return given
    parts = [read(one, option.flag) if isinstance(one, str) else (one,) for one in texts]
    return tuple(one for part in parts for one in part)


def _misfit(option: Declared, given: Any) -> str:
    """A message about an invalid value of an option, with what to give."""
    if not option.words:
        known = KINDS.get(option.kind, "")
        said = f"{option.flag} is {shown_as(given)}"
        return f"{said}: give {known or option.values.replace('; comma-separated', ' or several')}"
    meant = near(given, option.words)
    shown = repr(given) if isinstance(given, str) else shown_as(given)
    return f"{option.flag} is {shown}{meant}: choose one of {', '.join(option.words)}"


def _plain(given: Any) -> Any:
    """Arrays, numbers of numpy and paths as plain values."""
    if isinstance(given, np.ndarray | np.generic):
        return given.tolist()
    if isinstance(given, Path):
        return str(given)
    if isinstance(given, list | tuple):
        return [_plain(one) for one in given]
    if isinstance(given, Mapping):
        return {str(key): _plain(value) for key, value in given.items()}
    return given


def _files(given: Any, name: str, held: MemoryTables, *, sided: bool = False) -> tuple[str, ...]:
    """Paths of files, and of held tables."""
    if is_path(given):
        return (str(given),)
    if isinstance(given, Mapping) and sided and all(map(_is_file, given.values())):
        sides = {key: _files(file, name, held)[0] for key, file in given.items()}
        return tuple(f"{key}={file}" for key, file in sides.items())
    if is_table(given):
        return (held.add(name, given),)
    if isinstance(given, list | tuple) and given and all(map(_is_file, given)):
        return tuple(path for one in given for path in _files(one, name, held))
    raise UsageError(f"{name} is {shown_as(given)}: give a path, a frame or a mapping of columns")


def _is_file(given: Any) -> bool:
    return is_path(given) or is_table(given)


def _listed(given: Any, name: str, held: MemoryTables) -> str:
    """The file of a list of ids, which may be an array in memory."""
    if is_path(given) or is_frame(given) or isinstance(given, Mapping):
        return _files(given, name, held)[0]
    return held.add(name, {"id": given})
