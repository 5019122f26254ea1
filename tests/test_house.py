"""The house: imports point down its tiers, and every room says what it is about."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "truecost"
TIERS = (
    ("cli", "__main__"),
    # One tier until the files of the tasks have moved into their folders.
    ("calls",),
    ("arguments", "verbs"),
    ("memory", "phrasing"),
    ("face", "running", "report", "study", "task", "tasks"),
    ("gates",),
    ("learning", "protocol"),
    (
        "batches",
        "captions",
        "citations",
        "corrections",
        "formats",
        "speech",
        "estimates",
        "comparison",
        "results",
        "intervals",
        "leaderboard",
        "methods",
        "replication",
        "resources",
        "scopes",
        "scoring",
        "simultaneous",
        "single_runs",
        "subsets",
        "variance",
        "warned",
    ),
    ("measures", "calibration"),
    (
        "evidence",
        "sweep",
        "tally",
        "ranking",
        "slots",
        "splits",
        "weights",
        "drawing",
        "factors",
        "jackknife",
        "runs",
        "application",
        "bayes",
    ),
    ("kernels",),
    ("flag_texts", "options"),
    (
        *("advice", "digits", "errors", "extras", "flags", "lazy", "names", "publishing"),
        *("version", "widths"),
    ),
)
# The table of tasks is light, and everybody's: their insides are not.
TABLE = {"DEFAULT", "TABLE", "faults", "find", "names"}
TIER = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}
FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    """The room that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file it does."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "truecost":
            parts = (node.module or "").split(".")[1:]
            named = {alias.name for alias in node.names}
            if parts != ["face"] and (parts != ["tasks"] or not named <= TABLE):
                rooms |= {parts[0]} if parts else named
        elif isinstance(node, ast.Import):
            rooms |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("truecost.")
            }
    return rooms


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    room = room_of(path)
    for other in imports_of(path) - {room}:
        assert TIER[room] <= TIER[other], f"{path}: {room} may not import {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_tasks_learning_and_protocol_do_not_know_each_other(path):
    apart = {"tasks", "learning", "protocol"}
    if room_of(path) in apart:
        assert not imports_of(path) & apart - {room_of(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_relative_imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_is_short_and_says_what_it_is_about(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 500


def test_kernels_take_no_frames_and_no_files():
    for path in (SOURCE / "kernels").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "polars" not in text
        assert "open(" not in text


def test_only_the_command_line_exits():
    for path in FILES:
        if room_of(path) not in ("cli", "__main__"):
            text = path.read_text(encoding="utf-8")
            assert "sys.exit" not in text, path
            assert "SystemExit" not in text, path
