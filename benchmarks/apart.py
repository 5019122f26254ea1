"""What needs a process of its own: peaks of memory and first calls. Prints one JSON object."""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import make

SPEAKERS = 1000


def resident(field: str) -> int:
    """`VmRSS` (now) or `VmHWM` (peak) of this process in bytes, from Linux."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def peak(side: str, inputs: str) -> dict[str, float]:
    """Peak of resident memory during one warm call above what was resident before it, and the
    part that its result still holds afterwards.
    """
    work = _points(side)
    work(*(part[:1000] for part in _load(inputs)))
    arrays = [np.array(part) for part in _load(inputs)]
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = resident("VmRSS")
    result = work(*arrays)
    found = {"peak": resident("VmHWM") - before, "kept": resident("VmRSS") - before}
    del result
    return found


def _points(side: str) -> Callable[..., Any]:
    from benchmarks import ours, peers

    return {"ours": ours.points, "peer": peers.points, "peer_all": peers.all_points}[side]


def _load(folder: str) -> list[np.ndarray]:
    return [np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("scores", "labels")]


def first(work: str, trials: int) -> dict[str, float]:
    """Seconds to import truecost and do the work for the first time in this process."""
    scores, labels, speaker = make(trials, SPEAKERS)
    start = time.perf_counter()
    from benchmarks import ours

    calls: dict[str, Callable[[], Any]] = {
        "nec": lambda: ours.nec(scores, labels, speaker, 1000),
        "eer": lambda: ours.eer(scores, labels, speaker, 1000, "rocch"),
        "points": lambda: ours.points(scores, labels),
    }
    calls[work]()
    return {"seconds": time.perf_counter() - start}


def steps(log: str, small: str, repeats: str) -> dict[str, float]:
    """Seconds of the steps of scoring an event log."""
    from benchmarks import event_logs

    return event_logs.steps(log, small, int(repeats))


TASKS: dict[str, Callable[..., dict[str, float]]] = {
    "peak": peak,
    "first": lambda work, trials: first(work, int(trials)),
    "steps": steps,
}

if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    print(json.dumps(TASKS[task](*arguments)))
