"""Files of a search for terms as tables of one kind, for whoever reads files of any task.

Who scores a search reads them with `formats.detections`, `formats.kwlist`, `formats.ecf` and
`formats.lexemes`, which keep codes in place of texts and what the files say of themselves.
"""

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.formats import ecf, kwlist, kwslist, lexemes
from truecost.formats.kwslist import DetectionList
from truecost.formats.streams import pieces
from truecost.formats.table import Table


def read_kwslist(data: bytes, source: str) -> Table:
    """A table of the detections of a kwslist.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `query`, `document`, `channel`, `start`, `duration`, `score`, `decision`.

    Raises
    ------
    InputError
        As the reader of the format says; when there are no detections.
    """
    found = kwslist.of_blocks(pieces(data), source)
    if not len(found):
        raise InputError(f"{source}: there are no detections")
    return table_of(found)


def read_kwlist(data: bytes, source: str) -> Table:
    """A table of the queries of a kwlist."""
    return _numbered(source, kwlist.of_blocks(pieces(data), source).frame)


def read_ecf(data: bytes, source: str) -> Table:
    """A table of the excerpts of an ecf."""
    return _numbered(source, ecf.of_blocks(pieces(data), source).frame)


def read_rttm(data: bytes, source: str) -> Table:
    """A table of the words of an rttm."""
    words = lexemes.of_bytes(data, source).words
    return _numbered(source, words.cast({pl.Categorical: pl.String}))


def _numbered(source: str, frame: pl.DataFrame) -> Table:
    return Table(source, frame.drop("line"), lines=frame["line"].to_numpy())


def table_of(found: DetectionList) -> Table:
    """A list of detections as a table."""
    names = {
        "query": (found.queries, found.query),
        "document": (found.documents, found.document),
        "channel": (found.channels, found.channel),
    }
    columns = {
        key: pl.Series(texts, dtype=pl.String).gather(codes)
        for key, (texts, codes) in names.items()
    }
    frame = pl.DataFrame(
        columns
        | {"start": found.start, "duration": found.duration, "score": found.score}
        | {"decision": np.where(found.accepted, "YES", "NO")}
    )
    return Table(found.source, frame, lines=found.line, noun=found.noun)
