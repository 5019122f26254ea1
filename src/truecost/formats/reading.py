"""The reader of files and folders in all formats, whether the format is named, or follows from
ending or content.
"""

import codecs
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.formats.declared import TRIAL_LIST, Formats, known_by, known_format, loaded
from truecost.formats.opening import read_bytes, source_name
from truecost.formats.table import Table
from truecost.formats.text import COMMENTS, refuse_unnamed
from truecost.names import STANDARD_INPUT
from truecost.tasks import find as face_of


def files_of(folder: Path) -> list[Path]:
    """The visible files of a folder, sorted by name; only the arrays of a folder of arrays."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [path for path in found if path.suffix == ".npy"] or found


def listed(path: str, stated: str | None, kinds: Sequence[str]) -> tuple[str, list[Path]]:
    """The format of the files of a folder, and the files by name, gzipped or not.

    All files must have one ending of `kinds`, so that none is ignored silently.
    """
    if stated is not None and stated not in kinds:
        raise UsageError(
            f"{path}: this is a folder: name a file. Only a folder of {' or '.join(kinds)} files "
            f"is read, and --input-format is {stated}"
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
            f"{path}: a folder is read as one file, and all files in it must end in {wanted} "
            f"(gzipped or not): {first_five(others)} {'does' if len(others) == 1 else 'do'} not. "
            f"Name a file, or move the others to another folder"
        )
    names = [file.name.removesuffix(".gz") for file in files]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(
            f"{path}: {first_five(twice)} exists twice, gzipped and not: leave one out"
        )
    return kind, files


def _is_of(path: Path, kind: str) -> bool:
    """Whether a file has the ending of a format."""
    return path.name.lower().removesuffix(".gz").endswith(f".{kind}") and path.is_file()


def joined(tables: Sequence[Table], source: str) -> Table:
    """One table from tables of files of one format; each row records its file and line."""
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


COLUMNS = {  # of formats whose files may hold no record
    "kaldi-text": ("id", "text"),
    "trn": ("id", "text"),
    "ctm": ("recording", "channel", "start", "duration", "word"),
    "rttm": ("type", "recording", "channel", "speaker", "start", "end"),
}
TIMES = ("start", "end", "duration")


def read_nothing(data: bytes, source: str, kind: str) -> Table | None:
    """The empty table of a file with only blank lines and comments.

    None when there is a record, or the format requires one.
    """
    if kind not in COLUMNS:
        return None
    from truecost.formats import segments

    known = {"trn": COMMENTS, "ctm": COMMENTS, "rttm": segments.COMMENTS}
    marks = tuple(mark.encode() for mark in known.get(kind, ()))
    for line in io.BytesIO(data.removeprefix(codecs.BOM_UTF8)):
        record = line.strip(b" \t\r\n")
        if record and not record.startswith(marks):
            return None
    schema = {name: pl.Float64 if name in TIMES else pl.String for name in COLUMNS[kind]}
    return Table(source, pl.DataFrame(schema=schema), format=kind)


READERS = {  # formats of several tasks; lists of trials and arrays are read below
    "lines": "truecost.formats.transcripts:read_lines",
    "kaldi-text": "truecost.formats.transcripts:read_kaldi",
    "trn": "truecost.formats.transcripts:read_trn",
    "stm": "truecost.formats.transcripts:read_stm",
    "ctm": "truecost.formats.transcripts:read_ctm",
    "rttm": "truecost.formats.segments:read_rttm",
    "uem": "truecost.formats.segments:read_uem",
    "seglst": "truecost.formats.segments:read_spoken",
    "nist-sre": "truecost.formats.trial_lists:read_tsv",
}


def read(
    path: str | Path,
    input_format: str | None = None,
    task: str | Formats | None = None,
    *,
    empty: bool = False,
    metadata: bool = False,
) -> Table:
    """Read a file, a folder, or standard input as a table.

    Parameters
    ----------
    path : str or Path
        Path of a file (gzip is recognised), of a folder of .npy files, or of a folder of RTTM, UEM,
        trn, STM or CTM files, which is read as one file. `-` is standard input.
    input_format : str, optional
        Name of a format (`truecost list formats`). Default: the format of the extension (.csv,
        .tsv, .parquet, .ndjson, .jsonl, .npz, .npy). For other extensions and standard input:
        the format of the content; for a list of trials, the layout (order of the fields) that fits
        every line. A .tsv file with the columns modelid and segmentid has the format of NIST.
    task : str or Formats, optional
        Task whose formats are used. Default: trials. Some tasks have more extensions (.trn, .stm,
        .ctm, .json for SegLST, .rttm, .uem). For detections and event logs,
        `truecost.formats.searches.read_detections` and `truecost.formats.events.read_events` are
        faster and need less memory.
    empty : bool
        For Kaldi text, trn, CTM and RTTM: whether a file without records is accepted, such as the
        output of a system that found nothing.
    metadata : bool
        Whether the file is a table of metadata. A table of metadata can be a list without a header,
        with two fields in each line (`utt1 babble`). The argument `column` of `join_metadata` then
        names the second column: `id.noise` gives it the name `noise`.

    Returns
    -------
    Table
        Table with named columns. `Table.layout` is the layout that the content determined.

    Raises
    ------
    UsageError
        If the format does not exist, two layouts fit, or the extension belongs to another task.
    InputError
        If the file does not exist, is empty, damaged or malformed, or no layout fits. The message
        names the line if possible.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> table = tc.read(files("truecost") / "data" / "demo" / "network.csv")
    >>> table.columns
    ['trial', 'speaker', 'word', 'active', 'label', 'score']
    """
    if not isinstance(path, str | Path):
        raise UsageError(
            f"path is of type {type(path).__name__}: give the path of a file; frames and arrays "
            f"need no reading (truecost.score takes frames and arrays)"
        )
    path, formats = str(path), formats_of(task)
    stated = None if input_format is None else known_format(input_format, formats)
    piped = path in STANDARD_INPUT
    if not piped and Path(path).is_dir():
        found = _read_folder(path, stated, formats, empty)
        if found is not None:
            return found
    if stated is None and path.endswith(".toml"):
        raise UsageError(f"{path}: a study file is not a table: truecost run {path}")
    data, source = read_bytes(path), source_name(path)
    stated = stated or known_by("" if piped else path, data, formats)
    if empty or not data:
        found = _read_empty(data, source, stated, formats, empty)
        if found is not None:
            return found
    table = _read_content(data, source, stated, formats)
    if not metadata:
        refuse_unnamed(table)
    sre = table.format == "tsv" and input_format is None and "nist-sre" in formats.texts
    if not (metadata or sre):
        return table
    from truecost.formats import trial_lists

    if metadata:
        table = trial_lists.as_metadata(table)
    if sre:
        return trial_lists.from_columns(table) if trial_lists.is_header(table.columns) else table
    return table


def formats_of(task: str | Formats | None) -> Formats:
    """The formats of a task by its name. Default: those of the default task."""
    return task if isinstance(task, Formats) else face_of(task).formats


def _read_folder(path: str, stated: str | None, formats: Formats, empty: bool) -> Table | None:
    """The table of the files of a folder; None where the task does not read folders."""
    from truecost.formats import tables as arrays

    if "npy" in formats.texts and stated in (None, "npy"):
        return replace(arrays.read_folder(Path(path)), format="npy")
    if not formats.folders:
        return None
    kind, files = listed(path, stated, formats.folders)
    tables = []
    for file in map(str, files):
        data = read_bytes(file)
        silent = read_nothing(data, file, kind)
        tables.append(_parse(data, kind, file, formats) if silent is None else silent)
    if not (empty or any(map(len, tables))):
        raise InputError(f"{path}: all files of the folder are empty; expected {formats.holds}")
    return replace(joined(tables, path), format=kind)


def _read_empty(
    data: bytes, source: str, stated: str | None, formats: Formats, empty: bool
) -> Table | None:
    """The table of a file without records, where this is allowed; otherwise an empty file is
    refused.
    """
    kind = stated or formats.plainest
    table = read_nothing(data, source, kind) if empty else None
    if data or table is not None:
        return table
    expected = formats.texts.get(stated or "", formats.holds).partition("; ")[0]
    hint = "; if it is the output of a system that found nothing, use --missing worst"
    hint = hint if kind in COLUMNS else ""
    raise InputError(f"{source}: the file is empty; expected {expected}{hint}")


def _read_content(data: bytes, source: str, stated: str | None, formats: Formats) -> Table:
    """The table of a file that is not empty, whose format may be stated."""
    kind = stated or ("parquet" if data.startswith(b"PAR1") else "")
    kind = kind or loaded(formats.recognise)(data, source, formats)
    table = _parse(data, kind, source, formats)
    table = table if table.format else replace(table, format=kind)
    if stated or table.layout:
        return table
    from truecost.formats.recognising import LINES

    return replace(table, layout=f"{kind}: {LINES.get(kind) or ' '.join(table.columns)}")


def _parse(data: bytes, kind: str, source: str, formats: Formats) -> Table:
    """The table of a file whose format is known, at least as that of a list of trials."""
    if place := formats.readers.get(kind) or READERS.get(kind):
        table: Table = loaded(place)(data, source)
        return table
    from truecost.formats import tables

    if kind in tables.KINDS:
        return tables.read_columns(data, kind, source)
    if kind in ("npz", "npy"):
        read_from = tables.read_archive if kind == "npz" else tables.read_array
        return read_from(io.BytesIO(data), source)
    from truecost.formats import trial_lists

    return trial_lists.read_lines(data, source, None if kind == TRIAL_LIST else kind)


def table_of_bytes(data: bytes, path: str, stated: str | None, task: str | Formats | None) -> Table:
    """The table of a file, from its bytes, already read and unpacked.

    Parameters
    ----------
    path : str
        Path of the file; its ending may name the format.
    stated : str, optional
        Format that an option names.
    task : str or Formats, optional
        Name or formats of the task, as in `read`.
    """
    formats = formats_of(task)
    if not data:
        raise InputError(f"{source_name(path)}: the file is empty; expected {formats.holds}")
    stated = stated or known_by("" if path in STANDARD_INPUT else path, data, formats)
    return _read_content(data, source_name(path), stated, formats)
