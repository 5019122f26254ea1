"""The runs of one system put together: the same versions, times, items and references in all.

A version that nothing came of (the system did not adapt) is the one before under a new name: what
that put out on the test set holds for it. A version says most of what the version before it said:
a log of 20 versions has few more outputs than one of 2, and what is the same counts once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.measure import Floats
from truecost.errors import InputError, counted, first_five
from truecost.formats.events import EventLog, Labels
from truecost.outputs.event_logs import labelled, run_of
from truecost.tasks.lifelong.kinds import Reference
from truecost.tasks.lifelong.log_events import PREDICT, SAID, born_of, events_of, time_name
from truecost.tasks.lifelong.records import INITIAL, OWN


@dataclass(frozen=True, eq=False)
class LogRuns:
    """The runs of a system: names of runs, sorted; numbers of versions and their times of learning.

    `events` are those of `events_of`, with `seed` (place of the run) and `log`; `speaks` has
    `seed`, `version` and `said`: the version whose outputs on the test set hold for it.
    """

    logs: tuple[EventLog, ...]
    seeds: tuple[str, ...]
    versions: tuple[int, ...]
    learnt: Floats
    events: pl.DataFrame
    speaks: pl.DataFrame
    problems: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Names of the logs, for messages."""
        return ", ".join(log.source for log in self.logs)

    def where(self, events: pl.DataFrame, k: int = 0) -> str:
        """The name of an event in messages."""
        log = self.logs[events["log"][k]]
        return f"{log.source}, {log.where(events['row'][k])}"


@dataclass(frozen=True)
class Run:
    """The content of one run: the completely tested versions, and the times of its batches in
    order.
    """

    name: str
    tested: frozenset[int]
    learnt: tuple[float, ...]
    problems: tuple[str, ...] = ()


def joined_runs(logs: Sequence[EventLog]) -> LogRuns:
    """The events of all runs (of logs that were checked), with versions that are the same in each.

    Without a last version that was not tested to the end: `problems` names it.
    """
    frames = [
        events_of(log, run_of(log.source) if len(logs) > 1 else "").with_columns(log=pl.lit(k))
        for k, log in enumerate(logs)
    ]
    seeds = _seeds(frames, logs)
    codes = pl.DataFrame(
        {"run": seeds, "seed": range(len(seeds))}, schema_overrides={"seed": pl.Int64()}
    )
    events = pl.concat(frames).join(codes, on="run", how="left", maintain_order="left")
    parts = events.partition_by("seed", maintain_order=True, as_dict=True)
    runs = [_run(parts[(k,)], seed, logs) for k, seed in enumerate(seeds)]
    _refuse_unlike(runs, logs)
    kept = len(runs[0].learnt)
    own = pl.when(pl.col("where") == "test").then(pl.col("version") <= kept)
    events = events.filter(own.when(pl.col("where") == "stream").then(pl.col("batch") < kept)
                           .otherwise(True))  # fmt: skip
    first = 0 if 0 in runs[0].tested else min(runs[0].tested)
    versions = tuple(range(first, kept + 1))
    learnt = [INITIAL, *runs[0].learnt][first:]
    speaks = [
        (seed, place, max(v for v in run.tested if v <= version))
        for seed, run in enumerate(runs)
        for place, version in enumerate(versions)
    ]
    schema = dict.fromkeys(("seed", "version", "said"), pl.Int64)
    return LogRuns(
        tuple(logs),
        seeds,
        versions,
        np.array(learnt),
        events,
        pl.DataFrame(speaks, schema=schema, orient="row"),
        (*(text for log in logs for text in log.problems), *(t for r in runs for t in r.problems)),
    )


def _seeds(frames: Sequence[pl.DataFrame], logs: Sequence[EventLog]) -> tuple[str, ...]:
    """Names of the runs; a log is of its own."""
    named = [frame["run"].unique().to_list() for frame in frames]
    every = sorted(run for runs in named for run in runs)
    if double := [a for a, b in pairwise(every) if a == b]:
        both = [log.source for log, runs in zip(logs, named, strict=True) if double[0] in runs]
        raise InputError(
            f"run {double[0]!r} is in {first_five(both)}: the events of a run must be in one log"
        )
    return tuple(every)


def _run(events: pl.DataFrame, name: str, logs: Sequence[EventLog]) -> Run:
    """A run from its events; InputError without predictions on the test set."""
    source = logs[events["log"][0]].source + (f", run {name!r}" if name else "")
    test = events.filter(PREDICT & (pl.col("where") == "test"))
    if not test.height:
        raise InputError(
            f"{source}: there are no predictions on the test set (set test), which scores "
            f"across time need"
        )
    stream = events.filter(PREDICT & (pl.col("where") == "stream") & (pl.col("phase") == "pre"))
    batches = stream.unique("batch", keep="first").sort("batch")
    learnt = batches["t"].to_list()
    if batches["batch"].to_list() != [*range(len(learnt))]:
        raise InputError(
            f"{source}: the lifelong set has predictions before adaptation for the batches "
            f"{first_five(batches['batch'])}: number its batches from 0 without gaps"
        )
    born = {0, *born_of(events)["version"].to_list()}
    if not learnt and max(test["version"].to_list()) > 0:  # pragma: no cover - checked before
        raise InputError(f"{source}: there is no lifelong set from which versions learn")
    faults = {v: fault for v in sorted(born) if (fault := _fault(events, test, v))}
    untested = 0 in faults and not test.filter(pl.col("version") == 0).height and len(born) > 1
    if untested:  # the initial version may be left out altogether
        del faults[0]
    last, problems = max(born), list[str]()
    if last in faults and last > 0 and faults[last][1]:
        said = f"{source}: version {last} is left out: {faults.pop(last)[0]} (the log ends there)"
        learnt, problems = learnt[: last - 1], [said]
        born.discard(last)
    elif _ends_early(more := len(learnt) - last, last, events):
        said = f"{source}: the log ends in batch {last} of the lifelong set: it is left out"
        learnt, problems = learnt[:-more], [said]
    if faults:
        raise InputError(f"{source}: version {min(faults)}: {faults[min(faults)][0]}")
    tested = frozenset(born - {0} if untested else born)
    if not tested:
        raise InputError(f"{source}: no version is tested on the whole test set")
    return Run(name, tested, tuple(learnt), tuple(problems))


def _fault(events: pl.DataFrame, test: pl.DataFrame, version: int) -> tuple[str, bool] | None:
    """The missing part of a version on the test set, and whether the log may just have ended
    there.
    """
    own = test.filter(pl.col("version") == version)
    before, after = (own.filter(pl.col("phase") == phase) for phase in ("pre", "post"))
    lost = test.join(before, on="id", how="anti").unique("id", maintain_order=True)
    if lost.height:
        said = (
            f"{counted(lost.height, 'item')} of the test set have no output of this version: "
            f"{first_five(lost['id'])}: test every version on all items"
        )
        return said, _goes_on(lost, before)
    if (fault := _before_help(events, test, version)) is not None:
        return fault, True
    helped = events.filter((pl.col("where") == "test") & (pl.col("version") == version))
    helped = helped.filter(pl.col("event").is_in(["query", "answer"]) | (pl.col("phase") == "post"))
    asked = before.join(helped, on="batch", how="semi")
    lost = asked.join(after, on="id", how="anti")
    if not lost.height:
        return None
    said = (
        f"{counted(lost.height, 'item')} of the test set have no output after the person's help "
        f"(phase post): {first_five(lost['id'])}"
    )
    return said, _goes_on(lost, helped)


def _ends_early(more: int, last: int, events: pl.DataFrame) -> bool:
    """Whether a log ends while the system adapts.

    A system that never adapts has several batches that nothing came of.
    """
    return events["where"][-1] == "stream" and more > 0 and (last > 0 or more == 1)


def _before_help(events: pl.DataFrame, test: pl.DataFrame, version: int) -> str | None:
    """A message where the log ends before the help with a batch that other versions got; else
    None.
    """
    end = events.row(-1, named=True)
    if (end["where"], end["version"], end["phase"]) != ("test", version, "pre"):
        return None
    others = (pl.col("batch") == end["batch"]) & (pl.col("version") != version)
    if not test.filter(others & (pl.col("phase") == "post")).height:
        return None
    return f"the person's help with batch {end['batch']} of the test set is missing"


def _goes_on(lost: pl.DataFrame, there: pl.DataFrame) -> bool:
    """Whether what is lost comes after what is there, batch by batch."""
    last: Any = there["batch"].max()
    return bool((lost["batch"] >= (-1 if last is None else last)).all())


def _refuse_unlike(runs: Sequence[Run], logs: Sequence[EventLog]) -> None:
    """Refuse runs of other life cycles."""
    first = runs[0]
    source = ", ".join(log.source for log in logs)
    for other in runs[1:]:
        if first.learnt != other.learnt or (0 in first.tested) != (0 in other.tested):
            mine, theirs = (
                f"{run.name!r} {counted(len(run.learnt), 'batch')} at times "
                f"{first_five(map(time_name, run.learnt)) or 'none'}"
                for run in (first, other)
            )
            raise InputError(
                f"{source}: the runs have different versions: {mine}, {theirs}: finish all runs, "
                f"or name the finished ones"
            )


def _distinct(rows: Sequence[Reference]) -> tuple[list[Reference], npt.NDArray[np.int64]]:
    """Each distinct row, in the order in which they come, and which of them each row is."""
    places: dict[Reference, int] = {}
    codes = [places.setdefault(row, len(places)) for row in rows]
    return [*places], np.array(codes, np.int64)


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct outputs beside what is right and the parts that were put right (`mended`).

    `place` says which of these each row is.
    """

    texts: list[str]
    right: list[Reference]
    mended: list[Reference]
    place: npt.NDArray[np.int64]

    @classmethod
    def from_rows(
        cls,
        said: pl.Series,
        item: pl.Series,
        right: Sequence[Reference],
        mended: Sequence[Reference] = (),
    ) -> "Distinct":
        """The distinct ones of some rows: `right` is of each item, `mended` of each row."""
        texts = said.unique().sort()
        codes = said.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        sides, wanted = _distinct(right)
        parts, put = _distinct(mended or [()] * len(codes))
        parts = parts or [()]
        keys = (codes * len(sides) + wanted[item.to_numpy()]) * len(parts) + put
        found, place = np.unique(keys, return_inverse=True)
        pairs = found // len(parts)
        return cls(
            texts.gather(pairs // len(sides)).to_list(),
            [sides[k] for k in pairs % len(sides)],
            [parts[k] for k in found % len(parts)],
            place.astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class Items:
    """The items of one of the two sets, sorted by time and id.

    `frame` has `id`, `time` (its place), and columns for units and subsets; `right` what is right
    of each item, which may be several outputs.
    """

    times: tuple[str, ...]
    at: Floats
    frame: pl.DataFrame
    right: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...] = ()


def items_of(
    told: LogRuns, where: str, labels: Labels | None = None, references: Sequence[Labels] = ()
) -> Items | None:
    """The items of the lifelong set (`stream`) or of the test set (`test`); None where there are
    none.

    The reference is the labels of the predictions if there is no table of labels; `references` has
    further right outputs.
    """
    told_there = told.events.filter(PREDICT & (pl.col("where") == where))
    if not told_there.height:
        return None
    _refuse_other(told, told_there, "t")
    _refuse_other(told, told_there.filter(pl.col("label").is_not_null()), "label")
    found = told_there.group_by("id").agg(pl.col("t").first(), pl.col("label").drop_nulls().first())
    at = found["t"].unique().sort().to_numpy()
    codes = np.searchsorted(at, found["t"].to_numpy())
    frame = found.with_columns(time=pl.Series(codes, dtype=pl.Int64)).sort("time", "id")
    about = told.source, "give further references with --reference FILE"
    which = f" {SAID[where]}"
    found, problems = labelled(frame.select(*OWN, "label"), labels, *about, which=which)
    bare = frame.select(OWN).with_columns(label=pl.lit(None, pl.String))
    further = [labelled(bare, more, *about, which=which)[0] for more in references]
    right = tuple(zip(*(of["label"].to_list() for of in (found, *further)), strict=True))
    items = found.drop("label")
    return Items(tuple(map(time_name, at)), at, items, right, tuple(problems))


def _refuse_other(told: LogRuns, predicted: pl.DataFrame, what: str) -> None:
    """Refuse an item of which two predictions say something else that has to be the same."""
    first = pl.col(what, "log", "row").first().over("id").name.prefix("first_")
    # Looked at item by item only where some item has several.
    if predicted.n_unique(["id", what]) == predicted["id"].n_unique():
        return
    differ = predicted.with_columns(first).filter(pl.col(what) != pl.col(f"first_{what}"))
    now, then = differ[what][0], differ[f"first_{what}"][0]
    before = differ.select(log="first_log", row="first_row")
    named = {"t": "time", "label": "label"}[what]
    raise InputError(
        f"{told.where(differ)}: item {differ['id'][0]!r} has the {named} {now!r}, but {then!r} in "
        f"{told.where(before)}; an item has one {named} "
        f"({counted(differ['id'].n_unique(), 'such item')})"
    )


def outputs_of(told: LogRuns, where: str, items: Items) -> pl.DataFrame:
    """The output of each version for each item, before and after help: `base` and `adapted` (null
    for nothing).

    With `seed`, `version` (its place) and `item` (its row), sorted by these. On the lifelong set a
    version says nothing new of its own data before it came to be: the row of version M_i has what
    M_(i-1) said before (`base`), and what M_i said after (`adapted`).
    """
    predicted = told.events.filter(PREDICT & (pl.col("where") == where))
    rows = items.frame.select("id").with_row_index("item").with_columns(pl.col("item").cast(int))
    predicted = predicted.join(rows, on="id", how="inner")
    key = ["seed", "item"]
    if where == "test":
        key.append("said")
        predicted = predicted.with_columns(said="version")
    before, after = (
        predicted.filter(pl.col("phase") == phase).select(*key, pl.col("decision").alias(name))
        for phase, name in (("pre", "base"), ("post", "adapted"))
    )
    both = before.join(after, on=key, how="left")
    if where == "test":
        both = told.speaks.join(both, on=["seed", "said"], how="inner").drop("said")
    else:
        both = both.with_columns(version=came_of(items, told, both["item"]))
    return both.select("seed", "version", "item", "base", "adapted").sort("version", "seed", "item")


def came_of(items: Items, told: LogRuns, item: pl.Series) -> pl.Series:
    """The place of the version that came of the data of each item of the lifelong set."""
    when = items.at[items.frame["time"].gather(item).to_numpy()]
    return pl.Series(np.searchsorted(told.learnt, when).astype(np.int64))
