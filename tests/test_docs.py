"""Every example in the documentation runs and prints what it says, and the site builds.

In a page, examples share one namespace and one empty folder, in the order of the page:
- `python` blocks with `>>>` are doctests, others are executed;
- a `python` block that opens with a comment such as `# src/truecost/measures/mine.py` is that file;
- in `console` blocks each `$ ` line runs in the folder, and what follows is what it prints
  (standard output and standard error as a terminal shows them); `...` stands for any text.
"""

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

import pytest

import truecost
import truecost.measures
from truecost.cli import run
from truecost.measures import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = ["truecost", *(m.name for m in pkgutil.walk_packages(truecost.__path__, "truecost."))]
FENCE = re.compile(r"^(`{3,})(python|pycon|console)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"[|<>;&$*`]")
OPTIONS = doctest.ELLIPSIS


class Example(NamedTuple):
    """One fenced block of a page."""

    language: str
    text: str
    line: int


def examples_of(page: Path) -> list[Example]:
    """The blocks of a page that are to run."""
    text = page.read_text(encoding="utf-8")
    return [Example(m[2], m[3], text.count("\n", 0, m.start(3))) for m in FENCE.finditer(text)]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty working folder; measures written into its src/truecost/measures are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    places = [*truecost.measures.__path__, str(tmp_path / "src/truecost/measures")]
    monkeypatch.setattr(truecost.measures, "__path__", places)
    before = set(sys.modules)
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_of_a_page(page, folder):
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples_of(page):
        where = f"{page.name}, line {example.line}"
        if example.language == "console":
            run_console(example, where)
        elif ">>> " in example.text:
            run_doctest(example, names, str(page))
        else:
            write_file(example, folder)
            exec(compile(example.text, where, "exec"), names)


def write_file(example: Example, folder: Path) -> None:
    """Write the block into the file that its first line names, if it does."""
    named = re.match(r"# ((?:src|tests)/\S+\.py)\n", example.text)
    if named:
        path = folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.text, encoding="utf-8")
        importlib.invalidate_caches()
        registry.cache_clear()


def run_doctest(example: Example, names: dict[str, Any], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(
        example.text, names, where, where, example.line
    )
    test.globs = names  # the parser copies them; later blocks see what earlier ones define
    check_doctest(test)


def check_doctest(test: doctest.DocTest) -> None:
    said = io.StringIO()
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.write, clear_globs=False)
    assert not said.getvalue(), said.getvalue()


def run_console(example: Example, where: str) -> None:
    code = 0
    for command, wanted in commands_of(example.text):
        code, printed = execute(command.replace("$?", str(code)))
        want, got = stripped(wanted), stripped(printed)
        assert doctest.OutputChecker().check_output(want, got, OPTIONS), (
            f"{where}: $ {command}\n--- the page says\n{want}--- but it prints\n{got}"
        )


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Each `$ ` line (continued by a backslash) with the lines after it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.replace("\\\n", " ").partition("\n")
        yield command, printed


def execute(command: str) -> tuple[int, str]:
    """Exit code and everything printed; plain truecost commands run in this process."""
    words = shlex.split(command)
    if words[0] == "truecost" and not SHELL.search(re.sub(r"'.*?'|\".*?\"", "", command)):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = run(words[1:])
        return code, printed.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    return done.returncode, done.stdout


def stripped(text: str) -> str:
    """Lines without trailing blanks, nor empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n") + "\n"


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module, folder):
    if module == "truecost.__main__":
        pytest.skip("runs the command line when it is imported")
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module)):
        check_doctest(test)


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (name == "href" and tag in ("a", "link")) or name == "src":
                self.links.append(value or "")


def test_the_site_builds_without_warnings_and_its_links_hold(tmp_path):
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(ROOT / "docs"), str(site)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = {p: Links(p.read_text(encoding="utf-8")) for p in site.rglob("*.html")}
    for page, found in pages.items():
        for link in found.links:
            if re.match(r"[a-z]+:", link):
                assert not link.startswith("http:"), f"{page.name}: {link}"
                continue
            path, anchor = urldefrag(link.split("?")[0] if "#" not in link else link)
            target = (page.parent / unquote(path.split("?")[0])).resolve() if path else page
            assert target.exists(), f"{page.name}: {link} leads nowhere"
            if target in pages and page.name not in ("genindex.html", "search.html"):
                assert anchor in pages[target].anchors, f"{page.name}: {link} has no such anchor"
