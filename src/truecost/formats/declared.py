"""What files may be, as plain data that imports nothing: each task declares it in its face.

`Formats` is a set of formats and how they are told apart; the sets of event logs, of searches for
terms and of what is written stand here, where their readers and writers find them too.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from truecost.names import FORMATS

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
