"""What is said, word by word, and who speaks when: the LEXEME and SPEAKER lines of an RTTM.

    LEXEME file chnl tbeg tdur ortho stype name conf [slat]
    SPEAKER file chnl tbeg tdur <NA> <NA> name conf [slat]

A LEXEME is a word as it is written, `ortho`; its `stype` says what kind it is: `lex` an ordinary
one, `fp` a filled pause, `frag` a fragment, `un-lex` one that was not understood, `for-lex` a
foreign one, `alpha` a letter, `propernoun`, `acronym`, `interjection`, `other`. Case is kept.
Lines of the other types of RTTM are left out (`rttm.LEFT_OUT`, `NOSCORE`, `NON-LEX`), also where
they are written NONLEX and NONSPEECH; any other type is refused. What follows `;;` behind a blank
is a comment.
Source: NIST, RT-09 meeting recognition evaluation plan, appendix A.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from truecost.errors import InputError
from truecost.formats import segments as rttm
from truecost.formats import xml
from truecost.formats.field_lines import (
    cut,
    fields_of,
    parts,
    records,
    refuse,
    regular_fields,
    seconds,
)
from truecost.formats.streams import read_bytes, shown
from truecost.formats.terms import document_of

WORDS = ("document", "channel", "start", "duration", "word", "subtype", "speaker", "line")
TURNS = ("document", "channel", "start", "duration", "speaker", "line")
NAMES = {"recording": "document", "orthography": "word"}
CODED = ("document", "channel", "word", "subtype", "speaker")
SAID = ("LEXEME", "SPEAKER")
FIELDS = {
    name: pl.Categorical if NAMES.get(name, name) in CODED else pl.String for name in rttm.FIELDS
}
LEFT_OUT = ("NOSCORE", "NON-LEX", *rttm.LEFT_OUT, "NONLEX", "NONSPEECH")


@dataclass(frozen=True, eq=False)
class Speech:
    """What an RTTM says of words and turns.

    Attributes
    ----------
    source : str
        File name for messages.
    words : polars.DataFrame
        `document`, `channel`, `start`, `duration`, `word`, `subtype`, `speaker`, `line` of the
        LEXEME lines, in the order of the file. Texts are categorical.
    turns : polars.DataFrame
        The same but for `word` and `subtype` of the SPEAKER lines.
    """

    source: str
    words: pl.DataFrame
    turns: pl.DataFrame


def read_lexemes(path: str) -> Speech:
    """The words and turns of an RTTM.

    Parameters
    ----------
    path : str
        Gzipped or not; `-` is standard input.

    Raises
    ------
    InputError
        When a line has another number of fields, a type that there is not, or a begin or duration
        that is negative or no number, with the line; when it is XML, or there are no words.
    """
    return of_bytes(read_bytes(path), shown(path))


def of_bytes(data: bytes, source: str) -> Speech:
    """The words and turns of the bytes of an RTTM.

    Parameters
    ----------
    source : str
        Name for messages.

    Raises
    ------
    InputError
        As `read_lexemes` says.
    """
    if not data:
        raise InputError(f"{source}: the file is empty; expected rttm: {rttm.RTTM}")
    if xml.looks_like_xml(data):
        raise InputError(f"{source}: this is {xml.called(data)}; an rttm was expected: {rttm.RTTM}")
    words, turns = (_plain(pl.concat(found)) for found in zip(*_timed(data, source), strict=True))
    if not words.height:
        raise InputError(f"{source}: there is no LEXEME line; rttm is {rttm.RTTM}")
    return Speech(source, words, turns)


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the names of documents, where files have folders or endings."""
    files = rows["document"].unique().cast(pl.String)
    names = {file: document_of(file) for file in files if document_of(file) != file}
    if not names:
        return rows
    named = rows["document"].cast(pl.String).replace(names).cast(pl.Categorical)
    return rows.with_columns(named)


def _timed(data: bytes, source: str) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Words and turns, some lines at a time."""
    for before, part in parts(data, source):
        fields = _regular(part, before)
        if fields is None:
            fields = _any(part, before, source)
        fields = fields.filter(pl.col("type").is_in(SAID)).rename(NAMES)
        if b"*" in part:
            fields = fields.with_columns(pl.col("start", "duration").str.strip_chars_end("*"))
        times = [seconds(fields, name, source) for name in ("start", "duration")]
        rows = fields.select("type", *CODED, *times, "line")
        rows = rows.cast(dict.fromkeys(CODED, pl.Categorical))
        said = rows["type"] == "LEXEME"
        yield rows.filter(said).select(WORDS), rows.filter(~said).select(TURNS)


def _regular(part: bytes, before: int) -> pl.DataFrame | None:
    """The fields of lines without comments and blanks that need a look, as most are."""
    fields = None if b";;" in part else regular_fields(part, before, FIELDS, 9)
    known = fields is not None and fields["type"].is_in([*SAID, *LEFT_OUT]).all()
    return fields if known else None


def _any(part: bytes, before: int, source: str) -> pl.DataFrame:
    """The fields of lines."""
    block = records(part, before, rttm.COMMENTS)
    if b";;" in part:
        block = block.with_columns(pl.col("text").str.replace(r"[ \t]+;;.*$", ""))
    fields = fields_of(block, rttm.FIELDS, 9, source, f"rttm is {rttm.RTTM}")
    fields = fields.with_columns(pl.col("type").str.to_uppercase())
    refuse(
        source,
        fields,
        ~fields["type"].is_in([*SAID, *LEFT_OUT]),
        lambda row: f"the type is none of RTTM: {cut(row['text'])!r}; rttm is {rttm.RTTM}",
    )
    return fields
