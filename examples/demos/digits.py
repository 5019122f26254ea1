"""Files of `truecost demo streams` and `demo lifelong`: short live runs on scikit-learn's digits.

    python examples/demos/digits.py src/truecost/data/demo

Two streams of 900 images with 4 questions a batch; and the error of each version of the systems of
`demo lifelong` on the test images of each day, a matrix for each of four seeds.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import truecost as tc
from truecost.learning.live.studies import run_live
from truecost.report.story import page_of
from truecost.study import Study

DEMO, DIGITS = Path(sys.argv[1]), {"name": "digits", "targets": ["3"], "items": 900}
STREAM = {
    "task": "streams",
    "source": {**DIGITS, "prevalence": 0.1},
    "loop": {"batch": 60, "bootstrap": 8, "seeds": 1, "budget": 4},
    "learner": {"name": "logistic", "options": {"class_weight": "balanced"}},
}


def matrix(log):
    """The error of each version on each day, as the page has it."""
    cells = page_of("lifelong").curves(tc.score(str(log), task="lifelong", replicates=10))
    cells = cells.filter(state="adapted").with_columns(
        pl.col("version").cast(int), pl.col("time").cast(float).floor().cast(int)
    )
    return cells.sort("version", "time").pivot("time", index="version", values="value")


with TemporaryDirectory() as made:
    for name in ("margin", "random"):
        run_live(Study.from_tables({**STREAM, "strategy": {"name": name}}), f"{made}/{name}")
        log = Path(made) / name / "logs" / name / "4" / "seed-0.jsonl.gz"
        shutil.copy(log, DEMO / "streams" / f"{name}.jsonl.gz")
    run_live(Study.read(str(DEMO / "lifelong" / "study.toml")), f"{made}/lifelong")
    for name in ("plastic", "rehearsing"):
        logs = sorted((Path(made) / "lifelong" / "logs" / name / "assisted").glob("*.jsonl.gz"))
        several = [
            matrix(log).insert_column(1, pl.lit(k).alias("seed")) for k, log in enumerate(logs)
        ]
        whole = pl.concat(several).sort("version", "seed")
        whole.write_csv(DEMO / "lifelong" / f"{name}.csv", float_precision=4)
