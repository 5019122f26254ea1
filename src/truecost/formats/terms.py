"""The parts that the files of a search share: names of documents, numbers in place of texts, and
the words of an RTTM (`read_lexemes`).

A document is named after its audio file, without folder and, where it ends like audio, without its
ending: `audio/bnews/20010206_ABC.sph` is `20010206_ABC`, and `rec.1` stays as it is. A table that
has no column `channel` is of recordings with one channel, whose name is 1 as NIST writes it.

Lines of an RTTM that are read, fields apart by blanks:

    LEXEME file chnl tbeg tdur ortho stype name conf [slat]
    SPEAKER file chnl tbeg tdur <NA> <NA> name conf [slat]

A LEXEME is a word as it is written, `ortho`; its `stype` says what kind it is: `lex` an ordinary
one, `fp` a filled pause, `frag` a fragment, `un-lex` one that was not understood, `for-lex` a
foreign one, `alpha` a letter, `propernoun`, `acronym`, `interjection`, `other`. Case is kept. Lines
of the other types of RTTM are left out (`LEFT_OUT` of `segments.py`, `NOSCORE`, `NON-LEX`), also
where they are written NONLEX and NONSPEECH; any other type is refused. Text after a blank and `;;`
is a comment. Source: NIST, RT-09 meeting recognition evaluation plan, appendix A.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError
from truecost.formats import segments, tables, xml
from truecost.formats.declared import SEARCHES, known_format
from truecost.formats.opening import blocks, read_bytes, source_name
from truecost.formats.reading import table_of_bytes
from truecost.formats.table import Table, refuse_values
from truecost.formats.text import parts, records, regular_fields, seconds
from truecost.formats.trial_lists import is_number
from truecost.names import LATEST

Floats = npt.NDArray[np.float64]
Found = TypeVar("Found")
Mapped = Mapping[str, str] | None  # columns that have other names
ONLY_CHANNEL = "1"
WANTED = {  # by format, what may stand in its place
    "kwslist": "a kwslist or a table of detections",
    "kwlist": "a kwlist or a table of queries",
    "ecf": "an ecf or a table of documents",
}
AUDIO = (
    *("sph", "wav", "flac", "mp3", "ogg", "opus", "aif", "aiff", "au", "snd", "raw", "pcm"),
    *("m4a", "mp4", "webm"),
)
WORDS = ("document", "channel", "start", "duration", "word", "subtype", "speaker", "line")
TURNS = ("document", "channel", "start", "duration", "speaker", "line")
NAMES = {"recording": "document", "orthography": "word"}
CODED = ("document", "channel", "word", "subtype", "speaker")
SAID = ("LEXEME", "SPEAKER")
FIELDS = {
    name: pl.Categorical if NAMES.get(name, name) in CODED else pl.String
    for name in segments.FIELDS
}
LEFT_OUT = ("NOSCORE", "NON-LEX", *segments.LEFT_OUT, "NONLEX", "NONSPEECH")


@dataclass(frozen=True, eq=False)
class Listing:
    """The entries of an XML file, or of a table in its place.

    `header`: the file's description of itself, empty for tables. `frame`: a row for each entry, in
    the order of the file; its `line` is the number of a line, or of a row (from 0) of a file
    without lines, and `noun` the noun for it.
    """

    source: str
    header: Mapping[str, str]
    frame: pl.DataFrame
    noun: str = "line"

    def __len__(self) -> int:
        return self.frame.height

    def where(self, row: int) -> str:
        """The name of a row (from 0) in messages."""
        return f"{self.noun} {self.frame['line'][row]}"


def read_either(
    kind: str,
    of_blocks: Callable[[Iterable[bytes], str], Found],
    of_table: Callable[[Table, Mapped], Found],
    given: str | Table,
    stated: str | None = None,
    columns: Mapped = None,
) -> Found:
    """Read an XML file block by block, and any other file as a table of mapped columns.

    A path may name a gzipped file, or be `-` for standard input; the format is the stated one,
    otherwise that of the content or the ending.
    """
    if isinstance(given, Table):
        return of_table(given, columns)
    if stated is not None:
        stated = known_format(stated, SEARCHES)
    data = iter(blocks(given))
    first = next(data, b"")
    whole = chain([first] * bool(first), data)
    if stated == kind or (stated is None and xml.looks_like_xml(first)):
        return of_blocks(whole, source_name(given))
    # A file is read anew: what unpacks to more than the limit must not fill the memory before.
    content = read_bytes(given) if Path(given).is_file() else b"".join(whole)
    table = table_of_bytes(content, given, stated, SEARCHES)
    refuse_kind(table, WANTED[kind])
    return of_table(table, columns)


def refuse_kind(table: Table, wanted: str) -> None:
    """Refuse a file of keyword search that is not a table; `wanted` was expected."""
    if table.format and table.format not in tables.KINDS:
        raise InputError(f"{table.source}: this is {table.format}; {wanted} was expected")


def document_of(file: str) -> str:
    """The name of a document: that of its audio file without folder and ending."""
    name = file.strip().replace("\\", "/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return stem if stem and ending.lower() in AUDIO else name


class Codes(dict[str, int]):
    """Codes of texts, numbered in the order of their first occurrence.

    Equal texts of one `name`, the noun for them, have one code.
    """

    def __init__(self, name: Callable[[str], str] = str.strip) -> None:
        super().__init__()
        self.name = name
        self.names: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        code = self.names.setdefault(self.name(text), len(self.names))
        self[text] = code
        return code

    def encode(self, texts: Iterable[str]) -> npt.NDArray[np.int32]:
        """The codes of some texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int32)


def encoded(texts: pl.Series, codes: Codes) -> npt.NDArray[np.int32]:
    """The codes of a column without gaps, computed once for each distinct text."""
    distinct = texts.unique(maintain_order=True)
    places = texts.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return codes.encode(distinct).take(places)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by key; `mapped`: those with other names."""

    table: Table
    mapped: Mapping[str, str] = field(default_factory=dict)

    def has(self, key: str) -> bool:
        """Whether the table has a column for the key, by name or mapped."""
        return key in self.mapped or key in self.table.columns

    def name(self, key: str) -> str:
        """The name of a column."""
        return self.mapped.get(key, key)

    def texts(self, key: str) -> pl.Series:
        """A text column; an empty cell is refused with its line."""
        self._refuse_headless(key)
        texts = self.table.texts(self.name(key), key)
        self.refuse(texts.is_null().to_numpy(), f"without a {key}", lambda _: "empty")
        return texts.alias(key)

    def numbers(self, key: str) -> Floats:
        """A column of finite numbers; any other value is refused with its line."""
        self._refuse_headless(key)
        found = self.table.numbers(self.name(key), key)
        fault = f"whose {key} is not a finite number"
        self.refuse(~np.isfinite(found), fault, lambda r: str(found[r]))
        return found

    def seconds(self, key: str) -> Floats:
        """A column of times from 0; any other value is refused with its line."""
        found = self.numbers(key)
        self.refuse(found < 0, f"whose {key} is negative", lambda r: str(found[r]))
        self.refuse(found > LATEST, f"whose {key} is beyond {LATEST:g} s", lambda r: str(found[r]))
        return found

    def documents(self) -> pl.Series:
        """The names of the documents."""
        texts = self.texts("document")
        distinct = texts.unique(maintain_order=True)
        return texts.replace_strict(distinct, [document_of(file) for file in distinct])

    def channels(self) -> pl.Series:
        """The channels; 1 without a column."""
        if self.has("channel"):
            return self.texts("channel")
        return pl.repeat(ONLY_CHANNEL, len(self.table), eager=True).alias("channel")

    def spans(self, begin: float | None = None) -> tuple[Floats, Floats]:
        """Starts and durations; without a column `start` all starts are `begin`, if given."""
        start, kind, found = self._times(begin)
        return start, found if kind == "duration" else found - start

    def ends(self) -> tuple[Floats, Floats]:
        """Starts and ends."""
        start, kind, found = self._times(None)
        return start, found if kind == "end" else start + found

    def _times(self, begin: float | None) -> tuple[Floats, str, Floats]:
        """Starts, and ends or durations; where the table has both, the mapped one is used."""
        if begin is None or self.has("start"):
            start = self.seconds("start")
        else:
            start = np.full(len(self.table), begin)
        there = [key for key in ("end", "duration") if self.has(key)]
        chosen = [key for key in there if key in self.mapped] or there
        if not chosen:
            self._refuse_headless("end")
            raise UsageError(
                f"{self.table.source}: there is neither an end nor a duration; "
                f"{self.table.listed}: map one with {self.table.mapped_by} end=COLUMN or "
                f"duration=COLUMN"
            )
        if len(chosen) > 1:
            raise UsageError(
                f"{self.table.source}: there are both an end and a duration; choose one: "
                f"{self.table.mapped_by} end=COLUMN or duration=COLUMN"
            )
        found = self.seconds(chosen[0])
        before = (found < start) & (chosen[0] == "end")
        self.refuse(before, "with an end before its start", lambda r: f"{start[r]} to {found[r]}")
        return start, chosen[0], found

    def _refuse_headless(self, key: str) -> None:
        """Refuse a file without a required column whose first line has numbers, like a row."""
        names = self.table.columns
        read = self.table.format in tables.SEPARATORS
        if read and self.name(key) not in names and is_number(pl.Series(names)).any():
            raise InputError(
                f"{self.table.source}, line 1: there is no column {self.name(key)!r}; the columns "
                f"are {', '.join(names)}: is the header line missing?"
            )

    def refuse(self, wrong: npt.NDArray[np.bool_], fault: str, value: Callable[[int], str]) -> None:
        """InputError for wrong rows, with the first five lines."""
        refuse_values(self.table, wrong, "row", fault, value)


@dataclass(frozen=True, eq=False)
class Speech:
    """The words and turns of an RTTM: its LEXEME and SPEAKER lines, in order.

    The columns are `WORDS` and `TURNS`, times in seconds; texts are categorical.
    """

    source: str
    words: pl.DataFrame
    turns: pl.DataFrame


def read_lexemes(path: str) -> Speech:
    """The words and turns of an RTTM, gzipped or not; `-` is standard input."""
    return of_bytes(read_bytes(path), source_name(path))


def of_bytes(data: bytes, source: str) -> Speech:
    """The words and turns of the bytes of an RTTM."""
    if not data:
        raise InputError(f"{source}: the file is empty; expected rttm: {segments.RTTM}")
    if xml.looks_like_xml(data):
        what = xml.called(data)
        raise InputError(f"{source}: this is {what}; an rttm was expected: {segments.RTTM}")
    words, turns = (_plain(pl.concat(found)) for found in zip(*_timed(data, source), strict=True))
    if not words.height:
        raise InputError(
            f"{source}: there are no LEXEME lines, one for each spoken word, which keyword "
            f"search needs (an RTTM of speakers has SPEAKER lines); fields of rttm: "
            f"{segments.RTTM}"
        )
    return Speech(source, words, turns)


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with document names, where files have folders or endings."""
    files = rows["document"].unique().cast(pl.String)
    names = {file: document_of(file) for file in files if document_of(file) != file}
    if not names:
        return rows
    named = rows["document"].cast(pl.String).replace(names).cast(pl.Categorical)
    return rows.with_columns(named)


def _timed(data: bytes, source: str) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Words and turns, for some lines at a time."""
    for before, part in parts(data, source):
        fields = _regular(part, before)
        if fields is None:
            fields = _fields(part, before, source)
        fields = fields.filter(pl.col("type").is_in(SAID)).rename(NAMES)
        if b"*" in part:
            fields = fields.with_columns(pl.col("start", "duration").str.strip_chars_end("*"))
        times = [seconds(fields, name, source) for name in ("start", "duration")]
        rows = fields.select("type", *CODED, *times, "line")
        rows = rows.cast(dict.fromkeys(CODED, pl.Categorical))
        said = rows["type"] == "LEXEME"
        yield rows.filter(said).select(WORDS), rows.filter(~said).select(TURNS)


def _regular(part: bytes, before: int) -> pl.DataFrame | None:
    """The fields of lines in the usual form, without comments and unusual blanks."""
    fields = None if b";;" in part else regular_fields(part, before, FIELDS, 9)
    known = fields is not None and fields["type"].is_in([*SAID, *LEFT_OUT]).all()
    return fields if known else None


def _fields(part: bytes, before: int, source: str) -> pl.DataFrame:
    """The fields of lines."""
    block = records(part, before, segments.COMMENTS)
    if b";;" in part:
        block = block.with_columns(pl.col("text").str.replace(r"[ \t]+;;.*$", ""))
    return segments.typed(block, source, [*SAID, *LEFT_OUT], "RTTM")
