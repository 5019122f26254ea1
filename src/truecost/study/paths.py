"""Names of systems from their files; the settings that are paths, and the folders that they are
relative to; the names of files in errors.

Logs of a live run::

    run/logs/courses/seed-0.json               the course: its kind and its classes
    run/logs/plastic/assisted/seed-0.jsonl.gz  a log of the system `plastic`
    run/logs/plastic/frozen/seed-0.jsonl.gz    a log of the system `plastic-frozen`
"""

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError, TruecostError, UsageError, first_five, no_file
from truecost.names import STANDARD_INPUT, in_store, real

if TYPE_CHECKING:
    from truecost.study.config import Study


@contextmanager
def named_as_given(study: "Study") -> Iterator[None]:
    """Context in which error messages name files with the paths of the study.

    Parameters
    ----------
    study : Study
        Study whose paths may be relative.
    """
    places = {str(Path(path).absolute()): path for path in files_of_study(study)}
    try:
        yield
    except TruecostError as error:
        said = text = str(error)
        for absolute in sorted(places, key=len, reverse=True):  # a file before its folder
            if Path(absolute).is_file():
                said = said.replace(absolute, places[absolute])
        if said == text:
            raise
        raise type(error)(said) from error


def files_of_study(study: "Study") -> list[str]:
    """The files that a study reads."""
    found: list[str] = []

    def note(file: str) -> str:
        found.append(file)
        return file

    study.moved(note)
    return found


LISTS = (".kwslist", ".stdlist")  # s.kwslist.xml is named s


def name_systems(
    paths: Sequence[str], *, folders: bool = False, in_parts: bool = False
) -> list[tuple[str, str]]:
    """Name and path of each system: `NAME=PATH`, or the file's name without its ending.

    Files of one name in several folders are named after their folders too (`a/scores`).

    Parameters
    ----------
    folders : bool
        A folder stands for the files in it, and in its folders, but for hidden ones.
    in_parts : bool
        A pattern is one system, named after its folder.
    """
    split = [
        (name, path)
        for name, pattern in map(given_name, paths)
        for path in (
            [pattern]
            if name is not None or (in_parts and is_pattern(pattern))
            else _files(pattern, folders=folders)
        )
    ]
    told = iter(unique_names([path for name, path in split if name is None]))
    named = [(name if name is not None else next(told), path) for name, path in split]
    _refuse_alike(named)
    if sum(path in STANDARD_INPUT for _, path in named) > 1:
        raise UsageError("standard input can be read once only")
    return named


def _refuse_alike(named: Sequence[tuple[str, str]]) -> None:
    """Refuse names that several systems have, with their files."""
    files: dict[str, list[str]] = {}
    for name, path in named:
        files.setdefault(name, []).append(path)
    alike = {name: paths for name, paths in files.items() if len(paths) > 1}
    if alike:
        most = max(map(len, alike.values()))
        said = "; ".join(
            f"{Path(paths[0]).stem if '/' in name else name} ({first_five(paths)})"
            for name, paths in alike.items()
        )
        raise UsageError(
            f"{'two' if most == 2 else most} systems have the same name: {said}: leave one "
            "out, or give another name with NAME=PATH"
        )


def _files(pattern: str, *, folders: bool) -> list[str]:
    """The files of a pattern, with those of its folders where folders are not systems."""
    found = matches(pattern)
    return [file for path in found for file in (files_of(path) if folders else [path])]


def files_of(path: str) -> list[str]:
    """The visible files below a folder, sorted; for a file, the file."""
    folder = Path(path)
    if path not in STANDARD_INPUT and not folder.exists():
        raise InputError(no_file(path))
    if not folder.is_dir():
        return [path]
    inside = (p.relative_to(folder) for p in folder.rglob("*") if not p.is_dir())
    found = sorted(p for p in inside if not any(part.startswith(".") for part in p.parts))
    if not found:
        raise InputError(f"{path}: there are no files in this folder")
    return [str(folder / p) for p in found]


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern for files."""
    return path not in STANDARD_INPUT and not Path(path).exists() and glob.has_magic(path)


def matches(path: str) -> list[str]:
    """The files that match a pattern, sorted; for any other path, the path."""
    if not is_pattern(path):
        return [path]
    if in_store(path):
        from truecost.engines.partitions import stored_files

        return stored_files(path)
    # Path.glob refuses patterns that start at the root.
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
    if not found:
        raise InputError(f"{path}: no file matches this pattern")
    return found


TABLES = (".parquet", ".csv", ".tsv", ".ndjson", ".jsonl", ".txt")  # of a folder of parts


def parts_of_system(path: str) -> list[str]:
    """The files of one system: those that match a pattern, or the tables of a folder; otherwise the
    path. Other files beside tables are refused, except names that begin with a dot or `_`.
    """
    if is_pattern(path):
        return matches(path)
    folder = Path(path)
    if not folder.is_dir():
        return [path]
    if (folder / "result.json").exists():
        raise UsageError(
            f"{path}: this folder contains a result of truecost: name the files that were scored, "
            f"or read the result with truecost report {path}"
        )
    inside = sorted(p for p in folder.iterdir() if not p.is_dir() and p.name[0] not in "._")
    tables = [p for p in inside if p.suffix.lower() in TABLES]
    others = [p.name for p in inside if p not in tables]
    if tables and others:
        raise UsageError(
            f"{path}: the tables of a folder are read as parts of one system, and this folder "
            f"contains other files: {first_five(others)}. Name a file, such as {tables[0]}, or "
            f"tables with a pattern, such as '{folder / f'*{tables[0].suffix}'}'"
        )
    return [str(p) for p in tables] or [path]


def given_name(given: str) -> tuple[str | None, str]:
    """Name and path of `NAME=PATH`; a file with an equals sign in its name is a path."""
    name, mark, path = given.partition("=")
    return (name, path) if mark and not Path(given).exists() else (None, given)


def unique_names(paths: Sequence[str]) -> list[str]:
    """Names of files without ending, after as many of their folders as make them unique.

    Returns
    -------
    list of str
        Equal only for equal paths.

    Examples
    --------
    >>> from truecost.study.paths import unique_names
    >>> unique_names(["a/x/scores.csv", "a/y/scores.csv", "b/x/scores.csv", "other.v2.csv.gz"])
    ['a/x/scores', 'y/scores', 'b/x/scores', 'other.v2']
    """
    parts = [_parts(path) for path in paths]
    depth = [1] * len(parts)
    while True:
        names = ["/".join(p[-d:]) for p, d in zip(parts, depth, strict=True)]
        alike = [k for k, n in enumerate(names) if names.count(n) > 1 and depth[k] < len(parts[k])]
        if not alike:
            return names
        for k in alike:
            depth[k] += 1


def _parts(path: str) -> tuple[str, ...]:
    """The folders of a path, and its name without ending."""
    if path in STANDARD_INPUT:
        return ("stdin",)
    resolved = real(path)
    if is_pattern(path):
        return tuple(takewhile(lambda part: not glob.has_magic(part), resolved.parts[1:]))
    if resolved.is_dir():
        name = name_in_run(path)  # run/logs/plastic/frozen is plastic-frozen
        return resolved.parts[1:] if name is None else (*resolved.parts[1:-2], name)
    stem = Path(resolved.name.removesuffix(".gz")).stem
    for ending in LISTS:
        stem = stem.removesuffix(ending)
    return (*resolved.parts[1:-1], stem)


def plain(file: str) -> str:
    """A path that a file can have."""
    if "\0" in file:
        raise UsageError(
            f"the path {file!r} contains a NUL character, which file names cannot contain"
        )
    return file


def path_beside(study: str, file: str) -> str:
    """A path in a study file, relative to the folder of that file."""
    if file in STANDARD_INPUT or study in STANDARD_INPUT or in_store(file):
        return file
    return str(Path(study).parent / file)


COURSES = "courses"  # as `truecost.learning.passes` names them
ASSISTED = "assisted"
PASSES = (ASSISTED, "unsupervised", "frozen")


@dataclass(frozen=True)
class RunCourse:
    """The course of outputs that a run wrote beside its logs.

    Attributes
    ----------
    file : str
        Path of the file with the course, relative to the folder of all logs.
    kind : str
        Kind of the outputs.
    """

    file: str
    kind: str
    classes: tuple[str, ...]


def course_beside(path: str) -> RunCourse | None:
    """The course beside a log, or a folder of logs, of a run directory.

    Returns
    -------
    RunCourse or None
        Course; None for a log outside a run directory.
    """
    courses = _courses(path)
    if courses is None:
        return None
    own = courses / f"{Path(path).name.partition('.')[0]}.json"
    found = own if own.is_file() else min(courses.glob("*.json"), default=None)
    if found is None:
        return None
    try:
        said = json.loads(found.read_bytes())
        kind, classes = str(said["kind"]), tuple(map(str, said["classes"]))
        return RunCourse(f"{COURSES}/{found.name}", kind, classes)
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise InputError(
            f"{found}: this file does not state the kind of the outputs of {path} ({error!r}): "
            f"use --output-kind, and move the logs out of this directory"
        ) from error


def name_in_run(path: str) -> str | None:
    """The name of a system in a live run, from its folder of logs; None for any other folder.

    Returns
    -------
    str or None

    Examples
    --------
    >>> from truecost.study.paths import name_in_run
    >>> name_in_run("somewhere/plastic/frozen") is None
    True
    """
    if path in STANDARD_INPUT or not Path(path).is_dir() or _courses(path) is None:
        return None
    system, way = real(path).parts[-2:]
    return system if way == ASSISTED else f"{system}-{way}"


def _courses(path: str) -> Path | None:
    """The folder with the courses of a run, from a log or a folder of logs; None without one."""
    if path in STANDARD_INPUT:
        return None
    place = Path(path)
    folder = real(place) if place.is_dir() else real(place).parent
    courses = folder.parent.parent / COURSES
    return courses if folder.name in PASSES and courses.is_dir() else None
