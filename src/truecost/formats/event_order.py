"""In which order events happen, and what a check of a log found: file, line, stream, run and
batch.

Within a batch, predictions before adaptation come first, then questions, answers and `adapt`, and
predictions after adaptation last: what is said before adapting may know nothing of the answers.
Answers to questions of earlier batches may come at any time before the latter.

All is read off the *stretches* of a log: events of one kind in one batch that follow each other
within a stream of a run. There are few of them, however many events there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from truecost.formats.events import EventLog

State = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    state : {"error", "warning"}
        An error makes figures wrong; a warning is worth knowing.
    name : {"order", "predictions", "questions", "answers"}
        What was checked.
    message : str
        What is wrong, with file, line, item and batch of the first such event, and how many there
        are.
    """

    state: State
    name: str
    message: str

    @staticmethod
    def of(
        state: State,
        name: str,
        log: EventLog,
        events: pl.DataFrame,
        text: str,
        count: int | None = None,
    ) -> "Finding":
        """A finding about some events.

        Parameters
        ----------
        state : {"error", "warning"}
        events : polars.DataFrame
            Whose first `row` is named.
        text : str
            What is wrong with it.
        count : int, optional
            How many events it is about; as many as there are rows unless given.
        """
        row = int(events["row"][0])
        names = {name: log.frame[name][row] for name in ("run", "stream")}
        batch = log.frame["batch"][row]
        of = "".join(f", {name} {value!r}" for name, value in names.items() if value is not None)
        of += f", batch {batch}" if batch is not None else ""
        number = len(events) if count is None else count
        more = f" ({number} such events)" if number > 1 else ""
        return Finding(state, name, f"{log.source}, {log.where(row)}{of}: {text}{more}")


def item_of(log: EventLog, row: int) -> str:
    """The id of an event's item, with the part that was asked about."""
    name, part = log.frame["id"][row], log.frame["part"][row]
    return f"{name!r}" + (f" (part {part!r})" if part is not None else "")


PRE, QUERY, ANSWER, ADAPT, POST = range(5)  # kinds of stretches; the first four as in `EVENTS`


PLACE = ["group", "batch"]


_WHAT = {
    ANSWER: "the answer about item {}",
    ADAPT: "its batch was adapted to",
    POST: "the prediction of item {} after adaptation",
}


def stretches_of(events: pl.DataFrame) -> pl.DataFrame:
    """The stretches of a log, in order of the streams where these take turns.

    Parameters
    ----------
    events : polars.DataFrame
        With `row`, `group` (stream of a run), `batch`, `event` and `phase`.

    Returns
    -------
    polars.DataFrame
        `group`, `batch`, `kind`, `row` of the first event and `size`, the number of events.
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
    """Whether batch numbers begin with 0, and never go down nor leave gaps."""
    begins = (pl.col("group") != pl.col("group").shift()).fill_null(True).alias("begins")
    step = pl.col("batch").diff().fill_null(0).alias("step")
    steps = stretches.with_columns(begins, step).sort("row")
    down = steps.filter(~pl.col("begins") & (pl.col("step") < 0))
    if len(down):
        batch, step_down = down["batch"][0], down["step"][0]
        text = (
            f"batch {batch} comes after batch {batch - step_down}; within a stream batches are in "
            f"order"
        )
        yield Finding.of("error", "order", log, down, text)
        return
    late = steps.filter(pl.col("begins") & (pl.col("batch") > 0))
    if len(late):
        text = f"the first batch is {late['batch'][0]}; batches are numbered from 0"
        yield Finding.of("warning", "order", log, late, text)
    gaps = steps.filter(~pl.col("begins") & (pl.col("step") > 1))
    if len(gaps):
        batch, wide = gaps["batch"][0], gaps["step"][0]
        text = f"batch {batch} follows batch {batch - wide}; numbers between them are missing"
        yield Finding.of("warning", "order", log, gaps, text)


def steps_in_order(log: EventLog, stretches: pl.DataFrame, own: pl.DataFrame) -> Iterator[Finding]:
    """Whether no prediction before adaptation, and no answer, comes too late in its batch.

    `own` are the answers to questions of their own batch.
    """
    after = stretches.filter(pl.col("kind") == POST).drop("size")
    adapted = stretches.filter(pl.col("kind") == ADAPT).drop("size")
    told = own.select("row", *PLACE, kind=pl.lit(ANSWER, pl.UInt8))
    leaked = _behind(stretches, PRE, pl.concat([told, adapted, after]))
    if len(leaked):
        row, first = int(leaked["row"][0]), int(leaked["first_row"][0])
        text = (
            f"item {item_of(log, row)} is predicted before adaptation (phase pre), but after "
            f"{_WHAT[leaked['first_kind'][0]].format(item_of(log, first))} ({log.where(first)}); "
            f"in a batch all predictions of phase pre come first, then questions, answers and "
            f"adapt, then predictions of phase post"
        )
        yield Finding.of("error", "order", log, leaked, text, _events(leaked))
    late = _behind(stretches, ANSWER, after)
    if len(late):
        row, first = int(late["row"][0]), int(late["first_row"][0])
        text = (
            f"the answer about item {item_of(log, row)} comes after the predictions of its batch "
            f"after adaptation ({log.where(first)}); write it in the batch in which it becomes "
            f"known"
        )
        yield Finding.of("error", "order", log, late, text, _events(late))


def asked_beside_predictions(log: EventLog, stretches: pl.DataFrame) -> Iterator[Finding]:
    """Whether every batch with questions has predictions."""
    predicted = stretches.filter(pl.col("kind").is_in([PRE, POST]))
    asked = stretches.filter(pl.col("kind") == QUERY)
    lost = asked.join(predicted, on=PLACE, how="anti").sort("row")
    if len(lost):
        text = (
            f"item {item_of(log, int(lost['row'][0]))} is asked about in a batch without "
            f"predictions; a question belongs to the batch in which it is asked, beside its "
            f"predictions"
        )
        yield Finding.of("error", "questions", log, lost, text, _events(lost))


def _behind(stretches: pl.DataFrame, kind: int, others: pl.DataFrame) -> pl.DataFrame:
    """The stretches of a kind behind the first of others in their batch, and that one."""
    first = others.sort("row").unique(PLACE, keep="first", maintain_order=True)
    named = first.select(*PLACE, pl.col("row", "kind").name.prefix("first_"))
    both = stretches.filter(pl.col("kind") == kind).join(named, on=PLACE)
    return both.filter(pl.col("row") > pl.col("first_row")).sort("row")


def _events(stretches: pl.DataFrame) -> int:
    """How many events some stretches have."""
    return int(stretches["size"].sum())
