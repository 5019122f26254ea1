"""Deployments of two models for tests: streams of known truth, of which the accepted are kept.

Each user (device) runs one model, A or B; every stream has a true label and scores of both models.
What the model of its user accepts is collected, and scored by the other model too. Users differ in
how often they say the keyword and in how hard they are to tell.
"""

from pathlib import Path

import numpy as np
import polars as pl

MAP = "id=utt,collected_by=arm,score_a=sa,score_b=sb,label=y,unit=user"
THRESHOLDS = (0.5, 0.6)
ROOMS = ("kitchen", "car", "hall")


def streams(number=3000, users=120, seed=0, labelled=1.0) -> pl.DataFrame:
    """Every stream, collected or not.

    Columns `utt`, `user`, `arm`, `room`, `truth` (1 for the keyword), `sa` and `sb` (scores between
    0 and 1), `m` (a machine's probability of the keyword, a little too low), and `y`: the truth for
    a share of the streams, null for the others.
    """
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(0, users, number))
    often, hard = rng.beta(4, 6, users)[user], rng.normal(0, 0.3, users)[user]
    truth = (rng.random(number) < often).astype(int)
    heard = 2.5 * truth - 1 + hard
    shared = rng.normal(0, 0.7, number)  # models err alike
    a, b = (heard * k + shared + rng.normal(0, 0.8, number) for k in (1.0, 1.25))
    machine = 1.6 * heard + rng.normal(0, 0.6, number) - 0.6
    known = rng.random(number) < labelled
    return pl.DataFrame(
        {
            "utt": [f"u{k:05}" for k in rng.permutation(number)],
            "user": [f"d{k:03}" for k in user],
            "arm": ["AB"[k % 2] for k in user],
            "room": [ROOMS[k % 3] for k in user],
            "truth": truth,
            "sa": _share(a),
            "sb": _share(b),
            "m": _share(machine),
            "y": pl.Series(truth).set(pl.Series(~known), None),
        }
    )


def _share(values):
    """Numbers between 0 and 1 that a file holds in full."""
    return np.round(1 / (1 + np.exp(-values)), 6)


def collected(every: pl.DataFrame) -> pl.DataFrame:
    """What was accepted by the model of its arm, in an order of its own; the truth is not known."""
    kept = pl.when(pl.col("arm") == "A").then(pl.col("sa") >= THRESHOLDS[0])
    return every.filter(kept.otherwise(pl.col("sb") >= THRESHOLDS[1])).sort("utt").drop("truth")


def written(folder: Path, name: str = "log.csv", machine: bool = False, **traffic) -> pl.DataFrame:
    """Write a log (with machine scores, if asked) and the list of its users; all its streams."""
    every = streams(**traffic)
    log = collected(every)
    (log if machine else log.drop("m")).write_csv(folder / name)
    every.select("user", "arm").unique().sort("user").write_csv(folder / f"users of {name}")
    return every


def truth(every: pl.DataFrame) -> dict[str, float]:
    """What both ratios estimate: accepts of B over those of A among all streams of a label."""
    found = {}
    for measure, label in (("rrecall", 1), ("rfpr", 0)):
        own = every.filter(pl.col("truth") == label)
        found[measure] = (own["sb"] >= THRESHOLDS[1]).sum() / (own["sa"] >= THRESHOLDS[0]).sum()
    return found
