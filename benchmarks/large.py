"""Trials that are read in parts: from Parquet to sorted segments, to results, in a process each.

Peers: polars' scan of the same columns, DuckDB's sort of them, scikit-learn's curve of what fits.
Peak memory is that of the process and its maps, as `truecost resources` tells it.
`python -m benchmarks --only large` takes rows up to ROWS; LARGE_ROWS=200000000 goes further, and
LARGE_CSV=benchmarks/large.csv keeps what docs/scale.md shows.
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
MORE = (100_000_000, 200_000_000)
MOST = {"scikit-learn's curve": 10_000_000}  # it needs all in memory
EACH = 2_000_000  # rows of a file
KEPT = Path(__file__).with_name("large.csv")
HEADS = ("trials", "work", "wall_seconds", "cpu_seconds", "peak_gb")
SCORE = ("score", "--type", "llr", "--map", "unit=speaker", "--prior", "0.05", "--quiet")
FEW = (*SCORE, "--measure", "act_dcf,eer", "--replicates", "1000")
WORK = {
    "polars scans": "import polars as pl, sys; print(pl.scan_parquet(sys.argv[1]).select("
    "pl.col('score').sum(), pl.col('label').n_unique(), pl.col('speaker').n_unique()).collect())",
    "DuckDB sorts": 'import duckdb, sys, tempfile; to = tempfile.mkdtemp(); duckdb.sql(f"copy ('
    "select score, label, speaker from '{sys.argv[1]}' order by score) to '{to}/x.parquet'\")",
    "scikit-learn's curve": "import polars as pl, sys; from sklearn.metrics import roc_curve; "
    "found = pl.read_parquet(sys.argv[1], columns=['score', 'label']); "
    "roc_curve((found['label'] == 'target').to_numpy(), found['score'].to_numpy())",
    "sorted segments": "import sys; from benchmarks.large import sort; sort(*sys.argv[1:])",
    "cost and EER": "import sys; from benchmarks.large import score, FEW; score(*FEW)",
    "every measure": "import sys; from benchmarks.large import score, SCORE; score(*SCORE)",
    "every measure, page": "import sys, tempfile; from benchmarks.large import score, SCORE; "
    "score(*SCORE, '--output', tempfile.mkdtemp())",
}
MEASURED = """
import atexit, json, pathlib, resource, sys
def told():
    used, status = resource.getrusage(resource.RUSAGE_SELF), pathlib.Path("/proc/self/status")
    peak = used.ru_maxrss  # on Linux it may be that of the process that started this one
    if status.exists():
        peak = int(status.read_text().split("VmHWM:")[1].split()[0])
    print(json.dumps([used.ru_utime + used.ru_stime, peak]), file=sys.stderr)
atexit.register(told)
"""


def report(part: int) -> str:
    """A table of seconds and memory by rows, in Markdown."""
    most = int(os.environ.get("LARGE_ROWS", ROWS[-1] // part))
    found = pl.concat([figures(n) for n in (*ROWS, *MORE) if n <= most])
    if kept := os.environ.get("LARGE_CSV"):
        found.write_csv(kept)
    said = "Trials in Parquet: 32-bit scores, labels as text, 1,000 speakers; a process each."
    return f"{said}\n\n{told(found)}"


def told(found: pl.DataFrame) -> str:
    """The table of figures."""
    rows = [
        [f"{n:,}", work, f"{wall:.1f} s", f"{cpu:.1f} s", f"{peak:.2f} GB"]
        for n, work, wall, cpu, peak in found.iter_rows()
    ]
    return table(["trials", "work", "wall", "CPU", "peak memory"], rows)


def figures(number: int) -> pl.DataFrame:
    """What each work takes with so many trials."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), number)
        for name, code in WORK.items():
            if number <= MOST.get(name, number):
                wall, cpu, peak = measured(code, f"{folder}/*.parquet")
                rows.append((number, name, round(wall, 1), round(cpu, 1), round(peak / 1e6, 2)))
    return pl.DataFrame(rows, HEADS, orient="row")


def written(folder: Path, rows: int) -> None:
    """Files of trials, 5% of them targets."""
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
    command = [sys.executable, "-c", MEASURED + code, pattern]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    cpu, peak = json.loads(done.stderr.strip().splitlines()[-1])
    return wall, cpu, peak


def sort(pattern: str) -> None:
    """Sorted segments of files."""
    from truecost.study.config import Study
    from truecost.study.settings import Reader, sources_of
    from truecost.tasks.trials.work import read

    data = {"type": "llr", "map": {"unit": "speaker"}}
    study = Study.from_tables({"data": data, "systems": {"s": {"file": pattern}}})
    read(sources_of(study)[0], Reader("trials"), study)


def score(*words: str) -> None:
    """A command on the files that the process was given."""
    from truecost.cli import run

    sys.exit(run([words[0], sys.argv[1], *words[1:], "--engine", "serial"]))
