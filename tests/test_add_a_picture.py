"""A picture is one function: that of CONTRIBUTING.md is drawn, stored and downloaded like all."""

import dataclasses
import sys

import pytest

import truecost.tasks.trials as of_trials
from test_add_a_measure import CHOICES, SYSTEMS, block_of
from truecost.cli import run
from truecost.report.story import page_of


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The module of the guide among those of the task, its section on the page."""
    module, text = block_of("src/truecost/tasks/trials", "reviewed")
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(of_trials, "__path__", [*of_trials.__path__, str(tmp_path)])
    name = f"{of_trials.__name__}.{module}"
    __import__(name)
    page = page_of("trials")
    more = dataclasses.replace(page, sections=(*page.sections, sys.modules[name].review))
    monkeypatch.setattr("truecost.tasks.trials.page.PAGE", more)
    yield sys.modules[name]
    del sys.modules[name]
    delattr(of_trials, module)


def test_it_names_no_pixel_and_is_short(added):
    import inspect

    text = inspect.getsource(added.reviewed)
    assert len(text.splitlines()) <= 40
    assert not {"width", "height", "px", "#"} & {*text.replace("(", " ").split()}


def test_it_stands_on_the_page_and_is_written_alone(added, tmp_path, capsys):
    target = tmp_path / "result"
    assert run(["compare", *SYSTEMS, *CHOICES, "-o", str(target)]) == 0
    page = (target / "report.html").read_text(encoding="utf-8")
    assert "Review by a person" in page
    assert "accepted at the threshold in use" in page
    file = tmp_path / "reviewed.svg"
    assert run(["report", str(target), "--figure", "reviewed", "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith("<svg")
    capsys.readouterr()


def test_the_test_of_the_guide_passes(added):
    module, text = block_of("tests", "reviewed")
    names = {}
    exec(compile(text, f"{module}.py", "exec"), names)
    names["test_accepted_items_are_reviewed"]()
