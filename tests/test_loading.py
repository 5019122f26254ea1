"""Measures and formats load per task, and a task of another distribution brings its own."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import truecost as tc
from truecost import tasks
from truecost.cli import run
from truecost.core.measure import Measure
from truecost.errors import UsageError
from truecost.face import Face
from truecost.formats import read
from truecost.formats.declared import TABLES, Formats
from truecost.tasks.measures import find, forget, registry

SOURCE = Path(tc.__file__).parent
READERS = {
    *("events", "event_rows", "kwslist", "ecf", "terms", "arrays"),
    *("seglst", "segments", "tables", "transcripts", "trial_lists"),
}
COMMON = ("truecost.tasks.measures", "truecost.resources.measures")


def imported(code: str, *arguments: str) -> set[str]:
    """The modules of truecost that a new process has imported after this code."""
    code += "\nimport sys; print(*(m for m in sys.modules if m.startswith('truecost.')), sep='\\n')"
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return {line for line in found.stdout.splitlines() if line.startswith("truecost.")}


@pytest.mark.parametrize("task", tasks.TABLE)
def test_the_measures_of_a_task_are_loaded_alone(task):
    asked = list(registry(task))[-1]  # so that all of them are looked through
    code = f"from truecost.tasks.measures import find\nfind({asked.rpartition('/')[2]!r}, {task!r})"
    found = imported(code)
    of_measures = {name for name in found if ".measures" in name}
    own = (*tasks.find(task).measures, "truecost.core.measure", *COMMON)
    assert [name for name in of_measures if not name.startswith(own)] == []
    assert set(tasks.find(task).measures) <= found


def test_a_measure_is_loaded_without_those_of_other_modules():
    code = "from truecost.tasks.measures import find\nfind('eer', 'trials')"
    found = {name.rpartition(".")[2] for name in imported(code) if ".trials.measures." in name}
    assert found == {"decisions", "losses", "thresholds"}


def test_every_module_with_measures_is_searched():
    found = {measure.name for measure in registry().values()}
    for path in sorted(SOURCE.rglob("*.py")):
        if re.search(r"^MEASURES\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            listed = importlib.import_module(".".join(("truecost", *parts))).MEASURES
            lost = {m.name for m in listed if isinstance(m, Measure)} - found
            assert not lost, (
                f"{path} has measures that nobody finds ({', '.join(sorted(lost))}): move it into "
                f"the folder that `measures` of the task's Face names, or name it there"
            )


def test_a_name_is_found_without_its_task():
    code = "from truecost.tasks.measures import find\nassert find('wer').parts == ('words',)"
    found = imported(code)
    assert "truecost.tasks.transcripts.measures" in found
    assert "truecost.tasks.terms.measures" not in found
    assert find("wer") is find("wer", "transcripts") is find("wer", "diarization")


def test_every_measure_is_of_a_task():
    found = {key: m for task in tasks.names() for key, m in registry(task).items()}
    assert found == registry()


@pytest.mark.parametrize(
    ("name", "text", "task", "readers"),
    [
        ("a.csv", "id,score\na,1\n", "trials", {"tables"}),
        ("a.txt", "e t 1.5 target\n", "trials", {"segments", "tables", "trial_lists"}),
        ("a.trn", "words (a)\n", "transcripts", {"transcripts", "plain"}),
        ("a.rttm", "SPEAKER r 1 0 1 <NA> <NA> A <NA>\n", "diarization", {"segments"}),
    ],
)
def test_the_readers_of_a_format_are_loaded_alone(tmp_path, name, text, task, readers):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    code = "import sys\nfrom truecost.formats import read\nread(sys.argv[1], None, sys.argv[2])"
    found = {m.rpartition(".")[2] for m in imported(code, str(path), task) if ".formats." in m}
    assert found & READERS <= readers


def test_a_plain_score_enters_few_files():
    """So that who follows it through the code reads little; the rest is there when it is asked."""
    path = Path(str(SOURCE / "data" / "demo" / "network.csv"))
    code = "import sys\nfrom truecost.cli import run\nrun(['score', *sys.argv[1:]])"
    found = imported(code, str(path), "--type", "llr", "--quiet")
    assert len(found) <= 88, sorted(found)


@pytest.mark.parametrize("folder", ["core", "core/intervals", "formats"])
def test_what_tasks_share_names_no_task(folder):
    others = {*tasks.TABLE} - {"streams", "terms"}  # who reads logs; files of searches
    for path in sorted((SOURCE / folder).glob("*.py")):
        said = {
            n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)
        }
        assert not said & others, path


MEASURES = """
from truecost.core.measure import Measure


def halved(totals, application):
    return totals.sums("words", "reference") / 2, 1.0


MEASURES = (Measure("halved", halved, ("words",), "Half of the words", "lower", "nobody"),)
"""
READER = """
import polars as pl

from truecost.formats import Table


def read_mine(data, source):
    lines = data.decode().splitlines()
    return Table(source, pl.DataFrame({"id": lines}), first_line=1)
"""


@dataclass(frozen=True)
class Point:
    """An entry point."""

    name: str
    face: Face
    value: str = "mine:FACE"
    dist: None = None

    def load(self) -> Face:
        return self.face


FACE = Face(
    name="mine",
    title="Mine",
    work="mine_work:WORK",
    measures=("mine_measures",),
    map_keys={"colour": "what it looks like"},
    formats=Formats(
        of="mine",
        holds="lines of mine",
        texts={"mine": "an id a line (.mine)", **TABLES},
        readers={"mine": "mine_reader:read_mine"},
        endings={".mine": "mine"},
        columns=("colour",),
    ),
)


@pytest.fixture
def plugged(tmp_path, monkeypatch) -> Iterator[str]:
    """The name of a task of another distribution."""
    (tmp_path / "mine_measures").mkdir()
    (tmp_path / "mine_measures" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "mine_measures" / "halves.py").write_text(MEASURES, encoding="utf-8")
    (tmp_path / "mine_reader.py").write_text(READER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tasks, "added", lambda: {"mine": (Point("mine", FACE),)})
    forget()
    tasks.find.cache_clear()
    tasks.face_or_fault.cache_clear()
    importlib.invalidate_caches()
    yield "mine"
    forget()
    tasks.find.cache_clear()
    tasks.face_or_fault.cache_clear()
    for name in ("mine_measures", "mine_measures.halves", "mine_reader"):
        sys.modules.pop(name, None)


def test_the_measures_of_a_plug_in_are_found(plugged, capsys):
    assert [*registry(plugged)] == ["mine/halved"]  # no name of others can be in its way
    assert find("halved", plugged) is find("mine/halved") is registry()["mine/halved"]
    with pytest.raises(UsageError, match="did you mean 'halved'"):
        find("halfed", plugged)
    assert run(["list", "measures", "--json"]) == 0
    [listed] = [m for m in json.loads(capsys.readouterr().out) if m["name"] == "halved"]
    assert listed["tasks"] == ["mine"]


def test_the_formats_of_a_plug_in_are_read(plugged, capsys):
    Path("a.mine").write_text("one\ntwo\n", encoding="utf-8")
    table = read("a.mine", task=plugged)
    assert (table.format, table.columns, len(table)) == ("mine", ["id"], 2)
    Path("a.txt").write_text("colour,n\nred,1\n", encoding="utf-8")
    assert read("a.txt", task=plugged).layout == "csv: colour n"
    assert len(read("a.txt", "mine", plugged)) == 2
    with pytest.raises(UsageError, match="'trn' is not known for mine: choose one of mine, csv"):
        read("a.txt", "trn", plugged)
    assert run(["list", "formats"]) == 0
    assert "an id a line (.mine); for mine" in capsys.readouterr().out
    assert run(["list", "map"]) == 0
    assert "what it looks like (mine)" in capsys.readouterr().out
