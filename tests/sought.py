"""Files of a search in the smallest possible way: reference cases, and listings made by hand."""

import csv
import re
from pathlib import Path

import polars as pl

from truecost.formats.searches import read_ecf, read_kwlist
from truecost.formats.terms import Listing, Speech, read_lexemes
from truecost.tasks.terms.reference import ReferenceOptions, load_reference

AUDIO = {"document": pl.String, "channel": pl.String, "start": pl.Float64}
AUDIO |= {"duration": pl.Float64, "source": pl.String}
WORD = {"document": pl.String, "channel": pl.String, "start": pl.Float64, "duration": pl.Float64}
WORD |= {"word": pl.String, "subtype": pl.String, "speaker": pl.String}
TURN = {"document": pl.String, "channel": pl.String, "start": pl.Float64, "duration": pl.Float64}
OCCURRENCE = {"query": pl.String, "document": pl.String, "channel": pl.String}
OCCURRENCE |= {"start": pl.Float64, "end": pl.Float64}


def listing(name, rows, schema, **header):
    """Rows as a reader would give them."""
    frame = pl.DataFrame(rows, schema, orient="row", strict=False)
    return Listing(name, header, frame.with_columns(line=pl.int_range(1, frame.height + 1)))


def audio(*rows):
    """Excerpts: document, channel, start, duration, source."""
    return listing("e.ecf.xml", rows, AUDIO)


def words(*rows):
    """Words: document, channel, start, duration, word, subtype, speaker."""
    return listing("r.rttm", rows, WORD).frame


def terms(*texts, normalise="lowercase", **more):
    """Terms Q0, Q1, ... by their texts."""
    rows = [(f"Q{k}", text) for k, text in enumerate(texts)]
    found = listing("t.kwlist.xml", rows, {"query": pl.String, "text": pl.String})
    return Listing(found.source, {"compareNormalize": normalise} | more, found.frame)


def listed(*rows):
    """Occurrences: query, document, channel, start, end."""
    return listing("o.csv", rows, OCCURRENCE)


def speech(spoken, spoke=()):
    """Words, and turns: document, channel, start, duration."""
    return Speech("r.rttm", words(*spoken), listing("r.rttm", spoke, TURN).frame)


def case(folder: Path, **options):
    """The reference of a case."""
    [ecf], [kwlist], [rttm] = (
        [*folder.glob(f"*{end}")] for end in (".ecf.xml", ".kwlist.xml", ".rttm*")
    )
    return load_reference(
        read_ecf(str(ecf)),
        read_kwlist(str(kwlist)),
        speech=read_lexemes(str(rttm)),
        options=ReferenceOptions(**options),
    )


def targets_told(report: Path):
    """#Targ of every query of a per-query table of the reference scorer."""
    lines = report.read_text(encoding="utf-8").splitlines()
    titles = next(line for line in lines if "#Targ" in line)
    at = [title.strip() for title in titles.split("|")].index("#Targ")
    cells = [
        line.split("|")
        for line in lines
        if re.match(r"(Keyword)?\s+T[A-Z]+-\d+ |(Keyword)?\s+K\d+ ", line)
    ]
    return {re.sub(r"^Keyword", "", c[0]).strip(): int(c[at].strip() or 0) for c in cells}


def told(report: Path, key: str) -> float:
    """A value of the head of a table of the reference scorer."""
    [value] = re.findall(rf"\|\s+{key} \|\s+(\S+) \|", report.read_text(encoding="utf-8"))[:1]
    return float(value)


def aligned(report: Path):
    """References of an alignment file of the reference scorer: query, document, start, end."""
    with report.open(encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if r["ref_bt"]]
    return sorted(
        (r["termid"], r["file"], r["channel"], float(r["ref_bt"]), float(r["ref_et"])) for r in rows
    )
