"""Life cycles made at random, with the same as plain dictionaries; Table 1 of paper 004."""

from dataclasses import replace

import numpy as np
import polars as pl

import truecost as tc
from truecost.tasks.lifelong.kinds import Kind
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import (
    EFFORT,
    STATES,
    Lifelong,
    Scored,
    no_effort,
)
from truecost.tasks.lifelong.settings import Policy

ACROSS = ("forgetting_max", "forgetting_first", "backward_transfer", "forward_transfer")
LEARNT, AT = np.array([-np.inf, 1, 2, 3, 5]), np.array([1.5, 2.5, 3.0, 3.5, 5.5])


def kind(scores, parts):
    return Kind("made", "utterance", dict.fromkeys(parts, 1), scores, None, None, dict)


WORDS = kind(("wer", "unit_accuracy"), ("words",))
NGRAMS = kind(("bleu",), ("ngrams",))


def lived(seed=0, learnt=LEARNT, at=AT, items=6, seeds=1, states=STATES, name="A"):
    """A life cycle with random word errors, and the same as a list of dictionaries."""
    rng = np.random.default_rng(seed)
    times = tuple(f"t{k}" for k in range(len(at)))
    frame = pl.DataFrame(
        {
            "id": [f"u{k:03d}" for k in range(items * len(at))],
            "time": np.repeat(np.arange(len(at)), items),
            "speaker": rng.integers(0, 3, items * len(at)),
        }
    )
    words = rng.integers(4, 12, frame.height)
    told = [
        {"item": k, "version": v, "state": STATES.index(s), "seed": r, "n": int(words[k])}
        for r in range(seeds)
        for v in range(len(learnt))
        for k in range(frame.height)
        for s in states
    ]
    for row in told:
        row["errors"] = int(rng.integers(0, row["n"] + 1))
        row["time"] = int(frame["time"][row["item"]])
    n, errors = (np.array([row[key] for row in told]) for key in ("n", "errors"))
    none = np.zeros_like(n)
    counts = {"reference": n, "hypothesis": n, "longest": n, "hits": n - errors}
    counts |= {"substitutions": errors, "deletions": none, "insertions": none}
    rows = pl.DataFrame(told).select("item", "version", "state", "seed")
    scored = Scored(times, at, frame, rows, {"words": counts}, no_effort())
    versions = tuple(map(str, range(len(learnt))))
    names = tuple(map(str, range(seeds)))
    return Lifelong(name, WORDS, versions, learnt, names, scored), told


def value_of(told, version, time, state, weights=None):
    """Errors over words of a cell; each item weighed."""
    rows = [
        (row, 1 if weights is None else weights[row["time"], row["item"]])
        for row in told
        if (row["version"], row["time"], row["state"]) == (version, time, STATES.index(state))
    ]
    words = sum(w * row["n"] for row, w in rows)
    return sum(w * row["errors"] for row, w in rows) / words if words else np.nan


def weights_of(policy, half, learnt, at, version):
    begun = [x for x in learnt if np.isfinite(x)]
    shape = {
        "recent": lambda t: 2 ** (-(learnt[version] - t) / half),
        "uniform": lambda t: 1.0,
        "conservative": lambda t: 2 ** (-(t - begun[0]) / half),
    }[policy]
    raw = [shape(t) if begun[0] <= t <= learnt[version] else 0.0 for t in at]
    return [x / sum(raw) if sum(raw) else 0.0 for x in raw]


def scoring(*policies, replicates=30, **more):
    how = LifelongScoring(policies=policies or (Policy(),), every_version=True, **more)
    return tc.Scoring(plan=tc.Plan(replicates, seed=3), choices=how)


LENGTHS = ((15, 218), (15, 218), (11, 218), (11, 217))  # the corrected sentence, the nine others
OTHERS = ((133, 73, 40, 25),) * 3 + ((140, 79, 45, 29),)
MATCHES = ((7, 4, 1, 0), (0, 0, 0, 0), (11, 10, 9, 8), (11, 10, 9, 8))
ORDER = ("base", "impaired", "corrected", "adapted")


def table_1(adapted="adapted"):
    """Table 1 of paper 004: ten sentences, of which the first is corrected."""
    rows, counts = [], {}
    for state in STATES:
        at = ORDER.index(adapted if state == "adapted" else state)
        own, rest = LENGTHS[at]
        hypothesis = [own, *(rest // 9 + (k < rest % 9) for k in range(9))]
        reference = [11, *(228 // 9 + (k < 228 % 9) for k in range(9))]
        found = {"hypothesis": hypothesis, "reference": reference}
        for n in range(4):
            whole = OTHERS[at][n]
            matches = [MATCHES[at][n], *(whole // 9 + (k < whole % 9) for k in range(9))]
            found[f"matches{n + 1}"] = matches
            found[f"totals{n + 1}"] = [length - n for length in hypothesis]
        rows += [(k, 0, STATES.index(state), 0) for k in range(10)]
        for name, column in found.items():
            counts.setdefault(name, []).extend(column)
    frame = pl.DataFrame(rows, ["item", "version", "state", "seed"], orient="row")
    items = pl.DataFrame({"id": [f"s{k}" for k in range(10)], "time": [0] * 10})
    effort = pl.DataFrame(
        [{"item": 0, "version": 0, "seed": 0, **dict.fromkeys(EFFORT, 1), "seconds": 2.5}]
    )
    statistics = {"ngrams": {name: np.array(column) for name, column in counts.items()}}
    scored = Scored(("0",), np.zeros(1), items, frame, statistics, effort)
    return Lifelong("mt", NGRAMS, ("0",), np.zeros(1), ("0",), scored)


def helped(effort):
    lifelong = table_1()
    frame = pl.DataFrame([{"item": k, "version": 0, "seed": 0, **e} for k, e in enumerate(effort)])
    return replace(lifelong, test=replace(lifelong.test, effort=frame))


def without(lifelong, dropped):
    """A life cycle of which some outputs were never counted."""
    test = lifelong.test
    kept = ~np.array([dropped(row) for row in test.rows.iter_rows(named=True)])
    statistics = {
        part: {name: column[kept] for name, column in of.items()}
        for part, of in test.statistics.items()
    }
    rows = test.rows.filter(pl.Series(kept))
    return replace(lifelong, test=replace(test, rows=rows, statistics=statistics))


def one_of(lifelong, asked, measure, version="4"):
    rows = tc.score_system(lifelong, replace(asked, measures=(measure,)))
    return next(row for row in rows if row.dims["version"] == version)


def streamed(seed=7, seeds=2):
    """A life cycle with scores on the lifelong set: version i + 1 adapts to the data of time i."""
    lifelong, _ = lived(seed=seed, seeds=seeds)
    own, told = lived(seed=seed + 1, at=np.array([1.0, 2, 3, 5]), seeds=seeds)
    kept = without(
        own,
        lambda row: row["version"] - 1 != own.test.items["time"][row["item"]] or row["state"] > 1,
    )
    return replace(lifelong, stream=kept.test), told


def cut_at(scored, times):
    """The first times of a set."""
    kept = scored.take((scored.items["time"] < times).to_numpy())
    return replace(kept, times=kept.times[:times], at=kept.at[:times])
