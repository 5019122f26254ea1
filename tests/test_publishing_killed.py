"""A result is never lost: when a process that publishes is ended, the next one finds it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import killed
import nursery
from truecost import cli
from truecost.formats.publishing import ASIDE, aside, publish, tidy
from truecost.study import check_target

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
FIRST = {"arrays": "", "arrays/x.npy": "old", "gates.md": "old", "result.json": "old"}
AFTER = {"arrays": "", "arrays/y.npy": "new", "page.html": "new", "result.json": "new"}
SCORES = "id,label,score\n" + "".join(f"{k},{k % 2},{k % 2 + k % 5}\n" for k in range(40))
MAIN = """
import os, sys
from itertools import count
from truecost.__main__ import main
at, seen = int(sys.argv.pop(1)), count()
def hook(event, arguments):
    if event == "os.rename" and ".truecost-" in f"{arguments[:2]}" and next(seen) == at:
        os.kill(os.getpid(), 9)
sys.addaudithook(hook)
sys.argv[0] = "truecost"
main()
"""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed") / "out"
    done = subprocess.run(
        [sys.executable, killed.__file__, str(folder)], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_at_every_event_the_old_or_the_new_result_is_whole(rounds):
    assert {r["status"] for r in rounds} == {-signal.SIGKILL, -signal.SIGTERM, 130, 0}
    for found in rounds:
        assert found["tidied"] in (FIRST, AFTER), found
        assert found["again"] == AFTER, found
    hidden = [r for r in rounds if r["left"].get("result.json") is None]
    assert len(hidden) > 10  # the test did end processes between two moves
    assert {len(r["ends"]) for r in rounds} == {1, 2}


def test_an_interruption_hides_nothing(rounds):
    interrupted = [r for r in rounds if r["status"] == 130]
    assert len(interrupted) > 40
    for found in interrupted:
        shown = {n: text for n, text in found["left"].items() if not n.startswith(ASIDE)}
        assert shown == found["tidied"], found


def test_what_is_being_written_is_left_alone(tmp_path):
    with aside(tmp_path) as mine:
        (mine / "draft").write_text("half")
        tidy(tmp_path)
        check_target(str(tmp_path))  # no reason to refuse the folder
        publish({tmp_path / "a": "a", tmp_path / "b": "b"})
        assert (mine / "draft").read_text() == "half"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_what_is_no_folder_of_ours_stays(tmp_path):
    (tmp_path / f"{ASIDE}notes").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / f"{ASIDE}link").symlink_to("elsewhere")
    tidy(tmp_path)
    tidy(tmp_path / "missing")
    assert len([*tmp_path.rglob("*")]) == 4


def test_what_an_earlier_version_hid_comes_back(tmp_path):
    for name in ("new/page.html", "old/result.json"):
        place = tmp_path / f"{ASIDE}abc" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    tidy(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def killed_at(at, *arguments):
    """Run a command in a process that is killed before the n-th move of a file."""
    words = ["-c", MAIN, at, *arguments]
    assert nursery.python(words).wait() == -signal.SIGKILL


@pytest.fixture
def scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(SCORES)
    how = ("--type", "score", "--measure", "auc", "--replicates", "50")
    score = ["score", "a.csv", *how, "-q", "-o", "out"]
    Path("out", f"{ASIDE}abc").mkdir(parents=True)  # a kill left a folder without a result
    assert cli.run(score) == 0
    return score


# Every event is tried above, in the function that a command calls.
@pytest.mark.parametrize("at", [2, pytest.param(5, marks=pytest.mark.long)])
def test_a_killed_command_loses_no_result(scored, at, capfd):
    before = Path("out/result.json").read_bytes()
    other = [*scored, "--seed", "7"]
    killed_at(at, *other)
    assert not Path("out/result.json").exists()
    assert cli.run(["gate", "out", "--gate", "auc:min_lower=0"]) == 0
    assert Path("out/result.json").read_bytes() == before
    assert not [*Path("out").glob(f"{ASIDE}*")]
    killed_at(at, *other)
    capfd.readouterr()
    assert cli.run(other) == 0
    assert capfd.readouterr().err == ""
    assert Path("out/result.json").read_bytes() != before
    assert not [*Path("out").glob(f"{ASIDE}*")]
