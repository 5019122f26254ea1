"""File readers and writers: one module per family of formats; errors name the file and the line.

`read(path)` gives a `Table`: named columns, and for arrays a matrix of scores. What a column means
is not decided here but by the task that maps it. `write(table, path)` writes one.
"""

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from truecost.errors import InputError, UsageError
from truecost.formats.table import Table
from truecost.formats.writers import write
from truecost.names import STANDARD_INPUT, Task

EXPECTED: dict[Task, str] = {
    "trials": "scores or labels of trials",
    "transcripts": "texts of utterances",
    "translation": "texts of sentences",
    "diarization": "segments of speakers",
    "abba": "items that two models collected",
    "terms": "detections of queries",
    "stream": "events of a stream",
    "lifelong": "events, or scores by version and time",
}
__all__ = ["STANDARD_INPUT", "Table", "read", "read_bytes", "sha256", "write"]


def read(
    path: str | Path, input_format: str | None = None, task: Task = "trials", *, empty: bool = False
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
    task : {"trials", "transcripts", "translation", "diarization", "abba", "terms", "stream"}
        Whose formats are meant. Endings of the others are .trn, .stm, .ctm, .json (SegLST), .rttm
        and .uem beside those of tables; `recognising.py` says how content decides. Lists of
        detections are read faster, and in less memory, by `formats.detections`, event logs by
        `formats.events`.
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
    from truecost.formats import arrays, folders, nist, nothing, sniffing

    if not isinstance(path, str | Path):
        raise UsageError(
            f"path is of type {type(path).__name__}: give the path of a file; frames and arrays "
            f"need no reading (truecost.load takes a frame, truecost.Trials.of arrays)"
        )
    path = str(path)
    stated = None if input_format is None else sniffing.known(input_format, task)
    piped = path in STANDARD_INPUT
    if task == "trials" and not piped and Path(path).is_dir() and stated in (None, "npy"):
        return replace(arrays.read_folder(Path(path)), format="npy")
    if not piped and folders.is_read(path, task):
        return _of_folder(path, stated, task, empty)
    data, source = read_bytes(path), shown(path)
    stated = stated or (None if piped else sniffing.by_ending(path, task))
    plainest = nothing.may_be_empty(stated, task)
    if empty and plainest and (table := nothing.read_nothing(data, source, plainest)) is not None:
        return table
    if not data:
        expected = sniffing.formats_of(task).get(stated or "", EXPECTED[task])
        hint = "; --missing worst scores an output in which nothing was found" if plainest else ""
        raise InputError(f"{source}: the file is empty; expected {expected}{hint}")
    if task != "trials":
        return _of_task(data, source, stated, task)
    kind = stated or sniffing.by_content(data)
    table = _parse(data, kind, source)
    table = table if table.format else replace(table, format=kind)
    if kind == "tsv" and input_format is None and nist.is_header(table.columns):
        return nist.from_columns(table)
    if stated or table.layout:
        return table
    return replace(table, layout=f"{kind}: {' '.join(table.columns)}")


def _parse(data: bytes, kind: str, source: str) -> Table:
    """The table of a file whose format is known, or at least known to be a list of trials."""
    from truecost.formats import arrays, nist, sniffing, tables, trial_lists

    if kind == "npz":
        return arrays.read_archive(io.BytesIO(data), source)
    if kind == "npy":
        return arrays.read_array(io.BytesIO(data), source)
    if kind == "nist-sre":
        return nist.read_tsv(data, source)
    if kind in trial_lists.LAYOUTS or kind == sniffing.TRIAL_LIST:
        named = None if kind == sniffing.TRIAL_LIST else kind
        return trial_lists.read_lines(data, source, named)
    return tables.read_columns(data, kind, source)


def _of_folder(path: str, stated: str | None, task: Task, empty: bool) -> Table:
    """The table of the files of a folder."""
    from truecost.formats import folders, nothing

    kind, files = folders.listed(path, stated, task)
    tables = []
    for file in map(str, files):
        data, silent = read_bytes(file), None
        if nothing.may_be_empty(kind, task):
            silent = nothing.read_nothing(data, file, kind)
        tables.append(_parse_for(data, kind, file, task) if silent is None else silent)
    if not (empty or any(map(len, tables))):
        raise InputError(f"{path}: all files of the folder are empty; expected {EXPECTED[task]}")
    return replace(folders.joined(tables, path), format=kind)


def table_of_bytes(data: bytes, path: str, stated: str | None, task: Task) -> Table:
    """The table of a file of any task but trials whose bytes are read already.

    Parameters
    ----------
    data : bytes
        Unpacked.
    path : str
        Whose ending may say the format.
    stated : str, optional
        The format that an option says.
    task : str

    Returns
    -------
    Table

    Raises
    ------
    UsageError, InputError
        As `read` says.
    """
    from truecost.formats import sniffing

    if not data:
        raise InputError(f"{shown(path)}: the file is empty; expected {EXPECTED[task]}")
    if stated is None and path not in STANDARD_INPUT:
        stated = sniffing.by_ending(path, task)
    return _of_task(data, shown(path), stated, task)


def _of_task(data: bytes, source: str, stated: str | None, task: Task) -> Table:
    """The table of a file of any task but trials."""
    from truecost.formats.recognising import LINES, recognised

    kind = stated or recognised(data, source, task)
    table = replace(_parse_for(data, kind, source, task), format=kind)
    if stated:
        return table
    return replace(table, layout=f"{kind}: {LINES.get(kind) or ' '.join(table.columns)}")


def _parse_for(data: bytes, kind: str, source: str, task: Task) -> Table:
    """The table of a file of a task whose format is known."""
    from truecost.formats import plain, rttm, seglst, stm, tables, trn

    if task == "terms" and kind not in tables.KINDS:
        from truecost.formats import searches

        return searches.read_table(data, source, kind)
    readers: dict[str, Callable[[bytes, str], Table]] = {
        "lines": plain.read_lines,
        "kaldi-text": plain.read_kaldi,
        "trn": trn.read_trn,
        "stm": stm.read_stm,
        "ctm": stm.read_ctm,
        "rttm": rttm.read_rttm,
        "uem": rttm.read_uem,
    }
    if kind in readers:
        return readers[kind](data, source)
    if kind == "seglst":
        needed = seglst.TURNS if task == "diarization" else seglst.SPOKEN
        return seglst.read_seglst(data, source, needed)
    return tables.read_columns(data, kind, source)


def shown(path: str) -> str:
    """How a path is named in messages."""
    return "standard input" if path in STANDARD_INPUT else path


def read_bytes(path: str) -> bytes:
    """The bytes of a file or of standard input, unpacked when gzipped.

    Parameters
    ----------
    path : str

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        When it cannot be read, is a device, the gzip data are damaged or cut short, or it holds
        more than the limits of `truecost.formats.streams`.
    """
    from truecost.formats.streams import whole

    return whole(path)


def sha256(path: str) -> str:
    """Hash of a file's bytes, or of the names and bytes of all files of a folder, by name.

    Parameters
    ----------
    path : str

    Returns
    -------
    str
        SHA-256 in hexadecimal.

    Raises
    ------
    InputError
        When a file cannot be read.
    """
    from truecost.formats.folders import files_of
    from truecost.formats.streams import stored_blocks

    digest = hashlib.sha256()
    files = files_of(Path(path)) if Path(path).is_dir() else [Path(path)]
    for file in files:
        if len(files) > 1:
            digest.update(file.name.encode() + b"\0")
        for block in stored_blocks(str(file)):
            digest.update(block)
    return digest.hexdigest()
