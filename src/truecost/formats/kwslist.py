"""Detections of queries: kwslist, stdlist as it was called in 2006, and fast reading of lines
written alike.

In lists of detections nearly every line is `<kw file="F" channel="1" ... decision="YES"/>`, and
only the values differ. Such lines are cut at their quotes (1.5 million in 0.7 s, where the parser
takes 2.4 s). Whatever a parser would have to look at closely stays with the parser: references,
letters beyond ASCII, tabs and line breaks in values, other quotes, a line that is written in
another way.

    <kwslist kwlist_filename="t.kwlist.xml" language="english" system_id="x">
      <detected_kwlist kwid="K1" search_time="24.3" oov_count="0">
        <kw file="F" channel="1" tbeg="10.5" dur="0.47" score="0.995" decision="YES"/>
      </detected_kwlist>
    </kwslist>

`kwid` is the query; `tbeg` and `dur` are seconds; a higher `score` means rather an occurrence;
`decision` is YES or NO. A query that was searched and not found has an empty `detected_kwlist`, one
that was not searched has none. `oov_count` may be NA. A stdlist says `detected_termlist`, `termid`,
`term_search_time`, `oov_term_count` and `term`. Attributes of other names do not matter, those of
the root are kept.
Source: NIST, F4DE, `KWSEval-kwslist.xsd` and `KWSEval-stdlist.xsd`.
"""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.formats import xml
from truecost.formats.opening import blocks, source_name
from truecost.formats.terms import Codes, Floats, document_of
from truecost.formats.text import cut
from truecost.names import LARGEST, LATEST

Codings = npt.NDArray[np.int32]
PRINTABLE = bytes(range(32, 127))
NAME = r"[ \t]+([A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
LAST = re.compile(r"[ \t]*/>[ \t]*\r?\n")


def values_of(lines: bytes, element: str, names: Sequence[str]) -> list[list[str]] | None:
    """The value of each attribute in every line, for empty elements with one line each.

    Further attributes are ignored. None where the XML parser has to read the lines.
    """
    first, count = lines[: lines.index(b"\n") + 1], lines.count(b"\n")
    blank = first.translate(None, PRINTABLE)
    if not lines.isascii() or b"&" in lines or lines.count(b"<") != count:
        return None
    marks = first.decode("ascii").split('"')  # values, and what stands around them, by turns
    found = _names(marks, element)
    if not set(names) <= set(found) or not "".join(marks[1::2]).isprintable():
        return None
    pieces, period = lines.decode("ascii").split('"'), len(marks) - 1
    gap = marks[-1] + marks[0]
    alike = (
        len(pieces) == count * period + 1
        and lines.translate(None, PRINTABLE) == blank * count
        and pieces[0] + pieces[-1] == marks[0] + marks[-1]
        and pieces[period:-1:period] == [gap] * (count - 1)
        and all(pieces[k::period] == [marks[k]] * count for k in range(2, period, 2))
    )
    return [pieces[2 * found.index(name) + 1 :: period] for name in names] if alike else None


def _names(marks: Sequence[str], element: str) -> list[str]:
    """The attributes of a line, from the text around their values; none for another form."""
    layouts = [re.compile(rf"[ \t]*<{re.escape(element)}{NAME}", re.ASCII)]
    layouts += [re.compile(NAME, re.ASCII)] * (len(marks) // 2 - 1)
    matches = [layout.fullmatch(mark) for layout, mark in zip(layouts, marks[::2], strict=False)]
    found = [match[1] for match in matches if match]
    regular = len(marks) % 2 == 1 and len(found) == len(set(found)) == len(layouts) == len(matches)
    return found if regular and LAST.fullmatch(marks[-1]) else []


FIELDS = ["file", "channel", "tbeg", "dur", "score", "decision"]
DECISIONS = {"YES": True, "NO": False}
DETECTION = (
    '<{} file="NAME" channel="1" tbeg="SECONDS" dur="SECONDS" score="NUMBER" decision="YES"/>'
)
ANSWERS: dict[str, type[pl.DataType]] = {
    "query": pl.String,
    "search_time": pl.Float64,
    "oov_count": pl.Int64,
    "line": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class DetectionList:
    """The detections of a system: arrays with an entry for each, in the order of the file.

    `header`: the file's description of the system and its run (`system_id`, `min_score`, ...).
    `answers`: the listed queries, with or without detections, in the order of the file: `query`,
    `search_time` (seconds), `oov_count` (words that the system did not know), `line`; for a table
    the queries of its rows, without times and counts. `query`, `document` and `channel` are indices
    into `queries`, `documents` and `channels`. Times are seconds from 0, scores finite. `noun`:
    noun for what `line` numbers: lines, or rows (from 0) of a file without lines.
    """

    source: str
    header: Mapping[str, str]
    answers: pl.DataFrame
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    channels: tuple[str, ...]
    query: Codings
    document: Codings
    channel: Codings
    start: Floats
    duration: Floats
    score: Floats
    accepted: npt.NDArray[np.bool_]
    line: npt.NDArray[np.int64]
    noun: str = "line"

    def __len__(self) -> int:
        return len(self.score)

    def where(self, row: int) -> str:
        """The name of a detection (from 0) in messages."""
        return f"{self.noun} {self.line[row]}"


def read_kwslist(path: str) -> DetectionList:
    """The detections of an XML file, gzipped or not; `-` is standard input."""
    return of_blocks(blocks(path), source_name(path))


def of_blocks(data: Iterable[bytes], source: str) -> DetectionList:
    """The detections of the blocks of an XML file."""
    found = _Detections(source)
    xml.parse(data, source, found.roots(), found.pack)
    return found.packed()


class _Detections(xml.Gathered):
    """Detections while a file is read: rows as text, packed into arrays after every block."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.name = "kw"
        self.answers: dict[str, list[float | int | None]] = {}
        self.begins: list[int] = []  # detections before those of each query
        self.columns: list[list[str]] = [[] for _ in FIELDS]  # of the rows that are not packed
        self.lines = array("q")
        self.documents, self.channels = Codes(document_of), Codes()
        self.codes = array("i"), array("i")
        self.numbers = array("d"), array("d"), array("d")
        self.accepted = bytearray()

    def roots(self) -> dict[str, xml.Element]:
        """The elements that a file may contain, in both of its kinds."""
        new = self._root("detected_kwlist", "kwid", "search_time", "oov_count", "kw")
        old = ("detected_termlist", "termid", "term_search_time", "oov_term_count", "term")
        return {"kwslist": new, "stdlist": self._root(*old)}

    def _root(self, answer: str, kwid: str, time: str, count: str, name: str) -> xml.Element:
        """The elements of a kind."""
        columns, lines = self.columns, self.lines

        def headed(attributes: list[str], line: int) -> None:
            self.begin(attributes, line)
            self.name = name

        def answered(attributes: list[str], line: int) -> None:
            self._answer(attributes, line, f'<{answer} {kwid}="QUERY">', (kwid, time, count))

        def detected(attributes: list[str], line: int) -> None:
            found = attributes[1::2]
            if attributes[::2] != FIELDS:
                layout = DETECTION.format(name)
                found = xml.values(attributes, FIELDS, self.source, line, layout)
            for column, value in zip(columns, found, strict=True):
                column.append(value)
            lines.append(line)

        def all_detected(rows: bytes, line: int) -> bool:
            found = values_of(rows, name, FIELDS)
            if found is not None:
                for column, values in zip(columns, found, strict=True):
                    column.extend(values)
                lines.extend(range(line, line + len(found[0])))
            return found is not None

        inside = xml.Element(answered, {name: xml.Element(detected)}, alike=all_detected)
        return xml.Element(headed, {answer: inside})

    def _answer(
        self, attributes: list[str], line: int, layout: str, names: tuple[str, str, str]
    ) -> None:
        """Begin the answer of a system to a query."""
        kwid, time, count = names
        query = xml.values(attributes, [kwid], self.source, line, layout)[0].strip()
        given = xml.mapping(attributes)
        if not query:
            self._refuse(line, f"the {kwid} is empty", layout)
        if query in self.answers:
            already = self.answers[query][-1]
            self._refuse(
                line,
                f"the {kwid} {cut(query)!r} is already in line {already}",
                "each query once, with all of its detections",
            )
        seconds, words = (self._stated(given.get(name), name, line) for name in (time, count))
        if words is not None and words != round(words):
            self._refuse(
                line, f"the {count} {given[count]!r} is not a count", "a whole number or NA"
            )
        self.answers[query] = [seconds, words, line]
        self.begins.append(len(self.lines))

    def _stated(self, text: str | None, name: str, line: int) -> float | None:
        """An optional number."""
        if text is None or text.strip().upper() in ("", "NA"):
            return None
        found = xml.number(text)
        if found is None or found < 0:
            self._refuse(
                line, f"the {name} {cut(text)!r} is not a number", "a number from 0, or NA"
            )
        return found

    def pack(self) -> None:
        """Turn the rows read so far into numbers and codes."""
        columns = dict(zip(FIELDS, self.columns, strict=True))
        first = len(self.lines) - len(columns["file"])
        for kept, name in zip(self.numbers, ("tbeg", "dur", "score"), strict=True):
            kept.frombytes(self._finite(columns[name], name, first).tobytes())
        named = (self.documents, "file"), (self.channels, "channel")
        for packed, (codes, name) in zip(self.codes, named, strict=True):
            packed.frombytes(codes.encode(columns[name]).tobytes())
            if "" in codes.names:
                row = next(k for k, text in enumerate(columns[name]) if not codes.name(text))
                self._refuse_row(first + row, f"the {name} {columns[name][row]!r} is not a name")
        self.accepted += self._decided(columns["decision"], first)
        for column in self.columns:
            column.clear()

    def _finite(self, texts: list[str], name: str, first: int) -> Floats:
        """The numbers of one attribute; times must not be negative."""
        found = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
        if found.null_count():
            found = pl.Series(texts).str.strip_chars().cast(pl.Float64, strict=False)
        numbers = found.to_numpy()  # NaN for what is no number
        least, most = (-np.inf, LARGEST) if name == "score" else (0, LATEST)
        wrong = ~((np.abs(numbers) <= most) & (numbers >= least))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            large = np.isfinite(numbers[row]) and numbers[row] >= least
            fault = f"is beyond {most:g}" if large else "is not a finite number"
            fault = "is negative" if -np.inf < numbers[row] < least else fault
            self._refuse_row(first + row, f"the {name} {cut(texts[row])!r} {fault}")
        return numbers

    def _decided(self, texts: list[str], first: int) -> bytes:
        """Decisions as bytes, 1 for YES."""
        known = {text: DECISIONS.get(text.strip().upper(), -1) for text in set(texts)}
        if -1 in known.values():
            row = next(k for k, text in enumerate(texts) if known[text] == -1)
            self._refuse_row(first + row, f"the decision {cut(texts[row])!r} is not YES or NO")
        return bytes(map(known.__getitem__, texts))

    def _refuse_row(self, row: int, why: str) -> NoReturn:
        self._refuse(self.lines[row], why, DETECTION.format(self.name))

    def _refuse(self, line: int, why: str, expected: str) -> NoReturn:
        self.refuse(line, f"{why}; expected {expected}")

    def packed(self) -> DetectionList:
        """The detections of the whole file."""
        rows = [(query, *answer) for query, answer in self.answers.items()]
        sizes = np.diff([*self.begins, len(self.lines)])
        query = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
        document, channel = (np.frombuffer(codes, np.int32) for codes in self.codes)
        start, duration, score = (np.frombuffer(values, np.float64) for values in self.numbers)
        accepted, line = np.frombuffer(self.accepted, np.bool_), np.frombuffer(self.lines, np.int64)
        return DetectionList(
            *(self.source, self.header, pl.DataFrame(rows, schema=ANSWERS, orient="row")),
            *(tuple(self.answers), tuple(self.documents.names), tuple(self.channels.names)),
            *(query, document, channel),
            *(start, duration, score),
            *(accepted, line),
        )
