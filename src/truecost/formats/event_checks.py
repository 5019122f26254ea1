"""How the events of a log fit together: what was asked, answered and predicted, in which order.

Every check looks at whole columns, within each stream of each run. An error makes figures wrong; a
warning is worth knowing.
"""

from collections.abc import Iterator

import polars as pl

from truecost.formats.event_order import (
    Finding,
    asked_beside_predictions,
    batches_in_order,
    item_of,
    steps_in_order,
    stretches_of,
)
from truecost.formats.events import EventLog

Key = list[str]  # columns that tell items, or questions, apart


def check_events(log: EventLog) -> tuple[Finding, ...]:
    """Everything that is wrong or odd about how the events of a log fit together.

    Errors: a batch number goes down; within a batch, a prediction before adaptation comes after an
    answer to a question of that batch, `adapt` or a prediction after adaptation, or any answer
    after the latter; an item is predicted twice in a phase, or in two batches; a question is asked
    in a batch without predictions; it is asked or answered twice, answered before it is asked, or
    was never asked (answers without a batch need no question). Warnings: batch numbers begin above
    0 or leave gaps; items are predicted in one of the phases only; questions have no answer, or are
    about items that were not predicted.

    Returns
    -------
    tuple of Finding
        Empty when all is well; errors and warnings in the order of the checks. A log of a lifelong
        run is no stream: that is the only error then.
    """
    if (lifelong := _versions(log)) is not None:
        return (lifelong,)
    columns = ("batch", "id", "event", "phase", "set", "part")
    events = log.frame.select(pl.row_index("row"), _group(log.frame), *columns)
    stretches = stretches_of(events)
    predicted = events.filter(pl.col("event") == "predict")
    phases = [predicted.filter(pl.col("phase") == p).drop("event") for p in ("pre", "post")]
    asked = events.filter(pl.col("event") == "query")
    answered = events.filter(pl.col("event") == "answer")
    item, question = _telling(events, "group"), _telling(events, "group", "part")
    own = answered.join(asked, on=[*question, "batch"], how="semi", nulls_equal=True)
    checks = (
        batches_in_order(log, stretches),
        steps_in_order(log, stretches, own),
        _predictions(log, item, *phases),
        asked_beside_predictions(log, stretches),
        _asked_once(log, question, asked),
        _about_predicted(log, item, asked, *phases),
        _answered(log, question, asked, answered),
        _answered_once(log, question, answered),
        _answers(log, question, asked, answered),
    )
    return tuple(found for check in checks for found in check)


def _versions(log: EventLog) -> Finding | None:
    """An error where versions of a model are told apart: a stream has one model."""
    told = log.frame.select(pl.row_index("row"), "version").filter(pl.col("version").is_not_null())
    if not len(told):
        return None
    text = "this is the log of a lifelong run: truecost lifelong score LOG"
    return Finding.of("error", "predictions", log, told, text)


def _group(frame: pl.DataFrame) -> pl.Expr:
    """A whole number for each stream of each run."""
    codes = [pl.col(name).to_physical().cast(pl.Int64).fill_null(-1) for name in ("run", "stream")]
    if all(frame[name].null_count() == len(frame) for name in ("run", "stream")):
        return pl.lit(0, pl.Int64).alias("group")
    run, stream = codes
    return (run * (1 << 32) + stream).alias("group")


def _telling(events: pl.DataFrame, *names: str) -> Key:
    """The id, and those of the columns that hold more than one value: the others cost time only."""
    return ["id", *(name for name in names if events[name].n_unique() > 1)]


def _predictions(
    log: EventLog, item: Key, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Whether each item is predicted once in a phase, in one batch, in both phases."""
    faults = list(_predicted_once(log, item, pre))
    place = ["group", "batch", "id"]
    alike = (
        not faults
        and len(post) <= len(pre)
        and pre.select(place).head(len(post)).equals(post.select(place))
    )
    yield from faults
    if not alike:
        yield from _predicted_once(log, item, post)
    if not (len(pre) and len(post)):
        return
    if not alike:
        yield from _in_one_batch(log, item, pre, post)
    lone = pre.slice(len(post)) if alike else pre.join(post, on=item, how="anti").sort("row")
    if len(lone):
        text = f"item {_item(log, lone)} is predicted before adaptation, but not after it"
        yield _warning(log, "predictions", lone, text)


def _predicted_once(log: EventLog, item: Key, part: pl.DataFrame) -> Iterator[Finding]:
    again = _again(part, item)
    if not len(again):
        return
    phase, batch, first = again["phase"][0], again["batch"][0], again["first_batch"][0]
    where = f" of batch {batch}" if batch == first else f", in batch {first} and in batch {batch}"
    text = (
        f"item {_item(log, again)} is predicted twice in phase {phase}{where} (first in "
        f"{log.where(again['first'][0])}); each item is predicted once in a phase"
    )
    yield _error(log, "predictions", again, text)


def _in_one_batch(
    log: EventLog, item: Key, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Whether items are predicted after adaptation where they were before it."""
    first = pre.unique(item, keep="first").select(*item, pl.col("batch").alias("other"))
    both = post.join(first, on=item, how="left").sort("row")
    moved = both.filter(pl.col("other") != pl.col("batch"))
    if len(moved):
        text = (
            f"item {_item(log, moved)} is predicted in batch {moved['batch'][0]} after adaptation, "
            f"but in batch {moved['other'][0]} before it; an item is of one batch"
        )
        yield _error(log, "predictions", moved, text)
    lone = both.filter(pl.col("other").is_null())
    if len(lone):
        text = f"item {_item(log, lone)} is predicted after adaptation, but not before it"
        yield _warning(log, "predictions", lone, text)


def _asked_once(log: EventLog, question: Key, asked: pl.DataFrame) -> Iterator[Finding]:
    again = _again(asked, question)
    if len(again):
        text = (
            f"item {_item(log, again)} is asked about twice (first in "
            f"{log.where(again['first'][0])}); each question is asked once"
        )
        yield _error(log, "questions", again, text)


def _about_predicted(
    log: EventLog, item: Key, asked: pl.DataFrame, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Whether items that are asked about were predicted."""
    items = asked.unique(item)
    if pre.join(items, on=item, how="semi").n_unique(item) == len(items):
        return  # looked at from the side of the questions first, as they are few
    unknown = asked.join(pre, on=item, how="anti").join(post, on=item, how="anti").sort("row")
    if len(unknown):
        text = (
            f"item {_item(log, unknown)} is asked about, but not predicted: it counts as an "
            f"annotation of its batch, but helps no item"
        )
        yield _warning(log, "questions", unknown, text)


def _answered(
    log: EventLog, question: Key, asked: pl.DataFrame, answered: pl.DataFrame
) -> Iterator[Finding]:
    """Whether questions have answers."""
    waiting = asked.join(answered, on=question, how="anti", nulls_equal=True).sort("row")
    if len(waiting):
        text = f"the question about item {_item(log, waiting)} has no answer"
        yield _warning(log, "questions", waiting, text)


def _answered_once(log: EventLog, question: Key, answered: pl.DataFrame) -> Iterator[Finding]:
    """Whether a question, or an item before the stream, has one answer."""
    given = answered.filter(pl.col("batch").is_null() & pl.col("id").is_not_null())
    answers = answered.filter(pl.col("batch").is_not_null())
    for part, key in ((given, [*question, "set"]), (answers, question)):
        again = _again(part, key)
        if len(again):
            text = (
                f"item {_item(log, again)} is answered twice (first in "
                f"{log.where(again['first'][0])}); each question has one answer"
            )
            yield _error(log, "answers", again, text)


def _answers(
    log: EventLog, question: Key, asked: pl.DataFrame, answered: pl.DataFrame
) -> Iterator[Finding]:
    """Whether answers follow their questions."""
    answers = answered.filter(pl.col("batch").is_not_null())
    first = asked.unique(question, keep="first", maintain_order=True)
    known = first.select(*question, pl.col("row", "batch").name.prefix("asked_"))
    joined = answers.join(known, on=question, how="left", nulls_equal=True).sort("row")
    never = joined.filter(pl.col("asked_row").is_null())
    if len(never):
        text = (
            f"an answer about item {_item(log, never)}, which was never asked about; each answer "
            f"needs a query before it (only labels that were given before the stream need none: "
            f"they have no batch)"
        )
        yield _error(log, "answers", never, text)
    row, batch = pl.col("row"), pl.col("batch")
    early = joined.filter((row < pl.col("asked_row")) | (batch < pl.col("asked_batch")))
    if len(early):
        text = (
            f"the answer about item {_item(log, early)} comes before its question "
            f"({log.where(early['asked_row'][0])}, batch {early['asked_batch'][0]})"
        )
        yield _error(log, "answers", early, text)


def _again(part: pl.DataFrame, key: Key) -> pl.DataFrame:
    """The events whose key occurred before, with row and batch of its first occurrence."""
    different = part["id"].n_unique() if key == ["id"] else part.select(key).n_unique()
    if different == len(part):
        return part.clear()
    known = part.with_columns(
        pl.col("row").first().over(key).alias("first"),
        pl.col("batch").first().over(key).alias("first_batch"),
    )
    return known.filter(pl.col("row") > pl.col("first"))


def _error(log: EventLog, name: str, events: pl.DataFrame, text: str) -> Finding:
    return Finding.of("error", name, log, events, text)


def _warning(log: EventLog, name: str, events: pl.DataFrame, text: str) -> Finding:
    return Finding.of("warning", name, log, events, text)


def _item(log: EventLog, events: pl.DataFrame) -> str:
    """The item of the first event."""
    return item_of(log, int(events["row"][0]))
