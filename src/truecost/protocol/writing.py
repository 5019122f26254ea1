"""Splits as files with the plan beside them, and whether a split is still the file that was
written.

Beside `split.csv` lies `split.csv.json`: the signature, what was asked for, how well it is spread,
and the hashes of what was read and written. Both are written, or none.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError, UsageError
from truecost.formats.publishing import publish
from truecost.formats.writers import check_target, content_of, format_of
from truecost.protocol.findings import Finding
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


def changed(path: str) -> tuple[Finding | None, str]:
    """Whether a file is still the split that was written, by the plan that lies beside it.

    Parameters
    ----------
    path : str
        The split; its plan is PATH.json.

    Returns
    -------
    Finding or None
        A warning when its hash is another one.
    str
        What the plan says: its signature, or empty where there is no plan.

    Raises
    ------
    InputError
        When the plan cannot be read.
    """
    import msgspec

    from truecost.formats import sha256

    beside = Path(plan_path(path))
    if not beside.is_file() or not Path(path).is_file():
        return None, ""
    try:
        plan = msgspec.json.decode(beside.read_bytes())
        wanted, signature = plan["output"]["sha256"], str(plan["signature"])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{beside}: is not the plan of a split ({type(error).__name__}: {error}); move it "
            f"away, or write the split again"
        ) from error
    if wanted == sha256(path):
        return None, signature
    message = (
        f"{path} is not the file that truecost protocol split wrote: its hash is not the one in "
        f"{beside.name}; split again with the plan there, or remove it and say who made the split"
    )
    return Finding("split-changed", "warning", message), signature
