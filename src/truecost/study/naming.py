"""Names of systems given as files on a command line."""

from collections.abc import Sequence
from pathlib import Path

from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT


def name_systems(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Name and path of each system: `NAME=PATH`, or the file's name without its endings.

    Parameters
    ----------
    paths : sequence of str

    Returns
    -------
    list of (str, str)

    Raises
    ------
    UsageError
        When two systems are named alike, or standard input is given twice.
    """
    named = [_named(given) for given in paths]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two systems are named alike ({', '.join(names)}): name them with NAME=PATH"
        )
    if sum(path in STANDARD_INPUT for _, path in named) > 1:
        raise UsageError("standard input can be read once only")
    return named


def _named(given: str) -> tuple[str, str]:
    name, mark, path = given.partition("=")
    if mark and not Path(given).exists():
        return name, path
    if given in STANDARD_INPUT:
        return "stdin", given
    resolved = Path(given).resolve()
    return (resolved.name if resolved.is_dir() else resolved.name.split(".")[0]), given
