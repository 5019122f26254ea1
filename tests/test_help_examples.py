"""Every command shows one example, and its options are those that the command has."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from test_docs import execute, in_shell
from truecost.cli import GLOBAL, METHODS, PROTOCOL, app
from truecost.cli.helping import flowing
from truecost.tasks import find, names

COMMANDS = [
    *(f"{task} {verb}" for task in names() for verb in find(task).verbs),
    *(f"{task} {name}" for task in names() for name, *_ in find(task).commands),
    *(f"{task} run" for task in names()),
    "leaderboard bundle",
    *(name for name, *_ in GLOBAL),
    *(f"methods {name}" for name, *_ in METHODS),
    *(f"protocol {name}" for name, *_ in PROTOCOL),
]
KEPT = Path(__file__).parent / "golden" / "kept" / "help"  # what test_golden.py compares


def joined(typed):
    """The words of a command that takes several lines, each of which ends in a backslash."""
    return typed.replace("\\\n", " ").split()


@pytest.mark.parametrize("command", COMMANDS)
def test_one_example_with_options_that_there_are(command):
    text = (KEPT / f"{command.replace(' ', '-')}.txt").read_text(encoding="utf-8")
    examples = re.findall(r"^Example: (truecost (?:.+\n)+)", text, re.MULTILINE)
    assert len(examples) == 1
    words = shlex.split(" ".join(joined(examples[0])))
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
    assert not re.search(r"\b(STR|INT|FLOAT|ARGS)\b", text)
    assert {*re.findall(r"^--?\S+(?: -\w)? TEXT", text, re.MULTILINE)} <= {
        "--ask TEXT",
        "--title TEXT",
    }


WAITS = {"annotate"}  # for people
TRAINS = {"methods run"}  # a program of the reader
LEAKS = {"protocol check"}  # in the demo, so that the exit code is 3, as the help says
LIVE = {"streams run", "streams sweep", "lifelong run"}  # minutes of learning
FILES = re.compile(r"^The files of this example: ((?:.+\n)+)", re.MULTILINE)


def files_and_example(command):
    """The commands that make the files of an example, and the example itself."""
    text = (KEPT / f"{command.replace(' ', '-')}.txt").read_text(encoding="utf-8")
    made = FILES.search(text)
    [example] = re.findall(r"^Example: (truecost (?:.+\n)+)", text, re.MULTILINE)
    return " ".join(joined(made[1])) if made else "", " ".join(joined(example))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Folders with the files of examples, made once for each line that makes them."""
    made = {}

    def place_of(files):
        if files not in made:
            made[files] = tmp_path_factory.mktemp("example")
            with chdir(made[files]):
                for one in filter(None, files.split(" && ")):
                    code, said = execute(one)
                    assert code == 0, (one, said)
        return made[files]

    return place_of


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in TRAINS])
def test_examples_run_as_written(command, places):
    files, example = files_and_example(command)
    place = places(files)
    if command in WAITS | LIVE:
        named = re.findall(r"[\w.-]+\.(?:csv|toml)", example)
        assert named
        assert all((place / name).exists() for name in named)
        return
    with chdir(place):
        code, said = (in_shell if " -- " in example else execute)(example)
    assert code == (3 if command in LEAKS else 0), said


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
