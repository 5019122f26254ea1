"""Points: the whole ROC, EER, minimum cost, Cllr and minimum Cllr, without intervals."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks import ours, peers
from benchmarks.data import Array, make
from benchmarks.measuring import Row, apart, side_by_side

TARGET = 3
MEMORY_TARGET = 0.5
KINDS = {"float64": "64-bit scores", "float32": "32-bit scores"}


def rows(trials: int, repeats: int) -> tuple[list[Row], list[list[str]], list[str]]:
    """Rows of times, rows of memory, and lines about what was checked."""
    times, memory = [], []
    for kind, name in KINDS.items():
        scores, labels, _ = make(trials, 1, kind)
        ours.points(scores[:1000], labels[:1000])
        peers.points(scores[:1000], labels[:1000])
        mine, peer = side_by_side(
            [
                lambda s=scores, t=labels: ours.points(s, t),
                lambda s=scores, t=labels: peers.points(s, t),
            ],
            repeats,
        )
        times.append(Row(f"ROC + 4 measures, {name}", mine, peer, TARGET))
        memory.append([name, *_memory(scores, labels)])
    return times, memory, _same_curve()


def _memory(scores: Array, labels: Array) -> list[str]:
    """Peaks of both sides in MB, their ratio, the target and whether it is met."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "scores", scores)
        np.save(Path(folder) / "labels", labels)
        mine, peer = (apart("peak", side, folder) for side in ("ours", "peer"))
    ratio = mine["peak"] / peer["peak"]
    shown = [
        f"{side['peak'] / 1e6:.0f} MB ({side['kept'] / 1e6:.0f} kept)" for side in (mine, peer)
    ]
    return [*shown, f"{ratio:.2f}", f"{MEMORY_TARGET}", "yes" if ratio <= MEMORY_TARGET else "no"]


def _same_curve() -> list[str]:
    """Both sides give the same curve; minimum cost and Cllr equal their definitions."""
    scores, labels, _ = make(100_000, 1)
    (threshold, miss, fa), values = ours.points(scores, labels)
    peer_fa, hit, peer_threshold = peers.all_points(scores, labels)
    kept = np.isin(peer_threshold[::-1], threshold)  # truecost may leave out what lies on a line
    assert kept.sum() == len(threshold)
    assert np.allclose(miss, 1 - hit[::-1][kept], atol=1e-12)
    assert np.allclose(fa, peer_fa[::-1][kept], atol=1e-12)
    assert np.isclose(
        np.trapezoid(1 - miss[::-1], fa[::-1]), np.trapezoid(hit, peer_fa), rtol=1e-12
    )
    costs = ours.WEIGHTS[1] * (1 - hit) + ours.WEIGHTS[0] * peer_fa
    assert np.isclose(values["min_dcf"], costs.min() / min(ours.WEIGHTS))
    bits = np.logaddexp(0, np.where(labels == 1, -scores, scores)) / np.log(2)
    assert np.isclose(values["cllr"], (bits[labels == 1].mean() + bits[labels == 0].mean()) / 2)
    return [
        f"ROC of 100,000 trials: {len(threshold):,} points, all among the peer's, and the same "
        f"area; minimum cost and Cllr equal their definitions"
    ]
