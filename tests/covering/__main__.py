"""Run the study: scripts/coverage [--runs 1000] [--only PART] [--lines FILE] [--page FILE]."""

import argparse
import sys
from pathlib import Path

from covering import page
from covering.cells import KINDS, every
from covering.running import lines_of, run

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="scripts/coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="data sets of each cell")
    parser.add_argument(
        "--only", default="", help=f"cells whose name holds this; kinds: {', '.join(KINDS)}"
    )
    parser.add_argument("--part", default="1/1", help="K/N: every N-th cell from the K-th on")
    parser.add_argument("--lines", type=Path, default=ROOT / "out" / "coverage.jsonl")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "coverage.md")
    parser.add_argument("--write", action="store_true", help="only write the page")
    given = parser.parse_args()
    cells = every()
    place, parts = map(int, given.part.split("/"))
    chosen = [cell for cell in cells if given.only in cell.key][place - 1 :: parts]
    given.lines.parent.mkdir(exist_ok=True)
    for line in [] if given.write else run(chosen, given.runs, given.lines):
        sys.stdout.write(f"{line}\n")
    if given.write or parts == 1:
        page.write(given.page, lines_of(given.lines), cells)


if __name__ == "__main__":
    main()
