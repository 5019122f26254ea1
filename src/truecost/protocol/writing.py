"""Splits as files: the table with its new columns, and the plan beside it.

Beside `split.csv` lies `split.csv.json`: the signature, what was asked for, how well it is spread,
and the hashes of what was read and written. Both are written, or none.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import UsageError
from truecost.formats.publishing import publish
from truecost.formats.writers import check_target, content_of, format_of
from truecost.protocol.splitting import Split
from truecost.version import __version__

FORMATS = ("csv", "tsv", "parquet", "ndjson", "npz")  # those that have room for any column


def plan_path(path: str) -> str:
    """Where the plan of a split lies."""
    return f"{path}.json"


def check_split_target(
    path: str, output_format: str | None, sources: tuple[str, ...] = (), *, force: bool = False
) -> str:
    """The format of a split's file, once nothing stands against it.

    Raises
    ------
    UsageError
        When the format is not known or has no room for further columns; when the file that is read
        is there, or another one without `force`.
    """
    kind = format_of(path, output_format)
    if kind not in FORMATS:
        raise UsageError(
            f"{path}: {kind} has no place for the columns of a split: choose one of "
            f"{', '.join(FORMATS)}"
        )
    for place in (path, plan_path(path)):
        check_target(place, sources, force=force)
    if Path(path).is_dir():
        raise UsageError(f"{path}: a folder is there: name a file")
    return kind


def write_split(
    split: Split, path: str, output_format: str | None = None, *, force: bool = False
) -> None:
    """Write a split and its plan.

    Every column of the table that was read, in the same order of rows, and those of the split.

    Parameters
    ----------
    path : str
        File of the table; an ending .gz compresses. The plan is written to this name with .json
        behind it.
    output_format : str, optional
        csv, tsv, parquet, ndjson or npz; from the path's ending when left out.
    force : bool
        Replace what is there.

    Raises
    ------
    UsageError
        See `check_split_target`.
    InputError
        When the format cannot hold a value, or a file cannot be written.
    """
    source = split.samples.table.source
    check_split_target(path, output_format, (source,), force=force)
    content = content_of(split.table, path, output_format)
    plan = plan_text(split, (Path(path).name, content))
    # A link stays, and what it points to is replaced.
    publish({Path(path).resolve(): content, Path(plan_path(path)).resolve(): plan})


def plan_text(split: Split, written: tuple[str, bytes] | None = None) -> str:
    """The plan of a split as JSON; `written` is the name of its file and what is in it."""
    said: dict[str, Any] = {"truecost": __version__, **split.to_dict()}
    source = Path(split.samples.table.source)
    if source.is_file():
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        said["input"] = {"file": source.name, "sha256": digest}
    if written is not None:
        said["output"] = {"file": written[0], "sha256": hashlib.sha256(written[1]).hexdigest()}
    return msgspec.json.format(msgspec.json.encode(said), indent=2).decode() + "\n"
