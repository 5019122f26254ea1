"""Writers: one for each format that can be read, and nothing lost that the format can hold.

Text keeps its digits. A column of text becomes numbers, in formats that have types, only when
writing the numbers gives the same text again, so that an id such as 007 stays one; scores are
always numbers there. A file is written aside and then moved to its place, so that nothing
half-written ever looks whole. Equal tables give equal bytes.
"""

from collections.abc import Iterable
from pathlib import Path

from truecost.errors import InputError, UsageError
from truecost.formats import encoding
from truecost.formats.declared import WRITTEN, by_ending
from truecost.formats.publishing import publish, tidy
from truecost.formats.table import Table
from truecost.names import FORMATS


def write(
    table: Table, path: str, output_format: str | None = None, *, force: bool = False
) -> tuple[str, ...]:
    """Write a table to a file, or to a folder of arrays.

    Parameters
    ----------
    path : str
        Where to; an ending `.gz` compresses.
    output_format : str, optional
        One of `truecost list formats`; from the path's ending when left out. With `npy` a path that
        ends in .npy becomes a file with the scores, any other one a folder of all columns.
    force : bool
        Replace what is there.

    Returns
    -------
    tuple of str
        Columns that the format has no place for.

    Raises
    ------
    UsageError
        When the format is not known or lacks a column, or something is there already.
    InputError
        When the format cannot hold a value, or the file cannot be written.
    """
    kind = format_of(path, output_format)
    ending = Path(path).suffix.lower()
    target = Path(path).resolve()  # a link stays, and what it points to is replaced
    stream = target.exists() and not (target.is_file() or target.is_dir())
    check_target(path, (table.source,), force=force)
    encoded = encoding.encode(table, kind, single=ending == ".npy")
    if isinstance(encoded.content, dict) and (ending == ".gz" or stream):
        raise UsageError(f"{path}: a folder of arrays is no single file: write an .npz file")
    content = _packed(encoded.content) if ending == ".gz" else encoded.content
    if stream:
        _into_stream(target, content)
    else:
        publish({target: _named(content) if isinstance(content, dict) else content})
    return encoded.left_out


def content_of(table: Table, path: str, output_format: str | None = None) -> bytes:
    """The bytes of a table in the format of a path's ending; `.gz` at its end compresses.

    Parameters
    ----------
    path : str
        Of a file: a folder of arrays is none.
    output_format : str, optional
        In place of what the ending says.

    Raises
    ------
    UsageError, InputError
        As `write` says.
    """
    content = encoding.encode(table, format_of(path, output_format), single=True).content
    assert isinstance(content, bytes)
    return _packed(content) if path.lower().endswith(".gz") else content


def format_of(path: str, output_format: str | None) -> str:
    """The format in which a path is written.

    Parameters
    ----------
    output_format : str or None
        From the path's ending when None.

    Raises
    ------
    UsageError
        When it is not known, or the ending does not say it.
    """
    kind = by_ending(path, WRITTEN) if output_format is None else output_format
    if kind is None:
        raise UsageError(
            f"{path}: the ending does not say which format to write: give --output-format, one of "
            f"{', '.join(FORMATS)}"
        )
    if kind not in FORMATS:
        raise UsageError(f"output format {kind!r} is not known: choose one of {', '.join(FORMATS)}")
    return kind


def check_target(path: str, sources: Iterable[str] = (), *, force: bool = False) -> None:
    """Refuse to write where something is that must not be replaced.

    Parameters
    ----------
    path : str
        Where to; a pipe or a device holds nothing.
    sources : iterable of str
        Files that are read.
    force : bool
        Replace what is there.

    Raises
    ------
    UsageError
        When a source is there, or another file without `force`, or a folder with other files than
        arrays.
    """
    target = Path(path).resolve()
    tidy(target.parent)
    if not (target.is_file() or target.is_dir()):
        return
    if any(Path(source).exists() and target.samefile(source) for source in sources):
        raise UsageError(f"{path}: this is the file that is read: write to another one")
    if not force:
        raise UsageError(f"{path}: there already: choose another name, or replace it with --force")
    if target.is_dir() and [p for p in target.iterdir() if p.suffix != ".npy"]:
        raise UsageError(f"{path}: the folder holds more than .npy files: choose another name")


def _packed(content: "encoding.Content") -> bytes:
    """A file gzipped, without the time of day."""
    import gzip

    assert isinstance(content, bytes)
    return gzip.compress(content, compresslevel=6, mtime=0)


def _named(arrays: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a folder of arrays."""
    return {f"{name}.npy": data for name, data in arrays.items()}


def _into_stream(target: Path, content: "encoding.Content") -> None:
    """Write to a pipe or a device, which cannot be written aside."""
    assert isinstance(content, bytes)
    try:
        target.write_bytes(content)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from error
