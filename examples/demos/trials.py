"""Files of `truecost demo classes` and `spoofing`, in folders of these names.

    python examples/demos/trials.py src/truecost/data/demo

A classifier of handwritten digits (scikit-learn's), trained on the first 900 images: its
posteriors of the other 897. The scores of speaker verification under attack are simulated.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

DEMO = Path(sys.argv[1])


def classes(folder: Path, first: int = 900) -> None:
    """Posteriors of ten classes, with six significant digits: their logarithms count."""
    digits = load_digits()
    learner = GaussianNB(var_smoothing=0.05).fit(digits.data[:first], digits.target[:first])
    columns = [np.arange(len(digits.target) - first), digits.target[first:]]
    rows = zip(*columns, learner.predict_proba(digits.data[first:]), strict=True)
    lines = [f"{image},{label}," + ",".join(f"{p:.6g}" for p in of) for image, label, of in rows]
    names = ",".join(str(k) for k in range(10))
    (folder / "digits.csv").write_text("\n".join([f"image,label,{names}", *lines, ""]))


def spoofing(folder: Path) -> None:
    """One score for impostors and attacks; and a countermeasure before a verification system."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["target", "nontarget", "spoof"], 1200, p=[0.3, 0.4, 0.3])
    place = {"target": 2.0, "nontarget": -2.0, "spoof": -0.5}
    sasv = [
        f"spk{k % 40:02d} utt{k:04d} {rng.normal(place[w]):.4f} {w}" for k, w in enumerate(kinds)
    ]
    spoofed = rng.random(1500) < 0.7
    attacks = [f"A{7 + k % 13:02d}" if s else "-" for k, s in enumerate(spoofed)]
    scores = rng.normal(np.where(spoofed, -1, 1.5), 1.2)
    names = [f"LA_E_{k:07d}" for k in range(1500)]
    key = [
        f"LA_{k % 50:04d} {n} - {attacks[k]} {'spoof' if spoofed[k] else 'bonafide'}"
        for k, n in enumerate(names)
    ]
    asv = [f"{'A07' if w == 'spoof' else 'bonafide'} {w} {rng.normal(place[w]):.4f}" for w in kinds]
    scored = [f"{n} {s:.4f}" for n, s in zip(names, scores, strict=True)]
    for name, lines in (
        ("sasv", sasv),
        ("cm-scores", scored),
        ("cm-key", key),
        ("asv-scores", asv),
    ):
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


for make in (classes, spoofing):
    (DEMO / make.__name__).mkdir(exist_ok=True)
    make(DEMO / make.__name__)
