"""Detections of queries from a kwslist or from a table, and the writer of a kwslist.

A table (CSV, TSV, Parquet, NDJSON) has a row for each detection, with the columns `query`,
`document`, `start`, either `duration` or `end` (seconds), `score` and `decision` (YES or NO, 1 or
0, true or false, in any case), and `channel` where recordings have several.
"""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError
from truecost.formats import kwslist
from truecost.formats.kwslist import DetectionList
from truecost.formats.publishing import aside
from truecost.formats.table import Table
from truecost.formats.terms import Codes, Columns, encoded, read_either

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
        path, input_format, "kwslist", kwslist.of_blocks, lambda table: of_table(table, columns)
    )


def of_table(table: Table, columns: Mapping[str, str] | None = None) -> DetectionList:
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
