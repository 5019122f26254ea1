"""Pages: writing report.html beside the commit that drew its pictures with matplotlib, and the time
until the page answers in a browser.

Both sides score the same files in a process each and write the same page several times; the ratio
is that of their medians. The former side is taken from the history of this repository.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.measuring import table
from truecost.pictures import Axis, Mark, Picture
from truecost.pictures.picture import Floats

ROOT = Path(__file__).resolve().parents[1]
FORMER = "b990d75"  # the last commit whose pictures matplotlib drew
HEADS = ["page", "systems", "now", "formerly", "ratio", "bytes", "bytes formerly"]
TIMES = 5
SIXTY = 60
POINTS = 100_000
LINES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "smooth": lambda _: np.sin(9 * np.linspace(0, 1, POINTS)),
    "random walk": lambda rng: rng.normal(size=POINTS).cumsum(),
    "noise": lambda rng: rng.normal(size=POINTS),
}
SIDE = """
import json, sys, time
from importlib.resources import files
from pathlib import Path
import polars as pl
import truecost as tc
from truecost.study.directory import page_of

count, times, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
data = files("truecost") / "data" / "demo"
systems = {name: {"file": str(data / f"{name}.csv")} for name in ("logistic", "network")}
frame = pl.read_csv(str(data / "network.csv"))
for k in range(count - 2):  # the same trials, a little worse each time
    path = folder / f"system-{k:02d}.csv"
    frame.with_columns(score=pl.col("score") * (1 - k / 100) + 0.02 * k).write_csv(path)
    systems[path.stem] = {"file": str(path)}
tables = {
    "baseline": "logistic", "systems": systems, "application": {"prior": 0.05},
    "data": {"type": "llr", "map": {"id": "trial", "unit": "speaker"}},
    "interval": {"replicates": 2000 if count == 2 else 200},
}
outcome = tc.run(tables)
page, seconds = page_of(outcome), []
for _ in range(times):
    start = time.perf_counter()
    page = page_of(outcome)
    seconds.append(time.perf_counter() - start)
(folder / "page.html").write_text(page, encoding="utf-8")
found = {"seconds": seconds, "bytes": len(page.encode())}
print(json.dumps(found | {"matplotlib": "matplotlib" in sys.modules}))
"""


def report(part: int) -> str:
    """Tables, in Markdown, with all repeats or a part of them."""
    times = max(1, TIMES // part)
    with tempfile.TemporaryDirectory() as folder:
        former = Path(folder) / "former"
        former.mkdir()
        archive = subprocess.run(
            ["git", "archive", FORMER, "src"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(former)], input=archive.stdout, check=True)
        rows, answers = [], []
        for name, count in (("demo", 2), ("sixty systems", SIXTY)):
            now, page = _side(ROOT, count, times, Path(folder) / f"now-{count}")
            then, _ = _side(former, count, times, Path(folder) / f"then-{count}")
            seconds = median(now["seconds"]), median(then["seconds"])
            shown = [f"{s:.3g} s" for s in seconds]
            ratio = f"{seconds[1] / seconds[0]:.3g}"
            sizes = [f"{side['bytes'] / 1000:,.0f} kB" for side in (now, then)]
            rows.append([name, str(count), *shown, ratio, *sizes])
            answers.append([name, *_answers(page)])
            if now["matplotlib"]:
                raise RuntimeError("the page imported matplotlib")
    return "\n\n".join(
        [
            f"Writing a page, median of {times}; formerly: commit {FORMER}, in the same run.",
            table(HEADS, rows),
            "From opening the page until its script has run, headless Chromium.",
            table(["page", "until it answers", "elements"], answers),
            f"A line of {POINTS:,} points as SVG, median of {times}.",
            table(["line", "drawn in", "bytes"], [_drawn(name, times) for name in LINES]),
        ]
    )


def _drawn(name: str, times: int) -> list[str]:
    """What drawing one long line takes, and how large it is then."""
    y = LINES[name](np.random.default_rng(0))
    line = Mark(kind="line", x=np.linspace(0, 1, POINTS), y=y, series="a", step=True)
    picture = Picture(name="line", x=Axis(domain=(0, 1)), y=Axis(), marks=(line,))
    seconds, text = [], ""
    for _ in range(times):
        start = time.perf_counter()
        text = picture.svg()
        seconds.append(time.perf_counter() - start)
    return [name, f"{median(seconds):.2g} s", f"{len(text) / 1000:,.0f} kB"]


def _side(place: Path, count: int, times: int, folder: Path) -> tuple[dict[str, object], Path]:
    """What one side takes, in a process of its own, and its page."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SIDE, str(count), str(times), str(folder)],
        env={**os.environ, "PYTHONPATH": str(place / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), folder / "page.html"


def _answers(page: Path) -> list[str]:
    """Milliseconds until the script of a page has run, and how many elements it has."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(ROOT / "tests"))
    from browser import chromium  # type: ignore[import-not-found]

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        for _ in range(TIMES):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html.live")
            timing = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
            found.append(float(tab.evaluate(timing)))
            elements = int(tab.evaluate("document.querySelectorAll('*').length"))
            tab.close()
        browser.close()
    return [f"{median(found):.0f} ms", f"{elements:,}"]
