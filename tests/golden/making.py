"""Make one page of the golden corpus: what its commands print, and every file that they leave.

Runs as a program of its own with the package, and the `test_docs`, that PYTHONPATH leads to. The
job comes as JSON on standard input: `name`, `text` of the page, `target`, `places` (paths whose
names in the corpus do not depend on the machine) and `needs` (files that the page finds in its
folder). The page `help` is made here: the help of every command.
"""

import contextlib
import functools
import gzip
import hashlib
import inspect
import io
import json
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import test_docs
import truecost
from truecost.cli import app

LARGEST = 2_000_000  # characters; of a larger file the corpus holds the hash
KEYS = '"(user_s|system_s|cpu_s|wall_s|peak_bytes)": '
VARYING = tuple(  # in which files what differs from run to run, and what stands for it
    (re.compile(where), re.compile(pattern, re.MULTILINE), stand_in)
    for where, pattern, stand_in in (
        ("", r"(golden-)\w{8}", r"\1FOLDER"),
        ("", r"(truecost[:\"/ ]+)\d+\.\d+\.\d+\w*", r"\1VERSION"),
        (r"/run\.json$|^docs/(resources|terms)/", KEYS + r"[\d.e-]+", r'"\1": "MEASURED"'),
        ("^docs/resources/", r"[\d.e-]+ s of CPU .*", "MEASURED"),
        ("^docs/terms/", r"^( +(?:isf|ssf|pmu_indexing|pmu_searching|pl)) +\S+", r"\1 MEASURED"),
    )
)


def main() -> None:
    """Make the page that standard input describes."""
    job = json.load(sys.stdin)
    target, source = Path(job["target"]), Path(job["source"])
    assert Path(truecost.__file__).is_relative_to(source), f"{truecost.__file__} not in {source}"
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        for needed in map(Path, job["needs"]):
            (folder / needed.name).symlink_to(needed)
        places = {str(folder): "FOLDER", **job["places"]}
        if job["name"] == "help":
            make_help(target)
        else:
            make(job["name"], job["text"], folder, target, places)


def make_help(target: Path) -> None:
    """Write the help of every command, a file each."""
    inspect.getsource = functools.cache(inspect.getsource)  # of options, which commands share
    for words in ((), *commands()):
        _, printed = test_docs.execute(" ".join(["truecost", *words, "--help"]))
        write(target / f"{'-'.join(words) or 'truecost'}.txt", printed)


def commands(parent: Any = app, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and subcommand."""
    for name in parent:
        if not name.startswith("-"):
            yield (*above, name)
            yield from commands(parent[name], (*above, name))


def make(page: str, text: str, folder: Path, target: Path, places: Mapping[str, str]) -> None:
    """Run a page in a folder that is the working one; a file for each command, its files beside."""

    def keep(name: str, found: str) -> None:
        write(target / name, shortened(steady(found, f"{page}/{name}", places)))

    seen: dict[Path, tuple[int, int]] = {}
    for number, (typed, printed) in enumerate(run_page(text, folder), 1):
        keep(f"{number:03}.txt", f"{typed.rstrip()}\n{printed}")
        for path in changed(folder, seen):
            keep(f"{number:03}/{path.relative_to(folder)}", content(path))


def run_page(text: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Each command or block of Python of a page, and what it prints."""
    scope: dict[str, Any] = {"__name__": "__main__", "every_measure": every_measure}
    first = "<!-- first -->\n"  # before blocks that run before the others
    blocks = test_docs.FENCE.finditer(text)
    for found in sorted(blocks, key=lambda found: not text.endswith(first, 0, found.start())):
        _, language, block = found.groups()
        if language == "python":
            yield f"python\n{block}", run_python(block, scope, folder)
            continue
        code = 0
        for typed in test_docs.COMMAND.split(block)[1::2]:
            command = typed.replace("\\\n", " ").replace("$?", str(code))
            code, printed = test_docs.execute(command)
            yield f"$ {typed}", f"{printed}[exit code {code}]\n"


def run_python(block: str, scope: dict[str, Any], folder: Path) -> str:
    """What a block of Python prints, and the exception that it ends with."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            if ">>> " in block:
                printed.writelines(test_docs.printed_again(block, scope))
            else:
                test_docs.write_file(block, folder)
                exec(compile(block, "<block>", "exec"), scope)
        except (Exception, SystemExit) as error:
            printed.writelines(traceback.format_exception_only(error))
    return printed.getvalue()


def every_measure(task: str, command: str) -> None:
    """Run a command with each measure of a task in turn."""
    _, listed = test_docs.execute("truecost list measures --json")
    for measure in json.loads(listed):
        if task in measure["tasks"]:
            code, printed = test_docs.execute(f"{command} --measure {measure['name']}")
            sys.stdout.write(f"$ {measure['name']}\n{printed}[exit code {code}]\n")


def changed(folder: Path, seen: dict[Path, tuple[int, int]]) -> Iterator[Path]:
    """The files that are new or changed since the last call; not what a page was given."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for path in (Path(place) / name for name in sorted(names)):
            state = path.lstat()
            stamp = (state.st_mtime_ns, state.st_size)
            if not path.is_symlink() and seen.get(path) != stamp:
                seen[path] = stamp
                yield path


def content(path: Path) -> str:
    """A file as text that can be compared: unpacked, indented; the hash of what is no text."""
    data = path.read_bytes()
    try:
        if path.suffix == ".parquet":
            return table(path)
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        if path.suffix == ".json":
            text = json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    except (UnicodeDecodeError, json.JSONDecodeError, OSError, EOFError):
        return f"sha256 {hashlib.sha256(data).hexdigest()}\n"
    return text


def shortened(text: str) -> str:
    """The text, or the hash of a long one."""
    if len(text) <= LARGEST:
        return text
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}, {len(text)} characters\n"


def table(path: Path) -> str:
    """A parquet file as CSV, below its schema; rows of JSON where cells are lists or structures."""
    import polars as pl

    frame = pl.read_parquet(path)
    nested = any(kind.is_nested() for kind in frame.schema.values())
    return f"{frame.schema}\n{frame.write_ndjson() if nested else frame.write_csv()}"


def steady(text: str, name: str, places: Mapping[str, str]) -> str:
    """The text of a file of the corpus without what varies between runs and places."""
    for path, stand_in in places.items():
        text = text.replace(path, stand_in)
    for where, pattern, stand_in in VARYING:
        if where.search(name):
            text = pattern.sub(stand_in, text)
    return text


def write(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("always")  # each command warns, not only the first of its process
    test_docs.agreed = lambda wanted, printed: printed  # the raw output, not the page's
    main()
