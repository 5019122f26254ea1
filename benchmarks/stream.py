"""Human-assisted online learning: event logs scored, the loop's own time, river, the demo."""

import sys
import tempfile
from functools import partial
from importlib.resources import files
from pathlib import Path

from benchmarks import event_logs, loops
from benchmarks.event_logs import REPLICATES, Written, after_reading, by_hand, by_truecost
from benchmarks.measuring import Row, apart, side_by_side, table
from truecost.resources import Resources, record

EVENTS, OF_PEER = 10_000_000, 1_000_000
BATCHES, ITEMS = 2000, 45_312
REPEATS = 3
TIMES = 2.0  # as long as reading: the most that scoring shall take
DEMO = 60.0  # seconds of wall time
STEPS = {
    "polars": "the file read by polars alone",
    "reading": "reading (`read_events`: the file, and each event checked)",
    "checking": "checking how events fit together",
    "joining": "joining them to items",
    "measures": f"all measures with {REPLICATES:,} replicates",
}


def report(part: int) -> str:
    """Tables and what was checked, in Markdown, at full size or a part of it."""
    stages, whole, scored, said = _scoring(part)
    shares, beside = loops.overheads(BATCHES // part)
    evaluated, agreed = loops.progressive(ITEMS // part, REPEATS)
    rows = [*scored, *beside, *evaluated]
    return "\n\n".join(
        [
            f"Scoring an event log of {EVENTS // part:,} events (batches of {event_logs.BATCH}, "
            f"{event_logs.ASKED} questions each), from Python. Medians of {REPEATS} repeats.",
            table(["step", "JSON lines", "Parquet", "target", "met"], stages),
            f"`truecost streams score` on the same files, {REPLICATES:,} replicates, a process "
            "each time.",
            table(["format", "wall", "CPU", "peak of memory"], whole),
            "The loop of live runs with a learner that does nothing.",
            table(loops.HEADS, shares),
            "Streams; the peer is named in the row.",
            table(["work", "truecost", "peer", "ratio", "target", "met"], [r.cells for r in rows]),
            "`truecost demo streams`: the live runs, their scores and the report.",
            table(["work", "wall", "CPU", "peak of memory", "target", "met"], [_demo(part)]),
            "Checked with streams:",
            "\n".join(f"- {line}" for line in said + agreed),
        ]
    )


def _scoring(part: int) -> tuple[list[list[str]], list[list[str]], list[Row], list[str]]:
    """Steps, whole runs, the plain script beside us, and what was checked."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        small = _written(place / "small", 20_000)
        middle = _written(place / "middle", OF_PEER // part)
        scored, said = _against_script(middle, small)
        large = _written(place / "large", EVENTS // part)
        stages = _stages(large, small)
        whole = [
            [name, *_shown(_score(path))]
            for name, path in (("JSON lines", large.lines), ("Parquet", large.table))
        ]
    return stages, whole, scored, said


def _written(folder: Path, events: int) -> Written:
    folder.mkdir()
    return event_logs.write_logs(folder, events)


def _against_script(made: Written, small: Written) -> tuple[list[Row], list[str]]:
    """The usual script, and ours with all that it does besides; both must find the same."""
    by_truecost(small.lines)  # kernels are compiled and on disk
    sides = [partial(by_truecost, made.lines), partial(by_hand, made.lines)]
    ours, peer = side_by_side(sides, REPEATS)
    found, expected = by_truecost(made.lines), by_hand(made.lines)
    assert all(abs(found[phase] - value) < 1e-12 for phase, value in expected.items())
    work = f"{made.events:,} events, all measures with intervals"
    row = Row(f"{work}; a script with `json.loads` for each line, IMLM alone", ours, peer)
    shown = " and ".join(f"{value:.6f}" for value in expected.values())
    return [row], [f"IMLM of {made.events:,} events before and after: both give {shown}"]


def _stages(large: Written, small: Written) -> list[list[str]]:
    """Seconds of each step in both formats: the rows of a table."""
    pairs = ((large.lines, small.lines), (large.table, small.table))
    taken = [apart("steps", log, warm, str(REPEATS)) for log, warm in pairs]
    rows = [
        [said, *(f"{one[name]:.2f} s" for one in taken), "", ""] for name, said in STEPS.items()
    ]
    after = [after_reading(one) for one in taken]
    shares = {
        "all after reading, over reading": [
            seconds / one["reading"] for seconds, one in zip(after, taken, strict=True)
        ],
        "all, over the file read by polars alone": [
            (seconds + one["reading"]) / one["polars"]
            for seconds, one in zip(after, taken, strict=True)
        ],
    }
    for name, values in shares.items():
        met = ", ".join("yes" if value <= TIMES else "no" for value in values)
        rows.append([name, *(f"{value:.1f}x" for value in values), f"{TIMES:g}x", met])
    return rows


def _score(path: str) -> Resources:
    """`truecost streams score` as users call it."""
    return _run("streams", "score", path, "--replicates", str(REPLICATES), "--json")


def _run(*arguments: str) -> Resources:
    """A command of truecost in a process of its own; what it prints is thrown away."""
    program = (sys.executable, "-m", "truecost", *arguments)
    with tempfile.NamedTemporaryFile() as out:
        found = record(["sh", "-c", 'exec "$@" > "$0" 2>&1', out.name, *program])
        assert found.status == 0, Path(out.name).read_text()
    return found


def _shown(found: Resources) -> list[str]:
    return [f"{found.wall_s:.2f} s", f"{found.cpu_s:.2f} s", f"{found.peak_bytes / 1e6:,.0f} MB"]


def _demo(part: int) -> list[str]:
    """The demo as users call it, or with fewer seeds: the row of a table."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "out")
        if part == 1:
            found = _run("demo", "streams", "-o", target)
            met = "yes" if found.wall_s <= DEMO else "no"
            return ["8 seeds, 8 budgets", *_shown(found), f"{DEMO:g} s", met]
        return ["2 seeds, 8 budgets", *_shown(_run("run", _fewer(folder), "-o", target)), "", ""]


def _fewer(folder: str) -> str:
    """The study of the demo with two seeds."""
    study = files("truecost").joinpath("data", "demo", "streams", "study.toml").read_text()
    path = Path(folder) / "study.toml"
    path.write_text(study.replace("seeds = 8", "seeds = 2"))
    return str(path)
