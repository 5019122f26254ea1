"""`truecost demo person`: ten sounds that are made here and kept, and what it says when it is run
again.
"""

import csv
import wave
from pathlib import Path

import numpy as np
import pytest

from robots import LINK, Robot
from truecost import cli
from truecost.person.demo import SECONDS, write_clips
from truecost.person.store import Store

OUT = Path("truecost-demo-person")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The clips of the demo."""
    return write_clips(tmp_path_factory.mktemp("demo") / "clips")


def rows_of(table):
    with table.open() as file:
        return list(csv.DictReader(file))


def test_the_table_names_the_sounds_that_lie_beside_it(made):
    rows = rows_of(made)
    assert {f"{row['id']}.wav" for row in rows} == {p.name for p in made.parent.glob("*.wav")}
    wavers = [row["label"] == "wavers" for row in rows]
    assert sum(wavers) == len(rows) / 5
    assert len({k % 5 for k, one in enumerate(wavers) if one}) == 5  # their order tells nothing
    for row in rows:
        with wave.open(str(made.parent / f"{row['id']}.wav")) as file:
            length = file.getnframes() / file.getframerate()
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        assert length == SECONDS
        assert 20_000 < np.abs(samples.astype(int)).max() < 32_767  # heard, and not clipped


def test_what_wavers_is_what_the_label_says(made):
    """The pitch of short pieces moves, or it does not."""
    found = {"wavers": [], "steady": []}
    for row in rows_of(made):
        with wave.open(str(made.parent / f"{row['id']}.wav")) as file:
            samples, rate = np.frombuffer(file.readframes(1 << 20), "<i2"), file.getframerate()
        pieces = np.lib.stride_tricks.sliding_window_view(samples, 1024)[512:-512:512]
        power = np.abs(np.fft.rfft(pieces * np.hanning(1024), 1 << 15)) ** 2
        low, high = (round(f * (1 << 15) / rate) for f in (180, 530))
        pitch = power[:, low:high].argmax(axis=1) + low
        found[row["label"]].append(pitch.std() / pitch.mean())
    assert np.median(found["wavers"]) > 5 * np.median(found["steady"])
    assert min(found["wavers"]) > max(found["steady"])  # each clip can be told by ear


def test_clips_are_made_once_and_are_the_same_everywhere(made, tmp_path):
    again = write_clips(tmp_path / "clips")
    assert again.read_bytes() == made.read_bytes()
    names = [path.name for path in made.parent.iterdir()]
    assert all(
        (tmp_path / "clips" / n).read_bytes() == (made.parent / n).read_bytes() for n in names
    )
    again.write_text("mine")
    write_clips(tmp_path / "clips")
    assert again.read_text() == "mine"


def answered(running, *words):
    """Run the demo with somebody who knows the clips; what was asked, and what was said."""
    run = running("demo", "person", *words)
    link = run.links()["me"]
    folder = Path(words[1]) if words else OUT
    labels = {row["id"]: row["label"] for row in rows_of(folder / "clips" / "clips.csv")}
    told = {p.read_bytes(): labels[p.stem] for p in (folder / "clips").glob("*.wav")}
    right = {"wavers": "yes", "steady": "no"}
    robot = Robot(link, lambda _, hear: {"label": right[told[hear()]]}, think=0.01).start()
    code, out, err = run.end()
    assert (code, robot.failure) == (0, None), err
    return robot.questions, out, err


def test_ten_sounds_are_answered_and_everything_is_kept(tmp_path, monkeypatch, running):
    monkeypatch.chdir(tmp_path)
    asked, out, err = answered(running)
    assert len(asked) == 10
    assert all(question["sound"] and not question["image"] for question in asked)
    assert {question["ask"] for question in asked} == {"Does the tone waver?"}
    assert "imlm_seconds" in out
    assert "clips, answers and report are in truecost-demo-person" in err
    assert {"clips", "answers.sqlite", "report.html", "logs"} <= {p.name for p in OUT.iterdir()}
    with Store(OUT / "answers.sqlite") as store:
        sounds = [store.media(q["sound"].split("/")[2])[0] for q in asked]
    assert all(Path(sound).is_file() for sound in sounds)  # what was heard can be heard again
    result = (OUT / "result.json").read_bytes()
    again = running("demo", "person")
    code, out, err = again.end()
    assert code == 0
    assert not LINK.search(err)
    assert "have answers in" in err
    assert "choose another --output to answer anew" in err
    assert (OUT / "result.json").read_bytes() == result


def test_a_folder_of_something_else_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("x")
    assert cli.run(["demo", "person", "-o", "mine"]) == 2
    assert "mine: exists and is not empty" in capsys.readouterr().err
    assert [p.name for p in Path("mine").iterdir()] == ["notes.txt"]


def test_the_study_is_printed_as_it_stands_in_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["demo", "person", "--print-config"]) == 0
    out = capsys.readouterr().out
    assert 'file = "clips/clips.csv"' in out
    assert 'folder = "clips"' in out
    assert not any(tmp_path.iterdir())  # nothing is made
