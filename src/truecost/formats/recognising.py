"""The format of a file that is not a list of trials, from its content, when the ending does not
define it.

The formats of a task name one of these functions, `f(data, source, formats)`. Parquet is recognised
by its first bytes; in all cases SegLST and NDJSON by their first brackets, CSV and TSV by a header
with the required columns.

- `table`: text whose header has either commas or tabs between its names.
- `texts_with_ids`: every line must match a layout, and no other layout. `kaldi-text` matches when
  all lines begin with different words that contain a digit or one of `_-.`; as any text matches
  `lines`, this format must be stated.
- `texts`: any text is `lines`, unless it looks like a table or like `kaldi-text`.
- `segments`: the first record distinguishes RTTM (a known type) from UEM (four fields).
- `search`: XML by its root, RTTM by its first record, any other text as a log.

They raise UsageError when several formats match, or the matching one has to be stated, and
InputError when none matches.
"""

import re

import polars as pl

from truecost.errors import InputError, UsageError, counted
from truecost.formats import segments as rttm
from truecost.formats import xml
from truecost.formats.declared import Formats
from truecost.formats.tables import SEPARATORS
from truecost.formats.text import COMMENTS, clean, cut, line_blocks, record_blocks

LINES = {  # what stands on a line, for messages
    "kaldi-text": "id words",
    "trn": "words (id)",
    "stm": "recording channel speaker start end words",
    "ctm": "recording channel start duration word",
    "lines": "one text a line",
    "rttm": rttm.RTTM,
    "uem": rttm.UEM,
    "seglst": "JSON list of segments",
    "kwslist": "detections of queries",
    "kwlist": "queries",
    "ecf": "excerpts of audio",
}
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
FIRST = r"^[ \t]*([^ \t]*)"
FEW = 3  # lines; so many texts seldom all begin with different words like ids
LIKE_ID = r"[\d_.-]"
Tried = tuple[tuple[int, str], int, int]
_APART = r"[ \t]+"
FITTING = {
    "trn": r"\([^() \t]+\)$",
    "stm": rf"^(?:[^ \t]+{_APART}){{3}}{NUMBER}{_APART}{NUMBER}(?:[ \t]|$)",
    "ctm": rf"^(?:[^ \t]+{_APART}){{2}}{NUMBER}{_APART}{NUMBER}(?:{_APART}[^ \t]+){{1,4}}$",
}


def table(data: bytes, source: str, formats: Formats) -> str:
    """The format of a table: by required columns, otherwise by the separator of the names."""
    data = clean(data, source, b" \t\r")
    return _structured(data, formats) or _log(data, source)


def texts(data: bytes, source: str, formats: Formats) -> str:
    """The format of texts without ids: lines, unless they look like another format."""
    return _translation(_list(data) or _structured(data, formats), data, source)


def texts_with_ids(data: bytes, source: str, formats: Formats) -> str:
    """The format of texts with ids or times."""
    data = clean(data, source, b" \t\r")
    return _list(data) or _structured(data, formats) or _transcripts(data, source)


def segments(data: bytes, source: str, formats: Formats) -> str:
    """The format of speech segments: RTTM, UEM or a table."""
    data = clean(data, source, b" \t\r")
    return _list(data) or _structured(data, formats) or _diarization(data, source)


def search(data: bytes, source: str, formats: Formats) -> str:
    """The format of a file of keyword search: XML by its root."""
    if xml.looks_like_xml(data):
        return xml.format_of(data, source)
    data = clean(data, source, b" \t\r")
    return _structured(data, formats) or _search(data, source)


def _list(data: bytes) -> str | None:
    """A JSON list of objects; None for any other data."""
    return "seglst" if re.match(rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]", data) else None


def _structured(data: bytes, formats: Formats) -> str | None:
    """The format of JSON or of a table with a header; None for any other data."""
    end = data.find(b"\n")
    first = data[: None if end < 0 else end].decode("utf-8", "replace")
    line = first.removeprefix("\ufeff").strip()
    if line.startswith("{") and line.endswith("}"):
        return "ndjson" if '"' in line else None
    for kind, separator in SEPARATORS.items():
        names = {name.strip().strip('"') for name in line.split(separator)}
        if formats.columns and names.issuperset(formats.columns):
            return kind
    return None


def _translation(table: str | None, data: bytes, source: str) -> str:
    """Lines; refused where a table, or an id at the beginning of several lines, is as likely."""
    several = data.rstrip(b"\n").count(b"\n") >= FEW
    if table is None and several and _has_ids(clean(data, source, b" \t\r")):
        raise UsageError(
            f"{source}: every line begins with another word like an id: could be kaldi-text (id "
            f"words) or lines (one text a line): use --input-format kaldi-text|lines"
        )
    if table is not None:
        ways = "lines" if table == "seglst" else f"{table}|lines"
        raise UsageError(
            f"{source}: looks like {table}, though it may be text, one a line: choose one with "
            f"--input-format {ways}"
        )
    return "lines"


def _diarization(data: bytes, source: str) -> str:
    """RTTM or UEM, by the first record; its reader checks the others."""
    line, text = _first_record(data, source)
    fields = re.split(r"[ \t]+", text)
    if _is_rttm(text):
        return "rttm"
    if len(fields) == 4 and all(re.fullmatch(NUMBER, f) for f in fields[2:]):
        return "uem"
    if not text:
        raise InputError(f"{source}: there are only comments; expected rttm ({LINES['rttm']})")
    raise InputError(
        f"{source}, line {line}: neither rttm ({LINES['rttm']}) nor uem ({LINES['uem']}): "
        f"{cut(text)!r}; name any other format with --input-format"
    )


def _first_record(data: bytes, source: str) -> tuple[int, str]:
    """Line number and text of the first record of RTTM-like lines; an empty text without one."""
    blocks = record_blocks(data, source, rttm.COMMENTS)
    return next((row for block in blocks for row in block.head(1).rows()), (0, ""))


def _is_rttm(record: str) -> bool:
    """Whether a record begins with one of RTTM's types."""
    return re.split(r"[ \t]+", record)[0].upper() in (*rttm.ROWS, *rttm.LEFT_OUT)


def _log(data: bytes, source: str) -> str:
    """The separator of a header with unknown names, if it has only one."""
    header = data.partition(b"\n")[0].decode("utf-8", "replace")
    found = [kind for kind, separator in SEPARATORS.items() if separator in header]
    if len(found) == 2:
        raise UsageError(f"{source}: the header has commas and tabs: use --input-format csv|tsv")
    if not found:
        raise InputError(
            f"{source}, line 1: no header with names separated by commas or tabs: {cut(header)!r}; "
            f"name any other format with --input-format"
        )
    return found[0]


def _search(data: bytes, source: str) -> str:
    """RTTM by the type of its first record, else the separator of a header."""
    return "rttm" if _is_rttm(_first_record(data, source)[1]) else _log(data, source)


def _transcripts(data: bytes, source: str) -> str:
    fitting = set(FITTING)
    for block in record_blocks(data, source, COMMENTS):
        fitting = {n for n in fitting if block["text"].str.contains(FITTING[n]).all()}
    found = sorted(fitting) + ["kaldi-text"] * _has_ids(data)
    if len(found) == 1:
        return found[0]
    if not found:
        _refuse_broken(data, source)
        raise UsageError(
            f"{source}: could be kaldi-text ({LINES['kaldi-text']}) or lines ({LINES['lines']}): "
            f"use --input-format kaldi-text|lines"
        )
    said = " and ".join(f"{name} ({LINES[name]})" for name in found)
    raise UsageError(
        f"{source}: {len(found)} layouts fit every line, {said}: choose one with --input-format "
        f"{'|'.join(found)}"
    )


def _has_ids(data: bytes) -> bool:
    """Whether all lines begin with different words that look like ids."""
    words = []
    for _, lines in line_blocks(data):
        first = lines.str.extract(FIRST)
        if not first.str.contains(LIKE_ID).all():
            return False
        words.append(first)
    return bool(pl.concat(words).is_unique().all())


def _refuse_broken(data: bytes, source: str) -> None:
    """Refuse a file in which most lines match a layout, and name the first line that does not."""
    tried = [_records(data, source, name) for name in FITTING] + [_ids(data)]
    (line, why), fine, total = max(tried, key=lambda found: found[1])
    if 2 * fine > total:
        name = (*FITTING, "kaldi-text")[[found[1] for found in tried].index(fine)]
        raise InputError(
            f"{source}, line {line}: {why}; as {name} ({LINES[name]}) it fits {fine} of "
            f"{counted(total, 'line')}: correct the lines that do not fit, or use --input-format "
            f"{name}|lines"
        )


def _records(data: bytes, source: str, name: str) -> Tried:
    """The first record that does not match a layout, how many match, and how many there are."""
    fine, total, first = 0, 0, (0, "")
    for block in record_blocks(data, source, COMMENTS):
        good = block["text"].str.contains(FITTING[name])
        fine, total = fine + int(good.sum()), total + len(block)
        if not first[0] and not good.all():
            line, text = block.row(int((~good).arg_true()[0]))
            first = line, f"does not fit: {cut(text)!r}"
    return first, fine, total


def _ids(data: bytes) -> Tried:
    """The first line without an id of its own, the number of lines with one, and of all lines."""
    words = pl.concat([lines.str.extract(FIRST) for _, lines in line_blocks(data)])
    good = words.str.contains(LIKE_ID) & words.is_first_distinct()
    if good.all():
        return (0, ""), len(words), len(words)
    row = int((~good).arg_true()[0])
    why = f"{words[row]!r} does not look like an id, which has a digit or one of _-."
    if not words[row]:
        why = "the line is blank"
    elif (same := (words[:row] == words[row]).arg_true()).len():
        why = f"the id {words[row]!r} is already in line {same[0] + 1}"
    return (row + 1, why), int(good.sum()), len(words)
