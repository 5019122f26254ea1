"""Lists of ids: what outputs have to hold, without what is right."""

import re
from dataclasses import replace
from pathlib import Path

from truecost.formats import sniffing
from truecost.formats.plain import read_kaldi
from truecost.formats.reading import formats_of, read
from truecost.formats.stored import read_bytes
from truecost.formats.table import Table

_FIELDS = re.compile(rb"[^\s][ \t]+[^\s]")  # a line with more than an id
_OTHER = (b"PAR1", b"{", b"[")


def read_ids(path: str, input_format: str | None, task: str) -> Table:
    """The table of a file that says which utterances, sentences or recordings there are.

    Parameters
    ----------
    path : str
        A file with an id a line, or any file of the task; its texts do not matter.
    input_format : str, optional
        As `truecost.read` takes it; a file with an id a line has none.

    Returns
    -------
    Table
        With `id` alone where there is an id a line.

    Raises
    ------
    UsageError, InputError
        As `truecost.read` does.
    """
    silent = input_format is None and Path(path).is_file()
    if silent and sniffing.by_ending(path, formats_of(task)) is None:
        data = read_bytes(path)
        if one_a_line(data):
            table = read_kaldi(data, path)
            return replace(table, frame=table.frame.select("id"))
    return read(path, input_format, task)


def one_a_line(data: bytes) -> bool:
    """Whether text has one value a line, without blanks inside."""
    return bool(data.strip()) and not data.startswith(_OTHER) and not _FIELDS.search(data)
