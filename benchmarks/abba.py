"""AB/BA: ratios of two models with 95% intervals from a million collected items.

No tool for it exists, so the peer is what teams write: a loop of numpy that draws users (or items)
with replacement and divides the counts again. It computes the direct ratios alone; truecost
computes every estimator, the machine's and the corrected ones included.
"""

import numpy as np
import polars as pl

import truecost as tc
from benchmarks.measuring import Row, Times, seconds, side_by_side
from truecost.running import score
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import Deployment, Traffic
from truecost.tasks.abba.simulating import simulate
from truecost.tasks.abba.thresholds import Choice, choose

REPLICATES = 2000
OF_PEER = 20  # replicates of the peer, whose time is multiplied: each takes as long as the others


def rows(items: int, users: int) -> tuple[list[Row], list[str]]:
    """Rows of times, and a line about what was checked."""
    scoring = tc.Scoring(plan=tc.Plan(REPLICATES))
    found, said = [], []
    for work, drawn in (
        (f"all estimators, {users:,} users", users),
        (f"all estimators, {10 * users:,} users", 10 * users),
        ("all estimators, every item a unit", 0),
    ):
        made = _make(items, drawn)
        score(_make(3000, drawn), tc.Scoring(plan=tc.Plan(20)))
        [ours] = side_by_side([lambda d=made: score(d, scoring)], 3)
        found.append(Row(f"{work}: {items:,} items", ours, _peer_times(made)))
        if drawn == users:
            said.append(_same(made))
            choose(_make(3000, drawn), tc.Scoring(plan=tc.Plan(20)), Choice())
            taken = seconds(lambda d=made: choose(d, scoring, Choice()))
            said.append(f"a threshold chosen among 200 anew in each replicate: {taken:.2g} s")
    taken = seconds(lambda: simulate("table1", 2000 * items // 1_000_000 or 2))
    said.append(f"Table 1 of paper 001, 2 x 2,000 data sets x 1,000 replicates: {taken:.3g} s")
    return found, said


def _make(items: int, users: int) -> Deployment:
    """A log with labels, machine scores and the scores of B."""
    rng = np.random.default_rng(1)
    label = rng.random(items) < 0.7
    arm = (rng.random(items) < 0.5).astype(np.uint8)
    other = np.where(label, rng.random(items) < 0.9, rng.random(items) < 0.4)
    machine = np.where(label, rng.beta(5, 2, items), rng.beta(2, 5, items))
    score = np.abs(rng.normal(label, 1.0))
    return Deployment(
        "made",
        np.arange(items),
        arm,
        other,
        label.astype(np.float64),
        machine=machine,
        score_a=score,
        score_b=np.where((arm == 1) | other, score, -score),
        threshold_a=0.0,
        threshold_b=0.0,
        units={"user": (rng.integers(0, users, items),)} if users else {},
        traffic=Traffic(exposure=(1.0, 1.0)),
        frame=pl.DataFrame({"arm": arm}),
    )


def _direct(code: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> tuple[float, ...]:
    """Both ratios from the code 2 x cell + label of each item."""
    n = np.bincount(code, minlength=8).reshape(4, 2)
    return tuple(n[0] / (n[0] + n[1]) * (n[2] + n[3]) / n[2])


def _peer_times(made: Deployment) -> Times:
    """Time of the loop for all replicates, from a few of them."""
    rng = np.random.default_rng(0)
    code = 2 * made.cell.astype(np.int64) + made.label.astype(np.int64)
    order, ends = np.arange(len(made)), np.arange(len(made) + 1)
    if made.units:
        [(unit,)] = made.units.values()
        order = np.argsort(unit, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(unit))])
    groups = np.split(code[order], ends[1:-1]) if made.units else []

    def once() -> tuple[float, ...]:
        if made.units:
            return _direct(
                np.concatenate([groups[u] for u in rng.integers(0, len(groups), len(groups))])
            )
        return _direct(code[rng.integers(0, len(code), len(code))])

    taken = seconds(lambda: [once() for _ in range(OF_PEER)])
    return Times((taken * REPLICATES / OF_PEER,))


def _same(made: Deployment) -> str:
    """That both sides divide the same counts."""
    code = 2 * made.cell.astype(np.int64) + made.label.astype(np.int64)
    rows_ = score(made, tc.Scoring(plan=tc.Plan(10), choices=AbbaScoring(("direct",))))
    ours = {r.measure: r.value or 0.0 for r in rows_}
    rfpr, rrecall = _direct(code)
    apart = max(abs(ours["rfpr"] - rfpr), abs(ours["rrecall"] - rrecall))
    return f"AB/BA: direct ratios of both sides within {apart:.2g}"
