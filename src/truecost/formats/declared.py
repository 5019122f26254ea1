"""The formats of files as plain data, and the format of a given file, from its ending or its
content.

An ending that only one format has decides. Otherwise the first bytes are read (Parquet, NumPy),
then the first line (JSON objects, a header with a name that truecost knows), then all lines: every
line must match the layout of a trial list, and no other layout. For other files `recognising.py`
reads the content.
"""

import codecs
import importlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truecost.errors import UsageError
from truecost.names import COLUMNS, FORMATS

TABLES: dict[str, str] = {name: FORMATS[name] for name in ("csv", "tsv", "parquet", "ndjson")}
LINES = {"lines": "one text a line; an empty line is an empty text; ids are line numbers"}
KALDI_TEXT = {"kaldi-text": "id words (an id alone has an empty text)"}
SEGLST = {
    "seglst": "JSON list of objects with session_id, speaker, start_time, end_time, words (.json)"
}
RTTM = {
    "rttm": "type recording channel start duration orthography subtype speaker confidence "
    "[lookahead] (.rttm)"
}


@dataclass(frozen=True, kw_only=True)
class Formats:
    """The formats that files may have, and how each is recognised.

    `of` and `holds` are for messages: the task, and a noun for the content of its files. `texts`
    describes the content of each format, in the order of lists. A place is `module:function`,
    imported when it is needed: a reader is `f(data, source)`, from bytes and a name for messages to
    a `Table`; `recognise` is `f(data, source, formats)` and returns the format where the ending
    does not define it.
    """

    of: str = ""
    holds: str = "records"
    texts: Mapping[str, str] = field(default_factory=lambda: TABLES)
    readers: Mapping[str, str] = field(default_factory=dict)  # where `formats.reading` has none
    endings: Mapping[str, str] = field(default_factory=dict)  # further ones, `.mine` say
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keys of JSON
    both: tuple[str, ...] = ()  # keys of files that hold outputs and their reference
    any_ending: bool = False  # an ending that stands for a format of others says nothing
    columns: tuple[str, ...] = ()  # that the header of every table has
    recognise: str = "truecost.formats.recognising:table"
    plainest: str = ""  # format of an empty file without an ending; empty: there has to be a record
    folders: tuple[str, ...] = ()  # formats of which a folder is read as one file


def loaded(place: str) -> Callable[..., Any]:
    """The object at a place, `module:function`, imported now."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


WRITTEN = Formats(texts=FORMATS, any_ending=True)
EVENT_LOGS = Formats(of="streams", holds="events of a stream", columns=("event",))
SEARCHES = Formats(
    of="terms",
    holds="detections of queries",
    texts={
        "kwslist": "detections: kwslist or stdlist (.xml)",
        "kwlist": "queries: kwlist, termlist or tlist (.xml)",
        "ecf": "audio that is searched (.xml)",
        **RTTM,
        **TABLES,
    },
    readers={
        kind: f"truecost.formats.searches:{kind}_table"
        for kind in ("kwslist", "kwlist", "ecf", "rttm")
    },
    columns=("query", "document"),
    recognise="truecost.formats.recognising:search",
)
NAMED_ALIKE = (*TABLES, "npz", "npy", "trn", "stm", "ctm", "rttm", "uem")  # as their endings
SUFFIXES = {f".{kind}": kind for kind in NAMED_ALIKE} | {".jsonl": "ndjson", ".json": "seglst"}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
KNOWN = frozenset(name for names in COLUMNS.values() for name in names)
TRIAL_LIST = "trial list"
HEAD = 1 << 12  # bytes in which the first brace of JSON stands


def by_ending(path: str, formats: Formats) -> str | None:
    """The format of a path's ending, None for none; a final `.gz` is ignored."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    while suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = {**SUFFIXES, **formats.endings}.get(suffixes[-1]) if suffixes else None
    if kind is None or kind in formats.texts:
        return kind
    if formats.any_ending:
        return None
    raise UsageError(
        f"{path}: {suffixes[-1]} is the ending of format {kind}, which is not read for "
        f"{formats.of or formats.holds}. If the file has another format, name it: "
        f"--input-format {'|'.join(formats.texts)}"
    )


def known_by(path: str, data: bytes, formats: Formats) -> str | None:
    """The format of a file by its keys, where it is JSON of a known kind, otherwise by its ending;
    None without either. `path` is empty where there is none.
    """
    keys = _keys_of(data) if any(formats.marks.values()) else frozenset()
    for kind, wanted in formats.marks.items():
        if wanted and keys.issuperset(wanted):
            return kind
    return by_ending(path, formats) if path else None


def _keys_of(data: bytes) -> frozenset[str]:
    """The keys of the first JSON object of a file, in any order; all keys in the text where the
    JSON is damaged.
    """
    import msgspec

    data = data.removeprefix(codecs.BOM_UTF8)
    if data[:HEAD].lstrip()[:1] != b"{":
        return frozenset()
    line = data[: end if (end := data.find(b"\n")) >= 0 else None]
    for part in dict.fromkeys((line, data)):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            return frozenset(msgspec.json.decode(part, type=dict[str, msgspec.Raw]))
        with suppress(ValueError, RecursionError):  # it knows NaN
            return frozenset(json.loads(part))
    return frozenset(key.decode() for key in re.findall(rb'"([A-Za-z_]\w*)"\s*:', data))


def holds_both(path: str, formats: Formats) -> bool:
    """Whether a file has outputs beside their reference."""
    from truecost.formats.opening import first_line

    if not formats.both or not Path(path).is_file():
        return False
    return _keys_of(first_line(path)).issuperset(formats.both)


def by_content(data: bytes, *_: object) -> str:
    """The format of a list of trials, from its unpacked bytes, when the ending does not define it.

    One of `FORMATS`, or `TRIAL_LIST` for text whose layout has to match all lines.
    """
    from truecost.formats.tables import SEPARATORS
    from truecost.formats.trial_lists import is_header

    for magic, kind in MAGIC.items():
        if data.startswith(magic):
            return kind
    end = data.find(b"\n")
    first = data[: None if end < 0 else end].removeprefix(codecs.BOM_UTF8).split(b"\r")[0]
    line = first.decode("utf-8", "replace")
    if line.lstrip().startswith("{") and line.rstrip().endswith("}"):
        return "ndjson"
    if is_header(line.split("\t")):
        return "nist-sre"
    headers = [kind for kind, separator in SEPARATORS.items() if _is_header(line, separator)]
    return headers[0] if len(headers) == 1 else TRIAL_LIST


def _is_header(line: str, separator: str) -> bool:
    """Whether a line is clearly a header: names, one of them known, and no number."""
    import polars as pl

    from truecost.formats.trial_lists import WORDS, is_number

    names = [name.strip().strip('"') for name in line.split(separator)]
    if separator == "\t" and not set(names).isdisjoint(WORDS):
        return False  # rather a trial, whose fields may be apart by tabs
    known = not KNOWN.isdisjoint(names)
    return known and len(names) > 1 and not bool(is_number(pl.Series(names)).any())


def known_format(kind: str, formats: Formats) -> str:
    """A format by its name; UsageError when there is none of that name."""
    if kind not in formats.texts:
        of = f" for {formats.of}" if formats.of else ""
        raise UsageError(
            f"input format {kind!r} is not known{of}: choose one of {', '.join(formats.texts)}"
        )
    return kind
