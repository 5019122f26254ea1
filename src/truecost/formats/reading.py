"""Reading files of all formats: the format is what the caller, the ending or the content says."""

import io
from dataclasses import replace
from pathlib import Path

from truecost.errors import InputError, UsageError
from truecost.formats.declared import Formats, loaded
from truecost.formats.streams import read_bytes, shown
from truecost.formats.table import Table
from truecost.names import STANDARD_INPUT
from truecost.tasks import find as face_of

READERS = {  # formats of several tasks; lists of trials and arrays are read below
    "lines": "truecost.formats.plain:read_lines",
    "kaldi-text": "truecost.formats.plain:read_kaldi",
    "trn": "truecost.formats.transcripts:read_trn",
    "stm": "truecost.formats.transcripts:read_stm",
    "ctm": "truecost.formats.transcripts:read_ctm",
    "rttm": "truecost.formats.segments:read_rttm",
    "uem": "truecost.formats.segments:read_uem",
    "seglst": "truecost.formats.seglst:read_spoken",
    "nist-sre": "truecost.formats.trial_lists:read_tsv",
}


def read(
    path: str | Path,
    input_format: str | None = None,
    task: str | Formats | None = None,
    *,
    empty: bool = False,
) -> Table:
    """Read a file, a folder, or standard input.

    Parameters
    ----------
    path : str or Path
        A file, gzipped or not, a folder of .npy files, a folder of RTTM, UEM, trn, STM or CTM
        files that is read as one, or `-` for standard input.
    input_format : str, optional
        One of `truecost list formats`. When left out, the file's ending decides (.csv, .tsv,
        .parquet, .ndjson, .jsonl, .npz, .npy); with any other ending, and for standard input, the
        content does: a list of trials is of the layout that fits every line. A .tsv file with the
        columns modelid and segmentid is of NIST's format.
    task : str or Formats, optional
        Whose formats are meant; trials when left out. Endings of others are .trn, .stm, .ctm, .json
        (SegLST), .rttm and .uem beside those of tables; `recognising.py` says how content decides.
        Lists of detections are read faster, and in less memory, by `formats.detections`, event logs
        by `formats.events`.
    empty : bool
        Accept a file without records, of an output in which nothing was found (Kaldi text, trn, CTM
        and RTTM).

    Returns
    -------
    Table
        Named columns; nothing is decided yet about what they mean. `layout` says what the content
        decided.

    Raises
    ------
    UsageError
        When the format is not known, or two layouts fit, or the ending is one of another task.
    InputError
        When there is no such file, or it is empty, damaged or malformed, or no layout fits; names
        the line where it can.
    """
    from truecost.formats import declared as sniffing

    if not isinstance(path, str | Path):
        raise UsageError(
            f"path is of type {type(path).__name__}: give the path of a file; frames and arrays "
            f"need no reading (truecost.score takes frames and arrays)"
        )
    path, formats = str(path), formats_of(task)
    stated = None if input_format is None else sniffing.known(input_format, formats)
    piped = path in STANDARD_INPUT
    if not piped and Path(path).is_dir():
        found = _of_folder(path, stated, formats, empty)
        if found is not None:
            return found
    data, source = read_bytes(path), shown(path)
    stated = stated or (None if piped else sniffing.by_ending(path, formats))
    if empty or not data:
        found = _of_nothing(data, source, stated, formats, empty)
        if found is not None:
            return found
    table = _of_content(data, source, stated, formats)
    if table.format == "tsv" and input_format is None and "nist-sre" in formats.texts:
        from truecost.formats import trial_lists as nist

        return nist.from_columns(table) if nist.is_header(table.columns) else table
    return table


def formats_of(task: str | Formats | None) -> Formats:
    """The formats of a task by its name; those of the default task when nothing is given."""
    return task if isinstance(task, Formats) else face_of(task).formats


def _of_folder(path: str, stated: str | None, formats: Formats, empty: bool) -> Table | None:
    """The table of the files of a folder; None where folders are not read."""
    from truecost.formats import arrays as folders
    from truecost.formats import arrays as nothing

    if "npy" in formats.texts and stated in (None, "npy"):
        from truecost.formats import arrays

        return replace(arrays.read_folder(Path(path)), format="npy")
    if not formats.folders:
        return None
    kind, files = folders.listed(path, stated, formats.folders)
    tables = []
    for file in map(str, files):
        data, silent = read_bytes(file), None
        if nothing.may_be_empty(kind, ""):
            silent = nothing.read_nothing(data, file, kind)
        tables.append(_parse(data, kind, file, formats) if silent is None else silent)
    if not (empty or any(map(len, tables))):
        raise InputError(f"{path}: all files of the folder are empty; expected {formats.holds}")
    return replace(folders.joined(tables, path), format=kind)


def _of_nothing(
    data: bytes, source: str, stated: str | None, formats: Formats, empty: bool
) -> Table | None:
    """The table of a file without records, where that is allowed; an empty file is refused else."""
    from truecost.formats import arrays as nothing

    kind = nothing.may_be_empty(stated, formats.plainest)
    table = nothing.read_nothing(data, source, kind) if empty and kind else None
    if data or table is not None:
        return table
    expected = formats.texts.get(stated or "", formats.holds)
    hint = "; --missing worst scores an output in which nothing was found" if kind else ""
    raise InputError(f"{source}: the file is empty; expected {expected}{hint}")


def _of_content(data: bytes, source: str, stated: str | None, formats: Formats) -> Table:
    """The table of a file that has content, whose format may be stated."""
    kind = stated or _recognised(data, source, formats)
    table = _parse(data, kind, source, formats)
    table = table if table.format else replace(table, format=kind)
    if stated or table.layout:
        return table
    from truecost.formats.recognising import LINES

    return replace(table, layout=f"{kind}: {LINES.get(kind) or ' '.join(table.columns)}")


def _recognised(data: bytes, source: str, formats: Formats) -> str:
    """The format that bytes have when no ending says it."""
    if data.startswith(b"PAR1"):
        return "parquet"
    kind: str = loaded(formats.recognise)(data, source, formats)
    return kind


def _parse(data: bytes, kind: str, source: str, formats: Formats) -> Table:
    """The table of a file whose format is known, or at least known to be a list of trials."""
    if place := formats.readers.get(kind) or READERS.get(kind):
        table: Table = loaded(place)(data, source)
        return table
    from truecost.formats import declared as sniffing
    from truecost.formats import tables

    if kind in tables.KINDS:
        return tables.read_columns(data, kind, source)
    if kind in ("npz", "npy"):
        from truecost.formats import arrays

        read_from = arrays.read_archive if kind == "npz" else arrays.read_array
        return read_from(io.BytesIO(data), source)
    from truecost.formats import trial_lists

    return trial_lists.read_lines(data, source, None if kind == sniffing.TRIAL_LIST else kind)


def table_of_bytes(data: bytes, path: str, stated: str | None, task: str | Formats | None) -> Table:
    """The table of a file whose bytes are read already.

    Parameters
    ----------
    data : bytes
        Unpacked.
    path : str
        Whose ending may say the format.
    stated : str, optional
        The format that an option says.
    task : str or Formats, optional
        As `read` takes it.

    Raises
    ------
    UsageError, InputError
        As `read` says.
    """
    from truecost.formats import declared as sniffing

    formats = formats_of(task)
    if not data:
        raise InputError(f"{shown(path)}: the file is empty; expected {formats.holds}")
    if stated is None and path not in STANDARD_INPUT:
        stated = sniffing.by_ending(path, formats)
    return _of_content(data, shown(path), stated, formats)
