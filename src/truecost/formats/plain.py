r"""Texts, one a line, with or without an id before each, and lists of ids.

| name | line | where it comes from |
|---|---|---|
| lines | the text | translations; outputs of recognisers in the order of a list |
| kaldi-text | `id words`, or `id` alone for an empty text | Kaldi `data/*/text` |

Only `\n` (or `\r\n`) ends a line; other characters that Unicode calls line separators belong to
the text. The last line may lack its line break. Both give the columns `id` and `text`.

- lines: every line is a text as it stands, blanks included, and an empty line is an empty text; the
  id is the number of the line.
- kaldi-text: the id ends at the first blank or tab; blanks around the text are cut off. Blank lines
  may only stand at the end. Ids may repeat: the task refuses them.
"""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl

from truecost.errors import InputError
from truecost.formats import declared as sniffing
from truecost.formats.field_lines import BLANKS, LOOK
from truecost.formats.reading import formats_of, read
from truecost.formats.streams import read_bytes
from truecost.formats.table import Table
from truecost.formats.text import clean, decoded, line_blocks, refuse_carriage_returns


def read_lines(data: bytes, source: str) -> Table:
    """A table of texts from the bytes of a file with one a line.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id` ("1", "2", ...) and `text`, which may be empty.

    Raises
    ------
    InputError
        When it is empty, not UTF-8 or holds a carriage return within a line.
    """
    data = decoded(data, source)
    refuse_carriage_returns(data, source)
    if not data:
        raise InputError(f"{source}: the file is empty; expected one text a line")
    if not data.endswith(b"\n"):
        data += b"\n"
    texts = pl.concat([lines for _, lines in line_blocks(data, LOOK)])
    frame = pl.DataFrame({"text": texts}).with_row_index("id", 1)
    return Table(source, frame.cast({"id": pl.String}), first_line=1, ordered=True)


def read_kaldi(data: bytes, source: str) -> Table:
    """A table of texts from the bytes of a Kaldi text file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id` and `text`, which may be empty.

    Raises
    ------
    InputError
        When it is not UTF-8, holds a carriage return within a line, or blank lines before its end.
    """
    data = clean(data, source, b" \t\r")
    refuse_carriage_returns(data, source)
    blocks = [_texts(lines, before, source) for before, lines in line_blocks(data, LOOK)]
    return Table(source, pl.concat(blocks), first_line=1)


def _texts(lines: pl.Series, before: int, source: str) -> pl.DataFrame:
    stripped = lines.str.strip_chars(BLANKS)
    if (blank := stripped == "").any():
        raise InputError(
            f"{source}, line {before + int(blank.arg_true()[0]) + 1}: the line is blank; an "
            f"utterance has an id, then its words; blank lines may only stand at the end: remove it"
        )
    parts = stripped.str.extract_groups(r"^([^ \t]+)[ \t]*(.*)$")
    return parts.struct.rename_fields(["id", "text"]).struct.unnest()


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
