"""Text before it has fields: encoding, line ends, blank lines, and how many fields each line has.

Everything works on the bytes as a whole: a list of ten million trials is no slower than its size.
Lines are counted from 1, as editors do.
"""

import codecs
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError

BLOCK = 1 << 24  # bytes looked at together, so that memory does not grow with the file
NEWLINE, QUOTE = 10, 34
Counts = npt.NDArray[np.int64]


def clean(data: bytes, source: str, blank: bytes = b" \r") -> bytes:
    r"""UTF-8 text with `\n` at the end of every line and no blank lines at its end.

    Parameters
    ----------
    data : bytes
        A byte order mark and `\r\n` at the ends of lines are accepted.
    source : str
        Name for messages.
    blank : bytes
        What blank lines may hold. Tabs are not among it where they separate cells: a line of them
        is a row of empty cells.

    Raises
    ------
    InputError
        When it is not UTF-8, holds NUL bytes or nothing; with the line.
    """
    data = _without_blank_end(decoded(data, source), blank)
    if not data:
        raise InputError(f"{source}: the file is empty but for blank lines")
    return data


def decoded(data: bytes, source: str) -> bytes:
    r"""UTF-8 text whose lines end with `\n`; all of them are kept.

    Parameters
    ----------
    data : bytes
        A byte order mark and `\r\n` at the ends of lines are accepted.
    source : str
        Name for messages.

    Raises
    ------
    InputError
        When it is not UTF-8 or holds NUL bytes; with the line.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{source}: the text is UTF-16, not UTF-8; save the file as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    if (place := data.find(b"\0")) >= 0:
        raise InputError(
            f"{source}, line {_line(data, place)}: a NUL byte, which no text has; text was "
            f"expected (a binary file, or UTF-16? save text as UTF-8)"
        )
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}, line {_line(data, error.start)}: the text is not UTF-8; save the file "
            f"as UTF-8"
        ) from error
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
    return data


def refuse_carriage_returns(data: bytes, source: str) -> None:
    """InputError where a carriage return stands within a line of decoded text; with the line."""
    if (place := data.find(b"\r")) >= 0:
        raise InputError(
            f"{source}, line {_line(data, place)}: a carriage return inside the line; remove it"
        )


def line_blocks(data: bytes, size: int = BLOCK) -> Iterator[tuple[int, pl.Series]]:
    """The lines as text, some at a time, so that memory does not grow with the file.

    Parameters
    ----------
    data : bytes
        Decoded; ends with a line break.
    size : int
        Bytes looked at together.

    Yields
    ------
    before : int
        How many lines stand before these.
    lines : polars.Series of str
        Without their line breaks.
    """
    for before, part in byte_blocks(data, size):
        yield before, lines_of(part)


def byte_blocks(data: bytes, size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """The same as bytes, with their line breaks."""
    start = before = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + size) + 1 or data.index(b"\n", start) + 1
        part = data[start:end]
        yield before, part
        start, before = end, before + part.count(b"\n")


def lines_of(part: bytes) -> pl.Series:
    """The lines of bytes that end with a line break, as text."""
    return pl.Series([part[:-1].decode("utf-8")]).str.split("\n").explode()


def _line(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def _without_blank_end(data: bytes, blank: bytes) -> bytes:
    """Cut blank lines off the end."""
    end = len(data)
    while end:
        start = data.rfind(b"\n", 0, end) + 1
        if data[start:end].strip(blank):
            whole = end == len(data) - 1  # as most files are: not copied
            return data if whole else data[:end] + b"\n"
        end = max(start - 1, 0)
    return b""


def line_at(data: bytes, number: int) -> str:
    """The text of a line, counted from 1, cut short for a message."""
    start, left = 0, number - 1
    while start < len(data) and (ends := data.count(b"\n", start, start + BLOCK)) < left:
        start, left = start + BLOCK, left - ends
    for _ in range(left):
        start = data.index(b"\n", start) + 1
    end = data.find(b"\n", start)
    line = data[start : None if end < 0 else end].decode("utf-8", "replace")
    return line if len(line) <= 60 else line[:57] + "..."


def field_counts(data: bytes, separator: str) -> Iterator[Counts]:
    """Number of fields of each line, in blocks of lines; quotes are not looked at.

    Parameters
    ----------
    data : bytes
        Ends with a line break.
    separator : str
        One character.

    Yields
    ------
    ndarray of int64
        1 for a blank line.
    """
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK) + 1 or data.index(b"\n", start) + 1
        block = np.frombuffer(data, np.uint8, end - start, start)
        marks = np.flatnonzero((block == ord(separator)) | (block == NEWLINE))
        yield _between(block[marks] == NEWLINE)
        start = end


def _between(ends: npt.NDArray[np.bool_]) -> Counts:
    """Marks from one line end to the next."""
    return np.diff(np.flatnonzero(ends), prepend=-1)


def quoted_field_counts(data: bytes, separator: str, source: str) -> tuple[Counts, Counts]:
    """Number of fields of each record of text with quotes, and the line on which each begins.

    Parameters
    ----------
    data : bytes
        Ends with a line break.
    separator : str
        One character.
    source : str
        Name for messages.

    Returns
    -------
    counts, lines : ndarray of int64, shape (records,)

    Raises
    ------
    InputError
        When a quote stands inside a field or is not closed; with the line.

    Notes
    -----
    RFC 4180: a field is quoted as a whole, and a quote inside it is written twice. So every quote
    that opens follows a separator, a line break or a quote, every one that closes precedes one.
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    opens, closes = quotes[0::2], quotes[1::2]
    if len(quotes) % 2:
        raise InputError(
            f"{source}, line {_line(data, int(opens[-1]))}: a quote is opened and never closed"
        )
    around = np.zeros(256, bool)
    around[[ord(separator), NEWLINE, QUOTE]] = True
    wrong = np.union1d(
        opens[(opens > 0) & ~around[text[opens - 1]]], closes[~around[text[closes + 1]]]
    )
    if len(wrong):
        raise InputError(
            f"{source}, line {_line(data, int(wrong[0]))}: a quote in the middle of a field; quote "
            f'the whole field and write quotes inside it twice ("")'
        )
    inside = (np.cumsum(text == QUOTE, dtype=np.uint8) & 1).astype(bool)
    newline = text == NEWLINE
    marks = np.flatnonzero(((text == ord(separator)) | newline) & ~inside)
    ends = newline[marks]
    begins = np.concatenate([[0], marks[ends][:-1] + 1])
    lines = np.searchsorted(np.flatnonzero(newline), begins) + 1
    return _between(ends), lines


def first_wrong(blocks: Iterator[Counts], expected: int) -> tuple[int, int, int] | None:
    """The first line (from 1) with another number of fields, that number, and how many there are.

    Parameters
    ----------
    blocks : iterator of ndarray
        As `field_counts` gives them.

    Returns
    -------
    tuple or None
        None when every line has as many fields as expected.
    """
    before, total = 0, 0
    first: tuple[int, int] | None = None
    for counts in blocks:
        wrong = np.flatnonzero(counts != expected)
        if len(wrong) and first is None:
            first = before + int(wrong[0]) + 1, int(counts[wrong[0]])
        total += len(wrong)
        before += len(counts)
    return None if first is None else (*first, total)


def caught(error: object) -> str:
    """First line of another library's error, or the name of its kind."""
    said = str(error).strip()
    return said.splitlines()[0][:200] if said else type(error).__name__
