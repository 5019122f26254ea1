"""Files and calibration: reading score lists, fitting calibrators; peers do the same work."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import truecost as tc
from benchmarks.data import Array, make
from benchmarks.measuring import Row, side_by_side
from truecost.calibration import Affine, Pav


def rows(trials: int, repeats: int) -> tuple[list[Row], list[str]]:
    """Rows of times, and lines about what was checked."""
    scores, labels, _ = make(trials, 1)
    found = [_list_row(scores, repeats)]
    column = scores[:, None]
    sides: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "affine calibration; LogisticRegression": (
            lambda: Affine.fit(scores, labels, prior=float(labels.mean())),
            lambda: LogisticRegression(C=np.inf, tol=1e-8).fit(column, labels),
        ),
        "PAV calibration; IsotonicRegression": (
            lambda: Pav.fit(scores, labels),
            lambda: IsotonicRegression(out_of_bounds="clip").fit(scores, labels),
        ),
    }
    for name, (mine, peer) in sides.items():
        mine(), peer()
        found.append(Row(name, *side_by_side([mine, peer], repeats)))
    return found, [_same_line(scores, labels)]


def _list_row(scores: Array, repeats: int) -> Row:
    """`enroll test score` lines: a checked table, beside a plain Python loop into an array."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.txt"
        with path.open("w", encoding="ascii") as file:
            file.writelines(
                f"e{k % 1000:04d} t{k:08d} {s:.6f}\n" for k, s in enumerate(scores.tolist())
            )

        def loop() -> Array:
            with path.open(encoding="ascii") as lines:
                return np.array([float(line.split()[2]) for line in lines])

        table = tc.read(str(path))
        assert np.array_equal(table.numbers("score", "score"), loop())
        return Row(
            "reading `enroll test score` lines; a Python loop that keeps the scores only",
            *side_by_side([lambda: tc.read(str(path)), loop], repeats),
        )


def _same_line(scores: Array, labels: Array) -> str:
    """Both fits of the line agree."""
    prior = float(labels.mean())
    mine = Affine.fit(scores, labels, prior=prior)
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, None], labels)
    offset = float(peer.intercept_[0]) - np.log(prior / (1 - prior))
    assert np.isclose(mine.scale, float(peer.coef_[0, 0]), rtol=1e-4)
    assert np.isclose(mine.offset, offset, rtol=1e-4)
    return "the affine fits agree to 4 digits"
