"""Streams: human-assisted online learning, scored before and after adaptation (Lindsey et al.).

::

    online = tc.streams.read("events.jsonl", "labels.csv")
    for row in tc.score_system(online, tc.Scoring(choices=tc.streams.StreamScoring(q=3))):
        print(row.dims.get("phase"), row)

- `read` makes a record, `Online`, of the event logs of a system, one for each run, and the labels;
- `tc.score` gives IMLM, detection cost, error rates and annotations of both phases with their
  intervals; `StreamScoring` says everything that the paper leaves open;
- `describe` makes what reports draw.

Logs are written by `tc.learning`, or by any program.
"""

from typing import TYPE_CHECKING

from truecost.face import Face
from truecost.formats.declared import EVENT_LOGS
from truecost.lazy import attach

MAP_KEYS: dict[str, str] = {
    "id": "id of the item",
    "label": "reference label: class, 1 or 0 for detection, or number",
    "stream": "stream of the item, if ids are unique only within streams",
}

FACE = Face(
    name="streams",
    title="Streams",
    work="truecost.tasks.streams.work:WORK",
    live="truecost.learning.live.checks:LIVE",
    measures=("truecost.resources.measures", "truecost.tasks.streams.measures"),
    map_keys=MAP_KEYS,
    formats=EVENT_LOGS,
    data=("type", "map", "target", "classes", "labels", "input_format"),
    systems=("resources", "runs", "strategy", "budget"),
    tables={
        "streams": "truecost.tasks.streams.options:StreamTable",
        "timing": "truecost.person.timing:TimingTable",
    },
    options=("streams", "timing"),
    application=("cost_miss", "cost_fa", "prior", "preset", "cost_matrix"),
    prices=("miss", "false_alarm", "error", "person", "cpu", "gpu", "memory", "waiting"),
    interval=("block_length", "level", "replicates", "seed", "method", "icc", "jobs"),
    engine=("engine",),
    words={
        "type": ("llr", "posterior", "score", "decision", "number"),
        "method": ("auto", "percentile"),
    },
    shown={
        "type": "score",
        "cost_miss": "3",
        "prior": "0.5",
        "block_length": "cube root of the number of batches",
        "classes": "those that occur",
    },
    commands=(
        (
            "sweep",
            "truecost.tasks.streams.commands:sweep",
            "Try budgets and strategies, and find the cheapest.",
        ),
    ),
    about={
        "": "Streams: systems that learn with a person's help.",
        "score": "Score event logs: errors and the person's time in one measure, with confidence "
        "intervals.",
        "compare": "Compare each further event log of the same streams with the first: paired "
        "difference and ratio, with intervals.",
        "plan": "Estimate how many more batches or runs would narrow the interval.",
        "leaderboard": "Rank systems by the first measure after adaptation; the rank is 1 plus "
        "the number of better systems.",
        "validate": "Check event logs, with or without labels, and list every fault.",
        "files": "Event logs (JSON lines, Parquet or CSV), or folders with a log for each run",
        "subset": "Stream, seed or a column of the labels, or condition on these; may be repeated.",
    },
    examples={
        "score": "margin.jsonl.gz",
        "compare": "random.jsonl.gz margin.jsonl.gz",
        "plan": "margin.jsonl.gz",
        "validate": "margin.jsonl.gz",
        "leaderboard": "random.jsonl.gz margin.jsonl.gz -o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.formats.events import EventLog as EventLog
    from truecost.formats.events import read_events as read_events
    from truecost.tasks.streams.describing import OnlineDescription as OnlineDescription
    from truecost.tasks.streams.describing import describe as describe
    from truecost.tasks.streams.options import StreamScoring as StreamScoring
    from truecost.tasks.streams.records import Online as Online
    from truecost.tasks.streams.work import read as read
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
