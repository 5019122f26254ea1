"""What quick commands print and write is what it was; UPDATE_GOLDEN=1 writes it anew.

`scripts/golden REV` compares much more, with the package of any commit.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import truecost
from golden.comparing import differences
from golden.making import make
from golden.pages import HERE, sections

KEPT = HERE / "kept"
QUICK = dict(sections((HERE / "quick.md").read_text(encoding="utf-8")))
FORMS = (".txt", ".json", ".md")  # what is kept of what commands write: no pages, no tables
FRAME = re.compile("[│╭╮╰╯─]+")
VERSIONS = re.compile(r"((?:sacrebleu|rapidfuzz|version)[:\"/ ]+)\d+\.\d+[\w.]*")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return place


def test_help(folder, tmp_path, monkeypatch):
    """In a process of its own: an application keeps the width and the commands that it once had."""
    source = Path(truecost.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (source, HERE.parent))))
    job = {"name": "help", "text": "", "target": str(tmp_path / "made"), "source": str(source)}
    job |= {"places": {}, "needs": []}
    program = [sys.executable, HERE / "making.py"]
    subprocess.run(program, input=json.dumps(job), text=True, check=True)
    for path in (tmp_path / "made").iterdir():
        lines = FRAME.sub("", path.read_text(encoding="utf-8")).splitlines()
        path.write_text("".join(f"{line.strip()}\n" for line in lines), encoding="utf-8")
    assert_kept(tmp_path / "made", KEPT / "help")


@pytest.mark.parametrize("name", QUICK)
def test_commands(name, folder, tmp_path):
    made = tmp_path / "made"
    make(name, QUICK[name], folder, made, {str(folder): "FOLDER"})
    for path in [p for p in made.rglob("*") if p.is_file()]:
        written = path.parent != made
        if path.suffix not in FORMS or (written and path.parent.name == "001"):
            path.unlink()  # the first block makes the data
        else:
            path.write_text(rounded(path), encoding="utf-8")
    assert_kept(made, KEPT / name)


def rounded(path: Path) -> str:
    """A file's text: no versions of libraries, and of numbers what all machines agree on."""
    text = path.read_text(encoding="utf-8")
    if path.name == "result.json":
        content = json.loads(text, parse_float=nine_digits)
        content.pop("versions", None)
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return VERSIONS.sub(r"\1VERSION", text)


def nine_digits(number: str) -> float:
    """A number of JSON with 9 significant digits; what is all but 0 is 0."""
    value = float(number)
    return float(f"{value:.9g}") if abs(value) > 1e-12 else 0.0


def assert_kept(made: Path, kept: Path) -> None:
    """Compare two folders, or write the one that is kept."""
    if os.environ.get("UPDATE_GOLDEN"):
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(made, kept)
    assert kept.is_dir(), "UPDATE_GOLDEN=1 makes what is kept"
    found = "".join(differences(kept, made, 20))
    assert not found, f"{found}UPDATE_GOLDEN=1 writes this, if it is meant"
