"""Make the searches, run both systems on them, and measure what each phase takes.

    python run.py RECORDINGS [FOLDER] [--documents N] [--examples N] [--seed N] [--ship FOLDER]

RECORDINGS is the tar of the Free Spoken Digit Dataset (see README.md). FOLDER, the present one
unless given, gets what make_search.py writes and, for every system, its index and calibration,
`SYSTEM.kwslist.xml`, and the records `SYSTEM.indexing.json` and `SYSTEM.searching.json` of
`truecost resources`. With `--ship` the files of `truecost demo terms` are copied from there.
"""

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path

from features import SYSTEMS

HERE = Path(__file__).resolve().parent
MEASURE = (sys.executable, "-m", "truecost", "resources", "--quiet", "--force")
REFERENCE = ("e.ecf.xml", "r.rttm", "t.kwlist.xml")
PACKED = ("r.rttm", *(f"{system}.kwslist.xml" for system in SYSTEMS))


def call(folder: Path, script: str, *arguments: str, record: str = "", phase: str = "") -> None:
    """Run a script of this example in the folder, measured where a record is asked for."""
    before = (*MEASURE, "--phase", phase, "-o", record, "--") if record else ()
    command = (*before, sys.executable, str(HERE / script), *arguments)
    subprocess.run(command, cwd=folder, check=True)


def evaluate(folder: Path, system: str) -> None:
    """Learn on the development half what scores are worth, then search the other half."""
    index = {part: f"{part}.{system}.npz" for part in ("dev", "eval")}
    learnt, name = f"{system}.calibration.json", ("--system", system)
    call(folder, "index.py", "dev", index["dev"], *name)
    call(folder, "search.py", "dev", index["dev"], f"{system}.csv", *name)
    call(folder, "calibrate.py", "dev", f"{system}.csv", learnt)
    for script, phase, *arguments in (
        ("index.py", "indexing", index["eval"]),
        ("search.py", "searching", index["eval"], f"{system}.kwslist.xml", "--calibration", learnt),
    ):
        record = f"{system}.{phase}.json"
        call(folder, script, "eval", *arguments, *name, record=record, phase=phase)


def ship(folder: Path, target: Path) -> None:
    """Copy what was searched for and found: lists packed, records without paths of this machine."""
    target.mkdir(parents=True, exist_ok=True)
    found = {name: folder / "eval" / name for name in REFERENCE}
    found |= {f"{system}.kwslist.xml": folder / f"{system}.kwslist.xml" for system in SYSTEMS}
    for name, path in found.items():
        packed = name in PACKED
        content = path.read_bytes()
        (target / (f"{name}.gz" if packed else name)).write_bytes(
            gzip.compress(content, mtime=0) if packed else content
        )
    for path in sorted(folder.glob("*.*ing.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        record["command"] = [Path(part).name for part in record["command"]]
        (target / path.name).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--documents", default="40")
    parser.add_argument("--examples", default="3", help="of a digit and of its pairs")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--ship", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    size = {name: getattr(given, name) for name in ("documents", "examples", "seed")}
    options = [text for name, value in size.items() for text in (f"--{name}", value)]
    call(given.folder, "make_search.py", str(given.recordings.resolve()), *options)
    for system in SYSTEMS:
        evaluate(given.folder, system)
    if given.ship:
        ship(given.folder, given.ship)


if __name__ == "__main__":
    main()
