"""Write the training list, the test and the features that `train.py` reads.

    python prepare.py [FEATURES [FOLDER]]

FEATURES is features_102.npz of the Free Spoken Digit Dataset: `X`, 102 numbers a recording, and
`paths`, as `7_theo_12.wav`. The training list has the recordings of four speakers, the test those
of the two others. Without FEATURES the handwritten digits of scikit-learn take their place, whose
writers nobody noted: each image is a group of its own.
"""

import csv
import sys
from pathlib import Path

import numpy as np

TESTED = ("theo", "nicolas")
NAMES = ("id", "digit", "speaker", "take")


def main(features: str = "", folder: str = ".") -> None:
    """Write train.csv, test.csv and features.npz."""
    ids, rows, matrix = spoken(Path(features)) if features else handwritten()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, tested in (("train", False), ("test", True)):
        kept = [row for row, (_, test) in zip(ids, rows, strict=True) if test == tested]
        with (place / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([NAMES, *kept])
        print(f"{name}.csv: {len(kept)} items of {len({row[2] for row in kept})} groups")
    np.savez(place / "features.npz", id=np.array([row[0] for row in ids]), X=matrix)


def spoken(features: Path) -> tuple[list[tuple[str, ...]], list[tuple[str, bool]], np.ndarray]:
    """Rows of the lists, whether each is tested, and features, in the order of their names."""
    with np.load(features) as stored:
        names, matrix = [str(path).removesuffix(".wav") for path in stored["paths"]], stored["X"]
    order = sorted(range(len(names)), key=lambda k: names[k])
    parts = [names[k].split("_") for k in order]
    rows = [("_".join(p), p[0], p[1], f"{p[1]}_{p[2]}") for p in parts]
    return rows, [(p[1], p[1] in TESTED) for p in parts], matrix[order].astype(np.float32)


def handwritten() -> tuple[list[tuple[str, ...]], list[tuple[str, bool]], np.ndarray]:
    """The same of images; every third is tested."""
    from sklearn.datasets import load_digits

    images = load_digits()
    names = [f"image{k:04d}" for k in range(len(images.target))]
    rows = [(n, str(d), n, n) for n, d in zip(names, images.target, strict=True)]
    return rows, [(n, k % 3 == 0) for k, n in enumerate(names)], images.data.astype(np.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
