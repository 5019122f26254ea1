"""What files may be, as plain data, and which format a file has: from its ending, else its
content.

`Formats` is a set of formats and how they are told apart; the sets of event logs, of searches for
terms and of what is written stand here, where their readers and writers find them too.

An ending that stands for one format decides. Otherwise the first bytes do (Parquet, NumPy), then
the first line (JSON objects, a header with a name that truecost knows), then all lines: the layout
of a trial list must fit every one of them, and no other may. The content of other files than
lists of trials is looked at in `recognising.py`.
"""

import codecs
import importlib
from collections.abc import Callable, Mapping
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
    """The formats that files may have, and what tells them apart.

    A place is `module:function`, imported when it is needed.

    Attributes
    ----------
    of : str
        Whose formats they are, for messages; empty where nothing has to be said.
    holds : str
        What is in the files, for messages.
    texts : mapping of str to str
        What stands in a file of each format, in the order of lists.
    readers : mapping of str to str
        The place of the reader of each format that `truecost.formats.reading` has none for:
        `f(data, source)`, from bytes and a name for messages to a `Table`.
    endings : mapping of str to str
        The format of each further ending, `.mine` say.
    any_ending : bool
        Whether an ending that stands for a format of others says nothing.
    columns : tuple of str
        The columns that the header of every table has.
    recognise : str
        The place of what finds the format where the ending is silent: `f(data, source, formats)`.
    plainest : str
        The format of an empty file without an ending; empty where there has to be a record.
    folders : tuple of str
        The formats of which a folder is read as one file.
    """

    of: str = ""
    holds: str = "records"
    texts: Mapping[str, str] = field(default_factory=lambda: TABLES)
    readers: Mapping[str, str] = field(default_factory=dict)
    endings: Mapping[str, str] = field(default_factory=dict)
    any_ending: bool = False
    columns: tuple[str, ...] = ()
    recognise: str = "truecost.formats.recognising:table"
    plainest: str = ""
    folders: tuple[str, ...] = ()


def loaded(place: str) -> Callable[..., Any]:
    """What stands at a place, `module:function`, imported now."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


WRITTEN = Formats(texts=FORMATS, any_ending=True)


EVENT_LOGS = Formats(of="stream", holds="events of a stream", columns=("event",))


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
        kind: f"truecost.formats.searches:read_{kind}"
        for kind in ("kwslist", "kwlist", "ecf", "rttm")
    },
    columns=("query", "document"),
    recognise="truecost.formats.recognising:search",
)


SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
    ".npy": "npy",
    ".trn": "trn",
    ".stm": "stm",
    ".ctm": "ctm",
    ".json": "seglst",
    ".rttm": "rttm",
    ".uem": "uem",
}


MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}


KNOWN = frozenset(name for names in COLUMNS.values() for name in names)


TRIAL_LIST = "trial list"


def by_ending(path: str, formats: Formats) -> str | None:
    """The format that a path's ending stands for; `.gz` at its end means nothing.

    Returns
    -------
    str or None
        None when the ending stands for none.

    Raises
    ------
    UsageError
        When it stands for a format of others only, unless files have any ending.
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    while suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = {**SUFFIXES, **formats.endings}.get(suffixes[-1]) if suffixes else None
    if kind is None or kind in formats.texts:
        return kind
    if formats.any_ending:
        return None
    raise UsageError(
        f"{path}: {suffixes[-1]} stands for {kind}, which is no format of "
        f"{formats.of or formats.holds}; "
        f"if it holds another, name it: --input-format {'|'.join(formats.texts)}"
    )


def by_content(data: bytes, source: str, formats: Formats) -> str:
    """The format that the bytes of a list of trials have when no ending says it.

    Parameters
    ----------
    data : bytes
        Not empty, not compressed.
    source : str
        Name for messages.

    Returns
    -------
    str
        One of `FORMATS`, or `TRIAL_LIST` for text whose layout all lines must tell.
    """
    from truecost.formats import trial_lists as nist
    from truecost.formats.tables import SEPARATORS

    del source, formats
    for magic, kind in MAGIC.items():
        if data.startswith(magic):
            return kind
    end = data.find(b"\n")
    first = data[: None if end < 0 else end].removeprefix(codecs.BOM_UTF8).split(b"\r")[0]
    line = first.decode("utf-8", "replace")
    if line.lstrip().startswith("{") and line.rstrip().endswith("}"):
        return "ndjson"
    if nist.is_header(line.split("\t")):
        return "nist-sre"
    headers = [kind for kind, separator in SEPARATORS.items() if _is_header(line, separator)]
    return headers[0] if len(headers) == 1 else TRIAL_LIST


def _is_header(line: str, separator: str) -> bool:
    """Whether a line is unmistakably a header: names, one of them known, no number among them."""
    import polars as pl

    from truecost.formats.trial_lists import WORDS, is_number

    names = [name.strip().strip('"') for name in line.split(separator)]
    if separator == "\t" and not set(names).isdisjoint(WORDS):
        return False  # rather a trial, whose fields may be apart by tabs
    known = not KNOWN.isdisjoint(names)
    return known and len(names) > 1 and not bool(is_number(pl.Series(names)).any())


def known(kind: str, formats: Formats) -> str:
    """The format itself, when there is one of that name.

    Raises
    ------
    UsageError
        When there is none.
    """
    if kind not in formats.texts:
        of = f" for {formats.of}" if formats.of else ""
        raise UsageError(
            f"input format {kind!r} is not known{of}: choose one of {', '.join(formats.texts)}"
        )
    return kind
