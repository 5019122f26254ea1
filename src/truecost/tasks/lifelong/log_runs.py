"""The runs of one system put together: the same versions, times, items and references in all.

A version that nothing came of (the system did not adapt) is the one before under a new name: what
that put out on the test set holds for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.events import EventLog
from truecost.tasks.lifelong.log_events import born_of, events_of, run_of, time_name
from truecost.tasks.lifelong.records import INITIAL

Floats = npt.NDArray[np.float64]
_PREDICT = pl.col("event") == "predict"


@dataclass(frozen=True, eq=False)
class Told:
    """What the runs of a system tell.

    Attributes
    ----------
    seeds : tuple of str
        Names of the runs, sorted.
    versions : tuple of int
        Numbers of the versions, from 0.
    learnt : ndarray of float64, shape (versions,)
    events : polars.DataFrame
        Those of `events_of`, with `seed` (place of the run) and `log`.
    speaks : polars.DataFrame
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
        """How one of some events is named in messages."""
        log = self.logs[events["log"][k]]
        return f"{log.source}, {log.where(events['row'][k])}"


@dataclass(frozen=True)
class Run:
    """What one run has: the versions that were tested to the end, and how they came to be.

    Attributes
    ----------
    tested : frozenset of int
        Versions whose outputs on the test set are whole.
    learnt : tuple of float
        Times of the batches of the lifelong set, in order.
    """

    name: str
    tested: frozenset[int]
    learnt: tuple[float, ...]
    problems: tuple[str, ...] = ()


def told_by(logs: Sequence[EventLog]) -> Told:
    """The events of all runs, with versions that are the same in each.

    Parameters
    ----------
    logs : sequence of EventLog
        Checked one by one.

    Returns
    -------
    Told
        Without a last version that was not tested to the end: `problems` names it.

    Raises
    ------
    InputError
        When two logs are of one run, a version lacks outputs, or runs have other versions or times.
    """
    frames = [
        events_of(log, run_of(log) if len(logs) > 1 else "").with_columns(log=pl.lit(k))
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
    return Told(
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
            f"run {double[0]!r} is in {first_five(both)}: the events of a run stand in one log"
        )
    return tuple(every)


def _run(events: pl.DataFrame, name: str, logs: Sequence[EventLog]) -> Run:
    """What one run has."""
    source = logs[events["log"][0]].source + (f", run {name!r}" if name else "")
    test = events.filter(_PREDICT & (pl.col("where") == "test"))
    if not test.height:
        raise InputError(
            f"{source}: nothing is predicted on the test set (set test): scores across time are "
            f"those of its items"
        )
    stream = events.filter(_PREDICT & (pl.col("where") == "stream") & (pl.col("phase") == "pre"))
    batches = stream.unique("batch", keep="first").sort("batch")
    learnt = batches["t"].to_list()
    if batches["batch"].to_list() != [*range(len(learnt))]:
        raise InputError(
            f"{source}: batches {first_five(batches['batch'])} of the lifelong set are predicted "
            f"before adapting to them; batches are numbered from 0, and none is left out"
        )
    born = {0, *born_of(events)["version"].to_list()}
    if not learnt and max(test["version"].to_list()) > 0:  # pragma: no cover - checked before
        raise InputError(f"{source}: there is no lifelong set that its versions come of")
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
        raise InputError(f"{source}: no version is tested to the end")
    return Run(name, tested, tuple(learnt), tuple(problems))


def _fault(events: pl.DataFrame, test: pl.DataFrame, version: int) -> tuple[str, bool] | None:
    """What a version lacks on the test set, and whether the log may just have ended there."""
    own = test.filter(pl.col("version") == version)
    before, after = (own.filter(pl.col("phase") == phase) for phase in ("pre", "post"))
    lost = test.join(before, on="id", how="anti").unique("id", maintain_order=True)
    if lost.height:
        open_end = _first(lost) >= _last(before)
        said = (
            f"{counted(lost.height, 'item')} of the test set have no output of it: "
            f"{first_five(lost['id'])}: every version is tested on all of them"
        )
        return said, open_end
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
    return said, _first(lost) >= _last(helped)


def _ends_early(more: int, last: int, events: pl.DataFrame) -> bool:
    """Whether a log ends while the system adapts.

    A system that never adapts has several batches that nothing came of.
    """
    return events["where"][-1] == "stream" and more > 0 and (last > 0 or more == 1)


def _before_help(events: pl.DataFrame, test: pl.DataFrame, version: int) -> str | None:
    """What a version lacks where the log ends before the help that others had with that batch."""
    end = events.row(-1, named=True)
    if (end["where"], end["version"], end["phase"]) != ("test", version, "pre"):
        return None
    others = (pl.col("batch") == end["batch"]) & (pl.col("version") != version)
    if not test.filter(others & (pl.col("phase") == "post")).height:
        return None
    return f"the person's help with batch {end['batch']} of the test set is missing"


def _first(events: pl.DataFrame) -> int:
    """The first batch of some events."""
    found: Any = events["batch"].min()
    return int(found)


def _last(events: pl.DataFrame) -> int:
    """The last batch of some events; -1 of none."""
    found: Any = events["batch"].max()
    return -1 if found is None else int(found)


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
                f"{source}: the runs have other versions: {mine}, {theirs}: finish both, or name "
                f"those that are finished (runs)"
            )
