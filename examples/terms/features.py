"""Features of speech: mel-frequency cepstra every 20 ms, and two ways to use them.

`SYSTEMS` names the two systems of this example: what of the features they use and whether they
normalise the scores of a query.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from make_search import RATE, read_wave
from scipy.fft import dct, rfft

Floats = npt.NDArray[np.float64]
STEP = 0.020  # seconds between two frames
WINDOW, TRANSFORM = 200, 256  # samples (25 ms) and length of the Fourier transform
BANDS, LOWEST, CEPSTRA = 26, 100.0, 13  # mel bands from so many Hertz, coefficients kept
REGRESSION = 2  # frames on either side that a slope is taken over
SPEECH = 0.4  # share of the frames of a document that are taken for speech, the loudest


class System(NamedTuple):
    """Choices of a system."""

    slopes: bool
    normalised: bool


SYSTEMS = {
    "full": System(slopes=True, normalised=True),
    "plain": System(slopes=False, normalised=False),
}


def mel(hertz: npt.ArrayLike) -> Floats:
    """Pitch in mel."""
    return 2595 * np.log10(1 + np.asarray(hertz) / 700)


def filters() -> Floats:
    """Triangles of equal width in mel, shape (bands, frequencies)."""
    centres = np.linspace(mel(LOWEST), mel(RATE / 2), BANDS + 2)
    frequencies = mel(np.fft.rfftfreq(TRANSFORM, 1 / RATE))
    away = np.abs(frequencies - centres[1:-1, None]) / (centres[1] - centres[0])
    return np.maximum(0, 1 - away)


def cepstra(samples: Floats) -> Floats:
    """Cepstral coefficients, shape (frames, coefficients); the first is loudness."""
    flat = np.append(samples[:1], samples[1:] - 0.97 * samples[:-1])
    frames = np.lib.stride_tricks.sliding_window_view(flat, WINDOW)[:: round(STEP * RATE)]
    power = np.abs(rfft(frames * np.hamming(WINDOW), TRANSFORM)) ** 2
    return dct(np.log(power @ filters().T + 1e-5), norm="ortho")[:, :CEPSTRA]


def slopes(values: Floats) -> Floats:
    """Slope of every coefficient over time, by regression."""
    steps = np.arange(-REGRESSION, REGRESSION + 1)
    padded = np.pad(values, ((REGRESSION, REGRESSION), (0, 0)), "edge")
    return sum(k * padded[REGRESSION + k :][: len(values)] for k in steps) / (steps**2).sum()


def features(path: Path, system: System, speech: float) -> Floats:
    """Features of a file, less their mean over its speech: so large a share of it."""
    found = cepstra(read_wave(path.read_bytes()))
    if system.slopes:
        found = np.hstack([found, slopes(found)])
    loud = found[:, 0] >= np.quantile(found[:, 0], 1 - speech)
    return found - found[loud].mean(axis=0)
