"""Every example in the documentation runs and prints what it says, and the site builds.

In a page, examples share one namespace and one empty folder, in the order of the page:
- `python` blocks with `>>>` print what follows; others are executed;
- a `python` block that opens with a comment such as `# tests/test_mine.py` is that file;
- in `console` blocks each `$ ` line runs in the folder, and what follows is what it prints
  (standard output and standard error, as a terminal shows them).
A page that says `<!-- needs: PATH, ... -->` finds these files and folders, of the repository or of
`shared/` beside it, in its folder by their last names; it is skipped where `shared` is missing.
A block below `<!-- with: NAME -->` runs where a command or module of this name is installed, or a
folder of `shared/` is there; elsewhere it is left out, and the page skipped after the others ran.
A picture beside a page that a command of the page draws has the words of what it draws now.
A block below `<!-- first -->` runs before the others, wherever it stands on the page.
A page that says `<!-- long -->` takes a minute or more: it runs with the long studies.
`truecost` runs in the process of the tests, and a shell is given what it printed and its exit code;
on a page that says `<!-- processes -->` it runs wherever the shell starts it.
`...` in an output stands for any text. UPDATE_DOCS=1 writes what is printed now into the pages.
"""

import contextlib
import difflib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

import truecost
from browser import require, started, until
from truecost.cli import run
from truecost.report.pictures import chosen
from truecost.study.directory import stored_story
from truecost.tasks import find, names
from truecost.tasks.measures import forget

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "advice").glob("*.md"))
PAGES += sorted((ROOT / "docs" / "showcase").glob("*.md"))
PAGES += sorted((ROOT / "examples").glob("*/README.md"))
FOUND = [m.name for m in pkgutil.walk_packages(truecost.__path__, "truecost.")]
MODULES = ["truecost", *(m for m in FOUND if not m.endswith("__main__"))]
SHOWING = [m for m in MODULES if ">>> " in Path(find_spec(m).origin).read_text(encoding="utf-8")]
FENCE = re.compile(r"^(`{3,})(python|console)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
WITH = re.compile(r"^<!-- with: (\S+) -->\n\Z", re.MULTILINE)  # before a block
FIRST = "<!-- first -->\n"  # before a block
NEEDS = re.compile(r"^<!-- needs: (.+?) -->$", re.MULTILINE)
SHELL = re.compile(r"[|<>;&$*`]")  # what needs a shell, outside of quotes
REST = re.compile(r" (?=\||[12]?>)")  # where the shell goes on with what a command printed
BESIDE = re.compile(
    r"^!\[[^]]*\]\(([\w-]+\.svg)\)$", re.MULTILINE
)  # a picture in the folder of the page
DRAWN = re.compile(r"^\$ truecost report (\w+) --figure (\w+) -o ([\w-]+\.svg)$", re.MULTILINE)
QUOTED = re.compile(r"'.*?'|\".*?\"")
REPLAY = 'replay() { cat "$FOLDER/err" >&2; cat "$FOLDER/out"; return "$CODE"; }; replay '


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty working folder; modules written into its src/truecost/tasks are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    measures = {name for task in names() for name in find(task).measures}
    for package in measures | {name.rpartition(".")[0] for name in measures}:
        module = importlib.import_module(package)
        if hasattr(module, "__path__"):
            written = tmp_path / "src" / package.replace(".", "/")
            monkeypatch.setattr(module, "__path__", [*module.__path__, str(written)])
    before = set(sys.modules)
    forget()
    yield tmp_path
    forget()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def marked(page: Path) -> Any:
    """A page as a parameter of tests, marked where it takes long."""
    text, marks = page.read_text(encoding="utf-8"), []
    if "<!-- long -->" in text:
        marks.append(pytest.mark.long)
    return pytest.param(page, marks=marks)


@pytest.mark.parametrize("page", [*map(marked, PAGES)], ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_of_a_page(page, folder, request):
    text, names = page.read_text(encoding="utf-8"), {"__name__": "__main__"}
    for needed in NEEDS.findall(text):
        provide(needed.split(", "), folder, request)
    apart = "<!-- processes -->" in text
    lacking: dict[str, None] = {}

    def again(found: re.Match[str]) -> str:
        wanted = WITH.search(text[: found.start()])
        if wanted and not there(wanted[1], folder):
            lacking[wanted[1]] = None
            return found[0]
        return rerun(found, names, folder, apart=apart)

    found = {block.start(): again(block) for block in in_order(text)}
    now = FENCE.sub(lambda block: found[block.start()], text)
    beside = {*BESIDE.findall(text)}
    for out, figure, name in (found for found in DRAWN.findall(text) if found[2] in beside):
        narrow = folder / "narrow" / name  # the same picture for phones
        narrow.parent.mkdir(exist_ok=True)
        narrow.write_text(chosen(stored_story(folder / out), figure).svg(360.0), encoding="utf-8")
        beside |= {f"narrow/{name}"}
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(now, encoding="utf-8")
        for name in beside:
            (page.parent / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(folder / name, page.parent / name)
    elif now != text:
        lines = (text.splitlines(keepends=True), now.splitlines(keepends=True))
        pytest.fail("".join(difflib.unified_diff(*lines, f"{page}", "what it prints", n=1)))
    for name in beside:
        assert words_of(folder / name) == words_of(page.parent / name), f"{page.name}: {name}"
    if lacking:
        pytest.skip(f"{page.name}: all but the blocks of {', '.join(lacking)}, not installed here")


def in_order(text: str) -> list[re.Match[str]]:
    """The blocks of a page in the order in which they run."""
    return sorted(
        FENCE.finditer(text), key=lambda block: not text.endswith(FIRST, 0, block.start())
    )


def words_of(picture: Path) -> list[str]:
    """What a picture says; its coordinates may differ between machines."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", picture.read_text(encoding="utf-8"))


def there(name: str, folder: Path) -> bool:
    """Whether a command, a module, or a folder of `shared/` is there; the last is linked."""
    if name.startswith("shared/"):
        base = ROOT.parent / name
        if base.exists() and not (folder / base.name).exists():
            (folder / base.name).symlink_to(base)
        return base.exists()
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(name, path=places):
        return True
    with contextlib.suppress(ModuleNotFoundError):
        return find_spec(name) is not None
    return False


def provide(paths: list[str], folder: Path, request: pytest.FixtureRequest) -> None:
    """Put what a page needs into its folder; skip the page where the shared data are missing."""
    for path in map(Path, paths):
        shared = path.parts[0] == "shared"
        base = request.getfixturevalue("shared").parent if shared else ROOT
        assert (base / path).exists(), f"the page needs {path}, which is not there"
        (folder / path.name).symlink_to(base / path)


def rerun(found: re.Match[str], names: dict[str, Any], folder: Path, *, apart: bool = False) -> str:
    """The block with the output that it has now."""
    fence, language, block = found.groups()
    if language == "console":
        block = "".join(typed_again(block, apart=apart))
    elif ">>> " in block:
        block = "".join(printed_again(block, names))
    else:
        write_file(block, folder)
        exec(compile(block, fence + language, "exec"), names)
    return f"{fence}{language}\n{block}{fence}"


def write_file(block: str, folder: Path) -> None:
    """Write the block into the file that its first line names, if it does."""
    named = re.match(r"# ((?:src|tests)/\S+\.py)\n", block)
    if named:
        path = folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
        importlib.invalidate_caches()
        forget()


def printed_again(block: str, names: dict[str, Any]) -> Iterator[str]:
    """The doctest examples of a block, run."""
    for part in doctest.DocTestParser().parse(block):
        if isinstance(part, str):
            yield part
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(part.source, "<example>", "single"), names)
            except Exception as error:
                printed.write("Traceback (most recent call last):\n    ...\n")
                printed.writelines(traceback.format_exception_only(error))
        first, *more = part.source.splitlines()
        yield f">>> {first}\n"
        yield from (f"... {line}".rstrip() + "\n" for line in more)
        found = agreed(part.want, printed.getvalue())
        yield found if found == part.want else re.sub(r"(?m)^$(?=\n)", "<BLANKLINE>", found)


def typed_again(block: str, *, apart: bool = False) -> Iterator[str]:
    """The commands of a block, run."""
    code = 0
    _, *parts = COMMAND.split(block)
    for typed, wanted in zip(parts[::2], parts[1::2], strict=True):
        code, printed = execute(typed.replace("\\\n", " ").replace("$?", str(code)), apart=apart)
        yield f"$ {typed}\n"
        yield agreed(wanted, "".join(line.rstrip() + "\n" for line in printed.splitlines()))


def agreed(wanted: str, printed: str) -> str:
    """What the page says where that holds, otherwise what was printed."""
    holds = doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS)
    return wanted if holds else printed


def execute(command: str, *, apart: bool = False) -> tuple[int, str]:
    """Exit code and everything printed; `apart`: what a shell reads of a command, it starts too."""
    bare = QUOTED.sub(lambda text: "_" * len(text[0]), command)
    rest = REST.search(bare)
    end = rest.start() if rest and not apart else len(command)
    words = shlex.split(command[:end])
    if words[0] != "truecost" or SHELL.search(bare[:end]) or (rest and "-" in words):
        return in_shell(command)
    out = io.StringIO()
    if not rest:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return run(words[1:]), out.getvalue()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words[1:])
    with tempfile.TemporaryDirectory() as kept:
        for name, said in (("out", out), ("err", err)):
            Path(kept, name).write_text(said.getvalue(), encoding="utf-8")
        return in_shell(REPLAY + command[end:], FOLDER=kept, CODE=str(code))


def in_shell(command: str, **more: str) -> tuple[int, str]:
    """Exit code and everything printed by what a shell starts."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ | {"PATH": path} | more,
    )
    return done.returncode, done.stdout


def test_every_module_can_be_imported():
    for module in MODULES:
        importlib.import_module(module)


@pytest.mark.parametrize("module", SHOWING)
def test_examples_of_docstrings(module, folder):
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(test, out=said.write)
    assert not said.getvalue(), said.getvalue()


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and not re.match(r"[a-z]+:", value):
                self.links.append(value)


def built(source: Path, folder: Path, builder: str, more: str = "") -> Path:
    """A site with the settings of docs/conf.py and more; any warning is a failure."""
    conf, site = ROOT / "docs" / "conf.py", folder / "html"
    settings = conf.read_text(encoding="utf-8").replace("__file__", repr(str(conf)))
    settings += f"html_static_path = [{str(ROOT / 'docs' / '_static')!r}]\n"
    (folder / "conf.py").write_text(settings + more, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", builder]
    done = subprocess.run(
        [*command, "-c", str(folder), "-d", str(folder / "doctrees"), str(source), str(site)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


MADE_UP = """# Made up

Version M_1 and its p_fa at t_j, as `M_1`.

| tool | what it reads | limits |
|---|---|---|
| one | tables that have a row for each item | 10 rows |
| two | lines of text | |

| system, with a long name | cost | errors |
|---|---|---|
| one, which was trained on all of the data | 0.5 | 12 |
"""


def test_the_site_has_settings_subscripts_and_lists_on_phones_of_tables_of_texts_only(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "index.md").write_text(MADE_UP, encoding="utf-8")
    # The reference and the formulas want all that is public on the pages.
    more = 'extensions[-2:], html_math_renderer = [], "mathjax"\n'
    text = (built(tmp_path / "source", tmp_path, "html", more) / "index.html").read_text("utf-8")
    assert "--code-font-size" in text
    begin, texts, figures = text.split("<table")
    assert re.findall("<em>(.)</em><sub>(.)</sub>", begin) == [("M", "1"), ("t", "j")]
    assert "p_fa" in begin
    assert "list-on-narrow-screens" in texts.partition(">")[0]
    assert re.findall('data-column="(.*?)"', texts) == ["what it reads", "limits", "what it reads"]
    assert "list-on-narrow-screens" not in figures
    assert "data-column" not in figures


def test_every_page_of_the_site_is_read_and_its_references_found_without_warnings(tmp_path):
    """As the site is built, but no page is written, which takes half of the time."""
    built(ROOT / "docs", tmp_path, "dummy")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT / "docs", tmp_path_factory.mktemp("site"), "html")


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("leaderboard", "glossary.html#term-leaderboard"),  # not the names that contain it
        ("DER", "glossary.html#term-DER"),
        ("diarization", "diarization.html"),  # not a longer word of the glossary
        ("Codabench", "tutorial-organiser.html"),  # not the function of the reference
        ("MLflow", "report.html"),  # not the changelog
    ],
)
def test_a_search_leads_to_the_page_for_a_reader_first(site, word, first):
    require()
    with started() as browser:
        tab = browser.new_page()
        tab.goto(f"{(site / 'search.html').as_uri()}?q={word}")
        found = "document.querySelector('ul.search li a')?.getAttribute('href')"
        assert until(tab, found).replace("?highlight=" + word.lower(), "") == first


@pytest.mark.long
def test_the_site_builds_without_warnings_and_its_links_hold(site):
    """Links between the pages are also looked at in their sources (test_docs_links.py)."""
    pages = {page: Links(page) for page in site.rglob("*.html")}
    assert len(pages) > len(list((ROOT / "docs").glob("*.md")))
    for page, found in pages.items():
        for link in found.links:
            path, anchor = urldefrag(link)
            target = (page.parent / unquote(path.split("?")[0])).resolve() if path else page
            assert target.exists(), f"{page.name}: {link} leads nowhere"
            assert target not in pages or anchor in pages[target].anchors, f"{page.name}: {link}"
