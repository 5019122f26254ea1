"""What is searched and what for: audio (ecf, an experiment control file) and queries (kwlist,
termlist).

    <ecf source_signal_duration="100.0" language="english" version="1">
      <excerpt audio_filename="audio/F.sph" channel="1" tbeg="0" dur="50.0" source_type="bnews"/>
    </ecf>

`tbeg` and `dur` are seconds; `source_type` is `bnews`, `cts`, `splitcts`, `confmtg` or whatever
kinds of audio are told apart, and may be left out.
Source: NIST, F4DE, `KWSEval-ecf.xsd`.

A table in its place has the columns `document` and either `duration` or `end` (seconds), and where
there are some `start` (else 0), `channel` and `source`.

    <kwlist ecf_filename="e.ecf.xml" language="english" encoding="UTF-8"
            compareNormalize="lowercase" version="1">
      <kw kwid="K1">
        <kwtext>white house</kwtext>
        <kwinfo><attr><name>NGram</name><value>2</value></attr></kwinfo>
      </kw>
    </kwlist>

`compareNormalize` says how words are compared: `lowercase`, or nothing. A query of which there is
only audio has no `kwtext`. A termlist says `term`, `termid`, `termtext` and `terminfo`.
Source: NIST, F4DE, `KWSEval-kwlist.xsd`.

A table in its place has the column `query`, `text` where queries have one, and attributes in
further columns.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.formats import xml
from truecost.formats.field_lines import cut
from truecost.formats.table import Table
from truecost.formats.terms import Columns, Listing, document_of, read_either

FIELDS = ["audio_filename", "channel", "tbeg", "dur"]


EXCERPT = '<excerpt audio_filename="F.sph" channel="1" tbeg="SECONDS" dur="SECONDS"/>'


SCHEMA: dict[str, type[pl.DataType]] = {
    "document": pl.String,
    "channel": pl.String,
    "start": pl.Float64,
    "duration": pl.Float64,
    "source": pl.String,
    "line": pl.Int64,
}


def read_ecf(
    path: str, input_format: str | None = None, columns: Mapping[str, str] | None = None
) -> Listing:
    """The excerpts that are searched.

    Parameters
    ----------
    path : str
        An ecf (XML) or a table, gzipped or not; `-` is standard input.
    input_format : str, optional
        `ecf`, `csv`, `tsv`, `parquet` or `ndjson`; from the content or the ending when left out.
    columns : mapping of str to str, optional
        Of a table, columns that have other names than `document`, `channel`, `start`, `duration`,
        `end` and `source`.

    Returns
    -------
    Listing
        `document`, `channel`, `start`, `duration` (above 0), `source` (empty where it is not said),
        `line`; in the order of the file. Excerpts may overlap, touch or be the same.

    Raises
    ------
    UsageError
        When the format is not known, or a column is missing.
    InputError
        When it cannot be read, is no safe XML (`formats.xml`) or no ecf, lacks an attribute, has a
        number that is none, a negative time, an empty excerpt, or two files of one name; with the
        line.
    """
    return read_either(
        path,
        input_format,
        "ecf",
        excerpts_of_blocks,
        lambda table: excerpts_of_table(table, columns),
    )


def excerpts_of_table(table: Table, columns: Mapping[str, str] | None = None) -> Listing:
    """The excerpts of a table.

    Parameters
    ----------
    columns : mapping of str to str, optional
        As `read_ecf` takes them.

    Raises
    ------
    UsageError, InputError
        As `read_ecf` says.
    """
    found = Columns(table, columns or {})
    document, channel = found.documents(), found.channels()
    start, duration = found.spans(begin=0.0)
    found.refuse(duration <= 0, lambda r: str(duration[r]), "of no duration")
    source = pl.Series("source", np.full(len(table), ""), dtype=pl.String)
    if found.has("source"):
        source = table.texts(found.name("source"), "source").fill_null("").alias("source")
    times = pl.Series("start", start), pl.Series("duration", duration)
    line = pl.Series("line", found.lines)
    frame = pl.DataFrame([document, channel, *times, source, line])
    return Listing(table.source, {}, frame, found.noun)


def excerpts_of_blocks(data: Iterable[bytes], source: str) -> Listing:
    """The excerpts of the blocks of an XML file.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        As `read_ecf` says.
    """
    found = _Excerpts(source)
    excerpt = xml.Element(found.add)
    xml.parse(data, source, {"ecf": xml.Element(found.begin, {"excerpt": excerpt})})
    return found.listed()


class _Excerpts:
    """Excerpts as they are read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.header: dict[str, str] = {}
        self.rows: list[tuple[str, str, float, float, str, int]] = []
        self.files: dict[str, tuple[str, int]] = {}  # file and line of each document

    def begin(self, attributes: list[str], _: int) -> None:
        """Keep what the file says of itself."""
        self.header = xml.mapping(attributes)

    def add(self, attributes: list[str], line: int) -> None:
        """Keep an excerpt."""
        said = xml.values(attributes, FIELDS, self.source, line, EXCERPT)
        file, channel = (text.strip() for text in said[:2])
        document = document_of(file)
        for name, text in zip(FIELDS, (document, channel), strict=False):
            if not text:
                self._refuse(line, f"the {name} names nothing")
        before, first = self.files.setdefault(document, (file, line))
        if before != file:
            self._refuse(
                line,
                f"{cut(file)!r} has the same name, {cut(document)!r}, as {cut(before)!r} in line "
                f"{first}; documents need different names",
            )
        start, duration = (
            self._seconds(t, n, line) for t, n in zip(said[2:], FIELDS[2:], strict=True)
        )
        if not duration:
            self._refuse(line, f"the dur {said[3]!r} is nothing")
        kind = xml.mapping(attributes).get("source_type", "").strip()
        self.rows.append((document, channel, start, duration, kind, line))

    def _seconds(self, text: str, name: str, line: int) -> float:
        """A time of an excerpt."""
        found = xml.number(text)
        if found is None or found < 0:
            fault = "is no finite number" if found is None else "is negative"
            self._refuse(line, f"the {name} {cut(text)!r} {fault}")
        return found

    def _refuse(self, line: int, why: str) -> NoReturn:
        raise InputError(f"{self.source}, line {line}: {why}; expected {EXCERPT}")

    def listed(self) -> Listing:
        """All that was read."""
        if not self.rows:
            raise InputError(f"{self.source}: there are no excerpts; expected {EXCERPT}")
        return Listing(
            self.source, self.header, pl.DataFrame(self.rows, schema=SCHEMA, orient="row")
        )


OWN = ("query", "text", "line")  # columns that no attribute may be named after


def read_kwlist(
    path: str, input_format: str | None = None, columns: Mapping[str, str] | None = None
) -> Listing:
    """The queries of a search.

    Parameters
    ----------
    path : str
        A kwlist or termlist (XML), or a table; gzipped or not; `-` is standard input.
    input_format : str, optional
        `kwlist`, `csv`, `tsv`, `parquet` or `ndjson`; from the content or the ending when left out.
    columns : mapping of str to str, optional
        Of a table, columns that have other names than `query` and `text`.

    Returns
    -------
    Listing
        `query`, `text` (null where there is none), a column of text for each attribute (null where
        a query lacks it), `line`; in the order of the file. The header has `compareNormalize` and
        what else the root says.

    Raises
    ------
    UsageError
        When the format is not known, or a column is missing.
    InputError
        When it cannot be read, is no safe XML (`formats.xml`) or no kwlist, or lists a query twice;
        with the line.
    """
    return read_either(
        path,
        input_format,
        "kwlist",
        queries_of_blocks,
        lambda table: queries_of_table(table, columns),
    )


def queries_of_table(table: Table, columns: Mapping[str, str] | None = None) -> Listing:
    """The queries of a table.

    Parameters
    ----------
    columns : mapping of str to str, optional
        As `read_kwlist` takes them.

    Raises
    ------
    UsageError, InputError
        As `read_kwlist` says.
    """
    found = Columns(table, columns or {})
    query = found.texts("query")
    found.refuse(
        (~query.is_first_distinct()).to_numpy(), lambda r: repr(query[r]), "with a query again"
    )
    used = {found.name("query"), found.name("text"), *OWN}
    text = pl.Series("text", [None], dtype=pl.String).new_from_index(0, len(table))
    if found.has("text"):
        text = table.texts(found.name("text"), "text").alias("text")
    others = [table.texts(name, name).alias(name) for name in table.columns if name not in used]
    line = pl.Series("line", found.lines)
    return Listing(table.source, {}, pl.DataFrame([query, text, *others, line]), found.noun)


def queries_of_blocks(data: Iterable[bytes], source: str) -> Listing:
    """The queries of the blocks of an XML file.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        As `read_kwlist` says.
    """
    found = _Queries(source)
    xml.parse(data, source, found.roots())
    return found.listed()


class _Queries:
    """Queries as they are read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.header: dict[str, str] = {}
        self.rows: list[dict[str, str | int | None]] = []
        self.lines: dict[str, int] = {}  # where each query stands
        self.attribute: dict[str, str] = {}  # the one that is open

    def roots(self) -> dict[str, xml.Element]:
        """What may stand in a file, in both of its kinds."""
        new = self._root("kw", "kwid", "kwtext", "kwinfo")
        old = self._root("term", "termid", "termtext", "terminfo")
        return {"kwlist": new, "termlist": old, "tlist": old}

    def _root(self, name: str, kwid: str, text: str, info: str) -> xml.Element:
        """The elements of a kind."""

        def headed(attributes: list[str], _: int) -> None:
            self.header = xml.mapping(attributes)

        def begun(attributes: list[str], line: int) -> None:
            layout = f'<{name} {kwid}="QUERY">'
            self._begin(xml.values(attributes, [kwid], self.source, line, layout)[0].strip(), line)

        def said(found: str, line: int) -> None:
            if self.rows[-1]["text"] is not None:
                self._refuse(line, f"a second <{text}>; expected one in each <{name}>")
            self.rows[-1]["text"] = " ".join(found.split())

        attribute = xml.Element(
            self._forget,
            {part: xml.Element(xml.nothing, {}, self._keeper(part)) for part in ("name", "value")},
        )
        infos = {"attr": attribute}
        children = {
            text: xml.Element(xml.nothing, {}, said),
            info: xml.Element(xml.nothing, infos),
            **infos,
        }
        return xml.Element(headed, {name: xml.Element(begun, children)})

    def _begin(self, query: str, line: int) -> None:
        if not query:
            self._refuse(line, "the id of the query is empty")
        if query in self.lines:
            self._refuse(
                line,
                f"the query {cut(query)!r} is listed in line {self.lines[query]} already; expected "
                f"each query once",
            )
        self.lines[query] = line
        self.rows.append({"query": query, "text": None, "line": line})

    def _forget(self, _: list[str], __: int) -> None:
        """Begin with another attribute."""
        self.attribute = {}

    def _keeper(self, part: str) -> xml.Closed:
        """What keeps the name or the value of an attribute, and with the value the attribute."""

        def keep(text: str, line: int) -> None:
            if part in self.attribute:
                self._refuse(line, f"a second <{part}>; expected one in each <attr>")
            self.attribute[part] = text.strip()
            if len(self.attribute) == 2:
                self._add(self.attribute["name"], self.attribute["value"], line)

        return keep

    def _add(self, name: str, value: str, line: int) -> None:
        """Keep an attribute of the last query."""
        if not name or name in OWN:
            self._refuse(line, f"the attribute is named {name!r}; expected any other name")
        if name in self.rows[-1]:
            self._refuse(line, f"the query has two attributes {cut(name)!r}; expected one")
        self.rows[-1][name] = value

    def _refuse(self, line: int, why: str) -> NoReturn:
        raise InputError(f"{self.source}, line {line}: {why}")

    def listed(self) -> Listing:
        """All that was read."""
        names = dict.fromkeys(chain.from_iterable(self.rows))
        others = [name for name in names if name not in OWN]
        schema: dict[str, Any] = dict.fromkeys(("query", "text", *others), pl.String)
        frame = pl.DataFrame(self.rows, schema=schema | {"line": pl.Int64}, orient="row")
        if not frame.height:
            raise InputError(f"{self.source}: there are no queries; expected <kw kwid=...>")
        return Listing(self.source, self.header, frame)
