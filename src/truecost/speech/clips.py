"""Features of speech clips: 102 numbers from a wav file, with nothing but NumPy and SciPy.

Mel-frequency cepstra say what was said and who said it, on a scale like that of hearing; their
statistics over the clip make one vector of clips of any length. They are a plain stand-in for the
embeddings of a trained network: a user who has one names it as the extractor of a source.

    seconds -> 16 kHz, the first 6 s, loudest sample 1
            -> frames of 25 ms every 10 ms, less those 40 dB below the loudest
            -> 20 cepstra of 26 mel bands a frame
            -> mean, deviation, deviation of the slopes, 10th and 90th percentile
            -> 100 numbers, the duration in seconds, and the share of the frames that was kept
"""

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

RATE = 16_000  # samples a second that everything is brought to
SLOWEST = 1000  # samples a second of a recording of speech
LONGEST = 6.0  # seconds that are looked at
WINDOW, STEP, TRANSFORM = 400, 160, 512  # samples: 25 ms, 10 ms, length of the Fourier transform
BANDS, CEPSTRA = 26, 20
EMPHASIS = 0.97  # of high frequencies, as usual for speech
QUIET = 40.0  # decibels below the loudest frame: silence
FLOOR = 1e-8  # least energy of a band, where the loudest sample is 1
LINEAR = 1000.0  # Hertz up to which the mel scale is linear (Slaney's Auditory Toolbox)
REGRESSION = 2  # frames on either side that a slope is taken over
STATISTICS = ("mean", "deviation", "slope", "low", "high")
NAMES = tuple(
    [f"cepstrum_{number}_{statistic}" for statistic in STATISTICS for number in range(CEPSTRA)]
    + ["seconds", "kept"]
)
WIDTHS = {1: (np.uint8, 128.0), 2: (np.int16, 0.0), 4: (np.int32, 0.0)}  # type, zero of a sample


def file_features(path: str | Path) -> Floats:
    """The 102 features of a wav file: uncompressed, of any rate, 8, 16, 24 or 32 bits."""
    return clip_features(*read_samples(path))


def read_samples(path: str | Path) -> tuple[Floats, int]:
    """The result of `read_wave`, with at least one sample: InputError otherwise."""
    samples, rate = read_wave(path)
    if not len(samples):
        raise InputError(f"{path}: the clip has no samples; remove it from the list")
    return samples, rate


def read_wave(path: str | Path) -> tuple[Floats, int]:
    """Samples between -1 and 1, channels averaged, and how many there are a second."""
    import wave

    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            data = file.readframes(file.getnframes())
    except (OSError, EOFError, RuntimeError, wave.Error) as error:  # Runtime: a chunk too long
        reason = getattr(error, "strerror", None) or str(error) or "damaged or cut short"
        raise InputError(
            f"{path}: cannot be read as a wav file ({reason}); expected uncompressed wav: convert "
            f"other formats first, or name an extractor that reads them"
        ) from error
    if width not in (*WIDTHS, 3) or len(data) % (width * channels) or rate < 1:
        raise InputError(
            f"{path}: the wav file is damaged or of {8 * width} bits, {len(data)} bytes; expected "
            f"8, 16, 24 or 32 bits and whole samples: write it again"
        )
    if rate < SLOWEST:  # a second of these would be resampled to as many as 16,000
        raise InputError(
            f"{path}: the header says {rate} samples a second; expected {SLOWEST} or more: write "
            f"the file again with its true rate"
        )
    return _numbers(data, width).reshape(-1, channels).mean(axis=1), rate


def _numbers(data: bytes, width: int) -> Floats:
    """Samples of so many bytes as numbers between -1 and 1."""
    if width == 3:  # NumPy knows no such type: put a byte of zeros below
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        data, width = wide.tobytes(), 4
    kind, zero = WIDTHS[width]
    values = np.frombuffer(data, np.dtype(kind).newbyteorder("<"))
    return (values.astype(np.float64) - zero) / 2.0 ** (8 * width - 1)


def clip_features(samples: Array, rate: int) -> Floats:
    """The 102 features of a clip of at least one sample, in the order of `NAMES`.

    How loud it was recorded does not matter.
    """
    clip = resampled(np.asarray(samples, np.float64), rate)[: round(LONGEST * RATE)]
    clip = clip / (np.abs(clip).max() or 1.0)
    kept = _active(clip)
    cepstra = _cepstra(clip)[kept]
    low, high = np.percentile(cepstra, [10, 90], axis=0)
    parts = [cepstra.mean(axis=0), cepstra.std(axis=0), _slopes(cepstra).std(axis=0), low, high]
    return np.concatenate([*parts, [len(clip) / RATE, kept.mean()]])


def resampled(samples: Floats, rate: int) -> Floats:
    """The clip at 16 kHz."""
    if rate == RATE:
        return samples
    from scipy.signal import resample_poly

    common = math.gcd(rate, RATE)
    return np.asarray(resample_poly(samples, RATE // common, rate // common), np.float64)


def frames_of(clip: Floats) -> Floats:
    """Overlapping pieces, shape (frames, window); a clip shorter than one is filled with zeros."""
    filled = np.pad(clip, (0, max(0, WINDOW - len(clip))))
    return np.lib.stride_tricks.sliding_window_view(filled, WINDOW)[::STEP]


def _active(clip: Floats) -> Array:
    """Whether each frame is speech: less than 40 dB below the loudest."""
    energy = np.square(frames_of(clip)).mean(axis=1)
    return np.asarray(energy >= energy.max() * 10 ** (-QUIET / 10))


def _cepstra(clip: Floats) -> Floats:
    """Cepstral coefficients, shape (frames, coefficients); the first is loudness."""
    logs = np.log(np.maximum(mel_bands(clip), FLOOR))
    return np.asarray(np.einsum("tb,cb->tc", logs, cosine_vectors()), np.float64)


def mel_bands(clip: Floats, rows: Any = slice(None)) -> Floats:
    """Power in each mel band of all frames or some, shape (frames, bands)."""
    flat = np.append(clip[:1], clip[1:] - EMPHASIS * clip[:-1])
    power = np.abs(np.fft.rfft(frames_of(flat)[rows] * np.hamming(WINDOW), TRANSFORM)) ** 2
    return np.asarray(np.einsum("tf,bf->tb", power, mel_filters()), np.float64)  # without BLAS


def _slopes(values: Floats) -> Floats:
    """Slope of every coefficient over time, by regression; the ends are repeated."""
    steps = np.arange(-REGRESSION, REGRESSION + 1)
    padded = np.pad(values, ((REGRESSION, REGRESSION), (0, 0)), "edge")
    sums = sum(step * padded[REGRESSION + step :][: len(values)] for step in steps)
    return np.asarray(sums / np.square(steps).sum(), np.float64)


def mel(frequency: Array) -> Floats:
    """Pitch in mel: linear up to 1 kHz, then a 6.4-fold frequency is 27 mel more."""
    given = np.asarray(frequency, np.float64)
    above = np.log(np.maximum(given, LINEAR) / LINEAR) * 27 / math.log(6.4)
    return np.minimum(given, LINEAR) * 15 / LINEAR + above


def hertz(pitch: Array) -> Floats:
    """Frequency of a pitch in mel."""
    given = np.asarray(pitch, np.float64)
    above = np.exp(np.maximum(given - 15, 0) * math.log(6.4) / 27)
    return np.minimum(given, 15) * LINEAR / 15 * above


@functools.cache
def mel_filters() -> Floats:
    """Triangles of equal width in mel and of equal area, shape (bands, frequencies)."""
    edges = hertz(np.linspace(0, mel(np.array(RATE / 2)), BANDS + 2))
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    frequencies = np.fft.rfftfreq(TRANSFORM, 1 / RATE)
    rising, falling = (frequencies - low) / (centre - low), (high - frequencies) / (high - centre)
    triangles = np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)
    return np.asarray(triangles, np.float64)


@functools.cache
def cosine_vectors() -> Floats:
    """The first 20 vectors of the orthonormal cosine transform (DCT-II), shape (cepstra, bands)."""
    place, order = np.arange(BANDS) + 0.5, np.arange(CEPSTRA)[:, None]
    scale = np.where(order == 0, math.sqrt(1 / BANDS), math.sqrt(2 / BANDS))
    return np.asarray(np.cos(np.pi * order * place / BANDS) * scale, np.float64)
