"""Deploy again and again: how often do the intervals hold the truth?

    python again.py TRAFFIC --threshold-a A --threshold-b B [--users N | --same]
        [--most CLIPS] [--deployments N] [--labels N] [--max-rfpr LIMIT]

TRAFFIC is the `traffic.csv` of deploy.py. Each deployment draws as many users as there are (or N),
with replacement, as if others of their kind had bought the device; with `--same` they are the same
users, and only their arms change. `--most` says how many clips a user speaks at most. One half of
the users gets A, the other B. What is collected is scored with every label (direct, pooled, A/B
only), by the machine alone (soft), and with the labels that a budget pays for, chosen as `truecost
abba select` does (corrected). The truth is that of everything that was spoken. With `--max-rfpr` a
threshold of B is chosen in each deployment instead.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import truecost as tc
from truecost.core.results import Estimate
from truecost.running import score
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import ARMS, Deployment
from truecost.tasks.abba.selecting import select
from truecost.tasks.abba.thresholds import Choice, choose

MEASURES = {"rrecall": 1, "rfpr": 0}  # and the label that each is about
FULLY_LABELLED = ("direct", "pooled", "ab", "soft")  # the soft estimator reads no label
REPLICATES = 500
HEAD = "measure  estimator   true ratio  mean error  coverage  width"
LINE = "{:8} {:10}  {:10.4f}  {:+10.4f}  {:8.3f}  {:5.3f}"
CHOSEN_HEAD = "limit kept by  chosen  true rfpr above limit  mean true rrecall"
CHOSEN_LINE = "{:13}  {:6.3f}  {:21.3f}  {:17.4f}"


def true_ratio(traffic: pl.DataFrame, thresholds: dict[str, float], label: int) -> float:
    """Accepted by B over accepted by A, of everything spoken that has the label."""
    spoken = traffic.filter(pl.col("label") == label)
    a, b = ((spoken[f"score_{arm.lower()}"] >= thresholds[arm]).sum() for arm in ARMS)
    return b / a


def at_most(traffic: pl.DataFrame, most: int | None) -> pl.DataFrame:
    """No more than so many clips of each user; ids are numbers in an order by hash."""
    clips = traffic.sort("id")
    return clips if most is None else clips.group_by("unit", maintain_order=True).head(most)


def drawn(traffic: pl.DataFrame, seed: int, given: argparse.Namespace) -> pl.DataFrame:
    """What the users of one deployment speak, with their device and its arm."""
    rng, names = np.random.default_rng(seed), traffic["unit"].unique().sort()
    count = len(names) if given.users is None else given.users
    picked = rng.permutation(len(names)) if given.same else rng.integers(len(names), size=count)
    device = np.arange(len(picked))
    arm = np.where(device < len(device) // 2, *ARMS)
    users = pl.DataFrame({"unit": names.gather(picked), "device": device, "collected_by": arm})
    return users.join(traffic.drop("collected_by"), on="unit").sort("device", "id")


def deployed(spoken: pl.DataFrame, thresholds: dict[str, float]) -> Deployment:
    """What the model of each device accepted, every item labelled, and the list of all devices."""
    own = pl.when(pl.col("collected_by") == "A").then(pl.col("score_a") >= thresholds["A"])
    log = spoken.filter(own.otherwise(pl.col("score_b") >= thresholds["B"]))
    users = spoken.group_by("collected_by", unit="device").agg(exposure=pl.len()).sort("unit")
    return collected_items(
        log["collected_by"],
        score_a=log["score_a"],
        score_b=log["score_b"],
        label=log["label"],
        machine=log["machine"],
        unit=log["device"],
        threshold_a=thresholds["A"],
        threshold_b=thresholds["B"],
        users=users,
    )


def again(
    traffic: pl.DataFrame, thresholds: dict[str, float], given: argparse.Namespace
) -> Iterator[tuple[int, Deployment]]:
    """One deployment after the other, with its seed."""
    for seed in range(given.deployments):
        yield seed, deployed(drawn(traffic, seed, given), thresholds)


def with_budget(deployment: Deployment, labels: int, seed: int) -> Deployment:
    """The deployment with no more than the labels that the budget pays for."""
    blind = replace(deployment, label=np.full(len(deployment), np.nan))
    items = select(blind, labels, "both", seed=seed).items
    bought = (items["state"] == "chosen").to_numpy()
    return replace(
        blind,
        label=np.where(bought, deployment.label, np.nan),
        inclusion=items["inclusion_probability"].to_numpy(),
    )


def rows(deployment: Deployment, labels: int, seed: int) -> Iterator[Estimate]:
    """Both ratios by every estimator."""
    plan = tc.Plan(replicates=REPLICATES, seed=seed)
    bought = with_budget(deployment, labels, seed)
    yield from score(bought, tc.Scoring(plan=plan, choices=AbbaScoring(("corrected",))))
    yield from score(deployment, tc.Scoring(plan=plan, choices=AbbaScoring(FULLY_LABELLED)))


def logs(row: Estimate) -> list[float]:
    """Logarithms of a ratio and of the ends of its interval; NaN where there is none."""
    return [
        float("nan") if x is None else float(np.log(x)) for x in (row.value, row.lower, row.upper)
    ]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traffic", type=Path)
    parser.add_argument("--threshold-a", type=float, required=True)
    parser.add_argument("--threshold-b", type=float, required=True)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--users", type=int)
    who.add_argument("--same", action="store_true")
    parser.add_argument("--most", type=int)
    parser.add_argument("--deployments", type=int, default=400)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--max-rfpr", type=float)
    return parser.parse_args()


def cover(traffic: pl.DataFrame, thresholds: dict[str, float], given: argparse.Namespace) -> None:
    """Print the mean error, the coverage and the mean width (of logarithms) by estimator."""
    found = defaultdict(list)
    for seed, log in again(traffic, thresholds, given):
        for row in rows(log, given.labels, seed):
            found[row.measure, row.dims["estimator"]].append(logs(row))
    print(HEAD)
    for measure, label in MEASURES.items():
        truth = true_ratio(traffic, thresholds, label)
        for estimator in ("corrected", *FULLY_LABELLED):
            value, lower, upper = np.transpose(found[measure, estimator])
            held = np.mean((lower <= np.log(truth)) & (np.log(truth) <= upper))
            figures = (truth, np.mean(value) - np.log(truth), held, np.mean(upper - lower))
            print(LINE.format(measure, estimator, *figures))


def keep(traffic: pl.DataFrame, thresholds: dict[str, float], given: argparse.Namespace) -> None:
    """Print how often the true rFPR at the threshold that was chosen is above the limit."""
    found = defaultdict(list)
    for seed, log in again(traffic, thresholds, given):
        for by, replicates in {"point": 1, "upper": REPLICATES}.items():
            plan = tc.Plan(replicates=replicates, seed=seed)
            scoring = tc.Scoring(plan=plan, choices=AbbaScoring(("direct",)))
            [row, _], _ = choose(log, scoring, Choice(max_rfpr=given.max_rfpr, by=by))
            if row.threshold is not None:
                at = thresholds | {"B": row.threshold}
                found[by].append([true_ratio(traffic, at, label) for label in MEASURES.values()])
    print(CHOSEN_HEAD)
    for by, ratios in found.items():
        rrecall, rfpr = np.transpose(ratios)
        figures = (np.mean(rfpr > given.max_rfpr), np.mean(rrecall))
        print(CHOSEN_LINE.format(by, len(rfpr) / given.deployments, *figures))


def main() -> None:
    """Deploy, and hold what was estimated against the truth."""
    given = arguments()
    thresholds = {"A": given.threshold_a, "B": given.threshold_b}
    traffic = at_most(pl.read_csv(given.traffic), given.most)
    (cover if given.max_rfpr is None else keep)(traffic, thresholds, given)


if __name__ == "__main__":
    main()
