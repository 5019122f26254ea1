"""Sources of life cycles: what one is, how they are found by name, and what each makes."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from truecost.errors import UsageError, first_five
from truecost.learning.lifelong import sources
from truecost.learning.lifelong.course import Course

Make = Callable[[Any, int], Course]


@dataclass(frozen=True)
class Kind:
    """One kind of source.

    Attributes
    ----------
    text : str
        A line on it.
    settings : type of msgspec.Struct
        The keys of `[source]` that it reads, beside `name`; frozen.
    make : callable
        From settings and the seed of a run to a course: the same for the same, in any process.
    files : tuple of str
        Settings that name the files that it reads (a path, or several); a run resumes only while
        these are the same, byte by byte.
    outputs : str
        What is put out: classes, transcripts, translation or diarization; the setting `kind` says
        it where this is empty.
    extra : str
        The extra of truecost that has to be installed; empty for none.
    """

    text: str
    settings: type[msgspec.Struct]
    make: Make
    files: tuple[str, ...] = ()
    outputs: str = ""
    extra: str = ""


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of source by its name, in the order of the modules.

    Raises
    ------
    UsageError
        When two have one name.
    """
    found: dict[str, Kind] = {}
    for module in pkgutil.iter_modules(sources.__path__):
        listed = getattr(
            importlib.import_module(f"{sources.__name__}.{module.name}"),
            "SOURCES",
            {},
        )
        if repeated := sorted({*listed} & {*found}):
            raise UsageError(f"two sources are named {repeated[0]!r}")
        found |= listed
    return found


def settings_of(name: str, options: Mapping[str, Any]) -> msgspec.Struct:
    """The settings of a source, read strictly.

    Parameters
    ----------
    name : str
        One of `kinds()`.
    options : mapping of str to object
        The keys of `[source]` without the name; those of a table `options` stand beside the others.

    Raises
    ------
    UsageError
        When the name or a key is not known, a key is missing, or a value is of another type.
    """
    known = kinds()
    if name not in known:
        raise UsageError(f"[source] name = {name!r} is not known: {_near(name, known)}")
    given = _flat(options)
    wanted = known[name].settings
    fields = {one.encode_name: one for one in msgspec.structs.fields(wanted)}
    for key in given:
        if key not in fields:
            raise UsageError(f"[source] name = {name!r} has no key {key!r}: {_near(key, fields)}")
    if lost := [key for key, one in fields.items() if one.required and key not in given]:
        raise UsageError(f"[source] name = {name!r} needs {lost[0]} = ...")
    try:
        return msgspec.convert(given, wanted)
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", in ").replace(" - at $", "")
        raise UsageError(f"[source] name = {name!r}: {said}") from error


def course_of(name: str, options: Mapping[str, Any], seed: int) -> Course:
    """The course of a source for one seed.

    Parameters
    ----------
    options : mapping of str to object
        As `settings_of` has them.
    seed : int
        Of every draw.

    Raises
    ------
    UsageError
        As `settings_of` says, and when settings do not go together.
    InputError
        When the data are not as they should be; says where.
    MissingExtraError
        When a package is needed that is not installed.
    """
    settings = settings_of(name, options)
    return kinds()[name].make(settings, seed)


def files_of(name: str, options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The files that a source reads, by the setting that names them; errors as `settings_of`.

    Returns
    -------
    dict of str to tuple of str
        Settings that name nothing are left out.
    """
    settings = settings_of(name, options)
    named = {key: getattr(settings, key) for key in kinds()[name].files}
    return {k: (v,) if isinstance(v, str) else tuple(v) for k, v in named.items() if v}


def outputs_of(name: str, options: Mapping[str, Any]) -> str:
    """What is put out for the course of a source, before it is made; errors as `settings_of`.

    Returns
    -------
    str
        classes, transcripts, translation or diarization; empty where only the course tells.
    """
    settings = settings_of(name, options)
    return kinds()[name].outputs or str(getattr(settings, "kind", ""))


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keys, with those of a table `options` beside the others."""
    given = {key: value for key, value in options.items() if key not in ("options", "name")}
    nested = options.get("options", {})
    if twice := sorted(given.keys() & nested.keys()):
        raise UsageError(f"[source]: {first_five(twice)} is given twice; once is enough")
    return given | dict(nested)


def _near(name: str, known: Mapping[str, Any]) -> str:
    """Words for a name that is not known."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
