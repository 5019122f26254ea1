"""The pages of the golden corpus: those of the documentation, with further commands."""

import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKING = HERE / "making.py"
NEEDS = re.compile(r"^<!-- needs: (.+?) -->$", re.MULTILINE)
PAGES = ("README.md", "docs/*.md", "docs/advice/*.md", "examples/*/README.md")


@dataclass(frozen=True)
class Job:
    """A page: its name in the corpus, its text, and the files that it finds in its folder."""

    name: str
    text: str
    needs: tuple[Path, ...] = ()

    @property
    def digest(self) -> str:
        """What the result depends on beside the package."""
        given = [MAKING.read_text(encoding="utf-8"), self.text, *map(str, self.needs)]
        return hashlib.sha256("\0".join(given).encode()).hexdigest()


def all_jobs(tree: Path, shared: Path, long: bool, only: str) -> Iterator[Job]:
    """The pages of a tree, with the further commands of the corpus; those that can be run."""
    further, quick = (
        dict(sections((HERE / f"{name}.md").read_text(encoding="utf-8")))
        for name in ("commands", "quick")
    )
    pages = {"help": "every command"}
    for path in (p for pattern in PAGES for p in sorted(tree.glob(pattern))):
        name = str(path.relative_to(tree).with_suffix(""))
        pages[name] = path.read_text(encoding="utf-8") + further.pop(name, "")
    pages |= {f"commands/{name}": text for name, text in further.items()}
    pages |= {f"quick/{name}": text for name, text in quick.items()}
    for name, text in ((n, text) for n, text in pages.items() if only in n):
        named = (need for found in NEEDS.findall(text) for need in found.split(", "))
        needs = tuple(place(need, tree, shared) for need in named)
        lacking = [str(need) for need in needs if not need.exists()]
        if "<!-- long -->" in text and not long:
            say(f"skipped: {name} takes long (--long runs it)")
        elif lacking:
            say(f"skipped: {name} needs {', '.join(lacking)}")
        elif name == "help" or "```console" in text or "```python" in text:
            yield Job(name, text, needs)


def sections(page: str) -> Iterator[tuple[str, str]]:
    """The sections of a page of commands by their headings."""
    _, *parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    yield from zip(parts[::2], parts[1::2], strict=True)


def place(need: str, tree: Path, shared: Path) -> Path:
    """Where a needed file or folder lies."""
    first, *others = Path(need).parts
    return shared.joinpath(*others).resolve() if first == "shared" else tree / need


def say(text: str) -> None:
    """Tell the person what happens."""
    sys.stderr.write(f"{text}\n")
