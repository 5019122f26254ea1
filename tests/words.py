"""Words and patterns that no user should read, and the texts that users read.

One word for one thing, and sentences whose subject can do what the verb says. A pattern that finds
more right uses than wrong ones does not belong here.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "truecost"
START = r"(?:^|(?<=[.!?] )|(?<=\n))"  # of a text, a sentence or a heading
SECTION = (
    r"^(?:Parameters|Attributes|Returns|Yields)\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)"  # of numpydoc
)
HEADED = SECTION.replace("Returns|Yields", "Raises")
DATA = r"(?:figure|table|score|picture|result|row|column|interval|log)"


@dataclass(frozen=True)
class Pattern:
    """What is looked for (a regular expression), what to write instead, and where it is right."""

    find: str
    say: str
    right: str = ""  # a regular expression on "PATH: the text around", where the pattern is allowed
    why: str = ""


PATTERNS = (
    # One word for one thing.
    Pattern(r"naive reference", "naive baseline"),
    Pattern(r"(?:the|a|no) naive (?:system|value|answer)|naive systems", "the naive baseline"),
    Pattern(r"beyond doubt", "better or worse"),
    Pattern(r"nothing decided|decides? nothing", "inconclusive"),
    Pattern(r"\bmiss_rate\b|(?<!-)\b(?:pmiss|pfa)\b", "p_miss, p_fa"),
    Pattern(r"what (?:the )?(?:trials|items) share", "unit column"),
    Pattern(r"\binterval that holds\b", "confidence interval"),
    Pattern(r"\bbeware\b", "warning"),
    Pattern(r"\d %(?! ?\d|\})", "95%", right="at most 10 % false alarms", why="the name of a cell"),
    Pattern(r"\bunless (?:given|said|told|named)\b", "Default: VALUE"),
    Pattern(
        r"\bpaper \d{3}\b",
        "author and year",
        right=r"^\S+: f?paper|citations",
        why="the source of a measure, which lists and pages show by author and year",
    ),
    Pattern(
        r"\bclusters?\b",
        "unit",
        right=r"statisticians|of (?:machines|computers)|[Rr]ay\b|engines|scale|diariz",
        why="explained once on a page; machines; the clusters of a diarizer",
    ),
    Pattern(
        r"\bsubmissions?\b",
        "system",
        right=r"leaderboard|[Cc]hallenge|[Vv]alid|[Cc]heck|organiser|boards?\b|[Rr]ank|odabench|\.txt",
        why="leaderboards and challenges have submissions",
    ),
    Pattern(
        r"\b(?:a|each|every|both|several|other|two|these) deployments?\b|\bdeployments\b",
        "system",
        right=r"abba|AB/BA|A/B",
        why="an A/B deployment is meant",
    ),
    # Subjects that cannot do what the verb says.
    Pattern(
        rf"\b{DATA} (?:says|tells|knows|claims|(?:does not|cannot) (?:say|tell|know))\b", "shows"
    ),
    Pattern(rf"\b(?:data|{DATA}s) (?:do not |cannot )?(?:say|tell|know|claim)\b", "show"),
    Pattern(
        r"\b(?:is|are|was|were|be|been|being) told\b(?! apart)", "is reported, is set, is known"
    ),
    Pattern(r"\bat hand\b", "available"),
    Pattern(r"\bhangs? together\b", "are correlated"),
    Pattern(r"\bknows better\b", "corrects for this"),
    Pattern(r"\bthan (?:it|they) (?:says?|claims?|promises?)\b", "than its nominal level"),
    Pattern(r"\bmeans? harm\b", "hostile"),
    Pattern(
        r"\bgoes with\b",
        "is for, needs",
        right=r"levels of one|a target that nothing",
        why="pairs of things",
    ),
    Pattern(r"\btaken off again\b", "subtracted"),
    Pattern(r"\bwhat tells the class\b", "spurious correlations"),
    Pattern(r"\band its like\b", "and similar measures"),
    Pattern(r"\bcomes? along\b", "shipped with the package"),
    # Headless relatives and inversions.
    Pattern(
        rf"{START}(?:What(?! to do$)|Who|Whoever|Whose)\b[^.?!\n]*(?:[.!:]|$)",
        "a noun phrase, or a sentence with a subject",
    ),
    Pattern(r"\bwhich no \w+ (?:can|may|does|do|has|is)\b", "that cannot"),
)

# Beginnings of field descriptions, which are read alone: of parameters, attributes and results.
FIELDS = (
    Pattern(
        r"^(?:What|Which|Who|Whose|Where|How|When|That|Those|None|Of|In (?:the )?order)\b",
        "a noun phrase: name of the system, say",
    ),
    Pattern(r"^(?:As|By|From|With|Without|Only)\b", "a noun phrase, then what is said of it"),
    Pattern(r"^(?:Its|Their|The same|Likewise)\b", "the noun itself, with its owner"),
)


@dataclass(frozen=True)
class Text:
    """A text that users read: its file, its first line there, and the text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """A text with a banned word, and the word."""

    text: Text
    found: str
    pattern: Pattern

    def __str__(self) -> str:
        return f"{self.text.file}:{self.text.line}: {self.found[:90]!r} -> {self.pattern.say}"


def findings(texts: Iterator[Text], patterns: tuple[Pattern, ...] = PATTERNS) -> list[Finding]:
    """All banned words of these texts."""
    return [
        Finding(text, match.group(), pattern)
        for text in texts
        for pattern in patterns
        for match in re.finditer(pattern.find, text.text)
        if not (pattern.right and re.search(pattern.right, f"{text.file}: {text.text}"))
    ]


def source() -> Iterator[Text]:
    """Texts of the package: strings of several words, docstrings, tables of texts, templates."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield from python(path)
    for path in sorted((SOURCE / "data").glob("*.toml")):
        for text in strings(tomllib.loads(path.read_text(encoding="utf-8"))):
            yield Text(name(path), 1, text)
    for path in (SOURCE / "person" / "static" / "texts.js", SOURCE / "report" / "page.html.j2"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield Text(name(path), number, line)


def python(path: Path) -> Iterator[Text]:
    """Strings of several words of a Python file, f-strings whole, and its public docstrings."""
    tree = tree_of(path)
    apart = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in private(tree):
        if ast.get_docstring(node):
            apart.add(id(node.body[0].value))
    for node in ast.walk(tree):
        if id(node) not in apart and isinstance(node, ast.Constant | ast.JoinedStr):
            text = written(node)
            if len(text.split()) > 1:
                yield Text(name(path), node.lineno, text)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def fields() -> Iterator[Text]:
    """Descriptions of parameters, attributes and results in public docstrings of the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield from fields_of(path)


def fields_of(path: Path) -> Iterator[Text]:
    """Descriptions of the fields in public docstrings of a Python file, whole."""
    tree = tree_of(path)
    apart = {id(node) for node in private(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and id(node) not in apart:
            doc = ast.get_docstring(node) or ""
            for section in re.finditer(SECTION, doc, re.DOTALL | re.MULTILINE):
                for field in re.finditer(r"(?:^(?: +\S.*)?\n?)+", section[1], re.MULTILINE):
                    line = doc.count("\n", 0, section.start(1) + field.start())
                    if field.group().strip():
                        text = " ".join(field.group().split())
                        yield Text(name(path), node.body[0].lineno + line, text)


def heads() -> Iterator[Text]:
    """Names of parameters, attributes and errors, each on a line of its own, with the type."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                doc = ast.get_docstring(node) or ""
                for section in re.finditer(HEADED, doc, re.DOTALL | re.MULTILINE):
                    for head in re.findall(r"^\S.*", section[1], re.MULTILINE):
                        yield Text(name(path), node.lineno, head)


def private(node: ast.AST, within: bool = False) -> Iterator[ast.AST]:
    """Functions and classes that are private, within private ones, or within functions."""
    for child in ast.iter_child_nodes(node):
        own = within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own = within or child.name.startswith("_")
            if own:
                yield child
        yield from private(child, own or isinstance(child, ast.FunctionDef))


def written(node: ast.expr) -> str:
    """The text of a string in Python, with {} for what an f-string fills in."""
    text = ""
    for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
        if not isinstance(part, ast.Constant):
            text += "{}"
        elif isinstance(part.value, str):
            text += part.value
    return "\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))


def strings(tree: object) -> Iterator[str]:
    """All strings of a tree of tables and lists."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from strings(value)


def pages() -> tuple[Path, ...]:
    """The pages of the documentation, and those at the root."""
    roots = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
    return (*(ROOT / r for r in roots), *sorted((ROOT / "docs").rglob("*.md")))


def page(path: Path) -> Iterator[Text]:
    """The prose of a page by paragraph, heading, item and row, without code and its output."""
    text = path.read_text(encoding="utf-8")
    for pattern in (r"^( *)(`{3,}|~{3,}).*?^\1\2", r"<!--.*?-->", r"^---\n.*?^---\n"):
        text = re.sub(pattern, blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]+`", "`code`", text)
    text = re.sub(r"\]\([^)\n]*\)", "]", text)
    kept: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begins = re.match(r"\s*(#|[-*] |\d+\. |\||$)", line)
        if begins and kept:
            yield Text(name(path), kept[0][0], " ".join(t.strip(" #*|-[") for _, t in kept))
            kept = []
        if line.strip():
            kept.append((number, line))
        if re.match(r"#", line):
            yield Text(name(path), number, line.strip(" #"))
            kept = []


def blank(match: re.Match[str]) -> str:
    """As many empty lines as a match has, so that lines keep their numbers."""
    return "\n" * match.group().count("\n")


@cache
def name(path: Path) -> str:
    """A file's name from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
