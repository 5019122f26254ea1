"""From event logs and labels to `Online`; a batch at which a run was killed is left out;
systems side by side.

The order of the events of a log is trusted for one thing only: where the predictions after
adaptation stand in the order of those before, they are laid side by side without a join.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.costs import COMPUTING
from truecost.core.measure import Array
from truecost.errors import InputError, counted, first_five
from truecost.formats.events import EventLog, Labels
from truecost.outputs.event_logs import guess_of, labelled, run_of
from truecost.person.timing import timing_of
from truecost.tasks.streams.naming import Naming, code_of, naming_of, numbered
from truecost.tasks.streams.records import PHASES, Online

LAST_PLACE = ("run", "stream", "batch")


def without_open_end(log: EventLog) -> EventLog:
    """A log without its last batch where that lacks predictions after adaptation.

    Only the batch that the log ends with can be open: predictions that are missing anywhere else
    are a fault. A log without any prediction after adaptation is whole. Where nothing is missing
    it is the same object; otherwise `problems` names the batch, and how many questions of it are
    not counted.
    """
    frame = log.frame
    placed = frame.filter(pl.col("batch").is_not_null()).tail(1)
    if not len(placed):
        return log
    last = pl.lit(True)
    for name in LAST_PLACE:
        last &= pl.col(name).eq_missing(pl.lit(placed[name][0], frame.schema[name]))
    of_last = frame.select(last.alias("last"))["last"]
    phases = frame.filter(of_last & (frame["event"] == "predict"))["phase"]
    lacking = len(phases.filter(phases == "pre")) - len(phases.filter(phases == "post"))
    elsewhere = (~of_last & (frame["phase"] == "post").fill_null(value=False)).any()
    if lacking <= 0 or not elsewhere:
        return log
    asked = int((frame.filter(of_last)["event"] == "query").sum())
    lost = f", and {counted(asked, 'question')} with it" if asked else ""
    said = (
        f"{log.source}: the log ends in batch {placed['batch'][0]}, before all of its "
        f"{counted(int((phases == 'pre').sum()), 'item')} were predicted again: that batch is left "
        f"out{lost}"
    )
    return replace(log, frame=frame.filter(~of_last), problems=(*log.problems, said))


PLACE = ("seed", "stream", "batch")
KEYS = (*PLACE, "id")


def read_online(
    logs: Sequence[EventLog],
    labels: Labels | None = None,
    *,
    name: str = "system",
    target: str | None = None,
    classes: Sequence[str] = (),
    numbers: bool = False,
    about: Mapping[str, str] | None = None,
    took: Mapping[str, float] | None = None,
) -> Online:
    """The record of one system; what is given is as `truecost.tasks.streams.work.read` says.

    A log without runs is a run of its file's name.
    """
    seeds, streams, frame = _joined(logs)
    source = ", ".join(log.source for log in logs)
    predicted = _items(frame, source)
    right, on = (None, ["id"]) if labels is None else _keyed(labels, seeds, streams)
    items, notes = labelled(
        predicted, right, source, "a column named stream distinguishes streams", on
    )
    if set(predicted["label"].cast(pl.String)).isdisjoint(items["label"].cast(pl.String)):
        notes = []  # the two are written in other ways
    naming = naming_of(items, target, classes, numbers=numbers, source=source)
    places, items = _placed(naming.coded(items))
    rows = _rows(items, frame)
    items = items.with_columns(answer=_answers(items, rows, frame, naming))
    found = Online(
        name,
        naming.kind,
        naming.classes,
        seeds,
        streams,
        _batches(places, frame),
        items.drop(PLACE),
        _questions(rows, places, frame, source),
        _before(frame),
        phases=tuple(p for p in PHASES if f"decision_{p}" in items.columns),
        about=dict(about or {}),
        signature="|".join(filter(None, (naming.signature, guess_of(frame)))),
        problems=(*(p for log in logs for p in log.problems), *notes),
        took=dict(took or {}),
        timing=timing_of(frame),
    )
    return replace(found, problems=(*found.problems, *_equal_runs(found)))


def _equal_runs(online: Online) -> list[str]:
    """Advice where all runs are equal: a sentence, or nothing."""
    of = online.batches["seed"].gather(online.items["unit"])
    said = online.items.select("id", "answer", pl.col("^(decision|score)_.*$"))
    runs = said.with_columns(seed=of).partition_by("seed", include_key=False, maintain_order=True)
    if len(runs) < 2 or not all(run.equals(runs[0]) for run in runs[1:]):
        return []
    return [
        f"the runs of {counted(len(runs), 'seed')} are equal, so intervals have no width and "
        f'comparisons have no basis: in a live study set order = "shuffled" under [source]'
    ]


def _joined(logs: Sequence[EventLog]) -> tuple[tuple[str, ...], tuple[str, ...], pl.DataFrame]:
    """Names of the runs and streams, and all events with their places in these."""
    frames = [log.frame.with_columns(run=_run(log, len(logs))) for log in logs]
    # A log with very many different decisions keeps them as texts, another as categories.
    frame = pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]
    seeds, seed = numbered(frame["run"], "")
    streams, stream = numbered(frame["stream"], "")
    return seeds, streams, frame.with_columns(seed=seed, stream=stream).drop("run")


def _run(log: EventLog, logs: int) -> pl.Series:
    """The run of each event: one of several files is a run of its own name."""
    run = log.frame["run"]
    if logs == 1 or not run.null_count():
        return run
    return run.fill_null(run_of(log.source))


def _items(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """One row for each item with its predictions of both phases."""
    needed = frame.select(*KEYS, "label", "decision", "score", "event", "phase")
    predicted = pl.col("event") == "predict"
    parts = {p: needed.filter(predicted & (pl.col("phase") == p)) for p in PHASES}
    parts = {p: part for p, part in parts.items() if part.height}
    if not parts:
        raise InputError(
            f"{source}: there are no predictions: only events of the kind predict are scored"
        )
    phases = list(parts)
    first = parts[phases[0]].select(*KEYS, "label", *_renamed(phases[0]))
    if len(phases) == 1:
        return first
    second = parts["post"].select(*KEYS, pl.col("label").alias("again"), *_renamed("post"))
    if first.select(KEYS).equals(second.select(KEYS)):
        return _agreed(first.hstack(second.drop(KEYS)), source)
    joined = first.join(second, on=[*KEYS], how="full", coalesce=True, maintain_order="left")
    if joined.height != first.height or first.height != second.height:
        lost = in_one_only(first, second, KEYS)
        raise InputError(
            f"{source}: {counted(len(lost), 'item', 'have')} a prediction of one phase only: "
            f"{first_five(lost)}: log both phases (pre and post) for every item"
        )
    return _agreed(joined, source)


def _agreed(items: pl.DataFrame, source: str) -> pl.DataFrame:
    """The items with one label each; InputError where both phases say another."""
    if (items["label"] != items["again"]).any():
        differ = items.filter(pl.col("label") != pl.col("again"))
        raise InputError(
            f"{source}: {counted(differ.height, 'item', 'have')} different labels before and "
            f"after adaptation: {first_five(differ['id'])}: give each item one label"
        )
    if not items["label"].null_count():
        return items.drop("again")
    return items.with_columns(pl.coalesce("label", "again").alias("label")).drop("again")


def _renamed(phase: str) -> list[pl.Expr]:
    return [pl.col(c).alias(f"{c}_{phase}") for c in ("decision", "score")]


def _keyed(
    labels: Labels, seeds: Sequence[str], streams: Sequence[str]
) -> tuple[Labels, list[str]]:
    """The labels with places of runs and streams, and the columns that tell them apart."""
    right, on = labels.frame, ["id"]
    for column, place, names in (("run", "seed", seeds), ("stream", "stream", streams)):
        if column in right.columns:
            codes = {text: code for code, text in enumerate(names)}
            found = code_of(right[column].cast(pl.String).fill_null(""), codes)
            right = right.drop(column).with_columns(pl.Series(place, found))
            on.append(place)
    return Labels(labels.source, right), on


def _stretches(columns: Sequence[Array]) -> tuple[npt.NDArray[np.int64], Array]:
    """The first row of each stretch of equal rows, and the number of the stretch of each row."""
    rows = len(columns[0])
    changes = np.zeros(rows, bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes), np.cumsum(changes) - 1


def _placed(items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The batches in order, and the items in order of theirs, with the row of it as `unit`."""
    starts, stretch = _stretches([items[c].to_numpy() for c in PLACE])
    stretches = items.select(PLACE)[starts]
    places = stretches.unique().sort(PLACE)
    if places.height == stretches.height and places.equals(stretches):
        return places, items.with_columns(unit=stretch.astype(np.int32))
    unit = stretches.join(
        places.with_row_index("unit"), on=PLACE, how="left", maintain_order="left"
    )["unit"].to_numpy()
    placed = items.with_columns(unit=unit[stretch].astype(np.int32))
    return places, placed.sort("unit", maintain_order=True)


def _rows(items: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """The row and the batch of each item that anybody asked about.

    Few items are asked about: a join with these is five times faster than one with all.
    """
    asked = frame.filter(pl.col("event").is_in(["query", "answer"]))["id"].drop_nulls().unique()
    rows = items.select("seed", "stream", "id", own="batch").with_row_index("item")
    return rows.filter(pl.col("id").is_in(asked.implode()))


def _answers(
    items: pl.DataFrame, rows: pl.DataFrame, frame: pl.DataFrame, naming: Naming
) -> pl.Series:
    """The answers about each item in its own batch; null without one."""
    told = frame.filter((pl.col("event") == "answer") & pl.col("label").is_not_null())
    told = told.select("seed", "stream", "id", "batch", "label")
    on_time = told.join(rows, on=["seed", "stream", "id"], maintain_order="left").filter(
        pl.col("batch") == pl.col("own")
    )
    empty = pl.repeat(None, items.height, dtype=items["label"].dtype, eager=True)
    return empty.scatter(on_time["item"], naming.code(on_time["label"], "answer", on_time["id"]))


def _questions(
    rows: pl.DataFrame, places: pl.DataFrame, frame: pl.DataFrame, source: str
) -> pl.DataFrame:
    """The questions with their batch, their item, the seconds that they took the person, and how
    long the system waited for the answer: as the page measured it, else by the time of the log.
    """
    keys = ["seed", "stream", "id", "part"]
    columns = frame.select(
        *keys, "batch", "event", "active_seconds", "t", "waited_seconds", "asked"
    )
    known = pl.col("batch").is_not_null()
    asked = columns.filter((pl.col("event") == "query") & known).drop("event")
    told = columns.filter((pl.col("event") == "answer") & known).select(
        *keys, "waited_seconds", "asked", told="active_seconds", came="t", answered=pl.lit(True)
    )
    both = asked.drop("waited_seconds", "asked").join(
        told, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    units = places.with_row_index("unit").with_columns(pl.col("unit").cast(pl.Int32))
    placed = both.join(units, on=PLACE, how="left", maintain_order="left").join(
        rows, on=["seed", "stream", "id"], how="left", maintain_order="left"
    )
    if placed["unit"].null_count():
        lost = placed.filter(pl.col("unit").is_null())
        raise InputError(
            f"{source}: {counted(lost.height, 'question')} in batches without predictions, the "
            f"first about item {lost['id'][0]} in batch {lost['batch'][0]}: ask in the batch of "
            f"the item"
        )
    simulated = pl.when(pl.col("asked").is_null()).then(pl.col("came") - pl.col("t"))
    measured = pl.coalesce("waited_seconds", simulated)
    waited = pl.when(pl.col("answered")).then(measured).otherwise(0.0)
    seconds = pl.coalesce("told", "active_seconds")
    return placed.select("unit", "item", seconds=seconds, waited=waited).sort("unit")


def _batches(places: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """The batches with the seconds of CPU and GPU that their events took."""
    timed = frame.filter(pl.col("batch").is_not_null())
    before = (pl.col("event") == "predict") & (pl.col("phase") == "pre")
    spent = {
        f"{key}_{of}": pl.col(f"{key}_seconds").filter(which).sum()
        for key in COMPUTING
        for of, which in (("pre", before), ("rest", ~before))
    }
    found = timed.group_by(PLACE).agg(**spent)
    joined = places.join(found, on=PLACE, how="left", maintain_order="left")
    return joined.with_columns(pl.col(*spent).fill_null(0.0))


def _before(frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations made before the streams, by run, stream and set."""
    told = frame.filter(pl.col("batch").is_null())
    answer = pl.col("event") == "answer"
    measured = answer & pl.col("active_seconds").is_not_null()
    count = pl.col("count").fill_null(1)
    return (
        told.select(
            "seed",
            "stream",
            pl.when(answer).then(pl.col("set").cast(pl.String).fill_null("bootstrap")).alias("set"),
            pl.when(answer).then(count).otherwise(0).alias("count"),
            pl.when(measured).then("active_seconds").otherwise(0.0).alias("seconds"),
            pl.when(measured).then(count).otherwise(0).alias("timed"),
            *(pl.col(f"{key}_seconds").fill_null(0.0).alias(key) for key in COMPUTING),
        )
        .group_by("seed", "stream", "set")
        .sum()
        .sort("seed", "stream", "set")
    )


def pair_online(systems: Sequence[Online]) -> list[Online]:
    """Systems that saw the same items in the same batches, these in one order."""
    first = systems[0]
    return [first, *(_alike(first, other) for other in systems[1:])]


def _alike(one: Online, other: Online) -> Online:
    """The other with its items in the order of the first."""
    named = f"{one.name} and {other.name}"
    for what in ("kind", "classes", "seeds", "streams", "phases"):
        a, b = getattr(one, what), getattr(other, what)
        if a != b:
            raise InputError(
                f"{named} have different {what} ({_names_text(a)} against {_names_text(b)}): only "
                f"logs of the same streams and runs can be compared item by item"
            )
    keys = ("seed", "stream", "batch")
    if not one.batches.select(keys).equals(other.batches.select(keys)):
        raise InputError(
            f"{named} have different batches ({counted(one.batches.height, 'batch')} "
            f"against {other.batches.height}): only logs of the same stream can be compared"
        )
    if not one.items.select("unit", "id").equals(other.items.select("unit", "id")):
        other = _ordered(one, other)
    if not one.items["label"].equals(other.items["label"]):
        differ = one.items.filter(one.items["label"].ne_missing(other.items["label"]))["id"]
        raise InputError(
            f"{named} have different labels for {counted(len(differ), 'item')}: "
            f"{first_five(differ)}"
        )
    return other


def _ordered(one: Online, other: Online) -> Online:
    """The items of the other in the order of the first; InputError where they are others."""
    keys = ["unit", "id"]
    found = one.items.select(keys).join(other.items, on=keys, how="inner", maintain_order="left")
    if found.height != max(one.items.height, other.items.height):
        lost = in_one_only(one.items, other.items, keys).unique(maintain_order=True)
        raise InputError(
            f"{one.name} and {other.name} do not have the same items in the same batches: "
            f"{first_five(lost)}: only logs of one stream can be compared"
        )
    return replace(other, items=found.select(other.items.columns))


def in_one_only(one: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """Ids of the rows that one of two frames has alone."""
    return pl.concat(
        a.join(b, on=[*keys], how="anti")["id"] for a, b in ((one, other), (other, one))
    )


def _names_text(value: object) -> str:
    """Names, the first few."""
    names = [str(one) or "one without a name" for one in value] if isinstance(value, tuple) else []
    return first_five(names) if names else str(value or "none")
