"""Outputs in which a system found nothing: files without records, where a format allows them.

An empty file is mostly a mistake, so that it is read only by those who ask for it. Without an
ending that says the format, it stands for the plainest one.
"""

import codecs
import io

import polars as pl

from truecost.formats import rttm
from truecost.formats.field_lines import COMMENTS
from truecost.formats.table import Table

_TEXTS: dict[str, type[pl.DataType]] = {"id": pl.String, "text": pl.String}
COLUMNS: dict[str, dict[str, type[pl.DataType]]] = {
    "kaldi-text": _TEXTS,
    "trn": _TEXTS,
    "ctm": {
        "recording": pl.String,
        "channel": pl.String,
        "start": pl.Float64,
        "duration": pl.Float64,
        "word": pl.String,
    },
    "rttm": {
        "type": pl.String,
        "recording": pl.String,
        "channel": pl.String,
        "speaker": pl.String,
        "start": pl.Float64,
        "end": pl.Float64,
    },
}
MARKS: dict[str, tuple[str, ...]] = {"trn": COMMENTS, "ctm": COMMENTS, "rttm": rttm.COMMENTS}


def may_be_empty(stated: str | None, plainest: str) -> str | None:
    """The format of a file without records; None where there has to be one.

    Parameters
    ----------
    stated : str, optional
        The format that an option or the file's ending says.
    plainest : str
        The format where nothing says it; empty for none.

    Returns
    -------
    str or None
    """
    kind = stated or plainest
    return kind if kind in COLUMNS else None


def read_nothing(data: bytes, source: str, kind: str) -> Table | None:
    """The table of a file that holds nothing but blank lines and comments.

    Parameters
    ----------
    source : str
        Name for messages.
    kind : str
        As `may_be_empty` gives it.

    Returns
    -------
    Table or None
        With the columns of the format and no rows; None when there is a record.
    """
    marks = tuple(mark.encode() for mark in MARKS.get(kind, ()))
    for line in io.BytesIO(data.removeprefix(codecs.BOM_UTF8)):
        said = line.strip(b" \t\r\n")
        if said and not said.startswith(marks):
            return None
    return Table(source, pl.DataFrame(schema=COLUMNS[kind]), format=kind)
