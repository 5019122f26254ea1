"""Every command shows one example, and its options are those that the command has."""

import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from truecost.cli import GLOBAL, METHODS, PROTOCOL, app
from truecost.cli.helping import flowing
from truecost.face import VERBS
from truecost.tasks import find, names

DEMO = files("truecost") / "data" / "demo"
COMMANDS = [
    *(f"{task} {verb}" for task in names() for verb in find(task).verbs),
    *(f"{task} {name}" for task in names() for name, *_ in find(task).commands),
    *(name for name, *_ in GLOBAL),
    *(f"methods {name}" for name, *_ in METHODS),
    *(f"protocol {name}" for name, *_ in PROTOCOL),
]


NAMED = re.compile(
    r"^The (?:files?|study) of this example: truecost demo (\w+) --files-only$", re.MULTILINE
)
KEPT = Path(__file__).parent / "golden" / "kept" / "help"  # what test_golden.py compares


@pytest.mark.parametrize("command", COMMANDS)
def test_one_example_with_options_that_there_are(command):
    text = (KEPT / f"{command.replace(' ', '-')}.txt").read_text(encoding="utf-8")
    examples = re.findall(r"^Example: (truecost (?:.+\n)+)", text, re.MULTILINE)
    assert len(examples) == 1
    words = shlex.split(examples[0].replace("\n", " "))
    words = words[: words.index("--")] if "--" in words else words
    called = " ".join(words[1:]).replace("trials ", "")
    assert called.startswith(command.replace("trials ", ""))
    flags = {word for word in words if re.match(r"--?[a-z]", word)}
    known = {*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text.replace(examples[0], ""))}
    assert flags <= known
    assert "..." not in {*words}
    app.parse_args(words[1:], exit_on_error=False, print_error=False)
    for wrong in ("unless given", "default: ", "Default: ()", 'Default: ""', "Default: None"):
        assert wrong not in text, wrong


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_files_that_a_demo_copies(command):
    text = (KEPT / f"{command.replace(' ', '-')}.txt").read_text(encoding="utf-8")
    if (named := NAMED.search(text)) is None:
        task, _, verb = command.partition(" ")
        assert task == "methods" or verb not in VERBS, "its files are not shipped"
        return
    name = named[1]
    shipped = {path.name for path in (DEMO if name == "trials" else DEMO / name).iterdir()}
    [example] = re.findall(r"^Example: (truecost (?:.+\n)+)", text, re.MULTILINE)
    words = shlex.split(example)
    written = {words[words.index("-o") + 1]} if "-o" in words else set()
    asked = {w.partition("=")[2] or w for w in words if re.search(r"\.[a-z]+$", w)} - written
    assert asked
    assert asked <= shipped


def test_a_wide_terminal_shows_each_description_in_one_line():
    """The ends of lines of a docstring are not those of the screen."""
    for command in ("score", "lifelong score"):
        line = [sys.executable, "-m", "truecost", *command.split(), "--help"]
        wide = {**os.environ, "COLUMNS": "500"}
        shown = subprocess.run(line, env=wide, capture_output=True, text=True, check=True)
        assert not re.findall(r"^│ {8,}\S.*", shown.stdout, re.MULTILINE)
    assert flowing("Intervals of\n    a cost") == "Intervals of a cost"
    assert (
        flowing("A list:\n\n- one\n- two\n\nEnd\nhere.") == "A list:\n\n- one\n- two\n\nEnd here."
    )
