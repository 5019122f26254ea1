"""The event log of a life cycle: which version said what about which item, checked one by one.

Where an event belongs (`where`): to the lifelong set (`stream`), to the test set (`test`), to
adaptation away from both (`offline`), or to what was done before (`before`). The data of batch
i - 1 of the lifelong set give version M_i: version 0 is there from the beginning. Within one
version the test set is a stream of its own, so what holds of the events of streams holds of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from truecost.core.costs import COMPUTING, OF_SYSTEM, no_record, unlogged
from truecost.errors import counted
from truecost.formats.event_checks import Finding, check_events, findings
from truecost.formats.events import EventLog

if TYPE_CHECKING:
    from truecost.tasks.lifelong.records import Lifelong

WHERE = pl.Enum(("stream", "test", "offline", "before"))
SAID = {"stream": "of the lifelong set", "test": "of the test set"}
COLUMNS = (
    *("row", "run", "where", "version", "batch", "t", "id", "event", "phase", "decision"),
    *("label", "part", "expert", "active_seconds", "words", "actions", "verdict", "count"),
    *("cpu_seconds", "gpu_seconds"),
)
PREDICT, ANSWER = pl.col("event") == "predict", pl.col("event") == "answer"
_SAYS = pl.col("label").is_not_null() | pl.col("verdict").is_not_null()
_HELP = pl.col("event").is_in(["query", "answer"])
_OWN = pl.col("where").is_in(["stream", "test"])  # of the sets that are scored
Rule = tuple[str, pl.DataFrame, str]  # a name, events that break it, what to say with their columns


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
        pl.col("count", "cpu_seconds", "gpu_seconds"),
    )


def findings_of(log: EventLog) -> tuple[Finding, ...]:
    """Everything that is wrong or odd about the log of a life cycle; empty when all is well.

    Besides what `check_events` says of the lifelong set, and of the test set of each version:
    outputs without version, time or decision; a version that speaks before it came to be, or comes
    of another batch than its own; a batch of several times, or times that do not rise; an item of
    several batches.
    """
    events = events_of(log)
    if not events.select((PREDICT & _OWN).any()).item():
        text = f"{log.source}: there are no outputs: only events of the kind predict are scored"
        return (Finding("error", "predictions", text),)
    alone = (_broken(log, name, events.filter(bad), said) for name, bad, said in ROW_RULES)
    if rows := [found for of in alone for found in of]:
        return tuple(rows)  # the rest takes for granted that these are there
    odd = [found for check in _streams_checked(log, events) for found in check]
    for rules in (_times(events), _versions(log, events), _one_batch(events)):
        # What comes after a rule that is broken takes for granted that it is not.
        odd += next((found for rule in rules if (found := _broken(log, *rule))), [])
    return tuple(odd)


def _broken(log: EventLog, name: str, broken: pl.DataFrame, said: str) -> list[Finding]:
    """A finding about events that break a rule, with readable times and sets."""
    times = pl.col("^(t|other_t)$").map_elements(time_name, pl.String)
    sets = pl.col("^(first_)?where$").cast(pl.String).replace(SAID)
    return [*findings("error", name, log, broken.with_columns(times, sets), said)]


_SCORED, _TESTED = PREDICT & _OWN, _HELP & (pl.col("where") == "test")
ROW_RULES = (  # what one event must be like, whatever the others are: what breaks it, and the words
    (
        "versions",
        (_SCORED | _TESTED) & pl.col("version").is_null(),
        "the {event} event of item {id!r} has no version; in the log of a life cycle each has one "
        "(a log without versions is one of a stream: truecost streams score)",
    ),
    (
        "versions",
        pl.col("version") < 0,
        "the version is {version}, but versions are numbered from 0",
    ),
    (
        "times",
        _SCORED & pl.col("t").is_null(),
        "the output of item {id!r} has no time t; expected the time of its data (dates as days "
        "since 1970-01-01)",
    ),
    (
        "predictions",
        _SCORED & pl.col("decision").is_null(),
        "item {id!r} has no decision; expected its output",
    ),
    (
        "predictions",
        PREDICT & (pl.col("where") == "offline"),
        "item {id!r} is predicted in set offline; outputs are those of the lifelong set (no set) "
        "or of the test set (set test)",
    ),
)


def _streams_checked(log: EventLog, events: pl.DataFrame) -> Iterator[tuple[Finding, ...]]:
    """Findings about the two sets; each by itself where nobody helped with the test set.

    Then there is one output of each version there, and no second one is missed.
    """
    test = events["where"] == "test"
    helped = events.select((PREDICT & (pl.col("phase") == "post") & pl.lit(test)).any()).item()
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
    """Whether each event is an answer without a question: a correction that the person chose."""
    key = ["run", "where", "version", "id", "part"]
    asked = events.filter(pl.col("event") == "query").select(key).unique()
    # A question of the lifelong set may be answered after a later version asked others.
    loose = pl.when(pl.col("where") == "test").then("version").alias("version")
    lone = (
        events.filter(ANSWER & pl.col("batch").is_not_null() & _OWN)
        .with_columns(loose)
        .join(asked.with_columns(loose), on=key, how="anti", nulls_equal=True)
    )
    return events["row"].is_in(lone["row"].implode())


def _times(events: pl.DataFrame) -> Iterator[Rule]:
    """Whether each batch has one time, and times rise."""
    key = ["run", "where", "batch"]
    told = events.filter(PREDICT & _OWN)
    first = pl.col("t").first().over(key)
    yield (
        "times",
        told.with_columns(other_t=first).filter(pl.col("t") != pl.col("other_t")),
        "item {id!r} has time {t}, but its batch {batch} {where} has time {other_t}: all items "
        "of a batch need one time",
    )
    batches = told.unique(key, keep="first").sort(key)
    before = pl.col("t").shift().over("run", "where")
    # Documents of one time may be tested in batches of their own.
    same = (pl.col("t") == pl.col("other_t")) & (pl.col("where") == "stream")
    yield (
        "times",
        batches.with_columns(other_t=before).filter((pl.col("t") < pl.col("other_t")) | same),
        "batch {batch} {where} has time {t}, which is not after {other_t}, the time of the "
        "batch before: times must rise",
    )


def born_of(events: pl.DataFrame) -> pl.DataFrame:
    """The origin of each version of each run: `run`, `version`, `batch` and the `row`.

    By adapting to a batch of the lifelong set, or by speaking after that.
    """
    post = PREDICT & (pl.col("phase") == "post")
    made = (pl.col("where") == "stream") & ((pl.col("event") == "adapt") | post)
    made &= pl.col("version").is_not_null() & (pl.col("version") > 0)
    first = events.filter(made).unique(["run", "version"], keep="first")
    return first.select("run", "version", "batch", "row").sort("row")


def _versions(log: EventLog, events: pl.DataFrame) -> Iterator[Rule]:
    """Whether each version came of its batch, before it speaks, and speaks while it is the last."""
    born = born_of(events)
    given = born.with_columns(given=pl.col("batch") + 1)
    yield (
        "versions",
        given.filter(pl.col("version") != pl.col("given")),
        "version {version} is made by adapting to batch {batch} of the lifelong set, but batch "
        "{batch} makes version {given}: number versions by their batches",
    )
    known = born.select("run", "version", born="row")
    post = (pl.col("phase") == "post") & (pl.col("where") == "stream")
    told = events.filter(PREDICT & _OWN & ~post).join(
        known, on=["run", "version"], how="left", maintain_order="left"
    )
    late = told.filter(
        (pl.col("version") > 0) & ((pl.col("row") < pl.col("born")) | pl.col("born").is_null())
    )
    came = pl.col("born").map_elements(lambda row: f"is made later ({log.where(row)})", pl.String)
    yield (
        "versions",
        late.with_columns(came=came.fill_null("is never made")),
        "item {id!r} {where} is predicted by version {version}, which {came}: adapting to a batch "
        "of the lifelong set makes a version",
    )
    latest = pl.col("born_version").forward_fill().over("run").fill_null(0)
    marked = events.join(
        born.select("row", born_version="version"), on="row", how="left", maintain_order="left"
    ).with_columns(latest=latest)
    streamed = PREDICT & (pl.col("where") == "stream") & ~post
    yield (
        "versions",
        marked.filter(streamed).filter(pl.col("version") != pl.col("latest")),
        "item {id!r} of the lifelong set is predicted by version {version}, but the newest "
        "version is {latest}",
    )


def _one_batch(events: pl.DataFrame) -> Iterator[Rule]:
    """Whether each item is of one batch of one set, whichever version speaks."""
    firsts = (pl.col(name).first().over("run", "id") for name in ("batch", "where", "row"))
    both = events.filter(PREDICT & _OWN).with_columns(e.name.prefix("first_") for e in firsts)
    both = both.rename({"first_row": "first"})
    moved = (pl.col(name) != pl.col(f"first_{name}") for name in ("batch", "where"))
    yield (
        "predictions",
        both.filter(pl.any_horizontal(moved)),
        "item {id!r} is in batch {batch} {where}, and in batch {first_batch} {first_where} "
        "({first_at}): an item may be in one batch only",
    )


def time_name(t: float) -> str:
    """The shortest text that says a time."""
    return f"{t:.0f}" if t == round(t) and abs(t) < 1e15 else repr(float(t))


def experts_of(events: pl.DataFrame) -> tuple[str, ...]:
    """Names of who helped, sorted; labels of the initialisation data are data, and no help."""
    helped = events.filter(ANSWER & (pl.col("where") != "before"))
    return tuple(sorted(helped["expert"].drop_nulls().unique().to_list()))


def spent_of(events: pl.DataFrame, last: int, kind: str) -> pl.DataFrame:
    """The resources of each run, by `seed`: `seconds` that people were busy away from the test set
    (null where one answer was not timed), and of `cpu` and `gpu` (null where none was recorded).

    Of these seconds those of help that says something are `helped`, of so many `answers` that put
    in so many `words`. Resources of versions before the last one on the test set were for scoring
    alone.
    """
    tested = pl.col("where") == "test"
    kept = events.filter(~tested.fill_null(value=False) | (pl.col("version") == last))
    away = ANSWER & ~tested.fill_null(value=False)
    busy = pl.col("active_seconds").filter(away)
    help_away = away & pl.col("where").is_in(["stream", "offline"]) & _SAYS
    computing = {key: pl.col(f"{key}_seconds") for key in COMPUTING}
    return (
        kept.group_by("seed")
        .agg(
            seconds=pl.when(busy.null_count() == 0).then(busy.sum()),
            helped=pl.col("active_seconds").filter(help_away).sum(),
            answers=help_away.sum().cast(pl.Int64),
            words=_words(kind).filter(help_away).sum(),
            **{key: pl.when(of.count() > 0).then(of.sum()) for key, of in computing.items()},
        )
        .sort("seed")
    )


def _words(kind: str) -> pl.Expr:
    """Words that an answer put in: a class is one word, a text says how many it has, a region of
    speech does not.
    """
    of_kind = {"classes": pl.lit(1), "diarization": pl.lit(0)}
    told = of_kind.get(kind, pl.col("label").str.count_matches(r"\S+"))
    return pl.coalesce("words", told).fill_null(0).cast(pl.Int64)


def offline_of(events: pl.DataFrame, versions: Sequence[int], kind: str) -> pl.DataFrame:
    """The offline help of people, by `seed` and the resulting `version` (its place).

    `answers`, `seconds` (null where one was not measured), `words` and `actions`; empty where
    nobody helped so. Labels of the initialisation data are data, and no help.
    """
    away = events.filter(pl.col("where") == "offline")
    # Several rounds make one version: the help with it came before it was adapted.
    made = pl.when(pl.col("event") == "adapt").then(pl.col("version"))
    given = away.with_columns(made=made.backward_fill().over("seed")).filter(ANSWER & _SAYS)
    if not given.height:
        return pl.DataFrame()
    first, last = versions[0], versions[-1]
    version = pl.coalesce("made", "version").fill_null(first)
    unmeasured = pl.col("active_seconds").is_null().any()
    return (
        given.filter(version <= last)
        .with_columns(
            version=(version.clip(first, last) - first).cast(pl.Int64),
            words=_words(kind),
            actions=pl.coalesce("actions", pl.lit(1)).cast(pl.Int64),
        )
        .group_by("seed", "version")
        .agg(
            answers=pl.len().cast(pl.Int64),
            seconds=pl.when(unmeasured).then(None).otherwise(pl.col("active_seconds").sum()),
            words=pl.col("words").sum(),
            actions=pl.col("actions").sum(),
        )
        .sort("seed", "version")
    )


def answers_within(lifelong: "Lifelong") -> str:
    """A clause about help that no measure of help counts; empty without any."""
    answers = int(lifelong.spent["answers"].sum()) if lifelong.spent.height else 0
    if lifelong.offline.height:
        answers -= int(lifelong.offline["answers"].sum())
    if answers <= 0:
        return ""
    return (
        f"; its {counted(answers, 'answer')} about the lifelong set are part of the life cycle: "
        f"cost_person gives the price of their time (--price person=30)"
    )


def lacking(lifelong: "Lifelong") -> dict[str, str]:
    """The amounts without a measurement in the logs, by key of their price, and how to get one."""
    spent, effort = lifelong.spent, lifelong.test.effort
    found = {}
    if effort["seconds"].null_count() or (spent.height and spent["seconds"].null_count()):
        found["person"] = "some answers were not timed: log active_seconds with answer events"
    for key in COMPUTING:
        if key not in lifelong.took and not (spent.height and spent[key].count()):
            found[key] = unlogged(key)
    if "memory" not in lifelong.took:
        found["memory"] = no_record("memory", OF_SYSTEM)
    return found
