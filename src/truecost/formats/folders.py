"""Folders of RTTM, UEM, trn, STM or CTM files, one for each recording, read as one file.

The files are taken by name; they may be gzipped, and hidden ones do not matter. All of them must
be of one ending, so that nothing that lies there is passed over in silence. A file without records
is a recording in which nothing was found.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.table import Table

GZIPPED = ".gz"


def files_of(folder: Path) -> list[Path]:
    """What a folder holds but for hidden files, sorted by name; of arrays, the arrays alone."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [path for path in found if path.suffix == ".npy"] or found


def listed(path: str, stated: str | None, kinds: Sequence[str]) -> tuple[str, list[Path]]:
    """The format of the files of a folder, and the files in their order.

    Parameters
    ----------
    stated : str, optional
        The format that an option says.
    kinds : sequence of str
        The formats of which folders are read.

    Raises
    ------
    UsageError
        When the format that is stated is not one of which folders are read.
    InputError
        When there are no files, files of several endings, or one file twice.
    """
    if stated is not None and stated not in kinds:
        raise UsageError(
            f"{path}: is a folder; folders are read of {' or '.join(kinds)} files, not of {stated}"
        )
    kinds = kinds if stated is None else (stated,)
    wanted = " or ".join(f".{kind}" for kind in kinds)
    files = files_of(Path(path))
    if not files:
        raise InputError(f"{path}: the folder is empty; expected {wanted} files")
    kind = next((kind for kind in kinds if any(_is_of(file, kind) for file in files)), kinds[0])
    others = [file.name for file in files if not _is_of(file, kind)]
    if others:
        raise InputError(
            f"{path}: {counted(len(others), 'file', 'do')} not end in .{kind}: "
            f"{first_five(others)}; a folder is read as one file when all in it end in {wanted}, "
            f"gzipped or not"
        )
    names = [file.name.removesuffix(GZIPPED) for file in files]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(
            f"{path}: {first_five(twice)} is there twice, gzipped and not: leave one out"
        )
    return kind, files


def _is_of(path: Path, kind: str) -> bool:
    """Whether a file has the ending of a format."""
    name = path.name.lower().removesuffix(GZIPPED)
    return name.endswith(f".{kind}") and path.is_file()


def joined(tables: Sequence[Table], source: str) -> Table:
    """One table of the tables of files, each row with the place where it stands.

    Parameters
    ----------
    tables : sequence of Table
        Of one format, with the lines of their rows.
    source : str
        Name for messages.
    """
    filled = [table for table in tables if len(table)] or [*tables[:1]]
    starts = accumulate((len(table) for table in filled[:-1]), initial=0)
    lines = [table.lines for table in filled if table.lines is not None]
    return replace(
        filled[0],
        source=source,
        frame=pl.concat([table.frame for table in filled], how="diagonal_relaxed"),
        lines=np.concatenate(lines) if lines else None,
        files=[(at, Path(table.source).name) for at, table in zip(starts, filled, strict=True)],
    )
