"""Times, peaks of memory, first calls and the machine they were taken on."""

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PEERS = (
    *("confidence-intervals", "scikit-learn", "jiwer", "sacrebleu", "pyannote.metrics"),
    "river",
)
LIBRARIES = ("numpy", "scipy", "numba", "polars", *PEERS)


@dataclass(frozen=True)
class Times:
    """Seconds of the repeats of one side."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        """`0.12 s (0.11 to 0.13)`."""
        low, high = min(self.seconds), max(self.seconds)
        spread = f" ({low:.3g} to {high:.3g})" if len(self.seconds) > 1 else ""
        return f"{self.median:.3g} s{spread}"


@dataclass(frozen=True)
class Row:
    """Two sides of one piece of work; the ratio is that of their medians."""

    work: str
    ours: Times
    peer: Times
    target: float | None = None

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        ratio = self.peer.median / self.ours.median
        digits = "0" if ratio >= 100 else "1" if ratio >= 1 else "2"
        shown = [self.work, str(self.ours), str(self.peer), f"{ratio:,.{digits}f}x"]
        if self.target is None:
            return [*shown, "", ""]
        return [*shown, f"{self.target:,.0f}x", "yes" if ratio >= self.target else "no"]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call; its result is given back to the system after the clock stops."""
    start = time.perf_counter()
    result = work()
    taken = time.perf_counter() - start
    del result
    return taken


def side_by_side(sides: Sequence[Callable[[], Any]], repeats: int) -> list[Times]:
    """Times of each side, turn about, so that a busy moment of the machine meets all of them."""
    taken = [[seconds(side) for side in sides] for _ in range(repeats)]
    return [Times(column) for column in zip(*taken, strict=True)]


def apart(*arguments: str, cache: str | None = None) -> dict[str, float]:
    """What `python -m benchmarks.apart ARGUMENTS` prints, from a process of its own."""
    changed = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.apart", *arguments],
        cwd=ROOT,
        env=os.environ | changed,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def first_calls(work: str, trials: int) -> tuple[float, float]:
    """Seconds of import and first call in a fresh process: kernels to compile, kernels on disk."""
    with tempfile.TemporaryDirectory() as empty:
        cold, stored = (apart("first", work, str(trials), cache=empty)["seconds"] for _ in "ab")
    return cold, stored


def machine() -> list[str]:
    """The processor, memory, system and versions; nothing that names the machine."""
    said = _read("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", said)
    flags = [f for f in ("avx2", "avx512f") if re.search(rf"\b{f}\b", said)]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"processor: {model[1] if model else platform.machine()} ({', '.join(flags)}), "
        f"{os.cpu_count()} cores, {memory:.0f} GiB",
        f"system: {platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
    ]


def _read(path: str) -> str:
    file = Path(path)
    return file.read_text() if file.exists() else ""
