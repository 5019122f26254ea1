"""The event log of a system that learns with a person's help: one event a line.

JSON lines (.jsonl, .ndjson), Parquet, CSV or TSV, with the columns of `SCHEMA` (those that a log
does not need may be left out)::

    {"t":0.0,"batch":0,"id":"a7","event":"predict","phase":"pre","score":-1.3,"decision":"0"}
    {"t":0.0,"batch":0,"id":"a7","event":"query"}
    {"t":2.5,"batch":0,"id":"a7","event":"answer","label":"1","expert":"anna","active_seconds":2.5}
    {"t":2.5,"batch":0,"event":"adapt","cpu_seconds":0.04}
    {"t":2.5,"batch":0,"id":"a7","event":"predict","phase":"post","score":0.2,"decision":"1"}

Labels and decisions are text. In JSON a number becomes its shortest text (`1.0`
becomes `1`), true and false become `1` and `0`; text stays as it is.

Polars parses the file as a whole; an invalid line is looked for only when it refuses. `event_rows`
checks the values of single events, `event_checks` the order of events; `learning/log.py` writes
event logs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from truecost.errors import InputError, UsageError, named, near, the_columns
from truecost.formats.declared import EVENT_LOGS, by_ending, known_format
from truecost.formats.event_rows import WORDS, events_of, read_lines, refuse_rows
from truecost.formats.opening import read_bytes, source_name
from truecost.formats.table import Table
from truecost.formats.tables import read_columns
from truecost.names import STANDARD_INPUT

ENDINGS = (".jsonl", ".ndjson", ".parquet", ".csv", ".tsv")  # of logs in a folder
UNFINISHED = ".part"  # what a run is called while it goes on


def files_of(path: str) -> tuple[list[str], list[str]]:
    """The logs of a system, from a log or a folder of logs, and the unfinished ones by name."""
    folder = Path(path)
    if path in STANDARD_INPUT or not folder.is_dir():
        return [path], []
    inside = sorted(p for p in folder.iterdir() if not p.is_dir() and not p.name.startswith("."))
    logs = [p for p in inside if p.name.removesuffix(".gz").endswith(ENDINGS)]
    unfinished = [str(p) for p in inside if p.name.endswith(UNFINISHED)]
    if not logs:
        raise InputError(
            f"{path}: there is no event log in this folder; expected files that end in "
            f"{', '.join(ENDINGS)}"
            + (f" ({named('run', unfinished, 'are')} not finished)" if unfinished else "")
        )
    runs = [p.name.partition(".")[0] for p in logs]
    alike = sorted({run for run in runs if runs.count(run) > 1})
    if alike:
        raise InputError(
            f"{path}: {named('run', alike, 'have')} several logs: each file is a run, whose name "
            "is the file name up to the first point"
        )
    return [str(p) for p in logs], unfinished


@dataclass(frozen=True, eq=False)
class Labels:
    """The reference: a table with `id`, `label`, perhaps `stream`, `run` and further columns."""

    source: str
    frame: pl.DataFrame


SCHEMA: dict[str, tuple[pl.DataType, str]] = {
    "t": (
        pl.Float64(),
        "seconds since the beginning of the stream, in the time of the stream (not the machine's "
        "clock); in a lifelong run, the time label of the batch (for dates, days since 1970-01-01)",
    ),
    "batch": (
        pl.Int64(),
        "number of the batch in its stream, from 0; empty for events before the stream",
    ),
    "id": (
        pl.String(),
        "id of the item; empty for adapt, and for an answer that counts for many labels",
    ),
    "event": (pl.Enum(WORDS["event"]), "kind of the event: predict, query, answer or adapt"),
    "phase": (
        pl.Enum(WORDS["phase"]),
        "for predict: pre (before adapting to the batch) or post (after it)",
    ),
    "score": (
        pl.Float64(),
        "for predict: the score (higher for the target), or the predicted number",
    ),
    "decision": (pl.String(), "for predict: decision of the system (a class, or a number)"),
    "label": (
        pl.String(),
        "for answer: label that the person gave, empty if the person refused to answer; for "
        "predict: the reference label",
    ),
    "expert": (pl.String(), "for answer: name of the person"),
    "active_seconds": (
        pl.Float64(),
        "for answer: working time of the person, in seconds",
    ),
    "cpu_seconds": (
        pl.Float64(),
        "for predict and adapt: CPU time, in seconds",
    ),
    "gpu_seconds": (
        pl.Float64(),
        "for predict and adapt: GPU time, in seconds",
    ),
    "stream": (pl.String(), "name of the stream, if there are several"),
    "run": (pl.String(), "name of the run (such as a seed), if there are several"),
    "set": (
        pl.Enum(WORDS["set"]),
        "for answers without a batch (labels from before the stream), their purpose: "
        "bootstrap (default), development, training or pretraining; in a lifelong run, test "
        "for all events on the test set, and offline for help that is given for offline "
        "adaptation",
    ),
    "count": (
        pl.Int64(),
        "for answers without a batch: number of labels that the event stands for. Default: 1",
    ),
    "part": (
        pl.String(),
        "for query and answer: part of the item, if the question is not about the whole item",
    ),
    "version": (
        pl.Int64(),
        "in a lifelong run: version of the model that predicts or gets help; for adapt: the new "
        "version",
    ),
    "words": (pl.Int64(), "for answer: number of words that the person inserted"),
    "actions": (pl.Int64(), "for answer: number of simple actions of the person, such as edits"),
    "verdict": (
        pl.Enum(WORDS["verdict"]),
        "for answers without a label: verdict of the person, right or wrong",
    ),
    "timing": (
        pl.String(),
        "for answers on a page: definition of the working time active_seconds, as in signatures",
    ),
    "asked": (
        pl.String(),
        "for answers on a page: numbers (in answers.sqlite, joined by +) of the questions "
        "whose working time is part of active_seconds",
    ),
    "wall_seconds": (
        pl.Float64(),
        "for answers on a page: seconds from the first display of the question to the answer",
    ),
    "heard_seconds": (pl.Float64(), "for answers on a page: seconds while a sound played"),
    "waited_seconds": (
        pl.Float64(),
        "for answers on a page: seconds from the question to the answer (of the last person, "
        "if several answer); empty for corrections that the person volunteered",
    ),
    "guess": (
        pl.Enum(WORDS["guess"]),
        "for answers on a page about an item with an output: shown if the person saw the output, "
        "otherwise hidden",
    ),
}
NAMED = ("decision", "label", "expert", "stream", "run", "timing")  # few values, many times
MANY = 1000  # different texts: more of them are numbers, and stay text
KINDS = ("ndjson", "parquet", "csv", "tsv")


@dataclass(frozen=True, eq=False)
class EventLog:
    """Events of one event log, in the order of the file.

    Attributes
    ----------
    source : str
        Path of the file, as messages name it.
    frame : polars.DataFrame
        One row for each event. The columns are those of `truecost.formats.events.SCHEMA`, in that
        order; a value that the file does not contain is null.

        - `event`, `phase`, `set`, `verdict`, `guess`: type Enum.
        - `stream`, `run`, `expert`, `timing`: type Categorical.
        - `decision`, `label`: type Categorical, or String if the column has more than 1,000
          different values, such as numbers. Concatenate the frames of several logs with
          `how="vertical_relaxed"`.
        - `set`, `count`: in an `answer` event without a batch, a missing `set` is read as bootstrap
          (labels before the stream), and a missing `count` as 1.
    problems : tuple of str
        Warnings about the file, such as an incomplete last line or ignored columns.
    first_line : int
        Line number of the first event; 0 if rows have no line numbers (Parquet, or rows that span
        several lines).
    """

    source: str
    frame: pl.DataFrame
    problems: tuple[str, ...] = ()
    first_line: int = 1

    def __len__(self) -> int:
        return len(self.frame)

    def where(self, row: int) -> str:
        """Position of an event for messages: `line 12`, or `row 12` if the rows have no line
        numbers.

        Parameters
        ----------
        row : int
            Row of `frame`, from 0.
        """
        return f"line {row + self.first_line}" if self.first_line else f"row {row + 1}"


def read_events(path: str, format: str | None = None) -> EventLog:  # noqa: A002
    """Read an event log from a file.

    Parameters
    ----------
    path : str
        Path of the file, gzipped or not; `-` is standard input.
    format : {"ndjson", "parquet", "csv", "tsv"}, optional
        Format of the file. Default: the format of the file extension (.jsonl, .ndjson, .parquet,
        .csv, .tsv); for other extensions, the content decides.

    Returns
    -------
    EventLog
        All complete events. If a JSON file ends in an incomplete line, because the writing process
        was killed, this line is left out and `problems` contains a warning.

    Raises
    ------
    UsageError
        If the format is unknown.
    InputError
        If the file cannot be read, a line is not a JSON object, a column is missing or a value is
        invalid. The message contains the line number.
    """
    source, data = source_name(path), read_bytes(path)
    if not data:
        raise InputError(f"{source}: the file is empty; expected events, one a line")
    kind = _kind(data, path, format)
    if kind == "ndjson":
        frame, seen, problems = read_lines(data, source)
        return _checked(EventLog(source, frame, problems), seen)
    return of_table(read_columns(data, kind, source))


def of_table(table: Table) -> EventLog:
    """The events of a table."""
    log = EventLog(table.source, events_of(table), (), max(table.first_line, 0))
    return _checked(log, table.columns)


def _checked(log: EventLog, seen: Sequence[str]) -> EventLog:
    """A log whose events have all required columns, as an `EventLog`."""
    _refuse_missing(log, seen)
    refuse_rows(log.frame, log.source, log.where)
    problems = log.problems + _ignored(seen, log.source)
    return replace(log, frame=_finished(log.frame), problems=problems)


def _kind(data: bytes, path: str, stated: str | None) -> str:
    """The format: the stated one, otherwise that of the ending, otherwise that of the content."""
    if stated is not None:
        return known_format(stated, EVENT_LOGS)
    kind = None if path in STANDARD_INPUT else by_ending(path, EVENT_LOGS)
    if kind:
        return kind
    if data.startswith(b"PAR1"):
        return "parquet"
    head = data[: 1 << 16].removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.partition(b"\n")[0].rstrip()
    if first.startswith(b"{"):
        return "ndjson"
    for kind, separator in (("csv", b","), ("tsv", b"\t")):
        if b"event" in [name.strip(b' "') for name in first.split(separator)]:
            return kind
    if path.endswith(".toml"):
        raise UsageError(f"{path}: a study file is not an event log: truecost run {path}")
    raise UsageError(
        f"{path}: the format of the event log is not recognised by its ending or content (it "
        f"begins with {first[:40].decode(errors='replace')!r}); name it: --input-format "
        f"{'|'.join(KINDS)}"
    )


def _refuse_missing(log: EventLog, seen: Sequence[str]) -> None:
    """Refuse a log without a column that its events need."""
    frame = log.frame
    predicted = bool((frame["event"] == "predict").any())
    needed = ["event"] + (["batch", "id", "phase"] if predicted else [])
    for name in needed:
        if name not in seen and frame[name].null_count() == len(frame):
            raise InputError(f"{log.source}: {_no_column(name, seen)}")
    if predicted and frame["score"].null_count() == frame["decision"].null_count() == len(frame):
        lack = _no_column("score", seen, "or decision")
        raise InputError(f"{log.source}: {lack}; predictions have a score, a decision, or both")


def _no_column(name: str, seen: Sequence[str], further: str = "") -> str:
    others = [column for column in seen if column not in SCHEMA]
    scores = " (a table of scores? use truecost score or truecost compare)"
    hint = near(name, others) or scores * (name == "event" and "score" in seen)
    return (
        f"there is no column {' '.join([repr(name), further]).strip()}{hint}; "
        f"{the_columns(seen)}; the columns of events are {', '.join(SCHEMA)}"
    )


def _ignored(seen: Sequence[str], source: str) -> tuple[str, ...]:
    """A note on columns that no event has."""
    others = [column for column in seen if column not in SCHEMA]
    if not others:
        return ()
    return (f"{source}: {named('column', others, 'are')} not part of an event log: ignored",)


def _finished(frame: pl.DataFrame) -> pl.DataFrame:
    """Names as categories; what answers without a batch stand for."""
    before = (pl.col("event") == "answer") & pl.col("batch").is_null()
    texts = [name for name in ("decision", "label") if frame[name].n_unique() > MANY]
    return frame.with_columns(
        pl.col([name for name in NAMED if name not in texts]).cast(pl.Categorical),
        pl.when(before).then(pl.col("set").fill_null("bootstrap")).otherwise("set").alias("set"),
        pl.when(before).then(pl.col("count").fill_null(1)).otherwise("count").alias("count"),
    )
