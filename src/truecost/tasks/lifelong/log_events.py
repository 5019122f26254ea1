"""The event log of a life cycle: which version said what about which item, checked one by one.

Where an event belongs (`where`): to the lifelong set (`stream`), to the test set (`test`), to
adaptation away from both (`offline`), or to what was done before (`before`). The data of batch
i - 1 of the lifelong set give version M_i: version 0 is there from the beginning. Within one
version the test set is a stream of its own, so what holds of the events of streams holds of these.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from truecost.errors import InputError, counted
from truecost.formats.event_checks import check_events
from truecost.formats.event_order import Finding
from truecost.formats.events import EventLog

WHERE = pl.Enum(("stream", "test", "offline", "before"))
SAID = {"stream": "of the lifelong set", "test": "of the test set"}
COLUMNS = (
    *("row", "run", "where", "version", "batch", "t", "id", "event", "phase", "decision"),
    *("label", "part", "expert", "active_seconds", "words", "actions", "verdict", "count"),
)
_PREDICT, _ANSWER = pl.col("event") == "predict", pl.col("event") == "answer"
_HELP = pl.col("event").is_in(["query", "answer"])
_OWN = pl.col("where").is_in(["stream", "test"])  # of the sets that are scored
Row = dict[str, object]


def events_of(log: EventLog, run: str | None = None) -> pl.DataFrame:
    """The events of a log under `COLUMNS`; `run` names those that name none."""
    named = pl.col("run").cast(pl.String)
    place = (
        pl.when(pl.col("set").cast(pl.String).is_in(["test", "offline"]))
        .then(pl.col("set").cast(pl.String))
        .when(pl.col("batch").is_null())
        .then(pl.lit("before"))
        .otherwise(pl.lit("stream"))
    )
    return log.frame.with_row_index("row").select(
        pl.col("row").cast(pl.Int64),
        named.fill_null(run or ""),
        place.cast(WHERE).alias("where"),
        pl.col(*COLUMNS[3:9]),
        *(pl.col(name).cast(pl.String) for name in ("decision", "label", "part", "expert")),
        pl.col("active_seconds", "words", "actions"),
        pl.col("verdict").cast(pl.String),
        pl.col("count"),
    )


def findings_of(log: EventLog) -> tuple[Finding, ...]:
    """Everything that is wrong or odd about the log of a life cycle.

    Besides what `check_events` says of the lifelong set, and of the test set of each version:
    outputs without version, time or decision; a version that speaks before it came to be, or comes
    of another batch than its own; a batch of several times, or times that do not rise; an item of
    several batches.

    Returns
    -------
    tuple of Finding
        Empty when all is well.
    """
    events = events_of(log)
    if not events.select((_PREDICT & _OWN).any()).item():
        text = f"{log.source}: no output of a version: events of the kind predict are scored"
        return (Finding("error", "predictions", text),)
    rows = tuple(_of_rows(log, events))
    if rows:
        return rows  # the rest takes for granted that these are there
    checks = (
        *_streams_checked(log, events),
        _times(log, events),
        _versions(log, events),
        _one_batch(log, events),
    )
    return tuple(found for check in checks for found in check)


def refuse_faults(log: EventLog) -> EventLog:
    """A log without contradictions, with what is odd about it.

    Raises
    ------
    InputError
        When there are: the first, and how many more.
    """
    findings = findings_of(log)
    wrong = [f.message for f in findings if f.state == "error"]
    if wrong:
        more = counted(len(wrong) - 1, "more fault")
        tail = f"; and {more}: truecost lifelong validate lists all" if wrong[1:] else ""
        raise InputError(f"{wrong[0]}{tail}")
    return replace(log, problems=(*log.problems, *(f.message for f in findings)))


def run_of(log: EventLog) -> str:
    """The name of a log's run where it names none: its file, up to the first point."""
    return Path(log.source).name.partition(".")[0]


def _of_rows(log: EventLog, events: pl.DataFrame) -> Iterator[Finding]:
    """What one event must be like, whatever the others are."""
    scored = _PREDICT & _OWN
    rules: list[tuple[str, pl.Expr, Callable[[Row], str]]] = [
        (
            "versions",
            (scored | (_HELP & _OWN & (pl.col("where") == "test"))) & pl.col("version").is_null(),
            lambda row: (
                f"the {row['event']} of item {row['id']!r} names no version; in the log of a life "
                f"cycle each says by which version it is (a log without any is one of a stream: "
                f"truecost stream score)"
            ),
        ),
        (
            "versions",
            pl.col("version") < 0,
            lambda row: f"the version is {row['version']}; versions are numbered from 0",
        ),
        (
            "times",
            scored & pl.col("t").is_null(),
            lambda row: (
                f"the output of item {row['id']!r} has no time t; expected that of its data (dates "
                f"as days since 1970-01-01)"
            ),
        ),
        (
            "predictions",
            scored & pl.col("decision").is_null(),
            lambda row: f"there is no decision for item {row['id']!r}; expected the output",
        ),
        (
            "predictions",
            _PREDICT & (pl.col("where") == "offline"),
            lambda row: (
                f"item {row['id']!r} is predicted in set offline; outputs are those of the "
                f"lifelong set (no set) or of the test set (set test)"
            ),
        ),
    ]
    for name, mask, said in rules:
        broken = events.filter(mask)
        if len(broken):
            yield Finding.of("error", name, log, broken, said(broken.row(0, named=True)))


def _streams_checked(log: EventLog, events: pl.DataFrame) -> Iterator[tuple[Finding, ...]]:
    """What is odd about the two sets; each by itself where nobody helped with the test set.

    Then there is one output of each version there, and no second one is missed.
    """
    test = events["where"] == "test"
    helped = events.select((_PREDICT & (pl.col("phase") == "post") & pl.lit(test)).any()).item()
    for others in (None,) if helped else (test, ~test):
        yield check_events(_as_streams(log, events, others))


def _as_streams(log: EventLog, events: pl.DataFrame, others: pl.Series | None) -> EventLog:
    """The log as one of streams: the lifelong set, and the test set of each version.

    What was done away from both is put aside, and so are `others`, and that what a person
    volunteered was never asked about. Rows stay where they are, so that messages name the right
    lines.
    """
    place = events["where"]
    lost = (place == "offline") if others is None else (place == "offline") | others
    test = pl.lit("version ") + pl.col("version").cast(pl.String) + " on the test set"
    stream = pl.when(pl.lit(place == "test")).then(test).otherwise(pl.col("stream").cast(pl.String))
    away = lost | volunteered(events)
    aside = pl.when(pl.lit(away))
    kept = log.frame.with_columns(
        stream.alias("stream").cast(pl.Categorical),
        aside.then(pl.lit("adapt")).otherwise(pl.col("event").cast(pl.String)).alias("event"),
        pl.when(pl.lit(lost)).then(None).otherwise(pl.col("batch")).alias("batch"),
        pl.lit(None, pl.Int64).alias("version"),  # what tells streams apart now
    )
    return replace(log, frame=kept.cast({"event": log.frame.schema["event"]}))


def volunteered(events: pl.DataFrame) -> pl.Series:
    """Which events are answers that nobody asked for: corrections that the person chose."""
    key = ["run", "where", "version", "id", "part"]
    asked = events.filter(pl.col("event") == "query").select(key).unique()
    # A question of the lifelong set may be answered after a later version asked others.
    loose = pl.when(pl.col("where") == "test").then("version").alias("version")
    lone = (
        events.filter(_ANSWER & pl.col("batch").is_not_null() & _OWN)
        .with_columns(loose)
        .join(asked.with_columns(loose), on=key, how="anti", nulls_equal=True)
    )
    return events["row"].is_in(lone["row"].implode())


def _times(log: EventLog, events: pl.DataFrame) -> Iterator[Finding]:
    """Whether each batch has one time, and times rise."""
    key = ["run", "where", "batch"]
    told = events.filter(_PREDICT & _OWN)
    first = pl.col("t").first().over(key)
    moved = told.with_columns(first=first).filter(pl.col("t") != pl.col("first"))
    if len(moved):
        row = moved.row(0, named=True)
        text = (
            f"item {row['id']!r} has time {time_name(row['t'])}, but its batch {row['batch']} "
            f"{SAID[row['where']]} has time {time_name(row['first'])}; a batch has one"
        )
        yield Finding.of("error", "times", log, moved, text)
        return
    batches = told.unique(key, keep="first").sort(key)
    before = pl.col("t").shift().over("run", "where")
    # Documents of one time may be tested in batches of their own.
    same = (pl.col("t") == pl.col("before")) & (pl.col("where") == "stream")
    late = batches.with_columns(before=before).filter((pl.col("t") < pl.col("before")) | same)
    if len(late):
        row = late.row(0, named=True)
        text = (
            f"batch {row['batch']} {SAID[row['where']]} has time {time_name(row['t'])}, which is "
            f"not after {time_name(row['before'])}, that of the batch before; times rise"
        )
        yield Finding.of("error", "times", log, late, text)


def born_of(events: pl.DataFrame) -> pl.DataFrame:
    """Where each version of each run came to be: `run`, `version`, `batch` and the `row`.

    By adapting to a batch of the lifelong set, or by speaking after that.
    """
    post = _PREDICT & (pl.col("phase") == "post")
    made = (pl.col("where") == "stream") & ((pl.col("event") == "adapt") | post)
    made &= pl.col("version").is_not_null() & (pl.col("version") > 0)
    first = events.filter(made).unique(["run", "version"], keep="first")
    return first.select("run", "version", "batch", "row").sort("row")


def _versions(log: EventLog, events: pl.DataFrame) -> Iterator[Finding]:
    """Whether each version came of its batch, before it speaks, and speaks while it is the last."""
    born = born_of(events)
    astray = born.filter(pl.col("version") != pl.col("batch") + 1)
    if len(astray):
        row = astray.row(0, named=True)
        text = (
            f"version {row['version']} comes of batch {row['batch']} of the lifelong set; batch "
            f"{row['batch']} gives version {row['batch'] + 1}"
        )
        yield Finding.of("error", "versions", log, astray, text)
        return
    known = born.select("run", "version", born="row")
    post = (pl.col("phase") == "post") & (pl.col("where") == "stream")
    told = events.filter(_PREDICT & _OWN & ~post).join(
        known, on=["run", "version"], how="left", maintain_order="left"
    )
    early = told.filter(
        (pl.col("version") > 0) & ((pl.col("row") < pl.col("born")) | pl.col("born").is_null())
    )
    if len(early):
        row = early.row(0, named=True)
        when = "never came to be" if row["born"] is None else f"came to be {log.where(row['born'])}"
        text = (
            f"item {row['id']!r} {SAID[row['where']]} is predicted by version {row['version']}, "
            f"which {when}: a version comes of adapting to its batch of the lifelong set"
        )
        yield Finding.of("error", "versions", log, early, text)
        return
    latest = pl.col("born_version").forward_fill().over("run").fill_null(0)
    marked = events.join(
        born.select("row", born_version="version"), on="row", how="left", maintain_order="left"
    ).with_columns(latest=latest)
    stale = marked.filter(_PREDICT & (pl.col("where") == "stream") & ~post).filter(
        pl.col("version") != pl.col("latest")
    )
    if len(stale):
        row = stale.row(0, named=True)
        text = (
            f"item {row['id']!r} of the lifelong set is predicted by version {row['version']}, but "
            f"the last one is version {row['latest']}"
        )
        yield Finding.of("error", "versions", log, stale, text)


def _one_batch(log: EventLog, events: pl.DataFrame) -> Iterator[Finding]:
    """Whether each item is of one batch of one set, whichever version speaks."""
    told = events.filter(_PREDICT & _OWN)
    key = ["run", "id"]
    both = told.with_columns(
        pl.col("batch").first().over(key).alias("first_batch"),
        pl.col("where").first().over(key).alias("first_where"),
        pl.col("row").first().over(key).alias("first"),
    )
    moved = both.filter(
        (pl.col("batch") != pl.col("first_batch")) | (pl.col("where") != pl.col("first_where"))
    )
    if len(moved):
        row = moved.row(0, named=True)
        text = (
            f"item {row['id']!r} is in batch {row['batch']} {SAID[row['where']]}, and in batch "
            f"{row['first_batch']} {SAID[row['first_where']]} ({log.where(row['first'])}); an item "
            f"is of one batch"
        )
        yield Finding.of("error", "predictions", log, moved, text)


def time_name(t: float) -> str:
    """The shortest text that says a time."""
    return f"{t:.0f}" if t == round(t) and abs(t) < 1e15 else repr(float(t))
