"""Streams: human-assisted online learning, scored before and after adaptation (paper 000).

::

    online = tc.stream.read("events.jsonl", "labels.csv")
    for row in tc.score(online, tc.Scoring(stream=tc.stream.StreamScoring(q=3))):
        print(row.dims.get("phase"), row)

- `read` makes a record, `Online`, of the event logs of a system, one for each run, and the labels;
- `tc.score` gives IMLM, detection cost, error rates and annotations of both phases with their
  intervals; `StreamScoring` says everything that the paper leaves open, `Prices` what time costs;
- `describe` makes what reports draw.

Logs are written by `tc.learning`, or by any program.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.formats.events import EventLog, read_events
    from truecost.tasks.streams.describing import OnlineDescription, describe
    from truecost.tasks.streams.files import read
    from truecost.tasks.streams.options import Prices, StreamScoring
    from truecost.tasks.streams.records import Online

_HOME = {
    "truecost.formats.events": ("EventLog", "read_events"),
    "truecost.tasks.streams.describing": ("OnlineDescription", "describe"),
    "truecost.tasks.streams.files": ("read",),
    "truecost.tasks.streams.options": ("Prices", "StreamScoring"),
    "truecost.tasks.streams.records": ("Online",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "EventLog",
    "Online",
    "OnlineDescription",
    "Prices",
    "StreamScoring",
    "describe",
    "read",
    "read_events",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE[name]), name)
