"""What leads nowhere in the documentation as it is written, before it is built: file, line, what.

Of README, CONTRIBUTING, CHANGELOG and every page in docs/ this checks that
- each relative link leads to a file, and its anchor to a heading (named as myst names it) or to a
  target `(name)=` there; what GitHub shows only links to headings, as it knows no other anchors;
- every page of docs/ is in a table of contents, once, and is reached from docs/index.md;
- links elsewhere are https, well formed, and of a host of HOSTS. Nothing is fetched, there is no
  network here: that such a page exists has to be looked at by whoever adds its host;
- every picture exists and has a text for those who do not see it;
- nothing is left to be done, and no link was written so that it is none.
tests/test_docs.py builds the site and follows the links of what was built.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import compute_unique_slug
from myst_parser.parsers.mdit import create_md_parser

ROOT = Path(__file__).resolve().parents[1]
HOSTS = {"github.com", "keepachangelog.com", "pypi.org", "semver.org"}  # looked at by hand
GITHUB = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")  # shown by GitHub too
LEVELS = 3  # myst_heading_anchors of docs/conf.py
UNDONE = re.compile(r"\b(TODO|FIXME|TBD|XXX)\b")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
NO_LINK = re.compile(r"\]\([^)]*\)|\]\[")  # in what is text: a blank in an address, say


@dataclass
class Page:
    """What a page links to, and what of it can be linked to; lines count from 1."""

    path: Path
    links: list[tuple[int, str]] = field(default_factory=list)
    pictures: list[tuple[int, str, str]] = field(default_factory=list)  # source, alternative text
    headings: set[str] = field(default_factory=set)  # anchors of headings, of any level
    anchors: set[str] = field(default_factory=set)  # those that myst makes, and targets
    contents: list[tuple[int, str, bool]] = field(default_factory=list)  # entry, whether a pattern
    odd: list[tuple[int, str]] = field(default_factory=list)


def read(path: Path) -> Page:
    """A page, parsed as myst parses it."""
    page, text = Page(path), path.read_text(encoding="utf-8")
    parser = create_md_parser(MdParserConfig(enable_extensions={"deflist"}), RendererHTML)
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "heading_open":
            heading = SyntaxTreeNode(tokens[at : at + 3], create_root=False)
            slug = compute_unique_slug(heading, page.headings)
            page.headings.add(slug)
            if int(token.tag[1]) <= LEVELS:
                page.anchors.add(slug)
        elif token.type == "myst_target":
            page.anchors.add(token.content)
        elif token.type == "fence" and token.info.strip() == "{toctree}":
            page.contents += entries(token, line)
        elif token.type == "fence" and token.info.startswith("{include} "):
            page.anchors |= included(path, token.info.split()[1])
        elif token.type == "inline":
            add_inline(page, token, line)
    for number, written in enumerate(text.splitlines(), 1):
        page.odd += [
            (number, f"{found[0]} is left to be done") for found in UNDONE.finditer(written)
        ]
    return page


def included(path: Path, place: str) -> set[str]:
    """The anchors that a page has from another one that it takes in."""
    other = path.parent / place
    return read(other).anchors if other.exists() else set()


def entries(token: Token, line: int) -> Iterator[tuple[int, str, bool]]:
    """The pages of a table of contents, and whether the entry is a pattern."""
    rows = [row.strip() for row in token.content.splitlines()]
    pattern = ":glob:" in rows
    for offset, row in enumerate(rows, 1):
        if row and not row.startswith(":"):
            yield line + offset, row, pattern


def add_inline(page: Page, token: Token, line: int) -> None:
    """Add the links and pictures of a paragraph, heading or cell."""
    for part in token.children or ():
        if part.type in ("softbreak", "hardbreak"):
            line += 1
        elif part.type == "link_open":
            page.links.append((line, str(part.attrs["href"])))
        elif part.type == "image":
            page.pictures.append((line, str(part.attrs["src"]), part.content.strip()))
        elif part.type == "text" and NO_LINK.search(part.content):
            page.odd.append((line, f"{part.content.strip()!r} was to be a link and is none"))


def faults(root: Path, made: dict[str, set[str]] | None = None) -> list[str]:
    """Everything that is wrong: file, line and what; `made` are anchors that directives make."""
    docs = sorted(p for p in (root / "docs").rglob("*.md") if "_build" not in p.parts)
    pages = {p: read(p) for p in [*(root / name for name in GITHUB), *docs] if p.exists()}
    for name, anchors in (made or {}).items():
        pages[root / name].anchors |= anchors
    found = []
    for path, page in pages.items():
        wrong = [*page.odd, *wrong_links(page, pages, root), *wrong_pictures(page)]
        found += [f"{path.relative_to(root)}:{line}: {what}" for line, what in sorted(wrong)]
    return found + wrong_contents({path: pages[path] for path in docs}, root)


def wrong_links(page: Page, pages: dict[Path, Page], root: Path) -> Iterator[tuple[int, str]]:
    """Links that lead nowhere."""
    for line, link in page.links:
        away = ADDRESS.match(link)
        what = wrong_address(link) if away else wrong_target(page, link, pages, root)
        if what:
            yield line, f"{link}: {what}"


def wrong_address(link: str) -> str:
    """What is wrong with a link to elsewhere, by its shape alone; empty when nothing is."""
    parts = urlsplit(link)
    if parts.scheme != "https":
        return "links elsewhere begin with https:"
    if not re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc) or re.search(r"\s|%20", link):
        return "this is no address"
    if parts.netloc not in HOSTS:
        where = "HOSTS in tests/docs_links.py"
        return f"{parts.netloc} is no host of {where}: look at the page, then add it"
    return ""


def wrong_target(page: Page, link: str, pages: dict[Path, Page], root: Path) -> str:
    """What is wrong with a relative link; empty when nothing is."""
    place, anchor = urldefrag(link)
    path = (page.path.parent / unquote(place)).resolve() if place else page.path
    if not path.exists():
        return "there is no such file"
    if not path.is_relative_to(root):
        return "this leaves the repository"
    if not anchor:
        return ""
    if path not in pages:
        return "only pages of the documentation have anchors"
    target = pages[path]
    if page.path.parent == root:
        return "" if anchor in target.headings else "GitHub knows no such heading there"
    return "" if anchor in target.anchors else "there is no such heading or target"


def wrong_pictures(page: Page) -> Iterator[tuple[int, str]]:
    """Pictures that are missing or say nothing to those who do not see them."""
    for line, source, alternative in page.pictures:
        if not (page.path.parent / source).is_file():
            yield line, f"{source}: there is no such picture"
        if len(alternative.split()) < 2:
            yield line, f"{source}: the picture has no alternative text that says what it shows"


def wrong_contents(pages: dict[Path, Page], root: Path) -> list[str]:
    """Entries of tables of contents that lead nowhere, and pages that no table leads to, or two."""
    found, children = [], {path: [] for path in pages}
    for path, page in pages.items():
        for line, entry, pattern in page.contents:
            there = (
                sorted(path.parent.glob(f"{entry}.md"))
                if pattern
                else [path.parent / f"{entry}.md"]
            )
            there = [p for p in there if p in pages and p != path]
            if not there:
                found.append(f"{path.relative_to(root)}:{line}: {entry}: no page of that name")
            children[path] += there
    reached, waiting = set(), [root / "docs" / "index.md"]
    while waiting:
        page_path = waiting.pop()
        if page_path not in reached:
            reached.add(page_path)
            waiting += children.get(page_path, [])
    every = [child for there in children.values() for child in there]
    for path in pages:
        if path not in reached:
            found.append(f"{path.relative_to(root)}: no table of contents leads to this page")
        elif every.count(path) > 1:
            found.append(
                f"{path.relative_to(root)}: {every.count(path)} tables of contents have this page"
            )
    return found
