"""Errors name files as the user did, also where work is done on absolute paths."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import TruecostError

if TYPE_CHECKING:
    from truecost.study.config import Study


@contextmanager
def named_as_given(study: "Study") -> Iterator[None]:
    """Errors raised within name the files of a study as the study does.

    Parameters
    ----------
    study : Study
        Whose paths may be relative.
    """
    given: list[str] = []

    def note(path: str) -> str:
        given.append(path)
        return path

    study.moved(note)
    places = {str(Path(path).absolute()): path for path in given}
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
    """The files that are read."""
    found: list[str] = []

    def note(file: str) -> str:
        found.append(file)
        return file

    study.moved(note)
    return found
