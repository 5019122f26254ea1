"""Files of a search for terms as tables: detections, and where queries occur, ready made.

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

The columns are `query`, `document`, `start`, either `end` or `duration` (seconds), and `channel`
where recordings have several; of detections `score` and `decision` (YES or NO, 1 or 0, true or
false, in any case) too.
"""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError
from truecost.formats import kwslist, terms, xml
from truecost.formats.declared import SEARCHES
from truecost.formats.kwslist import DetectionList
from truecost.formats.opening import pieces
from truecost.formats.reading import read
from truecost.formats.table import Table
from truecost.formats.text import cut
from truecost.names import LATEST

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


def excerpts_of_table(table: Table, columns: terms.Mapped = None) -> terms.Listing:
    """The excerpts of a table."""
    found, (noun, lines) = terms.Columns(table, columns or {}), table.places
    document, channel = found.documents(), found.channels()
    start, duration = found.spans(begin=0.0)
    found.refuse(duration <= 0, "of no duration", lambda r: str(duration[r]))
    source = pl.repeat("", len(table), eager=True).alias("source")
    if found.has("source"):
        source = table.texts(found.name("source"), "source").fill_null("").alias("source")
    rows = (document, channel, start, duration, source, lines)
    frame = pl.DataFrame(dict(zip(SCHEMA, rows, strict=True)))
    return terms.Listing(table.source, {}, frame, noun)


def excerpts_of_blocks(data: Iterable[bytes], source: str) -> terms.Listing:
    """The excerpts of the blocks of an XML file."""
    found = _Excerpts(source)
    excerpt = xml.Element(found.add)
    xml.parse(data, source, {"ecf": xml.Element(found.begin, {"excerpt": excerpt})})
    return found.listed()


class _Excerpts(xml.Gathered):
    """Excerpts while a file is read."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.rows: list[tuple[str, str, float, float, str, int]] = []
        self.files: dict[str, tuple[str, int]] = {}  # file and line of each document

    def add(self, attributes: list[str], line: int) -> None:
        """Store an excerpt."""
        found = xml.values(attributes, FIELDS, self.source, line, EXCERPT)
        file, channel = (text.strip() for text in found[:2])
        document = terms.document_of(file)
        for name, text in zip(FIELDS, (document, channel), strict=False):
            if not text:
                self._refuse(line, f"the {name} is not a name")
        before, first = self.files.setdefault(document, (file, line))
        if before != file:
            self._refuse(
                line,
                f"{cut(file)!r} has the same name, {cut(document)!r}, as {cut(before)!r} in line "
                f"{first}; documents need different names",
            )
        times = zip(found[2:], FIELDS[2:], strict=True)
        start, duration = (self._seconds(text, name, line) for text, name in times)
        if not duration:
            self._refuse(line, f"the dur {found[3]!r} is nothing")
        kind = xml.mapping(attributes).get("source_type", "").strip()
        self.rows.append((document, channel, start, duration, kind, line))

    def _seconds(self, text: str, name: str, line: int) -> float:
        """A time of an excerpt."""
        found = xml.number(text)
        if found is None or not 0 <= found <= LATEST:
            fault = "is not a finite number" if found is None else "is negative"
            fault = f"is beyond {LATEST:g} s" if (found or 0) > LATEST else fault
            self._refuse(line, f"the {name} {cut(text)!r} {fault}")
        return found

    def _refuse(self, line: int, why: str) -> NoReturn:
        self.refuse(line, f"{why}; expected {EXCERPT}")

    def listed(self) -> terms.Listing:
        """The excerpts of the whole file."""
        if not self.rows:
            raise InputError(f"{self.source}: there are no excerpts; expected {EXCERPT}")
        frame = pl.DataFrame(self.rows, schema=SCHEMA, orient="row")
        return terms.Listing(self.source, self.header, frame)


OWN = ("query", "text", "line")  # columns that no attribute may be named after


def queries_of_table(table: Table, columns: terms.Mapped = None) -> terms.Listing:
    """The queries of a table."""
    found, (noun, lines) = terms.Columns(table, columns or {}), table.places
    query = found.texts("query")
    again = (~query.is_first_distinct()).to_numpy()
    found.refuse(again, "with a query again", lambda r: repr(query[r]))
    used = {found.name("query"), found.name("text"), *OWN}
    text = pl.repeat(None, len(table), dtype=pl.String, eager=True).alias("text")
    if found.has("text"):
        text = table.texts(found.name("text"), "text").alias("text")
    others = [table.texts(name, name).alias(name) for name in table.columns if name not in used]
    line = pl.Series("line", lines)
    return terms.Listing(table.source, {}, pl.DataFrame([query, text, *others, line]), noun)


def queries_of_blocks(data: Iterable[bytes], source: str) -> terms.Listing:
    """The queries of the blocks of an XML file."""
    found = _Queries(source)
    xml.parse(data, source, found.roots())
    return found.listed()


class _Queries(xml.Gathered):
    """Queries while a file is read."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.rows: list[dict[str, str | int | None]] = []
        self.lines: dict[str, int] = {}  # where each query stands
        self.attribute: dict[str, str] = {}  # the one that is open

    def roots(self) -> dict[str, xml.Element]:
        """The elements that a file may contain, in both of its kinds."""
        new = self._root("kw", "kwid", "kwtext", "kwinfo")
        old = self._root("term", "termid", "termtext", "terminfo")
        return {"kwlist": new, "termlist": old, "tlist": old}

    def _root(self, name: str, kwid: str, text: str, info: str) -> xml.Element:
        """The elements of a kind."""

        def begun(attributes: list[str], line: int) -> None:
            layout = f'<{name} {kwid}="QUERY">'
            self._begin(xml.values(attributes, [kwid], self.source, line, layout)[0].strip(), line)

        def written(found: str, line: int) -> None:
            if self.rows[-1]["text"] is not None:
                self.refuse(line, f"a second <{text}>; expected one in each <{name}>")
            self.rows[-1]["text"] = " ".join(found.split())

        attribute = xml.Element(
            self._forget,
            {part: xml.Element(xml.nothing, {}, self._keeper(part)) for part in ("name", "value")},
        )
        infos = {"attr": attribute}
        children = {
            text: xml.Element(xml.nothing, {}, written),
            info: xml.Element(xml.nothing, infos),
            **infos,
        }
        return xml.Element(self.begin, {name: xml.Element(begun, children)})

    def _begin(self, query: str, line: int) -> None:
        if not query:
            self.refuse(line, "the id of the query is empty")
        if query in self.lines:
            self.refuse(
                line,
                f"the query {cut(query)!r} is already in line {self.lines[query]}; expected "
                f"each query once",
            )
        self.lines[query] = line
        self.rows.append({"query": query, "text": None, "line": line})

    def _forget(self, _: list[str], __: int) -> None:
        """Begin a new attribute."""
        self.attribute = {}

    def _keeper(self, part: str) -> xml.Closed:
        """The function that stores the name or the value of an attribute, and with the value the
        attribute.
        """

        def keep(text: str, line: int) -> None:
            if part in self.attribute:
                self.refuse(line, f"a second <{part}>; expected one in each <attr>")
            self.attribute[part] = text.strip()
            if len(self.attribute) == 2:
                self._add(self.attribute["name"], self.attribute["value"], line)

        return keep

    def _add(self, name: str, value: str, line: int) -> None:
        """Store an attribute of the last query."""
        if not name or name in OWN:
            self.refuse(line, f"the attribute is named {name!r}; expected any other name")
        if name in self.rows[-1]:
            self.refuse(line, f"the query has two attributes {cut(name)!r}; expected one")
        self.rows[-1][name] = value

    def listed(self) -> terms.Listing:
        """The queries of the whole file."""
        names = dict.fromkeys(chain.from_iterable(self.rows))
        others = [name for name in names if name not in OWN]
        schema: dict[str, Any] = dict.fromkeys(("query", "text", *others), pl.String)
        frame = pl.DataFrame(self.rows, schema=schema | {"line": pl.Int64}, orient="row")
        if not frame.height:
            raise InputError(f"{self.source}: there are no queries; expected <kw kwid=...>")
        return terms.Listing(self.source, self.header, frame)


OF_DETECTIONS = ("score", "decision")  # columns by which their list is known


def read_occurrences(
    given: str | Table, stated: str | None = None, columns: terms.Mapped = None
) -> terms.Listing:
    """The occurrences of queries, from a table whose columns may be mapped.

    `query`, `document`, `channel`, `start`, `end`, `line`; in the order of the file.
    """
    table = given if isinstance(given, Table) else read(given, stated, SEARCHES)
    if all(name in table.columns for name in OF_DETECTIONS):
        raise InputError(
            f"{table.source}: this is a list of detections, with "
            f"{' and '.join(OF_DETECTIONS)}; expected a table of the occurrences of queries: "
            "query, document, start, end"
        )
    terms.refuse_kind(table, "a table of occurrences")
    found, (noun, lines) = terms.Columns(table, columns or {}), table.places
    query, document, channel = found.texts("query"), found.documents(), found.channels()
    start, end = found.ends()
    times = pl.Series("start", start), pl.Series("end", end)
    frame = pl.DataFrame([query, document, channel, *times, pl.Series("line", lines)])
    return terms.Listing(table.source, {}, frame, noun)


DECISIONS = {"YES": True, "NO": False, "1": True, "0": False, "TRUE": True, "FALSE": False}


def detections_of_table(table: Table, columns: terms.Mapped = None) -> DetectionList:
    """The detections of a table."""
    found, (noun, lines) = terms.Columns(table, columns or {}), table.places
    queries, documents, channels = terms.Codes(), terms.Codes(), terms.Codes()
    query = terms.encoded(found.texts("query"), queries)
    document = terms.encoded(found.documents(), documents)
    channel = terms.encoded(found.channels(), channels)
    start, duration = found.spans()
    first = lines[np.unique(query, return_index=True)[1]]
    answers = {"query": list(queries.names), "search_time": None, "oov_count": None, "line": first}
    return DetectionList(
        *(table.source, {}, pl.DataFrame(answers, schema=kwslist.ANSWERS)),
        *(tuple(queries.names), tuple(documents.names), tuple(channels.names)),
        *(query, document, channel),
        *(start, duration, found.numbers("score")),
        *(_decided(found), lines, noun),
    )


def _decided(columns: terms.Columns) -> npt.NDArray[np.bool_]:
    """Decisions of a table."""
    words = columns.texts("decision")
    upper = words.str.to_uppercase()
    wrong = ~upper.is_in(list(DECISIONS))
    fault = "whose decision is not YES or NO (nor 1 or 0, true or false)"
    columns.refuse(wrong.to_numpy(), fault, lambda r: repr(words[r]))
    return upper.replace_strict(DECISIONS, return_dtype=pl.Boolean).to_numpy()


# The excerpts that are searched, of an ecf or a table with columns that may be mapped: `document`,
# `channel`, `start`, `duration` (above 0), `source` (empty where it is not said), `line`; in the
# order of the file. Excerpts may overlap, touch or be the same.
read_ecf = partial(terms.read_either, "ecf", excerpts_of_blocks, excerpts_of_table)

# The queries of a search, of a kwlist, a termlist or a table: `query`, `text` (null where there is
# none), a column of text for each attribute (null where a query lacks it), `line`; in the order of
# the file. The header has `compareNormalize` and what else the root says.
read_kwlist = partial(terms.read_either, "kwlist", queries_of_blocks, queries_of_table)

# What a system found, of a kwslist, a stdlist or a table.
read_detections = partial(terms.read_either, "kwslist", kwslist.of_blocks, detections_of_table)


def kwslist_table(data: bytes, source: str) -> Table:
    """A table of the detections of a kwslist, with a column for each of their fields except the
    line.
    """
    found = kwslist.of_blocks(pieces(data), source)
    if not len(found):
        raise InputError(f"{source}: there are no detections")
    return table_of(found)


def kwlist_table(data: bytes, source: str) -> Table:
    """A table of the queries of a kwlist."""
    return _numbered(source, queries_of_blocks(pieces(data), source).frame)


def ecf_table(data: bytes, source: str) -> Table:
    """A table of the excerpts of an ecf."""
    return _numbered(source, excerpts_of_blocks(pieces(data), source).frame)


def rttm_table(data: bytes, source: str) -> Table:
    """A table of the words of an rttm."""
    words = terms.of_bytes(data, source).words
    return _numbered(source, words.cast({pl.Categorical: pl.String}))


def _numbered(source: str, frame: pl.DataFrame) -> Table:
    return Table(source, frame.drop("line"), lines=frame["line"].to_numpy())


def table_of(found: DetectionList) -> Table:
    """A list of detections as a table."""
    texts = {
        name: pl.Series(getattr(found, f"{name}s"), dtype=pl.String).gather(getattr(found, name))
        for name in ("document", "channel")
    }
    numbers = {"start": found.start, "duration": found.duration, "score": found.score}
    decision = {"decision": np.where(found.accepted, "YES", "NO")}
    query = {"query": pl.Series(found.queries, dtype=pl.String).gather(found.query)}
    frame = pl.DataFrame(query | texts | numbers | decision)
    return Table(found.source, frame, lines=found.line, noun=found.noun)
