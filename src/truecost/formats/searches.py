"""Files of a search for terms as tables: detections, and where queries occur, ready made.

The columns are `query`, `document`, `start`, either `end` or `duration` (seconds), and `channel`
where recordings have several.

A table (CSV, TSV, Parquet, NDJSON) has a row for each detection, with the columns `query`,
`document`, `start`, either `duration` or `end` (seconds), `score` and `decision` (YES or NO, 1 or
0, true or false, in any case), and `channel` where recordings have several.

Who scores a search reads them with `formats.detections`, `formats.kwlist`, `formats.ecf` and
`formats.lexemes`, which keep codes in place of texts and what the files say of themselves.
"""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError
from truecost.formats import ecf, kwslist, lexemes
from truecost.formats import ecf as kwlist
from truecost.formats.declared import SEARCHES
from truecost.formats.kwslist import DetectionList
from truecost.formats.publishing import aside
from truecost.formats.reading import read
from truecost.formats.streams import pieces
from truecost.formats.table import Table
from truecost.formats.terms import Codes, Columns, Listing, encoded, read_either, refuse_kind

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
    return occurrences_of_table(read(path, input_format, SEARCHES), columns)


def occurrences_of_table(table: Table, columns: Mapping[str, str] | None = None) -> Listing:
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


DECISIONS = {"YES": True, "NO": False, "1": True, "0": False, "TRUE": True, "FALSE": False}


def read_detections(
    path: str, input_format: str | None = None, columns: Mapping[str, str] | None = None
) -> DetectionList:
    """What a system found.

    Parameters
    ----------
    path : str
        A kwslist or stdlist (XML), or a table; gzipped or not; `-` is standard input.
    input_format : str, optional
        `kwslist`, `csv`, `tsv`, `parquet` or `ndjson`; from content or ending when left out.
    columns : mapping of str to str, optional
        Of a table, columns that have other names than `query`, `document`, `channel`, `start`,
        `end`, `duration`, `score` and `decision`.

    Raises
    ------
    UsageError
        When the format is not known, or a column is missing.
    InputError
        As `read_kwslist` says, or when a cell is empty or no number, a time is negative, or an end
        before its start; with the line.
    """
    return read_either(
        path,
        input_format,
        "kwslist",
        kwslist.of_blocks,
        lambda table: detections_of_table(table, columns),
    )


def detections_of_table(table: Table, columns: Mapping[str, str] | None = None) -> DetectionList:
    """The detections of a table.

    Parameters
    ----------
    columns : mapping of str to str, optional
        As `read_detections` takes them.

    Raises
    ------
    UsageError, InputError
        As `read_detections` says.
    """
    found = Columns(table, columns or {})
    queries, documents, channels = Codes(), Codes(), Codes()
    query = encoded(found.texts("query"), queries)
    document = encoded(found.documents(), documents)
    channel = encoded(found.channels(), channels)
    start, duration = found.spans()
    firsts = np.unique(query, return_index=True)[1]
    answers = {
        "query": list(queries.names),
        "search_time": None,
        "oov_count": None,
        "line": found.lines[firsts],
    }
    return DetectionList(
        table.source,
        {},
        pl.DataFrame(answers, schema=kwslist.ANSWERS),
        tuple(queries.names),
        tuple(documents.names),
        tuple(channels.names),
        query,
        document,
        channel,
        start,
        duration,
        found.numbers("score"),
        _decided(found),
        found.lines,
        found.noun,
    )


def _decided(columns: Columns) -> npt.NDArray[np.bool_]:
    """Decisions of a table."""
    words = columns.texts("decision")
    upper = words.str.to_uppercase()
    wrong = ~upper.is_in(list(DECISIONS))
    columns.refuse(
        wrong.to_numpy(),
        lambda r: repr(words[r]),
        "whose decision is not YES or NO (nor 1 or 0, true or false)",
    )
    return upper.replace_strict(DECISIONS, return_dtype=pl.Boolean).to_numpy()


def write_kwslist(path: str, found: DetectionList) -> None:
    """Write a kwslist: a query at a time, and nothing half-written is left where it looks whole.

    Parameters
    ----------
    path : str
        Where to; an ending `.gz` compresses. What is there is replaced.
    found : DetectionList
        Numbers are written so that the same ones are read again. Equal lists give equal bytes.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    target = Path(path).resolve()
    try:
        with aside(target.parent) as folder:
            draft = folder / target.name
            with draft.open("wb") as file:
                if path.lower().endswith(".gz"):
                    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                        packed.writelines(_pieces(found))
                else:
                    file.writelines(_pieces(found))
            draft.replace(target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def _pieces(found: DetectionList) -> Iterator[bytes]:
    """The bytes of a kwslist, a query at a time."""
    return map(str.encode, _texts(found))


def _texts(found: DetectionList) -> Iterator[str]:
    """The text of a kwslist, a query at a time."""
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<kwslist{_attributes(found.header)}>\n'
    order = np.argsort(found.query, kind="stable")
    ends = np.searchsorted(found.query[order], np.arange(len(found.queries) + 1))
    documents = [quoteattr(name) for name in found.documents]
    channels = [quoteattr(name) for name in found.channels]
    for row, said in enumerate(found.answers.iter_rows(named=True)):
        time, count = said["search_time"], said["oov_count"]
        stated = {
            "kwid": said["query"],
            "search_time": "NA" if time is None else repr(time),
            "oov_count": "NA" if count is None else str(count),
        }
        rows = order[ends[row] : ends[row + 1]]
        entries = zip(
            found.document[rows].tolist(),
            found.channel[rows].tolist(),
            found.start[rows].tolist(),
            found.duration[rows].tolist(),
            found.score[rows].tolist(),
            found.accepted[rows].tolist(),
            strict=True,
        )
        yield f"<detected_kwlist{_attributes(stated)}>\n"
        yield "".join(
            f'<kw file={documents[d]} channel={channels[c]} tbeg="{start}" dur="{duration}" '
            f'score="{score}" decision="{"YES" if accepted else "NO"}"/>\n'
            for d, c, start, duration, score, accepted in entries
        )
        yield "</detected_kwlist>\n"
    yield "</kwslist>\n"


def _attributes(said: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(text)}" for name, text in said.items())


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
    return _numbered(source, kwlist.queries_of_blocks(pieces(data), source).frame)


def read_ecf(data: bytes, source: str) -> Table:
    """A table of the excerpts of an ecf."""
    return _numbered(source, ecf.excerpts_of_blocks(pieces(data), source).frame)


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
