"""The house: imports point down its tiers, and every room says what it is about."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "truecost"
TIERS = (
    ("cli", "__main__"),
    ("calls", "calling"),
    ("arguments", "verbs"),
    ("learning.live", "protocol.study"),
    ("tasks",),
    ("outputs",),
    ("face", "report", "running", "study", "task"),
    ("pictures",),
    ("gates",),
    ("engines", "learning", "person", "protocol"),
    ("corrections", "formats", "resources"),
    ("speech",),
    ("calibration",),
    ("core",),
    ("kernels",),
    ("options", "prices"),
    ("advice", "errors", "lazy", "names", "version"),
)
# The table of tasks is light, and everybody's: their insides are not.
TABLE = {"DEFAULT", "TABLE", "added", "faults", "find", "measures", "names"}
# Commands and tables of a task for the terminal: imported by the command line only, by their names.
COMMANDS = {"commands", "terminal"}
TIER = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}
FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    """The room that a file belongs to."""
    return room(path.relative_to(SOURCE).with_suffix("").parts)


def room(parts) -> str:
    """The room of a module, given without the name of the package."""
    if parts[0] == "tasks" and len(parts) > 2 and parts[2] in COMMANDS:
        return "cli"
    if tuple(parts[:2]) in {("learning", "live"), ("protocol", "study")}:
        return ".".join(parts[:2])
    return parts[0]


@cache
def text_of(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def read(path: Path) -> tuple[str | None, list[ast.Import | ast.ImportFrom]]:
    """What a file says that it is about, and its imports wherever they stand."""
    tree = ast.parse(text_of(path))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.get_docstring(tree), imports


@cache
def imports_of(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file it does."""
    rooms = set()
    for node in read(path)[1]:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "truecost":
            parts = (node.module or "").split(".")[1:]
            named = {alias.name for alias in node.names}
            light = parts == ["face"] or parts[:2] == ["tasks", "measures"] or named == {"MAP_KEYS"}
            if not light and (parts != ["tasks"] or not named <= TABLE):
                rooms |= {room([*parts, name]) for name in named}
        elif isinstance(node, ast.Import):
            rooms |= {
                room(alias.name.split(".")[1:])
                for alias in node.names
                if alias.name.startswith("truecost.")
            }
    return rooms


def told(faults: Iterator[str]) -> str:
    """All faults of a law, one a line."""
    return "\n".join(faults)


def test_imports_point_down():
    assert not told(
        f"{path}: {room_of(path)} may not import {other}"
        for path in FILES
        for other in sorted(imports_of(path) - {room_of(path)})
        if TIER[room_of(path)] > TIER[other]
    )


def test_tasks_learning_and_protocol_do_not_know_each_other():
    apart = {"tasks", "learning", "protocol"}
    assert not told(
        f"{path}: {room_of(path)} may not know {other}"
        for path in FILES
        if room_of(path) in apart
        for other in sorted(imports_of(path) & apart - {room_of(path)})
    )


def test_no_relative_imports():
    assert not told(
        f"{path}:{node.lineno}: a relative import"
        for path in FILES
        for node in read(path)[1]
        if isinstance(node, ast.ImportFrom) and node.level
    )


def test_a_file_says_what_it_is_about():
    assert not told(f"{path}: no docstring" for path in FILES if not read(path)[0])


def test_places_are_there():
    named = {
        (path, module, name)
        for path in FILES
        for module, name in re.findall(r'"truecost\.([a-z_.]+):(\w+)"', text_of(path))
    }
    assert named
    homes = {p.relative_to(SOURCE).with_suffix("").as_posix(): p for p in FILES}
    homes |= {p.parent.relative_to(SOURCE).as_posix(): p for p in FILES if p.stem == "__init__"}
    assert not told(
        f"{path}: {module}:{name} is not there"
        for path, module, name in sorted(named)
        if (home := homes.get(module.replace(".", "/"))) is None
        or not re.search(rf"\b{name}\b|def __getattr__", text_of(home))
    )


def test_files_that_the_guide_names_are_there():
    guide = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", guide, flags=re.DOTALL | re.MULTILINE)
    root = SOURCE.parents[1]
    files = (*FILES, *(root / "tests").rglob("*.py"), *(root / "docs/_ext").glob("*.py"))
    named = {n for n in re.findall(r"`([\w/.]+\.py)`", prose) if "TASK" not in n}
    assert not told(
        n for n in sorted(named) if not any(p.as_posix().endswith(f"/{n}") for p in files)
    )


def test_a_file_is_short():
    lengths = {path: len(text_of(path).splitlines()) for path in FILES}
    assert not told(f"{path}: {n} lines" for path, n in lengths.items() if n > 400)


def test_kernels_take_no_frames_and_no_files():
    for path in (SOURCE / "kernels").glob("*.py"):
        text = text_of(path)
        assert "polars" not in text
        assert "open(" not in text


def test_only_the_command_line_exits():
    for path in FILES:
        if room_of(path) not in ("cli", "__main__"):
            text = text_of(path)
            assert "sys.exit" not in text, path
            assert "SystemExit" not in text, path
