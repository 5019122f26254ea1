"""Compare two corpora file by file."""

import difflib
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

WIDEST = 500  # characters of a line that are shown
PARTS = re.compile(r"(?=<)|(?<=[>,;])")  # a page is compared by tags and by what commas part
HEADING = re.compile(r"<h[123][^>]*>(.*?)</h[123]>", re.DOTALL)


def files(folder: Path) -> dict[str, Path]:
    """The files of a corpus by their names in it."""
    found = (p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".job"))
    return {str(p.relative_to(folder)): p for p in found}


def differences(old: Path, new: Path, lines: int) -> Iterator[str]:
    """A text for each file that differs or that one of the folders lacks."""
    before, after = files(old), files(new)
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"lost: {name}\n"
        elif name not in before:
            yield f"new: {name}\n"
        else:
            yield from unlike(name, before[name], after[name], lines)


def unlike(name: str, old: Path, new: Path, lines: int) -> Iterator[str]:
    """What differs in a file, if anything does."""
    before, after = (path.read_text(encoding="utf-8") for path in (old, new))
    if before == after:
        return
    page = name.endswith(".html")
    one, other = (split(text) if page else text.split("\n") for text in (before, after))
    found = difflib.unified_diff(one, other, lineterm="", n=1)
    shown = [line[:WIDEST] for line in islice(found, 2, lines + 3)]
    more = "  ...\n" if len(shown) > lines else ""
    where = f" ({', '.join(sections_unlike(before, after))})" if page else ""
    yield f"differs: {name}{where}\n" + "".join(f"  {s}\n" for s in shown[:lines]) + more


def split(page: str) -> list[str]:
    """The tags and texts of a page."""
    return [piece.strip() for piece in PARTS.split(page) if piece.strip()]


def sections(page: str) -> dict[str, str]:
    """The text below each heading of a page; what stands above the first one is its head."""
    head, *others = HEADING.split(page)
    return {"head": head} | dict(zip(others[::2], others[1::2], strict=True))


def sections_unlike(old: str, new: str) -> list[str]:
    """The headings of a page whose sections differ."""
    before, after = sections(old), sections(new)
    return [h for h in {**before, **after} if before.get(h) != after.get(h)]
