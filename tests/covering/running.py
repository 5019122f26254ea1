"""Running the study: blocks of data sets of a cell, one line of JSON each, in any order."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from covering.cells import Cell, counted

BLOCK = 100  # data sets of a line


def run(cells: Iterable[Cell], runs: int, path: Path) -> Iterator[str]:
    """Do what is missing of `runs` data sets of each cell, round by round; say what was done."""
    cells = list(cells)
    for first in range(0, runs, BLOCK):
        done = {(line["cell"], line["first"]) for line in lines_of(path)}
        for cell in cells:
            if (cell.key, first) not in done:
                append(path, block(cell, first))
                yield f"{cell.key}: {first + BLOCK}"


def block(cell: Cell, first: int, runs: int = BLOCK) -> dict[str, Any]:
    """The line of some data sets of a cell."""
    found = counted(cell, first, runs)
    measures = {
        label: {method: count.told() for method, count in methods.items()}
        for label, methods in found.items()
    }
    return {"cell": cell.key, "first": first, "runs": runs, "measures": measures}


def append(path: Path, line: dict[str, Any]) -> None:
    """One more line; a write of this size is whole or missing."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file that are whole: what a kill cut off is done again."""
    found = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def joined(lines: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Lines by cell, counts added, each block once."""
    blocks = {(line["cell"], line["first"]): line for line in lines}
    found: dict[str, dict[str, Any]] = defaultdict(lambda: {"runs": 0, "measures": {}})
    for (cell, _), line in sorted(blocks.items()):
        whole = found[cell]
        whole["runs"] += line["runs"]
        for label, methods in line["measures"].items():
            for method, count in methods.items():
                _add(whole["measures"].setdefault(label, {}).setdefault(method, {}), count)
    return dict(found)


def _add(whole: dict[str, Any], count: dict[str, Any]) -> None:
    for name in ("held", "below", "above", "none", "warned"):
        whole[name] = whole.get(name, 0) + count[name]
    whole.setdefault("widths", []).append(count["width"])
