"""What is attacked: commands of the golden corpus, each with the files that it reads."""

import contextlib
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from golden.making import run_python
from golden.pages import HERE, NEEDS, place, sections
from test_docs import COMMAND, FENCE

ROOT = HERE.parents[1]
REPLICATES = re.compile(r"--replicates \d+")
FEW = ["--replicates", "20"]
MAKES_FIGURES = ("score", "compare", "leaderboard", "plan")
LEFT_OUT = (
    "demo",
    "reference-scores",
    "reference-terms",
    "examples",
    "demo-live",
    "schema",
    "lists",
)


@dataclass(frozen=True)
class Scene:
    """A command, the folder that holds what it reads, all files that lie there before it runs, and
    those among them that it reads, by their paths in there.
    """

    name: str
    folder: Path
    words: tuple[str, ...]
    there: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def output(self) -> str | None:
        """Where its result goes."""
        return next(
            (b for a, b in zip(self.words, self.words[1:], strict=False) if a == "-o"), None
        )

    def copy(self, to: Path) -> None:
        """A folder with the same files; they are links, which nothing that writes follows but
        databases.
        """
        for name in self.there:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            put = shutil.copy if name.endswith(".sqlite") else os.link
            put(self.folder / name, to / name)


def scenes(work: Path, run, shared: Path) -> list[Scene]:
    """All scenes; `run(folder, words)` runs the commands that later ones read the results of."""
    found: list[Scene] = []
    for page in (HERE / "quick.md", HERE / "commands.md", Path(__file__).with_name("commands.md")):
        for name, text in sections(page.read_text(encoding="utf-8")):
            needs = [place(n, ROOT, shared) for m in NEEDS.findall(text) for n in m.split(", ")]
            if name.startswith("docs/") or name in LEFT_OUT or not all(n.exists() for n in needs):
                continue
            folder = work / f"{page.parent.name}-{page.stem}-{name}"
            folder.mkdir(parents=True)
            for need in needs:
                shutil.copytree(need, folder / need.name)
            found += _of_section(f"{page.parent.name}/{name}", text, folder, run)
    return found


def _of_section(name: str, text: str, folder: Path, run) -> Iterator[Scene]:
    scope = {"__name__": "__main__", "every_measure": lambda *_: None}
    for _, language, block in FENCE.findall(text):
        if language == "python":
            with contextlib.chdir(folder):
                said = run_python(block, scope, folder)
            if re.match(r"\w+(Error|Exit)\b", (said.splitlines() or [""])[-1]):
                raise RuntimeError(f"{name}: {said}")
            continue
        for typed in COMMAND.split(block)[1::2]:
            words = shlex.split(REPLICATES.sub("", typed))[1:]
            if set(words) & {*MAKES_FIGURES} and not set(words) & {"plan", "bundle"}:
                words += FEW
            there = tuple(
                sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
            )
            files = tuple(sorted({*_read_by(words, folder)}))
            run(folder, words)
            if files:
                yield Scene(f"{name}: {shlex.join(words)}", folder, tuple(words), there, files)


def _read_by(words: list[str], folder: Path) -> Iterator[str]:
    """Files among the words of a command, those in folders too."""
    for before, word in itertools.pairwise(words):  # the first word is no file
        for part in {word, *re.split("[=:]", word)} if before != "-o" else ():
            for path in folder.glob(part) if part and not part.startswith("/") else ():
                inside = path.rglob("*") if path.is_dir() else [path]
                if path.suffix == ".toml":  # and the files that a study names
                    named = re.findall(r'"([^"\n]+)"', path.read_text(encoding="utf-8"))
                    inside = [path, *(folder / n for n in named if (folder / n).is_file())]
                yield from (
                    str(p.relative_to(folder))
                    for p in inside
                    if p.is_file() and p.suffix not in (".html", ".parquet", ".py")
                )
