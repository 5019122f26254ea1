"""Event logs that are made from a seed, the usual script that scores one, and the steps of ours.

A log has batches of 60 items, 3% of them targets. A detector is right about 95% before it adapts
and about 96% afterwards. A person answers 4 questions a batch, and 8 before the stream. Scores
have all their digits, as learners write them.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

import truecost as tc

BATCH, ASKED, BEFORE, PREVALENCE = 60, 4, 8, 0.03
EVENTS = 2 * BATCH + 2 * ASKED + 1  # of a batch
REPLICATES = 1000


@dataclass(frozen=True)
class Written:
    """A log in both formats.

    Attributes
    ----------
    lines, table : str
        Files: JSON lines, and Parquet.
    events, batches : int
    """

    lines: str
    table: str
    events: int
    batches: int


def write_logs(folder: Path, events: int, seed: int = 1) -> Written:
    """About as many events as asked for, in whole batches, written twice into a folder."""
    batches = max(1, (events - BEFORE) // EVENTS)
    frame = _frame(batches, np.random.default_rng(seed))
    made = Written(str(folder / "log.jsonl"), str(folder / "log.parquet"), len(frame), batches)
    frame.write_parquet(made.table)
    line = frame.select(_line())
    line.write_csv(made.lines, include_header=False, quote_style="never", separator="\t")
    return made


def _frame(batches: int, rng: np.random.Generator) -> pl.DataFrame:
    """All events in their order."""
    n = batches * BATCH
    batch = np.repeat(np.arange(batches), BATCH)
    right = (rng.random(n) < PREVALENCE).astype(int)
    items = pl.DataFrame({"batch": batch, "id": _ids("item", n), "label": right.astype(str)})
    before, after = (_said(items, right, phase, share, rng) for phase, share in _PHASES)
    drawn = rng.random((batches, BATCH)).argsort(axis=1)[:, :ASKED]
    rows = np.sort(drawn + np.arange(batches)[:, None] * BATCH, axis=1).ravel()
    asked = items[rows]
    answers = asked.with_columns(event=pl.lit("answer"), active_seconds=_seconds(len(rows), rng))
    first = pl.DataFrame(
        {"id": _ids("before", BEFORE), "label": ["1", "0"] * (BEFORE // 2), "batch": [-1] * BEFORE}
    ).with_columns(event=pl.lit("answer"), set=pl.lit("bootstrap"), active_seconds=pl.lit(5.0))
    adapted = pl.DataFrame({"batch": np.arange(batches)}).with_columns(event=pl.lit("adapt"))
    queries = asked.drop("label").with_columns(event=pl.lit("query"))
    steps = (first, before, queries, answers, adapted, after)
    whole = pl.concat([s.with_columns(step=k) for k, s in enumerate(steps)], how="diagonal")
    busy = pl.col("active_seconds").fill_null(0.0)
    return (
        whole.sort("batch", "step", maintain_order=True)
        .with_columns(t=busy.cum_sum().round(2))
        .with_columns(batch=pl.when(pl.col("batch") >= 0).then("batch"))
        .select(*_COLUMNS)
    )


_PHASES = (("pre", 0.95), ("post", 0.96))
_COLUMNS = (
    *("t", "batch", "id", "event", "phase", "score", "decision", "label", "active_seconds"),
    "set",
)


def _ids(name: str, count: int) -> pl.Series:
    return pl.Series([f"{name}-{k:07d}" for k in range(count)])


def _seconds(count: int, rng: np.random.Generator) -> pl.Series:
    return pl.Series(np.round(rng.lognormal(1.5, 0.4, count), 2))


def _said(
    items: pl.DataFrame, right: np.ndarray, phase: str, share: float, rng: np.random.Generator
) -> pl.DataFrame:
    """The predictions of a phase."""
    decided = np.where(rng.random(len(right)) < share, right, 1 - right)
    return items.with_columns(
        event=pl.lit("predict"),
        phase=pl.lit(phase),
        score=pl.Series(rng.normal(2.0 * decided, 0.5)),
        decision=pl.Series(decided.astype(str)),
    )


def _line() -> pl.Expr:
    """An event as JSON; what it does not have is left out, as our writer does."""
    parts = [_field(name) for name in _COLUMNS]
    fields = pl.concat_str(parts, separator=",", ignore_nulls=True)
    return pl.concat_str(pl.lit("{"), fields, pl.lit("}")).alias("line")


def _field(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.String)
    quoted = name not in ("t", "batch", "score", "active_seconds")
    mark = pl.lit('"' if quoted else "")
    return pl.concat_str(pl.lit(f'"{name}":'), mark, value, mark)  # null where the value is


def by_hand(path: str) -> dict[str, float]:
    """IMLM before and after adaptation as scripts find it: a dictionary of each line, no interval.

    A miss costs as much as N / N_target annotations; after adaptation a person's answer is right;
    before it, the annotations of the last batch do not count.
    """
    errors: Counter[tuple[str, str]] = Counter()
    items = targets = annotations = latest = 0
    asked: set[str] = set()
    batch = -1
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] == "answer":
                annotations += 1
                asked.add(event["id"])
            if event.get("batch", batch) != batch:
                batch, latest = event["batch"], annotations
            if event["event"] != "predict":
                continue
            phase, label = event["phase"], event["label"]
            if phase == "pre":
                items += 1
                targets += label == "1"
            if event["decision"] != label and (phase == "pre" or event["id"] not in asked):
                errors[phase, label] += 1
    q, made = items / targets, {"pre": latest, "post": annotations}
    return {
        phase: (made[phase] + errors[phase, "0"] + q * errors[phase, "1"]) / items for phase in made
    }


def by_truecost(path: str) -> dict[str, float]:
    """The same with everything checked, all other measures, and intervals."""
    online = tc.streams.read(path)
    rows = tc.score_system(online, tc.Scoring(plan=tc.Plan(REPLICATES)))
    return {r.dims["phase"]: r.value for r in rows if r.measure == "imlm" and r.value is not None}


def steps(path: str, small: str, repeats: int) -> dict[str, float]:
    """Seconds of each step of scoring a log, medians; a small log compiles and warms first."""
    found = [_steps(p) for p in (small, *[path] * repeats)][1:]
    return {name: median(one[name] for one in found) for name in found[0]}


def _steps(path: str) -> dict[str, float]:
    from truecost.formats.event_checks import check_events
    from truecost.formats.events import read_events
    from truecost.tasks.streams.reading import read_online

    taken: dict[str, float] = {}

    def step(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        taken[name] = time.perf_counter() - start
        return result

    step("polars", lambda: _polars(path))
    log = step("reading", lambda: read_events(path))
    assert not step("checking", lambda: check_events(log))
    online = step("joining", lambda: read_online([log]))
    step("measures", lambda: tc.score_system(online, tc.Scoring(plan=tc.Plan(REPLICATES))))
    return taken


def _polars(path: str) -> None:
    """The file as a table, by polars alone; nobody keeps it."""
    (pl.read_parquet if path.endswith(".parquet") else pl.read_ndjson)(path)


def after_reading(taken: dict[str, float]) -> float:
    """Seconds of everything but reading."""
    return sum(taken[name] for name in AFTER)


AFTER: Sequence[str] = ("checking", "joining", "measures")
