"""Spoken term detection: the whole of `truecost terms score`, its stages, its growth, and a peer.

The reference tool, F4DE, is no package of Debian or PyPI and could not be installed. The peer is
its way to find MTWV, at each distinct score the means over all queries anew, in plain Python (a few
thresholds are timed, each takes as long as the others) and in numpy, which is kinder: there a mean
is one call. Both get what truecost aligned, a tenth of the detections.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import truecost as tc
from benchmarks.measuring import Row, Times, seconds, side_by_side
from benchmarks.searched import Collection, write_collection, write_detections
from truecost.formats.kwslist import read_kwslist
from truecost.formats.searches import read_ecf, read_kwlist
from truecost.formats.terms import read_lexemes
from truecost.resources import Resources, record
from truecost.running import score
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.describing import describe
from truecost.tasks.terms.records import Search
from truecost.tasks.terms.reference import load_reference

TARGET = 100
REPLICATES = 1000
DETECTIONS = 1_500_000
GROWTH = (0.1, 1, 3, 10)  # times as many detections
OF_PEER = 50  # thresholds that plain Python is timed on
PRESET = "nist-std-2006"
HEADS = ("work", "wall", "CPU", "peak of memory", "target", "met")
LIMITS = 10.0, 1e9  # seconds of wall time and bytes for the whole


def rows(part: int) -> tuple[list[Row], list[list[str]], list[list[str]], list[str]]:
    """Ratios, whole runs, stages and what was checked, at full size or a part of it."""
    size = DETECTIONS // part
    with tempfile.TemporaryDirectory() as folder:
        made = write_collection(Path(folder), 600 // part, 2000, 40_000 // part)
        _run(made, write_detections(made, 3000)[0], "both")  # kernels are compiled and on disk
        whole = [_whole(made, round(size * times), aim=part == times == 1) for times in GROWTH]
        whole += [_whole(made, size, resample) for resample in ("document", "both")]
        stages = _stages(made, write_detections(made, size)[0])
        path, detected = write_detections(made, size // 10)
        ratios, said = _against_peers(made, path)
        search = _search(made, path)
    assert search.reference.occurrences.height == made.occurrences.height
    said += [
        f"{made.words:,} words hold the {made.occurrences.height:,} occurrences of "
        f"{made.queries:,} queries that were put there",
        f"{int(search.is_target.sum()):,} detections are aligned, "
        f"{int(detected['true'].sum()):,} were made of occurrences",
    ]
    return ratios, whole, stages, said


def _run(made: Collection, path: str, resample: str) -> Resources:
    """`truecost terms score` as users call it, in a process of its own."""
    files = ("--ecf", made.ecf, "--rttm", made.rttm, "--kwlist", made.kwlist, path)
    how = ("--preset", PRESET, "--replicates", str(REPLICATES), "--resample", resample, "--json")
    program = (sys.executable, "-m", "truecost", "terms", "score", *files, *how)
    found = record(["sh", "-c", 'exec "$@" > "$0" 2>&1', f"{path}.json", *program])
    assert found.status == 0, Path(f"{path}.json").read_text()
    return found


def _whole(
    made: Collection, detections: int, resample: str = "query", *, aim: bool = False
) -> list[str]:
    """What the whole takes: the row of a table."""
    path, _ = write_detections(made, detections)
    found = _run(made, path, resample)
    Path(path).unlink()
    by = {"query": "queries", "document": "documents", "both": "both"}[resample]
    shown = [f"{detections:,} detections, {by} resampled"]
    shown += [f"{found.wall_s:.2f} s", f"{found.cpu_s:.2f} s", f"{found.peak_bytes / 1e6:,.0f} MB"]
    if not aim:
        return [*shown, "", ""]
    met = found.wall_s <= LIMITS[0] and found.peak_bytes <= LIMITS[1]
    return [*shown, f"{LIMITS[0]:g} s, {LIMITS[1] / 1e6:,.0f} MB", "yes" if met else "no"]


def _stages(made: Collection, path: str) -> list[list[str]]:
    """Seconds of each step from Python: the rows of a table."""
    found = []

    def step(name: str, work: Callable[[], Any]) -> Any:
        start, used = time.perf_counter(), time.process_time()
        result = work()
        taken = time.perf_counter() - start, time.process_time() - used
        found.append([name, *(f"{s:.2f} s" for s in taken)])
        return result

    audio, queries = read_ecf(made.ecf), read_kwlist(made.kwlist)
    speech = step("reading the words", lambda: read_lexemes(made.rttm))
    reference = step("finding the terms", lambda: load_reference(audio, queries, speech=speech))
    detections = step("reading the detections", lambda: read_kwslist(path))
    search = step("aligning", lambda: load_search(detections, reference))
    step("all measures with intervals", lambda: score(search, _scoring(REPLICATES)))
    two = _scoring(REPLICATES, "atwv", "mtwv")
    step("ATWV and MTWV with intervals alone", lambda: score(search, two))
    step("what a report draws", lambda: describe(search, _scoring(REPLICATES), {}))
    return found


def _scoring(replicates: int, *measures: str) -> tc.Scoring:
    return tc.Scoring(tc.preset(PRESET), measures=measures, plan=tc.Plan(replicates))


def _search(made: Collection, path: str) -> Search:
    speech = read_lexemes(made.rttm)
    reference = load_reference(read_ecf(made.ecf), read_kwlist(made.kwlist), speech=speech)
    return load_search(read_kwslist(path), reference)


def _against_peers(made: Collection, path: str) -> tuple[list[Row], list[str]]:
    """The list read, and MTWV found, by both sides."""
    search, size = _search(made, path), f"{made.queries:,} queries"
    sweep = _Sweep(search)
    value = partial(score, search, replace(_scoring(1, "mtwv"), method="percentile"))
    interval = partial(score, search, _scoring(REPLICATES, "mtwv"))
    value()
    ours, swept = side_by_side([value, sweep.by_numpy], 3)
    many = len(sweep.score)
    slow = Times((seconds(sweep.by_python) * many / OF_PEER,))
    with_interval = Times(tuple(seconds(interval) for _ in range(3)))
    times = Times(tuple(s * REPLICATES for s in swept.seconds))
    read = side_by_side([partial(read_kwslist, path), partial(_elements, path)], 3)
    work = f"MTWV of {len(search):,} detections, {size}"
    found = [
        Row(f"{work}; plain Python, as F4DE sweeps", ours, slow, TARGET),
        Row(f"{work}; the same in numpy", ours, swept),
        Row(f"{work}, with its interval; numpy", with_interval, times, TARGET),
        Row(f"reading {len(search):,} detections; ElementTree, numbers kept", read[0], read[1]),
    ]
    [row], best = value(), sweep.by_numpy()
    assert row.value is not None
    assert abs(row.value - best) < 1e-9
    return found, [f"MTWV: both give {best:.6f} ({many:,} thresholds)"]


class _Sweep:
    """MTWV as F4DE finds it: all queries anew at each distinct score, from the highest down."""

    def __init__(self, search: Search) -> None:
        reference = search.reference
        targets = reference.targets_by_query
        known = targets > 0
        number = np.cumsum(known) - 1
        used = known[search.query]
        order = np.argsort(-search.score[used], kind="stable")
        score = search.score[used][order]
        self.query = number[search.query[used]][order]
        self.target = search.is_target[used][order]
        self.begins = np.append(np.flatnonzero(np.diff(score, prepend=np.inf)), len(score))
        self.score = score[self.begins[:-1]]
        self.targets = targets[known]
        self.others = reference.trials - self.targets
        self.beta = tc.preset(PRESET).beta

    def by_numpy(self) -> float:
        """The largest value; a mean over all queries is one call."""
        missed, false = self.targets.astype(float), np.zeros(len(self.targets))
        best = 0.0  # of rejecting everything
        for low, high in itertools.pairwise(self.begins.tolist()):
            for k in range(low, high):
                if self.target[k]:
                    missed[self.query[k]] -= 1
                else:
                    false[self.query[k]] += 1
            rates = (missed / self.targets).mean(), (false / self.others).mean()
            best = max(best, 1 - rates[0] - self.beta * rates[1])
        return float(best)

    def by_python(self) -> float:
        """The largest value over the first thresholds; nothing but lists."""
        missed, false = self.targets.tolist(), [0] * len(self.targets)
        targets, others, many = self.targets.tolist(), self.others.tolist(), len(self.targets)
        query, target, best = self.query.tolist(), self.target.tolist(), 0.0
        for low, high in itertools.pairwise(self.begins[: OF_PEER + 1].tolist()):
            for k in range(low, high):
                if target[k]:
                    missed[query[k]] -= 1
                else:
                    false[query[k]] += 1
            miss = alarm = 0.0
            for q in range(many):
                miss += missed[q] / targets[q]
                alarm += false[q] / others[q]
            best = max(best, 1 - miss / many - self.beta * alarm / many)
        return best


def _elements(path: str) -> list[tuple[Any, ...]]:
    """The shortest loop that keeps queries, times, scores and decisions."""
    found = []
    for _, element in ElementTree.iterparse(path):
        if element.tag == "detected_kwlist":
            for kw in element:
                numbers = (float(kw.attrib[name]) for name in ("tbeg", "dur", "score"))
                found.append((element.attrib["kwid"], *numbers, kw.attrib["decision"] == "YES"))
            element.clear()
    return found
