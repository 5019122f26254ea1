"""The page on which a person answers: answers per second of many people who do not think, time
until the first question stands there, and from a key to the next question with its spectrogram.

The server runs in a process of its own, as a run does; robots are threads of this one, and the
browser is headless Chromium. All of them share the machine.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.measuring import table

ROOT = Path(__file__).resolve().parents[1]
PEOPLE = (1, 10, 50)
SECONDS = 15.0
KEYS = 200
STARTS = 7
SERVER = """
import json, sys
from truecost.person.store import Asked, Store
from truecost.person.web import Settings, serve
folder, people, number, sound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with Store(f"{folder}/answers.sqlite") as store:
    made = {"kind": "classes", "media": sound or None}
    store.put([Asked(key=str(k), **made) for k in range(number)])
    names = [str(k) for k in range(people)]
    with serve(store.path, Settings(classes=("seven", "other")), people=names) as page:
        print(json.dumps([*page.links.values()]), flush=True)
        sys.stdin.read()
"""
KEY = "addEventListener('keydown', (e) => { window.keyAt = e.timeStamp; }, true)"
PAINTED = "performance.getEntriesByName('painted').at(-1)?.detail"
TAKEN = "performance.getEntriesByName('painted').at(-1).startTime - window.keyAt"


def report(part: int) -> str:
    """Tables, in Markdown, with all repeats or a part of them."""
    sys.path.insert(0, str(ROOT / "tests"))
    rows = [_load(people, SECONDS / part) for people in PEOPLE]
    files = sorted((ROOT / "src" / "truecost" / "person" / "static").iterdir())
    size = sum(file.stat().st_size for file in files)
    return "\n\n".join(
        [
            f"People who answer without thinking, for {SECONDS / part:g} s, one server.",
            table(["people", "answers/s", "median", "p99"], rows),
            f"The page in headless Chromium, sounds of 3 s, {KEYS // part} keys; all files of the "
            f"page have {size / 1000:.0f} kB.",
            table(["from", "to", "median", "p99"], _page(KEYS // part, max(2, STARTS // part))),
        ]
    )


class _Served:
    """The server in a process of its own; `links` of its people."""

    def __init__(self, folder: str, people: int, number: int, sound: str = "") -> None:
        words = [folder, str(people), str(number), sound]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.links: list[str] = json.loads(self.process.stdout.readline())

    def __enter__(self) -> "_Served":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def _load(people: int, seconds: float) -> list[str]:
    """Answers per second and latency of so many people."""
    from robots import Robot  # type: ignore[import-not-found]

    with (
        tempfile.TemporaryDirectory() as folder,
        _Served(folder, people, int(2000 * seconds)) as served,
    ):
        robots = [Robot(link, seed=k) for k, link in enumerate(served.links)]
        start = time.monotonic()
        for robot in robots:
            robot.start(until=start + seconds)
        for robot in robots:
            robot.thread.join()
        taken = time.monotonic() - start
    latencies = [one for robot in robots for one in robot.latencies]
    return [str(people), f"{len(latencies) / taken:.0f}", *_spread(latencies)]


def _spread(seconds: list[float]) -> list[str]:
    """Median and 99th percentile, in milliseconds."""
    high = quantiles(seconds, n=100)[-1] if len(seconds) > 1 else seconds[0]
    return [f"{1000 * median(seconds):.0f} ms", f"{1000 * high:.0f} ms"]


def _page(keys: int, starts: int) -> list[list[str]]:
    """From command to link, from link to the first question, from a key to the next question."""
    from browser import started  # type: ignore[import-not-found]
    from robots import clip

    firsts, following = [], []
    with tempfile.TemporaryDirectory() as place, started() as browser:
        sound = clip(Path(place) / "a.wav", seconds=3.0)
        for k in range(starts):
            folder = Path(place) / str(k)
            folder.mkdir()
            with _Served(str(folder), 1, keys + 10, sound) as served:
                context = browser.new_context()
                tab = context.new_page()
                start = time.perf_counter()
                tab.goto(served.links[0])
                pid = _painted(tab)
                firsts.append(time.perf_counter() - start)
                tab.evaluate(KEY)
                for _ in range(keys if k == starts - 1 else 0):
                    time.sleep(0.15)  # the next sound comes ahead while a person listens
                    tab.keyboard.press("1")
                    pid = _painted(tab, pid)
                    following.append(tab.evaluate(TAKEN) / 1000)
                context.close()
    return [
        ["command", "link", *_spread([_linked() for _ in range(starts)])],
        ["link", "first question", *_spread(firsts)],
        ["key", "next question", *_spread(following)],
    ]


def _linked() -> float:
    """Seconds from the start of `truecost annotate` to its link."""
    from robots import Running

    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.csv"
        items.write_text("id,text\n" + "".join(f"{k},text {k}\n" for k in range(1000)))
        words = ["annotate", items, "-o", f"{folder}/out", "--classes", "yes,no", "--text", "text"]
        start = time.perf_counter()
        run = Running(*words)
        run.links()
        taken = time.perf_counter() - start
        run.kill()
        return taken


def _painted(tab: Any, before: str | None = None) -> str:
    """The presentation on the screen, once it is another one."""
    while True:
        found = tab.evaluate(PAINTED)
        if found not in (None, before):
            return str(found)
        time.sleep(0.002)
