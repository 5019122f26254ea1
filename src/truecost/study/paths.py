"""Paths in studies: which settings are files, and from where they are meant."""

from pathlib import Path

from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT


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
