"""Strict reading of study tables: an unknown key says "did you mean", a wrong type where it stands.

msgspec checks types; the walk before it names every unknown key with its place and nearest valid
neighbours, which a converter that stops at the first cannot.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from truecost.errors import UsageError, near
from truecost.names import COLUMNS, ITEM_MAP_KEYS

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
