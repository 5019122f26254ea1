"""The audio that is searched: ecf, an experiment control file.

    <ecf source_signal_duration="100.0" language="english" version="1">
      <excerpt audio_filename="audio/F.sph" channel="1" tbeg="0" dur="50.0" source_type="bnews"/>
    </ecf>

`tbeg` and `dur` are seconds; `source_type` is `bnews`, `cts`, `splitcts`, `confmtg` or whatever
kinds of audio are told apart, and may be left out.
Source: NIST, F4DE, `KWSEval-ecf.xsd`.

A table in its place has the columns `document` and either `duration` or `end` (seconds), and where
there are some `start` (else 0), `channel` and `source`.
"""

from collections.abc import Iterable, Mapping
from typing import NoReturn

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
    return read_either(path, input_format, "ecf", of_blocks, lambda table: of_table(table, columns))


def of_table(table: Table, columns: Mapping[str, str] | None = None) -> Listing:
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


def of_blocks(data: Iterable[bytes], source: str) -> Listing:
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
