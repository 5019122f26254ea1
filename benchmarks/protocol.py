"""The data protocol: near copies of 100,000 samples with 100 features; whole checks of splits.

The peer is scikit-learn's `radius_neighbors`, by brute force, which is its fastest for so many
features: it is asked the same, whether a sample of one set has one of another within the limit.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.measuring import table
from truecost.formats.table import Table
from truecost.protocol.checking import check
from truecost.protocol.copies import NEAR, Scaled, close_to_another
from truecost.protocol.samples import samples_of

Floats = npt.NDArray[np.float64]

SAMPLES, FEATURES = 100_000, 100
SHARES = {"train": 0.8, "dev": 0.1, "eval": 0.1}
TARGET = 30.0  # seconds
HEADS = ["100 features", "found", "wall", "CPU", "peer", "ratio", "target", "met"]
CALLS = 1000  # samples that the peer is asked about at a time: it keeps every pair


def report(part: int) -> str:
    """Tables, in Markdown, at full size or a part of it."""
    samples = SAMPLES // part
    close_to_another(*_small(), NEAR)  # kernels are compiled, or read from disk
    rows = [_row(name, make, samples) for name, make in KINDS.items()]
    return "\n\n".join(
        [
            f"Near copies (limit {NEAR:g}) of {samples:,} samples in train, dev and eval; peer: "
            "scikit-learn's `radius_neighbors`, once, on the first kind of data.",
            table(HEADS, rows),
            f"`truecost.protocol.check` of {samples:,} samples and 2,000 speakers with all but "
            "audio looked at.",
            table(["work", "wall", "CPU", "target", "met"], [_whole(samples)]),
        ]
    )


def _small() -> tuple[Scaled, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    return Scaled.from_features(rng.normal(size=(300, 20))), rng.integers(3, size=300)


def _speech_like(rng: np.random.Generator, samples: int) -> Floats:
    """Features that go together, of speakers who differ: a tenth of a percent has a near copy."""
    mix = rng.normal(size=(FEATURES, FEATURES)) * 0.9 ** np.arange(FEATURES)[:, None]
    speakers = rng.normal(size=(max(2, samples // 50), FEATURES))
    points = speakers[rng.integers(len(speakers), size=samples)]
    points = (points + rng.normal(size=points.shape)) @ mix
    points += 0.05 * rng.normal(size=points.shape)
    copied = rng.choice(samples, samples // 1000, replace=False)
    places = rng.choice(samples, samples // 1000, replace=False)
    scale = points.std(axis=0)
    points[places] = points[copied] + 0.03 * scale * rng.normal(size=(len(places), FEATURES))
    return points


def _independent(rng: np.random.Generator, samples: int) -> Floats:
    """Features that have nothing to do with each other: no axis tells much."""
    return rng.normal(size=(samples, FEATURES))


def _clusters(rng: np.random.Generator, samples: int) -> Floats:
    """Ten clusters, within which pairs lie about as far apart as the limit."""
    centres = rng.normal(size=(10, FEATURES))
    return centres[rng.integers(10, size=samples)] + 0.115 * rng.normal(size=(samples, FEATURES))


def _one_cluster(rng: np.random.Generator, samples: int) -> Floats:
    """All samples but a hundredth in one cluster, just farther apart than the limit."""
    points = 0.255 * rng.normal(size=(samples, FEATURES))
    points[::100] *= 40
    return points


def _copies(rng: np.random.Generator, samples: int) -> Floats:
    """Every sample has a hundred near copies."""
    points = rng.normal(size=(max(2, samples // 100), FEATURES))
    return points[rng.integers(len(points), size=samples)] + 0.05 * rng.normal(
        size=(samples, FEATURES)
    )


def _row(name: str, make: Callable[..., Floats], samples: int) -> list[str]:
    """Time, and that of the peer for the first kind."""
    rng = np.random.default_rng(1)
    points = make(rng, samples)
    codes = rng.choice(len(SHARES), p=[*SHARES.values()], size=samples)
    (found, wall, cpu) = _timed(lambda: close_to_another(Scaled.from_features(points), codes, NEAR))
    peer = ""
    ratio = ""
    if name == next(iter(KINDS)):
        theirs, seconds, _ = _timed(lambda: _peer(points, codes))
        assert (theirs == found).all()
        peer, ratio = f"{seconds:.0f} s", f"{seconds / wall:.0f}x"
    met = "yes" if wall <= TARGET else "no"
    seconds = (f"{wall:.1f} s", f"{cpu:.1f} s")
    return [name, f"{found.sum():,}", *seconds, peer, ratio, f"{TARGET:.0f} s", met]


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What work gives, its wall time and its CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def _peer(points: Floats, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether a sample has one of another set within the limit."""
    from sklearn.neighbors import NearestNeighbors

    values = Scaled.from_features(points).values
    found = np.zeros(len(values), bool)
    for code in range(len(SHARES)):
        others = NearestNeighbors(radius=NEAR, algorithm="brute", n_jobs=-1)
        others.fit(values[codes != code])
        mine = np.flatnonzero(codes == code)
        for start in range(0, len(mine), CALLS):
            rows = mine[start : start + CALLS]
            near = others.radius_neighbors(values[rows], return_distance=False)
            found[rows] = [len(places) > 0 for places in near]
    return found


def _whole(samples: int) -> list[str]:
    """Everything but audio is looked at."""
    rng = np.random.default_rng(2)
    speakers = rng.integers(2000, size=samples)
    of_speaker = rng.choice([*SHARES], p=[*SHARES.values()], size=2000)
    frame = pl.DataFrame(
        {
            "id": [f"u{k}" for k in range(samples)],
            "label": (rng.random(samples) < 0.3).astype(np.int64),
            "spk": [f"s{s}" for s in speakers],
            "set": of_speaker[speakers],
            "source": [f"r{s}-{k}" for s, k in zip(speakers, range(samples), strict=True)],
            "content": [f"{k:x}" for k in range(samples)],
            "device": rng.choice(["phone", "tablet", "speaker"], size=samples),
        }
    )
    keys = {"group": "spk", "set": "set", "source": "source", "content": "content"}
    made = samples_of(Table("split.csv", frame, first_line=2), keys, ("device",))
    points = _speech_like(rng, samples)
    _, wall, cpu = _timed(lambda: check(made, features=points, prior=0.3))
    met = "yes" if wall <= TARGET else "no"
    return ["check", f"{wall:.1f} s", f"{cpu:.1f} s", f"{TARGET:.0f} s", met]


KINDS = {
    "like speech, 2,000 speakers": _speech_like,
    "independent": _independent,
    "ten clusters as wide as the limit": _clusters,
    "one cluster, wider than the limit": _one_cluster,
    "a hundred copies of each": _copies,
}
