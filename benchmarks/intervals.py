"""Intervals: normalised expected cost and equal error rate, speakers resampled."""

from collections.abc import Callable
from typing import Any

from benchmarks import ours, peers
from benchmarks.data import Array, make
from benchmarks.measuring import Row, Times, seconds, side_by_side

SPEAKERS = 1000
REPLICATES = 1000
BOOTSTRAPS = 2  # of the peer in each repeat; its time is scaled to REPLICATES
NEC_TARGET, EER_TARGET = 1000, 3000


def rows(trials: int, repeats: int) -> tuple[list[Row], list[str]]:
    """The rows of the table and lines about what was checked."""
    data = make(trials, SPEAKERS)
    mine: dict[str, Callable[[], Any]] = {
        "NEC": lambda: ours.nec(*data, REPLICATES),
        "NEC, checked front door": lambda: ours.checked(*data, REPLICATES, "nec"),
    }
    found = _group(mine, peers.nec, peers.nec_value, data, repeats, NEC_TARGET)
    mine = {
        "EER, convex hull": lambda: ours.eer(*data, REPLICATES, "rocch"),
        "EER, nearest threshold": lambda: ours.eer(*data, REPLICATES, "nearest"),
        "EER, checked front door": lambda: ours.checked(*data, REPLICATES, "eer"),
    }
    found += _group(mine, peers.eer, peers.eer_value, data, repeats, EER_TARGET)
    return found, _points_agree(data) + _intervals_agree()


def _group(
    mine: dict[str, Callable[[], Any]],
    peer: Callable[..., Any],
    value: Callable[..., float],
    data: tuple[Array, Array, Array],
    repeats: int,
    target: float,
) -> list[Row]:
    """Rows that share a peer, timed turn about; the front door has no target of its own."""
    for work in mine.values():
        work()
    value_alone = min(seconds(lambda: value(*data[:2])) for _ in range(5))
    *taken, slow = side_by_side([*mine.values(), lambda: peer(*data, BOOTSTRAPS)], repeats)
    scaled = Times(
        tuple(value_alone + (s - value_alone) * REPLICATES / BOOTSTRAPS for s in slow.seconds)
    )
    return [
        Row(name, times, scaled, None if "front door" in name else target)
        for name, times in zip(mine, taken, strict=True)
    ]


def _points_agree(data: tuple[Array, Array, Array]) -> list[str]:
    """Both sides give the same value on the data that was timed."""
    pairs = {
        "NEC": (ours.nec(*data, 1).point, peers.nec_value(*data[:2])),
        "EER (nearest)": (ours.eer(*data, 1, "nearest").point, peers.eer_value(*data[:2])),
    }
    for name, (a, b) in pairs.items():
        assert abs(a - b) < 1e-12, f"{name}: {a} against {b}"
    return [f"{name}: both give {a:.6f}" for name, (a, _) in pairs.items()]


def _intervals_agree() -> list[str]:
    """Both sides give similar intervals, on fewer trials and with as many replicates."""
    data, count = make(50_000, 200), 500
    pairs = {
        "NEC": (ours.nec(*data, count), peers.nec(*data, count)[1]),
        "EER (nearest)": (ours.eer(*data, count, "nearest"), peers.eer(*data, count)[1]),
    }
    said = []
    for name, (a, (low, high)) in pairs.items():
        share = 2 * a.half_width / (high - low)
        assert 0.6 < share < 1.2, f"{name}: width {share:.2f} of the peer's"
        assert abs(a.lower + a.upper - low - high) < high - low, f"{name}: intervals lie apart"
        said.append(
            f"{name} on 50,000 trials of 200 speakers, {count} replicates: "
            f"[{a.lower:.4f}, {a.upper:.4f}] against [{low:.4f}, {high:.4f}]"
        )
    return said
