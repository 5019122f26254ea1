"""Where queries occur, as a table that is ready made: for queries that are audio, without text.

The columns are `query`, `document`, `start`, either `end` or `duration` (seconds), and `channel`
where recordings have several.
"""

from collections.abc import Mapping

import polars as pl

from truecost.errors import InputError
from truecost.formats.declared import SEARCHES
from truecost.formats.reading import read
from truecost.formats.table import Table
from truecost.formats.terms import Columns, Listing, refuse_kind

OF_DETECTIONS = ("score", "decision")  # columns by which their list is known


def read_occurrences(
    path: str, input_format: str | None = None, columns: Mapping[str, str] | None = None
) -> Listing:
    """The occurrences of queries.

    Parameters
    ----------
    path : str
        A table, gzipped or not; `-` is standard input.
    input_format : str, optional
        `csv`, `tsv`, `parquet` or `ndjson`; from the content or the ending when left out.
    columns : mapping of str to str, optional
        Columns that have other names than `query`, `document`, `channel`, `start`, `end` and
        `duration`.

    Returns
    -------
    Listing
        `query`, `document`, `channel`, `start`, `end`, `line`; in the order of the file.

    Raises
    ------
    UsageError
        When the format is not known, or a column is missing.
    InputError
        When these are detections, or the file is no table; when a cell is empty or no number, a
        time is negative, or an end before its start; with the line.
    """
    return of_table(read(path, input_format, SEARCHES), columns)


def of_table(table: Table, columns: Mapping[str, str] | None = None) -> Listing:
    """The occurrences of a table.

    Parameters
    ----------
    columns : mapping of str to str, optional
        As `read_occurrences` takes them.

    Raises
    ------
    UsageError, InputError
        As `read_occurrences` says.
    """
    if all(name in table.columns for name in OF_DETECTIONS):
        raise InputError(
            f"{table.source}: these are detections, with {' and '.join(OF_DETECTIONS)}; a table of "
            f"where queries occur was expected: query, document, start, end"
        )
    refuse_kind(table, "a table of occurrences")
    found = Columns(table, columns or {})
    query, document, channel = found.texts("query"), found.documents(), found.channels()
    start, end = found.ends()
    times = pl.Series("start", start), pl.Series("end", end)
    line = pl.Series("line", found.lines)
    frame = pl.DataFrame([query, document, channel, *times, line])
    return Listing(table.source, {}, frame, found.noun)
