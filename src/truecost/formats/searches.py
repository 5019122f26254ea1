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


def read_table(data: bytes, source: str, kind: str) -> Table:
    """The table of a file of a search for terms that is no table itself.

    Parameters
    ----------
    data : bytes
    source : str
        Name for messages.
    kind : {"kwslist", "kwlist", "ecf", "rttm"}

    Returns
    -------
    Table
        Of a kwslist `query`, `document`, `channel`, `start`, `duration`, `score`, `decision`; of
        the others as their readers say, of an rttm the words.

    Raises
    ------
    InputError
        As the reader of the format says; when there are no detections.
    """
    if kind == "kwslist":
        found = kwslist.of_blocks(pieces(data), source)
        if not len(found):
            raise InputError(f"{source}: there are no detections")
        return table_of(found)
    if kind == "rttm":
        frame = lexemes.of_bytes(data, source).words.cast({pl.Categorical: pl.String})
    else:
        of_blocks = {"kwlist": kwlist.of_blocks, "ecf": ecf.of_blocks}[kind]
        frame = of_blocks(pieces(data), source).frame
    return Table(source, frame.drop("line"), lines=frame["line"].to_numpy())


def table_of(found: DetectionList) -> Table:
    """A list of detections as a table.

    Parameters
    ----------
    found : DetectionList

    Returns
    -------
    Table
    """
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
