"""Paths in studies: which settings are files, and from where they are meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT
from truecost.study.tables import DataTable, SystemTable

Data = TypeVar("Data", bound=DataTable)
ONE_FILE = ("key", "users", "labels", "ecf", "rttm", "occurrences", "kwlist")  # of [data]
RECORDS = ("indexing", "searching", "resources")  # of [systems.NAME]: what it took


def files_moved(data: Data, place: Callable[[str], str]) -> Data:
    """A table with every path of a file replaced by `place(path)`."""
    changed: dict[str, Any] = {
        "metadata": tuple(side(m, place) for m in data.metadata),
        "lines": tuple(side(m, place) for m in data.lines),
        "reference": tuple(map(place, data.reference)),
    }
    alone = {name: getattr(data, name) for name in ONE_FILE}
    changed |= {name: place(file) for name, file in alone.items() if file is not None}
    if isinstance(data, SystemTable):
        changed["file"] = None if data.file is None else place(data.file)
        changed["files"] = {k: place(v) for k, v in data.files.items()}
        changed |= {name: tuple(map(place, getattr(data, name))) for name in RECORDS}
    return msgspec.structs.replace(data, **changed)


def plain(file: str) -> str:
    """A path that a file can have."""
    if "\0" in file:
        raise UsageError(f"the path {file!r} holds a NUL, which no file name can have")
    return file


def beside(study: str, file: str) -> str:
    """A path of a study file, which is meant from the folder of that file."""
    if file in STANDARD_INPUT or study in STANDARD_INPUT:
        return file
    return str(Path(study).parent / file)


def side(metadata: str, place: Callable[[str], str]) -> str:
    """`FILE` or `COLUMN=FILE` with the path replaced."""
    column, mark, file = metadata.rpartition("=")
    return f"{column}{mark}{place(file)}"
