"""Trials that are read in parts: from Parquet to sorted segments, to results, in a process each.

Peer: what polars takes to scan the same columns. Peak memory is that of the process and its maps
(`ru_maxrss`), as `truecost resources` tells it. `python -m benchmarks --only large` takes rows up
to ROWS; LARGE_ROWS=100000000 goes further.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measuring import table

ROWS = (100_000, 1_000_000, 10_000_000)
EACH = 2_000_000  # rows of a file
SCORE = ("score", "--type", "llr", "--map", "unit=speaker", "--prior", "0.05", "--measure",
         "act_dcf,min_dcf,eer,cllr,p_miss,p_fa", "--replicates", "1000", "--quiet")  # fmt: skip
WORK = {
    "polars scans": "import polars as pl, sys; print(pl.scan_parquet(sys.argv[1]).select("
    "pl.col('score').sum(), pl.col('label').n_unique(), pl.col('speaker').n_unique()).collect())",
    "sorted segments": "import sys; from benchmarks.large import sort; sort(*sys.argv[1:])",
    "a whole score": "import sys; from truecost.cli import run; sys.exit(run(sys.argv[2:]))",
}
MEASURED = (
    "\nimport json, resource, sys, atexit\n"
    "def told():\n"
    "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "    print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]), file=sys.stderr)\n"
    "atexit.register(told)\n"
)


def report(part: int) -> str:
    """A table of seconds and memory by rows, in Markdown."""
    most = int(os.environ.get("LARGE_ROWS", ROWS[-1] // part))
    rows = []
    for number in [n for n in (*ROWS, 100_000_000) if n <= most]:
        with tempfile.TemporaryDirectory() as folder:
            written(Path(folder), number)
            for name, code in WORK.items():
                wall, cpu, peak = measured(code, f"{folder}/*.parquet")
                cells = f"{wall:.1f} s", f"{cpu:.1f} s", f"{peak / 1e6:.2f} GB"
                rows.append([f"{number:,}", name, *cells])
    said = "Trials in Parquet: 32-bit scores, labels as text, 1,000 speakers; a process each."
    return f"{said}\n\n{table(['trials', 'work', 'wall', 'CPU', 'peak memory'], rows)}"


def written(folder: Path, rows: int) -> None:
    """Files of trials, 5 % of them targets."""
    for start in range(0, rows, EACH):
        draws, size = np.random.default_rng(start), min(EACH, rows - start)
        target = draws.random(size) < 0.05
        scores = draws.normal(np.where(target, 2.0, -2.0), 2.0, size).astype(np.float32)
        speakers = pl.Series(draws.integers(0, 1000, size)).cast(pl.String).str.zfill(4)
        pl.DataFrame(
            {
                "score": scores,
                "label": np.where(target, "target", "nontarget"),
                "speaker": "s" + speakers,
            }
        ).write_parquet(folder / f"{start:012}.parquet")


def measured(code: str, pattern: str) -> tuple[float, float, float]:
    """Wall time, CPU seconds and peak memory (kB) of a process."""
    command = [sys.executable, "-c", MEASURED + code, pattern, *SCORE[:1], pattern, *SCORE[1:]]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    cpu, peak = json.loads(done.stderr.strip().splitlines()[-1])
    return wall, cpu, peak


def sort(pattern: str, *_: str) -> None:
    """Sorted segments of files."""
    from truecost.study.config import Study
    from truecost.study.settings import Reader, sources_of
    from truecost.tasks.trials.work import read

    data = {"type": "llr", "map": {"unit": "speaker"}}
    study = Study.of({"data": data, "systems": {"s": {"file": pattern}}})
    read(sources_of(study)[0], Reader("trials"), study)
