"""Checks of the events of a log: their order and content; findings with their lines.

Within a batch, predictions before adaptation come first, then questions, answers and `adapt`, and
predictions after adaptation last: a prediction before adaptation must not depend on the answers.
Answers to questions of earlier batches may come at any time before the predictions after
adaptation.

The checks use the *stretches* of a log: consecutive events of one kind in one batch, within a
stream of a run. There are few of them, however many events there are.

Every check reads whole columns, within each stream of each run. An error makes figures wrong; a
warning does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from truecost.formats.events import EventLog

State = Literal["error", "warning"]
PRE, QUERY, ANSWER, ADAPT, POST = range(5)  # kinds of stretches; the first four as in `EVENTS`
PLACE = ["group", "batch"]
_WHAT = {
    ANSWER: "the answer about item {first_item}",
    ADAPT: "its batch was adapted to",
    POST: "the prediction of item {first_item} after adaptation",
}
Key = list[str]  # columns that tell items, or questions, apart


@dataclass(frozen=True)
class Finding:
    """A finding of a check: errors make figures wrong, warnings are worth knowing.

    `name` is the check: order, predictions, questions or answers. The message says what is
    wrong, with file, line, item and batch of the first such event, and how many there are.
    """

    state: State
    name: str
    message: str

    @staticmethod
    def about(state: State, name: str, log: EventLog, events: pl.DataFrame, text: str) -> "Finding":
        """A finding about some events, of which the first `row` is named.

        It is about as many events as there are rows, or as their `size` adds up to.
        """
        row = int(events["row"][0])
        names = {name: log.frame[name][row] for name in ("run", "stream")}
        batch = log.frame["batch"][row]
        of = "".join(f", {name} {value!r}" for name, value in names.items() if value is not None)
        of += f", batch {batch}" if batch is not None else ""
        number = events["size"].sum() if "size" in events.columns else len(events)
        more = f" ({number} such events)" if number > 1 else ""
        return Finding(state, name, f"{log.source}, {log.where(row)}{of}: {text}{more}")


def findings(
    state: State, name: str, log: EventLog, events: pl.DataFrame, text: str
) -> Iterator[Finding]:
    """A finding about events, if there are any: the text, filled in from the columns of the first.

    `{item}`: item of the event; `{asked_at}`: place of the row `asked`; `{first_at}`: place of the
    row `first`; `{first_item}`: item of that row.
    """
    if len(events):
        event = events.row(0, named=True)
        more = {"item": item_of(log, event["row"])}
        others = {name: event[name] for name in ("first", "asked") if event.get(name) is not None}
        more |= {f"{name}_at": log.where(row) for name, row in others.items()}
        if "first" in event:
            more["first_item"] = item_of(log, event["first"])
        yield Finding.about(state, name, log, events, text.format(**event, **more))


def item_of(log: EventLog, row: int) -> str:
    """The id of an event's item, with the part that was asked about."""
    name, part = log.frame["id"][row], log.frame["part"][row]
    return f"{name!r}" + (f" (part {part!r})" if part is not None else "")


def stretches_of(events: pl.DataFrame) -> pl.DataFrame:
    """The stretches of a log, in order; streams may alternate.

    The columns `row`, `group` (stream of a run), `batch`, `event` and `phase` of events become
    `group`, `batch`, `kind`, `row` of the first event, and `size`, the number of events.
    """
    post = (pl.col("event") == "predict") & (pl.col("phase") == "post")
    kind = pl.when(post).then(pl.lit(POST, pl.UInt8)).otherwise(pl.col("event").to_physical())
    placed = events.filter(pl.col("batch").is_not_null()).select("row", *PLACE, kind=kind)
    changes = (placed["group"] != placed["group"].shift()).sum()
    if changes >= placed["group"].n_unique():  # streams take turns
        placed = placed.sort("group", maintain_order=True)
    found = pl.any_horizontal(pl.col(c) != pl.col(c).shift() for c in (*PLACE, "kind"))
    starts = placed.select(found.fill_null(True)).to_series().arg_true()
    ends = starts.shift(-1, fill_value=len(placed))
    return placed[starts].with_columns(size=ends.cast(pl.Int64) - starts.cast(pl.Int64))


def batches_in_order(log: EventLog, stretches: pl.DataFrame) -> Iterator[Finding]:
    """Check that batch numbers begin with 0, and never fall or leave gaps."""
    begins = (pl.col("group") != pl.col("group").shift()).fill_null(True)
    before = pl.col("batch").shift()
    steps = stretches.drop("size").with_columns(begins=begins, before=before).sort("row")
    step = pl.when(~pl.col("begins")).then(pl.col("batch") - pl.col("before"))
    down = steps.filter(step < 0)
    yield from findings(
        *("error", "order", log, down),
        "batch {batch} comes after batch {before}; within a stream batches are in order",
    )
    if len(down):
        return
    yield from findings(
        *("warning", "order", log, steps.filter(pl.col("begins") & (pl.col("batch") > 0))),
        "the first batch is {batch}; batches are numbered from 0",
    )
    yield from findings(
        *("warning", "order", log, steps.filter(step > 1)),
        "batch {batch} follows batch {before}; numbers between them are missing",
    )


def steps_in_order(log: EventLog, stretches: pl.DataFrame, own: pl.DataFrame) -> Iterator[Finding]:
    """Check that no prediction before adaptation, and no answer, comes too late in its batch.

    `own`: answers to questions of their own batch.
    """
    after = stretches.filter(pl.col("kind") == POST).drop("size")
    adapted = stretches.filter(pl.col("kind") == ADAPT).drop("size")
    answers = own.select("row", *PLACE, kind=pl.lit(ANSWER, pl.UInt8))
    leaked = _behind(stretches, PRE, pl.concat([answers, adapted, after]))
    what = _WHAT[leaked["first_kind"][0]] if len(leaked) else ""
    yield from findings(
        *("error", "order", log, leaked),
        "item {item} is predicted before adaptation (phase pre), but after "
        f"{what} ({{first_at}}); in a batch all predictions of phase pre come first, then "
        "questions, answers and adapt, then predictions of phase post",
    )
    yield from findings(
        *("error", "order", log, _behind(stretches, ANSWER, after)),
        "the answer about item {item} comes after the predictions of its batch after adaptation "
        "({first_at}); write it in the batch in which it becomes known",
    )


def asked_beside_predictions(log: EventLog, stretches: pl.DataFrame) -> Iterator[Finding]:
    """Check that every batch with questions has predictions."""
    predicted = stretches.filter(pl.col("kind").is_in([PRE, POST]))
    asked = stretches.filter(pl.col("kind") == QUERY)
    return findings(
        *("error", "questions", log, asked.join(predicted, on=PLACE, how="anti").sort("row")),
        "item {item} is asked about in a batch without predictions; a question belongs to the "
        "batch in which it is asked, beside its predictions",
    )


def _behind(stretches: pl.DataFrame, kind: int, others: pl.DataFrame) -> pl.DataFrame:
    """The stretches of a kind after the first of `others` in their batch, and that one."""
    first = others.sort("row").unique(PLACE, keep="first", maintain_order=True)
    named = first.select(*PLACE, first="row", first_kind="kind")
    both = stretches.filter(pl.col("kind") == kind).join(named, on=PLACE)
    return both.filter(pl.col("row") > pl.col("first")).sort("row")


def check_events(log: EventLog) -> tuple[Finding, ...]:
    """Check the order and the contents of the events of a stream.

    Conditions that are errors, because the figures would be wrong:

    - A batch number decreases.
    - A prediction before adaptation comes later in the log than an answer to a question of its
      batch, an `adapt` event of its batch, or a prediction after adaptation to its batch.
    - An answer arrives in a batch, but comes later in the log than a prediction after adaptation
      to this batch.
    - An item is predicted twice in one phase, or in two batches.
    - A question is asked in a batch without predictions, or asked twice.
    - An answer has no earlier question (answers without a batch need none), or a question is
      answered twice.
    - The log is that of a lifelong run (no other condition is checked then).

    Conditions that are only warnings:

    - The first batch number is above 0, or the numbers have a gap, such as 0, 1, 3.
    - An item is predicted in one phase only.
    - A question has no answer, or its item is not predicted.

    Parameters
    ----------
    log : EventLog
        Log to check.

    Returns
    -------
    tuple of Finding
        Errors and warnings, in the order of the checks; empty if there are none. Fields: `state`
        ("error" or "warning"), `name` of the check, and `message`.
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
    given = answered.filter(pl.col("batch").is_null() & pl.col("id").is_not_null())
    answers = answered.filter(pl.col("batch").is_not_null())
    waiting = asked.join(answered, on=question, how="anti", nulls_equal=True).sort("row")
    unanswered = "the question about item {item} has no answer"
    asked_once = ("asked about", "each question is asked once")
    answered_once = ("answered", "each question has one answer")
    checks = (
        batches_in_order(log, stretches),
        steps_in_order(log, stretches, own),
        _predictions(log, item, *phases),
        asked_beside_predictions(log, stretches),
        _once(log, "questions", question, asked, asked_once),
        _about_predicted(log, item, asked, *phases),
        findings("warning", "questions", log, waiting, unanswered),
        _once(log, "answers", [*question, "set"], given, answered_once),
        _once(log, "answers", question, answers, answered_once),
        _answers(log, question, asked, answers),
    )
    return tuple(found for check in checks for found in check)


def _versions(log: EventLog) -> Finding | None:
    """An error for a log with several versions of a model: a stream has one model."""
    stated = log.frame.select(pl.row_index("row"), "version").drop_nulls()
    text = "this is the log of a lifelong run: use truecost lifelong score LOG"
    return next(findings("error", "predictions", log, stated, text), None)


def _group(frame: pl.DataFrame) -> pl.Expr:
    """A number for each stream of each run."""
    codes = [pl.col(name).to_physical().cast(pl.Int64).fill_null(-1) for name in ("run", "stream")]
    if all(frame[name].null_count() == len(frame) for name in ("run", "stream")):
        return pl.lit(0, pl.Int64).alias("group")
    run, stream = codes
    return (run * (1 << 32) + stream).alias("group")


def _telling(events: pl.DataFrame, *names: str) -> Key:
    """The id, and those of the columns with more than one value; constant columns only cost
    time.
    """
    return ["id", *(name for name in names if events[name].n_unique() > 1)]


def _predictions(
    log: EventLog, item: Key, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Check that each item is predicted once in a phase, in one batch, in both phases."""
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
    yield from findings(
        *("warning", "predictions", log, lone),
        "item {item} is predicted before adaptation, but not after it",
    )


def _predicted_once(log: EventLog, item: Key, part: pl.DataFrame) -> Iterator[Finding]:
    again = _again(part, item)
    where = ", in batch {first_batch} and in batch {batch}"
    if len(again) and again["batch"][0] == again["first_batch"][0]:
        where = " of batch {batch}"
    return findings(
        *("error", "predictions", log, again),
        f"item {{item}} is predicted twice in phase {{phase}}{where} (first in {{first_at}}); each "
        "item is predicted once in a phase",
    )


def _in_one_batch(
    log: EventLog, item: Key, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Check that an item is predicted in the same batch before and after adaptation."""
    first = pre.unique(item, keep="first").select(*item, pl.col("batch").alias("other"))
    both = post.join(first, on=item, how="left").sort("row")
    yield from findings(
        *("error", "predictions", log, both.filter(pl.col("other") != pl.col("batch"))),
        "item {item} is predicted in batch {batch} after adaptation, but in batch {other} before "
        "it; an item is of one batch",
    )
    yield from findings(
        *("warning", "predictions", log, both.filter(pl.col("other").is_null())),
        "item {item} is predicted after adaptation, but not before it",
    )


def _about_predicted(
    log: EventLog, item: Key, asked: pl.DataFrame, pre: pl.DataFrame, post: pl.DataFrame
) -> Iterator[Finding]:
    """Check that items of questions were predicted."""
    items = asked.unique(item)
    if pre.join(items, on=item, how="semi").n_unique(item) == len(items):
        return  # looked at from the side of the questions first, as they are few
    unknown = asked.join(pre, on=item, how="anti").join(post, on=item, how="anti").sort("row")
    yield from findings(
        *("warning", "questions", log, unknown),
        "item {item} is asked about, but not predicted: it counts as an annotation of its batch, "
        "but helps no item",
    )


def _once(
    log: EventLog, name: str, key: Key, part: pl.DataFrame, texts: tuple[str, str]
) -> Iterator[Finding]:
    """Check that events of a key occur once; `texts`: verb for a second one, and the rule."""
    text = f"item {{item}} is {texts[0]} twice (first in {{first_at}}); {texts[1]}"
    return findings("error", name, log, _again(part, key), text)


def _answers(
    log: EventLog, question: Key, asked: pl.DataFrame, answers: pl.DataFrame
) -> Iterator[Finding]:
    """Check that answers follow their questions."""
    first = asked.unique(question, keep="first", maintain_order=True)
    known = first.select(*question, asked="row", asked_batch="batch")
    joined = answers.join(known, on=question, how="left", nulls_equal=True).sort("row")
    yield from findings(
        *("error", "answers", log, joined.filter(pl.col("asked").is_null())),
        "an answer about item {item}, which was never asked about; each answer needs a query "
        "before it (only labels that were given before the stream need none: they have no batch)",
    )
    row, batch = pl.col("row"), pl.col("batch")
    early = joined.filter((row < pl.col("asked")) | (batch < pl.col("asked_batch")))
    yield from findings(
        *("error", "answers", log, early),
        "the answer about item {item} comes before its question ({asked_at}, batch {asked_batch})",
    )


def _again(part: pl.DataFrame, key: Key) -> pl.DataFrame:
    """The events whose key occurred before, with row and batch of its first occurrence."""
    different = part["id"].n_unique() if key == ["id"] else part.select(key).n_unique()
    if different == len(part):
        return part.clear()
    row, batch = (pl.col(name).first().over(key) for name in ("row", "batch"))
    known = part.with_columns(first=row, first_batch=batch)
    return known.filter(pl.col("row") > pl.col("first"))
