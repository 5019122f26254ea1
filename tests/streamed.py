"""Event logs made by hand or at random, and the slow way to score them."""

import numpy as np
import polars as pl

from truecost.formats.events import SCHEMA, EventLog

COLUMNS = {
    name: pl.String if isinstance(kind, pl.Enum) else kind for name, (kind, _) in SCHEMA.items()
}


def log_of(events, source="log.jsonl"):
    """A log of events given as dictionaries."""
    return EventLog(source, pl.DataFrame([*events], schema=COLUMNS), ())


def batch_of(number, items, asked=(), *, stream=None, run=None, seconds=None, late=()):
    """The events of a batch: items are (id, label, decision before, decision after).

    `asked` are ids that are asked about and answered rightly at once; for those in `late` no answer
    comes, as when it is delayed or refused.
    """
    about = {"batch": number, "stream": stream, "run": run}
    labels = {i: label for i, label, _, _ in items}

    def said(phase, place):
        return [
            {
                **about,
                "id": item[0],
                "event": "predict",
                "phase": phase,
                "label": str(item[1]),
                "decision": str(item[place]),
                "score": float(item[place]) if str(item[place]).isdigit() else 0.0,
            }
            for item in items
        ]

    questions = [{**about, "id": i, "event": "query"} for i in asked]
    answers = [
        {**about, "id": i, "event": "answer", "label": str(labels[i]), "active_seconds": seconds}
        for i in asked
        if i not in late
    ]
    adapted = [{**about, "event": "adapt", "cpu_seconds": 0.5}]
    return [*said("pre", 2), *questions, *answers, *adapted, *said("post", 3)]


def before(count, named="bootstrap", **about):
    """Labels that were made before a stream."""
    return {"event": "answer", "set": named, "count": count, **about}


def by_hand():
    """Two batches of four, worked out in the tests: 3 targets of 8, 2 questions, 2 bootstrap."""
    first = [("a", 1, 1, 1), ("b", 0, 1, 0), ("c", 0, 0, 0), ("d", 1, 0, 0)]
    second = [("e", 0, 0, 0), ("f", 0, 1, 0), ("g", 1, 1, 0), ("h", 0, 0, 0)]
    events = [before(2), *batch_of(0, first, ["d"]), *batch_of(1, second, ["f"])]
    return log_of(events)


def at_random(seed, streams=("hi", "or"), runs=("1",), batches=6, size=5, asked=1, right=0.75):
    """A log of some streams and runs: batches of about `size` items, timed questions."""
    rng = np.random.default_rng(seed)
    events = []
    for run in runs:
        for stream in streams:
            events.append(before(4, run=run, stream=stream))
            for b in range(batches):
                n = size if b < batches - 1 else max(1, size - 2)
                label = (rng.random(n) < 0.35).astype(int)
                said = np.where(rng.random((2, n)) < right, label, 1 - label)
                ids = [f"{run}-{stream}-{b}-{i}" for i in range(n)]
                items = [*zip(ids, label, *said, strict=True)]
                chosen = rng.choice(n, min(asked, n), replace=False)
                events += batch_of(
                    b, items, [ids[c] for c in chosen], stream=stream, run=run,
                    seconds=round(float(rng.uniform(1, 4)), 3),
                )  # fmt: skip
    return log_of(events)


def slowly(log, phase, *, q=None, queried="right", macro=False, sets=("queries", "bootstrap"),
           current=False):  # fmt: skip
    """IMLM, Pmiss, Pfa and the number of annotations, event by event (mean over runs)."""
    rows = log.frame.to_dicts()
    values = []
    for run in sorted({r["run"] or "" for r in rows}):
        of_run = [r for r in rows if (r["run"] or "") == run]
        names = sorted({r["stream"] or "" for r in of_run})
        pools = [_pool([r for r in of_run if (r["stream"] or "") == s], phase, queried, sets,
                       current=current) for s in names]  # fmt: skip
        if not macro:
            pools = [{k: sum(p[k] for p in pools) for k in pools[0]}]
        values.append([_values(p, q) for p in pools])
    found = {}
    for name in ("imlm", "p_miss", "p_fa"):
        by_run = [np.mean([v[name] for v in run if v[name] is not None]) for run in values]
        found[name] = float(np.mean(by_run))
    found["n_annotations"] = float(np.mean([sum(v["ann"] for v in run) for run in values]))
    return found


def _pool(rows, phase, queried, sets, *, current):
    """Counts of one stream of one run."""
    last = max(r["batch"] for r in rows if r["batch"] is not None)
    answers = {r["id"]: r for r in rows if r["event"] == "answer" and r["batch"] is not None}
    found = dict.fromkeys(("n", "targets", "fp", "fn", "ann"), 0)
    for r in rows:
        if r["event"] == "answer" and r["batch"] is None and (r["set"] or "bootstrap") in sets:
            found["ann"] += r["count"] or 1
        reaches = phase == "post" or current or r["batch"] != last
        if r["event"] == "query" and "queries" in sets and reaches:
            found["ann"] += 1
        if r["event"] != "predict" or r["phase"] != phase:
            continue
        label, said = int(r["label"]), int(r["decision"])
        answer = answers.get(r["id"])
        if phase == "post" and answer is not None and answer["batch"] == r["batch"]:
            if queried == "removed":
                continue
            if queried == "right":
                said = int(answer["label"])
        found["n"] += 1
        found["targets"] += label
        found["fp"] += said == 1 and label == 0
        found["fn"] += said == 0 and label == 1
    return found


def _values(p, q):
    """The measures of a pool."""
    others = p["n"] - p["targets"]
    missed = (p["n"] / p["targets"] if p["targets"] else 0) * p["fn"] if q is None else q * p["fn"]
    return {
        "imlm": (p["ann"] + p["fp"] + missed) / p["n"],
        "p_miss": p["fn"] / p["targets"] if p["targets"] else None,
        "p_fa": p["fp"] / others if others else None,
        "ann": p["ann"],
    }
