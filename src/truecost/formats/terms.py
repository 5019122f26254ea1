"""What the files of a search for terms share: names of documents, and tables in place of XML.

A document is named after its audio file, without folder and, where it ends like audio, without its
ending: `audio/bnews/20010206_ABC.sph` is `20010206_ABC`, and `rec.1` stays as it is. A table that
has no column `channel` is of recordings with one channel, whose name is 1 as NIST writes it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import declared as sniffing
from truecost.formats import tables, xml
from truecost.formats.declared import SEARCHES
from truecost.formats.reading import table_of_bytes
from truecost.formats.streams import blocks, read_bytes, shown
from truecost.formats.table import Table
from truecost.formats.trial_lists import is_number

Floats = npt.NDArray[np.float64]
Found = TypeVar("Found")
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


@dataclass(frozen=True, eq=False)
class Listing:
    """What an XML file, or a table in its place, lists.

    Attributes
    ----------
    source : str
        File name for messages.
    header : mapping of str to str
        What the file says of itself; nothing for tables.
    frame : polars.DataFrame
        A row for each entry, in the order of the file; `line` is where it stands.
    noun : str
        What `line` numbers: lines, or rows (from 0) where a file has no lines.
    """

    source: str
    header: Mapping[str, str]
    frame: pl.DataFrame
    noun: str = "line"

    def __len__(self) -> int:
        return self.frame.height

    def where(self, row: int) -> str:
        """How a row (from 0) is named in messages."""
        return f"{self.noun} {self.frame['line'][row]}"


def read_either(
    path: str,
    stated: str | None,
    kind: str,
    of_blocks: Callable[[Iterable[bytes], str], Found],
    of_table: Callable[[Table], Found],
) -> Found:
    """Read XML a block at a time, and anything else as a table.

    Parameters
    ----------
    path : str
        Gzipped or not; `-` is standard input.
    stated : str, optional
        The format; from the content or the ending when left out.
    kind : str
        The format that is XML.
    of_blocks : callable
        Called with the blocks and the name for messages.
    of_table : callable
        Called with the table.

    Raises
    ------
    UsageError
        When the format is not known.
    InputError
        When the file cannot be read, or is of another kind.
    """
    if stated is not None:
        stated = sniffing.known(stated, SEARCHES)
    data = iter(blocks(path))
    first = next(data, b"")
    whole = chain([first] * bool(first), data)
    if stated == kind or (stated is None and xml.looks_like_xml(first)):
        return of_blocks(whole, shown(path))
    # A file is read anew: what unpacks to more than the limit must not fill the memory before.
    content = read_bytes(path) if Path(path).is_file() else b"".join(whole)
    table = table_of_bytes(content, path, stated, SEARCHES)
    refuse_kind(table, WANTED[kind])
    return of_table(table)


def refuse_kind(table: Table, wanted: str) -> None:
    """Refuse what was read from a file of a search that is no table.

    Parameters
    ----------
    wanted : str
        What was expected, for the message.

    Raises
    ------
    InputError
    """
    if table.format and table.format not in tables.KINDS:
        raise InputError(f"{table.source}: this is {table.format}; {wanted} was expected")


def document_of(file: str) -> str:
    """The name of a document.

    Parameters
    ----------
    file : str
        Its audio file.

    Returns
    -------
    str
        Without folder and ending.
    """
    name = file.strip().replace("\\", "/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return stem if stem and ending.lower() in AUDIO else name


class Codes(dict[str, int]):
    """Codes of texts, given out in the order in which the texts are asked for.

    Parameters
    ----------
    name : callable
        What a text stands for; texts of one name have one code.
    """

    def __init__(self, name: Callable[[str], str] = str.strip) -> None:
        super().__init__()
        self.name = name
        self.names: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        code = self.names.setdefault(self.name(text), len(self.names))
        self[text] = code
        return code

    def of(self, texts: Iterable[str]) -> npt.NDArray[np.int32]:
        """The codes of some texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int32)


def encoded(texts: pl.Series, codes: Codes) -> npt.NDArray[np.int32]:
    """The codes of a column without gaps, each distinct text looked at once."""
    distinct = texts.unique(maintain_order=True)
    places = texts.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return codes.of(distinct).take(places)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by what they mean.

    Attributes
    ----------
    mapped : mapping of str to str
        Columns that have other names than what they mean.
    """

    table: Table
    mapped: Mapping[str, str] = field(default_factory=dict)

    def has(self, key: str) -> bool:
        """Whether there is such a column, under its name or mapped."""
        return key in self.mapped or key in self.table.columns

    def name(self, key: str) -> str:
        """The name of a column."""
        return self.mapped.get(key, key)

    def texts(self, key: str) -> pl.Series:
        """A column of text; a gap is refused with its line."""
        self._refuse_headless(key)
        texts = self.table.texts(self.name(key), key)
        self.refuse(texts.is_null().to_numpy(), lambda _: "empty", f"without a {key}")
        return texts.alias(key)

    def numbers(self, key: str) -> Floats:
        """A column of finite numbers; anything else is refused with its line."""
        self._refuse_headless(key)
        found = self.table.numbers(self.name(key), key)
        self.refuse(
            ~np.isfinite(found), lambda r: str(found[r]), f"whose {key} is no finite number"
        )
        return found

    def seconds(self, key: str) -> Floats:
        """A column of times from 0; anything else is refused with its line."""
        found = self.numbers(key)
        self.refuse(found < 0, lambda r: str(found[r]), f"whose {key} is negative")
        return found

    def documents(self) -> pl.Series:
        """The names of the documents."""
        texts = self.texts("document")
        distinct = texts.unique(maintain_order=True)
        return texts.replace_strict(distinct, [document_of(file) for file in distinct])

    def channels(self) -> pl.Series:
        """The channels, or the only one."""
        if self.has("channel"):
            return self.texts("channel")
        return pl.Series("channel", [ONLY_CHANNEL], dtype=pl.String).new_from_index(
            0, len(self.table)
        )

    def spans(self, begin: float | None = None) -> tuple[Floats, Floats]:
        """Starts and durations; without a column `start` all start at `begin`, if it is given."""
        start, kind, found = self._times(begin)
        return start, found if kind == "duration" else found - start

    def ends(self) -> tuple[Floats, Floats]:
        """Starts and ends."""
        start, kind, found = self._times(None)
        return start, found if kind == "end" else start + found

    def _times(self, begin: float | None) -> tuple[Floats, str, Floats]:
        """Starts, and ends or durations; of both the one that is mapped counts."""
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
                f"{self.table.source}: there are both an end and a duration; say which one counts: "
                f"{self.table.mapped_by} end=COLUMN or duration=COLUMN"
            )
        found = self.seconds(chosen[0])
        before = found < start if chosen[0] == "end" else np.zeros(len(found), bool)
        self.refuse(before, lambda r: f"{start[r]} to {found[r]}", "with an end before its start")
        return start, chosen[0], found

    def _refuse_headless(self, key: str) -> None:
        """Refuse a file that lacks a column and whose first line has numbers, as rows have."""
        names = self.table.columns
        read = self.table.format in tables.SEPARATORS
        if read and self.name(key) not in names and is_number(pl.Series(names)).any():
            raise InputError(
                f"{self.table.source}, line 1: there is no column {self.name(key)!r}; the columns "
                f"are {', '.join(names)}: has the file no header line?"
            )

    @property
    def lines(self) -> npt.NDArray[np.int64]:
        """Where the rows stand."""
        if self.table.lines is not None:
            return self.table.lines
        return np.arange(len(self.table), dtype=np.int64) + max(self.table.first_line, 0)

    @property
    def noun(self) -> str:
        """What `lines` numbers."""
        numbered = self.table.lines is not None or self.table.first_line >= 0
        return self.table.noun if numbered else "row"

    def refuse(self, wrong: npt.NDArray[np.bool_], value: Callable[[int], str], what: str) -> None:
        """InputError for rows that are wrong, with the first five lines."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            shown = first_five(f"{value(int(r))} at {self.table.where(int(r))}" for r in rows[:6])
            raise InputError(f"{self.table.source}: {counted(len(rows), 'row')} {what}: {shown}")
