"""Conversations of three speakers, and what two simulated systems say of them.

Run it in an empty folder: it writes the files of `truecost demo diarization` there.
"""

from pathlib import Path

import numpy as np


def line(recording, start, end, speaker):
    """A turn as RTTM has it."""
    times = f"{start:.2f} {end - start:.2f}"
    return f"SPEAKER {recording} 1 {times} <NA> <NA> {speaker} <NA> <NA>"


def found(turns, luck, rate):
    """The turns that a system finds: some late, some of another speaker."""
    for (start, end, speaker), (missed, confused, other, early, late) in zip(
        turns, luck, strict=True
    ):
        if missed >= rate / 2:
            begin = max(0, start + rate * (2 * early - 1))
            heard = int(3 * other) if confused < rate else speaker  # perhaps another one
            yield begin, max(begin + 0.1, end + rate * (2 * late - 1)), heard


rng = np.random.default_rng(1)
files = {name: [] for name in ("ref.rttm", "old.rttm", "new.rttm", "rooms.csv")}
files["rooms.csv"].append("recording,room,series")
for number in range(30):
    name, now, turns = f"rec{number:02d}", 0.5, []
    for _ in range(40):
        length = 0.5 + rng.exponential(3)
        turns.append((now, now + length, int(rng.integers(3))))
        now = max(0.5, now + length + rng.normal(0.3, 0.5))  # sometimes before the end: overlap
    files["ref.rttm"] += [line(name, a, b, ("ann", "bob", "cho")[k]) for a, b, k in turns]
    difficulty, luck = rng.gamma(4) / 4, rng.random((len(turns), 5))
    for system, rate in (("old", 0.16), ("new", 0.13)):
        said = found(turns, luck, rate * difficulty)
        files[f"{system}.rttm"] += [line(name, a, b, f"S{k}") for a, b, k in said]
    files["rooms.csv"].append(f"{name},{('small', 'large')[number % 2]},series{number // 3}")
for name, lines in files.items():
    Path(name).write_text("\n".join(lines) + "\n")
