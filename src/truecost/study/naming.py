"""Names of systems given as files on a command line."""

from collections.abc import Sequence
from pathlib import Path

from truecost.errors import UsageError
from truecost.names import STANDARD_INPUT


def name_systems(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Name and path of each system: `NAME=PATH`, or the file's name without its ending.

    Files of one name in several folders are named after their folders too (`a/scores`).

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
        named = [_with_folder(*pair) if names.count(pair[0]) > 1 else pair for pair in named]
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
    if resolved.is_dir():
        return resolved.name, given
    return Path(resolved.name.removesuffix(".gz")).stem, given


def _with_folder(name: str, path: str) -> tuple[str, str]:
    """The name after that of its folder, where the name comes from the path."""
    resolved = Path(path).resolve()
    return (f"{resolved.parent.name}/{name}" if resolved.name.startswith(name) else name), path
