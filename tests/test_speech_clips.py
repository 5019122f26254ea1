"""Features of wav files: laws, files of every width, and other people's features of real clips."""

import tarfile
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.speech.clips import (
    CEPSTRA,
    NAMES,
    RATE,
    clip_features,
    cosine_vectors,
    file_features,
    hertz,
    mel,
    mel_filters,
    read_wave,
)


def tone(seconds=0.5, rate=8000, pitch=440.0, seed=0):
    """A tone with some noise that grows and fades."""
    time = np.arange(round(seconds * rate)) / rate
    noise = np.random.default_rng(seed).normal(0, 0.05, len(time))
    return np.sin(2 * np.pi * pitch * time) * np.hanning(len(time)) * 0.5 + noise * 0.2


def write(path, samples, width=2, rate=8000):
    """Samples between -1 and 1 as a wav file; shape (samples,) or (samples, channels)."""
    whole = np.rint(np.clip(samples, -1, 1) * (2 ** (8 * width - 1) - 1)).astype(np.int64)
    raw = (whole + 128).astype("<u1") if width == 1 else whole.astype("<i4")
    data = raw.tobytes()
    if width in (2, 3):  # the lowest bytes of 32 bits, least first
        data = raw.ravel().view("<u1").reshape(-1, 4)[:, :width].tobytes()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data)
    return path


@pytest.mark.parametrize(("width", "step"), [(1, 2**-6), (2, 2**-14), (3, 2**-22), (4, 2**-30)])
def test_samples_of_every_width_are_read(tmp_path, width, step):
    samples = np.array([0.0, 0.5, -0.5, 0.25, 0.999, -0.999])
    read, rate = read_wave(write(tmp_path / "a.wav", samples, width))
    assert rate == 8000
    np.testing.assert_allclose(read, samples, atol=step)


def test_channels_are_averaged(tmp_path):
    both = np.column_stack([np.full(8, 0.5), np.full(8, -0.25)])
    samples, _ = read_wave(write(tmp_path / "a.wav", both))
    np.testing.assert_allclose(samples, 0.125, atol=1e-4)


def test_there_are_102_named_features():
    features = clip_features(tone(), 8000)
    assert len(features) == len(NAMES) == 102
    assert len(set(NAMES)) == 102
    assert features.dtype == np.float64
    assert features[NAMES.index("seconds")] == 0.5
    assert 0 < features[NAMES.index("kept")] <= 1


@given(st.floats(0.01, 100), st.integers(0, 3))
def test_how_loud_it_was_recorded_does_not_matter(factor, seed):
    clip = tone(seed=seed)
    np.testing.assert_allclose(
        clip_features(clip * factor, 8000), clip_features(clip, 8000), atol=1e-6
    )


@given(st.integers(1, 900), st.sampled_from([8000, 11025, 16000, 44100]))
def test_the_shortest_clips_have_finite_features(length, rate):
    clip = np.random.default_rng(length).normal(size=length)
    assert np.isfinite(clip_features(clip, rate)).all()


def test_silence_has_finite_features():
    features = clip_features(np.zeros(4000), 8000)
    assert np.isfinite(features).all()
    assert features[NAMES.index("kept")] == 1  # no frame is quieter than the others


def test_what_follows_six_seconds_does_not_matter():
    clip = tone(8.0)
    other = clip.copy()
    other[8000 * 7 :] = np.random.default_rng(1).normal(0, 0.01, 8000)
    np.testing.assert_allclose(clip_features(clip, 8000), clip_features(other, 8000), rtol=1e-9)
    assert clip_features(clip, 8000)[NAMES.index("seconds")] == 6


def test_silent_frames_do_not_count():
    speech, silence = tone(0.5, RATE), np.zeros(RATE)
    alone, padded = clip_features(speech, RATE), clip_features(np.append(speech, silence), RATE)
    frames = (len(speech) + RATE - 400) // 160 + 1
    assert padded[NAMES.index("kept")] <= 51 / frames
    np.testing.assert_allclose(padded[:20], alone[:20], atol=0.5)


def test_a_clip_at_twice_the_rate_has_much_the_same_features():
    low, high = clip_features(tone(rate=16000, seed=1), 16000), tone(rate=32000, pitch=440)
    assert np.corrcoef(low[:20], clip_features(high, 32000)[:20])[0, 1] > 0.9


def test_the_cepstra_are_those_of_scipy():
    from scipy.fft import dct

    values = np.random.default_rng(0).normal(size=(5, cosine_vectors().shape[1]))
    np.testing.assert_allclose(values @ cosine_vectors().T, dct(values, norm="ortho")[:, :CEPSTRA])


def test_the_mel_scale_is_linear_then_logarithmic():
    np.testing.assert_allclose(mel(np.array([0.0, 500, 1000, 6400])), [0, 7.5, 15, 42])
    pitches = np.linspace(0, 60, 200)
    np.testing.assert_allclose(mel(hertz(pitches)), pitches, atol=1e-9)


def test_bands_are_triangles_of_equal_area():
    filters = mel_filters()
    assert filters.shape == (26, 257)
    assert (filters >= 0).all()
    assert (np.diff(filters.argmax(axis=1)) > 0).all()
    areas = filters.sum(axis=1) * RATE / 512
    np.testing.assert_allclose(areas[10:], 1, atol=0.05)  # the lowest are narrow for 31 Hz steps


FORMAT = (
    b"\x01\0\x01\0" + (8000).to_bytes(4, "little") + (16000).to_bytes(4, "little") + b"\x02\0\x10\0"
)
TOO_LONG = b"RIFF\x2c\0\0\0WAVEfmt \xf0\xff\xff\xff" + FORMAT + b"data\x08\0\0\0" + bytes(8)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read as a wav file (damaged or cut short)"),
        (b"RIFF\x04\x00\x00\x00WAVE", "cannot be read as a wav file"),
        (TOO_LONG, "cannot be read as a wav file (damaged or cut short)"),
        (b"ID3 an mp3 file", "name an extractor that reads them"),
    ],
)
def test_what_is_no_wav_file_is_refused(tmp_path, content, said):
    path = tmp_path / "broken.wav"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.wav") as caught:
        file_features(path)
    assert said in str(caught.value)


def test_a_missing_clip_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.wav: cannot be read as a wav file \(No such file"):
        file_features(tmp_path / "none.wav")


def test_a_clip_without_samples_is_refused(tmp_path):
    with pytest.raises(InputError, match="the clip has no samples"):
        file_features(write(tmp_path / "empty.wav", np.array([])))


def test_a_wav_file_cut_short_is_refused(tmp_path):
    path = write(tmp_path / "cut.wav", tone())
    path.write_bytes(path.read_bytes()[:-301])  # half a sample is left
    with pytest.raises(InputError, match=r"cut\.wav: the wav file is damaged"):
        file_features(path)


def test_features_of_real_clips_agree_with_those_of_another_program(shared, tmp_path):
    """shared/data/MANIFEST.md: 20 MFCC x (mean, std, delta std, 10th and 90th percentile), ..."""
    folder = shared / "data" / "fsdd"
    with np.load(folder / "features_102.npz") as archive:
        theirs = dict(zip(archive["paths"], archive["X"].astype(np.float64), strict=True))
    ours = {}
    with tarfile.open(next(folder.glob("*.tar.gz"))) as clips:
        for member in clips:
            name = member.name.rpartition("/")[2]
            if name.endswith(("_3.wav", "_17.wav")):
                (tmp_path / name).write_bytes(clips.extractfile(member).read())
                ours[name] = file_features(tmp_path / name)
    assert len(ours) == 120
    names = sorted(ours)
    both = np.array([ours[n] for n in names]), np.array([theirs[n] for n in names])
    alike = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(both[0].T, both[1].T, strict=True)])
    statistics = [np.median(alike[start : start + 20]) for start in range(0, 100, 20)]
    assert min(statistics) > 0.8, statistics
    assert alike[:20].min() > 0.8
    assert alike[100] > 0.999  # the duration
    assert alike[101] > 0.7  # the share of frames that were kept
