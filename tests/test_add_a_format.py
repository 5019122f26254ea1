"""A layout of trial lists is two lines, as CONTRIBUTING.md says: all else follows from them."""

import pytest

from truecost.cli import run
from truecost.formats import read, trial_lists
from truecost.formats.trial_lists import LAYOUTS, WORDS, Layout
from truecost.names import FORMATS
from truecost.tasks import find

LINES = "target a-1 b-1 2.5\nnontarget a-1 c-1 -1.25\n"


@pytest.fixture
def added(monkeypatch):
    """The two lines, taken away after the test."""
    monkeypatch.setitem(LAYOUTS, "mine", Layout(("label", "enroll", "test", "score"), WORDS))
    for known in (FORMATS, find("trials").formats.texts):
        monkeypatch.setitem(known, "mine", "label enroll test score (label target or nontarget)")


@pytest.mark.usefixtures("added")
def test_a_layout_is_recognised_converted_and_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores").write_text(LINES, encoding="utf-8")
    table = read("scores")
    assert table.layout == "mine: label enroll test score"
    assert table.columns == ["id", "enroll", "test", "score", "label"]
    assert run(["convert", "scores", "-o", "scores.csv"]) == 0
    assert run(["convert", "scores.csv", "-o", "again", "--output-format", "mine"]) == 0
    assert (tmp_path / "again").read_text(encoding="utf-8") == LINES
    capsys.readouterr()
    assert run(["list", "formats"]) == 0
    assert "mine " in capsys.readouterr().out


@pytest.mark.usefixtures("added")
def test_a_broken_line_of_it_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores").write_text(LINES + "target a-1 d-1 high\n", encoding="utf-8")
    assert run(["convert", "scores", "-o", "scores.csv"]) == 3
    assert "scores, line 3: the score 'high' is not a number" in capsys.readouterr().err


def test_the_layout_is_gone_afterwards():
    assert "mine" not in trial_lists.LAYOUTS
    assert "mine" not in FORMATS
