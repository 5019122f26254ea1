"""TOML files: studies and gates."""

import tomllib
from typing import Any

from truecost.errors import InputError, UsageError
from truecost.formats.stored import read_bytes


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises
    ------
    InputError
        When it cannot be read.
    UsageError
        When it is no TOML; says the line.
    """
    data = read_bytes(path)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: the text is not UTF-8; save the file so") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: this is no valid TOML: {error}") from error
