"""Files of `truecost demo classes` and `demo numbers`, written into folders of these names.

    python examples/demos/classes.py src/truecost/data/demo

A classifier of handwritten digits (scikit-learn's), trained on the first 900 images: its posteriors of
the other 897. And two systems that estimate the age of 60 speakers from five clips each: simulated.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

DEMO = Path(sys.argv[1])


def classes(folder: Path, first: int = 900) -> None:
    """Posteriors of ten classes, with six significant digits: the logarithm of a posterior counts."""
    digits = load_digits()
    learner = GaussianNB(var_smoothing=0.05).fit(digits.data[:first], digits.target[:first])
    columns = [np.arange(len(digits.target) - first), digits.target[first:]]
    rows = zip(*columns, learner.predict_proba(digits.data[first:]), strict=True)
    lines = [f"{image},{label}," + ",".join(f"{p:.6g}" for p in of) for image, label, of in rows]
    names = ",".join(str(k) for k in range(10))
    (folder / "digits.csv").write_text("\n".join([f"image,label,{names}", *lines, ""]))


def numbers(folder: Path) -> None:
    """The true age and two estimates of it, whose errors a speaker's clips share in part."""
    rng = np.random.default_rng(0)
    speaker = np.repeat(np.arange(60), 5)
    age = rng.integers(18, 80, 60)[speaker]
    for name, spread in (("old", 12), ("new", 8)):
        guess = age + rng.normal(0, 6, 60)[speaker] + rng.normal(0, spread, 300)
        columns = {"clip": np.arange(300), "speaker": speaker, "label": age, "score": guess.round(1)}
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")


for make in (classes, numbers):
    (DEMO / make.__name__).mkdir(exist_ok=True)
    make(DEMO / make.__name__)
