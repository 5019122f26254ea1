"""Copies in audio: the same samples under another header, chunks, gain, noise; real recordings."""

import tarfile
import wave

import numpy as np
import polars as pl
import pytest

from truecost.core.weights import Plan
from truecost.errors import InputError
from truecost.formats.table import Table
from truecost.protocol.checking import check
from truecost.protocol.copies import Scaled, close_to_another
from truecost.protocol.samples import samples_of
from truecost.protocol.sharing import SHARED, Landmarks, sample_hash, shared_stretches

RATE = 8000
FEW = Plan(200)


def speech(seed, seconds=1.0):
    """A sound with the unevenness of speech: harmonics of a wandering pitch, bursts, noise."""
    rng = np.random.default_rng(seed)
    count = round(seconds * RATE)
    knots = np.linspace(0, count, 12)
    pitch = np.interp(np.arange(count), knots, rng.uniform(80, 260, 12))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    weights = rng.uniform(0, 1, (8, 12)) / np.arange(1, 9)[:, None]
    sound = sum(
        np.interp(np.arange(count), knots, weights[k]) * np.sin((k + 1) * phase + rng.uniform(0, 6))
        for k in range(8)
    )
    loud = np.interp(np.arange(count), knots, rng.uniform(0.05, 1, 12))
    sound = (sound + 0.05 * rng.normal(size=count)) * loud
    return 0.5 * sound / np.abs(sound).max()


def save(path, sound, width=2, rate=RATE, channels=1):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        whole = np.round(np.asarray(sound) * 2 ** (8 * width - 1)).astype(np.int64)
        file.writeframes(whole.astype({2: "<i2", 4: "<i4"}[width]).tobytes())
    return str(path)


def found(sounds, codes=None):
    """Pairs that share a stretch, each sound in a set of its own unless said otherwise."""
    marks = [Landmarks.find(np.round(s * 32768) / 32768, RATE) for s in sounds]
    return shared_stretches(marks, np.arange(len(sounds)) if codes is None else np.array(codes))


def test_a_hash_is_of_the_samples_and_not_of_the_header(tmp_path):
    sound = np.round(speech(1) * 32768) / 32768
    one = sample_hash(save(tmp_path / "a.wav", sound))
    assert sample_hash(save(tmp_path / "b.wav", sound, rate=16000)) == one
    assert sample_hash(save(tmp_path / "c.wav", sound, width=4)) == one
    sound[100] += 1 / 32768
    assert sample_hash(save(tmp_path / "d.wav", sound)) != one
    for name in ("e.ogg", "f.ogg"):
        (tmp_path / name).write_bytes(b"OggS and so on")
    assert sample_hash(tmp_path / "e.ogg") == sample_hash(tmp_path / "f.ogg") != one
    with pytest.raises(InputError, match=r"missing\.wav: there is no such file"):
        sample_hash(tmp_path / "missing.wav")


@pytest.mark.parametrize("gain", [1.0, 0.25, -0.6])
@pytest.mark.parametrize(("start", "seconds"), [(0.0, 0.5), (0.313, 0.4), (0.6, 0.2)])
def test_a_chunk_is_found_with_its_place_at_any_gain(gain, start, seconds):
    whole = speech(2, 1.5)
    begin = round(start * RATE)
    chunk = gain * whole[begin : begin + round(seconds * RATE)]
    [(pair, (marks, one, other))] = found([whole, speech(3), chunk]).items()
    assert pair == (0, 2)
    assert marks >= SHARED
    assert one - other == pytest.approx(begin / RATE, abs=1e-9)


def test_two_chunks_that_overlap_and_a_little_noise():
    whole = speech(4, 2.0)
    assert [*found([whole[:9000], whole[5000:]])] == [(0, 1)]
    rng = np.random.default_rng(0)
    noisy = whole + rng.normal(size=len(whole)) * whole.std() / 10 ** (30 / 20)
    assert [*found([whole, noisy])] == [(0, 1)]


def test_what_shares_nothing_is_not_found():
    sounds = [speech(seed) for seed in range(60)]
    tone = np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)
    hum = [tone[shift : shift + 4000] * 0.3 for shift in (0, 7, 100)]
    silence = [np.zeros(4000), np.full(4000, -1 / 128), np.full(4000, 0.1)]
    assert found([*sounds, *hum, *silence, np.zeros(3), np.zeros(0)]) == {}


def test_pairs_of_one_set_or_of_none_do_not_count():
    whole = speech(5)
    assert found([whole, whole[1000:]], [0, 0]) == {}
    assert found([whole, whole[1000:]], [0, -1]) == {}


def test_audio_of_a_split(tmp_path):
    (tmp_path / "wav").mkdir()
    rows = {"id": [], "set": [], "spk": [], "file": []}
    sounds = {f"u{k}": speech(k, 0.8) for k in range(48)}
    sounds["u41"] = 0.5 * sounds["u3"][1500:]
    sounds["u42"] = np.round(sounds["u4"] * 32768) / 32768
    for k, (name, sound) in enumerate(sounds.items()):
        save(tmp_path / "wav" / f"{name}.wav", sound, width=4 if name == "u42" else 2)
        for column, value in zip(
            rows, (name, "train" if k < 24 else "eval", f"s{k}", f"wav/{name}.wav"), strict=True
        ):
            rows[column].append(value)
    table = Table(str(tmp_path / "split.csv"), pl.DataFrame(rows), first_line=2)
    samples = samples_of(table, {"group": "spk", "set": "set"})
    exact, stretch = check(samples, audio="file", plan=FEW).leaks
    assert exact.rule == "exact-copies"
    assert exact.examples == ("u4 (train, line 6) = u42 (eval, line 44)",)
    assert stretch.rule == "shared-sources"
    [example] = stretch.examples
    assert example.startswith("u3 (train, line 5) at ")
    assert "u41 (eval, line 43)" in example
    assert [f.rule for f in check(samples, files="file", plan=FEW).leaks] == ["exact-copies"]
    (tmp_path / "wav" / "u7.wav").write_bytes(b"not a sound")
    with pytest.raises(InputError, match=r"u7\.wav: cannot be read as a wav file"):
        check(samples, audio="file", plan=FEW)


@pytest.fixture(scope="module")
def digits(shared, tmp_path_factory):
    """Some of the spoken digits, as samples."""
    from truecost.speech.clips import read_wave

    folder = tmp_path_factory.mktemp("digits")
    with tarfile.open(shared / "data" / "fsdd" / "fsdd_recordings_3000wav_8k.tar.gz") as archive:
        members = [m for m in archive if m.name.endswith(("_0.wav", "_1.wav", "_2.wav"))]
        archive.extractall(folder, members, filter="data")
    return [read_wave(path)[0] for path in sorted(folder.rglob("*.wav"))]


def test_spoken_digits_that_are_cut_louder_or_noisy(digits):
    """Of 180 recordings none shares a stretch; chunks and copies of 40 of them are found."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(digits), 40, replace=False)
    assert found(digits) == {}
    changes = {
        "quieter": (lambda x: 0.4 * x, 1.0),
        "half": (lambda x: 0.5 * x[: len(x) // 2], 0.9),
        "noise at 40 dB": (
            lambda x: x + rng.normal(size=len(x)) * np.sqrt(np.square(x).mean() / 1e4),
            0.9,
        ),
    }
    for change, least in changes.values():
        made = [change(digits[k]) for k in chosen]
        pairs = found([*digits, *made], [0] * len(digits) + [1] * len(made))
        right = {(int(k), len(digits) + i) for i, k in enumerate(chosen)}
        assert set(pairs) <= right
        assert len(pairs) >= least * len(chosen)


def test_speech_commands_hold_near_copies_of_one_speaker(shared):
    """The speaker is in the name of the file: split by him, no speech is shared.

    The clips of silence have no speaker: many are chunks of the same few recordings of noise.
    """
    with np.load(shared / "data" / "speech_commands_test" / "features_102.npz") as data:
        paths, features = data["paths"], data["X"].astype(np.float64)
    names = [str(path) for path in paths]
    speakers = np.array([name.split("/")[-1].split("_")[0] for name in names])
    rng = np.random.default_rng(0)
    by_speaker = dict(zip(np.unique(speakers), rng.random(len(np.unique(speakers))), strict=True))
    halves = {
        "by speaker": np.array([by_speaker[s] < 0.5 for s in speakers]).astype(np.int64),
        "by clip": (rng.random(len(names)) < 0.5).astype(np.int64),
    }
    scaled = Scaled.from_features(features)
    near = {name: close_to_another(scaled, codes, 0.1) for name, codes in halves.items()}
    speech = np.array([not name.startswith("_silence_") for name in names])
    assert (near["by speaker"] & speech).sum() == 0
    assert (near["by speaker"] & ~speech).sum() > 100
    assert (near["by clip"] & speech).sum() > 50
