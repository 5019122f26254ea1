"""The sounds of `truecost demo person`: tones in noise, some of which waver, generated here."""

import io
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from truecost.formats.publishing import publish
from truecost.learning.system import generator
from truecost.speech.clips import NAMES, RATE, clip_features

LIST = "clips.csv"
CLIPS = 140  # 120 of the stream, and those before it from which the first two questions come
SECONDS = 0.6
Samples = npt.NDArray[np.float64]


def write_clips(folder: Path) -> Path:
    """Write the clips, `ID.wav`, and the table of their features, unless it exists; returns the
    table.

    One clip in five wavers, from faintly to plainly.
    """
    if (folder / LIST).exists():
        return folder / LIST
    draws = generator(0, "clips")
    rows, files = [["id", "label", *NAMES]], dict[str, bytes]()
    for k, wavers in enumerate(draws.permutation(np.arange(CLIPS) % 5 == 0)):
        samples = _tone(draws, wavers)
        files[f"clip{k:03}.wav"] = _wav(samples)
        features = (f"{one:.4f}" for one in clip_features(samples, RATE))
        rows.append([f"clip{k:03}", "wavers" if wavers else "steady", *features])
    files[LIST] = "".join(f"{','.join(row)}\n" for row in rows).encode()
    publish({folder: files})
    return folder / LIST


def _tone(draws: np.random.Generator, wavers: bool) -> Samples:
    """A tone of three partials in noise; one that wavers goes up and down 5 to 8 times a second."""
    times = np.arange(round(SECONDS * RATE)) / RATE
    pitch, rate, start = draws.uniform(200, 500), draws.uniform(5, 8), draws.uniform(0, 2 * np.pi)
    depth = draws.uniform(0.01, 0.06) if wavers else 0.0
    cycles = pitch * (times - depth * np.cos(2 * np.pi * rate * times + start) / (2 * np.pi * rate))
    partials = (np.sin(2 * np.pi * k * cycles) / k for k in (1, 2, 3))
    noise = draws.normal(size=len(times)) * draws.uniform(0.05, 0.3)
    edge = np.minimum(1, np.minimum(times, SECONDS - times) / 0.03)  # no click at the ends
    sound = edge * (sum(partials) + noise)
    return np.asarray(0.7 * sound / np.abs(sound).max())


def _wav(samples: Samples) -> bytes:
    """A wav file of 16 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", "not compressed"))
        file.writeframes((32767 * samples).round().astype("<i2").tobytes())
    return out.getvalue()
