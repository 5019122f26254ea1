"""Files of `truecost demo abba` and `demo protocol`, of the scores of two detectors of a word.

python examples/demos/detectors.py src/truecost/data/demo
"""

import math
import sys
from pathlib import Path

import numpy as np
import polars as pl

DEMO = Path(sys.argv[1])
THRESHOLD = math.log(0.95 / 0.05)  # prior 0.05, equal costs
a, b = (pl.read_csv(DEMO / f"{name}.csv") for name in ("logistic", "network"))
both = a.join(b.select("trial", score_b="score"), on="trial").rename({"score": "score_a"})

# AB/BA: every other speaker has the deployed detector A, the others B; what it accepts is kept.
speakers = both["speaker"].unique().sort()
arms = pl.Series("collected_by", ["A", "B"] * (len(speakers) // 2))
users = pl.DataFrame({"speaker": speakers, "collected_by": arms})
own = pl.when(pl.col("collected_by") == "A").then("score_a").otherwise("score_b")
log = both.join(users, on="speaker").filter(own >= THRESHOLD).sort("trial")
log = log.with_columns(label=(pl.col("label") == "target").cast(pl.Int64))
kept = ("trial", "speaker", "collected_by", "score_a", "score_b", "label")
(DEMO / "abba").mkdir(exist_ok=True)
log.select(kept).write_csv(DEMO / "abba" / "log.csv")
users.write_csv(DEMO / "abba" / "users.csv")

# A split that forgets who speaks: clips go to train or test one by one.
rng = np.random.default_rng(0)
some = both[np.sort(rng.permutation(len(both))[:600])]
sets = pl.Series("set", np.where(rng.random(len(some)) < 0.8, "train", "test"))
samples = some.select(pl.col("trial").alias("clip"), "speaker", "label").with_columns(sets)
(DEMO / "protocol").mkdir(exist_ok=True)
samples.write_csv(DEMO / "protocol" / "samples.csv")
