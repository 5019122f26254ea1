"""Lazy packages: each name is found, and a package imports none of its files before it is used."""

import ast
import pickle
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from truecost.errors import need
from truecost.lazy import PLACES

SOURCE = Path(__file__).parents[1] / "src" / "truecost"
PACKAGES = {
    ".".join(("truecost", *path.parent.relative_to(SOURCE).parts)): path
    for path in sorted(SOURCE.rglob("__init__.py"))
}
LAZY = {p: path for p, path in PACKAGES.items() if "attach(" in path.read_text(encoding="utf-8")}
NOT_LAZY = {
    "truecost.tasks.trials",
    "truecost.cli",
    "truecost.kernels",
}  # its applications; what every kernel needs
EAGER = {  # what a package may import beside itself and those that it lies in
    "truecost": {"truecost.lazy"},
    "truecost.tasks": {  # what a face is made of, plain data
        "truecost.errors",
        "truecost.formats",
        "truecost.formats.declared",
        "truecost.names",
        "truecost.face",
    },
    # It states its options, which the command line reads.
    "truecost.calibration": {"truecost.errors", "truecost.names", "truecost.options"},
}


def stated_names(path: Path) -> set[str]:
    """The public names that a type checker sees in a package."""
    [block] = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.If)]
    found = set()
    for node in block.body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets}
        else:
            found |= {alias.name for alias in node.names if alias.name == alias.asname}
    return found


def test_places_that_are_named_in_texts_are_there():
    """`module:name` is imported when it is used: a file that moved is found here, not there."""
    missing = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"truecost(\.\w+)+:\w*[^\W_]", text):
                module, name = text.split(":")
                if find_spec(module) is None or not hasattr(import_module(module), name):
                    missing.append(f"{path.relative_to(SOURCE)}, line {node.lineno}: {text}")
    assert not missing


def test_other_packages_import_nothing():
    for package in {*PACKAGES} - {*LAZY} - NOT_LAZY:
        body = ast.parse(PACKAGES[package].read_text(encoding="utf-8")).body
        assert not [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)], package


@pytest.mark.parametrize("package", LAZY)
def test_types_places_and_all_agree(package):
    assert set(import_module(package).__all__) == {*PLACES[package]} == stated_names(LAZY[package])


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_found_whatever_was_imported_before(package):
    room = import_module(package)
    for name, (module, made) in PLACES[package].items():
        home = import_module(module)
        value = getattr(home, made) if made else home
        assert getattr(room, name) is value
        assert name in dir(room)
        if callable(value):
            assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("package", LAZY)
def test_modules_of_the_package_are_found(package):
    room = import_module(package)
    for path in LAZY[package].parent.glob("[a-z]*.py"):
        if path.stem not in PLACES[package]:
            assert isinstance(getattr(room, path.stem), ModuleType)


@pytest.mark.parametrize("package", LAZY)
def test_names_that_are_not_there(package):
    room = import_module(package)
    for name in ("no_such_name", "_hidden", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute '{name}'"):
            getattr(room, name)
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec(f"from {package} import no_such_name")


@pytest.mark.parametrize("package", LAZY)
def test_a_package_imports_nothing_of_what_it_names(package):
    asked = f"import sys, {package}; print(*(n for n in sys.modules if n.startswith('truecost')))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    parts = package.split(".")
    around = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    allowed = around.union(*(EAGER.get(room, set()) for room in around))
    assert {*done.stdout.split()} <= allowed


def test_warnings_of_an_optional_package_that_python_compiles_are_not_ours(tmp_path, monkeypatch):
    """Its sources are compiled at their first import: `python -W error` must not end there."""
    (tmp_path / "escapes_badly.py").write_text('FOUND = "\\X"\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(SyntaxError):
        import_module("escapes_badly")
    assert need("escapes_badly", "speech").FOUND == "\\X"
